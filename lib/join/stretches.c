/*
 * Detects steps in a job whose steps change: divides the operations into stretches of equal steps, from the
 * end to the beginning, and finds the steps of each with recurrence.c. The entry point for the detection of
 * steps from operations.
 */
#include "base/base.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/*
 * A step this many times as long as usual may contain other steps. Before all stretches, TWO_STEPS are
 * enough, because earlier steps are shorter.
 */
enum { SEVERAL_STEPS = 4, TWO_STEPS = 2 };

/* The fewest steps of a stretch. Stretches taken off the end must cover MOST of MOST_OF of all operations. */
enum { FEWEST_STEPS = 6, FEWEST_CYCLES = 3, MOST_OF = 4, MOST = 3 };

/* Fewer steps are enough before another stretch, whose beginning may look like their last steps. */
enum { FEWEST_BEFORE = 4 };

/*
 * Limits: number of stretches, and how many times the number of all operations may be read, whatever the
 * trace.
 */
enum { MOST_STRETCHES = 64, LOOKED_AT = 16 };

/* How deep stretches may be nested. */
enum { DEEPEST = 3 };

/* Consecutive steps with the same operations; `first` is an index into the list of all starts. */
struct stretch {
    size_t first;
    size_t count;
    size_t end;    /* index of the operation after it */
    size_t period; /* operations per step; 0: they differ */
    int is_sure;   /* it was found in all operations together */
};

struct search {
    const struct recurrence *all;
    int cycles_only;       /* use only cycles of the symbols to find steps */
    unsigned char *begins; /* owned; for each operation, whether it begins a step */
    size_t budget;         /* how many operations may still be read */
};

/* The stretches between two operations, the last one first. */
struct found {
    size_t *starts; /* owned; has room for all */
    size_t *taken;  /* owned; has room for all; those of one stretch */
    size_t start_count;
    int begins_first; /* a step begins with the first operation and may contain others */
    struct stretch stretches[MOST_STRETCHES];
    size_t count;
};

static struct recurrence part_of(const struct recurrence *all, size_t first, size_t count)
{
    if (!all->functions)
        return (struct recurrence){.calls = all->calls + first, .sizes = all->sizes + first, .count = count};
    return (struct recurrence){.functions = all->functions + first,
                               .calls = all->calls + first,
                               .sizes = all->sizes + first,
                               .kinds = all->kinds + first,
                               .communicators = all->communicators + first,
                               .is_small = all->is_small + first,
                               .is_shared = all->is_shared + first,
                               .gaps_ns = all->gaps_ns + first,
                               .count = count};
}

/* The median number of operations per step; 0: fewer than two steps. -1: out of memory. */
static int64_t usual_length(const size_t *starts, size_t count)
{
    int64_t *lengths = array_new(count, sizeof *lengths);
    if (!lengths)
        return -1;
    for (size_t i = 0; i + 1 < count; i++)
        lengths[i] = (int64_t)(starts[i + 1] - starts[i]);
    int64_t usual = count < 2 ? 0 : median_of(lengths, count - 1);
    free(lengths);
    return usual;
}

/* The number of operations per step if all steps have the same; else 0. */
static size_t period_of(const size_t *starts, size_t count)
{
    for (size_t i = 1; i + 1 < count; i++)
        if (starts[i + 1] - starts[i] != starts[1] - starts[0])
            return 0;
    return count < 2 ? 0 : starts[1] - starts[0];
}

/* A cycle of one operation is not taken for a step. */
static int take_cycles_at_end(const struct recurrence *part, size_t fewest, size_t *starts, size_t *count)
{
    struct cycle cycle;
    *count = 0;
    if (cycle_find(part->sizes, part->count, &cycle))
        return -1;
    if (cycle.period >= 2 && cycle.extent >= fewest * cycle.period)
        *count = cycle_starts(&cycle, part->count, starts);
    return 0;
}

/*
 * A step has at least three different calls: it reduces, gathers and exchanges. Layers and buckets have
 * fewer.
 */
enum { FEWEST_CALLS = 3 };

static int find_several(const struct recurrence *part, size_t *starts, size_t *count)
{
    const struct cycles cycles = {
        .symbols = part->sizes, .calls = part->functions, .end = part->count, .fewest_calls = FEWEST_CALLS};
    return period_of(starts, *count) ? several_steps_find(&cycles, starts, count) : 0;
}

/*
 * Finds the last stretch between two operations and stores its starts in found->taken; *count is 0 if there
 * is none.
 */
static int find_last(struct search *search, struct found *found, size_t first, size_t end, size_t *count,
                     int *recurs)
{
    struct recurrence part = part_of(search->all, first, end - first);
    *count = 0;
    *recurs = 0;
    if (search->budget < part.count)
        return 0;
    search->budget -= part.count;
    if (!search->cycles_only &&
        (recurrence_find(&part, found->taken, count) || find_several(&part, found->taken, count)))
        return -1;
    *recurs = *count > 0;
    /* Something that recurs only in the remaining operations may do so by chance. */
    if (*count && *count < FEWEST_BEFORE && found->count)
        *count = 0;
    size_t fewest = search->cycles_only ? FEWEST_CYCLES : found->count ? FEWEST_BEFORE : FEWEST_STEPS;
    if (!*count && take_cycles_at_end(&part, fewest, found->taken, count))
        return -1;
    for (size_t i = 0; i < *count; i++)
        found->taken[i] += first;
    return 0;
}

static void add_stretch(struct found *found, size_t count, size_t end, int recurs)
{
    memcpy(found->starts + found->start_count, found->taken, count * sizeof *found->starts);
    found->stretches[found->count++] = (struct stretch){.first = found->start_count,
                                                        .count = count,
                                                        .end = end,
                                                        .period = period_of(found->taken, count),
                                                        .is_sure = recurs && !found->start_count};
    found->start_count += count;
}

/*
 * A first step as long as several may contain a stretch of its own, because recurrence_find takes anything
 * with more than half of a step's calls for a step. Returns the usual length of a step; 0: unknown; -1: out
 * of memory.
 */
static int64_t drop_long_first_step(struct found *found, size_t first, size_t *count)
{
    int64_t usual = usual_length(found->taken, *count);
    if (usual <= 0 || *count < 3 || found->taken[0] != first ||
        found->taken[1] - first <= TWO_STEPS * (size_t)usual)
        return usual;
    memmove(found->taken, found->taken + 1, --*count * sizeof *found->taken);
    found->begins_first = 1;
    return usual;
}

/* Finds stretches from the end to the beginning, as long as the remaining operations may contain one. */
static int find_all(struct search *search, struct found *found, size_t first, size_t end)
{
    while (end > first && found->count < MOST_STRETCHES) {
        size_t count;
        int recurs;
        if (find_last(search, found, first, end, &count, &recurs))
            return -1;
        int64_t usual = drop_long_first_step(found, first, &count);
        if (usual < 0 || !count)
            return usual < 0 ? -1 : 0;
        add_stretch(found, count, end, recurs);
        end = found->taken[0];
        if (!usual || end - first <= TWO_STEPS * (size_t)usual)
            return 0;
    }
    return 0;
}

static int is_same_step(const struct recurrence *all, size_t first, size_t than, size_t period)
{
    return memcmp(all->sizes + first, all->sizes + than, period * sizeof *all->sizes) == 0;
}

/* How many calls two steps have in common at their beginnings and at their ends. */
static size_t likeness(const struct recurrence *all, size_t first, size_t length, size_t than,
                       size_t than_length)
{
    size_t least = length < than_length ? length : than_length, begin = 0, end = 0;
    while (begin < least && all->calls[first + begin] == all->calls[than + begin])
        begin++;
    while (end < least && all->calls[first + length - 1 - end] == all->calls[than + than_length - 1 - end])
        end++;
    return begin + end;
}

/* How far back the repetition of a stretch extends. */
static size_t earliest_of(const struct recurrence *all, size_t first, size_t period)
{
    while (first && all->sizes[first - 1] == all->sizes[first - 1 + period])
        first--;
    return first;
}

/*
 * Where a stretch begins that follows another one: at the end of a step of that one, where its own first step
 * is most similar to such a step. The first operations of the new stretch may look like the end of the
 * old one, or continue it.
 */
static size_t begin_after(const struct recurrence *all, size_t step, size_t length,
                          const struct stretch *stretch, size_t own)
{
    size_t period = stretch->period, earliest = earliest_of(all, own, period), best = own, most = 0;
    for (size_t at = step; at + length <= all->count && is_same_step(all, at, step, length); at += length) {
        size_t begin = at + length;
        if (begin > own + period || begin + period > stretch->end)
            break;
        size_t like = begin < earliest ? 0 : likeness(all, begin, period, step, length);
        if (like > most) {
            most = like;
            best = begin;
        }
    }
    return best;
}

/*
 * Marks the steps of a stretch from `begin` up to the next stretch. `meets`: the beginning of that one
 * follows from the steps of this one.
 */
static void mark_stretch(struct search *search, const struct found *found, const struct stretch *stretch,
                         size_t begin, size_t limit, int meets)
{
    const size_t *starts = found->starts + stretch->first;
    size_t at = begin, end = starts[stretch->count - 1] + stretch->period;
    if (!stretch->period) {
        for (size_t i = 0; i < stretch->count && starts[i] < limit; i++)
            search->begins[starts[i]] = 1;
        return;
    }
    for (; at < limit && (meets || at + stretch->period <= end); at += stretch->period)
        search->begins[at] = 1;
}

/* From the first stretch on. Where one meets the next is determined by both. */
static void mark_stretches(struct search *search, const struct found *found, size_t end)
{
    size_t begin = found->starts[found->stretches[found->count - 1].first];
    for (size_t i = found->count; i-- > 0;) {
        const struct stretch *stretch = &found->stretches[i], *next = i ? stretch - 1 : NULL;
        size_t limit = next ? found->starts[next->first] : end;
        int meets = next && stretch->period && next->period;
        if (meets) {
            size_t own = limit;
            limit = begin_after(search->all, begin, stretch->period, next, own);
            meets = limit != own || (limit - begin) % stretch->period == 0;
        }
        mark_stretch(search, found, stretch, begin, limit, meets);
        begin = limit;
    }
}

/* Whether the stretches cover most of the operations between two. */
static int hold_most(const struct found *found, size_t first, size_t end)
{
    size_t held = 0;
    for (size_t i = 0; i < found->count; i++)
        held += found->stretches[i].end - found->starts[found->stretches[i].first];
    return found->count && (found->stretches[0].is_sure || held * MOST_OF >= (end - first) * MOST);
}

static int find_between(struct search *search, size_t first, size_t end, int depth);

/* A step as long as several steps of a stretch may contain other stretches. */
static int find_within(struct search *search, const struct found *found, const struct stretch *stretch,
                       int depth)
{
    const size_t *starts = found->starts + stretch->first;
    int64_t usual = stretch->period || depth == DEEPEST ? 0 : usual_length(starts, stretch->count);
    if (usual <= 0)
        return usual < 0 ? -1 : 0;
    for (size_t i = 0; i < stretch->count; i++) {
        size_t end = i + 1 < stretch->count ? starts[i + 1] : stretch->end;
        if (end - starts[i] > SEVERAL_STEPS * (size_t)usual &&
            find_between(search, starts[i], end, depth + 1))
            return -1;
    }
    return 0;
}

/* Inside other stretches, fewer than FEWEST_STEPS steps are not a stretch. */
static int is_stretch(const struct found *found, size_t first, size_t end, int depth)
{
    return hold_most(found, first, end) && (!depth || found->start_count >= FEWEST_STEPS);
}

static int find_between(struct search *search, size_t first, size_t end, int depth)
{
    size_t count = end - first;
    struct found found = {.starts = array_new(count, sizeof *found.starts),
                          .taken = array_new(count, sizeof *found.taken)};
    int failed = !found.starts || !found.taken || find_all(search, &found, first, end);
    if (!failed && is_stretch(&found, first, end, depth)) {
        mark_stretches(search, &found, end);
        search->begins[first] |= (unsigned char)found.begins_first;
        for (size_t i = 0; !failed && i < found.count; i++)
            failed = find_within(search, &found, &found.stretches[i], depth);
    }
    free(found.starts);
    free(found.taken);
    return failed ? -1 : 0;
}

static int find_with(struct search *search, size_t *starts, size_t *found)
{
    size_t count = search->all->count;
    search->begins = array_new(count, 1);
    search->budget = count * LOOKED_AT;
    int failed = !search->begins || find_between(search, 0, count, 0);
    *found = 0;
    for (size_t i = 0; !failed && i < count; i++)
        if (search->begins[i])
            starts[(*found)++] = i;
    free(search->begins);
    return failed ? -1 : 0;
}

int stretches_find(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    struct search search = {.all = recurrence};
    return find_with(&search, starts, found);
}

int stretches_of_symbols(uint64_t *symbols, size_t count, size_t *starts, size_t *found)
{
    const struct recurrence recurrence = {.calls = symbols, .sizes = symbols, .count = count};
    struct search search = {.all = &recurrence, .cycles_only = 1};
    return find_with(&search, starts, found);
}
