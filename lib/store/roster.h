#ifndef NCCLPROF_STORE_ROSTER_H
#define NCCLPROF_STORE_ROSTER_H

#include "base/error.h"
#include "base/map.h"
#include "model/event.h"
#include "store/membership.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * Who is who in a joined store, or in one run of it: runs, their ranks and communicators, and which member of
 * a communicator is which rank. Indexes are into the arrays of struct roster; -1 is none.
 */

struct roster_run {
    int64_t id;
    int64_t expected_ranks;
    int64_t step_count;
    int64_t first_step; /* that is recorded, where steps have the program's numbers; else 0 */
    int64_t step_base;  /* what the program calls step 0 */
    char *step_source;  /* owned */
    char *name;         /* owned; hostile */
    int has_global_ranks;
    size_t first_rank; /* of the roster's */
    size_t rank_count;
};

/* What files tell of the process of a rank. NULL and COUNT_UNKNOWN: nothing. */
struct roster_facts {
    char *host; /* owned, as all texts here */
    char *gpu_bus_id;
    char *gpu_serial;
    char *nic;
    char *rank_name; /* what the framework calls it */
    char *vm;        /* virtual machine */
    int64_t local_rank;
    int64_t gpu; /* CUDA's number of the device in the process */
};

void roster_facts_release(struct roster_facts *facts);

struct roster_rank {
    int64_t id;
    int64_t process_id;  /* -1: nothing recorded by it */
    int64_t global_rank; /* -1 */
    char *name;          /* owned */
    int32_t run;
    struct roster_facts facts; /* roster_load_facts */
};

struct roster_member {
    int64_t id;
    int64_t number; /* its rank in the communicator */
    int32_t rank;
    int32_t communicator;
};

struct roster {
    struct roster_run *runs; /* owned, as all below; by id */
    size_t run_count;
    size_t run_capacity;
    struct roster_rank *ranks; /* by run and global rank; of each run those without one last, by name */
    size_t rank_count;
    size_t rank_capacity;
    struct job_communicator *communicators; /* by id */
    size_t communicator_count;
    size_t communicator_capacity;
    struct roster_member *members; /* by communicator, number and id */
    size_t member_count;
    size_t member_capacity;
    struct map rank_of;   /* id -> index */
    struct map member_of; /* likewise */
};

/*
 * A run, its ranks and communicators, or with `run_id` 0 those of all runs; and then, for those who ask for
 * them, the members, which says who is in the communicators, and what is known of the ranks' processes.
 * Release it whatever comes back.
 */
int roster_load(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_members(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
int roster_load_facts(struct roster *roster, struct store *store, int64_t run_id, struct error *error);
void roster_release(struct roster *roster); /* also one that is all 0 */

/* Indexes by id. */
int32_t roster_rank(const struct roster *roster, int64_t id);
int32_t roster_communicator(const struct roster *roster, int64_t id);

/* The rank of a number in a communicator; -1. */
int32_t roster_rank_in(const struct roster *roster, int32_t communicator, int64_t number);

/* NULL: there is none of that id. */
const struct roster_member *roster_member(const struct roster *roster, int64_t id);

#endif
