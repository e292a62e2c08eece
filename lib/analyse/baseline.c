#include "analyse/baseline.h"

#include "analyse/place.h"
#include "analyse/positions.h"
#include "analyse/stages.h"
#include "analyse/stretch.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>

/* What two ranks of one role have in common at a position. */
static uint64_t hash_role(const struct job *job, const struct job_operation *operation)
{
    uint64_t size = (uint64_t)job->communicators[operation->communicator].size;
    return hash_mix(hash_mix(size, operation->function),
                    hash_mix((uint64_t)operation->bytes, operation->kind));
}

/* Cells that a rank may have for each of its operations, and however few those are. */
enum { CELLS_AN_OPERATION = 64, CELLS_ALWAYS = 1 << 14 };

/* Steps that are all alike fill their cells. One that holds nearly all there is leaves nearly all empty. */
static int recurs(const struct job *job, const struct job_rank *rank, struct stretch canonical)
{
    uint64_t cells = (uint64_t)canonical.count * (uint64_t)job->step_count;
    return cells <= CELLS_ALWAYS + CELLS_AN_OPERATION * (uint64_t)rank->count;
}

/* One more place that came before a position: the majority's is left (Boyer and Moore, 1981). */
static void vote(int32_t *before, int32_t *votes, int32_t position)
{
    if (*votes == 0)
        *before = position;
    *votes += *before == position ? 1 : -1;
}

/*
 * Which position mostly comes before each on its stream, in steps like the canonical one; for the first on a
 * stream the last of it, in the step before, which is not less. -1: only operations without a place do.
 */
static int note_predecessors(struct baseline *baseline, const struct job *job, size_t rank,
                             const struct stretch *stretches, struct stretch canonical)
{
    int32_t *before = array_new((size_t)canonical.count, sizeof *before);
    int32_t *votes = array_new((size_t)canonical.count, sizeof *votes);
    baseline->predecessors[rank] = before;
    for (int32_t i = 0; before && i < canonical.count; i++)
        before[i] = -1;
    for (int32_t step = baseline->first_step; before && votes && step < job->step_count; step++) {
        const struct stretch *like = &stretches[step];
        for (int32_t i = 0; like->signature == canonical.signature && i < canonical.count && i < like->count;
             i++) {
            int32_t previous = job->operations[like->first + i].previous;
            int32_t at = previous >= 0 ? job->operations[job->operations[previous].group].position : -1;
            if (at >= 0)
                vote(&before[i], &votes[i], at);
        }
    }
    int failed = !before || !votes;
    free(votes);
    return failed ? -1 : 0;
}

static int join_role(struct baseline *baseline, struct job *job, struct map *roles, size_t rank,
                     int32_t stage, struct stretch canonical, size_t *capacity)
{
    uint64_t hash = hash_mix((uint64_t)canonical.count, (uint64_t)stage);
    for (int32_t i = 0; i < canonical.count; i++)
        hash = hash_mix(hash, hash_role(job, &job->operations[canonical.first + i]));
    int added;
    int64_t *number = map_put(roles, (struct map_key){{hash, (uint64_t)canonical.count}},
                              (int64_t)baseline->role_count, &added);
    if (!number)
        return -1;
    if (added) {
        if (array_reserve((void **)&baseline->roles, capacity, baseline->role_count + 1,
                          sizeof *baseline->roles))
            return -1;
        baseline->roles[baseline->role_count++] = (struct role){.length = canonical.count};
    }
    baseline->role_of_rank[rank] = (int32_t)*number;
    baseline->rank_in_role[rank] = (int32_t)baseline->roles[*number].rank_count++;
    return 0;
}

struct regularity {
    uint64_t whole;
    uint64_t all;
};

static int32_t count_placed(const struct job *job, struct stretch stretch)
{
    int32_t placed = 0;
    for (int32_t i = 0; i < stretch.count; i++)
        placed += job->operations[stretch.first + i].position >= 0;
    return placed;
}

/* Steps that hold the whole sequence; where records are missing, operations that have a place in it. */
static void count_whole(struct regularity *regularity, const struct job *job, const struct stretch *stretches,
                        int32_t first_step, struct stretch canonical)
{
    for (int32_t step = first_step; step < job->step_count; step++) {
        int32_t placed = count_placed(job, stretches[step]);
        regularity->whole += job->missing_sequence ? (uint64_t)placed : placed == canonical.count;
        regularity->all += job->missing_sequence ? (uint64_t)canonical.count : 1;
    }
}

static int find_roles(struct baseline *baseline, struct job *job)
{
    struct stretch *stretches = array_new((size_t)job->step_count * 2, sizeof *stretches);
    int32_t *stage = stages_find(job);
    struct map roles;
    struct regularity regularity = {0};
    size_t capacity = 0;
    int failed = !stretches || !stage;
    map_init(&roles);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        baseline->role_of_rank[i] = -1;
        if (!job->ranks[i].count)
            continue;
        failed = stretches_cut(job, &job->ranks[i], stretches);
        if (failed)
            break;
        struct stretch canonical = stretches_canonical(stretches, baseline->first_step, job->step_count,
                                                       stretches + job->step_count);
        if (canonical.first < 0 || !recurs(job, &job->ranks[i], canonical))
            continue;
        failed = positions_match(job, stretches, canonical);
        if (failed)
            break;
        count_whole(&regularity, job, stretches, baseline->first_step, canonical);
        failed =
            note_predecessors(baseline, job, i, stretches, canonical) ||
            join_role(baseline, job, &roles, i, job->blind_to_pairs ? stage[i] : 0, canonical, &capacity);
    }
    if (regularity.all)
        baseline->regular = (double)regularity.whole / (double)regularity.all;
    map_release(&roles);
    free(stretches);
    free(stage);
    return failed;
}

static size_t cell_number(const struct role *role, int32_t step_count, int32_t position, size_t rank,
                          int32_t step)
{
    return ((size_t)position * role->rank_count + rank) * (size_t)step_count + (size_t)step;
}

int32_t baseline_cell(const struct baseline *baseline, int32_t role, int32_t position, size_t rank,
                      int32_t step)
{
    return baseline
        ->cells[role][cell_number(&baseline->roles[role], baseline->step_count, position, rank, step)];
}

static int make_cells(struct baseline *baseline)
{
    baseline->cells = array_new(baseline->role_count, sizeof *baseline->cells);
    if (!baseline->cells)
        return -1;
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct role *role = &baseline->roles[i];
        size_t count = (size_t)role->length * role->rank_count * (size_t)baseline->step_count;
        role->ranks = array_new(role->rank_count, sizeof *role->ranks);
        baseline->cells[i] = array_new(count, sizeof **baseline->cells);
        if (!role->ranks || !baseline->cells[i])
            return -1;
        for (size_t j = 0; j < count; j++)
            baseline->cells[i][j] = -1;
    }
    return 0;
}

static void fill_cells(struct baseline *baseline, const struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (baseline->role_of_rank[i] >= 0)
            baseline->roles[baseline->role_of_rank[i]].ranks[baseline->rank_in_role[i]] = (int32_t)i;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t role = baseline->role_of_rank[operation->rank];
        if (role < 0 || operation->position < 0 || operation->step < 0)
            continue;
        size_t cell = cell_number(&baseline->roles[role], baseline->step_count, operation->position,
                                  (size_t)baseline->rank_in_role[operation->rank], operation->step);
        baseline->cells[role][cell] = (int32_t)i;
    }
}

/*
 * Own time counts only where the operation before it is the one that usually is: across a gap in the trace it
 * would hold the lost operation.
 */
static int comparable(const struct baseline *baseline, const struct job *job,
                      const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || operation->position < 0)
        return 0;
    const struct job_operation *previous = &job->operations[job->operations[operation->previous].group];
    int32_t usual = baseline->predecessors[operation->rank][operation->position];
    return previous->position == usual &&
           previous->step == (usual < operation->position ? operation->step : operation->step - 1);
}

/*
 * The longest that another member waited in this operation; -1 where the trace cannot tell. A send goes
 * without its receiver: who comes late to receive makes others wait later on.
 */
static int64_t longest_wait_in(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int waits = function_is_full_exchange(operation->function) || operation->function == FUNCTION_SEND;
    if (!waits || instance->members < 2 || operation->start_ns == TIME_UNKNOWN ||
        operation->end_ns == TIME_UNKNOWN)
        return -1;
    int64_t mine = operation->end_ns - operation->start_ns, longest = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        if (other->start_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
            return -1;
        if (other->end_ns - other->start_ns - mine > longest)
            longest = other->end_ns - other->start_ns - mine;
    }
    return longest;
}

/* The same for all operations of its group; INT64_MAX where the trace cannot tell. */
static int64_t longest_wait_of_others(const struct job *job, const struct job_operation *operation)
{
    int64_t longest = -1;
    size_t at = (size_t)operation->group;
    for (; at < job->operation_count && job->operations[at].group == operation->group; at++) {
        int64_t wait = longest_wait_in(job, &job->operations[at]);
        if (wait > longest)
            longest = wait;
    }
    return longest < 0 ? INT64_MAX : longest;
}

/* What a place is measured by: own time, or lateness where own time is hidden. TIME_UNKNOWN: neither. */
typedef int64_t (*measure)(const struct baseline *baseline, const struct job *job,
                           const struct job_operation *operation);

static int64_t own_time(const struct baseline *baseline, const struct job *job,
                        const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? operation->own_ns : TIME_UNKNOWN;
}

/* The same since anything of the rank ended, on whatever stream: its operation may have waited for that. */
static int64_t idle_time(const struct baseline *baseline, const struct job *job,
                         const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? job_idle_time(job, operation) : TIME_UNKNOWN;
}

static int64_t host_lateness(const struct baseline *baseline, const struct job *job,
                             const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? job_lateness(job, operation) : TIME_UNKNOWN;
}

static int64_t hidden_lateness(const struct baseline *baseline, const struct job *job,
                               const struct job_operation *operation)
{
    if (operation->own_ns != TIME_UNKNOWN || operation->start_ns == TIME_UNKNOWN || operation->previous < 0 ||
        &job->operations[operation->group] != operation)
        return TIME_UNKNOWN;
    int64_t waited = longest_wait_of_others(job, operation);
    return waited == INT64_MAX ? TIME_UNKNOWN : waited;
}

static int64_t bounded(const struct job *job, const struct job_operation *operation, int64_t excess)
{
    int64_t waited = longest_wait_of_others(job, operation);
    return excess < waited ? excess : waited;
}

static void sum_lateness(const struct baseline *baseline, const struct role *role, const struct place *place)
{
    size_t steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < role->rank_count; rank++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            if (place->apart[rank * steps + step] != TIME_UNKNOWN)
                baseline->late_ns[(size_t)role->ranks[rank] * steps + step] +=
                    place->apart[rank * steps + step];
}

/* The values of a place become what is beyond the usual; returns sigma. */
static int64_t measure_values(const struct baseline *baseline, const struct job *job, int32_t role,
                              int32_t position, struct place *place, double sigmas, measure value_of)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            place->value[rank * steps + (size_t)step] =
                cell >= 0 ? value_of(baseline, job, &job->operations[cell]) : TIME_UNKNOWN;
        }
    return value_of != hidden_lateness
               ? place_measure_alike(place, ranks, baseline->first_step, baseline->step_count, sigmas, 1,
                                     NULL)
               : place_measure(place, ranks, baseline->first_step, baseline->step_count);
}

static void measure_place(const struct baseline *baseline, struct job *job, int32_t role, int32_t position,
                          struct place *place, double sigmas, measure value_of)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    int64_t sigma = measure_values(baseline, job, role, position, place, sigmas, value_of);
    if (value_of == host_lateness)
        sum_lateness(baseline, &baseline->roles[role], place);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN)
                continue;
            struct job_operation *operation =
                &job->operations[baseline_cell(baseline, role, position, rank, step)];
            if (value_of == own_time) {
                operation->beyond_ns = excess;
                operation->own_is_known = 1;
            }
            if (value_of == host_lateness)
                operation->late_beyond_ns = excess;
            if (excess <= 0)
                continue;
            int stands_out = (double)excess > sigmas * (double)sigma;
            if (value_of == hidden_lateness && excess > 2 * sigma) {
                operation->hidden_ns = excess;
                operation->hidden_stands_out = (uint8_t)stands_out;
            } else if (value_of == own_time && stands_out) {
                operation->excess_ns = bounded(job, operation, excess);
            }
        }
}

/*
 * Waiting on one stream is own time on another, of all that wait for the same one: where ranks have several
 * streams, the time in which nothing was under way on any of them tells who was late, if the own time grew,
 * too. (By itself it grows where what ran beside it is over sooner.) `own` was measured at the same place.
 */
static void take_idle_time(const struct baseline *baseline, struct job *job, int32_t role, int32_t position,
                           const struct place *own, struct place *place, double sigmas)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    int64_t sigma = measure_values(baseline, job, role, position, place, sigmas, idle_time);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            size_t cell = rank * steps + (size_t)step;
            int64_t excess = place->value[cell], grown = own->apart[cell];
            if (excess == TIME_UNKNOWN)
                continue;
            struct job_operation *operation =
                &job->operations[baseline_cell(baseline, role, position, rank, step)];
            if (operation->excess_ns > excess)
                operation->excess_ns = excess > 0 ? excess : 0;
            if (grown == TIME_UNKNOWN || (double)excess <= sigmas * (double)sigma || grown < excess / 2)
                continue;
            excess = bounded(job, operation, excess < grown ? excess : grown);
            if (excess > operation->excess_ns)
                operation->excess_ns = excess;
        }
}

static int has_streams(const struct job *job, const struct role *role)
{
    for (size_t rank = 0; rank < role->rank_count; rank++)
        if (job->ranks[role->ranks[rank]].has_streams)
            return 1;
    return 0;
}

static int measure_places(const struct baseline *baseline, struct job *job, double sigmas)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct place place = {0}, own = {0};
        size_t ranks = baseline->roles[i].rank_count, steps = (size_t)baseline->step_count;
        int several_streams = has_streams(job, &baseline->roles[i]);
        int failed = place_init(&place, ranks, steps) || place_init(&own, ranks, steps);
        for (int32_t position = 0; !failed && position < baseline->roles[i].length; position++) {
            measure_place(baseline, job, (int32_t)i, position, &own, sigmas, own_time);
            if (several_streams)
                take_idle_time(baseline, job, (int32_t)i, position, &own, &place, sigmas);
            measure_place(baseline, job, (int32_t)i, position, &place, sigmas, hidden_lateness);
            measure_place(baseline, job, (int32_t)i, position, &place, sigmas, host_lateness);
        }
        place_release(&place);
        place_release(&own);
        if (failed)
            return -1;
    }
    return 0;
}

static int64_t start_of(const struct job_operation *operation)
{
    return operation->start_ns;
}

static int64_t end_of(const struct job_operation *operation)
{
    return operation->end_ns;
}

static int64_t issue_of(const struct job_operation *operation)
{
    return operation->enqueued_ns;
}

/* From an operation of `step` to the same one of `end`, at the first position that has a time in both. */
static int64_t stretch_of_rank(const struct baseline *baseline, const struct job *job, int32_t role,
                               size_t rank, int32_t step, int32_t end,
                               int64_t (*time_of)(const struct job_operation *))
{
    for (int32_t position = 0; position < baseline->roles[role].length; position++) {
        int32_t here = baseline_cell(baseline, role, position, rank, step);
        int32_t there = baseline_cell(baseline, role, position, rank, end);
        if (here >= 0 && there >= 0 && time_of(&job->operations[here]) != TIME_UNKNOWN &&
            time_of(&job->operations[there]) != TIME_UNKNOWN)
            return time_of(&job->operations[there]) - time_of(&job->operations[here]);
    }
    return TIME_UNKNOWN;
}

/* Median over ranks; `list` has room for one each. */
static int64_t stretch(const struct baseline *baseline, const struct job *job, int32_t step, int32_t end,
                       int64_t (*time_of)(const struct job_operation *), int64_t *list)
{
    size_t count = 0;
    for (size_t role = 0; role < baseline->role_count; role++)
        for (size_t rank = 0; rank < baseline->roles[role].rank_count; rank++) {
            int64_t length = stretch_of_rank(baseline, job, (int32_t)role, rank, step, end, time_of);
            if (length > 0)
                list[count++] = length;
        }
    return median_of(list, count);
}

/*
 * Between starts on the device; where no trace has those, between ends as the network's steps tell them;
 * without network, between calls, which says less: a host may run steps ahead.
 */
static int64_t best_stretch(const struct baseline *baseline, const struct job *job, int32_t step, int32_t end,
                            int64_t *list)
{
    if (job->timed_operations)
        return stretch(baseline, job, step, end, start_of, list);
    int64_t length = stretch(baseline, job, step, end, end_of, list);
    return length != TIME_UNKNOWN ? length : stretch(baseline, job, step, end, issue_of, list);
}

int64_t baseline_stretch_ns(const struct baseline *baseline, const struct job *job, int32_t first_step,
                            int32_t last_step, int64_t *list)
{
    int32_t end = last_step + 1 < baseline->step_count ? last_step + 1 : baseline->step_count - 1;
    return end > first_step ? best_stretch(baseline, job, first_step, end, list) : TIME_UNKNOWN;
}

static int measure_step(struct baseline *baseline, const struct job *job)
{
    size_t steps = (size_t)baseline->step_count + 1, count = 0;
    int64_t *list = array_new(job->rank_count > steps ? job->rank_count : steps, sizeof *list);
    baseline->step_ns = array_new(steps, sizeof *baseline->step_ns);
    if (!list || !baseline->step_ns) {
        free(list);
        return -1;
    }
    /* No step follows the last one to tell how long that was. */
    for (int32_t step = 0; step < baseline->step_count; step++)
        baseline->step_ns[step] = step + 1 < baseline->step_count
                                      ? best_stretch(baseline, job, step, step + 1, list)
                                      : TIME_UNKNOWN;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    baseline->median_step_ns = count ? median_of(list, count) : 0;
    free(list);
    return 0;
}

int baseline_init(struct baseline *baseline, struct job *job, const struct baseline_options *options,
                  struct error *error)
{
    *baseline = (struct baseline){.step_count = job->step_count, .first_step = job->step_count > 1};
    baseline->role_of_rank = array_new(job->rank_count, sizeof *baseline->role_of_rank);
    baseline->rank_in_role = array_new(job->rank_count, sizeof *baseline->rank_in_role);
    baseline->predecessors = array_new(job->rank_count, sizeof *baseline->predecessors);
    baseline->late_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *baseline->late_ns);
    baseline->rank_count = job->rank_count;
    if (!baseline->late_ns || !baseline->role_of_rank || !baseline->rank_in_role || !baseline->predecessors ||
        find_roles(baseline, job) || make_cells(baseline)) {
        baseline_release(baseline);
        return error_no_memory(error);
    }
    fill_cells(baseline, job);
    if (measure_places(baseline, job, options->sigmas) || measure_step(baseline, job)) {
        baseline_release(baseline);
        return error_no_memory(error);
    }
    return 0;
}

int baseline_is_regular(const struct baseline *baseline)
{
    return baseline->regular >= 0.5;
}

void baseline_release(struct baseline *baseline)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        free(baseline->roles[i].ranks);
        if (baseline->cells)
            free(baseline->cells[i]);
    }
    for (size_t i = 0; baseline->predecessors && i < baseline->rank_count; i++)
        free(baseline->predecessors[i]);
    free(baseline->predecessors);
    free(baseline->step_ns);
    free(baseline->roles);
    free(baseline->cells);
    free(baseline->role_of_rank);
    free(baseline->rank_in_role);
    free(baseline->late_ns);
    *baseline = (struct baseline){0};
}
