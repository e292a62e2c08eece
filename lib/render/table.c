#include "base/array.h"
#include "render/formats.h"
#include "render/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * For people. The first ROWS_MEASURED rows decide the widths; later ones are written as they come and may
 * stand out. Names lose their unit, which stands below them.
 */

enum { ROWS_MEASURED = 2000, GAP = 2, NARROWEST = 12 };

struct column_layout {
    size_t width;
    int shown;
    int right; /* aligned: only numbers seen */
    int has_paths;
    char *name;
    const char *unit;
};

struct people {
    const struct table *head;
    struct render_target target;
    struct column_layout *columns;
    char **texts; /* owned: cells of the rows held back, NULL for null */
    size_t text_count;
    size_t text_capacity;
    int flowing; /* the head is out, rows go straight through */
};

static char *escaped(const char *text)
{
    struct buffer buffer = BUFFER_INIT;
    if (escape_terminal(&buffer, text, strlen(text)))
        buffer_release(&buffer);
    return buffer_detach(&buffer);
}

/* "transfer_us_p50" with unit "us" reads "transfer p50". NULL when memory is out. */
static char *head_name(const struct column *column)
{
    static const char *const suffixes[] = {"_us", "_bytes", "_gbs", "_ns", "_ms", "_s", NULL};
    /* A query may call its columns anything. */
    char *name = escaped(column->name);
    if (!name || !column->unit)
        return name;
    for (size_t i = 0; suffixes[i]; i++) {
        char *at = strstr(name, suffixes[i]);
        size_t length = strlen(suffixes[i]);
        if (at && at != name && (at[length] == '\0' || at[length] == '_')) {
            memmove(at, at + length, strlen(at + length) + 1);
            break;
        }
    }
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = ' ';
    return name;
}

/* A query may ask for them by any name; these are those of the store. */
static int is_of_paths(const struct column *column)
{
    static const char *const names[] = {"path", "first_file", "file_set"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column->name, names[i]) == 0)
            return 1;
    return 0;
}

static void people_abandon(void *state)
{
    struct people *people = state;
    for (size_t i = 0; people->columns && i < people->head->column_count; i++)
        free(people->columns[i].name);
    for (size_t i = 0; i < people->text_count; i++)
        free(people->texts[i]);
    free(people->columns);
    free(people->texts);
    free(people);
}

static void *people_begin(const struct table *head, const struct render_target *target, struct error *error)
{
    struct people *people = calloc(1, sizeof *people);
    if (!people || !(people->columns = array_new(head->column_count, sizeof *people->columns))) {
        free(people);
        error_no_memory(error);
        return NULL;
    }
    people->head = head;
    people->target = *target;
    for (size_t i = 0; i < head->column_count; i++) {
        struct column_layout *layout = &people->columns[i];
        *layout = (struct column_layout){.shown = !head->columns[i].hidden,
                                         .right = head->columns[i].type != CELL_TEXT &&
                                                  head->columns[i].type != CELL_JSON,
                                         .has_paths = is_of_paths(&head->columns[i]),
                                         .unit = head->columns[i].unit,
                                         .name = head_name(&head->columns[i])};
        if (!layout->name) {
            error_no_memory(error);
            people_abandon(people);
            return NULL;
        }
        layout->width = escape_width(layout->name);
        if (layout->unit && escape_width(layout->unit) > layout->width)
            layout->width = escape_width(layout->unit);
    }
    return people;
}

/* 4194304 bytes read "4 MiB", but only where nothing is lost by it. */
static int append_bytes(struct buffer *text, int64_t bytes)
{
    static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
    size_t unit = 0;
    while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    return buffer_printf(text, "%" PRId64 "%s", bytes, units[unit]);
}

static int append_real(struct buffer *text, double value, int decimals)
{
    char shortest[REAL_TEXT_BYTES];
    if (!isfinite(value))
        return buffer_append_byte(text, '-');
    if (decimals >= 0)
        return buffer_printf(text, "%.*f", decimals, value);
    render_real(value, shortest);
    return buffer_append_text(text, shortest);
}

/* A cell as text, owned by the caller; NULL when memory is out. */
static char *cell_text(const struct column *column, const struct cell *cell)
{
    struct buffer text = BUFFER_INIT;
    int failed;
    switch (cell->type) {
    case CELL_INTEGER:
        failed = column->unit && strcmp(column->unit, "bytes") == 0
                     ? append_bytes(&text, cell->integer)
                     : buffer_printf(&text, "%" PRId64, cell->integer);
        break;
    case CELL_REAL:
        failed = append_real(&text, cell->real, column->decimals);
        break;
    case CELL_TEXT:
    case CELL_JSON:
        failed = escape_terminal(&text, cell->text, strlen(cell->text));
        break;
    default:
        failed = buffer_append_byte(&text, '-');
    }
    if (failed)
        buffer_release(&text);
    return buffer_detach(&text);
}

/* Bytes of the first `width` characters. */
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

/* Files of a directory differ at the end of their paths. */
static void put_shortened(FILE *stream, const char *text, size_t width, const struct column_layout *layout)
{
    if (layout->has_paths) {
        fprintf(stream, "~%s", text + bytes_of(text, width - (layout->width - 1)));
        return;
    }
    fwrite(text, 1, bytes_of(text, layout->width - 1), stream);
    fputs("~", stream);
}

static void put_cell(const struct people *people, size_t column, const char *text, int last)
{
    const struct column_layout *layout = &people->columns[column];
    FILE *stream = people->target.stream;
    size_t width = escape_width(text);
    if (width > layout->width && people->target.width && !layout->right) {
        put_shortened(stream, text, width, layout);
        width = layout->width;
    } else {
        if (layout->right && width < layout->width)
            put_padding(stream, layout->width - width);
        fputs(text, stream);
    }
    if (!layout->right && !last && width < layout->width)
        put_padding(stream, layout->width - width);
}

static void put_line(const struct people *people, char *const *texts)
{
    size_t last = 0;
    for (size_t i = 0; i < people->head->column_count; i++)
        if (people->columns[i].shown)
            last = i;
    int first = 1;
    for (size_t i = 0; i < people->head->column_count; i++) {
        if (!people->columns[i].shown)
            continue;
        if (!first)
            put_padding(people->target.stream, GAP);
        first = 0;
        put_cell(people, i, texts[i], i == last);
    }
    fputc('\n', people->target.stream);
}

/* Narrows the widest columns of text until the line fits, as far as that goes. */
static void fit(struct people *people)
{
    for (;;) {
        size_t total = 0;
        struct column_layout *widest = NULL;
        for (size_t i = 0; i < people->head->column_count; i++) {
            struct column_layout *layout = &people->columns[i];
            if (!layout->shown)
                continue;
            total += layout->width + (total ? GAP : 0);
            if (!layout->right && layout->width > NARROWEST && (!widest || layout->width > widest->width))
                widest = layout;
        }
        if (!people->target.width || total <= (size_t)people->target.width || !widest)
            return;
        size_t excess = total - (size_t)people->target.width;
        size_t room = widest->width - NARROWEST;
        widest->width -= excess < room ? excess : room;
    }
}

static int put_head(struct people *people, struct error *error)
{
    size_t count = people->head->column_count;
    char **line = array_new(count, sizeof *line);
    if (!line)
        return error_no_memory(error);
    static char nothing[] = "";
    int has_units = 0;
    if (people->target.colour)
        fputs("\033[1m", people->target.stream);
    for (size_t i = 0; i < count; i++) {
        line[i] = people->columns[i].name;
        has_units |= people->columns[i].shown && people->columns[i].unit != NULL;
    }
    put_line(people, line);
    for (size_t i = 0; i < count && has_units; i++)
        line[i] = people->columns[i].unit ? (char *)(uintptr_t)people->columns[i].unit : nothing;
    if (has_units)
        put_line(people, line);
    if (people->target.colour)
        fputs("\033[0m", people->target.stream);
    free(line);
    return 0;
}

/* Writes what was held back, below the head. */
static int flow(struct people *people, struct error *error)
{
    size_t count = people->head->column_count;
    if (!people->flowing) {
        people->flowing = 1;
        fit(people);
        if (put_head(people, error))
            return -1;
    }
    for (size_t at = 0; count && at + count <= people->text_count; at += count)
        put_line(people, people->texts + at);
    int outcome = render_check(people->target.stream, error);
    for (size_t i = 0; i < people->text_count; i++)
        free(people->texts[i]);
    people->text_count = 0;
    return outcome;
}

static int people_row(void *state, const struct cell *cells, struct error *error)
{
    struct people *people = state;
    size_t count = people->head->column_count;
    if (array_reserve((void **)&people->texts, &people->text_capacity, people->text_count + count,
                      sizeof *people->texts))
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        char *text = cell_text(&people->head->columns[i], &cells[i]);
        if (!text)
            return error_no_memory(error);
        people->texts[people->text_count++] = text;
        if (people->flowing)
            continue;
        if (cells[i].type == CELL_TEXT || cells[i].type == CELL_JSON)
            people->columns[i].right = 0;
        if (escape_width(text) > people->columns[i].width)
            people->columns[i].width = escape_width(text);
    }
    return people->flowing || people->text_count >= (size_t)ROWS_MEASURED * count ? flow(people, error) : 0;
}

static int put_warnings(const struct people *people, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    for (size_t i = 0; i < people->head->warning_count; i++) {
        const char *warning = people->head->warnings[i];
        buffer_clear(&text);
        if (escape_terminal(&text, warning, strlen(warning))) {
            buffer_release(&text);
            return error_no_memory(error);
        }
        fprintf(people->target.stream, "%sWarning: %s\n", i ? "" : "\n", text.data);
    }
    buffer_release(&text);
    return 0;
}

static int people_end(void *state, struct error *error)
{
    struct people *people = state;
    int nothing = !people->flowing && people->text_count == 0;
    int outcome = flow(people, error);
    if (nothing)
        fputs("(no rows)\n", people->target.stream);
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
