#ifndef NCCLPROF_FORMAT_TORCH_RANKS_H
#define NCCLPROF_FORMAT_TORCH_RANKS_H

#include "base/intern.h"
#include "base/map.h"
#include "format/format.h"
#include "format/torch/watchdog.h"

/*
 * How far ranks came, by what their watchdogs said last; handed over at the file's end: each rank of a group
 * with its status, and the work that it waits in as a call that did not end. What it waits in where it says
 * only what completed last is the next one.
 */
struct torch_ranks {
    struct intern texts;
    struct map by_seat;       /* group, rank in it -> of `seats` */
    struct map timeouts;      /* global rank -> of `works`: the latest that does not say its group */
    struct torch_seat *seats; /* owned */
    size_t seat_count;
    size_t seat_capacity;
    struct torch_work *works; /* owned */
    size_t work_count;
    size_t work_capacity;
};

void torch_ranks_init(struct torch_ranks *ranks);
void torch_ranks_release(struct torch_ranks *ranks);

/* Takes a line in. 1: it says nothing of this, 0, -1: no memory. */
int torch_ranks_take(struct torch_ranks *ranks, struct text line, uint64_t offset);

int torch_ranks_end(struct torch_ranks *ranks, const struct format_sink *sink, struct error *error);

#endif
