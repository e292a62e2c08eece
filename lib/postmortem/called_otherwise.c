#include "postmortem/called_otherwise.h"

#include "base/array.h"
#include "postmortem/say_call.h"

#include <stdlib.h>

/* What ranks called under one number. */
struct ballot {
    const struct job *job;
    int32_t *calls;  /* owned: operations */
    int32_t *party;  /* owned: of each call, the first that is like it */
    int32_t *votes;  /* owned: of each call that is the first of its like */
    int32_t *firsts; /* owned: these calls */
    int32_t count;
    int32_t winner; /* -1: two parties are as large */
};

static int is_same(int64_t one, int64_t other)
{
    return one < 0 || other < 0 || one == other;
}

static int is_like(const struct job *job, int32_t one, int32_t other)
{
    const struct job_operation *a = &job->operations[one], *b = &job->operations[other];
    int is_pair = function_is_point_to_point(a->function) && function_is_point_to_point(b->function);
    int is_known = a->function != FUNCTION_UNKNOWN && b->function != FUNCTION_UNKNOWN;
    if (a->function != b->function && is_known && !is_pair)
        return 0;
    if (datatype_name(a->datatype) && datatype_name(b->datatype) && a->datatype != b->datatype)
        return 0;
    int is_counted = a->function == FUNCTION_ALL_TO_ALL || a->bytes < 0 || b->bytes < 0;
    return is_counted ? is_same(job->calls[one].count, job->calls[other].count) : is_same(a->bytes, b->bytes);
}

static void count_votes(struct ballot *ballot)
{
    int32_t most = 0, parties = 0;
    for (int32_t i = 0; i < ballot->count; i++) {
        int32_t party = 0;
        while (party < parties &&
               !is_like(ballot->job, ballot->calls[ballot->firsts[party]], ballot->calls[i]))
            party++;
        if (party == parties)
            ballot->firsts[parties++] = i;
        ballot->party[i] = ballot->firsts[party];
        ballot->votes[ballot->party[i]]++;
    }
    ballot->winner = -1;
    for (int32_t i = 0; i < ballot->count; i++)
        if (ballot->votes[i] > most) {
            most = ballot->votes[i];
            ballot->winner = i;
        }
    if (most * 2 <= ballot->count)
        ballot->winner = -1;
}

/* The party to hold a call against: the majority, else the first other one. */
static int32_t other_party(const struct ballot *ballot, int32_t call)
{
    if (ballot->winner >= 0)
        return ballot->winner;
    for (int32_t i = 0; i < ballot->count; i++)
        if (ballot->party[i] == i && i != ballot->party[call])
            return i;
    return call;
}

static int say_both(const struct ballot *ballot, int32_t call, struct finding *finding)
{
    const struct job *job = ballot->job;
    int32_t other = other_party(ballot, call), others = ballot->votes[other];
    int32_t rank = job->operations[ballot->calls[call]].rank;
    return buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[rank].name) ||
                   say_call(job, ballot->calls[call], &finding->evidence) ||
                   buffer_printf(&finding->evidence, "; %d other rank%s called ", others,
                                 others == 1 ? "" : "s") ||
                   say_call(job, ballot->calls[other], &finding->evidence)
               ? -1
               : 0;
}

/* Candidates of one party and step become one finding: the others are named of the first. */
static int name_others(const struct ballot *ballot, int32_t call, struct finding *finding)
{
    const struct job *job = ballot->job;
    int32_t first = ballot->party[call];
    int32_t step = job->instances[job->operations[ballot->calls[first]].instance].step;
    if (finding->candidate_count && call != first && finding->first_step == step)
        return 0;
    for (int32_t i = 0; i < ballot->count; i++)
        if (ballot->party[i] != first && finding_add_peer(finding, job->operations[ballot->calls[i]].rank))
            return -1;
    return 0;
}

static int accuse(const struct ballot *ballot, int32_t call, struct findings *findings)
{
    const struct job *job = ballot->job;
    const struct job_operation *operation = &job->operations[ballot->calls[call]];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, operation->rank,
                                              &job->instances[operation->instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->called = ballot->calls[call];
    finding->confidence = ballot->winner >= 0 ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
    if (ballot->winner < 0 && finding_add_candidate(finding, operation->rank))
        return -1;
    return name_others(ballot, call, finding) || say_both(ballot, call, finding) ? -1 : 0;
}

static int judge(struct ballot *ballot, struct findings *findings)
{
    size_t before = findings->count, into = before;
    count_votes(ballot);
    if (ballot->count == 0 || ballot->votes[0] == ballot->count)
        return 0;
    for (int32_t i = 0; i < ballot->count; i++)
        if ((ballot->winner < 0 || ballot->party[i] != ballot->winner) &&
            (accuse(ballot, i, findings) || findings_unite_last(findings, before, &into)))
            return -1;
    return 0;
}

/* What all members called under the number of an operation that a rank waits in. */
static void collect(const struct wait_graph *graph, int32_t operation, struct ballot *ballot)
{
    const struct job *job = graph->job;
    const struct job_communicator *communicator =
        &job->communicators[job->operations[operation].communicator];
    ballot->count = 0;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int32_t rank = communicator->seats[i].rank;
        if (rank < 0)
            continue;
        struct call_at at = call_of(&graph->states, rank, operation);
        if (at.operation < 0)
            continue;
        ballot->votes[ballot->count] = 0;
        ballot->calls[ballot->count++] = at.operation;
    }
}

/* Whether a rank before this one waits in the same. */
static int is_judged(const struct wait_graph *graph, size_t rank)
{
    return graph->calls[graph->waiters[rank].call].first_waiter != (int32_t)rank;
}

/* A send and its receive of which neither ends, of different sizes: which of them is wrong nobody knows. */
static int judge_pair(const struct wait_graph *graph, int32_t send, struct ballot *ballot,
                      struct findings *findings)
{
    int32_t peer;
    struct call_at receive = call_of_peer(&graph->states, send, &peer);
    if (receive.operation < 0)
        return 0;
    ballot->calls[0] = send;
    ballot->calls[1] = receive.operation;
    ballot->votes[0] = ballot->votes[1] = 0;
    ballot->count = 2;
    return judge(ballot, findings);
}

int find_called_otherwise(const struct wait_graph *graph, struct findings *findings)
{
    const struct job *job = graph->job;
    size_t before = findings->count;
    struct ballot ballot = {.job = job,
                            .calls = array_new(job->rank_count + 1, sizeof *ballot.calls),
                            .party = array_new(job->rank_count + 1, sizeof *ballot.party),
                            .votes = array_new(job->rank_count + 1, sizeof *ballot.votes),
                            .firsts = array_new(job->rank_count + 1, sizeof *ballot.firsts)};
    int failed = !ballot.calls || !ballot.party || !ballot.votes || !ballot.firsts;
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        int32_t at = graph->waiters[i].operation;
        if (at < 0)
            continue;
        if (job->operations[at].function == FUNCTION_SEND)
            failed = judge_pair(graph, at, &ballot, findings);
        if (job->operations[at].kind != OPERATION_COLLECTIVE || is_judged(graph, i))
            continue;
        collect(graph, at, &ballot);
        failed = judge(&ballot, findings);
    }
    free(ballot.calls);
    free(ballot.party);
    free(ballot.votes);
    free(ballot.firsts);
    return failed ? -1 : findings_unite_candidates(findings, before);
}
