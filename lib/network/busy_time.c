#include "network/busy_time.h"

#include "base/array.h"
#include "base/scale.h"
#include "baseline/place.h"

#include <stdlib.h>

/*
 * Links whose network was busy for longer than at other links of their place, or than in their own other
 * steps. Unlike the duration of the operation this says which link it was, and needs no kernel times.
 */

struct place_of_edge {
    int32_t role; /* of the sender */
    int32_t position;
    int32_t communicator;
    int32_t sender;
    int32_t receiver;
    size_t edge;
};

static int compare(int32_t a, int32_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
    const struct place_of_edge *left = a, *right = b;
    int order = compare(left->role, right->role);
    order = order ? order : compare(left->position, right->position);
    order = order ? order : compare(left->communicator, right->communicator);
    order = order ? order : compare(left->sender, right->sender);
    return order ? order : compare(left->receiver, right->receiver);
}

static int same_link(const struct place_of_edge *a, const struct place_of_edge *b)
{
    return a->communicator == b->communicator && a->sender == b->sender && a->receiver == b->receiver;
}

/* Those whose place in the step is known, sorted; returns how many. */
static size_t list_places(const struct edges *edges, const struct baseline *baseline,
                          struct place_of_edge *list)
{
    size_t count = 0;
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge *edge = &edges->items[i];
        int32_t role = baseline->role_of_rank[edge->sender];
        if (role >= 0 && edge->position >= 0 && edge->step >= 0)
            list[count++] = (struct place_of_edge){role,         edge->position, edge->communicator,
                                                   edge->sender, edge->receiver, i};
    }
    array_sort(list, count, sizeof *list, by_place);
    return count;
}

/* How many of a sorted list are at the place of the first. */
static size_t count_of_place(const struct place_of_edge *list, size_t count)
{
    size_t same = 1;
    while (same < count && list[same].role == list->role && list[same].position == list->position)
        same++;
    return same;
}

/* The edges of one place of the step, and the links that they are of: a row each of struct place. */
struct links {
    struct edges *edges;
    const struct job *job;
    const struct baseline *baseline;
    const struct place_of_edge *list;
    size_t count;
    size_t *row; /* of each of the list */
    size_t rows;
    int32_t *senders; /* of each row */
    int32_t *receivers;
};

static void number_links(struct links *links)
{
    links->rows = 0;
    for (size_t i = 0; i < links->count; i++) {
        if (!i || !same_link(&links->list[i - 1], &links->list[i])) {
            links->senders[links->rows] = links->list[i].sender;
            links->receivers[links->rows++] = links->list[i].receiver;
        }
        links->row[i] = links->rows - 1;
    }
}

static int64_t bytes_of(const struct job *job, const struct edge *edge)
{
    return job->operations[job->instance_members[job->instances[edge->instance].first_member]].bytes;
}

static void fill(struct place *place, const struct links *links)
{
    size_t steps = (size_t)links->baseline->step_count;
    for (size_t i = 0; i < links->rows * steps; i++)
        place->value[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < links->count; i++) {
        const struct edge *edge = &links->edges->items[links->list[i].edge];
        place->value[links->row[i] * steps + (size_t)edge->step] = edge->busy_ns;
        place->bytes[links->row[i] * steps + (size_t)edge->step] = bytes_of(links->job, edge);
    }
}

static void take(const struct links *links, const struct place *place, int64_t limit_ns)
{
    size_t steps = (size_t)links->baseline->step_count;
    for (size_t i = 0; i < links->count; i++) {
        struct edge *edge = &links->edges->items[links->list[i].edge];
        int64_t excess = place->value[links->row[i] * steps + (size_t)edge->step];
        if (edge->step >= links->baseline->first_step && excess != TIME_UNKNOWN && excess > limit_ns &&
            excess > edge->over_ns)
            edge->over_ns = excess;
    }
}

/* Links that are slow by design, or by load, differ by less: those are held against their own past. */
static const double TIMES_OTHERS = 2;

/* Once with the links of a sender, once with those of a receiver seen as one. */
static int measure(struct links *links, double sigmas)
{
    struct place place = {0};
    number_links(links);
    int32_t first_step = links->baseline->first_step, steps = links->baseline->step_count;
    int failed = place_init(&place, links->rows, (size_t)steps);
    for (int side = 0; !failed && side < 2; side++) {
        fill(&place, links);
        int64_t sigma = place_measure_alike(&place, links->rows, first_step, steps, sigmas, TIMES_OTHERS,
                                            side ? links->receivers : links->senders);
        take(links, &place, scale(sigma, sigmas));
    }
    place_release(&place);
    return failed;
}

int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas)
{
    struct place_of_edge *list = array_new(edges->count, sizeof *list);
    struct links links = {.edges = edges,
                          .job = job,
                          .baseline = baseline,
                          .row = array_new(edges->count, sizeof *links.row),
                          .senders = array_new(edges->count, sizeof *links.senders),
                          .receivers = array_new(edges->count, sizeof *links.receivers)};
    int failed = !list || !links.row || !links.senders || !links.receivers;
    size_t count = failed ? 0 : list_places(edges, baseline, list);
    for (size_t i = 0; !failed && i < count; i += links.count) {
        links.list = list + i;
        links.count = count_of_place(links.list, count - i);
        failed = measure(&links, sigmas);
    }
    free(list);
    free(links.row);
    free(links.senders);
    free(links.receivers);
    return failed ? -1 : 0;
}
