#include "postmortem/never_started.h"

#include "base/array.h"
#include "postmortem/patience.h"
#include "postmortem/progress.h"
#include "verdict/words.h"

#include <stdlib.h>

/*
 * GPUs that never got to an operation that their host had called: others began it and wait. Who waits in
 * another one is held up by somebody else; who waits in none is busy with something that no trace shows, or
 * hangs there.
 */

struct frozen {
    const struct job *job;
    const struct passing *passing;
    unsigned char *waits;  /* by rank: in an operation that it began */
    int32_t *missing_from; /* by rank: the first operation that others wait in and it has not begun; -1 */
    int32_t *started;      /* by instance: members that began it and wait */
};

static int began(const struct job_operation *operation)
{
    return operation->start_ns != TIME_UNKNOWN;
}

static void note_waiting(struct frozen *frozen)
{
    for (size_t i = 0; i < frozen->job->operation_count; i++) {
        const struct job_operation *operation = &frozen->job->operations[i];
        if (passing_waits(frozen->passing, (int32_t)i)) {
            frozen->waits[operation->rank] = 1;
            frozen->started[operation->instance]++;
        }
    }
}

/* Operations of a rank are in order of issue: the first is kept. Returns how many ranks there are. */
static size_t note_absent(struct frozen *frozen)
{
    size_t count = 0;
    for (size_t i = 0; i < frozen->job->operation_count; i++) {
        const struct job_operation *operation = &frozen->job->operations[i];
        int32_t *missing_from = &frozen->missing_from[operation->rank];
        /* Whose recorder stopped, may have begun it since. */
        int is_unknown = frozen->job->ranks[operation->rank].cut == CUT_STOPPED;
        if (is_unknown || frozen->waits[operation->rank] || *missing_from >= 0 ||
            !frozen->started[operation->instance] || !passing_never_began(frozen->passing, (int32_t)i))
            continue;
        *missing_from = (int32_t)i;
        count++;
    }
    return count;
}

/* The last operation before it that its rank's GPU began; -1. */
static int32_t last_begun(const struct job *job, int32_t at)
{
    size_t first = job->ranks[job->operations[at].rank].first;
    while (at-- > (int32_t)first)
        if (began(&job->operations[at]))
            return at;
    return -1;
}

static int name_waiting(const struct frozen *frozen, const struct job_instance *instance,
                        struct finding *finding)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (passing_waits(frozen->passing, job_member_at(frozen->job, instance, i)) &&
            finding_add_peer(finding, job_member(frozen->job, instance, i)->rank))
            return -1;
    return 0;
}

static int say(const struct frozen *frozen, int32_t at, struct finding *finding)
{
    const struct job *job = frozen->job;
    const struct job_instance *instance = &job->instances[job->operations[at].instance];
    int32_t last = last_begun(job, at);
    figures_add(&finding->figures, "begun_ranks", frozen->started[job->operations[at].instance]);
    figures_add(&finding->figures, "expected_ranks", instance->expected);
    if (buffer_printf(&finding->evidence, "The GPUs of %d of %d ranks started ",
                      frozen->started[job->operations[at].instance], instance->expected) ||
        text_operation(&finding->evidence, job, instance, instance->function) ||
        buffer_printf(&finding->evidence,
                      ", and it never finished. Rank %s called it, but its GPU never started it",
                      job->ranks[job->operations[at].rank].name))
        return -1;
    if (last < 0)
        return 0;
    return buffer_append_text(&finding->evidence, ". The last operation that this GPU started is ") ||
           text_operation(&finding->evidence, job, &job->instances[job->operations[last].instance],
                          job->operations[last].function);
}

/*
 * Of several at once, some may wait for another one in what no trace shows: they are told as one.
 */
static int add_finding(const struct frozen *frozen, int32_t at, size_t count, struct findings *findings)
{
    const struct job *job = frozen->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *instance = &job->instances[operation->instance];
    const struct job_rank *rank = &job->ranks[operation->rank];
    struct finding *finding = findings_add_at(
        findings, job, rank->cut ? FINDING_ENDED_EARLY : FINDING_MISSING, operation->rank, instance);
    if (!finding)
        return -1;
    int is_unsure = count > 1 || job->most_cut || job->lost_events || rank->is_part;
    finding->confidence = is_unsure ? CONFIDENCE_LOW : CONFIDENCE_HIGH;
    if (finding_add_candidate(finding, operation->rank))
        return -1;
    finding->stops_job = 1;
    finding->tag = operation->tag;
    return name_waiting(frozen, instance, finding) || say(frozen, at, finding) ? -1 : 0;
}

/*
 * Traces without an end may be of a job that was stopped as a whole, when somebody always waits: but not
 * longer than ever. So may any, where more are waited for than wait.
 */
static int may_be_stopped_as_a_whole(const struct frozen *frozen, size_t count)
{
    int32_t waiting = 0;
    for (size_t i = 0; i < frozen->job->rank_count; i++) {
        int32_t at = frozen->missing_from[i];
        int32_t here = at < 0 ? 0 : frozen->started[frozen->job->operations[at].instance];
        waiting = here > waiting ? here : waiting;
    }
    return count > (size_t)waiting ||
           (frozen->job->most_cut && !somebody_waits_longer_than_ever(frozen->passing));
}

static int name_absent(const struct frozen *frozen, size_t count, struct findings *findings)
{
    size_t before = findings->count;
    if (!count || may_be_stopped_as_a_whole(frozen, count))
        return 0;
    for (size_t i = 0; i < frozen->job->rank_count; i++)
        if (frozen->missing_from[i] >= 0 && add_finding(frozen, frozen->missing_from[i], count, findings))
            return -1;
    return findings_unite_candidates(findings, before);
}

int find_frozen(const struct passing *passing, struct findings *findings)
{
    const struct job *job = passing->job;
    struct frozen frozen = {.job = job,
                            .passing = passing,
                            .waits = array_new(job->rank_count, 1),
                            .missing_from = array_new(job->rank_count, sizeof *frozen.missing_from),
                            .started = array_new(job->instance_count, sizeof *frozen.started)};
    int failed = !frozen.waits || !frozen.missing_from || !frozen.started;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        frozen.missing_from[i] = -1;
    if (!failed && !job->finished_only) {
        note_waiting(&frozen);
        failed = name_absent(&frozen, note_absent(&frozen), findings);
    }
    free(frozen.waits);
    free(frozen.missing_from);
    free(frozen.started);
    return failed ? -1 : 0;
}
