#include "postmortem/missing.h"

#include "base/array.h"
#include "job/membership.h"
#include "job/record_extents.h"
#include "postmortem/habit.h"
#include "postmortem/mismatch.h"
#include "postmortem/never_started.h"
#include "postmortem/progress.h"
#include "verdict/words.h"

#include <stdlib.h>

/*
 * Jobs that never finish. An operation is pending when not all of its members began it and none of those who
 * did got past it. Who is absent from a pending operation and not itself waiting in another one is at fault;
 * who waits never is. Where everybody waits, two sides called different operations. What was called
 * differently otherwise is told by mismatch.c.
 */

/* Where a rank is, and where it is not. */
struct attendance {
    int32_t missing_from; /* the first pending instance that it is missing from; -1 */
    int32_t place;        /* of that, in its step */
    int32_t came_to;      /* the last pending instance looked at that it is a member of; -1 */
    int is_waiting;       /* in a pending operation */
    int is_lost;          /* its record ends before what others got past with it */
};

struct absence {
    int64_t pieces; /* of the store, see job_count_pieces */
    const struct job *job;
    const struct extents *extents;
    unsigned char *pending; /* per instance */
    struct attendance *ranks;
    struct passing passing;
    int32_t last_step;   /* of all operations */
    int is_sure;         /* that the instance looked at is pending */
    size_t silent_count; /* ranks that left no trace, or lost what they did last */
    size_t lost_count;   /* the latter of those */
    size_t absent_count; /* others that are merely absent */
};

/*
 * Where nobody can be done before all have come, an end beside others that never came is no end: the leaf of
 * a tree has its stop once it has passed on what it had. To be sure, who lacks an end as always is past it.
 */
static int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure)
{
    const struct job *job = absence->job;
    int32_t past = 0;
    if (instance->members >= instance->expected)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        if (to_be_sure ? passing_is_held(&absence->passing, at) : !passing_is_past(&absence->passing, at))
            continue;
        if (job->finished_only || passing_next_began(&absence->passing, at) ||
            !function_is_full_exchange(instance->function))
            return 0;
        past++;
    }
    return past < instance->members;
}

/* A rank that went on to later operations of the sequence only lost the record of this one. */
static int went_past(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    const int64_t *last = extents_last(absence->extents, rank, instance->communicator, instance->function);
    return instance->function != FUNCTION_SEND && last && *last > instance->sequence;
}

/* Where a rank stopped of which others got past more than is recorded is not known. */
static int is_record_lost(const struct absence *absence, const struct job_instance *instance, int32_t rank)
{
    return instance->function != FUNCTION_SEND &&
           extents_lack(absence->extents, rank, instance->communicator, instance->function);
}

static int32_t place_of(const struct job *job, const struct job_instance *instance)
{
    int32_t least = INT32_MAX;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t position = job_member(job, instance, i)->position;
        if (position >= 0 && position < least)
            least = position;
    }
    return least;
}

/*
 * Of the pending operations that a rank is missing from, the one that came first in its step is kept. One
 * that left no trace, or none of the last, may have lost it: it takes an operation that is pending for sure.
 */
static void note_absent(struct absence *absence, int32_t number, int32_t place, int32_t rank)
{
    const struct job_instance *instance = &absence->job->instances[number];
    struct attendance *of = rank < 0 ? NULL : &absence->ranks[rank];
    if (!of || of->came_to == number || went_past(absence, instance, rank))
        return;
    int is_lost = is_record_lost(absence, instance, rank);
    if ((is_lost || absence->job->ranks[rank].count == 0) && !absence->is_sure)
        return;
    int32_t step = of->missing_from < 0 ? INT32_MAX : absence->job->instances[of->missing_from].step;
    if (of->missing_from >= 0 && (instance->step > step || (instance->step == step && place >= of->place)))
        return;
    of->missing_from = number;
    of->place = place;
    of->is_lost = is_lost;
}

static void note_pending(struct absence *absence, int32_t number)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    int32_t place = place_of(job, instance);
    absence->pending[number] = 1;
    absence->is_sure = is_pending(absence, instance, 1);
    for (int32_t i = 0; i < instance->members; i++) {
        struct attendance *of = &absence->ranks[job_member(job, instance, i)->rank];
        of->is_waiting = 1;
        of->came_to = number;
    }
    if (instance->function == FUNCTION_SEND) {
        note_absent(absence, number, place, instance->sender);
        note_absent(absence, number, place, instance->receiver);
        return;
    }
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    for (size_t i = 0; i < communicator->seat_count; i++)
        note_absent(absence, number, place, communicator->seats[i].rank);
    for (size_t i = 0; communicator->is_whole && i < job->rank_count; i++)
        if (job_rank_in(job, instance->communicator, job->ranks[i].global_rank) == (int32_t)i)
            note_absent(absence, number, place, (int32_t)i);
    note_absent(absence, number, place, communicator->silent);
}

/* Of several runs of which one rank is known each, all may be one job whose other files were lost. */
static int is_piece(const struct absence *absence)
{
    return absence->pieces > 1 && job_recorded_ranks(absence->job) == 1;
}

static int say_waiting(const struct absence *absence, int32_t number, struct finding *finding)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[number];
    for (int32_t i = 0; i < instance->members; i++)
        if (finding_add_peer(finding, job_member(job, instance, i)->rank))
            return -1;
    return text_operation(&finding->evidence, job, instance, instance->function) ||
                   buffer_printf(&finding->evidence, " was begun by %d of %d ranks and never ended",
                                 instance->members, instance->expected)
               ? -1
               : 0;
}

static int say_last(const struct job *job, int32_t rank, int is_lost, struct finding *finding)
{
    if (!job->ranks[rank].count)
        return buffer_append_text(&finding->evidence, "; nothing is recorded of this rank");
    const struct job_operation *last = &job->operations[job->ranks[rank].first + job->ranks[rank].count - 1];
    const char *tag = job_tag(job, last->tag);
    if (buffer_append_text(&finding->evidence, is_lost ? "; the last that is recorded of this rank was "
                                                       : "; the last that this rank began was ") ||
        text_operation(&finding->evidence, job, &job->instances[last->instance], last->function))
        return -1;
    return tag ? buffer_printf(&finding->evidence, ", phase %s", tag) : 0;
}

static int is_silent(const struct absence *absence, size_t rank)
{
    return absence->job->ranks[rank].count == 0 || absence->ranks[rank].is_lost;
}

static int is_merely_absent(const struct absence *absence, size_t rank)
{
    return absence->ranks[rank].missing_from >= 0 && !absence->ranks[rank].is_waiting;
}

static void count_absent(struct absence *absence)
{
    absence->silent_count = job_silent_ranks(absence->job);
    for (size_t i = 0; i < absence->job->rank_count; i++) {
        if (!is_merely_absent(absence, i) || absence->job->ranks[i].count == 0)
            continue;
        if (is_silent(absence, i))
            absence->lost_count++;
        else
            absence->absent_count++;
    }
    absence->silent_count += absence->lost_count;
}

/* So many steps others may be ahead of what never ends: hosts enqueue before GPUs get there. */
enum { STEPS_AHEAD = 2 };

/*
 * Whether the files may have been cut, each somewhere, rather than the job have stopped: most end midway; or
 * without their end, while several ranks are absent at once, or others had gone on for steps.
 */
static int is_torn(const struct absence *absence, const struct job_instance *instance)
{
    if (absence->job->most_cut != CUT_AT_END)
        return absence->job->most_cut == CUT_MIDWAY;
    return absence->absent_count + absence->lost_count > 1 ||
           absence->last_step > (int64_t)instance->step + STEPS_AHEAD;
}

/*
 * Where ranks of one process cannot be told apart, what is absent may be the same that waits as another one:
 * unless nobody else is missing from an operation of all, since then all others wait.
 */
static int may_wait_as_another(const struct absence *absence, int32_t rank)
{
    const struct job *job = absence->job;
    const struct job_rank *of = &job->ranks[rank];
    const struct job_instance *instance = &job->instances[absence->ranks[rank].missing_from];
    int is_only_one =
        instance->members + 1 == instance->expected && instance->expected == job->expected_ranks;
    for (size_t i = 0; of->is_part && !is_only_one && i < job->rank_count; i++)
        if (job->ranks[i].process_id == of->process_id && absence->ranks[i].is_waiting)
            return 1;
    return 0;
}

static int add_finding(const struct absence *absence, int32_t rank, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct job_instance *instance = &job->instances[absence->ranks[rank].missing_from];
    int silent = is_silent(absence, (size_t)rank);
    struct finding *finding = findings_add_at(
        findings, silent || job->ranks[rank].cut ? FINDING_ENDED_EARLY : FINDING_MISSING, rank, instance);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    int is_unsure =
        (silent && (absence->silent_count > 1 || is_piece(absence) || absence->absent_count > 0)) ||
        (job->ranks[rank].count && is_torn(absence, instance)) || may_wait_as_another(absence, rank);
    finding->confidence = is_unsure ? CONFIDENCE_LOW : CONFIDENCE_HIGH;
    return say_waiting(absence, absence->ranks[rank].missing_from, finding) ||
           say_last(job, rank, absence->ranks[rank].is_lost, finding);
}

/* The first pending operation of a rank on a communicator; -1. */
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
 * Of two sides, who is to blame for not calling the same: the smaller one; of two equal ones the one that
 * called something else than it is used to, when the other did not. -1: not `mine`; where nobody can say,
 * both with low confidence.
 */
static int confidence_in(size_t mine, size_t theirs, enum habit my_habit, enum habit their_habit)
{
    if (mine != theirs)
        return mine < theirs ? CONFIDENCE_HIGH : -1;
    if (my_habit == HABIT_BROKEN && their_habit == HABIT_KEPT)
        return CONFIDENCE_MEDIUM;
    return my_habit == HABIT_KEPT && their_habit == HABIT_BROKEN ? -1 : CONFIDENCE_LOW;
}

static int add_mismatch(const struct absence *absence, int32_t at, int confidence, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *mine = &job->instances[operation->instance];
    const struct job_instance *theirs = &job->instances[absence->ranks[operation->rank].missing_from];
    struct finding *finding = findings_add_at(findings, FINDING_MISMATCH, operation->rank, theirs);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = (enum confidence)confidence;
    const char *name = function_name(mine->function);
    return say_waiting(absence, absence->ranks[operation->rank].missing_from, finding) ||
           buffer_printf(&finding->evidence, "; this rank waits in %s number %lld of the same communicator",
                         name ? name : "another operation", (long long)mine->sequence);
}

static int32_t first_member(const struct job *job, const struct job_instance *instance)
{
    return job->instance_members[instance->first_member];
}

/* Nobody is merely absent: on one communicator, some wait in one operation and some in another. */
static int find_mismatches(const struct absence *absence, struct findings *findings)
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
        int tie = mine->members == theirs->members;
        int confidence = confidence_in((size_t)mine->members, (size_t)theirs->members,
                                       tie ? habit_at(job, at) : HABIT_UNKNOWN,
                                       tie ? habit_at(job, first_member(job, theirs)) : HABIT_UNKNOWN);
        if (confidence >= 0 && add_mismatch(absence, at, confidence, findings))
            return -1;
    }
    return 0;
}

/* By instance, whether somebody is held up in it: it did not go well. NULL: no memory. */
static unsigned char *list_stuck(const struct absence *absence)
{
    const struct job *job = absence->job;
    unsigned char *stuck = array_new(job->instance_count, 1);
    for (size_t i = 0; stuck && i < job->operation_count; i++)
        if (passing_is_held(&absence->passing, (int32_t)i))
            stuck[job->operations[i].instance] = 1;
    return stuck;
}

static int judge(struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    size_t before = findings->count;
    count_absent(absence);
    for (size_t i = 0; i < job->rank_count; i++)
        if (is_merely_absent(absence, i) && add_finding(absence, (int32_t)i, findings))
            return -1;
    if (findings->count == before && find_mismatches(absence, findings))
        return -1;
    unsigned char *stuck = list_stuck(absence);
    int failed = !stuck || find_disagreements(job, stuck, findings);
    free(stuck);
    return failed || (!findings_stop_job(findings) && find_frozen(&absence->passing, findings));
}

static int absence_init(struct absence *absence)
{
    const struct job *job = absence->job;
    absence->pending = array_new(job->instance_count, 1);
    absence->ranks = array_new(job->rank_count, sizeof *absence->ranks);
    if (passing_init(&absence->passing, job) || !absence->pending || !absence->ranks)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        absence->ranks[i].missing_from = absence->ranks[i].came_to = -1;
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].step > absence->last_step)
            absence->last_step = job->operations[i].step;
    return 0;
}

static void absence_release(struct absence *absence)
{
    passing_release(&absence->passing);
    free(absence->pending);
    free(absence->ranks);
}

int find_absence(const struct job *job, const struct extents *extents, const struct diagnose_options *options,
                 struct findings *findings, struct error *error)
{
    struct absence absence = {.job = job, .extents = extents, .pieces = options->pieces};
    int failed = absence_init(&absence);
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        if (is_pending(&absence, &job->instances[i], 0))
            note_pending(&absence, (int32_t)i);
    failed = failed || judge(&absence, findings);
    absence_release(&absence);
    return failed ? error_no_memory(error) : 0;
}
