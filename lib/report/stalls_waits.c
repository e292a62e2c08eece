/*
 * Wait times of network steps: time with at least one step waiting, and a compact
 * list of waits with its median.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/stalls.h"
#include "store/store.h"

#include <stdlib.h>

void spans_release(struct spans *spans)
{
    for (int wait = 0; wait < STALLS_WAITS; wait++)
        free(spans->of[wait].items);
    free(spans->by_cell);
    free(spans->by_begin);
    free(spans->scratch);
    *spans = (struct spans){0};
}

int spans_add(struct spans *spans, int32_t cell, enum stalls_wait wait, const struct interval_ns *interval)
{
    struct span_list *list = &spans->of[wait];
    if (interval->begin_ns == TIME_UNKNOWN || interval->end_ns == TIME_UNKNOWN ||
        interval->end_ns < interval->begin_ns || cell < 0)
        return 0;
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    list->items[list->count++] =
        (struct wait_span){.begin_ns = interval->begin_ns, .end_ns = interval->end_ns, .cell = cell};
    return 0;
}

size_t spans_count(const struct spans *spans)
{
    size_t count = 0;
    for (int wait = 0; wait < STALLS_WAITS; wait++)
        count += spans->of[wait].count;
    return count;
}

static int make_room(struct spans *spans, size_t count)
{
    size_t room[] = {spans->room, spans->room, spans->room};
    if (array_reserve((void **)&spans->by_cell, &room[0], count, sizeof *spans->by_cell) ||
        array_reserve((void **)&spans->by_begin, &room[1], count, sizeof *spans->by_begin) ||
        array_reserve((void **)&spans->scratch, &room[2], count, sizeof *spans->scratch))
        return -1;
    spans->room = room[2];
    return 0;
}

/* Time in which at least one of `count` spans was open. `order` is sorted by begin. */
static int64_t length_of_union(const struct wait_span *spans, const struct sort_entry *order, size_t count)
{
    int64_t total = 0, reached = spans[order[0].index].begin_ns;
    for (size_t i = 0; i < count; i++) {
        const struct wait_span *span = &spans[order[i].index];
        int64_t begin = span->begin_ns > reached ? span->begin_ns : reached;
        if (span->end_ns > begin)
            total += span->end_ns - begin;
        if (span->end_ns > reached)
            reached = span->end_ns;
    }
    return total;
}

/* Adds the `count` spans of one cell, whose indices are in `of_cell`. */
static void sum_cell(struct spans *spans, enum stalls_wait wait, const struct sort_entry *of_cell,
                     size_t count, struct stalls_cell *cell)
{
    const struct wait_span *items = spans->of[wait].items;
    for (size_t i = 0; i < count; i++) {
        const struct wait_span *span = &items[of_cell[i].index];
        spans->by_begin[i] = (struct sort_entry){span->begin_ns, of_cell[i].index};
    }
    sort_entries(spans->by_begin, spans->scratch, count);
    cell->busy_ns[wait] += length_of_union(items, spans->by_begin, count);
    cell->operations += wait == STALLS_NETWORK;
}

int spans_sum(struct spans *spans, struct stalls_cell *cells)
{
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        struct span_list *list = &spans->of[wait];
        if (make_room(spans, list->count))
            return -1;
        struct sort_entry *order = spans->by_cell;
        for (size_t i = 0; i < list->count; i++)
            order[i] = (struct sort_entry){list->items[i].cell, (int32_t)i};
        sort_entries(order, spans->scratch, list->count);
        for (size_t i = 0, next; i < list->count; i = next) {
            for (next = i; next < list->count && order[next].key == order[i].key; next++)
                ;
            sum_cell(spans, (enum stalls_wait)wait, order + i, next - i, &cells[order[i].key]);
        }
        list->count = 0;
    }
    return 0;
}

static const int64_t WAIT_UNIT_NS = 10;

int stalls_add_wait(struct stalls_waits *waits, int64_t wait_ns)
{
    if (array_reserve((void **)&waits->items, &waits->capacity, waits->count + 1, sizeof *waits->items))
        return -1;
    int64_t units = wait_ns / WAIT_UNIT_NS;
    waits->items[waits->count++] = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
    return 0;
}

/* Selects by digits of 8 bits, highest first, so that no order of the items makes it slow. */
static uint32_t item_of_rank(const uint32_t *items, size_t count, size_t rank)
{
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t seen[256] = {0};
        for (size_t i = 0; i < count; i++)
            seen[items[i] >> shift & 255] += (items[i] & mask) == prefix;
        uint32_t digit = 0;
        while (rank >= seen[digit])
            rank -= seen[digit++];
        prefix |= digit << shift;
        mask |= (uint32_t)255 << shift;
    }
    return prefix;
}

double stalls_median_us(const struct stalls_waits *waits)
{
    if (!waits->count)
        return -1;
    return (double)item_of_rank(waits->items, waits->count, (waits->count - 1) / 2) * (double)WAIT_UNIT_NS /
           1e3;
}

void stalls_init(struct stalls *stalls)
{
    *stalls = (struct stalls){.by_communicator = 1};
    intern_init(&stalls->tags);
    struct map *maps[] = {&stalls->unidentified_members, &stalls->edge_of, &stalls->cell_of,
                          &stalls->place_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_init(maps[i]);
}

void stalls_release(struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->member_list_count; i++)
        free(stalls->member_list[i].name);
    for (size_t i = 0; i < stalls->edge_count; i++) {
        free(stalls->edges[i].send.items);
        free(stalls->edges[i].receive.items);
    }
    free(stalls->runs);
    free(stalls->member_list);
    roster_release(&stalls->roster);
    free(stalls->edges);
    free(stalls->cells);
    intern_release(&stalls->tags);
    struct map *maps[] = {&stalls->unidentified_members, &stalls->edge_of, &stalls->cell_of,
                          &stalls->place_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_release(maps[i]);
}
