/*
 * Detects steps between which other operations may lie: the rarest call that is not small marks each step
 * (the anchor), and the shortest sequence that often lies between two anchors is the model of a step. Used by
 * recurrence.c.
 */
#include "base/base.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/* Calls that occur less often are ignored. */
enum { SELDOM = 3 };

/*
 * At least one sequence between anchors in MODEL_SHARE must equal the model; at most one in UNLIKE_SHARE may
 * differ.
 */
enum { MODEL_SHARE = 8, UNLIKE_SHARE = 8 };

/* Operations between an anchor and the next one. */
struct between {
    size_t first;
    size_t count;
};

struct anchoring {
    const struct recurrence *recurrence;
    uint64_t *symbols; /* owned, like the arrays below */
    int64_t *times;    /* how often each symbol occurs; several in a row count once */
    size_t *anchors;   /* operations; the first of several in a row */
    size_t anchor_count;
    struct between model; /* the operations that all steps have */
    size_t opening;       /* operations at the end of the model that begin a step, before its anchor */
};

static int begins_row(const struct anchoring *anchoring, size_t at)
{
    return !at || anchoring->symbols[at] != anchoring->symbols[at - 1];
}

static int count_rows(struct anchoring *anchoring)
{
    size_t count = anchoring->recurrence->count, rows = 0;
    uint64_t *symbols = array_new(count, sizeof *symbols);
    for (size_t i = 0; symbols && i < count; i++)
        if (begins_row(anchoring, i))
            symbols[rows++] = anchoring->symbols[i];
    int failed = !symbols || map_count(symbols, rows, anchoring->times);
    free(symbols);
    /* Spread the counts from the rows back to their operations. */
    for (size_t i = count; !failed && i > 0; i--) {
        anchoring->times[i - 1] = anchoring->times[rows - 1];
        rows -= (size_t)begins_row(anchoring, i - 1);
    }
    return failed ? -1 : 0;
}

static int anchoring_init(struct anchoring *anchoring, const struct recurrence *recurrence,
                          const uint64_t *way)
{
    size_t count = recurrence->count;
    *anchoring = (struct anchoring){.recurrence = recurrence,
                                    .symbols = array_new(count, sizeof *anchoring->symbols),
                                    .times = array_new(count, sizeof *anchoring->times),
                                    .anchors = array_new(count, sizeof *anchoring->anchors)};
    if (!anchoring->symbols || !anchoring->times || !anchoring->anchors)
        return -1;
    for (size_t i = 0; i < count; i++)
        anchoring->symbols[i] = hash_mix(way[i], recurrence->is_small[i]);
    return count_rows(anchoring);
}

static void anchoring_release(struct anchoring *anchoring)
{
    free(anchoring->symbols);
    free(anchoring->times);
    free(anchoring->anchors);
}

static int is_call_of_steps(const struct anchoring *anchoring, size_t at)
{
    return !anchoring->recurrence->is_small[at] && anchoring->times[at] >= SELDOM;
}

/* The anchors: all operations equal to the first of the rarest calls. */
static void find_anchors(struct anchoring *anchoring)
{
    size_t count = anchoring->recurrence->count, best = count;
    for (size_t i = 0; i < count; i++)
        if (is_call_of_steps(anchoring, i) && (best == count || anchoring->times[i] < anchoring->times[best]))
            best = i;
    for (size_t i = best; i < count; i++)
        if (begins_row(anchoring, i) && anchoring->symbols[i] == anchoring->symbols[best])
            anchoring->anchors[anchoring->anchor_count++] = i;
}

static struct between between(const struct anchoring *anchoring, size_t anchor)
{
    size_t first = anchoring->anchors[anchor] + 1;
    return (struct between){.first = first, .count = anchoring->anchors[anchor + 1] - first};
}

/* The shortest sequence that often lies between two anchors; *has_model is 0 if there is none. */
static int find_model(struct anchoring *anchoring, int *has_model)
{
    size_t count = anchoring->anchor_count - 1;
    uint64_t *digests = array_new(count, sizeof *digests);
    int64_t *times = array_new(count, sizeof *times);
    int failed = !digests || !times;
    *has_model = 0;
    for (size_t i = 0; !failed && i < count; i++) {
        struct between here = between(anchoring, i);
        digests[i] = here.count;
        for (size_t k = 0; k < here.count; k++)
            digests[i] = hash_mix(digests[i], anchoring->symbols[here.first + k]);
    }
    failed = failed || map_count(digests, count, times);
    for (size_t i = 0; !failed && i < count; i++) {
        struct between here = between(anchoring, i);
        int is_often = times[i] >= 2 && (size_t)times[i] * MODEL_SHARE >= count;
        if (is_often && (!*has_model || here.count < anchoring->model.count)) {
            anchoring->model = here;
            *has_model = 1;
        }
    }
    free(digests);
    free(times);
    return failed ? -1 : 0;
}

/* Whether the model has a small operation. A part of a step has none. */
static int has_small(const struct anchoring *anchoring)
{
    for (size_t i = 0; i < anchoring->model.count; i++)
        if (anchoring->recurrence->is_small[anchoring->model.first + i])
            return 1;
    return 0;
}

/*
 * How many operations before the first anchor equal those at the end of the model. Operations issued at the
 * same time may be in a different order, so some may differ.
 */
static size_t first_opening(const struct anchoring *anchoring)
{
    const uint64_t *end = anchoring->symbols + anchoring->model.first + anchoring->model.count;
    const uint64_t *first = anchoring->symbols + anchoring->anchors[0];
    size_t opening = 0, unlike = 0;
    for (size_t i = 1; i <= anchoring->anchors[0] && i <= anchoring->model.count; i++)
        if (*(first - i) != *(end - i))
            unlike++;
        else if (unlike * UNLIKE_SHARE <= i)
            opening = i;
    return opening;
}

/* How many operations at the end of `here` equal those at the end of the model. */
static size_t common_end(const struct anchoring *anchoring, struct between here)
{
    const uint64_t *end = anchoring->symbols + anchoring->model.first + anchoring->model.count;
    const uint64_t *of = anchoring->symbols + here.first + here.count;
    size_t common = 0;
    while (common < here.count && common < anchoring->model.count &&
           *(of - common - 1) == *(end - common - 1))
        common++;
    return common;
}

/*
 * The operations that begin a step are those that begin the first step, but no more than usually follow the
 * operations between steps. -1: out of memory.
 */
static int find_opening(struct anchoring *anchoring)
{
    size_t longer = 0;
    int64_t *common = array_new(anchoring->anchor_count, sizeof *common);
    if (!common)
        return -1;
    for (size_t i = 0; i + 1 < anchoring->anchor_count; i++) {
        struct between here = between(anchoring, i);
        if (here.count > anchoring->model.count)
            common[longer++] = (int64_t)common_end(anchoring, here);
    }
    size_t most = longer ? (size_t)select_integer(common, longer, longer / 2) : anchoring->model.count;
    anchoring->opening = first_opening(anchoring);
    if (anchoring->opening > most)
        anchoring->opening = most;
    free(common);
    return 0;
}

/*
 * The index after the operation that ends the model's step, with other operations in between; SIZE_MAX if
 * some are missing.
 */
static size_t end_of_step(const struct anchoring *anchoring, struct between here)
{
    const uint64_t *model = anchoring->symbols + anchoring->model.first;
    size_t ending = anchoring->model.count - anchoring->opening, at = here.first, matched = 0;
    for (; matched < ending && at < here.first + here.count; at++)
        matched += anchoring->symbols[at] == model[matched];
    return matched == ending ? at : SIZE_MAX;
}

/*
 * The index at which the operations that begin the next step start, searched backwards from the anchor.
 * *is_like is 0 if some are missing.
 */
static size_t start_of_step(const struct anchoring *anchoring, struct between here, int *is_like)
{
    const uint64_t *end = anchoring->symbols + anchoring->model.first + anchoring->model.count;
    size_t start = here.first + here.count, matched = 0;
    size_t soonest = here.count > anchoring->opening ? start - anchoring->opening : here.first;
    for (size_t at = start; matched < anchoring->opening && at > here.first; at--)
        if (anchoring->symbols[at - 1] == *(end - 1 - matched)) {
            start = at - 1;
            matched++;
        }
    *is_like = matched == anchoring->opening;
    return *is_like || start > soonest ? start : soonest;
}

/*
 * The first step begins before its anchor, the others between the anchors. Returns how many do not match the
 * model.
 */
static size_t take_starts(const struct anchoring *anchoring, size_t *starts)
{
    size_t unlike = 0;
    starts[0] = anchoring->anchors[0] - anchoring->opening;
    for (size_t i = 0; i + 1 < anchoring->anchor_count; i++) {
        struct between here = between(anchoring, i);
        int is_like;
        starts[i + 1] = start_of_step(anchoring, here, &is_like);
        unlike += !is_like || end_of_step(anchoring, here) > starts[i + 1];
    }
    return unlike;
}

/*
 * Whether the model, with the anchor before it, is more than a micro-batch: its collectives are on several
 * communicators, or its small operations are on the same one as they are.
 */
static int spans_step(const struct anchoring *anchoring)
{
    const struct recurrence *recurrence = anchoring->recurrence;
    size_t first = anchoring->model.first - 1, end = anchoring->model.first + anchoring->model.count;
    int32_t only = spread_of(recurrence, NULL, first, end);
    if (only < 0)
        return only == SPREAD_SEVERAL;
    for (size_t i = first; i < end; i++)
        if (recurrence->is_small[i] && recurrence->communicators[i] == only)
            return 1;
    return 0;
}

/* Whether the anchors have one size. A call that occurs once per step does, unless the batch size varies. */
static int are_of_one_size(const struct anchoring *anchoring)
{
    const uint64_t *sizes = anchoring->recurrence->sizes;
    for (size_t i = 1; i < anchoring->anchor_count; i++)
        if (sizes[anchoring->anchors[i]] != sizes[anchoring->anchors[0]])
            return 0;
    return 1;
}

/* Returns whether there are steps; -1 if out of memory. */
static int take_steps(struct anchoring *anchoring, size_t *starts, size_t *found)
{
    int has_model;
    if (find_model(anchoring, &has_model))
        return -1;
    if (!has_model || !has_small(anchoring))
        return 0;
    if (*found && (!spans_step(anchoring) || !are_of_one_size(anchoring)))
        return 0;
    size_t *taken = array_new(anchoring->anchor_count, sizeof *taken);
    if (!taken || find_opening(anchoring)) {
        free(taken);
        return -1;
    }
    int are_alike = take_starts(anchoring, taken) * UNLIKE_SHARE <= anchoring->anchor_count - 1;
    if (are_alike) {
        *found = anchoring->anchor_count;
        memcpy(starts, taken, *found * sizeof *starts);
    }
    free(taken);
    return are_alike;
}

int anchor_find(const struct recurrence *recurrence, const uint64_t *way, size_t fewest, size_t *starts,
                size_t *found)
{
    struct anchoring anchoring;
    int has_steps = anchoring_init(&anchoring, recurrence, way);
    if (!has_steps)
        find_anchors(&anchoring);
    if (!has_steps && anchoring.anchor_count >= fewest && anchoring.anchor_count >= 2)
        has_steps = take_steps(&anchoring, starts, found);
    anchoring_release(&anchoring);
    return has_steps;
}
