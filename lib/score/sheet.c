#include "score/sheet.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* The units that have ranks in the times, and these. `number` is scratch: of each unit of the partition. */
static void list_units(struct sheet *sheet, const struct role *role, int32_t *number)
{
    const struct partition *partition = sheet->partition;
    const struct place_times *times = sheet->times;
    for (size_t unit = 0; unit < partition->count; unit++)
        number[unit] = -1;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        if (number[unit] < 0) {
            number[unit] = (int32_t)sheet->units;
            sheet->unit[sheet->units++] = unit;
        }
        sheet->first[number[unit] + 2]++;
    }
    for (size_t unit = 2; unit < sheet->units + 2; unit++)
        sheet->first[unit] += sheet->first[unit - 1];
    for (size_t rank = 0; rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        sheet->member[sheet->first[number[unit] + 1]++] = (int32_t)rank;
    }
}

static int make_room(struct sheet *sheet)
{
    size_t cells = sheet->units * sheet->steps, ranks = sheet->times->ranks;
    size_t longest = ranks > sheet->steps ? ranks : sheet->steps;
    int64_t **const by_unit[] = {&sheet->value,  &sheet->unit_pace, &sheet->middle,
                                 &sheet->others, &sheet->late_more, &sheet->waited};
    int failed = 0;
    for (size_t i = 0; i < sizeof by_unit / sizeof *by_unit; i++)
        failed |= !(*by_unit[i] = array_new(cells, sizeof **by_unit[i]));
    sheet->bound = array_new(ranks * sheet->steps, sizeof *sheet->bound);
    sheet->quiet = array_new(sheet->units, sizeof *sheet->quiet);
    sheet->quiet_pace = array_new(sheet->units, sizeof *sheet->quiet_pace);
    sheet->list = array_new(longest, sizeof *sheet->list);
    sheet->known = array_new(ranks, sizeof *sheet->known);
    return failed || !sheet->bound || !sheet->quiet || !sheet->quiet_pace || !sheet->list || !sheet->known
               ? -1
               : 0;
}

int sheet_init(struct sheet *sheet, const struct sheet_source *source, const struct partition *partition,
               const struct place_times *times, size_t role)
{
    int32_t *number = array_new(partition->count, sizeof *number);
    *sheet = (struct sheet){.partition = partition,
                            .times = times,
                            .steps = times->steps,
                            .unit = array_new(times->ranks, sizeof *sheet->unit),
                            .first = array_new(times->ranks + 2, sizeof *sheet->first),
                            .member = array_new(times->ranks, sizeof *sheet->member)};
    int failed = !number || !sheet->unit || !sheet->first || !sheet->member;
    if (!failed)
        list_units(sheet, &source->baseline->roles[role], number);
    free(number);
    return failed || make_room(sheet) ? -1 : 0;
}

void sheet_release(struct sheet *sheet)
{
    free(sheet->unit);
    free(sheet->first);
    free(sheet->member);
    free(sheet->bound);
    free(sheet->value);
    free(sheet->unit_pace);
    free(sheet->middle);
    free(sheet->others);
    free(sheet->late_more);
    free(sheet->waited);
    free(sheet->quiet);
    free(sheet->quiet_pace);
    free(sheet->list);
    free(sheet->known);
    *sheet = (struct sheet){0};
}

/* Of a unit's members so many have to be known. */
static int are_enough(size_t known, size_t members)
{
    return known > 0 && known * 4 >= members * 3;
}

/* The members of a unit whose own time is known in a step, as cells of the times; returns how many. */
static size_t list_known(const struct sheet *sheet, size_t unit, size_t step)
{
    size_t known = 0;
    for (int32_t i = sheet->first[unit]; i < sheet->first[unit + 1]; i++) {
        size_t cell = (size_t)sheet->member[i] * sheet->steps + step;
        if (sheet->times->own[cell] != TIME_UNKNOWN)
            sheet->known[known++] = cell;
    }
    return known;
}

static int64_t quantile_in(struct sheet *sheet, const int64_t *values, size_t known, double part)
{
    for (size_t i = 0; i < known; i++)
        sheet->list[i] = values[sheet->known[i]];
    return pick_quantile(sheet->list, known, part);
}

/* What those of them show that are not explained. */
static int64_t middle_in(struct sheet *sheet, const struct sheet_source *source, const struct role *role,
                         size_t known, size_t members)
{
    size_t count = 0;
    for (size_t i = 0; i < known; i++) {
        size_t cell = sheet->known[i], row = cell / sheet->steps;
        size_t rank = (size_t)role->ranks[sheet->times->place[row]];
        if (!source->explained[rank * sheet->steps + cell % sheet->steps])
            sheet->list[count++] = sheet->times->own[cell];
    }
    return are_enough(count, members) ? pick_quantile(sheet->list, count, 0.5) : TIME_UNKNOWN;
}

/*
 * How long somebody waited for a unit is as its time: what three of four of its members show. One that came
 * last does not make those slow that waited for it as well.
 */
static void measure_several(struct sheet *sheet, const struct sheet_source *source, const struct role *role,
                            size_t unit)
{
    const struct place_times *times = sheet->times;
    size_t members = (size_t)(sheet->first[unit + 1] - sheet->first[unit]);
    for (size_t step = 0; step < sheet->steps; step++) {
        size_t cell = unit * sheet->steps + step, known = list_known(sheet, unit, step);
        int enough = are_enough(known, members);
        int64_t waited_ns = quantile_in(sheet, sheet->bound, known, 0.25);
        sheet->value[cell] = enough ? quantile_in(sheet, times->own, known, 0.25) : TIME_UNKNOWN;
        sheet->unit_pace[cell] = enough ? quantile_in(sheet, times->pace, known, 0.25) : TIME_UNKNOWN;
        sheet->waited[cell] = waited_ns > 0 ? waited_ns : 0;
        sheet->late_more[cell] = quantile_in(sheet, times->late, known, 0.5);
        sheet->middle[cell] = middle_in(sheet, source, role, known, members);
    }
}

/* The same of a unit of one rank, which is all quantiles of itself. */
static void measure_single(struct sheet *sheet, const struct sheet_source *source, const struct role *role,
                           size_t unit)
{
    const struct place_times *times = sheet->times;
    size_t row = (size_t)sheet->member[sheet->first[unit]];
    size_t rank = (size_t)role->ranks[times->place[row]];
    for (size_t step = 0; step < sheet->steps; step++) {
        size_t cell = unit * sheet->steps + step, of = row * sheet->steps + step;
        int is_known = times->own[of] != TIME_UNKNOWN;
        int is_explained = source->explained[rank * sheet->steps + step];
        sheet->value[cell] = times->own[of];
        sheet->unit_pace[cell] = is_known ? times->pace[of] : TIME_UNKNOWN;
        sheet->waited[cell] = is_known && sheet->bound[of] > 0 ? sheet->bound[of] : 0;
        sheet->late_more[cell] = is_known ? times->late[of] : TIME_UNKNOWN;
        sheet->middle[cell] = is_explained ? TIME_UNKNOWN : times->own[of];
    }
}

static void measure_units(struct sheet *sheet, const struct sheet_source *source, size_t role)
{
    const struct role *of = &source->baseline->roles[role];
    for (size_t unit = 0; unit < sheet->units; unit++)
        if (sheet->first[unit + 1] - sheet->first[unit] == 1)
            measure_single(sheet, source, of, unit);
        else
            measure_several(sheet, source, of, unit);
}

/* In one step, of `values` of the units that have a middle. */
static struct middles find_middles(struct sheet *sheet, const int64_t *values, size_t step)
{
    size_t known = 0;
    for (size_t unit = 0; unit < sheet->units; unit++)
        if (sheet->middle[unit * sheet->steps + step] != TIME_UNKNOWN)
            sheet->list[known++] = values[unit * sheet->steps + step];
    return middles_of(sheet->list, known);
}

/* The others' to each unit. */
static void take_others(struct sheet *sheet, const int64_t *values, size_t step,
                        const struct middles *middles)
{
    for (size_t unit = 0; unit < sheet->units; unit++) {
        size_t cell = unit * sheet->steps + step;
        sheet->others[cell] =
            sheet->middle[cell] == TIME_UNKNOWN ? middles->all : median_of_others(middles, values[cell]);
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
static void take_bounds(struct sheet *sheet, const struct role *role)
{
    const struct place_times *times = sheet->times;
    const struct partition *partition = sheet->partition;
    memcpy(sheet->bound, times->bound, times->ranks * sheet->steps * sizeof *sheet->bound);
    for (size_t rank = 0; partition->kind != UNIT_RANK && rank < times->ranks; rank++) {
        int32_t unit = partition->unit_of[role->ranks[times->place[rank]]];
        for (size_t cell = rank * sheet->steps; cell < (rank + 1) * sheet->steps; cell++)
            if (times->own[cell] != TIME_UNKNOWN && partition->within[times->communicator[cell]] == unit)
                sheet->bound[cell] = INT64_MAX;
    }
}

/* By how much each unit was enqueued later than the others. */
static void compare_lateness(struct sheet *sheet, size_t step)
{
    struct middles middles = find_middles(sheet, sheet->late_more, step);
    take_others(sheet, sheet->late_more, step, &middles);
    for (size_t unit = 0; unit < sheet->units; unit++) {
        size_t cell = unit * sheet->steps + step;
        if (sheet->value[cell] != TIME_UNKNOWN && sheet->others[cell] != TIME_UNKNOWN)
            sheet->late_more[cell] -= sheet->others[cell];
    }
}

void sheet_measure(struct sheet *sheet, const struct sheet_source *source, size_t role,
                   struct middles *middles)
{
    take_bounds(sheet, &source->baseline->roles[role]);
    measure_units(sheet, source, role);
    for (size_t step = 0; step < sheet->steps; step++) {
        compare_lateness(sheet, step);
        middles[step] = find_middles(sheet, sheet->middle, step);
        take_others(sheet, sheet->middle, step, &middles[step]);
    }
    for (size_t unit = 0; unit < sheet->units; unit++)
        measure_quiet(sheet, source, unit);
}

void sheet_measure_alone(struct sheet *sheet, const struct sheet_source *source, size_t role,
                         const struct middles *middles)
{
    take_bounds(sheet, &source->baseline->roles[role]);
    measure_units(sheet, source, role);
    for (size_t step = 0; step < sheet->steps; step++)
        take_others(sheet, sheet->middle, step, &middles[step]);
    for (size_t unit = 0; unit < sheet->units; unit++)
        measure_quiet(sheet, source, unit);
}

int sheet_is_open(const struct sheet *sheet, size_t unit, size_t step)
{
    for (int32_t i = sheet->first[unit]; i < sheet->first[unit + 1]; i++)
        if (sheet->times->open[(size_t)sheet->member[i] * sheet->steps + step])
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
    return late_ns != TIME_UNKNOWN &&
           late_ns >= excess_ns / (sheet->times->within ? HOSTS_PART_WITHIN : HOSTS_PART);
}

int sheet_is_late(const struct sheet *sheet, size_t unit, size_t step, int64_t excess_ns)
{
    return sheet_lateness_is(sheet, sheet->late_more[unit * sheet->steps + step], excess_ns);
}
