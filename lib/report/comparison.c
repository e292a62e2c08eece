/*
 * Compares two measured sides: the level and noise of each figure, then for each row the bars, the noise of
 * each rule and a test for multiple comparisons. comparison_text.c writes the result.
 */
#include "report/comparison.h"
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Run `number` of all: first those of A. */
static const struct measured_run *run_at(const struct comparisons *all, size_t number)
{
    size_t of_a = all->sides[0].count;
    return number < of_a ? &all->sides[0].runs[number] : &all->sides[1].runs[number - of_a];
}

/* Whether both sides have repeats, so that the runs show how much they differ. */
static int have_repeats(const struct comparisons *all)
{
    return all->sides[0].count > 1 && all->sides[1].count > 1;
}

/*
 * The most expensive finding of a run with that key that diagnose shows; *lost_us is increased by the cost of
 * all findings with that key, shown or not.
 */
static const struct measured_finding *told_by(const struct measured_run *run, const char *key,
                                              double *lost_us)
{
    const struct measured_finding *found = NULL;
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

/*
 * The finding of a side: shown in most of its runs, or in any if it stops the job, because noise does not
 * stop jobs. *lost_us is its mean cost over the runs.
 */
static const struct measured_finding *told(const struct measured_side *side, const char *key, double *lost_us)
{
    const struct measured_finding *found = NULL;
    size_t runs = 0;
    int stops = 0;
    *lost_us = 0;
    for (size_t i = 0; i < side->count; i++) {
        const struct measured_finding *finding = told_by(&side->runs[i], key, lost_us);
        if (!finding)
            continue;
        runs++;
        stops |= finding->stops_job;
        if (!found || finding->lost_us > found->lost_us)
            found = finding;
    }
    *lost_us /= (double)side->count;
    return stops || (double)runs > compare_limit(COMPARE_SELDOM) * (double)side->count ? found : NULL;
}

static int is_compared(const struct comparisons *all, const char *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == COMPARED_FINDING && strcmp(all->items[i].key, key) == 0)
            return 1;
    return 0;
}

/* A finding that costs the same in both sides, within the uncertainty of a cost, is unchanged. */
static void changed_findings_judge(struct comparison *of)
{
    double least = fmin(of->values[0], of->values[1]);
    of->rule = of->found[0] || of->found[1] ? COMPARE_RESIZED : COMPARE_SELDOM;
    of->verdict = of->found[0] || of->found[1] ? COMPARED_BEYOND : COMPARED_WITHIN;
    if (!of->found[0] || !of->found[1])
        return;
    of->noise = (compare_limit(COMPARE_RESIZED) - 1) * least;
    if (!(fabs(of->change) > of->noise))
        of->verdict = COMPARED_WITHIN;
}

static const struct comparison nothing_known = {.noise = (double)NAN,
                                                .reach = (double)NAN,
                                                .detectable = (double)NAN,
                                                .whole = (double)NAN,
                                                .chance = (double)NAN};

/* NULL when memory is out. */
static struct comparison *add_row(struct comparisons *all)
{
    if (array_reserve((void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return NULL;
    all->items[all->count] = nothing_known;
    return &all->items[all->count++];
}

static int add_finding(struct comparisons *all, const struct measured_finding *finding)
{
    if (!finding->is_told || is_compared(all, finding->key))
        return 0;
    struct comparison *of = add_row(all);
    if (!of)
        return -1;
    of->kind = COMPARED_FINDING;
    of->key = finding->key;
    of->tag = finding->tag;
    of->finding = finding;
    for (int side = 0; side < 2; side++)
        of->found[side] = told(&all->sides[side], finding->key, &of->values[side]);
    of->change = of->values[1] - of->values[0];
    changed_findings_judge(of);
    return 0;
}

/*
 * Adds a comparison for each finding that diagnose shows in any run. It is beyond noise if the finding is
 * new, gone, or costs much more or less (COMPARE_RESIZED). Returns -1 when memory is out.
 */
static int compare_findings(struct comparisons *all)
{
    for (int side = 1; side >= 0; side--)
        for (size_t run = 0; run < all->sides[side].count; run++)
            for (size_t i = 0; i < all->sides[side].runs[run].finding_count; i++)
                if (add_finding(all, &all->sides[side].runs[run].findings[i]))
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
 * How the allowed probability of a false result is divided. Step times are what most users ask about. Phases
 * and shares have a budget of their own, because they are tested only if steps differ. The rest is left to
 * findings, which diagnose tests.
 */
static const double share_of_chance[FAMILIES] = {[FAMILY_STEPS] = 0.6,
                                                 [FAMILY_PHASES] = 1,
                                                 [FAMILY_TRANSFERS] = 0.1,
                                                 [FAMILY_EDGES] = 0.1,
                                                 [FAMILY_OWN] = 0.15};

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

/*
 * Mean over the runs of a side; for the gap time of a rank itself. NAN if a run does not know it.
 */
static double value_of(const struct comparisons *all, const struct comparison *of, int side)
{
    double sum = 0;
    if (of->kind != SERIES_RANK)
        return of->levels[side].runs ? of->levels[side].mean : (double)NAN;
    for (size_t i = 0; i < all->sides[side].count; i++) {
        const struct step_series *series = measured_find(&all->sides[side].runs[i], SERIES_RANK, of->key);
        sum += series && series->count ? series->itself : 0;
    }
    return of->levels[side].runs ? sum / (double)of->levels[side].runs : (double)NAN;
}

/* The change of a rank's own gap time and its change relative to its peers: the smaller one. */
static double change_of_rank(const struct comparison *of)
{
    double itself = of->values[1] - of->values[0];
    double beyond = of->levels[1].mean - of->levels[0].mean;
    if (isnan(itself) || isnan(beyond) || (itself > 0) != (beyond > 0))
        return 0;
    return fabs(itself) < fabs(beyond) ? itself : beyond;
}

/* Measures a row in all runs that have it. */
static int measure(const struct comparisons *all, struct comparison *of)
{
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < all->sides[side].count; i++) {
            const struct measured_run *run = &all->sides[side].runs[i];
            const struct step_series *series = measured_find(run, (enum series_kind)of->kind, of->key);
            struct step_level level;
            if (!series)
                continue;
            of->series[side] = of->series[side] ? of->series[side] : series;
            of->is_over_network |= series->is_over_network;
            if (!series->count)
                continue;
            if (level_measure(&level, series->values, series->count))
                return -1;
            side_level_add(&of->levels[side], &level);
        }
        of->values[side] = value_of(all, of, side);
    }
    int is_both = of->series[0] && of->series[1];
    of->change = !is_both                  ? (double)NAN
                 : of->kind == SERIES_RANK ? change_of_rank(of)
                                           : of->values[1] - of->values[0];
    return 0;
}

/* Whether a bar applies to any two of all runs. */
static int is_blocked(const struct comparisons *all, enum compare_rule rule)
{
    for (size_t i = 0; i < all->sides[0].count + all->sides[1].count; i++)
        for (size_t k = 0; k < i; k++)
            if (comparison_is_blocked(run_at(all, k), run_at(all, i), rule))
                return 1;
    return 0;
}

static void find_bars(struct comparisons *all)
{
    for (enum compare_rule rule = COMPARE_RANKS; rule < COMPARE_FEW_STEPS; rule++)
        if (is_blocked(all, rule))
            all->blocked |= 1u << rule;
}

/* The first bar that applies to a row; COMPARE_RULES: none. */
static enum compare_rule bar_of(const struct comparisons *all, const struct comparison *of)
{
    if (!of->series[0] || !of->series[1])
        return COMPARE_ONE_SIDE;
    for (enum compare_rule rule = COMPARE_RANKS; rule < COMPARE_FEW_STEPS; rule++)
        if (compare_asks(rule, of->kind) && all->blocked >> rule & 1)
            return rule;
    for (int side = 0; side < 2; side++)
        if ((double)of->levels[side].fewest_steps < compare_limit(COMPARE_FEW_STEPS))
            return COMPARE_FEW_STEPS;
    return isnan(of->change) ? COMPARE_FEW_STEPS : COMPARE_RULES;
}

static int is_added(const struct comparisons *all, size_t end, const struct step_series *series)
{
    for (size_t i = 0; i < end; i++)
        if (measured_find(run_at(all, i), series->kind, series->key))
            return 1;
    return 0;
}

static int add_series(struct comparisons *all, const struct step_series *series)
{
    struct comparison *of = add_row(all);
    if (!of)
        return -1;
    of->kind = (int)series->kind;
    of->key = series->key;
    of->tag = series->tag;
    if (measure(all, of))
        return -1;
    of->rule = bar_of(all, of);
    of->verdict = of->rule == COMPARE_RULES ? COMPARED_WITHIN : COMPARED_NOT;
    return 0;
}

/* Adds a row for each figure that any run has. */
static int add_all_series(struct comparisons *all)
{
    for (size_t i = 0; i < all->sides[0].count + all->sides[1].count; i++)
        for (size_t k = 0; k < run_at(all, i)->count; k++)
            if (!is_added(all, i, &run_at(all, i)->items[k]) && add_series(all, &run_at(all, i)->items[k]))
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
    return holm_level(chances, count, compare_limit(COMPARE_CHANCE) * share_of_chance[family]);
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

/* The middle between the values of A and B, so that the result is the same for B and A. */
static double middle_of(const struct comparison *of)
{
    return fabs(of->values[0] + of->values[1]) / 2;
}

/* The least standard deviation of a figure between runs that is assumed, and the rule that says so. */
static double least_between_runs(const struct comparison *of, double step, enum compare_rule *rule)
{
    const struct {
        enum compare_rule rule;
        double whole;
    } rules[] = {
        {COMPARE_RUNS, middle_of(of)}, {COMPARE_RUNS_TRANSFER, middle_of(of)}, {COMPARE_RUNS_OWN, step}};
    double least = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        double of_rule = compare_limit(rules[i].rule) * rules[i].whole;
        if (!compare_asks(rules[i].rule, of->kind) || !(of_rule > least))
            continue;
        least = of_rule;
        *rule = rules[i].rule;
    }
    return least;
}

static void measure_noise(struct comparison *of, double step)
{
    enum compare_rule least_rule = COMPARE_CHANCE;
    double least = least_between_runs(of, step, &least_rule);
    double spread = compare_asks(COMPARE_SPREAD, of->kind) ? compare_limit(COMPARE_SPREAD) : 0;
    of->error = levels_noise(&of->levels[0], &of->levels[1], least, spread, compare_limit(COMPARE_REPEATS));
    of->noise_rule = of->error.is_of_steps     ? COMPARE_CHANCE
                     : of->error.is_of_repeats ? COMPARE_REPEATS
                     : of->error.is_of_spread  ? COMPARE_SPREAD
                                               : least_rule;
    of->chance = noise_chance(&of->error, of->change);
}

/* A change of this size exceeds the limit in nine of ten comparisons. */
static const double MISSED_BOTH_SIDES = 0.2;

/* Sets the noise of each rule in the units of the row; the greatest counts. */
static void judge(struct comparison *of, const struct comparisons *all, const struct comparison *steps,
                  double level, double network)
{
    double step = steps ? middle_of(steps) : (double)NAN, once = of->series[0]->transfers_per_step;
    int is_share = of->kind >= SERIES_COMMUNICATION && of->kind <= SERIES_OVERLAP;
    double whole = is_share ? 100 : step / (once > 1 ? once : 1);
    consider(of, of->noise_rule, noise_limit(&of->error, level));
    if (of->is_over_network && !have_repeats(all))
        consider(of, COMPARE_NETWORK, network * middle_of(of));
    of->reach = of->noise;
    consider(of, COMPARE_WORTH, compare_limit(COMPARE_WORTH) * whole);
    consider(of, COMPARE_WORTH_RANK, compare_limit(COMPARE_WORTH_RANK) * step);
    of->detectable = of->noise + noise_limit(&of->error, MISSED_BOTH_SIDES);
    hold_against_steps(of, steps);
    if (of->verdict == COMPARED_WITHIN && fabs(of->change) > of->noise)
        of->verdict = COMPARED_BEYOND;
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
            measure_noise(&all->items[i], steps ? middle_of(steps) : (double)NAN);
    for (enum family family = 0; family < FAMILIES; family++) {
        double level = level_of(all, family, chances);
        for (size_t i = 0; i < all->count; i++)
            if (all->items[i].verdict != COMPARED_NOT && family_of(all->items[i].kind) == family)
                judge(&all->items[i], all, steps, level, network);
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

double comparison_percent(const struct comparison *of, double figure)
{
    return 100 * figure / of->whole;
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

int comparisons_make(struct comparisons *all, struct measured_side a, struct measured_side b, double network)
{
    *all = (struct comparisons){.sides = {a, b}};
    find_bars(all);
    if (add_all_series(all) || judge_series(all, network) || compare_findings(all))
        return -1;
    const struct comparison *steps = comparisons_steps(all);
    double step = steps && steps->values[0] > 0 ? steps->values[0] : (double)NAN;
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
           comparison_percent(of, of->change) > percent;
}

enum comparison_answer comparisons_answer(const struct comparisons *all, double percent)
{
    const struct comparison *steps = comparisons_steps(all);
    for (size_t i = 0; i < all->count; i++)
        if (is_slower(&all->items[i], percent))
            return ANSWER_SLOWER;
    if (!steps || steps->verdict == COMPARED_NOT)
        return ANSWER_UNDECIDED;
    return comparison_percent(steps, steps->change + steps->reach) <= percent ? ANSWER_FINE
                                                                              : ANSWER_UNDECIDED;
}
