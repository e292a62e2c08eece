#include "verdict/grown_operation.h"

#include "base/array.h"
#include "base/statistics.h"
#include "baseline/cells.h"
#include "job/arrival.h"

#include <stdlib.h>

/* The steps of a row and those that it is held against: of its load, and in no row. */
struct sides {
    unsigned char *of_step; /* owned; 1: the row's, 2: the usual ones */
    int64_t *list;          /* owned; room for all steps */
};

enum { SIDE_ROW = 1, SIDE_USUAL = 2 };

static int sides_init(struct sides *sides, const struct baseline *baseline, const struct longer_steps *longer,
                      const struct longer_row *row)
{
    size_t steps = (size_t)baseline->step_count;
    *sides = (struct sides){.of_step = array_new(steps, 1), .list = array_new(steps, sizeof *sides->list)};
    if (!sides->of_step || !sides->list)
        return -1;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (longer->usual.load[step] == longer->usual.load[row->first])
            sides->of_step[step] = SIDE_USUAL;
    for (size_t i = 0; i < longer->count; i++)
        for (int32_t step = longer->rows[i].first; step >= 0 && step <= longer->rows[i].last; step++)
            sides->of_step[step] = 0;
    for (int32_t step = row->first; step <= row->last; step++)
        sides->of_step[step] = SIDE_ROW;
    return 0;
}

static void sides_release(struct sides *sides)
{
    free(sides->of_step);
    free(sides->list);
}

/* Where a rank is in the step. */
struct spot {
    int32_t role;
    int32_t position;
    size_t rank; /* in the role */
};

static int64_t value_of(const struct job *job, int32_t operation, int transfers)
{
    return transfers ? job->instances[job->operations[operation].instance].transfer_ns
                     : job->operations[operation].own_ns;
}

/*
 * The operation at the place in a step; -1. Steps under another load are of another programme, of as many
 * calls: there it is the same call of that.
 */
static int32_t cell_alike(const struct job *job, const struct baseline *baseline, const struct spot *spot,
                          int32_t step)
{
    const struct role *role = &baseline->roles[spot->role];
    struct programme_span own = role_programme(role, spot->position), other;
    for (int32_t begin = 0; begin < role->length; begin = other.end) {
        other = role_programme(role, begin);
        if (other.end - other.begin != own.end - own.begin)
            continue;
        int32_t position = other.begin + spot->position - own.begin;
        int32_t at = baseline_cell(baseline, spot->role, position, spot->rank, step);
        if (at >= 0 && job->operations[at].instance >= 0)
            return at;
    }
    return -1;
}

/* The middle value of one side; TIME_UNKNOWN. */
static int64_t middle_of(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct spot *spot, int side, int transfers)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (sides->of_step[step] != side)
            continue;
        int32_t at = cell_alike(job, baseline, spot, step);
        if (at < 0)
            continue;
        int64_t value = value_of(job, at, transfers);
        if (value != TIME_UNKNOWN)
            sides->list[count++] = value;
    }
    return median_of(sides->list, count);
}

/* By how much it grew for a rank; 0 where it did not, or nothing tells. */
static int64_t growth_at(const struct sides *sides, const struct job *job, const struct baseline *baseline,
                         const struct spot *spot, int transfers)
{
    int64_t row = middle_of(sides, job, baseline, spot, SIDE_ROW, transfers);
    int64_t usual =
        row == TIME_UNKNOWN ? TIME_UNKNOWN : middle_of(sides, job, baseline, spot, SIDE_USUAL, transfers);
    return usual != TIME_UNKNOWN && row > usual ? row - usual : 0;
}

/* Any operation at the place in the row; -1. */
static int32_t example_of(const struct job *job, const struct baseline *baseline, const struct spot *spot,
                          const struct longer_row *row)
{
    int32_t at = -1;
    for (int32_t step = row->first; at < 0 && step <= row->last; step++)
        at = cell_alike(job, baseline, spot, step);
    return at;
}

static void look_at_place(struct grown_operation *grown, const struct sides *sides, const struct job *job,
                          const struct baseline *baseline, const struct longer_row *row, struct spot spot)
{
    size_t ranks = baseline->roles[spot.role].rank_count;
    for (int transfers = 0; transfers < 2; transfers++)
        for (spot.rank = 0; spot.rank < ranks; spot.rank++) {
            int64_t ns = growth_at(sides, job, baseline, &spot, transfers);
            if (ns <= grown->grown_ns)
                continue;
            *grown = (struct grown_operation){.operation = example_of(job, baseline, &spot, row),
                                              .position = spot.position,
                                              .grown_ns = ns,
                                              .transfers = transfers,
                                              .of_ranks = (int32_t)ranks,
                                              .rank = baseline->roles[spot.role].ranks[spot.rank],
                                              .last_rank = -1};
        }
}

static void count_ranks(struct grown_operation *grown, const struct sides *sides, const struct job *job,
                        const struct baseline *baseline)
{
    struct spot spot = {.role = baseline->role_of_rank[grown->rank], .position = grown->position};
    for (spot.rank = 0; spot.rank < baseline->roles[spot.role].rank_count; spot.rank++)
        grown->ranks += growth_at(sides, job, baseline, &spot, grown->transfers) >= grown->grown_ns / 2;
}

static int count_last(struct grown_operation *grown, const struct job *job, const struct baseline *baseline,
                      const struct longer_row *row)
{
    const struct spot spot = {.role = baseline->role_of_rank[grown->rank],
                              .position = grown->position,
                              .rank = (size_t)baseline->rank_in_role[grown->rank]};
    int32_t *times = array_new(job->rank_count, sizeof *times);
    if (!times)
        return -1;
    for (int32_t step = row->first; step <= row->last; step++) {
        int32_t at = cell_alike(job, baseline, &spot, step);
        int32_t instance = at < 0 ? -1 : job->operations[at].instance;
        int32_t at_last = instance < 0 ? -1 : arrival_last(job, &job->instances[instance]);
        int32_t last = at_last < 0 ? -1 : job->operations[at_last].rank;
        if (last < 0)
            continue;
        grown->times++;
        if (++times[last] > grown->times_last) {
            grown->times_last = times[last];
            grown->last_rank = last;
        }
    }
    free(times);
    return 0;
}

/* What grew by less than one part in so many of what the steps did explains nothing of it. */
enum { PART_EXPLAINED = 10 };

int grown_operation_find(struct grown_operation *grown, const struct job *job,
                         const struct baseline *baseline, const struct longer_steps *longer,
                         const struct longer_row *row)
{
    struct sides sides;
    *grown = (struct grown_operation){.operation = -1, .last_rank = -1};
    int failed = sides_init(&sides, baseline, longer, row);
    for (size_t role = 0; !failed && role < baseline->role_count; role++)
        for (int32_t position = 0; position < baseline->roles[role].length; position++)
            look_at_place(grown, &sides, job, baseline, row, (struct spot){(int32_t)role, position, 0});
    if (!failed && grown->grown_ns < row->lost_ns / row->steps / PART_EXPLAINED)
        grown->operation = -1;
    if (!failed && grown->operation >= 0) {
        count_ranks(grown, &sides, job, baseline);
        failed = count_last(grown, job, baseline, row);
        /* People count from the step's first. */
        const struct role *role = &baseline->roles[baseline->role_of_rank[grown->rank]];
        grown->position -= role_programme(role, grown->position).begin;
    }
    sides_release(&sides);
    return failed;
}
