#include "diagnose/what_if.h"

#include "base/array.h"
#include "base/parallel.h"
#include "diagnose/significance.h"
#include "job/step_index.h"

#include <stdlib.h>

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

/* A thread, and the replay that it makes use of. */
struct player {
    struct replay *replay;
    struct replay copy;
    int lacks_all; /* all suspicions are taken out of it */
};

/* Of each suspicion, the job without it alone and, after all those, with it alone; before either, with and
 * without all. */
struct weighing {
    const struct suspects *suspects;
    size_t count;           /* of suspicions */
    struct player *players; /* owned */
    size_t player_count;
    int64_t *lasts_ns; /* owned: how long the job lasts in each of these */
};

static void change_all(const struct weighing *weighing, struct player *player, int sign)
{
    for (size_t i = 0; i < weighing->count; i++)
        change(player->replay, &weighing->suspects->items[i], sign);
    player->lacks_all = sign < 0;
}

/* Players go from one half to the other once: numbers ascend. */
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

/* Each replay beside the first takes memory, no more than finding its moves took: of one. */
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

/* The replay is as it was when all is done, whoever played what. */
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

int suspects_weigh(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct transfer_excess *transfers, struct replay *replay)
{
    if (!replay) {
        weigh_by_steps(suspects, job, baseline, transfers);
        return 0;
    }
    array_sort(suspects->items, suspects->count, sizeof *suspects->items, by_total);
    size_t weighed = suspects->count < WEIGHED ? suspects->count : WEIGHED;
    suspects->unweighed = suspects->count - weighed;
    return weigh(suspects, replay, weighed);
}
