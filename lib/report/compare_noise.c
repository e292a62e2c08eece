/*
 * The noise of a comparison: the level of a figure in a run and its error, and how much runs of one job
 * differ.
 */
#include "base/base.h"
#include "report/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * With few steps a batch has two of them, so that there are enough batches. With many steps a batch is longer
 * than the correlation of steps (several steps, from networks), and the number of batches is limited.
 */
enum { STEPS_OF_BATCH = 2, STEPS_OF_LONG_BATCH = 4, FEW_BATCHES = 5, MOST_BATCHES = 20 };

static size_t batches_of(size_t count)
{
    size_t few = count / STEPS_OF_BATCH, many = count / STEPS_OF_LONG_BATCH;
    few = few < FEW_BATCHES ? few : FEW_BATCHES;
    many = many < MOST_BATCHES ? many : MOST_BATCHES;
    return many > few ? many : few;
}

/* For an even count, the mean of the two middle values. `scratch` has room for `count` values. */
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

/* The standard deviation of the medians of the batches; 0 for fewer than two. */
static double spread_of_batches(const double *values, size_t count, size_t batches, double *scratch)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < batches; i++)
        sum += median_of_part(values, count, i, batches, scratch);
    for (size_t i = 0; i < batches; i++) {
        double apart = median_of_part(values, count, i, batches, scratch) - sum / (double)batches;
        squares += apart * apart;
    }
    return batches >= 2 ? sqrt(squares / (double)(batches - 1)) : 0;
}

int level_measure(struct step_level *level, const double *values, size_t count)
{
    double *scratch = array_new(count + 1, sizeof *scratch);
    if (!scratch)
        return -1;
    *level = (struct step_level){.median = median_of_reals(values, count, scratch), .steps = count};
    size_t batches = batches_of(count), few = batches < FEW_BATCHES ? batches : FEW_BATCHES;
    if (batches)
        level->error = spread_of_batches(values, count, batches, scratch) / sqrt((double)batches);
    level->spread = spread_of_batches(values, count, few, scratch);
    free(scratch);
    return 0;
}

/* Mean and squares are updated run by run (Welford, 1962). */
void side_level_add(struct side_level *side, const struct step_level *level)
{
    double apart = level->median - side->mean;
    side->fewest_steps = side->runs && side->fewest_steps < level->steps ? side->fewest_steps : level->steps;
    side->runs++;
    side->mean += apart / (double)side->runs;
    side->squares += apart * (level->median - side->mean);
    side->errors += level->error * level->error;
    side->spreads += level->spread * level->spread;
}

struct level_noise levels_noise(const struct side_level *a, const struct side_level *b, double least,
                                double part, double freedom)
{
    double runs = (double)(a->runs + b->runs), repeats = runs - 2, assumed = freedom / (1 + repeats);
    double within = (a->errors + b->errors) / runs;
    double spread = part * part * (a->spreads + b->spreads) / runs;
    double between = fmax(least * least, spread), repeated = (a->squares + b->squares) / assumed;
    double of_run = (within + between + repeated) * assumed / (assumed + repeats);
    return (struct level_noise){.error = sqrt(of_run * (1 / (double)a->runs + 1 / (double)b->runs)),
                                .freedom = assumed + repeats,
                                .is_of_steps = within > between && within > repeated,
                                .is_of_spread = spread > least * least && between >= fmax(within, repeated),
                                .is_of_repeats = repeated >= within && repeated > between};
}

double noise_limit(const struct level_noise *noise, double part)
{
    return noise->error > 0 ? noise->error * student_limit(part, noise->freedom) : 0;
}

double noise_chance(const struct level_noise *noise, double difference)
{
    if (!(noise->error > 0))
        return difference == 0;
    return student_beyond(difference / noise->error, noise->freedom);
}
