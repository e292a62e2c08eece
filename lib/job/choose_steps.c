#include "job/choose_steps.h"

#include "base/array.h"
#include "base/statistics.h"

#include <stdlib.h>

/* A job warms up in the first; how it ended shows in the last; these are taken whatever they need. */
enum { FIRST_STEPS = 12, LAST_STEPS = 8 };

/* So many steps on either side of where something changes tell it from what is usual there. */
enum { BESIDE = 3 };

/* What is usual shows in rows of so many steps, as regular stretches are no shorter; and in so many rows. */
enum { ROW_STEPS = 16, MOST_ROWS = 32 };

/* Tables of ranks by steps take as much as an operation for so many of their cells. */
enum { CELLS_AN_OPERATION = 4 };

/* The ends of single ranks' records may take a part of the room, and what stands out another. */
enum { PART_OF_ENDS = 8, PART_OF_UNUSUAL = 2 };

/* Steps that stand out by no more than most do are not unusual. */
static const double BEYOND_SPREAD = 6;

/* Steps in a row that stand out. */
struct unusual {
    int32_t first;
    int32_t last;
    double most;
};

struct choice {
    const struct screening *screening;
    unsigned char *taken; /* [step] */
    int64_t left;         /* room, in operations */
    struct unusual *unusual;
    size_t unusual_count;
    size_t unusual_capacity;
};

static int64_t cost_of(const struct choice *choice, int32_t step)
{
    return choice->screening->operations[step] +
           (int64_t)(choice->screening->rank_count / CELLS_AN_OPERATION) + 1;
}

/* Steps outside of the run are passed over. `least` of the room is not to be used. */
static void take(struct choice *choice, int32_t first, int32_t last, int64_t least)
{
    first = first < 0 ? 0 : first;
    last = last < choice->screening->step_count ? last : choice->screening->step_count - 1;
    for (int32_t step = first; step <= last; step++) {
        if (choice->taken[step] || choice->left - cost_of(choice, step) < least)
            continue;
        choice->taken[step] = 1;
        choice->left -= cost_of(choice, step);
    }
}

/* From where on a step stands out in this run. */
static int find_limit(const struct screening *screening, double *limit)
{
    size_t steps = (size_t)screening->step_count;
    int64_t *list = array_new(steps + 1, sizeof *list);
    static const double UNIT = 1000;
    if (!list)
        return -1;
    for (size_t i = 0; i < steps; i++)
        list[i] =
            screening->stands_out[i] < 1e12 ? (int64_t)(screening->stands_out[i] * UNIT) : INT64_MAX / 2;
    int64_t middle = median_of(list, steps);
    double spread = (double)sigma_about(list, steps, middle);
    *limit = ((double)middle + BEYOND_SPREAD * spread) / UNIT;
    if (*limit < SCREENED_UNUSUAL)
        *limit = SCREENED_UNUSUAL;
    free(list);
    return 0;
}

static int by_most(const void *a, const void *b)
{
    const struct unusual *left = a, *right = b;
    if (left->most != right->most)
        return left->most > right->most ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

/* One step between two that stand out does not part them. */
static int find_unusual(struct choice *choice, double limit)
{
    const struct screening *screening = choice->screening;
    for (int32_t step = 0; step < screening->step_count; step++) {
        if (screening->stands_out[step] < limit)
            continue;
        struct unusual *last = choice->unusual_count ? &choice->unusual[choice->unusual_count - 1] : NULL;
        if (!last || step - last->last > 2) {
            if (array_reserve((void **)&choice->unusual, &choice->unusual_capacity, choice->unusual_count + 1,
                              sizeof *choice->unusual))
                return -1;
            last = &choice->unusual[choice->unusual_count++];
            *last = (struct unusual){.first = step};
        }
        last->last = step;
        if (screening->stands_out[step] > last->most)
            last->most = screening->stands_out[step];
    }
    array_sort(choice->unusual, choice->unusual_count, sizeof *choice->unusual, by_most);
    return 0;
}

/* Where the records of ranks end that end before the job does. */
static void take_ends(struct choice *choice, int64_t least)
{
    const struct screening *screening = choice->screening;
    for (size_t i = 0; i < screening->rank_count; i++) {
        int32_t last = screening->last_step[i];
        if (last >= 0 && last < screening->step_count - 1)
            take(choice, last - BESIDE, last + BESIDE, least);
    }
}

/* First a step of each, the most striking first, then what is beside it. */
static void take_unusual(struct choice *choice, int64_t least)
{
    for (size_t i = 0; i < choice->unusual_count; i++) {
        const struct unusual *unusual = &choice->unusual[i];
        take(choice, unusual->first - BESIDE, unusual->first + BESIDE, least);
        take(choice, unusual->last - BESIDE, unusual->last + BESIDE, least);
    }
}

/* Rows of steps that are not taken yet, evenly spread over these. */
static void take_rest(struct choice *choice)
{
    int32_t steps = choice->screening->step_count, free_steps = 0;
    int64_t cost = 0;
    for (int32_t step = 0; step < steps; step++)
        if (!choice->taken[step]) {
            free_steps++;
            cost += cost_of(choice, step);
        }
    if (!free_steps || choice->left <= 0)
        return;
    int64_t fit =
        choice->left >= cost ? free_steps : (int64_t)((double)choice->left / (double)cost * free_steps);
    int64_t rows = fit / ROW_STEPS < 1 ? 1 : fit / ROW_STEPS;
    rows = rows > MOST_ROWS ? MOST_ROWS : rows;
    int64_t length = fit / rows < 1 ? 1 : fit / rows, number = 0;
    for (int32_t step = 0; step < steps; step++) {
        if (choice->taken[step])
            continue;
        int64_t row = number * rows / free_steps, begin = row * free_steps / rows,
                end = (row + 1) * free_steps / rows;
        int64_t first = begin + (end - begin - length) / 2;
        if (number >= first && number < first + length)
            take(choice, step, step, 0);
        number++;
    }
}

static int gather(const struct choice *choice, struct chosen_steps *chosen)
{
    size_t capacity = 0;
    for (int32_t step = 0; step < choice->screening->step_count; step++) {
        if (!choice->taken[step])
            continue;
        if (!chosen->count || chosen->excerpts[chosen->count - 1].end < step) {
            if (array_reserve((void **)&chosen->excerpts, &capacity, chosen->count + 1,
                              sizeof *chosen->excerpts))
                return -1;
            chosen->excerpts[chosen->count++] = (struct job_excerpt){.first = step};
        }
        chosen->excerpts[chosen->count - 1].end = step + 1;
    }
    return 0;
}

static int is_any_taken(const struct choice *choice, const struct unusual *unusual)
{
    for (int32_t step = unusual->first; step <= unusual->last; step++)
        if (choice->taken[step])
            return 1;
    return 0;
}

static void count_left_out(const struct choice *choice, struct chosen_steps *chosen)
{
    chosen->unusual = (int32_t)choice->unusual_count;
    for (size_t i = 0; i < choice->unusual_count; i++) {
        if (is_any_taken(choice, &choice->unusual[i]))
            continue;
        if (!chosen->left_out++ || choice->unusual[i].first < chosen->left_first)
            chosen->left_first = choice->unusual[i].first;
    }
}

int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 struct chosen_steps *chosen)
{
    double limit;
    int64_t room = most_operations - screening->in_no_step;
    struct choice choice = {.screening = screening,
                            .taken = array_new((size_t)screening->step_count + 1, 1),
                            .left = room > 0 ? room : 0};
    *chosen = (struct chosen_steps){0};
    int failed = !choice.taken || find_limit(screening, &limit) || find_unusual(&choice, limit);
    if (!failed) {
        take(&choice, 0, first_step + FIRST_STEPS - 1, INT64_MIN / 2);
        take(&choice, screening->step_count - LAST_STEPS, screening->step_count - 1, INT64_MIN / 2);
        take_ends(&choice, choice.left - choice.left / PART_OF_ENDS);
        take_unusual(&choice, choice.left - choice.left / PART_OF_UNUSUAL);
        take_rest(&choice);
        failed = gather(&choice, chosen);
        count_left_out(&choice, chosen);
    }
    free(choice.taken);
    free(choice.unusual);
    return failed ? -1 : 0;
}
