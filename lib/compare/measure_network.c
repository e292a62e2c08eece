#include "compare/measure_network.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* A transfer of one kind in one usual step; or what an edge waited in one. */
struct observed {
    int64_t kind[3]; /* function, bytes, ranks; or sender, receiver, 0 */
    int64_t place;   /* of the step */
    int64_t ns;
    int is_over_network;
};

struct observations {
    struct observed *items; /* owned */
    size_t count;
    int64_t *list; /* owned: scratch, as many */
};

static int compare_integers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int by_kind(const void *a, const void *b)
{
    const struct observed *left = a, *right = b;
    for (int i = 0; i < 3; i++)
        if (left->kind[i] != right->kind[i])
            return compare_integers(left->kind[i], right->kind[i]);
    return compare_integers(left->place, right->place);
}

static int is_same_kind(const struct observed *one, const struct observed *other)
{
    return one->kind[0] == other->kind[0] && one->kind[1] == other->kind[1] && one->kind[2] == other->kind[2];
}

static int observations_init(struct observations *seen, size_t capacity)
{
    *seen = (struct observations){.items = array_new(capacity + 1, sizeof *seen->items),
                                  .list = array_new(capacity + 1, sizeof *seen->list)};
    return seen->items && seen->list ? 0 : -1;
}

static void observations_release(struct observations *seen)
{
    free(seen->items);
    free(seen->list);
}

/* Those of one kind in one step, from `at` on; *next is where others begin. Their median, or their sum; and
 * whether the network has a part in the series. */
static double of_step(const struct observations *seen, size_t at, int is_sum, struct step_series *series,
                      size_t *next)
{
    const struct observed *first = &seen->items[at];
    int64_t sum_ns = 0;
    size_t count = 0;
    for (*next = at; *next < seen->count && is_same_kind(&seen->items[*next], first) &&
                     seen->items[*next].place == first->place;
         (*next)++) {
        seen->list[count++] = seen->items[*next].ns;
        sum_ns += seen->items[*next].ns;
        if (seen->items[*next].is_over_network)
            series->network = INFINITY;
    }
    return (double)(is_sum ? sum_ns : median_of(seen->list, count)) / 1e3;
}

static void see_transfers(struct observations *seen, const struct job *job, const struct usual *usual,
                          const unsigned char *is_over)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int32_t place =
            instance->step < 0 || instance->step >= job->step_count ? -1 : usual->places[instance->step];
        if (place < 0 || instance->transfer_ns == TIME_UNKNOWN || instance->transfer_ns <= 0 ||
            !instance->members)
            continue;
        const struct job_operation *member = job_member(job, instance, 0);
        int is_pair = function_is_point_to_point(instance->function);
        int64_t ranks = is_pair ? 2 : job->communicators[instance->communicator].size;
        int64_t bytes = function_size_bytes(instance->function, member->bytes, ranks);
        seen->items[seen->count++] = (struct observed){.kind = {instance->function, bytes, ranks},
                                                       .place = place,
                                                       .ns = instance->transfer_ns,
                                                       .is_over_network = is_over[instance->communicator]};
    }
}

/* How many of its transfers one of the ranks makes in a step, and their bandwidth by the time of one. */
static void set_transfer(struct step_series *series, const struct observed *kind, size_t transfers,
                         const struct job *job, const struct usual *usual)
{
    enum function function = (enum function)kind->kind[0];
    double ranks = (double)(job->rank_count ? job->rank_count : 1), steps = (double)usual->count;
    series->in_a_step = (double)transfers * (double)kind->kind[2] / ranks / steps;
    if (kind->kind[1] > 0)
        series->gbs_us = (double)kind->kind[1] / 1e3 * function_busbw_factor(function, kind->kind[2]);
}

/* "AllReduce, 4194304 bytes, 8 ranks". */
static struct step_series *add_transfer(struct measured_run *run, const struct observed *kind,
                                        const struct usual *usual)
{
    struct buffer key = BUFFER_INIT;
    struct step_series *series = NULL;
    const char *function = function_name((enum function)kind->kind[0]);
    if (buffer_printf(&key, "%s, %lld bytes, %lld ranks", function ? function : "operation",
                      (long long)kind->kind[1], (long long)kind->kind[2]) == 0)
        series = measured_add(run, SERIES_TRANSFER, key.data, usual->count);
    buffer_release(&key);
    return series;
}

int measure_transfers(struct measured_run *run, const struct job *job, const struct usual *usual,
                      const unsigned char *is_over)
{
    struct observations seen;
    struct step_series *series = NULL;
    size_t first = 0;
    int failed = observations_init(&seen, job->instance_count);
    if (!failed)
        see_transfers(&seen, job, usual, is_over);
    array_sort(seen.items, seen.count, sizeof *seen.items, by_kind);
    for (size_t i = 0, next = 0; !failed && i < seen.count; i = next) {
        if (!series || !is_same_kind(&seen.items[i], &seen.items[first])) {
            first = i;
            series = add_transfer(run, &seen.items[i], usual);
            failed = !series;
        }
        if (failed)
            break;
        series_add(series, of_step(&seen, i, 0, series, &next));
        set_transfer(series, &seen.items[first], next - first, job, usual);
    }
    observations_release(&seen);
    return failed ? -1 : 0;
}

static void see_traffic(struct observations *seen, const struct job *job, const struct usual *usual)
{
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int32_t step = job->operations[traffic->operation].step;
        int32_t place = step < 0 || step >= job->step_count ? -1 : usual->places[step];
        if (place >= 0 && !traffic->by_receiver && traffic->sender >= 0 && traffic->receiver >= 0)
            seen->items[seen->count++] = (struct observed){.kind = {traffic->sender, traffic->receiver, 0},
                                                           .place = place,
                                                           .ns = traffic->busy_ns,
                                                           .is_over_network = 1};
    }
}

static struct step_series *add_edge(struct measured_run *run, const struct job *job,
                                    const struct observed *kind, const struct usual *usual)
{
    struct buffer key = BUFFER_INIT;
    struct step_series *series = NULL;
    const struct job_rank *sender = &job->ranks[kind->kind[0]], *receiver = &job->ranks[kind->kind[1]];
    if (buffer_printf(&key, "rank %s to rank %s", sender->name, receiver->name) == 0)
        series = measured_add(run, SERIES_EDGE, key.data, usual->count);
    buffer_release(&key);
    if (series) {
        series->rank = sender->global_rank;
        series->receiver = receiver->global_rank;
    }
    return series;
}

int measure_edges(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    struct observations seen;
    struct step_series *series = NULL;
    size_t first = 0;
    int failed = observations_init(&seen, job->traffic_count);
    if (!failed)
        see_traffic(&seen, job, usual);
    array_sort(seen.items, seen.count, sizeof *seen.items, by_kind);
    for (size_t i = 0, next = 0; !failed && i < seen.count; i = next) {
        if (!series || !is_same_kind(&seen.items[i], &seen.items[first])) {
            first = i;
            series = add_edge(run, job, &seen.items[i], usual);
            failed = !series;
        }
        if (!failed)
            series_add(series, of_step(&seen, i, 1, series, &next));
    }
    observations_release(&seen);
    return failed ? -1 : 0;
}
