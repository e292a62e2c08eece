#include "postmortem/waited_for.h"

#include "base/array.h"
#include "postmortem/called_otherwise.h"
#include "postmortem/say_call.h"
#include "postmortem/stuck_sender.h"
#include "postmortem/unrecorded.h"
#include "postmortem/usual_next.h"
#include "postmortem/wait_graph.h"

#include <stdlib.h>

/*
 * In this order, as each explains the waiting of the next:
 *
 * - who made another call than the others (called_otherwise.c);
 * - whose own GPU has not finished what all others of the call have;
 * - who has nothing open and is waited for;
 * - who left no record of its calls, where somebody waits for nobody else, and most ranks left one;
 * - who went on past a call that another one waits in, where they wait for each other;
 * - whose GPU has not begun a call that all made, where others' have;
 * - whose GPU is stuck before a send, with all others behind that (stuck_sender.c).
 */

struct accused {
    int32_t operation; /* that it never made, or never finished; -1: it is not accused */
    int is_own_gpu;
    int is_unsure;
    int is_lost;   /* a peer of it: what it does not do is an effect */
    int has_ended; /* as its launcher, or NCCL's RAS, says */
};

struct trial {
    const struct job *job;
    struct wait_graph graph;
    struct unrecorded unrecorded;
    struct accused *accused; /* owned: of each rank */
    size_t count;            /* that are accused */
    struct findings *findings;
};

static int64_t called_at(const struct job *job, int32_t operation)
{
    int64_t time_ns = job->operations[operation].enqueued_ns;
    return time_ns == TIME_UNKNOWN ? INT64_MAX : time_ns;
}

static void accuse(struct trial *trial, int32_t rank, int32_t operation, int is_own_gpu, int is_unsure)
{
    struct accused *accused = &trial->accused[rank];
    int is_new = accused->operation < 0;
    if (!is_new && called_at(trial->job, operation) >= called_at(trial->job, accused->operation))
        return;
    trial->count += is_new;
    accused->operation = operation;
    accused->is_own_gpu = is_own_gpu;
    accused->is_unsure = is_unsure;
}

static void withdraw(struct trial *trial, int32_t rank)
{
    trial->count -= trial->accused[rank].operation >= 0;
    trial->accused[rank].operation = -1;
}

/* It has nothing open in a record that may lack its end, and that does not say how far it came. */
static int is_in_doubt(const struct trial *trial, int32_t rank)
{
    return trial->job->ranks[rank].process_id >= 0 && call_is_cut(trial->job, rank) &&
           trial->graph.states.oldest[rank] < 0 && !trial->graph.states.has_told[rank];
}

/* It made no call that is open, by a record that is not older than what others wait in, nor cut before that.
 */
static int is_idle(const struct trial *trial, int32_t rank)
{
    const struct call_states *states = &trial->graph.states;
    return call_is_recorded(trial->job, rank) && states->oldest[rank] < 0 && !states->is_stale[rank] &&
           !is_in_doubt(trial, rank) && !(call_is_cut(trial->job, rank) && states->has_open[rank]);
}

/*
 * All others have it behind them. Where some are with it, one of them may have kept the data from the rest; a
 * receive may have been kept by the network.
 */
static void accuse_own_gpus(struct trial *trial)
{
    for (size_t i = 0; i < trial->job->rank_count; i++) {
        const struct waiter *waiter = &trial->graph.waiters[i];
        if (waiter->operation < 0 || waiter->count || !waiter->done)
            continue;
        int is_receive = trial->job->operations[waiter->operation].function == FUNCTION_RECV;
        accuse(trial, (int32_t)i, waiter->operation, 1, waiter->with > 0 || is_receive);
    }
}

/* How well what somebody waits in fits what a rank usually calls next. */
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

/* Of what others wait in, a rank is accused of what it usually calls next, else of the first. */
static void accuse_idle_rank(struct trial *trial, int32_t rank)
{
    const struct job *job = trial->job;
    int32_t usual = usual_next(job, rank);
    int best = -1;
    for (size_t i = 0; i < trial->graph.wait_count; i++) {
        const struct wait *wait = &trial->graph.waits[i];
        if (wait->to != rank)
            continue;
        int fit = fits_usual(job, wait->operation, usual);
        if (fit > best)
            withdraw(trial, rank);
        if (fit >= best)
            accuse(trial, rank, wait->operation, 0, 0);
        best = fit > best ? fit : best;
    }
}

static void accuse_idle(struct trial *trial)
{
    for (size_t i = 0; i < trial->graph.wait_count; i++) {
        const struct wait *wait = &trial->graph.waits[i];
        if (wait->is_sure && is_idle(trial, wait->to) && trial->accused[wait->to].operation < 0)
            accuse_idle_rank(trial, wait->to);
    }
}

/* Of whom nothing tells whether it came: one that left no record, or has nothing open. */
static int may_be_absent(const struct trial *trial, int32_t rank)
{
    if (trial->accused[rank].is_lost)
        return 0;
    return !call_is_recorded(trial->job, rank) || is_idle(trial, rank) || is_in_doubt(trial, rank);
}

/* Whom a rank may wait for that is sure to wait for none of the others: how many, and the last of them. */
static size_t count_absent(const struct trial *trial, const struct waiter *waiter, const struct wait **last,
                           int *is_explained)
{
    size_t count = 0;
    int32_t latest = -1;
    size_t accused = 0;
    for (size_t i = 0; i < waiter->count; i++) {
        const struct wait *wait = &trial->graph.waits[waiter->first + i];
        if (!may_be_absent(trial, wait->to) || wait->to == latest)
            continue;
        accused += trial->accused[wait->to].operation >= 0;
        latest = wait->to;
        *last = wait;
        count++;
    }
    *is_explained = waiter->sure > 0 || (accused > 0 && count > 1);
    return count;
}

/* The only one that a rank may wait for is waited for; and so explains those that may wait for it or another
 * one. Where several are left, all are candidates. */
static void accuse_absent(struct trial *trial, int want_several)
{
    for (size_t i = 0; i < trial->job->rank_count; i++) {
        const struct waiter *waiter = &trial->graph.waiters[i];
        const struct wait *last = NULL;
        int is_explained;
        size_t count = waiter->operation < 0 ? 0 : count_absent(trial, waiter, &last, &is_explained);
        if (count == 0 || is_explained || (count > 1) != want_several ||
            !unrecorded_can_be_named(&trial->unrecorded,
                                     trial->job->operations[waiter->operation].communicator))
            continue;
        for (size_t k = 0; k < waiter->count; k++) {
            const struct wait *wait = &trial->graph.waits[waiter->first + k];
            if (may_be_absent(trial, wait->to))
                accuse(trial, wait->to, wait->operation, 0, count > 1 || is_in_doubt(trial, wait->to));
        }
    }
}

/* Of several that left no record, some may only have lost it. */
static void doubt_absent(struct trial *trial)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < trial->job->rank_count; i++) {
            int is_absent = trial->accused[i].operation >= 0 && !call_is_recorded(trial->job, (int32_t)i);
            count += pass == 0 && is_absent;
            if (pass == 1 && is_absent && count > 1)
                trial->accused[i].is_unsure = 1;
        }
}

/* The rank that a waiting one waits for and that waits itself; -1: it only waits for others. */
static const struct wait *next_wait(const struct trial *trial, int32_t rank)
{
    const struct waiter *waiter = &trial->graph.waiters[rank];
    for (size_t i = 0; waiter->operation >= 0 && i < waiter->count; i++) {
        const struct wait *wait = &trial->graph.waits[waiter->first + i];
        if (wait->is_sure && trial->graph.waiters[wait->to].count)
            return wait;
    }
    return NULL;
}

/* Whether the one that is waited for went on past it: it waits in a collective that the other has not come
 * to. */
static int went_past(const struct trial *trial, const struct wait *wait)
{
    const struct job *job = trial->job;
    int32_t other = trial->graph.waiters[wait->to].operation;
    const struct job_operation *here = &job->operations[wait->operation], *there = &job->operations[other];
    const struct call_reach *reach = call_reach_of(&trial->graph.states, wait->from, here->communicator);
    return here->kind == OPERATION_POINT_TO_POINT && wait->behind < 0 &&
           there->kind == OPERATION_COLLECTIVE && there->communicator == here->communicator && reach &&
           job->calls[other].number > reach->greatest;
}

/* From a rank that is in a circle around it: who went past what another waits in; else all are candidates. */
static void accuse_circle(struct trial *trial, int32_t first)
{
    size_t past = 0;
    for (int pass = 0; pass < 2 && (pass == 0 || past != 1); pass++)
        for (int32_t rank = first;;) {
            const struct wait *wait = next_wait(trial, rank);
            if (pass == 0 ? went_past(trial, wait) : 1)
                accuse(trial, wait->to, wait->operation, 0, pass);
            past += pass == 0 && went_past(trial, wait);
            rank = wait->to;
            if (rank == first)
                break;
        }
}

/* They wait for each other in a circle, which the way from any waiting rank leads to. */
static void accuse_circles(struct trial *trial)
{
    size_t steps = 0;
    int32_t rank = -1;
    for (size_t i = 0; rank < 0 && i < trial->job->rank_count; i++)
        if (next_wait(trial, (int32_t)i))
            rank = (int32_t)i;
    for (; rank >= 0 && steps < trial->job->rank_count; steps++) {
        const struct wait *wait = next_wait(trial, rank);
        rank = wait ? wait->to : -1;
    }
    if (rank >= 0)
        accuse_circle(trial, rank);
}

/* All called it, some GPUs began it, and others did not. */
static void accuse_unstarted(struct trial *trial)
{
    const struct job *job = trial->job;
    size_t started = 0, unstarted = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < job->rank_count; i++) {
            const struct waiter *waiter = &trial->graph.waiters[i];
            if (waiter->operation < 0 || waiter->count || !waiter->with)
                continue;
            int is_started = job->calls[waiter->operation].is_started;
            started += pass == 0 && is_started;
            unstarted += pass == 0 && !is_started;
            if (pass == 1 && started && !is_started)
                accuse(trial, (int32_t)i, waiter->operation, 1, unstarted > 1);
        }
}

/* Ranks that are named; more are counted. */
enum { RANKS_NAMED = 4 };

/* Whether a wait is for a rank, in the same instance as an operation. */
static int is_there(const struct trial *trial, const struct wait *wait, int32_t rank, int32_t operation)
{
    const struct job_operation *operations = trial->job->operations;
    return wait->to == rank && operations[wait->operation].instance == operations[operation].instance;
}

/* "Ranks 0, 2 wait in ", "Rank 3 waits in ", "7 ranks wait in ". */
static int say_who_waits(const struct trial *trial, int32_t rank, int32_t operation, struct buffer *text)
{
    size_t count = 0, said = 0;
    for (size_t i = 0; i < trial->graph.wait_count; i++)
        count += is_there(trial, &trial->graph.waits[i], rank, operation) != 0;
    if (count > RANKS_NAMED)
        return buffer_printf(text, "%zu ranks wait in ", count);
    int failed = buffer_append_text(text, count == 1 ? "Rank" : "Ranks");
    for (size_t i = 0; !failed && i < trial->graph.wait_count; i++) {
        const struct wait *wait = &trial->graph.waits[i];
        if (is_there(trial, wait, rank, operation))
            failed = buffer_printf(text, "%s %s", said++ ? "," : "", trial->job->ranks[wait->from].name);
    }
    return failed || buffer_append_text(text, count == 1 ? " waits in " : " wait in ");
}

static int say_why(const struct trial *trial, int32_t rank, struct finding *finding)
{
    const struct job *job = trial->job;
    const struct accused *accused = &trial->accused[rank];
    struct buffer *text = &finding->evidence;
    for (size_t i = 0; i < trial->graph.wait_count; i++)
        if (trial->graph.waits[i].to == rank && finding_add_peer(finding, trial->graph.waits[i].from))
            return -1;
    if (accused->is_own_gpu)
        return buffer_printf(text, "The GPU of rank %s has not ended ", job->ranks[rank].name) ||
               say_call(job, accused->operation, text) ||
               buffer_append_text(text, trial->graph.waiters[rank].with ? "" : "; those of all others have");
    return say_who_waits(trial, rank, accused->operation, text) || say_call(job, accused->operation, text);
}

/* Whose record is lacking, and why, where a file tells that. */
static int say_unrecorded(const struct job *job, int32_t rank, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    if (finding->candidate_count)
        return buffer_append_text(text, ". These files hold no record of their calls");
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->rank != rank || (warning->kind != WARNING_NO_DUMP && warning->kind != WARNING_ENDED))
            continue;
        finding->warning = warning->id;
        const char *said = warning->text ? warning->text : "no dump", *name = job->ranks[rank].name;
        return warning->kind == WARNING_ENDED
                   ? buffer_printf(text, ". The launcher says of rank %s: \"%s\"", name, said)
                   : buffer_printf(text, ". Of rank %s there is %s", name, said);
    }
    return buffer_printf(text, ". These files hold no record of the calls of rank %s", job->ranks[rank].name);
}

static int say_last_call(const struct job *job, int32_t rank, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    const char *name = job->ranks[rank].name;
    if (!call_is_recorded(job, rank))
        return say_unrecorded(job, rank, finding);
    if (!job->ranks[rank].count)
        return buffer_printf(text, ". All calls of rank %s have ended", name);
    int32_t last = (int32_t)(job->ranks[rank].first + job->ranks[rank].count - 1);
    return buffer_printf(text, ". The last call of rank %s was ", name) || say_call(job, last, text);
}

static int add_finding(struct trial *trial, int32_t rank)
{
    const struct job *job = trial->job;
    const struct accused *accused = &trial->accused[rank];
    int is_recorded = call_is_recorded(job, rank);
    const struct job_operation *operation = &job->operations[accused->operation];
    int has_ended = accused->has_ended && !is_recorded;
    struct finding *finding =
        findings_add_at(trial->findings, job, has_ended ? FINDING_ENDED_EARLY : FINDING_MISSING, rank,
                        &job->instances[operation->instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->never_ended = accused->is_own_gpu;
    finding->called = accused->operation;
    finding->is_unrecorded = !is_recorded && !has_ended;
    finding->confidence = accused->is_unsure ? CONFIDENCE_LOW : CONFIDENCE_HIGH;
    if (is_recorded)
        finding_ask(trial->findings, finding, RULE_UNRECORDED, 0);
    else if (!has_ended)
        unrecorded_doubt(&trial->unrecorded, trial->findings, operation->communicator, finding);
    if (accused->is_unsure && finding_add_candidate(finding, rank))
        return -1;
    return say_why(trial, rank, finding) || (!accused->is_own_gpu && say_last_call(job, rank, finding)) ? -1
                                                                                                        : 0;
}

static int add_findings(struct trial *trial)
{
    size_t before = trial->findings->count;
    for (size_t i = 0; i < trial->job->rank_count; i++)
        if (trial->accused[i].operation >= 0 && add_finding(trial, (int32_t)i))
            return -1;
    return findings_unite_candidates(trial->findings, before);
}

/* Nobody can be named: the first call in which all stand, else that somebody waits in. */
static void note_standstill(const struct trial *trial)
{
    const struct job *job = trial->job;
    int32_t first = -1;
    for (int may_wait = 0; first < 0 && may_wait < 2; may_wait++)
        for (size_t i = 0; i < job->rank_count; i++) {
            const struct waiter *waiter = &trial->graph.waiters[i];
            int32_t at = waiter->count && !may_wait ? -1 : waiter->operation;
            if (at >= 0 && (first < 0 || called_at(job, at) < called_at(job, first)))
                first = at;
        }
    if (first >= 0)
        trial->findings->standstill =
            (struct standstill){.is_known = 1, .instance = job->operations[first].instance};
}

/* Dumps of all ranks, written right behind their last calls. Where a rank left none, it may be why they were.
 */
static int is_snapshot(const struct job *job)
{
    return job->dumped_running && job_silent_ranks(job) == 0;
}

static int has_open(const struct trial *trial)
{
    for (size_t i = 0; i < trial->job->rank_count; i++)
        if (trial->graph.waiters[i].operation >= 0)
            return 1;
    return 0;
}

/* Whoever lost a peer, or was aborted, stopped for that; who ended may be why. */
static void note_warnings(struct trial *trial)
{
    const struct job *job = trial->job;
    for (size_t i = 0; i < job->warning_count; i++) {
        struct accused *of = &trial->accused[job->warnings[i].rank];
        enum warning_kind kind = job->warnings[i].kind;
        of->is_lost |= kind == WARNING_CLOSED || kind == WARNING_ABORTED;
        of->has_ended |= kind == WARNING_ENDED || kind == WARNING_DEAD;
    }
}

/* A rank that left no record, and of which it is said that it ended. */
static void accuse_ended(struct trial *trial)
{
    for (size_t i = 0; i < trial->graph.wait_count; i++) {
        const struct wait *wait = &trial->graph.waits[i];
        if (trial->accused[wait->to].has_ended && !call_is_recorded(trial->job, wait->to))
            accuse(trial, wait->to, wait->operation, 0, 0);
    }
}

static int judge(struct trial *trial)
{
    for (size_t i = 0; i < trial->job->rank_count; i++)
        trial->accused[i].operation = -1;
    note_warnings(trial);
    if (find_called_otherwise(&trial->graph, trial->findings))
        return -1;
    if (findings_stop_surely(trial->findings))
        return 0;
    /* Between two calls, and in the middle of one, all jobs look as if somebody were waited for. */
    if (is_snapshot(trial->job)) {
        trial->findings->is_snapshot = has_open(trial);
        return 0;
    }
    accuse_own_gpus(trial);
    accuse_idle(trial);
    /* Where a record tells whose fault it is, that another one is lost is no more than that. */
    if (!trial->count)
        accuse_ended(trial);
    if (!trial->count) {
        accuse_absent(trial, 0);
        doubt_absent(trial);
        accuse_absent(trial, 1);
    }
    if (!trial->count)
        accuse_circles(trial);
    if (!trial->count && !findings_stop_job(trial->findings))
        accuse_unstarted(trial);
    if (add_findings(trial))
        return -1;
    if (!findings_stop_job(trial->findings) && find_stuck_sender(&trial->graph, trial->findings))
        return -1;
    if (!findings_stop_job(trial->findings))
        note_standstill(trial);
    return 0;
}

int find_waited_for(const struct job *job, struct findings *findings, struct error *error)
{
    struct trial trial = {
        .job = job, .findings = findings, .accused = array_new(job->rank_count, sizeof *trial.accused)};
    int failed = wait_graph_init(&trial.graph, job) || unrecorded_init(&trial.unrecorded, job) ||
                 !trial.accused || judge(&trial);
    wait_graph_release(&trial.graph);
    unrecorded_release(&trial.unrecorded);
    free(trial.accused);
    return failed ? error_no_memory(error) : 0;
}
