/*
 * Loads the operations of a run from the store. Rows come in the order of operation ids; issue_order.c sorts
 * them by rank.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Reads operations and instances. */

int loader_read(struct loader *loader, const char *sql, row_reader read, struct error *error)
{
    struct statement *statement = store_prepare_for(loader->job->store, sql, loader->job->run_id, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (read(loader, statement, error))
            row = -1;
    statement_free(statement);
    return row;
}

int loader_read_number(struct loader *loader, const char *sql, int64_t *number, struct error *error)
{
    struct statement *statement = store_prepare_for(loader->job->store, sql, loader->job->run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    *number = row == 1 ? statement_integer(statement, 0) : 0;
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

int64_t loader_rank(const struct loader *loader, int64_t id)
{
    return roster_rank(&loader->job->roster, id);
}

int64_t loader_communicator(const struct loader *loader, int64_t id)
{
    const struct job *job = loader->job;
    return find_id(job->communicators, job->communicator_count, sizeof *job->communicators, 0, id);
}

int loader_tag(struct loader *loader, const char *text, int32_t *tag, struct error *error)
{
    int64_t number = text ? intern_put(&loader->job->tags, text, strlen(text)) : -1;
    if (text && number < 0)
        return error_no_memory(error);
    if (number >= JOB_MOST_TAGS)
        return error_set(error, "the run has more than %d tags and call sites", JOB_MOST_TAGS);
    *tag = (int32_t)number;
    return 0;
}

int64_t loader_member(struct loader *loader, int64_t id)
{
    if (!loader->member_known || loader->member_id != id) {
        const struct roster_member *member = roster_member(&loader->job->roster, id);
        loader->member = member ? (int64_t)member->rank << 32 | member->communicator : -1;
        loader->member_id = id;
        loader->member_known = 1;
    }
    return loader->member;
}

/* Kernel times of an operation. The host's delay in noticing the start is the least over the channels. */
struct kernel_times {
    uint64_t gpu_begin;
    uint64_t gpu_end;
    int64_t noticed_late_ns; /* host clock minus GPU clock; TIME_UNKNOWN */
    struct job_notice notice;
    int incomplete; /* a channel has no stop */
    int channels;   /* number of channels, as far as they are listed */
};

/* Host clock minus GPU clock when the host noticed a time of the GPU; TIME_UNKNOWN. */
static int64_t noticed_at(int64_t host_ns, uint64_t gpu, int64_t later_ns)
{
    return host_ns == TIME_UNKNOWN || !gpu ? TIME_UNKNOWN : host_ns - (int64_t)gpu + later_ns;
}

static int read_channels(const struct stored_operation *stored, int64_t base_ns, struct kernel_times *times,
                         struct error *error)
{
    const struct operation *recorded = &stored->operation;
    *times = (struct kernel_times){.noticed_late_ns = TIME_UNKNOWN, .notice = {TIME_UNKNOWN, TIME_UNKNOWN}};
    struct unpack unpack;
    struct kernel_channel channel;
    if (!stored->kernel_channels)
        return 0;
    if (unpack_channels(&unpack, stored->kernel_channels, stored->kernel_channels_bytes, base_ns,
                        stored->operation.gpu_begin))
        return error_set(error, "operation %lld has damaged kernel channels", (long long)stored->id);
    int more;
    while ((more = unpack_next_channel(&unpack, &channel)) == 1) {
        times->channels += times->channels < CHANNELS_MANY;
        if (!channel.gpu_begin)
            continue;
        if (!times->gpu_begin || channel.gpu_begin < times->gpu_begin) {
            times->gpu_begin = channel.gpu_begin;
            times->notice.start_ns =
                noticed_at(channel.host.begin_ns, channel.gpu_begin, recorded->start_notice_ns);
        }
        if (channel.gpu_end > times->gpu_end) {
            times->gpu_end = channel.gpu_end;
            times->notice.stop_ns =
                noticed_at(channel.host.end_ns, channel.gpu_end, recorded->stop_notice_ns);
        }
        times->incomplete |= !channel.gpu_end;
        int64_t late = channel.host.begin_ns - (int64_t)channel.gpu_begin;
        if (channel.host.begin_ns != TIME_UNKNOWN &&
            (times->noticed_late_ns == TIME_UNKNOWN || late < times->noticed_late_ns))
            times->noticed_late_ns = late;
    }
    return more < 0 ? error_set(error, "operation %lld has damaged kernel channels", (long long)stored->id)
                    : 0;
}

static int64_t duration_of(const struct operation *recorded)
{
    return recorded->duration_ns != COUNT_UNKNOWN ? recorded->duration_ns : TIME_UNKNOWN;
}

/*
 * Without a GPU clock, the device times are from polling by the host, and never early. So the true start is
 * at most the observed start, and at most the observed end minus the duration, if a recorder gives a
 * duration. Then the start was noticed late.
 */
static void take_host_times(struct job_operation *operation, int64_t duration,
                            const struct operation *recorded, struct job_notice *notice)
{
    int64_t begin = recorded->device.begin_ns;
    int64_t end = recorded->device.end_ns;
    if (begin != TIME_UNKNOWN && end != TIME_UNKNOWN && duration != TIME_UNKNOWN) {
        if (end - duration < begin)
            begin = end - duration;
        end = begin + duration;
        /* Not the stop: the thread may be blocked in a send, which such a recorder does not show. */
        if (recorded->end_source == END_KERNEL)
            *notice = (struct job_notice){recorded->device.begin_ns - begin, TIME_UNKNOWN};
    }
    operation->start_ns = begin;
    operation->end_ns = end = begin == TIME_UNKNOWN ? TIME_UNKNOWN : end;
    operation->ends = end == TIME_UNKNOWN                  ? ENDS_UNKNOWN
                      : recorded->end_source == END_KERNEL ? ENDS_BY_KERNEL
                                                           : ENDS_BY_HOST;
}

static int64_t first_known(int64_t time_ns, int64_t otherwise_ns)
{
    return time_ns != TIME_UNKNOWN ? time_ns : otherwise_ns;
}

/* Host times stay on the host's clock here; device_time.c converts them. */
static int take_times(struct job_operation *operation, const struct stored_operation *stored,
                      struct kernel_times *kernel, struct error *error)
{
    int64_t base = first_known(stored->operation.device.begin_ns, stored->operation.enqueue.begin_ns);
    if (read_channels(stored, base == TIME_UNKNOWN ? 0 : base, kernel, error))
        return -1;
    operation->incomplete = kernel->incomplete != 0;
    if (!kernel->gpu_begin) {
        take_host_times(operation, duration_of(&stored->operation), &stored->operation, &kernel->notice);
        return 0;
    }
    operation->start_ns = (int64_t)kernel->gpu_begin;
    operation->end_ns = kernel->gpu_end > kernel->gpu_begin ? (int64_t)kernel->gpu_end : TIME_UNKNOWN;
    operation->ends = operation->end_ns == TIME_UNKNOWN ? ENDS_UNKNOWN : ENDS_BY_KERNEL;
    return 0;
}

static int make_room(struct loader *loader, struct error *error)
{
    struct job *job = loader->job;
    size_t count = job->operation_count + 1;
    if (array_reserve((void **)&job->operations, &loader->operation_capacity, count,
                      sizeof *job->operations) ||
        array_reserve((void **)&job->drafts.issued_ns, &loader->issued_capacity, count,
                      sizeof *job->drafts.issued_ns) ||
        (loader->has_traffic && array_reserve((void **)&loader->channels, &loader->channel_capacity, count,
                                              sizeof *loader->channels)))
        return error_no_memory(error);
    return 0;
}

/*
 * Stores a property that few recorders have. The array is created with the first value, and `not_told` is
 * filled in for earlier operations.
 */
static int store_optional_time(int64_t **list, size_t *capacity, size_t at, int64_t told, int64_t not_told)
{
    int is_first = !*list;
    if (array_reserve((void **)list, capacity, at + 1, sizeof **list))
        return -1;
    for (size_t i = 0; is_first && i < at; i++)
        (*list)[i] = not_told;
    (*list)[at] = told;
    return 0;
}

/* The same for 32-bit numbers. */
static int take_number(int32_t **list, size_t *capacity, size_t at, int32_t number, int32_t none)
{
    int is_first = !*list;
    if (array_reserve((void **)list, capacity, at + 1, sizeof **list))
        return -1;
    for (size_t i = 0; is_first && i < at; i++)
        (*list)[i] = none;
    (*list)[at] = number;
    return 0;
}

/*
 * Only symmetric kernels wait for all peers at the beginning. For other kernels the recorded time is that of
 * the initial work of their blocks, which wait later.
 */
static int take_initial_sync(struct loader *loader, size_t at, const struct operation *recorded)
{
    struct job *job = loader->job;
    int is_wait = recorded->is_symmetric && recorded->kind == OPERATION_COLLECTIVE;
    int64_t sync_ns = is_wait ? recorded->initial_sync_ns : 0;
    return job->initial_sync_ns || sync_ns > 0
               ? store_optional_time(&job->initial_sync_ns, &loader->sync_capacity, at, sync_ns, 0)
               : 0;
}

static int take_busy(struct loader *loader, size_t at, int64_t busy_ns)
{
    struct job *job = loader->job;
    return job->gpu_busy_ns || busy_ns > 0
               ? store_optional_time(&job->gpu_busy_ns, &loader->busy_capacity, at, busy_ns, 0)
               : 0;
}

static int take_overlap(struct loader *loader, size_t at, int64_t overlap_ns)
{
    struct job *job = loader->job;
    return job->gpu_overlap_ns || overlap_ns > 0
               ? store_optional_time(&job->gpu_overlap_ns, &loader->overlap_capacity, at, overlap_ns, 0)
               : 0;
}

static int take_duration(struct loader *loader, size_t at, const struct operation *recorded)
{
    struct job_drafts *drafts = &loader->job->drafts;
    int64_t duration_ns =
        loader->job->operations[at].start_ns == TIME_UNKNOWN ? duration_of(recorded) : TIME_UNKNOWN;
    return drafts->durations_ns || duration_ns != TIME_UNKNOWN
               ? store_optional_time(&drafts->durations_ns, &loader->duration_capacity, at, duration_ns,
                                     TIME_UNKNOWN)
               : 0;
}

static int take_stamp(struct loader *loader, size_t at, const struct operation *recorded)
{
    struct job_drafts *drafts = &loader->job->drafts;
    int64_t stamp_ns = recorded->end_source == END_DUMP ? recorded->device.end_ns : TIME_UNKNOWN;
    return drafts->stamps_ns || stamp_ns != TIME_UNKNOWN
               ? store_optional_time(&drafts->stamps_ns, &loader->stamp_capacity, at, stamp_ns, TIME_UNKNOWN)
               : 0;
}

static int take_own_number(struct loader *loader, size_t at, const struct operation *recorded)
{
    struct job_drafts *drafts = &loader->job->drafts;
    int is_told = recorded->end_source == END_DUMP && recorded->kind == OPERATION_POINT_TO_POINT;
    int64_t number = is_told ? recorded->sequence : COUNT_UNKNOWN;
    return drafts->numbers || number != COUNT_UNKNOWN
               ? store_optional_time(&drafts->numbers, &loader->number_capacity, at, number, COUNT_UNKNOWN)
               : 0;
}

static int take_noticed(struct loader *loader, size_t at, int64_t noticed_ns)
{
    struct job_drafts *drafts = &loader->job->drafts;
    return drafts->noticed_ns || noticed_ns != TIME_UNKNOWN
               ? store_optional_time(&drafts->noticed_ns, &loader->noticed_capacity, at, noticed_ns,
                                     TIME_UNKNOWN)
               : 0;
}

static int take_notice(struct loader *loader, size_t at, struct job_notice notice)
{
    struct job_drafts *drafts = &loader->job->drafts;
    int is_first = !drafts->notices;
    if (is_first && notice.start_ns == TIME_UNKNOWN && notice.stop_ns == TIME_UNKNOWN)
        return 0;
    if (array_reserve((void **)&drafts->notices, &loader->notice_capacity, at + 1, sizeof *drafts->notices))
        return -1;
    for (size_t i = 0; is_first && i < at; i++)
        drafts->notices[i] = (struct job_notice){TIME_UNKNOWN, TIME_UNKNOWN};
    drafts->notices[at] = notice;
    return 0;
}

/* The index of a stream's id; -1 when out of memory. */
static int64_t number_stream(struct loader *loader, uint64_t id)
{
    struct job_drafts *drafts = &loader->job->drafts;
    size_t count = loader->stream_numbers.count;
    if (count && drafts->stream_ids[loader->latest_stream] == id)
        return loader->latest_stream;
    if (array_reserve((void **)&drafts->stream_ids, &loader->stream_id_capacity, count + 1,
                      sizeof *drafts->stream_ids))
        return -1;
    int added;
    int64_t *number = map_put(&loader->stream_numbers, (struct map_key){{id}}, (int64_t)count, &added);
    if (!number)
        return -1;
    if (added)
        drafts->stream_ids[count] = id;
    loader->latest_stream = (int32_t)*number;
    return *number;
}

static int take_stream(struct loader *loader, size_t at, uint64_t id)
{
    struct job_drafts *drafts = &loader->job->drafts;
    if (!drafts->streams && !id)
        return 0;
    if (!drafts->streams && number_stream(loader, 0) < 0)
        return -1;
    int64_t number = number_stream(loader, id);
    return number < 0 ? -1 : take_number(&drafts->streams, &loader->stream_capacity, at, (int32_t)number, 0);
}

static int take_source(struct loader *loader, size_t at, const char *source, struct error *error)
{
    struct job *job = loader->job;
    int32_t number;
    if (!job->sources && !source)
        return 0;
    if (loader_tag(loader, source, &number, error))
        return -1;
    return take_number(&job->sources, &loader->source_capacity, at, number, -1) ? error_no_memory(error) : 0;
}

static int take_call(struct loader *loader, size_t at, const struct stored_operation *stored)
{
    struct job *job = loader->job;
    const struct operation *recorded = &stored->operation;
    if (!loader->records_call_states)
        return 0;
    const struct roster_member *member = roster_member(&job->roster, stored->member_id);
    if (array_reserve((void **)&job->calls, &loader->call_capacity, at + 1, sizeof *job->calls))
        return -1;
    job->calls[at] = (struct job_call){.number = recorded->sequence,
                                       .count = recorded->count,
                                       .peer = recorded->peer,
                                       .own_rank = member->number,
                                       .is_started = recorded->device.begin_ns != TIME_UNKNOWN};
    /* The time at which a watchdog saw it running is not its start. */
    job->operations[at].start_ns = TIME_UNKNOWN;
    return 0;
}

/* Stores the properties that not all operations have. */
static int take_more(struct loader *loader, size_t at, const struct stored_operation *stored,
                     const struct kernel_times *kernel, struct error *error)
{
    const struct operation *recorded = &stored->operation;
    if (loader->has_traffic)
        loader->channels[at] = (uint8_t)kernel->channels;
    if (take_initial_sync(loader, at, recorded) || take_call(loader, at, stored) ||
        take_busy(loader, at, recorded->gpu_busy_ns) || take_overlap(loader, at, recorded->gpu_overlap_ns) ||
        take_duration(loader, at, recorded) || take_stamp(loader, at, recorded) ||
        take_own_number(loader, at, recorded) || take_noticed(loader, at, kernel->noticed_late_ns) ||
        take_notice(loader, at, kernel->notice) || take_stream(loader, at, recorded->stream))
        return error_no_memory(error);
    return take_source(loader, at, recorded->source, error);
}

int32_t loader_step(const struct loader *loader, int64_t step)
{
    return job_loaded_step(loader->job, step);
}

int loader_drops(const struct loader *loader, int64_t step)
{
    const struct job *job = loader->job;
    return job->excerpt_count && step >= 0 && step < job_run_steps(job) && job_loaded_step(job, step) < 0;
}

static int is_wanted(const void *loader, int64_t step)
{
    return !loader_drops(loader, step);
}

static int take_operation(struct loader *loader, const struct stored_operation *stored, struct error *error)
{
    struct job *job = loader->job;
    const struct operation *recorded = &stored->operation;
    int64_t member = loader_member(loader, stored->member_id);
    int64_t instance = id_runs_find(&loader->instance_ids, stored->instance_id);
    if (member < 0 || instance < 0)
        return 0;
    if (make_room(loader, error))
        return -1;
    size_t at = job->operation_count++;
    if (id_runs_add(&job->operation_ids, stored->id))
        return error_no_memory(error);
    job->drafts.issued_ns[at] = first_known(recorded->api.begin_ns, recorded->enqueue.begin_ns);
    struct job_operation *operation = &job->operations[at];
    *operation = (struct job_operation){
        .rank = (int32_t)(member >> 32),
        .communicator = (int32_t)(member & 0xffffffff),
        .instance = (int32_t)instance,
        .step = loader_step(loader, stored->step),
        .kind = (unsigned)recorded->kind & 3,
        .function = recorded->function < FUNCTION_COUNT ? recorded->function : FUNCTION_UNKNOWN,
        .datatype = (unsigned)recorded->datatype,
        .root = recorded->root >= 0 && recorded->root < JOB_MOST_ROOTS ? (signed)recorded->root : -1,
        .is_tree = recorded->algorithm == ALGORITHM_TREE && recorded->function == FUNCTION_ALL_REDUCE &&
                   !recorded->is_symmetric,
        .may_be_tree = recorded->algorithm == ALGORITHM_UNKNOWN &&
                       recorded->function == FUNCTION_ALL_REDUCE && !recorded->is_symmetric,
        .bytes = recorded->bytes,
        .enqueued_ns = first_known(recorded->enqueue.end_ns,
                                   first_known(recorded->enqueue.begin_ns, recorded->api.end_ns)),
        .previous = -1,
        .unfinished = recorded->unfinished != 0};
    struct kernel_times kernel;
    int32_t tag;
    if (loader_tag(loader, stored->tag, &tag, error))
        return -1;
    operation->tag = tag;
    if (take_times(operation, stored, &kernel, error) || take_more(loader, at, stored, &kernel, error))
        return -1;
    job->timed_operations += operation->start_ns != TIME_UNKNOWN;
    return 0;
}

int loader_read_operations(struct loader *loader, struct error *error)
{
    int64_t records_call_states;
    if (loader_read_number(loader, schema_analysis_job_tells_states, &records_call_states, error))
        return -1;
    loader->records_call_states = records_call_states != 0;
    struct operation_cursor *cursor = operation_cursor_open(loader->job->store, loader->job->run_id, error);
    struct stored_operation stored;
    if (cursor && loader->job->excerpt_count)
        operation_cursor_choose(cursor, is_wanted, loader);
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = operation_cursor_next(cursor, &stored, error)) == 1)
        if (take_operation(loader, &stored, error))
            more = -1;
    operation_cursor_close(cursor);
    return more;
}

/*
 * Orders the instances by their first members. The store has them in the order in which the files were read,
 * which may decide ties, and the sums of reals.
 */
static int order_instances(struct job *job)
{
    int32_t *number = array_new(job->instance_count, sizeof *number); /* plus 1; 0: none yet */
    struct job_instance *ordered = array_new(job->instance_count, sizeof *ordered);
    int32_t count = 0;
    int failed = !number || !ordered;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        int32_t instance = job->operations[i].instance;
        if (!number[instance]) {
            ordered[count++] = job->instances[instance];
            number[instance] = count;
        }
        job->operations[i].instance = number[instance] - 1;
    }
    for (size_t i = 0; !failed && i < job->instance_count; i++)
        if (!number[i])
            ordered[count++] = job->instances[i];
    free(number);
    free(failed ? ordered : job->instances);
    if (!failed)
        job->instances = ordered;
    return failed;
}

/* Counts the members again, since the number in the store may be damaged. */
int loader_list_members(struct job *job)
{
    size_t first = 0;
    job->instance_members = array_new(job->operation_count, sizeof *job->instance_members);
    if (!job->instance_members || order_instances(job))
        return -1;
    for (size_t i = 0; i < job->instance_count; i++)
        job->instances[i].members = 0;
    for (size_t i = 0; i < job->operation_count; i++)
        job->instances[job->operations[i].instance].members++;
    for (size_t i = 0; i < job->instance_count; i++) {
        job->instances[i].first_member = (uint32_t)first;
        first += (size_t)job->instances[i].members;
        job->instances[i].members = 0;
    }
    for (size_t i = 0; i < job->operation_count; i++) {
        struct job_instance *instance = &job->instances[job->operations[i].instance];
        job->instance_members[instance->first_member + (size_t)instance->members++] = (int32_t)i;
    }
    return 0;
}

int loader_draft_ends(struct job *job)
{
    job->drafts.free_ns = array_new(job->operation_count, sizeof *job->drafts.free_ns);
    for (size_t i = 0; job->drafts.free_ns && i < job->operation_count; i++)
        job->drafts.free_ns[i] = TIME_UNKNOWN;
    return job->drafts.free_ns ? 0 : -1;
}

int loader_list_places(struct loader *loader)
{
    const struct job *job = loader->job;
    if (loader->places)
        return 0;
    loader->places = array_new(job->operation_count, sizeof *loader->places);
    for (size_t i = 0; loader->places && i < job->operation_count; i++)
        loader->places[job->read_order[i]] = (int32_t)i;
    return loader->places ? 0 : -1;
}

int loader_init(struct loader *loader, struct job *job, struct error *error)
{
    *loader = (struct loader){.job = job};
    map_init(&loader->stream_numbers);
    int64_t has_traffic;
    if (job->rank_count > JOB_MOST_RANKS)
        return error_set(error, "the run has more than %d ranks", JOB_MOST_RANKS);
    /* job_ignore_sparse_steps ignores this many steps in any case. */
    if (job->step_count > JOB_MOST_STEPS)
        job->step_count = job->first_step = 0;
    if (loader_read_number(loader, schema_analysis_job_has_traffic, &has_traffic, error))
        return -1;
    loader->has_traffic = has_traffic != 0;
    return job_find_lost_files(job) ? error_no_memory(error) : 0;
}

void loader_release(struct loader *loader)
{
    id_runs_release(&loader->instance_ids);
    map_release(&loader->stream_numbers);
    free(loader->places);
    free(loader->channels);
}
