#ifndef NCCLPROF_JOIN_WITNESS_MATCH_H
#define NCCLPROF_JOIN_WITNESS_MATCH_H

#include "join/witness_calls.h"

/*
 * Which call of one recorder is which of another one's, in one series of one member: the same number apart all
 * along. Both read the clock of one machine at nearly the same moment, so that the right distance is the one by
 * which they agree best on when calls came, one after the other.
 */

/* How far apart two recorders of a process read the clock for one call: within a turn of the scheduler or two. */
#define WITNESS_LAG_MOST_NS INT64_C(20000000)

/* What tells a call from its neighbours: it is no farther than this from where the others put it, mostly. */
#define WITNESS_SPREAD_MOST_NS INT64_C(1000000)

/* A series of so many calls can be laid beside another one's. */
enum { WITNESS_PAIRS_LEAST = 3 };

struct series_match {
    int64_t shift;      /* a call's place of the one less that of the other */
    int64_t lag_ns;     /* median time by which the one tells of it later */
    int64_t spread_ns;  /* median distance from that */
    size_t pairs;       /* calls that both tell of */
    size_t timed;       /* of these, with times */
    size_t other_sizes; /* of these, with sizes that differ */
};

/*
 * 1 with the match; 0: the calls do not tell, or too few of them are in both; -1: memory is out. Both in order
 * of places.
 */
int series_align(const struct told_call *one, size_t one_count, const struct told_call *other,
                 size_t other_count, struct series_match *match);

/*
 * The same where there are too few calls to tell by themselves: by the time that the one tells of others later.
 * Nobody has timed anything then: match->timed is 0.
 */
int series_align_near(const struct told_call *one, size_t one_count, const struct told_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match);

/* Goes through the pairs of two series in order. Begin with {0, 0}; 1 with the next pair's indexes, 0: no more. */
struct pair_cursor {
    size_t one;
    size_t other;
    size_t at_one; /* the pair */
    size_t at_other;
};
int series_next_pair(struct pair_cursor *cursor, const struct told_call *one, size_t one_count,
                     const struct told_call *other, size_t other_count, int64_t shift);

#endif
