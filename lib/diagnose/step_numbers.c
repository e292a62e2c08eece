/*
 * Positions in steps by sequence numbers, for ranks that lost records: the distance of an operation from the
 * number at which its step begins, and a sequence made of many steps where none is complete. Called by
 * roles.c and sequence_match.c.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* Operations with numbers of their own: of a communicator and function; of a pair of ranks and a direction.
 */
struct map_key step_numbers_series(const struct job *job, const struct job_operation *operation)
{
    struct map_key key = {{(uint64_t)operation->communicator, operation->function}};
    if (function_is_point_to_point(operation->function)) {
        const struct job_instance *instance = &job->instances[operation->instance];
        key.part[2] = (uint64_t)instance->sender;
        key.part[3] = (uint64_t)instance->receiver;
    }
    return key;
}

static int list_series(struct step_numbers *numbers, const struct job_rank *rank)
{
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        if (!map_put(&numbers->series, step_numbers_series(numbers->job, &numbers->job->operations[i]),
                     (int64_t)numbers->series.count, NULL))
            return -1;
    return 0;
}

static int64_t *begin_of(const struct step_numbers *numbers, const struct job_operation *operation)
{
    const int64_t *series = map_get(&numbers->series, step_numbers_series(numbers->job, operation));
    if (!series || operation->step < 0 || operation->step >= numbers->steps)
        return NULL;
    return &numbers->begins[(size_t)*series * (size_t)numbers->steps + (size_t)operation->step];
}

static void take_least(const struct step_numbers *numbers, const struct job_rank *rank)
{
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &numbers->job->operations[i];
        int64_t number = job_sequence(numbers->job, operation), *begin = begin_of(numbers, operation);
        if (begin && number >= 0 && (*begin < 0 || number < *begin))
            *begin = number;
    }
}

int step_numbers_init(struct step_numbers *numbers, const struct job *job, const struct job_rank *rank)
{
    *numbers = (struct step_numbers){.job = job, .steps = job->step_count, .is_even = 1};
    map_init(&numbers->series);
    if (list_series(numbers, rank))
        return -1;
    size_t steps = (size_t)job->step_count, count = numbers->series.count;
    numbers->begins = array_new(count * steps, sizeof *numbers->begins);
    if (!numbers->begins)
        return -1;
    for (size_t i = 0; i < count * steps; i++)
        numbers->begins[i] = -1;
    take_least(numbers, rank);
    for (size_t i = 0; i < count; i++) {
        int64_t growth = even_begins(numbers->begins + i * steps, steps);
        numbers->is_even &= growth > 0;
        if (growth < 0)
            return -1;
    }
    return 0;
}

void step_numbers_release(struct step_numbers *numbers)
{
    map_release(&numbers->series);
    free(numbers->begins);
    *numbers = (struct step_numbers){.begins = NULL};
}

int64_t step_numbers_slot(const struct step_numbers *numbers, const struct job_operation *operation)
{
    const int64_t *begin = begin_of(numbers, operation);
    int64_t number = job_sequence(numbers->job, operation);
    return begin && *begin >= 0 && number >= *begin ? number - *begin : -1;
}

struct map_key step_numbers_key(const struct step_numbers *numbers, const struct job_operation *operation)
{
    struct map_key key = step_numbers_series(numbers->job, operation);
    key.part[0] = key.part[0] << 8 | operation->function;
    key.part[1] = (uint64_t)step_numbers_slot(numbers, operation);
    return key;
}

/* The operations that steps have in common, by their keys. */
struct common {
    const struct step_numbers *numbers;
    const struct stretch *stretches;
    int32_t step_count;
    struct map keys;        /* key -> index in the arrays */
    int32_t *operations;    /* the first one with the key */
    int64_t *seen;          /* steps that have it */
    int64_t *alike;         /* those of them in which it has the same size as the first one */
    struct follows follows; /* which key comes next after which in a step */
    int32_t count;
};

static int take_step(struct common *common, int32_t step)
{
    const struct job *job = common->numbers->job;
    const struct stretch *stretch = &common->stretches[step];
    int32_t before = -1;
    for (int32_t i = stretch->first; i < stretch->first + stretch->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int added;
        if (operation->step != step || step_numbers_slot(common->numbers, operation) < 0)
            continue;
        int64_t *key =
            map_put(&common->keys, step_numbers_key(common->numbers, operation), common->count, &added);
        if (!key || (before >= 0 && follows_add(&common->follows, before, (int32_t)*key)))
            return -1;
        before = (int32_t)*key;
        if (added)
            common->operations[common->count++] = i;
        common->seen[before]++;
        common->alike[before] += operation->bytes == job->operations[common->operations[before]].bytes;
    }
    return 0;
}

static int common_init(struct common *common, size_t most)
{
    map_init(&common->keys);
    follows_init(&common->follows);
    common->operations = array_new(most, sizeof *common->operations);
    common->seen = array_new(most, sizeof *common->seen);
    common->alike = array_new(most, sizeof *common->alike);
    return common->operations && common->seen && common->alike ? 0 : -1;
}

static void common_release(struct common *common)
{
    map_release(&common->keys);
    follows_release(&common->follows);
    free(common->operations);
    free(common->seen);
    free(common->alike);
}

/* Keeps what at least half of the steps have. */
static int32_t keep_usual(const struct common *common, const int32_t *order, int64_t steps,
                          struct merged_step *merged)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < common->count; i++) {
        int32_t key = order[i];
        if (common->seen[key] * 2 < steps)
            continue;
        merged->varies[kept] = common->alike[key] * 2 < common->seen[key];
        merged->operations[kept++] = common->operations[key];
    }
    return kept;
}

static int merge(struct common *common, int32_t first_step, struct merged_step *merged)
{
    int64_t steps = 0;
    for (int32_t step = first_step; step < common->step_count; step++) {
        steps += common->stretches[step].count > 0;
        if (common->stretches[step].count && take_step(common, step))
            return -1;
    }
    size_t count = (size_t)common->count;
    int32_t *order = array_new(count, sizeof *order);
    merged->operations = array_new(count, sizeof *merged->operations);
    merged->varies = array_new(count, 1);
    for (int32_t i = 0; order && i < common->count; i++)
        order[i] = i;
    int failed =
        !order || !merged->operations || !merged->varies || follows_sort(&common->follows, order, count);
    if (!failed)
        merged->count = keep_usual(common, order, steps, merged);
    free(order);
    return failed ? -1 : 0;
}

int merged_step_find(struct merged_step *merged, const struct step_numbers *numbers,
                     const struct stretch *stretches, int32_t first_step)
{
    struct common common = {
        .numbers = numbers, .stretches = stretches, .step_count = numbers->job->step_count};
    size_t most = 0;
    *merged = (struct merged_step){.operations = NULL};
    for (int32_t step = first_step; step < common.step_count; step++)
        most += (size_t)stretches[step].count;
    int failed = common_init(&common, most) || merge(&common, first_step, merged);
    common_release(&common);
    return failed ? -1 : 0;
}

void merged_step_release(struct merged_step *merged)
{
    free(merged->operations);
    free(merged->varies);
    *merged = (struct merged_step){.operations = NULL};
}
