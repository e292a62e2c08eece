#include "stalls/slow_end.h"

#include "base/array.h"
#include "stalls/episodes.h"

#include <stdlib.h>

/* A slow link, a slow sender or a slow receiver: by what the other edges of its two ends did meanwhile. */

static int is_slow(const struct stalls_edge *edge)
{
    return edge->verdict == STALLS_SLOW_LINK || edge->verdict == STALLS_SLOW_SENDER ||
           edge->verdict == STALLS_SLOW_RECEIVER;
}

/*
 * Was the edge slow while `of` was? It has that verdict itself, or most of its training steps stand out,
 * worth a verdict or not, or each of its network steps waited at least half as much longer as those of `of`:
 * a card that is late by so much a send shows less where sends wait long anyway.
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
 * Are all edges of one side slow, and are there two or more ends? `edges` holds the numbers of that side's,
 * `count` of them, those with the same other end together.
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

/* Where the edges of one end begin and stop in a list of edges that is sorted by it. */
struct side {
    uint32_t *edges; /* owned */
    size_t *first;   /* owned; per seat, and one past the end */
    int by_sender;
};

/* By one end, then by the other: two passes of counting, the second one stable. */
static void count_sort(const struct stalls *stalls, const uint32_t *from, uint32_t *to, size_t *first,
                       int by_sender)
{
    for (size_t i = 0; i <= stalls->seat_count; i++)
        first[i] = 0;
    for (size_t i = 0; i < stalls->edge_count; i++)
        first[(by_sender ? stalls->edges[i].sender : stalls->edges[i].receiver) + 1]++;
    for (size_t i = 0; i < stalls->seat_count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < stalls->edge_count; i++) {
        uint32_t edge = from ? from[i] : (uint32_t)i;
        to[first[by_sender ? stalls->edges[edge].sender : stalls->edges[edge].receiver]++] = edge;
    }
    for (size_t i = stalls->seat_count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static int side_init(struct side *side, const struct stalls *stalls, int by_sender)
{
    uint32_t *half = array_new(stalls->edge_count + 1, sizeof *half);
    *side = (struct side){.edges = array_new(stalls->edge_count + 1, sizeof *side->edges),
                          .first = array_new(stalls->seat_count + 2, sizeof *side->first),
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
    size_t seat = (size_t)(side->by_sender ? edge->sender : edge->receiver);
    return all_slow(judge, side->edges + side->first[seat], side->first[seat + 1] - side->first[seat],
                    side->by_sender, edge);
}

/* A link, or one of its ends: the end whose every edge is slow. Where that holds for both ends, neither. */
int judge_blame_ends(struct judge *judge)
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
