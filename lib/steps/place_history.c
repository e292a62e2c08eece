#include "steps/place_history.h"

#include "base/array.h"
#include "baseline/cells.h"

#include <stdlib.h>

/* What is asked for, and room for one value of each rank of the role. */
struct place {
    const struct job *job;
    const struct baseline *baseline;
    int32_t role;
    int32_t position;
    enum place_time what;
    unsigned char *is_mine; /* owned, of each rank in the role */
    int64_t *mine;          /* owned, as below */
    int64_t *peers;
    int32_t *instances; /* that the ranks are in, in the step at hand */
    size_t mine_count;
    size_t peer_count;
};

static int64_t time_of(const struct place *place, const struct job_operation *operation)
{
    if (place->what == PLACE_GAP)
        return operation->own_ns;
    return operation->instance >= 0 ? place->job->instances[operation->instance].transfer_ns : TIME_UNKNOWN;
}

static const struct job_operation *operation_at(const struct place *place, size_t rank, int32_t step)
{
    int32_t cell = baseline_cell(place->baseline, place->role, place->position, rank, step);
    return cell >= 0 ? &place->job->operations[cell] : NULL;
}

/* Whether an operation is shared with one of the ranks: it is no peer's then. */
static int is_shared(const struct place *place, const struct job_operation *operation)
{
    for (size_t i = 0; place->what == PLACE_TRANSFER && i < place->mine_count; i++)
        if (place->instances[i] == operation->instance)
            return 1;
    return 0;
}

static void read_mine(struct place *place, int32_t step)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->mine_count = 0;
    for (size_t rank = 0; rank < role->rank_count; rank++) {
        const struct job_operation *operation = place->is_mine[rank] ? operation_at(place, rank, step) : NULL;
        if (!operation || time_of(place, operation) == TIME_UNKNOWN)
            continue;
        place->instances[place->mine_count] = operation->instance;
        place->mine[place->mine_count++] = time_of(place, operation);
    }
}

static void read_peers(struct place *place, int32_t step)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->peer_count = 0;
    for (size_t rank = 0; rank < role->rank_count; rank++) {
        const struct job_operation *operation = place->is_mine[rank] ? NULL : operation_at(place, rank, step);
        if (operation && time_of(place, operation) != TIME_UNKNOWN && !is_shared(place, operation))
            place->peers[place->peer_count++] = time_of(place, operation);
    }
}

static int place_init(struct place *place, const int32_t *ranks, size_t rank_count)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->is_mine = array_new(role->rank_count + 1, 1);
    place->mine = array_new(role->rank_count + 1, sizeof *place->mine);
    place->peers = array_new(role->rank_count + 1, sizeof *place->peers);
    place->instances = array_new(role->rank_count + 1, sizeof *place->instances);
    if (!place->is_mine || !place->mine || !place->peers || !place->instances)
        return -1;
    for (size_t i = 0; i < rank_count; i++)
        if (place->baseline->role_of_rank[ranks[i]] == place->role)
            place->is_mine[place->baseline->rank_in_role[ranks[i]]] = 1;
    return 0;
}

int place_history_init(struct step_history *history, const struct job *job, const struct baseline *baseline,
                       const int32_t *ranks, size_t rank_count, int32_t position, enum place_time what)
{
    struct place place = {.job = job,
                          .baseline = baseline,
                          .role = baseline->role_of_rank[ranks[0]],
                          .position = position,
                          .what = what};
    if (step_history_init(history, baseline->first_step, baseline->step_count))
        return -1;
    if (place.role < 0 || position < 0 || position >= baseline->roles[place.role].length)
        return 0;
    int failed = place_init(&place, ranks, rank_count);
    for (int32_t step = history->first_step; !failed && step < baseline->step_count; step++) {
        read_mine(&place, step);
        read_peers(&place, step);
        step_history_set(history, step, place.mine, place.mine_count, place.peers, place.peer_count);
    }
    free(place.is_mine);
    free(place.mine);
    free(place.peers);
    free(place.instances);
    return failed;
}
