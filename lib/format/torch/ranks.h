#ifndef NCCLPROF_FORMAT_TORCH_RANKS_H
#define NCCLPROF_FORMAT_TORCH_RANKS_H

#include "base/intern.h"
#include "base/map.h"
#include "format/format.h"
#include "format/torch/watchdog.h"

/*
 * How far ranks came, by what their watchdogs said last, and what else these said of them. Kept until the
 * file's end, as the line that tells the group of a work comes behind, and of some works there is none.
 */

/* A rank of a group. Texts are numbers in `texts`; -1: none. */
struct torch_seat {
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
    struct map by_seat;       /* group, rank in it -> of `seats` */
    struct map by_work;       /* rank, number, operation -> of `works` */
    struct map latest;        /* rank, number -> the latest of these */
    struct map by_remark;     /* kind, rank, accused, text -> 1 */
    struct map by_group;      /* -> of `groups` */
    struct map waiting;       /* ranks of which some work failed, once settled: -> 1 */
    int64_t least_ranks;      /* that the job has, as reports name them, once settled; 0: none does */
    int tasks_start_several;  /* ranks share a process that started them: tasks are no ranks */
    int64_t of_all;           /* text: the name of the group of all ranks, once asked for; -1 */
    struct torch_seat *seats; /* owned, as all below */
    size_t seat_count;
    size_t seat_capacity;
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

/* The rank of a group; added where it is not there. NULL: no memory. */
struct torch_seat *torch_ranks_seat(struct torch_ranks *ranks, int64_t group, int64_t rank);

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

#endif
