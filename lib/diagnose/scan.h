#ifndef NCCLPROF_DIAGNOSE_SCAN_H
#define NCCLPROF_DIAGNOSE_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct edges;
struct job;

/* -------------------- scan.c -------------------- */

/*
 * How well a fault in some steps explains a row of residuals, one per step, in units of the standard
 * deviation of the noise: the sum over its steps of log(t(y - m) / t(y)), where t is the density of Student's
 * t and m the size of the fault; or, for a fault whose size differs from step to step (a data loader), the
 * log of the mean ratio over all sizes. The power-law tail of t limits what a single step can contribute (a
 * step of 30 sigma contributes as much as 1.5 log 450); steps add up.
 *
 * The candidate sets are all intervals, and for every period and phase all runs of consecutive occurrences. A
 * set needs at least three steps that support the fault; one or two steps are left to other tests. A set must
 * also leave at least a quarter of the steps as a baseline.
 */
struct step_set {
    double score; /* 0: there is no set */
    double size;  /* size of the fault, m; the mean of its steps where it differs from step to step */
    int32_t first;
    int32_t last;
    int32_t period;         /* 1: an interval; N: every Nth step */
    const int32_t *numbers; /* borrowed: number of each step, by which periods are counted; NULL: the index of
                               the step */
    const unsigned char *marks; /* borrowed: [step], 1: belongs to the set; NULL: all that `period` says */
};

/* Whether `step` is a multiple of `period` away from `first`. Steps with number -1 never recur. */
static inline int step_recurs(const int32_t *numbers, int32_t first, int32_t step, int32_t period)
{
    if (!numbers || period < 2)
        return (step - first) % period == 0;
    return numbers[first] >= 0 && numbers[step] >= 0 && (numbers[step] - numbers[first]) % period == 0;
}

/* Whether a step belongs to a set; below, the number of steps that do. */
static inline int step_set_has(const struct step_set *set, int32_t step)
{
    return step >= set->first && step <= set->last && (!set->marks || set->marks[step]) &&
           step_recurs(set->numbers, set->first, step, set->period);
}

static inline int32_t step_set_count(const struct step_set *set)
{
    int32_t count = 0;
    if (!set->numbers && !set->marks)
        return (set->last - set->first) / set->period + 1;
    for (int32_t step = set->first; step <= set->last; step++)
        count += step_set_has(set, step);
    return count;
}

/*
 * Finds the best set of a row. Unknown residuals are NAN. `numbers`, ascending except for entries of -1, are
 * the numbers by which periods are counted (struct step_set); NULL: the index of the step. `tail` is the
 * degrees of freedom of t. Returns -1 when memory runs out.
 */
int scan_row(const double *row, const int32_t *numbers, int32_t steps, double tail, struct step_set *best);

/*
 * Finds the steps in which a row exceeds `greatest`, the greatest value of all other rows, `rows` with this
 * one: single steps have no repetition as evidence, only that they are the greatest of all. Returns the
 * logarithm of the odds against that, if the greatest values of all rows follow a power law (`tail`) and each
 * row has as many of them: an excess of S, the sum of log(value / greatest) over k separate runs of steps,
 * has a chance of the upper tail of a gamma distribution, and that all are of one row, rows^(1 - k). Fills in
 * `marks`, one per step, and the set.
 */
double scan_peaks(const double *row, int32_t steps, double greatest, size_t rows, double tail,
                  unsigned char *marks, struct step_set *set);

/*
 * Whether most steps of an interval are late by half of its mean: otherwise single steps decide it. `list` is
 * scratch: a value per step.
 */
int scan_is_lasting(const double *row, const struct step_set *set, double *list);

/* Scores the steps of `set` in another row, with the best size. Fills in set->score and set->size. */
void scan_set(const double *row, double tail, struct step_set *set);

/*
 * What a set of `row` is worth when the noise of consecutive steps is related: the speed of a host wanders,
 * so its steps are late or early for a while. `rows` are those of units that are not at fault; if there are
 * fewer than three, the other steps of `row` count as well, and alone if there are fewer than two. The mean
 * of n steps of them spreads by s instead of by 1 / sqrt(n), so the n steps say as much as n / (n s^2)
 * independent ones (the variance ratio: Lo and MacKinlay, 1988). Returns the score of `set` for that many
 * steps or, if that is more, the score of its mean as a single value with the spread s; 0 if nothing tells s.
 * Not changed are sets that recur, and those whose mean is ahead-many times the greatest mean of as many
 * steps of any row at another time (where there are as many other steps). `list` has room for (`count` + 1) *
 * `steps` values.
 */
double scan_related_score(const double *row, const struct step_set *set, const double *rows, size_t count,
                          int32_t steps, double tail, double *list);

/* As many rows tell how noise is related from step to step. */
enum { MOST_SAMPLED = 64 };

/*
 * Degrees of freedom of Student's t for own time: in recordings of healthy jobs the tails fall with the
 * square of the excess, by Hill's estimate.
 */
#define SCAN_TAIL_OWN 2.0
/*
 * Of several ranks that are slow together: their median exceeds a value if half of them do, so its tail falls
 * with the square of the chance for one rank.
 */
#define SCAN_TAIL_SEVERAL 4.0

/* Returns the logarithm of the number of candidate sets in this many steps. */
double scan_sets(int32_t steps);

/* Returns the median of the best score of a row of independent t residuals. */
double scan_expected(int32_t steps);

/* -------------------- partitions.c -------------------- */

/*
 * What may be at fault as a unit: one rank, or ranks that share a host, a network card or a switch. A
 * partition assigns each rank of the job to one unit of its kind.
 */
enum unit_kind {
    UNIT_RANK = 0,
    UNIT_HOST, /* ranks on one host, by the traces */
    UNIT_BLOCK /* ranks with consecutive numbers and no network edge between them: a host or part of one */
};

struct partition {
    enum unit_kind kind;
    int is_host; /* its units are hosts: UNIT_HOST, or where the traces do not tell hosts, the largest blocks
                    without a network edge, if larger ones have some */
    size_t count;
    size_t *first;  /* owned: index in `ranks` of the first member of each unit; one extra entry at the end */
    int32_t *ranks; /* owned: job ranks, sorted by unit */
    int32_t *unit_of; /* owned: unit of each rank */
    int32_t *within;  /* owned: per communicator, the unit that all its ranks belong to; -1: several units */
};

enum { MOST_PARTITIONS = 16 };

struct partitions {
    struct partition *items; /* owned: single ranks first, then larger units */
    size_t count;
};

/*
 * Makes one partition of single ranks, one of hosts if the job has several, and partitions of blocks of 2, 4,
 * 8 and more ranks, up to half of the job, as long as no network edge lies within a block. Returns -1 when
 * memory runs out; release it in that case too.
 */
int partitions_init(struct partitions *partitions, const struct job *job, const struct edges *edges);
void partitions_release(struct partitions *partitions);

/* Hosts where they are known; else the largest blocks of ranks without a network edge inside. */
const struct partition *partitions_hosts(const struct partitions *partitions);

static inline size_t unit_size(const struct partition *partition, size_t unit)
{
    return partition->first[unit + 1] - partition->first[unit];
}

#endif
