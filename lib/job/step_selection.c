/*
 * Chooses the steps to load from a run that is too large for memory, after screening.c scanned it, and
 * converts step numbers between the run and the job.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"

#include <math.h>
#include <stdlib.h>

/*
 * The first steps show the warm-up, the last ones show how the job ended. If there is room for few steps,
 * these get only a part of the room (1/5, 1/6), but at least LEAST_ENDS steps.
 */
enum { FIRST_STEPS = 12, LAST_STEPS = 8, PART_OF_FIRST = 5, PART_OF_LAST = 6, LEAST_ENDS = 2 };

/*
 * With room for fewer than FEW_STEPS, all other steps form one row. With fewer than SOME_STEPS, steps that
 * stand out get their own rounds first.
 */
enum { FEW_STEPS = 24, SOME_STEPS = 48 };

/* This many steps on either side of a change are needed to tell it from the normal steps there. */
enum { BESIDE = 3 };

/*
 * Normal steps are loaded in rows of this length, which is the shortest for a regular stretch, and in at most
 * this many rows.
 */
enum { ROW_STEPS = 16, MOST_ROWS = 32 };

/* This many cells of tables of ranks by steps need as much memory as one operation. */
enum { CELLS_AN_OPERATION = 4 };

/*
 * The parts of the room (1/8, 1/2, 1/3) for the ends of single ranks' records, for changes, and for steps
 * that stand out.
 */
enum { PART_OF_ENDS = 8, PART_OF_CHANGES = 2, PART_OF_UNUSUAL = 3 };

/* The baseline around a step is the median of this many steps on either side. */
enum { AROUND = 8 };

/*
 * A step is unusual if its distance from the steps around it exceeds UNUSUAL spreads of such distances. There
 * is a change if the medians before and after a step differ by CHANGED spreads.
 */
static const double UNUSUAL = 6, CHANGED = 3;

/* Steps at half of these limits are loaded if there is room, but not mentioned if there is none. */
static const double WORTH_A_LOOK = 0.5;

/* Differences below this many units of screening.c are ignored, even if other steps are very regular. */
static const double LEAST_UNUSUAL = 4, LEAST_CHANGED = 1;

/* A range of steps that stand out; for a change, both are the first step after it. */
struct unusual {
    int32_t first;
    int32_t last;
    double most;
};

struct unusual_list {
    struct unusual *items; /* owned; the greatest first */
    size_t count;
    size_t capacity;
    double limit; /* from which value on one is mentioned if it is not loaded */
};

struct choice {
    const struct screening *screening;
    unsigned char *taken; /* [step]: the round, from 1 on, that it is in; 0: none */
    int32_t first_step;
    int32_t round;  /* the current round */
    int32_t rounds; /* number of rounds */
    int32_t most_rounds;
    int64_t room; /* of each round, in operations */
    int64_t left; /* unused room of the current round */
    struct unusual_list unusual;
    struct unusual_list changes;
};

static int64_t cost_of(const struct choice *choice, int32_t step)
{
    return choice->screening->operations[step] +
           (int64_t)(choice->screening->rank_count / CELLS_AN_OPERATION) + 1;
}

/* Takes the steps that are in the run and not taken yet. Room of `least` operations must remain. */
static void take(struct choice *choice, int32_t first, int32_t last, int64_t least)
{
    first = first < 0 ? 0 : first;
    last = last < choice->screening->step_count ? last : choice->screening->step_count - 1;
    for (int32_t step = first; step <= last; step++) {
        if (choice->taken[step] || choice->left - cost_of(choice, step) < least)
            continue;
        choice->taken[step] = (unsigned char)choice->round;
        choice->left -= cost_of(choice, step);
    }
}

/* The median of the steps from `first` up to but not including `end`, as far as the run has them. */
static double middle_of(const struct screening *screening, int32_t first, int32_t end)
{
    double list[2 * AROUND + 1];
    size_t count = 0;
    for (int32_t step = first < 0 ? 0 : first; step < end && step < screening->step_count; step++)
        list[count++] = screening->stands_out[step];
    sort_reals(list, count);
    return count ? list[(count - 1) / 2] : 0;
}

/* The usual spread of values about 0. */
static double spread_of(const double *values, size_t count, int64_t *list)
{
    static const double UNIT = 1e6, MOST = 1e12;
    for (size_t i = 0; i < count; i++)
        list[i] = (int64_t)(UNIT * (values[i] < MOST ? values[i] : MOST));
    return (double)sigma_about(list, count, 0) / UNIT;
}

static int by_most(const void *a, const void *b)
{
    const struct unusual *left = a, *right = b;
    if (left->most != right->most)
        return left->most > right->most ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

static int add(struct unusual_list *list, int32_t step, double most)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    list->items[list->count++] = (struct unusual){step, step, most};
    return 0;
}

/* A single normal step between two that stand out does not separate them. */
static int find_unusual(const struct screening *screening, const double *apart, struct unusual_list *list)
{
    for (int32_t step = 0; step < screening->step_count; step++) {
        struct unusual *last = list->count ? &list->items[list->count - 1] : NULL;
        if (apart[step] < WORTH_A_LOOK * list->limit)
            continue;
        if ((!last || step - last->last > 2) && add(list, step, apart[step]))
            return -1;
        last = &list->items[list->count - 1];
        last->last = step;
        last->most = apart[step] > last->most ? apart[step] : last->most;
    }
    array_sort(list->items, list->count, sizeof *list->items, by_most);
    return 0;
}

/*
 * The boundary near a step that best separates steps similar to those before from steps similar to those
 * after, with the fewest steps on the wrong side.
 */
static int32_t boundary_at(const struct screening *screening, int32_t step)
{
    double before = middle_of(screening, step - AROUND, step),
           then = middle_of(screening, step, step + AROUND);
    int32_t wrong = 0, least = 0, best = step - AROUND;
    for (int32_t at = step - AROUND; at < step + AROUND; at++) {
        double value = screening->stands_out[at];
        wrong += (value - before) * (value - before) < (value - then) * (value - then) ? -1 : 1;
        if (wrong < least) {
            least = wrong;
            best = at + 1;
        }
    }
    return best;
}

/* Nearby changes are merged if they have the same boundary; the greatest determines it. */
static int find_changes(const struct screening *screening, const double *changes, struct unusual_list *list)
{
    size_t kept = 0, steps = (size_t)screening->step_count;
    unsigned char *is_near = array_new(steps + 1, 1);
    int failed = !is_near;
    for (int32_t step = AROUND; !failed && step + AROUND <= screening->step_count; step++)
        if (changes[step] >= WORTH_A_LOOK * list->limit)
            failed = add(list, step, changes[step]);
    array_sort(list->items, list->count, sizeof *list->items, by_most);
    for (size_t i = 0; !failed && i < list->count; i++) {
        int32_t at = boundary_at(screening, list->items[i].first), first = at < BESIDE ? 0 : at - BESIDE;
        if (is_near[at])
            continue;
        list->items[kept++] = (struct unusual){at, at, list->items[i].most};
        for (int32_t near = first; near <= at + BESIDE && near <= screening->step_count; near++)
            is_near[near] = 1;
    }
    if (!failed)
        list->count = kept;
    free(is_near);
    return failed ? -1 : 0;
}

static int find_all(struct choice *choice)
{
    const struct screening *screening = choice->screening;
    size_t steps = (size_t)screening->step_count;
    double *apart = array_new(steps + 1, sizeof *apart), *changes = array_new(steps + 1, sizeof *changes);
    int64_t *list = array_new(steps + 1, sizeof *list);
    int failed = !apart || !changes || !list;
    for (int32_t step = 0; !failed && step < screening->step_count; step++) {
        apart[step] =
            fabs(screening->stands_out[step] - middle_of(screening, step - AROUND, step + AROUND + 1));
        if (step >= AROUND && step + AROUND <= screening->step_count)
            changes[step] =
                fabs(middle_of(screening, step, step + AROUND) - middle_of(screening, step - AROUND, step));
    }
    double spread = failed ? 0 : spread_of(apart, steps, list);
    choice->unusual.limit = fmax(LEAST_UNUSUAL, UNUSUAL * spread);
    choice->changes.limit = fmax(LEAST_CHANGED, CHANGED * spread);
    failed = failed || find_unusual(screening, apart, &choice->unusual) ||
             find_changes(screening, changes, &choice->changes);
    free(apart);
    free(changes);
    free(list);
    return failed ? -1 : 0;
}

/* Takes the steps where the records of ranks end before the job does. */
static void take_ends(struct choice *choice, int64_t least)
{
    const struct screening *screening = choice->screening;
    for (size_t i = 0; i < screening->rank_count; i++) {
        int32_t last = screening->last_step[i];
        if (last >= 0 && last < screening->step_count - 1)
            take(choice, last - BESIDE, last + BESIDE, least);
    }
}

/* Takes the greatest first, with the steps beside them. */
static void take_list(struct choice *choice, const struct unusual_list *list, int64_t least)
{
    for (size_t i = 0; i < list->count; i++)
        take(choice, list->items[i].first - BESIDE, list->items[i].last + BESIDE, least);
}

/* Takes one row: around the greatest change, else around what stands out most, else in the middle. */
static void take_one_row(struct choice *choice)
{
    int32_t steps = choice->screening->step_count, middle = steps / 2, length = 0;
    if (choice->changes.count || choice->unusual.count)
        middle = choice->changes.count ? choice->changes.items[0].first : choice->unusual.items[0].first;
    int64_t cost = 0;
    while (length < steps && (cost += cost_of(choice, middle < steps ? middle : steps - 1)) <= choice->left)
        length++;
    take(choice, middle - length / 2, middle - length / 2 + length - 1, 0);
}

/* Takes rows that are evenly spaced over the steps not taken yet. */
static void take_rest(struct choice *choice)
{
    int32_t steps = choice->screening->step_count, free_steps = 0;
    int64_t cost = 0;
    for (int32_t step = 0; step < steps; step++)
        if (!choice->taken[step]) {
            free_steps++;
            cost += cost_of(choice, step);
        }
    if (choice->left >= cost)
        take(choice, 0, steps - 1, 0);
    if (!free_steps || choice->left <= 0 || choice->left >= cost)
        return;
    int64_t fit = (int64_t)((double)choice->left / (double)cost * free_steps);
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

/* All rounds contain the first step. */
static int is_in_round(const struct choice *choice, int32_t step, int32_t round)
{
    return choice->taken[step] == round || step <= choice->first_step;
}

static int gather(const struct choice *choice, int32_t number, struct step_round *round)
{
    size_t capacity = 0;
    for (int32_t step = 0; step < choice->screening->step_count; step++) {
        if (!is_in_round(choice, step, number))
            continue;
        if (!round->count || round->excerpts[round->count - 1].end < step) {
            if (array_reserve((void **)&round->excerpts, &capacity, round->count + 1,
                              sizeof *round->excerpts))
                return -1;
            round->excerpts[round->count++] = (struct job_excerpt){.first = step};
        }
        round->excerpts[round->count - 1].end = step + 1;
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

/* For each range that is left out, `beyond` further steps count as left out. */
static void count_left_out(const struct choice *choice, const struct unusual_list *list, int32_t beyond,
                           struct chosen_steps *chosen)
{
    for (size_t i = 0; i < list->count && list->items[i].most >= list->limit; i++) {
        chosen->unusual++;
        if (is_any_taken(choice, &list->items[i]))
            continue;
        chosen->left_steps += list->items[i].last - list->items[i].first + 1 + beyond;
        if (!chosen->left_out++ || list->items[i].first < chosen->left_first)
            chosen->left_first = list->items[i].first;
    }
}

/* For how many steps of average size there is room. */
static int64_t steps_that_fit(const struct choice *choice)
{
    int64_t cost = 0;
    for (int32_t step = 0; step < choice->screening->step_count; step++)
        cost += cost_of(choice, step);
    return cost > 0 ? (int64_t)((double)choice->left / (double)cost * choice->screening->step_count) : 0;
}

static int32_t of_ends(int64_t part, int32_t most)
{
    return (int32_t)(part > most ? most : part < LEAST_ENDS ? LEAST_ENDS : part);
}

/* How many steps on either side of a change fit into a round, besides the first step. */
static int32_t beside_in(int64_t fit)
{
    int64_t most = (fit - 1) / 2;
    return most < BESIDE ? 0 : most < AROUND ? (int32_t)most : AROUND;
}

static int begin_round(struct choice *choice)
{
    if (choice->rounds >= choice->most_rounds)
        return 0;
    choice->round = ++choice->rounds;
    choice->left = choice->room;
    for (int32_t step = 0; step <= choice->first_step && step < choice->screening->step_count; step++)
        choice->left -= cost_of(choice, step);
    return 1;
}

/*
 * Makes a round for a place, with steps on both sides of it: a delay before steps that are not loaded would
 * not show in the steps after them (lib/diagnose/replay.c). A place that is mostly loaded already is skipped.
 */
static void take_window(struct choice *choice, int32_t first, int32_t last)
{
    int32_t steps = choice->screening->step_count, there = 0;
    first = first < 0 ? 0 : first;
    last = last < steps ? last : steps - 1;
    for (int32_t step = first; step <= last; step++)
        there += !choice->taken[step];
    if (there * 2 > last - first + 1 && begin_round(choice))
        take(choice, first, last, 0);
}

/*
 * If many consecutive steps stand out, makes a round for their beginning and one for their end, so that half
 * of each round consists of normal steps.
 */
static void take_windows(struct choice *choice, const struct unusual_list *list, int32_t beside)
{
    for (size_t i = 0; i < list->count && list->items[i].most >= list->limit; i++) {
        const struct unusual *here = &list->items[i];
        int32_t length = list == &choice->unusual ? here->last - here->first + 1 : beside + 1;
        if (is_any_taken(choice, here))
            continue;
        if (length <= beside) {
            int32_t before = beside - length / 2;
            take_window(choice, here->first - before, here->first - before + 2 * beside - 1);
            continue;
        }
        take_window(choice, here->first - beside, here->first + beside - 1);
        if (list == &choice->unusual)
            take_window(choice, here->last - beside + 1, here->last + beside);
    }
}

/* If there is room in the first round, it has both steps that stand out and normal steps. */
static void take_middle(struct choice *choice, int64_t fit)
{
    if (fit >= FEW_STEPS) {
        take_list(choice, &choice->changes, choice->left - choice->left / PART_OF_CHANGES);
        take_list(choice, &choice->unusual, choice->left - choice->left / PART_OF_UNUSUAL);
        take_rest(choice);
    } else if (choice->rounds == 1)
        take_one_row(choice);
    else
        take_rest(choice);
}

static void take_more_rounds(struct choice *choice, int64_t fit)
{
    int64_t left = choice->left;
    int32_t beside = beside_in(fit);
    if (!beside)
        return;
    take_windows(choice, &choice->changes, beside);
    take_windows(choice, &choice->unusual, beside);
    choice->round = 1;
    choice->left = left;
}

static void take_all(struct choice *choice)
{
    int32_t steps = choice->screening->step_count;
    int64_t fit = steps_that_fit(choice);
    take(choice, 0, choice->first_step + of_ends(fit / PART_OF_FIRST, FIRST_STEPS) - 1, INT64_MIN / 2);
    take(choice, steps - of_ends(fit / PART_OF_LAST, LAST_STEPS), steps - 1, INT64_MIN / 2);
    take_ends(choice, choice->left - choice->left / PART_OF_ENDS);
    if (fit < SOME_STEPS)
        take_more_rounds(choice, fit);
    take_middle(choice, fit);
    if (fit >= SOME_STEPS)
        take_more_rounds(choice, fit);
}

static int gather_all(const struct choice *choice, struct chosen_steps *chosen)
{
    for (int32_t round = 1; round <= choice->rounds; round++)
        if (gather(choice, round, &chosen->rounds[chosen->count++]))
            return -1;
    return 0;
}

int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 int32_t most_rounds, struct chosen_steps *chosen)
{
    int64_t room = most_operations > screening->in_no_step ? most_operations - screening->in_no_step : 0;
    struct choice choice = {.screening = screening,
                            .taken = array_new((size_t)screening->step_count + 1, 1),
                            .first_step = first_step,
                            .round = 1,
                            .rounds = 1,
                            .most_rounds = most_rounds,
                            .room = room,
                            .left = room};
    *chosen = (struct chosen_steps){.count = 0};
    int failed = !choice.taken || find_all(&choice);
    if (!failed) {
        take_all(&choice);
        failed = gather_all(&choice, chosen);
        count_left_out(&choice, &choice.unusual, 0, chosen);
        count_left_out(&choice, &choice.changes, AROUND, chosen);
    }
    free(choice.taken);
    free(choice.unusual.items);
    free(choice.changes.items);
    return failed ? -1 : 0;
}

void chosen_steps_release(struct chosen_steps *chosen)
{
    for (size_t i = 0; i < chosen->count; i++)
        free(chosen->rounds[i].excerpts);
    *chosen = (struct chosen_steps){.count = 0};
}

static int32_t length_of(const struct job_excerpt *excerpt)
{
    return excerpt->end - excerpt->first;
}

int job_set_excerpts(struct job *job, struct job_excerpt *excerpts, size_t count)
{
    int32_t at = 0;
    size_t steps = count ? count - 1 : 0;
    for (size_t i = 0; i < count; i++)
        steps += (size_t)length_of(&excerpts[i]);
    job->excerpts = excerpts;
    job->step_numbers = array_new(steps, sizeof *job->step_numbers);
    if (!job->step_numbers)
        return -1;
    for (size_t i = 0; i < count; i++) {
        excerpts[i].at = at;
        for (int32_t step = excerpts[i].first; step < excerpts[i].end; step++)
            job->step_numbers[at++] = step;
        if (i + 1 < count)
            job->step_numbers[at++] = -1;
    }
    job->excerpt_count = count;
    job->run_step_count = job->step_count;
    job->step_count = at;
    return 0;
}

static int begins_up_to(const void *excerpt, const void *step)
{
    return ((const struct job_excerpt *)excerpt)->first <= *(const int32_t *)step;
}

static int stands_up_to(const void *excerpt, const void *step)
{
    return ((const struct job_excerpt *)excerpt)->at <= *(const int32_t *)step;
}

int32_t job_loaded_step(const struct job *job, int64_t run_step)
{
    if (run_step < 0 || run_step >= job_run_steps(job))
        return -1;
    int32_t step = (int32_t)run_step;
    if (!job->excerpt_count)
        return step;
    size_t after = lower_bound(job->excerpts, job->excerpt_count, sizeof *job->excerpts, begins_up_to, &step);
    const struct job_excerpt *excerpt = after ? &job->excerpts[after - 1] : NULL;
    return excerpt && step < excerpt->end ? excerpt->at + (step - excerpt->first) : -1;
}

size_t job_excerpt_of(const struct job *job, int32_t step)
{
    size_t after = lower_bound(job->excerpts, job->excerpt_count, sizeof *job->excerpts, stands_up_to, &step);
    return after ? after - 1 : 0;
}

int32_t job_run_step(const struct job *job, int32_t step)
{
    if (step < 0 || !job->excerpt_count)
        return step;
    const struct job_excerpt *excerpt = &job->excerpts[job_excerpt_of(job, step)];
    return excerpt->first + (step - excerpt->at);
}

int job_is_break(const struct job *job, int32_t step)
{
    if (step < 0 || !job->excerpt_count)
        return 0;
    const struct job_excerpt *excerpt = &job->excerpts[job_excerpt_of(job, step)];
    return step - excerpt->at >= length_of(excerpt);
}

int32_t job_breaks_in(const struct job *job, int32_t first, int32_t last)
{
    if (first < 0 || last < first || !job->excerpt_count)
        return 0;
    return (int32_t)(job_excerpt_of(job, last) - job_excerpt_of(job, first)) + job_is_break(job, last);
}

int32_t job_loaded_steps(const struct job *job)
{
    return job->step_count - (job->excerpt_count ? (int32_t)job->excerpt_count - 1 : 0);
}

int32_t job_run_steps(const struct job *job)
{
    return job->excerpt_count ? job->run_step_count : job->step_count;
}

double job_selection_ratio(const struct job *job)
{
    int32_t loaded = job_loaded_steps(job);
    return job->is_later_round && loaded > 0 ? (double)job_run_steps(job) / loaded : 1;
}
