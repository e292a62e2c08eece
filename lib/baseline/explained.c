#include "baseline/explained.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/statistics.h"
#include "model/event.h"

#include <math.h>
#include <stdlib.h>

/* From the middle of a rank to one of its values. */
struct explained_slope {
    double slope;
    double weight;
};

int explained_init(struct explained *explained, size_t ranks, size_t steps)
{
    *explained = (struct explained){.by = array_new(ranks * steps, sizeof *explained->by),
                                    .list = array_new(ranks * steps, sizeof *explained->list),
                                    .usual_by = array_new(ranks, sizeof *explained->usual_by),
                                    .usual_value = array_new(ranks, sizeof *explained->usual_value),
                                    .slopes = array_new(ranks * steps, sizeof *explained->slopes)};
    return explained->by && explained->list && explained->usual_by && explained->usual_value &&
                   explained->slopes
               ? 0
               : -1;
}

void explained_release(struct explained *explained)
{
    free(explained->by);
    free(explained->list);
    free(explained->usual_by);
    free(explained->usual_value);
    free(explained->slopes);
}

struct values {
    const struct explained *explained;
    const int64_t *value;
    size_t ranks;
    size_t first_step;
    size_t steps;
};

static int is_known(const struct values *values, size_t cell)
{
    return cell % values->steps >= values->first_step && values->value[cell] != TIME_UNKNOWN &&
           values->explained->by[cell] != TIME_UNKNOWN;
}

/* The median of values, or of what they go with, over known cells from `first` to before `end`. */
static int64_t middle_of(const struct values *values, const int64_t *of, size_t first, size_t end)
{
    size_t count = 0;
    for (size_t cell = first; cell < end; cell++)
        if (is_known(values, cell))
            values->explained->list[count++] = of[cell];
    return median_of(values->explained->list, count);
}

static int by_slope(const void *a, const void *b)
{
    const struct explained_slope *left = a, *right = b;
    return (left->slope > right->slope) - (left->slope < right->slope);
}

/* Those of cells away from their rank's middle; returns how many. */
static size_t list_slopes(const struct values *values)
{
    const struct explained *explained = values->explained;
    size_t count = 0;
    for (size_t cell = 0; cell < values->ranks * values->steps; cell++) {
        size_t rank = cell / values->steps;
        if (!is_known(values, cell) || explained->by[cell] == explained->usual_by[rank])
            continue;
        double more_by = (double)explained->by[cell] - (double)explained->usual_by[rank];
        double more = (double)values->value[cell] - (double)explained->usual_value[rank];
        explained->slopes[count++] = (struct explained_slope){more / more_by, fabs(more_by)};
    }
    return count;
}

static double weighted_median(struct explained_slope *slopes, size_t count)
{
    double all = 0, below = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        all += slopes[i].weight;
    array_sort(slopes, count, sizeof *slopes, by_slope);
    while (at + 1 < count && (below += slopes[at].weight) < all / 2)
        at++;
    return slopes[at].slope;
}

/* Whether what values go with differs in any rank. */
static int is_uneven(const struct values *values)
{
    size_t known = values->steps;
    for (size_t cell = 0; cell < values->ranks * values->steps; cell++) {
        if (cell % values->steps == 0)
            known = SIZE_MAX;
        if (!is_known(values, cell))
            continue;
        if (known != SIZE_MAX && values->explained->by[cell] != values->explained->by[known])
            return 1;
        known = cell;
    }
    return 0;
}

void explained_remove(struct explained *explained, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps)
{
    struct values values = {explained, value, ranks, (size_t)first_step, (size_t)steps};
    size_t cells = ranks * values.steps;
    if (!is_uneven(&values))
        return;
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t first = rank * values.steps;
        explained->usual_by[rank] = middle_of(&values, explained->by, first, first + values.steps);
        explained->usual_value[rank] = middle_of(&values, value, first, first + values.steps);
    }
    size_t count = list_slopes(&values);
    int64_t middle_by = middle_of(&values, explained->by, 0, cells);
    int64_t middle_value = middle_of(&values, value, 0, cells);
    if (!count || middle_by <= 0 || middle_value <= 0)
        return;
    double limit = (double)middle_value / (double)middle_by;
    double slope = weighted_median(explained->slopes, count);
    slope = slope < limit ? slope : limit;
    for (size_t cell = 0; slope > 0 && cell < cells; cell++)
        if (is_known(&values, cell))
            value[cell] -= scale(explained->by[cell] - middle_by, slope);
}
