/* Sorting and selection of numbers, stable sorting of keys, binary search by id, and compact lists of ids. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Quicksort, with insertion sort for short parts, and heapsort after too many bad pivots. */

/* Of so few values, insertion sort takes less time, to sort them and to find one of them. */
enum { FEW = 24, FEW_TO_SELECT = 8 };

static void sort_few(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

static void sink(int64_t *values, size_t at, size_t count)
{
    int64_t value = values[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[child] <= value)
            break;
        values[at] = values[child];
    }
    values[at] = value;
}

static void sort_heap(int64_t *values, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(values, i, count);
    for (size_t end = count; end-- > 1;) {
        int64_t greatest = values[0];
        values[0] = values[end];
        values[end] = greatest;
        sink(values, 0, end);
    }
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
    if (a > b) {
        int64_t greater = a;
        a = b;
        b = greater;
    }
    return c <= a ? a : c >= b ? b : c;
}

static int64_t pivot_of(const int64_t *values, size_t count)
{
    return middle_of(values[0], values[count / 2], values[count - 1]);
}

/*
 * Moves the values below the pivot to the front, and returns their number. A branch on the order of values
 * would be predicted wrongly half of the time, which takes longer than all else here.
 */
static size_t part_below(int64_t *values, size_t count, int64_t pivot)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value = values[i];
        values[i] = values[below];
        values[below] = value;
        below += value < pivot;
    }
    return below;
}

/* The same for the values that equal the pivot, where none is below it. */
static size_t part_equal(int64_t *values, size_t count, int64_t pivot)
{
    size_t equal = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value = values[i];
        values[i] = values[equal];
        values[equal] = value;
        equal += value == pivot;
    }
    return equal;
}

/*
 * `depth`: how many more partitions are allowed. The loop continues with the larger part, so that recursion
 * is O(log n) deep.
 */
static void sort_part(int64_t *values, size_t count, int depth)
{
    for (; count > FEW; depth--) {
        if (!depth) {
            sort_heap(values, count);
            return;
        }
        int64_t pivot = pivot_of(values, count);
        size_t first = part_below(values, count, pivot);
        if (!first) {
            first = part_equal(values, count, pivot);
            values += first;
            count -= first;
        } else if (first < count - first) {
            sort_part(values, first, depth - 1);
            values += first;
            count -= first;
        } else {
            sort_part(values + first, count - first, depth - 1);
            count = first;
        }
    }
    sort_few(values, count);
}

/* The number of nested partitions of `count` values after which the pivots count as bad. */
static int allowed_depth(size_t count)
{
    int depth = 2;
    for (; count > 1; count /= 2)
        depth += 2;
    return depth;
}

int64_t select_integer(int64_t *values, size_t count, size_t rank)
{
    int depth = count > FEW_TO_SELECT ? allowed_depth(count) : 0;
    for (; count > FEW_TO_SELECT && depth > 0; depth--) {
        int64_t pivot = pivot_of(values, count);
        size_t first = part_below(values, count, pivot);
        if (rank < first) {
            count = first;
            continue;
        }
        if (!first && rank < (first = part_equal(values, count, pivot)))
            return pivot;
        values += first;
        count -= first;
        rank -= first;
    }
    sort_integers(values, count);
    return values[rank];
}

void sort_integers(int64_t *values, size_t count)
{
    size_t sorted = 1;
    if (count <= FEW) {
        sort_few(values, count);
        return;
    }
    while (sorted < count && values[sorted - 1] <= values[sorted])
        sorted++;
    if (sorted >= count)
        return;
    sort_part(values, count, allowed_depth(count));
}

int64_t most_frequent_integer(const int64_t *sorted, size_t count)
{
    size_t most = 0, alike = 0;
    int64_t usual = 0;
    for (size_t i = 0; i < count; i++) {
        alike = i && sorted[i] == sorted[i - 1] ? alike + 1 : 1;
        if (alike > most) {
            most = alike;
            usual = sorted[i];
        }
    }
    return usual;
}

int32_t greatest_above_zero(const int64_t *values, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return count && values[best] > 0 ? (int32_t)best : -1;
}

/*
 * Replaces the bits of reals by those of integers in the same order: the greater the bits of a negative real,
 * the smaller it is. A second call restores the reals. Returns the same array.
 */
static int64_t *swap_order(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits ^= bits < 0 ? INT64_MAX : 0;
        memcpy(&values[i], &bits, sizeof bits);
    }
    return (int64_t *)(void *)values;
}

void sort_reals(double *values, size_t count)
{
    sort_integers(swap_order(values, count), count);
    swap_order(values, count);
}

double select_real(double *values, size_t count, size_t rank)
{
    select_integer(swap_order(values, count), count, rank);
    swap_order(values, count);
    return values[rank];
}

/* The index just past the ascending run that begins at `at`. */
static size_t run_end(const struct sort_entry *items, size_t at, size_t count)
{
    for (at++; at < count; at++)
        if (items[at].key < items[at - 1].key)
            break;
    return at;
}

static void merge(const struct sort_entry *left, const struct sort_entry *right, const struct sort_entry *end,
                  struct sort_entry *to)
{
    const struct sort_entry *middle = right;
    while (left < middle && right < end)
        *to++ = right->key < left->key ? *right++ : *left++;
    memcpy(to, left, (size_t)(middle - left) * sizeof *to);
    to += middle - left;
    memcpy(to, right, (size_t)(end - right) * sizeof *to);
}

/* Merges each pair of neighbouring runs. Returns an upper bound of the number of runs left. */
static size_t merge_neighbours(const struct sort_entry *from, struct sort_entry *to, size_t count)
{
    size_t runs = 0;
    for (size_t first = 0, end; first < count; first = end) {
        size_t middle = run_end(from, first, count);
        end = middle < count ? run_end(from, middle, count) : count;
        merge(from + first, from + middle, from + end, to + first);
        runs++;
    }
    return runs;
}

void sort_entries(struct sort_entry *items, struct sort_entry *scratch, size_t count)
{
    struct sort_entry *from = items, *to = scratch;
    if (count < 2 || run_end(items, 0, count) == count)
        return;
    size_t runs;
    do {
        runs = merge_neighbours(from, to, count);
        struct sort_entry *merged = to;
        to = from;
        from = merged;
    } while (runs > 1);
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

static int64_t id_of(const void *item)
{
    int64_t id;
    memcpy(&id, item, sizeof id);
    return id;
}

static int64_t id_at(const void *items, size_t item_bytes, size_t at)
{
    return id_of((const char *)items + at * item_bytes);
}

static int is_less(const void *item, const void *id)
{
    return id_of(item) < *(const int64_t *)id;
}

int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id)
{
    if (near < count) {
        uint64_t guess = near + (uint64_t)id - (uint64_t)id_at(items, item_bytes, near);
        if (guess < count && id_at(items, item_bytes, (size_t)guess) == id)
            return (int64_t)guess;
    }
    size_t at = lower_bound(items, count, item_bytes, is_less, &id);
    return at < count && id_at(items, item_bytes, at) == id ? (int64_t)at : -1;
}

static size_t end_of(const struct id_runs *runs, size_t run)
{
    return run + 1 < runs->run_count ? runs->items[run + 1].index : runs->count;
}

/*
 * The position of an id relative to the first id of a run; it is not negative only if the run contains the
 * id.
 */
static int64_t place_in(const struct id_runs *runs, size_t run, int64_t id)
{
    const struct id_run *in = &runs->items[run];
    uint64_t place = (uint64_t)id - (uint64_t)in->id;
    return id >= in->id && place < end_of(runs, run) - in->index ? (int64_t)(in->index + place) : -1;
}

int id_runs_add(struct id_runs *runs, int64_t id)
{
    struct id_run *last = runs->run_count ? &runs->items[runs->run_count - 1] : NULL;
    if (!last || (uint64_t)id - (uint64_t)last->id != runs->count - last->index) {
        if (array_reserve((void **)&runs->items, &runs->run_capacity, runs->run_count + 1,
                          sizeof *runs->items))
            return -1;
        runs->items[runs->run_count++] = (struct id_run){id, runs->count};
    }
    runs->count++;
    return 0;
}

static int begins_up_to(const void *run, const void *id)
{
    return ((const struct id_run *)run)->id <= *(const int64_t *)id;
}

static int indexed_up_to(const void *run, const void *index)
{
    return ((const struct id_run *)run)->index <= *(const size_t *)index;
}

int64_t id_runs_find(struct id_runs *runs, int64_t id)
{
    int64_t place = runs->run_count ? place_in(runs, runs->latest, id) : -1;
    if (place >= 0)
        return place;
    size_t after = lower_bound(runs->items, runs->run_count, sizeof *runs->items, begins_up_to, &id);
    if (!after)
        return -1;
    runs->latest = after - 1;
    return place_in(runs, after - 1, id);
}

int64_t id_runs_at(const struct id_runs *runs, size_t index)
{
    size_t after = lower_bound(runs->items, runs->run_count, sizeof *runs->items, indexed_up_to, &index);
    const struct id_run *in = &runs->items[after - 1];
    return in->id + (int64_t)(index - in->index);
}

void id_runs_release(struct id_runs *runs)
{
    free(runs->items);
    *runs = (struct id_runs){0};
}

void top_two_add(struct top_two *top, int32_t rank, int64_t value)
{
    if (value > top->most) {
        top->second = top->most;
        top->most = value;
        top->rank = rank;
    } else if (value > top->second) {
        top->second = value;
    }
}
