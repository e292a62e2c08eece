#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* What a panel is summed up in. */
struct sums {
    int64_t *apart_ns; /* [unit * steps + step]: own time less the others', of all places */
    int32_t *known;    /* likewise: places that tell of some steps */
    int64_t *list;     /* scratch: a step, or a unit */
};

static int sums_init(struct sums *sums, const struct sheet *sheet)
{
    size_t cells = sheet->units * sheet->steps;
    size_t longest = sheet->units > sheet->steps ? sheet->units : sheet->steps;
    *sums = (struct sums){.apart_ns = array_new(cells, sizeof *sums->apart_ns),
                          .known = array_new(cells, sizeof *sums->known),
                          .list = array_new(longest, sizeof *sums->list)};
    return sums->apart_ns && sums->known && sums->list ? 0 : -1;
}

static void sums_release(struct sums *sums)
{
    free(sums->apart_ns);
    free(sums->known);
    free(sums->list);
}

static int panel_init(struct panel *panel, const struct sheet *sheet, int32_t positions)
{
    size_t cells = sheet->units * sheet->steps;
    size_t middles = sheet->units > 1 ? (size_t)positions * sheet->steps : 0;
    *panel = (struct panel){.units = sheet->units,
                            .unit = array_new(sheet->units, sizeof *panel->unit),
                            .beyond = array_new(cells, sizeof *panel->beyond),
                            .more = array_new(cells, sizeof *panel->more),
                            .host = array_new(cells, sizeof *panel->host),
                            .level = array_new(sheet->units, sizeof *panel->level),
                            .middles = array_new(middles, sizeof *panel->middles)};
    if (!panel->unit || !panel->beyond || !panel->more || !panel->host || !panel->level || !panel->middles)
        return -1;
    for (size_t unit = 0; unit < sheet->units; unit++)
        panel->unit[unit] = sheet->unit[unit];
    return 0;
}

void panel_release(struct panel *panel)
{
    free(panel->unit);
    free(panel->beyond);
    free(panel->more);
    free(panel->host);
    free(panel->level);
    free(panel->middles);
    *panel = (struct panel){0};
}

static void add_steps(struct panel *panel, struct sums *sums, const struct sheet *sheet)
{
    for (size_t unit = 0; unit < sheet->units; unit++)
        for (size_t step = 0; step < sheet->steps; step++) {
            size_t cell = unit * sheet->steps + step;
            int64_t apart_ns = sheet_apart(sheet, unit, step), beyond_ns = apart_ns - sheet->quiet[unit];
            if (apart_ns == TIME_UNKNOWN)
                continue;
            sums->apart_ns[cell] += apart_ns;
            if (sheet_is_open(sheet, unit, step))
                continue;
            sums->known[cell]++;
            panel->beyond[cell] += apart_ns;
            if (beyond_ns <= 0)
                continue;
            panel->more[cell] += beyond_ns;
            if (sheet_is_late(sheet, unit, step, beyond_ns))
                panel->host[cell] += beyond_ns;
        }
}

/* The median over steps of a unit's values, less the others' where `others` is given; TIME_UNKNOWN. */
static int64_t usual_of(struct sheet *sheet, const int64_t *values, const int64_t *others, size_t unit)
{
    size_t known = 0;
    for (size_t step = 0; step < sheet->steps; step++) {
        size_t cell = unit * sheet->steps + step;
        if (sheet->value[cell] != TIME_UNKNOWN && sheet->others[cell] != TIME_UNKNOWN)
            sheet->list[known++] = values[cell] - (others ? others[cell] : 0);
    }
    return pick_quantile(sheet->list, known, 0.5);
}

/* A place is slower where it takes longer by so much of what the others take: a few percent are no clock. */
static const double SLOWER = 0.04;

static void add_levels(struct panel *panel, struct sheet *sheet)
{
    for (size_t unit = 0; unit < sheet->units; unit++) {
        struct level *level = &panel->level[unit];
        int64_t apart_ns = usual_of(sheet, sheet->value, sheet->others, unit);
        if (apart_ns == TIME_UNKNOWN)
            continue;
        int64_t others_ns = usual_of(sheet, sheet->others, NULL, unit);
        level->apart_ns += apart_ns;
        level->others_ns += others_ns;
        if (others_ns > level->widest_ns) {
            level->widest_ns = others_ns;
            level->widest_more_ns = apart_ns;
        }
        if ((double)apart_ns > SLOWER * (double)others_ns)
            level->slower_ns += others_ns;
        if (apart_ns <= 0)
            continue;
        level->more_ns += apart_ns;
        if (sheet_lateness_is(sheet, usual_of(sheet, sheet->late_more, NULL, unit), apart_ns))
            level->host_ns += apart_ns;
    }
}

/* Cells of which half of what is known of the unit in any step is not known. */
static void forget_gaps(struct panel *panel, const struct sums *sums, size_t steps, size_t unit)
{
    int32_t most = 0;
    for (size_t step = 0; step < steps; step++)
        most = sums->known[unit * steps + step] > most ? sums->known[unit * steps + step] : most;
    for (size_t step = 0; step < steps; step++)
        if (sums->known[unit * steps + step] * 2 <= most)
            panel->beyond[unit * steps + step] = TIME_UNKNOWN;
}

/* A residual is what is beyond the quiet steps. */
static void settle_unit(struct panel *panel, struct sums *sums, size_t steps, size_t first_step, size_t unit)
{
    size_t count = 0;
    for (size_t step = first_step; step < steps; step++)
        sums->list[count++] = sums->apart_ns[unit * steps + step];
    /* A fault of fewer than three quarters of the steps is not in the level. */
    panel->level[unit].quiet_ns = count ? pick_quantile(sums->list, count, 0.25) : 0;
    count = 0;
    forget_gaps(panel, sums, steps, unit);
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
        if (panel->beyond[cell] != TIME_UNKNOWN)
            sums->list[count++] = panel->beyond[cell];
    int64_t quiet_ns = pick_quiet(sums->list, count);
    for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
        if (panel->beyond[cell] != TIME_UNKNOWN)
            panel->beyond[cell] -= quiet_ns;
}

/* Quiet steps are fewer than half: what noise alone makes of that, as most units show it, is no residual. */
static void take_off_usual(struct panel *panel, struct sums *sums, size_t steps)
{
    int64_t *middles = array_new(panel->units, sizeof *middles);
    size_t known = 0;
    for (size_t unit = 0; middles && unit < panel->units; unit++) {
        size_t count = 0;
        for (size_t cell = unit * steps; cell < (unit + 1) * steps; cell++)
            if (panel->beyond[cell] != TIME_UNKNOWN)
                sums->list[count++] = panel->beyond[cell];
        if (count)
            middles[known++] = pick_quantile(sums->list, count, 0.5);
    }
    int64_t middle_ns = known ? pick_quantile(middles, known, 0.5) : 0;
    for (size_t cell = 0; cell < panel->units * steps; cell++)
        if (panel->beyond[cell] != TIME_UNKNOWN)
            panel->beyond[cell] -= middle_ns;
    free(middles);
}

static void settle(struct panel *panel, struct sums *sums, size_t steps, size_t first_step)
{
    for (size_t unit = 0; unit < panel->units; unit++)
        settle_unit(panel, sums, steps, first_step, unit);
    take_off_usual(panel, sums, steps);
}

/* What panels_init() goes through a role with. */
struct work {
    struct place_times times;
    struct sheet *sheets; /* owned: of each partition, as the sums */
    struct sums *sums;    /* owned */
};

static int work_init(struct work *work, struct panel *panels, const struct sheet_source *source,
                     const struct partitions *partitions, size_t role)
{
    *work = (struct work){.sheets = array_new(partitions->count, sizeof *work->sheets),
                          .sums = array_new(partitions->count, sizeof *work->sums)};
    int failed = !work->sheets || !work->sums ||
                 place_times_init(&work->times, source, role, &partitions->items[0], SHEET_ALL);
    for (size_t i = 0; !failed && i < partitions->count; i++)
        failed = sheet_init(&work->sheets[i], source, &partitions->items[i], &work->times, role) ||
                 panel_init(&panels[i], &work->sheets[i], source->baseline->roles[role].length) ||
                 sums_init(&work->sums[i], &work->sheets[i]);
    return failed ? -1 : 0;
}

static void work_release(struct work *work, size_t partitions)
{
    for (size_t i = 0; work->sheets && work->sums && i < partitions; i++) {
        sheet_release(&work->sheets[i]);
        sums_release(&work->sums[i]);
    }
    free(work->sheets);
    free(work->sums);
    place_times_release(&work->times);
}

int panels_init(struct panel *panels, const struct sheet_source *source, const struct partitions *partitions,
                size_t role)
{
    struct work work;
    size_t steps = (size_t)source->baseline->step_count;
    int failed = work_init(&work, panels, source, partitions, role);
    for (int32_t position = 0; !failed && position < source->baseline->roles[role].length; position++) {
        place_times_read(&work.times, source, role, position);
        for (size_t i = 0; i < partitions->count; i++) {
            if (panels[i].units < 2)
                continue;
            sheet_measure(&work.sheets[i], source, role, &panels[i].middles[(size_t)position * steps]);
            add_steps(&panels[i], &work.sums[i], &work.sheets[i]);
            add_levels(&panels[i], &work.sheets[i]);
        }
    }
    for (size_t i = 0; !failed && i < partitions->count; i++)
        settle(&panels[i], &work.sums[i], steps, (size_t)source->baseline->first_step);
    work_release(&work, partitions->count);
    return failed;
}

/* What a unit takes at a place in the steps that are not marked. */
struct usual {
    int64_t apart_ns; /* beyond the others */
    int64_t pace_ns;
};

/* Of what goes through all steps, the middle one of all; in its quiet steps where few are not marked. */
static struct usual usual_at(const struct fault *fault, struct sheet *sheet)
{
    size_t known = 0, steps = 0;
    struct usual usual = {.apart_ns = sheet->quiet[0], .pace_ns = sheet->quiet_pace[0]};
    if (fault->is_steady) {
        usual.apart_ns = usual_of(sheet, sheet->value, sheet->others, 0);
        return usual;
    }
    for (size_t step = 0; step < sheet->steps; step++) {
        int64_t apart_ns = sheet_apart(sheet, 0, step);
        steps += apart_ns != TIME_UNKNOWN;
        if (apart_ns != TIME_UNKNOWN && !fault->steps[step])
            sheet->list[known++] = apart_ns;
    }
    if (!known || known * 4 < steps)
        return usual;
    usual.apart_ns = pick_quantile(sheet->list, known, 0.5);
    known = 0;
    for (size_t step = 0; step < sheet->steps; step++)
        if (sheet_apart(sheet, 0, step) != TIME_UNKNOWN && !fault->steps[step])
            sheet->list[known++] = sheet->unit_pace[step];
    usual.pace_ns = pick_quantile(sheet->list, known, 0.5);
    return usual;
}

/* What an own time is too long by, in a step. */
static int64_t too_long(const struct fault *fault, const struct sheet *sheet, const struct usual *usual,
                        int64_t own_ns, int64_t pace_ns, size_t step)
{
    int64_t apart_ns = own_ns - sheet->others[step];
    int64_t steady_ns = apart_ns < usual->apart_ns ? apart_ns : usual->apart_ns;
    int64_t fault_ns = fault->is_steady ? steady_ns : apart_ns - usual->apart_ns;
    int64_t growth_ns = fault->is_steady ? scale(own_ns, fault->most_part) : pace_ns - usual->pace_ns;
    if (fault_ns > 0 && growth_ns < fault_ns)
        fault_ns = growth_ns > 0 ? growth_ns : 0;
    return fault_ns;
}

/* What a member takes too long in a cell, as far as the unit does. */
static int64_t fault_at(const struct fault *fault, const struct sheet *sheet, const struct usual *usual,
                        size_t cell)
{
    size_t step = cell % sheet->steps;
    int64_t fault_ns = too_long(fault, sheet, usual, sheet->times->own[cell], sheet->times->pace[cell], step);
    int64_t common_ns = too_long(fault, sheet, usual, sheet->value[step], sheet->unit_pace[step], step);
    fault_ns = common_ns < fault_ns ? common_ns : fault_ns;
    return fault_ns < sheet->bound[cell] ? fault_ns : sheet->bound[cell];
}

/* What one place of a unit, the only one of the sheet, takes longer than it should. */
static void take_place(const struct fault *fault, const struct sheet_source *source, struct sheet *sheet,
                       size_t role, int32_t position, fault_taker take, void *context)
{
    const struct place_times *times = sheet->times;
    struct usual usual = usual_at(fault, sheet);
    for (size_t rank = 0; rank < times->ranks; rank++) {
        const int32_t *at = place_times_operations(times, source->baseline, role, position, rank);
        for (size_t step = 0; step < sheet->steps; step++) {
            size_t cell = rank * sheet->steps + step;
            if (fault->steps[step] && times->own[cell] != TIME_UNKNOWN &&
                sheet_apart(sheet, 0, step) != TIME_UNKNOWN && (fault->is_steady || !times->open[cell]))
                take(context, at[step], fault_at(fault, sheet, &usual, cell));
        }
    }
}

static int take_role(const struct fault *fault, const struct sheet_source *source, const struct panel *panel,
                     size_t role, fault_taker take, void *context)
{
    struct place_times times;
    struct sheet sheet = {0};
    int failed = place_times_init(&times, source, role, fault->partition, fault->unit) ||
                 sheet_init(&sheet, source, fault->partition, &times, role);
    for (int32_t position = 0; !failed && position < source->baseline->roles[role].length; position++) {
        place_times_read(&times, source, role, position);
        sheet_measure_alone(&sheet, source, role, &panel->middles[(size_t)position * times.steps]);
        take_place(fault, source, &sheet, role, position, take, context);
    }
    sheet_release(&sheet);
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

int fault_each(const struct fault *fault, const struct sheet_source *source, fault_taker take, void *context)
{
    for (size_t role = 0; role < source->baseline->role_count; role++) {
        const struct panel *panel = &fault->panels[role * fault->apart];
        if (panel->units > 1 && plays(fault->partition, fault->unit, source->baseline, role) &&
            take_role(fault, source, panel, role, take, context))
            return -1;
    }
    return 0;
}
