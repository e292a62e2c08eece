#include "stalls/seats.h"

#include "base/array.h"
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

/* The ends of edges: ranks by the numbers that network steps are given with. */

static int take_runs(struct stalls *stalls)
{
    const struct roster *roster = &stalls->roster;
    stalls->runs = array_new(roster->run_count, sizeof *stalls->runs);
    if (!stalls->runs)
        return -1;
    for (; stalls->run_count < roster->run_count; stalls->run_count++) {
        const struct roster_run *run = &roster->runs[stalls->run_count];
        int32_t steps = (int32_t)run->step_count;
        stalls->runs[stalls->run_count] =
            (struct stalls_run){.id = run->id, .step_count = steps, .first_step = steps > 1};
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
        if (add_seat(stalls, rank->run, rank->global_rank, strdup(rank->name)) < 0)
            return -1;
    }
    return 0;
}

int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error)
{
    if (roster_load(&stalls->roster, store, run_id, error) ||
        roster_load_members(&stalls->roster, store, run_id, error))
        return -1;
    return take_runs(stalls) || take_ranks(stalls) ? error_no_memory(error) : 0;
}

/* A rank that nothing else is known of. */
static int32_t make_seat(struct stalls *stalls, int32_t communicator, int64_t rank)
{
    const struct job_communicator *of = &stalls->roster.communicators[communicator];
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
    int32_t seat = roster_rank_in(&stalls->roster, communicator, rank);
    const struct map_key key = {{(uint64_t)communicator, (uint64_t)rank}};
    int added;
    int64_t *made = seat < 0 ? map_put(&stalls->made_seats, key, (int64_t)stalls->seat_count, &added) : NULL;
    if (seat >= 0 || !made)
        return seat;
    return added ? make_seat(stalls, communicator, rank) : (int32_t)*made;
}
