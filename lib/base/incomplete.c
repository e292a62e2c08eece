/*
 * Sequences that lack items: one order from several of them, and where the parts of one begin if they grow
 * evenly.
 */
#include "base/base.h"

#include <stdlib.h>

/* One item comes next after another in some sequences. */
struct follow {
    int32_t before;
    int32_t after;
    int64_t votes; /* 0: more sequences have the opposite order */
};

void follows_init(struct follows *follows)
{
    *follows = (struct follows){.items = NULL};
    map_init(&follows->pairs);
}

void follows_release(struct follows *follows)
{
    map_release(&follows->pairs);
    free(follows->items);
}

int follows_add(struct follows *follows, int32_t before, int32_t after)
{
    int added;
    int64_t *at = map_put(&follows->pairs, (struct map_key){{(uint64_t)before, (uint64_t)after}},
                          (int64_t)follows->count, &added);
    if (!at || array_reserve((void **)&follows->items, &follows->capacity, follows->count + 1,
                             sizeof *follows->items))
        return -1;
    if (added)
        follows->items[follows->count++] = (struct follow){.before = before, .after = after};
    follows->items[*at].votes++;
    return 0;
}

/* The items while they are sorted. */
struct sorting {
    int64_t
        *waits; /* owned; [item]: votes for those that precede it and are not listed yet; -1: it is listed */
    int32_t *place; /* owned, like `first` and `ordered`; [item]: its place in the list as it was */
    int32_t *first; /* [item]: index of its first pair */
    int32_t *ordered;
    size_t count;
    int circles;
};

/* Items whose order no sequence shows, and circles of contradicting sequences. More are a sign of disorder.
 */
enum { MOST_READY = 64, MOST_CIRCLES = 64 };

static int by_before(const void *a, const void *b)
{
    const struct follow *left = a, *right = b;
    if (left->before != right->before)
        return left->before < right->before ? -1 : 1;
    return (left->after > right->after) - (left->after < right->after);
}

/* Whether at least as many sequences have the two items in the opposite order. */
static int is_outvoted(const struct follows *follows, const struct follow *pair)
{
    struct follow opposite = {.before = pair->after, .after = pair->before};
    const struct follow *found =
        bsearch(&opposite, follows->items, follows->count, sizeof *follows->items, by_before);
    return found && found->votes >= pair->votes;
}

static void sorting_release(struct sorting *sorting)
{
    free(sorting->place);
    free(sorting->waits);
}

static int sorting_init(struct sorting *sorting, struct follows *follows, const int32_t *list, size_t count)
{
    int32_t *all = array_new(count * 3 + 1, sizeof *all);
    *sorting = (struct sorting){.place = all, .waits = array_new(count + 1, sizeof *sorting->waits)};
    if (!all || !sorting->waits)
        return -1;
    sorting->first = all + count;
    sorting->ordered = all + count * 2;
    for (size_t i = 0; i < count; i++)
        sorting->place[list[i]] = (int32_t)i;
    array_sort(follows->items, follows->count, sizeof *follows->items, by_before);
    for (size_t i = 0; i < follows->count; i++)
        if (!is_outvoted(follows, &follows->items[i]))
            sorting->waits[follows->items[i].after] += follows->items[i].votes;
    for (size_t i = follows->count; i-- > 0;)
        sorting->first[follows->items[i].before] = (int32_t)i;
    return 0;
}

/* Lists an item; those that only waited for it become ready. -1: too many are. */
static int list_item(struct sorting *sorting, const struct follows *follows, int32_t item, int32_t *ready,
                     size_t *ready_count)
{
    sorting->ordered[sorting->count++] = item;
    sorting->waits[item] = -1;
    for (size_t i = (size_t)sorting->first[item]; i < follows->count && follows->items[i].before == item;
         i++) {
        const struct follow *pair = &follows->items[i];
        int64_t *waits = &sorting->waits[pair->after];
        if (is_outvoted(follows, pair) || *waits < 0)
            continue;
        *waits -= pair->votes;
        if (*waits)
            continue;
        if (*ready_count == MOST_READY)
            return -1;
        ready[(*ready_count)++] = pair->after;
    }
    return 0;
}

/* Removes the item that comes first in the list as it was from those that are ready. */
static int32_t take_ready(const struct sorting *sorting, int32_t *ready, size_t *count)
{
    size_t best = 0;
    for (size_t i = 1; i < *count; i++)
        if (sorting->place[ready[i]] < sorting->place[ready[best]])
            best = i;
    int32_t taken = ready[best];
    ready[best] = ready[--*count];
    return taken;
}

/* Where sequences contradict each other in a circle, the item that the fewest want to be later goes on. */
static int32_t open_circle(struct sorting *sorting, const int32_t *list, size_t count)
{
    int32_t best = -1;
    for (size_t i = 0; i < count; i++)
        if (sorting->waits[list[i]] >= 0 && (best < 0 || sorting->waits[list[i]] < sorting->waits[best]))
            best = list[i];
    sorting->circles += sorting->waits[best] > 0;
    return best;
}

/* -1: the sequences contradict each other too much. */
static int sort_items(struct sorting *sorting, const struct follows *follows, const int32_t *list,
                      size_t count)
{
    int32_t ready[MOST_READY];
    size_t ready_count = 0, next = 0;
    while (sorting->count < count) {
        while (next < count && sorting->waits[list[next]] != 0)
            next++;
        int32_t item = ready_count    ? take_ready(sorting, ready, &ready_count)
                       : next < count ? list[next]
                                      : open_circle(sorting, list, count);
        if (sorting->circles > MOST_CIRCLES)
            return -1;
        if (sorting->waits[item] >= 0 && list_item(sorting, follows, item, ready, &ready_count))
            return -1;
    }
    return 0;
}

int follows_sort(struct follows *follows, int32_t *list, size_t count)
{
    struct sorting sorting;
    int failed = sorting_init(&sorting, follows, list, count);
    if (!failed && !sort_items(&sorting, follows, list, count))
        for (size_t i = 0; i < count; i++)
            list[i] = sorting.ordered[i];
    sorting_release(&sorting);
    return failed;
}

/* The most frequent of some values; *times: how often it occurs. Sorts them. */
static int64_t most_frequent(int64_t *values, size_t count, size_t *times)
{
    sort_integers(values, count);
    int64_t usual = count ? most_frequent_integer(values, count) : 0;
    *times = 0;
    for (size_t i = 0; i < count; i++)
        *times += values[i] == usual;
    return usual;
}

/* Parts whose numbers grow by more in all are not looked at, so that no sum overflows. */
static const int64_t MOST_GROWN = INT64_MAX / 16;

static int are_in_range(const int64_t *begins, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins[i] > MOST_GROWN)
            return 0;
    return 1;
}

/* How far most parts begin from whole numbers of the growth; *times: how many of the known ones do. */
static int64_t usual_phase(const int64_t *begins, size_t count, int64_t growth, int64_t *values,
                           size_t *times)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (begins[i] >= 0)
            values[known++] = begins[i] - (int64_t)i * growth;
    return most_frequent(values, known, times);
}

/* By how much numbers grow on average from the first to the last part that has any. */
static int64_t mean_growth(const int64_t *begins, size_t count)
{
    size_t first = 0, last = count;
    while (first < count && begins[first] < 0)
        first++;
    while (last > first && begins[last - 1] < 0)
        last--;
    if (last < first + 2)
        return 0;
    int64_t parts = (int64_t)(last - first) - 1;
    return (begins[last - 1] - begins[first] + parts / 2) / parts;
}

/* By how much numbers grow from one part to the next, at least half of the times; 0: unknown. */
static int64_t usual_growth(const int64_t *begins, size_t count, int64_t *values)
{
    size_t known = 0, parts = 0, times;
    for (size_t i = 0; i < count; i++) {
        parts += begins[i] >= 0;
        if (i && begins[i - 1] >= 0 && begins[i] >= 0)
            values[known++] = begins[i] - begins[i - 1];
    }
    int64_t growth = most_frequent(values, known, &times);
    if (times * 2 < known || (times < 2 && known > 1)) {
        growth = mean_growth(begins, count);
        usual_phase(begins, count, growth, values, &times);
        /* The first and the last part always fit their mean. */
        growth = times < 3 || times * 2 < parts ? 0 : growth;
    }
    return growth > 0 && growth <= MOST_GROWN / (int64_t)count ? growth : 0;
}

/* The first of the parts that are whole numbers of the growth apart from most others. */
static size_t find_sure(const int64_t *begins, size_t count, int64_t growth, int64_t *values)
{
    size_t times, sure = 0;
    int64_t usual = usual_phase(begins, count, growth, values, &times);
    while (begins[sure] < 0 || begins[sure] - (int64_t)sure * growth != usual)
        sure++;
    return sure;
}

/*
 * Whether one of the next parts begins as if this one began at `begin`, or there are none. `way` is 1 or -1.
 */
static int fits_next(const int64_t *begins, size_t count, size_t at, int way, int64_t begin, int64_t growth)
{
    enum { NEXT = 4 };
    for (int i = 1; i <= NEXT; i++) {
        if ((way < 0 && at < (size_t)i) || (way > 0 && at + (size_t)i >= count))
            return i == 1 && (begins[at] < 0 || (begins[at] > begin && begins[at] < begin + growth));
        int64_t next = begins[way > 0 ? at + (size_t)i : at - (size_t)i];
        if (next >= 0 && next == begin + i * way * growth)
            return 1;
    }
    return 0;
}

/* Sets where a part begins to what follows from its neighbor, if the next ones fit that. */
static void settle(int64_t *begins, size_t count, size_t at, int way, int64_t growth)
{
    int64_t neighbor = begins[way > 0 ? at - 1 : at + 1], begin = neighbor + way * growth;
    if (neighbor >= 0 && begin >= 0 && begins[at] != begin &&
        fits_next(begins, count, at, way, begin, growth))
        begins[at] = begin;
}

int64_t even_begins(int64_t *begins, size_t count)
{
    int64_t *values = are_in_range(begins, count) ? array_new(count + 1, sizeof *values) : NULL;
    if (!values)
        return are_in_range(begins, count) ? -1 : 0;
    int64_t growth = usual_growth(begins, count, values);
    size_t sure = growth ? find_sure(begins, count, growth, values) : 0;
    free(values);
    for (size_t i = sure + 1; growth && i < count; i++)
        settle(begins, count, i, 1, growth);
    for (size_t i = sure; growth && i-- > 0;)
        settle(begins, count, i, -1, growth);
    return growth;
}
