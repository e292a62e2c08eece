/*
 * Aligns the host clocks of the ranks of a run, after each rank has its own timeline. Also looks up where a
 * record is in the trace files, and finds ranks whose records end early.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Clock offsets. Ranks whose processes share a clock (Inspector's wall clock on one host, anchors of one
 * boot) have the same clock from the start. The other clocks are connected by the common operations of their
 * ranks.
 */

/* Host times from this value on count from the epoch rather than from the start of a process: 2001-09-09. */
static const int64_t EPOCH_TIMES_NS = 1000000000000000000;

struct clock_reader {
    struct job *job;
    struct map ranks;    /* id of a job_rank -> index */
    struct intern names; /* names of shared clocks */
};

/* The name of the clock of a rank's host times; empty if it has a clock of its own. */
static int name_clock(struct clock_reader *reader, struct job_rank *rank, struct statement *statement,
                      struct error *error)
{
    const char *host = rank->facts.host, *boot = statement_text(statement, 1);
    int64_t number = -1;
    if (boot) {
        number = intern_put(&reader->names, boot, strlen(boot));
        rank->clock_offset_ns = statement_integer(statement, 2);
    } else if (host && *host &&
               (rank->first_issued_ns >= EPOCH_TIMES_NS || rank->first_dump_ns >= EPOCH_TIMES_NS)) {
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

/* Numbers the clocks: first the shared ones, then one for each rank with its own. */
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
 * The time at which a member had certainly left: the end of its kernel; if a channel has no stop, the time at
 * which the kernel took its last data; and otherwise, and for operations with a (possible) tree algorithm,
 * the start of the next operation of the stream. TIME_UNKNOWN: none of these is known.
 */
static int64_t left_at(const struct job_operation *operation, int64_t free_ns, int64_t next_start_ns)
{
    if (operation->is_tree || operation->may_be_tree)
        return next_start_ns;
    if (!operation->incomplete)
        return operation->end_ns;
    return operation->end_ns != TIME_UNKNOWN && free_ns > operation->end_ns ? free_ns : next_start_ns;
}

/* When each operation had come and left; `earliest_ns` of stamped ones, which are not used if it is NULL. */
struct presence {
    const int64_t *earliest_ns; /* [operation] */
    const int64_t *left_ns;     /* [operation] */
};

static int meets(const struct job *job, const struct job_instance *instance, const struct presence *presence)
{
    if (!function_is_full_exchange(instance->function) || instance->members < 2)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        /* A stamped member may have come before its start. */
        if (member->start_ns == TIME_UNKNOWN || (member->stamped && !presence->earliest_ns) ||
            presence->left_ns[member - job->operations] == TIME_UNKNOWN)
            return 0;
    }
    return 1;
}

/* Whether it records when its kernel stopped. The kernels of a tree do not stop together. */
static int stops_with_others(const struct job_operation *operation)
{
    return operation->ends == ENDS_BY_KERNEL && !operation->is_tree && !operation->may_be_tree;
}

/* Times in whole microseconds, one of the start and one of the duration, are too early by up to this. */
static const int64_t ROUNDED_NS = 2000;

static void add_meeting(const struct job *job, const struct job_instance *instance,
                        const struct presence *presence, struct meetings *meetings)
{
    struct align_meeting *meeting = &meetings->items[meetings->count++];
    *meeting = (struct align_meeting){.first = meetings->visit_count, .count = (size_t)instance->members};
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        const struct job_rank *rank = &job->ranks[member->rank];
        int64_t offset_ns = job_delay(job, member) + rank->clock_offset_ns;
        size_t at = (size_t)(member - job->operations);
        int is_bounded = member->stamped && presence->earliest_ns;
        meetings->visits[meetings->visit_count++] = (struct align_visit){
            .clock = rank->clock,
            .come_ns = (is_bounded ? presence->earliest_ns[at] : member->start_ns) + offset_ns,
            .leave_ns = presence->left_ns[at] + offset_ns + (member->stamped ? ROUNDED_NS : 0),
            .stop_ns = member->end_ns + offset_ns,
            .has_stop = stops_with_others(member)};
    }
}

/*
 * Adds that a receive between two hosts was not over before its send began, if both are placed by stamps,
 * which are upper bounds of all times: the send began at the earliest at its lower bound.
 */
static void add_pair(const struct job *job, const struct job_instance *instance, const int64_t *earliest,
                     struct meetings *meetings)
{
    const struct job_operation *send = NULL, *receive = NULL;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        *(member->function == FUNCTION_SEND ? &send : &receive) = member;
    }
    if (instance->function != FUNCTION_SEND || !send || !receive || !send->stamped || !receive->stamped ||
        job->ranks[send->rank].clock == job->ranks[receive->rank].clock)
        return;
    const struct job_rank *from = &job->ranks[send->rank], *to = &job->ranks[receive->rank];
    meetings->items[meetings->count++] =
        (struct align_meeting){.first = meetings->visit_count, .count = 2, .is_one_way = 1};
    int64_t come_ns = earliest[send - job->operations] + job_delay(job, send) + from->clock_offset_ns;
    int64_t leave_ns = receive->end_ns + job_delay(job, receive) + to->clock_offset_ns + ROUNDED_NS;
    meetings->visits[meetings->visit_count++] =
        (struct align_visit){.clock = from->clock, .come_ns = come_ns, .leave_ns = come_ns};
    meetings->visits[meetings->visit_count++] =
        (struct align_visit){.clock = to->clock, .come_ns = leave_ns, .leave_ns = leave_ns};
}

/* How times that are bounded by stamps tell about clocks. */
enum by_stamps {
    WITHOUT_STAMPS,
    BY_STAMPS,   /* an operation ended before it was dumped, and after the one before it on its stream */
    BY_INTERVALS /* and after the dump before, since dumps follow each other regularly */
};

/*
 * The earliest start of each operation: that of stamped ones is when the one before it on its stream was over
 * at the earliest, and not before they were enqueued. The caller frees the list.
 */
static int64_t *earliest_starts(const struct job *job, enum by_stamps by_stamps)
{
    int64_t *earliest = array_new(job->operation_count, sizeof *earliest);
    for (size_t i = 0; earliest && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        const struct job_operation *before =
            operation->previous < 0 ? NULL : &job->operations[operation->previous];
        earliest[i] = operation->stamped ? operation->enqueued_ns : operation->start_ns;
        int64_t least_ns = operation->start_ns - job->ranks[operation->rank].dump_interval_ns;
        if (operation->stamped && by_stamps == BY_INTERVALS && least_ns > earliest[i])
            earliest[i] = least_ns;
        if (!operation->stamped || !before || before->end_ns == TIME_UNKNOWN)
            continue;
        int64_t over_ns = before->end_ns;
        if (before->stamped)
            over_ns -= before->start_ns - earliest[before - job->operations];
        earliest[i] = over_ns > earliest[i] ? over_ns : earliest[i];
    }
    return earliest;
}

/*
 * When the next operation of the stream had certainly begun: a start that is assumed (job_operation.inferred)
 * may be too early, so that the one after it counts. Stamped ones are as late as their stamps allow.
 * TIME_UNKNOWN if there is none. The caller frees the list.
 */
static int64_t *next_recorded_starts(const struct job *job, enum by_stamps by_stamps)
{
    int64_t *next = job_next_starts(job);
    for (size_t i = job->operation_count; next && i-- > 0;)
        if (job->operations[i].inferred && !(by_stamps && job->operations[i].stamped) &&
            job->operations[i].previous >= 0)
            next[job->operations[i].previous] = next[i];
    return next;
}

/* The time at which each operation had certainly left, on its device timeline. */
static int64_t *leaving_times(const struct job *job, enum by_stamps by_stamps)
{
    int64_t *left = next_recorded_starts(job, by_stamps);
    for (size_t i = 0; left && i < job->operation_count; i++)
        left[i] = left_at(&job->operations[i], job->drafts.free_ns[i], left[i]);
    return left;
}

static int gather_meetings(const struct job *job, enum by_stamps by_stamps, struct meetings *meetings,
                           struct error *error)
{
    int64_t *left = leaving_times(job, by_stamps),
            *earliest = by_stamps ? earliest_starts(job, by_stamps) : NULL;
    meetings->visits = array_new(job->operation_count, sizeof *meetings->visits);
    meetings->items = array_new(job->instance_count, sizeof *meetings->items);
    int failed = !left || (by_stamps && !earliest) || !meetings->visits || !meetings->items;
    const struct presence presence = {earliest, left};
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        if (meets(job, &job->instances[i], &presence))
            add_meeting(job, &job->instances[i], &presence, meetings);
    for (size_t i = 0; !failed && by_stamps && i < job->instance_count; i++)
        add_pair(job, &job->instances[i], earliest, meetings);
    free(left);
    free(earliest);
    return failed ? error_no_memory(error) : 0;
}

static void take_clock(struct job_rank *rank, const struct align_clock *clock, int32_t reference,
                       int is_first)
{
    rank->clock_method = clock->state >= ALIGN_ROUGH       ? CLOCK_CONTRADICTORY
                         : clock->state == ALIGN_UNREACHED ? CLOCK_NONE
                         : is_first                        ? CLOCK_REFERENCE
                         : rank->clock == reference        ? CLOCK_SHARED
                                                           : CLOCK_CONSTRAINTS;
    rank->has_rough_clock = clock->state == ALIGN_ROUGH;
    /* The reference clock needs no meetings. */
    if (rank->clock == reference)
        rank->clock_method = is_first ? CLOCK_REFERENCE : CLOCK_SHARED;
    rank->clock_scale = clock->scale;
    rank->clock_origin_ns = clock->scale == 1 ? 0 : clock->origin_ns;
    if (rank->clock == reference)
        return;
    rank->clock_offset_ns += clock->offset_ns + clock->nearer_ns;
    rank->clock_uncertainty_ns = clock->uncertainty_ns + llabs(clock->nearer_ns);
    rank->clock_doubt_ns = clock->doubt_ns;
}

static int has_stamped(const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].stamped)
            return 1;
    return 0;
}

static int is_solved(const struct align_clock *clocks, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (clocks[i].state >= ALIGN_ROUGH)
            return 0;
    return 1;
}

/* Hosts notice starts and stops late, but not by more than this unless their cores are contended. */
static const int64_t NOTICED_NS = 500000;

/*
 * With operations that are placed by stamps, tries whether the clocks agree with all that their bounds show,
 * then also with some slack, since these bounds are tight, and at last without them.
 */
static int solve_clocks(const struct job *job, int32_t count, int32_t reference, struct align_clock *clocks,
                        struct error *error)
{
    static const struct {
        enum by_stamps by_stamps;
        int64_t slack_ns;
    } attempts[] = {{BY_INTERVALS, 0}, {BY_STAMPS, 0}, {BY_STAMPS, NOTICED_NS}, {WITHOUT_STAMPS, 0}};
    enum { ATTEMPTS = sizeof attempts / sizeof *attempts };
    int is_done = 0, failed = 0;
    for (size_t i = has_stamped(job) ? 0 : ATTEMPTS - 1; i < ATTEMPTS && !is_done && !failed; i++) {
        struct meetings meetings = {0};
        failed = gather_meetings(job, attempts[i].by_stamps, &meetings, error);
        const struct align_problem problem = {.visits = meetings.visits,
                                              .meetings = meetings.items,
                                              .meeting_count = meetings.count,
                                              .clock_count = count,
                                              .reference = reference,
                                              .slack_ns = attempts[i].slack_ns};
        failed = failed || align_solve(&problem, clocks, error);
        is_done = !failed && is_solved(clocks, count);
        free(meetings.visits);
        free(meetings.items);
    }
    return failed ? -1 : 0;
}

int job_align_clocks(struct job *job, struct error *error)
{
    int32_t count = 0;
    size_t first = 0;
    while (first < job->rank_count && !job->ranks[first].count)
        first++;
    if (first == job->rank_count)
        return 0;
    if (number_clocks(job, &count, error))
        return -1;
    struct align_clock *clocks = array_new((size_t)count, sizeof *clocks);
    int32_t reference = job->ranks[first].clock;
    int failed = !clocks ? error_no_memory(error) : solve_clocks(job, count, reference, clocks, error);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        take_clock(&job->ranks[i], &clocks[job->ranks[i].clock], reference, i == first);
    free(clocks);
    return failed;
}

/* The wall clock was read together with the process's clock, and both advance equally. */
static int find_wall_clock(const struct job *job, int64_t process_id, struct job_record *record,
                           struct error *error)
{
    struct statement *row = store_prepare(job->store, schema_analysis_job_wall_clock, error);
    int found = row && statement_bind_integer(row, 1, process_id, error) == 0 &&
                        statement_bind_integer(row, 2, record->at_ns, error) == 0
                    ? statement_step(row, error)
                    : -1;
    if (found == 1 && (__builtin_sub_overflow(record->at_ns, statement_integer(row, 0), &record->wall_ns) ||
                       __builtin_add_overflow(record->wall_ns, statement_integer(row, 1), &record->wall_ns)))
        record->wall_ns = TIME_UNKNOWN;
    statement_free(row);
    return found < 0 ? -1 : 0;
}

static int read_place(struct statement *row, struct job_record *record, struct error *error)
{
    const char *path = statement_text(row, 0);
    record->file = path ? strdup(path) : NULL;
    if (path && !record->file)
        return error_no_memory(error);
    record->byte_offset = statement_integer(row, 1);
    record->at_ns = statement_integer_or(row, 2, TIME_UNKNOWN);
    return 0;
}

int job_find_record(const struct job *job, size_t operation, struct job_record *record, struct error *error)
{
    int is_wall_clock = 0;
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    if (!job->read_order)
        return 0;
    int64_t id = job_operation_id(job, operation);
    struct statement *row = store_prepare(job->store, schema_analysis_job_record, error);
    int found = row && statement_bind_integer(row, 1, id, error) == 0 ? statement_step(row, error) : -1;
    if (found == 1 && read_place(row, record, error))
        found = -1;
    is_wall_clock = found == 1 && statement_integer(row, 3);
    statement_free(row);
    if (found != 1 || record->at_ns == TIME_UNKNOWN)
        return found < 0 ? -1 : 0;
    if (is_wall_clock) {
        record->wall_ns = record->at_ns;
        return 0;
    }
    int64_t process_id = job->ranks[job->operations[operation].rank].process_id;
    return find_wall_clock(job, process_id, record, error);
}

int job_find_warning(const struct job *job, int64_t warning, struct job_record *record, struct error *error)
{
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    struct statement *row = store_prepare(job->store, schema_analysis_log_warning_record, error);
    int found = row && statement_bind_integer(row, 1, warning, error) == 0 ? statement_step(row, error) : -1;
    int failed = found < 0 || (found && read_place(row, record, error));
    statement_free(row);
    return failed ? -1 : 0;
}

void job_record_release(struct job_record *record)
{
    free(record->file);
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
}

/* The series of one rank, by communicator and function. */
struct rank_series {
    struct series *items; /* count 0: none */
    size_t *seen;
    size_t seen_count;
};

static void note(struct rank_series *of_rank, const struct job_operation *operation, int64_t sequence)
{
    uint8_t function = operation->function < FUNCTION_COUNT ? operation->function : FUNCTION_OTHER;
    size_t at = (size_t)operation->communicator * FUNCTION_COUNT + function;
    struct series *series = &of_rank->items[at];
    if (!series->count) {
        of_rank->seen[of_rank->seen_count++] = at;
        *series = (struct series){.least = sequence,
                                  .greatest = sequence,
                                  .rank = operation->rank,
                                  .communicator = operation->communicator,
                                  .function = operation->function};
    }
    series->count++;
    if (sequence < series->least)
        series->least = sequence;
    if (sequence > series->greatest)
        series->greatest = sequence;
}

/*
 * Operations without a step are always loaded, even if those before them are not. Such an operation belongs
 * to an excerpt if its number continues the series there, or to the first excerpt if it comes before all
 * steps.
 */
static int follows(const struct job *job, const struct rank_series *of_rank,
                   const struct job_operation *operation, int64_t sequence, size_t excerpt)
{
    uint8_t function = operation->function < FUNCTION_COUNT ? operation->function : FUNCTION_OTHER;
    const struct series *series =
        &of_rank->items[(size_t)operation->communicator * FUNCTION_COUNT + function];
    return !job->excerpt_count || (series->count ? sequence == series->greatest + 1 : excerpt == 0);
}

/* Passes the series of an excerpt to `take`. */
static int hand_over(struct rank_series *of_rank, size_t excerpt, series_taker take, void *context)
{
    int failed = 0;
    for (size_t i = 0; i < of_rank->seen_count; i++) {
        of_rank->items[of_rank->seen[i]].excerpt = excerpt;
        failed = failed || take(context, &of_rank->items[of_rank->seen[i]]);
        of_rank->items[of_rank->seen[i]].count = 0;
    }
    of_rank->seen_count = 0;
    return failed;
}

static int each_of_rank(const struct job *job, const struct job_rank *rank, struct rank_series *of_rank,
                        series_taker take, void *context)
{
    size_t excerpt = 0;
    int failed = 0;
    of_rank->seen_count = 0;
    for (size_t i = rank->first; !failed && i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        if (job->excerpt_count && operation->step >= 0 && job_excerpt_of(job, operation->step) != excerpt) {
            failed = hand_over(of_rank, excerpt, take, context);
            excerpt = job_excerpt_of(job, operation->step);
        }
        if (sequence >= 0 && !function_is_point_to_point(operation->function) &&
            (operation->step >= 0 || follows(job, of_rank, operation, sequence, excerpt)))
            note(of_rank, operation, sequence);
    }
    return failed || hand_over(of_rank, excerpt, take, context);
}

int job_each_series(const struct job *job, series_taker take, void *context)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    struct rank_series of_rank = {.items = array_new(places, sizeof *of_rank.items),
                                  .seen = array_new(places, sizeof *of_rank.seen)};
    int failed = !of_rank.items || !of_rank.seen;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = each_of_rank(job, &job->ranks[i], &of_rank, take, context);
    free(of_rank.items);
    free(of_rank.seen);
    return failed ? -1 : 0;
}

static struct map_key key_of(int32_t communicator, uint8_t function, int32_t rank)
{
    return (struct map_key){{(uint64_t)communicator, function, (uint64_t)rank}};
}

static int note_series(void *context, const struct series *series)
{
    struct extents *extents = context;
    struct map_key key = key_of(series->communicator, series->function, series->rank);
    int64_t *last = map_put(&extents->last, key, series->greatest, NULL);
    if (last && *last < series->greatest)
        *last = series->greatest;
    return last ? 0 : -1;
}

/* For each operation, whether the start of the next one on its stream is known. NULL when out of memory. */
static unsigned char *list_followed(const struct job *job)
{
    unsigned char *followed = array_new(job->operation_count, 1);
    for (size_t i = 0; followed && i < job->operation_count; i++)
        if (job->operations[i].previous >= 0)
            followed[job->operations[i].previous] = job->operations[i].start_ns != TIME_UNKNOWN;
    return followed;
}

static void note_past(struct extents *extents, const struct job *job, const unsigned char *followed)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!followed[i] || !function_is_full_exchange(operation->function))
            continue;
        int64_t sequence = job_sequence(job, operation),
                *past =
                    &extents->past[(size_t)operation->communicator * FUNCTION_COUNT + operation->function];
        *past = *past > sequence ? *past : sequence;
    }
}

int extents_init(struct extents *extents, const struct job *job)
{
    size_t places = job->communicator_count * FUNCTION_COUNT;
    unsigned char *followed = list_followed(job);
    map_init(&extents->last);
    extents->past = array_new(places, sizeof *extents->past);
    int failed = !followed || !extents->past || job_each_series(job, note_series, extents);
    for (size_t i = 0; !failed && i < places; i++)
        extents->past[i] = INT64_MIN;
    if (!failed)
        note_past(extents, job, followed);
    free(followed);
    return failed ? -1 : 0;
}

void extents_release(struct extents *extents)
{
    map_release(&extents->last);
    free(extents->past);
}

const int64_t *extents_last(const struct extents *extents, int32_t rank, int32_t communicator,
                            uint8_t function)
{
    return map_get(&extents->last, key_of(communicator, function, rank));
}

int extents_lack(const struct extents *extents, int32_t rank, int32_t communicator, uint8_t function)
{
    const int64_t *last = extents_last(extents, rank, communicator, function);
    int64_t past = function_is_full_exchange(function)
                       ? extents->past[(size_t)communicator * FUNCTION_COUNT + function]
                       : INT64_MIN;
    return past != INT64_MIN && (!last || *last < past);
}

/* Whether an operation is the last record of its rank, while other ranks completed more. */
static int is_last_recorded(const struct extents *extents, const struct job *job,
                            const struct job_operation *operation)
{
    const int64_t *last =
        extents_last(extents, operation->rank, operation->communicator, operation->function);
    return last && *last == job_sequence(job, operation) &&
           extents_lack(extents, operation->rank, operation->communicator, operation->function);
}

void job_find_tails(struct job *job, const struct extents *extents)
{
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].tail_step = INT32_MAX;
    for (size_t i = 0; !job->finished_only && !job->is_windows && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t *tail_step = &job->ranks[operation->rank].tail_step;
        if (operation->step >= 0 && operation->step < *tail_step && is_last_recorded(extents, job, operation))
            *tail_step = operation->step;
    }
}
