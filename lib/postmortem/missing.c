#include "postmortem/missing.h"

#include "base/array.h"
#include "postmortem/divergence.h"
#include "postmortem/mismatch.h"
#include "postmortem/never_started.h"
#include "postmortem/pending.h"
#include "postmortem/progress.h"
#include "verdict/words.h"

#include <stdlib.h>

/*
 * Jobs that never finish. An operation is pending when not all of its members began it and none of those who
 * did got past it. Who is absent from a pending operation and not itself waiting in another one is at fault;
 * who waits never is. Where everybody waits, two sides called different operations. What was called
 * differently otherwise is told by mismatch.c.
 */

/* Of several runs of which one rank is known each, all may be one job whose other files were lost. */
static int is_piece(const struct absence *absence)
{
    return absence->pieces > 1 && job_recorded_ranks(absence->job) == 1;
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

/* By instance, whether somebody is held up in it; by communicator, the first step in which that is so. */
static void note_held(const struct absence *absence, unsigned char *held, int32_t *first_step)
{
    for (size_t i = 0; i < absence->job->communicator_count; i++)
        first_step[i] = INT32_MAX;
    for (size_t i = 0; i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        if (!passing_is_held(&absence->passing, (int32_t)i))
            continue;
        held[operation->instance] = 1;
        if (operation->step >= 0 && operation->step < first_step[operation->communicator])
            first_step[operation->communicator] = operation->step;
    }
}

/*
 * By instance, whether it did not go well: somebody is held up in it, or in another of the same step and
 * communicator, to which it may have led. NULL: no memory.
 */
static unsigned char *list_stuck(const struct absence *absence)
{
    const struct job *job = absence->job;
    unsigned char *stuck = array_new(job->instance_count, 1);
    int32_t *first_step = array_new(job->communicator_count, sizeof *first_step);
    if (stuck && first_step) {
        note_held(absence, stuck, first_step);
        for (size_t i = 0; i < job->instance_count; i++)
            stuck[i] |= job->instances[i].step == first_step[job->instances[i].communicator];
    } else {
        free(stuck);
        stuck = NULL;
    }
    free(first_step);
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
    int failed = !stuck || find_disagreements(job, absence->positions, stuck, findings);
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

int find_absence(const struct job *job, const int32_t *positions, const struct extents *extents,
                 const struct diagnose_options *options, struct findings *findings, struct error *error)
{
    struct absence absence = {
        .job = job, .positions = positions, .extents = extents, .pieces = options->pieces};
    int failed = absence_init(&absence);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        if (is_pending(&absence, &job->instances[i], 0))
            note_pending(&absence, (int32_t)i);
        note_waiting(&absence, &job->instances[i]);
    }
    failed = failed || judge(&absence, findings);
    absence_release(&absence);
    return failed ? error_no_memory(error) : 0;
}
