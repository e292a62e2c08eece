/*
 * Aligns the calls of one member in two recordings by their times on the wall clock, and loads these calls.
 * recorder_ranks.c applies it to all members of a rank.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "join/recorders.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * The most that times may deviate from the common lag, in the median. Up to 0.07 ms was seen, with more ranks
 * than cores.
 */
#define RECORDER_SPREAD_MOST_NS INT64_C(500000)

/* Shifts are tried around the calls nearest in time to three calls of the other recording. */
enum { PROBES = 3, REACH = 16, TRIED = PROBES * (2 * REACH + 1) };

/* How many calls are compared: the last ones, because both recorders are usually still running then. */
enum { COMPARED_MOST = 2048 };

/* Another shift whose spread is within this factor is decided by the smaller time difference. */
enum { NEARLY_AS_WELL = 2 };

int series_next_pair(struct pair_cursor *cursor, const struct recorded_call *one, size_t one_count,
                     const struct recorded_call *other, size_t other_count, int64_t shift)
{
    while (cursor->one < one_count && cursor->other < other_count) {
        int64_t place = one[cursor->one].place - shift;
        if (place == other[cursor->other].place) {
            cursor->at_one = cursor->one++;
            cursor->at_other = cursor->other++;
            return 1;
        }
        if (place < other[cursor->other].place)
            cursor->one++;
        else
            cursor->other++;
    }
    return 0;
}

/* The index of the call nearest to a time. */
static size_t nearest(const struct recorded_call *one, size_t count, int64_t time_ns)
{
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t away;
        if (one[i].time_ns == TIME_UNKNOWN || __builtin_sub_overflow(one[i].time_ns, time_ns, &away))
            continue;
        away = away < 0 ? -away : away;
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return best;
}

/* Limits the calls of the one to those near the calls of the other in time. Distant ones cannot match. */
static void narrow(const struct recorded_call **one, size_t *one_count, const struct recorded_call *other,
                   size_t other_count)
{
    size_t first = nearest(*one, *one_count, other[0].time_ns);
    size_t end = nearest(*one, *one_count, other[other_count - 1].time_ns) + 1;
    size_t reach = 2 * (size_t)REACH + (first < end ? end - first : first - end) / 2;
    size_t begin = first < end ? first : end;
    end = first < end ? end : first;
    begin = begin > reach ? begin - reach : 0;
    end = *one_count - end > reach ? end + reach : *one_count;
    *one += begin;
    *one_count = end - begin;
}

static size_t list_shifts(const struct recorded_call *one, size_t one_count,
                          const struct recorded_call *other, size_t other_count, int64_t *shifts)
{
    const size_t probes[PROBES] = {0, other_count / 2, other_count - 1};
    size_t count = 0, kept = 0;
    for (size_t p = 0; p < PROBES; p++) {
        const struct recorded_call *probe = &other[probes[p]];
        if (probe->time_ns == TIME_UNKNOWN)
            continue;
        size_t near = nearest(one, one_count, probe->time_ns);
        for (int64_t d = -REACH; d <= REACH; d++)
            shifts[count++] = one[near].place + d - probe->place;
    }
    sort_integers(shifts, count);
    for (size_t i = 0; i < count; i++)
        if (!kept || shifts[kept - 1] != shifts[i])
            shifts[kept++] = shifts[i];
    return kept;
}

/* The median distance of times from one; replaces the times by their distances. */
static int64_t median_distance(int64_t *times, size_t count, int64_t from)
{
    for (size_t i = 0; i < count; i++)
        times[i] = times[i] > from ? times[i] - from : from - times[i];
    return select_integer(times, count, count / 2);
}

/* The match for one shift. `lags` has room for the smaller of the counts. */
static struct series_match match_by(const struct recorded_call *one, size_t one_count,
                                    const struct recorded_call *other, size_t other_count, int64_t shift,
                                    int64_t *lags)
{
    struct series_match match = {.shift = shift, .spread_ns = INT64_MAX};
    struct pair_cursor cursor = {0};
    while (series_next_pair(&cursor, one, one_count, other, other_count, shift)) {
        const struct recorded_call *here = &one[cursor.at_one], *there = &other[cursor.at_other];
        match.pairs++;
        match.other_sizes += here->bytes >= 0 && there->bytes >= 0 && here->bytes != there->bytes;
        if (here->time_ns != TIME_UNKNOWN && there->time_ns != TIME_UNKNOWN &&
            !__builtin_sub_overflow(here->time_ns, there->time_ns, &lags[match.timed]))
            match.timed++;
    }
    if (match.timed) {
        match.lag_ns = select_integer(lags, match.timed, match.timed / 2);
        match.spread_ns = median_distance(lags, match.timed, match.lag_ns);
    }
    return match;
}

static int is_possible(const struct series_match *match)
{
    return match->timed >= RECORDER_PAIRS_LEAST && match->lag_ns <= RECORDER_LAG_MOST_NS &&
           match->lag_ns >= -RECORDER_LAG_MOST_NS && match->spread_ns <= RECORDER_SPREAD_MOST_NS;
}

/*
 * First equal sizes decide, then how little the time difference varies; if that is nearly equal, the smaller
 * time difference.
 */
static int is_better(const struct series_match *match, const struct series_match *than)
{
    int64_t here = llabs(match->lag_ns), there = llabs(than->lag_ns);
    if (match->other_sizes * than->pairs != than->other_sizes * match->pairs)
        return match->other_sizes * than->pairs < than->other_sizes * match->pairs;
    if (match->spread_ns > NEARLY_AS_WELL * than->spread_ns ||
        than->spread_ns > NEARLY_AS_WELL * match->spread_ns)
        return match->spread_ns < than->spread_ns;
    return here < there;
}

int series_align(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                 size_t other_count, struct series_match *match)
{
    int64_t shifts[TRIED];
    size_t skipped = other_count > COMPARED_MOST ? other_count - COMPARED_MOST : 0;
    int found = 0;
    if (!one_count || !other_count)
        return 0;
    narrow(&one, &one_count, other + skipped, other_count - skipped);
    size_t least = one_count < other_count - skipped ? one_count : other_count - skipped;
    int64_t *lags = array_new(least, sizeof *lags);
    if (!lags)
        return -1;
    size_t count = list_shifts(one, one_count, other + skipped, other_count - skipped, shifts);
    for (size_t i = 0; i < count; i++) {
        struct series_match tried =
            match_by(one, one_count, other + skipped, other_count - skipped, shifts[i], lags);
        if (!is_possible(&tried) || (found && !is_better(&tried, match)))
            continue;
        *match = tried;
        found = 1;
    }
    free(lags);
    return found;
}

/* Finds the shift from the two calls whose time difference is nearest to `lag_ns`. 0: none. */
static int find_near(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                     size_t other_count, int64_t lag_ns, int64_t *shift)
{
    int64_t least = RECORDER_LAG_MOST_NS + 1;
    for (size_t i = 0; i < other_count; i++) {
        int64_t at_ns, away;
        if (other[i].time_ns == TIME_UNKNOWN || __builtin_add_overflow(other[i].time_ns, lag_ns, &at_ns))
            continue;
        const struct recorded_call *near = &one[nearest(one, one_count, at_ns)];
        if (near->time_ns == TIME_UNKNOWN || __builtin_sub_overflow(near->time_ns, at_ns, &away) ||
            llabs(away) >= least)
            continue;
        least = llabs(away);
        *shift = near->place - other[i].place;
    }
    return least <= RECORDER_LAG_MOST_NS;
}

int series_align_near(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match)
{
    struct pair_cursor cursor = {0};
    int64_t shift;
    if ((one_count >= RECORDER_PAIRS_LEAST && other_count >= RECORDER_PAIRS_LEAST) || !one_count ||
        !find_near(one, one_count, other, other_count, lag_ns, &shift))
        return 0;
    *match = (struct series_match){.shift = shift};
    while (series_next_pair(&cursor, one, one_count, other, other_count, shift)) {
        const struct recorded_call *here = &one[cursor.at_one], *there = &other[cursor.at_other];
        match->pairs++;
        match->other_sizes += here->bytes >= 0 && there->bytes >= 0 && here->bytes != there->bytes;
    }
    return 1;
}

/* Since the epoch: September 2001. No machine has been running for so long. */
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

/* The number of a row's source line among all texts; -1: none. */
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

/* When the host made the call. The start on the GPU may be much later. */
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

static int take_row(struct recorded_calls *calls, struct work *work, const struct block_reader *rows,
                    size_t row, int64_t block_id, const struct wall_clock *clock, struct error *error)
{
    enum function function = (enum function)(uint8_t)rows->values[OPERATION_FUNCTION][row];
    int32_t source;
    if (intern_sources(work, rows, row, &source, error))
        return -1;
    if (array_reserve((void **)&calls->items, &calls->capacity, calls->count + 1, sizeof *calls->items))
        return error_no_memory(error);
    calls->items[calls->count++] = (struct recorded_call){
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

static int by_series(const struct recorded_call *left, const struct recorded_call *right)
{
    return (left->series > right->series) - (left->series < right->series);
}

static int by_number(const void *a, const void *b)
{
    const struct recorded_call *left = a, *right = b;
    if (left->series != right->series)
        return by_series(left, right);
    return (left->place > right->place) - (left->place < right->place);
}

static int by_time(const void *a, const void *b)
{
    const struct recorded_call *left = a, *right = b;
    if (left->series != right->series)
        return by_series(left, right);
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (left->block_id >> 32 != right->block_id >> 32)
        return left->block_id < right->block_id ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

size_t recorded_calls_end(const struct recorded_calls *calls, size_t first)
{
    size_t end = first;
    while (end < calls->count && calls->items[end].series == calls->items[first].series)
        end++;
    return end;
}

/* Whether the numbers of a series rise without repetition. */
static int are_numbered(const struct recorded_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].place < 0 || (i && calls[i].place == calls[i - 1].place))
            return 0;
    return 1;
}

static void place_calls(struct recorded_calls *calls, int have_numbers)
{
    array_sort(calls->items, calls->count, sizeof *calls->items, have_numbers ? by_number : by_time);
    for (size_t first = 0, end; first < calls->count; first = end) {
        struct recorded_call *series = &calls->items[first];
        end = recorded_calls_end(calls, first);
        int is_pair = function_is_point_to_point((enum function)series->function);
        if (have_numbers && !is_pair && are_numbered(series, end - first))
            continue;
        array_sort(series, end - first, sizeof *series, by_time);
        for (size_t i = first; i < end; i++)
            calls->items[i].place = (int64_t)(i - first);
    }
}

int recorded_calls_load(struct recorded_calls *calls, struct work *work, struct logs *logs, int64_t member_id,
                        const struct wall_clock *clock, int have_numbers, struct error *error)
{
    static const int columns[] = {OPERATION_ORDINAL,   OPERATION_FUNCTION,      OPERATION_SEQUENCE,
                                  OPERATION_DATATYPE,  OPERATION_BYTES,         OPERATION_PEER,
                                  OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_FLAGS,
                                  OPERATION_SOURCE};
    struct statement *list = store_prepare(logs->store, schema_join_load_blocks, error);
    int more = list && !statement_bind_integer(list, 1, member_id, error) ? 1 : -1;
    *calls = (struct recorded_calls){.items = NULL};
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

void recorded_calls_release(struct recorded_calls *calls)
{
    free(calls->items);
    *calls = (struct recorded_calls){.items = NULL};
}
