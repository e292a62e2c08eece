#ifndef NCCLPROF_BASE_IDS_H
#define NCCLPROF_BASE_IDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where an id stands among `count` items in ascending order of theirs, which each begins with and of which
 * each takes `item_bytes`; -1 when it is not there. Ids mostly follow each other, so that it is looked for
 * first where it would stand if they did from item `near` on: at once when it does, else by halving.
 */
int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id);

#endif
