/*
 * Robust statistics (medians, quantiles, baselines), Student's t distribution and Holm's procedure, by which
 * analyses tell a difference from noise.
 */
#include "base/base.h"

#include <math.h>

int64_t quantile_of(int64_t *values, size_t count, double part)
{
    if (!count)
        return INT64_MIN;
    sort_integers(values, count);
    return values[(size_t)((double)(count - 1) * part)];
}

int64_t pick_quantile(int64_t *values, size_t count, double part)
{
    size_t rank = count ? (size_t)((double)(count - 1) * part) : 0;
    if (rank)
        return select_integer(values, count, rank);
    int64_t least = count ? values[0] : INT64_MIN;
    for (size_t i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

enum { BASELINE_PART = 10, BASELINE_LEAST = 2 };

int64_t baseline_quantile(int64_t *values, size_t count)
{
    size_t quiet = count > BASELINE_PART * BASELINE_LEAST ? (count - 1) / BASELINE_PART : BASELINE_LEAST - 1;
    int64_t quarter = pick_quantile(values, count, 0.25);
    if (count <= quiet)
        return quarter;
    int64_t least = select_integer(values, count, quiet);
    return least < quarter ? least : quarter;
}

int64_t median_of(int64_t *values, size_t count)
{
    return pick_quantile(values, count, 0.5);
}

struct middles middles_of(int64_t *values, size_t count)
{
    struct middles middles = {INT64_MIN, INT64_MIN, count ? values[0] : INT64_MIN};
    if (count < 2)
        return middles;
    size_t low = (count - 2) / 2;
    middles.low = select_integer(values, count, low);
    /* The values after `low` are not smaller than it. */
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

/* The continued fraction of the incomplete beta function converges in far fewer terms. */
enum { MOST_TERMS = 500, BISECTIONS = 200 };

static const double SMALLEST = 1e-300, EXACT = 1e-14;

static double away_from_zero(double value)
{
    return fabs(value) < SMALLEST ? SMALLEST : value;
}

/* One term of the continued fraction, by Lentz's method. */
static double next_term(double term, double *c, double *d)
{
    *d = 1 / away_from_zero(1 + term * *d);
    *c = away_from_zero(1 + term / *c);
    return *c * *d;
}

/* The continued fraction of the incomplete beta function: Abramowitz and Stegun, 26.5.8. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        value *= next_term(even, &c, &d);
        double factor = next_term(odd, &c, &d);
        value *= factor;
        if (fabs(factor - 1) < EXACT)
            break;
    }
    return value;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The regularized incomplete beta function. */
static double beta_part(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
                                     : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_beyond(double t, double freedom)
{
    if (isnan(t) || isnan(freedom) || freedom <= 0)
        return 1;
    if (isinf(t))
        return 0;
    return beta_part(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double student_limit(double part, double freedom)
{
    double low = 0, high = 1;
    if (!(part > 0) || !(freedom > 0))
        return INFINITY;
    while (student_beyond(high, freedom) > part && high < 1 / SMALLEST)
        high *= 2;
    for (int i = 0; i < BISECTIONS && high - low > EXACT * high; i++) {
        double middle = (low + high) / 2;
        *(student_beyond(middle, freedom) > part ? &low : &high) = middle;
    }
    return high;
}

double holm_level(double *chances, size_t count, double level)
{
    sort_reals(chances, count);
    for (size_t i = 0; i < count; i++)
        if (!(chances[i] < level / (double)(count - i)))
            return level / (double)(count - i);
    return level;
}
