#include "postmortem/stuck_sender.h"

#include "postmortem/say_call.h"

/* A send and its receive that all wait behind. */
struct stuck_pair {
    int32_t send; /* operations */
    int32_t receive;
    int32_t held; /* a receive of the sender that its own sender called, and that has not ended either; -1 */
    int is_fed;   /* the receiver has nothing to compute before it receives: its call before was a send */
};

static int32_t end_of(const struct job *job, int32_t operation)
{
    const struct job_rank *rank = &job->ranks[job->operations[operation].rank];
    return (int32_t)(rank->first + rank->count);
}

static int is_alone(const struct job *job, int32_t operation)
{
    return operation + 1 >= end_of(job, operation) || !call_is_launched_with(job, operation, operation + 1);
}

/* The oldest open call of a rank that waits for nobody, where it is such a function, and called alone; -1. */
static int32_t root_of(const struct wait_graph *graph, int32_t rank, enum function function)
{
    const struct waiter *waiter = &graph->waiters[rank];
    int32_t at = waiter->operation;
    return at >= 0 && !waiter->count && graph->job->operations[at].function == function &&
                   is_alone(graph->job, at)
               ? at
               : -1;
}

/* Whether a rank's GPU got past its oldest open call, with any other, or with a receive. */
static int went_on(const struct job *job, int32_t operation, int by_receive)
{
    for (int32_t i = operation + 1; i < end_of(job, operation); i++)
        if (!job->operations[i].unfinished && (!by_receive || job->operations[i].function == FUNCTION_RECV))
            return 1;
    return 0;
}

/* Whether receives do not wait for sends: on some rank one ended that was called behind a send that did not.
 */
static int are_independent(const struct wait_graph *graph)
{
    for (size_t i = 0; i < graph->job->rank_count; i++) {
        int32_t at = graph->states.oldest[i];
        if (at >= 0 && graph->job->operations[at].function == FUNCTION_SEND && went_on(graph->job, at, 1))
            return 1;
    }
    return 0;
}

/* Of a sender, a receive behind that its other end has called; -1. */
static int32_t find_held(const struct wait_graph *graph, int32_t send, int32_t receiver)
{
    const struct job *job = graph->job;
    for (int32_t i = send + 1; i < end_of(job, send); i++) {
        int32_t peer;
        if (job->operations[i].function != FUNCTION_RECV)
            continue;
        struct call_at at = call_of_peer(&graph->states, i, &peer);
        return at.state == CALL_OPEN && peer != receiver ? i : -1;
    }
    return -1;
}

static int is_behind_send(const struct job *job, int32_t receive)
{
    const struct job_operation *of = &job->operations[receive];
    const struct job_operation *before = of - 1;
    return receive > (int32_t)job->ranks[of->rank].first && before->function == FUNCTION_SEND &&
           !before->unfinished;
}

/* The pair that a rank receives in; 0: it is in none. */
static int find_pair(const struct wait_graph *graph, int32_t receiver, int independent,
                     struct stuck_pair *pair)
{
    int32_t sender, receive = root_of(graph, receiver, FUNCTION_RECV);
    if (receive < 0)
        return 0;
    struct call_at at = call_of_peer(&graph->states, receive, &sender);
    if (at.state != CALL_OPEN || root_of(graph, sender, FUNCTION_SEND) != at.operation ||
        went_on(graph->job, at.operation, 0))
        return 0;
    *pair = (struct stuck_pair){.send = at.operation,
                                .receive = receive,
                                .held = independent ? find_held(graph, at.operation, receiver) : -1,
                                .is_fed = is_behind_send(graph->job, receive)};
    return pair->held >= 0 || pair->is_fed;
}

static int accuse(const struct wait_graph *graph, const struct stuck_pair *pair, struct findings *findings)
{
    const struct job *job = graph->job;
    const struct job_operation *send = &job->operations[pair->send];
    int32_t receiver = job->operations[pair->receive].rank;
    struct finding *finding =
        findings_add_at(findings, job, FINDING_MISSING, send->rank, &job->instances[send->instance]);
    if (!finding)
        return -1;
    finding->stops_job = finding->never_ended = 1;
    finding->called = pair->send;
    /* Where only the receiver is known to be ready, the network may keep the data as well. */
    finding->confidence = pair->held >= 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    struct buffer *text = &finding->evidence;
    if (finding_add_peer(finding, receiver) ||
        buffer_printf(text, "Rank %s called ", job->ranks[send->rank].name) ||
        say_call(job, pair->send, text) ||
        buffer_printf(text,
                      ", and rank %s called the matching receive. Neither has finished, and no later call of "
                      "rank %s has",
                      job->ranks[receiver].name, job->ranks[send->rank].name))
        return -1;
    if (pair->held < 0)
        return buffer_printf(text,
                             ". The previous call of rank %s was a send, so nothing else keeps it from "
                             "receiving",
                             job->ranks[receiver].name);
    return buffer_append_text(text, ". One of these later calls is ") || say_call(job, pair->held, text) ||
           buffer_append_text(text, ", whose data was sent; on other ranks, receives do not wait for sends");
}

int find_stuck_sender(const struct wait_graph *graph, struct findings *findings)
{
    struct stuck_pair pair, found = {0};
    size_t count = 0;
    int independent = are_independent(graph);
    for (int32_t rank = 0; rank < (int32_t)graph->job->rank_count && count < 2; rank++)
        if (find_pair(graph, rank, independent, &pair)) {
            found = pair;
            count++;
        }
    /* Several at once have another cause. */
    return count == 1 ? accuse(graph, &found, findings) : 0;
}
