#ifndef NCCLPROF_FORMAT_KINETO_GROUPS_H
#define NCCLPROF_FORMAT_KINETO_GROUPS_H

#include "base/error.h"
#include "base/intern.h"
#include "format/kineto/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Process groups of a trace. Kernels and calls name theirs by name and ranks; the list is cut where there are
 * more than 30, and versions of torch differ in what they say. What is missing is taken from pg_config of
 * "distributedInfo", from even spacing, or, of a group as large as the job, from that.
 */

struct kineto_group {
    char *name;        /* owned; "" unknown */
    char *description; /* owned; "" unknown */
    int64_t *ranks;    /* owned: global ranks in order of their rank in it */
    size_t rank_count;
    int is_cut;    /* there are more */
    int64_t size;  /* COUNT_UNKNOWN */
    uint64_t hash; /* 0: it cannot be told from others (kineto_groups_settle) */
    int is_told;   /* its communicator has been handed over */
};

struct kineto_groups {
    struct intern keys;         /* name and ranks as they are printed: index into items */
    struct kineto_group *items; /* owned */
    size_t count;
    size_t capacity;
    struct kineto_group *configured; /* owned: pg_config */
    size_t configured_count;
    size_t configured_capacity;
    size_t completed_ranks; /* that were taken for what is cut, of all groups */
};

enum { KINETO_NO_GROUP = -1 };

void kineto_groups_init(struct kineto_groups *groups);
void kineto_groups_release(struct kineto_groups *groups);

/* The group that the arguments name; KINETO_NO_GROUP: they name none. -1 with *group unset: out of memory. */
int kineto_groups_find(struct kineto_groups *groups, const struct kineto_arguments *arguments,
                       int32_t *group);

/* An element of pg_config. One that is no such thing is left out. */
int kineto_groups_configure(struct kineto_groups *groups, struct raw_json text);

/* The group that all ranks are in, for operations that name none where there is no other; -1: out of memory.
 */
int kineto_groups_world(struct kineto_groups *groups, int64_t world_size, int32_t *group);

/* Members and hashes of those that have none yet, as far as can be told by now. -1: out of memory. */
int kineto_groups_settle(struct kineto_groups *groups, int64_t world_size);

/* A rank's number in a group; COUNT_UNKNOWN. */
int64_t kineto_group_rank(const struct kineto_group *group, int64_t global_rank);

/* The only rank that is in all groups; COUNT_UNKNOWN: there are several, or none. */
int64_t kineto_groups_common_rank(const struct kineto_groups *groups);

#endif
