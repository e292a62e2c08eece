#include "stalls/seats.h"

#include "base/array.h"
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

/* The ends of edges: ranks by the numbers that network steps are given with. */

static int64_t find(const struct map *map, uint64_t first, uint64_t second)
{
    const int64_t *value = map_get(map, (struct map_key){{first, second}});
    return value ? *value : -1;
}

static int put(struct map *map, uint64_t first, uint64_t second, int64_t value)
{
    return map_put(map, (struct map_key){{first, second}}, value, NULL) ? 0 : -1;
}

static int take_runs(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    stalls->runs = array_new(roster->run_count, sizeof *stalls->runs);
    if (!stalls->runs)
        return -1;
    for (; stalls->run_count < roster->run_count; stalls->run_count++) {
        const struct roster_run *run = &roster->runs[stalls->run_count];
        int32_t steps = (int32_t)run->step_count;
        stalls->runs[stalls->run_count] = (struct stalls_run){.id = run->id,
                                                              .step_count = steps,
                                                              .first_step = steps > 1,
                                                              .expected_ranks = run->expected_ranks,
                                                              .has_global_ranks = run->has_global_ranks,
                                                              .silent = -1};
    }
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

/* A seat for each rank, of the same number. */
static int take_ranks(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    for (size_t i = 0; i < roster->rank_count; i++) {
        const struct roster_rank *rank = &roster->ranks[i];
        int32_t seat = add_seat(stalls, rank->run, rank->global_rank, strdup(rank->name));
        if (seat < 0 || (rank->global_rank >= 0 && put(&stalls->seat_of_number, (uint64_t)rank->run,
                                                       (uint64_t)rank->global_rank, seat)))
            return -1;
        if (rank->process_id < 0) {
            stalls->runs[rank->run].silent_count++;
            stalls->runs[rank->run].silent = seat;
        }
    }
    return 0;
}

static int take_members(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    stalls->member_counts = array_new(roster->communicator_count, sizeof *stalls->member_counts);
    if (!stalls->member_counts)
        return -1;
    for (size_t i = 0; i < roster->member_count; i++) {
        const struct roster_member *member = &roster->members[i];
        stalls->member_counts[member->communicator]++;
        if (put(&stalls->seat_of_member, (uint64_t)member->communicator, (uint64_t)member->number,
                member->rank))
            return -1;
    }
    return 0;
}

int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error)
{
    if (roster_load(&stalls->roster, store, run_id, error) ||
        roster_load_members(&stalls->roster, store, run_id, error))
        return -1;
    return take_runs(stalls) || take_ranks(stalls) || take_members(stalls) ? error_no_memory(error) : 0;
}

/*
 * Who recorded nothing is no member; in the communicator of all its number is its global rank, and elsewhere
 * the only free place can only be that of the only silent rank.
 */
static int64_t silent_seat(const struct stalls *stalls, int32_t communicator, int64_t rank)
{
    const struct roster_communicator *of = &stalls->roster.communicators[communicator];
    if (rank < 0 || rank >= of->size)
        return -1;
    const struct stalls_run *run = &stalls->runs[of->run];
    int64_t seat = run->has_global_ranks && run->expected_ranks == of->size
                       ? find(&stalls->seat_of_number, (uint64_t)of->run, (uint64_t)rank)
                       : -1;
    return seat < 0 && run->silent_count == 1 && stalls->member_counts[communicator] + 1 == of->size
               ? run->silent
               : seat;
}

/* A rank that nothing else is known of. */
static int32_t make_seat(struct stalls *stalls, int32_t communicator, int64_t rank)
{
    const struct roster_communicator *of = &stalls->roster.communicators[communicator];
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
    int64_t seat = find(&stalls->seat_of_member, (uint64_t)communicator, (uint64_t)rank);
    if (seat >= 0)
        return (int32_t)seat;
    seat = silent_seat(stalls, communicator, rank);
    if (seat < 0)
        seat = make_seat(stalls, communicator, rank);
    if (seat >= 0 && put(&stalls->seat_of_member, (uint64_t)communicator, (uint64_t)rank, seat))
        return -1;
    return (int32_t)seat;
}
