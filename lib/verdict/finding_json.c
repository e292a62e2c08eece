#include "verdict/finding_json.h"

#include "base/json_text.h"
#include "verdict/advice.h"
#include "verdict/finding_names.h"
#include "verdict/rule_text.h"
#include "verdict/words.h"

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
    int failed = finding_name_ranks(finding, job, &unit) || text_json_string(json, "unit", unit.data) ||
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

static int add_advice(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct buffer advice = BUFFER_INIT;
    int failed = finding_advise(finding, job, &advice) || text_json_string(json, "next", advice.data);
    buffer_release(&advice);
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
           figures_add_json(&finding->figures, json) || add_advice(finding, job, json) ||
           readings_add_json(&finding->readings, json) || text_json_integer(json, "run", job->run_id) ||
           buffer_append_byte(json, '}');
}
