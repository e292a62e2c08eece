/*
 * Sums the excess of each unit (place_matrix.c) over the places of a step, which gives the residuals that
 * explain_search.c scans for faults. Also computes what a given fault takes at each operation.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/place_distance.h"
#include "diagnose/rule.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums for one matrix. */
struct sums {
    int64_t *apart_ns; /* [unit * steps + step]: own time minus that of the others, sum over all places */
    int32_t *known;    /* same index: number of places that count for single steps */
    int64_t *spare_ns; /* same index: lateness of the host that no excess of the step has shown yet */
    int64_t *list;     /* scratch: one value per step or per unit */
    struct distance *distances; /* [unit * positions + position], of single ranks and hosts; else NULL */
    size_t positions;
};

static int sums_init(struct sums *sums, const struct place_matrix *matrix, size_t positions)
{
    int has_distances = matrix->partition->kind == UNIT_RANK || matrix->partition->is_host;
    size_t cells = matrix->units * matrix->steps;
    size_t longest = matrix->units > matrix->steps ? matrix->units : matrix->steps;
    *sums = (struct sums){.apart_ns = array_new(cells, sizeof *sums->apart_ns),
                          .known = array_new(cells, sizeof *sums->known),
                          .spare_ns = array_new(cells, sizeof *sums->spare_ns),
                          .list = array_new(longest, sizeof *sums->list),
                          .positions = positions};
    if (has_distances)
        sums->distances = array_new(matrix->units * positions + 1, sizeof *sums->distances);
    return sums->apart_ns && sums->known && sums->spare_ns && sums->list &&
                   (!has_distances || sums->distances)
               ? 0
               : -1;
}

static void sums_release(struct sums *sums)
{
    free(sums->apart_ns);
    free(sums->known);
    free(sums->spare_ns);
    free(sums->list);
    free(sums->distances);
}

static int residual_matrix_init(struct residual_matrix *residuals, const struct place_matrix *matrix,
                                const struct place_matrix_source *source, int32_t positions)
{
    size_t cells = matrix->units * matrix->steps;
    int is_compared = place_matrix_is_compared(matrix, source);
    size_t middles = is_compared ? (size_t)positions * matrix->steps : 0;
    *residuals =
        (struct residual_matrix){.units = matrix->units,
                                 .is_compared = is_compared,
                                 .unit = array_new(matrix->units, sizeof *residuals->unit),
                                 .beyond = array_new(cells, sizeof *residuals->beyond),
                                 .more = array_new(cells, sizeof *residuals->more),
                                 .host = array_new(cells, sizeof *residuals->host),
                                 .late = array_new(cells, sizeof *residuals->late),
                                 .late_sigma = array_new(matrix->units, sizeof *residuals->late_sigma),
                                 .late_beyond = array_new(cells, sizeof *residuals->late_beyond),
                                 .gpu = array_new(cells, sizeof *residuals->gpu),
                                 .lead = array_new(cells, sizeof *residuals->lead),
                                 .level = array_new(matrix->units, sizeof *residuals->level),
                                 .middles = array_new(middles, sizeof *residuals->middles),
                                 .late_middles = array_new(middles, sizeof *residuals->late_middles)};
    if (!residuals->unit || !residuals->beyond || !residuals->more || !residuals->host || !residuals->late ||
        !residuals->late_sigma || !residuals->late_beyond || !residuals->gpu || !residuals->lead ||
        !residuals->level || !residuals->middles || !residuals->late_middles)
        return -1;
    for (size_t unit = 0; unit < matrix->units; unit++)
        residuals->unit[unit] = matrix->unit[unit];
    return 0;
}

void residual_matrix_release(struct residual_matrix *residuals)
{
    free(residuals->unit);
    free(residuals->beyond);
    free(residuals->more);
    free(residuals->host);
    free(residuals->late);
    free(residuals->late_sigma);
    free(residuals->late_beyond);
    free(residuals->gpu);
    free(residuals->lead);
    free(residuals->level);
    free(residuals->middles);
    free(residuals->late_middles);
    *residuals = (struct residual_matrix){0};
}

static int64_t late_part(const struct place_matrix *matrix, int64_t late_ns, int64_t excess_ns)
{
    return matrix->times->within || late_ns > excess_ns ? excess_ns : late_ns;
}

/*
 * The part of an excess in a step that is the host's. A host that is late delays all GPU work that follows,
 * which may show after a later operation that is already queued: what the lateness exceeds the excess by
 * explains later excess of the step.
 */
static int64_t part_of_host(const struct place_matrix *matrix, int64_t late_ns, int64_t excess_ns,
                            int64_t *spare_ns)
{
    int64_t part_ns = *spare_ns < excess_ns ? *spare_ns : excess_ns;
    if (place_matrix_lateness_is(matrix, late_ns, excess_ns)) {
        part_ns = late_part(matrix, late_ns, excess_ns);
        *spare_ns += late_ns > excess_ns ? late_ns - excess_ns : 0;
    } else
        *spare_ns -= part_ns;
    return part_ns;
}

/*
 * The part of the operation before a place beside which its ranks compute: what they stay longer in it, they
 * compute less after it. This is the slope of own time by the duration of the operation before, about the
 * means of each rank; from 0 to 1, and 1 if the trace does not tell.
 */
static double part_beside(const struct place_times *times)
{
    double squares = 0, products = 0;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        double own = 0, stay = 0, known = 0;
        for (size_t cell = rank * times->steps; cell < (rank + 1) * times->steps; cell++)
            if (times->own[cell] != TIME_UNKNOWN) {
                own += (double)times->own[cell];
                stay += (double)(times->pace[cell] - times->own[cell]);
                known++;
            }
        for (size_t cell = rank * times->steps; cell < (rank + 1) * times->steps; cell++)
            if (times->own[cell] != TIME_UNKNOWN) {
                double longer = (double)(times->pace[cell] - times->own[cell]) - stay / known;
                squares += longer * longer;
                products += longer * ((double)times->own[cell] - own / known);
            }
    }
    return squares > 0 ? fmin(fmax(-products / squares, 0), 1) : 1;
}

/*
 * The same in all steps. Ranks that wait for a late host in an operation may compute in the meantime (a part
 * `beside`), so that the same delay shows again before later operations that were queued in time:
 * level->shift_ns is the greatest lateness so far for which others waited. (Of single steps, only what takes
 * longer than the unit's own quiet steps counts, which such a delay does not.)
 */
static int64_t part_of_host_always(const struct place_matrix *matrix, int64_t late_ns, int64_t waited_ns,
                                   int64_t excess_ns, double beside, struct level *level)
{
    int64_t shift_ns = scale(level->shift_ns, beside);
    if (!place_matrix_lateness_is(matrix, late_ns, excess_ns))
        return shift_ns < excess_ns ? shift_ns : excess_ns;
    waited_ns = late_ns < waited_ns ? late_ns : waited_ns;
    level->shift_ns = waited_ns > level->shift_ns ? waited_ns : level->shift_ns;
    return late_part(matrix, late_ns, excess_ns);
}

/*
 * The part of an excess over the others (and over `quiet_ns`) that lies before the operation was enqueued, as
 * far as others waited for it: what the rank inherits, or what delays nobody, does not count. Negative if the
 * rank enqueued earlier than the others: then noise cancels in a sum.
 */
static int64_t late_launch(const struct place_matrix *matrix, size_t unit, size_t step, int64_t quiet_ns)
{
    size_t cell = unit * matrix->steps + step;
    int64_t apart_ns = matrix->value[cell] - matrix->others[cell] - quiet_ns,
            late_ns = matrix->late_more[cell], waited_ns = matrix->waited[cell];
    if (matrix->partition->kind == UNIT_RANK)
        waited_ns = matrix->times->lead[(size_t)matrix->member[matrix->first[unit]] * matrix->steps + step];
    int64_t most_ns = waited_ns < apart_ns ? waited_ns : apart_ns;
    late_ns = late_ns < most_ns ? late_ns : most_ns;
    return late_ns > 0 ? late_ns : 0;
}

static int64_t lead_in(const struct place_matrix *matrix, size_t unit, size_t step)
{
    size_t cell = unit * matrix->steps + step;
    size_t of_rank = (size_t)matrix->member[matrix->first[unit]] * matrix->steps + step;
    int64_t apart_ns = matrix->value[cell] - matrix->others[cell], lead_ns = matrix->times->lead[of_rank];
    if (matrix->partition->kind != UNIT_RANK || apart_ns <= 0)
        return 0;
    return apart_ns < lead_ns ? apart_ns : lead_ns;
}

static void add_steps(struct residual_matrix *residuals, struct sums *sums, const struct place_matrix *matrix)
{
    for (size_t unit = 0; unit < matrix->units; unit++)
        for (size_t step = 0; step < matrix->steps; step++) {
            size_t cell = unit * matrix->steps + step;
            int64_t apart_ns = place_matrix_unit_excess(matrix, unit, step),
                    beyond_ns = apart_ns - matrix->quiet[unit];
            if (apart_ns == TIME_UNKNOWN)
                continue;
            sums->apart_ns[cell] += apart_ns;
            if (place_matrix_open(matrix, unit, step))
                continue;
            sums->known[cell]++;
            residuals->beyond[cell] += apart_ns;
            if (matrix->partition->kind == UNIT_RANK)
                residuals->gpu[cell] += place_matrix_gpu_excess(matrix, unit, step);
            residuals->lead[cell] += lead_in(matrix, unit, step);
            residuals->late[cell] += late_launch(matrix, unit, step, 0);
            residuals->late_beyond[cell] += late_launch(matrix, unit, step, matrix->quiet[unit]);
            if (beyond_ns <= 0)
                continue;
            residuals->more[cell] += beyond_ns;
            residuals->host[cell] +=
                part_of_host(matrix, matrix->late_more[cell], beyond_ns, &sums->spare_ns[cell]);
        }
}

/* Lists the cells that count for the level of a unit over all steps. Returns their number. */
static size_t list_usual(struct place_matrix *matrix, size_t unit)
{
    size_t known = 0;
    for (size_t step = 0; step < matrix->steps; step++) {
        size_t cell = unit * matrix->steps + step;
        if (matrix->value[cell] != TIME_UNKNOWN && matrix->others[cell] != TIME_UNKNOWN &&
            place_matrix_open(matrix, unit, step) != OPEN_BY_OTHERS)
            matrix->known[known++] = cell;
    }
    return known;
}

/* The median of the values of these cells, minus those of the others if `others` is given; TIME_UNKNOWN. */
static int64_t usual_of(struct place_matrix *matrix, const int64_t *values, const int64_t *others,
                        size_t known)
{
    for (size_t i = 0; i < known; i++)
        matrix->list[i] = values[matrix->known[i]] - (others ? others[matrix->known[i]] : 0);
    return pick_quantile(matrix->list, known, 0.5);
}

/*
 * A place counts as slower from this excess on, as part of the others' own time: a few percent do not
 * indicate a slow clock.
 */
static const double SLOWER = 0.04;

int is_slower_place(int64_t apart_ns, int64_t others_ns)
{
    return (double)apart_ns > SLOWER * (double)others_ns;
}

static void add_levels(struct residual_matrix *residuals, struct place_matrix *matrix)
{
    double beside = part_beside(matrix->times);
    for (size_t unit = 0; unit < matrix->units; unit++) {
        struct level *level = &residuals->level[unit];
        size_t known = list_usual(matrix, unit);
        int64_t apart_ns = usual_of(matrix, matrix->value, matrix->others, known);
        if (apart_ns == TIME_UNKNOWN)
            continue;
        int64_t others_ns = usual_of(matrix, matrix->others, NULL, known);
        int is_slower = is_slower_place(apart_ns, others_ns);
        level->apart_ns += apart_ns;
        level->others_ns += others_ns;
        if (others_ns > level->widest_ns) {
            level->widest_ns = others_ns;
            level->widest_more_ns = apart_ns;
            level->widest_is_slower = is_slower;
        }
        level->slower_ns += is_slower ? others_ns : 0;
        if (apart_ns <= 0)
            continue;
        level->more_ns += apart_ns;
        level->host_ns +=
            part_of_host_always(matrix, usual_of(matrix, matrix->late_more, NULL, known),
                                usual_of(matrix, matrix->waited, NULL, known), apart_ns, beside, level);
    }
}

/*
 * Sets cells to TIME_UNKNOWN in which at most half of the places are known that are known of any unit in the
 * same step: other steps may have more places, because the program changed.
 */
static void forget_gaps(struct residual_matrix *residuals, const struct sums *sums, size_t steps)
{
    for (size_t step = 0; step < steps; step++) {
        int32_t most = 0;
        for (size_t cell = step; cell < residuals->units * steps; cell += steps)
            most = sums->known[cell] > most ? sums->known[cell] : most;
        for (size_t cell = step; cell < residuals->units * steps; cell += steps)
            if (sums->known[cell] * 2 <= most)
                residuals->beyond[cell] = residuals->gpu[cell] = TIME_UNKNOWN;
    }
}

/* Subtracts the quiet steps of a unit. */
static void subtract_quiet(int64_t *values, int64_t *list, size_t steps, size_t unit)
{
    size_t count = 0;
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
        if (values[cell] != TIME_UNKNOWN)
            list[count++] = values[cell];
    int64_t quiet_ns = baseline_quantile(list, count);
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
        if (values[cell] != TIME_UNKNOWN)
            values[cell] -= quiet_ns;
}

/* Turns sums into residuals by subtracting the quiet steps. */
static void settle_unit(struct residual_matrix *residuals, struct sums *sums, size_t steps, size_t first_step,
                        size_t unit)
{
    size_t count = 0;
    for (size_t step = first_step; step < steps; step++)
        sums->list[count++] = sums->apart_ns[unit * steps + step];
    /* The lower quartile excludes a fault in fewer than three quarters of the steps. */
    residuals->level[unit].quiet_ns = count ? pick_quantile(sums->list, count, 0.25) : 0;
    residuals->level[unit].usual_ns = count ? pick_quantile(sums->list, count, 0.5) : 0;
    subtract_quiet(residuals->beyond, sums->list, steps, unit);
    subtract_quiet(residuals->gpu, sums->list, steps, unit);
}

/*
 * Quiet steps are fewer than half, so noise alone leaves a positive residual. The median over units of this
 * residual is subtracted.
 */
static void take_off_usual(const struct residual_matrix *residuals, int64_t *values, int64_t *list,
                           size_t steps)
{
    int64_t *middles = array_new(residuals->units, sizeof *middles);
    size_t known = 0;
    for (size_t unit = 0; middles && unit < residuals->units; unit++) {
        size_t count = 0;
        for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
            if (values[cell] != TIME_UNKNOWN)
                list[count++] = values[cell];
        if (count)
            middles[known++] = pick_quantile(list, count, 0.5);
    }
    int64_t middle_ns = known ? pick_quantile(middles, known, 0.5) : 0;
    for (size_t cell = 0; cell < residuals->units * steps; cell++)
        if (values[cell] != TIME_UNKNOWN)
            values[cell] -= middle_ns;
    free(middles);
}

/* Every operation has a rank that arrives last: subtracts what is usual among the others in the same step. */
static void compare_launches(const struct residual_matrix *residuals, int64_t *late, size_t steps,
                             size_t step, int64_t *list)
{
    size_t count = 0;
    for (size_t unit = 0; unit < residuals->units; unit++)
        if (residuals->beyond[unit * steps + step] != TIME_UNKNOWN)
            list[count++] = late[unit * steps + step];
    if (count < 2)
        return;
    const struct middles middles = middles_of(list, count);
    for (size_t unit = 0; unit < residuals->units; unit++)
        if (residuals->beyond[unit * steps + step] != TIME_UNKNOWN)
            late[unit * steps + step] -= median_of_others(&middles, late[unit * steps + step]);
}

/*
 * A host that waits for its slow GPU at the end of a step launches late in the next one: what the GPU took
 * longer in the step before is no lateness of the host.
 */
static void subtract_gpu(const struct residual_matrix *residuals, int64_t *late, size_t steps, size_t unit)
{
    for (size_t cell = unit * steps + 1; cell < (unit + 1) * steps; cell++) {
        int64_t gpu_ns = residuals->more[cell - 1] - residuals->host[cell - 1];
        if (late[cell] > 0)
            late[cell] = late[cell] > gpu_ns ? late[cell] - gpu_ns : 0;
    }
}

/* Of a normal distribution: its lower quartile and its lowest tenth, in standard deviations. */
static const double QUARTILE = 0.67, TENTH = 1.28;

/*
 * Late launches are known where the residual is. The launches of one host vary more than those of another, so
 * each is compared with its own quiet steps, whose median and spread follow from its lowest quarter: a fault
 * may last for most of the steps.
 */
static void settle_late(struct residual_matrix *residuals, struct sums *sums, size_t steps, size_t unit)
{
    size_t count = 0;
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++) {
        if (residuals->beyond[cell] == TIME_UNKNOWN)
            residuals->late[cell] = residuals->late_beyond[cell] = TIME_UNKNOWN;
        else
            sums->list[count++] = residuals->late_beyond[cell];
    }
    int64_t quarter_ns = count ? pick_quantile(sums->list, count, 0.25) : 0;
    int64_t least_ns = count ? pick_quantile(sums->list, count, 0.1) : 0;
    residuals->late_sigma[unit] = scale(quarter_ns - least_ns, 1 / (TENTH - QUARTILE));
    int64_t quiet_ns = quarter_ns + scale(residuals->late_sigma[unit], QUARTILE);
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
        if (residuals->late_beyond[cell] != TIME_UNKNOWN)
            residuals->late_beyond[cell] -= quiet_ns;
}

static void settle(struct residual_matrix *residuals, struct sums *sums, size_t steps, size_t first_step)
{
    forget_gaps(residuals, sums, steps);
    for (size_t unit = 0; unit < residuals->units; unit++) {
        settle_unit(residuals, sums, steps, first_step, unit);
        subtract_gpu(residuals, residuals->late, steps, unit);
        subtract_gpu(residuals, residuals->late_beyond, steps, unit);
    }
    for (size_t step = first_step; step < steps; step++) {
        compare_launches(residuals, residuals->late, steps, step, sums->list);
        compare_launches(residuals, residuals->late_beyond, steps, step, sums->list);
    }
    for (size_t unit = 0; unit < residuals->units; unit++)
        settle_late(residuals, sums, steps, unit);
    /* A single unit has no others to tell noise from a fault in most steps. */
    if (residuals->units > 1)
        take_off_usual(residuals, residuals->beyond, sums->list, steps);
    if (residuals->units > 1)
        take_off_usual(residuals, residuals->gpu, sums->list, steps);
}

/* Working memory of residual_matrices_init() for one role. */
struct work {
    struct place_times times;
    struct usual_times usual;
    struct place_matrix *place_matrices; /* owned: one per partition, as is `sums` */
    struct sums *sums;                   /* owned */
};

static int work_init(struct work *work, struct residual_matrix *residual_matrices,
                     const struct place_matrix_source *source, const struct partitions *partitions,
                     size_t role)
{
    *work = (struct work){.place_matrices = array_new(partitions->count, sizeof *work->place_matrices),
                          .sums = array_new(partitions->count, sizeof *work->sums)};
    int failed = !work->place_matrices || !work->sums ||
                 place_times_init(&work->times, source, role, &partitions->items[0], ALL_UNITS) ||
                 usual_times_init(&work->usual, &work->times);
    for (size_t i = 0; !failed && i < partitions->count; i++)
        failed =
            place_matrix_init(&work->place_matrices[i], source, &partitions->items[i], &work->times, role) ||
            residual_matrix_init(&residual_matrices[i], &work->place_matrices[i], source,
                                 source->baseline->roles[role].length) ||
            sums_init(&work->sums[i], &work->place_matrices[i], (size_t)source->baseline->roles[role].length);
    return failed ? -1 : 0;
}

static void work_release(struct work *work, size_t partitions)
{
    for (size_t i = 0; work->place_matrices && work->sums && i < partitions; i++) {
        place_matrix_release(&work->place_matrices[i]);
        sums_release(&work->sums[i]);
    }
    free(work->place_matrices);
    free(work->sums);
    usual_times_release(&work->usual);
    place_times_release(&work->times);
}

static void add_distances(struct work *work, size_t partition, int32_t position)
{
    struct sums *sums = &work->sums[partition];
    for (size_t unit = 0; sums->distances && unit < work->place_matrices[partition].units; unit++)
        sums->distances[unit * sums->positions + (size_t)position] =
            place_matrix_distance(&work->place_matrices[partition], &work->usual, unit);
}

int residual_matrices_init(struct residual_matrix *residual_matrices,
                           const struct place_matrix_source *source, const struct partitions *partitions,
                           size_t role)
{
    struct work work;
    size_t steps = (size_t)source->baseline->step_count;
    int failed = work_init(&work, residual_matrices, source, partitions, role);
    for (int32_t position = 0; !failed && position < source->baseline->roles[role].length; position++) {
        place_times_read(&work.times, source, role, position);
        usual_times_measure(&work.usual, source, &work.times, &source->baseline->roles[role]);
        for (size_t i = 0; i < partitions->count; i++) {
            if (!residual_matrices[i].is_compared)
                continue;
            add_distances(&work, i, position);
            place_matrix_measure(&work.place_matrices[i], source, role,
                                 &residual_matrices[i].middles[(size_t)position * steps],
                                 &residual_matrices[i].late_middles[(size_t)position * steps]);
            add_steps(&residual_matrices[i], &work.sums[i], &work.place_matrices[i]);
            add_levels(&residual_matrices[i], &work.place_matrices[i]);
        }
    }
    for (size_t i = 0; !failed && i < partitions->count; i++)
        for (size_t unit = 0; work.sums[i].distances && unit < residual_matrices[i].units; unit++)
            residual_matrices[i].level[unit].typical_distance = typical_distance(
                work.sums[i].distances + unit * work.sums[i].positions, work.sums[i].positions);
    for (size_t i = 0; !failed && i < partitions->count; i++)
        settle(&residual_matrices[i], &work.sums[i], steps, (size_t)source->baseline->first_step);
    work_release(&work, partitions->count);
    return failed;
}

/* The matrices of all roles that are made again. */
struct measuring {
    struct residual_matrix *residual_matrices;
    const struct place_matrix_source *source;
    const struct partitions *partitions;
    const unsigned char *dirty;
};

static int measure_roles(void *context, size_t worker, size_t first, size_t end)
{
    const struct measuring *measuring = context;
    size_t count = measuring->partitions->count;
    for (size_t role = first; role < end; role++) {
        struct residual_matrix *of_role = measuring->residual_matrices + role * count;
        if (!measuring->dirty[role])
            continue;
        for (size_t i = 0; i < count; i++)
            residual_matrix_release(&of_role[i]);
        if (residual_matrices_init(of_role, measuring->source, measuring->partitions, role))
            return -1;
    }
    return 0;
}

int residual_matrices_measure(struct residual_matrix *residual_matrices,
                              const struct place_matrix_source *source, const struct partitions *partitions,
                              const unsigned char *dirty)
{
    struct measuring measuring = {residual_matrices, source, partitions, dirty};
    size_t roles = source->baseline->role_count;
    return parallel_for(roles, 1, parallel_threads(job_threads(source->job), roles, 1), measure_roles,
                        &measuring);
}

/* Adds up the own time of a rank by step. */
static void sum_own(const struct job *job, const struct job_rank *rank, int64_t *by_step, size_t steps)
{
    for (size_t step = 0; step < steps; step++)
        by_step[step] = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->own_ns != TIME_UNKNOWN && operation->step >= 0 && (size_t)operation->step < steps)
            by_step[operation->step] += operation->own_ns;
    }
}

/* How many times as long as usual each rank computed: [rank * steps + step]. */
static double *growth_of_ranks(const struct job *job, size_t steps)
{
    double *growth = array_new(job->rank_count * steps + 1, sizeof *growth);
    int64_t *by_step = array_new(steps + 1, sizeof *by_step), *list = array_new(steps + 1, sizeof *list);
    for (size_t rank = 0; growth && by_step && list && rank < job->rank_count; rank++) {
        sum_own(job, &job->ranks[rank], by_step, steps);
        memcpy(list, by_step, steps * sizeof *list);
        int64_t usual_ns = steps ? baseline_quantile(list, steps) : 0;
        for (size_t step = 0; step < steps; step++)
            growth[rank * steps + step] = usual_ns > 0 ? ratio_of(by_step[step], usual_ns) : 1;
    }
    int failed = !by_step || !list;
    free(by_step);
    free(list);
    if (!failed)
        return growth;
    free(growth);
    return NULL;
}

static double growth_beside(const struct baseline *baseline, size_t ranks, const double *of_ranks,
                            size_t role, size_t step, double *list)
{
    size_t count = 0, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        if (baseline->role_of_rank[rank] >= 0 && baseline->role_of_rank[rank] != (int32_t)role)
            list[count++] = of_ranks[rank * steps + step];
    double middle = count ? select_real(list, count, (count - 1) / 2) : 1;
    return middle > 1 ? middle : 1;
}

double *measure_growth(const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count;
    double *growth = array_new(baseline->role_count * steps + 1, sizeof *growth);
    double *of_ranks = growth_of_ranks(job, steps), *list = array_new(job->rank_count + 1, sizeof *list);
    int failed = !growth || !of_ranks || !list;
    for (size_t role = 0; !failed && role < baseline->role_count; role++)
        for (size_t step = 0; step < steps; step++)
            growth[role * steps + step] =
                growth_beside(baseline, job->rank_count, of_ranks, role, step, list);
    free(of_ranks);
    free(list);
    if (!failed)
        return growth;
    free(growth);
    return NULL;
}

/* The baseline of a unit at a place: the steps that are not marked. */
struct usual {
    int64_t apart_ns; /* above the others */
    int64_t pace_ns;
};

/* What a fault is measured by, in a step. */
static int64_t excess_of(const struct fault *fault, const struct place_matrix *matrix, size_t step)
{
    return fault->measure == MEASURE_GPU ? place_matrix_gpu_excess(matrix, 0, step)
                                         : place_matrix_unit_excess(matrix, 0, step);
}

static int64_t pace_of(const struct fault *fault, const struct place_matrix *matrix, size_t step)
{
    return fault->measure == MEASURE_GPU ? place_matrix_gpu_pace(matrix, step) : matrix->unit_pace[step];
}

/*
 * For a fault in all steps, the median of all steps. If few steps are not marked, the quiet steps. If there
 * is none, because the order of operations changed with the fault, only the others tell.
 */
static struct usual usual_at(const struct fault *fault, struct place_matrix *matrix)
{
    size_t known = 0, steps = 0;
    int is_gpu = fault->measure == MEASURE_GPU;
    struct usual usual = {.apart_ns = is_gpu ? matrix->quiet_gpu[0] : matrix->quiet[0],
                          .pace_ns = is_gpu ? matrix->quiet_gpu_pace[0] : matrix->quiet_pace[0]};
    if (fault->is_steady) {
        usual.apart_ns = usual_of(matrix, matrix->value, matrix->others, list_usual(matrix, 0));
        return usual;
    }
    for (size_t step = 0; step < matrix->steps; step++) {
        int64_t apart_ns = excess_of(fault, matrix, step);
        steps += apart_ns != TIME_UNKNOWN;
        if (apart_ns != TIME_UNKNOWN && !fault->steps[step])
            matrix->list[known++] = apart_ns;
    }
    if (!known)
        return (struct usual){0, 0};
    if (known * 4 < steps)
        return usual;
    usual.apart_ns = pick_quantile(matrix->list, known, 0.5);
    known = 0;
    for (size_t step = 0; step < matrix->steps; step++)
        if (excess_of(fault, matrix, step) != TIME_UNKNOWN && !fault->steps[step])
            matrix->list[known++] = pace_of(fault, matrix, step);
    usual.pace_ns = pick_quantile(matrix->list, known, 0.5);
    return usual;
}

/* By how much a member was late by its host in a cell, at most what its unit shows. */
static int64_t late_at(const struct fault *fault, const struct place_matrix *matrix, size_t cell)
{
    size_t step = cell % matrix->steps;
    int64_t late_ns = matrix->times->late[cell] - matrix->others_late[step],
            apart_ns =
                matrix->times->own[cell] - matrix->others[step] - (fault->is_steady ? 0 : matrix->quiet[0]);
    late_ns = late_ns < apart_ns ? late_ns : apart_ns;
    late_ns = late_ns < matrix->bound[cell] ? late_ns : matrix->bound[cell];
    late_ns = late_ns < matrix->late_more[step] ? late_ns : matrix->late_more[step];
    return late_ns > 0 ? late_ns : 0;
}

/*
 * By how much an own time is too long in a step. The amount of a fault in all steps may differ from step to
 * step, so each step tells its own, at the places where the unit is usually slower.
 */
static int64_t too_long(const struct fault *fault, const struct place_matrix *matrix,
                        const struct usual *usual, int64_t own_ns, int64_t pace_ns, size_t step)
{
    int64_t fault_ns = own_ns - matrix->others[step], growth_ns;
    if (!fault->is_steady) {
        fault_ns -= usual->apart_ns;
        growth_ns = pace_ns - usual->pace_ns;
    } else {
        if (usual->apart_ns <= 0 && !fault->is_scattered)
            return 0;
        /* A slow clock also makes longer what the rank computes beside the operation before. */
        growth_ns = scale(pace_ns, fault->most_part);
    }
    if (fault_ns > 0 && growth_ns < fault_ns)
        fault_ns = growth_ns > 0 ? growth_ns : 0;
    return fault_ns;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* By how much a member is too slow in a cell, at most what its unit shows. */
static int64_t fault_at(const struct fault *fault, const struct place_matrix *matrix,
                        const struct usual *usual, size_t cell)
{
    size_t step = cell % matrix->steps;
    if (fault->measure == MEASURE_LATE || fault->measure == MEASURE_ALWAYS_LATE)
        return late_at(fault, matrix, cell);
    if (fault->measure == MEASURE_GPU)
        return least_of(too_long(fault, matrix, usual,
                                 matrix->others[step] + place_matrix_gpu_apart(matrix, step),
                                 pace_of(fault, matrix, step), step),
                        matrix->bound[cell]);
    int64_t fault_ns =
        too_long(fault, matrix, usual, matrix->times->own[cell], matrix->times->pace[cell], step);
    int64_t common_ns = too_long(fault, matrix, usual, matrix->value[step], matrix->unit_pace[step], step);
    return least_of(least_of(fault_ns, common_ns), matrix->bound[cell]);
}

/*
 * What a rank was late by where its own time is not known: the replay contains it, the residuals that the
 * fault was found in do not.
 */
static int64_t hidden_at(const struct fault *fault, const struct place_matrix_source *source, int32_t at)
{
    if (at < 0 || fault->is_steady || fault->measure != MEASURE_OWN || fault->partition->kind != UNIT_RANK ||
        source->job->operations[at].own_ns != TIME_UNKNOWN)
        return 0;
    return excess_ns_at(&source->baseline->excess, (size_t)at);
}

/* Reports the fault at one place of a unit, which is the only one of the matrix. */
static void take_place(const struct fault *fault, const struct place_matrix_source *source,
                       struct place_matrix *matrix, size_t role, int32_t position, fault_taker take,
                       void *context)
{
    const struct place_times *times = matrix->times;
    struct usual usual = usual_at(fault, matrix);
    for (size_t rank = 0; rank < times->ranks; rank++) {
        const int32_t *at = place_times_operations(times, source->baseline, role, position, rank);
        for (size_t step = 0; step < matrix->steps; step++) {
            size_t cell = rank * matrix->steps + step;
            int64_t hidden_ns = fault->steps[step] ? hidden_at(fault, source, at[step]) : 0;
            if (hidden_ns > 0)
                take(context, at[step], hidden_ns);
            else if (fault->steps[step] && times->own[cell] != TIME_UNKNOWN &&
                     place_matrix_unit_excess(matrix, 0, step) != TIME_UNKNOWN &&
                     (fault->is_steady || !times->open[cell]))
                take(context, at[step], fault_at(fault, matrix, &usual, cell));
        }
    }
}

static int take_role(const struct fault *fault, const struct place_matrix_source *source,
                     const struct residual_matrix *residuals, size_t role, fault_taker take, void *context)
{
    struct place_times times;
    struct place_matrix matrix = {0};
    int failed = place_times_init(&times, source, role, fault->partition, fault->unit) ||
                 place_matrix_init(&matrix, source, fault->partition, &times, role);
    for (int32_t position = 0; !failed && position < source->baseline->roles[role].length; position++) {
        place_times_read(&times, source, role, position);
        place_matrix_measure_alone(&matrix, source, role, &residuals->middles[(size_t)position * times.steps],
                                   &residuals->late_middles[(size_t)position * times.steps]);
        take_place(fault, source, &matrix, role, position, take, context);
    }
    place_matrix_release(&matrix);
    place_times_release(&times);
    return failed;
}

/* Whether a unit has ranks in a role. */
static int plays(const struct partition *partition, size_t unit, const struct baseline *baseline, size_t role)
{
    for (size_t i = partition->first[unit]; i < partition->first[unit + 1]; i++)
        if (baseline->role_of_rank[partition->ranks[i]] == (int32_t)role)
            return 1;
    return 0;
}

int fault_each(const struct fault *fault, const struct place_matrix_source *source, fault_taker take,
               void *context)
{
    for (size_t role = 0; role < source->baseline->role_count; role++) {
        const struct residual_matrix *residuals = &fault->residual_matrices[role * fault->apart];
        if (residuals->is_compared && plays(fault->partition, fault->unit, source->baseline, role) &&
            take_role(fault, source, residuals, role, take, context))
            return -1;
    }
    return 0;
}

int32_t residual_matrix_unit(const struct residual_matrix *residuals, size_t unit)
{
    for (size_t i = 0; i < residuals->units; i++)
        if (residuals->unit[i] == (int32_t)unit)
            return (int32_t)i;
    return -1;
}
