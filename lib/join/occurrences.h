#ifndef NCCLPROF_JOIN_OCCURRENCES_H
#define NCCLPROF_JOIN_OCCURRENCES_H

#include "base/map.h"
#include "join/sweep.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers that tell the operations of one member apart where the trace does not. Point-to-point operations of
 * each peer and direction are counted. A sequence number that comes again (a replayed CUDA graph,
 * communicators that a dialect cannot tell apart) is counted as another occurrence; 0 is the first.
 */

/* The sequence numbers that a member showed for one function. One that only ever rises repeats none. */
struct series {
    int64_t last;
    int repeats;
};

struct series_table {
    struct map numbers;    /* of series, by member, kind and function */
    struct series *series; /* owned */
    size_t capacity;
    int64_t last_number; /* the series that was asked for last; -1: none was */
    int32_t last_member; /* whose it is, and of what */
    int last_kind;
    int last_function;
    struct map seen; /* how often, by what must be told apart; of one rank */
    int has_found;   /* a series has turned out to repeat numbers */
};

void series_table_init(struct series_table *table);
void series_table_release(struct series_table *table);

/*
 * Every operation of a rank in order of issue: its number among its like, -1 when memory is out. Counting
 * number by number takes memory for each operation, so a series is taken to repeat none until one comes
 * again. Then has_found is set, and the rank has to pass by once more.
 */
int64_t series_number(struct series_table *table, const struct swept *swept);

/* The rank is through, or begins anew. */
void series_forget_counts(struct series_table *table);

/* Whether a member's series of that kind and function repeats numbers. */
int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function);

#endif
