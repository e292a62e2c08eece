#include "html/levels.h"

enum { LEVELS = 5 };

struct grid {
    size_t rows;
    size_t columns;
    int (*level_of)(const void *context, size_t row, size_t column);
    const void *context;
};

static int put_row(struct buffer *page, const struct grid *grid, size_t row, int level)
{
    for (size_t column = 0, end; column < grid->columns; column = end + 1) {
        for (end = column; end < grid->columns && grid->level_of(grid->context, row, end) == level; end++)
            ;
        if (end > column &&
            buffer_printf(page, "M%zu %zuh%zuv1h-%zuz", column, row, end - column, end - column))
            return -1;
    }
    return 0;
}

int html_add_levels(struct buffer *page, size_t rows, size_t columns,
                    int (*level_of)(const void *context, size_t row, size_t column), const void *context)
{
    const struct grid grid = {rows, columns, level_of, context};
    for (int level = 0; level < LEVELS; level++) {
        if (buffer_printf(page, "<path class=\"l%d\" d=\"", level))
            return -1;
        for (size_t row = 0; row < rows; row++)
            if (put_row(page, &grid, row, level))
                return -1;
        if (buffer_append_text(page, "\"/>\n"))
            return -1;
    }
    return 0;
}
