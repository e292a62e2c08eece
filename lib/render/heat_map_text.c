#include "render/heat_map_text.h"

#include "base/escape.h"
#include "base/wrap.h"

/* Least columns of a map, however narrow the terminal. */
enum { LEAST_COLUMNS = 10 };

/* A step's number stands above each so many columns. */
enum { TICK = 10 };

/* One character each: what is not known, then the levels. */
static const char *const plain_marks[] = {" ", ".", ":", "+", "#", "@"};
static const char *const utf8_marks[] = {
    " ", "\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93", "\xe2\x96\x88"};

struct drawing {
    struct heat_map *map;
    const char *const *marks; /* by level + 1 */
    size_t width;
    size_t label_width;
    struct buffer *text;
    struct buffer piece; /* unescaped */
    struct buffer shown; /* the same, escaped */
};

/* Escapes the piece, which is empty then. */
static int show_piece(struct drawing *drawing)
{
    buffer_clear(&drawing->shown);
    int failed =
        drawing->piece.length && escape_terminal(&drawing->shown, drawing->piece.data, drawing->piece.length);
    buffer_clear(&drawing->piece);
    return failed;
}

static size_t shown_width(const struct drawing *drawing)
{
    return drawing->shown.length ? escape_width(drawing->shown.data) : 0;
}

static int measure(struct drawing *drawing)
{
    drawing->label_width = sizeof "rank" - 1;
    for (size_t i = 0; i < drawing->map->row_count; i++) {
        if (heat_row_label(drawing->map, &drawing->map->rows[i], &drawing->piece) || show_piece(drawing))
            return -1;
        if (shown_width(drawing) > drawing->label_width)
            drawing->label_width = shown_width(drawing);
    }
    return 0;
}

static int put_blanks(struct buffer *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (buffer_append_byte(text, ' '))
            return -1;
    return 0;
}

/* Lines of prose, broken where they are too long. */
static int put_prose(struct drawing *drawing)
{
    struct buffer *piece = &drawing->piece;
    int failed = wrap_line(drawing->text, piece->data, piece->length, drawing->width, 0);
    buffer_clear(piece);
    return failed;
}

static int put_head(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *piece = &drawing->piece;
    if ((map->names_run && buffer_printf(piece, "run %lld: ", (long long)map->run)) ||
        buffer_printf(piece, "%s, by rank and step", map->title))
        return -1;
    if (map->by_host && buffer_append_text(piece, "; one row per host: the largest value of its ranks"))
        return -1;
    if (!map->by_host && map->row_count && map->rows[0].ranks > 1 &&
        buffer_printf(piece, "; one row per %zu ranks: their largest value", map->rows[0].ranks))
        return -1;
    if (map->steps_in_column > 1 && buffer_printf(piece, "; one column per %lld steps: their largest value",
                                                  (long long)map->steps_in_column))
        return -1;
    return put_prose(drawing);
}

/* What a character stands for: "in % of the baseline step (30 ms):  . below 3  : 3  + 10 ...". */
static int put_legend(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *piece = &drawing->piece;
    if (buffer_printf(piece, "in %% of the %s (%.3g ms):  %s below %g",
                      map->is_usual ? "baseline step" : "largest value", map->unit_us / 1e3,
                      drawing->marks[1], heat_scale_bound(map->scale, 0)))
        return -1;
    for (int level = 1; level < HEAT_LEVELS; level++)
        if (buffer_printf(piece, "  %s %g", drawing->marks[level + 1], heat_scale_bound(map->scale, level)))
            return -1;
    return buffer_append_text(piece, " and more") || put_prose(drawing);
}

/* Numbers of steps above the columns. */
static int put_steps(struct drawing *drawing)
{
    const struct heat_map *map = drawing->map;
    struct buffer *text = drawing->text;
    if (put_blanks(text, drawing->label_width - (sizeof "rank" - 1)) || buffer_append_text(text, "rank  "))
        return -1;
    size_t taken = 0;
    for (size_t column = 0; column < map->columns; column += TICK) {
        size_t before = text->length + column - taken;
        if (put_blanks(text, column - taken) ||
            buffer_printf(text, column ? "%lld" : "step %lld", (long long)heat_map_step(map, column)))
            return -1;
        taken = column + text->length - before;
    }
    return buffer_append_byte(text, '\n');
}

static int put_row(struct drawing *drawing, size_t row)
{
    const struct heat_map *map = drawing->map;
    struct buffer *text = drawing->text;
    if (heat_row_label(map, &map->rows[row], &drawing->piece) || show_piece(drawing) ||
        put_blanks(text, drawing->label_width - shown_width(drawing)) ||
        buffer_append(text, drawing->shown.data, drawing->shown.length) || put_blanks(text, 2))
        return -1;
    for (size_t column = 0; column < map->columns; column++)
        if (buffer_append_text(text,
                               drawing->marks[1 + heat_map_level(map, heat_map_value(map, row, column))]))
            return -1;
    if (heat_row_mark(&map->rows[row], &drawing->piece) || show_piece(drawing))
        return -1;
    size_t used = drawing->label_width + 2 + map->columns + 4;
    if (drawing->shown.length && used + shown_width(drawing) > drawing->width &&
        (buffer_append_byte(text, '\n') || put_blanks(text, drawing->label_width)))
        return -1;
    return drawing->shown.length && (buffer_append_text(text, "  < ") ||
                                     buffer_append(text, drawing->shown.data, drawing->shown.length))
               ? -1
               : buffer_append_byte(text, '\n');
}

/* `is_first`: of its run. */
static int put_map(struct drawing *drawing, int is_first)
{
    if (measure(drawing))
        return -1;
    size_t room = drawing->width > drawing->label_width + 2 ? drawing->width - drawing->label_width - 2 : 0;
    heat_map_fold_steps(drawing->map, room > LEAST_COLUMNS ? room : LEAST_COLUMNS);
    if (put_head(drawing) || (is_first && put_legend(drawing)) || put_steps(drawing))
        return -1;
    for (size_t row = 0; row < drawing->map->row_count; row++)
        if (put_row(drawing, row))
            return -1;
    return 0;
}

int heat_maps_text(struct heat_maps *maps, size_t width, int utf8, struct buffer *text)
{
    struct drawing drawing = {.marks = utf8 ? utf8_marks : plain_marks,
                              .width = width,
                              .text = text,
                              .piece = BUFFER_INIT,
                              .shown = BUFFER_INIT};
    int failed = 0;
    for (size_t i = 0; i < maps->count && !failed; i++) {
        drawing.map = &maps->maps[i];
        failed = (i && buffer_append_byte(text, '\n')) ||
                 put_map(&drawing, !i || maps->maps[i - 1].run != maps->maps[i].run);
    }
    buffer_release(&drawing.piece);
    buffer_release(&drawing.shown);
    return failed ? -1 : 0;
}
