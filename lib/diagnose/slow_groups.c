/*
 * Finds groups (transfer_groups.c) whose transfers took longer than those of their sister groups, or than
 * their own in other steps. slow_units.c finds what explains them, explained_network.c turns that into
 * findings.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Degrees of freedom of Student's t (1: Cauchy): the tail of times on a network is heavier than that of own
 * time, unless the job shows that it is not (measure_tail).
 */
static const double TAIL = 1;
/* Two kinds of hypothesis: slow in a set of steps, slow in all steps. */
enum { KINDS = 2 };
/* From as many sisters on, a group is compared with most of them; of fewer, with the fastest. */
enum { LEAST_OTHER_GROUPS = 3 };
/*
 * What is slower than its sisters in all steps needs this part of the logarithm of network_limits.times if
 * they are alike (likelihood_apart), because slow moments do not last so long.
 */
static const double STEADY_PART = 0.5;
/*
 * The least spread of the logarithm of a transfer time: clocks and kernels do not measure a short transfer
 * more exactly than this, although the same few digits may repeat in most steps.
 */
static const double LEAST_SPREAD = 0.02;

/* -------------------- scores -------------------- */

static const double *row_of(const struct transfer_groups *groups, size_t group, int is_steady)
{
    return (is_steady ? groups->ratio : groups->beyond) + group * (size_t)groups->steps;
}

/* The end of the family that begins with this group. */
static size_t family_end(const struct transfer_groups *groups, size_t first)
{
    size_t end = first;
    while (end < groups->count && groups->items[end].family == groups->items[first].family)
        end++;
    return end;
}

/* The median distance between the values of a family that are `lag` steps apart, as a standard deviation. */
static double spread_at(const struct transfer_groups *groups, size_t first, size_t end, int is_steady,
                        int32_t lag, double *list)
{
    size_t known = 0;
    for (size_t group = first; group < end; group++) {
        const double *row = row_of(groups, group, is_steady);
        for (int32_t step = lag; step < groups->steps; step++)
            if (!isnan(row[step]) && !isnan(row[step - lag]))
                list[known++] = fabs(row[step] - row[step - lag]);
    }
    return known ? SIGMA_OF_DISTANCE * select_real(list, known, known / 2) / sqrt(2) : INFINITY;
}

/* Steps are compared with those up to this many before them. */
enum { MOST_LAG = 7 };

/*
 * The spread of a family: the least one of the differences between steps at one distance, so that neither a
 * fault that begins or ends once counts, nor one that recurs.
 */
static void measure_spread(struct transfer_groups *groups, size_t first, size_t end, int is_steady,
                           double *list)
{
    double least = INFINITY;
    for (int32_t lag = 1; lag <= MOST_LAG; lag++) {
        double spread = spread_at(groups, first, end, is_steady, lag, list);
        least = spread < least ? spread : least;
    }
    for (size_t group = first; group < end; group++)
        groups->items[group].spread[is_steady] =
            isfinite(least) && least > LEAST_SPREAD ? least : LEAST_SPREAD;
}

/* Whether the transfer of a group is that of a pair: a receiver that is late by itself makes it longer. */
static int is_pair(const struct transfer_groups *groups, const struct transfer_group *item)
{
    return item->kind == TRANSFER_GROUP && groups->job->instances[item->instance].function == FUNCTION_SEND;
}

/* Of `others` sorted levels of sisters, the one to compare with. */
static size_t level_to_compare(enum transfer_kind kind, size_t others)
{
    if (kind != TRANSFER_GROUP)
        return (others - 1) / 2;
    return others < LEAST_OTHER_GROUPS ? 0 : (others * 3 + 3) / 4 - 1;
}

/* The sums of the known levels of a family. */
struct levels {
    size_t count;
    double sum;
    double squares;
};

/* Lists them, sorted. */
static struct levels list_levels(const struct transfer_groups *groups, size_t first, size_t end, double *list)
{
    struct levels levels = {0};
    for (size_t group = first; group < end; group++) {
        double level = groups->items[group].level;
        if (isnan(level))
            continue;
        list[levels.count++] = level;
        levels.sum += level;
        levels.squares += level * level;
    }
    sort_reals(list, levels.count);
    return levels;
}

/* The log likelihood ratio for a level that is beyond those of its sisters, given how these differ. */
static double likelihood_apart(const struct levels *levels, double level)
{
    double others = (double)levels->count - 1, mean = (levels->sum - level) / others;
    double variance = (levels->squares - level * level - others * mean * mean) / (others - 1);
    double sigmas = (level - mean) / fmax(sqrt(fmax(variance, 0)), LEAST_SPREAD);
    return sigmas > 0 ? others / 2 * log1p(sigmas * sigmas / (others - 1)) : 0;
}

/*
 * By how much each group of a family is slower than its sisters in all steps: its level minus the lower
 * median of theirs, if that is above 0, because groups also differ by design. As many as half of them may
 * be slow: those that cross a switch. Without network steps, minus the upper quartile: groups of ranks may
 * wait for other reasons. Of one or two sisters, minus that of the faster: it shows what the network can do.
 */
static void compare_levels(struct transfer_groups *groups, size_t first, size_t end, double *list)
{
    struct levels levels = list_levels(groups, first, end, list);
    size_t others = levels.count ? levels.count - 1 : 0;
    for (size_t group = first; group < end; group++) {
        struct transfer_group *item = &groups->items[group];
        int is_few = item->kind == TRANSFER_GROUP && others < LEAST_OTHER_GROUPS;
        item->apart = NAN;
        item->outlier = 0;
        if (others < LEAST_OTHERS || isnan(item->level) || (is_few && is_pair(groups, item)))
            continue;
        size_t middle = level_to_compare(item->kind, others);
        item->apart = item->level - fmax(list[item->level <= list[middle] ? middle + 1 : middle], 0);
        if (others >= LEAST_OTHER_GROUPS && !is_pair(groups, item))
            item->outlier = likelihood_apart(&levels, item->level);
    }
}

/* In a normal distribution, the median is this many sigma above the lower quartile. */
static const double QUARTILE = 0.6745;

/* The lower quartile of the known values of a row; NAN: too few. */
static double quartile_of(const double *row, int32_t steps, double *list)
{
    size_t known = 0;
    for (int32_t step = 0; step < steps; step++)
        if (!isnan(row[step]))
            list[known++] = row[step];
    return known >= LEAST_KNOWN ? select_real(list, known, known / 4) : NAN;
}

/*
 * The lowest median of LEAST_KNOWN consecutive values of a row: what is usual where a fault covers more than
 * three quarters of the steps. INFINITY: too few.
 */
static double lowest_of(const double *row, int32_t steps)
{
    double lowest = INFINITY, list[LEAST_KNOWN];
    for (int32_t first = 0; first + LEAST_KNOWN <= steps; first++) {
        size_t known = 0;
        for (int32_t step = first; step < first + LEAST_KNOWN; step++)
            if (!isnan(row[step]))
                list[known++] = row[step];
        sort_reals(list, known);
        if (known == LEAST_KNOWN && list[LEAST_KNOWN / 2] < lowest)
            lowest = list[LEAST_KNOWN / 2];
    }
    return lowest;
}

/* Noise hardly takes the median of some steps this many sigma below the quartile. */
static const double BELOW_QUARTILE = 4;

/* Takes the level of a group, and moves the steps in which it is not slow to about 0. */
static void scale_rows(struct transfer_groups *groups, size_t group, double *list)
{
    double *row = groups->beyond + group * (size_t)groups->steps;
    double usual = quartile_of(row, groups->steps, list), lowest = lowest_of(row, groups->steps);
    if (lowest < usual - BELOW_QUARTILE * groups->items[group].spread[0])
        usual = lowest;
    groups->items[group].level = quartile_of(row_of(groups, group, 1), groups->steps, list);
    for (int32_t step = 0; step < groups->steps; step++)
        row[step] -= usual + QUARTILE * groups->items[group].spread[0];
}

static void measure_families(struct transfer_groups *groups, double *list)
{
    for (size_t first = 0, end; first < groups->count; first = end) {
        end = family_end(groups, first);
        for (int is_steady = 0; is_steady < KINDS; is_steady++)
            measure_spread(groups, first, end, is_steady, list);
        for (size_t group = first; group < end; group++)
            scale_rows(groups, group, list);
        compare_levels(groups, first, end, list);
    }
}

static double *scaled_row(const struct transfer_groups *groups, size_t group, int is_steady)
{
    const double *values = row_of(groups, group, is_steady);
    double *row = array_new((size_t)groups->steps + 1, sizeof *row);
    for (int32_t step = 0; row && step < groups->steps; step++)
        row[step] = values[step] / groups->items[group].spread[is_steady];
    return row;
}

/* A thread is worth it for this many groups. */
enum { GROUPS_A_THREAD = 8 };

/* The groups whose sets of steps are searched, and the least score. */
struct set_search {
    struct transfer_groups *groups;
    double least;
};

static int find_sets_of(void *context, size_t worker, size_t first, size_t end)
{
    const struct set_search *search = context;
    const struct transfer_groups *groups = search->groups;
    double least = search->least;
    for (size_t group = first; group < end; group++) {
        struct step_set *best = &groups->items[group].best;
        double *row = best->score > least ? scaled_row(groups, group, 0) : NULL;
        if (best->score <= least)
            continue;
        *best = (struct step_set){.score = 0};
        int failed =
            !row || scan_row(row, groups->job->step_numbers, groups->steps, groups->items[group].tail, best);
        free(row);
        if (failed)
            return -1;
    }
    return 0;
}

/* Finds the best set of steps of each group whose score is above `least`. */
static int find_sets(struct transfer_groups *groups, double least)
{
    struct set_search search = {groups, least};
    size_t threads = parallel_threads(job_threads(groups->job), groups->count, GROUPS_A_THREAD);
    return parallel_for(groups->count, 1, threads, find_sets_of, &search);
}

/* A family with fewer groups than this is controlled by the others: some of its groups may be at fault. */
enum { LEAST_CONTROLS = 4 };

/* The best score of a group outside the steps of `left_out`, with the spread times `factor`. */
static int score_outside(const struct transfer_groups *groups, size_t group, const struct step_set *left_out,
                         double factor, double *score)
{
    struct step_set best = {.score = 0};
    double *row = scaled_row(groups, group, 0);
    for (int32_t step = 0; row && step < groups->steps; step++)
        row[step] = step_set_has(left_out, step) ? NAN : row[step] / factor;
    int failed = !row || scan_row(row, groups->job->step_numbers, groups->steps, TAIL, &best);
    free(row);
    *score = best.score;
    return failed;
}

/* The spread of the noise is found in as many attempts. */
enum { ATTEMPTS = 4 };

/*
 * Genomic control, as for own time (score.h), by family: networks vary for longer than links inside a host.
 * Finds the factor by which the spread has to be greater for the best scores outside the steps of `left_out`
 * to be what independent noise has: what is slow in these steps may be at fault. A score grows with the
 * square of a value over the spread. -1 when memory runs out.
 */
static int find_factor(const struct transfer_groups *groups, size_t first, size_t end,
                       const struct step_set *left_out, double *list, double *factor)
{
    size_t stride = (end - first + MOST_SAMPLED - 1) / MOST_SAMPLED;
    double times = INFINITY;
    *factor = 1;
    for (int attempt = 0; attempt < ATTEMPTS && times > 1; attempt++) {
        size_t count = 0;
        for (size_t group = first; group < end; group += stride)
            if (score_outside(groups, group, left_out, *factor, &list[count++]))
                return -1;
        sort_reals(list, count);
        times = list[(count - 1) / 2] / scan_expected(groups->steps);
        *factor *= times > 1 ? sqrt(times) : 1;
    }
    return 0;
}

/* The logarithm of the density of Student's t with the tail of own time over that with TAIL, at a value. */
static double lighter_at(double value)
{
    static const double at_zero = 0.105; /* log(1 / sqrt(8)) - log(1 / pi) */
    return at_zero + log1p(value * value) - 1.5 * log1p(value * value / SCAN_TAIL_OWN);
}

/*
 * The tail of a family: that of own time, if the steps outside `left_out` show it with odds of 20 to 1. Most
 * networks have rare times that are far longer than others; a family without any needs less evidence. Not
 * without network steps: a late rank makes transfers of other groups slow.
 */
static void measure_tail(struct transfer_groups *groups, size_t first, size_t end,
                         const struct step_set *left_out, double least)
{
    double odds = 0;
    for (size_t group = first; group < end; group++)
        for (int32_t step = 0; step < groups->steps; step++) {
            double value = row_of(groups, group, 0)[step] / groups->items[group].spread[0];
            if (!step_set_has(left_out, step) && !isnan(value))
                odds += lighter_at(value);
        }
    for (size_t group = first; group < end; group++)
        groups->items[group].tail =
            groups->items[group].kind != TRANSFER_GROUP && odds >= least ? SCAN_TAIL_OWN : TAIL;
}

static int correct_spreads(struct transfer_groups *groups, const struct step_set *left_out, double least,
                           double *list)
{
    double most = 1;
    for (size_t first = 0, end; first < groups->count; first = end) {
        double factor;
        end = family_end(groups, first);
        if (find_factor(groups, first, end, left_out, list, &factor))
            return -1;
        most = end - first >= LEAST_CONTROLS && factor > most ? factor : most;
        for (size_t group = first; group < end; group++)
            groups->items[group].factor = end - first < LEAST_CONTROLS ? 0 : factor;
    }
    for (size_t group = 0; group < groups->count; group++)
        groups->items[group].spread[0] *=
            groups->items[group].factor > 0 ? groups->items[group].factor : most;
    for (size_t first = 0, end; first < groups->count; first = end) {
        end = family_end(groups, first);
        measure_tail(groups, first, end, left_out, least);
    }
    return 0;
}

static int allocate(struct transfer_groups *groups)
{
    size_t cells = groups->count * (size_t)groups->steps + 1;
    groups->ratio = array_new(cells, sizeof *groups->ratio);
    groups->beyond = array_new(cells, sizeof *groups->beyond);
    groups->over_ns = array_new(cells, sizeof *groups->over_ns);
    return groups->ratio && groups->beyond && groups->over_ns ? 0 : -1;
}

int transfer_groups_init(struct transfer_groups *groups, const struct job *job, int32_t first_step,
                         const struct edges *edges, struct told_transfers told)
{
    *groups = (struct transfer_groups){
        .job = job, .edges = edges, .told = told, .steps = job->step_count, .first_step = first_step};
    if (transfer_groups_find(groups))
        return -1;
    if (!groups->count)
        return 0;
    if (allocate(groups) || transfer_groups_measure(groups))
        return -1;
    double *list = array_new(groups->count * (size_t)groups->steps + 1, sizeof *list);
    int failed = !list;
    if (!failed)
        measure_families(groups, list);
    for (size_t group = 0; group < groups->count; group++) {
        groups->items[group].best.score = INFINITY;
        groups->items[group].tail = TAIL;
    }
    failed = failed || find_sets(groups, 0);
    free(list);
    return failed ? -1 : 0;
}

void transfer_groups_release(struct transfer_groups *groups)
{
    partitions_release(&groups->partitions);
    free(groups->items);
    free(groups->of_instance);
    free(groups->of_sender);
    free(groups->of_receiver);
    free(groups->ratio);
    free(groups->beyond);
    free(groups->over_ns);
    *groups = (struct transfer_groups){0};
}

/* The penalty for choosing among sets of steps, in log odds. */
static double penalty_of(const struct transfer_groups *groups, int is_steady)
{
    return is_steady ? 0 : scan_sets(groups->steps);
}

/* The number of runs of steps that are by far longer than usual. */
static size_t count_longer_runs(const struct transfer_groups *groups, const signed char *longer)
{
    size_t runs = 0;
    for (int32_t step = groups->first_step; step < groups->steps; step++)
        runs += longer[step] > 0 && (step == groups->first_step || longer[step - 1] <= 0);
    return runs;
}

/* Whether a set has all steps that are by far longer, two at least, and perhaps some of unknown duration. */
static int is_all_longer(const struct transfer_groups *groups, const signed char *longer,
                         const struct step_set *set)
{
    int32_t count = 0;
    for (int32_t step = groups->first_step; step < groups->steps; step++) {
        int has = step_set_has(set, step);
        if (has ? !longer[step] : longer[step] > 0)
            return 0;
        count += has && longer[step] > 0;
    }
    return count > 1;
}

/*
 * Whether a set is such a run, of two steps at least, and perhaps a step beside it whose duration is not
 * known; or, if other steps lie between its steps, whether it has all such runs.
 */
static int is_longer_run(const struct transfer_groups *groups, const signed char *longer,
                         const struct step_set *set)
{
    int32_t count = 0;
    if (longer && (set->period != 1 || set->marks))
        return is_all_longer(groups, longer, set);
    if (!longer || (set->first > 0 && longer[set->first - 1] > 0) ||
        (set->last + 1 < groups->steps && longer[set->last + 1] > 0))
        return 0;
    for (int32_t step = set->first; step <= set->last; step++) {
        if (!longer[step])
            return 0;
        count += longer[step] > 0;
    }
    return count > 1;
}

/* The log odds of a score. The durations of steps leave less choice among sets than there are. */
static double certainty_of(const struct transfer_groups *groups, const struct network_limits *least,
                           int is_steady, const struct step_set *set, double score)
{
    double penalty = !is_steady && is_longer_run(groups, least->longer, set)
                         ? log((double)count_longer_runs(groups, least->longer))
                         : penalty_of(groups, is_steady);
    return score - penalty - log((double)groups->count * KINDS);
}

/* Scores the steps of `set` for a group. Returns -1 when memory runs out. */
static int score_of(const struct transfer_groups *groups, size_t group, int is_steady, struct step_set *set)
{
    double *row = scaled_row(groups, group, is_steady);
    if (row)
        scan_set(row, groups->items[group].tail, set);
    free(row);
    return row ? 0 : -1;
}

/* -------------------- the search -------------------- */

int slow_network_init(struct slow_network *found, const struct transfer_groups *groups)
{
    *found =
        (struct slow_network){.has = array_new(groups->count + 1, sizeof *found->has),
                              .scores = array_new(groups->count + 1, sizeof *found->scores),
                              .may = array_new(groups->job->rank_count + 1, sizeof *found->may),
                              .edge_excess = array_new(groups->edges->count + 1, sizeof *found->edge_excess)};
    return found->has && found->scores && found->may && found->edge_excess ? 0 : -1;
}

void slow_network_release(struct slow_network *found)
{
    free(found->has);
    free(found->scores);
    free(found->may);
    free(found->edge_excess);
    *found = (struct slow_network){0};
}

double transfer_groups_middle(const struct transfer_groups *groups, size_t group, int is_steady,
                              const struct step_set *set, double *list)
{
    const double *row = row_of(groups, group, is_steady);
    size_t known = 0;
    for (int32_t step = set->first; step <= set->last; step++)
        if (step_set_has(set, step) && !isnan(row[step]))
            list[known++] = row[step];
    return known ? select_real(list, known, (known - 1) / 2) : NAN;
}

/* As many quiet steps are a past to compare with. */
enum { STEPS_OF_PAST = 3 };

/*
 * The steps of a fault in all steps, without those at both ends in which it is less than half as slow, where
 * they are enough for a past: it is then in some steps only.
 */
static struct step_set steady_steps(const struct transfer_groups *groups, size_t group)
{
    const double *row = row_of(groups, group, 1);
    double least = groups->items[group].level / 2;
    struct step_set all = {.first = groups->first_step, .last = groups->steps - 1, .period = 1}, steps = all;
    while (steps.first < steps.last && !(row[steps.first] >= least))
        steps.first++;
    while (steps.first < steps.last && !(row[steps.last] >= least))
        steps.last--;
    return step_set_count(&steps) + STEPS_OF_PAST <= step_set_count(&all) ? steps : all;
}

/*
 * Whether a group is slow in every step: at least half as slow as it usually is. What is wrong with a link
 * since the start slows down all that it carries; the times of a healthy link vary with the load beside it.
 */
static int is_slow_in_all(const struct transfer_groups *groups, size_t group, const struct step_set *set)
{
    const double *row = row_of(groups, group, 1);
    double least = groups->items[group].level / 2;
    for (int32_t step = set->first; step <= set->last; step++)
        if (step_set_has(set, step) && row[step] < least)
            return 0;
    return 1;
}

/* By how much a group must be apart to be slow in all steps. `choices`: the groups that it is chosen from. */
static double least_apart(const struct transfer_group *item, double choices,
                          const struct network_limits *least)
{
    return log(least->times) * (item->outlier - log(choices) >= least->certainty ? STEADY_PART : 1);
}

/* Whether a group is slow enough in these steps to be told. */
static int is_slow(const struct transfer_groups *groups, size_t group, int is_steady,
                   const struct step_set *set, const struct network_limits *least, double *list)
{
    if (is_steady)
        return groups->items[group].apart >=
                   least_apart(&groups->items[group], (double)groups->count * KINDS, least) &&
               is_slow_in_all(groups, group, set);
    return transfer_groups_middle(groups, group, 0, set, list) > 0;
}

/*
 * Whether a group is slow enough to go with one that is slow in all steps. What makes that one slow may slow
 * down other communicators less, where it is a smaller part of their way.
 */
static int goes_along(const struct transfer_groups *groups, size_t group, const struct step_set *set,
                      const struct network_limits *least)
{
    const struct transfer_group *item = &groups->items[group];
    double part = item->kind == TRANSFER_GROUP && !is_pair(groups, item) ? STEADY_PART : 1;
    return item->apart >= least_apart(item, 1, least) * part &&
           (part >= 1 || is_slow_in_all(groups, group, set));
}

static void keep_best(struct slow_network *best, size_t group, int is_steady, const struct step_set *set,
                      double certainty)
{
    if (certainty <= best->certainty)
        return;
    best->certainty = certainty;
    best->steps = *set;
    best->is_steady = is_steady;
    best->group = group;
}

/* The most certain of the groups that were not returned yet. `list` has room for all steps and groups. */
static int find_best(const struct transfer_groups *groups, const struct network_limits *least, double *list,
                     struct slow_network *best)
{
    best->certainty = 0;
    for (size_t group = 0; group < groups->count; group++) {
        const struct transfer_group *item = &groups->items[group];
        struct step_set all = steady_steps(groups, group);
        if (is_slow(groups, group, 1, &all, least, list)) {
            if (score_of(groups, group, 1, &all))
                return -1;
            keep_best(best, group, 1, &all, certainty_of(groups, least, 1, &all, all.score));
        }
        if (item->best.period && is_slow(groups, group, 0, &item->best, least, list))
            keep_best(best, group, 0, &item->best,
                      certainty_of(groups, least, 0, &item->best, item->best.score));
    }
    return 0;
}

/* Collects the groups that were slow in the same steps, which pay no penalty for their choice again. */
static int gather(const struct transfer_groups *groups, const struct network_limits *least, double *list,
                  struct slow_network *found)
{
    for (size_t group = 0; group < groups->count; group++) {
        struct step_set set = found->steps;
        found->scores[group] = 0;
        found->has[group] = 0;
        if (found->is_steady ? !goes_along(groups, group, &set, least)
                             : !is_slow(groups, group, 0, &set, least, list))
            continue;
        if (score_of(groups, group, found->is_steady, &set))
            return -1;
        found->scores[group] = set.score;
        found->has[group] = group == found->group ||
                            found->scores[group] - log((double)groups->count * KINDS) >= least->certainty;
    }
    return 0;
}

static double over_ns(const struct transfer_groups *groups, size_t group, int32_t step)
{
    return groups->over_ns[group * (size_t)groups->steps + (size_t)step];
}

/* Whether a group took half as much longer in another step. */
static int is_repeated(const struct transfer_groups *groups, size_t group, int32_t at)
{
    for (int32_t step = 0; step < groups->steps; step++)
        if (step != at && over_ns(groups, group, step) * 2 >= over_ns(groups, group, at))
            return 1;
    return 0;
}

/*
 * Finds the group and the step in which a transfer took longer by most, and by pause_ns: that needs no other
 * step as evidence. With it go the groups that took half as much longer. If `only_once`, in no other step.
 * Returns whether there is one.
 */
static int find_moment(const struct transfer_groups *groups, const struct network_limits *least,
                       int only_once, struct slow_network *found)
{
    double most_ns = 0;
    for (size_t group = 0; group < groups->count; group++)
        for (int32_t step = 0; step < groups->steps; step++)
            if (over_ns(groups, group, step) > most_ns) {
                most_ns = over_ns(groups, group, step);
                found->group = group;
                found->steps = (struct step_set){.first = step, .last = step, .period = 1};
            }
    if (most_ns <= 0 || most_ns < least->pause_ns ||
        (only_once && is_repeated(groups, found->group, found->steps.first)))
        return 0;
    found->is_steady = 0;
    found->certainty = 0;
    for (size_t group = 0; group < groups->count; group++) {
        found->scores[group] = 0;
        found->has[group] = over_ns(groups, group, found->steps.first) * 2 >= most_ns;
    }
    return 1;
}

/*
 * How many times as slow the most certain group was, in the least slow step of the set, as groups that were
 * not slow in these steps, or as any group in other steps.
 */
static double measure_ahead(const struct transfer_groups *groups, const struct slow_network *found)
{
    double least = INFINITY, others = 0;
    for (size_t group = 0; group < groups->count; group++)
        for (int32_t step = groups->first_step; step < groups->steps; step++) {
            double value = row_of(groups, group, 0)[step];
            int is_in = step_set_has(&found->steps, step);
            if (group == found->group && is_in)
                least = value < least ? value : least;
            else if (!is_in || !found->has[group])
                others = value > others ? value : others;
        }
    return others > 0 ? least / others : INFINITY;
}

/* Finds the most certain set of steps. Returns 1 if there is one, 0 if not, -1 when memory runs out. */
static int find_set(struct transfer_groups *groups, const struct network_limits *least, double *list,
                    struct slow_network *found)
{
    if (find_best(groups, least, list, found))
        return -1;
    if (!found->is_steady && found->certainty >= least->certainty &&
        (correct_spreads(groups, &found->steps, least->certainty, list) ||
         find_sets(groups, least->certainty + penalty_of(groups, 0)) ||
         find_best(groups, least, list, found)))
        return -1;
    if (found->certainty < least->certainty)
        return 0;
    if (gather(groups, least, list, found))
        return -1;
    found->ahead = found->is_steady ? 0 : measure_ahead(groups, found);
    return 1;
}

int slow_groups_next(struct transfer_groups *groups, const struct network_limits *least,
                     struct slow_network *found)
{
    found->is_moment = find_moment(groups, least, 1, found);
    if (found->is_moment)
        return 1;
    double *list = array_new(groups->count + (size_t)groups->steps + 1, sizeof *list);
    int is_found = list ? find_set(groups, least, list, found) : -1;
    free(list);
    found->is_moment = !is_found && find_moment(groups, least, 0, found);
    return is_found ? is_found : found->is_moment;
}

double slow_groups_excess(const struct transfer_groups *groups, const struct slow_network *found,
                          size_t instance)
{
    int32_t group = groups->of_instance[instance], step = groups->job->instances[instance].step;
    if (group < 0 || !found->has[group] || !step_set_has(&found->steps, step))
        return 0;
    double excess = row_of(groups, (size_t)group, found->is_steady)[step];
    return excess > 0 ? excess : 0;
}
