/*
 * Transfer times of pairs between hosts whose clocks are not aligned well enough. All pairs between the same
 * two clocks share the unknown offset, so the fastest of them tells how much longer the others took. What the
 * fastest took shows in the way there and back, in which the offset cancels.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* A pair, in one direction between two clocks. */
struct latency {
    int32_t from; /* clocks of the sender and of the receiver */
    int32_t to;
    int32_t instance;
    int64_t received_ns; /* duration of the receive */
    int64_t sent_ns;     /* when the sender arrived, by its clock */
    int64_t over_ns; /* end of the receive by its clock, minus sent_ns and the shortest duration of both; the
                        offset of the clocks is part of it, until take_line removes it */
};

/* What the latencies of a direction have in common: the offset and drift of the clocks, and the least
 * latency. */
struct line {
    int64_t origin_ns;
    double height_ns; /* at the origin */
    double slope;
};

/* Clocks that drift apart faster than this are broken: crystals differ by up to 50 parts per million. */
static const double MOST_DRIFT = 1e-4;
/* Halvings of the range of drifts: to a hundredth of a part per million. */
enum { HALVINGS = 14 };
/* Parts of the time that are examined for a jump of a clock, and how many must be fast in both directions. */
enum { PARTS = 8, LEAST_FAST_PARTS = 2 };
/* With fewer, the fastest one need not be fast. */
enum { LEAST_LATENCIES = 2 * PARTS };
/* What a pair waits for proxy threads to wake up differs by about this much. */
static const int64_t WAKE_UP_NS = 100000;

static int by_direction(const struct latency *left, const struct latency *right)
{
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static int by_direction_and_time(const void *a, const void *b)
{
    const struct latency *left = a, *right = b;
    int order = by_direction(left, right);
    if (!order)
        order = (left->sent_ns > right->sent_ns) - (left->sent_ns < right->sent_ns);
    return order ? order : left->instance - right->instance;
}

static int64_t host_time(const struct job *job, const struct job_operation *operation, int64_t time_ns)
{
    return time_ns + job_delay(job, operation) + job->ranks[operation->rank].clock_offset_ns;
}

/* Fills in the latency of a pair. Returns whether it is known, and the clocks do not tell the transfer. */
static int measure(const struct job *job, size_t at, struct latency *latency)
{
    const struct job_instance *instance = &job->instances[at];
    const struct job_operation *send = NULL, *receive = NULL;
    for (int32_t i = 0; i < instance->members; i++)
        *(job_member(job, instance, i)->function == FUNCTION_SEND ? &send : &receive) =
            job_member(job, instance, i);
    if (!send || !receive || send->start_ns == TIME_UNKNOWN || receive->ends == ENDS_ESTIMATED ||
        receive->incomplete || instance->transfer_ns == TIME_UNKNOWN ||
        job_duration(receive) == TIME_UNKNOWN || job_is_grouped(job, (int32_t)(send - job->operations)) ||
        job_is_grouped(job, (int32_t)(receive - job->operations)))
        return 0;
    *latency = (struct latency){.from = job->ranks[send->rank].clock,
                                .to = job->ranks[receive->rank].clock,
                                .instance = (int32_t)at,
                                .received_ns = job_duration(receive),
                                .sent_ns = host_time(job, send, send->start_ns)};
    latency->over_ns = host_time(job, receive, receive->end_ns) - latency->sent_ns - instance->transfer_ns;
    return latency->from != latency->to;
}

/* The least distance of a line with this slope through 0 from the latencies. */
static double least_beyond(const struct latency *latencies, size_t count, double slope)
{
    double least = 0;
    for (size_t i = 0; i < count; i++) {
        double beyond = (double)(latencies[i].over_ns - latencies[0].over_ns) -
                        slope * (double)(latencies[i].sent_ns - latencies[0].sent_ns);
        least = beyond < least ? beyond : least;
    }
    return least;
}

/* How high the highest line with this slope below all latencies is at the mean of their times. */
static double height_of(const struct latency *latencies, size_t count, double slope)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += (double)(latencies[i].sent_ns - latencies[0].sent_ns) / (double)count;
    return least_beyond(latencies, count, slope) + slope * mean;
}

/*
 * Subtracts the highest line below all latencies of a direction, and returns it: the offset of the clocks and
 * their drift (Moon, Skelly and Towsley, INFOCOM 1999). Its height is a concave function of the slope.
 */
static struct line take_line(struct latency *latencies, size_t count)
{
    double low = -MOST_DRIFT, high = MOST_DRIFT;
    int64_t first_over_ns = latencies[0].over_ns, first_sent_ns = latencies[0].sent_ns;
    for (int i = 0; i < HALVINGS; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (height_of(latencies, count, left) < height_of(latencies, count, right))
            low = left;
        else
            high = right;
    }
    double slope = (low + high) / 2, least = least_beyond(latencies, count, slope);
    for (size_t i = 0; i < count; i++) {
        double beyond = (double)(latencies[i].over_ns - first_over_ns) -
                        slope * (double)(latencies[i].sent_ns - first_sent_ns) - least;
        latencies[i].over_ns = beyond > 0 ? (int64_t)beyond : 0;
    }
    return (struct line){first_sent_ns, (double)first_over_ns + least, slope};
}

static double height_at(const struct line *line, int64_t at_ns)
{
    return line->height_ns + line->slope * (double)(at_ns - line->origin_ns);
}

/*
 * The offset of the clocks is part of both directions, with opposite signs, so the sum of their lines is the
 * least latency of a way there and back. Each way takes half of it.
 */
static int64_t least_latency(const struct line *there, const struct line *back)
{
    double both_ns = height_at(there, there->origin_ns) + height_at(back, there->origin_ns);
    return both_ns > 0 ? (int64_t)(both_ns / 2) : 0;
}

/* The least latency in each part of the time. */
static void take_parts(const struct latency *latencies, size_t count, int64_t *least_ns)
{
    for (size_t part = 0; part < PARTS; part++) {
        size_t first = part * count / PARTS, end = (part + 1) * count / PARTS;
        least_ns[part] = latencies[first].over_ns;
        for (size_t i = first; i < end; i++)
            least_ns[part] = latencies[i].over_ns < least_ns[part] ? latencies[i].over_ns : least_ns[part];
    }
}

/*
 * Whether a clock jumped: then the latencies of one direction are longer before it, and those of the other
 * direction after it, so that there is hardly a time in which both are less than `least_ns`.
 */
static int has_jump(const struct latency *there, size_t count, const struct latency *back, size_t back_count,
                    int64_t least_ns)
{
    int64_t there_ns[PARTS], back_ns[PARTS];
    int fast = 0;
    take_parts(there, count, there_ns);
    take_parts(back, back_count, back_ns);
    for (size_t part = 0; part < PARTS; part++)
        fast += there_ns[part] + back_ns[part] <= least_ns;
    return fast < LEAST_FAST_PARTS;
}

/*
 * A jump that is shorter than transfers are does little harm: the mean of the shortest durations, and what
 * pairs of both directions wait for proxy threads.
 */
static int64_t harmless_jump(const struct job *job, const struct latency *latencies, size_t count)
{
    double mean_ns = 0;
    for (size_t i = 0; i < count; i++)
        mean_ns += (double)job->instances[latencies[i].instance].transfer_ns / (double)count;
    return (int64_t)mean_ns + 2 * WAKE_UP_NS;
}

/* How much of the latency of a pair may be that its sides were placed by dumps, each late by an interval. */
static int64_t placed_late(const struct job *job, const struct job_instance *instance)
{
    int64_t late_ns = 0;
    for (int32_t i = 0; i < instance->members; i++)
        if (job_member(job, instance, i)->stamped)
            late_ns += job->ranks[job_member(job, instance, i)->rank].dump_interval_ns;
    return late_ns;
}

static void lengthen(struct job *job, const struct latency *latencies, size_t count, int64_t least_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct job_instance *instance = &job->instances[latencies[i].instance];
        int64_t transfer_ns =
            instance->transfer_ns + least_ns + latencies[i].over_ns - placed_late(job, instance);
        transfer_ns = transfer_ns < latencies[i].received_ns ? transfer_ns : latencies[i].received_ns;
        if (transfer_ns <= instance->transfer_ns)
            continue;
        instance->transfer_ns = transfer_ns;
        instance->by_latency = 1;
    }
}

/* The first latency in the direction opposite to that of `latency`; NULL: none. */
static const struct latency *opposite(const struct latency *latencies, size_t count,
                                      const struct latency *latency)
{
    const struct latency wanted = {.from = latency->to, .to = latency->from};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_direction(&latencies[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && !by_direction(&latencies[low], &wanted) ? &latencies[low] : NULL;
}

/* The number of latencies in the direction of `first`, which is the first one of it. */
static size_t count_direction(const struct latency *latencies, size_t count, const struct latency *first)
{
    size_t end = (size_t)(first - latencies);
    while (end < count && !by_direction(&latencies[end], first))
        end++;
    return end - (size_t)(first - latencies);
}

int job_measure_latencies(struct job *job)
{
    struct latency *latencies = array_new(job->instance_count, sizeof *latencies);
    struct line *lines = array_new(job->instance_count, sizeof *lines); /* of the first ones of directions */
    int failed = !latencies || !lines;
    size_t count = 0;
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        if (job->instances[i].function == FUNCTION_SEND)
            count += (size_t)measure(job, i, &latencies[count]);
    array_sort(latencies, count, sizeof *latencies, by_direction_and_time);
    for (size_t i = 0, here; i < count; i += here) {
        here = count_direction(latencies, count, &latencies[i]);
        lines[i] = take_line(&latencies[i], here);
    }
    for (size_t i = 0, here; i < count; i += here) {
        here = count_direction(latencies, count, &latencies[i]);
        const struct latency *back = opposite(latencies, count, &latencies[i]);
        size_t back_count = back ? count_direction(latencies, count, back) : 0;
        if (here >= LEAST_LATENCIES && back_count >= LEAST_LATENCIES &&
            !has_jump(&latencies[i], here, back, back_count, harmless_jump(job, &latencies[i], here)))
            lengthen(job, &latencies[i], here, least_latency(&lines[i], &lines[back - latencies]));
    }
    free(latencies);
    free(lines);
    return failed && job->instance_count ? -1 : 0;
}
