#include "postmortem/wait_graph.h"

#include "base/array.h"
#include "job/membership.h"

#include <stdlib.h>

/* Calls launched at once that are looked at: more are launched by nobody. */
enum { LAUNCHED_MOST = 1024 };

static int add_wait(struct wait_graph *graph, struct wait wait)
{
    struct waiter *waiter = &graph->waiters[wait.from];
    if (array_reserve((void **)&graph->waits, &graph->wait_capacity, graph->wait_count + 1,
                      sizeof *graph->waits))
        return -1;
    graph->waits[graph->wait_count++] = wait;
    waiter->count++;
    waiter->sure += wait.is_sure;
    return 0;
}

/* What the oldest open call of a rank is launched with, is as old. */
static int is_as_old(const struct wait_graph *graph, int32_t rank, int32_t operation)
{
    int32_t oldest = graph->states.oldest[rank];
    return oldest == operation || (oldest >= 0 && call_is_launched_with(graph->job, oldest, operation));
}

static int note_end(struct wait_graph *graph, int32_t from, int32_t operation, int32_t to, struct call_at at)
{
    struct waiter *waiter = &graph->waiters[from];
    struct wait wait = {
        .from = from, .to = to, .operation = operation, .behind = at.operation, .is_sure = at.is_sure};
    switch (at.state) {
    case CALL_DONE:
        waiter->done++;
        return 0;
    case CALL_OPEN:
        if (!is_as_old(graph, to, at.operation))
            return add_wait(graph, wait);
        waiter->with++;
        return 0;
    case CALL_UNKNOWN:
        wait.is_sure = 0;
        return add_wait(graph, wait);
    case CALL_NEVER:
        break;
    }
    return add_wait(graph, wait);
}

static int note_member(struct wait_graph *graph, int32_t operation, int32_t to)
{
    int32_t from = graph->job->operations[operation].rank;
    return to < 0 || to == from
               ? 0
               : note_end(graph, from, operation, to, call_of(&graph->states, to, operation));
}

/* Where nothing tells how many members there are, those that recorded something are all. */
static int note_members(struct wait_graph *graph, int32_t operation)
{
    const struct job *job = graph->job;
    int32_t number = job->operations[operation].communicator;
    const struct job_communicator *communicator = &job->communicators[number];
    for (size_t i = 0; i < communicator->seat_count; i++)
        if (note_member(graph, operation, communicator->seats[i].rank))
            return -1;
    for (size_t i = 0; i < communicator->told_count; i++)
        if (note_member(graph, operation, communicator->told[i].rank))
            return -1;
    for (size_t i = 0; communicator->is_whole && i < job->rank_count; i++)
        if (job->ranks[i].process_id < 0 &&
            job_rank_in(job, number, job->ranks[i].global_rank) == (int32_t)i &&
            note_member(graph, operation, (int32_t)i))
            return -1;
    return communicator->is_whole ? 0 : note_member(graph, operation, communicator->silent);
}

static int note_peer(struct wait_graph *graph, int32_t operation)
{
    int32_t peer;
    struct call_at at = call_of_peer(&graph->states, operation, &peer);
    return peer < 0 ? 0 : note_end(graph, graph->job->operations[operation].rank, operation, peer, at);
}

static int note_waits(struct wait_graph *graph, int32_t rank)
{
    const struct job *job = graph->job;
    struct waiter *waiter = &graph->waiters[rank];
    int32_t oldest = graph->states.oldest[rank], launched = 0;
    int32_t end = (int32_t)(job->ranks[rank].first + job->ranks[rank].count);
    waiter->operation = oldest;
    waiter->first = graph->wait_count;
    if (oldest < 0)
        return 0;
    if (job->operations[oldest].kind == OPERATION_COLLECTIVE)
        return note_members(graph, oldest);
    for (int32_t i = oldest; i < end && launched < LAUNCHED_MOST; i++) {
        if (!job->operations[i].unfinished || (i > oldest && !call_is_launched_with(job, oldest, i)))
            continue;
        launched++;
        if (note_peer(graph, i))
            return -1;
    }
    return 0;
}

int wait_graph_init(struct wait_graph *graph, const struct job *job)
{
    *graph = (struct wait_graph){.job = job, .waiters = array_new(job->rank_count, sizeof *graph->waiters)};
    if (call_states_init(&graph->states, job) || !graph->waiters)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        graph->waiters[i].operation = -1;
        /* What a record says that is older than others' ends is not where its rank is now. */
        if (!graph->states.is_stale[i] && note_waits(graph, (int32_t)i))
            return -1;
    }
    return 0;
}

void wait_graph_release(struct wait_graph *graph)
{
    call_states_release(&graph->states);
    free(graph->waiters);
    free(graph->waits);
}
