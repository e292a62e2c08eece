#include "stalls/verdict.h"

#include "base/array.h"
#include "base/lower_bound.h"
#include "stalls/episodes.h"
#include "stalls/judge.h"
#include "stalls/peers.h"
#include "stalls/slow_end.h"
#include "stalls/usual.h"

#include <stdlib.h>

/*
 * Which edges stood still, against their own history: for every kind of operation, what an edge's steps
 * usually wait is learnt over the training steps; what goes beyond it is summed by training step. Those that
 * stand out form episodes of consecutive steps. An edge without a good past (slow from the first step on) is
 * held against the other edges that do the same work.
 */

/* No step of it was slow but one, and most of the time nothing at all arrived. */
static int is_pause(const struct episode *episode)
{
    return episode->first_step == episode->last_step && episode->standstill_ns * 2 >= episode->total_ns;
}

static enum stalls_verdict first_verdict(const struct episode *episode)
{
    if (episode->wait == STALLS_GPU)
        return STALLS_NO_DATA;
    if (episode->wait == STALLS_PEER)
        return STALLS_NO_CREDIT;
    return is_pause(episode) ? STALLS_PAUSED : STALLS_SLOW_LINK;
}

static void take(struct stalls_edge *edge, const struct episode *episode)
{
    enum stalls_verdict verdict = first_verdict(episode);
    int data = edge->verdict == STALLS_NO_DATA;
    /* The network's part first: that the GPU was late besides is diagnose's to say. */
    int better = edge->verdict == STALLS_OK || (data && verdict != STALLS_NO_DATA) ||
                 (data == (verdict == STALLS_NO_DATA) && episode->total_ns > edge->stalled_ns);
    if (!better)
        return;
    edge->verdict = verdict;
    edge->first_step = episode->first_step;
    edge->last_step = episode->last_step;
    edge->stalled_ns = episode->total_ns;
    edge->wait_mean_ns = episode->wait_mean_ns;
    edge->usual_mean_ns = episode->usual_mean_ns;
}

static void mark_unknown(struct judge *judge)
{
    for (size_t i = 0; i < judge->stalls->edge_count; i++)
        if (judge_steps_seen(judge, i) < LEAST_STEPS)
            judge->stalls->edges[i].verdict = STALLS_UNKNOWN;
}

static int judge_all(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    if (judge_learn_usual(judge) || judge_find_episodes(judge))
        return -1;
    for (size_t i = 0; i < judge->episode_count; i++)
        if (judge_steps_seen(judge, (size_t)judge->episodes[i].edge) >= LEAST_STEPS)
            take(&stalls->edges[judge->episodes[i].edge], &judge->episodes[i]);
    if (judge_compare_edges(judge) || judge_blame_ends(judge))
        return -1;
    mark_unknown(judge);
    for (size_t i = 0; i < stalls->edge_count; i++)
        stalls->edges[i].measured = stalls->edges[i].verdict;
    return 0;
}

int stalls_judge(struct stalls *stalls, const struct stalls_options *options, struct error *error)
{
    struct judge judge = {.stalls = stalls, .options = options};
    map_init(&judge.inbound);
    judge.first = array_new(stalls->edge_count + 2, sizeof *judge.first);
    judge.list = array_new(stalls->cell_count + 1, sizeof *judge.list);
    int failed = !judge.first || !judge.list || judge_all(&judge);
    free(judge.first);
    free(judge.list);
    free(judge.episodes);
    free(judge.usuals);
    map_release(&judge.inbound);
    return failed ? error_no_memory(error) : 0;
}

int stalls_is_slow(enum stalls_verdict verdict)
{
    return verdict == STALLS_PAUSED || verdict == STALLS_SLOW_LINK || verdict == STALLS_SLOW_SENDER ||
           verdict == STALLS_SLOW_RECEIVER;
}

/* Sent cells stand before received ones, by edge and step, once they are judged. */
static int is_cell_before(const void *cell, const void *edge)
{
    const struct stalls_cell *at = cell;
    return !at->received && at->edge < *(const int32_t *)edge;
}

void stalls_measure_steps(struct stalls *stalls, size_t edge, int32_t first_step, int32_t last_step)
{
    struct stalls_edge *of = &stalls->edges[edge];
    int32_t number = (int32_t)edge;
    int64_t steps = 0, wait_ns = 0, usual_ns = 0;
    of->stalled_ns = 0;
    for (size_t i =
             lower_bound(stalls->cells, stalls->cell_count, sizeof *stalls->cells, is_cell_before, &number);
         i < stalls->cell_count && !stalls->cells[i].received && stalls->cells[i].edge == number; i++) {
        const struct stalls_cell *cell = &stalls->cells[i];
        int64_t beyond_ns = cell->busy_ns[STALLS_NETWORK] - cell->usual_ns[STALLS_NETWORK];
        if (cell->step < first_step || cell->step > last_step)
            continue;
        of->stalled_ns += beyond_ns > 0 ? beyond_ns : 0;
        steps += cell->steps;
        wait_ns += cell->wait_ns;
        usual_ns += cell->usual_wait_ns;
    }
    of->first_step = first_step;
    of->last_step = last_step;
    of->wait_mean_ns = steps ? (double)wait_ns / (double)steps : -1;
    of->usual_mean_ns = steps ? (double)usual_ns / (double)steps : -1;
}

const char *stalls_verdict_name(enum stalls_verdict verdict)
{
    static const char *const names[] = {"ok",          "unknown",       "no data",
                                        "no credit",   "paused once",   "slow link",
                                        "slow sender", "slow receiver", "not confirmed"};
    return names[verdict];
}
