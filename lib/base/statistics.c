#include "base/statistics.h"

#include "base/scale.h"
#include "base/sort.h"

int64_t quantile_of(int64_t *values, size_t count, double part)
{
    if (!count)
        return INT64_MIN;
    sort_integers(values, count);
    return values[(size_t)((double)(count - 1) * part)];
}

int64_t pick_quantile(int64_t *values, size_t count, double part)
{
    if (!count)
        return INT64_MIN;
    return count == 1 ? values[0] : select_integer(values, count, (size_t)((double)(count - 1) * part));
}

enum { QUIET_PART = 10, QUIET_LEAST = 2 };

int64_t quiet_of(int64_t *values, size_t count)
{
    size_t quiet = count > QUIET_PART * QUIET_LEAST ? (count - 1) / QUIET_PART : QUIET_LEAST - 1;
    int64_t quarter = quantile_of(values, count, 0.25);
    return count > quiet && values[quiet] < quarter ? values[quiet] : quarter;
}

int64_t pick_quiet(int64_t *values, size_t count)
{
    size_t quiet = count > QUIET_PART * QUIET_LEAST ? (count - 1) / QUIET_PART : QUIET_LEAST - 1;
    int64_t quarter = pick_quantile(values, count, 0.25);
    if (count <= quiet)
        return quarter;
    int64_t least = select_integer(values, count, quiet);
    return least < quarter ? least : quarter;
}

int64_t median_of(int64_t *values, size_t count)
{
    return quantile_of(values, count, 0.5);
}

struct middles middles_of(int64_t *values, size_t count)
{
    struct middles middles = {INT64_MIN, INT64_MIN, count ? values[0] : INT64_MIN};
    if (count < 2)
        return middles;
    size_t low = (count - 2) / 2;
    middles.low = select_integer(values, count, low);
    /* What comes behind is no less. */
    middles.high = values[low + 1];
    for (size_t i = low + 2; i < count; i++)
        middles.high = values[i] < middles.high ? values[i] : middles.high;
    middles.all = count % 2 ? middles.high : middles.low;
    return middles;
}

int64_t sigma_about(int64_t *values, size_t count, int64_t centre)
{
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > centre ? values[i] - centre : centre - values[i];
    return scale(pick_quantile(values, count, 0.5), SIGMA_OF_DISTANCE);
}
