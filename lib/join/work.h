#ifndef NCCLPROF_JOIN_WORK_H
#define NCCLPROF_JOIN_WORK_H

#include "base/error.h"
#include "base/intern.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * The join's work in memory. Indexes are into the arrays of struct work; -1 is none. Times are on the
 * recording process's own clock, as in the base tables.
 */

struct work_process {
    int64_t id;
    char *file_set; /* owned */
    char *host;     /* owned */
    int64_t pid;
    int32_t run;
};

struct work_communicator {
    int64_t id;
    int64_t hash;
    char *name; /* owned; NULL */
    int64_t declared_size;
    int64_t greatest_peer;
    int64_t size; /* declared, else a lower bound from the ranks and peers seen */
    int32_t run;
    int32_t member_count;
    char *label; /* owned */
};

struct work_member {
    int64_t id;
    int32_t communicator;
    int64_t rank;
    int32_t process;
    int32_t job_rank;
    int64_t affinity; /* host clock minus GPU clock (affinity.c); INT64_MIN unknown */
};

struct work_operation {
    int64_t id;
    int64_t sequence; /* collectives; pairs: their ordinal once joined; COUNT_UNKNOWN */
    int64_t bytes;
    int64_t issued_ns; /* when the call began */
    int64_t duration_ns;
    int32_t member;
    int32_t peer;
    int32_t tag; /* interned; -1 none */
    int32_t step;
    int32_t instance;
    int32_t occurrence; /* how often the same member had this sequence number before */
    uint8_t kind;
    uint8_t function;
};

struct work_mark {
    int64_t at_ns;
    int32_t process;
    int32_t member; /* -1: all of the process */
    int32_t depth;
    int32_t text; /* interned; -1 for an end */
    int is_end;
};

struct work_instance {
    int32_t communicator;
    uint8_t kind;
    uint8_t function;
    int64_t sequence;
    int32_t sender; /* ranks; -1 */
    int32_t receiver;
    int64_t size_bytes;
    int32_t members;
    int32_t expected;
    int64_t transfer_ns;
    int64_t effective_ns;
    int64_t margin_ns;
    int32_t last_member;
    int32_t durations; /* members whose duration is known */
    int32_t tag;
    int32_t tag_member; /* whose tag it is */
    int32_t step;
};

struct work_rank {
    int32_t run;
    int32_t process; /* -1: nothing recorded by it */
    int64_t global_rank;
    char *name;             /* owned */
    size_t first_operation; /* in struct work's order[] */
    size_t operation_count;
};

struct work_run {
    int64_t rank_count;
    int64_t expected_ranks;
    int32_t world; /* the communicator that gives global ranks; -1 */
    int32_t step_count;
    const char *step_source;
};

struct work {
    struct intern texts;
    struct work_process *processes;
    size_t process_count;
    size_t process_capacity;
    struct work_communicator *communicators;
    size_t communicator_count;
    size_t communicator_capacity;
    struct work_member *members;
    size_t member_count;
    size_t member_capacity;
    struct work_operation *operations;
    size_t operation_count;
    size_t operation_capacity;
    struct work_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
    uint32_t *mark_order; /* marks by process, in order of time */
    size_t *first_mark;   /* in mark_order, per process and one past the end */
    struct work_rank *ranks;
    size_t rank_count;
    size_t rank_capacity;
    struct work_run *runs;
    size_t run_count;
    struct work_instance *instances;
    size_t instance_count;
    size_t instance_capacity;
    uint32_t *order; /* operations by (job rank, time of issue) */
};

/* load.c: the base tables. */
int work_load(struct work *work, struct store *store, struct error *error);
void work_release(struct work *work);

/* ranks.c: runs, job ranks, global ranks, communicator sizes and labels; then order[]. */
int work_find_ranks(struct work *work, struct error *error);
int64_t work_add_rank(struct work *work, int32_t run, int32_t process); /* -1: out of memory */
int work_order_operations(struct work *work, struct error *error);

/*
 * affinity.c: gives the members of a process that appears several times in one communicator their ranks,
 * where the trace tells; the others' stay -1. -1 when memory is out.
 */
int work_split_process(struct work *work, int32_t process);

/* tags.c: marks by process, and the tag of every operation. */
int work_order_marks(struct work *work, struct error *error);
int work_assign_tags(struct work *work, struct error *error);

/* steps.c: the step of every operation. */
int work_assign_steps(struct work *work, struct error *error);

/* instances.c: which operations are one. */
int work_join_instances(struct work *work, struct error *error);

/* save.c: the derived tables. */
int work_save(const struct work *work, struct store *store, struct error *error);

#endif
