#include "baseline/roles.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "baseline/sequence_match.h"
#include "baseline/step_sequence.h"
#include "job/stages.h"

#include <stdlib.h>

/* What two ranks of one role have in common at a position: its size, if that is what it usually is. */
static uint64_t hash_role(const struct job *job, const struct job_operation *operation, int is_usual_size)
{
    uint64_t size = (uint64_t)job->communicators[operation->communicator].size;
    return hash_mix(hash_mix(size, operation->function),
                    hash_mix(is_usual_size ? (uint64_t)operation->bytes : 0, operation->kind));
}

/*
 * Of each position of the canonical sequence, in how many steps it has that sequence's size, less those in
 * which it has another: where data decide how much is sent, sizes tell no role.
 */
static void count_sizes(const struct baseline *baseline, const struct job *job, const struct job_rank *rank,
                        struct stretch canonical, int32_t *alike)
{
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        int32_t position = baseline->positions[i];
        if (position < 0 || job->operations[i].step < baseline->first_step)
            continue;
        int is_alike = job->operations[i].bytes == job->operations[canonical.first + position].bytes;
        alike[position] += is_alike ? 1 : -1;
    }
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
            int32_t at = previous >= 0 ? baseline->positions[job->operations[previous].group] : -1;
            if (at >= 0)
                vote(&before[i], &votes[i], at);
        }
    }
    int failed = !before || !votes;
    free(votes);
    return failed ? -1 : 0;
}

static int join_role(struct baseline *baseline, const struct job *job, struct map *roles, size_t rank,
                     int32_t stage, struct stretch canonical, size_t *capacity)
{
    uint64_t hash = hash_mix((uint64_t)canonical.count, (uint64_t)stage);
    int32_t *alike = array_new((size_t)canonical.count, sizeof *alike);
    if (!alike)
        return -1;
    count_sizes(baseline, job, &job->ranks[rank], canonical, alike);
    for (int32_t i = 0; i < canonical.count; i++)
        hash = hash_mix(hash, hash_role(job, &job->operations[canonical.first + i], alike[i] >= 0));
    free(alike);
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

static int32_t count_placed(const int32_t *positions, struct stretch stretch)
{
    int32_t placed = 0;
    for (int32_t i = 0; i < stretch.count; i++)
        placed += positions[stretch.first + i] >= 0;
    return placed;
}

/* Steps that hold the whole sequence; where records are missing, operations that have a place in it. */
static void count_whole(struct regularity *regularity, const struct baseline *baseline, const struct job *job,
                        const struct stretch *stretches, struct stretch canonical)
{
    for (int32_t step = baseline->first_step; step < job->step_count; step++) {
        int32_t placed = count_placed(baseline->positions, stretches[step]);
        regularity->whole += job->missing_sequence ? (uint64_t)placed : placed == canonical.count;
        regularity->all += job->missing_sequence ? (uint64_t)canonical.count : 1;
    }
}

int baseline_find_roles(struct baseline *baseline, const struct job *job)
{
    struct stretch *stretches = array_new((size_t)job->step_count * 2, sizeof *stretches);
    int32_t *stage = stages_find(job);
    struct map roles;
    struct regularity regularity = {0};
    size_t capacity = 0;
    int failed = !stretches || !stage;
    map_init(&roles);
    for (size_t i = 0; i < job->operation_count; i++)
        baseline->positions[i] = -1;
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
        failed = positions_match(job, stretches, canonical, baseline->positions);
        if (failed)
            break;
        count_whole(&regularity, baseline, job, stretches, canonical);
        failed =
            note_predecessors(baseline, job, i, stretches, canonical) ||
            join_role(baseline, job, &roles, i, job->blind_to_pairs ? stage[i] : 0, canonical, &capacity);
    }
    if (regularity.all)
        baseline->regular = (double)regularity.whole / (double)regularity.all;
    map_release(&roles);
    free(stretches);
    free(stage);
    return failed ? -1 : 0;
}
