/* When a fault showed and when it did not, on the wall clock of its rank. */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* A message precedes what it causes by this, at most; and what stopped a job may be noticed as much later. */
#define BEFORE_NS (INT64_C(30) * 1000000000)

/* Where steps without the fault came before, by a quarter of them, and by this at least: logs have seconds.
 */
#define ONSET_LEAST_NS (INT64_C(1) * 1000000000)

/* Two wall clocks of one host agree by this. */
#define CLOCKS_AGREE_NS INT64_C(10000000)

/* From the end of a rank's step before to the end of its step; begin_ns is TIME_UNKNOWN if it is not known.
 */
static struct interval_ns step_interval(const struct job *job, const struct rank_clock *clock, int32_t rank,
                                        int32_t step)
{
    struct interval_ns found = {TIME_UNKNOWN, TIME_UNKNOWN};
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t from_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->enqueued_ns,
                end_ns = operation->end_ns != TIME_UNKNOWN ? operation->end_ns : from_ns;
        if (operation->step != step || from_ns == TIME_UNKNOWN)
            continue;
        if (operation->own_ns != TIME_UNKNOWN && operation->own_ns > 0)
            from_ns -= operation->own_ns;
        from_ns = rank_clock_of(clock, job, operation, from_ns);
        end_ns = rank_clock_of(clock, job, operation, end_ns);
        if (from_ns != TIME_UNKNOWN && end_ns >= from_ns)
            interval_widen(&found, (struct interval_ns){from_ns, end_ns});
    }
    return found;
}

static int add_interval(struct interval_ns **items, size_t *count, size_t *capacity, struct interval_ns added)
{
    if (array_reserve((void **)items, capacity, *count + 1, sizeof **items))
        return -1;
    (*items)[(*count)++] = added;
    return 0;
}

static int64_t total_ns(const struct interval_ns *items, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += items[i].end_ns - items[i].begin_ns;
    return total;
}

/* By how much a cause may precede a fault that came after so much time without it. */
static int64_t onset_after(int64_t before_ns)
{
    if (before_ns <= 0 || before_ns / 4 > BEFORE_NS)
        return BEFORE_NS;
    return before_ns / 4 > ONSET_LEAST_NS ? before_ns / 4 : ONSET_LEAST_NS;
}

/* A cause may precede what it causes: the last quarter of the time before tells nothing about what is usual.
 */
static void leave_out_onset(struct fault_time *time)
{
    int64_t before_ns = time->first_ns - time->whole.begin_ns;
    int64_t from_ns = time->first_ns - (before_ns / 4 < BEFORE_NS ? before_ns / 4 : BEFORE_NS);
    size_t kept = 0;
    for (size_t i = 0; i < time->other_count; i++) {
        struct interval_ns other = time->others[i];
        if (other.begin_ns < from_ns && other.end_ns > from_ns)
            other.end_ns = from_ns;
        if (other.end_ns <= from_ns || other.begin_ns >= time->first_ns)
            time->others[kept++] = other;
    }
    time->other_count = kept;
}

static int measure_steps(struct fault_time *time, const struct finding *finding, const struct job *job,
                         const struct rank_clock *clock, int32_t rank, int32_t first_step)
{
    size_t faulty_capacity = 0, other_capacity = 0;
    time->steps = array_new((size_t)job->step_count + 1, sizeof *time->steps);
    if (!time->steps)
        return -1;
    for (int32_t step = 0; step < job->step_count; step++) {
        struct interval_ns found = time->steps[step] = step_interval(job, clock, rank, step);
        int is_faulty = finding_has_step(finding, step);
        if (found.begin_ns == TIME_UNKNOWN || (!is_faulty && step < first_step))
            continue;
        interval_widen(&time->whole, found);
        if (is_faulty ? add_interval(&time->faulty, &time->faulty_count, &faulty_capacity, found)
                      : add_interval(&time->others, &time->other_count, &other_capacity, found))
            return -1;
    }
    if (!time->faulty_count)
        return 0;
    time->first_ns = time->faulty[0].begin_ns;
    time->onset_ns = onset_after(time->first_ns - time->whole.begin_ns);
    leave_out_onset(time);
    return 0;
}

/* When the last operation of a rank ended; TIME_UNKNOWN. */
static int64_t last_end(const struct job *job, const struct rank_clock *clock, int32_t rank)
{
    const struct job_rank *of = &job->ranks[rank];
    int64_t last_ns = TIME_UNKNOWN;
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t end_ns = rank_clock_of(clock, job, operation, operation->end_ns);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

/*
 * When the job stopped: when the rank, or one that waits for it, began the operation that never ended; where
 * no record shows that, the end of the last operation of the rank. -1 on error.
 */
static int find_stop(struct cause_places *places, const struct finding *finding, int32_t *rank,
                     int64_t *at_ns, struct error *error)
{
    const struct job *job = places->job;
    int is_shown = finding->operation >= 0;
    *rank = is_shown ? job->operations[finding->operation].rank : finding->rank;
    const struct rank_clock *clock = cause_clock(places, *rank, error);
    *at_ns = TIME_UNKNOWN;
    if (!clock)
        return -1;
    if (!is_shown) {
        *at_ns = last_end(job, clock, *rank);
        return 0;
    }
    const struct job_operation *shown = &job->operations[finding->operation];
    *at_ns = rank_clock_of(clock, job, shown,
                           shown->start_ns != TIME_UNKNOWN ? shown->start_ns : shown->enqueued_ns);
    return 0;
}

/* Around the stop the fault shows; the steps of the rank before that tell what is usual. */
static int measure_stop(struct fault_time *time, const struct finding *finding, struct cause_places *places,
                        struct error *error)
{
    const struct job *job = places->job;
    int64_t at_ns, first_ns;
    int32_t rank;
    if (find_stop(places, finding, &rank, &at_ns, error))
        return -1;
    if (at_ns == TIME_UNKNOWN)
        return 0;
    time->is_stop = 1;
    time->first_ns = first_ns = at_ns;
    size_t faulty_capacity = 0, other_capacity = 0;
    struct interval_ns around = {at_ns - BEFORE_NS, at_ns + BEFORE_NS}, before = {TIME_UNKNOWN, TIME_UNKNOWN};
    for (int32_t step = 0; step < job->step_count; step++) {
        struct interval_ns found = step_interval(job, &places->seats[rank].clock, rank, step);
        if (found.begin_ns == TIME_UNKNOWN || found.begin_ns >= at_ns)
            continue;
        first_ns = found.begin_ns < first_ns ? found.begin_ns : first_ns;
        if (found.end_ns <= at_ns && found.end_ns - found.begin_ns > time->longest_ns)
            time->longest_ns = found.end_ns - found.begin_ns;
    }
    time->onset_ns = onset_after(at_ns - first_ns);
    around.begin_ns = at_ns - time->onset_ns;
    if (first_ns < around.begin_ns)
        before = (struct interval_ns){first_ns, around.begin_ns};
    interval_widen(&time->whole, around);
    if (before.begin_ns != TIME_UNKNOWN)
        interval_widen(&time->whole, before);
    return add_interval(&time->faulty, &time->faulty_count, &faulty_capacity, around) ||
                   (before.begin_ns != TIME_UNKNOWN &&
                    add_interval(&time->others, &time->other_count, &other_capacity, before))
               ? error_no_memory(error)
               : 0;
}

static void merge(struct interval_ns *items, size_t *count, int64_t *length_ns)
{
    if (!*count)
        return;
    intervals_sort(items, *count);
    *count = intervals_merge(items, *count, 0);
    *length_ns = total_ns(items, *count);
}

int fault_time_measure(struct fault_time *time, struct cause_places *places, const struct finding *finding,
                       int32_t first_step, struct error *error)
{
    const struct rank_clock *clock = cause_clock(places, finding->rank, error);
    *time =
        (struct fault_time){.first_ns = TIME_UNKNOWN, .whole = {TIME_UNKNOWN, TIME_UNKNOWN}, .is_stop = 0};
    if (!clock)
        return -1;
    if (finding->kind >= FINDING_MISSING || finding->stops_job) {
        if (measure_stop(time, finding, places, error))
            return -1;
    } else if (finding->first_step >= 0 && !finding->at_start &&
               measure_steps(time, finding, places->job, clock, finding->rank, first_step))
        return error_no_memory(error);
    merge(time->faulty, &time->faulty_count, &time->faulty_ns);
    merge(time->others, &time->other_count, &time->other_ns);
    if (time->whole.begin_ns != TIME_UNKNOWN)
        time->whole = (struct interval_ns){time->whole.begin_ns - BEFORE_NS, time->whole.end_ns + BEFORE_NS};
    return 0;
}

void fault_time_release(struct fault_time *time)
{
    free(time->faulty);
    free(time->others);
    free(time->steps);
    *time = (struct fault_time){.first_ns = TIME_UNKNOWN};
}

int fault_time_is_exact(const struct fault_time *time, int64_t error_ns)
{
    return error_ns <= time->faulty_ns / 2 + CLOCKS_AGREE_NS;
}

/* "blocked for more than 120 seconds", "stuck for 22s!"; 0 of other messages. */
static int64_t lasted_ns(const struct node_event *said)
{
    static const char *const marks[] = {" blocked for more than ", " stuck for ", NULL};
    static const int64_t SECOND_NS = 1000000000, DAY_SECONDS = 86400;
    for (const char *const *mark = marks; said->text && *mark; mark++) {
        const char *behind = strstr(said->text, *mark);
        long long seconds = behind ? strtoll(behind + strlen(*mark), NULL, 10) : 0;
        if (seconds > 0 && seconds < DAY_SECONDS)
            return seconds * SECOND_NS;
    }
    return 0;
}

struct interval_ns cause_moment(const struct node_event *said)
{
    int64_t lasted = lasted_ns(said), at_ns = said->at_ns - lasted;
    return (struct interval_ns){at_ns - lasted - said->error_ns, at_ns + said->error_ns + 1};
}

int fault_time_has_message(const struct fault_time *time, struct interval_ns moment, int is_at_once)
{
    int64_t after_ns = !is_at_once                         ? BEFORE_NS
                       : time->longest_ns > ONSET_LEAST_NS ? time->longest_ns
                                                           : ONSET_LEAST_NS;
    if (time->is_stop)
        return moment.end_ns >= time->first_ns - time->onset_ns &&
               moment.begin_ns <= time->first_ns + after_ns;
    moment.end_ns += time->onset_ns;
    return intervals_covered_ns(time->faulty, time->faulty_count, moment) > 0;
}
