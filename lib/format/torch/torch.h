#ifndef NCCLPROF_FORMAT_TORCH_TORCH_H
#define NCCLPROF_FORMAT_TORCH_TORCH_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- watchdog.c -------------------- */

/*
 * What the watchdog of torch's ProcessGroupNCCL, and the monitor of that watchdog, print of a rank and a
 * group, in the words of torch 1.13 to 2.12:
 *
 *     [rank0]:[E1125 01:03:54.92 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation
 * timeout: WorkNCCL(SeqNum=53, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=15000) ran for ...
 *     [rank0]:[E1125 ...] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work
 * sequence id: 53 PG status: last enqueued work: 61, last completed work: 52
 *     [rank1]:[E1125 ...] [PG ID 0 PG GUID 0(default_pg) Rank 1] ProcessGroupNCCL's watchdog got stuck for
 * 480 seconds without making progress in monitoring enqueued collectives. ... [rank7]:[E1125 ...] [Rank 7]
 * Collective WorkNCCL(...) raised the following async exception: NCCL error: ...
 */
struct watchdog_line {
    int64_t global_rank; /* by what its launcher or torch put before it; COUNT_UNKNOWN */
    int64_t rank;        /* in the group; COUNT_UNKNOWN */
    struct text group;   /* its name; empty: not said */
    struct text description;
    int64_t enqueued; /* numbers of works, COUNT_UNKNOWN: not said; -1 as torch prints it is 0 here */
    int64_t completed;
    int64_t failed;        /* that timed out or failed; COUNT_UNKNOWN */
    struct text operation; /* "ALLREDUCE"; empty: not said */
    int64_t elements;      /* that went in; COUNT_UNKNOWN */
    int64_t elements_out;  /* and came out; COUNT_UNKNOWN */
    int is_stuck;          /* its watchdog has made no progress: it hangs in a call of CUDA or NCCL */
    struct text failure;   /* the error of NCCL or CUDA that ended a work or the watchdog; empty: none */
};

/* Where the record of a line begins behind what launchers put before it: bytes; -1: it is no such line. */
int64_t watchdog_prefix(struct text line);

/* Whether the end of a record is in another line: a terminal or a launcher has broken it there. */
int watchdog_is_cut(struct text line);

/* 1 where a line says one of these, else 0. */
int watchdog_read(struct text line, struct watchdog_line *said);

/* The first sentence of what a line says of a watchdog that is stuck. */
struct text watchdog_sentence(struct text line);

/* -------------------- ranks.c -------------------- */

/*
 * How far ranks came, by what their watchdogs said last, and what else these said of them. Kept until the
 * file's end, as the line that tells the group of a work comes behind, and of some works there is none.
 */

/* A rank of a group. Texts are numbers in `texts`; -1: none. */
struct torch_member {
    int64_t group;
    int64_t description;
    int64_t rank;
    int64_t global_rank;
    int64_t enqueued;
    int64_t completed;
    int64_t failed;
    int64_t operation;
    int64_t elements;
    int64_t elements_out;
    int lost_peer; /* it failed since another rank, or the network to it, was gone */
    uint64_t offset;
};

/* A work that timed out or failed, by a line that names no group. */
struct torch_work {
    int64_t rank; /* in its group */
    int64_t global_rank;
    int64_t number;
    int64_t operation;
    int64_t elements;
    int64_t elements_out;
    int lost_peer;
    int is_placed; /* a line of its rank tells its group */
    uint64_t offset;
};

enum torch_remark_kind {
    TORCH_STUCK,        /* its watchdog makes no progress */
    TORCH_FAILED,       /* NCCL or its GPU failed on it */
    TORCH_LOST_PEER,    /* likewise, since another one was gone */
    TORCH_ENDED,        /* its launcher says that a signal ended it */
    TORCH_TASK_ENDED,   /* likewise of a task, which is the rank where no task is several */
    TORCH_RAISED,       /* its program raised an exception */
    TORCH_NEVER_JOINED, /* it says that rank `accused` did not join what others did */
    TORCH_UNFINISHED    /* ... did not finish it */
};

/* What a line says of a rank, beside works. */
struct torch_remark {
    enum torch_remark_kind kind;
    int64_t rank; /* whose line it is: in its group, as below */
    int64_t global_rank;
    int64_t group;   /* text; -1 */
    int64_t accused; /* in its group; COUNT_UNKNOWN */
    int64_t text;
    uint64_t offset;
};

/* What tells how many ranks a group has. */
struct torch_group {
    int64_t size;     /* by elements that go in and come out, or a list of all its ranks; 0: not told */
    int is_doubtful;  /* what tells it contradicts itself */
    int64_t greatest; /* rank of a line */
};

struct torch_ranks {
    struct intern texts;
    struct map by_member;             /* group, rank in it -> of `seats` */
    struct map by_work;               /* rank, number, operation -> of `works` */
    struct map latest;                /* rank, number -> the latest of these */
    struct map by_remark;             /* kind, rank, accused, text -> 1 */
    struct map by_group;              /* -> of `groups` */
    struct map waiting;               /* ranks of which some work failed, once settled: -> 1 */
    int64_t least_ranks;              /* that the job has, as reports name them, once settled; 0: none does */
    int tasks_start_several;          /* ranks share a process that started them: tasks are no ranks */
    int64_t of_all;                   /* text: the name of the group of all ranks, once asked for; -1 */
    struct torch_member *member_list; /* owned, as all below */
    size_t seat_count;
    size_t member_capacity;
    struct torch_work *works;
    size_t work_count;
    size_t work_capacity;
    struct torch_remark *remarks;
    size_t remark_count;
    size_t remark_capacity;
    struct torch_group *groups;
    size_t group_count;
    size_t group_capacity;
};

void torch_ranks_init(struct torch_ranks *ranks);
void torch_ranks_release(struct torch_ranks *ranks);

/* -1: no memory, here and below. */
int torch_ranks_text(struct torch_ranks *ranks, struct text text, int64_t *number);

/* Takes a record of the watchdog in. */
int torch_ranks_take(struct torch_ranks *ranks, const struct watchdog_line *said, uint64_t offset);

/* A work of a rank (global, where that is told) failed since another one was gone. */
void torch_ranks_lose_peer(struct torch_ranks *ranks, int64_t rank, int64_t number);

/* Adds what a line says, once. */
int torch_ranks_remark(struct torch_ranks *ranks, const struct torch_remark *remark);

/* A group has `size` ranks, as a report lists them: that of all where the report names none (-1). */
int torch_ranks_list_all(struct torch_ranks *ranks, int64_t group, int64_t size);

/* What of a group tells its size; NULL: nothing is known of it. */
const struct torch_group *torch_ranks_group(const struct torch_ranks *ranks, int64_t group);

/* Whether a work of the rank of a remark failed: what it says beside may be an effect of that. */
int torch_ranks_waits(const struct torch_ranks *ranks, const struct torch_remark *remark);

/* Whether the ranks of a remark may be those of all: in that group a rank has the same number as in the job.
 */
int torch_ranks_may_be_of_all(const struct torch_remark *remark);

/* At the file's end: gives works without a group theirs, as far as that can be told, groups their sizes, and
 * ranks of which no work is told a place in the group of all. */
int torch_ranks_settle(struct torch_ranks *ranks);

/* -------------------- watchdog.c -------------------- */

/*
 * The lines of a desync report, which a rank makes of what all ranks noted in torch's store
 * (TORCH_NCCL_DESYNC_DEBUG=1):
 *
 *     - To our best knowledge, ranks [3] are the lagging ranks that caused this timeout. They never joined
 * any collectives [7] finished collective #182, but didn't join collective #183 (count from 1)
 *     - [2] joined but didn't finish collective #9 (count from 1)
 *     - Snapshot of ranks' latest states:
 *       #183 started ranks:
 *         [0, 1] started ALLREDUCE
 */
enum desync_kind {
    DESYNC_NONE = 0,
    DESYNC_NEVER_JOINED, /* of what others joined, or anything */
    DESYNC_UNFINISHED,   /* it joined, and its GPU did not get past what others did */
    DESYNC_SNAPSHOT,     /* from here on the state of each rank is listed */
    DESYNC_NUMBER,       /* ... that of this collective */
    DESYNC_STATE
};

struct desync_line {
    enum desync_kind kind;
    struct text ranks; /* within their brackets; empty where none are listed */
    struct text said;  /* the line without what is before its words */
    int64_t number;    /* of the collective; COUNT_UNKNOWN */
    int is_started;    /* of DESYNC_NUMBER: these ranks have begun it, else ended it */
};

/* 1 where a line is of such a report, else 0. */
int desync_read(struct text line, struct desync_line *read);

/* The next rank of a list, taken from it; COUNT_UNKNOWN: there is none left. */
int64_t desync_next_rank(struct text *ranks);

/* -------------------- reader.c -------------------- */

/*
 * What launchers print of a process that a signal ended, or that the system killed:
 *
 *     srun: error: node017: task 5: Killed
 *     mpirun noticed that process rank 5 with PID 4711 on node node017 exited on signal 9 (Killed).
 *
 * and torchrun, in several lines, of which the number of the rank comes before the signal:
 *
 *       rank      : 5 (local_rank: 1)
 *       exitcode  : -9 (pid: 4711)
 *
 * Not that a process aborted, exited by itself or was terminated: ranks do that for the fault of another one.
 * Nor that a process was killed behind that: who ends a step so kills what is left of it.
 */
struct launcher_state {
    int64_t rank;      /* that torchrun tells of; COUNT_UNKNOWN */
    int is_step_ended; /* a task ended for itself, or all of them are ended */
};

/*
 * Records of the watchdog that a terminal or a launcher broke into several lines: the line in which one
 * begins is held until it is whole. What a launcher puts before each line is left out of those that follow.
 */
struct wrapped_record {
    struct buffer text; /* as far as it has come; nothing where `lines` is 0 */
    uint64_t offset;    /* of its first line */
    size_t lines;
    size_t prefix;    /* bytes before the record in its first line */
    size_t last_line; /* bytes of the latest line */
    size_t width;     /* of lines that were broken before in this file; 0: none was */
};

/* The lines of a file, taken one after the other: which record they are of, and who speaks. */

/* Whose lines those that follow a record are. */
struct torch_source_process {
    int64_t rank; /* in its group; COUNT_UNKNOWN: nobody speaks */
    int64_t global_rank;
    int64_t group; /* text; -1 */
};

/* An error of NCCL or CUDA: what it was due to stands in the lines behind. */
struct torch_failure {
    struct torch_source_process of;
    struct buffer text;
    int64_t number; /* of the work; COUNT_UNKNOWN */
    uint64_t offset;
    int lines_left; /* that may be of it; 0: there is none */
};

/* A desync report: which ranks it lists. */
struct torch_report {
    int is_snapshot;
    int64_t listed;                 /* ranks, each once where it is true */
    int64_t greatest;               /* of them; -1 */
    int64_t lagging;                /* the number of what `unfinished` did not finish */
    int64_t furthest;               /* the greatest number that others began */
    struct torch_remark unfinished; /* held until it is known whether others came further */
    struct text unfinished_ranks;   /* in `line` */
    struct buffer line;
};

struct torch_reader {
    struct torch_ranks ranks;
    struct wrapped_record record;
    struct torch_source_process source_process;
    struct torch_failure failure;
    struct torch_report report;
    struct launcher_state launcher;
    struct map tracebacks; /* global ranks whose program prints one -> 1 */
    struct map echoes; /* global ranks that others' ends raised an exception on: a later one is of it -> 1 */
};

void torch_reader_init(struct torch_reader *reader);
void torch_reader_release(struct torch_reader *reader);

/* 1: the line says nothing that is taken in; 0: it does; -1: no memory. */
int torch_reader_take(struct torch_reader *reader, struct text line, uint64_t offset);

/* The file's end. -1: no memory. */
int torch_reader_end(struct torch_reader *reader);

#endif
