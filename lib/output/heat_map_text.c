/* Draws heat maps as text for terminals. Below it: makes heat maps from the table of rank-steps. */
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Minimum number of columns of a map, even on a narrow terminal. */
enum { LEAST_COLUMNS = 10 };

/* A step number is printed above every TICK-th column. */
enum { TICK = 10 };

/* One character for unknown values, then one for each level. */
static const char *const plain_marks[] = {" ", ".", ":", "+", "#", "@"};
static const char *const utf8_marks[] = {
    " ", "\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93", "\xe2\x96\x88"};

struct drawing {
    struct heat_map *map;
    const char *const *marks; /* indexed by level + 1 */
    size_t width;
    size_t label_width;
    struct buffer *text;
    struct buffer piece; /* not escaped yet */
    struct buffer shown; /* the piece, escaped */
};

/* Escapes the piece and empties it. */
static int show_piece(struct drawing *drawing)
{
    buffer_clear(&drawing->shown);
    int failed =
        drawing->piece.length && escape_terminal(&drawing->shown, drawing->piece.data, drawing->piece.length);
    buffer_clear(&drawing->piece);
    return failed;
}

static size_t shown_width(const struct drawing *drawing)
{
    return drawing->shown.length ? escape_width(drawing->shown.data) : 0;
}

static int measure(struct drawing *drawing)
{
    drawing->label_width = sizeof "rank" - 1;
    for (size_t i = 0; i < drawing->map->row_count; i++) {
        if (heat_row_label(drawing->map, &drawing->map->rows[i], &drawing->piece) || show_piece(drawing))
            return -1;
        if (shown_width(drawing) > drawing->label_width)
            drawing->label_width = shown_width(drawing);
    }
    return 0;
}

static int put_blanks(struct buffer *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (buffer_append_byte(text, ' '))
            return -1;
    return 0;
}

/* Prints lines of prose, wrapped to the width. */
static int put_prose(struct drawing *drawing)
{
    struct buffer *piece = &drawing->piece;
    int failed = wrap_line(drawing->text, piece->data, piece->length, drawing->width, 0);
    buffer_clear(piece);
    return failed;
}

static int put_head(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *piece = &drawing->piece;
    if ((map->names_run && buffer_printf(piece, "run %lld: ", (long long)map->run)) ||
        buffer_printf(piece, "%s, by rank and step", map->title))
        return -1;
    if (map->by_host && buffer_append_text(piece, "; one row per host: the largest value of its ranks"))
        return -1;
    if (!map->by_host && map->row_count && map->rows[0].ranks > 1 &&
        buffer_printf(piece, "; one row per %zu ranks: their largest value", map->rows[0].ranks))
        return -1;
    if (map->steps_in_column > 1 && buffer_printf(piece, "; one column per %lld steps: their largest value",
                                                  (long long)map->steps_in_column))
        return -1;
    return put_prose(drawing);
}

/* Prints the meaning of the characters: "in % of the baseline step (30 ms):  . below 3  : 3  + 10 ...". */
static int put_legend(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *piece = &drawing->piece;
    if (buffer_printf(piece, "in %% of the %s (%.3g ms):  %s below %g",
                      map->is_usual ? "baseline step" : "largest value", map->unit_us / 1e3,
                      drawing->marks[1], heat_scale_bound(map->scale, 0)))
        return -1;
    for (int level = 1; level < HEAT_LEVELS; level++)
        if (buffer_printf(piece, "  %s %g", drawing->marks[level + 1], heat_scale_bound(map->scale, level)))
            return -1;
    return buffer_append_text(piece, " and more") || put_prose(drawing);
}

/* Prints step numbers above the columns. */
static int put_steps(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *text = drawing->text;
    if (put_blanks(text, drawing->label_width - (sizeof "rank" - 1)) || buffer_append_text(text, "rank  "))
        return -1;
    size_t taken = 0;
    for (size_t column = 0; column < map->columns; column += TICK) {
        size_t before = text->length + column - taken;
        if (put_blanks(text, column - taken) ||
            buffer_printf(text, column ? "%lld" : "step %lld", (long long)heat_map_step(map, column)))
            return -1;
        taken = column + text->length - before;
    }
    return buffer_append_byte(text, '\n');
}

static int put_row(struct drawing *drawing, size_t row)
{
    const struct heat_map *map = drawing->map;
    struct buffer *text = drawing->text;
    if (heat_row_label(map, &map->rows[row], &drawing->piece) || show_piece(drawing) ||
        put_blanks(text, drawing->label_width - shown_width(drawing)) ||
        buffer_append(text, drawing->shown.data, drawing->shown.length) || put_blanks(text, 2))
        return -1;
    for (size_t column = 0; column < map->columns; column++)
        if (buffer_append_text(text,
                               drawing->marks[1 + heat_map_level(map, heat_map_value(map, row, column))]))
            return -1;
    if (heat_row_mark(&map->rows[row], &drawing->piece) || show_piece(drawing))
        return -1;
    size_t used = drawing->label_width + 2 + map->columns + 4;
    if (drawing->shown.length && used + shown_width(drawing) > drawing->width &&
        (buffer_append_byte(text, '\n') || put_blanks(text, drawing->label_width)))
        return -1;
    return drawing->shown.length && (buffer_append_text(text, "  < ") ||
                                     buffer_append(text, drawing->shown.data, drawing->shown.length))
               ? -1
               : buffer_append_byte(text, '\n');
}

/* `is_first`: it is the first map of its run. */
static int put_map(struct drawing *drawing, int is_first)
{
    if (measure(drawing))
        return -1;
    size_t room = drawing->width > drawing->label_width + 2 ? drawing->width - drawing->label_width - 2 : 0;
    heat_map_fold_steps(drawing->map, room > LEAST_COLUMNS ? room : LEAST_COLUMNS);
    if (put_head(drawing) || (is_first && put_legend(drawing)) || put_steps(drawing))
        return -1;
    for (size_t row = 0; row < drawing->map->row_count; row++)
        if (put_row(drawing, row))
            return -1;
    return 0;
}

int heat_maps_text(struct heat_maps *maps, size_t width, int utf8, struct buffer *text)
{
    struct drawing drawing = {.marks = utf8 ? utf8_marks : plain_marks,
                              .width = width,
                              .text = text,
                              .piece = BUFFER_INIT,
                              .shown = BUFFER_INIT};
    int failed = 0;
    for (size_t i = 0; i < maps->count && !failed; i++) {
        drawing.map = &maps->maps[i];
        failed = (i && buffer_append_byte(text, '\n')) ||
                 put_map(&drawing, !i || maps->maps[i - 1].run != maps->maps[i].run);
    }
    buffer_release(&drawing.piece);
    buffer_release(&drawing.shown);
    return failed ? -1 : 0;
}

/* Indexes of columns of the table; -1: the table has no such column. */
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

/* The rows of one run in the table, and the map row of each; SIZE_MAX: none. */
struct part {
    const struct table *table;
    struct places places;
    size_t first;
    size_t end;
    size_t *row_of; /* owned; [table row - first] */
    size_t row_count;
    int64_t least_step;
    int64_t greatest_step;
};

/* Finds rows of the map while the table is read. */
struct finder {
    struct intern names;
    struct map met; /* (name, step) -> how often it occurred so far */
};

/*
 * Finds the row of a rank by its name. If ranks have no numbers, several may have the same name: the second
 * occurrence of a name in a step belongs to the second rank of that name.
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

/* Extends a finding if the next step of the rank has the same finding. */
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

/*
 * The baseline step is the duration of a step minus the time that it was longer, taken from any row with
 * both.
 */
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

/* The index after the last row of a run. */
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
