/*
 * What diagnose knows about a run besides its findings: where its time went, what was lost, coverage. It
 * becomes the "summary" of the JSON, a warning about coverage, and the metrics for Prometheus.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/groups.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If one step has no value, the sum would cover fewer steps than its total, so it is unknown too. */
static void add(int64_t *sum_ns, int64_t step_ns)
{
    if (*sum_ns != TIME_UNKNOWN)
        *sum_ns = step_ns == TIME_UNKNOWN ? TIME_UNKNOWN : *sum_ns + step_ns;
}

int time_shares_measure(struct time_shares *shares, const struct job *job, const struct baseline *baseline)
{
    *shares = (struct time_shares){
        .communication_ns = TIME_UNKNOWN, .waiting_ns = TIME_UNKNOWN, .usual_step_ns = TIME_UNKNOWN};
    /* Without timestamps, step_ns is in lines of the trace. */
    if (!baseline->step_ns || !(job->timed_operations || job->traffic_count))
        return 0;
    struct step_summary *steps = step_summaries_new(job, baseline);
    if (!steps)
        return -1;
    shares->communication_ns = shares->waiting_ns = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count && step < job->step_count; step++) {
        if (steps[step].duration_ns == TIME_UNKNOWN)
            continue;
        shares->steps_ns += steps[step].duration_ns;
        add(&shares->communication_ns, steps[step].communication_ns);
        add(&shares->waiting_ns, steps[step].waiting_ns);
        shares->usual_step_ns = steps[step].usual_ns;
    }
    free(steps);
    if (shares->steps_ns <= 0)
        shares->communication_ns = shares->waiting_ns = TIME_UNKNOWN;
    return 0;
}

/* One part in ten of a store's operations may be in runs that were not analyzed. */
enum { PART_LEFT_OUT = 10 };

/* The first step that does not end, among those that findings name; -1: none. */
static int32_t stopped_in(const struct findings *findings)
{
    int32_t first = -1;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->stops_job && finding->first_step >= 0 && (first < 0 || finding->first_step < first))
            first = finding->first_step;
    }
    return first;
}

/*
 * Whether a reported finding says what the ranks without a trace did: that they were late, or that the job
 * stopped.
 */
static int tells_of_absent(const struct findings *findings, const struct job *job)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_is_reported(&findings->items[i]) &&
            (finding_is_absent(&findings->items[i], job) || findings->items[i].stops_job))
            return 1;
    return 0;
}

static int has_reported(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_is_reported(&findings->items[i]))
            return 1;
    return 0;
}

/*
 * Forgets the shares and the baseline step of a run that could not be analyzed, if its steps cover less than
 * half of the time of the ranks: they are not the steps of the job. The last step, whose duration is not
 * known, counts as a usual one.
 */
static void drop_shares_of_little(struct judgement *judgement)
{
    const struct scope *scope = &judgement->scope;
    struct time_shares *shares = &judgement->shares;
    double covered_ns = (double)(shares->steps_ns + shares->usual_step_ns) * (double)scope->recorded_ranks;
    judgement->covers_little =
        scope->blindness != BLIND_NOT && shares->steps_ns > 0 && covered_ns < (double)scope->time_ns / 2;
    if (judgement->covers_little)
        *shares = (struct time_shares){
            .communication_ns = TIME_UNKNOWN, .waiting_ns = TIME_UNKNOWN, .usual_step_ns = TIME_UNKNOWN};
}

int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   struct findings *findings, const struct diagnose_options *options)
{
    *judgement = (struct judgement){
        .job = job, .told = job, .baseline = baseline, .stopped_step = stopped_in(findings)};
    scope_measure(&judgement->scope, job, baseline);
    /*
     * A job that moved between two reports of NCCL's RAS does not hang. If no end is ever recorded, a
     * missing end shows nothing.
     */
    if (!findings_explain_stop(findings) && !job->watch.has_moved &&
        judgement->scope.blindness != BLIND_NO_ENDS)
        judgement->unexplained_hang = findings->unexplained_hang;
    if (judgement->scope.blindness == BLIND_NOT && !judgement->unexplained_hang.is_known &&
        !tells_of_absent(findings, job))
        judgement->hidden_wait = findings->hidden_wait;
    judgement->uncompared.rank = -1;
    if (judgement->scope.blindness == BLIND_NOT && !judgement->unexplained_hang.is_known &&
        !judgement->hidden_wait.step_ns && !has_reported(findings))
        judgement->uncompared = findings->uncompared;
    int failed = longer_steps_find(&judgement->longer, job, baseline, findings, options) ||
                 longer_steps_account(&judgement->longer, job, baseline, findings, options) ||
                 smallest_fault_measure(&judgement->smallest, job, baseline, findings, options) ||
                 time_shares_measure(&judgement->shares, job, baseline) ||
                 job_count_hosts(job, &judgement->hosts);
    if (!failed)
        drop_shares_of_little(judgement);
    return failed ? -1 : 0;
}

void judgement_release(struct judgement *judgement)
{
    longer_steps_release(&judgement->longer);
}

int findings_add_later_costs(struct findings *findings, const struct job *job,
                             const struct baseline *baseline, const struct diagnose_options *options,
                             struct error *error)
{
    struct longer_steps longer = {.rows = NULL};
    int failed = longer_steps_find(&longer, job, baseline, findings, options) ||
                 longer_steps_account(&longer, job, baseline, findings, options);
    longer_steps_release(&longer);
    return failed ? error_no_memory(error) : 0;
}

int64_t judgement_waiting_ns(const struct judgement *judgement)
{
    int64_t waiting_ns = judgement->shares.waiting_ns;
    return waiting_ns == TIME_UNKNOWN ? TIME_UNKNOWN
                                      : scale(waiting_ns, (double)judgement->scope.recorded_ranks);
}

/* With several runs, a share is known only if it is known for each run. */
static void add_time(int64_t *sum_ns, int64_t time_ns)
{
    if (*sum_ns != TIME_UNKNOWN)
        *sum_ns = time_ns == TIME_UNKNOWN ? TIME_UNKNOWN : *sum_ns + time_ns;
}

int judgement_add_round(struct judgement *judgement, const struct judgement *round)
{
    struct time_shares *shares = &judgement->shares;
    scope_add_round(&judgement->scope, &round->scope);
    shares->steps_ns += round->shares.steps_ns;
    add_time(&shares->communication_ns, round->shares.communication_ns);
    add_time(&shares->waiting_ns, round->shares.waiting_ns);
    return longer_steps_add_round(&judgement->longer, &round->longer);
}

static void add_shares(struct summary *summary, const struct judgement *judgement)
{
    const struct time_shares *shares = &judgement->shares;
    summary->shares.steps_ns += shares->steps_ns;
    summary->shares.usual_step_ns = shares->usual_step_ns;
    add_time(&summary->shares.communication_ns, shares->communication_ns);
    add_time(&summary->shares.waiting_ns, shares->waiting_ns);
    add_time(&summary->waiting_gpu_ns, judgement_waiting_ns(judgement));
}

/* Whether some of the steps that were not loaded are outliers, or nothing is known about them. */
static int is_unseen(const struct job *job)
{
    return job->excerpt_count &&
           (!job->screened.is_told || job->screened.left_steps > job_run_steps(job) / PART_LEFT_OUT);
}

/* {"run": 1, "reason": "...", "remedy": "...", "us": 12.5, "steps": 3}; the last two are null for a hang. */
static int add_undetermined(const struct judgement *judgement, const char *reason, const char *remedy,
                            const struct loss_part *part, struct buffer *json)
{
    return buffer_append_text(json, json->length ? ",{" : "{") ||
           text_json_integer(json, "run", judgement->job->run_id) ||
           text_json_string(json, "reason", reason) || text_json_string(json, "remedy", remedy) ||
           text_json_us(json, "us", part ? part->lost_ns : TIME_UNKNOWN) || text_json_key(json, "steps") ||
           (part ? buffer_printf(json, "%d}", (int)part->steps) : buffer_append_text(json, "null}"));
}

/* A hang whose culprit cannot be determined, or waits for ranks without a trace that cannot. */
static int add_open(const struct judgement *judgement, struct buffer *json)
{
    struct buffer reason = BUFFER_INIT, remedy = BUFFER_INIT;
    const struct job *job = judgement->job;
    int failed = judgement->unexplained_hang.is_known
                     ? hang_append_reason(&judgement->unexplained_hang, job, &reason) ||
                           hang_append_remedy(&judgement->unexplained_hang, job, &remedy)
                     : hidden_wait_append_reason(&judgement->hidden_wait, job, &reason) ||
                           hidden_wait_append_remedy(job, &remedy);
    failed = failed || add_undetermined(judgement, reason.data, remedy.data, NULL, json);
    buffer_release(&reason);
    buffer_release(&remedy);
    return failed;
}

/* The time lost without a finding, by reason. */
static int add_unexplained(const struct judgement *judgement, struct buffer *json)
{
    for (int i = 0; i < LOSS_REASONS; i++) {
        const struct loss_part *part = &judgement->longer.undetermined[i];
        if (part->lost_ns > 0 && add_undetermined(judgement, loss_reason_text((enum loss_reason)i),
                                                  loss_reason_remedy((enum loss_reason)i), part, json))
            return -1;
    }
    return 0;
}

/* What would be slow in every step without showing. */
static int add_uncompared(const struct judgement *judgement, struct buffer *json)
{
    const struct uncompared *uncompared = &judgement->uncompared;
    struct buffer reason = BUFFER_INIT;
    int failed = 0;
    if (uncompared->network_ns > 0)
        failed = uncompared_append_network(uncompared, judgement->baseline->median_step_ns, &reason) ||
                 add_undetermined(judgement, reason.data, UNCOMPARED_NETWORK_REMEDY, NULL, json);
    buffer_clear(&reason);
    if (!failed && uncompared->rank >= 0)
        failed = uncompared_append_host(uncompared, judgement->job, &reason) ||
                 add_undetermined(judgement, reason.data, UNCOMPARED_HOST_REMEDY, NULL, json);
    buffer_clear(&reason);
    if (!failed && uncompared->rootless)
        failed = uncompared_append_roots(uncompared, &reason) ||
                 add_undetermined(judgement, reason.data, UNCOMPARED_ROOTS_REMEDY, NULL, json);
    buffer_release(&reason);
    return failed;
}

int summary_add_run(struct summary *summary, const struct judgement *judgement)
{
    const struct scope *scope = &judgement->scope;
    summary->runs++;
    summary->ranks += scope->recorded_ranks;
    summary->hosts = judgement->hosts && summary->hosts != COUNT_UNKNOWN
                         ? summary->hosts + (int64_t)judgement->hosts
                         : COUNT_UNKNOWN;
    summary->steps += job_run_steps(judgement->job) - judgement->job->first_step;
    summary->median_step_ns = judgement->baseline->median_step_ns;
    summary->operations += scope->operations;
    summary->judged += scope->judged;
    if (scope->blindness != BLIND_NOT || scope_is_partial(scope) || is_unseen(judgement->job))
        summary->doubtful += scope->operations;
    for (int gap = 0; gap < GAP_COUNT; gap++)
        summary->gaps[gap] += scope->gaps[gap];
    summary->whole_ns += judgement->longer.whole_ns;
    summary->lost_ns += judgement->longer.lost_ns;
    summary->explained_ns += judgement->longer.explained_ns;
    add_shares(summary, judgement);
    summary->smallest = judgement->smallest;
    summary->longer_steps |= longer_steps_alarm(&judgement->longer);
    int is_open = judgement->unexplained_hang.is_known || judgement->hidden_wait.step_ns;
    summary->hidden_ns += judgement->longer.hidden_ns;
    summary->is_open |= is_open;
    if ((is_open && add_open(judgement, &summary->undetermined)) ||
        add_unexplained(judgement, &summary->undetermined) ||
        add_uncompared(judgement, &summary->undetermined))
        return -1;
    return longer_steps_add_json(&judgement->longer, judgement->job, &summary->longer);
}

void summary_release(struct summary *summary)
{
    buffer_release(&summary->longer);
    buffer_release(&summary->undetermined);
}

int summary_is_doubtful(const struct summary *summary)
{
    return !summary->operations || summary->is_open ||
           summary->doubtful > summary->operations / PART_LEFT_OUT;
}

static int add_smallest(const struct summary *summary, struct buffer *json)
{
    const struct smallest_fault *smallest = &summary->smallest;
    if (summary->runs != 1)
        return text_json_key(json, "smallest_fault") || buffer_append_text(json, "null");
    return text_json_key(json, "smallest_fault") || buffer_append_byte(json, '{') ||
           text_json_us(json, "one_step_us", smallest->one_step_ns) ||
           text_json_us(json, "three_steps_us", smallest->three_steps_ns) ||
           text_json_us(json, "every_step_us", smallest->every_step_ns) || buffer_append_byte(json, '}');
}

static int add_gaps(const struct summary *summary, struct buffer *json)
{
    struct scope scope = {0};
    for (int gap = 0; gap < GAP_COUNT; gap++)
        scope.gaps[gap] = summary->gaps[gap];
    return text_json_key(json, "not_judged") || buffer_append_byte(json, '{') ||
           scope_add_gaps(&scope, json) || buffer_append_byte(json, '}');
}

/* Appends a share of a time; null if either is not known. */
static int add_share(struct buffer *json, const char *name, int64_t part_ns, int64_t whole_ns)
{
    return text_json_key(json, name) ||
           (part_ns == TIME_UNKNOWN || whole_ns <= 0
                ? buffer_append_text(json, "null")
                : buffer_printf(json, "%.4f", (double)part_ns / (double)whole_ns));
}

static const double HOUR_NS = 3600e9;

/* Appends where the job's time went, and how much of it was lost. */
static int add_times(const struct summary *summary, struct buffer *json)
{
    const struct time_shares *shares = &summary->shares;
    int is_one = summary->runs == 1;
    int64_t step_ns = is_one && summary->median_step_ns ? summary->median_step_ns : TIME_UNKNOWN;
    int64_t waiting_ns = shares->steps_ns > 0 ? summary->waiting_gpu_ns : TIME_UNKNOWN;
    return text_json_us(json, "step_us_p50", step_ns) ||
           text_json_us(json, "step_us_usual", is_one ? shares->usual_step_ns : TIME_UNKNOWN) ||
           add_share(json, "communication_share", shares->communication_ns, shares->steps_ns) ||
           add_share(json, "waiting_share", shares->waiting_ns, shares->steps_ns) ||
           text_json_key(json, "waiting_gpu_hours") ||
           (waiting_ns == TIME_UNKNOWN ? buffer_append_text(json, "null")
                                       : buffer_printf(json, "%.6g", (double)waiting_ns / HOUR_NS)) ||
           text_json_us(json, "steps_us", summary->whole_ns) ||
           text_json_us(json, "lost_us", summary->lost_ns) ||
           text_json_us(json, "explained_us", summary->explained_ns) ||
           text_json_us(json, "hidden_us", summary->hidden_ns) ||
           text_json_us(json, "unexplained_us", summary->lost_ns - summary->explained_ns);
}

int summary_add_json(const struct summary *summary, struct buffer *json)
{
    return buffer_append_text(json, "\"summary\":{") || text_json_integer(json, "ranks", summary->ranks) ||
                   text_json_key(json, "hosts") ||
                   (summary->hosts == COUNT_UNKNOWN || !summary->hosts
                        ? buffer_append_text(json, "null")
                        : buffer_printf(json, "%lld", (long long)summary->hosts)) ||
                   text_json_integer(json, "steps", summary->steps) || add_times(summary, json) ||
                   text_json_key(json, "longer_steps") || buffer_append_byte(json, '[') ||
                   buffer_append(json, summary->longer.data, summary->longer.length) ||
                   buffer_append_byte(json, ']') || text_json_key(json, "undetermined") ||
                   buffer_append_byte(json, '[') ||
                   buffer_append(json, summary->undetermined.data, summary->undetermined.length) ||
                   buffer_append_byte(json, ']') ||
                   text_json_integer(json, "judged_operations", summary->judged) ||
                   text_json_integer(json, "operations", summary->operations) || add_gaps(summary, json) ||
                   add_smallest(summary, json) || buffer_append_byte(json, '}')
               ? -1
               : 0;
}

static const double SECOND_NS = 1e9, GB_BYTES = 1e9;

static double seconds(int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN ? (double)NAN : (double)time_ns / SECOND_NS;
}

static double ratio(int64_t part_ns, int64_t whole_ns)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0 ? (double)NAN : (double)part_ns / (double)whole_ns;
}

/* Adds the figures of the whole run. */
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
        {METRIC_STEPS, (double)(job_run_steps(job) - job->first_step)},
        {METRIC_STEP_MEDIAN, median_ns ? seconds(median_ns) : (double)NAN},
        {METRIC_STEP_USUAL, seconds(shares->usual_step_ns)},
        {METRIC_COMMUNICATION, ratio(shares->communication_ns, shares->steps_ns)},
        {METRIC_WAITING, ratio(shares->waiting_ns, shares->steps_ns)},
        {METRIC_TIME, seconds(longer->whole_ns)},
        {METRIC_LOST, seconds(longer->lost_ns)},
        {METRIC_EXPLAINED, seconds(longer->explained_ns)},
        {METRIC_UNEXPLAINED_STEPS, longer_steps_alarm(longer) ? 1 : 0},
        {METRIC_STOPPED, findings_explain_stop(&run->findings) ? 1 : 0},
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

/* Adds zeros too, because an alarm needs to see a change. */
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

/* Findings with the same kind, unit, phase, confidence and action, which are one time series in Prometheus.
 */
struct told_finding {
    const struct finding *finding;
    struct buffer unit, hosts, gpus, action;
    int64_t lost_ns;
    int32_t first_step; /* -1: not known */
    int32_t last_step;
};

static void told_finding_release(struct told_finding *told)
{
    buffer_release(&told->unit);
    buffer_release(&told->hosts);
    buffer_release(&told->gpus);
    buffer_release(&told->action);
}

static struct told_finding *find_alike(struct told_finding *told, size_t count,
                                       const struct told_finding *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (told[i].finding->kind == wanted->finding->kind && told[i].finding->tag == wanted->finding->tag &&
            told[i].finding->confidence == wanted->finding->confidence &&
            strcmp(told[i].unit.data, wanted->unit.data) == 0 &&
            strcmp(told[i].action.data, wanted->action.data) == 0)
            return &told[i];
    return NULL;
}

static void unite(struct told_finding *told, const struct finding *finding, const struct job *job)
{
    told->lost_ns += finding->lost_ns;
    if (finding->first_step < 0)
        return;
    int32_t first = job_run_step(job, finding->first_step), last = job_run_step(job, finding->last_step);
    if (told->first_step < 0 || first < told->first_step)
        told->first_step = first;
    if (last > told->last_step)
        told->last_step = last;
}

/* Collects the findings that diagnose shows by default. Returns -1 when memory is out. */
static int collect(const struct judged_run *run, struct told_finding *told, size_t *count)
{
    const struct job *job = run->judgement.told;
    for (size_t i = 0; i < run->findings.count; i++) {
        const struct finding *finding = &run->findings.items[i];
        struct told_finding *next = &told[*count];
        if (!finding_is_reported(finding))
            continue;
        *next = (struct told_finding){.finding = finding, .first_step = -1, .last_step = -1};
        if (finding_name_unit(finding, job, &next->unit) || finding_list_hosts(finding, job, &next->hosts) ||
            finding_list_gpus(finding, job, &next->gpus) ||
            finding_append_action(finding, job, &next->action)) {
            told_finding_release(next);
            return -1;
        }
        struct told_finding *alike = find_alike(told, *count, next);
        if (alike)
            told_finding_release(next);
        else
            ++*count;
        unite(alike ? alike : next, finding, job);
    }
    return 0;
}

static int add_finding(struct metrics *metrics, const struct job *job, const struct told_finding *told)
{
    const struct metric_label labels[] = {{"run", job->run_name},
                                          {"kind", finding_kind_name(told->finding->kind)},
                                          {"unit", told->unit.data},
                                          {"host", told->hosts.data},
                                          {"gpu", told->gpus.data},
                                          {"phase", job_tag(job, told->finding->tag)},
                                          {"confidence", confidence_name(told->finding->confidence)},
                                          {"action", told->action.data},
                                          {NULL, NULL}};
    return metrics_add(metrics, METRIC_FINDING_LOST, labels, seconds(told->lost_ns)) ||
           (told->first_step >= 0 &&
            (metrics_add(metrics, METRIC_FINDING_FIRST_STEP, labels, told->first_step) ||
             metrics_add(metrics, METRIC_FINDING_LAST_STEP, labels, told->last_step)));
}

/* Findings that are one time series may have the same cause. */
static int add_causes(struct metrics *metrics, const struct job *job, const struct told_finding *told)
{
    int failed = 0;
    for (size_t i = 0; i < told->finding->cause_count && !failed; i++) {
        const struct cause *cause = &told->finding->causes[i];
        const struct metric_label labels[] = {
            {"run", job->run_name},       {"kind", finding_kind_name(told->finding->kind)},
            {"unit", told->unit.data},    {"host", cause->host},
            {"device", cause->device},    {"phase", job_tag(job, told->finding->tag)},
            {"cause", cause->rule->name}, {NULL, NULL}};
        failed = metrics_add(metrics, METRIC_FINDING_CAUSE, labels, 1);
    }
    return failed;
}

static int add_findings(struct metrics *metrics, const struct judged_run *run)
{
    size_t count = 0;
    struct told_finding *told = array_new(run->findings.count + 1, sizeof *told);
    int failed = !told || collect(run, told, &count);
    for (size_t i = 0; i < count; i++) {
        failed =
            failed || add_finding(metrics, &run->job, &told[i]) || add_causes(metrics, &run->job, &told[i]);
        told_finding_release(&told[i]);
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
