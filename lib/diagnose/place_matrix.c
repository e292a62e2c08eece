/*
 * Compares own times at one place of the step between units (ranks, hosts or blocks of ranks).
 * residual_matrix.c sums the result over the places. Also reads these own times and what limits them (struct
 * place_times).
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * Lists the units that have ranks in the times, and these ranks. `number` is scratch: one entry per unit of
 * the partition.
 */
static void list_units(struct place_matrix *matrix, const struct role *role, int32_t *number)
{
    const struct partition *partition = matrix->partition;
    const struct place_times *times = matrix->times;
    for (size_t unit = 0; unit < partition->count; unit++)
        number[unit] = -1;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        if (number[unit] < 0) {
            number[unit] = (int32_t)matrix->units;
            matrix->unit[matrix->units++] = unit;
        }
        matrix->first[number[unit] + 2]++;
    }
    for (size_t unit = 2; unit < matrix->units + 2; unit++)
        matrix->first[unit] += matrix->first[unit - 1];
    for (size_t rank = 0; rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        matrix->member[matrix->first[number[unit] + 1]++] = (int32_t)rank;
    }
}

static int make_room(struct place_matrix *matrix)
{
    size_t cells = matrix->units * matrix->steps, ranks = matrix->times->ranks;
    size_t longest = ranks > matrix->steps ? ranks : matrix->steps;
    int64_t **const by_unit[] = {&matrix->value,     &matrix->unit_pace,   &matrix->middle, &matrix->others,
                                 &matrix->late_more, &matrix->others_late, &matrix->waited};
    int failed = 0;
    for (size_t i = 0; i < sizeof by_unit / sizeof *by_unit; i++)
        failed |= !(*by_unit[i] = array_new(cells, sizeof **by_unit[i]));
    matrix->bound = array_new(ranks * matrix->steps, sizeof *matrix->bound);
    matrix->quiet = array_new(matrix->units, sizeof *matrix->quiet);
    matrix->quiet_gpu = array_new(matrix->units, sizeof *matrix->quiet_gpu);
    matrix->quiet_pace = array_new(matrix->units, sizeof *matrix->quiet_pace);
    matrix->quiet_gpu_pace = array_new(matrix->units, sizeof *matrix->quiet_gpu_pace);
    matrix->list = array_new(longest, sizeof *matrix->list);
    matrix->known = array_new(longest, sizeof *matrix->known);
    return failed || !matrix->bound || !matrix->quiet || !matrix->quiet_gpu || !matrix->quiet_pace ||
                   !matrix->quiet_gpu_pace || !matrix->list || !matrix->known
               ? -1
               : 0;
}

int place_matrix_init(struct place_matrix *matrix, const struct place_matrix_source *source,
                      const struct partition *partition, const struct place_times *times, size_t role)
{
    int32_t *number = array_new(partition->count, sizeof *number);
    *matrix = (struct place_matrix){.partition = partition,
                                    .times = times,
                                    .steps = times->steps,
                                    .unit = array_new(times->ranks, sizeof *matrix->unit),
                                    .first = array_new(times->ranks + 2, sizeof *matrix->first),
                                    .member = array_new(times->ranks, sizeof *matrix->member)};
    int failed = !number || !matrix->unit || !matrix->first || !matrix->member;
    if (!failed)
        list_units(matrix, &source->baseline->roles[role], number);
    free(number);
    return failed || make_room(matrix) ? -1 : 0;
}

void place_matrix_release(struct place_matrix *matrix)
{
    free(matrix->unit);
    free(matrix->first);
    free(matrix->member);
    free(matrix->bound);
    free(matrix->value);
    free(matrix->unit_pace);
    free(matrix->middle);
    free(matrix->others);
    free(matrix->late_more);
    free(matrix->others_late);
    free(matrix->waited);
    free(matrix->quiet);
    free(matrix->quiet_gpu);
    free(matrix->quiet_pace);
    free(matrix->quiet_gpu_pace);
    free(matrix->list);
    free(matrix->known);
    *matrix = (struct place_matrix){0};
}

/* Whether enough members of a unit are known: three of four. */
static int are_enough(size_t known, size_t members)
{
    return known > 0 && known * 4 >= members * 3;
}

/*
 * Lists the members of a unit with a known own time in a step, as cells of the times. Returns their number.
 */
static size_t list_known(const struct place_matrix *matrix, size_t unit, size_t step)
{
    size_t known = 0;
    for (int32_t i = matrix->first[unit]; i < matrix->first[unit + 1]; i++) {
        size_t cell = (size_t)matrix->member[i] * matrix->steps + step;
        if (matrix->times->own[cell] != TIME_UNKNOWN)
            matrix->known[known++] = cell;
    }
    return known;
}

static int64_t quantile_in(struct place_matrix *matrix, const int64_t *values, size_t known, double part)
{
    for (size_t i = 0; i < known; i++)
        matrix->list[i] = values[matrix->known[i]];
    return pick_quantile(matrix->list, known, part);
}

/* The median of those that are not explained. */
static int64_t middle_in(struct place_matrix *matrix, const struct place_matrix_source *source,
                         const struct role *role, size_t known, size_t members)
{
    size_t count = 0;
    for (size_t i = 0; i < known; i++) {
        size_t cell = matrix->known[i], row = cell / matrix->steps;
        size_t rank = (size_t)role->ranks[matrix->times->place[row]];
        if (!source->explained[rank * matrix->steps + cell % matrix->steps])
            matrix->list[count++] = matrix->times->own[cell];
    }
    return are_enough(count, members) ? pick_quantile(matrix->list, count, 0.5) : TIME_UNKNOWN;
}

/*
 * The wait for a unit is measured like its time: what three of four members show. A single member that
 * arrived last does not make the members slow that waited for it.
 */
static void measure_several(struct place_matrix *matrix, const struct place_matrix_source *source,
                            const struct role *role, size_t unit)
{
    const struct place_times *times = matrix->times;
    size_t members = (size_t)(matrix->first[unit + 1] - matrix->first[unit]);
    for (size_t step = 0; step < matrix->steps; step++) {
        size_t cell = unit * matrix->steps + step, known = list_known(matrix, unit, step);
        int enough = are_enough(known, members);
        int64_t waited_ns = quantile_in(matrix, matrix->bound, known, 0.25);
        matrix->value[cell] = enough ? quantile_in(matrix, times->own, known, 0.25) : TIME_UNKNOWN;
        matrix->unit_pace[cell] = enough ? quantile_in(matrix, times->pace, known, 0.25) : TIME_UNKNOWN;
        matrix->waited[cell] = waited_ns > 0 ? waited_ns : 0;
        matrix->late_more[cell] = quantile_in(matrix, times->late, known, 0.5);
        matrix->middle[cell] = middle_in(matrix, source, role, known, members);
    }
}

/* Same for a unit of one rank, for which all quantiles are equal. */
static void measure_single(struct place_matrix *matrix, const struct place_matrix_source *source,
                           const struct role *role, size_t unit)
{
    const struct place_times *times = matrix->times;
    size_t row = (size_t)matrix->member[matrix->first[unit]];
    size_t rank = (size_t)role->ranks[times->place[row]];
    for (size_t step = 0; step < matrix->steps; step++) {
        size_t cell = unit * matrix->steps + step, of = row * matrix->steps + step;
        int is_known = times->own[of] != TIME_UNKNOWN;
        int is_explained = source->explained[rank * matrix->steps + step];
        matrix->value[cell] = times->own[of];
        matrix->unit_pace[cell] = is_known ? times->pace[of] : TIME_UNKNOWN;
        matrix->waited[cell] = is_known && matrix->bound[of] > 0 ? matrix->bound[of] : 0;
        matrix->late_more[cell] = is_known ? times->late[of] : TIME_UNKNOWN;
        matrix->middle[cell] = is_explained ? TIME_UNKNOWN : times->own[of];
    }
}

static void measure_units(struct place_matrix *matrix, const struct place_matrix_source *source, size_t role)
{
    const struct role *of = &source->baseline->roles[role];
    for (size_t unit = 0; unit < matrix->units; unit++)
        if (matrix->first[unit + 1] - matrix->first[unit] == 1)
            measure_single(matrix, source, of, unit);
        else
            measure_several(matrix, source, of, unit);
}

/* In one step, over `values` of the units with a known median. */
static struct middles find_middles(struct place_matrix *matrix, const int64_t *values, size_t step)
{
    size_t known = 0;
    for (size_t unit = 0; unit < matrix->units; unit++)
        if (matrix->middle[unit * matrix->steps + step] != TIME_UNKNOWN)
            matrix->list[known++] = values[unit * matrix->steps + step];
    return middles_of(matrix->list, known);
}

/* Stores the median of the others for each unit. */
static void take_others(struct place_matrix *matrix, const int64_t *values, int64_t *others, size_t step,
                        const struct middles *middles)
{
    for (size_t unit = 0; unit < matrix->units; unit++) {
        size_t cell = unit * matrix->steps + step;
        others[cell] =
            matrix->middle[cell] == TIME_UNKNOWN ? middles->all : median_of_others(middles, values[cell]);
    }
}

int64_t place_matrix_gpu_apart(const struct place_matrix *matrix, size_t cell)
{
    int64_t apart_ns = matrix->value[cell] - matrix->others[cell],
            gpu_ns = apart_ns - matrix->late_more[cell];
    /* That the hosts of the others were later does not make its own time longer than theirs. */
    int64_t most_ns = apart_ns > 0 ? apart_ns : 0;
    return gpu_ns < most_ns ? gpu_ns : most_ns;
}

int64_t place_matrix_gpu_pace(const struct place_matrix *matrix, size_t cell)
{
    return matrix->unit_pace[cell] - matrix->late_more[cell] - matrix->others_late[cell];
}

static int is_compared_in(const struct place_matrix *matrix, size_t cell)
{
    return matrix->value[cell] != TIME_UNKNOWN && matrix->others[cell] != TIME_UNKNOWN;
}

/* The same as measure_quiet(), for the part of own time that is the GPU's. */
static void measure_quiet_gpu(struct place_matrix *matrix, size_t unit, size_t first)
{
    size_t known = 0;
    for (size_t cell = unit * matrix->steps + first; cell < (unit + 1) * matrix->steps; cell++)
        if (is_compared_in(matrix, cell))
            matrix->list[known++] = place_matrix_gpu_apart(matrix, cell);
    matrix->quiet_gpu[unit] = known ? baseline_quantile(matrix->list, known) : 0;
    known = 0;
    for (size_t cell = unit * matrix->steps + first; cell < (unit + 1) * matrix->steps; cell++)
        if (is_compared_in(matrix, cell))
            matrix->list[known++] = place_matrix_gpu_pace(matrix, cell);
    matrix->quiet_gpu_pace[unit] = known ? baseline_quantile(matrix->list, known) : 0;
}

/* Measures the quiet steps of a unit: excess over the others, and pace. */
static void measure_quiet(struct place_matrix *matrix, const struct place_matrix_source *source, size_t unit)
{
    size_t first = (size_t)source->baseline->first_step, known = 0;
    for (size_t step = first; step < matrix->steps; step++) {
        size_t cell = unit * matrix->steps + step;
        if (matrix->value[cell] != TIME_UNKNOWN && matrix->others[cell] != TIME_UNKNOWN)
            matrix->list[known++] = matrix->value[cell] - matrix->others[cell];
    }
    matrix->quiet[unit] = known ? baseline_quantile(matrix->list, known) : 0;
    known = 0;
    for (size_t step = first; step < matrix->steps; step++)
        if (matrix->value[unit * matrix->steps + step] != TIME_UNKNOWN)
            matrix->list[known++] = matrix->unit_pace[unit * matrix->steps + step];
    matrix->quiet_pace[unit] = known ? baseline_quantile(matrix->list, known) : 0;
    if (matrix->partition->kind == UNIT_RANK)
        measure_quiet_gpu(matrix, unit, first);
}

/* If all ranks of an operation belong to the unit, a wait inside it does not limit the excess. */
static void take_bounds(struct place_matrix *matrix, const struct role *role)
{
    const struct place_times *times = matrix->times;
    const struct partition *partition = matrix->partition;
    memcpy(matrix->bound, times->bound, times->ranks * matrix->steps * sizeof *matrix->bound);
    for (size_t rank = 0; partition->kind != UNIT_RANK && rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        for (size_t cell = rank * matrix->steps; cell < (rank + 1) * matrix->steps; cell++)
            if (times->own[cell] != TIME_UNKNOWN && partition->within[times->communicator[cell]] == unit)
                matrix->bound[cell] = INT64_MAX;
    }
}

/* By how much later than the others each unit was enqueued. */
static void compare_lateness(struct place_matrix *matrix, size_t step, const struct middles *middles)
{
    take_others(matrix, matrix->late_more, matrix->others_late, step, middles);
    for (size_t unit = 0; unit < matrix->units; unit++) {
        size_t cell = unit * matrix->steps + step;
        if (matrix->value[cell] != TIME_UNKNOWN && matrix->others_late[cell] != TIME_UNKNOWN)
            matrix->late_more[cell] -= matrix->others_late[cell];
    }
}

int place_matrix_is_compared(const struct place_matrix *matrix, const struct place_matrix_source *source)
{
    int is_alone = matrix->units == 1 && source->growth &&
                   (matrix->partition->is_host ||
                    (matrix->partition->kind == UNIT_RANK && !job_lacks_stage_p2p(source->job)));
    return matrix->units > 1 || is_alone;
}

/* The quiet level of a single unit's `values`; TIME_UNKNOWN. */
static int64_t find_past(struct place_matrix *matrix, const struct place_matrix_source *source,
                         const int64_t *values, const double *growth)
{
    size_t known = 0;
    for (size_t step = (size_t)source->baseline->first_step; step < matrix->steps; step++)
        if (values[step] != TIME_UNKNOWN)
            matrix->list[known++] = growth ? scale(values[step], 1 / growth[step]) : values[step];
    return known ? baseline_quantile(matrix->list, known) : TIME_UNKNOWN;
}

/*
 * A host that has all ranks of a role, such as a stage, has no peers, nor has the only rank of a role. Its
 * past is the reference, as long as other roles compute no longer than usual, either: otherwise the work has
 * grown.
 */
static void compare_with_past(struct place_matrix *matrix, const struct place_matrix_source *source,
                              size_t role, struct middles *middles, struct middles *late_middles)
{
    const double *growth = &source->growth[role * matrix->steps];
    int64_t past_ns = find_past(matrix, source, matrix->middle, growth);
    int64_t late_ns = find_past(matrix, source, matrix->late_more, NULL);
    for (size_t step = 0; step < matrix->steps; step++) {
        int64_t others_ns = past_ns == TIME_UNKNOWN ? TIME_UNKNOWN : scale(past_ns, growth[step]);
        middles[step] = (struct middles){others_ns, others_ns, others_ns};
        late_middles[step] = (struct middles){late_ns, late_ns, late_ns};
        matrix->others[step] = others_ns;
        if (matrix->late_more[step] != TIME_UNKNOWN && late_ns != TIME_UNKNOWN)
            matrix->late_more[step] -= late_ns;
    }
}

void place_matrix_measure(struct place_matrix *matrix, const struct place_matrix_source *source, size_t role,
                          struct middles *middles, struct middles *late_middles)
{
    take_bounds(matrix, &source->baseline->roles[role]);
    measure_units(matrix, source, role);
    if (matrix->units == 1)
        compare_with_past(matrix, source, role, middles, late_middles);
    for (size_t step = 0; matrix->units > 1 && step < matrix->steps; step++) {
        late_middles[step] = find_middles(matrix, matrix->late_more, step);
        compare_lateness(matrix, step, &late_middles[step]);
        middles[step] = find_middles(matrix, matrix->middle, step);
        take_others(matrix, matrix->middle, matrix->others, step, &middles[step]);
    }
    for (size_t unit = 0; unit < matrix->units; unit++)
        measure_quiet(matrix, source, unit);
}

void place_matrix_measure_alone(struct place_matrix *matrix, const struct place_matrix_source *source,
                                size_t role, const struct middles *middles,
                                const struct middles *late_middles)
{
    take_bounds(matrix, &source->baseline->roles[role]);
    measure_units(matrix, source, role);
    for (size_t step = 0; step < matrix->steps; step++) {
        compare_lateness(matrix, step, &late_middles[step]);
        take_others(matrix, matrix->middle, matrix->others, step, &middles[step]);
    }
    for (size_t unit = 0; unit < matrix->units; unit++)
        measure_quiet(matrix, source, unit);
}

enum openness place_matrix_open(const struct place_matrix *matrix, size_t unit, size_t step)
{
    enum openness most = OPEN_NOT;
    for (int32_t i = matrix->first[unit]; i < matrix->first[unit + 1]; i++) {
        enum openness here = matrix->times->open[(size_t)matrix->member[i] * matrix->steps + step];
        most = here > most ? here : most;
    }
    return most;
}

/* Limits what an excess has beyond that of the quiet steps to what others waited and to the unit's growth. */
static int64_t limit_excess(int64_t apart_ns, int64_t quiet_ns, int64_t waited_ns, int64_t growth_ns)
{
    growth_ns = growth_ns > 0 ? growth_ns : 0;
    int64_t most_ns = growth_ns < waited_ns ? growth_ns : waited_ns;
    return apart_ns > quiet_ns && apart_ns - quiet_ns > most_ns ? quiet_ns + most_ns : apart_ns;
}

int64_t place_matrix_unit_excess(const struct place_matrix *matrix, size_t unit, size_t step)
{
    size_t cell = unit * matrix->steps + step;
    if (!is_compared_in(matrix, cell))
        return TIME_UNKNOWN;
    return limit_excess(matrix->value[cell] - matrix->others[cell], matrix->quiet[unit], matrix->waited[cell],
                        matrix->unit_pace[cell] - matrix->quiet_pace[unit]);
}

int64_t place_matrix_gpu_excess(const struct place_matrix *matrix, size_t unit, size_t step)
{
    size_t cell = unit * matrix->steps + step;
    if (!is_compared_in(matrix, cell))
        return TIME_UNKNOWN;
    return limit_excess(place_matrix_gpu_apart(matrix, cell), matrix->quiet_gpu[unit], matrix->waited[cell],
                        place_matrix_gpu_pace(matrix, cell) - matrix->quiet_gpu_pace[unit]);
}

/*
 * An excess is the host's if lateness makes up half of it or, within a step, an eighth. The same limits hold
 * for single operations.
 */
enum { HOSTS_PART = 2, HOSTS_PART_WITHIN = 8 };

int place_matrix_lateness_is(const struct place_matrix *matrix, int64_t late_ns, int64_t excess_ns)
{
    return late_ns != TIME_UNKNOWN &&
           late_ns >= excess_ns / (matrix->times->within ? HOSTS_PART_WITHIN : HOSTS_PART);
}

static struct stays stays_in(const struct job *job, const struct job_instance *instance)
{
    static const struct stays unknown = {.longest_ns = INT64_MAX};
    struct stays stays = {.shortest_ns = INT64_MAX, .second_ns = INT64_MAX};
    if (!arrival_is_told(instance, instance->function) || instance->members < 2)
        return unknown;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t stay_ns = arrival_stay_ns(job, job_member_at(job, instance, i));
        if (stay_ns == TIME_UNKNOWN)
            return unknown;
        if (stay_ns > stays.longest_ns)
            stays.longest_ns = stay_ns;
        if (stay_ns < stays.shortest_ns) {
            stays.second_ns = stays.shortest_ns;
            stays.shortest_ns = stay_ns;
        } else if (stay_ns < stays.second_ns)
            stays.second_ns = stay_ns;
    }
    return stays;
}

struct stays *measure_stays(const struct job *job)
{
    struct stays *stays = array_new(job->instance_count, sizeof *stays);
    for (size_t i = 0; stays && i < job->instance_count; i++)
        stays[i] = stays_in(job, &job->instances[i]);
    return stays;
}

static int is_of(const struct partition *partition, size_t unit, int32_t rank)
{
    return unit == ALL_UNITS || partition->unit_of[rank] == (int32_t)unit;
}

int place_times_init(struct place_times *times, const struct place_matrix_source *source, size_t role,
                     const struct partition *partition, size_t unit)
{
    const struct role *of = &source->baseline->roles[role];
    size_t ranks = 0, steps = (size_t)source->baseline->step_count;
    for (size_t rank = 0; rank < of->rank_count; rank++)
        ranks += is_of(partition, unit, of->ranks[rank]) != 0;
    *times = (struct place_times){.steps = steps,
                                  .place = array_new(ranks, sizeof *times->place),
                                  .own = array_new(ranks * steps, sizeof *times->own),
                                  .pace = array_new(ranks * steps, sizeof *times->pace),
                                  .late = array_new(ranks * steps, sizeof *times->late),
                                  .bound = array_new(ranks * steps, sizeof *times->bound),
                                  .lead = array_new(ranks * steps, sizeof *times->lead),
                                  .communicator = array_new(ranks * steps, sizeof *times->communicator),
                                  .open = array_new(ranks * steps, 1)};
    if (!times->place || !times->own || !times->pace || !times->late || !times->bound || !times->lead ||
        !times->communicator || !times->open)
        return -1;
    for (size_t rank = 0; rank < of->rank_count; rank++)
        if (is_of(partition, unit, of->ranks[rank]))
            times->place[times->ranks++] = (int32_t)rank;
    return 0;
}

void place_times_release(struct place_times *times)
{
    free(times->place);
    free(times->own);
    free(times->pace);
    free(times->late);
    free(times->bound);
    free(times->lead);
    free(times->communicator);
    free(times->open);
    *times = (struct place_times){0};
}

/* Whether a group contains a receive from a rank that is known to have arrived. */
static int has_received(const struct job *job, int32_t group, int32_t sender)
{
    for (size_t at = (size_t)group; at < job->operation_count && job->operations[at].group == group; at++)
        if (job->operations[at].function == FUNCTION_RECV &&
            job->instances[job->operations[at].instance].sender == sender &&
            (job->operations[at].end_ns != TIME_UNKNOWN || job->operations[at].ends == ENDS_BY_SENDER))
            return 1;
    return 0;
}

/*
 * By how much the other side of a send or receive began its own later than a time on the timeline of this
 * rank, as far as clocks tell; at least 0.
 */
static int64_t came_after(const struct job *job, const struct job_operation *member, int64_t time_ns)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t mine_ns = job_common_time(job, member, time_ns), most_ns = 0;
    for (int32_t i = 0; mine_ns != TIME_UNKNOWN && i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        int64_t start_ns =
            other->start_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(job, other, other->start_ns);
        if (start_ns != TIME_UNKNOWN && start_ns - mine_ns > most_ns)
            most_ns = start_ns - mine_ns;
    }
    return most_ns;
}

/* What is more than this part of an own time may be contained in it: a slow transfer, or a wait. */
enum { HELD_PART = 4 };

/*
 * Whether own time may contain the rest of the group before: some of its ends are not known, or no more than
 * that the sender had come, and another rank may have arrived after those that are, or so late that the
 * others had to wait for it.
 */
static int has_open_end(const struct job *job, const struct job_operation *operation)
{
    int32_t group = job->operations[operation->previous].group;
    int64_t much_ns = operation->own_ns / HELD_PART;
    int is_unknown = 0, waited = 0;
    for (size_t at = (size_t)group; at < job->operation_count && job->operations[at].group == group; at++) {
        const struct job_operation *member = &job->operations[at];
        const struct job_instance *instance = &job->instances[member->instance];
        int32_t peer = member->function == FUNCTION_SEND ? instance->receiver : instance->sender;
        if (instance->sender == instance->receiver)
            continue;
        waited |= came_after(job, member, operation->start_ns - operation->own_ns) > much_ns;
        is_unknown |= member->end_ns == TIME_UNKNOWN || member->ends == ENDS_BY_SENDER;
        if (member->end_ns == TIME_UNKNOWN)
            waited |= !has_received(job, group, peer);
        else
            waited |= member->ends == ENDS_BY_SENDER && member->end_ns - member->start_ns > much_ns;
    }
    return is_unknown && waited;
}

/*
 * Own time may contain the rest of a send or receive whose end only the proxy or the host recorded. Estimated
 * ends are no earlier than when both sides could go on; those placed by dumps are exact to an interval.
 */
static int may_hide_end(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 1;
    const struct job_operation *previous = &job->operations[operation->previous];
    if (previous->stamped)
        return 0;
    return (previous->function == FUNCTION_SEND && previous->ends != ENDS_BY_KERNEL &&
            previous->ends != ENDS_ESTIMATED) ||
           (previous->function == FUNCTION_RECV && previous->ends == ENDS_BY_HOST);
}

/* A send does not wait for its receiver: a late receiver makes others wait only in later operations. */
static int64_t bound_of(const struct place_matrix_source *source, int32_t at)
{
    const struct job *job = source->job;
    const struct job_operation *operation = &job->operations[at];
    if (!arrival_is_told(&job->instances[operation->instance], operation->function))
        return INT64_MAX;
    int64_t longest_ns = source->stays[operation->instance].longest_ns;
    int is_grouped = (size_t)at + 1 < job->operation_count && operation[1].group == operation->group;
    return is_grouped || longest_ns == INT64_MAX ? INT64_MAX : longest_ns - arrival_stay_ns(job, at);
}

/* By how much a member arrived after all others; INT64_MAX where bound_of() does not know. */
static int64_t lead_of(const struct place_matrix_source *source, int32_t at, int64_t bound_ns)
{
    const struct stays *stays = &source->stays[source->job->operations[at].instance];
    if (bound_ns == INT64_MAX)
        return INT64_MAX;
    return arrival_stay_ns(source->job, at) == stays->shortest_ns ? stays->second_ns - stays->shortest_ns : 0;
}

/*
 * Whether the ranks leave an operation one after the other, which a trace of finished operations does not
 * show: the wait for those that are still in it is part of a later own time.
 */
static int is_left_in_turns(const struct job *job, const struct job_operation *operation)
{
    enum function function =
        operation->previous >= 0 ? job->operations[operation->previous].function : operation->function;
    return job->finished_only && !function_is_full_exchange(function) &&
           !function_is_point_to_point(function);
}

/*
 * Whether own time may contain the rest of what came before: of a group, of an operation that is left in
 * turns, or of one at the end of a step that a slow link held, which not every member's kernel shows.
 */
static enum openness openness_of(const struct place_matrix_source *source,
                                 const struct job_operation *operation, int64_t own_ns, int within)
{
    const struct job *job = source->job;
    int64_t slow_ns = source->transfers[job->operations[operation->previous].instance].slow_ns;
    if (job_is_grouped(job, operation->previous) && has_open_end(job, operation))
        return OPEN_BY_OTHERS;
    return is_left_in_turns(job, operation) || (!within && slow_ns > own_ns / HELD_PART) ? OPEN : OPEN_NOT;
}

/* Duration of the operation before, which the rank may compute beside. */
static int64_t beside_ns(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    int64_t duration_ns = job_duration(&job->operations[operation->previous]);
    return duration_ns == TIME_UNKNOWN ? 0 : duration_ns;
}

/* Own time minus what received data explain: that is load, not a fault. */
static int64_t without_load(const struct baseline *baseline, int32_t at, int64_t own_ns)
{
    int64_t rest_ns = baseline->explained_ns ? own_ns - baseline->explained_ns[at] : own_ns;
    return rest_ns > 0 ? rest_ns : 0;
}

int is_late_launch(int64_t late_ns, int64_t idle_ns)
{
    return late_ns != TIME_UNKNOWN && late_ns * 2 >= idle_ns;
}

static void read_cell(struct place_times *times, const struct place_matrix_source *source, size_t cell,
                      int32_t at)
{
    const struct job *job = source->job;
    times->own[cell] = TIME_UNKNOWN;
    times->open[cell] = 0;
    if (at < 0 || excess_list_get(&source->baseline->excess, at).beyond_ns == TIME_UNKNOWN)
        return;
    const struct job_operation *operation = &job->operations[at];
    int64_t idle_ns = job_idle_time(job, operation), late_ns = job_lateness_in(job, operation, idle_ns);
    times->within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    int is_late = times->within && is_late_launch(late_ns, idle_ns);
    if (may_hide_end(job, operation) && !is_late)
        return;
    times->own[cell] =
        without_load(source->baseline, at, idle_ns < operation->own_ns ? idle_ns : operation->own_ns);
    times->pace[cell] = times->own[cell] + beside_ns(job, operation);
    times->late[cell] = late_ns == TIME_UNKNOWN ? 0 : late_ns;
    times->bound[cell] = bound_of(source, at);
    times->lead[cell] = lead_of(source, at, times->bound[cell]);
    times->communicator[cell] = operation->communicator;
    enum openness open = openness_of(source, operation, times->own[cell], times->within);
    times->open[cell] = (unsigned char)(is_late && open == OPEN_BY_OTHERS ? OPEN_NOT : open);
}

const int32_t *place_times_operations(const struct place_times *times, const struct baseline *baseline,
                                      size_t role, int32_t position, size_t rank)
{
    size_t row = (size_t)position * baseline->roles[role].rank_count + (size_t)times->place[rank];
    return baseline->cells[role] + row * times->steps;
}

void place_times_read(struct place_times *times, const struct place_matrix_source *source, size_t role,
                      int32_t position)
{
    size_t first = (size_t)source->baseline->first_step;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        const int32_t *at = place_times_operations(times, source->baseline, role, position, rank);
        for (size_t step = 0; step < times->steps; step++)
            read_cell(times, source, rank * times->steps + step, step < first ? -1 : at[step]);
    }
}
