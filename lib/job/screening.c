/*
 * Scans runs that are too large for memory: which steps stand out (for step_selection.c), and a partition of
 * the run into rows of steps that can be loaded one after the other.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

/* The number of ranks from which step times are measured: their median is as good as that of all ranks. */
enum { SAMPLED_RANKS = 32 };

/* Limit of the table of communicators by steps. Beyond it, several communicators share a row. */
enum { MOST_CELLS = 1 << 24 };

/*
 * Smaller differences than this part of a step do not stand out, even if other steps are very regular: for
 * the step time, and for the wait of a member of a communicator.
 */
static const double LEAST_LENGTH = 0.005, LEAST_WAIT = 0.002;

/* The same limit if no step time is known, as a part of a communicator's time in a step. */
static const double LEAST_SHARE = 0.02;

struct measures {
    struct screening *screening;
    const struct job *job;
    float *took_us; /* [row * step_count + step], sum over operations; NAN: none */
    size_t rows;
    int64_t *began_ns; /* [sampled rank * step_count + step], start of its first operation; TIME_UNKNOWN */
    size_t every;      /* every n-th rank is sampled */
    size_t sampled;
    int64_t *list; /* scratch: of steps or ranks */
};

static const int operation_columns[] = {OPERATION_DURATION,   OPERATION_GPU_BEGIN,
                                        OPERATION_GPU_END,    OPERATION_DEVICE_BEGIN,
                                        OPERATION_DEVICE_END, OPERATION_ENQUEUE_BEGIN};
static const int joined_columns[] = {JOINED_STEP};

static int64_t duration_of(const struct block_reader *rows, size_t row)
{
    if (!rows->absent[OPERATION_DURATION][row] || rows->absent[OPERATION_GPU_BEGIN][row] ||
        rows->absent[OPERATION_GPU_END][row])
        return scan_duration(rows, row, TIME_UNKNOWN);
    return (int64_t)((uint64_t)rows->values[OPERATION_GPU_END][row] -
                     (uint64_t)rows->values[OPERATION_GPU_BEGIN][row]);
}

/* For operations without a start on the device, the time at which the host launched them. */
static int64_t begin_of(const struct block_reader *rows, size_t row)
{
    int64_t gpu = block_value(rows, OPERATION_GPU_BEGIN, row, 0);
    if (gpu || !rows->absent[OPERATION_DEVICE_BEGIN][row])
        return gpu ? gpu : rows->values[OPERATION_DEVICE_BEGIN][row];
    return block_value(rows, OPERATION_ENQUEUE_BEGIN, row, TIME_UNKNOWN);
}

static void note_time(struct measures *measures, const struct roster_member *member, int32_t step,
                      const struct block_reader *rows, size_t row)
{
    size_t steps = (size_t)measures->screening->step_count;
    int64_t took_ns = duration_of(rows, row), begin_ns = begin_of(rows, row);
    if (took_ns != TIME_UNKNOWN && took_ns >= 0) {
        float *took =
            &measures->took_us[(size_t)member->communicator % measures->rows * steps + (size_t)step];
        *took = (isnan(*took) ? 0 : *took) + (float)took_ns / 1000;
    }
    if ((size_t)member->rank % measures->every || begin_ns == TIME_UNKNOWN)
        return;
    int64_t *began = &measures->began_ns[(size_t)member->rank / measures->every * steps + (size_t)step];
    if (*began == TIME_UNKNOWN || begin_ns < *began)
        *began = begin_ns;
}

static int take_block(struct measures *measures, struct block_scan *scan, struct error *error)
{
    struct screening *screening = measures->screening;
    const struct roster_member *member = roster_member(&measures->job->roster, scan->owner_id);
    if (!member)
        return 0;
    if (scan_joined_columns(scan, joined_columns, 1, error) ||
        scan_columns(scan, operation_columns, sizeof operation_columns / sizeof *operation_columns, error))
        return -1;
    screening->total += (int64_t)scan->rows.count;
    for (size_t row = 0; row < scan->rows.count; row++) {
        int64_t step = block_value(&scan->joined, JOINED_STEP, row, -1);
        if (step < 0 || step >= screening->step_count) {
            screening->in_no_step++;
            continue;
        }
        screening->operations[step]++;
        if (step > screening->last_step[member->rank])
            screening->last_step[member->rank] = (int32_t)step;
        note_time(measures, member, (int32_t)step, &scan->rows, row);
    }
    return 0;
}

static int scan_run(struct measures *measures, struct error *error)
{
    struct block_scan scan;
    int more = scan_operations(&scan, measures->job->store, measures->job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_block(measures, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

/* The median over the sampled ranks of a step's time; TIME_UNKNOWN. */
static int64_t length_of(const struct measures *measures, int32_t step)
{
    size_t steps = (size_t)measures->screening->step_count, count = 0;
    for (size_t rank = 0; rank < measures->sampled; rank++) {
        const int64_t *began = &measures->began_ns[rank * steps + (size_t)step];
        if (began[0] != TIME_UNKNOWN && began[1] != TIME_UNKNOWN && began[1] > began[0])
            measures->list[count++] = began[1] - began[0];
    }
    return median_of(measures->list, count);
}

/* The median of the steps' values and their spread, at least `least`. TIME_UNKNOWN: no values. */
struct usual {
    int64_t middle;
    double spread;
};

static struct usual usual_of(const double *values, size_t steps, int64_t *list)
{
    struct usual usual = {.middle = TIME_UNKNOWN};
    size_t count = 0;
    for (size_t step = 0; step < steps; step++)
        if (!isnan(values[step]))
            list[count++] = (int64_t)values[step];
    usual.middle = median_of(list, count);
    if (count)
        usual.spread = (double)sigma_about(list, count, usual.middle);
    return usual;
}

/* Notes the distance of steps from the median, in units of the spread, which is at least `least`. */
static void note_apart(struct screening *screening, const double *values, const struct usual *usual,
                       double least)
{
    double spread = usual->spread > least ? usual->spread : least;
    for (int32_t step = 0; usual->middle != TIME_UNKNOWN && spread > 0 && step < screening->step_count;
         step++) {
        double apart = isnan(values[step]) ? 0 : fabs(values[step] - (double)usual->middle) / spread;
        if (apart > screening->stands_out[step])
            screening->stands_out[step] = apart;
    }
}

/* The number of members of the communicators in a row. */
static double members_of(const struct measures *measures, size_t row)
{
    double members = 0;
    const struct job *job = measures->job;
    for (size_t i = row; i < job->communicator_count; i += measures->rows)
        members += (double)(job->communicators[i].size > 0 ? job->communicators[i].size : 1);
    return members;
}

/* The median step time; TIME_UNKNOWN. */
static int64_t screen_lengths(const struct measures *measures, double *values)
{
    struct screening *screening = measures->screening;
    for (int32_t step = 0; step < screening->step_count; step++) {
        int64_t length_ns = step + 1 < screening->step_count ? length_of(measures, step) : TIME_UNKNOWN;
        values[step] = length_ns == TIME_UNKNOWN ? NAN : (double)length_ns;
    }
    struct usual usual = usual_of(values, (size_t)screening->step_count, measures->list);
    screening->is_told |= usual.middle != TIME_UNKNOWN;
    note_apart(screening, values, &usual, LEAST_LENGTH * (double)usual.middle);
    return usual.middle;
}

static void screen_row(const struct measures *measures, size_t row, int64_t step_ns, double *values)
{
    struct screening *screening = measures->screening;
    size_t steps = (size_t)screening->step_count;
    for (size_t step = 0; step < steps; step++)
        values[step] = (double)measures->took_us[row * steps + step] * 1000;
    struct usual usual = usual_of(values, steps, measures->list);
    double least = step_ns == TIME_UNKNOWN ? LEAST_SHARE * (double)usual.middle
                                           : LEAST_WAIT * (double)step_ns * members_of(measures, row);
    screening->is_told |= usual.middle != TIME_UNKNOWN;
    note_apart(screening, values, &usual, least);
}

static int screen(struct measures *measures)
{
    double *values = array_new((size_t)measures->screening->step_count + 1, sizeof *values);
    if (!values)
        return -1;
    int64_t step_ns = screen_lengths(measures, values);
    for (size_t row = 0; row < measures->rows; row++)
        screen_row(measures, row, step_ns, values);
    free(values);
    return 0;
}

static int measures_init(struct measures *measures, struct screening *screening, const struct job *job)
{
    size_t steps = (size_t)screening->step_count, most = MOST_CELLS / (steps + 1) + 1;
    *measures = (struct measures){.screening = screening, .job = job};
    measures->rows = job->communicator_count < most ? job->communicator_count : most;
    measures->every = job->rank_count / SAMPLED_RANKS + 1;
    measures->sampled = job->rank_count / measures->every + 1;
    size_t listed = steps > measures->sampled ? steps : measures->sampled;
    measures->took_us = array_new(measures->rows * steps + 1, sizeof *measures->took_us);
    measures->began_ns = array_new(measures->sampled * steps + 1, sizeof *measures->began_ns);
    measures->list = array_new(listed + 1, sizeof *measures->list);
    if (!measures->took_us || !measures->began_ns || !measures->list)
        return -1;
    for (size_t i = 0; i < measures->rows * steps; i++)
        measures->took_us[i] = NAN;
    for (size_t i = 0; i < measures->sampled * steps; i++)
        measures->began_ns[i] = TIME_UNKNOWN;
    return 0;
}

int screening_init(struct screening *screening, const struct job *job, struct error *error)
{
    struct measures measures;
    size_t steps = (size_t)job->step_count;
    *screening = (struct screening){.step_count = job->step_count, .rank_count = job->rank_count};
    screening->operations = array_new(steps + 1, sizeof *screening->operations);
    screening->stands_out = array_new(steps + 1, sizeof *screening->stands_out);
    screening->last_step = array_new(job->rank_count + 1, sizeof *screening->last_step);
    for (size_t i = 0; screening->last_step && i < job->rank_count; i++)
        screening->last_step[i] = -1;
    int failed = measures_init(&measures, screening, job) || !screening->operations ||
                         !screening->stands_out || !screening->last_step
                     ? error_no_memory(error)
                     : scan_run(&measures, error);
    if (!failed && screen(&measures))
        failed = error_no_memory(error);
    free(measures.took_us);
    free(measures.began_ns);
    free(measures.list);
    return failed ? -1 : 0;
}

void screening_release(struct screening *screening)
{
    free(screening->operations);
    free(screening->stands_out);
    free(screening->last_step);
    *screening = (struct screening){0};
}

/* This many cells of tables of ranks by steps need as much memory as one operation. */
enum { CELLS_AN_OPERATION = 4 };

/* Steps that are loaded before and after a row. */
enum { BESIDE = 1 };

/* A row has at least this part (1/4) of the memory, whatever is loaded with it. */
enum { LEAST_PART = 4 };

/* The number of operations in each step, counted from their instances. */
struct costs {
    int64_t *of_step; /* owned */
    int32_t step_count;
    int64_t in_no_step;
    int64_t most_members; /* limit per instance, since the store may be damaged */
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

/* Adds steps of `within` after the window, then before it, in turn, while they fit. Returns the room left. */
static int64_t grow(const struct costs *costs, const struct job_excerpt *within, int64_t room,
                    struct job_excerpt *window)
{
    for (int32_t size = 0; size < window->end - window->first;) {
        size = window->end - window->first;
        if (window->end < within->end && costs->of_step[window->end] <= room)
            room -= costs->of_step[window->end++];
        if (window->first > within->first && costs->of_step[window->first - 1] <= room)
            room -= costs->of_step[--window->first];
    }
    return room;
}

/* The steps that were asked for, as far as they fit, then those on both sides of them. */
static struct job_excerpt window_of(const struct costs *costs, int32_t first, int32_t last, int64_t room)
{
    const struct job_excerpt all = {.end = costs->step_count}, asked = {.first = first, .end = last + 1};
    struct job_excerpt window = {.first = first, .end = first + 1};
    room = grow(costs, &asked, room - costs->of_step[first], &window);
    if (window.end > last)
        grow(costs, &all, room, &window);
    return window;
}

struct job_excerpt *step_window_find(const struct job *job, int32_t first, int32_t last,
                                     int64_t most_operations, size_t *count, struct error *error)
{
    struct costs costs;
    struct job_excerpt *excerpts = array_new(2, sizeof *excerpts);
    int failed = costs_init(&costs, job, error);
    int32_t begins = job->first_step + 1 < job->step_count ? job->first_step + 1 : job->step_count;
    first = first < 0 ? 0 : first < job->step_count ? first : job->step_count - 1;
    last = last < first ? first : last < job->step_count ? last : job->step_count - 1;
    if (!failed && excerpts) {
        int64_t room = most_operations - costs.in_no_step - cost_before(&costs, begins);
        struct job_excerpt window = window_of(&costs, first, last, room);
        *count = window.first > begins ? 2 : 1;
        excerpts[0] = (struct job_excerpt){.end = *count == 2 || begins > window.end ? begins : window.end};
        excerpts[1] = window;
    }
    free(costs.of_step);
    if (!failed && excerpts)
        return excerpts;
    free(excerpts);
    if (!failed)
        error_no_memory(error);
    return NULL;
}

void step_rows_release(struct step_rows *rows)
{
    free(rows->ends);
    *rows = (struct step_rows){0};
}

static int32_t step_rows_begin_of(const struct step_rows *rows, size_t row)
{
    return row ? rows->ends[row - 1] : 0;
}

struct job_excerpt *step_row_excerpts(const struct step_rows *rows, size_t row, size_t *count)
{
    struct job_excerpt *excerpts = array_new(2, sizeof *excerpts);
    int32_t steps = rows->ends[rows->count - 1], begins = rows->first_step + 1,
            first = step_rows_begin_of(rows, row) - BESIDE, end = rows->ends[row] + BESIDE;
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
    *first = row ? job_loaded_step(job, step_rows_begin_of(rows, row)) : INT32_MIN;
    *end = row + 1 < rows->count ? job_loaded_step(job, rows->ends[row]) : INT32_MAX;
}
