#include "export/csv_file.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/real_text.h"
#include "output/output.h"
#include "store/statement.h"
#include "store/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr("\",\r\n", text[i]))
            return 0;
    return length > 0;
}

static int append_text(struct buffer *line, const char *text, size_t length)
{
    if (is_plain(text, length))
        return escape_utf8(line, text, length);
    int failed = buffer_append_byte(line, '"');
    for (size_t at = 0; at < length && !failed;) {
        const char *quote = memchr(text + at, '"', length - at);
        size_t end = quote ? (size_t)(quote - text) + 1 : length;
        failed = escape_utf8(line, text + at, end - at) || (quote && buffer_append_byte(line, '"'));
        at = end;
    }
    return failed || buffer_append_byte(line, '"');
}

static int append_real(struct buffer *line, double value)
{
    char text[REAL_TEXT_BYTES];
    if (!isfinite(value))
        return 0;
    real_text(value, text);
    return buffer_append_text(line, text);
}

/* -1 when memory is out. */
static int append_cell(struct buffer *line, struct statement *rows, int column)
{
    size_t length;
    const char *text;
    switch (statement_type(rows, column)) {
    case CELL_NULL:
        return 0;
    case CELL_INTEGER:
        return buffer_printf(line, "%" PRId64, statement_integer(rows, column));
    case CELL_REAL:
        return append_real(line, statement_real(rows, column));
    default:
        text = statement_bytes(rows, column, &length);
        return !text || append_text(line, text, length) ? -1 : 0;
    }
}

static int end_line(struct output *output, struct buffer *line, int failed, struct error *error)
{
    if (failed || buffer_append_text(line, "\r\n"))
        return error_no_memory(error);
    int outcome = output_write(output, line->data, line->length, error);
    buffer_clear(line);
    return outcome;
}

static int write_head(struct output *output, const struct view *view, struct buffer *line,
                      struct error *error)
{
    int failed = 0;
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = (i && buffer_append_byte(line, ',')) || buffer_append_text(line, view->columns[i].name);
    return end_line(output, line, failed, error);
}

static int write_row(struct output *output, const struct view *view, struct statement *rows,
                     struct buffer *line, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = (i && buffer_append_byte(line, ',')) || append_cell(line, rows, (int)i);
    return end_line(output, line, failed, error);
}

int csv_file_write(struct output *output, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error)
{
    struct buffer line = BUFFER_INIT;
    int more = write_head(output, view, &line, error) ? -1 : 1;
    *count = 0;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (write_row(output, view, rows, &line, error))
            more = -1;
        else
            ++*count;
    buffer_release(&line);
    return more;
}
