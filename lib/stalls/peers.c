#include "stalls/peers.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/sort.h"
#include "base/statistics.h"
#include "stalls/episodes.h"

#include <math.h>
#include <stdlib.h>

/*
 * An edge that was slow from the first step on has no better past to stand out from. It is held against the
 * other edges that do the same work: operations of one function, size and tag on communicators of one size.
 */

enum { LEAST_PEERS = 4 };

static int by_work(const void *a, const void *b)
{
    const struct usual_wait *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return (left->wait_ns > right->wait_ns) - (left->wait_ns < right->wait_ns);
}

/* Of the usual waits at one place, sorted: how far the waits of its edges are from the middle one, usually.
 */
static double spread_of_peers(const struct usual_wait *usuals, size_t count, double middle, double *list)
{
    for (size_t i = 0; i < count; i++)
        list[i] = fabs(usuals[i].wait_ns - middle);
    sort_reals(list, count);
    return SIGMA_OF_DISTANCE * list[(count - 1) / 2];
}

/* What is held against an edge that has no better past. */
struct charge {
    double excess_ns; /* per training step */
    double largest_ns;
    double wait_ns; /* where that is: SendWait per network step, its own and the middle one */
    double usual_ns;
};

/* The longest wait at a place among edges that share no end with `of`; those are sorted by wait. */
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
 * Links differ for good reasons, so that it takes more than to stand out from the middle: the edge is
 * `factor` times slower than every edge that shares no end with it.
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

/* An edge that was never any better has no history to stand out from; other edges may have. */
int judge_compare_edges(struct judge *judge)
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
