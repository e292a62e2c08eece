#include "diagnose/findings_detail.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "job/step_index.h"

#include <stdlib.h>
#include <string.h>

struct details {
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    int64_t *by_tag;       /* [tag + 1] */
    unsigned char *waited; /* [rank] */
    int64_t *list;         /* room for a value of each rank */
    int64_t origin_ns;     /* the first operation of the job, in common time; TIME_UNKNOWN */
};

static int accuses(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding->ranks[i] == rank)
            return 1;
    return finding->rank == rank;
}

/* Its own record of an operation, else that of a member that has one; -1. */
static int32_t record_of(const struct job *job, const struct finding *finding, int32_t number)
{
    const struct job_instance *instance = &job->instances[number];
    for (int32_t i = 0; i < instance->members; i++)
        if (accuses(finding, job_member(job, instance, i)->rank))
            return job_member_at(job, instance, i);
    return instance->members ? job_member_at(job, instance, 0) : -1;
}

/* When an operation began in the common time of the job, or was enqueued; TIME_UNKNOWN. */
static int64_t began(const struct job *job, int32_t number)
{
    if (number < 0)
        return TIME_UNKNOWN;
    const struct job_operation *operation = &job->operations[number];
    int64_t at_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->enqueued_ns;
    return at_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(job, operation, at_ns);
}

/* Of an earlier step, or earlier in that step. */
static int is_before(const struct job *job, const struct finding *finding, int32_t left, int32_t right)
{
    if (job->instances[left].step != job->instances[right].step)
        return job->instances[left].step < job->instances[right].step;
    int64_t left_ns = began(job, record_of(job, finding, left)),
            right_ns = began(job, record_of(job, finding, right));
    return left_ns != TIME_UNKNOWN && (right_ns == TIME_UNKNOWN || left_ns < right_ns);
}

/* An operation or a transfer of the finding: by how much it was late or slow. */
static void note(struct details *details, struct finding *finding, int32_t instance, int32_t tag,
                 int64_t excess_ns)
{
    const struct job *job = details->job;
    const struct job_instance *of = &job->instances[instance];
    if (finding->instance < 0 || is_before(job, finding, instance, finding->instance))
        finding->instance = instance;
    details->by_tag[tag + 1] += excess_ns;
    for (int32_t i = 0; i < of->members; i++)
        details->waited[job_member(job, of, i)->rank] = 1;
}

/* Own time beyond the median of those of its role that are not accused, in the same place and step. */
static int64_t beyond_peers(const struct details *details, const struct finding *finding, size_t at)
{
    const struct job_operation *operation = &details->job->operations[at];
    const struct baseline *baseline = details->baseline;
    int32_t role = baseline->role_of_rank[operation->rank];
    size_t count = 0;
    if (role < 0 || baseline->positions[at] < 0 || operation->own_ns == TIME_UNKNOWN)
        return 0;
    for (size_t i = 0; i < baseline->roles[role].rank_count; i++) {
        int32_t cell = baseline_cell(baseline, role, baseline->positions[at], i, operation->step);
        if (cell >= 0 && !accuses(finding, baseline->roles[role].ranks[i]) &&
            details->job->operations[cell].own_ns != TIME_UNKNOWN)
            details->list[count++] = details->job->operations[cell].own_ns;
    }
    int64_t beyond_ns = count ? operation->own_ns - median_of(details->list, count) : 0;
    return beyond_ns > 0 ? beyond_ns : 0;
}

static void note_rank(struct details *details, struct finding *finding, int32_t rank)
{
    const struct job *job = details->job;
    struct job_range range = job_operations_in(job, rank, finding->first_step, finding->last_step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step < 0 || !finding_has_step(finding, operation->step))
            continue;
        int64_t excess_ns = finding->certainty > 0 ? beyond_peers(details, finding, i)
                                                   : excess_ns_at(&details->baseline->excess, i);
        if (excess_ns > 0)
            note(details, finding, operation->instance, operation->tag, excess_ns);
    }
}

static void note_ranks(struct details *details, struct finding *finding)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        note_rank(details, finding, finding->ranks[i]);
    if (!finding->rank_count)
        note_rank(details, finding, finding->rank);
}

static void note_transfers(struct details *details, struct finding *finding)
{
    const struct job *job = details->job;
    struct job_range range = job_instances_in(job, finding->first_step, finding->last_step);
    for (size_t i = range.first; i < range.end; i++) {
        int32_t at = job->by_step[i];
        const struct transfer_excess *transfer = &details->transfers[at];
        if (transfer->slow_ns > 0 && accuses(finding, transfer->culprit))
            note(details, finding, at, job->instances[at].tag, transfer->slow_ns);
    }
}

/* Of a job that stopped, and at start-up, those whom it names wait. */
static void note_peers(struct details *details, const struct finding *finding)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        details->waited[finding->peers[i]] = 1;
}

static int by_excess(const void *a, const void *b)
{
    const struct phase_excess *left = a, *right = b;
    if (left->excess_ns != right->excess_ns)
        return left->excess_ns > right->excess_ns ? -1 : 1;
    return left->tag - right->tag;
}

static int keep_phases(const struct details *details, struct finding *finding)
{
    size_t tags = details->job->tags.count + 1;
    int64_t ranks =
        finding->rank_count > 1 && finding->kind != FINDING_NETWORK ? (int64_t)finding->rank_count : 1;
    size_t capacity = 0;
    for (size_t tag = 0; tag < tags; tag++) {
        if (details->by_tag[tag] <= 0)
            continue;
        if (array_reserve((void **)&finding->phases, &capacity, finding->phase_count + 1,
                          sizeof *finding->phases))
            return -1;
        finding->phases[finding->phase_count++] =
            (struct phase_excess){(int32_t)tag - 1, details->by_tag[tag] / ranks};
    }
    array_sort(finding->phases, finding->phase_count, sizeof *finding->phases, by_excess);
    return 0;
}

/* Who is accused waits for nobody there. */
static int keep_waiting(const struct details *details, struct finding *finding)
{
    size_t capacity = 0;
    for (int32_t rank = 0; rank < (int32_t)details->job->rank_count; rank++) {
        if (!details->waited[rank] || accuses(finding, rank))
            continue;
        if (array_reserve((void **)&finding->waiting, &capacity, finding->waiting_count + 1,
                          sizeof *finding->waiting))
            return -1;
        finding->waiting[finding->waiting_count++] = rank;
    }
    return 0;
}

static void note_first(const struct details *details, struct finding *finding)
{
    if (finding->instance < 0)
        return;
    finding->operation = record_of(details->job, finding, finding->instance);
    int64_t at_ns = began(details->job, finding->operation);
    if (at_ns != TIME_UNKNOWN && details->origin_ns != TIME_UNKNOWN)
        finding->since_ns = at_ns - details->origin_ns;
}

static int detail(struct details *details, struct finding *finding)
{
    memset(details->by_tag, 0, (details->job->tags.count + 1) * sizeof *details->by_tag);
    memset(details->waited, 0, details->job->rank_count);
    if (finding->kind >= FINDING_MISSING || finding->at_start)
        note_peers(details, finding);
    else if (finding->first_step >= 0 && finding->kind == FINDING_NETWORK)
        note_transfers(details, finding);
    else if (finding->first_step >= 0)
        note_ranks(details, finding);
    note_first(details, finding);
    return keep_phases(details, finding) || keep_waiting(details, finding);
}

static int64_t first_of_all(const struct job *job)
{
    int64_t first_ns = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++) {
        int64_t at_ns = began(job, (int32_t)i);
        if (at_ns != TIME_UNKNOWN && (first_ns == TIME_UNKNOWN || at_ns < first_ns))
            first_ns = at_ns;
    }
    return first_ns;
}

int findings_detail(struct findings *findings, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers)
{
    struct details details = {.job = job,
                              .baseline = baseline,
                              .transfers = transfers,
                              .by_tag = array_new(job->tags.count + 1, sizeof *details.by_tag),
                              .waited = array_new(job->rank_count, 1),
                              .list = array_new(job->rank_count, sizeof *details.list),
                              .origin_ns = findings->count ? first_of_all(job) : TIME_UNKNOWN};
    int failed = !details.by_tag || !details.waited || !details.list;
    for (size_t i = 0; !failed && i < findings->count; i++)
        failed = detail(&details, &findings->items[i]);
    free(details.by_tag);
    free(details.waited);
    free(details.list);
    return failed ? -1 : 0;
}
