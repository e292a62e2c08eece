/*
 * The verdict on each edge, from its waits alone. The baseline wait of an edge for each kind of operation is
 * learned over the training steps; what exceeds it is summed by training step, and outliers form episodes of
 * consecutive steps (stalls_episodes.c). An edge that was slow from the first step on is compared with other
 * edges that do the same work. Then slow edges of one rank are combined.
 */
#include "base/base.h"
#include "report/stalls.h"

#include <math.h>
#include <stdlib.h>

/*
 * An edge that was slow from the first step on does not stand out from its own history. It is compared with
 * the other edges that do the same work: operations of one function, size and tag on communicators of one
 * size.
 */

enum { LEAST_PEERS = 4 };

static int by_work(const void *a, const void *b)
{
    const struct usual_wait *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return (left->wait_ns > right->wait_ns) - (left->wait_ns < right->wait_ns);
}

/* Robust standard deviation of the baseline waits for one kind of operation, over edges. */
static double spread_of_peers(const struct usual_wait *usuals, size_t count, double middle, double *list)
{
    for (size_t i = 0; i < count; i++)
        list[i] = fabs(usuals[i].wait_ns - middle);
    sort_reals(list, count);
    return SIGMA_OF_DISTANCE * list[(count - 1) / 2];
}

/* The case against an edge without a better past. */
struct charge {
    double excess_ns; /* per training step */
    double largest_ns;
    double wait_ns; /* its SendWait per network step where the excess is largest; then the median of the other
                       edges */
    double usual_ns;
};

/*
 * The longest wait in one kind of operation among edges that share no end with `of`. `usuals` is sorted by
 * wait.
 */
static double longest_elsewhere(const struct judge *judge, const struct usual_wait *usuals, size_t count,
                                const struct usual_wait *of)
{
    const struct stalls_edge *edges = judge->stalls->edges, *mine = &edges[of->edge];
    for (size_t i = count; i-- > 0;) {
        const struct stalls_edge *other = &edges[usuals[i].edge];
        if (other->sender != mine->sender && other->receiver != mine->receiver)
            return usuals[i].wait_ns;
    }
    return INFINITY;
}

/*
 * Links differ for good reasons, so being far from the median is not enough: the edge must be `factor` times
 * slower than every edge that shares no end with it.
 */
static int is_slowest(const struct judge *judge, const struct usual_wait *usuals, size_t count, double sigma,
                      const struct usual_wait *usual)
{
    return usual->wait_ns - usuals[(count - 1) / 2].wait_ns > judge->options->sigmas * sigma &&
           usual->wait_ns >= judge->options->factor * longest_elsewhere(judge, usuals, count, usual);
}

static void compare_place(const struct judge *judge, const struct usual_wait *usuals, size_t count,
                          double *list, struct charge *charges)
{
    const struct usual_wait *middle = &usuals[(count - 1) / 2];
    double sigma = spread_of_peers(usuals, count, middle->wait_ns, list);
    for (size_t i = 0; i < count; i++) {
        struct charge *charge = &charges[usuals[i].edge];
        double excess_ns = usuals[i].busy_ns - middle->busy_ns / middle->operations * usuals[i].operations;
        if (excess_ns <= 0 || !is_slowest(judge, usuals, count, sigma, &usuals[i]))
            continue;
        charge->excess_ns += excess_ns;
        if (excess_ns <= charge->largest_ns)
            continue;
        charge->largest_ns = excess_ns;
        charge->wait_ns = usuals[i].wait_ns;
        charge->usual_ns = middle->wait_ns;
    }
}

static void take_charge(struct judge *judge, size_t number, const struct charge *charge)
{
    struct stalls_edge *edge = &judge->stalls->edges[number];
    if (charge->excess_ns < (double)judge_least_ns(judge, number) ||
        (edge->verdict != STALLS_OK && edge->verdict != STALLS_NO_DATA))
        return;
    edge->verdict = STALLS_SLOW_LINK;
    edge->first_step = judge->stalls->runs[edge->run].first_step;
    edge->last_step = judge->stalls->cells[judge->first[number + 1] - 1].step;
    edge->stalled_ns = scale(judge_steps_seen(judge, number), charge->excess_ns);
    edge->wait_mean_ns = charge->wait_ns;
    edge->usual_mean_ns = charge->usual_ns;
}

/* Compares edges without a better past with those that do the same work. Returns -1 when memory is out. */
static int judge_compare_edges(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    struct charge *charges = array_new(stalls->edge_count + 1, sizeof *charges);
    double *list = array_new(judge->usual_count + 1, sizeof *list);
    int failed = !charges || !list;
    if (!failed)
        array_sort(judge->usuals, judge->usual_count, sizeof *judge->usuals, by_work);
    for (size_t i = 0, next; !failed && i < judge->usual_count; i = next) {
        for (next = i; next < judge->usual_count && judge->usuals[next].place == judge->usuals[i].place;
             next++)
            ;
        if (next - i >= LEAST_PEERS)
            compare_place(judge, &judge->usuals[i], next - i, list, charges);
    }
    for (size_t i = 0; !failed && i < stalls->edge_count; i++)
        take_charge(judge, i, &charges[i]);
    free(charges);
    free(list);
    return failed ? -1 : 0;
}

/*
 * Chooses between a slow link, a slow sender and a slow receiver, by what the other edges of both ends did in
 * the same steps.
 */

static int is_slow(const struct stalls_edge *edge)
{
    return edge->verdict == STALLS_SLOW_LINK || edge->verdict == STALLS_SLOW_SENDER ||
           edge->verdict == STALLS_SLOW_RECEIVER;
}

/*
 * Whether an edge was slow in the same steps as `of`: it has that verdict itself, or most of its training
 * steps are outliers, or each of its network steps waited longer than its baseline by at least half as much
 * as those of `of`. The last condition is for a network card that delays every send by a fixed time, which
 * shows less if sends wait long anyway.
 */
static int is_slow_with(struct judge *judge, size_t number, const struct stalls_edge *of)
{
    const struct stalls_edge *edge = &judge->stalls->edges[number];
    const struct stalls_cell *cells = judge->stalls->cells;
    if (is_slow(edge) && edge->first_step <= of->last_step && edge->last_step >= of->first_step)
        return 1;
    int64_t sigma_ns = judge_spread_ns(judge, number, STALLS_NETWORK), longer_ns = 0, steps = 0;
    int seen = 0, slow = 0;
    for (size_t i = judge->first[number]; i < judge->first[number + 1]; i++)
        if (cells[i].step >= of->first_step && cells[i].step <= of->last_step) {
            seen++;
            slow += judge_stands_out(judge, &cells[i], STALLS_NETWORK, sigma_ns);
            longer_ns += cells[i].wait_ns - cells[i].usual_wait_ns;
            steps += cells[i].steps;
        }
    return seen && (slow * 2 >= seen ||
                    (double)longer_ns * 2 >= (of->wait_mean_ns - of->usual_mean_ns) * (double)steps);
}

static int has_steps_in(const struct judge *judge, size_t number, int32_t first_step, int32_t last_step)
{
    const struct stalls_cell *cells = judge->stalls->cells;
    for (size_t i = judge->first[number]; i < judge->first[number + 1]; i++)
        if (cells[i].step >= first_step && cells[i].step <= last_step)
            return 1;
    return 0;
}

/*
 * Whether all edges of one side are slow and lead to at least two other ends. `edges` has the `count` edges
 * of the side; those with the same other end are adjacent.
 */
static int all_slow(struct judge *judge, const uint32_t *edges, size_t count, int by_sender,
                    const struct stalls_edge *of)
{
    int ends = 0;
    for (size_t i = 0, next; i < count; i = next) {
        int present = 0, slow = 0;
        const struct stalls_edge *first = &judge->stalls->edges[edges[i]];
        int32_t end = by_sender ? first->receiver : first->sender;
        for (next = i; next < count; next++) {
            const struct stalls_edge *edge = &judge->stalls->edges[edges[next]];
            if ((by_sender ? edge->receiver : edge->sender) != end)
                break;
            present |= has_steps_in(judge, edges[next], of->first_step, of->last_step);
            slow = slow || is_slow_with(judge, edges[next], of);
        }
        if (present && !slow)
            return 0;
        ends += present;
    }
    return ends > 1;
}

/* The list of edges sorted by one end, and where the edges of each rank begin. */
struct side {
    uint32_t *edges; /* owned */
    size_t *first;   /* owned: per rank, with one more at the end */
    int by_sender;
};

/* Sorts by one end, then by the other: two passes of counting sort, the second one stable. */
static void count_sort(const struct stalls *stalls, const uint32_t *from, uint32_t *to, size_t *first,
                       int by_sender)
{
    for (size_t i = 0; i <= stalls->member_list_count; i++)
        first[i] = 0;
    for (size_t i = 0; i < stalls->edge_count; i++)
        first[(by_sender ? stalls->edges[i].sender : stalls->edges[i].receiver) + 1]++;
    for (size_t i = 0; i < stalls->member_list_count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < stalls->edge_count; i++) {
        uint32_t edge = from ? from[i] : (uint32_t)i;
        to[first[by_sender ? stalls->edges[edge].sender : stalls->edges[edge].receiver]++] = edge;
    }
    for (size_t i = stalls->member_list_count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static int side_init(struct side *side, const struct stalls *stalls, int by_sender)
{
    uint32_t *half = array_new(stalls->edge_count + 1, sizeof *half);
    *side = (struct side){.edges = array_new(stalls->edge_count + 1, sizeof *side->edges),
                          .first = array_new(stalls->member_list_count + 2, sizeof *side->first),
                          .by_sender = by_sender};
    if (half && side->edges && side->first) {
        count_sort(stalls, NULL, half, side->first, !by_sender);
        count_sort(stalls, half, side->edges, side->first, by_sender);
    }
    int failed = !half || !side->edges || !side->first;
    free(half);
    return failed;
}

static void side_release(struct side *side)
{
    free(side->edges);
    free(side->first);
}

static int all_of_side(struct judge *judge, const struct side *side, const struct stalls_edge *edge)
{
    size_t member = (size_t)(side->by_sender ? edge->sender : edge->receiver);
    return all_slow(judge, side->edges + side->first[member], side->first[member + 1] - side->first[member],
                    side->by_sender, edge);
}

/*
 * For each slow link, blames the end whose every edge is slow; if that holds for both ends or for none, the
 * link. Returns -1 when memory is out.
 */
static int judge_blame_ends(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    struct side out = {0}, in = {0};
    int failed = side_init(&out, stalls, 1) || side_init(&in, stalls, 0);
    for (size_t i = 0; !failed && i < stalls->edge_count; i++) {
        struct stalls_edge *edge = &stalls->edges[i];
        if (!is_slow(edge))
            continue;
        int sender = all_of_side(judge, &out, edge), receiver = all_of_side(judge, &in, edge);
        edge->verdict = sender == receiver ? STALLS_SLOW_LINK
                        : sender           ? STALLS_SLOW_SENDER
                                           : STALLS_SLOW_RECEIVER;
    }
    side_release(&out);
    side_release(&in);
    return failed;
}

/* Edges against their own history. */

/* A single slow step in which nothing arrived for at least half of the time. */
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
    /* The network's share counts first; whether the GPU was late as well is left to diagnose. */
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

const char *stalls_verdict_name(enum stalls_verdict verdict)
{
    static const char *const names[] = {"ok",          "unknown",       "no data",
                                        "no credit",   "paused once",   "slow link",
                                        "slow sender", "slow receiver", "not confirmed"};
    return names[verdict];
}
