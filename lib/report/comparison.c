/*
 * Compares two measured runs: the level and noise of each figure, then for each row the bars, the noise of
 * each rule and a test for multiple comparisons. comparison_text.c writes the result.
 */
#include "report/comparison.h"
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * With few steps a batch has two of them, so that there are enough batches. With many steps a batch is longer
 * than the correlation of steps (several steps, from networks), and the number of batches is limited.
 */
enum { STEPS_OF_BATCH = 2, STEPS_OF_LONG_BATCH = 4, FEW_BATCHES = 5, MOST_BATCHES = 20, THIRDS = 3 };

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

/* Degrees of freedom of a difference, by Welch and Satterthwaite. */
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

/*
 * The most expensive finding with that key that diagnose shows; *lost_us is the cost of all findings with
 * that key, shown or not.
 */
static const struct measured_finding *told(const struct measured_run *run, const char *key, double *lost_us)
{
    const struct measured_finding *found = NULL;
    *lost_us = 0;
    for (size_t i = 0; i < run->finding_count; i++) {
        const struct measured_finding *finding = &run->findings[i];
        if (strcmp(finding->key, key) != 0)
            continue;
        *lost_us += finding->lost_us;
        if (finding->is_told && (!found || finding->lost_us > found->lost_us))
            found = finding;
    }
    return found;
}

static int is_compared(const struct comparisons *all, const char *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == COMPARED_FINDING && strcmp(all->items[i].key, key) == 0)
            return 1;
    return 0;
}

/* A finding that costs the same in both runs, within the uncertainty of a cost, is unchanged. */
static void changed_findings_judge(struct comparison *of)
{
    double least = fmin(of->values[0], of->values[1]);
    of->rule = COMPARE_RESIZED;
    of->verdict = COMPARED_BEYOND;
    if (!of->found[0] || !of->found[1])
        return;
    of->noise = (compare_limit(COMPARE_RESIZED) - 1) * least;
    if (!(fabs(of->change) > of->noise))
        of->verdict = COMPARED_WITHIN;
}

static int add(struct comparisons *all, const struct measured_finding *finding)
{
    if (!finding->is_told || is_compared(all, finding->key))
        return 0;
    if (array_reserve((void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return -1;
    struct comparison *of = &all->items[all->count++];
    *of = (struct comparison){.kind = COMPARED_FINDING,
                              .key = finding->key,
                              .tag = finding->tag,
                              .noise = (double)NAN,
                              .whole = (double)NAN,
                              .chance = (double)NAN};
    for (int side = 0; side < 2; side++)
        of->found[side] = told(all->runs[side], finding->key, &of->values[side]);
    of->change = of->values[1] - of->values[0];
    changed_findings_judge(of);
    return 0;
}

/*
 * Adds a comparison for each finding that diagnose shows in one run or in both. It is beyond noise if the
 * finding is new, gone, or costs much more or less (COMPARE_RESIZED). Returns -1 when memory is out.
 */
static int compare_findings(struct comparisons *all)
{
    for (int side = 1; side >= 0; side--)
        for (size_t i = 0; i < all->runs[side]->finding_count; i++)
            if (add(all, &all->runs[side]->findings[i]))
                return -1;
    return 0;
}

/* Whether a finding that differs is new or costs more. */
static int changed_finding_is_worse(const struct comparison *of)
{
    return of->found[1] && (!of->found[0] || of->change > 0);
}

/* Tests of one family are corrected for their number (Holm). */
enum family { FAMILY_STEPS, FAMILY_PHASES, FAMILY_TRANSFERS, FAMILY_EDGES, FAMILY_OWN, FAMILIES };

/*
 * The allowed probability of a false result is divided by four, not five: phases are tested only if steps
 * differ.
 */
enum { PARTS_OF_CHANCE = 4 };

static enum family family_of(int kind)
{
    return kind == SERIES_TRANSFER ? FAMILY_TRANSFERS
           : kind == SERIES_EDGE   ? FAMILY_EDGES
           : kind == SERIES_STEP   ? FAMILY_STEPS
           : kind >= SERIES_OWN    ? FAMILY_OWN
                                   : FAMILY_PHASES;
}

const struct comparison *comparisons_steps(const struct comparisons *comparisons)
{
    for (size_t i = 0; i < comparisons->count; i++)
        if (comparisons->items[i].kind == SERIES_STEP)
            return &comparisons->items[i];
    return NULL;
}

/* The change of a rank's own gap time and its change relative to its peers: the smaller one. */
static double change_of_rank(const struct comparison *of)
{
    double itself = of->series[1]->itself - of->series[0]->itself;
    double beyond = of->levels[1].median - of->levels[0].median;
    if (isnan(itself) || isnan(beyond) || (itself > 0) != (beyond > 0))
        return 0;
    return fabs(itself) < fabs(beyond) ? itself : beyond;
}

static int measure(struct comparison *of)
{
    for (int side = 0; side < 2; side++) {
        const struct step_series *series = of->series[side];
        of->values[side] = (double)NAN;
        if (!series)
            continue;
        if (level_measure(&of->levels[side], series->values, series->count))
            return -1;
        of->values[side] = of->kind == SERIES_RANK ? series->itself : of->levels[side].median;
    }
    int is_both = of->series[0] && of->series[1];
    of->change = !is_both                  ? (double)NAN
                 : of->kind == SERIES_RANK ? change_of_rank(of)
                                           : of->values[1] - of->values[0];
    return 0;
}

/* The first bar that applies to a row; COMPARE_RULES: none. */
static enum compare_rule bar_of(const struct comparisons *all, const struct comparison *of)
{
    if (!of->series[0] || !of->series[1])
        return COMPARE_ONE_SIDE;
    for (enum compare_rule rule = COMPARE_RANKS; rule < COMPARE_FEW_STEPS; rule++)
        if (compare_asks(rule, of->kind) && comparison_is_blocked(all->runs, rule))
            return rule;
    for (int side = 0; side < 2; side++)
        if ((double)of->levels[side].steps < compare_limit(COMPARE_FEW_STEPS))
            return COMPARE_FEW_STEPS;
    return isnan(of->change) ? COMPARE_FEW_STEPS : COMPARE_RULES;
}

static int add_pair(struct comparisons *all, const struct step_series *a, const struct step_series *b)
{
    if (array_reserve((void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return -1;
    struct comparison *of = &all->items[all->count++];
    const struct step_series *any = a ? a : b;
    *of = (struct comparison){.kind = (int)any->kind,
                              .key = any->key,
                              .tag = any->tag,
                              .series = {a, b},
                              .noise = (double)NAN,
                              .whole = (double)NAN,
                              .chance = (double)NAN};
    if (measure(of))
        return -1;
    of->rule = bar_of(all, of);
    of->verdict = of->rule == COMPARE_RULES ? COMPARED_WITHIN : COMPARED_NOT;
    return 0;
}

static int pair_series(struct comparisons *all)
{
    const struct measured_run *a = all->runs[0], *b = all->runs[1];
    for (size_t i = 0; i < a->count; i++)
        if (add_pair(all, &a->items[i], measured_find(b, a->items[i].kind, a->items[i].key)))
            return -1;
    for (size_t i = 0; i < b->count; i++)
        if (!measured_find(a, b->items[i].kind, b->items[i].key) && add_pair(all, NULL, &b->items[i]))
            return -1;
    return 0;
}

/* The significance level of each test of a family. */
static double level_of(const struct comparisons *all, enum family family, double *chances)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct comparison *of = &all->items[i];
        if (of->verdict != COMPARED_NOT && family_of(of->kind) == family)
            chances[count++] = of->chance;
    }
    return holm_level(chances, count, compare_limit(COMPARE_CHANCE) / PARTS_OF_CHANCE);
}

static void consider(struct comparison *of, enum compare_rule rule, double noise)
{
    if (!compare_asks(rule, of->kind) || isnan(noise) || (of->noise >= noise && of->rule != COMPARE_RULES))
        return;
    of->noise = noise;
    of->rule = rule;
}

/* A change of these kinds must show in step time as well; compares it with the result for step time. */
static void hold_against_steps(struct comparison *of, const struct comparison *steps)
{
    if (!compare_asks(COMPARE_SHOWN, of->kind))
        return;
    if (!steps || steps->verdict != COMPARED_BEYOND)
        consider(of, COMPARE_SHOWN, INFINITY);
    if (!steps || steps->verdict == COMPARED_NOT)
        of->verdict = COMPARED_NOT;
}

/* Sets the noise of each rule in the units of the row; the greatest counts. */
static void judge(struct comparison *of, const struct comparison *steps, double level, double network)
{
    double step = steps && steps->values[0] > 0 ? steps->values[0] : (double)NAN;
    double a = fabs(of->values[0]), once = of->series[0]->transfers_per_step;
    int is_share = of->kind == SERIES_COMMUNICATION || of->kind == SERIES_WAITING;
    double whole = is_share ? 100 : step / (once > 1 ? once : 1);
    consider(of, COMPARE_CHANCE, levels_limit(&of->levels[0], &of->levels[1], level));
    consider(of, COMPARE_DRIFT,
             compare_limit(COMPARE_DRIFT) * fmax(of->levels[0].drift, of->levels[1].drift));
    consider(of, COMPARE_SMALLEST, compare_limit(COMPARE_SMALLEST) * a);
    consider(of, COMPARE_SMALLEST_TRANSFER, compare_limit(COMPARE_SMALLEST_TRANSFER) * a);
    consider(of, COMPARE_WORTH, compare_limit(COMPARE_WORTH) * whole);
    consider(of, COMPARE_WORTH_RANK, compare_limit(COMPARE_WORTH_RANK) * step);
    of->within = of->noise;
    double part = fmax(of->series[0]->network, of->kind >= SERIES_OWN ? of->series[1]->network : 0);
    consider(of, COMPARE_NETWORK, network * fmin(part, of->kind >= SERIES_OWN ? INFINITY : a));
    hold_against_steps(of, steps);
    if (of->verdict == COMPARED_WITHIN && fabs(of->change) > of->noise)
        of->verdict = COMPARED_BEYOND;
}

static double step_of(const struct comparisons *all)
{
    const struct comparison *steps = comparisons_steps(all);
    return steps && steps->values[0] > 0 ? steps->values[0] : (double)NAN;
}

/* The value that is 100 % for a row. */
static double whole_of(const struct comparison *of, double step)
{
    int is_of_step = of->kind == SERIES_EDGE || of->kind >= SERIES_OWN;
    double whole = is_of_step ? step : of->values[0];
    return whole > 0 ? whole : (double)NAN;
}

static int judge_series(struct comparisons *all, double network)
{
    double *chances = array_new(all->count + 1, sizeof *chances);
    const struct comparison *steps = comparisons_steps(all);
    if (!chances)
        return -1;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].verdict != COMPARED_NOT)
            all->items[i].chance =
                levels_chance(&all->items[i].levels[0], &all->items[i].levels[1], all->items[i].change);
    for (enum family family = 0; family < FAMILIES; family++) {
        double level = level_of(all, family, chances);
        for (size_t i = 0; i < all->count; i++)
            if (all->items[i].verdict != COMPARED_NOT && family_of(all->items[i].kind) == family)
                judge(&all->items[i], steps, level, network);
    }
    free(chances);
    return 0;
}

int comparison_is_worse(const struct comparison *of)
{
    if (of->verdict != COMPARED_BEYOND)
        return 0;
    return of->kind == COMPARED_FINDING ? changed_finding_is_worse(of) : of->change > 0;
}

double comparison_change_percent(const struct comparison *of)
{
    return 100 * of->change / of->whole;
}

double comparison_noise_percent(const struct comparison *of)
{
    return 100 * of->noise / of->whole;
}

static int place_of(const struct comparison *of)
{
    return of->verdict == COMPARED_BEYOND   ? (comparison_is_worse(of) ? 0 : 1)
           : of->verdict == COMPARED_WITHIN ? 2
                                            : 3;
}

/* Step times come first, then findings, then the rest by cost per step. */
static int rank_of_kind(int kind)
{
    return kind == SERIES_STEP ? 0 : kind == COMPARED_FINDING ? 1 : 2;
}

static double weight_of(const struct comparison *of)
{
    double once = of->series[0] ? of->series[0]->transfers_per_step : 1;
    double weight = fabs(of->change) * (once > 1 ? once : 1);
    return isnan(weight) ? 0 : weight;
}

static int by_weight(const void *a, const void *b)
{
    const struct comparison *left = a, *right = b;
    if (place_of(left) != place_of(right))
        return place_of(left) - place_of(right);
    if (rank_of_kind(left->kind) != rank_of_kind(right->kind))
        return rank_of_kind(left->kind) - rank_of_kind(right->kind);
    if (weight_of(left) != weight_of(right))
        return weight_of(left) > weight_of(right) ? -1 : 1;
    return left->kind != right->kind ? left->kind - right->kind : strcmp(left->key, right->key);
}

int comparisons_make(struct comparisons *all, const struct measured_run *a, const struct measured_run *b,
                     double network)
{
    *all = (struct comparisons){.runs = {a, b}};
    if (pair_series(all) || judge_series(all, network) || compare_findings(all))
        return -1;
    double step = step_of(all);
    for (size_t i = 0; i < all->count; i++) {
        all->items[i].whole = whole_of(&all->items[i], step);
        if (all->items[i].verdict == COMPARED_NOT)
            all->barred |= 1u << all->items[i].rule;
    }
    array_sort(all->items, all->count, sizeof *all->items, by_weight);
    return 0;
}

void comparisons_release(struct comparisons *all)
{
    free(all->items);
    *all = (struct comparisons){.count = 0};
}

static int is_slower(const struct comparison *of, double percent)
{
    if (!comparison_is_worse(of))
        return 0;
    if (of->kind == COMPARED_FINDING && of->found[1] && of->found[1]->stops_job)
        return 1;
    return (of->kind == SERIES_STEP || of->kind == SERIES_PHASE || of->kind >= SERIES_OWN) &&
           comparison_change_percent(of) > percent;
}

enum comparison_answer comparisons_answer(const struct comparisons *all, double percent)
{
    const struct comparison *steps = comparisons_steps(all);
    for (size_t i = 0; i < all->count; i++)
        if (is_slower(&all->items[i], percent))
            return ANSWER_SLOWER;
    if (!steps || steps->verdict == COMPARED_NOT)
        return ANSWER_UNDECIDED;
    return steps->verdict == COMPARED_WITHIN && !(100 * steps->within / steps->whole <= percent)
               ? ANSWER_UNDECIDED
               : ANSWER_FINE;
}
