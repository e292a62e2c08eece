/*
 * Detects the steps of a training loop in the operations of one rank: tries all operations, then leaves out
 * rare or small ones, then uses small collectives (by_small_collective.c) and rare calls (by_rarest_call.c).
 * At the end: cycles that hold several steps.
 */
#include "base/base.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/* Operations rarer than steps are at most one in RARE_SHARE; up to RARE_COUNTS frequencies are tried. */
enum { RARE_SHARE = 8, RARE_COUNTS = 8 };

/* The fewest cycles: of operations as they are, and if some operations or sizes are left out. */
enum { FEWEST = 3, FEWEST_ALIKE = 6 };

static int holds_half(const struct cycle *cycle, size_t count, size_t fewest)
{
    return cycle->period && cycle->extent * 2 >= count && cycle->extent >= fewest * cycle->period;
}

/* The share that may be in no cycle: the warm-up and the end. */
enum { REST_SHARE = 8 };

static int holds_most(const struct cycle *cycle, size_t count)
{
    return cycle->extent * REST_SHARE >= count * (REST_SHARE - 1);
}

/* The operations that remain when some are left out. */
struct rest {
    const uint64_t *way; /* hash by which operations are compared (sizes or calls), of all operations */
    uint64_t *symbols;   /* owned */
    size_t *places;      /* owned; their indexes among all operations */
    size_t count;
};

/*
 * Whether a cycle may be less than a step: each operation occurs once, and they are of at most two kinds. A
 * step also reduces gradients, losses or norms. `places`: index of each symbol among all operations; NULL:
 * the same. -1: out of memory.
 */
static int may_be_part(const struct recurrence *recurrence, const struct cycle *cycle, const uint64_t *way,
                       const size_t *places)
{
    const uint64_t *kinds = way == recurrence->sizes ? recurrence->kinds : recurrence->functions;
    struct map seen;
    int may = 1;
    size_t kind_count = 0;
    map_init(&seen);
    for (size_t i = cycle->first; may == 1 && i < cycle->first + cycle->period && i < cycle->end; i++) {
        int is_new, is_new_kind;
        size_t at = places ? places[i] : i;
        if (!map_put(&seen, (struct map_key){{way[at], 0}}, 0, &is_new) ||
            !map_put(&seen, (struct map_key){{kinds[at], 1}}, 0, &is_new_kind))
            may = -1;
        else
            may = is_new && (kind_count += (size_t)is_new_kind) <= 2;
    }
    map_release(&seen);
    return may;
}

/* Merges cycles that are parts of a step by the time between them. */
static int merge_cycles(const struct recurrence *recurrence, size_t *starts, size_t *count)
{
    int64_t *gaps_ns = array_new(*count * 2, sizeof *gaps_ns);
    if (!gaps_ns)
        return -1;
    for (size_t i = 0; i < *count; i++)
        gaps_ns[i] = starts[i] ? recurrence->gaps_ns[starts[i]] : 0;
    *count = cycle_merge(starts, gaps_ns, *count, gaps_ns + *count);
    free(gaps_ns);
    return 0;
}

/* `*holds`: whether the cycles cover most operations. */
static int find_in_all(const struct recurrence *recurrence, size_t *starts, size_t *found, int *holds)
{
    struct cycle cycle;
    *holds = 0;
    if (cycle_find(recurrence->sizes, recurrence->count, &cycle))
        return -1;
    if (!holds_half(&cycle, recurrence->count, FEWEST))
        return 0;
    *found = cycle_starts(&cycle, recurrence->count, starts);
    *holds = holds_most(&cycle, recurrence->count);
    int part = may_be_part(recurrence, &cycle, recurrence->sizes, NULL);
    return part == 1 ? merge_cycles(recurrence, starts, found) : part;
}

static int rest_init(struct rest *rest, const uint64_t *way, size_t count)
{
    *rest = (struct rest){.way = way,
                          .symbols = array_new(count, sizeof *rest->symbols),
                          .places = array_new(count, sizeof *rest->places)};
    return rest->symbols && rest->places ? 0 : -1;
}

static void rest_release(struct rest *rest)
{
    free(rest->symbols);
    free(rest->places);
}

static void rest_add(struct rest *rest, size_t place)
{
    rest->symbols[rest->count] = rest->way[place];
    rest->places[rest->count++] = place;
}

/*
 * Finds the cycle of the remaining operations; its period is 0 if there is none or it may be part of a step.
 */
static int cycle_of_rest(const struct recurrence *recurrence, const struct rest *rest, struct cycle *cycle)
{
    if (cycle_find(rest->symbols, rest->count, cycle))
        return -1;
    int holds = holds_most(cycle, rest->count) && holds_half(cycle, rest->count, FEWEST_ALIKE);
    int part = holds ? may_be_part(recurrence, cycle, rest->way, rest->places) : 1;
    if (part)
        cycle->period = 0;
    return part < 0 ? -1 : 0;
}

static size_t starts_in_rest(const struct rest *rest, const struct cycle *cycle, size_t *starts)
{
    size_t found = cycle_starts(cycle, rest->count, starts);
    for (size_t i = 0; i < found; i++)
        starts[i] = rest->places[starts[i]];
    return found;
}

/*
 * Finds steps in the kinds that occur more than `rarest` times, if there are at least `fewest` steps, and
 * more than `rarest`.
 */
static int find_above(const struct recurrence *recurrence, const int64_t *times, int64_t rarest,
                      size_t fewest, struct rest *rest, size_t *starts, size_t *found)
{
    struct cycle cycle;
    rest->count = 0;
    for (size_t i = 0; i < recurrence->count; i++)
        if (times[i] > rarest)
            rest_add(rest, i);
    if (cycle_of_rest(recurrence, rest, &cycle))
        return -1;
    size_t cycles = cycle.period ? cycle.extent / cycle.period : 0;
    if (cycles >= fewest && (int64_t)cycles > rarest)
        *found = starts_in_rest(rest, &cycle, starts);
    return 0;
}

/* Leaves out the rarest kinds, more and more of them. */
static int find_without_rare(const struct recurrence *recurrence, const uint64_t *way, size_t fewest,
                             size_t *starts, size_t *found)
{
    struct rest rest;
    size_t before = *found;
    size_t count = recurrence->count, most = count / RARE_SHARE, tried = 1;
    int64_t *times = array_new(count * 2, sizeof *times), *sorted = times ? times + count : NULL, last = 0;
    int failed = rest_init(&rest, way, count) || !times || map_count(recurrence->kinds, count, times);
    for (size_t i = 0; !failed && i < count; i++)
        sorted[i] = times[i];
    if (!failed)
        sort_integers(sorted, count);
    /* find_in_all has tried all operations with their sizes. */
    if (!failed && way != recurrence->sizes)
        failed = find_above(recurrence, times, 0, fewest, &rest, starts, found);
    for (size_t i = 0;
         !failed && *found == before && i < most && sorted[i] < sorted[most] && tried < RARE_COUNTS; i++) {
        if (sorted[i] == last)
            continue;
        last = sorted[i];
        tried++;
        failed = find_above(recurrence, times, last, fewest, &rest, starts, found);
    }
    rest_release(&rest);
    free(times);
    return failed ? -1 : 0;
}

/*
 * Whether the small operations belong to a cycle of the others: they are on the same communicator, or its
 * collectives are on several. Otherwise the cycle may be a micro-batch, and the small operation ends the
 * step.
 */
static int spans_step(const struct recurrence *recurrence, const struct rest *rest, const struct cycle *cycle)
{
    size_t end = cycle->first + cycle->period < cycle->end ? cycle->first + cycle->period : cycle->end;
    int32_t only = spread_of(recurrence, rest->places, cycle->first, end), small = SPREAD_NONE;
    for (size_t i = 0; i < recurrence->count; i++)
        if (recurrence->is_small[i] && recurrence->communicators[i] >= 0)
            small = recurrence->communicators[i];
    return only == SPREAD_SEVERAL || (only >= 0 && only == small);
}

/* Finds steps in the operations that are not small, if there are at least `fewest`. */
static int find_without_small(const struct recurrence *recurrence, const uint64_t *way, size_t fewest,
                              size_t *starts, size_t *found)
{
    struct rest rest;
    struct cycle cycle = {0};
    int failed = rest_init(&rest, way, recurrence->count);
    for (size_t i = 0; !failed && i < recurrence->count; i++)
        if (!recurrence->is_small[i])
            rest_add(&rest, i);
    failed = failed || cycle_of_rest(recurrence, &rest, &cycle);
    if (!failed && cycle.period && cycle.extent / cycle.period >= fewest &&
        spans_step(recurrence, &rest, &cycle))
        *found = starts_in_rest(&rest, &cycle, starts);
    rest_release(&rest);
    return failed ? -1 : 0;
}

/*
 * Adds the functions of operations `first` to `end` - 1 that are not small to `list`. Returns how many are
 * new; -1: out of memory.
 */
static int64_t list_functions(const struct recurrence *recurrence, size_t first, size_t end, struct map *list)
{
    int64_t count = 0;
    for (size_t i = first; i < end && count >= 0; i++) {
        int is_new = 0;
        if (recurrence->is_small[i])
            continue;
        if (!map_put(list, (struct map_key){{recurrence->functions[i]}}, 0, &is_new))
            count = -1;
        else
            count += is_new;
    }
    return count;
}

/* Whether more than half of the functions of a step occur before the first step. -1: out of memory. */
static int has_early(const struct recurrence *recurrence, const size_t *starts)
{
    struct map list;
    map_init(&list);
    int64_t early = list_functions(recurrence, 0, starts[0], &list), more = 0, all = 0;
    if (early >= 0)
        more = list_functions(recurrence, starts[0], starts[1], &list);
    map_release(&list);
    map_init(&list);
    if (early >= 0 && more >= 0)
        all = list_functions(recurrence, starts[0], starts[1], &list);
    map_release(&list);
    return early < 0 || more < 0 || all < 0 ? -1 : all > 0 && (all - more) * 2 > all;
}

/* The first step may differ from all others: data parallelism rearranges its buckets after it. */
static int add_first(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    int early = *found >= 2 ? has_early(recurrence, starts) : 0;
    if (early == 1) {
        memmove(starts + 1, starts, *found * sizeof *starts);
        starts[0] = 0;
        ++*found;
    }
    return early < 0 ? -1 : 0;
}

/*
 * The fewest steps that another way must find: almost twice as many as were found, or FEWEST_ALIKE if none.
 */
static size_t fewest_beside(size_t found)
{
    return found ? 2 * found - 1 : FEWEST_ALIKE;
}

/* Tries another way, with and without sizes. 1 if it finds enough steps; -1: out of memory. */
static int find_finer(const struct recurrence *recurrence,
                      int (*find)(const struct recurrence *recurrence, const uint64_t *way, size_t fewest,
                                  size_t *starts, size_t *found),
                      size_t *starts, size_t *found)
{
    int has_steps = find(recurrence, recurrence->sizes, fewest_beside(*found), starts, found);
    return has_steps ? has_steps : find(recurrence, recurrence->calls, fewest_beside(*found), starts, found);
}

/* If nothing recurs as it is. */
static int find_partly(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    const uint64_t *const ways[] = {recurrence->sizes, recurrence->calls};
    for (int i = 0; i < 2 && !*found; i++)
        if (find_without_rare(recurrence, ways[i], FEWEST_ALIKE, starts, found) ||
            (!*found && find_without_small(recurrence, ways[i], FEWEST_ALIKE, starts, found)))
            return -1;
    return 0;
}

/* Tries all ways. What comes before the first regular step is left to add_first. */
static int find_alike(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    int holds, has_marks = 0, has_anchors = 0;
    *found = 0;
    if (find_in_all(recurrence, starts, found, &holds))
        return -1;
    /* Something occurred once, and the cycles do not include what came before it. */
    if (*found && !holds && find_without_rare(recurrence, recurrence->sizes, *found + 1, starts, found))
        return -1;
    if (*found)
        has_marks = find_finer(recurrence, marks_find, starts, found);
    if (has_marks < 0 ||
        (*found && !has_marks &&
         find_without_small(recurrence, recurrence->sizes, fewest_beside(*found), starts, found)))
        return -1;
    if (find_partly(recurrence, starts, found))
        return -1;
    /* A cycle may be several steps and an evaluation after them. */
    has_anchors = find_finer(recurrence, anchor_find, starts, found);
    if (!has_anchors)
        has_anchors = find_finer(recurrence, marks_find, starts, found);
    return has_anchors < 0 ? -1 : 0;
}

int recurrence_find(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    return find_alike(recurrence, starts, found) || add_first(recurrence, starts, found) ? -1 : 0;
}

enum { FEWEST_PARTS = 3, REST_OF = 5 };

static int is_same(const struct cycles *cycles, size_t first, size_t than, size_t count)
{
    return memcmp(cycles->symbols + first, cycles->symbols + than, count * sizeof *cycles->symbols) == 0;
}

/* How often the part at the beginning of a cycle repeats without a gap. */
static size_t count_parts(const struct cycles *cycles, size_t start, size_t length, size_t part)
{
    size_t count = 1;
    while ((count + 1) * part <= length && is_same(cycles, start, start + count * part, part))
        count++;
    return count;
}

/* Whether the part has enough different calls, and the rest has only these. -1: out of memory. */
static int has_all_calls(const struct cycles *cycles, size_t start, size_t part, size_t rest, size_t end)
{
    struct map calls;
    size_t different = 0;
    int has_all = 1;
    map_init(&calls);
    for (size_t i = start; i < start + part && has_all == 1; i++) {
        int is_new;
        if (!map_put(&calls, (struct map_key){{cycles->calls[i]}}, 0, &is_new))
            has_all = -1;
        else
            different += (size_t)is_new;
    }
    for (size_t i = rest; i < end && has_all == 1; i++)
        has_all = map_get(&calls, (struct map_key){{cycles->calls[i]}}) != NULL;
    map_release(&calls);
    return has_all == 1 ? different >= cycles->fewest_calls : has_all;
}

/* The length of the part that makes up a cycle together with a rest; 0: none. -1: out of memory. */
static int64_t find_part(const struct cycles *cycles, size_t start, size_t length)
{
    for (size_t part = 2; part * FEWEST_PARTS < length; part++) {
        size_t count = count_parts(cycles, start, length, part), rest = length - count * part;
        if (count < FEWEST_PARTS || !rest || rest * REST_OF > length)
            continue;
        int has_all = has_all_calls(cycles, start, part, start + length - rest, start + length);
        if (has_all)
            return has_all < 0 ? -1 : (int64_t)part;
    }
    return 0;
}

/* Stores the steps of all cycles in `found`. Returns how many. */
static size_t cut(const struct cycles *cycles, const size_t *starts, size_t count, size_t part, size_t *found)
{
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = i + 1 < count ? starts[i + 1] : cycles->end, at = starts[i];
        found[steps++] = at;
        for (at += part; at + part <= end && is_same(cycles, at, starts[0], part); at += part)
            found[steps++] = at;
    }
    return steps;
}

int several_steps_find(const struct cycles *cycles, size_t *starts, size_t *count)
{
    size_t length = *count >= 2 ? starts[1] - starts[0] : 0;
    int64_t part = length ? find_part(cycles, starts[0], length) : 0;
    size_t *found = part > 0 ? array_new(cycles->end, sizeof *found) : NULL;
    if (part <= 0)
        return (int)part;
    if (!found)
        return -1;
    *count = cut(cycles, starts, *count, (size_t)part, found);
    memcpy(starts, found, *count * sizeof *starts);
    free(found);
    return 0;
}
