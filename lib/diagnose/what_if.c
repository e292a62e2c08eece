#include "diagnose/what_if.h"

#include "base/array.h"
#include "diagnose/significance.h"
#include "job/step_index.h"

/*
 * What each suspicion costs the job, by replay: the greater of what removing it alone gains and what is lost
 * when it alone stays while all others are removed. The second speaks for faults that hide each other, two
 * ranks late at once in parallel branches. What noise is expected to do at least once is never told
 * (significance.c) and not weighed.
 */

/* Replays cost a pass over the job each: it is told where others may matter (verdict.c). */
enum { WEIGHED = 64 };

/* sign -1 takes the suspicion out of the replay, +1 puts it back. */
static void change(struct replay *replay, const struct suspect *suspect, int sign)
{
    const struct job *job = replay->job;
    if (suspect->kind == FINDING_NETWORK) {
        struct job_range instances = suspect_instances(suspect, job);
        for (size_t i = instances.first; i < instances.end; i++) {
            int32_t at = job->by_step[i];
            if (suspect_has_instance(suspect, &job->instances[at], &replay->transfers[at]))
                replay_change_transfer(replay, (size_t)at, sign * replay->transfers[at].slow_ns);
        }
        return;
    }
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(replay->excess, i)))
            replay->own_ns[i] += sign * excess_ns_at(replay->excess, i);
}

static int by_total(const void *a, const void *b)
{
    const struct suspect *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    return left->rank - right->rank;
}

static void weigh(struct suspects *suspects, struct replay *replay, size_t count)
{
    int64_t with_all = replay_run(replay);
    for (size_t i = 0; i < count; i++)
        change(replay, &suspects->items[i], -1);
    int64_t without_all = replay_run(replay);
    for (size_t i = 0; i < count; i++) {
        if (suspect_is_noise(&suspects->items[i]))
            continue;
        change(replay, &suspects->items[i], 1);
        suspects->items[i].gain_ns = replay_run(replay) - without_all;
        change(replay, &suspects->items[i], -1);
    }
    for (size_t i = 0; i < count; i++)
        change(replay, &suspects->items[i], 1);
    for (size_t i = 0; i < count; i++) {
        if (suspect_is_noise(&suspects->items[i]))
            continue;
        change(replay, &suspects->items[i], -1);
        int64_t gain = with_all - replay_run(replay);
        change(replay, &suspects->items[i], 1);
        if (gain > suspects->items[i].gain_ns)
            suspects->items[i].gain_ns = gain;
    }
}

/* By how much a step lasted longer than the median; all of `most` where that is not known. */
static int64_t lengthened(const struct baseline *baseline, int32_t step, int64_t most)
{
    if (step >= baseline->step_count || baseline->step_ns[step] == TIME_UNKNOWN)
        return most;
    int64_t longer = baseline->step_ns[step] - baseline->median_step_ns;
    return longer < 0 ? 0 : longer < most ? longer : most;
}

static int64_t slow_in_step(const struct suspect *suspect, const struct job *job,
                            const struct transfer_excess *transfers, int32_t step)
{
    int64_t slow_ns = 0;
    struct job_range instances = job_instances_in(job, step, step);
    for (size_t i = instances.first; i < instances.end; i++)
        if (suspect_has_instance(suspect, &job->instances[job->by_step[i]], &transfers[job->by_step[i]]))
            slow_ns += transfers[job->by_step[i]].slow_ns;
    return slow_ns;
}

/* What steps were longer for a suspicion, at most, as its last one shows by itself or in the next. */
struct shown {
    int64_t here_ns;
    int64_t later_ns;
    int64_t taken_ns; /* by the latter, of what the next is longer */
};

static int64_t most_of(const struct shown *shown)
{
    return shown->here_ns > shown->later_ns ? shown->here_ns : shown->later_ns;
}

/* Goes on by a step in which transfers were slow by so much. */
static void show_step(struct shown *shown, const struct baseline *baseline, int32_t step, int64_t slow_ns)
{
    int64_t left_ns = lengthened(baseline, step, INT64_MAX) - shown->taken_ns;
    struct shown next = {.here_ns = shown->here_ns + lengthened(baseline, step, slow_ns),
                         .later_ns = shown->later_ns + (left_ns < slow_ns ? left_ns : slow_ns)};
    next.here_ns = most_of(&next);
    next.taken_ns = lengthened(baseline, step + 1, slow_ns);
    next.later_ns = most_of(shown) + next.taken_ns;
    *shown = next;
}

/*
 * Without times on the device there is nothing to replay. How long steps lasted is known: a slow
 * transfer cost what its step was longer than others, or the next one where the host runs a step ahead, but
 * no step is longer for two of them at once.
 */
static void weigh_by_steps(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                           const struct transfer_excess *transfers)
{
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        struct shown shown = {0};
        for (int32_t step = suspect->first_step; step <= suspect->last_step; step++)
            show_step(&shown, baseline, step, slow_in_step(suspect, job, transfers, step));
        suspect->gain_ns += most_of(&shown);
    }
}

void suspects_weigh(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers, struct replay *replay)
{
    if (!replay) {
        weigh_by_steps(suspects, job, baseline, transfers);
        return;
    }
    array_sort(suspects->items, suspects->count, sizeof *suspects->items, by_total);
    size_t weighed = suspects->count < WEIGHED ? suspects->count : WEIGHED;
    weigh(suspects, replay, weighed);
    suspects->unweighed = suspects->count - weighed;
}
