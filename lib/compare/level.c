#include "compare/level.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of few steps a batch is two, so that a level has some; of many it outlasts what steps remember (networks:
 * several steps), and there are no more than these. */
enum { STEPS_OF_BATCH = 2, STEPS_OF_LONG_BATCH = 4, FEW_BATCHES = 5, MOST_BATCHES = 20, THIRDS = 3 };

static size_t batches_of(size_t count)
{
    size_t few = count / STEPS_OF_BATCH, many = count / STEPS_OF_LONG_BATCH;
    few = few < FEW_BATCHES ? few : FEW_BATCHES;
    many = many < MOST_BATCHES ? many : MOST_BATCHES;
    return many > few ? many : few;
}

/* Of two in the middle their mean. `scratch` has room for as many. */
static double median_of_reals(const double *values, size_t count, double *scratch)
{
    if (!count)
        return (double)NAN;
    memcpy(scratch, values, count * sizeof *values);
    sort_reals(scratch, count);
    return count % 2 ? scratch[count / 2] : (scratch[count / 2 - 1] + scratch[count / 2]) / 2;
}

/* The median of part `number` of `parts`. */
static double median_of_part(const double *values, size_t count, size_t number, size_t parts, double *scratch)
{
    size_t first = count * number / parts, end = count * (number + 1) / parts;
    return median_of_reals(values + first, end - first, scratch);
}

static void measure_error(struct step_level *level, const double *values, size_t count, double *scratch)
{
    size_t batches = batches_of(count);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < batches; i++)
        sum += median_of_part(values, count, i, batches, scratch);
    for (size_t i = 0; i < batches; i++) {
        double apart = median_of_part(values, count, i, batches, scratch) - sum / (double)batches;
        squares += apart * apart;
    }
    if (batches < 2)
        return;
    level->freedom = (double)(batches - 1);
    level->error = sqrt(squares / level->freedom / (double)batches);
}

static void measure_drift(struct step_level *level, const double *values, size_t count, double *scratch)
{
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; count >= THIRDS && i < THIRDS; i++) {
        double median = median_of_part(values, count, i, THIRDS, scratch);
        least = fmin(least, median);
        greatest = fmax(greatest, median);
    }
    level->drift = greatest >= least ? greatest - least : 0;
}

int level_measure(struct step_level *level, const double *values, size_t count)
{
    double *scratch = array_new(count + 1, sizeof *scratch);
    if (!scratch)
        return -1;
    *level = (struct step_level){.median = median_of_reals(values, count, scratch), .steps = count};
    measure_error(level, values, count, scratch);
    measure_drift(level, values, count, scratch);
    free(scratch);
    return 0;
}

/* Of the difference: Welch and Satterthwaite. */
static double freedom_of(const struct step_level *a, const struct step_level *b, double error)
{
    double left = a->error * a->error, right = b->error * b->error;
    return error * error * error * error / (left * left / a->freedom + right * right / b->freedom);
}

double levels_limit(const struct step_level *a, const struct step_level *b, double part)
{
    double error = hypot(a->error, b->error);
    return error > 0 ? error * student_limit(part, freedom_of(a, b, error)) : 0;
}

double levels_chance(const struct step_level *a, const struct step_level *b, double difference)
{
    double error = hypot(a->error, b->error);
    if (!(error > 0))
        return difference == 0;
    return student_beyond(difference / error, freedom_of(a, b, error));
}
