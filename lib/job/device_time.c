/*
 * Converts the times of a rank to its device timeline, and derives times from calls and durations if nothing
 * else is recorded. First step of timeline.c.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/*
 * Host clock minus GPU clock: the least value seen in a block of operations and in its neighbours, without
 * what a drift of the clocks adds. The host notices a start late but never early.
 */
struct host_delays {
    int64_t *least; /* owned: [block] */
    size_t count;
    double drift; /* host clock minus GPU clock, per GPU time, since `origin_ns` on the GPU's clock */
    int64_t origin_ns;
};

static void take_neighbours(struct host_delays *delays)
{
    int64_t before = TIME_UNKNOWN;
    for (size_t i = 0; i < delays->count; i++) {
        int64_t here = delays->least[i], least = here;
        if (before != TIME_UNKNOWN && (least == TIME_UNKNOWN || before < least))
            least = before;
        if (i + 1 < delays->count && delays->least[i + 1] != TIME_UNKNOWN &&
            (least == TIME_UNKNOWN || delays->least[i + 1] < least))
            least = delays->least[i + 1];
        before = here;
        delays->least[i] = least;
    }
}

/* Blocks without any delay take that of the nearest block before them, or else after them. */
static int fill_gaps(struct host_delays *delays)
{
    size_t known = 0;
    while (known < delays->count && delays->least[known] == TIME_UNKNOWN)
        known++;
    if (known == delays->count)
        return 0;
    int64_t last = delays->least[known];
    for (size_t i = 0; i < delays->count; i++) {
        if (delays->least[i] == TIME_UNKNOWN)
            delays->least[i] = last;
        last = delays->least[i];
    }
    return 1;
}

static int64_t noticed_at(const struct job *job, size_t at)
{
    return job->drafts.noticed_ns ? job->drafts.noticed_ns[at] : TIME_UNKNOWN;
}

/* What the drift adds at an operation of which the host noticed the start. */
static int64_t drifted_ns(const struct host_delays *delays, const struct job_operation *operation)
{
    return llround(delays->drift * (double)(operation->start_ns - delays->origin_ns));
}

/* The delay at an operation, without what the drift adds; TIME_UNKNOWN. */
static int64_t straight_delay(const struct job *job, const struct host_delays *delays, size_t at)
{
    int64_t delay = noticed_at(job, at);
    return delay == TIME_UNKNOWN ? TIME_UNKNOWN : delay - drifted_ns(delays, &job->operations[at]);
}

/* Measures the blocks of a rank's operations from number `first` up to but not including `end`. */
static int measure_delays(const struct job *job, const struct job_rank *rank, size_t first, size_t end,
                          struct host_delays *delays)
{
    delays->count = (end - first) / JOB_DELAY_BLOCK + 1;
    delays->least = array_new(delays->count, sizeof *delays->least);
    if (!delays->least)
        return -1;
    for (size_t i = 0; i < delays->count; i++)
        delays->least[i] = TIME_UNKNOWN;
    for (size_t i = first; i < end; i++) {
        int64_t delay = straight_delay(job, delays, rank->first + i);
        int64_t *least = &delays->least[(i - first) / JOB_DELAY_BLOCK];
        if (delay != TIME_UNKNOWN && (*least == TIME_UNKNOWN || delay < *least))
            *least = delay;
    }
    return 0;
}

/* The end of the operations of a rank that follow number `first` without a break. */
static size_t end_of_excerpt(const struct job *job, const struct job_rank *rank, size_t first)
{
    size_t excerpt = 0, end = first;
    for (int is_known = 0; end < rank->count; end++) {
        int32_t step = job->operations[rank->first + end].step;
        size_t here = step < 0 ? excerpt : job_excerpt_of(job, step);
        if (step >= 0 && is_known && here != excerpt)
            break;
        is_known |= step >= 0;
        excerpt = here;
    }
    return end;
}

/*
 * Stores the delays of operations `first` up to but not including `end`, one each. Where the host did not
 * notice the start, the drift is that of the operation before it, or of the first one with a notice.
 */
static void store_delays(const struct job *job, const struct job_rank *rank, size_t first, size_t end,
                         const struct host_delays *delays, int64_t *stored)
{
    size_t known = first;
    while (known < end && noticed_at(job, rank->first + known) == TIME_UNKNOWN)
        known++;
    int64_t drifted = known < end ? drifted_ns(delays, &job->operations[rank->first + known]) : 0;
    for (size_t i = first; i < end; i++) {
        int64_t least = delays->least[(i - first) / JOB_DELAY_BLOCK];
        if (noticed_at(job, rank->first + i) != TIME_UNKNOWN)
            drifted = drifted_ns(delays, &job->operations[rank->first + i]);
        stored[i] = least == TIME_UNKNOWN ? TIME_UNKNOWN : least + drifted;
    }
}

/* Measures each excerpt separately, and stores one delay per operation in `all`, which has the drift. */
static int measure_excerpts(const struct job *job, const struct job_rank *rank, struct host_delays *all)
{
    all->count = rank->count;
    all->least = array_new(rank->count + 1, sizeof *all->least);
    for (size_t first = 0, end; all->least && first < rank->count; first = end) {
        struct host_delays delays = *all;
        end = end_of_excerpt(job, rank, first);
        if (measure_delays(job, rank, first, end, &delays)) {
            free(all->least);
            all->least = NULL;
            break;
        }
        take_neighbours(&delays);
        fill_gaps(&delays);
        store_delays(job, rank, first, end, &delays, all->least);
        free(delays.least);
    }
    return all->least ? 0 : -1;
}

static void map_time(int64_t *time, int64_t delay)
{
    if (*time != TIME_UNKNOWN)
        *time -= delay;
}

/* In a rank with a GPU clock, an operation without kernel events has device times from the host. */
static void map_operation(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    int64_t delay = job_delay(job, operation);
    int by_gpu = noticed_at(job, at) != TIME_UNKNOWN || operation->ends == ENDS_BY_KERNEL;
    map_time(&job->drafts.issued_ns[at], delay);
    if (job->drafts.stamps_ns)
        map_time(&job->drafts.stamps_ns[at], delay);
    map_time(&operation->enqueued_ns, delay);
    if (!by_gpu)
        map_time(&operation->start_ns, delay);
    if (operation->ends == ENDS_BY_PROXY || operation->ends == ENDS_BY_HOST)
        map_time(&operation->end_ns, delay);
    map_time(&job->drafts.free_ns[at], delay);
    if (job->drafts.free_ns[at] < operation->end_ns)
        job->drafts.free_ns[at] = operation->end_ns;
}

/*
 * Clocks that are driven by oscillators of their own drift apart by less than this part of the time, which is
 * little in a block of operations. NVIDIA's example plugin derives its clock, until NCCL 2.27.3, from a
 * counter whose rate it measures for a moment at the start, which may be wrong by a percent or two.
 */
static const double LEAST_DRIFT = 1e-4, MOST_DRIFT = 0.05;

/* The operations whose delays are on the lower convex hull of the delays over time. */
struct hull {
    size_t *at; /* owned */
    size_t count;
};

static double time_between(const struct job *job, size_t from, size_t to)
{
    return (double)(job->operations[to].start_ns - job->operations[from].start_ns);
}

static double gain_between(const struct job *job, size_t from, size_t to)
{
    return (double)(noticed_at(job, to) - noticed_at(job, from));
}

static void add_to_hull(const struct job *job, size_t at, struct hull *hull)
{
    if (hull->count && time_between(job, hull->at[hull->count - 1], at) <= 0)
        return;
    while (hull->count >= 2) {
        size_t before = hull->at[hull->count - 2], last = hull->at[hull->count - 1];
        if (gain_between(job, before, last) * time_between(job, before, at) <
            gain_between(job, before, at) * time_between(job, before, last))
            break;
        hull->count--;
    }
    hull->at[hull->count++] = at;
}

/*
 * The slope of the line below all delays that has the least sum of distances to them: the edge of the hull at
 * their mean time (Moon, Skelly and Towsley 1999).
 */
static double slope_below(const struct job *job, const struct hull *hull, double mean_ns)
{
    for (size_t i = 1; i < hull->count; i++)
        if (time_between(job, hull->at[0], hull->at[i]) >= mean_ns)
            return gain_between(job, hull->at[i - 1], hull->at[i]) /
                   time_between(job, hull->at[i - 1], hull->at[i]);
    return 0;
}

/* Some operations in sequence, of which the least delay counts: the others may have been noticed late. */
enum { FEW_BLOCKS = 16 };

/*
 * Sums by how much the least delays of a few operations in sequence exceed the least one of all, without what
 * the drift adds, or with `windows` the least one of the blocks around.
 */
static double sum_excess(const struct job *job, const struct job_rank *rank, const struct host_delays *delays,
                         const struct host_delays *windows)
{
    size_t few = rank->count / FEW_BLOCKS + 1;
    int64_t lowest = TIME_UNKNOWN, origin = 0;
    double sum_ns = 0, count = 0;
    if (few > JOB_DELAY_BLOCK)
        few = JOB_DELAY_BLOCK;
    for (size_t first = 0; first < rank->count; first += few) {
        int64_t least = TIME_UNKNOWN;
        for (size_t i = first; i < rank->count && i < first + few; i++) {
            int64_t delay = straight_delay(job, delays, rank->first + i);
            if (delay != TIME_UNKNOWN && (least == TIME_UNKNOWN || delay < least))
                least = delay;
        }
        if (least == TIME_UNKNOWN)
            continue;
        if (lowest == TIME_UNKNOWN)
            lowest = origin = least;
        lowest = least < lowest ? least : lowest;
        sum_ns += (double)(least - (windows ? windows->least[first / JOB_DELAY_BLOCK] : origin));
        count++;
    }
    return windows ? sum_ns : sum_ns - count * (double)(lowest - origin);
}

/*
 * Keeps a drift only if the delays are then at most half as far from the line as they are from the least ones
 * around without it: a clock that jumped has no such drift.
 */
static int check_drift(const struct job *job, const struct job_rank *rank, struct host_delays *delays)
{
    struct host_delays none = {0};
    double drift = fabs(delays->drift);
    if (drift >= LEAST_DRIFT && drift <= MOST_DRIFT) {
        double with_ns = sum_excess(job, rank, delays, NULL);
        if (measure_delays(job, rank, 0, rank->count, &none))
            return -1;
        take_neighbours(&none);
        double without_ns = sum_excess(job, rank, &none, &none);
        free(none.least);
        if (with_ns * 2 < without_ns)
            return 0;
    }
    delays->drift = 0;
    return 0;
}

/* Sets the drift between the clocks of the host and of the GPU. -1 when memory runs out. */
static int find_drift(const struct job *job, const struct job_rank *rank, struct host_delays *delays)
{
    struct hull hull = {array_new(rank->count + 1, sizeof *hull.at), 0};
    double sum_ns = 0, known = 0;
    if (!hull.at)
        return -1;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        if (noticed_at(job, i) == TIME_UNKNOWN)
            continue;
        add_to_hull(job, i, &hull);
        sum_ns += time_between(job, hull.at[0], i);
        known++;
    }
    if (hull.count >= 2) {
        delays->drift = slope_below(job, &hull, sum_ns / known);
        delays->origin_ns = job->operations[hull.at[0]].start_ns;
    }
    free(hull.at);
    return check_drift(job, rank, delays);
}

static int64_t first_dump_ns(const struct job *job, const struct job_rank *rank)
{
    for (size_t i = rank->first; job->drafts.stamps_ns && i < rank->first + rank->count; i++)
        if (job->drafts.stamps_ns[i] != TIME_UNKNOWN)
            return job->drafts.stamps_ns[i];
    return 0;
}

int job_map_rank(struct job *job, struct job_rank *rank)
{
    struct host_delays delays = {0};
    size_t first = rank->first, end = rank->first + rank->count;
    if (find_drift(job, rank, &delays))
        return -1;
    rank->clock_drift = delays.drift;
    if (job->excerpt_count || delays.drift != 0 ? measure_excerpts(job, rank, &delays)
                                                : measure_delays(job, rank, 0, rank->count, &delays))
        return -1;
    if (!job->excerpt_count && delays.drift == 0)
        take_neighbours(&delays);
    rank->has_gpu_clock = fill_gaps(&delays);
    rank->delays_ns = delays.least;
    while (first < end && job->drafts.issued_ns[first] == TIME_UNKNOWN)
        first++;
    rank->first_issued_ns = first < end ? job->drafts.issued_ns[first] : 0;
    rank->first_dump_ns = first_dump_ns(job, rank);
    for (size_t i = rank->first; i < end; i++)
        map_operation(job, i);
    return 0;
}

static int64_t duration_of(const struct job *job, int32_t at)
{
    return job_draft_duration(job, (size_t)at);
}

static int has_times(const struct job *job, int32_t at)
{
    return duration_of(job, at) != TIME_UNKNOWN && job->drafts.issued_ns[at] != TIME_UNKNOWN &&
           !job->operations[at].unfinished;
}

/* The latest call of the members, by which the instances of a communicator are sorted. */
static int64_t called_ns(const struct job *job, const struct job_instance *instance)
{
    int64_t latest = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t issued_ns = job->drafts.issued_ns[job_member_at(job, instance, i)];
        if (issued_ns != TIME_UNKNOWN && issued_ns > latest)
            latest = issued_ns;
    }
    return latest;
}

/*
 * The earliest possible end of an instance; TIME_UNKNOWN if its members do not end together or have no times.
 */
static int64_t end_of(const struct job *job, const struct job_instance *instance, int64_t free_ns)
{
    int64_t end_ns = TIME_UNKNOWN;
    if (instance->kind == OPERATION_COLLECTIVE && !function_is_full_exchange(instance->function))
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (!has_times(job, at))
            continue;
        int64_t begin_ns = job->drafts.issued_ns[at];
        if (instance->kind == OPERATION_COLLECTIVE && free_ns > begin_ns)
            begin_ns = free_ns;
        if (end_ns == TIME_UNKNOWN || begin_ns + duration_of(job, at) > end_ns)
            end_ns = begin_ns + duration_of(job, at);
    }
    return end_ns;
}

/* How long members stayed in an operation. */
struct stays {
    int64_t longest_ns;
    int64_t shortest_ns;
};

static struct stays stays_in(const struct job *job, const struct job_instance *instance)
{
    struct stays stays = {0, INT64_MAX};
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (!has_times(job, at))
            continue;
        stays.longest_ns = duration_of(job, at) > stays.longest_ns ? duration_of(job, at) : stays.longest_ns;
        stays.shortest_ns =
            duration_of(job, at) < stays.shortest_ns ? duration_of(job, at) : stays.shortest_ns;
    }
    return stays;
}

/*
 * How much later than the first a member certainly arrived. A member that stayed for less time may also have
 * left earlier, but at most by one transfer, which is the stay of the last to arrive.
 */
static int64_t late_ns(const struct stays *stays, int64_t stay_ns)
{
    int64_t late_ns = stays->longest_ns - stay_ns;
    return late_ns > stays->shortest_ns ? late_ns - stays->shortest_ns : 0;
}

static void put_times(struct job *job, const struct job_instance *instance, int64_t end_ns)
{
    struct stays stays = stays_in(job, instance);
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        struct job_operation *operation = &job->operations[at];
        if (!has_times(job, at) || operation->start_ns != TIME_UNKNOWN)
            continue;
        operation->start_ns = end_ns - stays.longest_ns + late_ns(&stays, duration_of(job, at));
        operation->end_ns = end_ns;
        operation->ends = ENDS_BY_HOST;
        operation->by_call = 1;
        job->timed_operations++;
    }
}

/*
 * Calls are no measure of GPU time at all if they are none in more than this part of the steps of all ranks.
 */
static const double MOST_UNSURE = 0.1;

struct pace {
    int64_t steps;  /* of all ranks */
    int64_t unsure; /* called before the previous step ended, or in several communicators */
};

static void pace_rank(const struct job *job, const struct job_rank *rank, struct pace *pace)
{
    int64_t ended_ns = TIME_UNKNOWN;
    const struct job_operation *first = NULL;
    int is_unsure = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!operation->by_call || operation->step < 0)
            continue;
        if (!first || operation->step != first->step) {
            first = operation;
            pace->steps++;
            is_unsure = job->drafts.issued_ns[i] < ended_ns;
            pace->unsure += is_unsure;
        }
        if (!is_unsure && operation->communicator != first->communicator)
            pace->unsure += is_unsure = 1;
        ended_ns = operation->end_ns > ended_ns ? operation->end_ns : ended_ns;
    }
}

/*
 * Whether times from calls must be rejected. The earliest possible end is too early by any unrecorded work
 * before it. That is equal for all members of a communicator, but not for two communicators, and the apparent
 * work between their operations may be waiting. Hosts that launch steps long before the GPU reaches them give
 * no measure of a step at all.
 */
static int calls_lack_gpu_times(const struct job *job)
{
    struct pace pace = {0};
    for (size_t i = 0; i < job->rank_count; i++)
        pace_rank(job, &job->ranks[i], &pace);
    return (double)pace.unsure > MOST_UNSURE * (double)pace.steps;
}

static void forget_times(struct job *job)
{
    job->calls_lack_gpu_times = 1;
    for (size_t i = 0; i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i];
        if (!operation->by_call)
            continue;
        operation->start_ns = operation->end_ns = TIME_UNKNOWN;
        operation->ends = ENDS_UNKNOWN;
        operation->by_call = 0;
        job->timed_operations--;
    }
}

int job_time_calls(struct job *job)
{
    int64_t *free_ns = array_new(job->communicator_count, sizeof *free_ns);
    struct sort_entry *order = array_new(job->instance_count, sizeof *order);
    struct sort_entry *scratch = array_new(job->instance_count, sizeof *scratch);
    int failed = !free_ns || !order || !scratch;
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        order[i] = (struct sort_entry){called_ns(job, &job->instances[i]), (int32_t)i};
    if (!failed)
        sort_entries(order, scratch, job->instance_count);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[order[i].index];
        int64_t end_ns = end_of(job, instance, free_ns[instance->communicator]);
        if (end_ns == TIME_UNKNOWN)
            continue;
        put_times(job, instance, end_ns);
        if (instance->kind == OPERATION_COLLECTIVE)
            free_ns[instance->communicator] = end_ns;
    }
    if (!failed && calls_lack_gpu_times(job))
        forget_times(job);
    free(free_ns);
    free(order);
    free(scratch);
    return failed ? -1 : 0;
}
