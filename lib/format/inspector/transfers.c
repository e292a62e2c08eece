/* Proxy operations of an Inspector file: assembles each from its records and finds its operation. */
#include "base/base.h"
#include "format/format.h"
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* An operation. `before` is the previous one with the same number; -1: none. */
struct transfer_parent {
    struct map_key key;
    int64_t before;
    int64_t ordinal;
    int64_t begin_ns;
    int64_t end_ns;
};

struct transfer {
    int64_t source_process;
    int64_t number;
    int64_t due; /* the dump of its source process after which it is handed over */
    struct inspector_proxy said;
    struct proxy_operation proxy;
    struct interval_ns steps_ns; /* from the first to the last step */
    int has_begun;               /* its begin was given */
    int has_ended;
    uint64_t offset;
    struct proxy_step *steps; /* owned */
    size_t step_count;
    size_t step_capacity;
};

void inspector_transfers_init(struct inspector_transfers *transfers, const struct format_sink *sink,
                              const struct inspector_source_processes *source_processes)
{
    *transfers = (struct inspector_transfers){.sink = sink, .source_processes = source_processes};
    map_init(&transfers->latest_parent);
    map_init(&transfers->open_number);
}

static void release_array(struct transfer_array *array)
{
    for (size_t i = 0; i < array->count; i++)
        free(array->items[i].steps);
    free(array->items);
    *array = (struct transfer_array){.items = NULL};
}

void inspector_transfers_release(struct inspector_transfers *transfers)
{
    release_array(&transfers->open);
    release_array(&transfers->done);
    free(transfers->parents);
    map_release(&transfers->latest_parent);
    map_release(&transfers->open_number);
}

static struct map_key parent_key(int64_t source_process, int is_pair, int64_t sequence)
{
    return (struct map_key){{(uint64_t)source_process, (uint64_t)is_pair, (uint64_t)sequence}};
}

/* Returns the place for a new operation, which replaces the oldest one. */
static struct transfer_parent *next_parent(struct inspector_transfers *transfers)
{
    if (!transfers->parents &&
        !(transfers->parents = array_new(TRANSFERS_REMEMBERED, sizeof *transfers->parents)))
        return NULL;
    struct transfer_parent *parent = &transfers->parents[transfers->parent_count % TRANSFERS_REMEMBERED];
    if (transfers->parent_count < TRANSFERS_REMEMBERED)
        return parent;
    const int64_t *latest = map_get(&transfers->latest_parent, parent->key);
    if (latest && *latest == transfers->parent_count - TRANSFERS_REMEMBERED)
        map_remove(&transfers->latest_parent, parent->key);
    return parent;
}

int inspector_transfers_parent(struct inspector_transfers *transfers, int64_t source_process,
                               const struct operation *operation, struct error *error)
{
    if (operation->sequence == COUNT_UNKNOWN)
        return 0;
    struct transfer_parent *parent = next_parent(transfers);
    if (!parent)
        return error_no_memory(error);
    int added;
    struct map_key key =
        parent_key(source_process, operation->kind == OPERATION_POINT_TO_POINT, operation->sequence);
    int64_t *latest = map_put(&transfers->latest_parent, key, transfers->parent_count, &added);
    if (!latest)
        return error_no_memory(error);
    *parent = (struct transfer_parent){.key = key,
                                       .before = added ? -1 : *latest,
                                       .ordinal = operation->ordinal,
                                       .begin_ns = operation->enqueue.begin_ns,
                                       .end_ns = operation->device.end_ns};
    *latest = transfers->parent_count++;
    return 0;
}

/*
 * Limit on the operations with one number that are searched. In files written by a recorder only the few
 * functions share a number.
 */
enum { CANDIDATES = 64 };

static int was_under_way(const struct transfer_parent *parent, int64_t at_ns)
{
    return parent->begin_ns <= at_ns && (parent->end_ns == TIME_UNKNOWN || at_ns <= parent->end_ns);
}

/*
 * Finds the operation with that number that was in progress when the proxy operation began; of several, the
 * one called last. Without times, the only one. COUNT_UNKNOWN if there is none.
 */
static int64_t find_parent(const struct inspector_transfers *transfers, const struct transfer *transfer)
{
    const struct inspector_proxy *said = &transfer->said;
    int64_t at_ns = said->begin_ns != TIME_UNKNOWN ? said->begin_ns : transfer->steps_ns.begin_ns;
    const struct transfer_parent *best = NULL, *untimed = NULL;
    int untimed_count = 0;
    const int64_t *latest =
        map_get(&transfers->latest_parent,
                parent_key(transfer->source_process, said->parent_is_pair, said->parent_sequence));
    int64_t number = latest ? *latest : -1;
    int64_t oldest = transfers->parent_count - TRANSFERS_REMEMBERED;
    for (int i = 0; i < CANDIDATES && number >= 0 && number >= oldest; i++) {
        const struct transfer_parent *parent = &transfers->parents[number % TRANSFERS_REMEMBERED];
        if (at_ns == TIME_UNKNOWN || parent->begin_ns == TIME_UNKNOWN) {
            untimed = parent;
            untimed_count++;
        } else if (was_under_way(parent, at_ns) && (!best || parent->begin_ns > best->begin_ns)) {
            best = parent;
        }
        number = parent->before;
    }
    if (!best && untimed_count == 1)
        best = untimed;
    return best ? best->ordinal : COUNT_UNKNOWN;
}

/*
 * A proxy operation without an end stays open, unless its begin is missing or records were dropped; then its
 * end is that of its last step.
 */
static void close_open(const struct inspector_transfers *transfers, struct transfer *transfer)
{
    const struct inspector_source_process *source_process =
        &transfers->source_processes->items[transfer->source_process];
    struct interval_ns *progress = &transfer->proxy.progress;
    if (progress->begin_ns == TIME_UNKNOWN)
        progress->begin_ns = transfer->steps_ns.begin_ns;
    if (!transfer->has_ended && (!transfer->has_begun || source_process->dropped[DROP_PROXY_RECORD] > 0) &&
        transfer->steps_ns.end_ns >= progress->begin_ns)
        progress->end_ns = transfer->steps_ns.end_ns;
}

static int emit(const struct inspector_transfers *transfers, const struct transfer *transfer,
                struct error *error)
{
    struct event event = {.kind = EVENT_PROXY,
                          .origin = transfers->source_processes->items[transfer->source_process].origin,
                          .proxy = transfer->proxy};
    event.origin.offset = transfer->offset;
    size_t at = 0;
    do {
        size_t left = transfer->step_count - at;
        event.proxy.steps = transfer->steps + at;
        event.proxy.steps_recorded = left > FORMAT_STEPS_AT_ONCE ? FORMAT_STEPS_AT_ONCE : left;
        event.proxy.continued = at > 0;
        at += event.proxy.steps_recorded;
        event.proxy.progress.end_ns =
            at < transfer->step_count ? TIME_UNKNOWN : transfer->proxy.progress.end_ns;
        if (transfers->sink->event(transfers->sink->context, &event, error))
            return -1;
    } while (at < transfer->step_count);
    return 0;
}

static int by_operation(const void *a, const void *b)
{
    const struct transfer *left = a, *right = b;
    if (left->proxy.operation != right->proxy.operation)
        return left->proxy.operation < right->proxy.operation ? -1 : 1;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* Finds its operation and completes its own members. */
static int finish(struct inspector_transfers *transfers, struct transfer *transfer, struct error *error)
{
    const struct format_sink *sink = transfers->sink;
    transfer->proxy.operation = find_parent(transfers, transfer);
    close_open(transfers, transfer);
    transfers->steps_held -= transfer->step_count;
    return transfer->proxy.operation == COUNT_UNKNOWN
               ? sink->note(sink->context, "proxy operation whose operation is not in the file", 0,
                            transfer->offset, NULL, 0, error)
               : 0;
}

/* Hands over these proxy operations, grouped by operation, and frees their steps. */
static int hand_over(struct inspector_transfers *transfers, struct transfer *items, size_t count,
                     struct error *error)
{
    int failed = 0;
    for (size_t i = 0; i < count; i++)
        failed = failed || finish(transfers, &items[i], error);
    array_sort(items, count, sizeof *items, by_operation);
    for (size_t i = 0; i < count; i++) {
        failed = failed || emit(transfers, &items[i], error);
        free(items[i].steps);
        items[i].steps = NULL;
    }
    return failed;
}

/* Space of removed items is reused once they are the majority. */
static int hand_over_done(struct inspector_transfers *transfers, size_t count, struct error *error)
{
    struct transfer_array *done = &transfers->done;
    if (count == 0)
        return 0;
    int failed = hand_over(transfers, done->items + done->first, count, error);
    done->first += count;
    if (done->first > done->count / 2) {
        done->count -= done->first;
        memmove(done->items, done->items + done->first, done->count * sizeof *done->items);
        done->first = 0;
    }
    return failed;
}

static int hand_over_open(struct inspector_transfers *transfers, struct error *error)
{
    size_t count = transfers->open.count;
    transfers->open.count = 0;
    map_release(&transfers->open_number);
    return hand_over(transfers, transfers->open.items, count, error);
}

int inspector_transfers_settle(struct inspector_transfers *transfers, struct error *error)
{
    const struct transfer_array *done = &transfers->done;
    size_t at = done->first;
    while (at < done->count &&
           transfers->source_processes->items[done->items[at].source_process].dumps >= done->items[at].due)
        at++;
    return hand_over_done(transfers, at - done->first, error);
}

int inspector_transfers_end(struct inspector_transfers *transfers, struct error *error)
{
    return hand_over_done(transfers, transfers->done.count - transfers->done.first, error) ||
                   hand_over_open(transfers, error)
               ? -1
               : 0;
}

static struct map_key open_key(const struct transfer *transfer)
{
    return (struct map_key){{(uint64_t)transfer->source_process, (uint64_t)transfer->number}};
}

/* Finds the proxy operation of a record, or adds it for the first record. NULL if memory is out. */
static struct transfer *find_open(struct inspector_transfers *transfers, int64_t source_process,
                                  const struct inspector_proxy *proxy, uint64_t offset)
{
    struct transfer_array *open = &transfers->open;
    struct transfer fresh = {.source_process = source_process,
                             .number = proxy->number,
                             .said = *proxy,
                             .steps_ns = {TIME_UNKNOWN, TIME_UNKNOWN},
                             .offset = offset};
    int added;
    const int64_t *index = map_put(&transfers->open_number, open_key(&fresh), (int64_t)open->count, &added);
    if (!index)
        return NULL;
    if (!added)
        return &open->items[*index];
    if (array_reserve((void **)&open->items, &open->capacity, open->count + 1, sizeof *open->items))
        return NULL;
    fresh.said.steps = NULL;
    fresh.proxy = (struct proxy_operation){.operation = COUNT_UNKNOWN,
                                           .direction = proxy->is_receive ? DIRECTION_RECV : DIRECTION_SEND,
                                           .channel = proxy->channel,
                                           .peer = proxy->peer,
                                           .step_count = proxy->step_count,
                                           .chunk_bytes = COUNT_UNKNOWN,
                                           .transferred_bytes = COUNT_UNKNOWN,
                                           .schedule = {TIME_UNKNOWN, TIME_UNKNOWN},
                                           .progress = {TIME_UNKNOWN, TIME_UNKNOWN}};
    open->items[open->count] = fresh;
    return &open->items[open->count++];
}

static int64_t known_or(int64_t value, int64_t otherwise, int64_t unknown)
{
    return value != unknown ? value : otherwise;
}

/* Takes the members that describe the proxy operation as a whole. */
static void take_whole(struct transfer *transfer, const struct inspector_proxy *proxy)
{
    struct proxy_operation *into = &transfer->proxy;
    transfer->has_begun = 1;
    transfer->has_ended = proxy->part == PART_END;
    transfer->said.begin_ns = known_or(proxy->begin_ns, transfer->said.begin_ns, TIME_UNKNOWN);
    into->step_count = known_or(proxy->step_count, into->step_count, COUNT_UNKNOWN);
    into->chunk_bytes = known_or(proxy->chunk_bytes, into->chunk_bytes, COUNT_UNKNOWN);
    into->transferred_bytes = known_or(proxy->transferred_bytes, into->transferred_bytes, COUNT_UNKNOWN);
    into->progress.begin_ns = known_or(proxy->progress_ns, transfer->said.begin_ns, TIME_UNKNOWN);
    into->progress.end_ns = proxy->end_ns;
    if (proxy->progress_ns != TIME_UNKNOWN)
        into->schedule = (struct interval_ns){transfer->said.begin_ns, proxy->progress_ns};
    if (proxy->end_ns != TIME_UNKNOWN && proxy->end_ns < into->progress.begin_ns)
        into->progress.end_ns = TIME_UNKNOWN;
}

static int take_step(struct inspector_transfers *transfers, struct transfer *transfer,
                     const struct inspector_step *step)
{
    if (array_reserve((void **)&transfer->steps, &transfer->step_capacity, transfer->step_count + 1,
                      sizeof *transfer->steps))
        return -1;
    transfer->steps[transfer->step_count++] = step->step;
    transfers->steps_held++;
    if (step->begin_ns != TIME_UNKNOWN)
        interval_widen(&transfer->steps_ns, (struct interval_ns){step->begin_ns, step->end_ns});
    return 0;
}

/* Moves a complete proxy operation from `open` to `done`. */
static int complete(struct inspector_transfers *transfers, struct transfer *transfer)
{
    struct transfer_array *open = &transfers->open, *done = &transfers->done;
    if (array_reserve((void **)&done->items, &done->capacity, done->count + 1, sizeof *done->items))
        return -1;
    transfer->due = transfers->source_processes->items[transfer->source_process].dumps + 2;
    map_remove(&transfers->open_number, open_key(transfer));
    done->items[done->count++] = *transfer;
    struct transfer *last = &open->items[--open->count];
    if (last == transfer)
        return 0;
    *transfer = *last;
    int64_t *index = map_get(&transfers->open_number, open_key(transfer));
    if (index)
        *index = transfer - open->items;
    return 0;
}

static int are_too_many(const struct inspector_transfers *transfers)
{
    size_t waiting = transfers->done.count - transfers->done.first;
    return transfers->open.count + waiting >= TRANSFERS_HELD || transfers->steps_held >= TRANSFERS_STEPS_HELD;
}

/*
 * Limits the memory for any input: hands over the completed proxy operations without waiting for their
 * operation, and, if that is not enough, the open ones, too, with a note of damage.
 */
static int limit_held_transfers(struct inspector_transfers *transfers, uint64_t offset, struct error *error)
{
    const struct format_sink *sink = transfers->sink;
    if (!are_too_many(transfers))
        return 0;
    if (hand_over_done(transfers, transfers->done.count - transfers->done.first, error))
        return -1;
    if (!are_too_many(transfers))
        return 0;
    return sink->note(sink->context, "too many proxy operations at once", 1, offset, NULL, 0, error) ||
                   hand_over_open(transfers, error)
               ? -1
               : 0;
}

/* Notes network steps of one proxy operation that the recorder dropped. */
static int emit_dropped_steps(const struct inspector_transfers *transfers, int64_t source_process,
                              int64_t steps, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_LOSS,
                          .origin = transfers->source_processes->items[source_process].origin};
    event.origin.offset = offset;
    event.loss = (struct loss){.events = steps, .what = "network steps dropped for lack of space"};
    return transfers->sink->event(transfers->sink->context, &event, error);
}

int inspector_transfers_add(struct inspector_transfers *transfers, int64_t source_process, struct json *json,
                            const struct inspector_proxy *proxy, uint64_t offset, struct error *error)
{
    struct transfer *transfer = find_open(transfers, source_process, proxy, offset);
    struct inspector_step step;
    if (!transfer)
        return error_no_memory(error);
    if (proxy->part == PART_END || proxy->part == PART_START)
        take_whole(transfer, proxy);
    for (const struct value *node = proxy->steps; node < proxy->steps_end; node++) {
        inspector_step(json, proxy, node, &step);
        if (take_step(transfers, transfer, &step))
            return error_no_memory(error);
    }
    if (proxy->part == PART_END && proxy->dropped_steps > 0 &&
        emit_dropped_steps(transfers, source_process, proxy->dropped_steps, offset, error))
        return -1;
    if (proxy->part == PART_END && complete(transfers, transfer))
        return error_no_memory(error);
    return limit_held_transfers(transfers, offset, error);
}
