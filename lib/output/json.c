/* Output format json. */
#include "base/base.h"
#include "model/model.h"
#include "output/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One object: command, columns, rows (one object and one line each), warnings. */

struct json {
    const struct table *head;
    FILE *stream;
    struct buffer line;
    int rows;
};

static int append_cell(struct buffer *line, const struct cell *cell)
{
    char number[REAL_TEXT_BYTES];
    switch (cell->type) {
    case CELL_INTEGER:
        return buffer_printf(line, "%" PRId64, cell->integer);
    case CELL_REAL:
        if (!isfinite(cell->real))
            return buffer_append_text(line, "null");
        real_text(cell->real, number);
        return buffer_append_text(line, number);
    case CELL_TEXT:
        return text_json_quote(line, cell->text);
    case CELL_JSON:
        return buffer_append_text(line, cell->text);
    default:
        return buffer_append_text(line, "null");
    }
}

static int write_out(struct json *json, struct error *error)
{
    fwrite(json->line.data, 1, json->line.length, json->stream);
    int outcome = render_check(json->stream, error);
    buffer_clear(&json->line);
    return outcome;
}

static int append_column(struct buffer *line, const struct column *column)
{
    return buffer_append_text(line, "{\"name\": ") || text_json_quote(line, column->name) ||
           buffer_append_text(line, ", \"unit\": ") || text_json_quote(line, column->unit) ||
           buffer_append_text(line, ", \"description\": ") || text_json_quote(line, column->description) ||
           buffer_append_byte(line, '}');
}

static int append_head(struct buffer *line, const struct table *head)
{
    if (buffer_append_text(line, "{\"command\": ") || text_json_quote(line, head->command) ||
        buffer_append_text(line, ",\n \"columns\": ["))
        return -1;
    for (size_t i = 0; i < head->column_count; i++)
        if ((i && buffer_append_text(line, ",\n  ")) || append_column(line, &head->columns[i]))
            return -1;
    return buffer_append_text(line, "],\n \"rows\": [");
}

static void json_abandon(void *state)
{
    struct json *json = state;
    buffer_release(&json->line);
    free(json);
}

static void *json_begin(const struct table *head, const struct render_target *target, struct error *error)
{
    struct json *json = calloc(1, sizeof *json);
    if (!json) {
        error_no_memory(error);
        return NULL;
    }
    *json = (struct json){.head = head, .stream = target->stream};
    int failed = append_head(&json->line, head);
    if (failed)
        error_no_memory(error);
    if (failed || write_out(json, error)) {
        json_abandon(json);
        return NULL;
    }
    return json;
}

static int json_row(void *state, const struct cell *cells, struct error *error)
{
    struct json *json = state;
    struct buffer *line = &json->line;
    int failed = buffer_append_text(line, json->rows++ ? ",\n  {" : "\n  {");
    for (size_t i = 0; i < json->head->column_count && !failed; i++)
        failed = (i && buffer_append_text(line, ", ")) ||
                 text_json_quote(line, json->head->columns[i].name) || buffer_append_text(line, ": ") ||
                 append_cell(line, &cells[i]);
    if (failed || buffer_append_byte(line, '}'))
        return error_no_memory(error);
    return write_out(json, error);
}

static int json_end(void *state, struct error *error)
{
    struct json *json = state;
    struct buffer *line = &json->line;
    int failed = buffer_append_text(line, "],\n \"warnings\": [");
    for (size_t i = 0; i < json->head->warning_count && !failed; i++)
        failed = (i && buffer_append_text(line, ", ")) || text_json_quote(line, json->head->warnings[i]);
    int outcome =
        failed || buffer_append_text(line, "]}\n") ? error_no_memory(error) : write_out(json, error);
    json_abandon(json);
    return outcome;
}

const struct renderer renderer_json = {
    .name = "json",
    .is_json = 1,
    .shows_warnings = 1,
    .begin = json_begin,
    .row = json_row,
    .end = json_end,
    .abandon = json_abandon,
};
