/*
 * Builds the edges (sender, receiver) of each instance from network steps, and measures how long each waited
 * for the network and how far that is above its baseline.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Links whose network was busy for longer than that of other links at the same place, or than in their own
 * other steps. Unlike the duration of the operation this identifies the link, and it needs no kernel times.
 */

struct place_of_edge {
    int32_t role; /* of the sender */
    int32_t position;
    int32_t communicator;
    int32_t sender;
    int32_t receiver;
    size_t edge;
};

static int busy_time_by_place(const void *a, const void *b)
{
    const struct place_of_edge *left = a, *right = b;
    int order = compare_integers(left->role, right->role);
    order = order ? order : compare_integers(left->position, right->position);
    order = order ? order : compare_integers(left->communicator, right->communicator);
    order = order ? order : compare_integers(left->sender, right->sender);
    return order ? order : compare_integers(left->receiver, right->receiver);
}

static int same_link(const struct place_of_edge *a, const struct place_of_edge *b)
{
    return a->communicator == b->communicator && a->sender == b->sender && a->receiver == b->receiver;
}

/* Lists the edges with a known place in the step, sorted. Returns their number. */
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
    array_sort(list, count, sizeof *list, busy_time_by_place);
    return count;
}

/* The number of entries of a sorted list at the place of the first. */
static size_t count_of_place(const struct place_of_edge *list, size_t count)
{
    size_t same = 1;
    while (same < count && list[same].role == list->role && list[same].position == list->position)
        same++;
    return same;
}

/* The edges of one place of the step and their links. Each link is a row of struct place. */
struct links {
    struct edges *edges;
    const struct job *job;
    const struct baseline *baseline;
    const struct place_of_edge *list;
    size_t count;
    size_t *row; /* of each list entry */
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

/*
 * Links that are slower by design or load differ by less than this factor. They are compared only with their
 * own past.
 */
static const double TIMES_OTHERS = 2;

/* Measures twice: once with all links of a sender treated as one owner, once with those of a receiver. */
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

static int same_edge(const struct edge *edge, const struct job *job, const struct job_traffic *traffic)
{
    return edge->instance == job->operations[traffic->operation].instance &&
           edge->sender == traffic->sender && edge->receiver == traffic->receiver;
}

/* Sums the channels of each edge. Traffic is sorted by operation. */
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
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
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

/* The baseline wait per network step of a place is that of its quiet training steps. */
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
        int64_t usual = baseline_quantile(list, count);
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
 * How long a member was present at most; INT64_MAX where its kernel does not record it. If the end of the
 * kernel is not the real end, until the next operation of its stream began.
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
 * How long the receiver waited for each edge, on its busiest channel; INT64_MAX where it recorded nothing. A
 * slow network keeps both sides waiting.
 */
static int64_t *measure_receiver_waits(const struct edges *edges, const struct job *job)
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
 * A sender's wait before the receiver arrives is not caused by the link. So busy_ns is at most the time for
 * which the receiver was present or, without kernel times, for which it waited for data.
 */
static int limit_to_receiver_presence(struct edges *edges, const struct job *job)
{
    int64_t *presence = array_new(job->rank_count, sizeof *presence), *next = job_next_starts(job);
    int64_t *heard = measure_receiver_waits(edges, job);
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
        index_instances(edges, job) || limit_to_receiver_presence(edges, job) ||
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

static int by_link_and_step(const void *a, const void *b)
{
    const struct slow_step *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->sender, right->sender}, {left->receiver, right->receiver}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

int edges_slow_steps(const struct edges *edges, struct slow_step **slow, size_t *count)
{
    struct slow_step *list = *slow = array_new(edges->count + 1, sizeof *list);
    size_t found = 0;
    *count = 0;
    if (!list)
        return -1;
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge *edge = &edges->items[i];
        if (edge->over_ns > 0 && edge->step >= 0)
            list[found++] = (struct slow_step){edge->sender, edge->receiver, edge->step, edge->over_ns};
    }
    array_sort(list, found, sizeof *list, by_link_and_step);
    for (size_t i = 0; i < found; i++)
        if (*count && !by_link_and_step(&list[*count - 1], &list[i]))
            list[*count - 1].over_ns += list[i].over_ns;
        else
            list[(*count)++] = list[i];
    return 0;
}
