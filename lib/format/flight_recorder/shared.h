#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_SHARED_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_SHARED_H

#include "base/intern.h"
#include "base/map.h"
#include "input/value.h"

/*
 * What a dump says in many places and a pickle holds once: names of groups, and lists of their ranks. Each is
 * taken once, however often it is referred to, so that it takes as much memory as it has bytes.
 */

struct rank_list {
    int64_t *ranks; /* owned: global ranks, by rank in the group */
    size_t count;
};

struct dump_shared {
    struct intern texts;
    struct map known;        /* where a text or list stands -> its number below */
    struct rank_list *lists; /* owned */
    size_t list_count;
    size_t list_capacity;
};

void dump_shared_init(struct dump_shared *shared);
void dump_shared_release(struct dump_shared *shared);

/* The number of a text in `texts`; -1 when memory is out. */
int64_t dump_shared_text(struct dump_shared *shared, const struct value *text);

/*
 * The number of a list of ranks in `lists`, as it is written: "[0, 1, 2]", or a list of numbers. -1: it is
 * none; -2: memory is out.
 */
int64_t dump_shared_list(struct dump_shared *shared, const struct value *value);

#endif
