#include "compare/network_parts.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int share_a_host(const struct job *job, const struct job_communicator *communicator)
{
    const char *host = NULL;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int32_t rank = communicator->seats[i].rank;
        const char *here = rank >= 0 ? job->ranks[rank].facts.host : NULL;
        if (!here || (host && strcmp(host, here) != 0))
            return 0;
        host = here;
    }
    return host && (int64_t)communicator->seat_count == communicator->size;
}

static void find_communicators(struct network_parts *parts, const struct job *job)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        parts->is_over[i] = !job->traffic_count && !share_a_host(job, &job->communicators[i]);
    for (size_t i = 0; i < job->traffic_count; i++)
        parts->is_over[job->operations[job->traffic[i].operation].communicator] = 1;
}

/* A transfer keeps each of its members busy for as long. */
static void sum_transfers(struct network_parts *parts, const struct job *job, const struct usual *usual)
{
    size_t ranks = job_recorded_ranks(job);
    double each = 1e3 * (double)(ranks ? ranks : 1), steps = (double)(usual->count ? usual->count : 1);
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int is_usual =
            instance->step >= 0 && instance->step < job->step_count && usual->places[instance->step] >= 0;
        if (!is_usual || instance->transfer_ns == TIME_UNKNOWN || !parts->is_over[instance->communicator])
            continue;
        double us = (double)instance->transfer_ns * instance->members / each;
        parts->all_us += us / steps;
        parts->by_step[usual->places[instance->step]] += us;
        parts->by_tag[instance->tag < 0 ? job->tags.count : (size_t)instance->tag] += us / steps;
    }
}

int network_parts_init(struct network_parts *parts, const struct job *job, const struct usual *usual)
{
    *parts = (struct network_parts){.is_over = array_new(job->communicator_count + 1, sizeof *parts->is_over),
                                    .by_step = array_new(usual->count + 1, sizeof *parts->by_step),
                                    .by_tag = array_new(job->tags.count + 1, sizeof *parts->by_tag)};
    if (!parts->is_over || !parts->by_step || !parts->by_tag)
        return -1;
    find_communicators(parts, job);
    sum_transfers(parts, job, usual);
    return 0;
}

void network_parts_release(struct network_parts *parts)
{
    free(parts->is_over);
    free(parts->by_step);
    free(parts->by_tag);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* A slope of least squares, and its standard error. */
double network_parts_overlap(const struct network_parts *parts, const double *own_us, size_t count)
{
    double squares = 0, products = 0, rest = 0;
    if (parts->all_us <= 0)
        return 0;
    if (count < 3)
        return 1;
    double middle = mean_of(parts->by_step, count), own = mean_of(own_us, count);
    for (size_t i = 0; i < count; i++) {
        squares += (parts->by_step[i] - middle) * (parts->by_step[i] - middle);
        products += (parts->by_step[i] - middle) * (own_us[i] - own);
    }
    if (!(squares > 0))
        return 1;
    double slope = products / squares;
    for (size_t i = 0; i < count; i++) {
        double left = own_us[i] - own - slope * (parts->by_step[i] - middle);
        rest += left * left;
    }
    double error = sqrt(rest / (double)(count - 2) / squares);
    return fmax(0, fmin(1, 2 * error - slope));
}
