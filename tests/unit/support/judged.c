#include "support/judged.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * One operation per step, its link, and the ranks at fault; optionally another operation of other ranks in
 * each step.
 */
enum { INSTANCES = 2 * STEPS, EDGES = 2 * INSTANCES };
struct transfers {
    struct job_instance instances[INSTANCES];
    struct transfer_excess excess[INSTANCES];
    struct edge edges[EDGES];
    size_t first[INSTANCES + 1];
};

static void add_edge(struct transfers *transfers, int instance, int32_t sender, int32_t receiver,
                     int64_t wait_ns)
{
    size_t *end = &transfers->first[instance + 1];
    *end = *end > transfers->first[instance] ? *end : transfers->first[instance];
    transfers->edges[(*end)++] = (struct edge){.instance = instance,
                                               .sender = sender,
                                               .receiver = receiver,
                                               .steps = 1,
                                               .wait_ns = wait_ns,
                                               .wait_max_ns = wait_ns * (sender + 1),
                                               .extra_ns = wait_ns - 100};
}

static void add_others(struct transfers *transfers, int32_t suspect)
{
    for (int i = 0; i < STEPS; i++) {
        transfers->instances[STEPS + i] = (struct job_instance){.step = i, .tag = -1, .transfer_ns = 200000};
        transfers->excess[STEPS + i] = (struct transfer_excess){.culprit = 3, .slow_ns = 100000};
        add_edge(transfers, STEPS + i, suspect, 3, 100000);
    }
}

static void make_slow(const struct suspect *suspect, const struct besides *besides,
                      struct transfers *transfers)
{
    for (int i = 0; i < STEPS; i++) {
        int now = i >= suspect->first_step && i <= suspect->last_step;
        int received = now && i < suspect->first_step + besides->received;
        int64_t wait_ns = now ? (int64_t)(100 * besides->slow->wait) : 100;
        int64_t transfer_ns = now ? (int64_t)(100 * besides->slow->transfer) : 100;
        int64_t told_ns = besides->untimed ? TIME_UNKNOWN : besides->for_some ? 100 : transfer_ns;
        transfers->instances[i] = (struct job_instance){.step = i, .tag = -1, .transfer_ns = told_ns};
        transfers->excess[i] = (struct transfer_excess){.slow_ns = transfer_ns - 100,
                                                        .some_ns = besides->for_some ? transfer_ns - 100 : 0,
                                                        .culprit = now ? suspect->rank : -1};
        add_edge(transfers, i, received ? 3 : suspect->rank, received ? suspect->rank : 2, wait_ns);
        if (besides->others)
            add_edge(transfers, i, 3, 0, 100000);
    }
    if (besides->others)
        add_others(transfers, suspect->rank);
}

/* One operation per step, in order of their starts. */
struct lengths {
    struct job_operation operations[RANKS * STEPS];
    int32_t cells[RANKS * STEPS];
    int32_t *cells_of_role[1];
    int64_t step_ns[STEPS];
};

static void lengths_init(struct lengths *lengths, const struct suspect *suspect,
                         const struct besides *besides)
{
    int64_t suspects_steps_ns = besides->suspects_steps_ns;
    *lengths = (struct lengths){.cells_of_role = {lengths->cells}};
    for (int i = 0; i < RANKS * STEPS; i++) {
        int step = i % STEPS, before = step - 1;
        int slow = step && before >= suspect->first_step && before <= suspect->last_step;
        int64_t begin_ns = step ? lengths->operations[i - 1].start_ns : 0;
        lengths->operations[i].start_ns = begin_ns + (slow ? suspects_steps_ns : 1000);
        lengths->cells[i] = i;
    }
    for (int i = 0; i < STEPS; i++)
        lengths->step_ns[i] = !suspects_steps_ns || i == STEPS - 1 ? TIME_UNKNOWN
                              : i >= suspect->first_step && i <= suspect->last_step
                                  ? suspects_steps_ns
                                  : 1000 + (i % 3 == 0   ? besides->uneven_ns
                                            : i % 3 == 2 ? -besides->uneven_ns
                                                         : 0);
}

/*
 * The operations of the job have no index: there are only sequence numbers,
 * which show how many operations are missing.
 */
static void judge(struct suspect *items, const struct besides *besides, struct job *job,
                  const struct baseline *baseline, const struct edges *edges,
                  const struct transfer_excess *transfers, struct findings *findings)
{
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct suspects suspects = {
        .items = items, .count = besides->other ? 2 : 1, .not_replayed = besides->not_replayed};
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(job, &error), 0);
    job->operation_count = 100;
    assert_int_equal(suspects_sum_costs(&suspects, STEPS), 0);
    assert_int_equal(suspects_judge(&suspects, job, baseline, edges, transfers, &options, findings, &error),
                     0);
    free(suspects.cost_ns);
    free(job->operations_of_step);
    free(job->by_step);
    free(job->step_end);
}

void judge_suspect(struct suspect suspect, const struct besides *besides, struct findings *findings)
{
    enum { SUSPECT = 1 };
    int32_t ranks[RANKS] = {0, 1, 2, 3}, only = SUSPECT, role_of_rank[RANKS], rank_in_role[RANKS],
            same_work[RANKS];
    struct role role = {.ranks = besides->alone ? &only : ranks,
                        .rank_count = besides->alone ? 1 : RANKS,
                        .length = besides->suspects_steps_ns > 0};
    struct lengths lengths;
    struct transfers transfers = {0};
    struct edges edges = {.items = transfers.edges, .count = EDGES, .first = transfers.first};
    struct job_rank job_ranks[RANKS];
    struct job job = {.ranks = job_ranks,
                      .rank_count = RANKS,
                      .step_count = STEPS,
                      .finished_only = besides->finished_only,
                      .lacks_files = besides->lacks_files != 0,
                      .blind_to_pairs = besides->blind_to_pairs,
                      .in_stages = besides->in_stages,
                      .lost_events = besides->lost_events,
                      .damaged_lines = besides->damaged_lines,
                      .missing_sequence = besides->missing_of_100,
                      .timed_operations = 1,
                      .operations = lengths.operations,
                      .instances = transfers.instances,
                      .instance_count = !besides->slow    ? 0
                                        : besides->others ? INSTANCES
                                                          : STEPS};
    struct baseline baseline = {.roles = &role,
                                .role_count = 1,
                                .rank_count = RANKS,
                                .role_of_rank = role_of_rank,
                                .rank_in_role = rank_in_role,
                                .same_work = same_work,
                                .first_step = 1,
                                .started_step = 1,
                                .step_count = STEPS,
                                .cells = lengths.cells_of_role,
                                .step_ns = lengths.step_ns,
                                .median_step_ns = 1000,
                                .regular = 1 - besides->irregular};
    for (int i = 0; i < RANKS; i++) {
        role_of_rank[i] = besides->alone && i != SUSPECT ? -1 : 0;
        rank_in_role[i] = besides->alone ? 0 : i;
        same_work[i] = besides->same_work;
        job_ranks[i] = (struct job_rank){.count = i < RANKS - besides->silent};
    }
    suspect.rank = SUSPECT;
    if (!suspect.total_ns)
        suspect.total_ns = suspect.gain_ns;
    struct suspect items[2] = {suspect};
    if (besides->other)
        items[1] = *besides->other;
    lengths_init(&lengths, &suspect, besides);
    if (besides->slow)
        make_slow(&suspect, besides, &transfers);
    judge(items, besides, &job, &baseline, besides->slow ? &edges : NULL, transfers.excess, findings);
}

struct rule_results judged_readings(struct suspect suspect, const struct besides *besides)
{
    struct findings findings = {0};
    judge_suspect(suspect, besides, &findings);
    assert_true(findings.count > 0);
    struct rule_results rule_results = findings.items[0].rule_results;
    findings_release(&findings);
    return rule_results;
}
