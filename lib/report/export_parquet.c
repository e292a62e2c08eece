/*
 * Writes a view as an Apache Parquet file: row groups, footer and metadata. lib/output/parquet.c and
 * lib/output/parquet_column.c encode the pages.
 */
#include "base/base.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdlib.h>

/*
 * Field ids of FileMetaData, RowGroup, SchemaElement and KeyValue, and of the unions LogicalType and
 * ColumnOrder.
 */
enum {
    FILE_VERSION = 1,
    FILE_SCHEMA = 2,
    FILE_ROWS = 3,
    FILE_GROUPS = 4,
    FILE_KEYS = 5,
    FILE_CREATED_BY = 6,
    FILE_ORDERS = 7
};
enum { GROUP_COLUMNS = 1, GROUP_UNPACKED = 2, GROUP_ROWS = 3, GROUP_OFFSET = 5, GROUP_PACKED = 6 };
enum {
    SCHEMA_TYPE = 1,
    SCHEMA_REPETITION = 3,
    SCHEMA_NAME = 4,
    SCHEMA_CHILDREN = 5,
    SCHEMA_CONVERTED = 6,
    SCHEMA_LOGICAL = 10
};
enum { KEY_KEY = 1, KEY_VALUE = 2 };
enum { LOGICAL_STRING = 1, ORDER_OF_TYPE = 1 };
enum { OPTIONAL = 1, CONVERTED_UTF8 = 0, VERSION = 1 };

static const char magic[] = "PAR1";

struct parquet_file {
    struct output *output;
    const struct view *view;
    struct parquet_press press;
    struct parquet_column *columns; /* owned */
    struct buffer text;             /* the text of a cell: working memory */
    struct thrift groups;           /* the row groups written so far, encoded */
    size_t group_count;
    int64_t group_rows; /* rows in the current row group, in memory */
    int64_t rows;
};

static int file_init(struct parquet_file *file, struct output *output, const struct view *view,
                     const struct parquet_options *options, struct error *error)
{
    *file = (struct parquet_file){.output = output, .view = view};
    thrift_init(&file->groups);
    if (parquet_press_init(&file->press, options->is_compressed, error))
        return -1;
    file->columns = array_new(view->column_count, sizeof *file->columns);
    if (!file->columns)
        return error_no_memory(error);
    int failed = 0;
    for (size_t i = 0; i < view->column_count; i++)
        failed |= parquet_column_init(&file->columns[i], &view->columns[i], &file->press);
    return failed ? error_no_memory(error) : 0;
}

static void file_release(struct parquet_file *file)
{
    for (size_t i = 0; file->columns && i < file->view->column_count; i++)
        parquet_column_release(&file->columns[i]);
    free(file->columns);
    buffer_release(&file->text);
    thrift_release(&file->groups);
    parquet_press_release(&file->press);
}

static int end_group(struct parquet_file *file, struct error *error)
{
    struct thrift *groups = &file->groups;
    uint64_t begin = output_bytes(file->output), unpacked = 0, packed = 0;
    thrift_begin(groups);
    thrift_list(groups, GROUP_COLUMNS, THRIFT_STRUCT, file->view->column_count);
    for (size_t i = 0; i < file->view->column_count; i++)
        if (parquet_column_write(&file->columns[i], file->output, groups, &unpacked, &packed, error))
            return -1;
    thrift_i64(groups, GROUP_UNPACKED, (int64_t)unpacked);
    thrift_i64(groups, GROUP_ROWS, file->group_rows);
    thrift_i64(groups, GROUP_OFFSET, (int64_t)begin);
    thrift_i64(groups, GROUP_PACKED, (int64_t)packed);
    thrift_end(groups);
    file->group_count++;
    file->rows += file->group_rows;
    file->group_rows = 0;
    return groups->failed ? error_no_memory(error) : 0;
}

static int add_number(struct parquet_column *column, uint64_t bits, struct error *error)
{
    char bytes[PARQUET_NUMBER_BYTES];
    parquet_put(bytes, bits, PARQUET_NUMBER_BYTES);
    return parquet_column_add(column, bytes, sizeof bytes, error);
}

/* Adds a cell of any type as text. */
static int add_text(struct parquet_file *file, struct parquet_column *column, struct statement *rows,
                    int cell, struct error *error)
{
    size_t length;
    struct buffer *text = &file->text;
    const char *bytes = statement_bytes(rows, cell, &length);
    buffer_clear(text);
    if (!bytes || buffer_append(text, "\0\0\0", PARQUET_LENGTH_BYTES) || escape_utf8(text, bytes, length))
        return error_no_memory(error);
    parquet_put(text->data, text->length - PARQUET_LENGTH_BYTES, PARQUET_LENGTH_BYTES);
    return parquet_column_add(column, text->data, text->length, error);
}

/* A damaged store can have a cell of the wrong type; a view of a sound store cannot. */
static int refuse(const struct parquet_file *file, const struct column *column, enum cell_type found,
                  struct error *error)
{
    return error_set(error, "row %" PRId64 ": column %s holds %s instead of %s",
                     file->rows + file->group_rows + 1, column->name,
                     found == CELL_REAL ? "a real number" : "text",
                     column->type == CELL_REAL ? "a real number" : "an integer");
}

static int add_cell(struct parquet_file *file, struct statement *rows, int cell, struct error *error)
{
    struct parquet_column *column = &file->columns[cell];
    enum cell_type found = statement_type(rows, cell), wanted = column->column->type;
    if (found == CELL_NULL)
        return parquet_column_add(column, NULL, 0, error);
    if (wanted == CELL_TEXT)
        return add_text(file, column, rows, cell, error);
    if (wanted == CELL_INTEGER && found == CELL_INTEGER)
        return add_number(column, (uint64_t)statement_integer(rows, cell), error);
    if (wanted == CELL_REAL && (found == CELL_REAL || found == CELL_INTEGER))
        return add_number(column, parquet_bits_of(statement_real(rows, cell)), error);
    return refuse(file, column->column, found, error);
}

static int add_row(struct parquet_file *file, struct statement *rows, const struct parquet_options *options,
                   struct error *error)
{
    for (size_t i = 0; i < file->view->column_count; i++)
        if (add_cell(file, rows, (int)i, error))
            return -1;
    return ++file->group_rows == options->group_rows ? end_group(file, error) : 0;
}

static void write_schema(struct thrift *footer, const struct view *view)
{
    thrift_list(footer, FILE_SCHEMA, THRIFT_STRUCT, view->column_count + 1);
    thrift_begin(footer);
    thrift_text(footer, SCHEMA_NAME, view->name);
    thrift_i32(footer, SCHEMA_CHILDREN, (int32_t)view->column_count);
    thrift_end(footer);
    for (size_t i = 0; i < view->column_count; i++) {
        const struct column *column = &view->columns[i];
        thrift_begin(footer);
        thrift_i32(footer, SCHEMA_TYPE, parquet_physical_type(column->type));
        thrift_i32(footer, SCHEMA_REPETITION, OPTIONAL);
        thrift_text(footer, SCHEMA_NAME, column->name);
        if (column->type == CELL_TEXT) {
            thrift_i32(footer, SCHEMA_CONVERTED, CONVERTED_UTF8);
            thrift_struct(footer, SCHEMA_LOGICAL);
            thrift_struct(footer, LOGICAL_STRING);
            thrift_end(footer);
            thrift_end(footer);
        }
        thrift_end(footer);
    }
}

static void write_key(struct thrift *footer, const char *key, const char *value)
{
    thrift_begin(footer);
    thrift_text(footer, KEY_KEY, key);
    thrift_text(footer, KEY_VALUE, value);
    thrift_end(footer);
}

/* Writes the descriptions under the names of the view and of its columns, with the unit in front. */
static int write_meanings(struct parquet_file *file, struct thrift *footer)
{
    const struct view *view = file->view;
    struct buffer *text = &file->text;
    thrift_list(footer, FILE_KEYS, THRIFT_STRUCT, view->column_count + 1);
    write_key(footer, view->name, view->description);
    for (size_t i = 0; i < view->column_count; i++) {
        const struct column *column = &view->columns[i];
        buffer_clear(text);
        if (buffer_printf(text, "%s%s%s", column->unit ? column->unit : "", column->unit ? ": " : "",
                          column->description))
            return -1;
        write_key(footer, column->name, text->data);
    }
    return 0;
}

/* Minimum and maximum use the order of the column's type: signed numbers, bytes of texts. */
static void write_orders(struct thrift *footer, size_t columns)
{
    thrift_list(footer, FILE_ORDERS, THRIFT_STRUCT, columns);
    for (size_t i = 0; i < columns; i++) {
        thrift_begin(footer);
        thrift_struct(footer, ORDER_OF_TYPE);
        thrift_end(footer);
        thrift_end(footer);
    }
}

static int fill_footer(struct parquet_file *file, struct thrift *footer)
{
    thrift_begin(footer);
    thrift_i32(footer, FILE_VERSION, VERSION);
    write_schema(footer, file->view);
    thrift_i64(footer, FILE_ROWS, file->rows);
    thrift_list(footer, FILE_GROUPS, THRIFT_STRUCT, file->group_count);
    thrift_elements(footer, &file->groups);
    if (write_meanings(file, footer))
        return -1;
    thrift_text(footer, FILE_CREATED_BY, "ncclprof version " NCCLPROF_VERSION);
    write_orders(footer, file->view->column_count);
    thrift_end(footer);
    return footer->failed ? -1 : 0;
}

static int write_footer(struct parquet_file *file, struct error *error)
{
    struct thrift footer;
    char length[PARQUET_LENGTH_BYTES];
    thrift_init(&footer);
    int failed = fill_footer(file, &footer) ? error_no_memory(error) : 0;
    if (!failed && footer.bytes.length > INT32_MAX)
        failed = error_set(error, "%zu row groups exceed the limit of Parquet", file->group_count);
    parquet_put(length, footer.bytes.length, PARQUET_LENGTH_BYTES);
    failed = failed || output_write(file->output, footer.bytes.data, footer.bytes.length, error) ||
             output_write(file->output, length, sizeof length, error) ||
             output_text(file->output, magic, error);
    thrift_release(&footer);
    return failed ? -1 : 0;
}

static int write_rows(struct parquet_file *file, struct statement *rows,
                      const struct parquet_options *options, struct error *error)
{
    int more = 1;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (add_row(file, rows, options, error))
            more = -1;
    return more < 0 || (file->group_rows && end_group(file, error)) ? -1 : 0;
}

int parquet_file_write(struct output *output, const struct view *view, struct statement *rows,
                       const struct parquet_options *options, int64_t *count, struct error *error)
{
    struct parquet_file file;
    int failed = file_init(&file, output, view, options, error) || output_text(output, magic, error) ||
                 write_rows(&file, rows, options, error) || write_footer(&file, error);
    *count = file.rows;
    file_release(&file);
    return failed ? -1 : 0;
}
