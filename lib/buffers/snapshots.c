#include "buffers/snapshots.h"

#include "base/array.h"
#include "schemas.h"
#include "store/node_path.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* A rank of any run of the store, by its number. */
struct place {
    int64_t job_rank_id;
    int64_t global_rank;
    char *file_set; /* owned */
};

struct places {
    struct place *items; /* owned; by global rank */
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

/* The rank of that number whose files lie nearest; -1 where there is none, or two of different runs. */
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

static void take_snapshot(struct known_memory *known, struct known_rank *rank, struct statement *row)
{
    int64_t latest_ns = time_at(row, ROW_TO);
    known->snapshots += !rank->has_snapshot;
    if (!rank->has_snapshot || latest_ns > rank->latest_ns)
        rank->latest_ns = latest_ns;
    rank->has_snapshot = 1;
}

static int take_row(struct known_memory *known, struct known_rank *rank, struct statement *row)
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

/* Rows of one file come one after the other, that of the snapshot as a whole first. */
static int load_rows(struct known_memory *known, const struct places *places, struct store *store,
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
            known->strange_snapshots += id < 0;
        }
        if (rank && take_row(known, rank, rows))
            more = error_no_memory(error);
    }
    statement_free(rows);
    return more;
}

/* The first anchor of each process: wall clocks drift less than allocations are apart. */
static int load_clocks(struct known_memory *known, struct store *store, int64_t run_id, struct error *error)
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

int snapshots_load(struct known_memory *known, struct store *store, int64_t run_id, struct error *error)
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
