/*
 * Builds the graph of which rank waits for which (internal.h), from the state of each rank's oldest open
 * call. waited_for.c, stuck_sender.c and divergence.c read it.
 */
#include "base/base.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/* At most this many calls of one launch are examined; no program launches more at once. */
enum { LAUNCHED_MOST = 1024 };

/*
 * Limit of stored waits: as many as 256 calls of 16,384 ranks have, while the ranks of a real job wait in a
 * few calls.
 */
enum { WAITS_MOST = 1 << 22 };

static const int64_t ALWAYS_SURE = INT64_MIN, NEVER_SURE = INT64_MAX;

static int is_sure_at(const struct job *job, int32_t operation, int64_t sure_from_ns)
{
    int64_t called_ns = job->operations[operation].enqueued_ns;
    if (sure_from_ns == ALWAYS_SURE || sure_from_ns == NEVER_SURE)
        return sure_from_ns == ALWAYS_SURE;
    return called_ns == TIME_UNKNOWN || called_ns >= sure_from_ns;
}

int32_t wait_operation(const struct wait_graph *graph, const struct wait *wait, int32_t from)
{
    return wait->operation >= 0 ? wait->operation : graph->waiters[from].operation;
}

int wait_is_sure(const struct wait_graph *graph, const struct wait *wait, int32_t from)
{
    return is_sure_at(graph->job, wait_operation(graph, wait, from), wait->sure_from_ns);
}

static struct map_key call_key(const struct job *job, int32_t operation)
{
    return (struct map_key){
        {(uint64_t)job->operations[operation].communicator, (uint64_t)job->calls[operation].number}};
}

static struct map_key party_key(int32_t call, int32_t instance)
{
    return (struct map_key){{(uint64_t)call, (uint64_t)instance}};
}

const struct wait_party *wait_party_of(const struct wait_graph *graph, int32_t call, int32_t instance)
{
    const int64_t *at = map_get(&graph->party_of, party_key(call, instance));
    return at ? &graph->parties[*at] : NULL;
}

static int add_wait(struct wait_graph *graph, struct wait_call *call, struct wait wait)
{
    if (graph->wait_count == WAITS_MOST) {
        graph->is_cut = 1;
        return 0;
    }
    if (array_reserve((void **)&graph->waits, &graph->wait_capacity, graph->wait_count + 1,
                      sizeof *graph->waits))
        return -1;
    graph->waits[graph->wait_count++] = wait;
    call->count++;
    if (wait.sure_from_ns < call->sure_from_ns)
        call->sure_from_ns = wait.sure_from_ns;
    return 0;
}

/* Calls that were launched together with the oldest open call of a rank are equally old. */
static int is_as_old(const struct wait_graph *graph, int32_t rank, int32_t operation)
{
    int32_t oldest = graph->states.oldest[rank];
    return oldest == operation || (oldest >= 0 && call_is_launched_with(graph->job, oldest, operation));
}

static int note_end(struct wait_graph *graph, struct wait_call *call, int32_t operation, int32_t to,
                    struct call_at at)
{
    struct wait wait = {.to = to,
                        .call = (int32_t)(call - graph->calls),
                        .operation = operation,
                        .behind = at.operation,
                        .sure_from_ns = at.is_sure ? ALWAYS_SURE : NEVER_SURE,
                        .next_to = -1};
    switch (at.state) {
    case CALL_DONE:
        call->done++;
        return 0;
    case CALL_OPEN:
        if (!is_as_old(graph, to, at.operation))
            return add_wait(graph, call, wait);
        call->with++;
        return 0;
    case CALL_UNKNOWN:
        wait.sure_from_ns = NEVER_SURE;
        break;
    case CALL_NEVER:
        break;
    }
    if (at.never_from_ns)
        wait.sure_from_ns = at.never_from_ns;
    return add_wait(graph, call, wait);
}

/* Whether a rank waits in the same collective as an operation. */
static int waits_in(const struct wait_graph *graph, int32_t rank, int32_t operation)
{
    const struct job *job = graph->job;
    int32_t oldest = graph->states.oldest[rank];
    return oldest >= 0 && !graph->states.is_stale[rank] &&
           job->operations[oldest].kind == OPERATION_COLLECTIVE &&
           job->operations[oldest].communicator == job->operations[operation].communicator &&
           job->calls[oldest].number == job->calls[operation].number;
}

/*
 * A rank that waits does not wait for itself. Its own end of the call is subtracted later, in settle_waiter.
 */
static int note_member(struct wait_graph *graph, struct wait_call *call, int32_t operation, int32_t to)
{
    struct wait_call before = *call;
    if (to < 0)
        return 0;
    if (note_end(graph, call, -1, to, call_of(&graph->states, to, operation)))
        return -1;
    if (!waits_in(graph, to, operation))
        return 0;
    graph->waiters[to].count -= call->count - before.count;
    graph->waiters[to].with -= call->with - before.with;
    graph->waiters[to].done -= call->done - before.done;
    return 0;
}

/* If the number of members is not known, those that recorded something are all. */
static int note_members(struct wait_graph *graph, struct wait_call *call, int32_t operation)
{
    const struct job *job = graph->job;
    int32_t number = job->operations[operation].communicator;
    const struct job_communicator *communicator = &job->communicators[number];
    for (size_t i = 0; i < communicator->member_list_count; i++)
        if (note_member(graph, call, operation, communicator->member_list[i].rank))
            return -1;
    for (size_t i = 0; i < communicator->told_count; i++)
        if (note_member(graph, call, operation, communicator->told[i].rank))
            return -1;
    for (size_t i = 0; communicator->is_whole && i < job->rank_count; i++)
        if (job->ranks[i].process_id < 0 &&
            job_rank_in(job, number, job->ranks[i].global_rank) == (int32_t)i &&
            note_member(graph, call, operation, (int32_t)i))
            return -1;
    return communicator->is_whole ? 0 : note_member(graph, call, operation, communicator->silent);
}

static int note_peer(struct wait_graph *graph, struct wait_call *call, int32_t operation)
{
    int32_t peer;
    struct call_at at = call_of_peer(&graph->states, operation, &peer);
    return peer < 0 ? 0 : note_end(graph, call, operation, peer, at);
}

static int note_pairs(struct wait_graph *graph, struct wait_call *call, int32_t rank)
{
    const struct job *job = graph->job;
    int32_t oldest = graph->states.oldest[rank], launched = 0;
    int32_t end = (int32_t)(job->ranks[rank].first + job->ranks[rank].count);
    for (int32_t i = oldest; i < end && launched < LAUNCHED_MOST; i++) {
        if (!job->operations[i].unfinished || (i > oldest && !call_is_launched_with(job, oldest, i)))
            continue;
        launched++;
        if (note_peer(graph, call, i))
            return -1;
    }
    return 0;
}

static struct wait_call *add_call(struct wait_graph *graph)
{
    if (array_reserve((void **)&graph->calls, &graph->call_capacity, graph->call_count + 1,
                      sizeof *graph->calls))
        return NULL;
    struct wait_call *call = &graph->calls[graph->call_count++];
    *call = (struct wait_call){.first_waiter = -1,
                               .last_waiter = -1,
                               .first_party = -1,
                               .first = (int32_t)graph->wait_count,
                               .sure_from_ns = NEVER_SURE};
    return call;
}

static int note_party(struct wait_graph *graph, struct wait_call *call, int32_t rank)
{
    const struct job_operation *operations = graph->job->operations;
    const struct job_operation *mine = &operations[graph->waiters[rank].operation];
    int added;
    int64_t *at = map_put(&graph->party_of, party_key((int32_t)(call - graph->calls), mine->instance),
                          (int64_t)graph->party_count, &added);
    if (!at || (added && array_reserve((void **)&graph->parties, &graph->party_capacity,
                                       graph->party_count + 1, sizeof *graph->parties)))
        return -1;
    struct wait_party *party = &graph->parties[*at];
    if (added) {
        *party = (struct wait_party){mine->instance, 0, rank, call->first_party};
        call->first_party = (int32_t)graph->party_count++;
    }
    party->count++;
    int64_t first_ns = operations[graph->waiters[party->earliest].operation].enqueued_ns;
    if (mine->enqueued_ns != TIME_UNKNOWN && (first_ns == TIME_UNKNOWN || mine->enqueued_ns < first_ns))
        party->earliest = rank;
    return 0;
}

static void append_waiter(struct wait_graph *graph, struct wait_call *call, int32_t rank)
{
    struct waiter *waiter = &graph->waiters[rank];
    waiter->call = (int32_t)(call - graph->calls);
    if (call->first_waiter < 0)
        call->first_waiter = rank;
    else
        graph->waiters[call->last_waiter].next = rank;
    call->last_waiter = rank;
}

static int note_collective(struct wait_graph *graph, int32_t rank, int32_t oldest)
{
    int added;
    int64_t *at = map_put(&graph->call_of, call_key(graph->job, oldest), (int64_t)graph->call_count, &added);
    struct wait_call *call = !at ? NULL : added ? add_call(graph) : &graph->calls[*at];
    if (!call || (added && note_members(graph, call, oldest)))
        return -1;
    append_waiter(graph, call, rank);
    return note_party(graph, call, rank);
}

static int note_waits(struct wait_graph *graph, int32_t rank)
{
    int32_t oldest = graph->states.oldest[rank];
    graph->waiters[rank].operation = oldest;
    if (oldest < 0)
        return 0;
    if (graph->job->operations[oldest].kind == OPERATION_COLLECTIVE)
        return note_collective(graph, rank, oldest);
    struct wait_call *call = add_call(graph);
    if (!call)
        return -1;
    append_waiter(graph, call, rank);
    return note_pairs(graph, call, rank);
}

/* Links the waits for each rank, in order. */
static void link_waits(struct wait_graph *graph)
{
    for (size_t i = graph->wait_count; i > 0; i--) {
        struct wait *wait = &graph->waits[i - 1];
        wait->next_to = graph->waits_for[wait->to];
        graph->waits_for[wait->to] = (int32_t)(i - 1);
    }
}

static int has_sure_wait(const struct wait_graph *graph, int32_t rank)
{
    const struct wait_call *call = &graph->calls[graph->waiters[rank].call];
    for (int32_t i = call->first; i < call->first + call->count; i++)
        if (graph->waits[i].to != rank && wait_is_sure(graph, &graph->waits[i], rank))
            return 1;
    return 0;
}

/* Computes what one rank waits for: the waits of its call, less its own ends. */
static void settle_waiter(struct wait_graph *graph, int32_t rank)
{
    struct waiter *waiter = &graph->waiters[rank];
    const struct wait_call *call = &graph->calls[waiter->call];
    int has_itself = waiter->count < 0;
    waiter->count += call->count;
    waiter->with += call->with;
    waiter->done += call->done;
    waiter->is_sure = is_sure_at(graph->job, waiter->operation, call->sure_from_ns) &&
                      (!has_itself || has_sure_wait(graph, rank));
}

int wait_graph_init(struct wait_graph *graph, const struct job *job)
{
    *graph = (struct wait_graph){.job = job,
                                 .waiters = array_new(job->rank_count, sizeof *graph->waiters),
                                 .waits_for = array_new(job->rank_count, sizeof *graph->waits_for)};
    map_init(&graph->call_of);
    map_init(&graph->party_of);
    if (call_states_init(&graph->states, job) || !graph->waiters || !graph->waits_for)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        graph->waiters[i] = (struct waiter){.operation = -1, .call = -1, .next = -1};
        graph->waits_for[i] = -1;
    }
    for (size_t i = 0; i < job->rank_count && !graph->is_cut; i++)
        /* A record that is older than ends on other ranks does not show where its rank is now. */
        if (!graph->states.is_stale[i] && note_waits(graph, (int32_t)i))
            return -1;
    link_waits(graph);
    for (size_t i = 0; i < job->rank_count; i++)
        if (graph->waiters[i].call >= 0)
            settle_waiter(graph, (int32_t)i);
    return 0;
}

void wait_graph_release(struct wait_graph *graph)
{
    call_states_release(&graph->states);
    map_release(&graph->call_of);
    map_release(&graph->party_of);
    free(graph->waiters);
    free(graph->waits_for);
    free(graph->waits);
    free(graph->calls);
    free(graph->parties);
}
