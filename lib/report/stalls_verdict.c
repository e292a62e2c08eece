/*
 * The verdict on each edge, from the account of diagnose: its findings, and the steps in which it measures
 * that a link was slow. The figures beside a verdict are the waits of the edge above their baseline.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/stalls.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <stdlib.h>

/* -------------------- the baseline of each wait -------------------- */

static int by_place(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->edge, right->edge}, {left->place, right->place}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

static int by_step(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {{left->edge, right->edge}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

static int32_t first_step_of(const struct stalls *stalls, const struct stalls_cell *cell)
{
    return stalls->runs[stalls->edges[cell->edge].run].first_step;
}

/*
 * The baseline of a wait is its lower quartile over training steps, because a fault may last for most of
 * them. Waiting for the GPU is different: it is short when the host is late, so the median is used.
 */
static double part_of(int wait)
{
    return wait == STALLS_GPU ? 0.5 : 0.25;
}

/* Fills in the baseline of the cells of one edge and kind of operation. `list` has room for one value each.
 */
static void learn_usual(struct stalls_cell *cells, size_t count, int32_t first_step, int64_t *list)
{
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        size_t seen = 0;
        for (size_t i = 0; i < count; i++)
            if (cells[i].step >= first_step && cells[i].operations)
                list[seen++] = cells[i].busy_ns[wait] / cells[i].operations;
        int64_t usual = seen ? quantile_of(list, seen, part_of(wait)) : 0;
        for (size_t i = 0; i < count; i++)
            cells[i].usual_ns[wait] = usual * cells[i].operations;
    }
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i].step >= first_step && cells[i].steps)
            list[seen++] = cells[i].wait_ns / cells[i].steps;
    int64_t usual = seen ? quantile_of(list, seen, part_of(STALLS_NETWORK)) : 0;
    for (size_t i = 0; i < count; i++)
        cells[i].usual_wait_ns = usual * cells[i].steps;
}

static void add_cell(struct stalls_cell *to, const struct stalls_cell *from)
{
    to->operations += from->operations;
    to->steps += from->steps;
    to->wait_ns += from->wait_ns;
    to->usual_wait_ns += from->usual_wait_ns;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        to->busy_ns[wait] += from->busy_ns[wait];
        to->usual_ns[wait] += from->usual_ns[wait];
    }
}

/* Merges cells over kinds of operation: one cell per edge and training step remains. */
static void merge_places(struct stalls *stalls)
{
    size_t kept = 0;
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_step);
    for (size_t i = 0; i < stalls->cell_count; i++)
        if (kept && !by_step(&stalls->cells[kept - 1], &stalls->cells[i]))
            add_cell(&stalls->cells[kept - 1], &stalls->cells[i]);
        else
            stalls->cells[kept++] = stalls->cells[i];
    stalls->cell_count = kept;
}

static int is_cell_before(const void *cell, const void *edge)
{
    const struct stalls_cell *at = cell;
    return at->edge < *(const int32_t *)edge;
}

/* The cells of an edge once they are merged: one per training step. */
static const struct stalls_cell *cells_of(const struct stalls *stalls, int32_t edge, size_t *count)
{
    size_t first =
        lower_bound(stalls->cells, stalls->cell_count, sizeof *stalls->cells, is_cell_before, &edge);
    size_t end = first;
    while (end < stalls->cell_count && stalls->cells[end].edge == edge)
        end++;
    *count = end - first;
    return stalls->cells + first;
}

/* Fewest training steps after the warm-up in which an edge is judged. */
enum { LEAST_STEPS = 3 };

static size_t steps_seen(const struct stalls *stalls, int32_t edge)
{
    size_t count, seen = 0;
    const struct stalls_cell *cells = cells_of(stalls, edge, &count);
    for (size_t i = 0; i < count; i++)
        seen += cells[i].step >= first_step_of(stalls, &cells[i]);
    return seen;
}

int stalls_learn(struct stalls *stalls, struct error *error)
{
    int64_t *list = array_new(stalls->cell_count + 1, sizeof *list);
    if (!list)
        return error_no_memory(error);
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_place);
    for (size_t i = 0, next; i < stalls->cell_count; i = next) {
        const struct stalls_cell *cell = &stalls->cells[i];
        for (next = i + 1; next < stalls->cell_count && stalls->cells[next].edge == cell->edge &&
                           stalls->cells[next].place == cell->place;
             next++)
            ;
        learn_usual(&stalls->cells[i], next - i, first_step_of(stalls, cell), list);
    }
    free(list);
    merge_places(stalls);
    for (size_t i = 0; i < stalls->edge_count; i++)
        stalls->edges[i].verdict = steps_seen(stalls, (int32_t)i) < LEAST_STEPS ? STALLS_UNKNOWN : STALLS_OK;
    return 0;
}

/* -------------------- an edge in the account -------------------- */

/* The account of a run, and which of its ranks each member of the edges is. */
struct account {
    const struct stalls *stalls;
    const struct stalls_options *options;
    const struct job *job;
    const struct baseline *baseline;
    const struct job *told; /* whose steps the findings have */
    const struct findings *findings;
    const struct slow_step *slow; /* sorted by sender, receiver and step */
    size_t slow_count;
    const int32_t *rank_of_member; /* -1: not a rank of the run */
};

/* An edge with its cells, and the steps in which the account measures that its link was slow. */
struct link {
    const struct account *account;
    const struct stalls_edge *edge;
    int32_t sender;
    int32_t receiver;
    const struct stalls_cell *cells;
    size_t count;
    int is_always; /* slow in all steps: its own waits are no baseline */
};

static int64_t beyond(const struct stalls_cell *cell, int wait)
{
    return cell->busy_ns[wait] > cell->usual_ns[wait] ? cell->busy_ns[wait] - cell->usual_ns[wait] : 0;
}

static int is_slow_before(const void *a, const void *b)
{
    const struct slow_step *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->sender, right->sender}, {left->receiver, right->receiver}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys) < 0;
}

/* By how much the link was slow in a step of the run; 0: it does not stand out, or the step is not loaded. */
static int64_t slow_in(const struct link *link, int32_t step)
{
    const struct account *account = link->account;
    const struct slow_step wanted = {link->sender, link->receiver, job_loaded_step(account->job, step), 0};
    size_t at = lower_bound(account->slow, account->slow_count, sizeof wanted, is_slow_before, &wanted);
    return at < account->slow_count && !is_slow_before(&wanted, &account->slow[at])
               ? account->slow[at].over_ns
               : 0;
}

static struct link link_of(const struct account *account, size_t number)
{
    const struct stalls_edge *edge = &account->stalls->edges[number];
    struct link link = {.account = account,
                        .edge = edge,
                        .sender = account->rank_of_member[edge->sender],
                        .receiver = account->rank_of_member[edge->receiver],
                        .is_always = 1};
    link.cells = cells_of(account->stalls, (int32_t)number, &link.count);
    for (size_t i = 0; i < link.count; i++)
        if (link.cells[i].step >= first_step_of(account->stalls, &link.cells[i]) &&
            job_loaded_step(account->job, link.cells[i].step) >= 0)
            link.is_always &= slow_in(&link, link.cells[i].step) > 0;
    return link;
}

/* By how much an edge waited for the network above its own baseline, or above what the account compares with.
 */
static int64_t network_beyond(const struct link *link, const struct stalls_cell *cell)
{
    int64_t slow_ns = link->is_always ? slow_in(link, cell->step) : 0;
    return slow_ns < beyond(cell, STALLS_NETWORK)    ? beyond(cell, STALLS_NETWORK)
           : slow_ns < cell->busy_ns[STALLS_NETWORK] ? slow_ns
                                                     : cell->busy_ns[STALLS_NETWORK];
}

/* The baseline of the sum of SendWait in a cell. */
static double usual_wait_of(const struct link *link, const struct stalls_cell *cell)
{
    return link->is_always ? (double)cell->wait_ns *
                                 (1 - ratio_of(network_beyond(link, cell), cell->busy_ns[STALLS_NETWORK]))
                           : (double)cell->usual_wait_ns;
}

/* The figures of a verdict, summed over training steps. */
struct figures_of_edge {
    enum stalls_verdict verdict;
    int32_t first_step;
    int32_t last_step;
    int64_t stalled_ns;
    int64_t steps;
    double wait_ns;
    double usual_ns;
};

static void add_figures(struct figures_of_edge *figures, const struct link *link,
                        const struct stalls_cell *cell, int64_t stalled_ns)
{
    figures->first_step = figures->steps ? figures->first_step : cell->step;
    figures->last_step = cell->step;
    figures->stalled_ns += stalled_ns;
    figures->steps += cell->steps;
    figures->wait_ns += (double)cell->wait_ns;
    figures->usual_ns += usual_wait_of(link, cell);
}

/* The least wait above the baseline that counts, per training step. */
static int64_t least_ns(const struct link *link)
{
    int64_t least = scale(link->account->baseline->median_step_ns, link->account->options->min_stall);
    return least > 0 ? least : 1;
}

/* The steps in which the account measures that the link was slow, whether or not a finding explains it. */
static struct figures_of_edge slow_steps_of(const struct link *link)
{
    struct figures_of_edge figures = {.verdict = STALLS_NOT_CONFIRMED};
    for (size_t i = 0; i < link->count; i++) {
        const struct stalls_cell *cell = &link->cells[i];
        int64_t stalled_ns = network_beyond(link, cell);
        if (slow_in(link, cell->step) > 0 && stalled_ns >= least_ns(link) &&
            (double)cell->wait_ns >= link->account->options->factor * usual_wait_of(link, cell))
            add_figures(&figures, link, cell, stalled_ns);
    }
    return figures;
}

/* What an edge waited for in the steps of a finding, above the baseline. */
static struct figures_of_edge figures_in(const struct link *link, const struct finding *finding,
                                         enum stalls_verdict verdict, enum stalls_wait wait)
{
    struct figures_of_edge figures = {.verdict = verdict};
    for (size_t i = 0; i < link->count; i++) {
        const struct stalls_cell *cell = &link->cells[i];
        int32_t step = job_loaded_step(link->account->told, cell->step);
        if (step >= 0 && finding_has_step(finding, step))
            add_figures(&figures, link, cell,
                        wait == STALLS_NETWORK ? network_beyond(link, cell) : beyond(cell, wait));
    }
    figures.first_step = job_run_step(link->account->told, finding->first_step);
    figures.last_step = job_run_step(link->account->told, finding->last_step);
    return figures;
}

/* -------------------- the verdict -------------------- */

static int has_peer(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        if (finding->peers[i] == rank)
            return 1;
    return 0;
}

/*
 * Whether a finding blames the network of the edge: the finding is about one of its ends, and if it names
 * other ends, the edge has one of them.
 */
static int blames_link(const struct finding *finding, const struct link *link)
{
    int32_t near = finding->receives ? link->receiver : link->sender,
            far = finding->receives ? link->sender : link->receiver;
    return finding->kind == FINDING_NETWORK && finding_is_reported(finding) &&
           finding_has_rank(finding, near) && (!finding->peer_count || has_peer(finding, far));
}

static enum stalls_verdict verdict_of(const struct finding *finding)
{
    if (finding->pause_ns > 0)
        return STALLS_PAUSED;
    if (finding->peer_count == 1)
        return STALLS_SLOW_LINK;
    return finding->receives ? STALLS_SLOW_RECEIVER : STALLS_SLOW_SENDER;
}

static const struct finding *network_finding(const struct link *link)
{
    const struct findings *findings = link->account->findings;
    const struct finding *best = NULL;
    for (size_t i = 0; link->sender >= 0 && link->receiver >= 0 && i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (blames_link(finding, link) && (!best || finding_is_before(finding, best)))
            best = finding;
    }
    return best;
}

/*
 * The GPU or host of one end is late by a finding, and the edge waited for that end: a sender without data,
 * or a receiver that gives no credit. It replaces what explains less of the waiting.
 */
static void take_late_end(const struct link *link, const struct finding *finding, int32_t end,
                          struct figures_of_edge *best)
{
    int is_sender = end == link->sender;
    if (end < 0 || finding->kind >= FINDING_NETWORK || !finding_is_reported(finding) ||
        finding->first_step < 0 || !finding_has_rank(finding, end))
        return;
    struct figures_of_edge figures = figures_in(link, finding, is_sender ? STALLS_NO_DATA : STALLS_NO_CREDIT,
                                                is_sender ? STALLS_GPU : STALLS_PEER);
    int64_t least = finding_steps(finding) * least_ns(link);
    if (figures.stalled_ns >= least && figures.stalled_ns > best->stalled_ns)
        *best = figures;
}

static struct figures_of_edge judge(const struct link *link)
{
    const struct findings *findings = link->account->findings;
    const struct finding *finding = network_finding(link);
    if (finding)
        return figures_in(link, finding, verdict_of(finding), STALLS_NETWORK);
    struct figures_of_edge best = slow_steps_of(link);
    for (size_t i = 0; i < findings->count; i++) {
        take_late_end(link, &findings->items[i], link->sender, &best);
        take_late_end(link, &findings->items[i], link->receiver, &best);
    }
    return best;
}

static void take(struct stalls_edge *edge, const struct figures_of_edge *figures)
{
    if (!figures->stalled_ns && figures->verdict == STALLS_NOT_CONFIRMED)
        return;
    edge->verdict = figures->verdict;
    edge->first_step = figures->first_step;
    edge->last_step = figures->last_step;
    edge->stalled_ns = figures->stalled_ns;
    edge->wait_mean_ns = figures->steps ? figures->wait_ns / (double)figures->steps : -1;
    edge->usual_mean_ns = figures->steps ? figures->usual_ns / (double)figures->steps : -1;
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

int stalls_judge(struct stalls *stalls, int32_t run, const struct job *job, const struct baseline *baseline,
                 const struct job *told, const struct findings *findings,
                 const struct stalls_options *options, struct error *error)
{
    struct edges edges;
    struct slow_step *slow = NULL;
    struct account account = {.stalls = stalls,
                              .options = options,
                              .job = job,
                              .baseline = baseline,
                              .told = told,
                              .findings = findings};
    if (edges_init(&edges, job, baseline, options->sigmas, error))
        return -1;
    int32_t *ranks = ranks_of_members(stalls, job);
    int failed = !ranks || edges_slow_steps(&edges, &slow, &account.slow_count);
    account.slow = slow;
    account.rank_of_member = ranks;
    for (size_t i = 0; !failed && i < stalls->edge_count; i++) {
        struct stalls_edge *edge = &stalls->edges[i];
        if (edge->run != run)
            continue;
        struct link link = link_of(&account, i);
        struct figures_of_edge figures = judge(&link);
        take(edge, &figures);
    }
    free(slow);
    free(ranks);
    edges_release(&edges);
    return failed ? error_no_memory(error) : 0;
}

static int judge_diagnosed(struct stalls *stalls, int32_t run, const struct judged_run *judged,
                           const struct stalls_options *options, struct error *error)
{
    return stalls_judge(stalls, run, &judged->job, &judged->baseline, judged->judgement.told,
                        &judged->findings, options, error);
}

/* Of a run that is already loaded and diagnosed, nothing is computed again. */
static int judge_run(struct stalls *stalls, int32_t run, const struct analysis_request *request,
                     const struct stalls_options *options, const struct diagnose_options *diagnose,
                     struct table *table, struct error *error)
{
    int64_t run_id = stalls->runs[run].id;
    struct judged_run *shared, own;
    if (shared_run_load_whole(request->shared, request->store, run_id, diagnose, &shared, error))
        return -1;
    if (shared)
        return judge_diagnosed(stalls, run, shared, options, error);
    if (judged_run_init(&own, request->store, run_id, diagnose, error))
        return -1;
    int failed = caution_loaded_steps(own.judgement.told, "waits are those of all steps, verdicts those of",
                                      table, error) ||
                 judge_diagnosed(stalls, run, &own, options, error);
    judged_run_release(&own);
    return failed;
}

int stalls_judge_all(struct stalls *stalls, const struct analysis_request *request,
                     const struct stalls_options *options, const char *memory_mib, struct table *table,
                     struct error *error)
{
    struct diagnose_options diagnose;
    int failed =
        diagnose_options_usual(&diagnose, request->store, memory_mib, error) || stalls_learn(stalls, error);
    for (size_t i = 0; !failed && i < stalls->run_count; i++)
        if (stalls->runs[i].network_steps)
            failed = judge_run(stalls, (int32_t)i, request, options, &diagnose, table, error);
    return failed ? -1 : 0;
}

int stalls_is_slow(enum stalls_verdict verdict)
{
    return verdict == STALLS_PAUSED || verdict == STALLS_SLOW_LINK || verdict == STALLS_SLOW_SENDER ||
           verdict == STALLS_SLOW_RECEIVER;
}

const char *stalls_verdict_name(enum stalls_verdict verdict)
{
    static const char *const names[] = {"ok",          "unknown",       "no data",
                                        "no credit",   "paused once",   "slow link",
                                        "slow sender", "slow receiver", "not confirmed"};
    return names[verdict];
}
