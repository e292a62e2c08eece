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
    size_t ranks = times->ranks + 1;
    *usual = (struct usual_times){.usual_ns = array_new(times->ranks + 1, sizeof *usual->usual_ns),
                                  .quiet_ns = array_new(times->ranks + 1, sizeof *usual->quiet_ns),
                                  .list = array_new(times->ranks + times->steps + 1, sizeof *usual->list),
                                  .sorted = array_new(ranks, sizeof *usual->sorted),
                                  .scratch = array_new(ranks, sizeof *usual->scratch),
                                  .place_of = array_new(ranks, sizeof *usual->place_of)};
    return usual->usual_ns && usual->quiet_ns && usual->list && usual->sorted && usual->scratch &&
                   usual->place_of
               ? 0
               : -1;
}

void usual_times_release(struct usual_times *usual)
{
    free(usual->usual_ns);
    free(usual->quiet_ns);
    free(usual->list);
    free(usual->sorted);
    free(usual->scratch);
    free(usual->place_of);
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

/* The sorted times without those of some ranks: places in usual->sorted, ascending. */
struct rest {
    const struct sort_entry *sorted;
    const int64_t *without;
    size_t without_count;
    size_t count;
};

static int64_t rest_at(const struct rest *rest, size_t at)
{
    for (size_t i = 0; i < rest->without_count && (size_t)rest->without[i] <= at; i++)
        at++;
    return rest->sorted[at].key;
}

/* The number of times in the rest that are shorter. */
static size_t rest_below(const struct rest *rest, int64_t time_ns)
{
    size_t low = 0, high = rest->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rest_at(rest, middle) < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t middle_of(size_t count)
{
    return (size_t)((double)(count - 1) * 0.5);
}

/*
 * The median of the rest and its spread above that, as spread_above has it: every unit leaves other ranks
 * out, so that the times are sorted once and not for each unit.
 */
static void measure_rest(struct usual_times *usual, size_t without_count)
{
    sort_integers(usual->list, without_count);
    const struct rest rest = {usual->sorted, usual->list, without_count, usual->known - without_count};
    usual->others = rest.count;
    usual->middle_ns = usual->spread_ns = 0;
    if (!rest.count)
        return;
    usual->middle_ns = rest_at(&rest, middle_of(rest.count));
    size_t below = rest_below(&rest, usual->middle_ns);
    int64_t distance_ns = rest_at(&rest, below + middle_of(rest.count - below)) - usual->middle_ns;
    int64_t furthest_ns = rest_at(&rest, rest.count - 1) - usual->middle_ns;
    usual->spread_ns = scale(distance_ns, SIGMA_OF_DISTANCE);
    if (rest.count <= FEW_VALUES && furthest_ns > usual->spread_ns)
        usual->spread_ns = furthest_ns;
}

static void sort_known(struct usual_times *usual, size_t ranks)
{
    usual->known = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        if (usual->usual_ns[rank] != TIME_UNKNOWN)
            usual->sorted[usual->known++] = (struct sort_entry){usual->usual_ns[rank], (int32_t)rank};
    sort_entries(usual->sorted, usual->scratch, usual->known);
    for (size_t rank = 0; rank < ranks; rank++)
        usual->place_of[rank] = -1;
    for (size_t i = 0; i < usual->known; i++)
        usual->place_of[usual->sorted[i].index] = (int32_t)i;
}

void usual_times_measure(struct usual_times *usual, const struct place_matrix_source *source,
                         const struct place_times *times, const struct role *role)
{
    size_t first = (size_t)source->baseline->first_step;
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
    sort_known(usual, times->ranks);
    measure_rest(usual, 0);
}

/* Measures the ranks that are not part of a unit. One of many ranks does not change what all ranks show. */
static void leave_out(struct usual_times *usual, const struct place_matrix *matrix, size_t unit)
{
    size_t members = 0;
    if (matrix->partition->kind == UNIT_RANK && matrix->times->ranks > MOST_SAMPLED)
        return;
    for (int32_t i = matrix->first[unit]; i < matrix->first[unit + 1]; i++)
        if (usual->place_of[matrix->member[i]] >= 0)
            usual->list[members++] = usual->place_of[matrix->member[i]];
    measure_rest(usual, members);
}

struct distance place_matrix_distance(const struct place_matrix *matrix, struct usual_times *usual,
                                      size_t unit)
{
    size_t known = 0;
    for (int32_t i = matrix->first[unit]; i < matrix->first[unit + 1]; i++)
        if (usual->quiet_ns[matrix->member[i]] != TIME_UNKNOWN)
            usual->list[known++] = usual->quiet_ns[matrix->member[i]];
    if (!known || known * 4 < (size_t)(matrix->first[unit + 1] - matrix->first[unit]) * 3)
        return (struct distance){0, 0};
    int64_t mine_ns = pick_quantile(usual->list, known, 0.25);
    leave_out(usual, matrix, unit);
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
