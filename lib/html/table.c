#include "html/table.h"

#include "html/text.h"
#include "render/table_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const struct cell *cell)
{
    return cell->type == CELL_INTEGER ? (double)cell->integer : cell->type == CELL_REAL ? cell->real : 0;
}

/* Which columns there is something in, their units, and which hold numbers. */
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

static int put_head(struct buffer *page, const struct column_layout *column)
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

static int put_rows(struct buffer *page, const struct table *table, const struct table_layout *layout,
                    const struct html_table *how)
{
    int barred = how->bars ? table_find_column(table, how->bars) : -1;
    for (size_t row = 0; row < table->row_count && row < how->most_rows; row++) {
        if (buffer_append_text(page, "<tr>"))
            return -1;
        for (size_t i = 0; i < layout->count; i++)
            if (is_shown(layout, i) && put_cell(page, table_cell(table, row, i), &layout->columns[i],
                                                (int)i == barred ? layout->columns[i].greatest : 0))
                return -1;
        if (buffer_append_text(page, "</tr>\n"))
            return -1;
    }
    return 0;
}

static int put_table(struct buffer *page, const struct table *table, const struct table_layout *layout,
                     const struct html_table *how)
{
    if (buffer_append_text(page, "<div class=\"scroll\" role=\"region\" tabindex=\"0\"") ||
        html_attribute(page, "aria-label", how->caption) || buffer_append_text(page, "><table>\n") ||
        html_element(page, "caption", how->caption) || buffer_append_text(page, "<thead><tr>"))
        return -1;
    for (size_t i = 0; i < layout->count; i++)
        if (is_shown(layout, i) && put_head(page, &layout->columns[i]))
            return -1;
    if (buffer_append_text(page, "</tr></thead>\n<tbody>\n") || put_rows(page, table, layout, how) ||
        buffer_append_text(page, "</tbody></table></div>\n"))
        return -1;
    return table->row_count > how->most_rows &&
           (buffer_printf(page, "<p class=\"note\">The first %zu of %zu rows. For all rows: <code>",
                          how->most_rows, table->row_count) ||
            html_text(page, how->rest_stands) || buffer_append_text(page, "</code></p>\n"));
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
