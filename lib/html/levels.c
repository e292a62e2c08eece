#include "html/levels.h"

static int level_at(const struct heat_map *map, size_t row, size_t column)
{
    return heat_map_level(map, heat_map_value(map, row, column));
}

static int put_row(struct buffer *page, const struct heat_map *map, size_t row, int level)
{
    for (size_t column = 0, end; column < map->columns; column = end + 1) {
        for (end = column; end < map->columns && level_at(map, row, end) == level; end++)
            ;
        if (end > column &&
            buffer_printf(page, "M%zu %zuh%zuv1h-%zuz", column, row, end - column, end - column))
            return -1;
    }
    return 0;
}

int html_add_levels(struct buffer *page, const struct heat_map *map)
{
    for (int level = 0; level < HEAT_LEVELS; level++) {
        if (buffer_printf(page, "<path class=\"l%d\" d=\"", level))
            return -1;
        for (size_t row = 0; row < map->row_count; row++)
            if (put_row(page, map, row, level))
                return -1;
        if (buffer_append_text(page, "\"/>\n"))
            return -1;
    }
    return 0;
}

int html_add_level_keys(struct buffer *page, const struct heat_scale *scale, const char *frame)
{
    for (int level = 0; level < HEAT_LEVELS; level++)
        if (buffer_printf(page,
                          "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
                          "class=\"l%d\" width=\"24\" height=\"12\"/></svg> %s %g %s</span> ",
                          level, level ? "from" : "below", heat_scale_bound(scale, level), scale->sign))
            return -1;
    return buffer_printf(page,
                         "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
                         "class=\"frame\" x=\"1\" y=\"1\" width=\"22\" height=\"10\"/></svg> %s</span></p>\n",
                         frame);
}
