/*
 * Finds the operations of proxy operations that a process made for another one of its host (PXN). The record
 * has that process and its rank in a communicator, and the processes share a clock. It belongs to the first
 * operation of that rank that was active, has the peer and the channel, and has no proxy operation of this
 * kind yet.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* A proxy operation. Times are on the clock that the processes share. */
struct foreign {
    int64_t id;
    int64_t begin_ns;
    int32_t origin; /* index of its origin */
    int32_t channel;
    int64_t peer;
    enum direction direction;
};

struct target {
    int64_t operation_id;
    int64_t begin_ns;
    int64_t end_ns; /* INT64_MAX: unknown */
    enum function function;
    int64_t peer;
    int64_t channels; /* 0: unknown */
};

/* Collectives, and sends or receives of one peer. */
enum { RANGES = 2 };

/* A rank of the process in one communicator. */
struct place {
    int64_t member_id;
    int64_t ahead_ns;       /* of the shared clock before its own */
    int64_t size;           /* ranks of the communicator; 0: unknown */
    struct target *targets; /* owned; by_use */
    size_t count;
    size_t capacity;
    /* Operations of the current kind; those before are over, or have such a proxy operation. */
    struct {
        size_t next;
        size_t end;
    } range[RANGES];
};

/* A process that others made proxy operations for, and its rank. */
struct origin_places {
    struct place *items; /* owned */
    size_t count;
    size_t capacity;
};

struct foreigners {
    struct store *store;
    struct foreign *items; /* owned */
    size_t count;
    size_t capacity;
    struct intern names;           /* of origins */
    struct origin_places *origins; /* owned; by number in `names` */
    size_t origin_count;
    size_t origin_capacity;
};

enum {
    COLUMN_ID,
    COLUMN_DIRECTION,
    COLUMN_CHANNEL,
    COLUMN_PEER,
    COLUMN_BEGIN,
    COLUMN_BASE,
    COLUMN_STATES,
    COLUMN_SET,
    COLUMN_HOST,
    COLUMN_BOOT,
    COLUMN_AHEAD
};

/* Collectives come first. */
static int64_t use_of(enum function function, int64_t peer)
{
    return function_is_point_to_point(function) ? 2 * peer + (function == FUNCTION_SEND) : -1;
}

static int by_use(const void *a, const void *b)
{
    const struct target *left = a, *right = b;
    int64_t one = use_of(left->function, left->peer), other = use_of(right->function, right->peer);
    if (one != other)
        return one < other ? -1 : 1;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->operation_id > right->operation_id) - (left->operation_id < right->operation_id);
}

static int read_targets(struct foreigners *foreigners, struct place *place, struct error *error)
{
    struct statement *row = store_prepare(foreigners->store, schema_join_foreign_operations, error);
    int more = row && statement_bind_integer(row, 1, place->member_id, error) == 0 ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        if (array_reserve((void **)&place->targets, &place->capacity, place->count + 1,
                          sizeof *place->targets)) {
            more = error_no_memory(error);
            break;
        }
        int64_t end_ns = statement_integer_or(row, 5, INT64_MAX);
        place->targets[place->count++] =
            (struct target){.operation_id = statement_integer(row, 0),
                            .begin_ns = statement_integer(row, 4) + place->ahead_ns,
                            .end_ns = end_ns == INT64_MAX ? end_ns : end_ns + place->ahead_ns,
                            .function = (enum function)statement_integer(row, 1),
                            .peer = statement_integer_or(row, 2, 0),
                            .channels = statement_integer(row, 3)};
    }
    statement_free(row);
    array_sort(place->targets, place->count, sizeof *place->targets, by_use);
    return more;
}

static int read_places(struct foreigners *foreigners, struct statement *proxy,
                       const struct proxy_operation *record, struct origin_places *origin,
                       struct error *error)
{
    struct statement *row = store_prepare(foreigners->store, schema_join_foreign_members, error);
    int more = row && statement_bind_text(row, 1, statement_text(proxy, COLUMN_SET), error) == 0 &&
                       statement_bind_text(row, 2, statement_text(proxy, COLUMN_HOST), error) == 0 &&
                       statement_bind_integer(row, 3, record->origin_pid, error) == 0 &&
                       statement_bind_integer(row, 4, record->origin_rank, error) == 0 &&
                       statement_bind_text(row, 5, statement_text(proxy, COLUMN_BOOT), error) == 0
                   ? 1
                   : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        if (array_reserve((void **)&origin->items, &origin->capacity, origin->count + 1,
                          sizeof *origin->items)) {
            more = error_no_memory(error);
            break;
        }
        struct place *place = &origin->items[origin->count++];
        *place = (struct place){.member_id = statement_integer(row, 0),
                                .ahead_ns = statement_integer(row, 1),
                                .size = statement_integer(row, 2)};
        if (read_targets(foreigners, place, error))
            more = -1;
    }
    statement_free(row);
    return more;
}

/* The number of the origin; -1 on error. */
static int64_t find_origin(struct foreigners *foreigners, struct statement *row,
                           const struct proxy_operation *record, struct error *error)
{
    struct buffer name = BUFFER_INIT;
    const char *set = statement_text(row, COLUMN_SET), *host = statement_text(row, COLUMN_HOST);
    size_t had = foreigners->names.count;
    int failed = buffer_printf(&name, "%lld %lld %s/%s", (long long)record->origin_pid,
                               (long long)record->origin_rank, host ? host : "", set ? set : "");
    int64_t number = failed ? -1 : intern_put(&foreigners->names, name.data, name.length);
    buffer_release(&name);
    if (number < 0 || array_reserve((void **)&foreigners->origins, &foreigners->origin_capacity,
                                    (size_t)number + 1, sizeof *foreigners->origins))
        return error_no_memory(error);
    if (foreigners->names.count == had)
        return number;
    foreigners->origins[number] = (struct origin_places){.items = NULL};
    foreigners->origin_count++;
    return read_places(foreigners, row, record, &foreigners->origins[number], error) ? -1 : number;
}

static int read_proxy(struct foreigners *foreigners, struct statement *row, struct error *error)
{
    size_t length;
    const void *states = statement_blob(row, COLUMN_STATES, &length);
    struct proxy_operation record = {.origin_pid = 0};
    if (unpack_states(states, length, statement_integer(row, COLUMN_BASE), &record))
        return error_set(error, "proxy operation %lld has damaged states",
                         (long long)statement_integer(row, COLUMN_ID));
    int64_t origin = find_origin(foreigners, row, &record, error);
    if (origin < 0)
        return -1;
    if (array_reserve((void **)&foreigners->items, &foreigners->capacity, foreigners->count + 1,
                      sizeof *foreigners->items))
        return error_no_memory(error);
    foreigners->items[foreigners->count++] = (struct foreign){
        .id = statement_integer(row, COLUMN_ID),
        .begin_ns = statement_integer(row, COLUMN_BEGIN) + statement_integer_or(row, COLUMN_AHEAD, 0),
        .origin = (int32_t)origin,
        .channel = (int32_t)statement_integer(row, COLUMN_CHANNEL),
        .peer = statement_integer(row, COLUMN_PEER),
        .direction = (enum direction)statement_integer(row, COLUMN_DIRECTION)};
    return 0;
}

/* Those of one kind, which no operation has twice, come together. */
static int same_kind(const struct foreign *one, const struct foreign *other)
{
    return one->origin == other->origin && one->direction == other->direction &&
           one->channel == other->channel && one->peer == other->peer;
}

static int by_kind(const void *a, const void *b)
{
    const struct foreign *left = a, *right = b;
    if (left->origin != right->origin)
        return left->origin < right->origin ? -1 : 1;
    if (left->direction != right->direction)
        return left->direction < right->direction ? -1 : 1;
    if (left->channel != right->channel)
        return left->channel < right->channel ? -1 : 1;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

static int is_before_use(const void *item, const void *wanted)
{
    const struct target *target = item;
    return use_of(target->function, target->peer) < *(const int64_t *)wanted;
}

static size_t first_of_use(const struct place *place, int64_t use)
{
    return lower_bound(place->targets, place->count, sizeof *place->targets, is_before_use, &use);
}

static void begin_kind(struct place *place, const struct foreign *proxy)
{
    place->range[0].next = 0;
    place->range[0].end = first_of_use(place, 0);
    place->range[1].next = place->range[1].end = place->count;
    if (proxy->peer < 0 || proxy->peer > INT32_MAX)
        return;
    int64_t use = use_of(proxy->direction == DIRECTION_SEND ? FUNCTION_SEND : FUNCTION_RECV, proxy->peer);
    place->range[1].next = first_of_use(place, use);
    place->range[1].end = first_of_use(place, use + 1);
}

static int is_past(const struct target *target, const struct foreign *proxy)
{
    if (target->end_ns < proxy->begin_ns)
        return 1;
    return !function_is_point_to_point(target->function) && target->channels > 0 &&
           proxy->channel >= target->channels;
}

/* The range of a communicator whose next operation the proxy operation fits; -1: none. */
static int find_range(struct place *place, const struct foreign *proxy)
{
    int found = -1;
    for (int i = 0; i < RANGES; i++) {
        size_t *next = &place->range[i].next;
        while (*next < place->range[i].end && is_past(&place->targets[*next], proxy))
            ++*next;
        if (*next == place->range[i].end || place->targets[*next].begin_ns > proxy->begin_ns)
            continue;
        if (found < 0 || place->targets[*next].begin_ns < place->targets[place->range[found].next].begin_ns)
            found = i;
    }
    return place->size > 0 && proxy->peer >= place->size ? -1 : found;
}

/* Sets its operation if only one communicator has one that fits. */
static int settle(struct foreigners *foreigners, struct statement *update, const struct foreign *proxy,
                  struct error *error)
{
    struct origin_places *origin = &foreigners->origins[proxy->origin];
    struct place *only = NULL;
    int range = -1;
    for (size_t i = 0; i < origin->count; i++) {
        int found = find_range(&origin->items[i], proxy);
        if (found < 0)
            continue;
        if (only)
            return 0;
        only = &origin->items[i];
        range = found;
    }
    if (!only)
        return 0;
    const struct target *target = &only->targets[only->range[range].next++];
    int failed = statement_bind_integer(update, 1, proxy->id, error) ||
                 statement_bind_integer(update, 2, target->operation_id, error) ||
                 statement_bind_integer(update, 3, only->member_id, error) ||
                 statement_step(update, error) < 0;
    statement_reset(update);
    return failed ? -1 : 0;
}

static int settle_all(struct foreigners *foreigners, struct error *error)
{
    struct statement *update = store_prepare(foreigners->store, schema_join_foreign_place, error);
    int failed = !update;
    array_sort(foreigners->items, foreigners->count, sizeof *foreigners->items, by_kind);
    for (size_t i = 0; i < foreigners->count && !failed; i++) {
        const struct foreign *proxy = &foreigners->items[i];
        struct origin_places *origin = &foreigners->origins[proxy->origin];
        if (i == 0 || !same_kind(proxy, proxy - 1))
            for (size_t k = 0; k < origin->count; k++)
                begin_kind(&origin->items[k], proxy);
        failed = settle(foreigners, update, proxy, error);
    }
    statement_free(update);
    return failed ? -1 : 0;
}

static void release(struct foreigners *foreigners)
{
    for (size_t i = 0; i < foreigners->origin_count; i++) {
        for (size_t k = 0; k < foreigners->origins[i].count; k++)
            free(foreigners->origins[i].items[k].targets);
        free(foreigners->origins[i].items);
    }
    free(foreigners->origins);
    free(foreigners->items);
    intern_release(&foreigners->names);
}

int foreign_proxies_place(struct store *store, struct error *error)
{
    struct foreigners foreigners = {.store = store};
    intern_init(&foreigners.names);
    struct statement *row = store_prepare(store, schema_join_foreign_proxies, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (read_proxy(&foreigners, row, error))
            more = -1;
    statement_free(row);
    int failed = more || settle_all(&foreigners, error);
    release(&foreigners);
    return failed ? -1 : 0;
}
