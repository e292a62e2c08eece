/*
 * Scans a row of residuals for the set of steps that a fault explains best: an interval or a period
 * (scan_row). explain_search.c and slow_groups.c use it.
 */
#include "diagnose/scan.h"
#include "base/base.h"
#include "diagnose/rule.h"

#include <math.h>
#include <stdlib.h>

/*
 * Sizes of a fault to try, in sigma: from 1, the smallest that a sum over steps can detect, by factors of
 * 1.5. Above the largest size the score hardly grows.
 */
static const double LEAST_SIZE = 1, SIZE_STEP = 1.5, MOST_SIZE = 512;

/*
 * Minimum number of occurrences of a set, and the longest period: checkpoints and evaluations that are rarer
 * appear as single steps in traces of common length.
 */
enum { LEAST_STEPS = 3, MOST_PERIOD = 64 };

static int32_t longest_period(int32_t steps)
{
    return steps / LEAST_STEPS < MOST_PERIOD ? steps / LEAST_STEPS : MOST_PERIOD;
}

/* There are steps squared / 2 intervals, and 1 / period of that number for each period. */
double scan_sets(int32_t steps)
{
    double sets = 1;
    for (int32_t period = 1; period == 1 || period <= longest_period(steps); period++)
        sets += (double)steps * (double)steps / 2 / period;
    return log(sets);
}

/* Whether a step of a row is known and outside the interval of a set (NULL: of no set). */
static int is_known_beside(const double *row, const struct step_set *set, int32_t step)
{
    return !isnan(row[step]) && !(set && step >= set->first && step <= set->last);
}

/*
 * Of a longer set than half of the row, or of one row, too few means exist that do not overlap to tell how
 * they spread. Then means of a third do.
 */
enum { LONGEST_PART = 2, SHORTER_PART = 3 };
/*
 * One other row may be the mirror image of the row, and tells nothing; two are mirror images of each other
 * without what they have in common, and tell as much as one.
 */
enum { LEAST_ROWS = 2, ENOUGH_ROWS = 3 };

/*
 * Lists the means of all `length` consecutive steps of a row of which at least half are known, without the
 * interval of a set (NULL: with all steps).
 */
static size_t list_means(const double *row, const struct step_set *without, int32_t steps, int32_t length,
                         double *means)
{
    double sum = 0;
    int32_t known = 0;
    size_t count = 0;
    for (int32_t step = 0; step < steps; step++) {
        int32_t left = step - length;
        if (is_known_beside(row, without, step)) {
            sum += row[step];
            known++;
        }
        if (left >= 0 && is_known_beside(row, without, left)) {
            sum -= row[left];
            known--;
        }
        if (left >= -1 && known * 2 >= length && known > 0)
            means[count++] = sum / known;
    }
    return count;
}

/* The standard deviation of the values, from the median of their distances from the median. */
static double robust_spread(double *values, size_t count)
{
    if (!count)
        return 0;
    double middle = select_real(values, count, count / 2);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - middle);
    return SIGMA_OF_DISTANCE * select_real(values, count, count / 2);
}

/*
 * How the means of `length` steps spread in the rows and, if these are few, in the other steps of the row
 * itself; NAN: there are none.
 */
static double spread_of_means(const double *row, const struct step_set *set, const double *rows, size_t count,
                              int32_t steps, int32_t length, double *list)
{
    size_t means = count < ENOUGH_ROWS ? list_means(row, set, steps, length, list) : 0;
    for (size_t i = 0; i < count; i++)
        means += list_means(rows + i * (size_t)steps, NULL, steps, length, list + means);
    return means ? robust_spread(list, means) : (double)NAN;
}

/*
 * How far a mean of a row is from 0 outside a set and the steps beside it: late or early, of as many steps,
 * or of half of the steps outside, whose means differ more. NAN: there are fewer than in the set, which are
 * no other time.
 */
static double greatest_beside(const double *row, const struct step_set *set, int32_t steps)
{
    int32_t length = set->last - set->first + 1, known = 0, outside = 0;
    double sum = 0, greatest = NAN;
    for (int32_t step = 0; step < steps; step++)
        outside += is_known_beside(row, set, step);
    if (outside < length)
        return NAN;
    length = outside / 2 < length ? outside / 2 : length;
    for (int32_t step = 0; step < steps; step++) {
        int32_t left = step - length;
        if (!isnan(row[step])) {
            sum += row[step];
            known++;
        }
        if (left >= 0 && !isnan(row[left])) {
            sum -= row[left];
            known--;
        }
        if (known == length && (step < set->first - 1 || left > set->last))
            greatest = fmax(greatest, fabs(sum / length));
    }
    return greatest;
}

static double mean_of_set(const double *row, const struct step_set *set)
{
    double sum = 0;
    int32_t known = 0;
    for (int32_t step = set->first; step <= set->last; step++)
        if (!isnan(row[step]) && step_set_has(set, step)) {
            sum += row[step];
            known++;
        }
    return known ? sum / known : 0;
}

/*
 * Whether no row was nearly as late at another time: then related noise is no explanation. Other rows that
 * leave no room for another time do not tell; the row itself has to tell if there are no others.
 */
static int is_mean_far_ahead(const double *row, const struct step_set *set, const double *rows, size_t count,
                             int32_t steps)
{
    double mean = mean_of_set(row, set);
    for (size_t i = 0; i < count; i++)
        if (mean < 0 || !is_far_ahead(mean, greatest_beside(rows + i * (size_t)steps, set, steps)))
            return 0;
    double beside = greatest_beside(row, set, steps);
    return is_far_ahead(mean, beside) || (count && isnan(beside));
}

/* The length of the means that tell how those of a set of `length` steps spread. */
static int32_t measured_length(int32_t length, size_t count, int32_t steps)
{
    int is_too_long = length * LONGEST_PART > steps || count < ENOUGH_ROWS;
    return is_too_long && length * SHORTER_PART > steps ? steps / SHORTER_PART : length;
}

double scan_related_score(const double *row, const struct step_set *set, const double *rows, size_t count,
                          int32_t steps, double tail, double *list)
{
    int32_t length = step_set_count(set);
    count = count < LEAST_ROWS ? 0 : count;
    if (set->period > 1 || set->score <= 0 || length < 2 || is_mean_far_ahead(row, set, rows, count, steps))
        return set->score;
    int32_t measured = measured_length(length, count, steps);
    double spread = spread_of_means(row, set, rows, count, steps, measured, list);
    if (isnan(spread))
        return 0;
    double independent = spread > 0 ? 1 / (spread * spread) : length;
    if (independent >= length)
        return set->score;
    double size = mean_of_set(row, set) / spread;
    /* The spread is known from the other rows, so their number decides how heavy the tails are. */
    double freedom = fmax((double)count - 1, tail);
    double as_one = (freedom + 1) / 2 * log1p(size * size / freedom);
    return fmin(set->score, fmax(as_one, independent >= 1 ? set->score / length * independent : 0));
}

/*
 * Fitted to simulated rows (independent t with two degrees of freedom, scaled by their median distance): 0.6
 * for 20 steps, 2.1 for 40, 2.8 for 80, 3.6 for 200, 5.4 for 800.
 */
double scan_expected(int32_t steps)
{
    double expected = log(steps > 0 ? steps : 1) - 1.5;
    return expected > 1 ? expected : 1;
}

/* The median of the known steps of an interval, the lower of two. `list` is scratch: one value per step. */
static double middle_of(const double *row, const struct step_set *set, double *list)
{
    size_t count = 0;
    for (int32_t step = set->first; step <= set->last; step++)
        if (!isnan(row[step]))
            list[count++] = row[step];
    return select_real(list, count, (count - 1) / 2);
}

int scan_is_lasting(const double *row, const struct step_set *set, double *list)
{
    return 2 * middle_of(row, set, list) >= mean_of_set(row, set);
}

/* A row and its strongest steps: a recurring fault shows in at least two of them. */
enum { STRONGEST = 12 };

/* Steps that recur, which contain two of the strongest. */
struct phase {
    int32_t period;
    int32_t first;
    double most_size; /* too few steps support this size and greater ones */
};

struct scan {
    const double *row;
    const int32_t *numbers;
    const double *base; /* per step: log of the density without a fault */
    double *ratio;      /* per step: contribution for the current size */
    int32_t steps;
    double tail;
    double density; /* the greatest of Student's t */
    double size;
    int32_t most; /* maximum number of steps of a set */
    int32_t strongest[STRONGEST];
    int strong_count;
    struct phase phases[MOST_PERIOD * STRONGEST / 2];
    int phase_count;
};

/* A size in its own right: the fault differs in size from step to step. */
#define ANY_SIZE 0

/* From this value on, the sizes to try are further apart than the noise. */
static const double COARSE = 4;

/* To a power that is a multiple of a half: products and a root take a fifth of the time of pow(). */
static double to_power(double part, double power)
{
    int whole = (int)power;
    double product = 1;
    for (int i = 0; i < whole; i++)
        product *= part;
    return power > whole ? product * sqrt(part) : product;
}

/* The greatest density of Student's t. */
static double greatest_density(double tail)
{
    return tgamma((tail + 1) / 2) / (sqrt(tail * M_PI) * tgamma(tail / 2));
}

/*
 * How well a fault whose size differs from step to step explains a value: the logarithm of the mean
 * likelihood ratio over all sizes, each factor being as likely as any other. For large values that is the
 * integral of t(y - m) / (m log M), about 1 / (y log M), in relation to t(y).
 */
static double explained_by_any(double value, double tail, double density)
{
    double power = (tail + 1) / 2, without = power * log1p(value * value / tail), sum = 0, size = LEAST_SIZE;
    int count = 0;
    if (value > COARSE)
        return without - log(density * value * log(MOST_SIZE));
    while (size < MOST_SIZE) {
        double part = 1 + (value - size) * (value - size) / tail;
        sum += 1 / to_power(part, power);
        size *= SIZE_STEP;
        count++;
    }
    return without + log(sum / count);
}

/* Steps whose residual is not known have no ratio. */
static void measure_ratios(const struct scan *scan)
{
    for (int32_t step = 0; step < scan->steps; step++) {
        double value = scan->row[step], left = value - scan->size;
        if (!isnan(value))
            scan->ratio[step] =
                scan->size == ANY_SIZE
                    ? explained_by_any(value, scan->tail, scan->density)
                    : scan->base[step] - (scan->tail + 1) / 2 * log1p(left * left / scan->tail);
    }
}

/* Consecutive occurrences that are being summed (Kadane's algorithm). */
struct run {
    double score;
    int32_t first;
    int32_t count;    /* number of steps */
    int32_t speaking; /* number of steps that support the fault */
};

/*
 * Whether enough steps of a set support the fault: a fault that comes and goes in another way is not one of
 * these sets.
 */
static int is_set(const struct scan *scan, const struct run *run, int32_t period)
{
    return run->speaking >= LEAST_STEPS && run->count <= scan->most &&
           run->speaking * 4 >= run->count * (period > 1 ? 3 : 2);
}

/* The first step of the row with the same phase as `step`. */
static int32_t phase_of(const struct scan *scan, int32_t step, int32_t period)
{
    int32_t first = 0;
    while (!step_recurs(scan->numbers, first, step, period))
        first++;
    return first;
}

/*
 * Whether a step of a walk in strides of `period` from `phase` on recurs in it; without numbers, all of them
 * do.
 */
static int is_in_phase(const struct scan *scan, int32_t phase, int32_t step, int32_t period)
{
    return !scan->numbers || step_recurs(scan->numbers, phase, step, period);
}

/* Finds the best set among every `period`-th step from `phase` on. */
static void scan_phase(const struct scan *scan, int32_t period, int32_t phase, struct step_set *best)
{
    struct run run = {0};
    for (int32_t step = phase; step < scan->steps; step += scan->numbers ? 1 : period) {
        if (isnan(scan->row[step]) || !is_in_phase(scan, phase, step, period))
            continue;
        double ratio = scan->ratio[step];
        if (run.score <= 0)
            run = (struct run){.first = step};
        run.score += ratio;
        run.count++;
        run.speaking += ratio > 0;
        if (ratio > 0 && run.score > best->score && is_set(scan, &run, period))
            *best = (struct step_set){run.score, scan->size, run.first, step, period, scan->numbers, NULL};
    }
}

/* The strongest steps of a row, in any order. */
static void find_strongest(struct scan *scan)
{
    for (int32_t step = 0; step < scan->steps; step++) {
        double value = scan->row[step];
        int least = 0;
        if (isnan(value) || value < LEAST_SIZE)
            continue;
        if (scan->strong_count < STRONGEST) {
            scan->strongest[scan->strong_count++] = step;
            continue;
        }
        for (int i = 1; i < STRONGEST; i++)
            if (scan->row[scan->strongest[i]] < scan->row[scan->strongest[least]])
                least = i;
        if (value > scan->row[scan->strongest[least]])
            scan->strongest[least] = step;
    }
}

/*
 * Whether exactly one of the earlier strongest steps has the same phase, so that each phase is scanned once.
 */
static int is_second_of_phase(const struct scan *scan, int strong, int32_t period)
{
    int before = 0;
    for (int i = 0; i < strong; i++)
        before += step_recurs(scan->numbers, scan->strongest[strong], scan->strongest[i], period);
    return before == 1;
}

/*
 * The size from which on fewer than LEAST_STEPS steps of a phase support the fault: a step supports sizes
 * below twice its own value.
 */
static double most_size_in(const struct scan *scan, int32_t period, int32_t phase)
{
    double greatest[LEAST_STEPS] = {0};
    for (int32_t step = phase; step < scan->steps; step += scan->numbers ? 1 : period) {
        double value = scan->row[step];
        int at = 0;
        if (!(value > greatest[0]) || !is_in_phase(scan, phase, step, period))
            continue;
        for (; at + 1 < LEAST_STEPS && value > greatest[at + 1]; at++)
            greatest[at] = greatest[at + 1];
        greatest[at] = value;
    }
    return 2 * greatest[0];
}

/* Lists every period and phase that contains two of the strongest steps and enough that support a fault. */
static void find_phases(struct scan *scan)
{
    for (int32_t period = 2; period <= longest_period(scan->steps); period++)
        for (int i = 1; i < scan->strong_count; i++) {
            if (!is_second_of_phase(scan, i, period))
                continue;
            int32_t first = phase_of(scan, scan->strongest[i], period);
            double most_size = most_size_in(scan, period, first);
            if (most_size > LEAST_SIZE)
                scan->phases[scan->phase_count++] = (struct phase){period, first, most_size};
        }
}

/* Scans for faults of one size. */
static void scan_size(struct scan *scan, double size, struct step_set *best)
{
    scan->size = size;
    measure_ratios(scan);
    scan_phase(scan, 1, 0, best);
    for (int i = 0; i < scan->phase_count; i++)
        if (size < scan->phases[i].most_size)
            scan_phase(scan, scan->phases[i].period, scan->phases[i].first, best);
}

/* A step supports sizes below twice its own value, so larger sizes than that are not tried. */
static double most_size(const struct scan *scan)
{
    double most = 0;
    for (int32_t step = 0; step < scan->steps; step++)
        most = scan->row[step] * 2 > most ? scan->row[step] * 2 : most;
    return most < MOST_SIZE ? most : MOST_SIZE;
}

/*
 * A step at an end of a fault is at least this part of its median. Of sizes that are distributed
 * exponentially, 1 in 12 is smaller.
 */
static const double LEAST_AT_ENDS = 0.125;

/*
 * Leaves out what is small at both ends of an interval whose size differs from step to step: noise beside the
 * fault. `list` is scratch.
 */
static void trim_ends(const struct scan *scan, struct step_set *set, double *list)
{
    struct step_set trimmed = *set;
    double least = LEAST_AT_ENDS * middle_of(scan->row, set, list);
    int32_t speaking = 0;
    while (trimmed.first < trimmed.last && !(scan->row[trimmed.first] >= least))
        trimmed.first++;
    while (trimmed.last > trimmed.first && !(scan->row[trimmed.last] >= least))
        trimmed.last--;
    trimmed.score = 0;
    for (int32_t step = trimmed.first; step <= trimmed.last; step++)
        if (!isnan(scan->row[step])) {
            trimmed.score += scan->ratio[step];
            speaking += scan->ratio[step] > 0;
        }
    if (speaking >= LEAST_STEPS)
        *set = trimmed;
}

/* `base` has room for a number per step, and one more. */
static void scan_sizes(struct scan *scan, double *base, struct step_set *best)
{
    for (int32_t step = 0; step < scan->steps; step++) {
        base[step] = (scan->tail + 1) / 2 * log1p(scan->row[step] * scan->row[step] / scan->tail);
        scan->most += !isnan(scan->row[step]);
    }
    scan->most = scan->most * 3 / 4;
    find_strongest(scan);
    double most = scan->strong_count >= LEAST_STEPS ? most_size(scan) : 0, size = LEAST_SIZE;
    if (most > 0)
        find_phases(scan);
    while (size < most) {
        scan_size(scan, size, best);
        size *= SIZE_STEP;
    }
    if (most > 0)
        scan_size(scan, ANY_SIZE, best);
    if (best->score > 0 && best->size == ANY_SIZE) {
        if (best->period == 1)
            trim_ends(scan, best, base);
        best->size = mean_of_set(scan->row, best);
    }
}

int scan_row(const double *row, const int32_t *numbers, int32_t steps, double tail, struct step_set *best)
{
    double *base = array_new((size_t)steps + 1, sizeof *base);
    double *ratio = array_new((size_t)steps + 1, sizeof *ratio);
    int failed = !base || !ratio;
    *best = (struct step_set){0};
    if (!failed) {
        struct scan scan = {.row = row,
                            .numbers = numbers,
                            .base = base,
                            .ratio = ratio,
                            .steps = steps,
                            .tail = tail,
                            .density = greatest_density(tail)};
        scan_sizes(&scan, base, best);
    }
    free(base);
    free(ratio);
    return failed ? -1 : 0;
}

/* The number of sizes below a limit, at most up to MOST_SIZE. */
static int sizes_below(double limit)
{
    double size = LEAST_SIZE;
    int count = 0;
    while (size < fmin(limit, MOST_SIZE)) {
        size *= SIZE_STEP;
        count++;
    }
    return count;
}

/* Room for all sizes: the logarithm of MOST_SIZE to the base SIZE_STEP is 15.4. */
enum { SIZES = 16 };

/* Adds how well a fault of each size explains a value. */
static void add_sizes(double value, double tail, int sizes, double *scores)
{
    double without = log1p(value * value / tail), size = LEAST_SIZE;
    for (int i = 0; i < sizes; i++) {
        scores[i] += (tail + 1) / 2 * (without - log1p((value - size) * (value - size) / tail));
        size *= SIZE_STEP;
    }
}

void scan_set(const double *row, double tail, struct step_set *set)
{
    double scores[SIZES] = {0}, any = 0, most = 0, size = LEAST_SIZE, density = greatest_density(tail);
    for (int32_t step = set->first; step <= set->last; step++)
        most = row[step] > most ? row[step] : most;
    /* A step supports sizes below twice its own value. */
    int sizes = sizes_below(2 * most);
    for (int32_t step = set->first; step <= set->last; step += set->numbers ? 1 : set->period) {
        if (isnan(row[step]) || !step_set_has(set, step))
            continue;
        any += explained_by_any(row[step], tail, density);
        add_sizes(row[step], tail, sizes, scores);
    }
    set->score = fmax(any, 0);
    set->size = mean_of_set(row, set);
    for (int i = 0; i < sizes; i++) {
        if (scores[i] > set->score) {
            set->score = scores[i];
            set->size = size;
        }
        size *= SIZE_STEP;
    }
}

/* Minus the logarithm of the chance that a sum of `count` exponential variables exceeds x. */
static double odds_of_sum(double x, int32_t count)
{
    double term = 0, sum = 0; /* logarithms */
    for (int32_t i = 1; i < count; i++) {
        term += log(x / i);
        sum = fmax(sum, term) + log1p(exp(-fabs(sum - term)));
    }
    return x - sum;
}

double scan_peaks(const double *row, int32_t steps, double greatest, size_t rows, double tail,
                  unsigned char *marks, struct step_set *set)
{
    double sum = 0, run = 0;
    int32_t runs = 0;
    *set = (struct step_set){.first = -1, .period = 1, .marks = marks};
    for (int32_t step = 0; step < steps; step++) {
        marks[step] = row[step] > greatest;
        if (!marks[step])
            continue;
        int goes_on = step > 0 && marks[step - 1];
        double here = log(row[step] / greatest);
        sum += goes_on ? fmax(here - run, 0) : here;
        run = goes_on ? fmax(here, run) : here;
        runs += !goes_on;
        set->first = set->first < 0 ? step : set->first;
        set->last = step;
        set->size = fmax(set->size, row[step]);
    }
    if (runs)
        set->score = odds_of_sum(tail * sum, runs) + (runs - 1) * log((double)rows);
    return set->score;
}
