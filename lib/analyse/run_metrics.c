#include "analyse/run_metrics.h"

#include "base/array.h"
#include "export/metrics.h"
#include "report/rows.h"
#include "verdict/finding_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SECOND_NS = 1e9, GB_BYTES = 1e9;

static double seconds(int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN ? (double)NAN : (double)time_ns / SECOND_NS;
}

static double ratio(int64_t part_ns, int64_t whole_ns)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0 ? (double)NAN : (double)part_ns / (double)whole_ns;
}

/* Figures of the whole run. */
static int add_run(struct metrics *metrics, const struct judged_run *run)
{
    const struct job *job = &run->job;
    const struct judgement *judged = &run->judgement;
    const struct time_shares *shares = &judged->shares;
    const struct longer_steps *longer = &judged->longer;
    const struct metric_label labels[] = {{"run", job->run_name}, {NULL, NULL}};
    int64_t median_ns = run->baseline.median_step_ns;
    const struct {
        enum metric metric;
        double value;
    } figures[] = {
        {METRIC_RANKS, (double)judged->scope.recorded_ranks},
        {METRIC_EXPECTED_RANKS, (double)job->expected_ranks},
        {METRIC_STEPS, (double)(job->step_count - job->first_step)},
        {METRIC_STEP_MEDIAN, median_ns ? seconds(median_ns) : (double)NAN},
        {METRIC_STEP_USUAL, seconds(shares->usual_step_ns)},
        {METRIC_COMMUNICATION, ratio(shares->communication_ns, shares->steps_ns)},
        {METRIC_WAITING, ratio(shares->waiting_ns, shares->steps_ns)},
        {METRIC_TIME, seconds(longer->whole_ns)},
        {METRIC_LOST, seconds(longer->lost_ns)},
        {METRIC_EXPLAINED, seconds(longer->explained_ns)},
        {METRIC_UNEXPLAINED_STEPS, longer_steps_alarm(longer) ? 1 : 0},
        {METRIC_STOPPED, findings_stop_job(&run->findings) ? 1 : 0},
        {METRIC_RECORDS, (double)(judged->scope.operations - judged->scope.warm_up)},
        {METRIC_JUDGED, (double)judged->scope.judged},
        {METRIC_MISSING, (double)job->missing_sequence},
        {METRIC_DAMAGED_LINES, (double)job->damaged_lines},
        {METRIC_LOST_EVENTS, (double)job->lost_events},
    };
    int failed = 0;
    for (size_t i = 0; !failed && i < sizeof figures / sizeof *figures; i++)
        failed = metrics_add(metrics, figures[i].metric, labels, figures[i].value);
    return failed;
}

/* Zeros too: an alarm asks for a change. */
static int add_counts(struct metrics *metrics, const struct judged_run *run)
{
    int counts[FINDING_KINDS][CONFIDENCE_HIGH + 1] = {{0}};
    int failed = 0;
    for (size_t i = 0; i < run->findings.count; i++)
        counts[run->findings.items[i].kind][run->findings.items[i].confidence]++;
    for (int kind = 0; kind < FINDING_KINDS; kind++)
        for (int confidence = 0; confidence <= CONFIDENCE_HIGH && !failed; confidence++) {
            const struct metric_label labels[] = {
                {"run", run->job.run_name},
                {"kind", finding_kind_name((enum finding_kind)kind)},
                {"confidence", confidence_name((enum confidence)confidence)},
                {NULL, NULL}};
            failed = metrics_add(metrics, METRIC_FINDINGS, labels, counts[kind][confidence]);
        }
    return failed;
}

/* Findings of one kind, unit, phase and confidence: to Prometheus they are one. */
struct told_finding {
    const struct finding *finding;
    struct buffer unit;
    int64_t lost_ns;
    int32_t first_step; /* -1: not known */
    int32_t last_step;
};

static struct told_finding *find_alike(struct told_finding *told, size_t count,
                                       const struct told_finding *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (told[i].finding->kind == wanted->finding->kind && told[i].finding->tag == wanted->finding->tag &&
            told[i].finding->confidence == wanted->finding->confidence &&
            strcmp(told[i].unit.data, wanted->unit.data) == 0)
            return &told[i];
    return NULL;
}

static void unite(struct told_finding *told, const struct finding *finding)
{
    told->lost_ns += finding->lost_ns;
    if (finding->first_step < 0)
        return;
    if (told->first_step < 0 || finding->first_step < told->first_step)
        told->first_step = finding->first_step;
    if (finding->last_step > told->last_step)
        told->last_step = finding->last_step;
}

/* Those that diagnose tells unasked. -1 when memory is out. */
static int collect(const struct judged_run *run, struct told_finding *told, size_t *count)
{
    for (size_t i = 0; i < run->findings.count; i++) {
        const struct finding *finding = &run->findings.items[i];
        struct told_finding *next = &told[*count];
        if (!finding_is_told(finding))
            continue;
        *next = (struct told_finding){.finding = finding, .first_step = -1, .last_step = -1};
        if (finding_name_unit(finding, &run->job, &next->unit)) {
            buffer_release(&next->unit);
            return -1;
        }
        struct told_finding *alike = find_alike(told, *count, next);
        if (alike)
            buffer_release(&next->unit);
        else
            ++*count;
        unite(alike ? alike : next, finding);
    }
    return 0;
}

static int add_finding(struct metrics *metrics, const struct job *job, const struct told_finding *told)
{
    const struct metric_label labels[] = {{"run", job->run_name},
                                          {"kind", finding_kind_name(told->finding->kind)},
                                          {"unit", told->unit.data},
                                          {"phase", job_tag(job, told->finding->tag)},
                                          {"confidence", confidence_name(told->finding->confidence)},
                                          {NULL, NULL}};
    return metrics_add(metrics, METRIC_FINDING_LOST, labels, seconds(told->lost_ns)) ||
           (told->first_step >= 0 &&
            (metrics_add(metrics, METRIC_FINDING_FIRST_STEP, labels, told->first_step) ||
             metrics_add(metrics, METRIC_FINDING_LAST_STEP, labels, told->last_step)));
}

static int add_findings(struct metrics *metrics, const struct judged_run *run)
{
    size_t count = 0;
    struct told_finding *told = array_new(run->findings.count + 1, sizeof *told);
    int failed = !told || collect(run, told, &count);
    for (size_t i = 0; i < count; i++) {
        failed = failed || add_finding(metrics, &run->job, &told[i]);
        buffer_release(&told[i].unit);
    }
    free(told);
    return failed;
}

static double median(struct samples *samples)
{
    return samples->count ? samples_real(samples_percentile(samples, 0.5)) * GB_BYTES : (double)NAN;
}

enum { BY_TAG, BY_FUNCTION };

static int add_group(struct metrics *metrics, const struct job *job, const struct report_groups *report,
                     struct report_group *group)
{
    int64_t tag = group->key[BY_TAG], function = group->key[BY_FUNCTION];
    const struct metric_label labels[] = {
        {"run", job->run_name},
        {"function", function < 0 ? NULL : intern_text(&report->texts, function)},
        {"tag", tag < 0 ? NULL : intern_text(&report->texts, tag)},
        {NULL, NULL}};
    return metrics_add(metrics, METRIC_TRANSFER_BUSBW, labels, median(&group->transfer_gbs)) ||
           metrics_add(metrics, METRIC_EFFECTIVE_BUSBW, labels, median(&group->effective_gbs)) ||
           metrics_add(metrics, METRIC_OPERATIONS, labels, (double)group->instances) ||
           metrics_add(metrics, METRIC_OPERATION_BYTES, labels, (double)group->bytes);
}

static int add_bandwidths(struct metrics *metrics, const struct job *job, struct error *error)
{
    struct report_groups report;
    report_groups_init(&report);
    report.by[BY_TAG] = KEY_TAG;
    report.by[BY_FUNCTION] = KEY_FUNCTION;
    report.by_count = BY_FUNCTION + 1;
    int failed = report_groups_read(&report, job->store, job->run_id, error);
    for (size_t i = 0; !failed && i < report.count; i++)
        if (add_group(metrics, job, &report, &report.groups[i]))
            failed = error_no_memory(error);
    report_groups_release(&report);
    return failed;
}

int run_metrics_add(struct metrics *metrics, const struct judged_run *run, struct error *error)
{
    if (add_run(metrics, run) || add_counts(metrics, run) || add_findings(metrics, run))
        return error_no_memory(error);
    return add_bandwidths(metrics, &run->job, error);
}
