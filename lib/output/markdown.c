/* Output format markdown: tables for issues and chats, as GitHub and GitLab show them. */
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct markdown {
    const struct table *head;
    FILE *stream;
    struct buffer line;
};

/* Underscores inside words, as in names of columns and tags, mean nothing. */
static int is_special(const char *text, size_t at)
{
    if (text[at] == '_')
        return at == 0 || !isalnum((unsigned char)text[at - 1]) || !isalnum((unsigned char)text[at + 1]);
    return strchr("\\`*[]<>|~&#", text[at]) != NULL;
}

/* `text` is escaped for a terminal. */
static int append_escaped(struct buffer *line, const char *text)
{
    int failed = 0;
    for (size_t i = 0; text[i] && !failed; i++)
        failed = (is_special(text, i) && buffer_append_byte(line, '\\')) || buffer_append_byte(line, text[i]);
    return failed;
}

/* Escapes a text from a trace or from SQL. */
static int append_text(struct buffer *line, const char *text)
{
    struct buffer escaped = BUFFER_INIT;
    int failed =
        escape_terminal(&escaped, text, strlen(text)) || (escaped.data && append_escaped(line, escaped.data));
    buffer_release(&escaped);
    return failed;
}

static int write_line(struct markdown *markdown, int failed, struct error *error)
{
    if (failed || buffer_append_byte(&markdown->line, '\n'))
        return error_no_memory(error);
    fwrite(markdown->line.data, 1, markdown->line.length, markdown->stream);
    buffer_clear(&markdown->line);
    return render_check(markdown->stream, error);
}

static void markdown_abandon(void *state)
{
    struct markdown *markdown = state;
    buffer_release(&markdown->line);
    free(markdown);
}

static int is_number(const struct column *column)
{
    return column->type == CELL_INTEGER || column->type == CELL_REAL;
}

static int write_head(struct markdown *markdown, struct error *error)
{
    const struct table *head = markdown->head;
    int failed = 0;
    for (size_t i = 0; i < head->column_count && !failed; i++)
        if (!head->columns[i].hidden)
            failed = buffer_append_text(&markdown->line, "| ") ||
                     append_text(&markdown->line, head->columns[i].name) ||
                     buffer_append_byte(&markdown->line, ' ');
    if (write_line(markdown, failed || buffer_append_byte(&markdown->line, '|'), error))
        return -1;
    for (size_t i = 0; i < head->column_count && !failed; i++)
        if (!head->columns[i].hidden)
            failed = buffer_append_text(&markdown->line, is_number(&head->columns[i]) ? "| ---: " : "| --- ");
    return write_line(markdown, failed || buffer_append_byte(&markdown->line, '|'), error);
}

static void *markdown_begin(const struct table *head, const struct render_target *target, struct error *error)
{
    struct markdown *markdown = calloc(1, sizeof *markdown);
    if (!markdown) {
        error_no_memory(error);
        return NULL;
    }
    *markdown = (struct markdown){.head = head, .stream = target->stream};
    if (write_head(markdown, error)) {
        markdown_abandon(markdown);
        return NULL;
    }
    return markdown;
}

static int append_cell(struct buffer *line, const struct column *column, const struct cell *cell)
{
    const struct table_unit unit = table_unit_for(column, 0);
    char *text = table_cell_text(cell, column, &unit);
    int failed = !text || buffer_append_text(line, "| ") || append_escaped(line, text) ||
                 buffer_append_byte(line, ' ');
    free(text);
    return failed;
}

static int markdown_row(void *state, const struct cell *cells, struct error *error)
{
    struct markdown *markdown = state;
    int failed = 0;
    for (size_t i = 0; i < markdown->head->column_count && !failed; i++)
        if (!markdown->head->columns[i].hidden)
            failed = append_cell(&markdown->line, &markdown->head->columns[i], &cells[i]);
    return write_line(markdown, failed || buffer_append_byte(&markdown->line, '|'), error);
}

static int write_warning(struct markdown *markdown, const char *text, struct error *error)
{
    int failed = buffer_append_text(&markdown->line, "\nWarning: ") || append_text(&markdown->line, text);
    return write_line(markdown, failed, error);
}

static int markdown_end(void *state, struct error *error)
{
    struct markdown *markdown = state;
    int failed = 0;
    for (size_t i = 0; i < markdown->head->warning_count && !failed; i++)
        failed = write_warning(markdown, markdown->head->warnings[i], error);
    markdown_abandon(markdown);
    return failed;
}

int markdown_quote(struct buffer *quoted, const char *text, size_t length)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    int failed = 0;
    for (int end = 0; end < 2 && !failed; end++) {
        for (size_t i = 0; i <= longest && !failed; i++)
            failed = buffer_append_byte(quoted, '`');
        failed = failed || buffer_append_text(quoted, end ? "\n" : "text\n") ||
                 (!end && buffer_append(quoted, text, length));
    }
    return failed;
}

const struct renderer renderer_markdown = {
    .name = "markdown",
    .is_markdown = 1,
    .shows_warnings = 1,
    .begin = markdown_begin,
    .row = markdown_row,
    .end = markdown_end,
    .abandon = markdown_abandon,
};
