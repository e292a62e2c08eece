#include "verdict/finding_text.h"

#include "base/array.h"
#include "base/escape.h"
#include "base/json_text.h"
#include "verdict/rule_text.h"
#include "verdict/words.h"

#include <string.h>

static int by_weight(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (left->confidence != right->confidence)
        return left->confidence > right->confidence ? -1 : 1;
    if (left->lost_ns != right->lost_ns)
        return left->lost_ns > right->lost_ns ? -1 : 1;
    return left->rank - right->rank;
}

void findings_sort(struct findings *findings)
{
    array_sort(findings->items, findings->count, sizeof *findings->items, by_weight);
}

/* More than so many candidates are counted, and named in JSON alone. */
enum { CANDIDATES_NAMED = 4 };

/* "rank 3 or rank 5", "one of 12 ranks from rank 0 on". */
static int name_candidates(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t count = finding->candidate_count;
    if (count > CANDIDATES_NAMED)
        return buffer_printf(text, "one of %zu ranks from rank %s on", count, job->ranks[finding->rank].name);
    for (size_t i = 0; i < count; i++)
        if (buffer_printf(text, "%srank %s",
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                                          : " or ",
                          job->ranks[finding->candidates[i]].name))
            return -1;
    return 0;
}

/* "rank 3", "ranks 8 to 15", "ranks 2, 5 and 7": who is at fault. */
static int name_ranks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    if (finding->candidate_count)
        return name_candidates(finding, job, text);
    if (!finding->rank_count)
        return buffer_printf(text, "rank %s", job->ranks[finding->rank].name);
    const int32_t *ranks = finding->ranks;
    size_t last = finding->rank_count - 1;
    if (last > 1 && ranks[last] - ranks[0] == (int32_t)last)
        return buffer_printf(text, "ranks %s to %s", job->ranks[ranks[0]].name, job->ranks[ranks[last]].name);
    int failed = buffer_append_text(text, "ranks ");
    for (size_t i = 0; !failed && i <= last; i++)
        failed = buffer_printf(text, "%s%s",
                               i == 0      ? ""
                               : i == last ? " and "
                                           : ", ",
                               job->ranks[ranks[i]].name);
    return failed;
}

/* What is said before and after the names; of several, and of one. */
struct phrase {
    const char *before[2];
    const char *after[2];
};

static int say_what(const struct finding *finding, const struct job *job, struct buffer *text)
{
    static const struct phrase phrases[] = {
        [FINDING_COMPUTE] = {{"the GPU of ", "the GPUs of "},
                             {" takes longer before its operations", " take longer before their operations"}},
        [FINDING_HOST] = {{"the host of ", "the hosts of "},
                          {" enqueues its operations late", " enqueue their operations late"}},
        [FINDING_NETWORK] = {{"what ", "what "},
                             {" sends over the network is slow", " send over the network is slow"}},
        [FINDING_MISSING] = {{"", ""},
                             {" never began an operation that others wait in",
                              " never began an operation that others wait in"}},
        [FINDING_MISMATCH] = {{"", ""},
                              {" called another operation than the other ranks",
                               " called another operation than the other ranks"}},
        [FINDING_ENDED_EARLY] = {{"", ""},
                                 {" ended long before the others", " ended long before the others"}}};
    static const struct phrase received = {{"what is sent to ", "what is sent to "},
                                           {" over the network is slow", " over the network is slow"}};
    const struct phrase *phrase =
        finding->kind == FINDING_NETWORK && finding->receives ? &received : &phrases[finding->kind];
    int several = finding->rank_count > 1;
    return buffer_append_text(text, phrase->before[several]) || name_ranks(finding, job, text) ||
           buffer_append_text(text, phrase->after[several]);
}

/* "2nd", "13th". */
static const char *ordinal_ending(int32_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int32_t last = number % 10;
    return last > 3 || (number / 10) % 10 == 1 ? endings[0] : endings[last];
}

static int say_steps(const struct finding *finding, struct buffer *text)
{
    if (finding->first_step < 0)
        return 0;
    if (finding->first_step == finding->last_step)
        return buffer_printf(text, ", step %d", finding->first_step);
    if (finding->period > 1)
        return buffer_printf(text, ", every %d%s step from %d to %d", finding->period,
                             ordinal_ending(finding->period), finding->first_step, finding->last_step);
    return buffer_printf(text, ", steps %d to %d", finding->first_step, finding->last_step);
}

static int say_where(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *tag = job_tag(job, finding->tag);
    int failed = say_steps(finding, text);
    if (!failed && tag)
        failed = buffer_append_text(text, ", phase ") || buffer_append_text(text, tag);
    if (!failed && finding->lost_ns > 0)
        failed = buffer_append_text(text, "; it cost the job about ") || text_time(text, finding->lost_ns);
    return failed;
}

int finding_say(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return say_what(finding, job, text) || say_where(finding, job, text) ? -1 : 0;
}

int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        if ((i && buffer_append_byte(names, ',')) ||
            buffer_append_text(names, job->ranks[finding->peers[i]].name))
            return -1;
    return 0;
}

static int add_rank(const struct job *job, int32_t rank, struct buffer *json)
{
    int64_t number = job->ranks[rank].global_rank;
    return number >= 0 ? buffer_printf(json, "%lld", (long long)number) : buffer_append_text(json, "null");
}

static int add_ranks(const struct job *job, const char *key, const int32_t *ranks, size_t count,
                     struct buffer *json)
{
    int failed = text_json_key(json, key) || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < count; i++)
        failed = (i && buffer_append_byte(json, ',')) || add_rank(job, ranks[i], json);
    return failed || buffer_append_byte(json, ']');
}

/* Who is at fault as one, how often and how surely. */
static int add_unit(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct buffer unit = BUFFER_INIT;
    int failed = name_ranks(finding, job, &unit) || text_json_string(json, "unit", unit.data) ||
                 add_ranks(job, "ranks", finding->rank_count ? finding->ranks : &finding->rank,
                           finding->rank_count        ? finding->rank_count
                           : finding->candidate_count ? 0
                                                      : 1,
                           json) ||
                 text_json_key(json, "period") ||
                 (finding->period > 1 ? buffer_printf(json, "%d", (int)finding->period)
                                      : buffer_append_text(json, "null")) ||
                 text_json_key(json, "certainty") ||
                 (finding->certainty > 0 ? buffer_printf(json, "%.3g", finding->certainty)
                                         : buffer_append_text(json, "null"));
    buffer_release(&unit);
    return failed;
}

int finding_add_json(const struct finding *finding, const struct job *job, const char *text,
                     struct buffer *json)
{
    char last = json->data[json->length - 1];
    int failed = buffer_append_text(json, last == '[' ? "{" : ",{") ||
                 text_json_string(json, "kind", finding_kind_name(finding->kind)) ||
                 text_json_key(json, "rank") || add_rank(job, finding->rank, json) ||
                 text_json_string(json, "process", job->ranks[finding->rank].name) ||
                 add_unit(finding, job, json) ||
                 add_ranks(job, "candidates", finding->candidates, finding->candidate_count, json) ||
                 add_ranks(job, "peers", finding->peers, finding->peer_count, json) ||
                 text_json_string(json, "tag", job_tag(job, finding->tag));
    static const char *const keys[] = {"first_step", "last_step"};
    const int32_t steps[] = {finding->first_step, finding->last_step};
    for (int i = 0; !failed && i < 2; i++)
        failed = steps[i] >= 0 ? text_json_integer(json, keys[i], steps[i])
                               : text_json_key(json, keys[i]) || buffer_append_text(json, "null");
    return failed || text_json_us(json, "lost_us", finding->lost_ns) ||
           text_json_string(json, "confidence", confidence_name(finding->confidence)) ||
           text_json_string(json, "text", text) ||
           text_json_string(json, "evidence", finding->evidence.data ? finding->evidence.data : "") ||
           readings_add_json(&finding->readings, json) || text_json_integer(json, "run", job->run_id) ||
           buffer_append_byte(json, '}');
}

int finding_add_paragraph(const struct finding *finding, int64_t run_id, const char *text, struct buffer *out)
{
    int failed = (run_id && buffer_printf(out, "run %lld: ", (long long)run_id)) ||
                 buffer_printf(out, "%s (%s confidence): ", finding_kind_name(finding->kind),
                               confidence_name(finding->confidence)) ||
                 escape_terminal(out, text, strlen(text)) || buffer_append_text(out, ".\n");
    if (!failed && finding->evidence.length)
        failed = buffer_append_text(out, "    ") ||
                 escape_terminal(out, finding->evidence.data, finding->evidence.length) ||
                 buffer_append_text(out, ".\n");
    return failed;
}
