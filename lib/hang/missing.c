/*
 * Ranks that did not join an operation (find_absence): decides which of the ranks that are missing from a
 * pending operation is at fault, and with what confidence. Jobs with call states (Flight Recorder) go to
 * waited_for.c instead.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Jobs that never finish. An operation is pending when not all members started it and none of those that did
 * got past it. A rank that waits is never at fault, unless it called something other than it should have. The
 * culprit is, in this order:
 *
 * - a rank that is missing from a pending operation and waits in none, and whose record is complete;
 * - where every rank waits, a rank that called something other than the others, or than its own call sequence
 *   has there;
 * - a missing rank whose record is missing or cut. It may wait elsewhere, may have died, or its file may be
 *   lost. If one of the former is known, it explains why the others wait, and the missing file means nothing
 *   more;
 * - a rank whose GPU never started what its host called;
 * - the only rank with a record, if it left in the middle of a step.
 */

/*
 * Whether the store holds several runs of which one rank each is known: they may be one job whose other files
 * were lost. The same is true of a single run if the size of its communicators is not known.
 */
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

/*
 * Whether the rank is missing, and whether its record is missing or cut, so that it may have gone further
 * than it shows.
 */
static enum absent absence_of(const struct absence *absence, size_t rank)
{
    const struct attendance *of = &absence->ranks[rank];
    const struct job_rank *record = &absence->job->ranks[rank];
    if (of->missing_from < 0 || of->is_waiting || record->cut == CUT_STOPPED)
        return IS_NOT_ABSENT;
    return !record->count || of->is_lost || record->cut != CUT_NONE ? IS_UNRECORDED : IS_ABSENT;
}

static void count_absent(struct absence *absence)
{
    for (size_t i = 0; i < absence->job->rank_count; i++) {
        enum absent absent = absence_of(absence, i);
        absence->absent_count += absent == IS_ABSENT;
        absence->unrecorded_count += absent == IS_UNRECORDED;
    }
}

/*
 * More missing ranks than this at the same time mean that a running job was stopped: then many ranks are
 * missing, each from the operation that others were about to do.
 */
enum { ABSENT_AT_ONCE = 2 };

/* Other ranks may be this many steps ahead of an operation that never ends. */
enum { STEPS_AHEAD = 2 };

/*
 * Where most files are cut: the confidence for a rank that is missing and waits nowhere. High if a rank has
 * waited longer than ever before, which means a hang. Otherwise the job may have been stopped as a whole
 * while one rank was a little late (which does not happen to several ranks at once), and if GPUs of other
 * ranks had gone on for steps, files are merely cut: hosts alone can enqueue many steps while nothing ends.
 * -1: no rank is at fault.
 */
static int confidence_where_cut(const struct absence *absence, const struct job_instance *instance)
{
    if (absence->job->common_cut == CUT_IN_OPERATION || absence->unrecorded_count ||
        absence->absent_count > ABSENT_AT_ONCE)
        return -1;
    if (absence->last_begun_step > (int64_t)instance->step + STEPS_AHEAD)
        return -1;
    if (job_has_unprecedented_wait(&absence->operation_progress))
        return CONFIDENCE_HIGH;
    return absence->absent_count == 1 ? CONFIDENCE_LOW : -1;
}

/*
 * Whether a rank may be the same as one that waits: ranks of its process cannot be told apart. Not if it is
 * the only one missing from an operation of all ranks, because then all others wait.
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

/* A RAS report is one moment of a job that may have gone on since. */
static int append_moment(const struct job *job, struct finding *finding)
{
    const struct job_watch *watch = &job->watch;
    if (!watch->is_watched)
        return 0;
    if (watch->no_progress_ns > 0)
        return buffer_printf(&finding->evidence, ". No rank launched an operation in the %lld s before",
                             (long long)(watch->no_progress_ns / 1000000000));
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

/* The end of its record in common time; TIME_UNKNOWN where clocks are not aligned. */
static int64_t common_end(const struct job *job, const struct job_rank *rank)
{
    int64_t end_ns = record_end(job, rank);
    return end_ns ? job_common_host_time(rank, end_ns) : TIME_UNKNOWN;
}

/* When its plugin last recorded its clock, in common time, or else the end of its record. */
static int64_t last_sign(const struct job *job, const struct job_rank *rank)
{
    return rank->anchored_until_ns ? job_common_host_time(rank, rank->anchored_until_ns)
                                   : common_end(job, rank);
}

/*
 * By how many seconds the records of all ranks that wait outlast the last clock anchor of this one, at least,
 * in traces of the bundled plugin. It writes an anchor regularly while its process lives, whatever the
 * process waits for. 0: not known.
 */
static double outlived_by_s(const struct absence *absence, size_t rank)
{
    const struct job *job = absence->job;
    int64_t mine_ns = last_sign(job, &job->ranks[rank]), least_ns = INT64_MAX;
    if (!job->ranks[rank].reports_after_pending || mine_ns == TIME_UNKNOWN)
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
        int confidence = job->common_cut ? confidence_where_cut(absence, instance) : CONFIDENCE_HIGH;
        if (!job->common_cut && absence->absent_count > ABSENT_AT_ONCE &&
            !job_has_unprecedented_wait(&absence->operation_progress))
            confidence = CONFIDENCE_LOW;
        if (confidence > CONFIDENCE_LOW && may_wait_as_another(absence, (int32_t)i))
            confidence = CONFIDENCE_LOW;
        if (confidence > CONFIDENCE_LOW && job->calls_only)
            confidence = (int)open_calls_confidence(absence, (int32_t)i);
        if (confidence < 0 || open_calls_are_ahead(job, instance))
            continue;
        enum finding_kind kind =
            job->common_cut && is_outlived(absence, i) ? FINDING_ENDED_EARLY : FINDING_MISSING;
        if (!add_finding(absence, kind, (int32_t)i, confidence, findings))
            return -1;
    }
    return 0;
}

/*
 * Whether a rank may have died although nothing shows where it stopped: its record is missing or cut, or it
 * ends long before those of the ranks that wait, as all files of this job end.
 */
static int may_have_died(const struct absence *absence, size_t rank)
{
    enum absent absent = absence_of(absence, rank);
    return absent == IS_UNRECORDED ||
           (absent == IS_ABSENT && absence->job->common_cut && is_outlived(absence, rank));
}

static size_t count_dead(const struct absence *absence)
{
    size_t count = 0;
    for (size_t i = 0; i < absence->job->rank_count; i++)
        count += may_have_died(absence, i) != 0;
    return count;
}

/* Whether the file of a rank stops in the middle of an operation while most others merely lack their end. */
static int is_cut_alone(const struct absence *absence, size_t rank)
{
    const struct job *job = absence->job;
    return job->common_cut == CUT_AT_END && job->ranks[rank].count &&
           job->ranks[rank].cut == CUT_IN_OPERATION && !absence->ranks[rank].is_lost;
}

/*
 * Whether a missing record counts against its rank, since ranks that died left none. Not if fewer records
 * exist than are missing: then somebody kept only these. If most files were cut, those that are missing may
 * have been lost the same way, except the record of a single rank that others wait for and that is missing
 * altogether or cut differently from the rest, and records that end long before those of all ranks that wait.
 * Not where only calls are recorded, because then it is not known that others wait.
 */
static int can_name_unrecorded(const struct absence *absence)
{
    const struct job *job = absence->job;
    size_t recorded = job_recorded_ranks(job);
    if (job->calls_only || absence->unrecorded_count > recorded || job_silent_ranks(job) > recorded)
        return 0;
    if (!job->common_cut)
        return 1;
    for (size_t i = 0; recorded > 1 && i < job->rank_count; i++) {
        int is_single = absence->unrecorded_count == 1 && (!job->ranks[i].count || is_cut_alone(absence, i));
        if (absence_of(absence, i) == IS_UNRECORDED && !is_single && !is_outlived(absence, i))
            return 0;
    }
    return recorded > 1 && absence->unrecorded_count;
}

/*
 * The number of ranks that left their call sequence while others wait; only if it is the only one. Several
 * have a new sequence.
 */
static size_t count_departed(const struct absence *absence)
{
    size_t count = 0;
    if (absence->sequence_counts.left != 1)
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

/* Where most files are cut, a file that ends long before may have been copied earlier. */
static enum confidence confidence_of_unrecorded(const struct absence *absence, size_t rank, size_t departures)
{
    if (count_dead(absence) > 1 || departures || is_piece(absence, absence->ranks[rank].missing_from) ||
        may_wait_as_another(absence, (int32_t)rank))
        return CONFIDENCE_LOW;
    return absence->job->common_cut && absence->job->ranks[rank].count ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
}

/* A missing file does not show whether the rank ended. */
static void doubt_unrecorded(const struct absence *absence, const struct findings *findings,
                             struct finding *finding)
{
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    finding_ask(findings, finding, RULE_NO_TRACE,
                (double)job_silent_ranks(absence->job) / (double)job_recorded_ranks(absence->job));
}

/* How many of them have a record that ends before the others'. */
static size_t count_ended(const struct absence *absence)
{
    size_t count = 0;
    for (size_t i = 0; i < absence->job->rank_count; i++)
        count += may_have_died(absence, i) && absence->job->ranks[i].count;
    return count;
}

/* How many candidates lack the record of operations that others finished with them. */
static size_t count_lost(const struct absence *absence, const struct finding *finding)
{
    size_t count = 0;
    for (size_t i = 0; i < finding->candidate_count; i++)
        count += absence->ranks[finding->candidates[i]].is_lost != 0;
    return count;
}

/*
 * Where several records end long before those of the ranks that wait, one process died, and the others ended
 * because they lost their peer. The one whose record ends first is the likelier culprit. Makes it the rank
 * of the finding and says so, if the clocks show which it is. Confidence is medium if it alone died before it
 * wrote what it had done.
 */
static int name_likelier(const struct absence *absence, struct finding *finding)
{
    const struct job *job = absence->job;
    int64_t first_ns = INT64_MAX, second_ns = INT64_MAX;
    for (size_t i = 0; i < finding->candidate_count; i++) {
        int64_t end_ns = common_end(job, &job->ranks[finding->candidates[i]]);
        if (end_ns == TIME_UNKNOWN || !is_outlived(absence, (size_t)finding->candidates[i]))
            return 0;
        if (end_ns < first_ns) {
            second_ns = first_ns;
            first_ns = end_ns;
            finding->rank = finding->candidates[i];
        } else if (end_ns < second_ns) {
            second_ns = end_ns;
        }
    }
    if (second_ns == INT64_MAX || first_ns == second_ns)
        return 0;
    if (count_lost(absence, finding) == 1 && absence->ranks[finding->rank].is_lost)
        finding->confidence = CONFIDENCE_MEDIUM;
    figures_add_time(&finding->figures, "ended_before_us", second_ns - first_ns);
    return buffer_printf(&finding->evidence, ". The record of rank %s ends first, ",
                         job->ranks[finding->rank].name) ||
           text_time(&finding->evidence, second_ns - first_ns) ||
           buffer_append_text(&finding->evidence, " before the next, so it is the likelier culprit");
}

/* If one of several candidates left no file, none is known to have ended. */
static int name_unrecorded(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    size_t before = findings->count, into = before, departures = count_departed(absence),
           ended = count_ended(absence);
    enum finding_kind kind = ended == count_dead(absence) ? FINDING_ENDED_EARLY : FINDING_MISSING;
    if (!can_name_unrecorded(absence))
        return 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (!may_have_died(absence, i))
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
        if (kind == FINDING_ENDED_EARLY && job->common_cut && is_recorded)
            finding_ask(findings, finding, RULE_OUTLIVED, outlived_by_s(absence, i));
        if (findings_unite_last(findings, before, &into))
            return -1;
    }
    if (findings_unite_candidates(findings, before))
        return -1;
    for (size_t i = before; kind == FINDING_ENDED_EARLY && job->common_cut && i < findings->count; i++)
        if (name_likelier(absence, &findings->items[i]))
            return -1;
    return 0;
}

/*
 * Fills in by instance whether a rank is held up in it, or may be where the job hangs, and by communicator
 * the first step in which that is so.
 */
static void note_held(const struct absence *absence, unsigned char *held, int32_t *first_step)
{
    const struct operation_progress *progress = &absence->operation_progress;
    for (size_t i = 0; i < absence->job->communicator_count; i++)
        first_step[i] = INT32_MAX;
    for (size_t i = 0; i < absence->job->operation_count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        int may_be_held = absence->is_stuck && operation->step >= absence->first_stuck &&
                          !operation_progress_is_over(progress, (int32_t)i);
        if (!may_be_held && !operation_progress_is_held(progress, (int32_t)i))
            continue;
        held[operation->instance] = 1;
        if (operation->step >= 0 && operation->step < first_step[operation->communicator])
            first_step[operation->communicator] = operation->step;
    }
}

/*
 * Where only calls are recorded: whether the hosts may have made all later calls while this one never ended.
 */
static int is_among_last(const struct absence *absence, const struct job_instance *instance)
{
    return absence->job->calls_only &&
           (instance->step < 0 || (int64_t)instance->step + STEPS_AHEAD >= absence->last_step);
}

/*
 * By instance, whether it failed to finish: a rank is held up in it, or in another one of the same step and
 * communicator, which may be a consequence. NULL when memory runs out.
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

/*
 * Where every rank waits: finds the rank that called something else. Leaving its own call sequence counts
 * more than a tie between ranks.
 */
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

/* No rank is missing from a job that RAS saw move. */
static int judge(struct absence *absence, struct findings *findings)
{
    if (absence->job->watch.has_moved)
        return 0;
    count_absent(absence);
    return name_absent(absence, findings) || name_mismatch(absence, findings) ||
           (!findings_explain_stop(findings) && name_unrecorded(absence, findings)) ||
           (!findings_explain_stop(findings) && find_earlier_departures(absence, findings)) ||
           (!findings_explain_stop(findings) &&
            find_unstarted_gpus(&absence->operation_progress, findings)) ||
           (!findings_explain_stop(findings) && find_left_loop(absence, findings));
}

/* Where no rank can be named: records the first operation of the first step in which a rank is held up. */
static void note_unexplained_hang(const struct absence *absence, struct findings *findings)
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

/* Finds the first step in which a rank is held up; the last step of all if none is. */
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

/* Without recorded starts on GPUs, the calls of the hosts count. */
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
    absence->sequence_counts = call_sequence_count(&absence->call_sequence);
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
        return find_waited_for(job, positions, findings, error);
    struct absence absence = {
        .job = job, .positions = positions, .extents = extents, .pieces = options->pieces};
    int failed = absence_init(&absence);
    for (size_t i = 0; !failed && i < job->instance_count; i++) {
        if (is_pending(&absence, &job->instances[i], 0))
            note_pending(&absence, (int32_t)i);
        note_waiting(&absence, &job->instances[i]);
    }
    failed = failed || judge(&absence, findings);
    if (!failed && !findings_explain_stop(findings) && !job->common_cut)
        note_unexplained_hang(&absence, findings);
    absence_release(&absence);
    return failed ? error_no_memory(error) : 0;
}
