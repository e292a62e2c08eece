#include "analyse/edges.h"
#include "analyse/place.h"

#include "base/array.h"
#include "base/scale.h"

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

/* Numbers the links of one place; row[] and the owners by row. Returns how many there are. */
static size_t number_links(const struct place_of_edge *list, size_t count, size_t *row, int32_t *senders,
                           int32_t *receivers)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        if (!i || !same_link(&list[i - 1], &list[i])) {
            senders[rows] = list[i].sender;
            receivers[rows++] = list[i].receiver;
        }
        row[i] = rows - 1;
    }
    return rows;
}

static int64_t bytes_of(const struct job *job, const struct edge *edge)
{
    return job->operations[job->instance_members[job->instances[edge->instance].first_member]].bytes;
}

static void fill(struct place *place, const struct edges *edges, const struct job *job,
                 const struct place_of_edge *list, size_t count, const size_t *row, size_t rows, size_t steps)
{
    for (size_t i = 0; i < rows * steps; i++)
        place->value[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        const struct edge *edge = &edges->items[list[i].edge];
        place->value[row[i] * steps + (size_t)edge->step] = edge->busy_ns;
        place->bytes[row[i] * steps + (size_t)edge->step] = bytes_of(job, edge);
    }
}

static void take(struct edges *edges, const struct place *place, const struct place_of_edge *list,
                 size_t count, const size_t *row, const struct baseline *baseline, int64_t limit_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct edge *edge = &edges->items[list[i].edge];
        int64_t excess = place->value[row[i] * (size_t)baseline->step_count + (size_t)edge->step];
        if (edge->step >= baseline->first_step && excess != TIME_UNKNOWN && excess > limit_ns &&
            excess > edge->over_ns)
            edge->over_ns = excess;
    }
}

/* Once with the links of a sender, once with those of a receiver seen as one. */
static int measure(struct edges *edges, const struct job *job, const struct baseline *baseline,
                   const struct place_of_edge *list, size_t count, double sigmas, size_t *row,
                   int32_t *owners)
{
    struct place place = {0};
    int32_t *senders = owners, *receivers = owners + count;
    size_t rows = number_links(list, count, row, senders, receivers);
    int failed = place_init(&place, rows, (size_t)baseline->step_count);
    for (int side = 0; !failed && side < 2; side++) {
        fill(&place, edges, job, list, count, row, rows, (size_t)baseline->step_count);
        int64_t sigma = place_measure_alike(&place, rows, baseline->first_step, baseline->step_count, sigmas,
                                            2, side ? receivers : senders);
        take(edges, &place, list, count, row, baseline, scale(sigma, sigmas));
    }
    place_release(&place);
    return failed;
}

int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas)
{
    struct place_of_edge *list = array_new(edges->count, sizeof *list);
    size_t *row = array_new(edges->count, sizeof *row);
    int32_t *owners = array_new(edges->count * 2, sizeof *owners);
    int failed = !list || !row || !owners;
    size_t count = failed ? 0 : list_places(edges, baseline, list);
    for (size_t i = 0, next; !failed && i < count; i = next) {
        for (next = i;
             next < count && list[next].role == list[i].role && list[next].position == list[i].position;)
            next++;
        failed = measure(edges, job, baseline, list + i, next - i, sigmas, row, owners);
    }
    free(list);
    free(row);
    free(owners);
    return failed ? -1 : 0;
}
