#include "stalls/wait_union.h"

#include "base/array.h"
#include "base/sort.h"

#include <stdlib.h>

void spans_release(struct spans *spans)
{
    for (int wait = 0; wait < STALLS_WAITS; wait++)
        free(spans->of[wait].items);
    free(spans->by_cell);
    free(spans->by_begin);
    free(spans->scratch);
    free(spans->ends);
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
    size_t room[] = {spans->room, spans->room, spans->room, spans->room};
    if (array_reserve((void **)&spans->by_cell, &room[0], count, sizeof *spans->by_cell) ||
        array_reserve((void **)&spans->by_begin, &room[1], count, sizeof *spans->by_begin) ||
        array_reserve((void **)&spans->scratch, &room[2], count, sizeof *spans->scratch) ||
        array_reserve((void **)&spans->ends, &room[3], count, sizeof *spans->ends))
        return -1;
    spans->room = room[3];
    return 0;
}

/* How long at least one of `count` spans, in order of their begins, was open. */
static int64_t length_of_union(const struct wait_span *spans, const struct keyed *order, size_t count)
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

/*
 * The longest time from one end to the next (of a first one: from its begin) in which a span was open; begins
 * and ends each in order.
 */
static int64_t longest_standstill(const struct keyed *begins, const int64_t *ends, size_t count)
{
    int64_t longest = 0;
    size_t open = 0; /* spans before this one began by the last end */
    for (size_t i = 0; i < count; i++) {
        int64_t from = i ? ends[i - 1] : begins[0].key;
        while (open < count && begins[open].key <= from)
            open++;
        /* As many began by then as have ended: nothing was on its way until the next begins. */
        if (open == i)
            from = begins[i].key;
        if (ends[i] - from > longest)
            longest = ends[i] - from;
    }
    return longest;
}

/* The spans of one cell, `count` of them, whose numbers are those of `of_cell`. */
static void sum_cell(struct spans *spans, enum stalls_wait wait, const struct keyed *of_cell, size_t count,
                     struct stalls_cell *cell)
{
    const struct wait_span *items = spans->of[wait].items;
    for (size_t i = 0; i < count; i++) {
        const struct wait_span *span = &items[of_cell[i].index];
        spans->by_begin[i] = (struct keyed){span->begin_ns, of_cell[i].index};
        spans->ends[i] = span->end_ns;
    }
    keyed_sort(spans->by_begin, spans->scratch, count);
    cell->busy_ns[wait] += length_of_union(items, spans->by_begin, count);
    if (wait != STALLS_NETWORK)
        return;
    cell->operations++;
    sort_integers(spans->ends, count);
    int64_t still = longest_standstill(spans->by_begin, spans->ends, count);
    if (still > cell->standstill_ns)
        cell->standstill_ns = still;
}

int spans_sum(struct spans *spans, struct stalls_cell *cells)
{
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        struct span_list *list = &spans->of[wait];
        if (make_room(spans, list->count))
            return -1;
        struct keyed *order = spans->by_cell;
        for (size_t i = 0; i < list->count; i++)
            order[i] = (struct keyed){list->items[i].cell, (int32_t)i};
        keyed_sort(order, spans->scratch, list->count);
        for (size_t i = 0, next; i < list->count; i = next) {
            for (next = i; next < list->count && order[next].key == order[i].key; next++)
                ;
            sum_cell(spans, (enum stalls_wait)wait, order + i, next - i, &cells[order[i].key]);
        }
        list->count = 0;
    }
    return 0;
}
