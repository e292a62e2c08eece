#include "diagnose/evidence_network.h"

/* An edge of which less than one part in so many was more than usual was merely beside the slow ones. */
static const int64_t EXTRA_PART = 4;

/* Whether the suspect is an end of an edge that waited longer than usual by a quarter. */
static int is_slow_edge(const struct suspect *suspect, const struct edge *edge)
{
    return (edge->sender == suspect->rank || edge->receiver == suspect->rank) &&
           edge->extra_ns * EXTRA_PART >= edge->wait_ns;
}

static void add_edges(const struct suspect *suspect, const struct edges *edges, int32_t instance,
                      struct slowness *slowness)
{
    for (size_t i = edges->first[instance]; i < edges->first[instance + 1]; i++) {
        const struct edge *edge = &edges->items[i];
        struct edge_sum *sum = edge->sender == suspect->rank ? &slowness->sent : &slowness->received;
        if (!is_slow_edge(suspect, edge))
            continue;
        sum->steps += edge->steps;
        sum->wait_ns += edge->wait_ns;
        sum->extra_ns += edge->extra_ns;
        if (edge->wait_max_ns > sum->longest_ns)
            sum->longest_ns = edge->wait_max_ns;
    }
}

static int name_peers(const struct suspect *suspect, const struct edges *edges, int32_t instance,
                      struct finding *finding)
{
    for (size_t i = edges->first[instance]; i < edges->first[instance + 1]; i++) {
        const struct edge *edge = &edges->items[i];
        int32_t end = finding->receives ? edge->receiver : edge->sender;
        int32_t other = finding->receives ? edge->sender : edge->receiver;
        if (end == suspect->rank && is_slow_edge(suspect, edge) && finding_add_peer(finding, other))
            return -1;
    }
    return 0;
}

/* The finding speaks of one direction: only the slow edges of that one count. */
static int find_peers(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                      const struct transfer_excess *transfers, struct finding *finding)
{
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++)
        if (suspect_has_instance(suspect, &job->instances[job->by_step[i]], &transfers[job->by_step[i]]) &&
            name_peers(suspect, edges, job->by_step[i], finding))
            return -1;
    return 0;
}

int slowness_measure(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                     const struct transfer_excess *transfers, struct slowness *slowness,
                     struct finding *finding)
{
    struct job_range instances = suspect_instances(suspect, job);
    slowness->edges = edges ? edges->count : 0;
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        const struct job_instance *instance = &job->instances[at];
        if (!suspect_has_instance(suspect, instance, &transfers[at]))
            continue;
        if (edges)
            add_edges(suspect, edges, at, slowness);
        if (transfer_usual_ns(instance, &transfers[at]) == TIME_UNKNOWN)
            continue;
        slowness->operations++;
        slowness->transfer_ns += instance->transfer_ns + transfers[at].some_ns;
        slowness->slow_ns += transfers[at].slow_ns;
    }
    finding->receives = slowness->sent.extra_ns < slowness->received.extra_ns;
    slowness->worse = finding->receives ? &slowness->received : &slowness->sent;
    return edges ? find_peers(suspect, job, edges, transfers, finding) : 0;
}

static int say_edges(const struct edge_sum *worse, struct finding *finding)
{
    if (!worse->steps)
        return 0;
    return buffer_printf(
        &finding->evidence,
        "%s network steps waited %.0f us each (SendWait), usually %.0f us, at most %.0f us; ",
        finding->receives ? "the" : "its", (double)worse->wait_ns / (double)worse->steps / 1e3,
        (double)(worse->wait_ns - worse->extra_ns) / (double)worse->steps / 1e3,
        (double)worse->longest_ns / 1e3);
}

int slowness_say(const struct slowness *slowness, struct finding *finding)
{
    if (say_edges(slowness->worse, finding))
        return -1;
    if (!slowness->operations)
        return buffer_append_text(&finding->evidence,
                                  "how long its operations took on the GPU is not recorded");
    double operations = (double)slowness->operations;
    return buffer_printf(&finding->evidence,
                         "%lld operations that it was in took %.0f us to transfer, usually %.0f us",
                         (long long)slowness->operations, (double)slowness->transfer_ns / operations / 1e3,
                         (double)(slowness->transfer_ns - slowness->slow_ns) / operations / 1e3);
}
