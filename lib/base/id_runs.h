#ifndef NCCLPROF_BASE_ID_RUNS_H
#define NCCLPROF_BASE_ID_RUNS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Ascending ids and the index of each in the order in which they were added, from 0 on. Ids that follow each
 * other take no room.
 *
 *     struct id_runs ids = {0};
 *     if (id_runs_add(&ids, id)) return error_no_memory(error);
 *     int64_t index = id_runs_find(&ids, id);
 *     id_runs_release(&ids);
 */
struct id_run {
    int64_t id;   /* of its first: find_id and such look for it */
    size_t index; /* likewise */
};

struct id_runs {
    struct id_run *items; /* owned */
    size_t run_count;
    size_t run_capacity;
    size_t count;  /* of ids */
    size_t latest; /* the run in which one was found last */
};

/* `id` is greater than all before it. -1 when memory is out. */
int id_runs_add(struct id_runs *runs, int64_t id);

/* -1: it is not there. Quick where what is looked for is near what was found last. */
int64_t id_runs_find(struct id_runs *runs, int64_t id);

/* The id at an index, which is less than `count`. */
int64_t id_runs_at(const struct id_runs *runs, size_t index);

void id_runs_release(struct id_runs *runs);

#endif
