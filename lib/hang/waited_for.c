/*
 * Finds the rank that a stopped job waits for from the graph of waits (find_waited_for), for jobs whose
 * recorder says how far each call came, such as Flight Recorder dumps.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * The culprit is, in this order, as each explains why the next ones wait:
 *
 * - a rank that made a different call than the others (divergence.c);
 * - a rank whose own GPU has not finished a call that all others have finished;
 * - a rank that has no open call and is waited for;
 * - a rank without a record of its calls, if some rank waits for no other and most ranks left a record;
 * - a rank that went past a call that another one waits in, where ranks wait for each other;
 * - a rank whose GPU has not started a call that all made, while GPUs of others have;
 * - a rank whose GPU is stuck before a send, with all others behind it (stuck_sender.c).
 */

struct accused {
    int32_t operation; /* the operation that it never made or never finished; -1: it is not blamed */
    int is_own_gpu;
    int is_unsure;
    int is_lost;   /* it lost a peer, so that what it does not do is an effect */
    int has_ended; /* its launcher or NCCL's RAS says that it ended */
};

/*
 * The ranks that a call may wait for, where it certainly waits for no other: the first and the last wait for
 * one of them, and their number.
 */
struct absentees {
    int32_t first;
    int32_t last;
    size_t count;
    int has_accused; /* one of several is already blamed, which explains why all wait */
};

/*
 * The ranks that wait in a call are named once in a finding with several candidates of the same kind and
 * step.
 */
struct named_call {
    int is_named;
    enum finding_kind kind;
    int32_t step;
};

struct culprit_search {
    const struct job *job;
    const int32_t *positions; /* of the baseline, by operation */
    struct wait_graph graph;
    struct unrecorded unrecorded;
    struct accused *accused;     /* owned, by rank */
    struct absentees *absentees; /* owned, like the following two: by call */
    struct named_call *named;
    int32_t *next_waits; /* the first wait for a rank that itself waits */
    size_t count;        /* number of ranks that are blamed */
    struct findings *findings;
};

static int64_t called_at(const struct job *job, int32_t operation)
{
    int64_t time_ns = job->operations[operation].enqueued_ns;
    return time_ns == TIME_UNKNOWN ? INT64_MAX : time_ns;
}

static void accuse(struct culprit_search *search, int32_t rank, int32_t operation, int is_own_gpu,
                   int is_unsure)
{
    struct accused *accused = &search->accused[rank];
    int is_new = accused->operation < 0;
    if (!is_new && called_at(search->job, operation) >= called_at(search->job, accused->operation))
        return;
    search->count += is_new;
    accused->operation = operation;
    accused->is_own_gpu = is_own_gpu;
    accused->is_unsure = is_unsure;
}

/* Whether a rank has no open call, but its record may lack its end and does not say how far the rank came. */
static int is_in_doubt(const struct culprit_search *search, int32_t rank)
{
    return search->job->ranks[rank].process_id >= 0 && call_is_cut(search->job, rank) &&
           search->graph.states.oldest[rank] < 0 && !search->graph.states.has_told[rank];
}

/*
 * Whether a rank has no open call, by a record that is neither older than the calls that others wait in nor
 * cut before them.
 */
static int is_idle(const struct culprit_search *search, int32_t rank)
{
    const struct call_states *states = &search->graph.states;
    return call_is_recorded(search->job, rank) && states->oldest[rank] < 0 && !states->is_stale[rank] &&
           !is_in_doubt(search, rank) && !(call_is_cut(search->job, rank) && states->has_open[rank]);
}

/*
 * Blames ranks whose call all others have finished. Where several have not, one of them may have kept the
 * data from the rest; and the network may be holding the data of a receive.
 */
static void accuse_own_gpus(struct culprit_search *search)
{
    for (size_t i = 0; i < search->job->rank_count; i++) {
        const struct waiter *waiter = &search->graph.waiters[i];
        if (waiter->operation < 0 || waiter->count || !waiter->done)
            continue;
        int is_receive = search->job->operations[waiter->operation].function == FUNCTION_RECV;
        accuse(search, (int32_t)i, waiter->operation, 1, waiter->with > 0 || is_receive);
    }
}

/* How well an operation that others wait in fits what a rank usually calls next. */
static int fits_usual(const struct job *job, int32_t operation, int32_t usual)
{
    if (usual < 0 || job->operations[operation].communicator != job->operations[usual].communicator)
        return 0;
    const struct job_operation *waits_in = &job->operations[operation], *next = &job->operations[usual];
    if (waits_in->kind == OPERATION_COLLECTIVE)
        return waits_in->function == next->function ? 2 : 1;
    return next->kind == waits_in->kind && waits_in->function != next->function &&
                   job->calls[operation].own_rank == job->calls[usual].peer
               ? 2
               : 1;
}

/* The best operation, of those that others wait in, to name for a rank. */
struct choice {
    int fit; /* with what it usually calls next; -1: none yet */
    int32_t operation;
    int32_t from;
};

static void consider(const struct job *job, int32_t usual, int32_t operation, int32_t from,
                     struct choice *best)
{
    int fit = fits_usual(job, operation, usual);
    int64_t called_ns = called_at(job, operation);
    int64_t best_ns = best->fit < 0 ? 0 : called_at(job, best->operation);
    if (fit > best->fit ||
        (fit == best->fit && (called_ns < best_ns || (called_ns == best_ns && from < best->from))))
        *best = (struct choice){fit, operation, from};
}

/*
 * Blames a rank for the operation, of those that others wait in, that it usually calls next; otherwise for
 * the first.
 */
static void accuse_idle_rank(struct culprit_search *search, int32_t rank)
{
    const struct wait_graph *graph = &search->graph;
    int32_t usual = usual_next(search->job, rank);
    struct choice best = {.fit = -1};
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to) {
        const struct wait *wait = &graph->waits[i];
        const struct wait_call *call = &graph->calls[wait->call];
        if (wait->operation >= 0)
            consider(search->job, usual, wait->operation, call->first_waiter, &best);
        for (int32_t party = call->first_party; party >= 0; party = graph->parties[party].next) {
            int32_t from = graph->parties[party].earliest;
            consider(search->job, usual, graph->waiters[from].operation, from, &best);
        }
    }
    if (best.fit >= 0)
        accuse(search, rank, best.operation, 0, 0);
}

/* Whether it is certain that some rank waits for this one. */
static int is_waited_for(const struct culprit_search *search, int32_t rank)
{
    const struct wait_graph *graph = &search->graph;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to) {
        const struct wait *wait = &graph->waits[i];
        int32_t from = graph->calls[wait->call].first_waiter;
        while (from >= 0 && !wait_is_sure(graph, wait, from))
            from = graph->waiters[from].next;
        if (from >= 0)
            return 1;
    }
    return 0;
}

static void accuse_idle(struct culprit_search *search)
{
    for (int32_t i = 0; i < (int32_t)search->job->rank_count; i++)
        if (search->graph.waits_for[i] >= 0 && is_idle(search, i) && is_waited_for(search, i))
            accuse_idle_rank(search, i);
}

/* Whether a rank may be missing: it left no record, or has no open call. */
static int may_be_absent(const struct culprit_search *search, int32_t rank)
{
    if (search->accused[rank].is_lost)
        return 0;
    return !call_is_recorded(search->job, rank) || is_idle(search, rank) || is_in_doubt(search, rank);
}

static struct absentees find_absentees(const struct culprit_search *search, const struct wait_call *call)
{
    struct absentees found = {.first = -1};
    int32_t latest = -1;
    for (int32_t i = call->first; i < call->first + call->count; i++) {
        int32_t to = search->graph.waits[i].to;
        if (!may_be_absent(search, to))
            continue;
        /* The calls of one launch may wait for the same rank; it counts once. */
        found.count += to != latest;
        latest = to;
        found.first = found.first < 0 ? i : found.first;
        found.last = i;
    }
    return found;
}

static int has_accused(const struct culprit_search *search, const struct absentees *absent)
{
    for (int32_t i = absent->first; i <= absent->last; i++) {
        int32_t to = search->graph.waits[i].to;
        if (may_be_absent(search, to) && search->accused[to].operation >= 0)
            return 1;
    }
    return 0;
}

static void blame_absentees(struct culprit_search *search, const struct absentees *absent, int32_t from)
{
    for (int32_t i = absent->first; i <= absent->last; i++) {
        const struct wait *wait = &search->graph.waits[i];
        if (may_be_absent(search, wait->to))
            accuse(search, wait->to, wait_operation(&search->graph, wait, from), 0,
                   absent->count > 1 || is_in_doubt(search, wait->to));
    }
}

/*
 * A rank that is the only one a call may wait for is waited for, and that explains the calls that may wait
 * for it or another one. Where several remain, all are candidates.
 */
static void accuse_absent(struct culprit_search *search, int want_several)
{
    for (size_t i = 0; i < search->job->rank_count; i++) {
        const struct waiter *waiter = &search->graph.waiters[i];
        struct absentees *absent = waiter->call < 0 ? NULL : &search->absentees[waiter->call];
        if (!absent || !absent->count || waiter->is_sure || (absent->count > 1) != want_several ||
            !unrecorded_can_be_named(&search->unrecorded,
                                     search->job->operations[waiter->operation].communicator))
            continue;
        if (want_several && (absent->has_accused || has_accused(search, absent))) {
            absent->has_accused = 1;
            continue;
        }
        blame_absentees(search, absent, (int32_t)i);
    }
}

/* Of several ranks without a record, some may only have lost it. */
static void doubt_absent(struct culprit_search *search)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < search->job->rank_count; i++) {
            int is_absent = search->accused[i].operation >= 0 && !call_is_recorded(search->job, (int32_t)i);
            count += pass == 0 && is_absent;
            if (pass == 1 && is_absent && count > 1)
                search->accused[i].is_unsure = 1;
        }
}

/* The first wait of a call, from `from` on, for a rank that itself waits. */
static int32_t skip_resting(const struct culprit_search *search, const struct wait_call *call, int32_t from)
{
    while (from < call->first + call->count && !search->graph.waiters[search->graph.waits[from].to].count)
        from++;
    return from;
}

/* The wait of a waiting rank for one that itself waits; NULL: it only waits for others. */
static const struct wait *next_wait(const struct culprit_search *search, int32_t rank)
{
    const struct wait_graph *graph = &search->graph;
    if (graph->waiters[rank].call < 0)
        return NULL;
    const struct wait_call *call = &graph->calls[graph->waiters[rank].call];
    for (int32_t i = search->next_waits[graph->waiters[rank].call]; i < call->first + call->count;
         i = skip_resting(search, call, i + 1)) {
        const struct wait *wait = &graph->waits[i];
        if (wait->to != rank && wait_is_sure(graph, wait, rank))
            return wait;
    }
    return NULL;
}

/* Whether the rank waited for went past the call: it waits in a collective that the other has not reached. */
static int went_past(const struct culprit_search *search, const struct wait *wait, int32_t from)
{
    const struct job *job = search->job;
    int32_t mine = wait_operation(&search->graph, wait, from),
            other = search->graph.waiters[wait->to].operation;
    const struct job_operation *here = &job->operations[mine], *there = &job->operations[other];
    const struct call_reach *reach = call_reach_of(&search->graph.states, from, here->communicator);
    return here->kind == OPERATION_POINT_TO_POINT && wait->behind < 0 &&
           there->kind == OPERATION_COLLECTIVE && there->communicator == here->communicator && reach &&
           job->calls[other].number > reach->greatest;
}

/*
 * Examines a circle of ranks that wait for each other, from one of them on: blames those that went past a
 * call that another waits in; if there are none, all are candidates.
 */
static void accuse_circle(struct culprit_search *search, int32_t first)
{
    size_t past = 0;
    for (int pass = 0; pass < 2 && (pass == 0 || past != 1); pass++)
        for (int32_t rank = first;;) {
            const struct wait *wait = next_wait(search, rank);
            int is_past = went_past(search, wait, rank);
            if (pass == 0 ? is_past : 1)
                accuse(search, wait->to, wait_operation(&search->graph, wait, rank), 0, pass);
            past += pass == 0 && is_past;
            rank = wait->to;
            if (rank == first)
                break;
        }
}

/*
 * Finds the circles of ranks that wait for each other. Following the waits from any remaining rank leads into
 * one.
 */
static void accuse_circles(struct culprit_search *search)
{
    size_t steps = 0;
    int32_t rank = -1;
    for (size_t i = 0; i < search->graph.call_count; i++)
        search->next_waits[i] = skip_resting(search, &search->graph.calls[i], search->graph.calls[i].first);
    for (size_t i = 0; rank < 0 && i < search->job->rank_count; i++)
        if (next_wait(search, (int32_t)i))
            rank = (int32_t)i;
    for (; rank >= 0 && steps < search->job->rank_count; steps++) {
        const struct wait *wait = next_wait(search, rank);
        rank = wait ? wait->to : -1;
    }
    if (rank >= 0)
        accuse_circle(search, rank);
}

/* Blames GPUs that did not start a call that all hosts made and some GPUs started. */
static void accuse_unstarted(struct culprit_search *search)
{
    const struct job *job = search->job;
    size_t started = 0, unstarted = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < job->rank_count; i++) {
            const struct waiter *waiter = &search->graph.waiters[i];
            if (waiter->operation < 0 || waiter->count || !waiter->with)
                continue;
            int is_started = job->calls[waiter->operation].is_started;
            started += pass == 0 && is_started;
            unstarted += pass == 0 && !is_started;
            if (pass == 1 && started && !is_started)
                accuse(search, (int32_t)i, waiter->operation, 1, unstarted > 1);
        }
}

/*
 * Names the ranks that wait. The candidates of one finding are waited for by the same ranks, so those of a
 * call are named at the first candidate only.
 */
static int name_peers(const struct culprit_search *search, int32_t rank, struct finding *finding)
{
    const struct wait_graph *graph = &search->graph;
    for (int32_t i = graph->waits_for[rank]; i >= 0; i = graph->waits[i].next_to) {
        struct named_call *named = &search->named[graph->waits[i].call];
        if (finding->candidate_count && named->kind == finding->kind && named->step == finding->first_step &&
            named->is_named)
            continue;
        if (finding->candidate_count)
            *named = (struct named_call){1, finding->kind, finding->first_step};
        int32_t from = graph->calls[graph->waits[i].call].first_waiter;
        for (; from >= 0; from = graph->waiters[from].next)
            if (from != rank && finding_add_peer(finding, from))
                return -1;
    }
    return 0;
}

static int append_why(const struct culprit_search *search, int32_t rank, struct finding *finding)
{
    const struct job *job = search->job;
    const struct accused *accused = &search->accused[rank];
    struct buffer *text = &finding->evidence;
    if (name_peers(search, rank, finding))
        return -1;
    if (accused->is_own_gpu)
        return buffer_printf(text, "The GPU of rank %s has not finished ", job->ranks[rank].name) ||
               append_call(job, accused->operation, text) ||
               buffer_append_text(
                   text, search->graph.waiters[rank].with ? "" : "; the GPUs of all other ranks have");
    return append_who_waits(&search->graph, rank, accused->operation, text) ||
           append_call(job, accused->operation, text);
}

/* Appends which rank has no record, and why, if a file shows that. */
static int append_unrecorded(const struct job *job, int32_t rank, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    if (finding->candidate_count)
        return buffer_append_text(text, ". These files contain no record of their calls");
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->rank != rank || (warning->kind != WARNING_NO_DUMP && warning->kind != WARNING_ENDED))
            continue;
        finding->warning = warning->id;
        const char *said = warning->text ? warning->text : "no dump", *name = job->ranks[rank].name;
        return warning->kind == WARNING_ENDED
                   ? buffer_printf(text, ". The launcher reports for rank %s: \"%s\"", name, said)
                   : buffer_printf(text, ". For rank %s there is %s", name, said);
    }
    return buffer_printf(text, ". These files contain no record of the calls of rank %s",
                         job->ranks[rank].name);
}

static int append_last_call(const struct job *job, int32_t rank, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    const char *name = job->ranks[rank].name;
    if (!call_is_recorded(job, rank))
        return append_unrecorded(job, rank, finding);
    if (!job->ranks[rank].count)
        return buffer_printf(text, ". Rank %s has no unfinished call", name);
    int32_t last = (int32_t)(job->ranks[rank].first + job->ranks[rank].count - 1);
    return buffer_printf(text, ". The last call of rank %s was ", name) || append_call(job, last, text);
}

static int add_finding(struct culprit_search *search, int32_t rank)
{
    const struct job *job = search->job;
    const struct accused *accused = &search->accused[rank];
    int is_recorded = call_is_recorded(job, rank);
    const struct job_operation *operation = &job->operations[accused->operation];
    int has_ended = accused->has_ended && !is_recorded;
    struct finding *finding =
        findings_add_at(search->findings, job, has_ended ? FINDING_ENDED_EARLY : FINDING_MISSING, rank,
                        &job->instances[operation->instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->never_ended = accused->is_own_gpu;
    finding->called = accused->operation;
    finding->is_unrecorded = !is_recorded && !has_ended;
    finding->confidence = accused->is_unsure ? CONFIDENCE_LOW : CONFIDENCE_HIGH;
    if (is_recorded)
        finding_ask(search->findings, finding, RULE_UNRECORDED, 0);
    else if (!has_ended)
        unrecorded_doubt(&search->unrecorded, search->findings, operation->communicator, finding);
    if (accused->is_unsure && finding_add_candidate(finding, rank))
        return -1;
    return append_why(search, rank, finding) || (!accused->is_own_gpu && append_last_call(job, rank, finding))
               ? -1
               : 0;
}

static int add_findings(struct culprit_search *search)
{
    size_t before = search->findings->count, into = before;
    for (size_t i = 0; i < search->job->rank_count; i++)
        if (search->accused[i].operation >= 0 &&
            (add_finding(search, (int32_t)i) || findings_unite_last(search->findings, before, &into)))
            return -1;
    return findings_unite_candidates(search->findings, before);
}

/* Where no rank can be named: records the first call that all wait in, or else one that any rank waits in. */
static void note_unexplained_hang(const struct culprit_search *search)
{
    const struct job *job = search->job;
    int32_t first = -1;
    for (int may_wait = 0; first < 0 && may_wait < 2; may_wait++)
        for (size_t i = 0; i < job->rank_count; i++) {
            const struct waiter *waiter = &search->graph.waiters[i];
            int32_t at = waiter->count && !may_wait ? -1 : waiter->operation;
            if (at >= 0 && (first < 0 || called_at(job, at) < called_at(job, first)))
                first = at;
        }
    if (first >= 0)
        search->findings->unexplained_hang =
            (struct unexplained_hang){.is_known = 1, .instance = job->operations[first].instance};
}

/*
 * Whether the dumps are of all ranks and were written right after their last calls. If a rank left none, that
 * may be the reason for the dumps.
 */
static int is_snapshot(const struct job *job)
{
    return job->dumped_running && job_silent_ranks(job) == 0;
}

static int has_open(const struct culprit_search *search)
{
    for (size_t i = 0; i < search->job->rank_count; i++)
        if (search->graph.waiters[i].operation >= 0)
            return 1;
    return 0;
}

/*
 * Marks ranks that stopped because they lost a peer or were aborted, and ranks that ended, which may be the
 * reason.
 */
static void note_warnings(struct culprit_search *search)
{
    const struct job *job = search->job;
    for (size_t i = 0; i < job->warning_count; i++) {
        struct accused *of = &search->accused[job->warnings[i].rank];
        enum warning_kind kind = job->warnings[i].kind;
        of->is_lost |= reported_is_effect(kind);
        of->has_ended |= kind == WARNING_ENDED || kind == WARNING_DEAD;
    }
}

/* Blames a rank that left no record and is reported to have ended. */
static void accuse_ended(struct culprit_search *search)
{
    for (int32_t i = 0; i < (int32_t)search->job->rank_count; i++)
        if (search->graph.waits_for[i] >= 0 && search->accused[i].has_ended &&
            !call_is_recorded(search->job, i))
            accuse_idle_rank(search, i);
}

static int judge(struct culprit_search *search)
{
    for (size_t i = 0; i < search->job->rank_count; i++)
        search->accused[i].operation = -1;
    note_warnings(search);
    if (search->graph.is_cut) {
        note_unexplained_hang(search);
        return 0;
    }
    if (find_call_mismatches(&search->graph, search->positions, search->findings))
        return -1;
    if (findings_explain_stop_confidently(search->findings))
        return 0;
    /* Between two calls, or in the middle of one, every running job looks as if some rank is waited for. */
    if (is_snapshot(search->job)) {
        search->findings->is_snapshot = has_open(search);
        return 0;
    }
    accuse_own_gpus(search);
    accuse_idle(search);
    /* If a record shows which rank is at fault, a missing record of another one means no more than that. */
    if (!search->count)
        accuse_ended(search);
    if (!search->count) {
        for (size_t i = 0; i < search->graph.call_count; i++)
            search->absentees[i] = find_absentees(search, &search->graph.calls[i]);
        accuse_absent(search, 0);
        doubt_absent(search);
        accuse_absent(search, 1);
    }
    if (!search->count)
        accuse_circles(search);
    if (!search->count && !findings_explain_stop(search->findings))
        accuse_unstarted(search);
    if (add_findings(search))
        return -1;
    if (!findings_explain_stop(search->findings) && find_stuck_sender(&search->graph, search->findings))
        return -1;
    if (!findings_explain_stop(search->findings))
        note_unexplained_hang(search);
    return 0;
}

static int culprit_search_init(struct culprit_search *search)
{
    if (wait_graph_init(&search->graph, search->job) || unrecorded_init(&search->unrecorded, search->job))
        return -1;
    search->accused = array_new(search->job->rank_count, sizeof *search->accused);
    search->absentees = array_new(search->graph.call_count, sizeof *search->absentees);
    search->named = array_new(search->graph.call_count, sizeof *search->named);
    search->next_waits = array_new(search->graph.call_count, sizeof *search->next_waits);
    return search->accused && search->absentees && search->named && search->next_waits ? 0 : -1;
}

int find_waited_for(const struct job *job, const int32_t *positions, struct findings *findings,
                    struct error *error)
{
    struct culprit_search search = {.job = job, .positions = positions, .findings = findings};
    int failed = culprit_search_init(&search) || judge(&search);
    wait_graph_release(&search.graph);
    unrecorded_release(&search.unrecorded);
    free(search.accused);
    free(search.absentees);
    free(search.named);
    free(search.next_waits);
    return failed ? error_no_memory(error) : 0;
}
