/* Where the ranks of a finding run: host and GPU of each, as people name them; and what to do about it. */
#include "diagnose/finding_place.h"
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* Most ranks, and most hosts of a group, that are named one by one. */
enum { PLACES_NAMED = 4 };

static int are_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Whether two ranks with known device numbers are on one host; of unknown hosts, they may be. */
static int are_neighbours(const struct roster_facts *one, const struct roster_facts *other)
{
    return other->gpu != COUNT_UNKNOWN && are_same(other->host, one->host);
}

/*
 * Whether the recorded device number is that of the host. It is the number in the process: where a launcher
 * lets each process see only its own GPU, all ranks of a host have the same one, usually 0. The ranks of a
 * host are near each other, so the nearest are looked at first.
 */
static int is_number_of_host(const struct job *job, int32_t rank)
{
    const struct roster_facts *facts = &job->ranks[rank].facts;
    int32_t count = (int32_t)job->rank_count, others = 0;
    if (facts->gpu == COUNT_UNKNOWN)
        return 0;
    for (int32_t distance = 1; distance < count; distance++)
        for (int32_t other = rank - distance; other <= rank + distance; other += 2 * distance) {
            if (other < 0 || other >= count || !are_neighbours(facts, &job->ranks[other].facts))
                continue;
            if (job->ranks[other].facts.gpu != facts->gpu)
                return 1;
            others++;
        }
    return !others;
}

int64_t rank_gpu_number(const struct job *job, int32_t rank)
{
    return is_number_of_host(job, rank) ? job->ranks[rank].facts.gpu : COUNT_UNKNOWN;
}

int rank_append_gpu(const struct job *job, int32_t rank, struct buffer *text)
{
    const struct roster_facts *facts = &job->ranks[rank].facts;
    if (is_number_of_host(job, rank))
        return buffer_printf(text, "%lld", (long long)facts->gpu);
    return facts->gpu_bus_id && buffer_append_text(text, facts->gpu_bus_id) ? -1 : 0;
}

/* The host, unless the name of the rank begins with it (HOST:PID). */
static const char *host_to_name(const struct job_rank *rank)
{
    const char *host = rank->facts.host;
    size_t length = host ? strlen(host) : 0;
    return host && strncmp(rank->name, host, length) == 0 && rank->name[length] == ':' ? NULL : host;
}

/* Appends "rank 137 (node017, GPU 1)". */
static int append_rank(const struct job *job, int32_t rank, struct buffer *text)
{
    const struct job_rank *of = &job->ranks[rank];
    const char *host = host_to_name(of);
    struct buffer gpu = BUFFER_INIT;
    int failed = rank_append_gpu(job, rank, &gpu) || buffer_printf(text, "rank %s", of->name) ||
                 ((host || gpu.length) && buffer_append_text(text, " (")) ||
                 (host && buffer_append_text(text, host)) ||
                 (gpu.length && (buffer_append_text(text, host ? ", GPU " : "GPU ") ||
                                 buffer_append_text(text, gpu.data))) ||
                 ((host || gpu.length) && buffer_append_byte(text, ')'));
    buffer_release(&gpu);
    return failed;
}

static int append_ranks(const struct job *job, const int32_t *ranks, size_t count, const char *last,
                        struct buffer *text)
{
    for (size_t i = 0; i < count; i++)
        if ((i && buffer_append_text(text, i + 1 < count ? ", " : last)) || append_rank(job, ranks[i], text))
            return -1;
    return 0;
}

/* More ranges of ranks, or ranks without a number, are counted. */
enum { RANGES_NAMED = 12, UNNUMBERED_NAMED = 4 };

/* The end of the range of consecutive global ranks that begins at index `at`. */
static size_t range_end(const struct job *job, const int32_t *ranks, size_t count, size_t at)
{
    size_t end = at + 1;
    while (end < count && job->ranks[ranks[at]].global_rank >= 0 &&
           job->ranks[ranks[end]].global_rank == job->ranks[ranks[end - 1]].global_rank + 1)
        end++;
    return end;
}

int ranks_append_list(const struct job *job, const int32_t *ranks, size_t count, struct buffer *text)
{
    int is_numbered = count && job->ranks[ranks[0]].global_rank >= 0;
    size_t named = 0, most = is_numbered ? RANGES_NAMED : UNNUMBERED_NAMED;
    int failed = buffer_append_text(text, count == 1 ? "rank " : "ranks ");
    for (size_t at = 0, end; !failed && at < count; at = end) {
        end = range_end(job, ranks, count, at);
        if (++named > most)
            return buffer_printf(text, " and %zu more", count - at);
        failed = buffer_printf(text, "%s%s", at ? ", " : "", job->ranks[ranks[at]].name) ||
                 (end > at + 1 && buffer_printf(text, "-%s", job->ranks[ranks[end - 1]].name));
    }
    return failed ? -1 : 0;
}

static int ascending(const void *a, const void *b)
{
    const int32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int instance_unfinished(const struct job *job, const struct job_instance *instance,
                        const struct finding *finding, struct unfinished *unfinished)
{
    int records_ends = 0;
    *unfinished = (struct unfinished){.waiting = array_new((size_t)instance->members + 1, sizeof(int32_t)),
                                      .accused = array_new((size_t)instance->members + 1, sizeof(int32_t))};
    if (!unfinished->waiting || !unfinished->accused)
        return -1;
    for (int32_t i = 0; i < instance->members; i++)
        records_ends |= job_member(job, instance, i)->unfinished;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *operation = job_member(job, instance, i);
        /* Logs of calls do not record ends: each rank that called it waits, if not all have. */
        if (records_ends ? !operation->unfinished : instance->members >= instance->expected)
            continue;
        if (finding && finding_has_rank(finding, operation->rank))
            unfinished->accused[unfinished->accused_count++] = operation->rank;
        else
            unfinished->waiting[unfinished->waiting_count++] = operation->rank;
    }
    array_sort(unfinished->waiting, unfinished->waiting_count, sizeof(int32_t), ascending);
    array_sort(unfinished->accused, unfinished->accused_count, sizeof(int32_t), ascending);
    return 0;
}

void unfinished_release(struct unfinished *unfinished)
{
    free(unfinished->waiting);
    free(unfinished->accused);
}

struct rank_span finding_accused(const struct finding *finding)
{
    if (finding->candidate_count)
        return (struct rank_span){finding->candidates, finding->candidate_count};
    return finding->rank_count ? (struct rank_span){finding->ranks, finding->rank_count}
                               : (struct rank_span){&finding->rank, 1};
}

/* Adds each host once, in the order of the ranks. *is_whole: the hosts of all ranks are known. */
static int collect_hosts(const struct job *job, struct rank_span ranks, struct intern *hosts, int *is_whole)
{
    int failed = 0;
    *is_whole = 1;
    for (size_t i = 0; !failed && i < ranks.count; i++) {
        const char *host = job->ranks[ranks.items[i]].facts.host;
        *is_whole &= host != NULL;
        failed = host && intern_put(hosts, host, strlen(host)) < 0;
    }
    return failed;
}

/* Appends " on hosts node1 and node2", or how many hosts there are; nothing where one is not known. */
static int append_hosts(const struct job *job, struct rank_span ranks, struct buffer *text)
{
    struct intern hosts;
    int is_whole;
    intern_init(&hosts);
    int failed = collect_hosts(job, ranks, &hosts, &is_whole);
    size_t count = hosts.count;
    if (!failed && is_whole && count > PLACES_NAMED)
        failed = buffer_printf(text, " on %zu hosts", count);
    for (size_t i = 0; !failed && is_whole && count <= PLACES_NAMED && i < count; i++)
        failed = buffer_append_text(text, i == 0          ? count == 1 ? " on host " : " on hosts "
                                          : i + 1 < count ? ", "
                                                          : " and ") ||
                 buffer_append_text(text, intern_text(&hosts, (int64_t)i));
    intern_release(&hosts);
    return failed;
}

/* Whether the host or the GPU of a rank can be named beside it. */
static int has_place(const struct job *job, int32_t rank)
{
    const struct roster_facts *facts = &job->ranks[rank].facts;
    return host_to_name(&job->ranks[rank]) || facts->gpu_bus_id || is_number_of_host(job, rank);
}

int finding_name_accused(const struct finding *finding, const struct job *job, struct buffer *text)
{
    struct rank_span ranks = finding_accused(finding);
    int are_all = finding_holds_of_all(finding), are_placed = 0;
    for (size_t i = 0; i < ranks.count && i < PLACES_NAMED; i++)
        are_placed |= has_place(job, ranks.items[i]);
    if (are_placed && ranks.count <= PLACES_NAMED && !finding_whole_host(finding, job))
        return append_ranks(job, ranks.items, ranks.count,
                            finding->candidate_count && !are_all ? " or " : " and ", text)
                   ? -1
                   : 0;
    int failed = are_all ? finding_name_all(finding, job, text) : finding_name_ranks(finding, job, text);
    return failed || (ranks.count > PLACES_NAMED && !finding_whole_host(finding, job) &&
                      append_hosts(job, ranks, text))
               ? -1
               : 0;
}

int finding_list_hosts(const struct finding *finding, const struct job *job, struct buffer *text)
{
    struct intern hosts;
    int is_whole;
    intern_init(&hosts);
    int failed = collect_hosts(job, finding_accused(finding), &hosts, &is_whole);
    for (size_t i = 0; !failed && i < hosts.count; i++)
        failed =
            (i && buffer_append_byte(text, ',')) || buffer_append_text(text, intern_text(&hosts, (int64_t)i));
    intern_release(&hosts);
    return failed ? -1 : 0;
}

int finding_list_gpus(const struct finding *finding, const struct job *job, struct buffer *text)
{
    struct rank_span ranks = finding_accused(finding);
    struct buffer list = BUFFER_INIT;
    int failed = 0, is_whole = 1;
    for (size_t i = 0; !failed && is_whole && i < ranks.count; i++) {
        failed = i && buffer_append_byte(&list, ',');
        size_t before = list.length;
        failed = failed || rank_append_gpu(job, ranks.items[i], &list);
        is_whole = list.length > before;
    }
    failed = failed || (is_whole && list.length && buffer_append(text, list.data, list.length));
    buffer_release(&list);
    return failed ? -1 : 0;
}

/* Whether the finding lasts until the trace ends, so that more of it is to be expected. */
static int lasts(const struct finding *finding, const struct job *job)
{
    int32_t stride = finding->period > 1 ? finding->period : 1;
    return finding->stops_job ||
           (finding->last_step >= 0 && finding->last_step >= job->step_count - 1 - stride);
}

/*
 * Whether to drain the host: for a fault of hardware that is certain, on one host, and has not ended. A stall
 * that happened once is over.
 */
static int is_to_drain(const struct finding *finding, const struct job *job)
{
    int is_hardware = finding->kind == FINDING_COMPUTE || finding->kind == FINDING_NETWORK;
    return is_hardware && finding->confidence == CONFIDENCE_HIGH && !finding->candidate_count &&
           !finding->link[0] && !finding->pause_ns && lasts(finding, job) &&
           (finding->rank_count < 2 || finding_host(finding, job));
}

static int append_draining(const struct finding *finding, const struct job *job, struct buffer *text)
{
    const char *host = finding_host(finding, job);
    const struct roster_facts *facts = finding_facts(finding, job);
    const char *nic = finding->nic ? finding->nic : facts ? facts->nic : NULL;
    struct buffer gpu = BUFFER_INIT;
    int failed = (host ? buffer_printf(text, "drain host %s", host)
                       : buffer_printf(text, "drain the host of rank %s", job->ranks[finding->rank].name)) ||
                 finding_list_gpus(finding, job, &gpu);
    if (!failed && finding->kind == FINDING_NETWORK)
        failed = buffer_printf(text, " and test its network card%s%s", nic ? " " : "", nic ? nic : "");
    else if (!failed)
        failed = gpu.length ? buffer_printf(text, " and test GPU %s", gpu.data)
                            : buffer_append_text(text, " and test its GPU");
    buffer_release(&gpu);
    return failed;
}

/* What to look at, of one rank and of several. */
static const char *part_to_look_at(const struct finding *finding, int several)
{
    static const char *const parts[FINDING_KINDS][2] = {
        [FINDING_COMPUTE] = {"GPU", "GPUs"},
        [FINDING_HOST] = {"CPU load and data loading", "CPU load and data loading"},
        [FINDING_LATE] = {"GPU and CPU load", "GPUs and CPU load"},
        [FINDING_NETWORK] = {"network card and switch port", "network cards and switch ports"},
        [FINDING_MISSING] = {"stack", "stacks"},
        [FINDING_MISMATCH] = {"code path", "code paths"},
        [FINDING_ENDED_EARLY] = {"log", "logs"},
        [FINDING_ERROR] = {"log", "logs"},
    };
    if (finding->notice_ns || finding->waits_for_cores)
        return "CPU load";
    if (finding->kind == FINDING_HOST && finding->pause_ns)
        return several ? "processes" : "process";
    if (finding->is_unrecorded && finding->kind == FINDING_MISSING)
        return "log and stack";
    return parts[finding->never_ended ? FINDING_COMPUTE : finding->kind][several];
}

int finding_append_action(const struct finding *finding, const struct job *job, struct buffer *text)
{
    if (is_to_drain(finding, job))
        return append_draining(finding, job, text) ? -1 : 0;
    if (finding->link[0])
        return buffer_printf(text, "look at the network between host %s and host %s", finding->link[0],
                             finding->link[1]);
    if (finding->kind == FINDING_NETWORK && finding_is_of_any(finding, job))
        return buffer_append_text(text, "look at the network between all hosts");
    int several =
        finding_accused(finding).count > 1 && (!finding->candidate_count || finding_holds_of_all(finding));
    return buffer_append_text(text, "look at the ") ||
                   (finding->at_start && buffer_append_text(text, "start-up and ")) ||
                   buffer_append_text(text, part_to_look_at(finding, several)) ||
                   buffer_append_text(text, " of ") || finding_name_accused(finding, job, text)
               ? -1
               : 0;
}
