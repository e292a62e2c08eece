/*
 * Address ranges of registered memory with their lifetimes, and how a buffer lies in them; then the reader of
 * allocator snapshots. registered_memory.c uses both.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/buffers.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* NCCL rounds to the page size of the host; no host that runs it has smaller pages. */
static const uint64_t PAGE_BYTES = 4096;

void ranges_release(struct ranges *ranges)
{
    free(ranges->items);
    free(ranges->reach);
    free(ranges->calls);
    *ranges = (struct ranges){.items = NULL};
}

int32_t ranges_moment(struct ranges *ranges, const int64_t *calls)
{
    size_t bytes = sizeof *ranges->calls;
    if (ranges->call_count && memcmp(ranges->calls[ranges->call_count - 1], calls, bytes) == 0)
        return (int32_t)(ranges->call_count - 1);
    if (ranges->call_count >= INT32_MAX ||
        array_reserve((void **)&ranges->calls, &ranges->call_capacity, ranges->call_count + 1, bytes))
        return -1;
    memcpy(ranges->calls[ranges->call_count], calls, bytes);
    return (int32_t)ranges->call_count++;
}

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    uint64_t end;
    return __builtin_add_overflow(address, bytes, &end) ? UINT64_MAX : end;
}

static uint64_t page_up(uint64_t address)
{
    return address > UINT64_MAX - (PAGE_BYTES - 1) ? UINT64_MAX
                                                   : (address + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

int ranges_add(struct ranges *ranges, uint64_t address, int64_t bytes, const struct range *range)
{
    if (array_reserve((void **)&ranges->items, &ranges->capacity, ranges->count + 1, sizeof *ranges->items))
        return -1;
    struct range *added = &ranges->items[ranges->count++];
    *added = *range;
    added->begin = address & ~(PAGE_BYTES - 1);
    added->end = page_up(end_of(address, bytes > 0 ? (uint64_t)bytes : 0));
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

/*
 * NCCL accepts a second registration of an address and does not log deregistration: the earlier registration
 * must have ended.
 */
static void end_repeated_registrations(struct ranges *ranges)
{
    for (size_t i = 0; i + 1 < ranges->count; i++) {
        struct range *range = &ranges->items[i];
        const struct range *next = &ranges->items[i + 1];
        if (range->begin == next->begin && range->made != RANGES_NO_CALLS && next->made > range->made &&
            range->ended == RANGES_NO_CALLS)
            range->ended = next->made;
    }
}

int ranges_finish(struct ranges *ranges)
{
    uint64_t reach = 0;
    array_sort(ranges->items, ranges->count, sizeof *ranges->items, by_address);
    end_repeated_registrations(ranges);
    free(ranges->reach);
    ranges->reach = array_new(ranges->count, sizeof *ranges->reach);
    if (!ranges->reach)
        return -1;
    for (size_t i = 0; i < ranges->count; i++) {
        if (ranges->items[i].end > reach)
            reach = ranges->items[i].end;
        ranges->reach[i] = reach;
    }
    return 0;
}

static int begins_by(const void *range, const void *address)
{
    return ((const struct range *)range)->begin <= *(const uint64_t *)address;
}

/* Number of ranges that begin at or before an address. */
static size_t count_begun_by(const struct ranges *ranges, uint64_t address)
{
    return lower_bound(ranges->items, ranges->count, sizeof *ranges->items, begins_by, &address);
}

void ranges_end(struct ranges *ranges, uint64_t address, int64_t id, int32_t moment)
{
    for (size_t i = count_begun_by(ranges, address); i-- > 0 && ranges->reach[i] > address;) {
        struct range *range = &ranges->items[i];
        if (range->end > address && range->id < id && range->ended == RANGES_NO_CALLS) {
            range->ended = moment;
            return;
        }
    }
}

/* Whether a call came after a moment; 0 if the order is not known. */
static int came_before(const struct ranges *ranges, const struct call_place *place, int32_t moment)
{
    return moment != RANGES_NO_CALLS && place->number != COUNT_UNKNOWN &&
           place->number < ranges->calls[moment][place->function];
}

enum presence { PRESENT, TO_COME, GONE };

static enum presence presence_of(const struct ranges *ranges, const struct range *range,
                                 const struct call_place *place)
{
    int has_time = place->wall_ns != TIME_UNKNOWN;
    if (came_before(ranges, place, range->made) ||
        (has_time && range->alive.begin_ns != TIME_UNKNOWN && place->wall_ns < range->alive.begin_ns))
        return TO_COME;
    int is_ended = range->ended != RANGES_NO_CALLS && place->number != COUNT_UNKNOWN &&
                   !came_before(ranges, place, range->ended);
    return is_ended ||
                   (has_time && range->alive.end_ns != TIME_UNKNOWN && place->wall_ns >= range->alive.end_ns)
               ? GONE
               : PRESENT;
}

/* How the ranges that contain a byte cover a buffer. */
struct found {
    int is_covered; /* the whole buffer, at the time of the call */
    int is_begun;   /* its first byte, at the time of the call */
    int is_expandable;
    int comes; /* the whole buffer, later */
    int went;  /* the whole buffer, earlier */
};

static struct found look_at(const struct ranges *ranges, uint64_t address, uint64_t end,
                            const struct call_place *place)
{
    struct found found = {0};
    for (size_t i = count_begun_by(ranges, address);
         i-- > 0 && ranges->reach[i] > address && !found.is_covered;) {
        const struct range *range = &ranges->items[i];
        if (range->end <= address)
            continue;
        enum presence presence = presence_of(ranges, range, place);
        int has_all = range->end >= end;
        found.is_expandable |= presence == PRESENT && range->is_expandable;
        found.is_begun |= presence == PRESENT;
        found.is_covered |= presence == PRESENT && has_all && !range->is_expandable;
        found.comes |= presence == TO_COME && has_all;
        found.went |= presence == GONE && has_all;
    }
    return found;
}

/* Most ranges within one buffer that are searched. */
enum { PIECES_MOST = 1000 };

/*
 * Whether a range that exists at the time of the call begins within the buffer; *is_last: whether one
 * contains its last byte.
 */
static int has_end(const struct ranges *ranges, uint64_t address, uint64_t end,
                   const struct call_place *place, int *is_last)
{
    int any = 0, left = PIECES_MOST;
    *is_last = 0;
    for (size_t i = count_begun_by(ranges, end - 1);
         i-- > 0 && ranges->items[i].begin > address && !*is_last && left-- > 0;) {
        if (presence_of(ranges, &ranges->items[i], place) != PRESENT)
            continue;
        any = 1;
        *is_last = ranges->items[i].end >= end;
    }
    return any;
}

enum coverage ranges_cover(const struct ranges *ranges, uint64_t address, uint64_t bytes,
                           const struct call_place *place)
{
    uint64_t end = end_of(address, bytes);
    int is_last = 0;
    struct found found = look_at(ranges, address, end, place);
    if (found.is_covered)
        return COVERED;
    if (found.is_expandable)
        return COVERED_EXPANDABLE;
    int ends_in_one = has_end(ranges, address, end, place, &is_last);
    if (found.is_begun || ends_in_one)
        return found.is_begun && is_last ? COVERED_BY_TWO : COVERED_PARTLY;
    return found.went ? COVERED_EARLIER : found.comes ? COVERED_LATER : COVERED_NOT;
}

/* A rank of any run of the store, with its number. */
struct place {
    int64_t job_rank_id;
    int64_t global_rank;
    char *file_set; /* owned */
};

struct places {
    struct place *items; /* owned; sorted by global rank */
    size_t count;
    size_t capacity;
};

static void places_release(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->items[i].file_set);
    free(places->items);
}

static int places_load(struct places *places, struct store *store, struct error *error)
{
    struct statement *rows = store_prepare(store, schema_analysis_buffers_places, error);
    int more = rows ? 1 : -1;
    while (more == 1 && (more = statement_step(rows, error)) == 1) {
        struct place place = {statement_integer(rows, 0), statement_integer(rows, 1), NULL};
        const char *file_set = statement_text(rows, 2);
        place.file_set = strdup(file_set ? file_set : "");
        if (!place.file_set || array_reserve((void **)&places->items, &places->capacity, places->count + 1,
                                             sizeof *places->items)) {
            free(place.file_set);
            more = error_no_memory(error);
        } else {
            places->items[places->count++] = place;
        }
    }
    statement_free(rows);
    return more;
}

/*
 * The rank with that number whose files are nearest to `path`; -1 if there is none, or if two of different
 * runs are equally near.
 */
static int64_t find_place(const struct places *places, int64_t global_rank, const char *path)
{
    size_t best = 0;
    int64_t found = -1;
    for (size_t i = 0; i < places->count; i++) {
        if (places->items[i].global_rank != global_rank)
            continue;
        size_t depth = 1 + node_path_common_depth(places->items[i].file_set, path);
        if (depth > best) {
            best = depth;
            found = places->items[i].job_rank_id;
        } else if (depth == best && found != places->items[i].job_rank_id) {
            found = -1;
        }
    }
    return found;
}

enum { ROW_ID, ROW_KIND, ROW_ADDRESS, ROW_BYTES, ROW_RANK, ROW_FROM, ROW_TO, ROW_PATH };

static int64_t time_at(struct statement *row, int column)
{
    return statement_is_null(row, column) ? TIME_UNKNOWN : statement_integer(row, column);
}

static void take_snapshot(struct registration_index *known, struct known_rank *rank, struct statement *row)
{
    int64_t latest_ns = time_at(row, ROW_TO);
    known->snapshots += !rank->has_snapshot;
    if (!rank->has_snapshot || latest_ns > rank->latest_ns)
        rank->latest_ns = latest_ns;
    rank->has_snapshot = 1;
}

static int take_row(struct registration_index *known, struct known_rank *rank, struct statement *row)
{
    int64_t kind = statement_integer(row, ROW_KIND);
    struct range range = {.id = statement_integer(row, ROW_ID),
                          .alive = {time_at(row, ROW_FROM), time_at(row, ROW_TO)},
                          .made = RANGES_NO_CALLS,
                          .ended = RANGES_NO_CALLS,
                          .is_expandable = kind == REGISTRATION_EXPANDABLE};
    if (kind == REGISTRATION_SNAPSHOT) {
        take_snapshot(known, rank, row);
        return 0;
    }
    return ranges_add(&rank->segments, (uint64_t)statement_integer(row, ROW_ADDRESS),
                      statement_integer(row, ROW_BYTES), &range);
}

/* The rows of one file are consecutive, the row of the snapshot as a whole first. */
static int load_rows(struct registration_index *known, const struct places *places, struct store *store,
                     struct error *error)
{
    struct statement *rows = store_prepare(store, schema_analysis_buffers_snapshots, error);
    struct known_rank *rank = NULL;
    int more = rows ? 1 : -1;
    while (more == 1 && (more = statement_step(rows, error)) == 1) {
        if (statement_integer(rows, ROW_KIND) == REGISTRATION_SNAPSHOT) {
            int64_t global_rank = statement_is_null(rows, ROW_RANK) ? -1 : statement_integer(rows, ROW_RANK);
            const char *path = statement_text(rows, ROW_PATH);
            int64_t id = global_rank < 0 ? -1 : find_place(places, global_rank, path ? path : "");
            int32_t number = id < 0 ? -1 : roster_rank(known->roster, id);
            rank = number < 0 ? NULL : &known->ranks[number];
            known->unmatched_snapshots += id < 0;
        }
        if (rank && take_row(known, rank, rows))
            more = error_no_memory(error);
    }
    statement_free(rows);
    return more;
}

/*
 * Uses the first clock anchor of each process: wall clocks drift by less than the time between allocations.
 */
static int load_clocks(struct registration_index *known, struct store *store, int64_t run_id,
                       struct error *error)
{
    struct statement *rows = store_prepare_for(store, schema_analysis_buffers_clocks, run_id, error);
    int more = rows ? 1 : -1;
    for (size_t i = 0; i < known->roster->rank_count; i++)
        known->ranks[i].wall_minus_local_ns = TIME_UNKNOWN;
    while (more == 1 && (more = statement_step(rows, error)) == 1) {
        int32_t number = roster_rank(known->roster, statement_integer(rows, 0));
        if (number >= 0 && known->ranks[number].wall_minus_local_ns == TIME_UNKNOWN)
            known->ranks[number].wall_minus_local_ns = statement_integer(rows, 1);
    }
    statement_free(rows);
    return more;
}

int snapshots_load(struct registration_index *known, struct store *store, int64_t run_id, struct error *error)
{
    struct places places = {NULL};
    int failed = places_load(&places, store, error) || load_rows(known, &places, store, error) ||
                 load_clocks(known, store, run_id, error);
    places_release(&places);
    for (size_t i = 0; !failed && i < known->roster->rank_count; i++)
        if (ranges_finish(&known->ranks[i].segments))
            failed = error_no_memory(error);
    return failed ? -1 : 0;
}
