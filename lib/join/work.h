#ifndef NCCLPROF_JOIN_WORK_H
#define NCCLPROF_JOIN_WORK_H

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * The join's work in memory: all but the operations, which pass by (sweep.h). Indexes are into the arrays of
 * struct work; -1 is none. Times are on the recording process's own clock, as in the base tables.
 */

/* Ranks of a run that are named though nobody recorded anything there. */
enum { MOST_SILENT_RANKS = 1024 };

struct work_process {
    int64_t id;
    char *file_set; /* owned */
    char *host;     /* owned */
    int64_t pid;
    int64_t first_file; /* the least of those that speak of it */
    int64_t told_rank;  /* global, as files say; -1: they do not */
    int64_t told_size;  /* global ranks of its job, likewise; 0 */
    int32_t run;
};

struct work_communicator {
    int64_t id;
    int64_t hash;
    char *name; /* owned; NULL */
    char *path; /* owned: of the file that is all that speaks of it, where its hash is not known; NULL */
    int64_t declared_size;
    int64_t *told; /* owned: the global ranks of its members, in order of its own, as files list them; NULL */
    size_t told_count;
    int64_t greatest_peer;
    int is_named; /* its hash is made of its name and members (model/communicator_hash.h) */
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
    int64_t told_rank; /* as work_process, of this rank of its process alone */
    int64_t affinity;  /* host clock minus GPU clock (split_by_clock.c); INT64_MIN unknown */
    int64_t first_ns;  /* when its operations were issued, on its process's clock; 0 not known */
    int64_t last_ns;
    size_t operations;
    size_t tagged; /* of these, carry a tag themselves */
    /* Owned: what its first operations of each kind count as, where they have no numbers (windows.h); NULL.
     */
    struct numbers *first_numbers;
};

struct work_mark {
    int64_t at_ns;
    size_t order;   /* among all of the process, in order of time */
    int32_t member; /* -1: all of the process */
    int32_t depth;
    int32_t text; /* interned; -1 for an end */
    int is_end;
};

struct work_rank {
    int32_t run;
    int32_t process; /* -1: nothing recorded by it */
    int64_t global_rank;
    char *name;      /* owned */
    int is_numbered; /* steps, tags and numbers of its operations are settled */
    int by_tags;     /* tags of its own told its steps */
    int32_t step_count;
};

/* Where a run's steps come from; in table run "none", "tags", "period", "told": by the program. */
enum step_source { STEPS_NONE, STEPS_BY_TAGS, STEPS_BY_PERIOD, STEPS_TOLD };

struct work_run {
    int64_t rank_count;
    int64_t expected_ranks;
    int32_t world; /* the communicator that gives global ranks; -1 */
    int world_is_settled;
    int is_told; /* files say of all its ranks which global ranks they are */
    int32_t step_count;
    enum step_source step_source;
    int32_t first_step; /* that some rank recorded, where the program tells them */
    int64_t step_base;  /* what the program calls step 0 */
    int is_changed;     /* files of it came or went: its operations are joined anew */
    int64_t number;     /* for users, from 1, as is its name: see run_names.h */
    int64_t name;       /* in work.run_names */
};

/* What files say against each other; `other` is a rank, too, that was said or follows from other records. */
struct work_contradiction {
    int32_t process;
    int64_t kept; /* global rank; -1: none */
    int64_t other;
};

/* Numbers of items, group by group: those of group i are items[first[i]] to items[first[i + 1] - 1]. */
struct grouping {
    int32_t *items; /* owned, as is first */
    size_t *first;
};

void work_grouping_release(struct grouping *grouping);

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
    struct work_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
    int32_t marked_process; /* whose these are, by member and order: 1 + its number; 0 nobody's */
    struct map tag_names;   /* of the same: the text of a number -> that of its name */
    struct work_rank *ranks;
    size_t rank_count;
    size_t rank_capacity;
    struct work_contradiction *contradictions;
    size_t contradiction_count;
    size_t contradiction_capacity;
    struct work_run *runs;
    size_t run_count;
    int64_t last_run; /* the greatest number that a run ever had */
    struct intern run_names;
    struct grouping by_rank; /* members of each job rank, communicator and process, by number */
    struct grouping by_communicator;
    struct grouping by_process;
    struct grouping ranks_of_run; /* ranks and communicators of each run likewise */
    struct grouping communicators_of_run;
};

void work_release(struct work *work);

/* Notes that something else than what counts was said of a process. */
int work_contradict(struct work *work, int32_t process, int64_t kept, int64_t other, struct error *error);

int64_t work_add_rank(struct work *work, int32_t run, int32_t process); /* -1: out of memory */

/*
 * Members by process and by communicator, once loaded; ranks by run; and all the rest, with the ranks by run
 * anew, once all ranks are there.
 */
int work_group_members(struct work *work, struct error *error);
int work_group_ranks(struct work *work, struct error *error);
int work_group_joined(struct work *work, struct error *error);

#endif
