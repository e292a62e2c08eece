#include "verdict/finding_text.h"

#include "base/array.h"
#include "base/colour.h"
#include "base/escape.h"
#include "job/excerpts.h"
#include "verdict/advice.h"
#include "verdict/finding_names.h"
#include "verdict/finding_place.h"
#include "verdict/words.h"

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

/* What is said before and after the names; of several, and of one. */
struct phrase {
    const char *before[2];
    const char *after[2];
};

static const struct phrase *phrase_for(const struct finding *finding)
{
    static const struct phrase phrases[] = {
        [FINDING_COMPUTE] = {{"GPU of ", "GPUs of "},
                             {" computes longer than its peers", " compute longer than their peers"}},
        [FINDING_HOST] = {{"host of ", "hosts of "},
                          {" enqueues its operations late", " enqueue their operations late"}},
        [FINDING_NETWORK] = {{"sends from ", "sends from "}, {" are slow", " are slow"}},
        [FINDING_MISSING] = {{"", ""},
                             {" never started an operation that others wait in",
                              " never started an operation that others wait in"}},
        [FINDING_MISMATCH] = {{"", ""},
                              {" called another operation than the other ranks",
                               " called another operation than the other ranks"}},
        [FINDING_ENDED_EARLY] = {{"", ""},
                                 {" ended long before the others", " ended long before the others"}},
        [FINDING_ERROR] = {{"", ""}, {" reported ", " reported "}}};
    static const struct phrase network[2][2] = {
        {{{"sends from ", "sends from "}, {" are slow", " are slow"}},
         {{"sends from ", "sends from "}, {" stood still once", " stood still once"}}},
        {{{"what is sent to ", "what is sent to "}, {" arrives slowly", " arrives slowly"}},
         {{"what is sent to ", "what is sent to "}, {" stood still once", " stood still once"}}}};
    static const struct phrase at_start = {{"", ""}, {" was late at start-up", " were late at start-up"}};
    static const struct phrase broke = {{"transfers of ", "transfers of "}, {" failed", " failed"}};
    static const struct phrase never_ended = {
        {"GPU of ", "GPUs of "},
        {" never ended an operation that others wait for", " never ended operations that others wait for"}};
    static const struct phrase unrecorded = {
        {"other ranks wait for ", "other ranks wait for "},
        {", which left no record of its calls", ", which left no record of their calls"}};
    static const struct phrase unmade[] = {
        [UNMADE_ABSENT] = {{"", ""},
                           {" never came to the making of a communicator that others wait in",
                            " never came to the making of a communicator that others wait in"}},
        [UNMADE_UNSEEN] = {{"", ""},
                           {" has no line about the making of a communicator that others wait in",
                            " have no line about the making of a communicator that others wait in"}},
        [UNMADE_ONE_OF] = {{"", ""},
                           {" never came to the making of a communicator that others wait in",
                            " never came to the making of a communicator that others wait in"}},
        [UNMADE_STUCK] = {{"", ""},
                          {" never got out of the making of a communicator",
                           " never got out of the making of a communicator"}}};
    if (finding->never_ended || finding->is_unrecorded)
        return finding->never_ended ? &never_ended : &unrecorded;
    if (finding->unmade)
        return &unmade[finding->unmade];
    if (finding->at_start || finding->broke)
        return finding->at_start ? &at_start : &broke;
    return finding->kind == FINDING_NETWORK ? &network[finding->receives != 0][finding->pause_ns > 0]
                                            : &phrases[finding->kind];
}

/* One rank of one of the hosts, where all that failed is its own. */
static int say_link(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int is_one = !finding->candidate_count && !finding->rank_count;
    return buffer_append_text(text, "transfers between ") ||
           (is_one && (finding_name_ranks(finding, job, text) || buffer_append_text(text, " on "))) ||
           buffer_printf(text, "host %s and host %s failed", finding->link[0], finding->link[1]);
}

static int say_what(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct phrase *phrase = phrase_for(finding);
    int several = finding->rank_count > 1 || (finding_holds_of_all(finding) && finding->candidate_count > 1);
    if (finding->link[0])
        return say_link(finding, job, text);
    return buffer_append_text(text, phrase->before[several]) ||
           (finding_holds_of_all(finding) ? finding_name_all(finding, job, text)
                                          : finding_name_ranks(finding, job, text)) ||
           buffer_append_text(text, phrase->after[several]) ||
           (finding->kind == FINDING_ERROR && buffer_append_text(text, finding->error)) ||
           (finding->pause_ns > 0 &&
            (buffer_append_text(text, ", for ") || text_time(text, finding->pause_ns)));
}

/* "; 7 to 30 before were not loaded": those of a break, where there is one at `step`. */
static int say_break(const struct job *job, int32_t step, const char *where, int *said, struct buffer *text)
{
    if (step < 0 || step >= job->step_count || !job_is_break(job, step))
        return 0;
    int first = (int)job_run_step(job, step), last = (int)job_run_step(job, step + 1) - 1;
    const char *before = *said ? "; " : " (";
    *said = 1;
    return first == last
               ? buffer_printf(text, "%sstep %d %s was not loaded", before, first, where)
               : buffer_printf(text, "%ssteps %d to %d %s were not loaded", before, first, last, where);
}

/* Where steps were not loaded it is not known exactly since when it was, until when, and whether in all. */
static int say_breaks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int32_t breaks = job_breaks_in(job, finding->first_step, finding->last_step);
    int said = breaks > 0;
    return (said && buffer_printf(text, " (%d of them judged",
                                  (int)(finding->last_step - finding->first_step + 1 - breaks))) ||
           say_break(job, finding->first_step - 1, "before", &said, text) ||
           say_break(job, finding->last_step + 1, "after", &said, text) ||
           (said && buffer_append_byte(text, ')'));
}

static int say_steps(const struct finding *finding, const struct job *job, struct buffer *text)
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
                               text_ordinal(finding->period), first, last);
    else
        failed = buffer_printf(text, ", steps %d to %d", first, last);
    return failed || say_breaks(finding, job, text);
}

/* ": 4.8 ms of 62 ms a step, 24 ms in all": what it cost, and of how long steps were with it. */
static int say_cost(const struct finding *finding, struct buffer *text)
{
    int64_t each_ns = finding->lost_ns / finding_steps(finding);
    if (finding->lost_ns <= 0)
        return 0;
    if (buffer_append_text(text, ": ") || text_time(text, each_ns))
        return -1;
    if (finding->step_ns <= 0)
        return buffer_append_text(text, finding_steps(finding) > 1 ? " a step lost" : " lost");
    if (buffer_append_text(text, finding_steps(finding) > 1 ? " of " : " of the step's ") ||
        text_time(text, finding->step_ns + each_ns))
        return -1;
    return finding_steps(finding) > 1 &&
           (buffer_append_text(text, " a step, ") || text_time(text, finding->lost_ns) ||
            buffer_append_text(text, finding->breaks ? " in what was judged" : " in all"));
}

static int say_where(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *tag = job_tag(job, finding->tag);
    return say_steps(finding, job, text) ||
           (tag && (buffer_append_text(text, ", phase ") || buffer_append_text(text, tag))) ||
           say_cost(finding, text);
}

int finding_say(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return say_what(finding, job, text) || say_where(finding, job, text) ? -1 : 0;
}

/* A line below the sentence. */
static int add_line(const char *before, const struct buffer *line, struct buffer *out)
{
    if (!line->length)
        return 0;
    return buffer_append_text(out, before) || escape_terminal(out, line->data, line->length) ||
           buffer_append_text(out, ".\n");
}

/* So many phases are named, the others summed. */
enum { PHASES_NAMED = 4 };

/* Nor is a part of so little of the whole. */
static const double PART_NAMED = 0.01;

/* A cost that differs from what its phases add up to by more than this part asks for the reason. */
static const double ADDS_UP = 0.1;

static int say_phases(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int64_t excess_ns = finding_excess_ns(finding), rest_ns = excess_ns;
    for (size_t i = 0; i < finding->phase_count && i < PHASES_NAMED; i++) {
        const struct phase_excess *phase = &finding->phases[i];
        const char *tag = job_tag(job, phase->tag);
        if ((double)phase->excess_ns < PART_NAMED * (double)excess_ns)
            break;
        rest_ns -= phase->excess_ns;
        if ((i && buffer_append_text(text, ", ")) || text_time(text, phase->excess_ns) ||
            (tag && (buffer_append_text(text, " in ") || buffer_append_text(text, tag))))
            return -1;
    }
    return (double)rest_ns >= PART_NAMED * (double)excess_ns &&
           (buffer_append_text(text, ", ") || text_time(text, rest_ns) ||
            buffer_append_text(text, " elsewhere"));
}

/* Why the job lost more or less than its phases were late or slow by. */
static const char *say_difference(const struct finding *finding, int64_t excess_ns)
{
    if (finding->lost_ns > excess_ns)
        return ": others that it made late were late in turn";
    return finding->kind == FINDING_NETWORK ? ": transfers overlap" : ": the rest nobody had to wait for";
}

/* "Late by 20.1 ms in forward, 19.2 ms in backward; the job lost 30.0 ms: ...". */
static int say_breakdown(const struct finding *finding, const struct job *job, struct buffer *text)
{
    int64_t excess_ns = finding_excess_ns(finding), apart_ns = excess_ns - finding->lost_ns;
    int adds_up = (double)(apart_ns < 0 ? -apart_ns : apart_ns) <= ADDS_UP * (double)finding->lost_ns;
    if (!finding->phase_count ||
        (adds_up && (double)(excess_ns - finding->phases[0].excess_ns) < PART_NAMED * (double)excess_ns))
        return 0;
    return buffer_append_text(text, finding->kind == FINDING_NETWORK ? "Slow by " : "Late by ") ||
           say_phases(finding, job, text) ||
           (!adds_up && (buffer_append_text(text, "; the job lost ") || text_time(text, finding->lost_ns) ||
                         buffer_append_text(text, say_difference(finding, excess_ns))));
}

/* "First seen 2026-11-25T10:12:04.120000Z, 1.2 s after the job began, at train.py:123". */
static int say_first(const struct finding *finding, const struct job *job, const struct job_record *record,
                     struct buffer *text)
{
    const char *source = finding_source(finding, job);
    int has_time = record->wall_ns != TIME_UNKNOWN, has_since = finding->since_ns != TIME_UNKNOWN;
    if (!has_time && !has_since && !source)
        return 0;
    return buffer_append_text(text, "First seen") ||
           (has_time && (buffer_append_byte(text, ' ') || text_utc(text, record->wall_ns))) ||
           (has_since &&
            (buffer_append_text(text, has_time ? ", " : " ") || text_time(text, finding->since_ns) ||
             buffer_append_text(text, " after the job began"))) ||
           (source && (buffer_append_text(text, has_time || has_since ? ", at " : " at ") ||
                       buffer_append_text(text, source)));
}

typedef int (*line_maker)(const struct finding *, const struct job *, struct buffer *);

static int add_made(const struct finding *finding, const struct job *job, line_maker make, struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = make(finding, job, &line) || add_line("    ", &line, out);
    buffer_release(&line);
    return failed;
}

static int add_first(const struct finding *finding, const struct job *job, const struct job_record *record,
                     struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed = say_first(finding, job, record, &line) || add_line("    ", &line, out);
    buffer_release(&line);
    return failed;
}

/* "Reported in node3.log at byte 20511." */
static int add_place(const struct finding *finding, const struct job_record *record, struct buffer *out)
{
    struct buffer line = BUFFER_INIT;
    int failed =
        finding->warning && record->file &&
        (buffer_printf(&line, "Reported in %s at byte %lld", record->file, (long long)record->byte_offset) ||
         add_line("    ", &line, out));
    buffer_release(&line);
    return failed;
}

static int add_advice(const struct finding *finding, const struct job *job, int names_run, struct buffer *out)
{
    struct buffer advice = BUFFER_INIT;
    int failed = finding_advise(finding, job, names_run, &advice) || add_line("    Next: ", &advice, out);
    buffer_release(&advice);
    return failed;
}

int finding_add_paragraph(const struct finding *finding, const struct job *job,
                          const struct job_record *record, int names_run, int colours, const char *text,
                          struct buffer *out)
{
    const char *confidence = confidence_name(finding->confidence);
    return (names_run && buffer_printf(out, "run %lld: ", (long long)job->run_id)) ||
                   buffer_printf(out, "%s (", finding_kind_name(finding->kind)) ||
                   colour_text(out, colours ? confidence_colour(confidence) : COLOUR_NONE, confidence) ||
                   buffer_append_text(out, " confidence): ") || escape_terminal(out, text, strlen(text)) ||
                   buffer_append_text(out, ".\n") || add_line("    ", &finding->evidence, out) ||
                   add_place(finding, record, out) || add_made(finding, job, say_breakdown, out) ||
                   add_first(finding, job, record, out) || add_advice(finding, job, names_run, out)
               ? -1
               : 0;
}
