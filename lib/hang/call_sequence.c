/*
 * The call sequence of each rank: which calls recur in each step, whether the rank's latest calls follow
 * them, and what it would call next.
 */
#include "base/base.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* This many steps before the last are searched for two with the same calls. */
enum { LOOK_BACK = 8 };

/* What a rank called in one step: the operations from `first` up to `end`, exclusive. */
struct call_sequence_stretch {
    int32_t first;
    int32_t end;
};

static int32_t partner_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    return function_is_point_to_point(operation->function)
               ? (operation->rank == instance->sender ? instance->receiver : instance->sender)
               : -1;
}

/*
 * The same function on the same communicator with the same peer. Sizes may depend on data and are not
 * compared.
 */
static int is_same_call(const struct job *job, int32_t one, int32_t other)
{
    const struct job_operation *a = &job->operations[one], *b = &job->operations[other];
    return a->function == b->function && a->communicator == b->communicator &&
           partner_of(job, a) == partner_of(job, b);
}

/*
 * Whether a value differs from the one that two repeated steps have in common, as far as all three are known.
 */
static int is_another(int64_t here, int64_t usual, int64_t same_usual)
{
    return here >= 0 && usual >= 0 && usual == same_usual && here != usual;
}

static int64_t datatype_of(const struct job_operation *operation)
{
    return datatype_name(operation->datatype) ? (int64_t)operation->datatype : -1;
}

static int has_same_terms(const struct job *job, int32_t at, int32_t usual, int32_t same_usual)
{
    const struct job_operation *here = &job->operations[at], *a = &job->operations[usual],
                               *b = &job->operations[same_usual];
    return !is_another(here->bytes, a->bytes, b->bytes) &&
           !is_another(datatype_of(here), datatype_of(a), datatype_of(b)) &&
           !is_another(here->root, a->root, b->root);
}

static int are_alike(const struct job *job, struct call_sequence_stretch a, struct call_sequence_stretch b)
{
    if (a.end - a.first != b.end - b.first)
        return 0;
    for (int32_t i = 0; i < a.end - a.first; i++)
        if (!is_same_call(job, a.first + i, b.first + i))
            return 0;
    return 1;
}

/* The step that ends before `end`; empty where there is none. */
static struct call_sequence_stretch stretch_before(const struct job *job, const struct job_rank *rank,
                                                   int32_t end)
{
    struct call_sequence_stretch stretch = {end, end};
    int32_t first = (int32_t)rank->first;
    while (stretch.first > first && job->operations[stretch.first - 1].step >= 0 &&
           job->operations[stretch.first - 1].step == job->operations[end - 1].step)
        stretch.first--;
    return stretch;
}

static int32_t first_after_whole_steps(const struct job *job, const struct job_rank *rank,
                                       int32_t first_stuck)
{
    int32_t at = (int32_t)(rank->first + rank->count);
    while (at > (int32_t)rank->first &&
           (job->operations[at - 1].step < 0 || job->operations[at - 1].step >= first_stuck))
        at--;
    return at;
}

/*
 * Finds the latest step that has the same calls as one before it. A single step may be warm-up, or anything
 * else.
 */
static void find_usual(const struct job *job, const struct job_rank *rank,
                       struct sequence_check_of_rank *sequence_check)
{
    struct call_sequence_stretch steps[LOOK_BACK];
    int32_t count = 0;
    for (int32_t end = sequence_check->first; count < LOOK_BACK; count++) {
        steps[count] = stretch_before(job, rank, end);
        if (steps[count].first == steps[count].end)
            break;
        end = steps[count].first;
    }
    int32_t usual = -1, same = 0;
    for (int32_t i = 0; usual < 0 && i < count; i++)
        for (int32_t j = i + 1; usual < 0 && j < count; j++)
            if (are_alike(job, steps[i], steps[j])) {
                usual = i;
                same = j;
            }
    if (usual < 0)
        return;
    sequence_check->usual = steps[usual].first;
    sequence_check->length = steps[usual].end - steps[usual].first;
    sequence_check->same_usual = steps[same].first;
}

/*
 * Whether a record was lost before a collective: it does not have the next number of its sequence on this
 * rank.
 */
static int follows_a_gap(const struct job *job, const struct job_rank *rank, int32_t at)
{
    const struct job_operation *here = &job->operations[at];
    if (function_is_point_to_point(here->function))
        return 0;
    for (int32_t before = at - 1; before >= (int32_t)rank->first; before--)
        if (job->operations[before].communicator == here->communicator &&
            job->operations[before].function == here->function)
            return job_sequence(job, here) != job_sequence(job, &job->operations[before]) + 1;
    return 0;
}

/* Whether calls may be missing from the record: files are cut or events were dropped. */
static int may_lack_records(const struct job *job, const struct job_rank *rank)
{
    return job->finished_only || job->lost_events || job->common_cut == CUT_IN_OPERATION ||
           rank->cut != CUT_NONE || rank->is_part;
}

/* Whether a call is outside the sequence and finished: its usual step contains no call like it. */
static int is_aside(const struct job *job, const struct sequence_check_of_rank *sequence_check, int32_t at)
{
    const struct job_operation *operation = &job->operations[at];
    if (operation->end_ns == TIME_UNKNOWN || operation->unfinished)
        return 0;
    for (int32_t i = 0; i < sequence_check->length; i++)
        if (is_same_call(job, at, sequence_check->usual + i))
            return 0;
    return 1;
}

static void follow(const struct job *job, const struct job_rank *rank,
                   struct sequence_check_of_rank *sequence_check)
{
    if (!sequence_check->length || may_lack_records(job, rank))
        return;
    sequence_check->sequence_check = SEQUENCE_FOLLOWED;
    for (int32_t at = sequence_check->first; at < sequence_check->first + sequence_check->called; at++) {
        int32_t place = sequence_check->followed % sequence_check->length;
        int32_t usual = sequence_check->usual + place, same = sequence_check->same_usual + place;
        if (is_same_call(job, at, usual) && has_same_terms(job, at, usual, same)) {
            if (job->operations[usual].bytes < 0)
                sequence_check->sequence_check = SEQUENCE_UNKNOWN;
            sequence_check->followed++;
        } else if (!is_aside(job, sequence_check, at)) {
            sequence_check->sequence_check = follows_a_gap(job, rank, at) ? SEQUENCE_UNKNOWN : SEQUENCE_LEFT;
            sequence_check->departs_at = at;
            sequence_check->expected = usual;
            return;
        }
    }
}

int call_sequence_init(struct call_sequence *sequence, const struct job *job, int32_t first_stuck)
{
    *sequence =
        (struct call_sequence){.job = job, .ranks = array_new(job->rank_count, sizeof *sequence->ranks)};
    for (size_t i = 0; sequence->ranks && i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        struct sequence_check_of_rank *sequence_check = &sequence->ranks[i];
        *sequence_check = (struct sequence_check_of_rank){.departs_at = -1, .expected = -1};
        sequence_check->first = first_after_whole_steps(job, rank, first_stuck);
        sequence_check->called = (int32_t)(rank->first + rank->count) - sequence_check->first;
        find_usual(job, rank, sequence_check);
        follow(job, rank, sequence_check);
    }
    return sequence->ranks ? 0 : -1;
}

void call_sequence_release(struct call_sequence *sequence)
{
    free(sequence->ranks);
}

struct sequence_counts call_sequence_count(const struct call_sequence *sequence)
{
    struct sequence_counts counts = {0, 0};
    for (size_t i = 0; i < sequence->job->rank_count; i++) {
        counts.kept += sequence->ranks[i].sequence_check == SEQUENCE_FOLLOWED;
        counts.left += sequence->ranks[i].sequence_check == SEQUENCE_LEFT;
    }
    return counts;
}

int call_sequence_is_midway(const struct call_sequence *sequence, int32_t rank)
{
    const struct job *job = sequence->job;
    const struct sequence_check_of_rank *sequence_check = &sequence->ranks[rank];
    int32_t first = (int32_t)job->ranks[rank].first;
    if (sequence_check->sequence_check != SEQUENCE_FOLLOWED ||
        sequence_check->followed % sequence_check->length == 0)
        return 0;
    return first + sequence_check->length <= sequence_check->first &&
           are_alike(job, (struct call_sequence_stretch){first, first + sequence_check->length},
                     (struct call_sequence_stretch){sequence_check->usual,
                                                    sequence_check->usual + sequence_check->length});
}

enum { CALL_PATTERN_LOOK_BACK = 16384 }; /* operations; a bound that no trace can exceed */

static int habit_is_same_call(const struct job_operation *a, const struct job_operation *b)
{
    return a->function == b->function && a->bytes == b->bytes;
}

static int is_same_place(const struct job *job, const int32_t *positions, size_t a, size_t b)
{
    return positions[a] >= 0 && positions[b] >= 0
               ? positions[a] == positions[b]
               : habit_is_same_call(&job->operations[a], &job->operations[b]);
}

enum call_pattern call_pattern_at(const struct job *job, const int32_t *positions, int32_t operation)
{
    const struct job_operation *call = &job->operations[operation], *next = NULL;
    size_t first = job->ranks[call->rank].first, at = (size_t)operation, before = at;
    int kept = 0, broken = 0;
    if (at - first > CALL_PATTERN_LOOK_BACK)
        first = at - CALL_PATTERN_LOOK_BACK;
    while (at-- > first) {
        const struct job_operation *here = &job->operations[at];
        if (here->communicator != call->communicator)
            continue;
        if (!next) {
            before = at;
        } else if (is_same_place(job, positions, at, before)) {
            kept += habit_is_same_call(next, call);
            broken += !habit_is_same_call(next, call);
        }
        next = here;
    }
    return kept > broken ? CALL_PATTERN_KEPT : broken > kept ? CALL_PATTERN_BROKEN : CALL_PATTERN_UNKNOWN;
}

/* At most this many calls are compared: more than a micro-batch or a layer has. */
enum { CONTEXT_CALLS = 32 };

static int usual_next_are_alike(const struct job *job, int32_t one, int32_t other)
{
    const struct job_operation *a = &job->operations[one], *b = &job->operations[other];
    return a->communicator == b->communicator && a->function == b->function && a->bytes == b->bytes &&
           job->calls[one].peer == job->calls[other].peer &&
           (!job->sources || job->sources[one] == job->sources[other]);
}

/* The number of calls up to `at` that equal the rank's last calls. */
static int32_t count_alike(const struct job *job, int32_t first, int32_t at, int32_t last)
{
    int32_t count = 0;
    while (count < CONTEXT_CALLS && at - count >= first &&
           usual_next_are_alike(job, at - count, last - count))
        count++;
    return count;
}

int32_t usual_next(const struct job *job, int32_t rank)
{
    int32_t first = (int32_t)job->ranks[rank].first, last = first + (int32_t)job->ranks[rank].count - 1;
    int32_t best = 0, next = -1;
    for (int32_t at = last - 1; at >= first && best < CONTEXT_CALLS; at--) {
        int32_t count = count_alike(job, first, at, last);
        if (count <= best)
            continue;
        best = count;
        next = at + 1;
    }
    return next;
}
