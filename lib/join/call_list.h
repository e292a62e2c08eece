#ifndef NCCLPROF_JOIN_CALL_LIST_H
#define NCCLPROF_JOIN_CALL_LIST_H

#include "base/intern.h"
#include "join/work.h"
#include "model/call.h"

/* Descriptions of calls as the join has them in memory, and whose they are. */

/* Instead of a group's number; GROUP_DAMAGED is that of no operation, GROUP_ANY may be that of each. */
enum { GROUP_OF_ALL = -1, GROUP_DAMAGED = -2, GROUP_ANY = -3 };

/* A kind of operation that descriptions of a rank tell of; also the key of operations. */
struct call_class {
    int32_t rank; /* of the job */
    int32_t group;
    int32_t function;
    int32_t is_barrier;
    int64_t message_bytes; /* of a barrier 0 */
    int64_t peer;          /* global rank; COUNT_UNKNOWN */
};

struct call {
    int64_t id;      /* ascending; the file is its upper half */
    int32_t process; /* of a mark; -1 */
    int32_t correlation;
    int64_t said_rank;
    int64_t at_ns; /* of a mark, on its process's clock */
    int64_t said_ns;
    struct call_class of; /* rank -1: not known */
    int64_t class;        /* number of `of`; -1: none */
    int64_t operation_id; /* 0: none */
    const char *reason;   /* static; where it has none */
};

struct call_list {
    struct call *items; /* owned, by id */
    size_t count;
    size_t capacity;
    struct intern groups; /* their ranks, ascending, as text */
    struct intern correlations;
};

void call_list_init(struct call_list *list);
void call_list_release(struct call_list *list);

/* Those of the store, with the rank of each or the reason why there is none. */
int call_list_load(struct call_list *list, const struct work *work, struct store *store, struct error *error);

/* The number of a group of `count` global ranks, which are sorted; -1: no memory. */
int64_t call_group(struct call_list *list, int64_t *ranks, size_t count);

#endif
