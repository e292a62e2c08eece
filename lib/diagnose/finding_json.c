/* A finding as a JSON object, for `--format json`. The keys are documented in ncclprof-diagnose(1). */
#include "base/base.h"
#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

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

/* Appends the steps where they are neither all from the first to the last nor each of a period; else null. */
static int add_steps(const struct finding *finding, const struct job *job, struct buffer *json)
{
    if (!finding->steps)
        return text_json_key(json, "steps") || buffer_append_text(json, "null");
    int failed = text_json_key(json, "steps") || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < finding->step_count; i++)
        failed = buffer_printf(json, i ? ",%d" : "%d", (int)job_run_step(job, finding->steps[i]));
    return failed || buffer_append_byte(json, ']');
}

/* The ranks at fault as a group, how often and how certainly. */
static int add_unit(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct buffer unit = BUFFER_INIT;
    int failed = finding_name_unit(finding, job, &unit) || text_json_string(json, "unit", unit.data) ||
                 add_ranks(job, "ranks", finding->rank_count ? finding->ranks : &finding->rank,
                           finding->rank_count        ? finding->rank_count
                           : finding->candidate_count ? 0
                                                      : 1,
                           json) ||
                 text_json_key(json, "period") ||
                 (finding->period > 1 ? buffer_printf(json, "%d", (int)finding->period)
                                      : buffer_append_text(json, "null")) ||
                 add_steps(finding, job, json) || text_json_key(json, "certainty") ||
                 (finding->certainty > 0 ? buffer_printf(json, "%.3g", finding->certainty)
                                         : buffer_append_text(json, "null"));
    buffer_release(&unit);
    return failed;
}

/* The advice with the command at its end, and the command alone. */
static int add_advice(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct buffer next = BUFFER_INIT, command = BUFFER_INIT;
    int failed = finding_append_next(finding, job, &next) || text_json_string(json, "next", next.data) ||
                 finding_append_command(finding, job, &command) ||
                 text_json_string(json, "confirm", command.data);
    buffer_release(&next);
    buffer_release(&command);
    return failed;
}

/* The direction in which a slow network is slow, and its links. */
static int add_edges(const struct finding *finding, const struct job *job, struct buffer *json)
{
    int is_network = finding->kind == FINDING_NETWORK && !finding->broke;
    int failed = text_json_string(json, "direction",
                                  !is_network         ? NULL
                                  : finding->receives ? "receive"
                                                      : "send") ||
                 text_json_key(json, "edges") || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && is_network && finding->rank_count < 2 && i < finding->peer_count; i++) {
        int32_t peer = finding->peers[i], rank = finding->rank;
        failed = buffer_append_text(json, i ? ",{" : "{") || text_json_key(json, "sender") ||
                 add_rank(job, finding->receives ? peer : rank, json) || text_json_key(json, "receiver") ||
                 add_rank(job, finding->receives ? rank : peer, json) || buffer_append_byte(json, '}');
    }
    return failed || buffer_append_byte(json, ']');
}

static int add_number(struct buffer *json, const char *name, int64_t number)
{
    return number == COUNT_UNKNOWN ? text_json_key(json, name) || buffer_append_text(json, "null")
                                   : text_json_integer(json, name, number);
}

static int add_gpu(const struct roster_facts *facts, struct buffer *json)
{
    if (!facts || (facts->gpu == COUNT_UNKNOWN && !facts->gpu_bus_id && !facts->gpu_serial))
        return text_json_key(json, "gpu") || buffer_append_text(json, "null");
    return text_json_key(json, "gpu") || buffer_append_byte(json, '{') ||
           add_number(json, "index", facts->gpu) || text_json_string(json, "bus_id", facts->gpu_bus_id) ||
           text_json_string(json, "serial", facts->gpu_serial) || buffer_append_byte(json, '}');
}

/* Where the rank runs, and the source line in question. */
static int add_whereabouts(const struct finding *finding, const struct job *job, struct buffer *json)
{
    const struct roster_facts *facts = finding_facts(finding, job);
    const char *nic = finding->nic ? finding->nic : facts ? facts->nic : NULL;
    return text_json_string(json, "host", finding_host(finding, job)) || add_gpu(facts, json) ||
           text_json_string(json, "nic", nic) ||
           text_json_string(json, "source", finding_source(finding, job));
}

/* Each rank at fault, or each candidate, with its host and GPU. */
static int add_accused(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct rank_span ranks = finding_accused(finding);
    int failed = text_json_key(json, "accused") || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < ranks.count; i++) {
        const struct job_rank *rank = &job->ranks[ranks.items[i]];
        struct buffer gpu = BUFFER_INIT;
        failed = buffer_append_text(json, i ? ",{" : "{") || text_json_key(json, "rank") ||
                 add_rank(job, ranks.items[i], json) || text_json_string(json, "process", rank->name) ||
                 text_json_string(json, "host", rank->facts.host) ||
                 rank_append_gpu(job, ranks.items[i], &gpu) || text_json_string(json, "gpu", gpu.data) ||
                 buffer_append_byte(json, '}');
        buffer_release(&gpu);
    }
    return failed || buffer_append_byte(json, ']');
}

static int add_action(const struct finding *finding, const struct job *job, struct buffer *json)
{
    struct buffer action = BUFFER_INIT;
    int failed =
        finding_append_action(finding, job, &action) || text_json_string(json, "action", action.data);
    buffer_release(&action);
    return failed;
}

/* null where it is not known */
static int add_time(struct buffer *json, int64_t wall_ns)
{
    struct buffer time = BUFFER_INIT;
    int failed = (wall_ns != TIME_UNKNOWN && text_utc(&time, wall_ns)) ||
                 text_json_string(json, "time", time.length ? time.data : NULL);
    buffer_release(&time);
    return failed;
}

static int add_place(const struct job_record *record, struct buffer *json)
{
    if (!record->file)
        return text_json_key(json, "at") || buffer_append_text(json, "null");
    return text_json_key(json, "at") || buffer_append_byte(json, '{') ||
           text_json_string(json, "file", record->file) ||
           text_json_integer(json, "byte_offset", record->byte_offset) ||
           text_json_us(json, "ts_us", record->at_ns) || buffer_append_byte(json, '}');
}

/* When and where it shows first. */
static int add_first(const struct finding *finding, const struct job_record *record, struct buffer *json)
{
    return add_time(json, record->wall_ns) || text_json_us(json, "since_us", finding->since_ns) ||
           add_place(record, json);
}

static int add_phases(const struct finding *finding, const struct job *job, struct buffer *json)
{
    int failed = text_json_key(json, "phases") || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < finding->phase_count; i++)
        failed = buffer_append_text(json, i ? ",{" : "{") ||
                 text_json_string(json, "tag", job_tag(job, finding->phases[i].tag)) ||
                 text_json_us(json, "excess_us", finding->phases[i].excess_ns) ||
                 buffer_append_byte(json, '}');
    return failed || buffer_append_byte(json, ']');
}

/*
 * The cost, the baseline it is compared with, and how it follows from the phases: lost_us is excess_us minus
 * overlapped_us.
 */
static int add_cost(const struct finding *finding, const struct job *job, struct buffer *json)
{
    int64_t excess_ns = finding_excess_ns(finding), each_ns = finding->lost_ns / finding_steps(finding);
    return text_json_us(json, "lost_us", finding->lost_ns) ||
           text_json_us(json, "account_us", finding->account_ns) || text_json_key(json, "step_share") ||
           (finding->step_ns > 0 && each_ns > 0
                ? buffer_printf(json, "%.4f", (double)each_ns / (double)(finding->step_ns + each_ns))
                : buffer_append_text(json, "null")) ||
           add_phases(finding, job, json) || text_json_us(json, "excess_us", excess_ns) ||
           text_json_us(json, "overlapped_us", excess_ns - finding->lost_ns);
}

/* Appends "figures": {...}. -1 when memory runs out. */
static int figures_add_json(const struct figures *figures, struct buffer *json)
{
    int failed = text_json_key(json, "figures") || buffer_append_byte(json, '{');
    for (size_t i = 0; !failed && i < figures->count; i++)
        failed = text_json_key(json, figures->items[i].name) ||
                 buffer_printf(json, "%.10g", figures->items[i].value);
    return failed || buffer_append_byte(json, '}') ? -1 : 0;
}

int finding_add_json(const struct finding *finding, const struct job *job, const struct job_record *record,
                     const char *text, int is_folded, struct buffer *json)
{
    char last = json->data[json->length - 1];
    int failed = buffer_append_text(json, last == '[' ? "{" : ",{") ||
                 text_json_string(json, "kind", finding_kind_name(finding->kind)) ||
                 text_json_key(json, "rank") || add_rank(job, finding->rank, json) ||
                 text_json_string(json, "process", job->ranks[finding->rank].name) ||
                 add_unit(finding, job, json) ||
                 add_ranks(job, "candidates", finding->candidates, finding->candidate_count, json) ||
                 add_ranks(job, "peers", finding->peers, finding->peer_count, json) ||
                 add_accused(finding, job, json) || add_whereabouts(finding, job, json) ||
                 add_edges(finding, job, json) ||
                 add_ranks(job, "waiting_ranks", finding->waiting, finding->waiting_count, json) ||
                 text_json_string(json, "tag", job_tag(job, finding->tag));
    static const char *const keys[] = {"first_step", "last_step"};
    const int32_t steps[] = {job_run_step(job, finding->first_step), job_run_step(job, finding->last_step)};
    for (int i = 0; !failed && i < 2; i++)
        failed = steps[i] >= 0 ? text_json_integer(json, keys[i], steps[i])
                               : text_json_key(json, keys[i]) || buffer_append_text(json, "null");
    return failed || add_first(finding, record, json) || add_cost(finding, job, json) ||
           text_json_string(json, "confidence", confidence_name(finding->confidence)) ||
           text_json_key(json, "folded") || buffer_append_text(json, is_folded ? "true" : "false") ||
           text_json_string(json, "text", text) ||
           text_json_string(json, "evidence", finding->evidence.data ? finding->evidence.data : "") ||
           figures_add_json(&finding->figures, json) || causes_add_json(finding, json) ||
           text_json_string(json, "records_end", finding->records_end) || add_action(finding, job, json) ||
           add_advice(finding, job, json) || rule_results_add_json(&finding->rule_results, json) ||
           text_json_integer(json, "run", job->run_id) || buffer_append_byte(json, '}');
}
