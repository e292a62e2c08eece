/*
 * Builds the baseline of a job: which operation is at which place of each step, how long steps take, and what
 * stands out at each place. Runs after the job is loaded and before slow ranks are searched. The parts are
 * in roles.c, sequence_match.c, warm_up.c, place.c and excess.c.
 */
#include "diagnose/baseline.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

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

/* Fills in the ranks of the roles and the operation at each place. Returns -1 when memory runs out. */
static int baseline_fill_cells(struct baseline *baseline, const struct job *job)
{
    if (make_cells(baseline))
        return -1;
    fill_cells(baseline, job);
    return 0;
}

/* Duration of steps: from an operation of a step to the same operation of a later step. */

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

/* When a rank began a step: the time of the first of its operations that has one. */
static int64_t began(const struct baseline *baseline, const struct job *job, int32_t role, size_t rank,
                     int32_t step, int64_t (*time_of)(const struct job_operation *))
{
    for (int32_t position = 0; position < baseline->roles[role].length; position++) {
        int32_t cell = baseline_cell(baseline, role, position, rank, step);
        if (cell >= 0 && time_of(&job->operations[cell]) != TIME_UNKNOWN)
            return time_of(&job->operations[cell]);
    }
    return TIME_UNKNOWN;
}

/* An interval of time; both ends are TIME_UNKNOWN where it is unknown. */
struct length {
    int64_t begin_ns;
    int64_t end_ns;
};

static const struct length not_told = {TIME_UNKNOWN, TIME_UNKNOWN};

static int64_t length_ns(struct length length)
{
    return length.begin_ns == TIME_UNKNOWN ? TIME_UNKNOWN : length.end_ns - length.begin_ns;
}

/*
 * From an operation of `step` to the same one of `end`, at the first position with a time in both steps. If
 * the two steps have different call sequences without a common position, from the first operation of one to
 * the first of the other.
 */
static struct length length_at_rank(const struct baseline *baseline, const struct job *job, int32_t role,
                                    size_t rank, int32_t step, int32_t end,
                                    int64_t (*time_of)(const struct job_operation *))
{
    for (int32_t position = 0; position < baseline->roles[role].length; position++) {
        int32_t here = baseline_cell(baseline, role, position, rank, step);
        int32_t there = baseline_cell(baseline, role, position, rank, end);
        if (here >= 0 && there >= 0 && time_of(&job->operations[here]) != TIME_UNKNOWN &&
            time_of(&job->operations[there]) != TIME_UNKNOWN)
            return (struct length){time_of(&job->operations[here]), time_of(&job->operations[there])};
    }
    if (baseline->roles[role].call_sequences < 2)
        return not_told;
    int64_t first_ns = began(baseline, job, role, rank, step, time_of);
    int64_t next_ns = began(baseline, job, role, rank, end, time_of);
    return first_ns == TIME_UNKNOWN || next_ns == TIME_UNKNOWN ? not_told
                                                               : (struct length){first_ns, next_ns};
}

/* Median over ranks; `list` has room for one value per rank. */
static int64_t median_length(const struct baseline *baseline, const struct job *job, int32_t step,
                             int32_t end, int64_t (*time_of)(const struct job_operation *), int64_t *list)
{
    size_t count = 0;
    for (size_t role = 0; role < baseline->role_count; role++)
        for (size_t rank = 0; rank < baseline->roles[role].rank_count; rank++) {
            int64_t length =
                length_ns(length_at_rank(baseline, job, (int32_t)role, rank, step, end, time_of));
            if (length > 0)
                list[count++] = length;
        }
    return median_of(list, count);
}

/*
 * Measured between starts on the device. Where no trace has these: between ends, as network steps give them.
 * Without network steps: between calls, which is less reliable because a host may run steps ahead.
 */
static int64_t best_length(const struct baseline *baseline, const struct job *job, int32_t step, int32_t end,
                           int64_t *list)
{
    if (job->timed_operations)
        return median_length(baseline, job, step, end, start_of, list);
    int64_t length = median_length(baseline, job, step, end, end_of, list);
    return length != TIME_UNKNOWN ? length : median_length(baseline, job, step, end, issue_of, list);
}

/* Time that no median sees is counted if it is more than a tenth of a median step. */
enum { LOST_BETWEEN = 10 };

/*
 * If half of the ranks are late at the first operation of a step, the ranks that wait count the delay in this
 * step and the late ranks in the step before. The median of either step misses it, but the median of both
 * together does not. The delay is counted in the step where others waited. `length_ns` is the duration of the
 * steps `step` to `end` - 1.
 */
static int64_t with_lost_before(const struct baseline *baseline, const struct job *job, int32_t step,
                                int32_t end, int64_t length_ns, int64_t *list)
{
    if (step <= baseline->first_step || length_ns == TIME_UNKNOWN ||
        baseline->step_ns[step - 1] == TIME_UNKNOWN)
        return length_ns;
    int64_t both_ns = best_length(baseline, job, step - 1, end, list);
    if (both_ns == TIME_UNKNOWN)
        return length_ns;
    int64_t lost_ns = both_ns - baseline->step_ns[step - 1] - length_ns;
    return lost_ns > baseline->median_step_ns / LOST_BETWEEN ? length_ns + lost_ns : length_ns;
}

int64_t baseline_steps_duration_ns(const struct baseline *baseline, const struct job *job, int32_t first_step,
                                   int32_t last_step, int64_t *list)
{
    int32_t end = last_step + 1 < baseline->step_count ? last_step + 1 : baseline->step_count - 1;
    return end > first_step ? with_lost_before(baseline, job, first_step, end,
                                               best_length(baseline, job, first_step, end, list), list)
                            : TIME_UNKNOWN;
}

static struct length rank_lasted(const struct baseline *baseline, const struct job *job, int32_t rank,
                                 int32_t step)
{
    int32_t role = baseline->role_of_rank[rank];
    if (role < 0 || step + 1 >= baseline->step_count)
        return not_told;
    size_t place = (size_t)baseline->rank_in_role[rank];
    if (job->timed_operations)
        return length_at_rank(baseline, job, role, place, step, step + 1, start_of);
    struct length length = length_at_rank(baseline, job, role, place, step, step + 1, end_of);
    return length.begin_ns != TIME_UNKNOWN
               ? length
               : length_at_rank(baseline, job, role, place, step, step + 1, issue_of);
}

int64_t baseline_rank_step_duration_ns(const struct baseline *baseline, const struct job *job, int32_t rank,
                                       int32_t step)
{
    return length_ns(rank_lasted(baseline, job, rank, step));
}

int baseline_rank_step_interval(const struct baseline *baseline, const struct job *job, int32_t rank,
                                int32_t step, int64_t *begin_ns, int64_t *end_ns)
{
    struct length length = rank_lasted(baseline, job, rank, step);
    *begin_ns = length.begin_ns;
    *end_ns = length.end_ns;
    return length.begin_ns != TIME_UNKNOWN;
}

/*
 * The first step with a call that never ended, where recorders report the progress of calls. Such a step
 * would appear to last as long as its host ran ahead.
 */
static int32_t first_open_step(const struct job *job)
{
    int32_t first = INT32_MAX;
    for (size_t i = 0; job->calls && i < job->operation_count; i++)
        if (job->operations[i].unfinished && job->operations[i].step >= 0 && job->operations[i].step < first)
            first = job->operations[i].step;
    return first;
}

/*
 * Whether no GPU and no network recorded the end of any operation, so that steps are measured from call to
 * call.
 */
static int measured_by_calls(const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].end_ns != TIME_UNKNOWN)
            return 0;
    return !job->timed_operations;
}

/* Fills in step_ns and its median. Returns -1 when memory runs out. */
static int baseline_measure_steps(struct baseline *baseline, const struct job *job)
{
    size_t steps = (size_t)baseline->step_count + 1, count = 0;
    int64_t *list = array_new(job->rank_count > steps ? job->rank_count : steps, sizeof *list);
    baseline->step_ns = array_new(steps, sizeof *baseline->step_ns);
    if (!list || !baseline->step_ns) {
        free(list);
        return -1;
    }
    /* The duration of the last step is unknown because no step follows it. */
    int32_t open = first_open_step(job);
    for (int32_t step = 0; step < baseline->step_count; step++)
        baseline->step_ns[step] = step < open && step + 1 < baseline->step_count
                                      ? best_length(baseline, job, step, step + 1, list)
                                      : TIME_UNKNOWN;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    baseline->steps_are_measured_by_calls = measured_by_calls(job);
    baseline->median_step_ns = count ? median_of(list, count) : 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++)
        baseline->step_ns[step] =
            with_lost_before(baseline, job, step, step + 1, baseline->step_ns[step], list);
    free(list);
    return 0;
}

/* Step 0 of the program is warm-up. A recorder that was started later did not record it. */
static int32_t after_warm_up(const struct job *job)
{
    return job->first_step + job->step_base > 0 ? job->first_step : job->step_count > 1;
}

/* What only_own leaves out. Returns -1 when memory runs out. */
static int make_lateness(struct baseline *baseline, const struct job *job)
{
    baseline->late_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *baseline->late_ns);
    baseline->hidden = array_new(job->operation_count, sizeof *baseline->hidden);
    return baseline->late_ns && baseline->hidden ? 0 : -1;
}

int baseline_init(struct baseline *baseline, const struct job *job, const struct baseline_options *options,
                  struct error *error)
{
    *baseline = (struct baseline){.step_count = job->step_count, .first_step = after_warm_up(job)};
    baseline->role_of_rank = array_new(job->rank_count, sizeof *baseline->role_of_rank);
    baseline->rank_in_role = array_new(job->rank_count, sizeof *baseline->rank_in_role);
    baseline->same_work = array_new(job->rank_count, sizeof *baseline->same_work);
    baseline->predecessors = array_new(job->rank_count, sizeof *baseline->predecessors);
    baseline->positions = array_new(job->operation_count, sizeof *baseline->positions);
    baseline->stretch_of_step =
        array_new((size_t)baseline->step_count + 1, sizeof *baseline->stretch_of_step);
    baseline->rank_count = job->rank_count;
    if (excess_list_init(&baseline->excess, job->operation_count) || !baseline->positions ||
        (!options->only_own && make_lateness(baseline, job)) || !baseline->role_of_rank ||
        !baseline->stretch_of_step || !baseline->rank_in_role || !baseline->same_work ||
        !baseline->predecessors || warm_up_find(baseline, job) || baseline_find_roles(baseline, job) ||
        baseline_find_same_work(baseline, job) || baseline_fill_cells(baseline, job) ||
        baseline_measure_steps(baseline, job) || warm_up_find_first(baseline) ||
        baseline_measure_places(baseline, job, options)) {
        baseline_release(baseline);
        return error_no_memory(error);
    }
    return 0;
}

int baseline_is_regular(const struct baseline *baseline)
{
    return baseline->regular >= 0.5;
}

struct call_sequence_span role_sequence(const struct role *role, int32_t position)
{
    struct call_sequence_span span = {0, role->length};
    for (int32_t i = 0; role->begins && i < role->call_sequences; i++)
        if (role->begins[i] <= position)
            span.begin = role->begins[i];
        else if (role->begins[i] < span.end)
            span.end = role->begins[i];
    return span;
}

void baseline_forget_hidden(struct baseline *baseline)
{
    free(baseline->hidden);
    baseline->hidden = NULL;
}

void baseline_release(struct baseline *baseline)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        free(baseline->roles[i].ranks);
        free(baseline->roles[i].begins);
        free(baseline->roles[i].limits);
        if (baseline->cells)
            free(baseline->cells[i]);
    }
    for (size_t i = 0; baseline->predecessors && i < baseline->rank_count; i++)
        free(baseline->predecessors[i]);
    free(baseline->predecessors);
    free(baseline->stretch_of_step);
    free(baseline->warm_up);
    free(baseline->positions);
    excess_list_release(&baseline->excess);
    free(baseline->hidden);
    free(baseline->step_ns);
    free(baseline->roles);
    free(baseline->cells);
    free(baseline->role_of_rank);
    free(baseline->rank_in_role);
    free(baseline->same_work);
    free(baseline->late_ns);
    free(baseline->explained_ns);
    free(baseline->order);
    *baseline = (struct baseline){0};
}
