/*
 * Detects steps by a small collective of all ranks that occurs in each of them (a mark), such as a norm or a
 * loss. The operations between most marks are equal (the body). Used by recurrence.c.
 */
#include "base/base.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/* How many kinds of small collectives are tried. */
enum { MARKS_TRIED = 16 };

/* How often the body must occur at least. */
enum { FEWEST_BODIES = 3 };

/* The most micro-batches of a step. Something that occurs once in more of them is a checkpoint. */
enum { PARTS_MOST = 16 };

/* A small collective of all ranks. */
struct mark {
    size_t before; /* how many operations that are not small come before it */
    uint64_t kind;
    uint64_t place; /* hash of the kind and of the call that it follows */
    int32_t communicator;
};

/* Operations that are not small: indexes `first` to `end` - 1 among them. */
struct span {
    size_t first;
    size_t end;
};

struct marking {
    const struct recurrence *recurrence;
    const uint64_t *way;
    /* owned, like the arrays below; sums of the symbols of the operations that are not small, up to each */
    uint64_t *sums;
    size_t *places; /* index of each of them among all operations */
    size_t count;
    struct mark *marks;
    size_t mark_count;
    struct span *spans; /* between consecutive marks */
    size_t span_count;
    uint64_t *digests; /* hash of each span; `times`: how often it occurs */
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

/*
 * The span that covers most operations between marks, counting repetitions; its `end` is 0 if none occurs
 * often enough.
 */
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

/* Compares sums, so that the order does not matter: it may differ for operations issued at the same time. */
static int is_same(const struct marking *marking, size_t first, size_t than, size_t count)
{
    return marking->sums[first + count] - marking->sums[first] ==
           marking->sums[than + count] - marking->sums[than];
}

/*
 * Where the body is in a span: at the beginning, or at the end after other operations (but not after another
 * body); SIZE_MAX if it is in neither place.
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

/* Whether a span has calls that are not in `calls`, the calls of the body. */
static int is_foreign(const struct marking *marking, const struct map *calls, struct span span)
{
    for (size_t i = span.first; i < span.end; i++)
        if (!map_get(calls, (struct map_key){{marking->recurrence->calls[marking->places[i]]}}))
            return 1;
    return 0;
}

/*
 * Whether calls that the body does not have occur about as often as steps could. Then the body may be a
 * micro-batch, and those calls reduce the gradients once per step. -1: out of memory.
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
 * Whether the body must be more than a micro-batch: its collectives are on several communicators, or on that
 * of the mark, or its first send or receive occurs more than once.
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
 * How many operations at the beginning of the body end the previous step: those that are missing before the
 * first mark, if at least half of the body is there.
 */
static size_t count_ending(const struct marking *marking, struct span body)
{
    size_t length = body.end - body.first, first = marking->spans[0].first, common = 0;
    while (common < length && common < first &&
           is_same(marking, first - common - 1, body.end - common - 1, 1))
        common++;
    return common * 2 >= length ? length - common : 0;
}

/*
 * Whether the operations after the last mark begin a step: more than half of the body, and not an evaluation.
 */
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

/*
 * Takes steps from the operations before the first mark, from the spans that contain the body, and from the
 * operations after the last mark. 0: the body covers too little.
 */
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

/* A kind of mark to try, and how often it occurs. */
struct key {
    uint64_t value;
    int64_t times;
    size_t first; /* index of its first occurrence */
    int32_t communicator;
};

/* Most frequent first. */
static int by_times(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->times != right->times)
        return left->times > right->times ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

/*
 * Tries one kind of mark. Keeps its steps in `starts` if there are more than before, or as many that begin
 * earlier.
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

/*
 * Lists the kinds of marks, without and with the call that they follow. Returns how many; SIZE_MAX: out of
 * memory.
 */
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

/* Tries the most frequent kinds. */
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
