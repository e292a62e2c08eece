#include "join/witness_calls.h"

#include "base/array.h"
#include "model/event.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* In nanoseconds since the epoch: September 2001. No machine has been up for so long. */
#define LEAST_WALL_CLOCK_NS INT64_C(1000000000000000000)

void wall_clock_release(struct wall_clock *clock)
{
    free(clock->local_ns);
    free(clock->wall_ns);
    *clock = (struct wall_clock){.count = 0};
}

static int take_moment(struct wall_clock *clock, size_t *rooms, struct statement *row, struct error *error)
{
    if (array_reserve((void **)&clock->local_ns, &rooms[0], clock->count + 1, sizeof *clock->local_ns) ||
        array_reserve((void **)&clock->wall_ns, &rooms[1], clock->count + 1, sizeof *clock->wall_ns))
        return error_no_memory(error);
    clock->local_ns[clock->count] = statement_integer(row, 0);
    clock->wall_ns[clock->count++] = statement_integer(row, 1);
    return 0;
}

int wall_clock_load(struct wall_clock *clock, struct store *store, int64_t process_id, struct error *error)
{
    size_t rooms[2] = {0, 0};
    *clock = (struct wall_clock){.count = 0};
    struct statement *row = store_prepare(store, schema_join_witnesses_moments, error);
    int more = row && !statement_bind_integer(row, 1, process_id, error) ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_moment(clock, rooms, row, error))
            more = -1;
    statement_free(row);
    return more;
}

int64_t wall_clock_at(const struct wall_clock *clock, int64_t local_ns)
{
    size_t at = 0;
    int64_t wall;
    if (local_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    if (!clock->count)
        return local_ns >= LEAST_WALL_CLOCK_NS ? local_ns : TIME_UNKNOWN;
    while (at + 1 < clock->count && clock->local_ns[at + 1] <= local_ns)
        at++;
    if (__builtin_sub_overflow(local_ns, clock->local_ns[at], &wall) ||
        __builtin_add_overflow(clock->wall_ns[at], wall, &wall))
        return TIME_UNKNOWN;
    return wall;
}

/* The numbers of a block's sources among all texts. */
static int intern_sources(struct work *work, const struct block_reader *rows, size_t row, int32_t *source,
                          struct error *error)
{
    const char *text = block_text(rows, OPERATION_SOURCE, row);
    int64_t number = text ? intern_put(&work->texts, text, strlen(text)) : -1;
    if (text && number < 0)
        return error_no_memory(error);
    *source = (int32_t)number;
    return 0;
}

/* When the host called it. What a GPU began may have been called long before. */
static int64_t called_ns(const struct block_reader *rows, size_t row)
{
    int64_t begin = block_value(rows, OPERATION_API_BEGIN, row, TIME_UNKNOWN);
    return begin != TIME_UNKNOWN ? begin : block_value(rows, OPERATION_ENQUEUE_BEGIN, row, TIME_UNKNOWN);
}

static int32_t series_of(enum function function, int64_t peer)
{
    int of_pair = function_is_point_to_point(function) && peer >= 0 && peer < INT32_MAX / FUNCTION_COUNT - 1;
    return (int32_t)function + (of_pair ? FUNCTION_COUNT * (int32_t)(peer + 1) : 0);
}

static int take_row(struct told_calls *calls, struct work *work, const struct block_reader *rows, size_t row,
                    int64_t block_id, const struct wall_clock *clock, struct error *error)
{
    enum function function = (enum function)(uint8_t)rows->values[OPERATION_FUNCTION][row];
    int32_t source;
    if (intern_sources(work, rows, row, &source, error))
        return -1;
    if (array_reserve((void **)&calls->items, &calls->capacity, calls->count + 1, sizeof *calls->items))
        return error_no_memory(error);
    calls->items[calls->count++] = (struct told_call){
        .place = block_value(rows, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .number = block_value(rows, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .time_ns = wall_clock_at(clock, called_ns(rows, row)),
        .bytes = block_value(rows, OPERATION_BYTES, row, COUNT_UNKNOWN),
        .block_id = block_id,
        .ordinal = (block_id & INT64_C(0xffffffff)) + rows->values[OPERATION_ORDINAL][row],
        .series = series_of(function, block_value(rows, OPERATION_PEER, row, COUNT_UNKNOWN)),
        .source = source,
        .row = (uint16_t)row,
        .function = (uint8_t)function,
        .datatype = (uint8_t)block_value(rows, OPERATION_DATATYPE, row, DATATYPE_UNKNOWN),
        .is_unfinished = (block_value(rows, OPERATION_FLAGS, row, 0) & OPERATION_IS_UNFINISHED) != 0};
    return 0;
}

static int by_series(const struct told_call *left, const struct told_call *right)
{
    return (left->series > right->series) - (left->series < right->series);
}

static int by_number(const void *a, const void *b)
{
    const struct told_call *left = a, *right = b;
    if (left->series != right->series)
        return by_series(left, right);
    return (left->place > right->place) - (left->place < right->place);
}

static int by_time(const void *a, const void *b)
{
    const struct told_call *left = a, *right = b;
    if (left->series != right->series)
        return by_series(left, right);
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (left->block_id >> 32 != right->block_id >> 32)
        return left->block_id < right->block_id ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

size_t told_calls_end(const struct told_calls *calls, size_t first)
{
    size_t end = first;
    while (end < calls->count && calls->items[end].series == calls->items[first].series)
        end++;
    return end;
}

/* Whether numbers of a series rise, one each. */
static int are_numbered(const struct told_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].place < 0 || (i && calls[i].place == calls[i - 1].place))
            return 0;
    return 1;
}

static void place_calls(struct told_calls *calls, int have_numbers)
{
    array_sort(calls->items, calls->count, sizeof *calls->items, have_numbers ? by_number : by_time);
    for (size_t first = 0, end; first < calls->count; first = end) {
        struct told_call *series = &calls->items[first];
        end = told_calls_end(calls, first);
        int is_pair = function_is_point_to_point((enum function)series->function);
        if (have_numbers && !is_pair && are_numbered(series, end - first))
            continue;
        array_sort(series, end - first, sizeof *series, by_time);
        for (size_t i = first; i < end; i++)
            calls->items[i].place = (int64_t)(i - first);
    }
}

int told_calls_load(struct told_calls *calls, struct work *work, struct logs *logs, int64_t member_id,
                    const struct wall_clock *clock, int have_numbers, struct error *error)
{
    static const int columns[] = {OPERATION_ORDINAL,   OPERATION_FUNCTION,      OPERATION_SEQUENCE,
                                  OPERATION_DATATYPE,  OPERATION_BYTES,         OPERATION_PEER,
                                  OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_FLAGS,
                                  OPERATION_SOURCE};
    struct statement *list = store_prepare(logs->store, schema_join_load_blocks, error);
    int more = list && !statement_bind_integer(list, 1, member_id, error) ? 1 : -1;
    *calls = (struct told_calls){.items = NULL};
    while (more == 1 && (more = statement_step(list, error)) == 1) {
        int64_t block_id = statement_integer(list, 0);
        if (logs_open(logs, block_id, columns, sizeof columns / sizeof *columns, error))
            more = -1;
        for (size_t row = 0; more == 1 && row < logs->reader.count; row++)
            if (take_row(calls, work, &logs->reader, row, block_id, clock, error))
                more = -1;
    }
    statement_free(list);
    if (more == 0)
        place_calls(calls, have_numbers);
    return more;
}

void told_calls_release(struct told_calls *calls)
{
    free(calls->items);
    *calls = (struct told_calls){.items = NULL};
}
