/*
 * Finds instances whose transfers were slow, from durations and from slow links. Runs after the baseline and
 * the edges.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* The transfer of an instance counts once: at its first member. */
static int64_t transfer_at(const struct job *job, int32_t cell)
{
    const struct job_instance *instance = &job->instances[job->operations[cell].instance];
    int complete = instance->members == instance->expected;
    return complete && job->instance_members[instance->first_member] == cell ? instance->transfer_ns
                                                                             : TIME_UNKNOWN;
}

/* The measurement, with the memory of its threads. */
struct measuring {
    const struct job *job;
    const struct baseline *baseline;
    double sigmas;
    struct transfer_excess *transfers;
    struct place *places; /* owned */
    size_t place_count;
};

static void take_place(const struct measuring *measuring, struct place *place, int32_t role, int32_t position)
{
    const struct baseline *baseline = measuring->baseline;
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            size_t at = rank * steps + (size_t)step;
            place->value[at] = cell < 0 ? TIME_UNKNOWN : transfer_at(measuring->job, cell);
            place->bytes[at] = cell < 0 ? 0 : measuring->job->operations[cell].bytes;
        }
    warm_up_drop(baseline, place->value, ranks, place->list);
}

/* Each instance is written at one place only (transfer_at), so threads need no lock. */
static void measure_place(void *context, size_t worker, size_t role, int32_t position)
{
    const struct measuring *measuring = context;
    const struct baseline *baseline = measuring->baseline;
    struct place *place = &measuring->places[worker];
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    take_place(measuring, place, (int32_t)role, position);
    int64_t sigma = place_measure(place, ranks, baseline->first_step, baseline->step_count);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN)
                continue;
            int32_t cell = baseline_cell(baseline, (int32_t)role, position, rank, step);
            struct transfer_excess *transfer =
                &measuring->transfers[measuring->job->operations[cell].instance];
            transfer->beyond_ns = excess;
            if ((double)excess > measuring->sigmas * (double)sigma)
                transfer->slow_ns = excess;
        }
}

static int measuring_init(struct measuring *measuring)
{
    size_t ranks = each_place_ranks(measuring->baseline), steps = (size_t)measuring->baseline->step_count;
    measuring->place_count = each_place_threads(measuring->baseline, measuring->job);
    measuring->places = array_new(measuring->place_count, sizeof *measuring->places);
    for (size_t i = 0; measuring->places && i < measuring->place_count; i++)
        if (place_init(&measuring->places[i], ranks, steps))
            return -1;
    return measuring->places ? 0 : -1;
}

static int find_slow(const struct job *job, const struct baseline *baseline, double sigmas,
                     struct transfer_excess *transfers)
{
    struct measuring measuring = {.job = job, .baseline = baseline, .sigmas = sigmas, .transfers = transfers};
    int failed =
        measuring_init(&measuring) || each_place(baseline, measuring.place_count, measure_place, &measuring);
    for (size_t i = 0; measuring.places && i < measuring.place_count; i++)
        place_release(&measuring.places[i]);
    free(measuring.places);
    return failed ? -1 : 0;
}

/*
 * How long a member was in the operation; -1: unknown. If the end of its kernel is not the real end, as for
 * the leaf of a tree, until the next operation of its stream began.
 */
static int64_t stay_of(const struct job_operation *member, int64_t next_ns)
{
    int64_t end_ns = job_left_ns(member, next_ns);
    if (end_ns == TIME_UNKNOWN)
        end_ns = member->end_ns;
    return member->start_ns == TIME_UNKNOWN || end_ns == TIME_UNKNOWN ? -1 : end_ns - member->start_ns;
}

/*
 * An operation was delayed by at most the duration of its longest member, and a receive by at most its own
 * duration: before it started, its sender waited for it. INT64_MAX where the trace cannot tell.
 */
static int64_t longest_member(const struct job *job, const struct job_instance *instance,
                              const int64_t *next_starts)
{
    int64_t longest = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        int64_t stay_ns = stay_of(&job->operations[at], next_starts[at]);
        longest = stay_ns > longest ? stay_ns : longest;
    }
    int64_t received_ns = job_received_ns(job, instance);
    return longest < 0 || received_ns < longest ? received_ns : longest;
}

/*
 * Whether the instance hung because a member is missing, and no member called another operation after it. Its
 * links then waited for that member.
 */
static int never_ended(const struct job *job, const struct job_instance *instance, const int64_t *next_starts)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (next_starts[job_member_at(job, instance, i)] != TIME_UNKNOWN)
            return 0;
    return instance->members < instance->expected;
}

static int find_slow_links(const struct job *job, const struct edges *edges,
                           struct transfer_excess *transfers)
{
    int64_t *next_starts = job_next_starts(job);
    for (size_t i = 0; next_starts && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        struct transfer_excess *excess = &transfers[i];
        int64_t over = 0, busy = 0;
        for (size_t j = edges->first[i]; j < edges->first[i + 1]; j++)
            if (edges->items[j].over_ns > over) {
                over = edges->items[j].over_ns;
                busy = edges->items[j].busy_ns;
            }
        excess->has_slow_link = over > 0;
        /* If no member ended before the link did, all members show the delay. */
        int holds_some = instance->transfer_ns < busy;
        if (over <= 0 || (excess->slow_ns && (!holds_some || excess->slow_ns >= over / 2)))
            continue;
        int64_t longest = longest_member(job, instance, next_starts);
        if (longest == INT64_MAX && never_ended(job, instance, next_starts))
            continue;
        over = over < longest ? over : longest;
        if (over <= excess->slow_ns)
            continue;
        excess->some_ns = holds_some ? over - excess->slow_ns : 0;
        excess->slow_ns = over;
        /* TIME_UNKNOWN is less, too. */
        if (excess->beyond_ns < over)
            excess->beyond_ns = over;
    }
    int failed = next_starts ? 0 : -1;
    free(next_starts);
    return failed;
}

int transfers_find(struct transfer_excess *transfers, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, double sigmas)
{
    return find_slow(job, baseline, sigmas, transfers) ||
                   (edges->count && find_slow_links(job, edges, transfers))
               ? -1
               : 0;
}

struct transfer_excess *transfers_new(const struct job *job)
{
    struct transfer_excess *transfers = array_new(job->instance_count, sizeof *transfers);
    for (size_t i = 0; transfers && i < job->instance_count; i++)
        transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN, .culprit = -1};
    return transfers;
}

int64_t transfer_usual_ns(const struct job_instance *instance, const struct transfer_excess *excess)
{
    int64_t took_ns = instance->transfer_ns + excess->some_ns;
    return instance->transfer_ns == TIME_UNKNOWN || took_ns <= excess->slow_ns ? TIME_UNKNOWN
                                                                               : took_ns - excess->slow_ns;
}

void transfers_note_culprit(struct transfer_excess *transfers, const int64_t *cuts, size_t count,
                            int32_t rank)
{
    for (size_t i = 0; i < count; i++)
        if (cuts[i] > 0 && transfers[i].culprit < 0) {
            transfers[i].culprit = rank;
            transfers[i].slow_ns = cuts[i];
        }
}

static int by_kind(const void *a, const void *b)
{
    const struct kind_time *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return compare_integers(left->transfer_ns, right->transfer_ns);
}

static int is_kind_before(const void *item, const void *wanted)
{
    return ((const struct kind_time *)item)->kind < *(const uint64_t *)wanted;
}

static uint64_t kind_of(const struct job *job, const struct job_instance *instance)
{
    int64_t bytes = instance->members ? job_member(job, instance, 0)->bytes : 0;
    return hash_mix(hash_mix((uint64_t)instance->communicator, instance->function), (uint64_t)bytes);
}

int kind_times_init(struct kind_times *times, const struct job *job, int32_t first_step,
                    const struct step_set *without)
{
    *times = (struct kind_times){array_new(job->instance_count + 1, sizeof *times->items), 0};
    if (!times->items)
        return -1;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->step >= first_step && instance->transfer_ns != TIME_UNKNOWN &&
            !step_set_has(without, instance->step))
            times->items[times->count++] = (struct kind_time){kind_of(job, instance), instance->transfer_ns};
    }
    array_sort(times->items, times->count, sizeof *times->items, by_kind);
    return 0;
}

void kind_times_release(struct kind_times *times)
{
    free(times->items);
}

int64_t kind_times_median(const struct kind_times *times, const struct job *job,
                          const struct job_instance *instance)
{
    uint64_t kind = kind_of(job, instance);
    size_t first = lower_bound(times->items, times->count, sizeof *times->items, is_kind_before, &kind),
           end = first;
    while (end < times->count && times->items[end].kind == kind)
        end++;
    return end > first ? times->items[first + (end - first - 1) / 2].transfer_ns : TIME_UNKNOWN;
}
