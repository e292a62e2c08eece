/*
 * The verdict of diagnose on a slow job: adds the details of the findings that are reported, and measures the
 * smallest fault that the job would have shown.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The smallest fault is stated for this share of the positions in a step: some position is always noisy. */
static const double PLACES = 0.9;

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The limit of the positions of all roles; TIME_UNKNOWN: none has one. */
static int limit_of_places(const struct baseline *baseline, int in_all_steps, int64_t *limit_ns)
{
    size_t places = 0, count = 0;
    for (size_t role = 0; role < baseline->role_count; role++)
        places += (size_t)baseline->roles[role].length;
    int64_t *list = array_new(places, sizeof *list);
    for (size_t role = 0; list && role < baseline->role_count; role++)
        for (int32_t i = 0; i < baseline->roles[role].length; i++) {
            const struct place_limits *place = &baseline->roles[role].limits[i];
            int64_t ns = in_all_steps ? place->in_all_steps_ns : place->in_a_step_ns;
            if (ns != TIME_UNKNOWN)
                list[count++] = ns;
        }
    if (list)
        *limit_ns = quantile_of(list, count, PLACES);
    free(list);
    return list ? 0 : -1;
}

static int is_found(const struct findings *findings, int32_t rank, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence > CONFIDENCE_LOW && finding->rank == rank && finding_has_step(finding, step))
            return 1;
    }
    return 0;
}

/* The lateness of each rank in each step, without what findings explain. NULL when memory runs out. */
static int64_t *lateness_by_cell(const struct job *job, const struct baseline *baseline,
                                 const struct findings *findings)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *late_ns = array_new(job->rank_count * steps, sizeof *late_ns);
    for (size_t i = 0; late_ns && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step >= baseline->first_step && !is_found(findings, operation->rank, operation->step))
            late_ns[(size_t)operation->rank * steps + (size_t)operation->step] +=
                excess_ns_at(&baseline->excess, i);
    }
    return late_ns;
}

/*
 * The greatest lateness in a single step: what lasts for several steps is no noise, whether found or not. -1
 * when memory runs out.
 */
static int64_t greatest_lateness(const struct job *job, const struct baseline *baseline,
                                 const struct findings *findings, int64_t least_ns)
{
    size_t steps = (size_t)baseline->step_count, cells = job->rank_count * steps;
    int64_t *late_ns = lateness_by_cell(job, baseline, findings), greatest_ns = late_ns ? 0 : -1;
    for (size_t i = 0; late_ns && i < cells; i++) {
        int goes_on = (i % steps > 0 && late_ns[i - 1] >= least_ns) ||
                      (i % steps + 1 < steps && late_ns[i + 1] >= least_ns);
        if ((late_ns[i] < least_ns || !goes_on) && late_ns[i] > greatest_ns)
            greatest_ns = late_ns[i];
    }
    free(late_ns);
    return greatest_ns;
}

/* A fault must be greater than anything that was seen and not believed. */
static void raise_to_doubted_findings(struct smallest_fault *smallest, const struct baseline *baseline,
                                      const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence != CONFIDENCE_LOW || finding->kind > FINDING_HOST || finding->first_step < 0)
            continue;
        int32_t steps = finding->last_step - finding->first_step + 1;
        int is_steady =
            finding->first_step <= baseline->first_step && finding->last_step == baseline->step_count - 1;
        int64_t *claim = steps == 1  ? &smallest->one_step_ns
                         : is_steady ? &smallest->every_step_ns
                                     : &smallest->three_steps_ns;
        if (*claim != TIME_UNKNOWN)
            *claim = max_of(*claim, finding->slow_ns / steps);
    }
}

/*
 * A rank is slower than others by design up to this part of a step, and a brief delay of a single step is
 * seen in healthy jobs.
 */
static const double LEAST_OF_ALL = 0.1;

/* The excess per step that is found in several steps, in all steps or in a single one. */
static int64_t least_of_several(const struct baseline *baseline, const struct diagnose_options *options)
{
    return scale(baseline->median_step_ns, options->min_gain);
}

static int64_t least_of_all(const struct baseline *baseline, const struct diagnose_options *options)
{
    return scale(baseline->median_step_ns,
                 options->min_gain > LEAST_OF_ALL ? options->min_gain : LEAST_OF_ALL);
}

static int64_t least_alone(const struct baseline *baseline, const struct diagnose_options *options,
                           int64_t greatest_ns)
{
    return max_of(least_of_all(baseline, options), scale(greatest_ns, limit_of(LIMIT_AHEAD_MANY)));
}

int smallest_fault_measure(struct smallest_fault *smallest, const struct job *job,
                           const struct baseline *baseline, const struct findings *findings,
                           const struct diagnose_options *options)
{
    int64_t place_ns, all_ns, least_ns = least_of_several(baseline, options),
                              late_ns = greatest_lateness(job, baseline, findings, least_ns / 2);
    *smallest = (struct smallest_fault){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
    if (late_ns < 0 || limit_of_places(baseline, 0, &place_ns) || limit_of_places(baseline, 1, &all_ns))
        return -1;
    if (place_ns != TIME_UNKNOWN && baseline->median_step_ns) {
        smallest->one_step_ns = max_of(place_ns, least_alone(baseline, options, late_ns));
        smallest->three_steps_ns = max_of(max_of(place_ns, findings->three_steps_ns), least_ns);
        if (all_ns != TIME_UNKNOWN)
            smallest->every_step_ns = max_of(all_ns, least_of_all(baseline, options));
    }
    raise_to_doubted_findings(smallest, baseline, findings);
    return 0;
}

struct details {
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    int64_t *by_tag;       /* by tag + 1 */
    int64_t *by_step;      /* by step */
    unsigned char *waited; /* by rank */
    int64_t *list;         /* room for one value of each rank */
    int64_t origin_ns;     /* the first operation of the job, in common time; TIME_UNKNOWN: not known */
};

static int accuses(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding->ranks[i] == rank)
            return 1;
    return finding->rank == rank;
}

/* The finding's own record of an instance, or else that of a member that has one; -1: none. */
static int32_t record_of(const struct job *job, const struct finding *finding, int32_t number)
{
    const struct job_instance *instance = &job->instances[number];
    for (int32_t i = 0; i < instance->members; i++)
        if (accuses(finding, job_member(job, instance, i)->rank))
            return job_member_at(job, instance, i);
    return instance->members ? job_member_at(job, instance, 0) : -1;
}

/* When an operation started in the common time of the job, or else was enqueued; TIME_UNKNOWN: not known. */
static int64_t began(const struct job *job, int32_t number)
{
    if (number < 0)
        return TIME_UNKNOWN;
    const struct job_operation *operation = &job->operations[number];
    int64_t at_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->enqueued_ns;
    return at_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(job, operation, at_ns);
}

/* Whether one is of an earlier step, or earlier in the same step. */
static int is_before(const struct job *job, const struct finding *finding, int32_t left, int32_t right)
{
    if (job->instances[left].step != job->instances[right].step)
        return job->instances[left].step < job->instances[right].step;
    int64_t left_ns = began(job, record_of(job, finding, left)),
            right_ns = began(job, record_of(job, finding, right));
    return left_ns != TIME_UNKNOWN && (right_ns == TIME_UNKNOWN || left_ns < right_ns);
}

/* Adds an operation or a transfer of the finding, with what it was late or slow by. */
static void note(struct details *details, struct finding *finding, int32_t instance, int32_t tag,
                 int64_t excess_ns)
{
    const struct job *job = details->job;
    const struct job_instance *of = &job->instances[instance];
    if (finding->instance < 0 || is_before(job, finding, instance, finding->instance))
        finding->instance = instance;
    details->by_tag[tag + 1] += excess_ns;
    if (of->step >= 0)
        details->by_step[of->step] += excess_ns;
    for (int32_t i = 0; i < of->members; i++)
        details->waited[job_member(job, of, i)->rank] = 1;
}

/*
 * Own time above the median of the ranks in its role that the finding does not blame, at the same position
 * and step. Where it is not known: what the rank was late by since it last met those that waited for it.
 */
static int64_t beyond_peers(const struct details *details, const struct finding *finding, size_t at)
{
    const struct job_operation *operation = &details->job->operations[at];
    const struct baseline *baseline = details->baseline;
    int32_t role = baseline->role_of_rank[operation->rank];
    size_t count = 0;
    if (role < 0 || baseline->positions[at] < 0)
        return 0;
    if (operation->own_ns == TIME_UNKNOWN)
        return excess_ns_at(&baseline->excess, at);
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
        if (transfer->slow_ns > 0 && accuses(finding, transfer->culprit) &&
            finding_has_step(finding, job->instances[at].step))
            note(details, finding, at, job->instances[at].tag, transfer->slow_ns);
    }
}

/* For a stopped job, and at start-up, the peers of the finding are the ranks that wait. */
static void note_peers(struct details *details, const struct finding *finding)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        details->waited[finding->peers[i]] = 1;
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
    finding_choose_phase(finding);
    return 0;
}

/* Keeps the ranks that waited; those that the finding blames are left out. */
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

/*
 * The cost is divided among the steps of a finding in proportion to their excess, unless the excess accounts
 * for less than half of the cost: then it does not show where the cost arose.
 */
static int keep_excess(const struct details *details, struct finding *finding)
{
    int64_t sum_ns = 0;
    size_t steps = (size_t)(finding->last_step - finding->first_step) + 2;
    if (!finding_is_of_steps(finding) || !finding_is_reported(finding))
        return 0;
    finding->excess_up_to = array_new(steps, sizeof *finding->excess_up_to);
    for (size_t i = 0; finding->excess_up_to && i < steps; i++) {
        int32_t step = finding->first_step + (int32_t)i;
        int has_it =
            finding_has_step(finding, step) || (finding->shows_later && finding_has_step(finding, step - 1));
        if (has_it && step < details->job->step_count)
            sum_ns += details->by_step[step];
        finding->excess_up_to[i] = sum_ns;
    }
    if (!finding->excess_up_to)
        return -1;
    if (sum_ns <= 0 || sum_ns < finding->lost_ns / 2) {
        free(finding->excess_up_to);
        finding->excess_up_to = NULL;
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
    memset(details->by_step, 0, (size_t)details->job->step_count * sizeof *details->by_step);
    memset(details->waited, 0, details->job->rank_count);
    if (finding->kind >= FINDING_MISSING || finding_is_absent(finding, details->job) || finding->at_start)
        note_peers(details, finding);
    else if (finding->first_step >= 0 && finding->kind == FINDING_NETWORK)
        note_transfers(details, finding);
    else if (finding->first_step >= 0)
        note_ranks(details, finding);
    note_first(details, finding);
    return finding_drop_after_effects(finding, details->job, details->by_step) ||
           keep_phases(details, finding) || keep_waiting(details, finding) || keep_excess(details, finding);
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
                              .by_step = array_new((size_t)job->step_count, sizeof *details.by_step),
                              .waited = array_new(job->rank_count, 1),
                              .list = array_new(job->rank_count, sizeof *details.list),
                              .origin_ns = findings->count ? first_of_all(job) : TIME_UNKNOWN};
    int failed = !details.by_tag || !details.by_step || !details.waited || !details.list;
    for (size_t i = 0; !failed && i < findings->count; i++)
        failed = detail(&details, &findings->items[i]);
    free(details.by_tag);
    free(details.by_step);
    free(details.waited);
    free(details.list);
    return failed ? -1 : 0;
}
