/*
 * The parts of a finding's text: names of ranks, hosts, communicators and operations, times, and the figures
 * of the evidence.
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <string.h>
#include <time.h>

const char *finding_host(const struct finding *finding, const struct job *job)
{
    const char *host = job->ranks[finding->rank].facts.host;
    if (finding->candidate_count)
        return NULL;
    for (size_t i = 0; host && i < finding->rank_count; i++) {
        const char *other = job->ranks[finding->ranks[i]].facts.host;
        if (!other || strcmp(other, host) != 0)
            return NULL;
    }
    return host;
}

const char *finding_whole_host(const struct finding *finding, const struct job *job)
{
    const char *host = finding->rank_count > 1 ? finding_host(finding, job) : NULL;
    size_t there = 0;
    for (size_t i = 0; host && i < job->rank_count; i++)
        there += job->ranks[i].facts.host && strcmp(job->ranks[i].facts.host, host) == 0;
    return there == finding->rank_count ? host : NULL;
}

int job_count_hosts(const struct job *job, size_t *count)
{
    struct intern hosts;
    int is_known = 1, failed = 0;
    intern_init(&hosts);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        const char *host = job->ranks[i].facts.host;
        is_known &= host || !job->ranks[i].count;
        failed = host && intern_put(&hosts, host, strlen(host)) < 0;
    }
    *count = is_known ? hosts.count : 0;
    intern_release(&hosts);
    return failed ? -1 : 0;
}

const struct roster_facts *finding_facts(const struct finding *finding, const struct job *job)
{
    return finding->candidate_count || finding->rank_count > 1 ? NULL : &job->ranks[finding->rank].facts;
}

const char *finding_source(const struct finding *finding, const struct job *job)
{
    int32_t operation = finding->called >= 0 ? finding->called : finding->operation;
    return operation < 0 ? NULL : job_source(job, (size_t)operation);
}

/* More candidates than this are counted, and listed in the JSON output only. */
enum { CANDIDATES_NAMED = 4, RANKS_NAMED = 16 };

int finding_is_of_any(const struct finding *finding, const struct job *job)
{
    return finding->candidate_count > CANDIDATES_NAMED && finding->candidate_count == job->rank_count;
}

/* Appends "rank 3 or rank 5" or "one of 12 ranks (the first: rank 0)". */
static int name_candidates(const struct finding *finding, const struct job *job, struct buffer *text)
{
    size_t count = finding->candidate_count;
    if (finding_is_of_any(finding, job))
        return buffer_printf(text, "one of %zu ranks", count);
    if (count > CANDIDATES_NAMED)
        return buffer_printf(text, "one of %zu ranks (the first: rank %s)", count,
                             job->ranks[finding->rank].name);
    for (size_t i = 0; i < count; i++)
        if (buffer_printf(text, "%srank %s",
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                                          : " or ",
                          job->ranks[finding->candidates[i]].name))
            return -1;
    return 0;
}

/* Appends the ranks at fault: "rank 3", "ranks 8 to 15", "ranks 2, 5 and 7". */
static int name_several(const struct finding *finding, const struct job *job, struct buffer *text)
{
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

int finding_name_ranks(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_whole_host(finding, job);
    if (finding->candidate_count)
        return name_candidates(finding, job, text);
    if (!finding->rank_count)
        return buffer_printf(text, "rank %s", job->ranks[finding->rank].name);
    return host ? buffer_printf(text, "host %s (", host) || name_several(finding, job, text) ||
                      buffer_append_byte(text, ')')
                : name_several(finding, job, text);
}

int finding_holds_of_all(const struct finding *finding)
{
    return finding->creation_fault && finding->creation_fault != CREATION_ONE_ABSENT;
}

int finding_name_all(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const struct finding all = {
        .rank = finding->rank, .ranks = finding->candidates, .rank_count = finding->candidate_count};
    if (finding->candidate_count > RANKS_NAMED)
        return buffer_printf(text, "%zu ranks (the first: rank %s)", finding->candidate_count,
                             job->ranks[finding->rank].name);
    return finding->candidate_count > 1 ? name_several(&all, job, text)
                                        : finding_name_ranks(finding, job, text);
}

int finding_name_unit(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_whole_host(finding, job);
    return host ? buffer_printf(text, "host %s", host) : finding_name_ranks(finding, job, text);
}

int finding_name_peers(const struct finding *finding, const struct job *job, struct buffer *names)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        if ((i && buffer_append_byte(names, ',')) ||
            buffer_append_text(names, job->ranks[finding->peers[i]].name))
            return -1;
    return 0;
}

int text_json_us(struct buffer *json, const char *name, int64_t time_ns)
{
    if (text_json_key(json, name))
        return -1;
    return time_ns == TIME_UNKNOWN ? buffer_append_text(json, "null")
                                   : buffer_printf(json, "%.3f", (double)time_ns / 1e3);
}

int text_utc(struct buffer *text, int64_t time_ns)
{
    enum { NS_PER_US = 1000, US_PER_S = 1000000 };
    int64_t us = time_ns / NS_PER_US;
    time_t seconds = (time_t)(us / US_PER_S);
    struct tm parts;
    char date[32];
    if (time_ns < 0 || !gmtime_r(&seconds, &parts) ||
        !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts))
        return 0;
    return buffer_printf(text, "%s.%06lldZ", date, (long long)(us % US_PER_S));
}

/* Whether a label lists ranks. A process group of PyTorch may have a single number as its name. */
static int is_ranks(const char *label)
{
    return label[strspn(label, "0123456789,-")] == '\0' && strpbrk(label, ",-");
}

int text_communicator(struct buffer *text, const struct job_communicator *communicator)
{
    const char *label = communicator->label;
    return buffer_append_text(text, is_ranks(label) ? "ranks " : "communicator ") ||
           buffer_append_text(text, label);
}

int text_on_communicator(struct buffer *text, const struct job_communicator *communicator)
{
    return text_on_label(text, communicator->label);
}

int text_on_label(struct buffer *text, const char *label)
{
    return buffer_printf(text, is_ranks(label) ? " on communicator {%s}" : " on communicator %s", label);
}

int text_place(struct buffer *text, int32_t number, const char *step, const char *function,
               const struct job_communicator *communicator)
{
    return buffer_printf(text, "operation %d of %s (%s", (int)number, step,
                         function ? function : "function unknown") ||
           (communicator && (buffer_append_text(text, ", ") || text_communicator(text, communicator))) ||
           buffer_append_byte(text, ')');
}

int text_operation(struct buffer *text, const struct job *job, const struct job_instance *instance,
                   uint8_t function)
{
    const struct job_communicator *communicator = &job->communicators[instance->communicator];
    const char *name = function_name(function);
    int64_t lacking = communicator->size - (int64_t)communicator->member_list_count;
    if (buffer_append_text(text, name ? name : "operation") ||
        (instance->sequence >= 0 && buffer_printf(text, " #%lld", (long long)instance->sequence)) ||
        (instance->sender >= 0 && buffer_printf(text, " from rank %s", job->ranks[instance->sender].name)) ||
        (instance->receiver >= 0 &&
         buffer_printf(text, " to rank %s", job->ranks[instance->receiver].name)) ||
        text_on_communicator(text, communicator))
        return -1;
    return communicator->hash && lacking > 0
               ? buffer_printf(text, " of %s%lld ranks", communicator->size_is_known ? "" : "at least ",
                               (long long)communicator->size)
               : 0;
}

void figures_add(struct figures *figures, const char *name, double value)
{
    if (figures->count < FIGURES_MOST)
        figures->items[figures->count++] = (struct figure){name, value};
}

void figures_add_time(struct figures *figures, const char *name_us, int64_t time_ns)
{
    if (time_ns != TIME_UNKNOWN)
        figures_add(figures, name_us, (double)time_ns / 1e3);
}
