#include "verdict/finding_text.h"

#include "base/array.h"
#include "base/escape.h"
#include "base/json_text.h"
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

/* More than so many candidates are counted, and named in the evidence's list alone. */
enum { CANDIDATES_NAMED = 4 };

/* "rank 3", "rank 3 or rank 5", "one of 12 ranks from rank 0 on". */
static int say_who(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t count = finding->candidate_count;
    const char *name = job->ranks[finding->rank].name;
    if (!count)
        return buffer_printf(text, "rank %s", name);
    if (count > CANDIDATES_NAMED)
        return buffer_printf(text, "one of %zu ranks from rank %s on", count, name);
    for (size_t i = 0; i < count; i++)
        if (buffer_printf(text, "%srank %s",
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                                          : " or ",
                          job->ranks[finding->candidates[i]].name))
            return -1;
    return 0;
}

static int say_what(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *name = job->ranks[finding->rank].name;
    switch (finding->kind) {
    case FINDING_COMPUTE:
        return buffer_printf(text, "the GPU of rank %s takes longer before its operations", name);
    case FINDING_HOST:
        return buffer_printf(text, "the host of rank %s enqueues its operations late", name);
    case FINDING_NETWORK:
        return buffer_printf(text,
                             finding->receives ? "what is sent to rank %s over the network is slow"
                                               : "what rank %s sends over the network is slow",
                             name);
    case FINDING_MISSING:
        return say_who(finding, job, text) ||
               buffer_append_text(text, " never began an operation that others wait in");
    case FINDING_MISMATCH:
        return say_who(finding, job, text) ||
               buffer_append_text(text, " called another operation than the other ranks");
    case FINDING_ENDED_EARLY:
        return say_who(finding, job, text) || buffer_append_text(text, " ended long before the others");
    }
    return 0;
}

static int say_where(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *tag = job_tag(job, finding->tag);
    int failed = 0;
    if (finding->first_step >= 0)
        failed = finding->first_step == finding->last_step
                     ? buffer_printf(text, ", step %d", finding->first_step)
                     : buffer_printf(text, ", steps %d to %d", finding->first_step, finding->last_step);
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

/* Global ranks, null for who has none. */
static int add_rank(const struct job *job, int32_t rank, struct buffer *json)
{
    int64_t global_rank = job->ranks[rank].global_rank;
    return global_rank >= 0 ? buffer_printf(json, "%lld", (long long)global_rank)
                            : buffer_append_text(json, "null");
}

static int add_ranks(const char *key, const int32_t *ranks, size_t count, const struct job *job,
                     struct buffer *json)
{
    int failed = text_json_key(json, key) || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < count; i++)
        failed = (i && buffer_append_byte(json, ',')) || add_rank(job, ranks[i], json);
    return failed || buffer_append_byte(json, ']');
}

int finding_add_json(const struct finding *finding, const struct job *job, const char *text,
                     struct buffer *json)
{
    char last = json->data[json->length - 1];
    int failed = buffer_append_text(json, last == '[' ? "{" : ",{") ||
                 text_json_string(json, "kind", finding_kind_name(finding->kind)) ||
                 text_json_key(json, "rank") || add_rank(job, finding->rank, json) ||
                 text_json_string(json, "process", job->ranks[finding->rank].name) ||
                 add_ranks("candidates", finding->candidates, finding->candidate_count, job, json) ||
                 add_ranks("peers", finding->peers, finding->peer_count, job, json) ||
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
           text_json_integer(json, "run", job->run_id) || buffer_append_byte(json, '}');
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
