#ifndef NCCLPROF_JOIN_WITNESS_MATCH_H
#define NCCLPROF_JOIN_WITNESS_MATCH_H

#include "join/witness_calls.h"

/*
 * Which call of one recorder is which of another one's, in one series of one member: the same number apart
 * all along. Both read the clock of one machine at nearly the same moment, so that the right distance is the
 * one by which they agree best on when calls came, one after the other.
 */

/*
 * How far apart two recorders of a process read the clock for one call, in the middle: they do so in one
 * thread, a few function calls from each other; with the plugin, Inspector, Flight Recorder and PyTorch's
 * profiler it was up to 0.1 ms. Steps of a job that runs beside it are seldom so near, rank by rank.
 */
#define WITNESS_LAG_MOST_NS INT64_C(2000000)

/* How far from there calls are, in the middle: up to 0.07 ms was seen, with more ranks than cores. */
#define WITNESS_SPREAD_MOST_NS INT64_C(500000)

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
 * 1 with the match; 0: the calls do not tell, or too few of them are in both; -1: memory is out. Both in
 * order of places.
 */
int series_align(const struct told_call *one, size_t one_count, const struct told_call *other,
                 size_t other_count, struct series_match *match);

/*
 * The same where one has too few calls to tell by themselves: by the time that it tells of others later.
 * Nothing is timed then: match->timed is 0.
 */
int series_align_near(const struct told_call *one, size_t one_count, const struct told_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match);

/* Goes through the pairs of two series in order. Begin with {0, 0}; 1 with the next pair's indexes, 0: no
 * more. */
struct pair_cursor {
    size_t one;
    size_t other;
    size_t at_one; /* the pair */
    size_t at_other;
};
int series_next_pair(struct pair_cursor *cursor, const struct told_call *one, size_t one_count,
                     const struct told_call *other, size_t other_count, int64_t shift);

#endif
