/*
 * Layout of tables for people: units, headings, widths, and which columns are shown. table.c and html_page.c
 * use it.
 */
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NARROW_GAP = 1, NARROWEST = 12 };

static char *escaped(const char *text)
{
    struct buffer buffer = BUFFER_INIT;
    if (escape_terminal(&buffer, text, strlen(text)))
        buffer_release(&buffer);
    return buffer_detach(&buffer);
}

/* The heading: "transfer_us_p50" with unit "us" becomes "transfer p50". NULL when out of memory. */
static char *head_name(const struct column *column)
{
    static const char *const suffixes[] = {"_us", "_bytes", "_gbs", "_ns", "_ms", "_s", NULL};
    /* The column names of a query may contain anything. */
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

/* A query can rename columns. These are the names in the store. */
static int is_of_paths(const struct column *column)
{
    static const char *const names[] = {"path", "first_file", "file_set"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column->name, names[i]) == 0)
            return 1;
    return 0;
}

int table_layout_init(struct table_layout *layout, const struct table *head)
{
    *layout = (struct table_layout){
        .columns = array_new(head->column_count, sizeof *layout->columns), .gap = GAP, .head_lines = 1};
    if (!layout->columns)
        return -1;
    for (; layout->count < head->column_count; layout->count++) {
        const struct column *column = &head->columns[layout->count];
        struct column_layout *at = &layout->columns[layout->count];
        *at = (struct column_layout){.column = column,
                                     .name = head_name(column),
                                     .shown = !column->hidden,
                                     .right = column->type != CELL_TEXT && column->type != CELL_JSON,
                                     .has_paths = is_of_paths(column)};
        if (!at->name)
            return -1;
    }
    return 0;
}

void table_layout_release(struct table_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        free(layout->columns[i].name);
    free(layout->columns);
    *layout = (struct table_layout){.columns = NULL};
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/*
 * Where headings may be broken: at blanks, which only columns with a unit have, and after underscores, which
 * are kept.
 */
static size_t word_width(const char *name, size_t *bytes)
{
    size_t width = 0, at = 0;
    for (; name[at] && name[at] != ' ' && (at == 0 || name[at - 1] != '_'); at++)
        width += ((unsigned char)name[at] & 0xc0) != 0x80;
    *bytes = at + (name[at] == ' ');
    return width;
}

static size_t longest_word(const char *name)
{
    size_t longest = 0, bytes;
    for (; *name; name += bytes)
        longest = greater(longest, word_width(name, &bytes));
    return longest;
}

static void measure(struct table_layout *layout, int stacked)
{
    for (size_t i = 0; i < layout->count; i++) {
        struct column_layout *at = &layout->columns[i];
        size_t name = stacked ? longest_word(at->name) : escape_width(at->name);
        size_t unit = at->unit.name ? escape_width(at->unit.name) : 0;
        at->width = greater(at->text_width, greater(name, unit));
    }
}

static size_t total_width(const struct table_layout *layout)
{
    size_t total = 0;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->columns[i].shown)
            total += layout->columns[i].width + (total ? layout->gap : 0);
    return total;
}

/* The next piece of a heading that fits into its column: its number of bytes without a trailing blank. */
static size_t piece_of(const char *name, size_t width, size_t *skip)
{
    size_t taken = 0, seen = 0, bytes;
    *skip = 0;
    while (name[taken]) {
        size_t word = word_width(name + taken, &bytes);
        if (taken && seen + word > width)
            break;
        taken += bytes;
        seen += word + (name[taken - 1] == ' ');
    }
    *skip = taken;
    return taken && name[taken - 1] == ' ' ? taken - 1 : taken;
}

static size_t lines_of(const struct column_layout *at)
{
    size_t lines = 0, skip;
    for (const char *name = at->name; *name; name += skip, lines++)
        piece_of(name, at->width, &skip);
    return lines;
}

static void count_lines(struct table_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->columns[i].shown)
            layout->head_lines = greater(layout->head_lines, lines_of(&layout->columns[i]));
}

static void drop_empty(struct table_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        layout->columns[i].shown &= layout->columns[i].has_values || layout->columns[i].column->is_asked_for;
}

/* Drops detail columns from right to left until the table fits. */
static void drop_detail(struct table_layout *layout, size_t width)
{
    for (size_t i = layout->count; i-- > 0 && total_width(layout) > width;)
        if (layout->columns[i].column->detail)
            layout->columns[i].shown = 0;
}

/* The widest text column that can still become narrower; NULL. */
static struct column_layout *widest_text(const struct table_layout *layout)
{
    struct column_layout *widest = NULL;
    for (size_t i = 0; i < layout->count; i++) {
        struct column_layout *at = &layout->columns[i];
        if (at->shown && !at->right && at->width > NARROWEST && (!widest || at->width > widest->width))
            widest = at;
    }
    return widest;
}

static void narrow(struct table_layout *layout, size_t width)
{
    struct column_layout *widest;
    while (total_width(layout) > width && (widest = widest_text(layout))) {
        size_t excess = total_width(layout) - width, room = widest->width - NARROWEST;
        widest->width -= excess < room ? excess : room;
    }
}

void table_layout_fit(struct table_layout *layout, size_t width)
{
    measure(layout, 0);
    if (width && total_width(layout) > width)
        drop_empty(layout);
    if (width && total_width(layout) > width)
        measure(layout, 1);
    if (width && total_width(layout) > width)
        narrow(layout, width);
    if (width && total_width(layout) > width)
        layout->gap = NARROW_GAP;
    if (width && total_width(layout) > width)
        drop_detail(layout, width);
    count_lines(layout);
}

const char *table_layout_name(const struct table_layout *layout, size_t column, size_t line, size_t *length)
{
    const struct column_layout *at = &layout->columns[column];
    size_t lines = lines_of(at), skip = 0;
    const char *name = at->name;
    *length = 0;
    if (line + lines < layout->head_lines)
        return "";
    for (size_t number = layout->head_lines - lines; *name; name += skip, number++) {
        *length = piece_of(name, at->width, &skip);
        if (number == line)
            return name;
    }
    *length = 0;
    return "";
}

/* Whether the unit of the column is chosen by its values. */
static int table_unit_is_chosen(const struct column *column)
{
    return column->type == CELL_REAL && column->unit && strcmp(column->unit, "us") == 0;
}

/*
 * Enough decimals for at least three significant digits of the largest value, but no column of trailing
 * zeros.
 */
static int decimals_for(double greatest)
{
    return greatest >= 100 ? 1 : greatest >= 10 ? 2 : 3;
}

struct table_unit table_unit_for(const struct column *column, double greatest)
{
    if (!table_unit_is_chosen(column))
        return (struct table_unit){column->unit, 1, column->decimals};
    if (greatest >= 1e6)
        return (struct table_unit){"s", 1e-6, decimals_for(greatest * 1e-6)};
    if (greatest >= 1e3)
        return (struct table_unit){"ms", 1e-3, decimals_for(greatest * 1e-3)};
    return (struct table_unit){"us", 1, 1};
}

/* 4194304 bytes are shown as "4 MiB"; other numbers of bytes only if the conversion is exact. */
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
    if (decimals >= 0 && fabs(value) < 0.5 * pow(10, -decimals))
        value = 0; /* avoids "-0.0" */
    if (decimals >= 0)
        return buffer_printf(text, "%.*f", decimals, value);
    real_text(value, shortest);
    return buffer_append_text(text, shortest);
}

char *table_cell_text(const struct cell *cell, const struct column *column, const struct table_unit *unit)
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
        failed = append_real(&text, cell->real * unit->factor, unit->decimals);
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
