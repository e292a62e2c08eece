#include "score/place_times.h"

#include "base/array.h"
#include "job/arrival.h"
#include "job/groups.h"
#include "job/own_time.h"
#include "job/transfers.h"

#include <stdlib.h>

int64_t *longest_stays(const struct job *job)
{
    int64_t *longest = array_new(job->instance_count, sizeof *longest);
    for (size_t i = 0; longest && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int known = arrival_is_told(instance, instance->function) && instance->members > 1;
        for (int32_t j = 0; known && j < instance->members; j++) {
            int64_t stay_ns = arrival_stay_ns(job, job_member_at(job, instance, j));
            known = stay_ns != TIME_UNKNOWN;
            longest[i] = stay_ns > longest[i] ? stay_ns : longest[i];
        }
        if (!known)
            longest[i] = INT64_MAX;
    }
    return longest;
}

static int is_of(const struct partition *partition, size_t unit, int32_t rank)
{
    return unit == SHEET_ALL || partition->unit_of[rank] == (int32_t)unit;
}

int place_times_init(struct place_times *times, const struct sheet_source *source, size_t role,
                     const struct partition *partition, size_t unit)
{
    const struct role *of = &source->baseline->roles[role];
    size_t ranks = 0, steps = (size_t)source->baseline->step_count;
    for (size_t rank = 0; rank < of->rank_count; rank++)
        ranks += is_of(partition, unit, of->ranks[rank]) != 0;
    *times = (struct place_times){.steps = steps,
                                  .place = array_new(ranks, sizeof *times->place),
                                  .own = array_new(ranks * steps, sizeof *times->own),
                                  .pace = array_new(ranks * steps, sizeof *times->pace),
                                  .late = array_new(ranks * steps, sizeof *times->late),
                                  .bound = array_new(ranks * steps, sizeof *times->bound),
                                  .communicator = array_new(ranks * steps, sizeof *times->communicator),
                                  .open = array_new(ranks * steps, 1)};
    if (!times->place || !times->own || !times->pace || !times->late || !times->bound ||
        !times->communicator || !times->open)
        return -1;
    for (size_t rank = 0; rank < of->rank_count; rank++)
        if (is_of(partition, unit, of->ranks[rank]))
            times->place[times->ranks++] = (int32_t)rank;
    return 0;
}

void place_times_release(struct place_times *times)
{
    free(times->place);
    free(times->own);
    free(times->pace);
    free(times->late);
    free(times->bound);
    free(times->communicator);
    free(times->open);
    *times = (struct place_times){0};
}

/* Whether an operation of a group that another rank is in does not say when it was over. */
static int has_open_end(const struct job *job, int32_t of_group)
{
    size_t at = (size_t)job->operations[of_group].group;
    for (; at < job->operation_count && job->operations[at].group == job->operations[of_group].group; at++)
        if (job->operations[at].end_ns == TIME_UNKNOWN &&
            job->instances[job->operations[at].instance].sender !=
                job->instances[job->operations[at].instance].receiver)
            return 1;
    return 0;
}

/* Own time may hold the rest of a send or a receive whose end only its proxy or the host tells. */
static int may_hide_end(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 1;
    const struct job_operation *previous = &job->operations[operation->previous];
    return (previous->function == FUNCTION_SEND && previous->ends != ENDS_BY_KERNEL) ||
           (previous->function == FUNCTION_RECV && previous->ends == ENDS_BY_HOST);
}

static int64_t bound_of(const struct sheet_source *source, int32_t at)
{
    const struct job *job = source->job;
    const struct job_operation *operation = &job->operations[at];
    int64_t longest_ns = source->longest_stay_ns[operation->instance];
    int is_grouped = (size_t)at + 1 < job->operation_count && operation[1].group == operation->group;
    return is_grouped || longest_ns == INT64_MAX ? INT64_MAX : longest_ns - arrival_stay_ns(job, at);
}

/* A slow transfer of this part of an own time that follows may be in it. */
enum { HELD_PART = 4 };

/*
 * Whether an operation may have gone on after its end, for a good part of the own time that follows: of a
 * group it is not known, or a link was slow in it and the step over, which not all members' kernels show.
 */
static int may_go_on(const struct sheet_source *source, int32_t operation, int64_t own_ns, int within)
{
    int64_t slow_ns = source->transfers[source->job->operations[operation].instance].slow_ns;
    return (!within && slow_ns > own_ns / HELD_PART) ||
           (job_is_grouped(source->job, operation) && has_open_end(source->job, operation));
}

/* How long the operation before lasted that a rank computes beside. */
static int64_t beside_ns(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    int64_t duration_ns = job_duration(&job->operations[operation->previous]);
    return duration_ns == TIME_UNKNOWN ? 0 : duration_ns;
}

/* An own time without what received data explain of it: that is load, and nobody's fault. */
static int64_t without_load(const struct baseline *baseline, int32_t at, int64_t own_ns)
{
    int64_t rest_ns = baseline->explained_ns ? own_ns - baseline->explained_ns[at] : own_ns;
    return rest_ns > 0 ? rest_ns : 0;
}

static void read_cell(struct place_times *times, const struct sheet_source *source, size_t cell, int32_t at)
{
    const struct job *job = source->job;
    times->own[cell] = TIME_UNKNOWN;
    times->open[cell] = 0;
    if (at < 0 || excess_listed(&source->baseline->excess, at).beyond_ns == TIME_UNKNOWN)
        return;
    const struct job_operation *operation = &job->operations[at];
    int64_t idle_ns = job_idle_time(job, operation), late_ns = job_lateness_in(job, operation, idle_ns);
    times->within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    if (may_hide_end(job, operation) && (!times->within || late_ns == TIME_UNKNOWN || late_ns * 2 < idle_ns))
        return;
    times->own[cell] =
        without_load(source->baseline, at, idle_ns < operation->own_ns ? idle_ns : operation->own_ns);
    times->pace[cell] = times->own[cell] + beside_ns(job, operation);
    times->late[cell] = late_ns == TIME_UNKNOWN ? 0 : late_ns;
    times->bound[cell] = bound_of(source, at);
    times->communicator[cell] = operation->communicator;
    times->open[cell] =
        (unsigned char)may_go_on(source, operation->previous, times->own[cell], times->within);
}

const int32_t *place_times_operations(const struct place_times *times, const struct baseline *baseline,
                                      size_t role, int32_t position, size_t rank)
{
    size_t row = (size_t)position * baseline->roles[role].rank_count + (size_t)times->place[rank];
    return baseline->cells[role] + row * times->steps;
}

void place_times_read(struct place_times *times, const struct sheet_source *source, size_t role,
                      int32_t position)
{
    size_t first = (size_t)source->baseline->first_step;
    for (size_t rank = 0; rank < times->ranks; rank++) {
        const int32_t *at = place_times_operations(times, source->baseline, role, position, rank);
        for (size_t step = 0; step < times->steps; step++)
            read_cell(times, source, rank * times->steps + step, step < first ? -1 : at[step]);
    }
}
