#include "job/clock_alignment.h"

#include "align/align.h"
#include "base/array.h"
#include "base/map.h"
#include "schemas.h"
#include "store/statement.h"

#include <stdlib.h>
#include <string.h>

/*
 * Offsets between the host clocks of a run. Ranks whose processes share a clock (Inspector's wall clock on
 * one host, anchors of one boot) are one clock from the start; the others are linked by what they did
 * together.
 */

/* Host times from this on count from the epoch, not from a process's start: 2001-09-09. */
static const int64_t EPOCH_TIMES_NS = 1000000000000000000;

struct clock_reader {
    struct job *job;
    struct map ranks;    /* job_rank id -> index */
    struct intern names; /* of shared clocks */
};

/* The name of the clock that a rank's host times are on; empty when it is its own. */
static int name_clock(struct clock_reader *reader, struct job_rank *rank, struct statement *statement,
                      struct error *error)
{
    const char *host = rank->facts.host, *boot = statement_text(statement, 1);
    int64_t number = -1;
    if (boot) {
        number = intern_put(&reader->names, boot, strlen(boot));
        rank->clock_offset_ns = statement_integer(statement, 2);
    } else if (host && *host && rank->first_issued_ns >= EPOCH_TIMES_NS) {
        number = intern_put(&reader->names, host, strlen(host));
    } else {
        return 0;
    }
    rank->clock = (int32_t)number;
    return number < 0 ? error_no_memory(error) : 0;
}

static int read_clocks(struct clock_reader *reader, struct error *error)
{
    struct job *job = reader->job;
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_clocks_ranks, job->run_id, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        int64_t *at = map_get(&reader->ranks, (struct map_key){{(uint64_t)statement_integer(statement, 0)}});
        if (at && name_clock(reader, &job->ranks[*at], statement, error))
            row = -1;
    }
    statement_free(statement);
    return row;
}

/* Numbers the clocks: the shared ones first, then one for each rank that has its own. */
static int number_clocks(struct job *job, int32_t *count, struct error *error)
{
    struct clock_reader reader = {.job = job};
    map_init(&reader.ranks);
    intern_init(&reader.names);
    int failed = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        job->ranks[i].clock = -1;
        job->ranks[i].clock_scale = 1;
        if (!map_put(&reader.ranks, (struct map_key){{(uint64_t)job->ranks[i].id}}, (int64_t)i, NULL))
            failed = error_no_memory(error);
    }
    failed = failed || read_clocks(&reader, error);
    *count = (int32_t)reader.names.count;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].clock < 0)
            job->ranks[i].clock = (*count)++;
    map_release(&reader.ranks);
    intern_release(&reader.names);
    return failed;
}

struct meetings {
    struct align_visit *visits;
    size_t visit_count;
    struct align_meeting *items;
    size_t count;
};

/*
 * When a member had surely left: at its kernel's end; where a channel has no stop, when that had taken its
 * last data, else, or where none has, and of what is or may be a tree, when the next operation of the stream
 * started. TIME_UNKNOWN: nothing says.
 */
static int64_t left_at(const struct job_operation *operation, int64_t free_ns, int64_t next_start_ns)
{
    if (operation->is_tree || operation->may_be_tree)
        return next_start_ns;
    if (!operation->incomplete)
        return operation->end_ns;
    return operation->end_ns != TIME_UNKNOWN && free_ns > operation->end_ns ? free_ns : next_start_ns;
}

static int meets(const struct job *job, const struct job_instance *instance, const int64_t *left)
{
    if (!function_is_full_exchange(instance->function) || instance->members < 2)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        if (member->start_ns == TIME_UNKNOWN || left[member - job->operations] == TIME_UNKNOWN)
            return 0;
    }
    return 1;
}

static void add_meeting(const struct job *job, const struct job_instance *instance, const int64_t *left,
                        struct meetings *meetings)
{
    struct align_meeting *meeting = &meetings->items[meetings->count++];
    *meeting = (struct align_meeting){.first = meetings->visit_count, .count = (size_t)instance->members};
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        const struct job_rank *rank = &job->ranks[member->rank];
        int64_t delay_ns = job_delay(job, member);
        meetings->visits[meetings->visit_count++] = (struct align_visit){
            .clock = rank->clock,
            .come_ns = member->start_ns + delay_ns + rank->clock_offset_ns,
            .leave_ns = left[member - job->operations] + delay_ns + rank->clock_offset_ns};
    }
}

/* When each operation had surely left, on its device timeline. */
static int64_t *leaving_times(const struct job *job)
{
    int64_t *left = job_next_starts(job);
    for (size_t i = 0; left && i < job->operation_count; i++)
        left[i] = left_at(&job->operations[i], job->drafts.free_ns[i], left[i]);
    return left;
}

static int gather_meetings(const struct job *job, struct meetings *meetings, struct error *error)
{
    int64_t *left = leaving_times(job);
    meetings->visits = array_new(job->operation_count, sizeof *meetings->visits);
    meetings->items = array_new(job->instance_count, sizeof *meetings->items);
    int failed = !left || !meetings->visits || !meetings->items;
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        if (meets(job, &job->instances[i], left))
            add_meeting(job, &job->instances[i], left, meetings);
    free(left);
    return failed ? error_no_memory(error) : 0;
}

static void take_clock(struct job_rank *rank, const struct align_clock *clock, int32_t reference,
                       int is_first)
{
    rank->clock_method = clock->state == ALIGN_CONTRADICTORY ? CLOCK_CONTRADICTORY
                         : clock->state == ALIGN_UNREACHED   ? CLOCK_NONE
                         : is_first                          ? CLOCK_REFERENCE
                         : rank->clock == reference          ? CLOCK_SHARED
                                                             : CLOCK_MEETINGS;
    /* The reference needs no meeting to know itself. */
    if (rank->clock == reference)
        rank->clock_method = is_first ? CLOCK_REFERENCE : CLOCK_SHARED;
    rank->clock_scale = clock->scale;
    rank->clock_origin_ns = clock->scale == 1 ? 0 : clock->origin_ns;
    if (rank->clock == reference)
        return;
    rank->clock_offset_ns += clock->offset_ns;
    rank->clock_uncertainty_ns = clock->uncertainty_ns;
}

int job_align_clocks(struct job *job, struct error *error)
{
    int32_t count = 0;
    struct meetings meetings = {0};
    size_t first = 0;
    while (first < job->rank_count && !job->ranks[first].count)
        first++;
    if (first == job->rank_count)
        return 0;
    if (number_clocks(job, &count, error))
        return -1;
    struct align_clock *clocks = array_new((size_t)count, sizeof *clocks);
    int failed = !clocks ? error_no_memory(error) : gather_meetings(job, &meetings, error);
    if (!failed) {
        const struct align_problem problem = {.visits = meetings.visits,
                                              .meetings = meetings.items,
                                              .meeting_count = meetings.count,
                                              .clock_count = count,
                                              .reference = job->ranks[first].clock};
        failed = align_solve(&problem, clocks, error);
        for (size_t i = 0; !failed && i < job->rank_count; i++)
            take_clock(&job->ranks[i], &clocks[job->ranks[i].clock], problem.reference, i == first);
    }
    free(clocks);
    free(meetings.visits);
    free(meetings.items);
    return failed;
}
