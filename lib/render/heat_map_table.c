#include "render/heat_map_table.h"

#include "base/array.h"
#include "base/intern.h"
#include "base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of the table; -1: it lacks one. */
struct places {
    int rank;
    int process;
    int step;
    int host;
    int run;
    int duration;
    int longer;
    int finding;
};

static struct places find_places(const struct table *table)
{
    return (struct places){.rank = table_find_column(table, "rank"),
                           .process = table_find_column(table, "process"),
                           .step = table_find_column(table, "step"),
                           .host = table_find_column(table, "host"),
                           .run = table_find_column(table, "run"),
                           .duration = table_find_column(table, "duration_us"),
                           .longer = table_find_column(table, "longer_us"),
                           .finding = table_find_column(table, "finding")};
}

static int64_t integer_at(const struct table *table, size_t row, int column, int64_t otherwise)
{
    const struct cell *cell = column < 0 ? NULL : table_cell(table, row, (size_t)column);
    return cell && cell->type == CELL_INTEGER ? cell->integer : otherwise;
}

static double real_at(const struct table *table, size_t row, int column)
{
    const struct cell *cell = column < 0 ? NULL : table_cell(table, row, (size_t)column);
    return cell && cell->type == CELL_REAL ? cell->real : (double)NAN;
}

static const char *text_at(const struct table *table, size_t row, int column)
{
    const struct cell *cell = column < 0 ? NULL : table_cell(table, row, (size_t)column);
    return cell && cell->type == CELL_TEXT ? cell->text : NULL;
}

/* The rows of one run in the table, and which of the map each belongs to; SIZE_MAX: to none. */
struct part {
    const struct table *table;
    struct places places;
    size_t first;
    size_t end;
    size_t *row_of; /* owned: from `first` on */
    size_t row_count;
    int64_t least_step;
    int64_t greatest_step;
};

/* What rows of a map are found by while the table is read. */
struct finder {
    struct intern names;
    struct map met; /* name and step -> how often they came so far */
};

/*
 * A rank's row in the map: that of its name. Where ranks have no numbers several may have one name: the
 * second time that it comes with a step it is the second rank's.
 */
static int64_t find_row(struct finder *finder, const char *process, int64_t step, int is_numbered)
{
    struct buffer key = BUFFER_INIT;
    int64_t name = intern_put(&finder->names, process, strlen(process));
    if (name < 0 || is_numbered)
        return name;
    int64_t *times = map_put(&finder->met, (struct map_key){{(uint64_t)name, (uint64_t)step}}, 0, NULL);
    if (!times)
        return -1;
    if ((*times)++ == 0)
        return name;
    int failed = buffer_printf(&key, "%s\n%lld", process, (long long)*times);
    name = failed ? -1 : intern_put(&finder->names, key.data, key.length);
    buffer_release(&key);
    return name;
}

static int read_rows(struct part *part, struct finder *finder)
{
    for (size_t at = part->first; at < part->end; at++) {
        const char *process = text_at(part->table, at, part->places.process);
        int64_t step = integer_at(part->table, at, part->places.step, -1);
        part->row_of[at - part->first] = SIZE_MAX;
        if (!process || step < 0)
            continue;
        int is_numbered = integer_at(part->table, at, part->places.rank, -1) >= 0;
        int64_t row = find_row(finder, process, step, is_numbered);
        if (row < 0)
            return -1;
        part->row_of[at - part->first] = (size_t)row;
        part->least_step = step < part->least_step ? step : part->least_step;
        part->greatest_step = step > part->greatest_step ? step : part->greatest_step;
    }
    part->row_count = finder->names.count;
    return 0;
}

static int read_part(struct part *part)
{
    struct finder finder;
    part->least_step = INT64_MAX;
    part->greatest_step = -1;
    part->row_of = array_new(part->end - part->first, sizeof *part->row_of);
    intern_init(&finder.names);
    map_init(&finder.met);
    int failed = !part->row_of || read_rows(part, &finder);
    intern_release(&finder.names);
    map_release(&finder.met);
    return failed;
}

/* A finding goes on where the same is said of the rank in the step after. */
static void note_finding(struct heat_row *row, const char *finding, int64_t step)
{
    int is_first = !row->finding;
    int goes_on = row->finding && strcmp(row->finding, finding) == 0;
    if (is_first) {
        row->finding = finding;
        row->accused = row->process;
        row->first_step = row->last_step = step;
        row->steps = 1;
    } else if (goes_on) {
        row->first_step = step < row->first_step ? step : row->first_step;
        row->last_step = step > row->last_step ? step : row->last_step;
        row->steps++;
    } else if (!row->more) {
        row->more = 1;
    }
}

static void fill_cell(struct heat_map *map, const struct part *part, int value, size_t at)
{
    const char *finding = text_at(part->table, at, part->places.finding);
    int64_t step = integer_at(part->table, at, part->places.step, -1);
    if (part->row_of[at - part->first] == SIZE_MAX)
        return;
    struct heat_row *row = &map->rows[part->row_of[at - part->first]];
    size_t cell = (size_t)(row - map->rows) * map->columns + (size_t)(step - part->least_step);
    if (!row->process)
        *row = (struct heat_row){.process = text_at(part->table, at, part->places.process),
                                 .host = text_at(part->table, at, part->places.host),
                                 .ranks = 1};
    map->values[cell] = real_at(part->table, at, value);
    map->marked[cell] = finding != NULL;
    if (finding)
        note_finding(row, finding, step);
}

/* The usual step is what a row says of length less what it says that was longer. */
static void find_usual(struct heat_map *map, const struct part *part)
{
    for (size_t at = part->first; at < part->end && !map->is_usual; at++) {
        double usual_us =
            real_at(part->table, at, part->places.duration) - real_at(part->table, at, part->places.longer);
        map->is_usual = usual_us > 0;
        map->unit_us = map->is_usual ? usual_us : 0;
    }
    if (!map->is_usual)
        heat_map_measure(map);
}

static int make_map(struct heat_map *map, const struct part *part, int value)
{
    const struct column *column = &part->table->columns[value];
    if (heat_map_init(map, part->row_count, (size_t)(part->greatest_step - part->least_step + 1),
                      &heat_share_of_step))
        return -1;
    map->title = column->description ? column->description : column->name;
    map->run = integer_at(part->table, part->first, part->places.run, 0);
    map->first_step = part->least_step;
    for (size_t at = part->first; at < part->end; at++)
        fill_cell(map, part, value, at);
    find_usual(map, part);
    return 0;
}

/* Where the run of a row ends. */
static size_t end_of_run(const struct table *table, int run, size_t first)
{
    size_t end = first + 1;
    while (end < table->row_count && integer_at(table, end, run, 0) == integer_at(table, first, run, 0))
        end++;
    return end;
}

static int add_run(struct heat_maps *maps, size_t *capacity, struct part *part, const char *const *values,
                   size_t value_count, size_t most_rows)
{
    if (read_part(part) ||
        array_reserve((void **)&maps->maps, capacity, maps->count + value_count, sizeof *maps->maps))
        return -1;
    for (size_t i = 0; i < value_count && part->row_count; i++) {
        struct heat_map *map = &maps->maps[maps->count++];
        *map = (struct heat_map){.rows = NULL};
        int column = table_find_column(part->table, values[i]);
        if (column < 0)
            maps->count--;
        else if (make_map(map, part, column) || heat_map_fold_rows(map, most_rows))
            return -1;
    }
    return 0;
}

int heat_maps_init(struct heat_maps *maps, const struct table *table, const char *const *values,
                   size_t value_count, size_t most_rows, struct error *error)
{
    struct places places = find_places(table);
    size_t capacity = 0;
    *maps = (struct heat_maps){.maps = NULL};
    for (size_t first = 0, end; first < table->row_count; first = end) {
        end = end_of_run(table, places.run, first);
        struct part part = {.table = table, .places = places, .first = first, .end = end};
        int failed = add_run(maps, &capacity, &part, values, value_count, most_rows);
        free(part.row_of);
        if (failed)
            return error_no_memory(error);
    }
    for (size_t i = 0; i < maps->count; i++)
        maps->maps[i].names_run =
            maps->maps[i].run != maps->maps[0].run || maps->maps[maps->count - 1].run != maps->maps[0].run;
    return 0;
}
