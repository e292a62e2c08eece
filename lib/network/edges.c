#include "network/edges.h"

#include "base/array.h"
#include "base/lower_bound.h"
#include "base/statistics.h"
#include "network/busy_time.h"

#include <stdlib.h>

static int same_edge(const struct edge *edge, const struct job *job, const struct job_traffic *traffic)
{
    return edge->instance == job->operations[traffic->operation].instance &&
           edge->sender == traffic->sender && edge->receiver == traffic->receiver;
}

/* Sums the channels: traffic comes operation by operation. */
static int collect(struct edges *edges, const struct job *job, const int32_t *positions)
{
    edges->items = array_new(job->traffic_count, sizeof *edges->items);
    if (!edges->items)
        return -1;
    size_t first_of_operation = 0;
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        const struct job_operation *operation = &job->operations[traffic->operation];
        if (i && job->traffic[i - 1].operation != traffic->operation)
            first_of_operation = edges->count;
        if (traffic->by_receiver || !traffic->steps || traffic->receiver < 0)
            continue;
        size_t at = first_of_operation;
        while (at < edges->count && !same_edge(&edges->items[at], job, traffic))
            at++;
        if (at == edges->count)
            edges->items[edges->count++] = (struct edge){.instance = operation->instance,
                                                         .sender = traffic->sender,
                                                         .receiver = traffic->receiver,
                                                         .communicator = operation->communicator,
                                                         .position = positions[traffic->operation],
                                                         .step = operation->step};
        struct edge *edge = &edges->items[at];
        edge->steps += traffic->steps;
        edge->wait_ns += traffic->network_wait_ns;
        edge->busy_ns = traffic->busy_ns > edge->busy_ns ? traffic->busy_ns : edge->busy_ns;
        if (traffic->network_wait_max_ns > edge->wait_max_ns)
            edge->wait_max_ns = traffic->network_wait_max_ns;
    }
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    const int32_t keys[][2] = {{left->communicator, right->communicator},
                               {left->sender, right->sender},
                               {left->receiver, right->receiver},
                               {left->position, right->position},
                               {left->step, right->step},
                               {left->instance, right->instance}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int by_instance(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->instance != right->instance)
        return left->instance < right->instance ? -1 : 1;
    return by_place(a, b);
}

static int same_place(const struct edge *a, const struct edge *b)
{
    return a->communicator == b->communicator && a->sender == b->sender && a->receiver == b->receiver &&
           a->position == b->position;
}

/* The usual wait per network step of a place is that of its quiet training steps. */
static int measure_extra(struct edges *edges, int32_t first_step)
{
    int64_t *list = array_new(edges->count, sizeof *list);
    if (!list)
        return -1;
    array_sort(edges->items, edges->count, sizeof *edges->items, by_place);
    for (size_t i = 0, next; i < edges->count; i = next) {
        size_t count = 0;
        for (next = i; next < edges->count && same_place(&edges->items[i], &edges->items[next]); next++)
            if (edges->items[next].step >= first_step)
                list[count++] = edges->items[next].wait_ns / edges->items[next].steps;
        int64_t usual = quiet_of(list, count);
        for (size_t j = i; j < next; j++)
            edges->items[j].extra_ns = count ? edges->items[j].wait_ns - usual * edges->items[j].steps : 0;
    }
    free(list);
    return 0;
}

static int index_instances(struct edges *edges, const struct job *job)
{
    edges->first = array_new(job->instance_count + 1, sizeof *edges->first);
    if (!edges->first)
        return -1;
    array_sort(edges->items, edges->count, sizeof *edges->items, by_instance);
    size_t at = 0;
    for (size_t i = 0; i <= job->instance_count; i++) {
        while (at < edges->count && edges->items[at].instance < (int32_t)i)
            at++;
        edges->first[i] = at;
    }
    return 0;
}

/*
 * How long a member was there, at most; INT64_MAX where its kernel does not say. Where that does not say all,
 * until the next of its stream began.
 */
static int64_t presence_of(const struct job_operation *member, int64_t next_ns)
{
    if (member->start_ns == TIME_UNKNOWN || member->end_ns == TIME_UNKNOWN || member->ends != ENDS_BY_KERNEL)
        return INT64_MAX;
    int64_t end_ns = job_left_ns(member, next_ns);
    return end_ns != TIME_UNKNOWN && end_ns > member->start_ns ? end_ns - member->start_ns : INT64_MAX;
}

static int is_edge_before(const void *edge, const void *wanted)
{
    const struct edge *left = edge, *right = wanted;
    return left->sender < right->sender ||
           (left->sender == right->sender && left->receiver < right->receiver);
}

static struct edge *find_edge(const struct edges *edges, int32_t instance, int32_t sender, int32_t receiver)
{
    const struct edge wanted = {.sender = sender, .receiver = receiver};
    struct edge *first = &edges->items[edges->first[instance]];
    size_t count = edges->first[instance + 1] - edges->first[instance];
    size_t at = lower_bound(first, count, sizeof *first, is_edge_before, &wanted);
    return at < count && first[at].sender == sender && first[at].receiver == receiver ? &first[at] : NULL;
}

/*
 * How long the receiver's side waited for each edge, on its busiest channel; INT64_MAX where it recorded
 * nothing. A slow network keeps both sides waiting.
 */
static int64_t *listen_to_receivers(const struct edges *edges, const struct job *job)
{
    int64_t *heard = array_new(edges->count, sizeof *heard);
    for (size_t i = 0; heard && i < edges->count; i++)
        heard[i] = INT64_MAX;
    for (size_t i = 0; heard && i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        if (!traffic->by_receiver || !traffic->steps || traffic->sender < 0)
            continue;
        const struct edge *edge = find_edge(edges, job->operations[traffic->operation].instance,
                                            traffic->sender, traffic->receiver);
        int64_t *here = edge ? &heard[edge - edges->items] : NULL;
        if (here && (*here == INT64_MAX || traffic->busy_ns > *here))
            *here = traffic->busy_ns;
    }
    return heard;
}

/*
 * What a sender waited before the receiver came is no fault of the link: it is busy for as long as that was
 * there, or, where no kernel says, waited for data itself.
 */
static int leave_out_absence(struct edges *edges, const struct job *job)
{
    int64_t *presence = array_new(job->rank_count, sizeof *presence), *next = job_next_starts(job);
    int64_t *heard = listen_to_receivers(edges, job);
    int failed = !presence || !next || !heard;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        presence[i] = INT64_MAX;
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        const int32_t *members = job->instance_members + instance->first_member;
        if (edges->first[i] == edges->first[i + 1])
            continue;
        for (int32_t j = 0; j < instance->members; j++)
            presence[job->operations[members[j]].rank] =
                presence_of(&job->operations[members[j]], next[members[j]]);
        for (size_t j = edges->first[i]; j < edges->first[i + 1]; j++) {
            int64_t there = presence[edges->items[j].receiver];
            there = there == INT64_MAX ? heard[j] : there;
            if (edges->items[j].busy_ns > there)
                edges->items[j].busy_ns = there;
        }
        for (int32_t j = 0; j < instance->members; j++)
            presence[job->operations[members[j]].rank] = INT64_MAX;
    }
    free(presence);
    free(next);
    free(heard);
    return failed;
}

int edges_init(struct edges *edges, const struct job *job, const struct baseline *baseline, double sigmas,
               struct error *error)
{
    *edges = (struct edges){0};
    if (collect(edges, job, baseline->positions) || measure_extra(edges, baseline->first_step) ||
        index_instances(edges, job) || leave_out_absence(edges, job) ||
        edges_measure_busy(edges, job, baseline, sigmas)) {
        edges_release(edges);
        return error_no_memory(error);
    }
    return 0;
}

void edges_release(struct edges *edges)
{
    free(edges->items);
    free(edges->first);
    *edges = (struct edges){0};
}
