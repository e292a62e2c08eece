/* Output format table: the text of an analysis for people. */
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * For people. Widths and units are decided by the first ROWS_MEASURED rows; later rows are written
 * immediately and may exceed the widths. Headings do not include the unit, which is shown below them.
 */

enum { ROWS_MEASURED = 2000 };

/* A cell that is held back. The text is owned; it is NULL for reals, whose unit is not decided yet. */
struct held {
    char *text;
    double real;
};

struct people {
    const struct table *head;
    struct render_target target;
    struct table_layout layout;
    struct held *cells; /* owned: cells of the rows held back */
    size_t cell_count;
    size_t cell_capacity;
    int flowing; /* the heading is written; rows are no longer held back */
};

static void forget(struct people *people)
{
    for (size_t i = 0; i < people->cell_count; i++)
        free(people->cells[i].text);
    people->cell_count = 0;
}

static void people_abandon(void *state)
{
    struct people *people = state;
    forget(people);
    table_layout_release(&people->layout);
    free(people->cells);
    free(people);
}

static void *people_begin(const struct table *head, const struct render_target *target, struct error *error)
{
    struct people *people = calloc(1, sizeof *people);
    if (!people || table_layout_init(&people->layout, head)) {
        if (people)
            people_abandon(people);
        error_no_memory(error);
        return NULL;
    }
    people->head = head;
    people->target = *target;
    return people;
}

/* The number of bytes of the first `width` characters. */
static size_t bytes_of(const char *text, size_t width)
{
    size_t at = 0;
    for (size_t seen = 0; text[at]; at++) {
        seen += ((unsigned char)text[at] & 0xc0) != 0x80;
        if (seen > width)
            break;
    }
    return at;
}

static void put_padding(FILE *stream, size_t count)
{
    fprintf(stream, "%*s", (int)count, "");
}

/* Long paths keep their end, since files of one directory differ there. */
static void put_shortened(FILE *stream, const char *text, size_t width, const struct column_layout *layout)
{
    if (layout->has_paths) {
        fprintf(stream, "~%s", text + bytes_of(text, width - (layout->width - 1)));
        return;
    }
    fwrite(text, 1, bytes_of(text, layout->width - 1), stream);
    fputs("~", stream);
}

static enum colour colour_of(const struct people *people, size_t column, const char *text)
{
    const struct column *of = people->layout.columns[column].column;
    return people->target.colour && of->colour_of ? of->colour_of(text) : COLOUR_NONE;
}

static void put_cell(const struct people *people, size_t column, const char *text, int last)
{
    const struct column_layout *layout = &people->layout.columns[column];
    FILE *stream = people->target.stream;
    size_t width = escape_width(text);
    if (width > layout->width && people->target.width && !layout->right) {
        put_shortened(stream, text, width, layout);
        width = layout->width;
    } else {
        enum colour colour = colour_of(people, column, text);
        if (layout->right && width < layout->width)
            put_padding(stream, layout->width - width);
        fprintf(stream, "%s%s%s", colour_begin(colour), text, colour_end(colour));
    }
    if (!layout->right && !last && width < layout->width)
        put_padding(stream, layout->width - width);
}

/* The last shown column that has text in this line; no blanks follow it. */
static size_t last_of(const struct table_layout *layout,
                      const char *(*text_of)(const void *context, size_t column), const void *context)
{
    size_t last = 0;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->columns[i].shown && *text_of(context, i))
            last = i;
    return last;
}

/* Writes a line. `text_of` returns the text of a column; `context` is passed to it. */
static void put_line(const struct people *people, const char *(*text_of)(const void *context, size_t column),
                     const void *context)
{
    const struct table_layout *layout = &people->layout;
    size_t last = last_of(layout, text_of, context);
    int first = 1;
    for (size_t i = 0; i <= last && i < layout->count; i++) {
        if (!layout->columns[i].shown)
            continue;
        if (!first)
            put_padding(people->target.stream, layout->gap);
        first = 0;
        put_cell(people, i, text_of(context, i), i == last);
    }
    fputc('\n', people->target.stream);
}

static const char *unit_of(const void *context, size_t column)
{
    const char *unit = ((const struct table_layout *)context)->columns[column].unit.name;
    return unit ? unit : "";
}

static const char *piece_of(const void *context, size_t column)
{
    return ((char *const *)context)[column];
}

static int put_names(const struct people *people, size_t line, struct error *error)
{
    const struct table_layout *layout = &people->layout;
    char **pieces = array_new(layout->count + 1, sizeof *pieces);
    int failed = !pieces;
    for (size_t i = 0; !failed && i < layout->count; i++) {
        size_t bytes;
        const char *name = table_layout_name(layout, i, line, &bytes);
        pieces[i] = strndup(name, bytes);
        failed = !pieces[i];
    }
    if (!failed)
        put_line(people, piece_of, pieces);
    for (size_t i = 0; pieces && i < layout->count; i++)
        free(pieces[i]);
    free(pieces);
    return failed ? error_no_memory(error) : 0;
}

static int put_head(const struct people *people, struct error *error)
{
    const struct table_layout *layout = &people->layout;
    int has_units = 0;
    if (people->target.colour)
        fputs("\033[1m", people->target.stream);
    for (size_t i = 0; i < layout->count; i++)
        has_units |= layout->columns[i].shown && layout->columns[i].unit.name != NULL;
    for (size_t line = 0; line < layout->head_lines; line++)
        if (put_names(people, line, error))
            return -1;
    if (has_units)
        put_line(people, unit_of, layout);
    if (people->target.colour)
        fputs("\033[0m", people->target.stream);
    return 0;
}

/* Decides units and widths from the rows held back, and formats the cells that waited for a unit. */
static int lay_out(struct people *people, struct error *error)
{
    struct table_layout *layout = &people->layout;
    for (size_t i = 0; i < layout->count; i++)
        layout->columns[i].unit = table_unit_for(layout->columns[i].column, layout->columns[i].greatest);
    for (size_t i = 0; layout->count && i < people->cell_count; i++) {
        struct column_layout *at = &layout->columns[i % layout->count];
        struct held *held = &people->cells[i];
        if (!held->text)
            held->text =
                table_cell_text(&(struct cell){.type = CELL_REAL, .real = held->real}, at->column, &at->unit);
        if (!held->text)
            return error_no_memory(error);
        if (escape_width(held->text) > at->text_width)
            at->text_width = escape_width(held->text);
    }
    table_layout_fit(layout, (size_t)people->target.width);
    return 0;
}

static const char *held_text(const void *context, size_t column)
{
    return ((const struct held *)context)[column].text;
}

/* Writes the heading and the rows held back. */
static int flow(struct people *people, struct error *error)
{
    size_t count = people->layout.count;
    if (!people->flowing) {
        people->flowing = 1;
        if (lay_out(people, error) || put_head(people, error))
            return -1;
    }
    for (size_t at = 0; count && at + count <= people->cell_count; at += count)
        put_line(people, held_text, people->cells + at);
    forget(people);
    return render_check(people->target.stream, error);
}

/* Updates the layout of a column from a cell, as long as it is not decided. */
static void note_cell(struct column_layout *at, const struct cell *cell)
{
    at->has_values |= cell->type != CELL_NULL;
    at->right &= cell->type != CELL_TEXT && cell->type != CELL_JSON;
    if (cell->type == CELL_REAL && isfinite(cell->real) && fabs(cell->real) > at->greatest)
        at->greatest = fabs(cell->real);
}

static int hold(struct people *people, size_t column, const struct cell *cell)
{
    struct column_layout *at = &people->layout.columns[column];
    struct held *held = &people->cells[people->cell_count];
    int waits = !people->flowing && cell->type == CELL_REAL;
    *held = (struct held){.real = cell->type == CELL_REAL ? cell->real : 0};
    if (!waits && !(held->text = table_cell_text(cell, at->column, &at->unit)))
        return -1;
    people->cell_count++;
    if (!people->flowing)
        note_cell(at, cell);
    return 0;
}

static int people_row(void *state, const struct cell *cells, struct error *error)
{
    struct people *people = state;
    size_t count = people->layout.count;
    if (array_reserve((void **)&people->cells, &people->cell_capacity, people->cell_count + count,
                      sizeof *people->cells))
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (hold(people, i, &cells[i]))
            return error_no_memory(error);
    return people->flowing || people->cell_count >= (size_t)ROWS_MEASURED * count ? flow(people, error) : 0;
}

/* Writes a paragraph, with an empty line before it if `apart`. */
static int put_words(const struct people *people, const char *before, const char *text, size_t length,
                     int apart, struct error *error)
{
    struct buffer line = BUFFER_INIT, lines = BUFFER_INIT;
    int failed = buffer_append_text(&line, before) || escape_terminal(&line, text, length) ||
                 wrap_line(&lines, line.data, line.length,
                           people->target.width ? (size_t)people->target.width : LINE_WIDTH, 2);
    if (!failed)
        fprintf(people->target.stream, "%s%s", apart ? "\n" : "", lines.data);
    buffer_release(&line);
    buffer_release(&lines);
    return failed ? error_no_memory(error) : 0;
}

static int put_prose(const struct people *people, const char *before, const char *text, struct error *error)
{
    return put_words(people, before, text, strlen(text), 1, error);
}

/* Writes a line that is to be copied: it is not broken. */
static int put_command(const struct people *people, const char *command, struct error *error)
{
    struct buffer line = BUFFER_INIT;
    int failed = escape_terminal(&line, command, strlen(command));
    if (!failed)
        fprintf(people->target.stream, "  %s\n", line.data);
    buffer_release(&line);
    return failed ? error_no_memory(error) : 0;
}

/* Names the columns that did not fit. Columns without values are not mentioned. */
static int list_hidden_columns(const struct people *people, struct error *error)
{
    struct buffer names = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0; !failed && i < people->layout.count; i++) {
        const struct column_layout *at = &people->layout.columns[i];
        if (!at->shown && !at->column->hidden && at->has_values)
            failed = buffer_printf(&names, "%s%s", names.length ? ", " : "", at->column->name);
    }
    if (!failed && names.length)
        failed = buffer_append_text(&names, "; --format csv shows all") ||
                 put_prose(people, "Hidden columns (terminal too narrow): ", names.data, error);
    buffer_release(&names);
    return failed ? error_no_memory(error) : 0;
}

static int put_warnings(const struct people *people, struct error *error)
{
    for (size_t i = 0; i < people->head->warning_count; i++) {
        const char *warning = people->head->warnings[i];
        size_t command = people->head->command_begins[i];
        if (put_words(people, "Warning: ", warning, command ? command - 1 : strlen(warning), i == 0, error) ||
            (command && put_command(people, warning + command, error)))
            return -1;
    }
    return 0;
}

static int people_end(void *state, struct error *error)
{
    struct people *people = state;
    int nothing = !people->flowing && people->cell_count == 0;
    int outcome = flow(people, error);
    if (nothing)
        fputs("(no rows)\n", people->target.stream);
    if (outcome == 0 && !nothing && people->head->legend)
        outcome = put_prose(people, "", people->head->legend, error);
    if (outcome == 0)
        outcome = list_hidden_columns(people, error);
    if (outcome == 0)
        outcome = put_warnings(people, error);
    if (outcome == 0)
        outcome = render_check(people->target.stream, error);
    people_abandon(people);
    return outcome;
}

const struct renderer renderer_table = {
    .name = "table",
    .is_for_people = 1,
    .shows_warnings = 1,
    .begin = people_begin,
    .row = people_row,
    .end = people_end,
    .abandon = people_abandon,
};
