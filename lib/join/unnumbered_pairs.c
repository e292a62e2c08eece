/*
 * Sends and receives that recorders do not number, where one of two ranks lost some: joins them by their
 * places in the steps. Called by lossy_ranks.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"
#include "model/model.h"

#include <stdlib.h>

enum { SENT, RECEIVED, SIDES };

/* The transfers from one rank to another in a step. */
struct pair_step {
    uint64_t series;
    int64_t counts[SIDES]; /* how many each side recorded */
    int64_t base;          /* number of the first one */
    int64_t shifts[SIDES]; /* added to the numbers of each side */
    int32_t step;
    int is_used; /* they are numbered by their places */
};

void pair_counts_init(struct pair_counts *counts)
{
    *counts = (struct pair_counts){.items = NULL};
    map_init(&counts->places);
}

void pair_counts_release(struct pair_counts *counts)
{
    map_release(&counts->places);
    free(counts->items);
}

static int is_unnumbered(const struct issued_operation *issued)
{
    return function_is_point_to_point(issued->function) && issued->own_number < 0 && issued->sequence < 0 &&
           issued->peer >= 0;
}

static int side_of(const struct issued_operation *issued)
{
    return issued->function == FUNCTION_SEND ? SENT : RECEIVED;
}

uint64_t pair_step_hash(const struct work *work, const struct issued_operation *issued)
{
    if (!is_unnumbered(issued))
        return 0;
    uint64_t hash = hash_mix(step_series(work, issued), (uint64_t)issued->joined->step);
    return side_of(issued) == SENT ? hash : 0 - hash;
}

static int add(struct pair_counts *counts, uint64_t series, int32_t step, int side, int64_t more)
{
    int added;
    int64_t *place =
        map_put(&counts->places, (struct map_key){{series, (uint64_t)step}}, (int64_t)counts->count, &added);
    if (!place ||
        array_reserve((void **)&counts->items, &counts->capacity, counts->count + 1, sizeof *counts->items))
        return -1;
    if (added)
        counts->items[counts->count++] = (struct pair_step){.series = series, .step = step};
    counts->items[*place].counts[side] += more;
    return 0;
}

static int take_transfer(void *context, const struct work *work, const struct issued_operation *issued)
{
    return is_unnumbered(issued)
               ? add(context, step_series(work, issued), issued->joined->step, side_of(issued), 1)
               : 0;
}

int pair_counts_of_rank(struct pair_counts *counts, struct blocks *blocks, const struct work *work,
                        int32_t rank, struct error *error)
{
    return rank_pass(blocks, work, rank, PASS_READS_RESULTS, take_transfer, counts, error);
}

int pair_counts_merge(struct pair_counts *counts, struct pair_counts *more)
{
    for (size_t i = 0; i < more->count; i++)
        for (int side = 0; side < SIDES; side++)
            if (add(counts, more->items[i].series, more->items[i].step, side, more->items[i].counts[side]))
                return -1;
    pair_counts_release(more);
    pair_counts_init(more);
    return 0;
}

static int by_step(const void *a, const void *b)
{
    const struct pair_step *left = a, *right = b;
    if (left->series != right->series)
        return left->series < right->series ? -1 : 1;
    return (left->step > right->step) - (left->step < right->step);
}

/* The first and the last step in which a side has any. */
struct extent {
    size_t first;
    size_t last;
};

static struct extent extent_of(const struct pair_step *items, size_t count, int side)
{
    struct extent extent = {count, 0};
    for (size_t i = 0; i < count; i++)
        if (items[i].counts[side]) {
            extent.first = extent.first == count ? i : extent.first;
            extent.last = i;
        }
    return extent;
}

/*
 * Whether the sides differ in the first step alone, which both recorded, and at their ends. Then a receiver
 * that posts receives ahead is as likely as a loss, and the order tells more than the places.
 */
static int may_be_ahead(const struct pair_step *items, const struct extent extents[SIDES])
{
    size_t first = extents[SENT].first;
    size_t end = extents[SENT].last < extents[RECEIVED].last ? extents[SENT].last : extents[RECEIVED].last;
    if (first != extents[RECEIVED].first || items[first].counts[SENT] == items[first].counts[RECEIVED])
        return 0;
    for (size_t i = first + 1; i < end; i++)
        if (items[i].counts[SENT] != items[i].counts[RECEIVED])
            return 0;
    return 1;
}

/*
 * Whether both sides have the same number of transfers in most of the steps that both recorded, although one
 * has more in all. If the total is the same, none was lost, and they are joined in their order. Without steps
 * their places are unknown.
 */
enum { SAME_OF = 4, SAME = 3 };

static int is_lossy(const struct pair_step *items, size_t count, const struct extent extents[SIDES])
{
    int64_t sent = 0, received = 0;
    size_t both = 0, same = 0;
    for (size_t i = 0; i < count; i++) {
        sent += items[i].counts[SENT];
        received += items[i].counts[RECEIVED];
        both += items[i].counts[SENT] && items[i].counts[RECEIVED];
        same += items[i].counts[SENT] == items[i].counts[RECEIVED];
    }
    return items[0].step >= 0 && sent != received && both && same * SAME_OF >= both * SAME &&
           !may_be_ahead(items, extents);
}

/*
 * A record that begins within a step has the last transfers of it, and one that ends there the first ones. If
 * some are missing from any other step, it is unknown which, and none of it are joined.
 */
static void number_steps(struct pair_step *items, size_t count, const struct extent extents[SIDES])
{
    int64_t base = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t *counts = items[i].counts;
        int less = counts[SENT] < counts[RECEIVED] ? SENT : RECEIVED, other = SENT + RECEIVED - less;
        int64_t most = counts[other], lost = most - counts[less];
        items[i].is_used = 1;
        items[i].base = base;
        base += most;
        if (!lost || i >= extents[less].last)
            continue;
        if (i <= extents[less].first && i > extents[other].first) {
            items[i].shifts[less] = lost;
        } else {
            items[i].shifts[less] = most;
            base += counts[less];
        }
    }
}

size_t pair_counts_settle(struct pair_counts *counts)
{
    size_t used = 0;
    map_release(&counts->places);
    map_init(&counts->places);
    array_sort(counts->items, counts->count, sizeof *counts->items, by_step);
    for (size_t i = 0, end; i < counts->count; i = end) {
        for (end = i; end < counts->count && counts->items[end].series == counts->items[i].series;)
            end++;
        const struct extent extents[SIDES] = {extent_of(counts->items + i, end - i, SENT),
                                              extent_of(counts->items + i, end - i, RECEIVED)};
        if (!is_lossy(counts->items + i, end - i, extents))
            continue;
        number_steps(counts->items + i, end - i, extents);
        used++;
    }
    return used;
}

/* The transfers of a rank while they are numbered. */
struct places {
    const struct pair_counts *counts;
    struct map so_far; /* (series and side, step) -> how many */
};

static int take_place(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct places *places = context;
    if (!is_unnumbered(issued))
        return 0;
    struct pair_step wanted = {.series = step_series(work, issued), .step = issued->joined->step};
    const struct pair_step *found =
        bsearch(&wanted, places->counts->items, places->counts->count, sizeof wanted, by_step);
    if (!found || !found->is_used)
        return 0;
    int side = side_of(issued);
    int64_t *place =
        map_put(&places->so_far,
                (struct map_key){{wanted.series, (uint64_t)wanted.step * SIDES + (uint64_t)side}}, 0, NULL);
    if (!place)
        return -1;
    issued->joined->number = found->base + found->shifts[side] + (*place)++;
    return 0;
}

int pair_counts_apply(const struct pair_counts *counts, struct blocks *blocks, const struct work *work,
                      int32_t rank, struct error *error)
{
    struct places places = {.counts = counts};
    map_init(&places.so_far);
    int failed = rank_pass(blocks, work, rank, PASS_CHANGES_RESULTS, take_place, &places, error);
    map_release(&places.so_far);
    return failed;
}
