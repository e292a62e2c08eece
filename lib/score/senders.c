#include "score/senders.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Power of the tail of networks' moments (Cauchy): heavier than of own time. */
static const double TAIL = 1;
/* Rows of steps, and all steps. */
enum { KINDS = 2 };
/* The middle one of two is one of them. */
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

/* One for each sender, kind and step. Returns how many. */
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

/* Adds the ratios of senders of one kind in one step to their sums. `list` has room for them. */
static void add_kind(struct senders *senders, const struct wait *waits, size_t count, double *steps,
                     double *list)
{
    if (count < LEAST_OTHERS + 1)
        return;
    for (size_t i = 0; i < count; i++)
        list[i] = mean_of(&waits[i]);
    sort_reals(list, count);
    for (size_t i = 0; i < count; i++) {
        /* The lower middle one of the others. */
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

/* The known ones of a row, ascending. */
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

/* Innocent cells are a little beyond the quiet ones: they are to be about 0. */
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

/* The best row of steps of each rank. */
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

/* Genomic control, as for own time (explain.h). */
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

/* Connections are made in the warm-up. */
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

double senders_penalty(const struct senders *senders, int is_steady)
{
    return is_steady ? 0 : scan_sets(senders->steps);
}

double senders_certainty(const struct senders *senders, int is_steady, const struct step_set *set)
{
    return set->score / (is_steady ? 1 : senders->deflation) - senders_penalty(senders, is_steady) -
           log((double)(senders->count ? senders->count : 1) * KINDS);
}
