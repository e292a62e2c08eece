#include "postmortem/who_waits.h"

#include "base/array.h"

/* Ranks that are named; more are counted. */
enum { RANKS_NAMED = 4 };

/* How many of those in a call wait in an instance, but for the rank that they wait for. */
static size_t count_waiters(const struct wait_graph *graph, const struct wait *wait, int32_t instance)
{
    const struct job_operation *operations = graph->job->operations;
    const struct waiter *waited_for = &graph->waiters[wait->to];
    if (wait->operation >= 0)
        return operations[wait->operation].instance == instance;
    const struct wait_party *party = wait_party_of(graph, wait->call, instance);
    return party ? (size_t)party->count - (waited_for->call == wait->call &&
                                           operations[waited_for->operation].instance == instance)
                 : 0;
}

static int by_rank(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* Who waits for a rank in an instance; there are no more than RANKS_NAMED. */
static size_t list_waiters(const struct wait_graph *graph, int32_t rank, int32_t instance, int32_t *named)
{
    size_t count = 0;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to) {
        const struct wait *wait = &graph->waits[i];
        int32_t from = count_waiters(graph, wait, instance) ? graph->calls[wait->call].first_waiter : -1;
        for (; from >= 0; from = graph->waiters[from].next)
            if (from != rank &&
                graph->job->operations[wait_operation(graph, wait, from)].instance == instance)
                named[count++] = from;
    }
    array_sort(named, count, sizeof *named, by_rank);
    return count;
}

int say_who_waits(const struct wait_graph *graph, int32_t rank, int32_t operation, struct buffer *text)
{
    int32_t named[RANKS_NAMED], instance = graph->job->operations[operation].instance;
    size_t count = 0;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to)
        count += count_waiters(graph, &graph->waits[i], instance);
    if (count > RANKS_NAMED)
        return buffer_printf(text, "%zu ranks are waiting in ", count);
    int failed = buffer_append_text(text, count == 1 ? "Rank" : "Ranks");
    count = list_waiters(graph, rank, instance, named);
    for (size_t i = 0; !failed && i < count; i++)
        failed = buffer_printf(text, "%s %s", i ? "," : "", graph->job->ranks[named[i]].name);
    return failed || buffer_append_text(text, count == 1 ? " is waiting in " : " are waiting in ");
}
