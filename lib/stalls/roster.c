#include "stalls/roster.h"

#include "base/array.h"
#include "base/buffer.h"
#include "schemas.h"
#include "store/statement.h"

#include <stdlib.h>
#include <string.h>

/* Who is who in a store: runs, their ranks and communicators, by the numbers that network steps are given
 * with. */

static int64_t find(const struct map *map, uint64_t first, uint64_t second)
{
    const int64_t *value = map_get(map, (struct map_key){{first, second}});
    return value ? *value : -1;
}

static int put(struct map *map, uint64_t first, uint64_t second, int64_t value)
{
    return map_put(map, (struct map_key){{first, second}}, value, NULL) ? 0 : -1;
}

static int32_t run_of(const struct stalls *stalls, int64_t id)
{
    for (size_t i = 0; i < stalls->run_count; i++)
        if (stalls->runs[i].id == id)
            return (int32_t)i;
    return -1;
}

typedef int (*row_reader)(struct stalls *stalls, struct statement *statement);

static int read_run(struct stalls *stalls, struct statement *statement)
{
    if (array_reserve((void **)&stalls->runs, &stalls->run_capacity, stalls->run_count + 1,
                      sizeof *stalls->runs))
        return -1;
    int32_t steps = (int32_t)statement_integer(statement, 1);
    stalls->runs[stalls->run_count++] =
        (struct stalls_run){.id = statement_integer(statement, 0),
                            .step_count = steps,
                            .first_step = steps > 1,
                            .expected_ranks = statement_integer(statement, 2),
                            .has_global_ranks = statement_integer(statement, 3) != 0,
                            .silent = -1};
    return 0;
}

/* Takes `name` over, which may be NULL when memory was out. */
static int32_t add_seat(struct stalls *stalls, int32_t run, int64_t global_rank, char *name)
{
    if (!name || array_reserve((void **)&stalls->seats, &stalls->seat_capacity, stalls->seat_count + 1,
                               sizeof *stalls->seats)) {
        free(name);
        return -1;
    }
    stalls->seats[stalls->seat_count] =
        (struct stalls_seat){.run = run, .global_rank = global_rank, .name = name};
    return (int32_t)stalls->seat_count++;
}

static int read_rank(struct stalls *stalls, struct statement *statement)
{
    int32_t run = run_of(stalls, statement_integer(statement, 1));
    int64_t number = statement_integer_or(statement, 2, -1);
    const char *name = statement_text(statement, 3);
    int32_t seat = add_seat(stalls, run, number, strdup(name ? name : ""));
    if (seat < 0 || put(&stalls->seat_of_rank, (uint64_t)statement_integer(statement, 0), 0, seat))
        return -1;
    if (run >= 0 && statement_integer(statement, 4)) {
        stalls->runs[run].silent_count++;
        stalls->runs[run].silent = seat;
    }
    return number >= 0 ? put(&stalls->seat_of_number, (uint64_t)run, (uint64_t)number, seat) : 0;
}

static int read_communicator(struct stalls *stalls, struct statement *statement)
{
    if (array_reserve((void **)&stalls->communicators, &stalls->communicator_capacity,
                      stalls->communicator_count + 1, sizeof *stalls->communicators))
        return -1;
    const char *label = statement_text(statement, 3);
    char *copy = strdup(label ? label : "");
    if (!copy)
        return -1;
    stalls->communicators[stalls->communicator_count] =
        (struct stalls_communicator){.run = run_of(stalls, statement_integer(statement, 1)),
                                     .size = statement_integer(statement, 2),
                                     .hash = statement_integer(statement, 4),
                                     .label = copy};
    return put(&stalls->communicator_of, (uint64_t)statement_integer(statement, 0), 0,
               (int64_t)stalls->communicator_count++);
}

static int read_member(struct stalls *stalls, struct statement *statement)
{
    int64_t communicator = find(&stalls->communicator_of, (uint64_t)statement_integer(statement, 1), 0);
    int64_t seat = find(&stalls->seat_of_rank, (uint64_t)statement_integer(statement, 3), 0);
    if (communicator < 0 || seat < 0)
        return 0;
    stalls->communicators[communicator].member_count++;
    return put(&stalls->member, (uint64_t)statement_integer(statement, 0), 0, seat << 32 | communicator) ||
           put(&stalls->seat_of_member, (uint64_t)communicator, (uint64_t)statement_integer(statement, 2),
               seat);
}

static int read_rows(struct stalls *stalls, struct store *store, const char *sql, int64_t run_id,
                     row_reader read, struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    int row = statement ? 1 : -1;
    if (statement && run_id && statement_bind_integer(statement, 1, run_id, error))
        row = -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (read(stalls, statement))
            row = error_no_memory(error);
    statement_free(statement);
    return row;
}

int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error)
{
    return read_rows(stalls, store, schema_analysis_stalls_runs, run_id, read_run, error) ||
                   read_rows(stalls, store, schema_analysis_stalls_ranks, run_id, read_rank, error) ||
                   read_rows(stalls, store, schema_analysis_stalls_communicators, run_id, read_communicator,
                             error) ||
                   read_rows(stalls, store, schema_analysis_stalls_members, run_id, read_member, error)
               ? -1
               : 0;
}

/*
 * Who recorded nothing is no member; in the communicator of all its number is its global rank, and elsewhere
 * the only free place can only be that of the only silent rank.
 */
static int64_t silent_seat(const struct stalls *stalls, const struct stalls_communicator *of, int64_t rank)
{
    if (of->run < 0 || rank < 0 || rank >= of->size)
        return -1;
    const struct stalls_run *run = &stalls->runs[of->run];
    int64_t seat = run->has_global_ranks && run->expected_ranks == of->size
                       ? find(&stalls->seat_of_number, (uint64_t)of->run, (uint64_t)rank)
                       : -1;
    return seat < 0 && run->silent_count == 1 && of->member_count + 1 == of->size ? run->silent : seat;
}

/* A rank that nothing else is known of. */
static int32_t make_seat(struct stalls *stalls, const struct stalls_communicator *of, int64_t rank)
{
    struct buffer name = BUFFER_INIT;
    if (buffer_printf(&name, "rank %lld of communicator ", (long long)rank) ||
        (of->hash ? buffer_printf(&name, "0x%llx", (unsigned long long)of->hash)
                  : buffer_append_text(&name, of->label))) {
        buffer_release(&name);
        return -1;
    }
    return add_seat(stalls, of->run, -1, buffer_detach(&name));
}

int32_t stalls_seat(struct stalls *stalls, int32_t communicator, int64_t rank)
{
    const struct stalls_communicator *of = &stalls->communicators[communicator];
    int64_t seat = find(&stalls->seat_of_member, (uint64_t)communicator, (uint64_t)rank);
    if (seat >= 0)
        return (int32_t)seat;
    seat = silent_seat(stalls, of, rank);
    if (seat < 0)
        seat = make_seat(stalls, of, rank);
    if (seat >= 0 && put(&stalls->seat_of_member, (uint64_t)communicator, (uint64_t)rank, seat))
        return -1;
    return (int32_t)seat;
}
