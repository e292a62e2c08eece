/*
 * The table that an analysis fills and a renderer prints: columns, cells, warnings, sorting and filtering of
 * rows.
 */

#include "base/base.h"
#include "model/internal.h"
#include "model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *table, const char *command)
{
    *table = (struct table){.command = command};
}

static void cell_release(struct cell *cell)
{
    if (cell->type == CELL_TEXT || cell->type == CELL_JSON)
        free(cell->text);
    *cell = (struct cell){.type = CELL_NULL};
}

void table_release(struct table *table)
{
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        cell_release(&table->cells[i]);
    for (size_t i = 0; i < table->warning_count; i++)
        free(table->warnings[i]);
    for (size_t i = 0; i < table->kept_count; i++)
        free(table->kept[i]);
    free(table->kept);
    free(table->cells);
    free(table->columns);
    free(table->warnings);
    free(table->command_begins);
    table_init(table, table->command);
}

int table_add_column(struct table *table, struct column column, struct error *error)
{
    return table_add_columns(table, &column, 1, error);
}

int table_add_columns(struct table *table, const struct column *columns, size_t count, struct error *error)
{
    if (table->row_count)
        return error_set(error, "columns cannot be added once a table has rows");
    if (array_reserve((void **)&table->columns, &table->column_capacity, table->column_count + count,
                      sizeof *columns))
        return error_no_memory(error);
    memcpy(table->columns + table->column_count, columns, count * sizeof *columns);
    table->column_count += count;
    return 0;
}

const char *table_keep_text(struct table *table, const char *text)
{
    if (array_reserve((void **)&table->kept, &table->kept_capacity, table->kept_count + 1,
                      sizeof *table->kept))
        return NULL;
    char *copy = strdup(text);
    if (copy)
        table->kept[table->kept_count++] = copy;
    return copy;
}

int table_add_row(struct table *table, struct error *error)
{
    size_t used = table->row_count * table->column_count;
    if (array_reserve((void **)&table->cells, &table->cell_capacity, used + table->column_count,
                      sizeof *table->cells))
        return error_no_memory(error);
    for (size_t i = 0; i < table->column_count; i++)
        table->cells[used + i] = (struct cell){.type = CELL_NULL};
    table->row_count++;
    return 0;
}

static struct cell *last_cell(struct table *table, size_t column)
{
    struct cell *cell = &table->cells[(table->row_count - 1) * table->column_count + column];
    cell_release(cell);
    return cell;
}

void table_set_integer(struct table *table, size_t column, int64_t value)
{
    *last_cell(table, column) = (struct cell){.type = CELL_INTEGER, .integer = value};
}

void table_set_real(struct table *table, size_t column, double value)
{
    *last_cell(table, column) = (struct cell){.type = CELL_REAL, .real = value};
}

static int set_copy(struct table *table, size_t column, enum cell_type type, const char *text,
                    struct error *error)
{
    char *copy = strdup(text);
    if (!copy)
        return error_no_memory(error);
    *last_cell(table, column) = (struct cell){.type = type, .text = copy};
    return 0;
}

int table_set_text(struct table *table, size_t column, const char *text, struct error *error)
{
    return set_copy(table, column, CELL_TEXT, text, error);
}

int table_set_json(struct table *table, size_t column, const char *json, struct error *error)
{
    return set_copy(table, column, CELL_JSON, json, error);
}

const struct cell *table_cell(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->column_count + column];
}

int table_find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void release_row(struct table *table, size_t row)
{
    for (size_t i = 0; i < table->column_count; i++)
        cell_release(&table->cells[row * table->column_count + i]);
}

void table_keep_rows(struct table *table,
                     int (*is_kept)(const void *context, const struct table *table, size_t row),
                     const void *context)
{
    size_t kept = 0, width = table->column_count;
    for (size_t row = 0; row < table->row_count; row++) {
        if (!is_kept(context, table, row)) {
            release_row(table, row);
            continue;
        }
        if (kept != row)
            memcpy(table->cells + kept * width, table->cells + row * width, width * sizeof *table->cells);
        kept++;
    }
    table->row_count = kept;
}

/* A row and the cell that it is sorted by. */
struct ordered {
    const struct cell *cell;
    size_t row;
    int upwards;
};

static int compare_cells(const struct cell *left, const struct cell *right)
{
    double a = left->type == CELL_REAL ? left->real : 0, b = right->type == CELL_REAL ? right->real : 0;
    if (left->type != right->type)
        return (left->type > right->type) - (left->type < right->type);
    if (left->type == CELL_INTEGER)
        return (left->integer > right->integer) - (left->integer < right->integer);
    return left->type == CELL_REAL ? (a > b) - (a < b) : strcmp(left->text, right->text);
}

static int by_cell(const void *a, const void *b)
{
    const struct ordered *left = a, *right = b;
    int left_is_null = left->cell->type == CELL_NULL, right_is_null = right->cell->type == CELL_NULL;
    int order = left_is_null || right_is_null ? left_is_null - right_is_null
                : left->upwards               ? compare_cells(left->cell, right->cell)
                                              : compare_cells(right->cell, left->cell);
    return order ? order : (left->row > right->row) - (left->row < right->row);
}

int table_sort_rows(struct table *table, size_t column, int upwards, struct error *error)
{
    size_t width = table->column_count, count = table->row_count;
    if (!count)
        return 0;
    struct ordered *order = array_new(count + 1, sizeof *order);
    struct cell *cells = array_new(count * width + 1, sizeof *cells);
    int failed = !order || !cells ? error_no_memory(error) : 0;
    for (size_t row = 0; !failed && row < count; row++)
        order[row] = (struct ordered){&table->cells[row * width + column], row, upwards};
    if (!failed) {
        array_sort(order, count, sizeof *order, by_cell);
        for (size_t i = 0; i < count; i++)
            memcpy(cells + i * width, table->cells + order[i].row * width, width * sizeof *cells);
        memcpy(table->cells, cells, count * width * sizeof *cells);
    }
    free(cells);
    free(order);
    return failed;
}

int table_put_nulls_last(struct table *table, size_t column, struct error *error)
{
    size_t width = table->column_count, count = table->row_count, placed = 0;
    struct cell *cells = count ? array_new(count * width + 1, sizeof *cells) : NULL;
    if (!cells)
        return count ? error_no_memory(error) : 0;
    for (int is_null = 0; is_null < 2; is_null++)
        for (size_t row = 0; row < count; row++)
            if ((table->cells[row * width + column].type == CELL_NULL) == is_null)
                memcpy(cells + width * placed++, table->cells + row * width, width * sizeof *cells);
    memcpy(table->cells, cells, count * width * sizeof *cells);
    free(cells);
    return 0;
}

/* The length of "run N: " at the start of a warning; 0 if it starts otherwise. */
static size_t run_prefix_length(const char *text)
{
    static const char run[] = "run ";
    size_t length = sizeof run - 1;
    if (strncmp(text, run, length) != 0)
        return 0;
    size_t digits = strspn(text + length, "0123456789");
    length += digits;
    return digits && strncmp(text + length, ": ", 2) == 0 ? length + 2 : 0;
}

int table_add_warning(struct table *table, struct error *error, const char *format, ...)
{
    if (array_reserve((void **)&table->warnings, &table->warning_capacity, table->warning_count + 1,
                      sizeof *table->warnings) ||
        array_reserve((void **)&table->command_begins, &table->command_capacity, table->warning_count + 1,
                      sizeof *table->command_begins))
        return error_no_memory(error);
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return error_no_memory(error);
    if (table->is_of_one_run) {
        size_t prefix = run_prefix_length(text);
        memmove(text, text + prefix, (size_t)length + 1 - prefix);
    }
    table->command_begins[table->warning_count] = 0;
    table->warnings[table->warning_count++] = text;
    return 0;
}

int table_add_command(struct table *table, const char *command, struct error *error)
{
    size_t latest = table->warning_count - 1;
    char *text = table->warnings[latest], *whole = NULL;
    if (asprintf(&whole, "%s: %s", text, command) < 0)
        return error_no_memory(error);
    table->command_begins[latest] = strlen(text) + 2;
    table->warnings[latest] = whole;
    free(text);
    return 0;
}
