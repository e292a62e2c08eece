/*
 * A finding as text for people: headline, cost, evidence, first seen and next step; and the measures of the
 * rules, as text and in JSON.
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "job/job.h"
#include "model/model.h"

#include <string.h>

static int by_weight(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (finding_is_before(left, right) || finding_is_before(right, left))
        return finding_is_before(left, right) ? -1 : 1;
    return left->rank - right->rank;
}

void findings_sort(struct findings *findings)
{
    array_sort(findings->items, findings->count, sizeof *findings->items, by_weight);
}

static const struct phrase *phrase_for(const struct finding *finding)
{
    static const struct phrase network[2][2] = {
        {{{"sends from ", "sends from "}, {" are slow", " are slow"}},
         {{"sends from ", "sends from "}, {" stalled once", " stalled once"}}},
        {{{"data sent to ", "data sent to "}, {" arrives slowly", " arrives slowly"}},
         {{"data sent to ", "data sent to "}, {" stalled once", " stalled once"}}}};
    static const struct phrase than_before = {
        {"GPU of ", "GPUs of "},
        {" computes longer than in other steps", " compute longer than in other steps"}};
    static const struct phrase at_start = {{"", ""}, {" was late at start-up", " were late at start-up"}};
    static const struct phrase broke = {{"transfers of ", "transfers of "}, {" failed", " failed"}};
    static const struct phrase never_ended = {{"GPU of ", "GPUs of "},
                                              {" never finished an operation that other ranks wait for",
                                               " never finished operations that other ranks wait for"}};
    static const struct phrase unrecorded = {
        {"other ranks wait for ", "other ranks wait for "},
        {", which left no record of its calls", ", which left no record of their calls"}};
    static const struct phrase creation_fault[] = {
        [CREATION_ABSENT] = {{"", ""},
                             {" never joined the initialization of a communicator that other ranks wait in",
                              " never joined the initialization of a communicator that other ranks wait in"}},
        [CREATION_NO_TRACE] =
            {{"", ""},
             {" has no log line about the initialization of a communicator that other ranks wait in",
              " have no log line about the initialization of a communicator that other ranks wait in"}},
        [CREATION_ONE_ABSENT] =
            {{"", ""},
             {" never joined the initialization of a communicator that other ranks wait in",
              " never joined the initialization of a communicator that other ranks wait in"}},
        [CREATION_STUCK] = {{"", ""},
                            {" never finished the initialization of a communicator",
                             " never finished the initialization of a communicator"}}};
    static const struct phrase late_notices = {{"proxy threads of ", "proxy threads of "},
                                               {" get too little CPU time", " get too little CPU time"}};
    static const struct phrase silent = {{"host of ", "hosts of "}, {" made no call", " made no call"}};
    if (finding->notice_ns || finding->waits_for_cores)
        return &late_notices;
    if (finding->kind == FINDING_HOST && finding->pause_ns)
        return &silent;
    if (finding->never_ended || finding->is_unrecorded)
        return finding->never_ended ? &never_ended : &unrecorded;
    if (finding->creation_fault)
        return &creation_fault[finding->creation_fault];
    if (finding->at_start || finding->broke)
        return finding->at_start ? &at_start : &broke;
    if (finding->kind == FINDING_COMPUTE && finding->has_no_peers)
        return &than_before;
    return finding->kind == FINDING_NETWORK ? &network[finding->receives != 0][finding->pause_ns > 0]
                                            : &finding_kinds[finding->kind].headline;
}

/* Names the rank at one end where all failed transfers are its own. */
static int append_link(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int is_one = !finding->candidate_count && !finding->rank_count;
    return buffer_append_text(text, "transfers between ") ||
           (is_one && (finding_name_accused(finding, job, text) || buffer_append_text(text, " on "))) ||
           buffer_printf(text, "host %s and host %s failed", finding->link[0], finding->link[1]);
}

/* Whether the rank did not join a known operation: the headline names the operation. */
static int is_absent_from_known(const struct finding *finding)
{
    return finding->kind == FINDING_MISSING && finding->instance >= 0 && !finding->never_ended &&
           !finding->is_unrecorded && !finding->creation_fault;
}

static int append_absence(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct job_instance *instance = &job->instances[finding->instance];
    return finding_name_accused(finding, job, text) || buffer_append_text(text, " never joined ") ||
           text_operation(text, job, instance, instance->function);
}

static int append_what(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct phrase *phrase = phrase_for(finding);
    int several = finding->rank_count > 1 || (finding_holds_of_all(finding) && finding->candidate_count > 1);
    /* The host is named together with its ranks. */
    several = several && !(finding->at_start && finding_whole_host(finding, job));
    if (finding->link[0])
        return append_link(finding, job, text);
    if (finding->kind == FINDING_NETWORK && finding_is_of_any(finding, job))
        return buffer_printf(text, "transfers between the %zu ranks are slow", job->rank_count);
    if (is_absent_from_known(finding))
        return append_absence(finding, job, text);
    return buffer_append_text(text, phrase->before[several]) || finding_name_accused(finding, job, text) ||
           buffer_append_text(text, phrase->after[several]) ||
           (finding->kind == FINDING_ERROR && buffer_append_text(text, finding->error)) ||
           (finding->pause_ns > 0 &&
            (buffer_append_text(text, ", for ") || text_time(text, finding->pause_ns)));
}

/* Appends "; steps 7-30 before were not loaded" for the break at `step`, if there is one. */
static int append_break(const struct job *job, int32_t step, const char *where, int *said,
                        struct buffer *text)
{
    if (step < 0 || step >= job->step_count || !job_is_break(job, step))
        return 0;
    int first = (int)job_run_step(job, step), last = (int)job_run_step(job, step + 1) - 1;
    const char *before = *said ? "; " : " (";
    *said = 1;
    return first == last
               ? buffer_printf(text, "%sstep %d %s was not loaded", before, first, where)
               : buffer_printf(text, "%ssteps %d-%d %s were not loaded", before, first, last, where);
}

/*
 * Where steps were not loaded, the exact start and end of the fault, and whether it is in all steps, are not
 * known.
 */
static int append_breaks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int32_t breaks = job_breaks_in(job, finding->first_step, finding->last_step);
    int said = breaks > 0;
    return (said && buffer_printf(text, " (%d of them analyzed",
                                  (int)(finding->last_step - finding->first_step + 1 - breaks))) ||
           append_break(job, finding->first_step - 1, "before", &said, text) ||
           append_break(job, finding->last_step + 1, "after", &said, text) ||
           (said && buffer_append_byte(text, ')'));
}

/* The suffix of an ordinal number: "th", "st", "nd" or "rd". */
static const char *text_ordinal(int32_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int32_t last = number % 10;
    return last > 3 || (number / 10) % 10 == 1 ? endings[0] : endings[last];
}

/* Most ranges of steps that are named; the steps of more ranges are counted. */
enum { RANGES_NAMED = 3 };

/* The last step of the range of consecutive steps in the list that begins at index `at`, and its end. */
static size_t range_end(const struct finding *finding, size_t at)
{
    while (at + 1 < finding->step_count && finding->steps[at + 1] == finding->steps[at] + 1)
        at++;
    return at + 1;
}

/* Appends ", steps 4-8 and 20" or, where there are many ranges, ", in 9 of the 52 steps from 5 to 56". */
static int append_list(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t ranges = 0, count = finding->step_count, number = 0;
    int first = (int)job_run_step(job, finding->first_step),
        last = (int)job_run_step(job, finding->last_step);
    for (size_t at = 0; at < count; at = range_end(finding, at))
        ranges++;
    if (ranges > RANGES_NAMED)
        return buffer_printf(text, ", in %zu of the %d steps from %d to %d", count,
                             (int)(finding->last_step - finding->first_step + 1 - finding->breaks), first,
                             last);
    for (size_t at = 0, end; at < count; at = end) {
        end = range_end(finding, at);
        first = (int)job_run_step(job, finding->steps[at]);
        last = (int)job_run_step(job, finding->steps[end - 1]);
        number++;
        if (buffer_append_text(text, number == 1        ? ", steps "
                                     : number == ranges ? " and "
                                                        : ", ") ||
            (first == last ? buffer_printf(text, "%d", first) : buffer_printf(text, "%d-%d", first, last)))
            return -1;
    }
    return 0;
}

/* The number of steps at multiples of the period, whether or not the fault shows in them. */
static int32_t recurring_steps(const struct finding *finding, const struct job *job)
{
    int32_t count = 0, first = job_run_step(job, finding->first_step);
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        count += !job_is_break(job, step) && (job_run_step(job, step) - first) % finding->period == 0;
    return count;
}

int finding_append_steps(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int first = (int)job_run_step(job, finding->first_step),
        last = (int)job_run_step(job, finding->last_step);
    int failed = 0;
    if (finding->first_step < 0)
        return 0;
    if (first == last)
        failed = buffer_printf(text, ", step %d", first);
    else if (finding->period > 1)
        failed = buffer_printf(text, ", every %d%s step from %d to %d", finding->period,
                               text_ordinal(finding->period), first, last) ||
                 (finding->steps && buffer_printf(text, " (%zu of %d)", finding->step_count,
                                                  (int)recurring_steps(finding, job)));
    else if (finding->steps)
        return append_list(finding, job, text);
    else
        failed = buffer_printf(text, ", steps %d-%d", first, last);
    return failed || append_breaks(finding, job, text);
}

/* Appends "4.8 ms per step (62 ms instead of 57.2 ms), 24 ms in total"; nothing where there was no cost. */
static int append_cost(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int64_t each_ns = finding->lost_ns / finding_steps(finding);
    int is_one = finding_steps(finding) == 1, has_step = finding->step_ns > 0;
    if (finding->lost_ns <= 0)
        return 0;
    if (text_time(text, each_ns))
        return -1;
    if (is_one)
        return has_step && (buffer_append_text(text, " of this ") ||
                            text_time(text, finding->step_ns + each_ns) || buffer_append_text(text, " step"));
    return buffer_append_text(text, " per step") ||
           (has_step && (buffer_append_text(text, " (") || text_time(text, finding->step_ns + each_ns) ||
                         buffer_append_text(text, " instead of ") || text_time(text, finding->step_ns) ||
                         buffer_append_byte(text, ')'))) ||
           buffer_append_text(text, ", ") || text_time(text, finding->lost_ns) ||
           buffer_append_text(text, finding->breaks ? " in total in the analyzed steps" : " in total");
}

/* Appends "; rank 7 is waiting in it". */
static int append_waiting(const struct finding *finding, const struct job *job, struct buffer *text)
{
    struct unfinished in;
    int failed = instance_unfinished(job, &job->instances[finding->instance], finding, &in);
    if (!failed && !in.waiting_count)
        failed = buffer_append_text(text, "; other ranks are waiting in it");
    else if (!failed)
        failed = buffer_append_text(text, "; ") ||
                 ranks_append_list(job, in.waiting, in.waiting_count, text) ||
                 buffer_append_text(text, in.waiting_count == 1 ? " is waiting in it" : " are waiting in it");
    unfinished_release(&in);
    return failed;
}

int finding_append_headline(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *tag = job_tag(job, finding->tag);
    return append_what(finding, job, text) || finding_append_steps(finding, job, text) ||
                   (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))) ||
                   (is_absent_from_known(finding) && append_waiting(finding, job, text))
               ? -1
               : 0;
}

int finding_append(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return finding_append_headline(finding, job, text) ||
                   (finding->lost_ns > 0 &&
                    (buffer_append_text(text, "; costs ") || append_cost(finding, job, text)))
               ? -1
               : 0;
}

/* Appends one line below the headline. */
static int add_line(const char *name, const struct buffer *line, const char *end, struct buffer *out)
{
    if (!line->length)
        return 0;
    return buffer_printf(out, "    %s: ", name) || escape_terminal(out, line->data, line->length) ||
           buffer_append_text(out, end);
}

/* At most this many phases are named; the others are added up. */
enum { PHASES_NAMED = 4 };

/* A phase with a smaller share of the total is not named either. */
static const double PART_NAMED = 0.01;

/* If the cost differs from the sum of the phases by more than this share, the text gives the reason. */
static const double ADDS_UP = 0.1;

static int has_tags(const struct finding *finding)
{
    for (size_t i = 0; i < finding->phase_count; i++)
        if (finding->phases[i].tag >= 0)
            return 1;
    return 0;
}

static int append_phases(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *none = has_tags(finding) ? "outside tags" : "";
    int64_t excess_ns = finding_excess_ns(finding), rest_ns = excess_ns;
    for (size_t i = 0; i < finding->phase_count && i < PHASES_NAMED; i++) {
        const struct phase_excess *phase = &finding->phases[i];
        const char *tag = job_tag(job, phase->tag);
        if ((double)phase->excess_ns < PART_NAMED * (double)excess_ns)
            break;
        rest_ns -= phase->excess_ns;
        if ((i && buffer_append_text(text, ", ")) || buffer_append_text(text, tag ? tag : none) ||
            (*(tag ? tag : none) && buffer_append_byte(text, ' ')) || text_time(text, phase->excess_ns))
            return -1;
    }
    return (double)rest_ns >= PART_NAMED * (double)excess_ns &&
           (buffer_append_text(text, ", other phases ") || text_time(text, rest_ns));
}

/* Appends why the job lost more or less time than the phases were late or slow by. */
static int append_difference(const struct finding *finding, int64_t excess_ns, struct buffer *text)
{
    int64_t lost_ns = finding->lost_ns - finding->sign_ns;
    if (lost_ns > excess_ns)
        return buffer_append_text(text, ". The cost is higher (") || text_time(text, lost_ns) ||
               buffer_append_text(text, ") because it delayed other ranks, which delayed more ranks");
    return buffer_append_text(text, ". ") ||
           (lost_ns > 0 ? text_time(text, lost_ns) : buffer_append_text(text, "None")) ||
           buffer_append_text(text, " of ") || text_time(text, excess_ns) ||
           buffer_append_text(text, finding->kind == FINDING_NETWORK ? " delayed the job; transfers overlap"
                                    : lost_ns > 0                    ? " delayed the job; the rest was hidden"
                                                  : " delayed the job; all of it was hidden");
}

/* Appends "forward 20.1 ms, backward 19.2 ms. 30.0 ms of 39.3 ms delayed the job; ...". */
static int append_breakdown(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int64_t excess_ns = finding_excess_ns(finding), lost_ns = finding->lost_ns - finding->sign_ns;
    int64_t apart_ns = excess_ns - lost_ns;
    int adds_up = (double)(apart_ns < 0 ? -apart_ns : apart_ns) <= ADDS_UP * (double)lost_ns;
    if (!finding->phase_count ||
        (adds_up && (double)(excess_ns - finding->phases[0].excess_ns) < PART_NAMED * (double)excess_ns))
        return 0;
    return append_phases(finding, job, text) || (!adds_up && append_difference(finding, excess_ns, text));
}

/* Appends "2026-11-25T10:12:04.120000Z, 1.2 s after the job started, at train.py:123". */
static int append_first(const struct finding *finding, const struct job *job, const struct job_record *record,
                        struct buffer *text)
{
    const char *source = finding_source(finding, job);
    int has_time = record->wall_ns != TIME_UNKNOWN, has_since = finding->since_ns != TIME_UNKNOWN;
    if (!has_time && !has_since && !source)
        return 0;
    return (has_time && text_utc(text, record->wall_ns)) ||
           (has_since &&
            (buffer_append_text(text, has_time ? ", " : "") || text_time(text, finding->since_ns) ||
             buffer_append_text(text, " after the job started"))) ||
           (source && (buffer_append_text(text, has_time || has_since ? ", at " : "at ") ||
                       buffer_append_text(text, source)));
}

typedef int (*line_maker)(const struct finding *, const struct job *, struct buffer *);

static int add_made(const struct finding *finding, const struct job *job, const char *name, line_maker make,
                    struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = make(finding, job, &line) || add_line(name, &line, ".\n", out);
    buffer_release(&line);
    return failed;
}

static int append_records_end(const struct finding *finding, const struct job *job, struct buffer *text)
{
    (void)job;
    return finding->records_end ? buffer_append_text(text, finding->records_end) : 0;
}

static int add_first(const struct finding *finding, const struct job *job, const struct job_record *record,
                     struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = append_first(finding, job, record, &line) || add_line("First seen", &line, ".\n", out);
    buffer_release(&line);
    return failed;
}

/* Appends "Reported in: node3.log, byte 20511." */
static int add_place(const struct finding *finding, const struct job_record *record, struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = finding->warning && record->file &&
                 (buffer_printf(&line, "%s, byte %lld", record->file, (long long)record->byte_offset) ||
                  add_line("Reported in", &line, ".\n", out));
    buffer_release(&line);
    return failed;
}

/* The command has a line of its own, so that it can be copied. */
static int add_command(const struct finding *finding, const struct job *job, struct buffer *out)
{
    struct buffer command = BUFFER_INIT;
    int failed = finding_append_command(finding, job, &command) || buffer_append_text(out, UNBROKEN_LINE) ||
                 add_line("Confirm with", &command, "\n", out);
    buffer_release(&command);
    return failed;
}

static int add_headline(const struct finding *finding, const struct job *job, struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = finding_append_headline(finding, job, &line) ||
                 escape_terminal(out, line.data, line.length) || buffer_append_byte(out, '\n');
    buffer_release(&line);
    return failed;
}

int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, struct buffer *out)
{
    const char *confidence = confidence_name(finding->confidence);
    return (names_run && buffer_printf(out, "run %lld: ", (long long)job->run_id)) ||
                   buffer_printf(out, "%s (", finding_kind_name(finding->kind)) ||
                   colour_text(out, colours ? confidence_colour(confidence) : COLOUR_NONE, confidence) ||
                   buffer_append_text(out, " confidence): ") || add_headline(finding, job, out) ||
                   add_made(finding, job, "Action", finding_append_action, out) ||
                   add_made(finding, job, "Cost", append_cost, out) ||
                   add_line("Evidence", &finding->evidence, ".\n", out) ||
                   add_made(finding, job, "Because", causes_append, out) ||
                   add_made(finding, job, "Not recorded", append_records_end, out) ||
                   add_place(finding, record, out) ||
                   add_made(finding, job, has_tags(finding) ? "Excess by phase" : "Excess", append_breakdown,
                            out) ||
                   add_first(finding, job, record, out) ||
                   add_made(finding, job, "Next", finding_advise, out) || add_command(finding, job, out)
               ? -1
               : 0;
}

/* Six significant digits; null for the result of a division by an option of 0. */
static int add_number(struct buffer *json, const char *name, double value)
{
    return text_json_key(json, name) ||
           (isfinite(value) ? buffer_printf(json, "%.6g", value) : buffer_append_text(json, "null"));
}

static int add_rule(const struct rule_results *results, enum rule_id id, struct buffer *json)
{
    const struct rule *rule = &rules[id];
    return buffer_append_text(json, json->data[json->length - 1] == '[' ? "{" : ",{") ||
           text_json_string(json, "name", rule->name) || add_number(json, "reading", results->values[id]) ||
           add_number(json, "limit", limit_of(rule->limit)) ||
           text_json_string(json, "at_most", confidence_name(rule->at_most)) ||
           text_json_key(json, "speaks") ||
           buffer_append_text(json, rule_results_fail(results, id) ? "true}" : "false}");
}

int rule_results_add_json(const struct rule_results *results, struct buffer *json)
{
    int failed = text_json_key(json, "rules") || buffer_append_byte(json, '[');
    for (int i = 0; !failed && i < RULE_COUNT; i++)
        if (results->asked[i])
            failed = add_rule(results, (enum rule_id)i, json);
    return failed || buffer_append_byte(json, ']') ? -1 : 0;
}

static int explain(const struct rule_results *results, enum rule_id id, struct buffer *out)
{
    const struct rule *rule = &rules[id];
    const struct limit *limit = &limits[rule->limit];
    double reading = results->values[id];
    int speaks = rule_results_fail(results, id);
    const char *at_most = confidence_name(rule->at_most);
    return (speaks ? buffer_printf(out, "    limits to %s  %s: %s: %.4g", at_most, rule->name, rule->says,
                                   reading)
                   : buffer_printf(out, "    passed  %s: %.4g", rule->name, reading)) ||
           buffer_printf(out, "%s%s (at most %s if %s %.4g)\n", *limit->unit ? " " : "", limit->unit, at_most,
                         rule_side_name(rule->side), limit->value);
}

int rule_results_explain(const struct rule_results *results, struct buffer *out)
{
    int failed = 0, asked = 0;
    for (enum confidence at_most = CONFIDENCE_LOW; at_most < CONFIDENCE_HIGH; at_most++)
        for (int i = 0; !failed && i < RULE_COUNT; i++)
            if (rules[i].at_most == at_most && rule_results_fail(results, (enum rule_id)i))
                failed = explain(results, (enum rule_id)i, out);
    for (int i = 0; !failed && i < RULE_COUNT; i++) {
        asked += results->asked[i];
        if (results->asked[i] && !rule_results_fail(results, (enum rule_id)i))
            failed = explain(results, (enum rule_id)i, out);
    }
    return failed || (!asked && buffer_append_text(out, "    no check applies to this finding\n")) ? -1 : 0;
}
