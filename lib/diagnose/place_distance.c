/*
 * Compares units with the other ranks of their role at each place by the spread of these (place_distance.h).
 */
#include "diagnose/place_distance.h"
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* With at most this many values, the median distance is not reliable. */
enum { FEW_VALUES = 4 };

int64_t spread_above(int64_t *values, size_t count, int64_t middle)
{
    size_t above = 0;
    int64_t furthest_ns = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] >= middle) {
            furthest_ns = values[i] - middle > furthest_ns ? values[i] - middle : furthest_ns;
            values[above++] = values[i];
        }
    int64_t spread_ns = above ? sigma_about(values, above, middle) : 0;
    return count <= FEW_VALUES && furthest_ns > spread_ns ? furthest_ns : spread_ns;
}

int usual_times_init(struct usual_times *usual, const struct place_times *times)
{
    *usual = (struct usual_times){.usual_ns = array_new(times->ranks + 1, sizeof *usual->usual_ns),
                                  .quiet_ns = array_new(times->ranks + 1, sizeof *usual->quiet_ns),
                                  .list = array_new(times->ranks + times->steps + 1, sizeof *usual->list)};
    return usual->usual_ns && usual->quiet_ns && usual->list ? 0 : -1;
}

void usual_times_release(struct usual_times *usual)
{
    free(usual->usual_ns);
    free(usual->quiet_ns);
    free(usual->list);
    *usual = (struct usual_times){0};
}

/* A rank that is explained in most steps is no reference for others. */
static int is_reference(const struct place_matrix_source *source, int32_t rank, size_t steps)
{
    size_t explained = 0;
    for (size_t step = 0; step < steps; step++)
        explained += source->explained[(size_t)rank * steps + step];
    return explained * 2 <= steps;
}

/* The median of the values listed, and their spread above it. */
static void measure_others(struct usual_times *usual, size_t count)
{
    usual->others = count;
    usual->middle_ns = count ? pick_quantile(usual->list, count, 0.5) : 0;
    usual->spread_ns = spread_above(usual->list, count, usual->middle_ns);
}

void usual_times_measure(struct usual_times *usual, const struct place_matrix_source *source,
                         const struct place_times *times, const struct role *role)
{
    size_t first = (size_t)source->baseline->first_step, others = 0;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        const int64_t *own = &times->own[rank * times->steps];
        size_t known = 0;
        for (size_t step = first; step < times->steps; step++)
            if (own[step] != TIME_UNKNOWN)
                usual->list[known++] = own[step];
        int is_known = known > 0 && known * 2 >= times->steps - first;
        int is_other = is_known && is_reference(source, role->ranks[times->place[rank]], times->steps);
        usual->usual_ns[rank] = is_other ? pick_quantile(usual->list, known, 0.5) : TIME_UNKNOWN;
        usual->quiet_ns[rank] = is_known ? pick_quantile(usual->list, known, 0.25) : TIME_UNKNOWN;
    }
    for (size_t rank = 0; rank < times->ranks; rank++)
        if (usual->usual_ns[rank] != TIME_UNKNOWN)
            usual->list[others++] = usual->usual_ns[rank];
    measure_others(usual, others);
}

/* Lists the ranks that are not part of a unit. One of many ranks does not change what all ranks show. */
static void leave_out(struct usual_times *usual, const struct place_matrix *matrix, const struct role *role,
                      size_t unit)
{
    size_t others = 0;
    if (matrix->partition->kind == UNIT_RANK && matrix->times->ranks > MOST_SAMPLED)
        return;
    for (size_t rank = 0; rank < matrix->times->ranks; rank++)
        if (matrix->partition->unit_of[role->ranks[matrix->times->place[rank]]] != matrix->unit[unit] &&
            usual->usual_ns[rank] != TIME_UNKNOWN)
            usual->list[others++] = usual->usual_ns[rank];
    measure_others(usual, others);
}

struct distance place_matrix_distance(const struct place_matrix *matrix, struct usual_times *usual,
                                      const struct role *role, size_t unit)
{
    size_t known = 0;
    for (int32_t i = matrix->first[unit]; i < matrix->first[unit + 1]; i++)
        if (usual->quiet_ns[matrix->member[i]] != TIME_UNKNOWN)
            usual->list[known++] = usual->quiet_ns[matrix->member[i]];
    if (!known || known * 4 < (size_t)(matrix->first[unit + 1] - matrix->first[unit]) * 3)
        return (struct distance){0, 0};
    int64_t mine_ns = pick_quantile(usual->list, known, 0.25);
    leave_out(usual, matrix, role, unit);
    if (usual->others < OTHERS_TO_COMPARE)
        return (struct distance){0, 0};
    int64_t least_ns = scale(usual->middle_ns, LEAST_LEVEL_SIGMA) + 1;
    return (struct distance){usual->middle_ns,
                             (double)(mine_ns - usual->middle_ns) /
                                 (double)(usual->spread_ns > least_ns ? usual->spread_ns : least_ns)};
}

/* Places where the others compute for at least this part of what they do at the longest place matter. */
static const double PLACE_THAT_MATTERS = 0.125;

static int by_spreads(const void *a, const void *b)
{
    double left = ((const struct distance *)a)->spreads, right = ((const struct distance *)b)->spreads;
    return (left > right) - (left < right);
}

double typical_distance(struct distance *distances, size_t positions)
{
    int64_t longest_ns = 0;
    size_t count = 0;
    for (size_t position = 0; position < positions; position++)
        if (distances[position].others_ns > longest_ns)
            longest_ns = distances[position].others_ns;
    for (size_t position = 0; position < positions; position++)
        if (distances[position].others_ns > 0 &&
            (double)distances[position].others_ns >= PLACE_THAT_MATTERS * (double)longest_ns)
            distances[count++] = distances[position];
    qsort(distances, count, sizeof *distances, by_spreads);
    return count ? distances[(count - 1) / 2].spreads : 0;
}
