/*
 * Pipelines that hang between a receive and a send (find_stuck_sender), and communicators whose creation
 * never ended.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

int append_source(const struct job *job, int32_t operation, struct buffer *text)
{
    const char *source = job_source(job, operation);
    return source ? buffer_printf(text, ", at %s", source) : 0;
}

static int append_size(const struct job *job, int32_t operation, struct buffer *text)
{
    const struct job_operation *of = &job->operations[operation];
    const char *type = datatype_name((enum datatype)of->datatype);
    if (of->function == FUNCTION_ALL_TO_ALL && job->calls && job->calls[operation].count >= 0)
        return buffer_printf(text, " (rows of %lld%s%s)", (long long)job->calls[operation].count,
                             type ? " " : "", type ? type : "");
    if (of->bytes < 0 && job->calls && job->calls[operation].count >= 0)
        return buffer_printf(text, " (%lld elements)", (long long)job->calls[operation].count);
    if (of->bytes < 0)
        return 0;
    return buffer_printf(text, " (%lld bytes%s%s)", (long long)of->bytes, type ? ", " : "", type ? type : "");
}

int append_call(const struct job *job, int32_t operation, struct buffer *text)
{
    const struct job_operation *of = &job->operations[operation];
    return text_operation(text, job, &job->instances[of->instance], of->function) ||
                   append_size(job, operation, text) || append_source(job, operation, text)
               ? -1
               : 0;
}

/* A send and its receive that all other ranks wait behind. */
struct stuck_pair {
    int32_t send; /* operations */
    int32_t receive;
    int32_t held; /* an unfinished receive of the sender whose own sender called it; -1: none */
    int is_fed;   /* the receiver has nothing to compute before it receives: its previous call was a send */
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

/*
 * The oldest open call of a rank that waits for no rank, if it is this function and not part of a group call;
 * -1 otherwise.
 */
static int32_t root_of(const struct wait_graph *graph, int32_t rank, enum function function)
{
    const struct waiter *waiter = &graph->waiters[rank];
    int32_t at = waiter->operation;
    return at >= 0 && !waiter->count && graph->job->operations[at].function == function &&
                   is_alone(graph->job, at)
               ? at
               : -1;
}

/* Whether the GPU of a rank got past its oldest open call, with any operation, or with a receive. */
static int went_on(const struct job *job, int32_t operation, int by_receive)
{
    for (int32_t i = operation + 1; i < end_of(job, operation); i++)
        if (!job->operations[i].unfinished && (!by_receive || job->operations[i].function == FUNCTION_RECV))
            return 1;
    return 0;
}

/*
 * Whether receives do not wait for sends: on some rank, a receive ended that was called after a send that did
 * not.
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

/* An open receive of the sender, called after its send, whose other end has called it; -1: none. */
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

/* The pair that a rank receives in; 0: none. */
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
    /* If only the receiver is known to be ready, the network may be holding the data as well. */
    finding->confidence = pair->held >= 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    struct buffer *text = &finding->evidence;
    if (finding_add_peer(finding, receiver) ||
        buffer_printf(text, "Rank %s called ", job->ranks[send->rank].name) ||
        append_call(job, pair->send, text) ||
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
    return buffer_append_text(text, ". One of these later calls is ") || append_call(job, pair->held, text) ||
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
    /* Several pairs at the same time have another cause. */
    return count == 1 ? accuse(graph, &found, findings) : 0;
}

/* How far the ranks of one communicator came with its creation. */
struct making {
    const struct job *job;
    int32_t communicator;
    const struct job_start *starts; /* borrowed: those of this communicator */
    size_t count;
    size_t complete; /* number of them that are complete */
    int has_met;     /* a rank got past the bootstrap, which none does before all have arrived */
};

static struct making making_of(const struct job *job, size_t begin)
{
    struct making making = {
        .job = job, .communicator = job->starts[begin].communicator, .starts = &job->starts[begin]};
    for (size_t i = begin; i < job->start_count && job->starts[i].communicator == making.communicator; i++) {
        const struct start_up *told = &job->starts[i].told;
        making.count++;
        making.complete += told->is_complete != 0;
        making.has_met |= told->is_complete || told->parts_ns[START_BOOTSTRAP] != TIME_UNKNOWN;
    }
    return making;
}

/* By communicator, the number of operations of several ranks on it. NULL when memory runs out. */
static int64_t *count_uses(const struct job *job)
{
    int64_t *uses = array_new(job->communicator_count, sizeof *uses);
    for (size_t i = 0; uses && i < job->instance_count; i++)
        uses[job->instances[i].communicator] += job->instances[i].members > 1;
    return uses;
}

/*
 * Adds the ranks without a line about this communicator. If it has all ranks of the job, every rank without a
 * line is missing; otherwise only some are. Both lists are ascending.
 */
static int take_absent(const struct making *making, struct finding *finding, int *has_trace)
{
    const struct job *job = making->job;
    size_t start = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (start < making->count && making->starts[start].rank == (int32_t)i) {
            start++;
            continue;
        }
        *has_trace |= job->ranks[i].process_id >= 0;
        if (finding_add_candidate(finding, (int32_t)i))
            return -1;
    }
    return 0;
}

static enum creation_fault creation_fault_of(const struct making *making, const struct finding *finding,
                                             int has_trace)
{
    const struct job *job = making->job;
    if (!finding->candidate_count) /* which ranks are missing is not known */
        return CREATION_STUCK;
    if ((int64_t)job->rank_count != job->communicators[making->communicator].size)
        return CREATION_ONE_ABSENT;
    return has_trace ? CREATION_ABSENT : CREATION_NO_TRACE;
}

static int take_stuck(const struct making *making, struct finding *finding)
{
    for (size_t i = 0; i < making->count; i++)
        if (making->starts[i].told.is_complete ? finding_add_peer(finding, making->starts[i].rank)
                                               : finding_add_candidate(finding, making->starts[i].rank))
            return -1;
    return 0;
}

static int take_waiting(const struct making *making, struct finding *finding)
{
    for (size_t i = 0; i < making->count; i++)
        if (finding_add_peer(finding, making->starts[i].rank))
            return -1;
    return 0;
}

/*
 * Appends "ncclCommInitRank on communicator {0-7}: 4 of 8 ranks reached Init COMPLETE, 4 are stuck after Init
 * START".
 */
static int append_counts(const struct making *making, struct finding *finding)
{
    const struct job *job = making->job;
    const struct job_communicator *communicator = &job->communicators[making->communicator];
    const char *function = job_tag(job, making->starts[0].function);
    size_t stuck = making->count - making->complete;
    int64_t absent = communicator->size - (int64_t)making->count;
    struct buffer *text = &finding->evidence;
    figures_add(&finding->figures, "ranks_complete", (double)making->complete);
    figures_add(&finding->figures, "ranks_stuck", (double)stuck);
    figures_add(&finding->figures, "ranks_without_line", (double)absent);
    return buffer_append_text(text, function ? function : "Initialization") ||
           text_on_communicator(text, communicator) ||
           buffer_printf(text, ": %zu of %lld ranks reached Init COMPLETE, %zu are stuck after Init START",
                         making->complete, (long long)communicator->size, stuck) ||
           (absent > 0 && buffer_printf(text, ", %lld ha%s no line about it in these logs", (long long)absent,
                                        absent == 1 ? "s" : "ve"));
}

#define BOOTSTRAP ". The other ranks wait in the bootstrap, which no rank leaves before all ranks have joined"

static int append_meaning(enum creation_fault creation_fault, struct buffer *text)
{
    static const char *const meanings[] = {
        [CREATION_ABSENT] = BOOTSTRAP,
        [CREATION_NO_TRACE] =
            BOOTSTRAP ". A rank without a line has not joined, or its log is not among these",
        [CREATION_ONE_ABSENT] = BOOTSTRAP ". The logs do not show which ranks are in the communicator",
        [CREATION_STUCK] = ". The log does not show which rank, card or link delays the others"};
    return buffer_append_text(text, meanings[creation_fault]);
}

static int name_stuck(const struct making *making, struct findings *findings)
{
    const struct job_communicator *communicator = &making->job->communicators[making->communicator];
    int is_waited_for = !making->has_met && (int64_t)making->count < communicator->size, has_trace = 0;
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_MISSING;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding->stops_job = 1;
    if (is_waited_for && take_absent(making, finding, &has_trace))
        return -1;
    finding->creation_fault = creation_fault_of(making, finding, has_trace);
    if (finding->creation_fault == CREATION_STUCK ? take_stuck(making, finding)
                                                  : take_waiting(making, finding))
        return -1;
    finding->rank = finding->candidates[0];
    finding_ask(findings, finding, RULE_SEVERAL, (double)finding->candidate_count);
    finding_ask(findings, finding, RULE_NO_TRACE, finding->creation_fault == CREATION_NO_TRACE);
    if (finding->candidate_count == 1)
        finding->candidate_count = 0;
    return append_counts(making, finding) || append_meaning(finding->creation_fault, &finding->evidence);
}

/* The last of a rank's largest communicators that all its logged ranks finished creating. */
struct created_communicator {
    int32_t communicator;
    int64_t size; /* 0: none */
    int64_t order;
};

static void take_made(const struct making *making, struct created_communicator *made)
{
    int64_t size = making->job->communicators[making->communicator].size;
    for (size_t i = 0; i < making->count && making->complete == making->count; i++) {
        const struct job_start *start = &making->starts[i];
        struct created_communicator *of = &made[start->rank];
        if (size > of->size || (size == of->size && start->order > of->order))
            *of = (struct created_communicator){start->communicator, size, start->order};
    }
}

/* By rank. NULL when memory runs out. */
static struct created_communicator *collect_created(const struct job *job)
{
    struct created_communicator *made = array_new(job->rank_count, sizeof *made);
    for (size_t begin = 0; made && begin < job->start_count;) {
        struct making making = making_of(job, begin);
        begin += making.count;
        take_made(&making, made);
    }
    return made;
}

/*
 * Whether its ranks together created a communicator of the same size later, as after a restart that appends
 * to the same log. A stuck rank creates no other.
 */
static int is_made_anew(const struct making *making, const struct created_communicator *made)
{
    const struct created_communicator *first = &made[making->starts[0].rank];
    if (first->size < making->job->communicators[making->communicator].size)
        return 0;
    for (size_t i = 0; i < making->count; i++) {
        const struct created_communicator *of = &made[making->starts[i].rank];
        if (!of->size || of->communicator != first->communicator || of->order <= making->starts[i].order)
            return 0;
    }
    return 1;
}

/* Whether a rank is stuck in it, it was not created after all, and lines of the log are not just lost. */
static int is_creation_unfinished(const struct making *making, const int64_t *uses,
                                  const struct created_communicator *made)
{
    return making->complete < making->count &&
           (double)uses[making->communicator] <= limit_of(LIMIT_FIRST_CALLS) && !is_made_anew(making, made);
}

static int64_t first_order(const struct making *making)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < making->count; i++)
        first = making->starts[i].order < first ? making->starts[i].order : first;
    return first;
}

/* The first of these in the order of the log, and their number. */
static size_t find_first(const struct job *job, const int64_t *uses, const struct created_communicator *made,
                         struct making *first)
{
    size_t count = 0;
    for (size_t begin = 0; begin < job->start_count;) {
        struct making making = making_of(job, begin);
        begin += making.count;
        if (!is_creation_unfinished(&making, uses, made))
            continue;
        if (!count || first_order(&making) < first_order(first))
            *first = making;
        count++;
    }
    return count;
}

static int append_others(size_t count, struct findings *findings)
{
    struct finding *finding = &findings->items[findings->count - 1];
    figures_add(&finding->figures, "communicators_unmade", (double)count);
    return count > 1 && buffer_printf(&finding->evidence, ". %zu more communicator%s being initialized",
                                      count - 1, count == 2 ? " was" : "s were");
}

int find_unfinished_creations(const struct job *job, struct findings *findings)
{
    struct making first = {0};
    /* If another rank clearly stopped the job, ranks do not get to the next communicator either. */
    if (findings_explain_stop_confidently(findings))
        return 0;
    int64_t *uses = count_uses(job);
    struct created_communicator *made = collect_created(job);
    size_t count = uses && made ? find_first(job, uses, made, &first) : 0;
    int failed =
        !uses || !made || (count && (name_stuck(&first, findings) || append_others(count, findings)));
    free(uses);
    free(made);
    return failed ? -1 : 0;
}
