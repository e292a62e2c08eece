#ifndef NCCLPROF_FORMAT_TORCH_TORCH_H
#define NCCLPROF_FORMAT_TORCH_TORCH_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct format_sink;

/* -------------------- watchdog.c -------------------- */

/*
 * Lines that the watchdog of torch's ProcessGroupNCCL, and the monitor of that watchdog, print about a rank
 * and its group, in the wording of torch 1.13 to 2.12. Each is one line:
 *
 *     [rank0]:[E1125 01:03:54.92 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective
 *         operation timeout: WorkNCCL(SeqNum=53, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096,
 *         Timeout(ms)=15000) ran for ...
 *     [rank0]:[E1125 ...] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at
 *         work sequence id: 53 PG status: last enqueued work: 61, last completed work: 52
 *     [rank1]:[E1125 ...] [PG ID 0 PG GUID 0(default_pg) Rank 1] ProcessGroupNCCL's watchdog got
 *         stuck for 480 seconds without making progress in monitoring enqueued collectives. ...
 *     [rank7]:[E1125 ...] [Rank 7] Collective WorkNCCL(...) raised the following async exception:
 *         NCCL error: ...
 */
struct watchdog_line {
    int64_t global_rank; /* from the prefix of the launcher or of torch; COUNT_UNKNOWN */
    int64_t rank;        /* in the group; COUNT_UNKNOWN */
    struct text group;   /* name of the group; empty: not given */
    struct text description;
    int64_t enqueued; /* numbers of works; COUNT_UNKNOWN: not given; 0 where torch prints -1 */
    int64_t completed;
    int64_t failed;        /* of the work that timed out or failed; COUNT_UNKNOWN */
    struct text operation; /* "ALLREDUCE"; empty: not given */
    int64_t elements;      /* input elements; COUNT_UNKNOWN */
    int64_t elements_out;  /* output elements; COUNT_UNKNOWN */
    int is_stuck;          /* the watchdog makes no progress: it hangs in a CUDA or NCCL call */
    struct text failure;   /* the NCCL or CUDA error that ended a work or the watchdog; empty: none */
};

/*
 * Returns how many bytes of launcher prefix precede the record in a line; -1 if the line is no such record.
 */
int64_t watchdog_prefix(struct text line);

/* Whether the record continues in another line because a terminal or launcher broke it. */
int watchdog_is_cut(struct text line);

/* Returns 1 if the line is one of these records, else 0. */
int watchdog_read(struct text line, struct watchdog_line *said);

/* The first sentence of the message about a stuck watchdog. */
struct text watchdog_sentence(struct text line);

/* -------------------- ranks.c -------------------- */

/*
 * The progress of the ranks: the last numbers that their watchdogs printed, and what else the log has about
 * them. All of it is kept until the end of the file, because the line that names the group of a work comes
 * later, and some works have none.
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
    int lost_peer; /* it failed because another rank, or the network to it, was gone */
    uint64_t offset;
};

/* A work that timed out or failed, from a line that names no group. */
struct torch_work {
    int64_t rank; /* in its group */
    int64_t global_rank;
    int64_t number;
    int64_t operation;
    int64_t elements;
    int64_t elements_out;
    int lost_peer;
    int is_placed; /* another line of its rank gives its group */
    uint64_t offset;
};

enum torch_remark_kind {
    TORCH_STUCK,        /* its watchdog makes no progress */
    TORCH_FAILED,       /* NCCL or its GPU failed on it */
    TORCH_LOST_PEER,    /* NCCL failed on it because another rank was gone */
    TORCH_ENDED,        /* its launcher reports that a signal ended it */
    TORCH_TASK_ENDED,   /* the launcher reports it for a task, which is the rank if every task is one rank */
    TORCH_RAISED,       /* its program raised an exception */
    TORCH_NEVER_JOINED, /* it reports that rank `accused` did not join a collective that others joined */
    TORCH_UNFINISHED    /* it reports that rank `accused` did not finish a collective */
};

/* What a line reports about a rank, other than works. */
struct torch_remark {
    enum torch_remark_kind kind;
    int64_t rank; /* the rank that printed the line: its rank in the group */
    int64_t global_rank;
    int64_t group;   /* number of its text; -1 */
    int64_t accused; /* rank in the group; COUNT_UNKNOWN */
    int64_t text;
    uint64_t offset;
};

/* What is known about the size of a group. */
struct torch_group {
    int64_t size;     /* from input and output elements, or from a list of all ranks; 0: unknown */
    int is_doubtful;  /* the sources of the size contradict each other */
    int64_t greatest; /* greatest rank that printed a line */
};

struct torch_ranks {
    struct intern texts;
    struct map by_member;             /* group, rank in it -> index in `member_list` */
    struct map by_work;               /* rank, number, operation -> index in `works` */
    struct map latest;                /* rank, number -> the latest work with these */
    struct map by_remark;             /* kind, rank, accused, text -> 1 */
    struct map by_group;              /* group -> index in `groups` */
    struct map waiting;               /* ranks with a failed work -> 1, set by torch_ranks_settle() */
    int64_t least_ranks;              /* the job's ranks at least, by reports, once settled; 0: unknown */
    int tasks_start_several;          /* ranks share the process that started them, so tasks are not ranks */
    int64_t of_all;                   /* text: name of the group of all ranks, once it was looked up; -1 */
    struct torch_member *member_list; /* owned, as are the arrays below */
    size_t member_list_count;
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

/* Adds a text. Returns -1 if memory is out, as do the functions below. */
int torch_ranks_text(struct torch_ranks *ranks, struct text text, int64_t *number);

/* Takes a record of the watchdog. */
int torch_ranks_take(struct torch_ranks *ranks, const struct watchdog_line *said, uint64_t offset);

/* A work of a rank (global if known) failed because another rank was gone. */
void torch_ranks_lose_peer(struct torch_ranks *ranks, int64_t rank, int64_t number);

/* Adds what a line reports about a rank, once. */
int torch_ranks_remark(struct torch_ranks *ranks, const struct torch_remark *remark);

/* A report lists all `size` ranks of a group; without a name (-1), of the group of all ranks. */
int torch_ranks_list_all(struct torch_ranks *ranks, int64_t group, int64_t size);

/* What is known about the size of a group; NULL: nothing. */
const struct torch_group *torch_ranks_group(const struct torch_ranks *ranks, int64_t group);

/* Whether a work of the remark's rank failed. What else that rank prints may be an effect of that failure. */
int torch_ranks_waits(const struct torch_ranks *ranks, const struct torch_remark *remark);

/*
 * Whether the ranks of a remark may belong to the group of all ranks, where the rank in the group is the
 * global rank.
 */
int torch_ranks_may_be_of_all(const struct torch_remark *remark);

/*
 * At the end of the file: assigns works without a group to one as far as possible, computes the sizes of
 * groups, and gives ranks without works a place in the group of all ranks.
 */
int torch_ranks_settle(struct torch_ranks *ranks);

/* -------------------- watchdog.c -------------------- */

/*
 * The lines of a desync report, which a rank makes from the records of all ranks in torch's store
 * (TORCH_NCCL_DESYNC_DEBUG=1):
 *
 *     - To our best knowledge, ranks [3] are the lagging ranks that caused this timeout. They never joined
 *       any collectives
 *     - [7] finished collective #182, but didn't join collective #183 (count from 1)
 *     - [2] joined but didn't finish collective #9 (count from 1)
 *     - Snapshot of ranks' latest states:
 *       #183 started ranks:
 *         [0, 1] started ALLREDUCE
 */
enum desync_kind {
    DESYNC_NONE = 0,
    DESYNC_NEVER_JOINED, /* it did not join a collective that others joined, or any at all */
    DESYNC_UNFINISHED,   /* it joined, but its GPU did not finish a collective that others finished */
    DESYNC_SNAPSHOT,     /* the state of each rank follows */
    DESYNC_NUMBER,       /* the number of the collective of the following states */
    DESYNC_STATE
};

struct desync_line {
    enum desync_kind kind;
    struct text ranks; /* text between the brackets; empty if none are listed */
    struct text said;  /* the line without its prefix */
    int64_t number;    /* of the collective; COUNT_UNKNOWN */
    int is_started;    /* of DESYNC_NUMBER: 1 these ranks have started it, 0 they have finished it */
};

/* Returns 1 if the line is part of such a report, else 0. */
int desync_read(struct text line, struct desync_line *read);

/* Takes the next rank from a list; COUNT_UNKNOWN if none is left. */
int64_t desync_next_rank(struct text *ranks);

/* -------------------- reader.c -------------------- */

/*
 * What launchers print about a process that a signal or the system killed:
 *
 *     srun: error: node017: task 5: Killed
 *     mpirun noticed that process rank 5 with PID 4711 on node node017 exited on signal 9 (Killed).
 *
 * and torchrun, in several lines, with the rank before the signal:
 *
 *       rank      : 5 (local_rank: 1)
 *       exitcode  : -9 (pid: 4711)
 *
 * Not read are processes that aborted, exited by themselves or were terminated, since ranks do that when
 * another rank fails. Nor are processes killed after the first one, since the launcher kills the rest of a
 * step when it ends.
 */
struct launcher_state {
    int64_t rank;      /* from torchrun; COUNT_UNKNOWN */
    int is_step_ended; /* a task ended by itself, or the launcher ended all of them */
};

/*
 * A record of the watchdog that a terminal or launcher broke into several lines. The record is held until it
 * is complete. The prefix that a launcher puts before each line is removed from the continuation lines.
 */
struct wrapped_record {
    struct buffer text; /* what has been read of it; unused if `lines` is 0 */
    uint64_t offset;    /* of its first line */
    size_t lines;
    size_t prefix;    /* bytes before the record in its first line */
    size_t last_line; /* bytes of the latest line */
    size_t width;     /* width at which earlier lines of this file were broken; 0: none was */
};

/* The lines of a file, in order: the record that each line belongs to, and the rank that printed it. */

/* The rank that printed the lines after a record. */
struct torch_source_process {
    int64_t rank; /* in its group; COUNT_UNKNOWN: no rank is known */
    int64_t global_rank;
    int64_t group; /* number of its text; -1 */
};

/* An NCCL or CUDA error. Its cause follows in the next lines. */
struct torch_failure {
    struct torch_source_process of;
    struct buffer text;
    int64_t number; /* of the work; COUNT_UNKNOWN */
    uint64_t offset;
    int lines_left; /* how many more lines may belong to it; 0: there is no error */
};

/* A desync report: the ranks that it lists. */
struct torch_report {
    int is_snapshot;
    int64_t listed;                 /* number of listed ranks; a correct report lists each once */
    int64_t greatest;               /* greatest listed rank; -1 */
    int64_t lagging;                /* number of the collective that `unfinished` did not finish */
    int64_t furthest;               /* greatest number that other ranks started */
    struct torch_remark unfinished; /* held until it is known whether others got further */
    struct text unfinished_ranks;   /* points into `line` */
    struct buffer line;
};

struct torch_reader {
    struct torch_ranks ranks;
    struct wrapped_record record;
    struct torch_source_process source_process;
    struct torch_failure failure;
    struct torch_report report;
    struct launcher_state launcher;
    struct map tracebacks; /* global ranks whose program is printing a traceback -> 1 */
    struct map echoes;     /* global ranks with an exception because another rank ended -> 1 */
};

void torch_reader_init(struct torch_reader *reader);
void torch_reader_release(struct torch_reader *reader);

/* Returns 1 if the line has nothing that is read here, 0 if it has, -1 if memory is out. */
int torch_reader_take(struct torch_reader *reader, struct text line, uint64_t offset);

/* The file ended. Returns -1 if memory is out. */
int torch_reader_end(struct torch_reader *reader);

/* -------------------- torch.c -------------------- */

/*
 * Hands over what was collected, after torch_reader_end(): each rank of a group with its status, the work in
 * which it waits as a call without an end, and other reports as warnings. If a rank gives only the last
 * completed work, it waits in the next one.
 */
int torch_emit(const struct torch_ranks *ranks, const struct format_sink *sink, struct error *error);

#endif
