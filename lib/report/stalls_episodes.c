/*
 * Judges edges against their own history: the baseline wait of each edge and kind of operation, then episodes
 * of consecutive training steps that exceed it and that chance does not explain.
 */
#include "base/base.h"
#include "report/stalls.h"

#include <math.h>
#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {{left->received, right->received},
                               {left->edge, right->edge},
                               {left->place, right->place},
                               {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

static int by_step(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->received, right->received}, {left->edge, right->edge}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

/* The run that a cell's edge belongs to. */
static const struct stalls_run *judge_run(const struct judge *judge, const struct stalls_cell *cell)
{
    return &judge->stalls->runs[judge->stalls->edges[cell->edge].run];
}

/*
 * The baseline of a wait is its lower quartile over training steps, because a fault may last for most of
 * them. Waiting for the GPU is different: it is short when the host is late, so the median is used.
 */
static double part_of(enum stalls_wait wait)
{
    return wait == STALLS_GPU ? 0.5 : 0.25;
}

static int add_usual(struct judge *judge, const struct stalls_cell *cells, size_t count, int32_t first_step)
{
    size_t seen = 0;
    double operations = 0, busy_ns = 0;
    if (array_reserve((void **)&judge->usuals, &judge->usual_capacity, judge->usual_count + 1,
                      sizeof *judge->usuals))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (cells[i].step >= first_step && cells[i].steps) {
            judge->list[seen++] = cells[i].wait_ns / cells[i].steps;
            operations += (double)cells[i].operations;
            busy_ns += (double)cells[i].busy_ns[STALLS_NETWORK];
        }
    if (seen >= LEAST_STEPS)
        judge->usuals[judge->usual_count++] =
            (struct usual_wait){.edge = cells->edge,
                                .place = cells->place,
                                .wait_ns = (double)median_of(judge->list, seen),
                                .busy_ns = busy_ns / (double)seen,
                                .operations = operations / (double)seen};
    return 0;
}

/* Fills in the baseline of the cells of one edge and kind of operation, which are sorted by training step. */
static int learn_usual(struct judge *judge, struct stalls_cell *cells, size_t count)
{
    int32_t first_step = judge_run(judge, cells)->first_step;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        size_t seen = 0;
        for (size_t i = 0; i < count; i++)
            if (cells[i].step >= first_step && cells[i].operations)
                judge->list[seen++] = cells[i].busy_ns[wait] / cells[i].operations;
        int64_t usual = seen ? quantile_of(judge->list, seen, part_of((enum stalls_wait)wait)) : 0;
        for (size_t i = 0; i < count; i++)
            cells[i].usual_ns[wait] = usual * cells[i].operations;
    }
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i].step >= first_step && cells[i].steps)
            judge->list[seen++] = cells[i].wait_ns / cells[i].steps;
    int64_t usual = seen ? quantile_of(judge->list, seen, 0.25) : 0;
    for (size_t i = 0; i < count; i++)
        cells[i].usual_wait_ns = usual * cells[i].steps;
    return cells->received ? 0 : add_usual(judge, cells, count, first_step);
}

static int learn(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_place);
    for (size_t i = 0, next; i < stalls->cell_count; i = next) {
        const struct stalls_cell *cell = &stalls->cells[i];
        for (next = i;
             next < stalls->cell_count && stalls->cells[next].edge == cell->edge &&
             stalls->cells[next].place == cell->place && stalls->cells[next].received == cell->received;
             next++)
            ;
        if (learn_usual(judge, &stalls->cells[i], next - i))
            return -1;
    }
    return 0;
}

static void add_cell(struct stalls_cell *to, const struct stalls_cell *from)
{
    to->operations += from->operations;
    to->steps += from->steps;
    to->wait_ns += from->wait_ns;
    to->usual_wait_ns += from->usual_wait_ns;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        to->busy_ns[wait] += from->busy_ns[wait];
        to->usual_ns[wait] += from->usual_ns[wait];
    }
    if (from->standstill_ns > to->standstill_ns)
        to->standstill_ns = from->standstill_ns;
}

/*
 * Merges cells over kinds of operation: one cell per edge and training step remains. The cells of an edge
 * stay adjacent.
 */
static void merge_places(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    size_t kept = 0;
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_step);
    for (size_t i = 0; i < stalls->cell_count; i++)
        if (kept && !by_step(&stalls->cells[kept - 1], &stalls->cells[i]))
            add_cell(&stalls->cells[kept - 1], &stalls->cells[i]);
        else
            stalls->cells[kept++] = stalls->cells[i];
    stalls->cell_count = kept;
    size_t at = 0;
    for (size_t edge = 0; edge <= stalls->edge_count; edge++) {
        while (at < kept && !stalls->cells[at].received && stalls->cells[at].edge < (int32_t)edge)
            at++;
        judge->first[edge] = at;
    }
}

int judge_learn_usual(struct judge *judge)
{
    if (learn(judge))
        return -1;
    merge_places(judge);
    return 0;
}

/* Most false episodes that are expected by chance; diagnose has the same limit. */
static const double CHANCE = 0.05;

static int64_t beyond(const struct stalls_cell *cell, enum stalls_wait wait)
{
    return cell->busy_ns[wait] - cell->usual_ns[wait];
}

enum { ANY_COMMUNICATOR = -2 };

static struct map_key inbound_key(const struct stalls_cell *cell, int32_t member, int32_t communicator)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)cell->step, (uint64_t)(int64_t)communicator}};
}

static int note_late(struct judge *judge, struct map_key key, int64_t late_ns)
{
    int64_t *known = map_put(&judge->inbound, key, late_ns, NULL);
    if (known && late_ns > *known)
        *known = late_ns;
    return known ? 0 : -1;
}

static int note_inbound(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    for (size_t i = judge->first[stalls->edge_count]; i < stalls->cell_count; i++) {
        const struct stalls_cell *cell = &stalls->cells[i];
        const struct stalls_edge *edge = &stalls->edges[cell->edge];
        int64_t late_ns = beyond(cell, STALLS_NETWORK);
        if (note_late(judge, inbound_key(cell, edge->receiver, edge->communicator), late_ns) ||
            note_late(judge, inbound_key(cell, edge->receiver, ANY_COMMUNICATOR), late_ns))
            return -1;
    }
    return 0;
}

/*
 * A GPU without data to send is the fault of its rank only if nothing that the rank received in the meantime
 * was late too; otherwise the rank passed on a delay that it waited for. Data that it receives other than
 * over a network is not in the trace. A rank that receives nothing in this communicator is not judged.
 */
static int is_own_lateness(const struct judge *judge, const struct stalls_cell *cell)
{
    const struct stalls_edge *edge = &judge->stalls->edges[cell->edge];
    const int64_t *here = map_get(&judge->inbound, inbound_key(cell, edge->sender, edge->communicator));
    const int64_t *anywhere = map_get(&judge->inbound, inbound_key(cell, edge->sender, ANY_COMMUNICATOR));
    return here && anywhere && *anywhere * 2 < beyond(cell, STALLS_GPU);
}

/* A receiver that gives no credit is not at fault while it waits for data that others send to it. */
static int is_receivers_own(const struct judge *judge, const struct stalls_cell *cell)
{
    const struct stalls_edge *edge = &judge->stalls->edges[cell->edge];
    const int64_t *anywhere = map_get(&judge->inbound, inbound_key(cell, edge->receiver, ANY_COMMUNICATOR));
    return anywhere && *anywhere * 2 < beyond(cell, STALLS_PEER);
}

static int is_long_enough(const struct judge *judge, const struct stalls_cell *cell, enum stalls_wait wait)
{
    double factor = judge->options->factor;
    if (wait == STALLS_NETWORK)
        return (double)cell->wait_ns >= factor * (double)cell->usual_wait_ns;
    if (wait == STALLS_PEER)
        return (double)cell->busy_ns[wait] >= factor * (double)cell->usual_ns[wait] &&
               is_receivers_own(judge, cell);
    return is_own_lateness(judge, cell);
}

int judge_stands_out(const struct judge *judge, const struct stalls_cell *cell, enum stalls_wait wait,
                     int64_t sigma_ns)
{
    int64_t excess_ns = beyond(cell, wait);
    return cell->step >= judge_run(judge, cell)->first_step && excess_ns > 0 &&
           (double)excess_ns > judge->options->sigmas * (double)sigma_ns && is_long_enough(judge, cell, wait);
}

int64_t judge_spread_ns(struct judge *judge, size_t edge, enum stalls_wait wait)
{
    const struct stalls_cell *cells = judge->stalls->cells;
    size_t count = 0;
    for (size_t i = judge->first[edge]; i < judge->first[edge + 1]; i++)
        if (cells[i].step >= judge_run(judge, &cells[i])->first_step)
            judge->list[count++] = beyond(&cells[i], wait);
    if (!count)
        return 0;
    int64_t middle = median_of(judge->list, count);
    return sigma_about(judge->list, count, middle);
}

static int add_episode(struct judge *judge, struct episode episode)
{
    if (array_reserve((void **)&judge->episodes, &judge->episode_capacity, judge->episode_count + 1,
                      sizeof *judge->episodes))
        return -1;
    judge->episodes[judge->episode_count++] = episode;
    return 0;
}

/*
 * Extends an episode from the cell at `at` over consecutive steps, all of them outliers. Returns the index
 * after the last one.
 */
static size_t follow(const struct judge *judge, size_t edge, size_t at, enum stalls_wait wait,
                     int64_t sigma_ns, int64_t least_ns, struct episode *episode)
{
    const struct stalls_cell *cells = judge->stalls->cells;
    int64_t wait_ns = 0, usual_ns = 0, steps = 0;
    *episode = (struct episode){
        .edge = (int32_t)edge, .wait = wait, .first_step = cells[at].step, .weakest_ns = INT64_MAX};
    size_t i = at;
    for (; i < judge->first[edge + 1] && cells[i].step - cells[at].step == (int32_t)(i - at); i++) {
        int64_t excess_ns = beyond(&cells[i], wait);
        if (!judge_stands_out(judge, &cells[i], wait, sigma_ns) || excess_ns < least_ns)
            break;
        episode->last_step = cells[i].step;
        episode->total_ns += excess_ns;
        if (excess_ns < episode->weakest_ns)
            episode->weakest_ns = excess_ns;
        if (cells[i].standstill_ns > episode->standstill_ns)
            episode->standstill_ns = cells[i].standstill_ns;
        wait_ns += cells[i].wait_ns;
        usual_ns += cells[i].usual_wait_ns;
        steps += cells[i].steps;
    }
    episode->wait_mean_ns = steps ? (double)wait_ns / (double)steps : -1;
    episode->usual_mean_ns = steps ? (double)usual_ns / (double)steps : -1;
    return i;
}

int64_t judge_least_ns(const struct judge *judge, size_t edge)
{
    const struct stalls_run *run = &judge->stalls->runs[judge->stalls->edges[edge].run];
    int64_t least = scale(run->median_step_ns, judge->options->min_stall);
    return least > 0 ? least : 1;
}

static int find_episodes(struct judge *judge, enum stalls_wait wait)
{
    struct stalls *stalls = judge->stalls;
    for (size_t edge = 0; edge < stalls->edge_count; edge++) {
        int64_t sigma_ns = judge_spread_ns(judge, edge, wait), least_ns = judge_least_ns(judge, edge);
        for (size_t i = judge->first[edge]; i < judge->first[edge + 1]; i++) {
            struct episode episode;
            size_t end = follow(judge, edge, i, wait, sigma_ns, least_ns, &episode);
            if (end == i)
                continue;
            if (add_episode(judge, episode))
                return -1;
            i = end - 1;
        }
    }
    return 0;
}

static int is_less(const void *value, const void *than)
{
    return *(const int64_t *)value < *(const int64_t *)than;
}

static size_t at_least(const int64_t *sorted, size_t count, int64_t value)
{
    return count - lower_bound(sorted, count, sizeof *sorted, is_less, &value);
}

/*
 * The expected number of such episodes by chance. Lone outliers show how often an outlier occurs by chance;
 * several in a row occur with that frequency to the power of their number. The tail of lone outliers is taken
 * to fall in inverse proportion to the size.
 */
static double chance_of(const struct episode *episode, const int64_t *lonely, size_t count, double cells,
                        int64_t least_ns)
{
    int length = episode->last_step - episode->first_step + 1;
    size_t others = at_least(lonely, count, episode->weakest_ns);
    if (length > 1)
        return cells * pow((double)(others + 1) / cells, length);
    return (double)(count ? count : 1) * (double)least_ns / (double)episode->weakest_ns;
}

/* Removes, from `first` on, the episodes that chance explains. */
static int keep_significant(struct judge *judge, size_t first)
{
    int64_t *lonely = array_new(judge->episode_count - first + 1, sizeof *lonely);
    if (!lonely)
        return -1;
    size_t count = 0, kept = first;
    for (size_t i = first; i < judge->episode_count; i++)
        if (judge->episodes[i].first_step == judge->episodes[i].last_step)
            lonely[count++] = judge->episodes[i].weakest_ns;
    sort_integers(lonely, count);
    for (size_t i = first; i < judge->episode_count; i++) {
        const struct episode *episode = &judge->episodes[i];
        int64_t least_ns = judge_least_ns(judge, (size_t)episode->edge);
        if (chance_of(episode, lonely, count, (double)judge->first[judge->stalls->edge_count], least_ns) <=
            CHANCE)
            judge->episodes[kept++] = *episode;
    }
    judge->episode_count = kept;
    free(lonely);
    return 0;
}

int32_t judge_steps_seen(const struct judge *judge, size_t edge)
{
    const struct stalls_cell *cells = judge->stalls->cells;
    int32_t count = 0;
    for (size_t i = judge->first[edge]; i < judge->first[edge + 1]; i++)
        count += cells[i].step >= judge_run(judge, &cells[i])->first_step;
    return count;
}

int judge_find_episodes(struct judge *judge)
{
    if (note_inbound(judge))
        return -1;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        size_t first = judge->episode_count;
        if (find_episodes(judge, (enum stalls_wait)wait) || keep_significant(judge, first))
            return -1;
    }
    return 0;
}
