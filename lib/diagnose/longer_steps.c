/*
 * Finds steps that took longer than their baseline, whatever the cause, and whether findings explain them.
 * Steps are compared with steps of the same load only. Runs after the findings are known; longer_steps_text.c
 * writes the result.
 */
#include "diagnose/longer_steps.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/*
 * Two loads are the same within this share: more than the records that a step's end may lack, and less than
 * any batch grows by.
 */
static const double ALIKE = 0.1;

/* Fewer steps of a load than this have no baseline. */
enum { STEPS_OF_LOAD = 4 };

/* More loads than this are no program that recurs: further loads are not compared. */
enum { LOADS = 64 };

/*
 * Recorders lose an operation here and there. If more than one in FEW_LOST_OF_LOADS is lost, counts do not
 * show the load of a step: it may lack five times as much as the average before it is another load (ALIKE).
 */
enum { FEW_LOST_OF_LOADS = 50 };

/* The load of a step. That of the first step with a load stands for all others. */
struct load {
    double operations;
    double bytes;
    int32_t steps;
};

static int are_alike(double a, double b)
{
    return fabs(a - b) <= ALIKE * fmax(a, b);
}

static void measure_load(const struct job *job, int32_t step, struct load *load)
{
    struct job_range range = job_instances_in(job, step, step);
    *load = (struct load){.operations = (double)(range.end - range.first)};
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        if (instance->members > 0 && job_member(job, instance, 0)->bytes > 0)
            load->bytes += (double)job_member(job, instance, 0)->bytes;
    }
}

/* -1: the load does not match and there is no room for another. */
static int32_t find_load(struct load *loads, int32_t *count, const struct load *load)
{
    int32_t at = 0;
    while (at < *count &&
           !(are_alike(loads[at].operations, load->operations) && are_alike(loads[at].bytes, load->bytes)))
        at++;
    if (at == LOADS)
        return -1;
    if (at == *count)
        loads[(*count)++] = (struct load){load->operations, load->bytes, 0};
    loads[at].steps++;
    return at;
}

/*
 * Marks steps in which a communicator or a function is used for the first time, which includes its start-up,
 * and the step before each, which ends only when that is done.
 */
static int mark_first_uses(const struct job *job, unsigned char *marked)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    unsigned char *seen = array_new(places, 1);
    for (int32_t step = 0; seen && step < job->step_count; step++) {
        struct job_range range = job_instances_in(job, step, step);
        for (size_t i = range.first; i < range.end; i++) {
            const struct job_instance *instance = &job->instances[job->by_step[i]];
            size_t function = instance->function < FUNCTION_COUNT ? instance->function : FUNCTION_OTHER;
            size_t place = (size_t)instance->communicator * FUNCTION_COUNT + function;
            if (seen[place])
                continue;
            seen[place] = 1;
            marked[step] = 1;
            marked[step ? step - 1 : 0] = 1;
        }
    }
    free(seen);
    return seen ? 0 : -1;
}

/* Lists the durations of the steps of a load in order. */
static size_t lengths_of(const struct usual_steps *usual, const struct baseline *baseline, int32_t load,
                         int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (usual->load[step] == load && baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    return count;
}

int64_t longer_noise_ns(int64_t *lengths, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        lengths[i] -= lengths[i + 1];
    return count > 1 ? scale(sigma_about(lengths, count - 1, 0), 1 / sqrt(2)) : 0;
}

static void measure_usual(struct usual_steps *usual, const struct baseline *baseline, int32_t load,
                          int64_t *list)
{
    size_t count = lengths_of(usual, baseline, load, list);
    if (count < STEPS_OF_LOAD)
        return;
    int64_t noise_ns = longer_noise_ns(list, count);
    lengths_of(usual, baseline, load, list);
    int64_t quiet_ns = baseline_quantile(list, count);
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (usual->load[step] == load) {
            usual->usual_ns[step] = quiet_ns;
            usual->noise_ns[step] = noise_ns;
        }
}

static int find_loads(struct usual_steps *usual, const struct job *job, const struct baseline *baseline)
{
    struct load loads[LOADS] = {{0}};
    unsigned char *first_uses = array_new((size_t)job->step_count, 1);
    int counts = job->missing_sequence <= (int64_t)(job->operation_count / FEW_LOST_OF_LOADS);
    if (!first_uses || mark_first_uses(job, first_uses)) {
        free(first_uses);
        return -1;
    }
    for (int32_t step = 0; step < baseline->step_count; step++) {
        struct load load;
        measure_load(job, step, &load);
        usual->bytes[step] = scale(1, load.bytes);
        if (!counts)
            load = (struct load){0};
        usual->load[step] = step < baseline->started_step || first_uses[step]
                                ? -1
                                : find_load(loads, &usual->load_count, &load);
    }
    free(first_uses);
    return 0;
}

int usual_steps_init(struct usual_steps *usual, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *list = array_new(steps, sizeof *list);
    *usual = (struct usual_steps){.usual_ns = array_new(steps, sizeof *usual->usual_ns),
                                  .noise_ns = array_new(steps, sizeof *usual->noise_ns),
                                  .load = array_new(steps, sizeof *usual->load),
                                  .bytes = array_new(steps, sizeof *usual->bytes)};
    int failed = !list || !usual->usual_ns || !usual->noise_ns || !usual->load || !usual->bytes ||
                 find_loads(usual, job, baseline);
    for (size_t step = 0; !failed && step < steps; step++)
        usual->usual_ns[step] = TIME_UNKNOWN;
    for (int32_t load = 0; !failed && load < usual->load_count; load++)
        measure_usual(usual, baseline, load, list);
    free(list);
    return failed ? -1 : 0;
}

void usual_steps_release(struct usual_steps *usual)
{
    free(usual->usual_ns);
    free(usual->noise_ns);
    free(usual->load);
    free(usual->bytes);
    *usual = (struct usual_steps){0};
}

/* Step times of the recorded healthy jobs drift by less than a tenth. */
static const double LONGER = 0.1;

/* No healthy job loses this share of its time without a cause, however it is spread. */
static const double MUCH_LOST = 0.1;

/*
 * A hiccup of a healthy job lasts one or two steps; several in a row cost at most a quarter of a step each.
 */
enum { STEPS_TO_BECOME = 3, STEPS_OF_HICCUPS = 5 };
static const double MOST_HICCUP = 0.25;

/*
 * Longer steps from the first counted step on may be the end of the warm-up. They are not if they last for
 * more steps than caches and clocks ever take to settle, and for a quarter of the job.
 */
enum { STEPS_AFTER_WARM_UP = 5, PART_AFTER_WARM_UP = 4 };

/* At least two in three steps of a block are longer: a step in between may be normal. */
enum { ROW_LEAST = 2, ROW_OF = 3 };

/* This many single steps at equal distances are checkpoints or evaluations of the program. */
enum { TIMES_TO_RECUR = 3 };

int64_t longer_least_ns(int64_t noise_ns, int64_t usual_ns, const struct diagnose_options *options)
{
    int64_t noisy_ns = scale(noise_ns, options->sigmas);
    int64_t share_ns = scale(usual_ns, options->min_gain > LONGER ? options->min_gain : LONGER);
    int64_t least_ns = noisy_ns > share_ns ? noisy_ns : share_ns;
    /* Twice the baseline always counts, whatever the noise. */
    return least_ns < usual_ns ? least_ns : usual_ns;
}

/* By how much a step was longer if it counts as longer; 0 otherwise. */
static int64_t longer_ns(const struct longer_steps *longer, const struct baseline *baseline, int32_t step,
                         const struct diagnose_options *options)
{
    int64_t usual_ns = longer->usual.usual_ns[step];
    if (usual_ns == TIME_UNKNOWN || baseline->step_ns[step] == TIME_UNKNOWN)
        return 0;
    int64_t ns = baseline->step_ns[step] - usual_ns;
    return ns >= longer_least_ns(longer->usual.noise_ns[step], usual_ns, options) ? ns : 0;
}

static int is_compared(const struct longer_steps *longer, const struct baseline *baseline, int32_t step)
{
    return longer->usual.usual_ns[step] != TIME_UNKNOWN && baseline->step_ns[step] != TIME_UNKNOWN;
}

/* The next step after `step` that is compared; step_count: none. */
static int32_t next_compared(const struct longer_steps *longer, const struct baseline *baseline, int32_t step)
{
    do
        step++;
    while (step < baseline->step_count && !is_compared(longer, baseline, step));
    return step;
}

/* Adds a step to the sums of a block. */
static void add_step(struct longer_row *row, const struct longer_steps *longer,
                     const struct baseline *baseline, const int64_t *over_ns, int32_t step)
{
    row->last = step;
    row->steps++;
    row->usual_ns += longer->usual.usual_ns[step];
    row->took_ns += baseline->step_ns[step];
    row->lost_ns += over_ns[step];
}

/*
 * The block of longer steps that starts at `first`. A single normal step in between ends it only if fewer
 * than two in three of its steps would be longer.
 */
static struct longer_row row_from(const struct longer_steps *longer, const struct baseline *baseline,
                                  const struct findings *findings, const int64_t *over_ns, int32_t first)
{
    struct longer_row row = {.first = first};
    int32_t passed = 0, seen = 0;
    row.explained = findings_explain(findings, first, over_ns[first]);
    for (int32_t step = first; step < baseline->step_count; step = next_compared(longer, baseline, step)) {
        seen++;
        if (!over_ns[step]) {
            if (++passed > 1)
                break;
            continue;
        }
        if (findings_explain(findings, step, over_ns[step]) != row.explained ||
            (row.steps + 1) * ROW_OF < seen * ROW_LEAST)
            break;
        passed = 0;
        add_step(&row, longer, baseline, over_ns, step);
    }
    return row;
}

static int is_whole_row(const struct longer_row *row, const struct baseline *baseline, int32_t first)
{
    if (row->first > first)
        return row->steps >= STEPS_OF_HICCUPS ||
               (row->steps >= STEPS_TO_BECOME &&
                (double)(row->took_ns - row->usual_ns) >= MOST_HICCUP * (double)row->usual_ns);
    return row->steps >= STEPS_AFTER_WARM_UP &&
           row->steps * PART_AFTER_WARM_UP >= baseline->step_count - baseline->first_step;
}

/* Notes in a row how slow the transfers of all ranks were, if that was in more than half of its steps. */
static void note_slow_for_all(struct longer_row *row, const struct slow_for_all *slow)
{
    int32_t slow_steps = 0;
    for (int32_t step = row->first; slow->steps.period && step <= row->last; step++)
        slow_steps += step_set_has(&slow->steps, step);
    if (slow_steps * 2 <= row->steps)
        return;
    row->became = 1;
    row->transfer_ns = slow->transfer_ns;
    row->usual_transfer_ns = slow->usual_ns;
}

static int find_rows(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                     const struct findings *findings, const int64_t *over_ns)
{
    int32_t first = next_compared(longer, baseline, baseline->first_step - 1);
    for (int32_t step = first; step < baseline->step_count; step++) {
        if (!over_ns[step])
            continue;
        struct longer_row row = row_from(longer, baseline, findings, over_ns, step);
        if (!row.steps)
            continue;
        step = row.last;
        row.usual_ns /= row.steps;
        row.took_ns /= row.steps;
        row.became = is_whole_row(&row, baseline, first);
        note_slow_for_all(&row, &findings->slow_for_all);
        if (row.first == first && !row.became && !row.explained)
            longer->started_step = row.last + 1;
        if (!row.became && (row.first == first || (row.steps < 2 && row.lost_ns < row.usual_ns)))
            continue;
        if (array_reserve((void **)&longer->rows, &longer->capacity, longer->count + 1, sizeof *longer->rows))
            return -1;
        row.run_first = job_run_step(job, row.first);
        row.run_last = job_run_step(job, row.last);
        longer->rows[longer->count++] = row;
    }
    return 0;
}

/* The distance of single longer steps, if it is always the same; 0 otherwise. */
static int32_t period_of(const struct job *job, const int64_t *over_ns, int32_t step_count)
{
    int32_t last = -1, period = 0, times = 0;
    for (int32_t step = 0; step < step_count; step++) {
        if (!over_ns[step])
            continue;
        int32_t here = job_run_step(job, step);
        if (last >= 0 && period && here - last != period)
            return 0;
        if (last >= 0)
            period = here - last;
        last = here;
        times++;
    }
    return times >= TIMES_TO_RECUR && period > 1 ? period : 0;
}

/* Degrees of freedom of the noise of step times, as in the score. */
static const double TAIL = 2;
static const double TENTH = 0.1;

/* By how much each step was longer, in units of its noise; NAN where that is not known. */
static void fill_row(const struct longer_steps *longer, const struct baseline *baseline, double *row)
{
    for (int32_t step = 0; step < baseline->step_count; step++) {
        int64_t noise_ns = longer->usual.noise_ns[step];
        int is_known = step >= baseline->first_step && is_compared(longer, baseline, step) && noise_ns > 0;
        row[step] = is_known ? ratio_of(baseline->step_ns[step] - longer->usual.usual_ns[step], noise_ns)
                             : (double)NAN;
    }
}

/* How step times are distributed, relative to their baseline: the steps of a set, or all others. */
struct spread {
    size_t steps;
    double mean;
    int64_t low_ns;  /* a tenth is below */
    int64_t high_ns; /* a tenth is above */
};

static struct spread spread_of(const struct longer_steps *longer, const struct baseline *baseline,
                               const struct step_set *set, int is_inside, int64_t *list)
{
    struct spread spread = {0};
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (is_compared(longer, baseline, step) && step_set_has(set, step) == is_inside) {
            list[spread.steps++] = baseline->step_ns[step] - longer->usual.usual_ns[step];
            spread.mean += ratio_of(baseline->step_ns[step], longer->usual.usual_ns[step]) - 1;
        }
    spread.mean /= spread.steps ? (double)spread.steps : 1;
    spread.low_ns = spread.steps ? pick_quantile(list, spread.steps, TENTH) : 0;
    spread.high_ns = spread.steps ? pick_quantile(list, spread.steps, 1 - TENTH) : 0;
    return spread;
}

/* Whether the steps of a set are many, longer by a tenth on average, and apart from the others. */
static int is_lasting(const struct longer_steps *longer, const struct baseline *baseline,
                      const struct step_set *set, int64_t *list)
{
    struct spread inside = spread_of(longer, baseline, set, 1, list),
                  outside = spread_of(longer, baseline, set, 0, list);
    return inside.steps >= STEPS_OF_HICCUPS && inside.mean >= LONGER && outside.steps > 1 &&
           inside.low_ns > outside.high_ns;
}

/* The most certain interval of longer steps; its score is 0 if there is none. -1 when memory runs out. */
static int find_lasting(const struct longer_steps *longer, const struct baseline *baseline,
                        struct step_set *set)
{
    double *row = array_new((size_t)baseline->step_count, sizeof *row);
    int64_t *list = array_new((size_t)baseline->step_count, sizeof *list);
    int failed = !row || !list;
    if (!failed) {
        fill_row(longer, baseline, row);
        failed = scan_row(row, NULL, baseline->step_count, TAIL, set);
    }
    if (!failed &&
        (set->period != 1 || set->score - scan_sets(baseline->step_count) < limit_of(LIMIT_CERTAINTY_SURE) ||
         !is_lasting(longer, baseline, set, list)))
        set->score = 0;
    free(row);
    free(list);
    return failed ? -1 : 0;
}

static int has_reported(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_is_reported(&findings->items[i]))
            return 1;
    return 0;
}

/*
 * Adds consecutive steps that are longer together, although none may be by itself: the mean of many has less
 * noise. Where a finding is reported, it tells which steps are longer. -1 when memory runs out.
 */
static int add_lasting(const struct longer_steps *longer, const struct baseline *baseline,
                       const struct findings *findings, int64_t *over_ns)
{
    struct step_set set = {0};
    if (has_reported(findings))
        return 0;
    if (find_lasting(longer, baseline, &set))
        return -1;
    for (int32_t step = set.first; set.score > 0 && step <= set.last; step++) {
        int64_t ns =
            is_compared(longer, baseline, step) ? baseline->step_ns[step] - longer->usual.usual_ns[step] : 0;
        over_ns[step] = ns > over_ns[step] ? ns : over_ns[step];
    }
    return 0;
}

/*
 * Adds the steps in which the transfers of all ranks were slow: these are certain to be slow together,
 * although a step may not be longer than the noise by itself.
 */
static void add_slow_for_all(const struct longer_steps *longer, const struct baseline *baseline,
                             const struct step_set *steps, int64_t *over_ns)
{
    for (int32_t step = baseline->first_step; steps->period && step <= steps->last; step++) {
        int64_t ns = step_set_has(steps, step) && is_compared(longer, baseline, step)
                         ? baseline->step_ns[step] - longer->usual.usual_ns[step]
                         : 0;
        over_ns[step] = ns > over_ns[step] ? ns : over_ns[step];
    }
}

static int find_longer(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                       const struct findings *findings, const struct diagnose_options *options)
{
    int64_t *over_ns = array_new((size_t)baseline->step_count, sizeof *over_ns);
    longer->started_step = baseline->started_step;
    if (!over_ns || usual_steps_init(&longer->usual, job, baseline)) {
        free(over_ns);
        return -1;
    }
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        over_ns[step] = longer_ns(longer, baseline, step, options);
    const struct step_set *slow = &findings->slow_for_all.steps;
    add_slow_for_all(longer, baseline, slow, over_ns);
    /* Slow transfers are no checkpoint. */
    longer->period = slow->period ? 0 : period_of(job, over_ns, baseline->step_count);
    int failed = add_lasting(longer, baseline, findings, over_ns) ||
                 find_rows(longer, job, baseline, findings, over_ns);
    free(over_ns);
    return failed;
}

int longer_steps_find(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                      const struct findings *findings, const struct diagnose_options *options)
{
    *longer = (struct longer_steps){.measured_by_calls = baseline->steps_are_measured_by_calls};
    if (!baseline->step_ns || !baseline->median_step_ns || !baseline_is_regular(baseline))
        return 0;
    return find_longer(longer, job, baseline, findings, options);
}

void longer_steps_release(struct longer_steps *longer)
{
    usual_steps_release(&longer->usual);
    causes_release(longer->observed.items, longer->observed.count);
    free(longer->rows);
    *longer = (struct longer_steps){0};
}

static int by_run_step(const void *a, const void *b)
{
    const struct longer_row *left = a, *right = b;
    return (left->run_first > right->run_first) - (left->run_first < right->run_first);
}

int longer_steps_add_round(struct longer_steps *longer, const struct longer_steps *round)
{
    if (array_reserve((void **)&longer->rows, &longer->capacity, longer->count + round->count,
                      sizeof *longer->rows))
        return -1;
    for (size_t i = 0; i < round->count; i++) {
        longer->rows[longer->count] = round->rows[i];
        longer->rows[longer->count].first = longer->rows[longer->count].last = -1;
        longer->count++;
    }
    array_sort(longer->rows, longer->count, sizeof *longer->rows, by_run_step);
    longer->whole_ns += round->whole_ns;
    longer->lost_ns += round->lost_ns;
    longer->explained_ns += round->explained_ns;
    longer->hidden_ns += round->hidden_ns;
    for (int reason = 0; reason < LOSS_REASONS; reason++) {
        longer->undetermined[reason].lost_ns += round->undetermined[reason].lost_ns;
        longer->undetermined[reason].steps += round->undetermined[reason].steps;
    }
    return 0;
}

static int is_more_telling(const struct longer_row *row, const struct longer_row *most)
{
    if ((row->first < 0) != (most->first < 0))
        return most->first < 0;
    return row->lost_ns > most->lost_ns;
}

const struct longer_row *longer_steps_unexplained(const struct longer_steps *longer)
{
    const struct longer_row *most = NULL;
    for (size_t i = 0; i < longer->count; i++) {
        const struct longer_row *row = &longer->rows[i];
        if (!row->explained && (!most || is_more_telling(row, most)))
            most = row;
    }
    return most;
}

int longer_steps_alarm(const struct longer_steps *longer)
{
    int64_t lost_ns = 0;
    for (size_t i = 0; !longer->measured_by_calls && i < longer->count; i++) {
        if (longer->rows[i].explained)
            continue;
        if (longer->rows[i].became)
            return 1;
        lost_ns += longer->rows[i].lost_ns;
    }
    return !longer->period && (double)lost_ns > MUCH_LOST * (double)longer->whole_ns;
}
