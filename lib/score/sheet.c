#include "score/sheet.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/statistics.h"
#include "job/arrival.h"
#include "job/groups.h"
#include "job/own_time.h"
#include "job/transfers.h"

#include <stdlib.h>
#include <string.h>

int64_t *longest_stays(const struct job *job)
{
    int64_t *longest = array_new(job->instance_count, sizeof *longest);
    for (size_t i = 0; longest && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int known = arrival_is_told(instance, instance->function) && instance->members > 1;
        for (int32_t j = 0; known && j < instance->members; j++) {
            int64_t stay_ns = arrival_stay_ns(job, job_member_at(job, instance, j));
            known = stay_ns != TIME_UNKNOWN;
            longest[i] = stay_ns > longest[i] ? stay_ns : longest[i];
        }
        if (!known)
            longest[i] = INT64_MAX;
    }
    return longest;
}

/* The units that have ranks in the role, and these. `number` is scratch: of each unit of the partition. */
static void list_units(struct sheet *sheet, const struct role *role, const struct partition *partition,
                       int32_t *number)
{
    for (size_t unit = 0; unit < partition->count; unit++)
        number[unit] = -1;
    for (size_t rank = 0; rank < role->rank_count; rank++) {
        int32_t unit = partition->unit_of[role->ranks[rank]];
        if (number[unit] < 0) {
            number[unit] = (int32_t)sheet->units;
            sheet->unit[sheet->units++] = unit;
        }
        sheet->first[number[unit] + 2]++;
    }
    for (size_t unit = 2; unit < sheet->units + 2; unit++)
        sheet->first[unit] += sheet->first[unit - 1];
    for (size_t rank = 0; rank < role->rank_count; rank++)
        sheet->member[sheet->first[number[partition->unit_of[role->ranks[rank]]] + 1]++] = (int32_t)rank;
}

static int make_room(struct sheet *sheet)
{
    size_t cells = sheet->units * sheet->steps, read = sheet->ranks * sheet->steps;
    size_t longest = sheet->ranks > sheet->steps ? sheet->ranks : sheet->steps;
    int64_t **const by_rank[] = {&sheet->own, &sheet->pace, &sheet->late, &sheet->bound};
    int64_t **const by_unit[] = {&sheet->value,  &sheet->unit_pace, &sheet->middle,
                                 &sheet->others, &sheet->late_more, &sheet->waited};
    int failed = 0;
    for (size_t i = 0; i < sizeof by_rank / sizeof *by_rank; i++)
        failed |= !(*by_rank[i] = array_new(read, sizeof **by_rank[i]));
    for (size_t i = 0; i < sizeof by_unit / sizeof *by_unit; i++)
        failed |= !(*by_unit[i] = array_new(cells, sizeof **by_unit[i]));
    sheet->open = array_new(read, 1);
    sheet->quiet = array_new(sheet->units, sizeof *sheet->quiet);
    sheet->quiet_pace = array_new(sheet->units, sizeof *sheet->quiet_pace);
    sheet->list = array_new(longest, sizeof *sheet->list);
    return failed || !sheet->open || !sheet->quiet || !sheet->quiet_pace || !sheet->list ? -1 : 0;
}

int sheet_init(struct sheet *sheet, const struct sheet_source *source, const struct partition *partition,
               size_t role)
{
    const struct role *of = &source->baseline->roles[role];
    int32_t *number = array_new(partition->count, sizeof *number);
    *sheet = (struct sheet){.partition = partition,
                            .ranks = of->rank_count,
                            .steps = (size_t)source->baseline->step_count,
                            .unit = array_new(of->rank_count, sizeof *sheet->unit),
                            .first = array_new(of->rank_count + 2, sizeof *sheet->first),
                            .member = array_new(of->rank_count, sizeof *sheet->member)};
    int failed = !number || !sheet->unit || !sheet->first || !sheet->member;
    if (!failed)
        list_units(sheet, of, partition, number);
    free(number);
    return failed || make_room(sheet) ? -1 : 0;
}

void sheet_release(struct sheet *sheet)
{
    free(sheet->unit);
    free(sheet->first);
    free(sheet->member);
    free(sheet->own);
    free(sheet->pace);
    free(sheet->unit_pace);
    free(sheet->late);
    free(sheet->bound);
    free(sheet->open);
    free(sheet->value);
    free(sheet->middle);
    free(sheet->others);
    free(sheet->late_more);
    free(sheet->waited);
    free(sheet->quiet);
    free(sheet->quiet_pace);
    free(sheet->list);
    *sheet = (struct sheet){0};
}

/* Whether an operation of a group that another rank is in does not say when it was over. */
static int has_open_end(const struct job *job, int32_t of_group)
{
    size_t at = (size_t)job->operations[of_group].group;
    for (; at < job->operation_count && job->operations[at].group == job->operations[of_group].group; at++)
        if (job->operations[at].end_ns == TIME_UNKNOWN &&
            job->instances[job->operations[at].instance].sender !=
                job->instances[job->operations[at].instance].receiver)
            return 1;
    return 0;
}

/* Own time may hold the rest of a send or a receive whose end only its proxy or the host tells. */
static int may_hide_end(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 1;
    const struct job_operation *previous = &job->operations[operation->previous];
    return (previous->function == FUNCTION_SEND && previous->ends != ENDS_BY_KERNEL) ||
           (previous->function == FUNCTION_RECV && previous->ends == ENDS_BY_HOST);
}

static int64_t bound_of(const struct sheet_source *source, int32_t at)
{
    const struct job *job = source->job;
    const struct job_operation *operation = &job->operations[at];
    int64_t longest_ns = source->longest_stay_ns[operation->instance];
    int is_grouped = (size_t)at + 1 < job->operation_count && operation[1].group == operation->group;
    return is_grouped || longest_ns == INT64_MAX ? INT64_MAX : longest_ns - arrival_stay_ns(job, at);
}

/* A slow transfer of this part of an own time that follows may be in it. */
enum { HELD_PART = 4 };

/*
 * Whether an operation may have gone on after its end, for a good part of the own time that follows: of a
 * group it is not known, or a link was slow in it and the step over, which not all members' kernels show.
 */
static int may_go_on(const struct sheet_source *source, int32_t operation, int64_t own_ns, int within)
{
    int64_t slow_ns = source->transfers[source->job->operations[operation].instance].slow_ns;
    return (!within && slow_ns > own_ns / HELD_PART) ||
           (job_is_grouped(source->job, operation) && has_open_end(source->job, operation));
}

/* How long the operation before lasted that a rank computes beside. */
static int64_t beside_ns(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    int64_t duration_ns = job_duration(&job->operations[operation->previous]);
    return duration_ns == TIME_UNKNOWN ? 0 : duration_ns;
}

/* The own time in a cell, and unless only that is asked for, what bounds it. */
static void read_cell(struct sheet *sheet, const struct sheet_source *source, size_t cell, int32_t at,
                      int only_own)
{
    const struct job *job = source->job;
    sheet->own[cell] = TIME_UNKNOWN;
    sheet->bound[cell] = 0;
    sheet->open[cell] = 0;
    if (at < 0 || source->baseline->excess[at].beyond_ns == TIME_UNKNOWN)
        return;
    const struct job_operation *operation = &job->operations[at];
    int64_t idle_ns = job_idle_time(job, operation);
    int hides_end = may_hide_end(job, operation);
    int64_t late_ns = only_own && !hides_end ? 0 : job_lateness_in(job, operation, idle_ns);
    sheet->within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    if (hides_end && (!sheet->within || late_ns == TIME_UNKNOWN || late_ns * 2 < idle_ns))
        return;
    sheet->own[cell] = idle_ns < operation->own_ns ? idle_ns : operation->own_ns;
    if (only_own)
        return;
    sheet->pace[cell] = sheet->own[cell] + beside_ns(job, operation);
    sheet->late[cell] = late_ns == TIME_UNKNOWN ? 0 : late_ns;
    sheet->bound[cell] = bound_of(source, at);
    sheet->open[cell] =
        (unsigned char)may_go_on(source, operation->previous, sheet->own[cell], sheet->within);
}

void sheet_read(struct sheet *sheet, const struct sheet_source *source, size_t role, int32_t position,
                size_t unit)
{
    const struct role *of = &source->baseline->roles[role];
    const int32_t *at = source->baseline->cells[role] + (size_t)position * sheet->ranks * sheet->steps;
    size_t first = (size_t)source->baseline->first_step;
    for (size_t rank = 0; rank < sheet->ranks; rank++) {
        int only_own = unit != SHEET_ALL && sheet->partition->unit_of[of->ranks[rank]] != sheet->unit[unit];
        for (size_t step = 0; step < sheet->steps; step++) {
            size_t cell = rank * sheet->steps + step;
            read_cell(sheet, source, cell, step < first ? -1 : at[cell], only_own);
        }
    }
}

/* Values of a unit's members in a step, in the scratch list; without those that are explained. */
static size_t members_in(struct sheet *sheet, const int64_t *values, size_t unit, size_t step,
                         const struct sheet_source *source, size_t role, int with_explained)
{
    size_t count = 0;
    for (int32_t i = sheet->first[unit]; i < sheet->first[unit + 1]; i++) {
        size_t cell = (size_t)sheet->member[i] * sheet->steps + step;
        int32_t rank = source->baseline->roles[role].ranks[sheet->member[i]];
        if (sheet->own[cell] != TIME_UNKNOWN &&
            (with_explained || !source->explained[(size_t)rank * sheet->steps + step]))
            sheet->list[count++] = values[cell];
    }
    return count;
}

/* Of a unit's members so many have to be known. */
static int are_enough(size_t known, size_t members)
{
    return known > 0 && known * 4 >= members * 3;
}

/*
 * How long somebody waited for a unit: as for its time, what three of four of its members show. One that came
 * last does not make those slow that waited for it as well.
 */
static int64_t waited_for(struct sheet *sheet, size_t known)
{
    int64_t waited_ns = known ? quantile_of(sheet->list, known, 0.25) : 0;
    return waited_ns > 0 ? waited_ns : 0;
}

static int64_t quarter_of(struct sheet *sheet, size_t known, size_t members)
{
    return are_enough(known, members) ? quantile_of(sheet->list, known, 0.25) : TIME_UNKNOWN;
}

/* What its members show that are not explained, in a step. */
static void measure_middle(struct sheet *sheet, const struct sheet_source *source, size_t role, size_t unit,
                           size_t step)
{
    size_t members = (size_t)(sheet->first[unit + 1] - sheet->first[unit]);
    size_t known = members_in(sheet, sheet->own, unit, step, source, role, 0);
    sheet->middle[unit * sheet->steps + step] =
        are_enough(known, members) ? median_of(sheet->list, known) : TIME_UNKNOWN;
}

static void measure_cell(struct sheet *sheet, const struct sheet_source *source, size_t role, size_t unit,
                         size_t step)
{
    size_t cell = unit * sheet->steps + step, members = (size_t)(sheet->first[unit + 1] - sheet->first[unit]);
    size_t known = members_in(sheet, sheet->own, unit, step, source, role, 1);
    sheet->value[cell] = quarter_of(sheet, known, members);
    known = members_in(sheet, sheet->pace, unit, step, source, role, 1);
    sheet->unit_pace[cell] = quarter_of(sheet, known, members);
    known = members_in(sheet, sheet->bound, unit, step, source, role, 1);
    sheet->waited[cell] = waited_for(sheet, known);
    known = members_in(sheet, sheet->late, unit, step, source, role, 1);
    sheet->late_more[cell] = median_of(sheet->list, known);
}

/* The same of a unit of one rank, which is all quantiles of itself. */
static void measure_single(struct sheet *sheet, size_t unit, size_t step)
{
    size_t cell = unit * sheet->steps + step,
           of = (size_t)sheet->member[sheet->first[unit]] * sheet->steps + step;
    int is_known = sheet->own[of] != TIME_UNKNOWN;
    sheet->value[cell] = sheet->own[of];
    sheet->unit_pace[cell] = is_known ? sheet->pace[of] : TIME_UNKNOWN;
    sheet->waited[cell] = is_known && sheet->bound[of] > 0 ? sheet->bound[of] : 0;
    sheet->late_more[cell] = is_known ? sheet->late[of] : TIME_UNKNOWN;
}

static void measure_units(struct sheet *sheet, const struct sheet_source *source, size_t role, size_t only)
{
    for (size_t unit = 0; unit < sheet->units; unit++)
        for (size_t step = 0; step < sheet->steps; step++) {
            measure_middle(sheet, source, role, unit, step);
            if (only != SHEET_ALL && unit != only)
                continue;
            if (sheet->first[unit + 1] - sheet->first[unit] == 1)
                measure_single(sheet, unit, step);
            else
                measure_cell(sheet, source, role, unit, step);
        }
}

/* In one step, for each unit the median of the others, of `values`; the lesser middle one. */
static void take_others(struct sheet *sheet, const int64_t *values, size_t step, int64_t *others)
{
    size_t known = 0;
    for (size_t unit = 0; unit < sheet->units; unit++)
        if (sheet->middle[unit * sheet->steps + step] != TIME_UNKNOWN)
            sheet->list[known++] = values[unit * sheet->steps + step];
    sort_integers(sheet->list, known);
    for (size_t unit = 0; unit < sheet->units; unit++) {
        size_t cell = unit * sheet->steps + step;
        int is_listed = sheet->middle[cell] != TIME_UNKNOWN;
        others[cell] = is_listed ? median_without(sheet->list, known, values[cell])
                       : known   ? sheet->list[(known - 1) / 2]
                                 : TIME_UNKNOWN;
    }
}

/* What a unit takes in its quiet steps: beyond the others, and in all. */
static void measure_quiet(struct sheet *sheet, const struct sheet_source *source, size_t unit)
{
    size_t first = (size_t)source->baseline->first_step, known = 0;
    for (size_t step = first; step < sheet->steps; step++) {
        size_t cell = unit * sheet->steps + step;
        if (sheet->value[cell] != TIME_UNKNOWN && sheet->others[cell] != TIME_UNKNOWN)
            sheet->list[known++] = sheet->value[cell] - sheet->others[cell];
    }
    sheet->quiet[unit] = known ? pick_quiet(sheet->list, known) : 0;
    known = 0;
    for (size_t step = first; step < sheet->steps; step++)
        if (sheet->value[unit * sheet->steps + step] != TIME_UNKNOWN)
            sheet->list[known++] = sheet->unit_pace[unit * sheet->steps + step];
    sheet->quiet_pace[unit] = known ? pick_quiet(sheet->list, known) : 0;
}

/* Of several ranks that nobody else is in an operation with, who waits there says nothing. */
static void lift_bounds(struct sheet *sheet, const struct sheet_source *source, size_t role, int32_t position)
{
    size_t cells = sheet->ranks * sheet->steps;
    const int32_t *at = source->baseline->cells[role] + (size_t)position * cells;
    for (size_t cell = 0; cell < cells; cell++) {
        if (sheet->own[cell] == TIME_UNKNOWN)
            continue;
        const struct job_operation *operation = &source->job->operations[at[cell]];
        int32_t unit = sheet->partition->within[operation->communicator];
        if (unit >= 0 && unit == sheet->partition->unit_of[operation->rank])
            sheet->bound[cell] = INT64_MAX;
    }
}

/* By how much each unit was enqueued later than the others. */
static void compare_lateness(struct sheet *sheet, size_t step)
{
    take_others(sheet, sheet->late_more, step, sheet->others);
    for (size_t unit = 0; unit < sheet->units; unit++) {
        size_t cell = unit * sheet->steps + step;
        if (sheet->value[cell] != TIME_UNKNOWN && sheet->others[cell] != TIME_UNKNOWN)
            sheet->late_more[cell] -= sheet->others[cell];
    }
}

static void copy_read(struct sheet *sheet, const struct sheet *read)
{
    size_t bytes = sheet->ranks * sheet->steps * sizeof *sheet->own;
    memcpy(sheet->own, read->own, bytes);
    memcpy(sheet->pace, read->pace, bytes);
    memcpy(sheet->late, read->late, bytes);
    memcpy(sheet->bound, read->bound, bytes);
    memcpy(sheet->open, read->open, sheet->ranks * sheet->steps);
    sheet->within = read->within;
}

void sheet_measure(struct sheet *sheet, const struct sheet *read, const struct sheet_source *source,
                   size_t role, int32_t position, size_t unit)
{
    if (read != sheet)
        copy_read(sheet, read);
    if (sheet->partition->kind != UNIT_RANK)
        lift_bounds(sheet, source, role, position);
    measure_units(sheet, source, role, unit);
    for (size_t step = 0; step < sheet->steps; step++) {
        if (unit == SHEET_ALL)
            compare_lateness(sheet, step);
        take_others(sheet, sheet->middle, step, sheet->others);
    }
    for (size_t i = 0; i < sheet->units; i++)
        if (unit == SHEET_ALL || i == unit)
            measure_quiet(sheet, source, i);
}

int sheet_is_open(const struct sheet *sheet, size_t unit, size_t step)
{
    for (int32_t i = sheet->first[unit]; i < sheet->first[unit + 1]; i++)
        if (sheet->open[(size_t)sheet->member[i] * sheet->steps + step])
            return 1;
    return 0;
}

int64_t sheet_apart(const struct sheet *sheet, size_t unit, size_t step)
{
    size_t cell = unit * sheet->steps + step;
    if (sheet->value[cell] == TIME_UNKNOWN || sheet->others[cell] == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t apart_ns = sheet->value[cell] - sheet->others[cell];
    int64_t beyond_ns = apart_ns - sheet->quiet[unit];
    if (beyond_ns <= 0)
        return apart_ns;
    int64_t most_ns = sheet->waited[cell], growth_ns = sheet->unit_pace[cell] - sheet->quiet_pace[unit];
    growth_ns = growth_ns > 0 ? growth_ns : 0;
    most_ns = growth_ns < most_ns ? growth_ns : most_ns;
    return beyond_ns > most_ns ? sheet->quiet[unit] + most_ns : apart_ns;
}

/* As for suspicions (host_or_gpu.h): half, and within a step an eighth. */
enum { HOSTS_PART = 2, HOSTS_PART_WITHIN = 8 };

int sheet_lateness_is(const struct sheet *sheet, int64_t late_ns, int64_t excess_ns)
{
    return late_ns != TIME_UNKNOWN && late_ns >= excess_ns / (sheet->within ? HOSTS_PART_WITHIN : HOSTS_PART);
}

int sheet_is_late(const struct sheet *sheet, size_t unit, size_t step, int64_t excess_ns)
{
    return sheet_lateness_is(sheet, sheet->late_more[unit * sheet->steps + step], excess_ns);
}
