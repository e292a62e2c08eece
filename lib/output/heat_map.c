/*
 * Heat maps independent of how they are drawn: values, marks of findings, merging of rows and columns, colour
 * levels.
 */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int heat_map_init(struct heat_map *map, size_t rows, size_t columns, const struct heat_scale *scale)
{
    *map = (struct heat_map){.scale = scale,
                             .rows = array_new(rows, sizeof *map->rows),
                             .row_count = rows,
                             .columns = columns,
                             .steps_in_column = 1,
                             .values = array_new(rows, columns * sizeof *map->values),
                             .marked = array_new(rows, columns)};
    if (!map->rows || !map->values || !map->marked)
        return -1;
    for (size_t i = 0; i < rows * columns; i++)
        map->values[i] = (double)NAN;
    return 0;
}

void heat_map_release(struct heat_map *map)
{
    free(map->rows);
    free(map->values);
    free(map->marked);
    *map = (struct heat_map){.rows = NULL};
}

void heat_maps_release(struct heat_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        heat_map_release(&maps->maps[i]);
    free(maps->maps);
    *maps = (struct heat_maps){.maps = NULL};
}

size_t heat_map_together(size_t count, size_t most)
{
    return count > most ? (count + most - 1) / most : 1;
}

/* Merges a row into one above it. */
static void unite_rows(struct heat_map *map, size_t into, size_t from)
{
    struct heat_row *row = &map->rows[into];
    const struct heat_row *other = &map->rows[from];
    row->last = other->last ? other->last : other->process;
    row->ranks += other->ranks;
    row->more += other->more + (row->finding && other->finding);
    if (!row->finding) {
        row->finding = other->finding;
        row->accused = other->accused;
        row->first_step = other->first_step;
        row->last_step = other->last_step;
        row->steps = other->steps;
    }
    for (size_t column = 0; column < map->columns; column++) {
        size_t to = into * map->columns + column, of = from * map->columns + column;
        if (isnan(map->values[to]) || map->values[of] > map->values[to])
            map->values[to] = map->values[of];
        map->marked[to] |= map->marked[of];
    }
}

/* Moves a row that remains to index `place`. */
static void move_row(struct heat_map *map, size_t place, size_t from)
{
    if (place == from)
        return;
    map->rows[place] = map->rows[from];
    memmove(map->values + place * map->columns, map->values + from * map->columns,
            map->columns * sizeof *map->values);
    memmove(map->marked + place * map->columns, map->marked + from * map->columns, map->columns);
}

/*
 * Sets into[i] to the index of the host of row i. Returns the number of hosts; 0 if some host is unknown; -1
 * when out of memory.
 */
static int64_t find_hosts(const struct heat_map *map, size_t *into)
{
    struct intern hosts;
    int64_t count = 0;
    intern_init(&hosts);
    for (size_t i = 0; i < map->row_count && count >= 0; i++) {
        const char *host = map->rows[i].host;
        int64_t number = host ? intern_put(&hosts, host, strlen(host)) : 0;
        into[i] = number < 0 ? 0 : (size_t)number;
        count = !host ? 0 : number < 0 ? -1 : (int64_t)hosts.count;
        if (!host)
            break;
    }
    intern_release(&hosts);
    return count;
}

int heat_map_fold_rows(struct heat_map *map, size_t most)
{
    if (map->row_count <= most)
        return 0;
    size_t *into = array_new(map->row_count, sizeof *into);
    int64_t hosts = into ? find_hosts(map, into) : -1;
    if (hosts < 0) {
        free(into);
        return -1;
    }
    map->by_host = hosts > 0 && (size_t)hosts <= most;
    size_t together = heat_map_together(map->row_count, most), kept = 0;
    for (size_t i = 0; i < map->row_count; i++) {
        size_t place = map->by_host ? into[i] : i / together;
        if (place < kept)
            unite_rows(map, place, i);
        else
            move_row(map, kept++, i);
    }
    map->row_count = kept;
    free(into);
    return 0;
}

int heat_map_pick_rows(struct heat_map *map, const size_t *rows, size_t count)
{
    struct heat_map picked;
    if (heat_map_init(&picked, count, map->columns, map->scale)) {
        heat_map_release(&picked);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = rows[i] * map->columns, to = i * map->columns;
        picked.rows[i] = map->rows[rows[i]];
        memcpy(picked.values + to, map->values + from, map->columns * sizeof *map->values);
        memcpy(picked.marked + to, map->marked + from, map->columns);
    }
    free(map->rows);
    free(map->values);
    free(map->marked);
    map->rows = picked.rows;
    map->values = picked.values;
    map->marked = picked.marked;
    map->row_count = count;
    return 0;
}

/*
 * Works in ascending order. Merged columns get lower indexes, so nothing is overwritten that is still needed.
 */
void heat_map_fold_steps(struct heat_map *map, size_t most)
{
    size_t together = heat_map_together(map->columns, most);
    if (together < 2)
        return;
    size_t columns = (map->columns + together - 1) / together;
    for (size_t row = 0; row < map->row_count; row++)
        for (size_t column = 0; column < columns; column++) {
            size_t from = row * map->columns + column * together, to = row * columns + column;
            double value = map->values[from];
            unsigned char marked = map->marked[from];
            for (size_t i = 1; i < together && column * together + i < map->columns; i++) {
                if (isnan(value) || map->values[from + i] > value)
                    value = map->values[from + i];
                marked |= map->marked[from + i];
            }
            map->values[to] = value;
            map->marked[to] = marked;
        }
    map->columns = columns;
    map->steps_in_column *= (int64_t)together;
}

int64_t heat_map_step(const struct heat_map *map, size_t column)
{
    return map->first_step + (int64_t)column * map->steps_in_column;
}

/*
 * Below the second level is noise. The second level begins where a finding of medium confidence may begin
 * (diagnose --min-gain). Each further level begins at about three times the previous one.
 */
const struct heat_scale heat_share_of_step = {.least = {0, 0.03, 0.1, 0.3, 1}, .factor = 100, .sign = "%"};

const struct heat_scale heat_times_baseline = {.least = {0, 1.5, 2, 4, 8}, .factor = 1, .sign = "times"};

double heat_scale_bound(const struct heat_scale *scale, int level)
{
    return scale->factor * scale->least[level ? level : 1];
}

void heat_map_measure(struct heat_map *map)
{
    for (size_t i = 0; i < map->row_count * map->columns; i++)
        if (map->values[i] > map->unit_us)
            map->unit_us = map->values[i];
}

int heat_map_level(const struct heat_map *map, double value)
{
    int level = HEAT_LEVELS - 1;
    if (isnan(value))
        return HEAT_UNKNOWN;
    while (level > 0 && !(map->unit_us > 0 && value >= map->scale->least[level] * map->unit_us))
        level--;
    return level;
}

int heat_row_label(const struct heat_map *map, const struct heat_row *row, struct buffer *text)
{
    if (map->by_host)
        return buffer_printf(text, "%s (%zu rank%s)", row->host, row->ranks, row->ranks == 1 ? "" : "s");
    return row->last ? buffer_printf(text, "%s-%s", row->process, row->last)
                     : buffer_append_text(text, row->process);
}

int heat_row_mark(const struct heat_row *row, struct buffer *text)
{
    if (!row->finding)
        return 0;
    if (row->ranks > 1 && buffer_printf(text, "rank %s: ", row->accused))
        return -1;
    long long first = row->first_step, last = row->last_step, steps = row->steps;
    int failed =
        steps == 1 ? buffer_printf(text, "%s, step %lld", row->finding, first)
        : steps == last - first + 1
            ? buffer_printf(text, "%s, steps %lld-%lld", row->finding, first, last)
            : buffer_printf(text, "%s, %lld steps from %lld to %lld", row->finding, steps, first, last);
    return failed || (row->more && buffer_append_text(text, ", and more")) ? -1 : 0;
}

int heat_map_next_marked(const struct heat_map *map, size_t row, struct heat_span *span)
{
    const unsigned char *marked = map->marked + row * map->columns;
    for (span->first = span->end; span->first < map->columns && !marked[span->first]; span->first++)
        ;
    for (span->end = span->first; span->end < map->columns && marked[span->end]; span->end++)
        ;
    return span->end > span->first;
}
