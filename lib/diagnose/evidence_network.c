#include "diagnose/evidence_network.h"

#include "verdict/words.h"

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

static void note_slowest(const struct job_instance *instance, const struct transfer_excess *transfer,
                         struct slowness *slowness)
{
    int64_t took_ns = instance->transfer_ns + transfer->some_ns;
    if (took_ns <= slowness->slowest_ns)
        return;
    slowness->slowest_ns = took_ns;
    slowness->slowest_usual_ns = transfer_usual_ns(instance, transfer);
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
        note_slowest(instance, &transfers[at], slowness);
    }
    finding->receives = slowness->sent.extra_ns < slowness->received.extra_ns;
    slowness->worse = finding->receives ? &slowness->received : &slowness->sent;
    return edges ? find_peers(suspect, job, edges, transfers, finding) : 0;
}

/* What takes so many times as long as usual, once, hardly moved at all. */
enum { STANDSTILL = 10 };

/*
 * For how long nothing moved, once: of one step, where most of the cost is one wait of a network step; where
 * none is recorded, one operation that took many times as long as usual. 0: it was slow, and moved.
 */
static int64_t pause_of(const struct suspect *suspect, const struct slowness *slowness)
{
    int64_t longest_ns = slowness->worse->longest_ns;
    if (suspect->first_step != suspect->last_step)
        return 0;
    if (!slowness->worse->steps)
        longest_ns =
            slowness->slowest_ns > STANDSTILL * slowness->slowest_usual_ns ? slowness->slowest_ns : 0;
    return longest_ns * 2 >= suspect->gain_ns ? longest_ns : 0;
}

static int say_edges(const struct slowness *slowness, struct finding *finding)
{
    const struct edge_sum *worse = slowness->worse;
    struct figures *figures = &finding->figures;
    struct buffer *text = &finding->evidence;
    if (!worse->steps)
        return 0;
    int64_t mean_ns = worse->wait_ns / worse->steps;
    int64_t usual_ns = (worse->wait_ns - worse->extra_ns) / worse->steps;
    figures_add(figures, "network_steps", (double)worse->steps);
    figures_add_time(figures, "send_wait_us_mean", mean_ns);
    figures_add_time(figures, "usual_send_wait_us_mean", usual_ns);
    figures_add_time(figures, "send_wait_us_max", worse->longest_ns);
    return buffer_printf(text, "%lld network steps waited ", (long long)worse->steps) ||
           text_time(text, mean_ns) ||
           buffer_append_text(text, slowness->is_against_others ? " on average (SendWait; other senders "
                                                                : " on average (SendWait; baseline ") ||
           text_time(text, usual_ns) || buffer_append_text(text, ", longest ") ||
           text_time(text, worse->longest_ns) || buffer_append_text(text, "). ");
}

int slowness_say_pause(const struct suspect *suspect, const struct slowness *slowness,
                       struct finding *finding)
{
    finding->pause_ns = pause_of(suspect, slowness);
    if (finding->pause_ns)
        figures_add_time(&finding->figures, "pause_us", finding->pause_ns);
    return slowness_say(slowness, finding);
}

int slowness_say(const struct slowness *slowness, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    if (say_edges(slowness, finding))
        return -1;
    if (!slowness->operations)
        return buffer_append_text(text, "The times of its operations on the GPU are not recorded");
    int64_t mean_ns = slowness->transfer_ns / slowness->operations;
    int64_t usual_ns = (slowness->transfer_ns - slowness->slow_ns) / slowness->operations;
    figures_add(&finding->figures, "operations", (double)slowness->operations);
    figures_add_time(&finding->figures, "transfer_us_mean", mean_ns);
    figures_add_time(&finding->figures, "usual_transfer_us_mean", usual_ns);
    const char *usually =
        slowness->is_against_others ? " (with sends as fast as those of other senders: " : " (baseline ";
    return buffer_printf(text, "%lld operation%s took ", (long long)slowness->operations,
                         slowness->operations == 1 ? "" : "s") ||
           text_time(text, mean_ns) ||
           buffer_append_text(text, slowness->operations == 1 ? "" : " on average") ||
           buffer_append_text(text, usually) || text_time(text, usual_ns) || buffer_append_byte(text, ')');
}
