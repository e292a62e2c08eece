#include "model/table.h"

#include "base/array.h"

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

int table_add_warning(struct table *table, struct error *error, const char *format, ...)
{
    if (array_reserve((void **)&table->warnings, &table->warning_capacity, table->warning_count + 1,
                      sizeof *table->warnings))
        return error_no_memory(error);
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return error_no_memory(error);
    table->warnings[table->warning_count++] = text;
    return 0;
}
