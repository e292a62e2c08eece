#include "analyse/summary.h"

#include "base/json_text.h"
#include "base/scale.h"
#include "job/excerpts.h"
#include "verdict/finding_place.h"
#include "verdict/longer_steps_text.h"
#include "verdict/scope_text.h"
#include "verdict/standstill_text.h"
#include "verdict/words.h"

/* So small a part of a store may be in runs that were not judged. */
enum { PART_LEFT_OUT = 10 };

/* The first step that does not end, of those that findings name; -1. */
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

int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   const struct findings *findings, const struct diagnose_options *options)
{
    *judgement = (struct judgement){
        .job = job, .told = job, .baseline = baseline, .stopped_step = stopped_in(findings)};
    scope_measure(&judgement->scope, job, baseline);
    /* What moves between two looks of NCCL's RAS does not stand still, and where no end is ever recorded that
     * one is lacking says nothing. */
    if (!findings_stop_job(findings) && !job->watch.has_moved && judgement->scope.blindness != BLIND_NO_ENDS)
        judgement->standstill = findings->standstill;
    return longer_steps_find(&judgement->longer, job, baseline, findings, options) ||
                   smallest_fault_measure(&judgement->smallest, job, baseline, findings, options) ||
                   time_shares_measure(&judgement->shares, job, baseline) ||
                   job_count_hosts(job, &judgement->hosts)
               ? -1
               : 0;
}

void judgement_release(struct judgement *judgement)
{
    longer_steps_release(&judgement->longer);
}

int64_t judgement_waiting_ns(const struct judgement *judgement)
{
    int64_t waiting_ns = judgement->shares.waiting_ns;
    return waiting_ns == TIME_UNKNOWN ? TIME_UNKNOWN
                                      : scale(waiting_ns, (double)judgement->scope.recorded_ranks);
}

/* Of several runs, a share is told where each tells it. */
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

/* Whether a part of the steps that were not loaded stands out, or nothing is known of them. */
static int is_unseen(const struct job *job)
{
    return job->excerpt_count &&
           (!job->screened.is_told || job->screened.left_steps > job_run_steps(job) / PART_LEFT_OUT);
}

/* {"run": 1, "reason": "...", "remedy": "...", "us": null} */
static int add_undetermined(const struct judgement *judgement, struct buffer *json)
{
    struct buffer reason = BUFFER_INIT, remedy = BUFFER_INIT;
    int failed = standstill_say_reason(&judgement->standstill, judgement->job, &reason) ||
                 standstill_say_remedy(&judgement->standstill, judgement->job, &remedy) ||
                 buffer_append_text(json, json->length ? ",{" : "{") ||
                 text_json_integer(json, "run", judgement->job->run_id) ||
                 text_json_string(json, "reason", reason.data) ||
                 text_json_string(json, "remedy", remedy.data) || text_json_key(json, "us") ||
                 buffer_append_text(json, "null}");
    buffer_release(&reason);
    buffer_release(&remedy);
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
    if (judgement->standstill.is_known && add_undetermined(judgement, &summary->undetermined))
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
    return !summary->operations || summary->undetermined.length ||
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

/* A part of a time; null where either is not known. */
static int add_share(struct buffer *json, const char *name, int64_t part_ns, int64_t whole_ns)
{
    return text_json_key(json, name) ||
           (part_ns == TIME_UNKNOWN || whole_ns <= 0
                ? buffer_append_text(json, "null")
                : buffer_printf(json, "%.4f", (double)part_ns / (double)whole_ns));
}

static const double HOUR_NS = 3600e9;

/* What the job's time went into, and what of it was lost. */
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

int caution_scope(const struct judgement *judgement, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    if (judgement->scope.blindness != BLIND_LITTLE)
        return 0;
    int failed =
        scope_say_judged(&judgement->scope, &text) || buffer_append_text(&text, "; not analyzed: ") ||
                scope_say_gaps(&judgement->scope, &text)
            ? error_no_memory(error)
            : table_add_warning(table, error, "run %lld: only this part of the job could be analyzed: %s",
                                (long long)judgement->job->run_id, text.data);
    buffer_release(&text);
    return failed;
}
