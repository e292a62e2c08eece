/*
 * Finds senders whose network steps waited longer than those of others, in a set of steps or in all, and
 * groups those of one host. explained_network.c turns the result into findings.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Degrees of freedom of Student's t for network waits (1: Cauchy): their tail is heavier than that of own
 * time.
 */
static const double TAIL = 1;
/* Two kinds of hypothesis: slow in a set of steps, slow in all steps. */
enum { KINDS = 2 };
/* With two others, the lower median is always one of them. */
enum { LEAST_OTHERS = 3 };

/* What a rank waited for one kind of operation in a step. */
struct wait {
    int64_t bytes;
    int64_t size; /* of the communicator */
    int32_t function;
    int32_t step;
    int32_t rank;
    double wait_ns;
    double steps; /* network steps */
};

static int by_kind(const struct wait *left, const struct wait *right)
{
    if (left->step != right->step)
        return left->step < right->step ? -1 : 1;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

static int by_kind_and_rank(const void *a, const void *b)
{
    const struct wait *left = a, *right = b;
    int order = by_kind(left, right);
    return order ? order : (left->rank > right->rank) - (left->rank < right->rank);
}

/* Lists one entry per sender, kind and step. Returns their number. */
static size_t list_waits(const struct job *job, const struct edges *edges, struct wait *waits)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge *edge = &edges->items[i];
        const struct job_instance *instance = &job->instances[edge->instance];
        if (edge->step < 0 || edge->step >= job->step_count || edge->steps < 1)
            continue;
        waits[count++] =
            (struct wait){.bytes = job->operations[job->instance_members[instance->first_member]].bytes,
                          .size = job->communicators[instance->communicator].size,
                          .function = (int32_t)instance->function,
                          .step = edge->step,
                          .rank = edge->sender,
                          .wait_ns = (double)edge->wait_ns,
                          .steps = edge->steps};
    }
    array_sort(waits, count, sizeof *waits, by_kind_and_rank);
    for (size_t i = 0; i < count; i++)
        if (kept && !by_kind_and_rank(&waits[kept - 1], &waits[i])) {
            waits[kept - 1].wait_ns += waits[i].wait_ns;
            waits[kept - 1].steps += waits[i].steps;
        } else {
            waits[kept++] = waits[i];
        }
    return kept;
}

static double mean_of(const struct wait *wait)
{
    return wait->wait_ns / wait->steps;
}

/*
 * Adds the ratios of senders of one kind in one step to their sums. `list` has room for one value per sender.
 */
static void add_kind(struct senders *senders, const struct wait *waits, size_t count, double *steps,
                     double *list)
{
    if (count < LEAST_OTHERS + 1)
        return;
    for (size_t i = 0; i < count; i++)
        list[i] = mean_of(&waits[i]);
    sort_reals(list, count);
    for (size_t i = 0; i < count; i++) {
        /* The lower median of the others. */
        size_t middle = (count - 2) / 2;
        double others = list[middle] < mean_of(&waits[i]) ? list[middle] : list[middle + 1];
        size_t cell = (size_t)waits[i].rank * (size_t)senders->steps + (size_t)waits[i].step;
        if (others <= 0 || mean_of(&waits[i]) <= 0)
            continue;
        senders->ratio[cell] += waits[i].steps * log(mean_of(&waits[i]) / others);
        steps[cell] += waits[i].steps;
    }
}

static int fill_ratios(struct senders *senders, const struct job *job, const struct edges *edges)
{
    size_t cells = senders->ranks * (size_t)senders->steps;
    struct wait *waits = array_new(edges->count + 1, sizeof *waits);
    double *steps = array_new(cells + 1, sizeof *steps), *list = array_new(edges->count + 1, sizeof *list);
    int failed = !waits || !steps || !list;
    size_t count = failed ? 0 : list_waits(job, edges, waits);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !by_kind(&waits[i], &waits[end]);)
            end++;
        add_kind(senders, &waits[i], end - i, steps, list);
    }
    for (size_t i = 0; !failed && i < cells; i++)
        senders->ratio[i] = steps[i] > 0 ? senders->ratio[i] / steps[i] : NAN;
    free(waits);
    free(steps);
    free(list);
    return failed ? -1 : 0;
}

/* Copies the known values of a row, ascending. */
static size_t sort_known(const double *row, size_t count, double *list)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(row[i]))
            list[known++] = row[i];
    sort_reals(list, known);
    return known;
}

static void take_usual(struct senders *senders, size_t rank, double *list)
{
    size_t first = rank * (size_t)senders->steps;
    size_t known = sort_known(&senders->ratio[first], (size_t)senders->steps, list);
    senders->usual[rank] = known >= 4 ? list[known / 4] : NAN;
    senders->count += known >= 4;
    for (int32_t step = 0; step < senders->steps; step++)
        senders->beyond[first + (size_t)step] = senders->ratio[first + (size_t)step] - senders->usual[rank];
}

static double spread_of(const double *values, size_t count, double *list)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            list[known++] = fabs(values[i]);
    sort_reals(list, known);
    return known ? SIGMA_OF_DISTANCE * list[known / 2] : 0;
}

/*
 * Cells without a fault are slightly above the quiet quartile. Subtracting their median moves them to about
 * 0.
 */
static void centre(struct senders *senders, size_t cells, double *list)
{
    size_t known = sort_known(senders->beyond, cells, list);
    double middle = known ? list[(known - 1) / 2] : 0;
    for (size_t i = 0; i < cells; i++)
        senders->beyond[i] -= middle;
}

static double *scaled_row(const struct senders *senders, size_t rank, int is_steady)
{
    double *row = array_new((size_t)senders->steps, sizeof *row);
    const double *values = is_steady ? senders->ratio : senders->beyond;
    double spread = is_steady ? senders->steady_spread : senders->spread;
    for (int32_t step = 0; row && step < senders->steps; step++)
        row[step] = values[rank * (size_t)senders->steps + (size_t)step] / spread;
    return row;
}

/* Finds the best set of steps of each rank. */
static int find_sets(struct senders *senders)
{
    for (size_t rank = 0; senders->spread > 0 && rank < senders->ranks; rank++) {
        if (isnan(senders->usual[rank]))
            continue;
        double *row = scaled_row(senders, rank, 0);
        int failed = !row || scan_row(row, senders->numbers, senders->steps, TAIL, &senders->best[rank]);
        free(row);
        if (failed)
            return -1;
    }
    return 0;
}

/* Genomic control, as for own time (score.h). */
static void take_deflation(struct senders *senders, double *list)
{
    size_t count = 0;
    for (size_t rank = 0; rank < senders->ranks; rank++)
        if (!isnan(senders->usual[rank]))
            list[count++] = senders->best[rank].score;
    sort_reals(list, count);
    double times = count ? list[(count - 1) / 2] / scan_expected(senders->steps) : 0;
    senders->deflation = times > 1 ? times : 1;
}

static int allocate(struct senders *senders)
{
    size_t cells = senders->ranks * (size_t)senders->steps + 1;
    senders->ratio = array_new(cells, sizeof *senders->ratio);
    senders->beyond = array_new(cells, sizeof *senders->beyond);
    senders->usual = array_new(senders->ranks + 1, sizeof *senders->usual);
    senders->best = array_new(senders->ranks + 1, sizeof *senders->best);
    return senders->ratio && senders->beyond && senders->usual && senders->best ? 0 : -1;
}

/* Connections are established during warm-up. */
static void forget_warm_up(struct senders *senders, size_t rank)
{
    for (int32_t step = 0; step < senders->first_step && step < senders->steps; step++)
        senders->ratio[rank * (size_t)senders->steps + (size_t)step] = NAN;
}

int senders_init(struct senders *senders, const struct job *job, int32_t first_step,
                 const struct edges *edges)
{
    *senders = (struct senders){.ranks = job->rank_count,
                                .steps = job->step_count,
                                .numbers = job->step_numbers,
                                .first_step = first_step};
    if (!edges->count || job->step_count <= 0)
        return 0;
    size_t cells = senders->ranks * (size_t)senders->steps;
    double *list = array_new(cells + 1, sizeof *list);
    if (!list || allocate(senders) || fill_ratios(senders, job, edges)) {
        free(list);
        return -1;
    }
    for (size_t rank = 0; rank < senders->ranks; rank++) {
        forget_warm_up(senders, rank);
        take_usual(senders, rank, list);
    }
    centre(senders, cells, list);
    senders->spread = spread_of(senders->beyond, cells, list);
    senders->steady_spread = spread_of(senders->ratio, cells, list);
    int failed = find_sets(senders);
    take_deflation(senders, list);
    free(list);
    return failed;
}

void senders_release(struct senders *senders)
{
    free(senders->ratio);
    free(senders->beyond);
    free(senders->usual);
    free(senders->best);
    *senders = (struct senders){0};
}

int senders_score(const struct senders *senders, size_t rank, int is_steady, struct step_set *set)
{
    set->score = 0;
    if ((is_steady ? senders->steady_spread : senders->spread) <= 0)
        return 0;
    double *row = scaled_row(senders, rank, is_steady);
    if (row)
        scan_set(row, TAIL, set);
    free(row);
    return row ? 0 : -1;
}

/* The penalty for choosing among sets of steps, in log odds. */
static double senders_penalty(const struct senders *senders, int is_steady)
{
    return is_steady ? 0 : scan_sets(senders->steps);
}

double senders_certainty(const struct senders *senders, int is_steady, const struct step_set *set)
{
    return set->score / (is_steady ? 1 : senders->deflation) - senders_penalty(senders, is_steady) -
           log((double)(senders->count ? senders->count : 1) * KINDS);
}

int sender_search_init(struct sender_search *search, const struct job *job, const struct baseline *baseline,
                       const struct edges *edges, struct sender_limits acceptance_limits)
{
    *search = (struct sender_search){.job = job, .edges = edges, .acceptance_limits = acceptance_limits};
    search->told = array_new(job->rank_count, sizeof *search->told);
    return search->told ? senders_init(&search->senders, job, baseline->first_step, edges) : -1;
}

void sender_search_release(struct sender_search *search)
{
    senders_release(&search->senders);
    partitions_release(&search->partitions);
    free(search->told);
    *search = (struct sender_search){0};
}

/*
 * The certainty of a rank for the steps of `set`; 0 where the rank was already returned or cannot be rated.
 * Returns -1 when memory runs out.
 */
static int rate(const struct sender_search *search, size_t rank, int is_steady, struct step_set *set,
                double *certainty)
{
    double usual = search->senders.usual[rank];
    *certainty = 0;
    set->score = 0;
    if (isnan(usual) || search->told[rank] || (is_steady && usual < log(search->acceptance_limits.times)))
        return 0;
    if (senders_score(&search->senders, rank, is_steady, set))
        return -1;
    *certainty = senders_certainty(&search->senders, is_steady, set);
    return 0;
}

static void keep_best(struct slow_senders *best, size_t rank, int is_steady, const struct step_set *set,
                      double certainty)
{
    if (certainty <= best->certainty)
        return;
    best->certainty = certainty;
    best->steps = *set;
    best->is_steady = is_steady;
    best->rank = (int32_t)rank;
}

/* The most certain of the ranks that were not returned yet. */
static int find_best(const struct sender_search *search, struct slow_senders *best)
{
    const struct senders *senders = &search->senders;
    best->certainty = 0;
    for (size_t rank = 0; senders->count > 0 && rank < senders->ranks; rank++) {
        struct step_set all = {.first = senders->first_step, .last = senders->steps - 1, .period = 1};
        double certainty;
        if (rate(search, rank, 1, &all, &certainty))
            return -1;
        keep_best(best, rank, 1, &all, certainty);
        if (!isnan(senders->usual[rank]) && !search->told[rank] && senders->best[rank].period)
            keep_best(best, rank, 0, &senders->best[rank],
                      senders_certainty(senders, 0, &senders->best[rank]));
    }
    return 0;
}

/*
 * Collects the senders of the same host that were slow in the same steps. The steps are given, so they pay no
 * penalty again.
 */
static int gather(const struct sender_search *search, struct slow_senders *found)
{
    const struct partition *hosts = partitions_hosts(&search->partitions);
    int32_t best = found->rank;
    struct step_set all = {.score = 0};
    found->count = 0;
    memset(found->has, 0, search->job->rank_count);
    for (size_t i = hosts->first[hosts->unit_of[best]]; i < hosts->first[hosts->unit_of[best] + 1]; i++) {
        int32_t rank = hosts->ranks[i];
        struct step_set set = found->steps;
        double certainty;
        if (rate(search, (size_t)rank, found->is_steady, &set, &certainty))
            return -1;
        if (set.score <= 0 || certainty + senders_penalty(&search->senders, found->is_steady) <
                                  search->acceptance_limits.certainty)
            continue;
        all.score += set.score;
        found->has[rank] = 1;
        if (!found->count++ || rank < found->rank)
            found->rank = rank;
    }
    found->certainty = senders_certainty(&search->senders, found->is_steady, &all);
    return 0;
}

/* Whether a rank is on the same host, not one of the slow ones, and as fast as others. */
static int is_quick_beside(const struct sender_search *search, const struct slow_senders *found, int32_t rank)
{
    const struct partition *hosts = partitions_hosts(&search->partitions);
    return hosts->unit_of[rank] == hosts->unit_of[found->rank] && !found->has[rank] &&
           search->senders.usual[rank] < log(search->acceptance_limits.times);
}

int slow_senders_count_fast_peers(const struct sender_search *search, const struct slow_senders *found)
{
    const struct partition *hosts = partitions_hosts(&search->partitions);
    const struct edges *edges = search->edges;
    if (found->count < 2)
        return 0;
    unsigned char *to = array_new(hosts->count, sizeof *to);
    unsigned char *is_counted = array_new(search->job->rank_count, sizeof *is_counted);
    int count = 0, failed = !to || !is_counted;
    for (size_t i = 0; !failed && i < edges->count; i++)
        if (found->has[edges->items[i].sender])
            to[hosts->unit_of[edges->items[i].receiver]] = 1;
    for (size_t i = 0; !failed && i < edges->count; i++) {
        int32_t sender = edges->items[i].sender;
        if (is_counted[sender] || !to[hosts->unit_of[edges->items[i].receiver]] ||
            !is_quick_beside(search, found, sender))
            continue;
        is_counted[sender] = 1;
        count++;
    }
    free(to);
    free(is_counted);
    return failed ? -1 : count;
}

int slow_senders_next(struct sender_search *search, struct slow_senders *found)
{
    if (find_best(search, found))
        return -1;
    if (found->certainty < search->acceptance_limits.certainty)
        return 0;
    int32_t best = found->rank;
    if ((!search->partitions.count && partitions_init(&search->partitions, search->job, search->edges)) ||
        gather(search, found))
        return -1;
    search->told[best] = 1;
    for (size_t rank = 0; rank < search->job->rank_count; rank++)
        search->told[rank] |= found->has[rank];
    return 1;
}

int slow_senders_have_step(const struct slow_senders *found, int32_t step)
{
    return step_set_has(&found->steps, step);
}

double slow_senders_excess(const struct sender_search *search, const struct slow_senders *found, int32_t rank,
                           int32_t step)
{
    const struct senders *senders = &search->senders;
    if (!found->has[rank] || step < 0 || step >= senders->steps || !slow_senders_have_step(found, step))
        return 0;
    const double *values = found->is_steady ? senders->ratio : senders->beyond;
    double excess = values[(size_t)rank * (size_t)senders->steps + (size_t)step];
    return excess > 0 ? excess : 0;
}
