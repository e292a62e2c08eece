#include "analyse/summary.h"

#include "base/json_text.h"
#include "verdict/longer_steps_text.h"
#include "verdict/scope_text.h"
#include "verdict/words.h"

/* So small a part of a store may be in runs that were not judged. */
enum { PART_LEFT_OUT = 10 };

int judgement_init(struct judgement *judgement, const struct job *job, const struct baseline *baseline,
                   const struct findings *findings, const struct diagnose_options *options)
{
    *judgement = (struct judgement){.job = job, .baseline = baseline};
    scope_measure(&judgement->scope, job, baseline);
    return longer_steps_find(&judgement->longer, job, baseline, findings, options) ||
                   smallest_fault_measure(&judgement->smallest, job, baseline, findings, options)
               ? -1
               : 0;
}

void judgement_release(struct judgement *judgement)
{
    longer_steps_release(&judgement->longer);
}

/* "2.45 ms (10 % of a step) in one step" */
static int say_fault(int64_t time_ns, int64_t step_ns, const char *of, const char *when, struct buffer *text)
{
    double percent = 100 * (double)time_ns / (double)step_ns;
    return text_time(text, time_ns) ||
           buffer_printf(text, " (%.*f %%%s) %s", percent < 9.95, percent, of, when);
}

/* What would have been seen; nothing where nothing would. */
static int say_sight(const struct judgement *judgement, struct buffer *text)
{
    const struct smallest_fault *smallest = &judgement->smallest;
    int64_t step_ns = judgement->baseline->median_step_ns;
    if (smallest->one_step_ns == TIME_UNKNOWN || step_ns <= 0)
        return 0;
    if (buffer_append_text(text, "    would have seen a rank slower by ") ||
        say_fault(smallest->one_step_ns, step_ns, " of a step", "in one step", text) ||
        buffer_append_text(text, ", ") ||
        say_fault(smallest->three_steps_ns, step_ns, "", "in three in a row", text))
        return -1;
    if (smallest->every_step_ns == TIME_UNKNOWN)
        return buffer_append_text(text, "; one that is slow in every step has too few peers to show\n");
    return buffer_append_text(text, ", ") ||
           say_fault(smallest->every_step_ns, step_ns, "", "in every step\n", text);
}

/* A line of what was judged, and how small a fault would have shown. */
static int say_judged(const struct judgement *judgement, struct buffer *text)
{
    struct buffer gaps = BUFFER_INIT;
    int failed = buffer_append_text(text, "    judged: ") || scope_say_judged(&judgement->scope, text) ||
                 scope_say_gaps(&judgement->scope, &gaps) ||
                 (gaps.length && (buffer_append_text(text, "; not judged: ") ||
                                  buffer_append(text, gaps.data, gaps.length))) ||
                 buffer_append_byte(text, '\n');
    buffer_release(&gaps);
    return failed || say_sight(judgement, text) ? -1 : 0;
}

static int say_partly_judged(const struct judgement *judgement, struct buffer *text)
{
    return buffer_append_text(text, "nothing stands out in what could be judged (") ||
                   scope_say_judged(&judgement->scope, text) || buffer_append_text(text, "); not judged: ") ||
                   scope_say_gaps(&judgement->scope, text) || buffer_append_byte(text, '\n') ||
                   say_sight(judgement, text)
               ? -1
               : 0;
}

int summary_add_headline(struct summary *summary, const struct judgement *judgement, int names_run)
{
    const struct scope *scope = &judgement->scope;
    struct buffer *text = &summary->headlines;
    int is_longer = longer_steps_alarm(&judgement->longer);
    if (names_run && scope->blindness == BLIND_NO_OPERATIONS && !scope->operations)
        return 0;
    if (names_run && buffer_printf(text, "run %lld: ", (long long)judgement->job->run_id))
        return -1;
    if (is_longer)
        return buffer_append_text(text, "steps became longer, and no rank stands out that is to blame\n") ||
               say_judged(judgement, text);
    if (scope->blindness != BLIND_NOT)
        return buffer_append_text(text, "could not be judged: ") || scope_say_blindness(scope, text) ||
               buffer_append_byte(text, '\n');
    if (scope_is_partial(scope))
        return say_partly_judged(judgement, text);
    return buffer_append_text(text, "nothing stands out\n") || say_judged(judgement, text);
}

int summary_add_run(struct summary *summary, const struct judgement *judgement)
{
    const struct scope *scope = &judgement->scope;
    summary->runs++;
    summary->ranks += scope->recorded_ranks;
    summary->steps += judgement->job->step_count;
    summary->median_step_ns = judgement->baseline->median_step_ns;
    summary->operations += scope->operations;
    summary->judged += scope->judged;
    if (scope->blindness != BLIND_NOT || scope_is_partial(scope))
        summary->doubtful += scope->operations;
    for (int gap = 0; gap < GAP_COUNT; gap++)
        summary->gaps[gap] += scope->gaps[gap];
    summary->lost_ns += judgement->longer.lost_ns;
    summary->explained_ns += judgement->longer.explained_ns;
    summary->smallest = judgement->smallest;
    summary->longer_steps |= longer_steps_alarm(&judgement->longer);
    return longer_steps_add_json(&judgement->longer, judgement->job->run_id, &summary->longer);
}

void summary_release(struct summary *summary)
{
    buffer_release(&summary->longer);
    buffer_release(&summary->headlines);
}

int summary_is_doubtful(const struct summary *summary)
{
    return !summary->operations || summary->doubtful > summary->operations / PART_LEFT_OUT;
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

int summary_add_json(const struct summary *summary, struct buffer *json)
{
    int64_t step_ns = summary->runs == 1 && summary->median_step_ns ? summary->median_step_ns : TIME_UNKNOWN;
    return buffer_append_text(json, "\"summary\":{") || text_json_integer(json, "ranks", summary->ranks) ||
                   text_json_integer(json, "steps", summary->steps) ||
                   text_json_us(json, "step_us_p50", step_ns) ||
                   text_json_us(json, "lost_us", summary->lost_ns) ||
                   text_json_us(json, "explained_us", summary->explained_ns) ||
                   text_json_key(json, "longer_steps") || buffer_append_byte(json, '[') ||
                   buffer_append(json, summary->longer.data, summary->longer.length) ||
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
    int failed = scope_say_judged(&judgement->scope, &text) || buffer_append_text(&text, "; not judged: ") ||
                         scope_say_gaps(&judgement->scope, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "run %lld: only this could be judged: %s",
                                         (long long)judgement->job->run_id, text.data);
    buffer_release(&text);
    return failed;
}
