/*
 * Statistics of one place of the step: compares the values of ranks (or links) with each other and with their
 * own past, and finds those that stand out. Also subtracts the load that received data explain, and visits
 * all places with several threads. excess.c, slow_transfers.c and edges.c use it.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

int place_init(struct place *place, size_t ranks, size_t steps)
{
    place->value = array_new(ranks * steps, sizeof *place->value);
    place->bytes = array_new(ranks * steps, sizeof *place->bytes);
    place->evened = array_new(ranks * steps, sizeof *place->evened);
    place->residual = array_new(ranks * steps, sizeof *place->residual);
    place->apart = array_new(ranks * steps, sizeof *place->apart);
    place->usual = array_new(ranks, sizeof *place->usual);
    place->middle = array_new(ranks, sizeof *place->middle);
    place->list = array_new(ranks > steps ? ranks : steps, sizeof *place->list);
    return place->value && place->bytes && place->evened && place->residual && place->apart && place->usual &&
                   place->middle && place->list
               ? 0
               : -1;
}

void place_release(struct place *place)
{
    free(place->value);
    free(place->bytes);
    free(place->evened);
    free(place->residual);
    free(place->apart);
    free(place->usual);
    free(place->middle);
    free(place->list);
}

/* Copies the known values of a row to the scratch list. */
static size_t values_of(struct place *place, size_t rank, int32_t first_step, int32_t steps)
{
    size_t count = 0;
    for (int32_t step = first_step; step < steps; step++)
        if (place->value[rank * (size_t)steps + (size_t)step] != TIME_UNKNOWN)
            place->list[count++] = place->value[rank * (size_t)steps + (size_t)step];
    return count;
}

static void measure_history(struct place *place, size_t ranks, int32_t first_step, int32_t steps)
{
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t count = values_of(place, rank, first_step, steps);
        place->usual[rank] = pick_quantile(place->list, count, 0.25);
        place->middle[rank] = median_of(place->list, count);
    }
}

/* The median distance of sorted values from a center among them. Does not reorder the values. */
static int64_t nearest_half(const int64_t *sorted, size_t count, int64_t centre)
{
    size_t low = 0, high = count;
    while (high - low > (count + 1) / 2)
        if (centre - sorted[low] > sorted[high - 1] - centre)
            low++;
        else
            high--;
    return centre - sorted[low] > sorted[high - 1] - centre ? centre - sorted[low]
                                                            : sorted[high - 1] - centre;
}

/*
 * sigma divided by the median distance within the lower half, and the minimum number of values there: fewer
 * may be equal by chance.
 */
static const double SIGMA_OF_LOWER = 2.5;
enum { ENOUGH_BELOW = 8 };

/*
 * The standard deviation of a normal distribution with the same spread: the smaller of two estimates, from
 * the lower half alone (its median distance from its own median is 0.4 sigma) and from all values (0.6745
 * sigma). A fault in many of the steps widens the upper half but not the lower.
 */
static int64_t spread_of(int64_t *values, size_t count)
{
    if (!count)
        return 0;
    size_t lower = (count + 1) / 2;
    int64_t middle = pick_quantile(values, count, 0.5);
    sort_integers(values, lower);
    int64_t quarter = values[(count - 1) / 4];
    int64_t below = nearest_half(values, lower, quarter);
    int64_t wide = sigma_about(values, count, middle);
    int64_t narrow = scale(below, SIGMA_OF_LOWER);
    return lower >= ENOUGH_BELOW && narrow < wide ? narrow : wide;
}

static int64_t measure_excess(struct place *place, size_t ranks, int32_t first_step, int32_t steps)
{
    size_t residuals = 0;
    for (int32_t step = first_step; step < steps; step++) {
        size_t count = 0;
        for (size_t rank = 0; rank < ranks; rank++)
            if (place->value[rank * (size_t)steps + (size_t)step] != TIME_UNKNOWN)
                place->list[count++] = place->value[rank * (size_t)steps + (size_t)step];
        struct middles middles = middles_of(place->list, count);
        for (size_t rank = 0; rank < ranks; rank++) {
            int64_t *value = &place->value[rank * (size_t)steps + (size_t)step];
            int64_t *apart = &place->apart[rank * (size_t)steps + (size_t)step];
            *apart = TIME_UNKNOWN;
            if (*value == TIME_UNKNOWN)
                continue;
            *apart = *value - place->middle[rank];
            int64_t peers = median_of_others(&middles, *value);
            int64_t middle = place->middle[rank] > peers ? place->middle[rank] : peers;
            int64_t usual = place->usual[rank] > peers ? place->usual[rank] : peers;
            /* With only one peer, a slow rank must not widen the estimate of how the other one varies. */
            int64_t residual = *value - middle;
            int is_the_peers = count == 2 && residual < *apart && residual < -*apart;
            place->residual[residuals++] = is_the_peers ? *apart : residual;
            *value -= usual;
        }
    }
    return spread_of(place->residual, residuals);
}

/* Lowers the baseline from the lower quartile to that of the quiet steps. */
static void use_quiet_steps(struct place *place, size_t ranks, int32_t first_step, int32_t steps)
{
    for (size_t rank = 0; rank < ranks; rank++) {
        int64_t quiet = baseline_quantile(place->list, values_of(place, rank, first_step, steps));
        if (quiet < place->usual[rank])
            place->usual[rank] = quiet;
    }
}

/* The limit above which a lower quartile stands out from the others. */
static int64_t place_limit_of(struct place *place, size_t ranks, double sigmas, double factor, size_t *known,
                              int64_t *middle)
{
    *known = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        if (place->usual[rank] != TIME_UNKNOWN)
            place->list[(*known)++] = place->usual[rank];
    *middle = median_of(place->list, *known);
    int64_t sigma = sigma_about(place->list, *known, *middle);
    int64_t beyond = *middle + scale(sigma, sigmas), times = scale(*middle, factor);
    return beyond > times ? beyond : times;
}

/*
 * If the greatest lower quartile is twice as far from the median as the next one, a limit just below it; else
 * `limit`.
 */
static int64_t beyond_all(const struct place *place, size_t ranks, int64_t limit, int64_t middle)
{
    int64_t first = middle, second = middle;
    for (size_t rank = 0; rank < ranks; rank++) {
        int64_t usual = place->usual[rank] == TIME_UNKNOWN ? middle : place->usual[rank];
        if (usual > first) {
            second = first;
            first = usual;
        } else if (usual > second) {
            second = usual;
        }
    }
    return second > limit && first - middle >= 2 * (second - middle) ? first - 1 : limit;
}

/* The number of lower quartiles above the limit; 0 if they have different owners. */
static size_t standing_out(const struct place *place, size_t ranks, int64_t limit, const int32_t *owner)
{
    size_t count = 0, first = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        if (place->usual[rank] == TIME_UNKNOWN || place->usual[rank] <= limit)
            continue;
        if (count && (!owner || owner[rank] != owner[first]))
            return 0;
        first = count++ ? first : rank;
    }
    return count;
}

struct measuring {
    size_t ranks;
    int32_t first_step;
    int32_t steps;
    int alike; /* rows should be alike; for this case only: */
    double sigmas;
    double factor;
    const int32_t *owner;
};

/*
 * With fewer rows, the one that stands out may be the only healthy one. At most one of UNLIKE_PART rows may
 * stand out.
 */
enum { ROWS_TO_COMPARE = 4, UNLIKE_PART = 4 };

static void replace_outlier_baselines(struct place *place, const struct measuring *as)
{
    size_t known;
    int64_t middle, limit = place_limit_of(place, as->ranks, as->sigmas, as->factor, &known, &middle);
    if (!as->owner)
        limit = beyond_all(place, as->ranks, limit, middle);
    size_t count = known >= ROWS_TO_COMPARE ? standing_out(place, as->ranks, limit, as->owner) : 0;
    place->outlier_limit_ns = known >= ROWS_TO_COMPARE ? limit - middle : TIME_UNKNOWN;
    for (size_t rank = 0; count && count * UNLIKE_PART <= known && rank < as->ranks; rank++)
        if (place->usual[rank] != TIME_UNKNOWN && place->usual[rank] > limit)
            place->usual[rank] = place->middle[rank] = middle;
    if (known > 1)
        use_quiet_steps(place, as->ranks, as->first_step, as->steps);
}

static int64_t measure_unscaled(struct place *place, const struct measuring *as)
{
    measure_history(place, as->ranks, as->first_step, as->steps);
    if (as->alike)
        replace_outlier_baselines(place, as);
    else
        use_quiet_steps(place, as->ranks, as->first_step, as->steps);
    return measure_excess(place, as->ranks, as->first_step, as->steps);
}

/* The size that the lowest tenth of the sizes are below; 0 if all sizes are the same or one is unknown. */
static int64_t small_size(struct place *place, const struct measuring *as)
{
    int64_t least = INT64_MAX, most = 0;
    size_t count = 0, steps = (size_t)as->steps;
    for (size_t i = 0; i < as->ranks * steps; i++) {
        if (place->value[i] == TIME_UNKNOWN || i % steps < (size_t)as->first_step)
            continue;
        least = place->bytes[i] < least ? place->bytes[i] : least;
        most = place->bytes[i] > most ? place->bytes[i] : most;
        place->evened[count++] = place->bytes[i];
    }
    return least > 0 && most > least ? pick_quantile(place->evened, count, 0.1) : 0;
}

static int64_t evened(int64_t value, int64_t bytes, int64_t small)
{
    return value == TIME_UNKNOWN || bytes <= 0 ? value : scale(value, (double)small / (double)bytes);
}

static int64_t measure(struct place *place, const struct measuring *as)
{
    size_t cells = as->ranks * (size_t)as->steps;
    int64_t small = small_size(place, as), *value = place->value;
    if (!small)
        return measure_unscaled(place, as);
    for (size_t i = 0; i < cells; i++)
        place->evened[i] = evened(value[i], place->bytes[i], small);
    place->value = place->evened;
    int64_t evened_sigma = measure_unscaled(place, as);
    place->value = value;
    int64_t sigma = measure_unscaled(place, as);
    for (size_t i = 0; i < cells; i++)
        if (value[i] != TIME_UNKNOWN && place->evened[i] < value[i])
            value[i] = place->evened[i];
    return sigma > evened_sigma ? sigma : evened_sigma;
}

int64_t place_measure(struct place *place, size_t ranks, int32_t first_step, int32_t steps)
{
    return measure(place, &(struct measuring){.ranks = ranks, .first_step = first_step, .steps = steps});
}

int64_t place_measure_alike(struct place *place, size_t ranks, int32_t first_step, int32_t steps,
                            double sigmas, double factor, const int32_t *owner)
{
    return measure(place, &(struct measuring){.ranks = ranks,
                                              .first_step = first_step,
                                              .steps = steps,
                                              .alike = 1,
                                              .sigmas = sigmas,
                                              .factor = factor,
                                              .owner = owner});
}

/* Slope from the center of a rank to one of its values. */
struct explained_slope {
    double slope;
    double weight;
};

int explained_init(struct explained *explained, size_t ranks, size_t steps)
{
    *explained = (struct explained){.by = array_new(ranks * steps, sizeof *explained->by),
                                    .list = array_new(ranks * steps, sizeof *explained->list),
                                    .median_by = array_new(ranks, sizeof *explained->median_by),
                                    .median_value = array_new(ranks, sizeof *explained->median_value),
                                    .slopes = array_new(ranks * steps, sizeof *explained->slopes)};
    return explained->by && explained->list && explained->median_by && explained->median_value &&
                   explained->slopes
               ? 0
               : -1;
}

void explained_release(struct explained *explained)
{
    free(explained->by);
    free(explained->list);
    free(explained->median_by);
    free(explained->median_value);
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

/*
 * The median of `of` (the values or the second quantity) over the known cells from `first` up to but not
 * including `end`.
 */
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

/* Lists the slopes of all cells off the center of their rank. Returns their number. */
static size_t list_slopes(const struct values *values)
{
    const struct explained *explained = values->explained;
    size_t count = 0;
    for (size_t cell = 0; cell < values->ranks * values->steps; cell++) {
        size_t rank = cell / values->steps;
        if (!is_known(values, cell) || explained->by[cell] == explained->median_by[rank])
            continue;
        double more_by = (double)explained->by[cell] - (double)explained->median_by[rank];
        double more = (double)values->value[cell] - (double)explained->median_value[rank];
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

/* Whether the second quantity varies within any rank. */
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
        explained->median_by[rank] = middle_of(&values, explained->by, first, first + values.steps);
        explained->median_value[rank] = middle_of(&values, value, first, first + values.steps);
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

/* The group of the operation before: its first operation, and the one after its last. */
static struct job_range group_before(const struct job *job, const struct job_operation *operation)
{
    struct job_range range = {0};
    if (operation->previous < 0)
        return range;
    range.first = range.end = (size_t)job->operations[operation->previous].group;
    while (range.end < job->operation_count && job->operations[range.end].group == (int32_t)range.first)
        range.end++;
    return range;
}

int64_t received_bytes(const struct job *job, const struct job_operation *operation)
{
    struct job_range range = group_before(job, operation);
    int64_t bytes = 0;
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *member = &job->operations[i];
        if (member->bytes < 0 || member->bytes > INT64_MAX - bytes)
            return TIME_UNKNOWN;
        bytes += member->function == FUNCTION_SEND ? 0 : member->bytes;
    }
    return range.first < range.end ? bytes : TIME_UNKNOWN;
}

/* With fewer places per thread, the scratch memory of the threads would be large compared with the job. */
enum { PLACES_A_THREAD = 8 };

struct visiting {
    place_visit visit;
    void *context;
    size_t *first; /* owned: number of the first place of each role, and the total number at the end */
};

static size_t count_places(const struct baseline *baseline)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->role_count; i++)
        count += (size_t)baseline->roles[i].length;
    return count;
}

size_t each_place_threads(const struct baseline *baseline, const struct job *job)
{
    return parallel_threads(job_threads(job), count_places(baseline), PLACES_A_THREAD);
}

size_t each_place_ranks(const struct baseline *baseline)
{
    size_t most = 0;
    for (size_t i = 0; i < baseline->role_count; i++)
        if (baseline->roles[i].rank_count > most)
            most = baseline->roles[i].rank_count;
    return most;
}

static int visit_places(void *context, size_t worker, size_t first, size_t end)
{
    const struct visiting *visiting = context;
    size_t role = 0;
    for (size_t place = first; place < end; place++) {
        while (place >= visiting->first[role + 1])
            role++;
        visiting->visit(visiting->context, worker, role, (int32_t)(place - visiting->first[role]));
    }
    return 0;
}

int each_place(const struct baseline *baseline, size_t threads, place_visit visit, void *context)
{
    struct visiting visiting = {.visit = visit,
                                .context = context,
                                .first = array_new(baseline->role_count + 1, sizeof *visiting.first)};
    if (!visiting.first)
        return -1;
    for (size_t i = 0; i < baseline->role_count; i++)
        visiting.first[i + 1] = visiting.first[i] + (size_t)baseline->roles[i].length;
    int failed = parallel_for(count_places(baseline), 1, threads, visit_places, &visiting);
    free(visiting.first);
    return failed;
}
