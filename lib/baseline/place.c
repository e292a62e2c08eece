#include "baseline/place.h"

#include "base/array.h"
#include "base/scale.h"
#include "base/sort.h"
#include "base/statistics.h"

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

/* The values of a row that are known, in the scratch list. */
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
        place->usual[rank] = quantile_of(place->list, count, 0.25);
        place->middle[rank] = count ? place->list[(count - 1) / 2] : TIME_UNKNOWN;
    }
}

/* The median distance of sorted values from a centre among them, without reordering them. */
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

/* Of the lower half alone; fewer values in it may be alike by chance. */
static const double SIGMA_OF_LOWER = 2.5;
enum { ENOUGH_BELOW = 8 };

/*
 * The standard deviation that a normal distribution of the same middle would have: from the lower half alone
 * (its median distance from its own middle is 0.4 of it), or from all (0.6745), whichever is less. A fault
 * that lasts for many of the steps widens the upper half, not the lower.
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
            /* Beside one peer alone, that this one is slow says nothing of how the other varies. */
            int64_t residual = *value - middle;
            int is_the_peers = count == 2 && residual < *apart && residual < -*apart;
            place->residual[residuals++] = is_the_peers ? *apart : residual;
            *value -= usual;
        }
    }
    return spread_of(place->residual, residuals);
}

/* The quiet steps take the place of the lower quartile. */
static void use_quiet_steps(struct place *place, size_t ranks, int32_t first_step, int32_t steps)
{
    for (size_t rank = 0; rank < ranks; rank++) {
        int64_t quiet = quiet_of(place->list, values_of(place, rank, first_step, steps));
        if (quiet < place->usual[rank])
            place->usual[rank] = quiet;
    }
}

/* What a lower quartile has to be beyond to stand out from the others'. */
static int64_t limit_of(struct place *place, size_t ranks, double sigmas, double factor, size_t *known,
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

/* The greatest lower quartile where it is twice as far from the middle as the next; else the limit. */
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

/* How many lower quartiles are beyond the limit; 0 when they have not one owner. */
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
    int alike; /* rows should be: */
    double sigmas;
    double factor;
    const int32_t *owner;
};

/* Of fewer rows than so many, the one that stands out may be the one that is as it should. */
enum { ROWS_TO_COMPARE = 4, UNLIKE_PART = 4 };

static void look_for_unlike(struct place *place, const struct measuring *as)
{
    size_t known;
    int64_t middle, limit = limit_of(place, as->ranks, as->sigmas, as->factor, &known, &middle);
    if (!as->owner)
        limit = beyond_all(place, as->ranks, limit, middle);
    size_t count = known >= ROWS_TO_COMPARE ? standing_out(place, as->ranks, limit, as->owner) : 0;
    place->unlike_ns = known >= ROWS_TO_COMPARE ? limit - middle : TIME_UNKNOWN;
    for (size_t rank = 0; count && count * UNLIKE_PART <= known && rank < as->ranks; rank++)
        if (place->usual[rank] != TIME_UNKNOWN && place->usual[rank] > limit)
            place->usual[rank] = place->middle[rank] = middle;
    if (known > 1)
        use_quiet_steps(place, as->ranks, as->first_step, as->steps);
}

static int64_t measure_as_it_is(struct place *place, const struct measuring *as)
{
    measure_history(place, as->ranks, as->first_step, as->steps);
    if (as->alike)
        look_for_unlike(place, as);
    else
        use_quiet_steps(place, as->ranks, as->first_step, as->steps);
    return measure_excess(place, as->ranks, as->first_step, as->steps);
}

/* What the least tenth of the sizes are below; 0 where all are the same or one is not known. */
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
    return least > 0 && most > least ? quantile_of(place->evened, count, 0.1) : 0;
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
        return measure_as_it_is(place, as);
    for (size_t i = 0; i < cells; i++)
        place->evened[i] = evened(value[i], place->bytes[i], small);
    place->value = place->evened;
    int64_t evened_sigma = measure_as_it_is(place, as);
    place->value = value;
    int64_t sigma = measure_as_it_is(place, as);
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
