#ifndef NCCLPROF_BUFFERS_RANGES_H
#define NCCLPROF_BUFFERS_RANGES_H

#include "model/event.h"

#include <stddef.h>

/*
 * Registered memory of one rank or communicator: ranges of addresses, each from a moment to another. Moments
 * are told by a log in numbers of calls, by an allocator in wall-clock time.
 */

enum { RANGES_NO_CALLS = -1 };

struct range {
    uint64_t begin;           /* rounded to pages as NCCL does (src/register/register.cc) */
    uint64_t end;             /* one beyond the last byte; UINT64_MAX where that overflows */
    int64_t id;               /* in order of which they were told, within one file */
    struct interval_ns alive; /* wall clock; TIME_UNKNOWN: always, for ever */
    int32_t made;             /* which of `calls` came before it was; RANGES_NO_CALLS */
    int32_t ended;            /* likewise; RANGES_NO_CALLS: never, that we know of */
    int is_expandable;
};

struct ranges {
    struct range *items; /* owned; by address once ranges_finish has been called */
    uint64_t *reach;     /* owned: greatest end of all up to an item */
    size_t count;
    size_t capacity;
    int64_t (*calls)[FUNCTION_COUNT]; /* owned: how many of each function came before a moment */
    size_t call_count;
    size_t call_capacity;
};

/* When a call was made. */
struct call_place {
    enum function function;
    int64_t number;  /* of its function on the communicator, from 0; COUNT_UNKNOWN */
    int64_t wall_ns; /* TIME_UNKNOWN */
};

enum coverage {
    COVERED,         /* all of the buffer is in one range */
    COVERED_NOT,     /* no byte of it is in any, ever */
    COVERED_LATER,   /* it is in one that came later */
    COVERED_NO_MORE, /* ... that had gone */
    COVERED_BY_TWO,  /* it begins in one and ends in another */
    COVERED_PARTLY,  /* part of it is in one */
    COVERED_EXPANDABLE
};

void ranges_release(struct ranges *ranges); /* also one that is all 0 */

/* The number of a moment, for a range's `made` and `ended`; -1: no memory. */
int32_t ranges_moment(struct ranges *ranges, const int64_t *calls);

/* Adds memory; the range's begin and end are made of address and size. -1: no memory. */
int ranges_add(struct ranges *ranges, uint64_t address, int64_t bytes, const struct range *range);

/* Orders what was added. What is registered again at the same address had ended before. -1: no memory. */
int ranges_finish(struct ranges *ranges);

/* That what holds an address, told before `id`, ended at a moment. After ranges_finish. */
void ranges_end(struct ranges *ranges, uint64_t address, int64_t id, int32_t moment);

/* How a buffer of a call lies in them; `bytes` is above 0. */
enum coverage ranges_cover(const struct ranges *ranges, uint64_t address, uint64_t bytes,
                           const struct call_place *place);

#endif
