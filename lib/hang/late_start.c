/* Ranks that were late at start-up, and GPUs that never started an operation that their host called. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * The starts of the ranks of one communicator, sorted by waiting time: the rank that arrived last comes
 * first.
 */
struct line_up {
    const struct job *job;
    const struct job_start **starts; /* borrowed */
    size_t count;
    size_t late; /* number of late ranks, separated from the others by a gap */
};

static int by_wait(const void *a, const void *b)
{
    const struct job_start *left = *(const struct job_start *const *)a;
    const struct job_start *right = *(const struct job_start *const *)b;
    if (left->waited_ns != right->waited_ns)
        return left->waited_ns < right->waited_ns ? -1 : 1;
    return left->rank - right->rank;
}

static int by_rank(const void *a, const void *b)
{
    const int32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* How much sooner all ranks would have arrived if the late ones had come with the first of the others. */
static int64_t gap_before(const struct line_up *line_up, size_t late)
{
    return line_up->starts[late]->waited_ns - line_up->starts[late - 1]->waited_ns;
}

/*
 * Finds the largest gap in the waiting times. If most ranks are on the late side of it, they are not late:
 * the others were early.
 */
static void find_late(struct line_up *line_up)
{
    line_up->late = 1;
    for (size_t late = 2; late * 2 <= line_up->count; late++)
        if (gap_before(line_up, late) > gap_before(line_up, line_up->late))
            line_up->late = late;
}

/* By rank, the first of its starts. NULL when memory runs out. */
static int64_t *list_first(const struct job *job)
{
    int64_t *first = array_new(job->rank_count, sizeof *first);
    for (size_t i = 0; first && i < job->rank_count; i++)
        first[i] = INT64_MAX;
    for (size_t i = 0; first && i < job->start_count; i++)
        if (job->starts[i].order < first[job->starts[i].rank])
            first[job->starts[i].rank] = job->starts[i].order;
    return first;
}

static int are_first(const struct line_up *line_up, const int64_t *first)
{
    for (size_t i = 0; i < line_up->late; i++)
        if (line_up->starts[i]->order != first[line_up->starts[i]->rank])
            return 0;
    return 1;
}

static int64_t late_start_median_of_others(const struct line_up *line_up,
                                           int64_t (*value)(const struct job_start *))
{
    size_t others = line_up->count - line_up->late;
    int64_t *values = array_new(others, sizeof *values);
    if (!values)
        return TIME_UNKNOWN;
    for (size_t i = 0; i < others; i++)
        values[i] = value(line_up->starts[line_up->late + i]);
    int64_t median = select_integer(values, others, others / 2);
    free(values);
    return median;
}

static int64_t kernels_of(const struct job_start *start)
{
    return start->told.parts_ns[START_KERNELS];
}

static int64_t total_of(const struct job_start *start)
{
    return start->told.total_ns;
}

static int64_t waited_of(const struct job_start *start)
{
    return start->waited_ns;
}

/* By how much a value of the last rank exceeds the median of the others; TIME_UNKNOWN: not known. */
static int64_t longer_than_others(const struct line_up *line_up, int64_t (*value)(const struct job_start *))
{
    int64_t own_ns = value(line_up->starts[0]), usual_ns = late_start_median_of_others(line_up, value);
    return own_ns == TIME_UNKNOWN || usual_ns == TIME_UNKNOWN ? TIME_UNKNOWN : own_ns - usual_ns;
}

/*
 * Appends the cause. All ranks leave at the same time, so a rank that was in the call as long as the others
 * called it with them. A difference of at least half of the lateness is the cause.
 */
static int append_cause(const struct line_up *line_up, int64_t gap_ns, struct buffer *text)
{
    int64_t kernels_ns = longer_than_others(line_up, kernels_of),
            total_ns = longer_than_others(line_up, total_of);
    if (kernels_ns != TIME_UNKNOWN && kernels_ns * 2 >= gap_ns)
        return buffer_append_text(text, ". Loading NCCL's kernels took ") || text_time(text, kernels_ns) ||
               buffer_append_text(text, " longer than on the other ranks");
    if (total_ns == TIME_UNKNOWN || total_ns * -2 < gap_ns)
        return 0;
    return buffer_append_text(text, ". The call came ") || text_time(text, -total_ns) ||
           buffer_append_text(text, " later than on the other ranks");
}

/*
 * Appends "ncclCommInitRank on communicator {0-7}: it waited 31.0 ms for the other ranks, which waited 21.3 s
 * to 21.5 s for it".
 */
static int append_waits(const struct line_up *line_up, struct finding *finding)
{
    const struct job *job = line_up->job;
    const struct job_start *last = line_up->starts[0], *next = line_up->starts[line_up->late];
    const char *function = job_tag(job, last->function);
    struct buffer *text = &finding->evidence;
    int several = line_up->late > 1;
    return buffer_append_text(text, function ? function : "Initialization") ||
           text_on_communicator(text, &job->communicators[last->communicator]) ||
           buffer_append_text(text, several ? ": they waited at most " : ": it waited ") ||
           text_time(text, line_up->starts[line_up->late - 1]->waited_ns) ||
           buffer_append_text(text, " for the other ranks, which waited ") ||
           text_time(text, next->waited_ns) || buffer_append_text(text, " to ") ||
           text_time(text, line_up->starts[line_up->count - 1]->waited_ns) ||
           buffer_append_text(text, several ? " for them" : " for it");
}

static void add_figures(const struct line_up *line_up, int64_t gap_ns, struct finding *finding)
{
    double sum_ns = 0;
    for (size_t i = line_up->late; i < line_up->count; i++)
        sum_ns += (double)(line_up->starts[i]->waited_ns - line_up->starts[line_up->late - 1]->waited_ns);
    figures_add_time(&finding->figures, "late_us", gap_ns);
    figures_add_time(&finding->figures, "own_wait_us", line_up->starts[0]->waited_ns);
    figures_add_time(&finding->figures, "peers_wait_us_p50", late_start_median_of_others(line_up, waited_of));
    figures_add(&finding->figures, "peers_wait_us", sum_ns / 1e3);
}

static int add_ranks(const struct line_up *line_up, struct finding *finding)
{
    finding->rank = line_up->starts[0]->rank;
    if (line_up->late > 1 && !(finding->ranks = array_new(line_up->late, sizeof *finding->ranks)))
        return -1;
    for (size_t i = 0; line_up->late > 1 && i < line_up->late; i++)
        finding->ranks[finding->rank_count++] = line_up->starts[i]->rank;
    array_sort(finding->ranks, finding->rank_count, sizeof *finding->ranks, by_rank);
    for (size_t i = line_up->late; i < line_up->count; i++)
        if (finding_add_peer(finding, line_up->starts[i]->rank))
            return -1;
    return 0;
}

static int64_t spread_of_others(const struct line_up *line_up)
{
    return line_up->starts[line_up->count - 1]->waited_ns - line_up->starts[line_up->late]->waited_ns;
}

static int name_late(const struct line_up *line_up, struct findings *findings)
{
    int64_t gap_ns = gap_before(line_up, line_up->late);
    struct finding *finding = findings_add(findings);
    if (!finding)
        return -1;
    finding->kind = FINDING_HOST;
    finding->at_start = 1;
    finding->confidence = CONFIDENCE_HIGH;
    finding->lost_ns = gap_ns;
    add_figures(line_up, gap_ns, finding);
    finding_ask(findings, finding, RULE_START_SCATTER, ratio_of(gap_ns, spread_of_others(line_up)));
    return add_ranks(line_up, finding) || append_waits(line_up, finding) ||
           append_cause(line_up, gap_ns, &finding->evidence);
}

/* Examines one communicator whose waiting times are all known. */
static int judge(struct line_up *line_up, const int64_t *first, struct findings *findings)
{
    array_sort(line_up->starts, line_up->count, sizeof *line_up->starts, by_wait);
    find_late(line_up);
    if ((double)gap_before(line_up, line_up->late) < limit_of(LIMIT_START_LATE) * 1e9 ||
        !are_first(line_up, first))
        return 0;
    return name_late(line_up, findings);
}

static int judge_all(struct line_up *line_up, const int64_t *first, struct findings *findings)
{
    const struct job *job = line_up->job;
    int failed = 0;
    for (size_t begin = 0, end; !failed && begin < job->start_count; begin = end) {
        for (end = begin;
             end < job->start_count && job->starts[end].communicator == job->starts[begin].communicator;
             end++)
            line_up->starts[end - begin] = &job->starts[end];
        line_up->count = end - begin;
        if (line_up->count > 1 && job->starts[begin].is_told)
            failed = judge(line_up, first, findings);
    }
    return failed;
}

int find_late_starts(const struct job *job, struct findings *findings)
{
    struct line_up line_up = {.job = job, .starts = array_new(job->start_count, sizeof *line_up.starts)};
    int64_t *first = list_first(job);
    int failed = !first || !line_up.starts ? -1 : judge_all(&line_up, first, findings);
    free(line_up.starts);
    free(first);
    return failed ? -1 : 0;
}

/*
 * GPUs that never started an operation that their host called while others started it and wait. A GPU that
 * waits in another operation is held up by another rank. One that waits in none is busy with something that
 * the trace does not show, or hangs in it.
 */

struct unstarted_gpus {
    const struct job *job;
    const struct operation_progress *operation_progress;
    unsigned char *waits; /* by rank: it waits in an operation that it started */
    /* By rank: the first operation that others wait in and it has not started; -1: none */
    int32_t *missing_from;
    int32_t *started; /* by instance: the number of members that started it and wait */
};

static int began(const struct job_operation *operation)
{
    return operation->start_ns != TIME_UNKNOWN;
}

static void never_started_note_waiting(struct unstarted_gpus *gpus)
{
    for (size_t i = 0; i < gpus->job->operation_count; i++) {
        const struct job_operation *operation = &gpus->job->operations[i];
        if (operation_progress_waits(gpus->operation_progress, (int32_t)i)) {
            gpus->waits[operation->rank] = 1;
            gpus->started[operation->instance]++;
        }
    }
}

/*
 * Fills in missing_from and returns the number of such ranks. Operations of a rank are in order of issue, so
 * the first one found is kept.
 */
static size_t note_absent(struct unstarted_gpus *gpus)
{
    size_t count = 0;
    for (size_t i = 0; i < gpus->job->operation_count; i++) {
        const struct job_operation *operation = &gpus->job->operations[i];
        int32_t *missing_from = &gpus->missing_from[operation->rank];
        /* If the recorder of a rank stopped, the rank may have started it since. */
        int is_unknown = gpus->job->ranks[operation->rank].cut == CUT_STOPPED;
        if (is_unknown || gpus->waits[operation->rank] || *missing_from >= 0 ||
            !gpus->started[operation->instance] ||
            !operation_progress_never_began(gpus->operation_progress, (int32_t)i))
            continue;
        *missing_from = (int32_t)i;
        count++;
    }
    return count;
}

/* The last operation before `at` that its GPU started; -1: none. */
static int32_t last_begun(const struct job *job, int32_t at)
{
    size_t first = job->ranks[job->operations[at].rank].first;
    while (at-- > (int32_t)first)
        if (began(&job->operations[at]))
            return at;
    return -1;
}

static int name_waiting(const struct unstarted_gpus *gpus, const struct job_instance *instance,
                        struct finding *finding)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (operation_progress_waits(gpus->operation_progress, job_member_at(gpus->job, instance, i)) &&
            finding_add_peer(finding, job_member(gpus->job, instance, i)->rank))
            return -1;
    return 0;
}

static int say(const struct unstarted_gpus *gpus, int32_t at, struct finding *finding)
{
    const struct job *job = gpus->job;
    const struct job_instance *instance = &job->instances[job->operations[at].instance];
    int32_t last = last_begun(job, at);
    figures_add(&finding->figures, "begun_ranks", gpus->started[job->operations[at].instance]);
    figures_add(&finding->figures, "expected_ranks", instance->expected);
    if (buffer_printf(&finding->evidence, "The GPUs of %d of %d ranks started ",
                      gpus->started[job->operations[at].instance], instance->expected) ||
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
 * Whether the recorder of its rank reported that the operation was pending, which it does after a second.
 * Then its missing start is not due to a truncated file, unless it started after that.
 */
static int is_reported_pending(const struct job *job, const struct job_operation *operation)
{
    return job->ranks[operation->rank].reports_after_pending && operation->unfinished;
}

/*
 * Adds one finding for all such ranks: some of them may wait for another one in work that the trace does not
 * show.
 */
static int add_finding(const struct unstarted_gpus *gpus, int32_t at, size_t count, struct findings *findings)
{
    const struct job *job = gpus->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *instance = &job->instances[operation->instance];
    const struct job_rank *rank = &job->ranks[operation->rank];
    struct finding *finding = findings_add_at(
        findings, job, rank->cut ? FINDING_ENDED_EARLY : FINDING_MISSING, operation->rank, instance);
    if (!finding)
        return -1;
    int is_unsure = count > 1 || job->lost_events || rank->is_part ||
                    (job->common_cut && !is_reported_pending(job, operation));
    finding->confidence = is_unsure ? CONFIDENCE_LOW : job->common_cut ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
    if (finding_add_candidate(finding, operation->rank))
        return -1;
    finding->stops_job = 1;
    finding->tag = operation->tag;
    return name_waiting(gpus, instance, finding) || say(gpus, at, finding) ? -1 : 0;
}

/*
 * Whether the job may simply have been stopped while it ran. Traces without an end may be of such a job, in
 * which some rank always waits, but not for longer than ever before. The same applies if more ranks are
 * waited for than wait.
 */
static int may_be_stopped_as_a_whole(const struct unstarted_gpus *gpus, size_t count)
{
    int32_t waiting = 0;
    for (size_t i = 0; i < gpus->job->rank_count; i++) {
        int32_t at = gpus->missing_from[i];
        int32_t here = at < 0 ? 0 : gpus->started[gpus->job->operations[at].instance];
        waiting = here > waiting ? here : waiting;
    }
    return count > (size_t)waiting ||
           (gpus->job->common_cut && !job_has_unprecedented_wait(gpus->operation_progress));
}

static int name_absent(const struct unstarted_gpus *gpus, size_t count, struct findings *findings)
{
    size_t before = findings->count;
    if (!count || may_be_stopped_as_a_whole(gpus, count))
        return 0;
    for (size_t i = 0; i < gpus->job->rank_count; i++)
        if (gpus->missing_from[i] >= 0 && add_finding(gpus, gpus->missing_from[i], count, findings))
            return -1;
    return findings_unite_candidates(findings, before);
}

int find_unstarted_gpus(const struct operation_progress *progress, struct findings *findings)
{
    const struct job *job = progress->job;
    struct unstarted_gpus gpus = {.job = job,
                                  .operation_progress = progress,
                                  .waits = array_new(job->rank_count, 1),
                                  .missing_from = array_new(job->rank_count, sizeof *gpus.missing_from),
                                  .started = array_new(job->instance_count, sizeof *gpus.started)};
    int failed = !gpus.waits || !gpus.missing_from || !gpus.started;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        gpus.missing_from[i] = -1;
    if (!failed && !job->finished_only) {
        never_started_note_waiting(&gpus);
        failed = name_absent(&gpus, note_absent(&gpus), findings);
    }
    free(gpus.waits);
    free(gpus.missing_from);
    free(gpus.started);
    return failed ? -1 : 0;
}
