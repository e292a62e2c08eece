/*
 * Solves the difference constraints between clocks: offsets as shortest paths (Bellman and Ford), scales by
 * least squares. lib/job/clock_alignment.c builds the constraints from the operations of a job.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

static const int64_t FAR = INT64_MAX / 4;

struct solver {
    const struct align_problem *problem;
    const struct align_visit *visits; /* those of the problem, with scaled times */
    int64_t *distance;                /* [clock] */
    int64_t slack_ns;                 /* struct align_problem, or more */
};

int64_t align_scaled(double scale, int64_t origin_ns, int64_t local_ns)
{
    return scale == 1 ? local_ns : origin_ns + llround(scale * (double)(local_ns - origin_ns));
}

/*
 * One pass over all meetings. Forward, distance is the greatest possible offset: a meeting ends no later than
 * any participant's departure, and no participant arrives after that. Backward, distance is minus the least
 * possible offset. Returns whether any distance improved.
 */
static int relax(struct solver *solver, int backward)
{
    const struct align_problem *problem = solver->problem;
    int improved = 0;
    for (size_t i = 0; i < problem->meeting_count; i++) {
        const struct align_meeting *meeting = &problem->meetings[i];
        const struct align_visit *visits = solver->visits + meeting->first;
        int64_t time = FAR;
        for (size_t j = 0; j < meeting->count; j++) {
            int64_t distance = solver->distance[visits[j].clock];
            int64_t at = backward ? solver->slack_ns - visits[j].come_ns : visits[j].leave_ns;
            if (distance < FAR && distance + at < time)
                time = distance + at;
        }
        for (size_t j = 0; time < FAR && j < meeting->count; j++) {
            int64_t *distance = &solver->distance[visits[j].clock];
            int64_t at = backward ? visits[j].leave_ns : solver->slack_ns - visits[j].come_ns;
            if (time + at < *distance) {
                *distance = time + at;
                improved = 1;
            }
        }
    }
    return improved;
}

/*
 * Shortest paths from the reference. Returns -1 for a negative cycle, which means that the meetings
 * contradict each other.
 */
static int shortest(struct solver *solver, int backward)
{
    const struct align_problem *problem = solver->problem;
    for (int32_t i = 0; i < problem->clock_count; i++)
        solver->distance[i] = FAR;
    solver->distance[problem->reference] = 0;
    for (int32_t pass = 0; pass <= problem->clock_count; pass++) {
        if (!relax(solver, backward))
            return 0;
        if (solver->distance[problem->reference] < 0)
            return -1;
    }
    return -1;
}

/* Returns 1 if all meetings are consistent, 0 if not. */
static int solve(struct solver *solver, struct align_clock *clocks, int64_t *greatest)
{
    const struct align_problem *problem = solver->problem;
    if (shortest(solver, 0))
        return 0;
    for (int32_t i = 0; i < problem->clock_count; i++)
        greatest[i] = solver->distance[i];
    if (shortest(solver, 1))
        return 0;
    for (int32_t i = 0; i < problem->clock_count; i++) {
        int64_t least = -solver->distance[i];
        clocks[i].state = greatest[i] < FAR && solver->distance[i] < FAR ? ALIGN_SOLVED : ALIGN_UNREACHED;
        if (clocks[i].state != ALIGN_SOLVED)
            continue;
        if (solver->slack_ns > problem->slack_ns)
            clocks[i].state = ALIGN_ROUGH;
        clocks[i].offset_ns = least + (greatest[i] - least) / 2;
        clocks[i].uncertainty_ns = (greatest[i] - least + 1) / 2;
    }
    return 1;
}

/* Sums for the regression line true = a + b x local of one clock against the reference. */
struct line {
    double n, x, y, xx, xy;
};

static void add_point(struct line *line, double x, double y)
{
    line->n += 1;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

/* The departures from a meeting are the moment that its participants share most precisely. */
static void fit_scales(const struct align_problem *problem, struct align_clock *clocks, struct line *lines)
{
    for (size_t i = 0; i < problem->meeting_count; i++) {
        const struct align_visit *visits = problem->visits + problem->meetings[i].first;
        const struct align_visit *reference = NULL;
        for (size_t j = 0; j < problem->meetings[i].count; j++)
            if (visits[j].clock == problem->reference)
                reference = &visits[j];
        for (size_t j = 0; reference && j < problem->meetings[i].count; j++)
            add_point(&lines[visits[j].clock],
                      (double)(visits[j].leave_ns - clocks[visits[j].clock].origin_ns),
                      (double)(reference->leave_ns - clocks[problem->reference].origin_ns));
    }
    for (int32_t i = 0; i < problem->clock_count; i++) {
        const struct line *line = &lines[i];
        double spread = line->n * line->xx - line->x * line->x;
        if (i != problem->reference && line->n >= 3 && spread > 0)
            clocks[i].scale = (line->n * line->xy - line->x * line->y) / spread;
    }
}

static void place_origins(const struct align_problem *problem, struct align_clock *clocks)
{
    for (int32_t i = 0; i < problem->clock_count; i++)
        clocks[i] = (struct align_clock){.scale = 1, .state = ALIGN_UNREACHED, .origin_ns = INT64_MIN};
    for (size_t i = 0; i < problem->meeting_count; i++)
        for (size_t j = 0; j < problem->meetings[i].count; j++) {
            const struct align_visit *visit = &problem->visits[problem->meetings[i].first + j];
            if (clocks[visit->clock].origin_ns == INT64_MIN)
                clocks[visit->clock].origin_ns = visit->leave_ns;
        }
}

/* Crystals differ by up to 50 parts per million: what differs by more is no drift. */
static const double MOST_DRIFT = 1e-4;

/* One scale that is no drift shows that the departures do not tell scales. */
static void drop_unlikely_scales(struct align_clock *clocks, size_t count)
{
    int is_likely = 1;
    for (size_t i = 0; i < count; i++)
        is_likely &= fabs(clocks[i].scale - 1) <= MOST_DRIFT;
    for (size_t i = 0; !is_likely && i < count; i++)
        clocks[i].scale = 1;
}

/* The visits with scaled times. The caller frees them; NULL when memory runs out. */
static struct align_visit *scale_visits(const struct align_problem *problem, const struct align_clock *clocks)
{
    const struct align_meeting *last = problem->meetings + problem->meeting_count - 1;
    size_t count = problem->meeting_count ? last->first + last->count : 0;
    struct align_visit *visits = array_new(count, sizeof *visits);
    for (size_t i = 0; visits && i < count; i++) {
        const struct align_visit *visit = &problem->visits[i];
        const struct align_clock *clock = &clocks[visit->clock];
        visits[i] =
            (struct align_visit){visit->clock, align_scaled(clock->scale, clock->origin_ns, visit->come_ns),
                                 align_scaled(clock->scale, clock->origin_ns, visit->leave_ns)};
    }
    return visits;
}

/*
 * A host that records an arrival may have been busy when it happened, for several time slices of its
 * scheduler. The slack grows until all meetings are consistent.
 */
static const int64_t LEAST_SLACK_NS = 20000, MOST_SLACK_NS = 5000000;
enum { SLACK_STEP = 2 };

/* Solves with the scales of the clocks, and with more slack up to `most_ns`. As solve; -1: no memory. */
static int solve_scaled(struct solver *solver, struct align_clock *clocks, int64_t most_ns, int64_t *greatest)
{
    struct align_visit *visits = scale_visits(solver->problem, clocks);
    if (!visits)
        return -1;
    solver->visits = visits;
    int agreed = solve(solver, clocks, greatest);
    while (!agreed && solver->slack_ns < most_ns) {
        solver->slack_ns = solver->slack_ns ? solver->slack_ns * SLACK_STEP : LEAST_SLACK_NS;
        agreed = solve(solver, clocks, greatest);
    }
    free(visits);
    return agreed;
}

/* Returns 1 if the meetings are consistent with scales, or with slack; 0 if not, -1 when memory runs out. */
static int solve_roughly(struct solver *solver, struct align_clock *clocks, int64_t *greatest)
{
    size_t count = (size_t)solver->problem->clock_count;
    struct line *lines = array_new(count, sizeof *lines);
    if (!lines)
        return -1;
    fit_scales(solver->problem, clocks, lines);
    free(lines);
    int agreed = solve_scaled(solver, clocks, 0, greatest);
    if (agreed)
        return agreed;
    drop_unlikely_scales(clocks, count);
    return solve_scaled(solver, clocks, MOST_SLACK_NS, greatest);
}

int align_solve(const struct align_problem *problem, struct align_clock *clocks, struct error *error)
{
    size_t count = (size_t)problem->clock_count;
    struct solver solver = {.problem = problem,
                            .visits = problem->visits,
                            .distance = array_new(count, sizeof *solver.distance),
                            .slack_ns = problem->slack_ns};
    int64_t *greatest = array_new(count, sizeof *greatest);
    int agreed = -1;
    if (solver.distance && greatest) {
        place_origins(problem, clocks);
        agreed = solve(&solver, clocks, greatest);
        if (!agreed)
            agreed = solve_roughly(&solver, clocks, greatest);
        for (size_t i = 0; !agreed && i < count; i++)
            clocks[i].state = ALIGN_CONTRADICTORY;
    }
    free(solver.distance);
    free(greatest);
    return agreed < 0 ? error_no_memory(error) : 0;
}
