#include "base/base.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/* So many kinds of small collectives are tried. */
enum { MARKS_TRIED = 16 };

/* The body comes so often at least. */
enum { FEWEST_BODIES = 3 };

/* A step has so many micro-batches at most: what comes once in more of them is a checkpoint. */
enum { PARTS_MOST = 16 };

/* A small collective of all ranks. */
struct mark {
    size_t before; /* operations before it that are not small */
    uint64_t kind;
    uint64_t place; /* the same and the call that it comes after */
    int32_t communicator;
};

/* Operations that are not small, from `first` to before `end` among those. */
struct span {
    size_t first;
    size_t end;
};

struct marking {
    const struct recurrence *recurrence;
    const uint64_t *way;
    uint64_t *sums; /* owned, as is all below: of the symbols of operations that are not small, up to each */
    size_t *places; /* which they are of all */
    size_t count;
    struct mark *marks;
    size_t mark_count;
    struct span *spans; /* between marks */
    size_t span_count;
    uint64_t *digests; /* of spans, and how often they come */
    int64_t *times;
    size_t *starts;
    int has_found;
};

static int marking_init(struct marking *marking, const struct recurrence *recurrence, const uint64_t *way)
{
    size_t count = recurrence->count;
    *marking = (struct marking){.recurrence = recurrence,
                                .way = way,
                                .sums = array_new(count + 1, sizeof *marking->sums),
                                .places = array_new(count, sizeof *marking->places),
                                .marks = array_new(count, sizeof *marking->marks),
                                .spans = array_new(count, sizeof *marking->spans),
                                .digests = array_new(count, sizeof *marking->digests),
                                .times = array_new(count, sizeof *marking->times),
                                .starts = array_new(count, sizeof *marking->starts)};
    return marking->sums && marking->places && marking->marks && marking->spans && marking->digests &&
                   marking->times && marking->starts
               ? 0
               : -1;
}

static void marking_release(struct marking *marking)
{
    free(marking->sums);
    free(marking->places);
    free(marking->marks);
    free(marking->spans);
    free(marking->digests);
    free(marking->times);
    free(marking->starts);
}

static void tell_apart(struct marking *marking)
{
    const struct recurrence *recurrence = marking->recurrence;
    uint64_t last = 0;
    for (size_t i = 0; i < recurrence->count; i++) {
        if (!recurrence->is_small[i]) {
            marking->places[marking->count++] = i;
            marking->sums[marking->count] = marking->sums[marking->count - 1] + hash_mix(marking->way[i], 0);
            last = recurrence->functions[i];
        } else if (recurrence->is_shared[i]) {
            marking->marks[marking->mark_count++] =
                (struct mark){.before = marking->count,
                              .kind = hash_mix(recurrence->kinds[i], 0),
                              .place = hash_mix(recurrence->kinds[i], last + 1),
                              .communicator = recurrence->communicators[i]};
        }
    }
}

static void cut_spans(struct marking *marking, uint64_t key)
{
    const struct mark *last = NULL;
    marking->span_count = 0;
    for (size_t i = 0; i < marking->mark_count; i++) {
        const struct mark *mark = &marking->marks[i];
        if (mark->kind != key && mark->place != key)
            continue;
        if (last && mark->before > last->before)
            marking->spans[marking->span_count++] = (struct span){last->before, mark->before};
        last = mark;
    }
}

/* What makes the most of all that lies between marks; its `end` 0 where nothing comes often enough. */
static int find_body(struct marking *marking, struct span *body)
{
    size_t most = 0;
    *body = (struct span){0, 0};
    for (size_t i = 0; i < marking->span_count; i++) {
        struct span span = marking->spans[i];
        marking->digests[i] =
            hash_mix(marking->sums[span.end] - marking->sums[span.first], span.end - span.first);
    }
    if (map_count(marking->digests, marking->span_count, marking->times))
        return -1;
    for (size_t i = 0; i < marking->span_count; i++) {
        size_t all = (marking->spans[i].end - marking->spans[i].first) * (size_t)marking->times[i];
        if (marking->times[i] >= FEWEST_BODIES && all > most) {
            most = all;
            *body = marking->spans[i];
        }
    }
    return 0;
}

static int is_exact(const struct marking *marking, size_t first, size_t than, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (marking->way[marking->places[first + i]] != marking->way[marking->places[than + i]])
            return 0;
    return 1;
}

/* Of operations that share a moment the order may differ: it is passed over. */
static int is_same(const struct marking *marking, size_t first, size_t than, size_t count)
{
    return marking->sums[first + count] - marking->sums[first] ==
           marking->sums[than + count] - marking->sums[than];
}

/*
 * Where the body is in a span: at its begin, or at its end after something else (which is not the body once
 * more); SIZE_MAX where it is not.
 */
static size_t body_in(const struct marking *marking, struct span body, struct span span)
{
    size_t length = body.end - body.first, count = span.end - span.first;
    if (count < length)
        return SIZE_MAX;
    size_t last = span.end - length;
    int is_long = count >= 2 * length;
    if (!is_long && is_exact(marking, span.first, body.first, length))
        return span.first;
    if (is_same(marking, last, body.first, length))
        return is_long && is_same(marking, last - length, body.first, length) ? SIZE_MAX : last;
    return !is_long && is_same(marking, span.first, body.first, length) ? span.first : SIZE_MAX;
}

/* Whether a span has calls that the body has not, which has them all in `calls`. */
static int is_foreign(const struct marking *marking, const struct map *calls, struct span span)
{
    for (size_t i = span.first; i < span.end; i++)
        if (!map_get(calls, (struct map_key){{marking->recurrence->calls[marking->places[i]]}}))
            return 1;
    return 0;
}

/*
 * Whether something that the body has not comes as often as steps may: then the body may be a micro-batch,
 * and the gradients are what comes once in a step. -1: out of memory.
 */
static int is_part(const struct marking *marking, struct span body)
{
    struct map calls;
    size_t foreign = 0;
    int failed = 0;
    map_init(&calls);
    for (size_t i = body.first; !failed && i < body.end; i++)
        failed =
            !map_put(&calls, (struct map_key){{marking->recurrence->calls[marking->places[i]]}}, 0, NULL);
    for (size_t i = 0; !failed && i < marking->span_count; i++)
        foreign += (size_t)is_foreign(marking, &calls, marking->spans[i]);
    map_release(&calls);
    return failed ? -1 : foreign >= FEWEST_BODIES && foreign * PARTS_MOST >= marking->span_count;
}

/*
 * Whether the body is more than a micro-batch may be: its collectives are on several communicators, or on
 * that of the mark, or its first send or receive comes more than once.
 */
static int spans_step(const struct marking *marking, struct span body, int32_t communicator)
{
    const struct recurrence *recurrence = marking->recurrence;
    const uint64_t *send = NULL;
    int32_t only = spread_of(recurrence, marking->places, body.first, body.end);
    if (only == SPREAD_SEVERAL || (only >= 0 && only == communicator))
        return 1;
    for (size_t i = body.first; i < body.end; i++) {
        size_t at = marking->places[i];
        if (recurrence->communicators[at] >= 0)
            continue;
        if (send && *send == recurrence->calls[at])
            return 1;
        send = send ? send : &recurrence->calls[at];
    }
    return 0;
}

/*
 * Operations at the begin of the body that end the step before: those that the first mark does not have
 * before it, where it has half of them or more.
 */
static size_t count_ending(const struct marking *marking, struct span body)
{
    size_t length = body.end - body.first, first = marking->spans[0].first, common = 0;
    while (common < length && common < first &&
           is_same(marking, first - common - 1, body.end - common - 1, 1))
        common++;
    return common * 2 >= length ? length - common : 0;
}

/* Whether what comes after the last mark begins a step, more than half of one; an evaluation does not. */
static int begins_step(const struct marking *marking, struct span body, struct span rest)
{
    size_t length = body.end - body.first, count = rest.end - rest.first;
    size_t compared = count < length ? count : length;
    if (compared * 2 <= length || !is_same(marking, rest.first, body.first, compared))
        return 0;
    for (size_t i = 0; i < marking->span_count; i++) {
        size_t first = marking->spans[i].first, at = body_in(marking, body, marking->spans[i]);
        if (at != SIZE_MAX && at - first >= count && is_same(marking, first, rest.first, count))
            return 0;
    }
    return 1;
}

/* Steps of what is before the first mark, of the spans that the body is in, and of what is after the last. */
static size_t take_starts(struct marking *marking, struct span body)
{
    size_t found = 0, like = 0, between = 0, length = body.end - body.first;
    size_t first = marking->spans[0].first, last = marking->spans[marking->span_count - 1].end;
    size_t ending = count_ending(marking, body), beginning = length - ending;
    if (first >= beginning && is_same(marking, first - beginning, body.first + ending, beginning))
        marking->starts[found++] = marking->places[first - beginning];
    for (size_t i = 0; i < marking->span_count; i++) {
        size_t at = body_in(marking, body, marking->spans[i]);
        between += marking->spans[i].end - marking->spans[i].first;
        if (at == SIZE_MAX)
            continue;
        like++;
        marking->starts[found++] = marking->places[at + ending];
    }
    if (like * length * 3 < between * 2)
        return 0;
    if (begins_step(marking, body, (struct span){last, marking->count}))
        marking->starts[found++] = marking->places[last + ending];
    return found;
}

/* What is to be tried, and how often it comes. */
struct key {
    uint64_t value;
    int64_t times;
    size_t first; /* where it comes first */
    int32_t communicator;
};

/* The most frequent first. */
static int by_times(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->times != right->times)
        return left->times > right->times ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

/* Keeps in `starts` the steps by a key where they are more than what is there, or as many and begin sooner.
 */
static int try_key(struct marking *marking, const struct key *key, size_t *starts, size_t *most)
{
    struct span body;
    cut_spans(marking, key->value);
    if (find_body(marking, &body))
        return -1;
    if (!body.end || !spans_step(marking, body, key->communicator))
        return 0;
    int part = is_part(marking, body);
    if (part)
        return part < 0 ? -1 : 0;
    size_t found = take_starts(marking, body);
    int sooner = found == *most && marking->has_found && marking->starts[0] < starts[0];
    if (found > *most || sooner) {
        marking->has_found = 1;
        *most = found;
        memcpy(starts, marking->starts, found * sizeof *starts);
    }
    return 0;
}

/* All kinds of marks, by themselves and by what they come after. Returns how many; SIZE_MAX: no memory. */
static size_t list_keys(const struct marking *marking, struct key *keys)
{
    size_t count = 2 * marking->mark_count, kept = 0;
    uint64_t *values = array_new(count, sizeof *values);
    int64_t *times = array_new(count, sizeof *times);
    struct map seen;
    map_init(&seen);
    for (size_t i = 0; values && i < count; i++)
        values[i] = i % 2 ? marking->marks[i / 2].place : marking->marks[i / 2].kind;
    int failed = !values || !times || map_count(values, count, times);
    for (size_t i = 0; !failed && i < count; i++) {
        int is_new = 0;
        failed = !map_put(&seen, (struct map_key){{values[i]}}, 0, &is_new);
        if (!failed && is_new && times[i] > FEWEST_BODIES)
            keys[kept++] = (struct key){values[i], times[i], i, marking->marks[i / 2].communicator};
    }
    map_release(&seen);
    free(values);
    free(times);
    array_sort(keys, kept, sizeof *keys, by_times);
    return failed ? SIZE_MAX : kept;
}

/* Tries the kinds that come most often. */
static int try_marks(struct marking *marking, size_t *starts, size_t *most)
{
    struct key *keys = array_new(2 * marking->mark_count, sizeof *keys);
    size_t count = keys ? list_keys(marking, keys) : SIZE_MAX;
    int failed = count == SIZE_MAX;
    for (size_t i = 0; !failed && i < count && i < MARKS_TRIED; i++)
        failed = try_key(marking, &keys[i], starts, most);
    free(keys);
    return failed ? -1 : 0;
}

int marks_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
               size_t *found)
{
    struct marking marking;
    size_t most = fewest ? fewest - 1 : 0;
    size_t least = most;
    int failed = marking_init(&marking, recurrence, way);
    if (!failed) {
        tell_apart(&marking);
        failed = try_marks(&marking, starts, &most);
    }
    marking_release(&marking);
    if (!failed && most > least)
        *found = most;
    return failed ? -1 : most > least;
}
