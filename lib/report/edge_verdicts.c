/* Gives the edges of stalls the verdicts of diagnose, so that both commands agree. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "report/stalls.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <stdlib.h>

/* A diagnosed run: its findings, and which of its ranks each member of the edges is. */
struct decided {
    const struct stalls *stalls;
    const struct findings *findings;
    const int32_t *rank_of_member; /* -1: not a rank of the run */
};

static int has_peer(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        if (finding->peers[i] == rank)
            return 1;
    return 0;
}

/*
 * Whether a finding blames the edge: the finding is about one of its ends, and if it names other ends, the
 * edge has one of them.
 */
static int blames(const struct finding *finding, int32_t sender, int32_t receiver)
{
    int32_t near = finding->receives ? receiver : sender, far = finding->receives ? sender : receiver;
    return finding->kind == FINDING_NETWORK && finding_is_reported(finding) &&
           finding_has_rank(finding, near) && (!finding->peer_count || has_peer(finding, far));
}

static const struct finding *blaming(const struct decided *decided, const struct stalls_edge *edge)
{
    int32_t sender = decided->rank_of_member[edge->sender],
            receiver = decided->rank_of_member[edge->receiver];
    const struct finding *best = NULL;
    for (size_t i = 0; sender >= 0 && receiver >= 0 && i < decided->findings->count; i++) {
        const struct finding *finding = &decided->findings->items[i];
        if (blames(finding, sender, receiver) && (!best || finding_is_before(finding, best)))
            best = finding;
    }
    return best;
}

static enum stalls_verdict verdict_of(const struct finding *finding)
{
    if (finding->pause_ns > 0)
        return STALLS_PAUSED;
    if (finding->peer_count == 1)
        return STALLS_SLOW_LINK;
    return finding->receives ? STALLS_SLOW_RECEIVER : STALLS_SLOW_SENDER;
}

/* The figures of the edge's own verdict stay if they are for the same steps. */
static int has_steps_of(const struct stalls_edge *edge, const struct finding *finding)
{
    return stalls_is_slow(edge->measured) && edge->first_step <= finding->last_step &&
           finding->first_step <= edge->last_step;
}

/* Sent cells come before received ones, sorted by edge and step, once the edges are judged. */
static int is_cell_before(const void *cell, const void *edge)
{
    const struct stalls_cell *at = cell;
    return !at->received && at->edge < *(const int32_t *)edge;
}

/*
 * Fills in the wait of an edge above its baseline in the given training steps, if its own verdict is based on
 * no steps. Call it before the edges are sorted.
 */
static void measure_steps(struct stalls *stalls, size_t edge, int32_t first_step, int32_t last_step)
{
    struct stalls_edge *of = &stalls->edges[edge];
    int32_t number = (int32_t)edge;
    int64_t steps = 0, wait_ns = 0, usual_ns = 0;
    of->stalled_ns = 0;
    for (size_t i =
             lower_bound(stalls->cells, stalls->cell_count, sizeof *stalls->cells, is_cell_before, &number);
         i < stalls->cell_count && !stalls->cells[i].received && stalls->cells[i].edge == number; i++) {
        const struct stalls_cell *cell = &stalls->cells[i];
        int64_t beyond_ns = cell->busy_ns[STALLS_NETWORK] - cell->usual_ns[STALLS_NETWORK];
        if (cell->step < first_step || cell->step > last_step)
            continue;
        of->stalled_ns += beyond_ns > 0 ? beyond_ns : 0;
        steps += cell->steps;
        wait_ns += cell->wait_ns;
        usual_ns += cell->usual_wait_ns;
    }
    of->first_step = first_step;
    of->last_step = last_step;
    of->wait_mean_ns = steps ? (double)wait_ns / (double)steps : -1;
    of->usual_mean_ns = steps ? (double)usual_ns / (double)steps : -1;
}

static void decide(const struct decided *decided, struct stalls *stalls, size_t at)
{
    struct stalls_edge *edge = &stalls->edges[at];
    const struct finding *finding = blaming(decided, edge);
    if (!finding) {
        if (stalls_is_slow(edge->measured))
            edge->verdict = STALLS_NOT_CONFIRMED;
        return;
    }
    edge->verdict = verdict_of(finding);
    if (!has_steps_of(edge, finding))
        measure_steps(stalls, at, finding->first_step, finding->last_step);
}

/* Members that are ranks have the indices of the roster; a job has only those of its run. */
static int32_t *ranks_of_members(const struct stalls *stalls, const struct job *job)
{
    int32_t *ranks = array_new(stalls->member_list_count, sizeof *ranks);
    for (size_t i = 0; ranks && i < stalls->member_list_count; i++)
        ranks[i] = -1;
    for (size_t i = 0; ranks && i < job->rank_count; i++) {
        int32_t member = roster_rank(&stalls->roster, job->ranks[i].id);
        if (member >= 0)
            ranks[member] = (int32_t)i;
    }
    return ranks;
}

int edges_take_verdicts_of(struct stalls *stalls, int32_t run, const struct job *job,
                           const struct findings *findings, struct error *error)
{
    int32_t *ranks = ranks_of_members(stalls, job);
    const struct decided decided = {stalls, findings, ranks};
    if (!ranks)
        return error_no_memory(error);
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (stalls->edges[i].run == run)
            decide(&decided, stalls, i);
    free(ranks);
    return 0;
}

static int take_verdicts(struct stalls *stalls, int32_t run, struct store *store,
                         const struct diagnose_options *options, struct error *error)
{
    struct job job;
    struct findings findings = {0};
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    if (job_load(&job, store, stalls->runs[run].id, error))
        return -1;
    int failed = findings_find(&findings, &job, &baseline, &transfers, options, error) ||
                 edges_take_verdicts_of(stalls, run, &job, &findings, error);
    free(transfers);
    baseline_release(&baseline);
    findings_release(&findings);
    job_release(&job);
    return failed ? -1 : 0;
}

int edges_take_verdicts(struct stalls *stalls, struct store *store, struct error *error)
{
    struct diagnose_options options;
    int failed = diagnose_options_usual(&options, store, error);
    for (size_t i = 0; !failed && i < stalls->run_count; i++)
        if (stalls->runs[i].network_steps)
            failed = take_verdicts(stalls, (int32_t)i, store, &options, error);
    return failed;
}
