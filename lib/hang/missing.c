#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Jobs that never finish. An operation is pending when not all of its members began it and none of those who
 * did got past it. Who waits is never at fault, unless it called something else than it ought to. So the
 * culprit is, in this order:
 *
 * - who is absent from a pending operation and waits in none itself, by a record that has its end;
 * - who called something else than the others or than its own programme has there, where everybody waits;
 * - who is absent by a record that is not there, or was cut: it may wait elsewhere, or have died, or its file
 *   may be lost. Where one of the former is known it explains the waiting, and that a file is lost is no more
 *   than that;
 * - whose GPU never began what its host called;
 * - of whom nothing but its own record is there, and who left in the middle of a step.
 */

/* Of several runs of which one rank is known each, all may be one job whose other files were lost. So may a
 * single one, where nothing tells how many ranks its communicators have. */
static int is_piece(const struct absence *absence, int32_t instance)
{
    const struct job *job = absence->job;
    return job_recorded_ranks(job) == 1 &&
           (absence->pieces > 1 || !job->communicators[job->instances[instance].communicator].size_is_known);
}

static int append_last(const struct job *job, int32_t rank, int is_lost, struct finding *finding)
{
    if (!job->ranks[rank].count)
        return buffer_printf(&finding->evidence, ". No operation of rank %s is recorded",
                             job->ranks[rank].name);
    const struct job_operation *last = &job->operations[job->ranks[rank].first + job->ranks[rank].count - 1];
    const char *tag = job_tag(job, last->tag);
    if (buffer_printf(&finding->evidence,
                      is_lost           ? ". The last recorded operation of rank %s is "
                      : job->calls_only ? ". The last operation that rank %s called is "
                                        : ". The last operation that rank %s started is ",
                      job->ranks[rank].name) ||
        text_operation(&finding->evidence, job, &job->instances[last->instance], last->function))
        return -1;
    return (tag && buffer_printf(&finding->evidence, ", phase %s", tag)) ||
                   append_source(job, (int32_t)(last - job->operations), &finding->evidence)
               ? -1
               : 0;
}

enum absent { IS_NOT_ABSENT, IS_ABSENT, IS_UNRECORDED };

/* Its record is not there, or has no end: where the rank came to is not known. */
static enum absent absence_of(const struct absence *absence, size_t rank)
{
    const struct attendance *of = &absence->ranks[rank];
    const struct job_rank *record = &absence->job->ranks[rank];
    if (of->missing_from < 0 || of->is_waiting || record->cut == CUT_STOPPED)
        return IS_NOT_ABSENT;
    return !record->count || of->is_lost || record->cut != CUT_NOT ? IS_UNRECORDED : IS_ABSENT;
}

static void count_absent(struct absence *absence)
{
    for (size_t i = 0; i < absence->job->rank_count; i++) {
        enum absent absent = absence_of(absence, i);
        absence->absent_count += absent == IS_ABSENT;
        absence->unrecorded_count += absent == IS_UNRECORDED;
    }
}

/* So many ranks may be absent at once: of a job that was stopped while it ran, many are, each from what
 * others were about to do. */
enum { ABSENT_AT_ONCE = 2 };

/* So many steps others may be ahead of what never ends. */
enum { STEPS_AHEAD = 2 };

/*
 * Where most files have no end: how sure a rank is absent that none of its own calls excuse. Whoever waits
 * longer than ever, hangs. Else the job may have been stopped as a whole while one of its ranks was a little
 * late, which several are not at once; and where others' GPUs had gone on for steps, files were cut: hosts
 * alone enqueue many steps while nothing ends. -1: nobody is to blame for that.
 */
static int confidence_where_cut(const struct absence *absence, const struct job_instance *instance)
{
    if (absence->job->most_cut == CUT_MIDWAY || absence->unrecorded_count ||
        absence->absent_count > ABSENT_AT_ONCE)
        return -1;
    if (absence->last_begun_step > (int64_t)instance->step + STEPS_AHEAD)
        return -1;
    if (job_has_unprecedented_wait(&absence->operation_progress))
        return CONFIDENCE_HIGH;
    return absence->absent_count == 1 ? CONFIDENCE_LOW : -1;
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

/* What RAS saw is a moment, of a job that may have gone on since. */
static int append_moment(const struct job *job, struct finding *finding)
{
    const struct job_watch *watch = &job->watch;
    if (!watch->is_watched)
        return 0;
    if (watch->stood_for_ns > 0)
        return buffer_printf(&finding->evidence, ". No rank launched an operation in the %lld s before",
                             (long long)(watch->stood_for_ns / 1000000000));
    return buffer_append_text(
        &finding->evidence,
        ". This is one moment in time: if the job is running, the counts in the next ncclras dump differ");
}

static struct finding *add_finding(const struct absence *absence, enum finding_kind kind, int32_t rank,
                                   int confidence, struct findings *findings)
{
    const struct job *job = absence->job;
    int32_t instance = absence->ranks[rank].missing_from;
    struct finding *finding = findings_add_at(findings, job, kind, rank, &job->instances[instance]);
    if (!finding)
        return NULL;
    finding->stops_job = 1;
    finding->confidence = (enum confidence)confidence;
    int failed = append_waiting(absence, instance, finding) ||
                 append_last(job, rank, absence->ranks[rank].is_lost, finding) || append_moment(job, finding);
    return failed ? NULL : finding;
}

/* Its end, as all clocks have it; TIME_UNKNOWN where they are not aligned. */
static int64_t common_end(const struct job *job, const struct job_rank *rank)
{
    int64_t end_ns = record_end(job, rank);
    return end_ns ? job_common_host_time(rank, end_ns) : TIME_UNKNOWN;
}

/*
 * For how many seconds more the bundled plugin wrote of each rank that waits than of this one, at least. It
 * notes its clock from time to time as long as its process lives, whatever that waits for. 0: not known.
 */
static double outlived_by_s(const struct absence *absence, size_t rank)
{
    const struct job *job = absence->job;
    int64_t mine_ns = common_end(job, &job->ranks[rank]), least_ns = INT64_MAX;
    if (!job->ranks[rank].told_late || mine_ns == TIME_UNKNOWN)
        return 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        int64_t other_ns = absence->ranks[i].is_waiting ? common_end(job, &job->ranks[i]) : INT64_MAX;
        if (other_ns == TIME_UNKNOWN)
            return 0;
        least_ns = other_ns < least_ns ? other_ns : least_ns;
    }
    return least_ns == INT64_MAX || least_ns < mine_ns ? 0 : (double)(least_ns - mine_ns) / 1e9;
}

static int is_outlived(const struct absence *absence, size_t rank)
{
    return !rule_is_violated(RULE_OUTLIVED, outlived_by_s(absence, rank));
}

static int name_absent(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (absence_of(absence, i) != IS_ABSENT)
            continue;
        const struct job_instance *instance = &job->instances[absence->ranks[i].missing_from];
        int confidence = job->most_cut ? confidence_where_cut(absence, instance) : CONFIDENCE_HIGH;
        if (!job->most_cut && absence->absent_count > ABSENT_AT_ONCE &&
            !job_has_unprecedented_wait(&absence->operation_progress))
            confidence = CONFIDENCE_LOW;
        if (confidence > CONFIDENCE_LOW && may_wait_as_another(absence, (int32_t)i))
            confidence = CONFIDENCE_LOW;
        if (confidence > CONFIDENCE_LOW && job->calls_only)
            confidence = (int)open_calls_confidence(absence, (int32_t)i);
        if (confidence < 0 || open_calls_are_ahead(job, instance))
            continue;
        enum finding_kind kind =
            job->most_cut && is_outlived(absence, i) ? FINDING_ENDED_EARLY : FINDING_MISSING;
        if (!add_finding(absence, kind, (int32_t)i, confidence, findings))
            return -1;
    }
    return 0;
}

/* Ranks whose file stops in the middle of an operation, where others' merely lack their end. */
static int is_cut_alone(const struct absence *absence, size_t rank)
{
    const struct job *job = absence->job;
    return job->most_cut == CUT_AT_END && job->ranks[rank].count && job->ranks[rank].cut == CUT_MIDWAY &&
           !absence->ranks[rank].is_lost;
}

/*
 * Whether records that are not there can be held against their ranks: some died and left none. Where fewer
 * are there than not, they are what was kept of the job. Where most were cut, so may theirs be: but for a
 * single one that others wait for, and that is not there, or cut otherwise than the rest, or long before.
 * Where only calls are recorded, that others wait for it is not.
 */
static int can_name_unrecorded(const struct absence *absence)
{
    const struct job *job = absence->job;
    size_t recorded = job_recorded_ranks(job);
    if (job->calls_only || absence->unrecorded_count > recorded || job_silent_ranks(job) > recorded)
        return 0;
    if (!job->most_cut)
        return 1;
    for (size_t i = 0; absence->unrecorded_count == 1 && recorded > 1 && i < job->rank_count; i++)
        if (absence_of(absence, i) == IS_UNRECORDED)
            return !job->ranks[i].count || is_cut_alone(absence, i) || is_outlived(absence, i);
    return 0;
}

/* Who alone departs from its own programme, where too few keep to theirs to say that this is the mistake:
 * several have a new one. */
static size_t count_departed(const struct absence *absence)
{
    size_t count = 0;
    if (absence->courses.left != 1)
        return 0;
    for (int32_t i = 0; i < (int32_t)absence->job->rank_count; i++)
        count += departs_and_waits(absence, i) != 0;
    return count;
}

static int add_departed(const struct absence *absence, struct finding *finding)
{
    for (int32_t i = 0; i < (int32_t)absence->job->rank_count; i++)
        if (departs_and_waits(absence, i) && finding_add_candidate(finding, i))
            return -1;
    return 0;
}

/* Where most files have no end, one that ends long before may have been copied before, too. */
static enum confidence confidence_of_unrecorded(const struct absence *absence, size_t rank, size_t departures)
{
    if (absence->unrecorded_count > 1 || departures || is_piece(absence, absence->ranks[rank].missing_from) ||
        may_wait_as_another(absence, (int32_t)rank))
        return CONFIDENCE_LOW;
    return absence->job->most_cut && absence->job->ranks[rank].count ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
}

/* That it left no file says nothing of whether it ended. */
static void doubt_unrecorded(const struct absence *absence, const struct findings *findings,
                             struct finding *finding)
{
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    finding_ask(findings, finding, RULE_HALF_ABSENT,
                (double)job_silent_ranks(absence->job) / (double)job_recorded_ranks(absence->job));
}

/* How many of them have a record all the same, that ends before the others'. */
static size_t count_ended(const struct absence *absence)
{
    size_t count = 0;
    for (size_t i = 0; i < absence->job->rank_count; i++)
        count += absence_of(absence, i) == IS_UNRECORDED && absence->job->ranks[i].count;
    return count;
}

/* Where one of several candidates left no file, none is known to have ended. */
static int name_unrecorded(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    size_t before = findings->count, into = before, departures = count_departed(absence),
           ended = count_ended(absence);
    enum finding_kind kind = ended == absence->unrecorded_count ? FINDING_ENDED_EARLY : FINDING_MISSING;
    if (!can_name_unrecorded(absence))
        return 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (absence_of(absence, i) != IS_UNRECORDED)
            continue;
        int is_recorded = job->ranks[i].count > 0;
        struct finding *finding = add_finding(
            absence, kind, (int32_t)i, (int)confidence_of_unrecorded(absence, i, departures), findings);
        if (!finding || finding_add_candidate(finding, (int32_t)i) ||
            (departures && add_departed(absence, finding)))
            return -1;
        if (!is_recorded)
            doubt_unrecorded(absence, findings, finding);
        finding->is_unrecorded = !ended;
        if (kind == FINDING_ENDED_EARLY && job->most_cut && is_recorded)
            finding_ask(findings, finding, RULE_OUTLIVED, outlived_by_s(absence, i));
        if (findings_unite_last(findings, before, &into))
            return -1;
    }
    return findings_unite_candidates(findings, before);
}

/* By instance, whether somebody is held up in it, or may be where the job is stuck; by communicator, the
 * first step in which that is so. */
static void note_held(const struct absence *absence, unsigned char *held, int32_t *first_step)
{
    const struct operation_progress *operation_progress = &absence->operation_progress;
    for (size_t i = 0; i < absence->job->communicator_count; i++)
        first_step[i] = INT32_MAX;
    for (size_t i = 0; i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        int may_be_held = absence->is_stuck && operation->step >= absence->first_stuck &&
                          !operation_progress_is_over(operation_progress, (int32_t)i);
        if (!may_be_held && !operation_progress_is_held(operation_progress, (int32_t)i))
            continue;
        held[operation->instance] = 1;
        if (operation->step >= 0 && operation->step < first_step[operation->communicator])
            first_step[operation->communicator] = operation->step;
    }
}

/* Where only calls are recorded, whether hosts may have called all that came after it while it never ended.
 */
static int is_among_last(const struct absence *absence, const struct job_instance *instance)
{
    return absence->job->calls_only &&
           (instance->step < 0 || (int64_t)instance->step + STEPS_AHEAD >= absence->last_step);
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
            stuck[i] |= job->instances[i].step == first_step[job->instances[i].communicator] ||
                        is_among_last(absence, &job->instances[i]);
    } else {
        free(stuck);
        stuck = NULL;
    }
    free(first_step);
    return stuck;
}

/* Where everybody waits: who called something else. What each departs from says more than a tie of votes. */
static int name_mismatch(const struct absence *absence, struct findings *findings)
{
    size_t before = findings->count;
    unsigned char *stuck = list_stuck(absence);
    int failed = !stuck || (!findings_explain_stop(findings) && find_mismatches(absence, findings)) ||
                 find_disagreements(absence->job, absence->positions, stuck, findings);
    free(stuck);
    return failed ||
           (!findings_explain_stop_confidently(findings) && find_departures(absence, before, findings)) ||
           findings_unite_candidates(findings, before);
}

/* Of a job that NCCL's RAS saw move nobody is missing. */
static int judge(struct absence *absence, struct findings *findings)
{
    if (absence->job->watch.has_moved)
        return 0;
    count_absent(absence);
    return name_absent(absence, findings) || name_mismatch(absence, findings) ||
           (!findings_explain_stop(findings) && name_unrecorded(absence, findings)) ||
           (!findings_explain_stop(findings) && find_earlier_departures(absence, findings)) ||
           (!findings_explain_stop(findings) && find_frozen(&absence->operation_progress, findings)) ||
           (!findings_explain_stop(findings) && find_left_loop(absence, findings));
}

/* Nobody can be named: the first operation of the first step in which somebody is held up. */
static void note_standstill(const struct absence *absence, struct findings *findings)
{
    for (size_t i = 0; !findings->unexplained_hang.is_known && i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        if (operation->step != absence->first_stuck ||
            !operation_progress_is_held(&absence->operation_progress, (int32_t)i))
            continue;
        findings->unexplained_hang =
            (struct unexplained_hang){.is_known = 1, .instance = operation->instance};
    }
}

/* The first step in which somebody is held up; the last of all where nobody is. */
static void find_first_stuck(struct absence *absence)
{
    absence->first_stuck = absence->last_step;
    for (size_t i = 0; i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        if (!operation_progress_is_held(&absence->operation_progress, (int32_t)i))
            continue;
        absence->is_stuck = 1;
        if (operation->step >= 0 && operation->step < absence->first_stuck)
            absence->first_stuck = operation->step;
    }
}

/* Where nothing tells what GPUs began, it is what hosts called. */
static void find_last_steps(struct absence *absence)
{
    int32_t begun = -1;
    for (size_t i = 0; i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        int is_begun = operation->start_ns != TIME_UNKNOWN || operation->end_ns != TIME_UNKNOWN;
        if (operation->step > absence->last_step)
            absence->last_step = operation->step;
        if (is_begun && operation->step > begun)
            begun = operation->step;
    }
    absence->last_begun_step = begun >= 0 ? begun : absence->last_step;
}

static int absence_init(struct absence *absence)
{
    const struct job *job = absence->job;
    absence->pending = array_new(job->instance_count, 1);
    absence->ranks = array_new(job->rank_count, sizeof *absence->ranks);
    if (operation_progress_init(&absence->operation_progress, job) || !absence->pending || !absence->ranks)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        absence->ranks[i].missing_from = absence->ranks[i].came_to = -1;
    find_last_steps(absence);
    find_first_stuck(absence);
    if (call_sequence_init(&absence->call_sequence, job, absence->first_stuck))
        return -1;
    absence->courses = call_sequence_count(&absence->call_sequence);
    return 0;
}

static void absence_release(struct absence *absence)
{
    operation_progress_release(&absence->operation_progress);
    call_sequence_release(&absence->call_sequence);
    free(absence->pending);
    free(absence->ranks);
}

int find_absence(const struct job *job, const int32_t *positions, const struct extents *extents,
                 const struct diagnose_options *options, struct findings *findings, struct error *error)
{
    if (job->calls)
        return find_waited_for(job, findings, error);
    struct absence absence = {
        .job = job, .positions = positions, .extents = extents, .pieces = options->pieces};
    int failed = absence_init(&absence);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        if (is_pending(&absence, &job->instances[i], 0))
            note_pending(&absence, (int32_t)i);
        note_waiting(&absence, &job->instances[i]);
    }
    failed = failed || judge(&absence, findings);
    if (!failed && !findings_explain_stop(findings) && !job->most_cut)
        note_standstill(&absence, findings);
    absence_release(&absence);
    return failed ? error_no_memory(error) : 0;
}
