#ifndef NCCLPROF_ALIGN_ALIGN_H
#define NCCLPROF_ALIGN_ALIGN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Clock offsets by difference constraints: pure mathematics.
 *
 * Each of `clock_count` clocks runs at true = scale x local + offset. Of every meeting it is known that
 * nobody left before the last one had come: for all its visits i, j: leave_i >= come_j in true time, so that
 * offset_j - offset_i <= leave_i - come_j. The offsets that satisfy all meetings form, relative to clock
 * `reference`, an interval per clock (shortest paths, Bellman and Ford); its middle is the offset, half its
 * width the uncertainty. No probability is involved: the true offset is inside if the premises hold.
 */
struct align_visit {
    int32_t clock;
    int64_t come_ns; /* local */
    int64_t leave_ns;
};

struct align_meeting {
    size_t first; /* in visits */
    size_t count;
};

struct align_problem {
    const struct align_visit *visits;
    const struct align_meeting *meetings;
    size_t meeting_count;
    int32_t clock_count;
    int32_t reference;
    int64_t slack_ns; /* comes may be told late by so much */
};

enum align_state {
    ALIGN_SOLVED = 0,
    ALIGN_UNREACHED,    /* no chain of meetings links the clock with the reference */
    ALIGN_CONTRADICTORY /* no offsets satisfy all meetings, even with scales: drift, or a wrong join */
};

struct align_clock {
    enum align_state state;
    int64_t offset_ns; /* to be added to scale x (local - origin) + origin */
    int64_t uncertainty_ns;
    double scale;
    int64_t origin_ns; /* local time around which the scale turns */
};

/* A local time brought to the reference's pace; without the offset. */
int64_t align_scaled(double scale, int64_t origin_ns, int64_t local_ns);

/*
 * Fills `clocks` (clock_count of them). Tries scale 1 first; where that contradicts itself, fits scales
 * against the reference by least squares over shared meetings and tries once more. -1 only when memory is
 * out.
 */
int align_solve(const struct align_problem *problem, struct align_clock *clocks, struct error *error);

#endif
