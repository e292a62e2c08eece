/*
 * The cost of a suspect: what the job would gain without it, by replay, limited by how much longer its steps
 * were than others. verdict.c measures both for each suspect before it decides the confidence.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/*
 * The claimed cost compared with the duration of the steps. In a network that is busy all the time some link
 * is always behind, now this one, now that one: the cost of such a link in the replay vanishes with the next
 * link. The real cost of a slow link shows in the step time. For a late rank it is enough that the step times
 * do not contradict the cost.
 */

/* The last step whose duration shows the cost of a suspect. */
static int32_t shown_to(const struct suspect *suspect)
{
    return suspect->last_step + (suspect->shows_later ? 1 : 0);
}

/*
 * The cost of a suspect in one step, where it counts against other suspects. It is 0 where it may be chance.
 * If a suspect of a single step shows in the next step, its cost counts there.
 */
static int64_t cost_in_step(const struct suspect *suspect, int32_t step)
{
    int32_t later = suspect->first_step == suspect->last_step ? shown_to(suspect) - suspect->last_step : 0;
    if (step < suspect->first_step + later || step > suspect->last_step + later)
        return 0;
    return suspect->chance <= limit_of(LIMIT_CHANCE) ? suspect->gain_ns / suspect_steps(suspect) : 0;
}

int suspects_sum_costs(struct suspects *suspects, int32_t step_count)
{
    suspects->cost_ns = array_new((size_t)step_count + 1, sizeof *suspects->cost_ns);
    for (size_t i = 0; suspects->cost_ns && i < suspects->count; i++) {
        const struct suspect *suspect = &suspects->items[i];
        for (int32_t step = suspect->first_step; step <= shown_to(suspect); step++)
            suspects->cost_ns[step] += cost_in_step(suspect, step);
    }
    return suspects->cost_ns ? 0 : -1;
}

/* The cost of all other suspects in a step. */
static int64_t cost_of_others(const struct suspects *suspects, const struct suspect *suspect, int32_t step)
{
    return suspects->cost_ns[step] - cost_in_step(suspect, step);
}

/*
 * Step times are compared within one regular part of the run (a stretch). If there is no information about
 * these, the run is one part.
 */
static int32_t stretch_of(const struct baseline *baseline, int32_t step)
{
    return baseline->stretch_of_step ? baseline->stretch_of_step[step] : 0;
}

/* Whether a step is outside the suspect, in the same part of the run, and of known duration. */
static int is_outside(const struct suspect *suspect, const struct baseline *baseline, int32_t step)
{
    return (step < suspect->first_step || step > shown_to(suspect)) &&
           stretch_of(baseline, step) == stretch_of(baseline, suspect->first_step) &&
           baseline->step_ns[step] != TIME_UNKNOWN;
}

/* Whether its steps lie in several parts: then their total duration proves nothing. */
static int crosses_stretches(const struct suspect *suspect, const struct baseline *baseline)
{
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++)
        if (stretch_of(baseline, step) != stretch_of(baseline, suspect->first_step))
            return 1;
    return 0;
}

/*
 * The lower quartile of the durations of the steps outside; only of those in which no other suspect has a
 * cost, if there are any. `list` has room for all steps.
 */
static int64_t lower_quartile(const struct suspects *suspects, const struct suspect *suspect,
                              const struct baseline *baseline, int64_t *list)
{
    for (int free_only = 1; free_only >= 0; free_only--) {
        size_t count = 0;
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
            if (is_outside(suspect, baseline, step) &&
                (!free_only || cost_of_others(suspects, suspect, step) <= 0))
                list[count++] = baseline->step_ns[step];
        if (count)
            return quantile_of(list, count, 0.25);
    }
    return TIME_UNKNOWN;
}

/*
 * Lists the durations of the steps outside, less the cost of the other suspects there. These costs may
 * overlap, so no step is reduced below the lower quartile.
 */
static size_t list_unburdened(const struct suspects *suspects, const struct suspect *suspect,
                              const struct baseline *baseline, int64_t *list)
{
    size_t count = 0;
    int64_t quartile = lower_quartile(suspects, suspect, baseline, list);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (!is_outside(suspect, baseline, step))
            continue;
        int64_t length = baseline->step_ns[step] - cost_of_others(suspects, suspect, step);
        int64_t least = baseline->step_ns[step] < quartile ? baseline->step_ns[step] : quartile;
        list[count++] = length < least ? least : length;
    }
    return count;
}

/* Whether no other suspect has a cost in its steps. */
static int is_alone(const struct suspects *suspects, const struct suspect *suspect)
{
    for (int32_t step = suspect->first_step; step <= shown_to(suspect); step++)
        if (cost_of_others(suspects, suspect, step) > 0)
            return 0;
    return 1;
}

/* The cost of all other suspects in its steps. */
static int64_t cost_beside(const struct suspects *suspects, const struct suspect *suspect)
{
    int64_t cost_ns = 0;
    for (int32_t step = suspect->first_step; step <= shown_to(suspect); step++)
        cost_ns += cost_of_others(suspects, suspect, step);
    return cost_ns;
}

/*
 * By how much its steps were longer for another reason: the excess of single steps far above their median.
 * Counts as many steps as the suspect has; if it shows later, each one's next step. `list` has room for all
 * steps.
 */
static int64_t longer_for_others(const struct suspect *suspect, const struct baseline *baseline,
                                 int64_t usual_ns, int64_t *list)
{
    size_t count = 0;
    int64_t over_ns = 0;
    for (int32_t step = suspect->first_step + (suspect->shows_later != 0); step <= shown_to(suspect); step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step] - usual_ns;
    if (count < 3)
        return 0;
    int64_t middle_ns = median_of(list, count),
            most_ns = middle_ns > 0 ? scale(middle_ns, limit_of(LIMIT_OUTSTANDING)) : 0;
    for (size_t i = 0; i < count; i++)
        over_ns += list[i] > most_ns ? list[i] - middle_ns : 0;
    return over_ns;
}

static void measure(const struct suspects *suspects, const struct suspect *suspect, const struct job *job,
                    const struct baseline *baseline, int64_t *list, struct lengthening *lengthening)
{
    int64_t inside_ns =
        baseline_steps_duration_ns(baseline, job, suspect->first_step, shown_to(suspect), list);
    size_t count = list_unburdened(suspects, suspect, baseline, list);
    int32_t last = shown_to(suspect), end = last + 1 < baseline->step_count ? last + 1 : last;
    int64_t steps = end - suspect->first_step;
    if (count < 2 || inside_ns == TIME_UNKNOWN || crosses_stretches(suspect, baseline))
        return;
    int64_t usual = median_of(list, count);
    int64_t longer = inside_ns - steps * usual;
    double error_ns = sqrt((double)steps) * (double)sigma_about(list, count, usual);
    double doubt = limit_of(LIMIT_ERRORS) * error_ns;
    /* Steps of unknown duration, such as the last of all, count like the others. */
    double all = (double)(last - suspect->first_step + 1) / (double)steps;
    lengthening->is_known = 1;
    lengthening->error_ns = error_ns;
    lengthening->part = all;
    lengthening->some_ns = longer;
    lengthening->most_ns = scale(1, ((longer > 0 ? (double)longer : 0) + doubt) * all);
    lengthening->longer_ns = scale(1, (double)longer * all);
    int64_t own_ns = longer - longer_for_others(suspect, baseline, usual, list);
    lengthening->beside_ns = cost_beside(suspects, suspect);
    lengthening->rest_ns = scale(1, ((double)(own_ns - lengthening->beside_ns) - doubt) * all);
    lengthening->least_ns = is_alone(suspects, suspect) ? lengthening->rest_ns : 0;
}

int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *list = array_new(job->rank_count > steps ? job->rank_count : steps, sizeof *list);
    if (!list)
        return -1;
    *lengthening = (struct lengthening){.most_ns = INT64_MAX};
    measure(suspects, suspect, job, baseline, list, lengthening);
    free(list);
    return 0;
}

void suspect_ask_steps(struct suspect *suspect, const struct lengthening *lengthening)
{
    double some_ns = (double)lengthening->some_ns, error_ns = lengthening->error_ns;
    if (!lengthening->is_known)
        return;
    suspect_ask(suspect, RULE_NOT_IN_STEPS,
                suspect->gain_ns > 0 ? some_ns / (double)suspect->gain_ns : NOT_ASKED);
    /*
     * If all steps have the same duration, there is no error to divide by, and only shorter steps violate the
     * rule.
     */
    suspect_ask(suspect, RULE_WITHIN_SPREAD,
                error_ns > 0  ? some_ns / error_ns
                : some_ns < 0 ? some_ns
                              : NOT_ASKED);
}

double lengthening_of_late(const struct lengthening *lengthening, int64_t gain_ns)
{
    double doubt = limit_of(LIMIT_ERRORS) * lengthening->error_ns;
    return lengthening->is_known && gain_ns > 0
               ? ((double)lengthening->some_ns + doubt) * lengthening->part / (double)gain_ns
               : NOT_ASKED;
}

/*
 * Its part of the longer time that the gains of all suspects leave unexplained, divided in proportion to the
 * gains for want of better evidence.
 */
static int64_t part_of_rest(const struct suspect *suspect, const struct lengthening *lengthening,
                            int64_t cost_ns)
{
    double gain = (double)(suspect->gain_ns > 0 ? suspect->gain_ns : 0),
           beside = (double)lengthening->beside_ns;
    return beside > 0 ? scale(lengthening->rest_ns - cost_ns, gain / (gain + beside))
                      : lengthening->rest_ns - cost_ns;
}

/*
 * The highest cost that the step times allow. Where waiting is passed from stage to stage by unrecorded
 * operations, partners may wait while another stage is still working, so that the waiting need not lengthen
 * the step.
 */
static int64_t most_shown(const struct lengthening *lengthening, const struct job *job,
                          enum confidence confidence)
{
    if (confidence == CONFIDENCE_LOW || lengthening->most_ns == INT64_MAX)
        return lengthening->most_ns;
    if (!job_lacks_stage_p2p(job))
        return lengthening->most_ns;
    return lengthening->longer_ns > 0 ? lengthening->longer_ns : 0;
}

int64_t cost_of(const struct suspect *suspect, const struct lengthening *lengthening, const struct job *job,
                enum confidence confidence)
{
    int64_t cost_ns = suspect->gain_ns;
    int64_t most_ns = most_shown(lengthening, job, confidence);
    if (cost_ns > most_ns)
        cost_ns = most_ns;
    if (confidence == CONFIDENCE_LOW || cost_ns > lengthening->rest_ns ||
        (double)lengthening->rest_ns > limit_of(LIMIT_UNEXPLAINED) * (double)suspect->total_ns)
        return cost_ns;
    return cost_ns + part_of_rest(suspect, lengthening, cost_ns);
}

/*
 * The gain of each suspect in the replay: the greater of what the job gains when it alone is removed, and
 * what the job loses when it alone stays and all others are removed. The second finds faults that hide each
 * other, such as two ranks late at once in parallel branches. Suspects that noise is expected to produce at
 * least once (significance.c) are never reported and not replayed.
 */

/*
 * At most this many suspects are replayed, each of which takes a pass over the job; verdict.c says so where
 * others may matter.
 */
enum { WEIGHED = 64 };

/* sign -1 removes the suspect from the replay, +1 puts it back. */
static void change(struct replay *replay, const struct suspect *suspect, int sign)
{
    const struct job *job = replay->job;
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        if (suspect_has_instance(suspect, &job->instances[at], &replay->transfers[at]))
            replay_change_transfer(replay, (size_t)at, sign * replay->transfers[at].slow_ns);
    }
}

static int by_total(const void *a, const void *b)
{
    const struct suspect *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    return left->rank - right->rank;
}

/* A thread and its replay. */
struct player {
    struct replay *replay;
    struct replay copy;
    int lacks_all; /* all suspects are removed from its replay */
};

/*
 * The replays to run: the job with and without all suspects, then for each suspect the job without it alone,
 * and after all those the job with it alone.
 */
struct weighing {
    const struct suspects *suspects;
    size_t count;           /* of suspects */
    struct player *players; /* owned */
    size_t player_count;
    int64_t *lasts_ns; /* owned: the duration of the job in each replay */
};

static void change_all(const struct weighing *weighing, struct player *player, int sign)
{
    for (size_t i = 0; i < weighing->count; i++)
        change(player->replay, &weighing->suspects->items[i], sign);
    player->lacks_all = sign < 0;
}

/* Numbers ascend, so a player changes from the first half to the second once. */
static void play_one(struct weighing *weighing, struct player *player, size_t number)
{
    size_t half = weighing->count + 1, which = number % half;
    int lacks_all = number >= half;
    const struct suspect *suspect = which ? &weighing->suspects->items[which - 1] : NULL;
    if (suspect && suspect_is_noise(suspect))
        return;
    if (lacks_all != player->lacks_all)
        change_all(weighing, player, lacks_all ? -1 : 1);
    if (suspect)
        change(player->replay, suspect, lacks_all ? 1 : -1);
    weighing->lasts_ns[number] = replay_run(player->replay);
    if (suspect)
        change(player->replay, suspect, lacks_all ? -1 : 1);
}

static int play(void *context, size_t worker, size_t first, size_t end)
{
    struct weighing *weighing = context;
    for (size_t i = first; i < end; i++)
        play_one(weighing, &weighing->players[worker], i);
    return 0;
}

/* Each further replay takes memory, no more than building the first one took. */
enum { MOST_PLAYERS = 2, OPERATIONS_A_PLAYER = 4096 };

static int weighing_init(struct weighing *weighing, struct replay *replay)
{
    size_t most = replay->job->threads < MOST_PLAYERS ? replay->job->threads : MOST_PLAYERS;
    weighing->player_count =
        weighing->count ? parallel_threads(most, replay->move_count, OPERATIONS_A_PLAYER) : 1;
    weighing->lasts_ns = array_new(2 * (weighing->count + 1), sizeof *weighing->lasts_ns);
    weighing->players = array_new(weighing->player_count, sizeof *weighing->players);
    if (!weighing->lasts_ns || !weighing->players)
        return -1;
    weighing->players[0].replay = replay;
    for (size_t i = 1; i < weighing->player_count; i++) {
        weighing->players[i].replay = &weighing->players[i].copy;
        if (replay_copy(&weighing->players[i].copy, replay))
            return -1;
    }
    return 0;
}

static void weighing_release(struct weighing *weighing)
{
    for (size_t i = 1; weighing->players && i < weighing->player_count; i++)
        replay_copy_release(&weighing->players[i].copy);
    free(weighing->players);
    free(weighing->lasts_ns);
}

static void take_gains(const struct weighing *weighing, struct suspects *suspects)
{
    const int64_t *without_one = weighing->lasts_ns, *with_one = without_one + weighing->count + 1;
    for (size_t i = 0; i < weighing->count; i++) {
        if (suspect_is_noise(&suspects->items[i]))
            continue;
        int64_t beside_all = without_one[0] - without_one[i + 1], alone = with_one[i + 1] - with_one[0];
        suspects->items[i].gain_ns = alone > beside_all ? alone : beside_all;
    }
}

/* The first replay is in its original state again when all are done, whichever player ran which. */
static int weigh(struct suspects *suspects, struct replay *replay, size_t count)
{
    struct weighing weighing = {.suspects = suspects, .count = count};
    int failed = weighing_init(&weighing, replay) ||
                 parallel_for(2 * (count + 1), 1, weighing.player_count, play, &weighing);
    if (!failed) {
        take_gains(&weighing, suspects);
        if (weighing.players[0].lacks_all)
            change_all(&weighing, &weighing.players[0], 1);
    }
    weighing_release(&weighing);
    return failed ? -1 : 0;
}

/* By how much a step was longer than the median; `most` where its duration is not known. */
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

/*
 * By how much steps were longer because of a suspect, at most. Its last step may show it in its own duration
 * or in that of the next step.
 */
struct shown {
    int64_t here_ns;
    int64_t later_ns;
    int64_t taken_ns; /* the part of the next step's excess that is already used */
};

static int64_t most_of(const struct shown *shown)
{
    return shown->here_ns > shown->later_ns ? shown->here_ns : shown->later_ns;
}

/* Continues with a step in which transfers were slow by `slow_ns`. */
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
 * Without GPU timestamps there is nothing to replay, but step times are known. A slow transfer cost what its
 * step was longer than others, or the next step where the host runs a step ahead. The same excess of a step
 * is not counted for two transfers.
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

int suspects_compute_gain(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                          const struct transfer_excess *transfers, struct replay *replay)
{
    if (!suspects->count)
        return 0;
    if (!replay) {
        weigh_by_steps(suspects, job, baseline, transfers);
        return 0;
    }
    array_sort(suspects->items, suspects->count, sizeof *suspects->items, by_total);
    size_t weighed = suspects->count < WEIGHED ? suspects->count : WEIGHED;
    suspects->not_replayed = suspects->count - weighed;
    return weigh(suspects, replay, weighed);
}
