/*
 * What the parts of a timeline share: lanes for overlapping slices, the common clock, the host times of
 * operations, and the tracks of ranks.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "report/timeline.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

int lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns)
{
    int lane = 0;
    while (lane < lanes->count && lanes->end_ns[lane] > begin_ns)
        lane++;
    if (lane == LANES_MOST)
        return -1;
    lanes->count += lane == lanes->count;
    lanes->end_ns[lane] = end_ns;
    return lane;
}

static void take_least(int64_t *least_ns, int64_t time_ns)
{
    if (time_ns != TIME_UNKNOWN && (*least_ns == TIME_UNKNOWN || time_ns < *least_ns))
        *least_ns = time_ns;
}

/* The first time of an operation on the clock of its host. */
static int64_t first_of(const struct job *job, const struct job_operation *operation, const struct call *call)
{
    int64_t device_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->end_ns;
    int64_t first_ns = device_ns == TIME_UNKNOWN ? TIME_UNKNOWN : device_ns + job_delay(job, operation);
    take_least(&first_ns, call->begin_ns);
    return first_ns;
}

/* Finds what to add to times on the host clock of a rank to get wall-clock time; TIME_UNKNOWN. */
static int find_wall(const struct job *job, const struct job_rank *rank, int64_t *wall_ns,
                     struct error *error)
{
    struct job_record record;
    *wall_ns = TIME_UNKNOWN;
    if (!rank->count)
        return 0;
    int failed = job_find_record(job, rank->first, &record, error);
    if (!failed && record.wall_ns != TIME_UNKNOWN)
        *wall_ns = record.wall_ns - record.at_ns;
    job_record_release(&record);
    return failed;
}

/* Finds when each rank began, on its host clock. */
static void find_firsts(struct common_clock *clock, const struct call *calls)
{
    const struct job *job = clock->job;
    for (size_t i = 0; i < job->rank_count; i++)
        clock->own_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++)
        take_least(&clock->own_ns[job->operations[i].rank], first_of(job, &job->operations[i], &calls[i]));
    for (size_t i = 0; i < job->rank_count; i++)
        take_least(&clock->origin_ns, job_common_host_time(&job->ranks[i], clock->own_ns[i]));
}

/* Takes the wall clock of the first rank that others are aligned with. */
static int find_wall_at_origin(struct common_clock *clock, struct error *error)
{
    const struct job *job = clock->job;
    size_t rank = 0;
    while (rank < job->rank_count &&
           (job->ranks[rank].clock_method != CLOCK_REFERENCE || clock->own_ns[rank] == TIME_UNKNOWN))
        rank++;
    if (rank == job->rank_count)
        return 0;
    if (find_wall(job, &job->ranks[rank], &clock->wall_ns, error))
        return -1;
    if (clock->wall_ns != TIME_UNKNOWN)
        clock->wall_ns += clock->own_ns[rank] -
                          (job_common_host_time(&job->ranks[rank], clock->own_ns[rank]) - clock->origin_ns);
    return 0;
}

/* Reads the wall clocks of ranks that are not aligned: `walls_ns` is their difference to the host clocks. */
static int read_walls(struct common_clock *clock, int64_t *walls_ns, struct error *error)
{
    const struct job *job = clock->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        walls_ns[i] = TIME_UNKNOWN;
        if (clock->own_ns[i] == TIME_UNKNOWN || job_is_aligned(&job->ranks[i]))
            continue;
        if (clock->wall_ns != TIME_UNKNOWN && find_wall(job, &job->ranks[i], &walls_ns[i], error))
            return -1;
        clock->unplaced_ranks += walls_ns[i] == TIME_UNKNOWN;
    }
    return 0;
}

/* Places those ranks by their wall clocks. The earliest event may be on one of them. */
static void place_by_wall(struct common_clock *clock, const int64_t *walls_ns)
{
    const struct job *job = clock->job;
    int64_t first_ns = clock->wall_ns;
    for (size_t i = 0; i < job->rank_count; i++)
        if (walls_ns[i] != TIME_UNKNOWN)
            take_least(&first_ns, clock->own_ns[i] + walls_ns[i]);
    if (clock->wall_ns != TIME_UNKNOWN)
        clock->origin_ns -= clock->wall_ns - first_ns;
    clock->wall_ns = first_ns;
    for (size_t i = 0; i < job->rank_count; i++)
        if (walls_ns[i] != TIME_UNKNOWN)
            clock->own_ns[i] = first_ns - walls_ns[i];
}

/* Reads wall clocks from the store of the job. */
static int common_clock_init(struct common_clock *clock, const struct job *job, const struct call *calls,
                             struct error *error)
{
    *clock = (struct common_clock){.job = job, .origin_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    clock->own_ns = array_new(job->rank_count, sizeof *clock->own_ns);
    int64_t *walls_ns = array_new(job->rank_count, sizeof *walls_ns);
    int failed = clock->own_ns && walls_ns ? 0 : error_no_memory(error);
    if (!failed)
        find_firsts(clock, calls);
    failed = failed || find_wall_at_origin(clock, error) || read_walls(clock, walls_ns, error);
    if (!failed)
        place_by_wall(clock, walls_ns);
    free(walls_ns);
    return failed ? -1 : 0;
}

static void common_clock_release(struct common_clock *clock)
{
    free(clock->own_ns);
    *clock = (struct common_clock){0};
}

int64_t common_clock_host(const struct common_clock *clock, int32_t rank, int64_t host_ns)
{
    const struct job_rank *of = &clock->job->ranks[rank];
    if (host_ns == TIME_UNKNOWN || clock->own_ns[rank] == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t at_ns = job_is_aligned(of) ? job_common_host_time(of, host_ns) - clock->origin_ns
                                       : host_ns - clock->own_ns[rank];
    return at_ns > 0 ? at_ns : 0;
}

/* Converts a time on an operation's device timeline; TIME_UNKNOWN stays. */
static int64_t common_clock_device(const struct common_clock *clock, const struct job_operation *operation,
                                   int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN
               ? TIME_UNKNOWN
               : common_clock_host(clock, operation->rank, time_ns + job_delay(clock->job, operation));
}

static int64_t first_known(int64_t time_ns, int64_t otherwise_ns)
{
    return time_ns != TIME_UNKNOWN ? time_ns : otherwise_ns;
}

static struct call call_of(const struct operation *recorded)
{
    return (struct call){
        .begin_ns = first_known(recorded->api.begin_ns, recorded->enqueue.begin_ns),
        .end_ns = first_known(recorded->enqueue.end_ns, recorded->api.end_ns),
        .stream = recorded->stream,
    };
}

struct sort_entry *operations_by_id(const struct job *job)
{
    struct sort_entry *ids = array_new(job->operation_count, sizeof *ids);
    struct sort_entry *scratch = array_new(job->operation_count, sizeof *scratch);
    for (size_t i = 0; ids && scratch && i < job->operation_count; i++)
        ids[i] = (struct sort_entry){job_operation_id(job, i), (int32_t)i};
    if (ids && scratch)
        sort_entries(ids, scratch, job->operation_count);
    if (!scratch) {
        free(ids);
        ids = NULL;
    }
    free(scratch);
    return ids;
}

static int read_all(const struct job *job, const struct sort_entry *ids, struct call *calls,
                    struct error *error)
{
    struct operation_cursor *cursor = operation_cursor_open(job->store, job->run_id, error);
    struct stored_operation stored;
    size_t near = 0;
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = operation_cursor_next(cursor, &stored, error)) == 1) {
        int64_t at = find_id(ids, job->operation_count, sizeof *ids, near, stored.id);
        if (at < 0)
            continue;
        calls[ids[at].index] = call_of(&stored.operation);
        near = (size_t)at + 1;
    }
    operation_cursor_close(cursor);
    return more;
}

/* Reads the host times of all operations of a job, one each, in their order. The caller frees *calls. */
static int calls_read(const struct job *job, struct call **calls, struct error *error)
{
    struct sort_entry *ids = operations_by_id(job);
    *calls = array_new(job->operation_count, sizeof **calls);
    int failed = !ids || !*calls ? error_no_memory(error) : read_all(job, ids, *calls, error);
    free(ids);
    if (!failed)
        return 0;
    free(*calls);
    *calls = NULL;
    return -1;
}

int canvas_init(struct canvas *canvas, const struct job *job, const struct timeline_findings *findings,
                const struct timeline_selection *selection, const struct trace_format *format,
                struct output *output, struct timeline_counts *counts, struct error *error)
{
    *canvas = (struct canvas){.job = job, .selection = selection, .findings = findings, .counts = counts};
    *counts = (struct timeline_counts){.most_uncertain = -1};
    if (trace_open(&canvas->trace, format, output, error) || calls_read(job, &canvas->calls, error))
        return -1;
    return common_clock_init(&canvas->clock, job, canvas->calls, error);
}

void canvas_release(struct canvas *canvas)
{
    common_clock_release(&canvas->clock);
    trace_release(&canvas->trace);
    free(canvas->calls);
    canvas->calls = NULL;
}

int canvas_shows(const struct canvas *canvas, size_t operation)
{
    const struct job *job = canvas->job;
    const struct job_operation *of = &job->operations[operation];
    const struct timeline_selection *selection = canvas->selection;
    int64_t step = job_run_step(job, of->step);
    return selection->ranks[of->rank] &&
           (!selection->has_steps || (step >= selection->first_step && step <= selection->last_step)) &&
           filter_is_text(selection->tag, job_tag(job, of->tag)) &&
           filter_is_text(selection->communicator, job->communicators[of->communicator].label);
}

int64_t canvas_begin_ns(const struct canvas *canvas, size_t operation)
{
    const struct job_operation *of = &canvas->job->operations[operation];
    if (of->start_ns != TIME_UNKNOWN || of->end_ns != TIME_UNKNOWN)
        return common_clock_device(&canvas->clock, of,
                                   of->start_ns != TIME_UNKNOWN ? of->start_ns : of->end_ns);
    return common_clock_host(&canvas->clock, of->rank, canvas->calls[operation].begin_ns);
}

int64_t canvas_end_ns(const struct canvas *canvas, size_t operation)
{
    const struct job_operation *of = &canvas->job->operations[operation];
    if (of->start_ns != TIME_UNKNOWN || of->end_ns != TIME_UNKNOWN)
        return common_clock_device(&canvas->clock, of, of->end_ns);
    return common_clock_host(&canvas->clock, of->rank, canvas->calls[operation].end_ns);
}

/* The first track numbers are those of the ranks' processes. */
uint64_t canvas_process(int32_t rank)
{
    return (uint64_t)(int64_t)rank + 1;
}

static int add_track(struct canvas *canvas, const struct track_group *group, uint64_t *id,
                     struct error *error)
{
    *id = canvas->job->rank_count + ++canvas->tracks;
    const struct trace_track track = {
        .id = *id,
        .parent = group->rank == NO_RANK ? 0 : canvas_process(group->rank),
        .name = group->name,
        .description = group->description,
    };
    return trace_add_track(&canvas->trace, &track, error);
}

int track_group_place(struct canvas *canvas, struct track_group *group, int64_t begin_ns, int64_t end_ns,
                      int *lane, struct error *error)
{
    int before = group->lanes.count;
    *lane = lanes_place(&group->lanes, begin_ns, end_ns);
    canvas->counts->crowded += *lane < 0;
    return group->lanes.count > before ? add_track(canvas, group, &group->tracks[*lane], error) : 0;
}

int track_group_draw(struct canvas *canvas, struct track_group *group, struct trace_event *event,
                     int64_t end_ns, struct error *error)
{
    int lane;
    struct trace_writer *trace = &canvas->trace;
    int is_mark = end_ns == TIME_UNKNOWN;
    if (track_group_place(canvas, group, event->at_ns, is_mark ? event->at_ns : end_ns, &lane, error))
        return -1;
    if (lane < 0)
        return 0;
    event->track = group->tracks[lane];
    if (is_mark)
        return trace_mark(trace, event, error);
    if (trace_begin(trace, event, error))
        return -1;
    return end_ns == INT64_MAX ? 0 : trace_end(trace, event->track, end_ns, error);
}
