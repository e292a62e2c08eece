#include "job/step_rows.h"

#include "base/array.h"
#include "job/excerpts.h"
#include "store/scan.h"

#include <stdlib.h>

/* Tables of ranks by steps take as much as an operation for so many of their cells. */
enum { CELLS_AN_OPERATION = 4 };

/* Steps that are loaded beside a row: one before it and one after. */
enum { BESIDE = 1 };

/* A row is that part of the memory at the least, whatever is loaded with it. */
enum { LEAST_PART = 4 };

/* How many operations there are of steps, by their instances. */
struct costs {
    int64_t *of_step; /* owned */
    int32_t step_count;
    int64_t in_no_step;
    int64_t most_members; /* of an instance: a damaged store says what it likes */
};

static int count_block(struct costs *costs, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {INSTANCE_STEP, INSTANCE_MEMBERS};
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    for (size_t row = 0; row < scan->rows.count; row++) {
        int64_t step = block_value(&scan->rows, INSTANCE_STEP, row, -1),
                members = block_value(&scan->rows, INSTANCE_MEMBERS, row, 0);
        members = members < 0 ? 0 : members > costs->most_members ? costs->most_members : members;
        if (step < 0 || step >= costs->step_count)
            costs->in_no_step += members;
        else
            costs->of_step[step] += members;
    }
    return 0;
}

static int costs_init(struct costs *costs, const struct job *job, struct error *error)
{
    int64_t cells = (int64_t)job->rank_count;
    *costs = (struct costs){.step_count = job->step_count, .most_members = cells};
    costs->of_step = array_new((size_t)job->step_count + 1, sizeof *costs->of_step);
    if (!costs->of_step)
        return error_no_memory(error);
    for (int32_t step = 0; step < job->step_count; step++)
        costs->of_step[step] = cells / CELLS_AN_OPERATION + 1;
    struct block_scan scan;
    int more = scan_instances(&scan, job->store, job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (count_block(costs, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

static int64_t cost_before(const struct costs *costs, int32_t end)
{
    int64_t cost = 0;
    for (int32_t step = 0; step < end && step < costs->step_count; step++)
        cost += costs->of_step[step];
    return cost;
}

int64_t step_rows_needed(const struct step_sizes *sizes, int64_t most)
{
    int64_t mean = sizes->in_steps / sizes->step_count + 1;
    int64_t room = most - sizes->with_each - (2 * BESIDE + 1) * mean,
            least = mean > most / LEAST_PART ? mean : most / LEAST_PART;
    int64_t count = sizes->in_steps / (room > least ? room : least) + 1;
    return count < sizes->step_count ? count : sizes->step_count;
}

static int cut(struct step_rows *rows, const struct costs *costs, int64_t count)
{
    int64_t all = cost_before(costs, costs->step_count), done = 0;
    rows->ends = array_new((size_t)count + 1, sizeof *rows->ends);
    if (!rows->ends)
        return -1;
    for (int32_t step = 0; step < costs->step_count; step++) {
        done += costs->of_step[step];
        int is_last = step + 1 == costs->step_count;
        if (is_last || (double)done * (double)count >= (double)all * (double)(rows->count + 1))
            rows->ends[rows->count++] = step + 1;
    }
    return 0;
}

static int cut_by_costs(struct step_rows *rows, const struct costs *costs, int64_t most)
{
    const struct step_sizes sizes = {.in_steps = cost_before(costs, costs->step_count),
                                     .with_each =
                                         costs->in_no_step + cost_before(costs, rows->first_step + 1),
                                     .step_count = costs->step_count};
    return cut(rows, costs, step_rows_needed(&sizes, most));
}

int step_rows_find(struct step_rows *rows, const struct job *job, int64_t most_operations,
                   struct error *error)
{
    struct costs costs;
    *rows = (struct step_rows){.first_step = job->first_step};
    int failed = costs_init(&costs, job, error);
    if (!failed && cut_by_costs(rows, &costs, most_operations))
        failed = error_no_memory(error);
    free(costs.of_step);
    return failed ? -1 : 0;
}

void step_rows_release(struct step_rows *rows)
{
    free(rows->ends);
    *rows = (struct step_rows){0};
}

static int32_t begin_of(const struct step_rows *rows, size_t row)
{
    return row ? rows->ends[row - 1] : 0;
}

struct job_excerpt *step_row_excerpts(const struct step_rows *rows, size_t row, size_t *count)
{
    struct job_excerpt *excerpts = array_new(2, sizeof *excerpts);
    int32_t steps = rows->ends[rows->count - 1], begins = rows->first_step + 1,
            first = begin_of(rows, row) - BESIDE, end = rows->ends[row] + BESIDE;
    if (!excerpts)
        return NULL;
    begins = begins < steps ? begins : steps;
    end = end < steps ? end : steps;
    *count = first > begins ? 2 : 1;
    excerpts[0] = (struct job_excerpt){.end = *count == 2 || begins > end ? begins : end};
    excerpts[1] = (struct job_excerpt){.first = first, .end = end};
    return excerpts;
}

void step_row_steps(const struct step_rows *rows, size_t row, const struct job *job, int32_t *first,
                    int32_t *end)
{
    *first = row ? job_loaded_step(job, begin_of(rows, row)) : INT32_MIN;
    *end = row + 1 < rows->count ? job_loaded_step(job, rows->ends[row]) : INT32_MAX;
}
