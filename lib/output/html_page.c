/*
 * The HTML document: its head with the Content-Security-Policy, sections, elements and tables. The figures
 * are in html_chart.c, html_heat.c and html_matrix.c.
 */
#include "base/base.h"
#include "model/model.h"
#include "output/html.h"
#include "output/internal.h"
#include "output/output.h"

#include "html_assets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int html_text(struct buffer *page, const char *text)
{
    return escape_markup(page, text, strlen(text));
}

static int element_of(struct buffer *page, const char *open, const char *text, size_t length)
{
    return buffer_printf(page, "<%s>", open) || escape_markup(page, text, length) ||
                   buffer_printf(page, "</%.*s>\n", (int)strcspn(open, " "), open)
               ? -1
               : 0;
}

int html_element(struct buffer *page, const char *open, const char *text)
{
    return element_of(page, open, text, strlen(text));
}

int html_put(struct buffer *page, const char *open, struct buffer *text)
{
    int failed = element_of(page, open, text->data ? text->data : "", text->length);
    buffer_clear(text);
    return failed;
}

int html_attribute(struct buffer *page, const char *name, const char *value)
{
    return buffer_printf(page, " %s=\"", name) || html_text(page, value) || buffer_append_byte(page, '"') ? -1
                                                                                                          : 0;
}

int html_lines(struct buffer *page, const char *open, const char *text)
{
    while (*text) {
        text += strspn(text, " \n");
        size_t length = strcspn(text, "\n");
        if (length && element_of(page, open, text, length))
            return -1;
        text += length;
    }
    return 0;
}

static int put_source(struct buffer *page, const char *text)
{
    unsigned char digest[SHA256_BYTES];
    sha256(text, strlen(text), digest);
    return buffer_append_text(page, "'sha256-") || base64_append(page, digest, sizeof digest) ||
                   buffer_append_byte(page, '\'')
               ? -1
               : 0;
}

static int put_policy(struct buffer *page)
{
    return buffer_append_text(page,
                              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                              "script-src ") ||
                   put_source(page, html_asset_page_js) || buffer_append_text(page, "; style-src ") ||
                   put_source(page, html_asset_page_css) ||
                   buffer_append_text(page, "; base-uri 'none'; form-action 'none'\">\n")
               ? -1
               : 0;
}

static int put_head(struct buffer *page, const char *title)
{
    return buffer_append_text(page,
                              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n") ||
                   put_policy(page) ||
                   buffer_append_text(
                       page,
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n"
                       "<meta name=\"referrer\" content=\"no-referrer\">\n"
                       "<meta name=\"generator\" content=\"ncclprof " NCCLPROF_VERSION "\">\n") ||
                   html_element(page, "title", title) ||
                   buffer_printf(page, "<style>%s</style>\n</head>\n<body>\n", html_asset_page_css)
               ? -1
               : 0;
}

static int put_header(struct buffer *page, const struct html_page *of, const char *title)
{
    return put_head(page, title) ||
                   buffer_append_text(
                       page, "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<header>\n") ||
                   html_element(page, "h1", title) ||
                   (of->lead.length && html_element(page, "p class=\"note\"", of->lead.data)) ||
                   buffer_append_text(page, "<nav aria-label=\"Sections\"><ul>\n") ||
                   buffer_append(page, of->contents.data, of->contents.length) ||
                   buffer_append_text(page, "</ul></nav>\n</header>\n<main id=\"main\">\n") ||
                   buffer_append(page, of->overview.data, of->overview.length)
               ? -1
               : 0;
}

static int put_link(struct html_page *page, const char *id, const char *link)
{
    return buffer_printf(&page->contents, "<li><a href=\"#%s\">", id) || html_text(&page->contents, link) ||
                   buffer_append_text(&page->contents, "</a></li>\n")
               ? -1
               : 0;
}

int html_section_begin(struct html_page *page, const char *id, const char *heading, const char *link)
{
    return (link && put_link(page, id, link)) ||
                   buffer_printf(&page->body,
                                 "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id,
                                 id, id) ||
                   html_text(&page->body, heading) || buffer_append_text(&page->body, "</h2>\n")
               ? -1
               : 0;
}

int html_section_end(struct html_page *page)
{
    return buffer_append_text(&page->body, "</section>\n");
}

/* Writes JSON inside a script element, escaped so that it can neither end the script nor begin a comment. */
static int put_data(struct buffer *page, const struct buffer *data)
{
    for (size_t at = 0; at < data->length;) {
        size_t plain = strcspn(data->data + at, "<>&");
        if (buffer_append(page, data->data + at, plain))
            return -1;
        at += plain;
        if (at < data->length && buffer_printf(page, "\\u%04x", (unsigned)data->data[at++]))
            return -1;
    }
    return 0;
}

static int put_end(struct buffer *page, const struct buffer *data)
{
    return buffer_append_text(page, "</main>\n<footer>Made by ncclprof " NCCLPROF_VERSION
                                    ". This file loads nothing and sends nothing.</footer>\n"
                                    "<script type=\"application/json\" id=\"data\">{\"runs\":[") ||
                   put_data(page, data) ||
                   buffer_printf(page, "]}</script>\n<script>%s</script>\n</body>\n</html>\n",
                                 html_asset_page_js)
               ? -1
               : 0;
}

int html_page_write(const struct html_page *page, const char *title, struct output *output,
                    struct error *error)
{
    struct buffer head = BUFFER_INIT, end = BUFFER_INIT;
    int failed = put_header(&head, page, title) || put_end(&end, &page->data)
                     ? error_no_memory(error)
                     : output_write(output, head.data, head.length, error) ||
                           output_write(output, page->body.data, page->body.length, error) ||
                           output_write(output, end.data, end.length, error);
    buffer_release(&head);
    buffer_release(&end);
    return failed ? -1 : 0;
}

void html_page_release(struct html_page *page)
{
    buffer_release(&page->lead);
    buffer_release(&page->overview);
    buffer_release(&page->body);
    buffer_release(&page->contents);
    buffer_release(&page->data);
}

static double number_of(const struct cell *cell)
{
    return cell->type == CELL_INTEGER ? (double)cell->integer : cell->type == CELL_REAL ? cell->real : 0;
}

/* Finds which columns have values, their units, and which contain numbers. */
static void measure(struct table_layout *layout, const struct table *table)
{
    for (size_t i = 0; i < layout->count; i++) {
        struct column_layout *column = &layout->columns[i];
        column->right = 1;
        for (size_t row = 0; row < table->row_count; row++) {
            const struct cell *cell = table_cell(table, row, i);
            column->right &= cell->type != CELL_TEXT && cell->type != CELL_JSON;
            double size = fabs(number_of(cell));
            column->has_values |= cell->type != CELL_NULL;
            column->greatest = size > column->greatest && isfinite(size) ? size : column->greatest;
        }
        column->unit = table_unit_for(column->column, column->greatest);
        column->shown &= column->has_values && !column->column->detail;
    }
}

static int is_shown(const struct table_layout *layout, size_t column)
{
    return layout->columns[column].shown;
}

static int table_put_head(struct buffer *page, const struct column_layout *column)
{
    const char *unit = column->unit.name;
    if (buffer_printf(page, "<th scope=\"col\"%s", column->right ? " class=\"number\"" : "") ||
        (column->column->description && html_attribute(page, "title", column->column->description)) ||
        buffer_append_byte(page, '>') || html_text(page, column->name))
        return -1;
    return (unit && (buffer_append_text(page, " <span class=\"unit\">") || html_text(page, unit) ||
                     buffer_append_text(page, "</span>"))) ||
                   buffer_append_text(page, "</th>")
               ? -1
               : 0;
}

static int put_bar(struct buffer *page, double part)
{
    return buffer_printf(page,
                         "<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
                         "aria-hidden=\"true\"><rect width=\"%.1f\" height=\"8\"/></svg>",
                         isfinite(part) && part > 0 ? 100 * fmin(part, 1) : 0);
}

static int put_cell(struct buffer *page, const struct cell *cell, const struct column_layout *column,
                    double greatest)
{
    char *text = table_cell_text(cell, column->column, &column->unit);
    int failed = !text || buffer_printf(page, "<td%s>", column->right ? " class=\"number\"" : "") ||
                 html_text(page, text) || (greatest > 0 && put_bar(page, number_of(cell) / greatest)) ||
                 buffer_append_text(page, "</td>");
    free(text);
    return failed;
}

/* The intervals that a table is drawn with. */
struct intervals {
    int low; /* columns; -1: none */
    int middle;
    int high;
    double end; /* largest value that is drawn */
};

/* Nine of ten intervals are drawn whole, so that a few wide ones do not hide the others. */
static int measure_intervals(struct intervals *intervals, const struct table *table,
                             const struct html_table *how)
{
    static const double WHOLE = 0.9;
    size_t count = 0;
    double *ends = array_new(table->row_count + 1, sizeof *ends);
    *intervals = (struct intervals){-1, -1, -1, 0};
    if (!ends)
        return -1;
    if (how->low && how->middle && how->high) {
        intervals->low = table_find_column(table, how->low);
        intervals->middle = table_find_column(table, how->middle);
        intervals->high = table_find_column(table, how->high);
    }
    int is_known = intervals->low >= 0 && intervals->middle >= 0 && intervals->high >= 0;
    for (size_t row = 0; is_known && row < table->row_count && row < how->most_rows; row++) {
        double low = fabs(number_of(table_cell(table, row, (size_t)intervals->low)));
        double high = fabs(number_of(table_cell(table, row, (size_t)intervals->high)));
        if (isfinite(low) && isfinite(high) && (low > 0 || high > 0))
            ends[count++] = fmax(low, high);
    }
    sort_reals(ends, count);
    intervals->end = count ? ends[(size_t)(WHOLE * (double)(count - 1))] : 0;
    free(ends);
    return 0;
}

enum { INTERVAL_WIDTH = 160, INTERVAL_HEIGHT = 12 };

static double interval_x(const struct intervals *intervals, const struct cell *cell)
{
    double part = number_of(cell) / intervals->end;
    return INTERVAL_WIDTH / 2.0 * (1 + (part < -1 ? -1 : part > 1 ? 1 : part));
}

static int put_interval(struct buffer *page, const struct intervals *intervals, const struct table *table,
                        size_t row)
{
    const struct cell *low = table_cell(table, row, (size_t)intervals->low),
                      *middle = table_cell(table, row, (size_t)intervals->middle),
                      *high = table_cell(table, row, (size_t)intervals->high);
    if (low->type == CELL_NULL || middle->type == CELL_NULL || high->type == CELL_NULL)
        return buffer_append_text(page, "<td></td>");
    double from = interval_x(intervals, low), to = interval_x(intervals, high);
    return buffer_printf(page,
                         "<td><svg class=\"interval\" viewBox=\"-4 0 %d %d\" aria-hidden=\"true\">"
                         "<path class=\"grid\" d=\"M%d 0v%d\"/><rect class=\"range\" x=\"%.1f\" y=\"3\" "
                         "width=\"%.1f\" height=\"6\"/><circle class=\"mine\" cx=\"%.1f\" cy=\"6\" r=\"3\"/>"
                         "</svg></td>",
                         INTERVAL_WIDTH + 8, (int)INTERVAL_HEIGHT, INTERVAL_WIDTH / 2, (int)INTERVAL_HEIGHT,
                         from, fmax(to - from, 1), interval_x(intervals, middle));
}

static int is_marked(const struct table *table, size_t row, int column)
{
    const struct cell *cell = column >= 0 ? table_cell(table, row, (size_t)column) : NULL;
    return cell && cell->type == CELL_INTEGER && cell->integer == 1;
}

static int put_row(struct buffer *page, const struct table *table, size_t row,
                   const struct table_layout *layout, int barred)
{
    for (size_t i = 0; i < layout->count; i++)
        if (is_shown(layout, i) && put_cell(page, table_cell(table, row, i), &layout->columns[i],
                                            (int)i == barred ? layout->columns[i].greatest : 0))
            return -1;
    return 0;
}

static int put_rows(struct buffer *page, const struct table *table, const struct table_layout *layout,
                    const struct html_table *how, const struct intervals *intervals)
{
    int barred = how->bars ? table_find_column(table, how->bars) : -1;
    int marking = how->marks ? table_find_column(table, how->marks) : -1;
    for (size_t row = 0; row < table->row_count && row < how->most_rows; row++)
        if (buffer_append_text(page, is_marked(table, row, marking) ? "<tr class=\"stands\">" : "<tr>") ||
            put_row(page, table, row, layout, barred) ||
            (intervals->end > 0 && put_interval(page, intervals, table, row)) ||
            buffer_append_text(page, "</tr>\n"))
            return -1;
    return 0;
}

static int put_heads(struct buffer *page, const struct table_layout *layout,
                     const struct intervals *intervals)
{
    for (size_t i = 0; i < layout->count; i++)
        if (is_shown(layout, i) && table_put_head(page, &layout->columns[i]))
            return -1;
    return intervals->end > 0 &&
           buffer_printf(page, "<th scope=\"col\">interval <span class=\"unit\">-%.3g to %.3g %%</span></th>",
                         intervals->end, intervals->end);
}

static int put_table(struct buffer *page, const struct table *table, const struct table_layout *layout,
                     const struct html_table *how)
{
    struct intervals intervals;
    if (measure_intervals(&intervals, table, how) ||
        buffer_append_text(page, "<div class=\"scroll\" role=\"region\" tabindex=\"0\"") ||
        html_attribute(page, "aria-label", how->caption) || buffer_append_text(page, "><table>\n") ||
        html_element(page, "caption", how->caption) || buffer_append_text(page, "<thead><tr>") ||
        put_heads(page, layout, &intervals) || buffer_append_text(page, "</tr></thead>\n<tbody>\n") ||
        put_rows(page, table, layout, how, &intervals) ||
        buffer_append_text(page, "</tbody></table></div>\n"))
        return -1;
    return table->row_count > how->most_rows &&
           (buffer_printf(page, "<p class=\"note\">The first %zu of %zu rows. For all rows: <code>",
                          how->most_rows, table->row_count) ||
            html_text(page, how->rest_command) || buffer_append_text(page, "</code></p>\n"));
}

int html_add_table(struct buffer *page, const struct table *table, const struct html_table *how)
{
    struct table_layout layout;
    int failed = table_layout_init(&layout, table);
    if (!failed) {
        measure(&layout, table);
        failed = put_table(page, table, &layout, how);
    }
    table_layout_release(&layout);
    return failed ? -1 : 0;
}
