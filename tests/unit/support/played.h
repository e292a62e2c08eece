#ifndef NCCLPROF_TESTS_SUPPORT_PLAYED_H
#define NCCLPROF_TESTS_SUPPORT_PLAYED_H

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Four ranks and their calls: r an AllReduce, g an AllGather, b a Broadcast of all; R an AllReduce of ranks 1
 * and 2, P one of 0 and 3; s a send to the next rank, v a receive from the previous one. An asterisk: with
 * twice the size. A hash: with another root; a plus: with another datatype. A question mark: with an unknown
 * size. An exclamation mark: it started and never ended; a tilde: its GPU never started it. A point before
 * it: its record was lost. A bar ends a step. A rank without calls left no trace.
 */
enum { RANKS = 4, COMMUNICATORS = 3, MOST = 64 };

struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[COMMUNICATORS];
    struct job_operation operations[MOST];
    int32_t positions[MOST];
    struct job_instance instances[MOST];
    int32_t members[MOST];
    size_t member_count;
    int64_t numbers[RANKS][256]; /* how many calls of a letter a rank made */
};

void play(struct played *played, const char *const calls[RANKS]);

/* The findings, which the caller releases. Releases the job. */
void find_played(struct played *played, struct findings *findings);

/*
 * `expected`: for each finding its kind, rank, confidence, step, and the waiting ranks, as in "missing 1 high
 * 2 <03 "; for candidates all of them, as in "missing 1/2 low 2 <03 ". Releases the job.
 */
void check_found(struct played *played, const char *expected);

/* The same for the calls of the four ranks. */
void check(const char *zero, const char *one, const char *two, const char *three, const char *expected);

#endif
