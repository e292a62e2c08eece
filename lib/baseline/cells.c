#include "baseline/cells.h"

#include "base/array.h"

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
        if (role < 0 || baseline->positions[i] < 0 || operation->step < 0)
            continue;
        size_t cell = cell_number(&baseline->roles[role], baseline->step_count, baseline->positions[i],
                                  (size_t)baseline->rank_in_role[operation->rank], operation->step);
        baseline->cells[role][cell] = (int32_t)i;
    }
}

int baseline_fill_cells(struct baseline *baseline, const struct job *job)
{
    if (make_cells(baseline))
        return -1;
    fill_cells(baseline, job);
    return 0;
}
