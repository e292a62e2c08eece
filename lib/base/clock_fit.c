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
    int32_t *parent;                  /* [clock]: the clock that its distance comes from; -1: none */
    int32_t *walk;                    /* [clock]: scratch of has_cycle */
    int64_t slack_ns;                 /* struct align_problem, or more */
};

/* As llround, which is a call of a library for each visit. The rest is exact. */
static inline int64_t rounded(double value)
{
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

int64_t align_scaled(double scale, int64_t origin_ns, int64_t local_ns)
{
    return scale == 1 ? local_ns : origin_ns + rounded(scale * (double)(local_ns - origin_ns));
}

/* In place of an arrival that was recorded too late (forget_late). */
static const int64_t LATE = INT64_MIN;

static int is_late(const struct align_visit *visit)
{
    return visit->come_ns == LATE;
}

/* Whether a visit of a meeting shows when its participant had come, and when it left. */
static int has_come(const struct align_meeting *meeting, const struct align_visit *visits, size_t at)
{
    return !is_late(&visits[at]) && !(meeting->is_one_way && at == 1);
}

static int has_left(const struct align_meeting *meeting, size_t at)
{
    return !(meeting->is_one_way && at == 0);
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
        int32_t from = -1;
        for (size_t j = 0; j < meeting->count; j++) {
            int64_t distance = solver->distance[visits[j].clock];
            int64_t at = backward ? solver->slack_ns - visits[j].come_ns : visits[j].leave_ns;
            int is_known = backward ? has_come(meeting, visits, j) : has_left(meeting, j);
            if (distance < FAR && is_known && distance + at < time) {
                time = distance + at;
                from = visits[j].clock;
            }
        }
        for (size_t j = 0; time < FAR && j < meeting->count; j++) {
            int64_t *distance = &solver->distance[visits[j].clock];
            int64_t at = backward ? visits[j].leave_ns : solver->slack_ns - visits[j].come_ns;
            int is_known = backward ? has_left(meeting, j) : has_come(meeting, visits, j);
            if (is_known && time + at < *distance) {
                *distance = time + at;
                solver->parent[visits[j].clock] = from;
                improved = 1;
            }
        }
    }
    return improved;
}

/*
 * Whether some distance comes from itself: the clocks on the way form a negative cycle. Distances would fall
 * for ever, and the number of passes that proves it otherwise is that of the clocks.
 */
static int has_cycle(const struct solver *solver)
{
    int32_t count = solver->problem->clock_count, found = 0;
    for (int32_t i = 0; i < count; i++)
        solver->walk[i] = -1;
    for (int32_t i = 0; i < count && !found; i++) {
        int32_t at = i;
        for (; at >= 0 && solver->walk[at] < 0; at = solver->parent[at])
            solver->walk[at] = i;
        found = at >= 0 && solver->walk[at] == i;
    }
    return found;
}

/*
 * Shortest paths from the reference. Returns -1 for a negative cycle, which means that the meetings
 * contradict each other.
 */
static int shortest(struct solver *solver, int backward)
{
    const struct align_problem *problem = solver->problem;
    for (int32_t i = 0; i < problem->clock_count; i++) {
        solver->distance[i] = FAR;
        solver->parent[i] = -1;
    }
    solver->distance[problem->reference] = 0;
    for (int32_t pass = 0; pass <= problem->clock_count; pass++) {
        if (!relax(solver, backward))
            return 0;
        if (solver->distance[problem->reference] < 0 || has_cycle(solver))
            return -1;
    }
    return -1;
}

/*
 * Where the participants of meetings stop together, the stops tell the offset better than the middle of the
 * interval: that is off by as much as one clock's participants always come earlier than the others.
 */

/* What one meeting says about the offset of a clock. Short meetings say it better: they weigh more. */
struct told_offset {
    int32_t clock;
    int64_t offset_ns;
    int64_t doubt_ns; /* that of the placed clocks */
    double weight;
};

/* With fewer, one stop that was noticed late may decide. */
enum { LEAST_TOLD = 5 };

static int by_clock_and_offset(const void *left, const void *right)
{
    const struct told_offset *a = left, *b = right;
    return a->clock != b->clock ? (a->clock > b->clock) - (a->clock < b->clock)
                                : compare_integers(a->offset_ns, b->offset_ns);
}

/* When those participants of a meeting stopped whose clocks are placed, on average; FAR: none. */
static int64_t stop_of_placed(const struct solver *solver, const struct align_meeting *meeting,
                              const struct align_clock *clocks, const unsigned char *is_placed)
{
    int64_t first_ns = FAR, count = 0;
    double beyond_ns = 0;
    for (size_t i = meeting->first; i < meeting->first + meeting->count; i++) {
        const struct align_visit *visit = &solver->visits[i];
        if (!visit->has_stop || !is_placed[visit->clock])
            continue;
        int64_t stop_ns = visit->stop_ns + clocks[visit->clock].offset_ns + clocks[visit->clock].nearer_ns;
        first_ns = count++ ? first_ns : stop_ns;
        beyond_ns += (double)(stop_ns - first_ns);
    }
    return count ? first_ns + (int64_t)(beyond_ns / (double)count) : FAR;
}

/* The least doubt about a placed clock of a meeting. */
static int64_t doubt_of_placed(const struct solver *solver, const struct align_meeting *meeting,
                               const struct align_clock *clocks, const unsigned char *is_placed)
{
    int64_t doubt_ns = FAR;
    for (size_t i = meeting->first; i < meeting->first + meeting->count; i++) {
        const struct align_visit *visit = &solver->visits[i];
        if (visit->has_stop && is_placed[visit->clock] && clocks[visit->clock].doubt_ns < doubt_ns)
            doubt_ns = clocks[visit->clock].doubt_ns;
    }
    return doubt_ns;
}

/* The shortest time from coming to stopping, at least 1. */
static int64_t shortest_visit(const struct solver *solver, const struct align_meeting *meeting)
{
    int64_t shortest_ns = FAR;
    for (size_t i = meeting->first; i < meeting->first + meeting->count; i++) {
        const struct align_visit *visit = &solver->visits[i];
        if (visit->has_stop && !is_late(visit) && visit->stop_ns - visit->come_ns < shortest_ns)
            shortest_ns = visit->stop_ns - visit->come_ns;
    }
    return shortest_ns > 1 ? shortest_ns : 1;
}

/* Lists what meetings with placed clocks say about the others. Returns their number. */
static size_t list_told(const struct solver *solver, const struct align_clock *clocks,
                        const unsigned char *is_placed, struct told_offset *told)
{
    size_t count = 0;
    for (size_t i = 0; i < solver->problem->meeting_count; i++) {
        const struct align_meeting *meeting = &solver->problem->meetings[i];
        int64_t stop_ns = stop_of_placed(solver, meeting, clocks, is_placed);
        int64_t doubt_ns = doubt_of_placed(solver, meeting, clocks, is_placed);
        double weight = 1 / (double)shortest_visit(solver, meeting);
        for (size_t j = meeting->first; stop_ns != FAR && j < meeting->first + meeting->count; j++) {
            const struct align_visit *visit = &solver->visits[j];
            if (visit->has_stop && !is_placed[visit->clock] && clocks[visit->clock].state == ALIGN_SOLVED)
                told[count++] =
                    (struct told_offset){visit->clock, stop_ns - visit->stop_ns, doubt_ns, weight};
        }
    }
    return count;
}

/* The offset below which this part of the weight is; offsets in ascending order. */
static int64_t quantile_told(const struct told_offset *told, size_t count, double part)
{
    double most = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        most += told[i].weight * part;
    size_t at = 0;
    while (at + 1 < count && (sum += told[at].weight) < most)
        at++;
    return told[at].offset_ns;
}

/*
 * How far most offsets, by weight, are from the middle. Half would not do: where a rank stops early in every
 * second meeting, half of them agree. Leaves the distances in their place.
 */
static int64_t spread_of(struct told_offset *told, size_t count, int64_t middle_ns)
{
    static const double MOST = 0.75;
    for (size_t i = 0; i < count; i++)
        told[i].offset_ns = llabs(told[i].offset_ns - middle_ns);
    qsort(told, count, sizeof *told, by_clock_and_offset);
    return quantile_told(told, count, MOST);
}

/*
 * Participants who do not stop together contradict each other by as much. Only if that is less than this part
 * of what the interval leaves open, stops are better than its middle.
 */
enum { SPREAD_PART = 4 };

static int64_t most_doubt(const struct told_offset *told, size_t count)
{
    int64_t most_ns = 0;
    for (size_t i = 0; i < count; i++)
        most_ns = told[i].doubt_ns > most_ns ? told[i].doubt_ns : most_ns;
    return most_ns;
}

/* Takes what stops tell about a clock, but not beyond its interval. Returns whether they tell it. */
static int take_told(struct align_clock *clock, struct told_offset *told, size_t count)
{
    int64_t middle_ns = quantile_told(told, count, 0.5), nearer_ns = middle_ns - clock->offset_ns;
    int64_t placed_ns = most_doubt(told, count), spread_ns = spread_of(told, count, middle_ns);
    if (spread_ns > clock->uncertainty_ns / SPREAD_PART)
        return 0;
    if (placed_ns + spread_ns < clock->doubt_ns)
        clock->doubt_ns = placed_ns + spread_ns;
    if (nearer_ns > clock->uncertainty_ns)
        nearer_ns = clock->uncertainty_ns;
    clock->nearer_ns = nearer_ns < -clock->uncertainty_ns ? -clock->uncertainty_ns : nearer_ns;
    return 1;
}

/* Places the clocks that met the reference first, then those that met these, and so on. */
static void place_by_stops(const struct solver *solver, struct align_clock *clocks, unsigned char *is_placed,
                           struct told_offset *told)
{
    is_placed[solver->problem->reference] = 1;
    for (int more = 1; more;) {
        more = 0;
        size_t count = list_told(solver, clocks, is_placed, told), here;
        qsort(told, count, sizeof *told, by_clock_and_offset);
        for (size_t i = 0; i < count; i += here) {
            for (here = 1; i + here < count && told[i + here].clock == told[i].clock;)
                here++;
            if (here < LEAST_TOLD || !take_told(&clocks[told[i].clock], told + i, here))
                continue;
            is_placed[told[i].clock] = 1;
            more = 1;
        }
    }
}

static size_t visit_count(const struct align_problem *problem)
{
    const struct align_meeting *last = problem->meetings + problem->meeting_count - 1;
    return problem->meeting_count ? last->first + last->count : 0;
}

/* Sets nearer_ns of solved clocks. Returns -1 when out of memory. */
static int find_nearer(const struct solver *solver, struct align_clock *clocks)
{
    const struct align_problem *problem = solver->problem;
    size_t count = visit_count(problem);
    struct told_offset *told = array_new(count, sizeof *told);
    unsigned char *is_placed = array_new((size_t)problem->clock_count, 1);
    if (told && is_placed)
        place_by_stops(solver, clocks, is_placed, told);
    int failed = !told || !is_placed;
    free(told);
    free(is_placed);
    return failed ? -1 : 0;
}

/* Returns 1 if all meetings are consistent, 0 if not; -1: no memory. */
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
        clocks[i].doubt_ns = clocks[i].uncertainty_ns = (greatest[i] - least + 1) / 2;
    }
    return find_nearer(solver, clocks) ? -1 : 1;
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
        for (size_t j = 0; !problem->meetings[i].is_one_way && j < problem->meetings[i].count; j++)
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
    size_t count = visit_count(problem);
    struct align_visit *visits = array_new(count, sizeof *visits);
    for (size_t i = 0; visits && i < count; i++) {
        const struct align_visit *visit = &problem->visits[i];
        const struct align_clock *clock = &clocks[visit->clock];
        visits[i] = (struct align_visit){
            visit->clock, align_scaled(clock->scale, clock->origin_ns, visit->come_ns),
            align_scaled(clock->scale, clock->origin_ns, visit->leave_ns),
            align_scaled(clock->scale, clock->origin_ns, visit->stop_ns), visit->has_stop};
    }
    return visits;
}

/*
 * A host that records an arrival may have been busy when it happened, for several time slices of its
 * scheduler. The slack grows until all meetings are consistent.
 */
static const int64_t LEAST_SLACK_NS = 20000, MOST_SLACK_NS = 5000000;
enum { SLACK_STEP = 2 };

static int by_value(const void *left, const void *right)
{
    return compare_integers(*(const int64_t *)left, *(const int64_t *)right);
}

/*
 * Which arrivals were recorded too late: those after a departure from the same meeting, by the offsets that
 * contradict the fewest meetings.
 */
struct placing {
    const struct align_problem *problem;
    struct align_visit *visits; /* borrowed */
    int64_t *offset_ns;         /* owned: [clock] */
    unsigned char *is_placed;   /* owned: [clock] */
    int64_t *least_ns;          /* owned: offsets that a clock has at least, by some meeting; ascending */
    int64_t *most_ns;           /* owned: same, at most; ascending */
    size_t count;
    size_t *begins;      /* owned: [clock], and one more: where its meetings begin in `meetings` */
    int32_t *meetings;   /* owned: the meetings of each clock, ascending */
    double *visit_count; /* owned: [clock] */
    double *late_count;  /* owned: [clock], of these, late or over before another one came */
};

/* Whether an earlier visit of the meeting is of the same clock. */
static int is_repeated(const struct align_visit *visits, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (visits[i].clock == visits[at].clock)
            return 1;
    return 0;
}

/* Lists the meetings of each clock, so that placing it does not take as long as there are meetings. */
static void list_meetings(struct placing *placing)
{
    const struct align_problem *problem = placing->problem;
    size_t clocks = (size_t)problem->clock_count;
    for (int is_listed = 0; is_listed < 2; is_listed++) {
        for (size_t i = 0; i < problem->meeting_count; i++)
            for (size_t j = 0; j < problem->meetings[i].count; j++) {
                const struct align_visit *visits = &placing->visits[problem->meetings[i].first];
                if (is_repeated(visits, j))
                    continue;
                if (is_listed)
                    placing->meetings[placing->begins[visits[j].clock]] = (int32_t)i;
                placing->begins[visits[j].clock + !is_listed]++;
            }
        for (size_t i = 0; !is_listed && i < clocks; i++)
            placing->begins[i + 1] += placing->begins[i];
    }
    /* Filling moved each begin to its end. */
    for (size_t i = clocks; i > 0; i--)
        placing->begins[i] = placing->begins[i - 1];
    placing->begins[0] = 0;
}

/*
 * Collects what each meeting says about the offset of a clock, given those that are placed. One-way meetings
 * bound it on one side only and are left out.
 */
static void bound_offset(struct placing *placing, int32_t clock)
{
    placing->count = 0;
    for (size_t i = placing->begins[clock]; i < placing->begins[clock + 1]; i++) {
        const struct align_meeting *meeting = &placing->problem->meetings[placing->meetings[i]];
        int64_t come_ns[2] = {-FAR, -FAR}, leave_ns[2] = {FAR, FAR}; /* of placed clocks, and of this one */
        for (size_t j = 0; j < meeting->count; j++) {
            const struct align_visit *visit = &placing->visits[meeting->first + j];
            int is_this = visit->clock == clock;
            int64_t offset_ns = is_this ? 0 : placing->offset_ns[visit->clock];
            if (!is_this && !placing->is_placed[visit->clock])
                continue;
            if (visit->come_ns + offset_ns > come_ns[is_this])
                come_ns[is_this] = visit->come_ns + offset_ns;
            if (visit->leave_ns + offset_ns < leave_ns[is_this])
                leave_ns[is_this] = visit->leave_ns + offset_ns;
        }
        if (meeting->is_one_way || leave_ns[0] == FAR || leave_ns[1] == FAR)
            continue;
        placing->least_ns[placing->count] = come_ns[0] - leave_ns[1];
        placing->most_ns[placing->count++] = leave_ns[0] - come_ns[1];
    }
    qsort(placing->least_ns, placing->count, sizeof *placing->least_ns, by_value);
    qsort(placing->most_ns, placing->count, sizeof *placing->most_ns, by_value);
}

/* The middle of the offsets that contradict the fewest of the bounds. */
static int64_t best_offset(const struct placing *placing)
{
    size_t below = 0, best = 0; /* upper bounds below the offset; bounds that agree */
    int64_t offset_ns = 0;
    for (size_t i = 0; i < placing->count; i++) {
        while (below < placing->count && placing->most_ns[below] < placing->least_ns[i])
            below++;
        if (i + 1 + placing->count - below <= best)
            continue;
        best = i + 1 + placing->count - below;
        int64_t next_ns = below < placing->count ? placing->most_ns[below] : placing->least_ns[i];
        if (i + 1 < placing->count && placing->least_ns[i + 1] < next_ns)
            next_ns = placing->least_ns[i + 1];
        offset_ns = placing->least_ns[i] + (next_ns - placing->least_ns[i]) / 2;
    }
    return offset_ns;
}

static void place_clocks(struct placing *placing)
{
    placing->is_placed[placing->problem->reference] = 1;
    for (int more = 1; more;) {
        more = 0;
        for (int32_t clock = 0; clock < placing->problem->clock_count; clock++) {
            if (placing->is_placed[clock])
                continue;
            bound_offset(placing, clock);
            if (!placing->count)
                continue;
            placing->offset_ns[clock] = best_offset(placing);
            placing->is_placed[clock] = 1;
            more = 1;
        }
    }
}

/*
 * A host that polls is seldom late. If more than this part of the visits of a clock are late, or are over
 * before another one came, the clocks differ.
 */
static const double MOST_LATE = 0.05;

/* Index of the visit of a placed clock that was over first; -1: there is none. */
static int64_t first_over(const struct placing *placing, const struct align_meeting *meeting,
                          int64_t *leave_ns)
{
    int64_t first = -1;
    *leave_ns = FAR;
    for (size_t i = meeting->first; i < meeting->first + meeting->count; i++) {
        int32_t clock = placing->visits[i].clock;
        int64_t here_ns = placing->visits[i].leave_ns + placing->offset_ns[clock];
        if (!placing->is_placed[clock] || here_ns >= *leave_ns)
            continue;
        *leave_ns = here_ns;
        first = (int64_t)i;
    }
    return first;
}

/* Marks late arrivals. Returns whether none is later than MOST_SLACK_NS, and each clock has few. */
static int mark_late(struct placing *placing)
{
    int is_few = 1;
    for (size_t i = 0; i < placing->problem->meeting_count; i++) {
        const struct align_meeting *meeting = &placing->problem->meetings[i];
        int64_t leave_ns, first = first_over(placing, meeting, &leave_ns);
        first = meeting->is_one_way ? -1 : first;
        for (size_t j = meeting->first; first >= 0 && j < meeting->first + meeting->count; j++) {
            struct align_visit *visit = &placing->visits[j];
            int64_t come_ns = visit->come_ns + placing->offset_ns[visit->clock];
            placing->visit_count[visit->clock]++;
            if (!placing->is_placed[visit->clock] || come_ns <= leave_ns)
                continue;
            is_few &= come_ns - leave_ns <= MOST_SLACK_NS;
            placing->late_count[visit->clock]++;
            placing->late_count[placing->visits[first].clock]++;
            visit->come_ns = LATE;
        }
    }
    for (int32_t clock = 0; clock < placing->problem->clock_count; clock++)
        is_few &= placing->late_count[clock] <= MOST_LATE * placing->visit_count[clock];
    return is_few;
}

/* Solves without the arrivals that were recorded too late. As solve; -1: no memory. */
static int solve_without_late(struct solver *solver, struct align_clock *clocks, int64_t *greatest)
{
    const struct align_problem *problem = solver->problem;
    size_t count = (size_t)problem->clock_count;
    struct placing placing = {.problem = problem,
                              .visits = scale_visits(problem, clocks),
                              .offset_ns = array_new(count, sizeof *placing.offset_ns),
                              .is_placed = array_new(count, 1),
                              .least_ns = array_new(problem->meeting_count, sizeof *placing.least_ns),
                              .most_ns = array_new(problem->meeting_count, sizeof *placing.most_ns),
                              .begins = array_new(count + 1, sizeof *placing.begins),
                              .meetings = array_new(visit_count(problem), sizeof *placing.meetings),
                              .visit_count = array_new(count, sizeof *placing.visit_count),
                              .late_count = array_new(count, sizeof *placing.late_count)};
    int agreed = -1;
    if (placing.visits && placing.offset_ns && placing.is_placed && placing.least_ns && placing.most_ns &&
        placing.begins && placing.meetings && placing.visit_count && placing.late_count) {
        list_meetings(&placing);
        place_clocks(&placing);
        solver->visits = placing.visits;
        agreed = mark_late(&placing) ? solve(solver, clocks, greatest) : 0;
        solver->visits = problem->visits;
    }
    free(placing.visits);
    free(placing.offset_ns);
    free(placing.is_placed);
    free(placing.least_ns);
    free(placing.most_ns);
    free(placing.begins);
    free(placing.meetings);
    free(placing.visit_count);
    free(placing.late_count);
    return agreed;
}

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

/* Returns 1 if the meetings are consistent with scales, without late arrivals, or with slack; 0 if
 * not, -1 when memory runs out. */
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
    agreed = solve_without_late(solver, clocks, greatest);
    if (agreed)
        return agreed;
    return solve_scaled(solver, clocks, MOST_SLACK_NS, greatest);
}

int align_solve(const struct align_problem *problem, struct align_clock *clocks, struct error *error)
{
    size_t count = (size_t)problem->clock_count;
    struct solver solver = {.problem = problem,
                            .visits = problem->visits,
                            .distance = array_new(count, sizeof *solver.distance),
                            .parent = array_new(count, sizeof *solver.parent),
                            .walk = array_new(count, sizeof *solver.walk),
                            .slack_ns = problem->slack_ns};
    int64_t *greatest = array_new(count, sizeof *greatest);
    int agreed = -1;
    if (solver.distance && solver.parent && solver.walk && greatest) {
        place_origins(problem, clocks);
        agreed = solve(&solver, clocks, greatest);
        if (!agreed)
            agreed = solve_roughly(&solver, clocks, greatest);
        for (size_t i = 0; !agreed && i < count; i++)
            clocks[i].state = ALIGN_CONTRADICTORY;
    }
    free(solver.distance);
    free(solver.parent);
    free(solver.walk);
    free(greatest);
    return agreed < 0 ? error_no_memory(error) : 0;
}
