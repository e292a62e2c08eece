/*
 * Ranks that wait for each other in different operations: finds the rank that called something else than the
 * others under the same number, or than its own call sequence has there.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/* Ranks that wait for each other in different operations of one communicator. */

/* The first pending operation of a rank on a communicator; -1: none. */
static int32_t first_pending(const struct absence *absence, int32_t rank, int32_t communicator)
{
    const struct job_rank *of = &absence->job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        if (operation->communicator == communicator && !function_is_point_to_point(operation->function) &&
            absence->pending[operation->instance])
            return (int32_t)i;
    }
    return -1;
}

/*
 * Which of two sides is at fault for a different call, as the confidence for `mine`: the smaller side; of two
 * equal sides the one that broke with its usual calls while the other kept to them. -1: not `mine`. Low for
 * both where that does not decide.
 */
static int confidence_in(size_t mine, size_t theirs, enum call_pattern my_habit,
                         enum call_pattern their_habit)
{
    if (mine != theirs)
        return mine < theirs ? CONFIDENCE_HIGH : -1;
    if (my_habit == CALL_PATTERN_BROKEN && their_habit == CALL_PATTERN_KEPT)
        return CONFIDENCE_MEDIUM;
    return my_habit == CALL_PATTERN_KEPT && their_habit == CALL_PATTERN_BROKEN ? -1 : CONFIDENCE_LOW;
}

static int add_mismatch(const struct absence *absence, int32_t at, int confidence, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *mine = &job->instances[operation->instance];
    const struct job_instance *theirs = &job->instances[absence->ranks[operation->rank].missing_from];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, operation->rank, theirs);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = (enum confidence)confidence;
    if (confidence == CONFIDENCE_LOW && finding_add_candidate(finding, operation->rank))
        return -1;
    const char *name = function_name(mine->function);
    return append_waiting(absence, absence->ranks[operation->rank].missing_from, finding) ||
           buffer_printf(&finding->evidence, ". Rank %s is waiting in %s #%lld on the same communicator",
                         job->ranks[operation->rank].name, name ? name : "another operation",
                         (long long)mine->sequence);
}

static int32_t first_member(const struct job *job, const struct job_instance *instance)
{
    return job->instance_members[instance->first_member];
}

int find_mismatches(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        int32_t other = absence->ranks[rank].missing_from;
        int32_t at =
            other < 0 ? -1 : first_pending(absence, (int32_t)rank, job->instances[other].communicator);
        if (at < 0)
            continue;
        const struct job_instance *mine = &job->instances[job->operations[at].instance];
        const struct job_instance *theirs = &job->instances[other];
        /* A rank that follows its call sequence waits there for another rank. */
        if (absence->call_sequence.ranks[rank].sequence_check == SEQUENCE_FOLLOWED)
            continue;
        int tie = mine->members == theirs->members;
        int confidence = confidence_in(
            (size_t)mine->members, (size_t)theirs->members,
            tie ? call_pattern_at(job, absence->positions, at) : CALL_PATTERN_UNKNOWN,
            tie ? call_pattern_at(job, absence->positions, first_member(job, theirs)) : CALL_PATTERN_UNKNOWN);
        if (confidence >= 0 && add_mismatch(absence, at, confidence, findings))
            return -1;
    }
    return 0;
}

/* The calls that ranks made under one sequence number. */
struct majority_vote {
    const struct job *job;
    const int32_t *positions; /* of the baseline, by operation */
    int32_t *calls;           /* owned: operations */
    int32_t *party;           /* owned, by call: the first call that is equal */
    int32_t *votes;           /* owned, by party: the number of its calls, stored at its first call */
    int32_t *firsts;          /* owned: the first call of each party */
    int32_t count;
    int32_t winner;       /* -1: no party has a majority */
    int decided_by_habit; /* no majority, but some parties made the call that is usual for them, some did not
                           */
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

static void count_votes(struct majority_vote *vote)
{
    int32_t most = 0, parties = 0;
    for (int32_t i = 0; i < vote->count; i++) {
        int32_t party = 0;
        while (party < parties && !is_like(vote->job, vote->calls[vote->firsts[party]], vote->calls[i]))
            party++;
        if (party == parties)
            vote->firsts[parties++] = i;
        vote->party[i] = vote->firsts[party];
        vote->votes[vote->party[i]]++;
    }
    vote->winner = -1;
    for (int32_t i = 0; i < vote->count; i++)
        if (vote->votes[i] > most) {
            most = vote->votes[i];
            vote->winner = i;
        }
    if (most * 2 <= vote->count)
        vote->winner = -1;
}

static enum call_pattern pattern_of(const struct majority_vote *vote, int32_t call)
{
    return call_pattern_at(vote->job, vote->positions, vote->calls[call]);
}

/* Whether all made the same call, with different sizes. */
static int differ_in_size(const struct majority_vote *vote)
{
    const struct job_operation *first = &vote->job->operations[vote->calls[0]];
    for (int32_t i = 1; i < vote->count; i++) {
        const struct job_operation *other = &vote->job->operations[vote->calls[i]];
        if (other->function != first->function || other->datatype != first->datatype)
            return 0;
    }
    return 1;
}

/*
 * Where no party has a majority: whether some ranks made the call that is usual for them and others did not.
 * Sizes change in many jobs, and the ranks that kept theirs may have missed that.
 */
static void weigh_habits(struct majority_vote *vote)
{
    int kept = 0, broken = 0;
    for (int32_t i = 0; vote->winner < 0 && !differ_in_size(vote) && i < vote->count; i++) {
        enum call_pattern pattern = pattern_of(vote, i);
        kept |= pattern == CALL_PATTERN_KEPT;
        broken |= pattern == CALL_PATTERN_BROKEN;
    }
    vote->decided_by_habit = kept && broken;
}

/* Whether a call is, or may be, the wrong one. */
static int is_accused(const struct majority_vote *vote, int32_t call)
{
    if (vote->winner >= 0)
        return vote->party[call] != vote->winner;
    return !vote->decided_by_habit || pattern_of(vote, call) == CALL_PATTERN_BROKEN;
}

/* The party that a call is compared with: the majority, or else the first other one. */
static int32_t other_party(const struct majority_vote *vote, int32_t call)
{
    if (vote->winner >= 0)
        return vote->winner;
    for (int32_t i = 0; i < vote->count; i++)
        if (vote->party[i] == i && i != vote->party[call] && !(vote->decided_by_habit && is_accused(vote, i)))
            return i;
    return call;
}

static int append_both(const struct majority_vote *vote, int32_t call, struct finding *finding)
{
    const struct job *job = vote->job;
    int32_t other = other_party(vote, call), others = vote->votes[other];
    int32_t rank = job->operations[vote->calls[call]].rank;
    return buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[rank].name) ||
                   append_call(job, vote->calls[call], &finding->evidence) ||
                   buffer_printf(&finding->evidence, "; %d other rank%s called ", others,
                                 others == 1 ? "" : "s") ||
                   append_call(job, vote->calls[other], &finding->evidence) ||
                   (vote->decided_by_habit && append_habit(&finding->evidence))
               ? -1
               : 0;
}

/*
 * Names the ranks of the other parties. Candidates of one party and step become one finding, so only the
 * first needs the names.
 */
static int name_others(const struct majority_vote *vote, int32_t call, struct finding *finding)
{
    const struct job *job = vote->job;
    int32_t first = vote->party[call];
    int32_t step = job->instances[job->operations[vote->calls[first]].instance].step;
    if (finding->candidate_count && call != first && finding->first_step == step)
        return 0;
    for (int32_t i = 0; i < vote->count; i++)
        if (vote->party[i] != first && finding_add_peer(finding, job->operations[vote->calls[i]].rank))
            return -1;
    return 0;
}

static int accuse(const struct majority_vote *vote, int32_t call, struct findings *findings)
{
    const struct job *job = vote->job;
    const struct job_operation *operation = &job->operations[vote->calls[call]];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, operation->rank,
                                              &job->instances[operation->instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->called = vote->calls[call];
    finding->confidence = vote->winner >= 0        ? CONFIDENCE_HIGH
                          : vote->decided_by_habit ? CONFIDENCE_MEDIUM
                                                   : CONFIDENCE_LOW;
    if (finding->confidence == CONFIDENCE_LOW && finding_add_candidate(finding, operation->rank))
        return -1;
    return name_others(vote, call, finding) || append_both(vote, call, finding) ? -1 : 0;
}

static int judge(struct majority_vote *vote, struct findings *findings)
{
    size_t before = findings->count, into = before;
    count_votes(vote);
    if (vote->count == 0 || vote->votes[0] == vote->count)
        return 0;
    weigh_habits(vote);
    for (int32_t i = 0; i < vote->count; i++)
        if (is_accused(vote, i) &&
            (accuse(vote, i, findings) || findings_unite_last(findings, before, &into)))
            return -1;
    return 0;
}

/* Collects what all members called under the number of an operation that a rank waits in. */
static void collect(const struct wait_graph *graph, int32_t operation, struct majority_vote *vote)
{
    const struct job *job = graph->job;
    const struct job_communicator *communicator =
        &job->communicators[job->operations[operation].communicator];
    vote->count = 0;
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        int32_t rank = communicator->member_list[i].rank;
        if (rank < 0)
            continue;
        struct call_at at = call_of(&graph->states, rank, operation);
        if (at.operation < 0)
            continue;
        vote->votes[vote->count] = 0;
        vote->calls[vote->count++] = at.operation;
    }
}

/* Whether a rank with a lower number waits in the same call, so that it has been examined. */
static int is_judged(const struct wait_graph *graph, size_t rank)
{
    return graph->calls[graph->waiters[rank].call].first_waiter != (int32_t)rank;
}

/*
 * A send and its receive with different sizes, neither of which ends: which of the two is wrong only their
 * earlier steps can show.
 */
static int judge_pair(const struct wait_graph *graph, int32_t send, struct majority_vote *vote,
                      struct findings *findings)
{
    int32_t peer;
    struct call_at receive = call_of_peer(&graph->states, send, &peer);
    if (receive.operation < 0)
        return 0;
    vote->calls[0] = send;
    vote->calls[1] = receive.operation;
    vote->votes[0] = vote->votes[1] = 0;
    vote->count = 2;
    return judge(vote, findings);
}

int find_call_mismatches(const struct wait_graph *graph, const int32_t *positions, struct findings *findings)
{
    const struct job *job = graph->job;
    size_t before = findings->count;
    struct majority_vote vote = {.job = job,
                                 .positions = positions,
                                 .calls = array_new(job->rank_count + 1, sizeof *vote.calls),
                                 .party = array_new(job->rank_count + 1, sizeof *vote.party),
                                 .votes = array_new(job->rank_count + 1, sizeof *vote.votes),
                                 .firsts = array_new(job->rank_count + 1, sizeof *vote.firsts)};
    int failed = !vote.calls || !vote.party || !vote.votes || !vote.firsts;
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        int32_t at = graph->waiters[i].operation;
        if (at < 0)
            continue;
        if (job->operations[at].function == FUNCTION_SEND)
            failed = judge_pair(graph, at, &vote, findings);
        if (job->operations[at].kind != OPERATION_COLLECTIVE || is_judged(graph, i))
            continue;
        collect(graph, at, &vote);
        failed = judge(&vote, findings);
    }
    free(vote.calls);
    free(vote.party);
    free(vote.votes);
    free(vote.firsts);
    return failed ? -1 : findings_unite_candidates(findings, before);
}

/*
 * A rank that called something else than its call sequence has next, or left a call out, and whose call never
 * ended, or which others wait for in the call it left out. If the job as a whole does something new, no rank
 * has left its sequence: as many ranks must follow theirs as have left, or more.
 */

/* Whether some rank waits in a call of this kind that the rank never made. */
static int is_missed(const struct absence *absence, int32_t rank)
{
    return absence->ranks[rank].missing_from >= 0;
}

int departs_and_waits(const struct absence *absence, int32_t rank)
{
    const struct sequence_check_of_rank *sequence_check = &absence->call_sequence.ranks[rank];
    return sequence_check->sequence_check == SEQUENCE_LEFT &&
           (!operation_progress_is_over(&absence->operation_progress, sequence_check->departs_at) ||
            is_missed(absence, rank));
}

static int name_waiting(const struct absence *absence, int32_t rank, const struct job_instance *instance,
                        struct finding *finding)
{
    const struct job *job = absence->job;
    if (is_missed(absence, rank))
        instance = &job->instances[absence->ranks[rank].missing_from];
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (job->operations[at].rank != rank &&
            !operation_progress_is_over(&absence->operation_progress, at) &&
            finding_add_peer(finding, job->operations[at].rank))
            return -1;
    }
    return 0;
}

static int departure_append_call(const struct job *job, int32_t at, struct buffer *text)
{
    const struct job_operation *operation = &job->operations[at];
    struct job_instance of_any_number = job->instances[operation->instance];
    of_any_number.sequence = -1;
    if (text_operation(text, job, &of_any_number, operation->function))
        return -1;
    if (operation->bytes >= 0 && buffer_printf(text, " (%lld bytes)", (long long)operation->bytes))
        return -1;
    return 0;
}

static int add_departure(const struct absence *absence, int32_t rank, struct sequence_counts counts,
                         struct findings *findings)
{
    const struct job *job = absence->job;
    const struct sequence_check_of_rank *sequence_check = &absence->call_sequence.ranks[rank];
    const struct job_instance *instance =
        &job->instances[job->operations[sequence_check->departs_at].instance];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, rank, instance);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = counts.kept > counts.left ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    figures_add(&finding->figures, "kept_ranks", (double)counts.kept);
    if (name_waiting(absence, rank, instance, finding) ||
        buffer_printf(&finding->evidence, "Rank %s called ", job->ranks[rank].name) ||
        departure_append_call(job, sequence_check->departs_at, &finding->evidence) ||
        buffer_append_text(&finding->evidence, "; in earlier steps it called ") ||
        departure_append_call(job, sequence_check->expected, &finding->evidence))
        return -1;
    return buffer_printf(&finding->evidence, " at this point. %d other rank%s repeated %s earlier steps",
                         (int)counts.kept, counts.kept == 1 ? "" : "s", counts.kept == 1 ? "its" : "their");
}

int find_departures(const struct absence *absence, size_t from, struct findings *findings)
{
    struct sequence_counts counts = absence->sequence_counts;
    int is_first = 1;
    if (!absence->is_stuck || counts.left > counts.kept)
        return 0;
    for (int32_t rank = 0; rank < (int32_t)absence->job->rank_count; rank++) {
        if (!departs_and_waits(absence, rank))
            continue;
        if (is_first)
            findings_remove_low(findings, from);
        is_first = 0;
        if (add_departure(absence, rank, counts, findings))
            return -1;
    }
    return 0;
}

/* Whether an operation that a rank called after it left its sequence never ended. */
static int waits_since(const struct absence *absence, int32_t rank)
{
    const struct sequence_check_of_rank *sequence_check = &absence->call_sequence.ranks[rank];
    if (sequence_check->sequence_check != SEQUENCE_LEFT)
        return 0;
    for (int32_t at = sequence_check->departs_at; at < sequence_check->first + sequence_check->called; at++)
        if (operation_progress_is_held(&absence->operation_progress, at))
            return 1;
    return 0;
}

int find_earlier_departures(const struct absence *absence, struct findings *findings)
{
    struct sequence_counts counts = absence->sequence_counts;
    if (!counts.kept || counts.left > counts.kept)
        return 0;
    counts.left = counts.kept; /* medium: it may be intended */
    for (int32_t rank = 0; rank < (int32_t)absence->job->rank_count; rank++)
        if (waits_since(absence, rank) && add_departure(absence, rank, counts, findings))
            return -1;
    return 0;
}

/* The only rank with a record, in a job of several ranks; -1: there are more, or none. */
static int32_t only_recorded(const struct job *job)
{
    int32_t only = -1;
    if (job->expected_ranks < 2 || job_recorded_ranks(job) != 1)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count)
            only = (int32_t)i;
    return only;
}

/* Whether every operation that the rank called since its last complete step is known to have ended. */
static int has_finished_all(const struct absence *absence, int32_t rank)
{
    const struct sequence_check_of_rank *sequence_check = &absence->call_sequence.ranks[rank];
    for (int32_t at = sequence_check->first; at < sequence_check->first + sequence_check->called; at++)
        if (!operation_progress_is_over(&absence->operation_progress, at))
            return 0;
    return 1;
}

static int add_finding(const struct absence *absence, int32_t rank, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct sequence_check_of_rank *sequence_check = &absence->call_sequence.ranks[rank];
    int32_t last = sequence_check->first + sequence_check->called - 1;
    struct finding *finding = findings_add_at(findings, job, FINDING_ENDED_EARLY, rank,
                                              &job->instances[job->operations[last].instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = CONFIDENCE_MEDIUM;
    figures_add(&finding->figures, "call", sequence_check->followed % sequence_check->length);
    figures_add(&finding->figures, "calls", sequence_check->length);
    return buffer_printf(
        &finding->evidence,
        "The trace of this rank ends after operation %d of %d in a step, with no unfinished operation. It is "
        "not waiting, and the other ranks cannot finish the step without it. The other ranks left no trace",
        (int)(sequence_check->followed % sequence_check->length), (int)sequence_check->length);
}

int find_left_loop(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    int32_t rank = only_recorded(job);
    if (rank < 0 || job->finished_only || job->common_cut || job->ranks[rank].cut != CUT_NONE ||
        absence->pieces > 1 || !call_sequence_is_midway(&absence->call_sequence, rank) ||
        !has_finished_all(absence, rank))
        return 0;
    return add_finding(absence, rank, findings);
}
