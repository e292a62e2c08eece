/*
 * Loads network steps and derives from them when kernels ended, and how the proxy threads of each rank worked
 * (struct job_service). Below: idle time and lateness of operations.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <math.h>
#include <stdlib.h>

/* Makes room for the services unless there is. -1 when out of memory. */
static int make_services(struct job *job)
{
    if (!job->services && job->step_count > 0)
        job->services = array_new(job->rank_count * (size_t)job->step_count, sizeof *job->services);
    return job->services || job->step_count <= 0 ? 0 : -1;
}

static struct job_service *service_at(struct job *job, const struct job_operation *operation)
{
    return &job->services[(size_t)operation->rank * (size_t)job->step_count + (size_t)operation->step];
}

/* Network steps, summed per proxy operation. */

/*
 * The service of a wait (struct job_service): its part after `served_ns`, the end of the earlier waits of its
 * kind in the proxy operation.
 */
static int64_t serve(const struct proxy_step *step, enum wait_kind kind, int64_t *served_ns)
{
    int64_t begin = step->wait[kind].begin_ns, end = step->wait[kind].end_ns;
    if (begin == TIME_UNKNOWN || end == TIME_UNKNOWN)
        return 0;
    if (*served_ns != TIME_UNKNOWN && *served_ns > begin)
        begin = *served_ns;
    if (end <= begin)
        return 0;
    *served_ns = end;
    return end - begin;
}

/* When the network steps of one proxy operation ended; TIME_UNKNOWN. */
struct step_ends {
    int64_t first_ns;
    int64_t last_ns;
    int64_t longest_ns; /* from one end to the next; 0: there is only one */
    int32_t count;
    int32_t before_longest; /* as many ended before the longest began */
    int64_t numbers[2];     /* of the first two */
};

static void note_end(struct step_ends *ends, int64_t number, int64_t end_ns)
{
    if (end_ns == TIME_UNKNOWN)
        return;
    if (ends->count < 2)
        ends->numbers[ends->count] = number;
    if (ends->first_ns == TIME_UNKNOWN)
        ends->first_ns = ends->last_ns = end_ns;
    if (end_ns - ends->last_ns > ends->longest_ns) {
        ends->longest_ns = end_ns - ends->last_ns;
        ends->before_longest = ends->count;
    }
    ends->count++;
    if (end_ns > ends->last_ns)
        ends->last_ns = end_ns;
}

/* Whether the first step is recorded: some recorders keep the last sixteen. Their numbers may be apart. */
static int have_beginning(const struct step_ends *ends)
{
    return ends->count >= 2 && ends->numbers[0] <= ends->numbers[1] - ends->numbers[0];
}

/* What is known of the steps of one proxy operation, besides its traffic. */
struct step_sums {
    int64_t gpu_done_ns;        /* when its GPU last gave or took data; TIME_UNKNOWN */
    int64_t gpu_service_ns;     /* of SendGpuWait or RecvGpuWait */
    struct interval_ns network; /* from the first wait for the network to the end of the last one */
    struct step_ends ends;
};

static void add_step(const struct proxy_step *step, struct job_traffic *traffic, int64_t *served_ns,
                     struct step_sums *sums)
{
    struct interval_ns network = step->wait[WAIT_NETWORK];
    int is_known = network.begin_ns != TIME_UNKNOWN && network.end_ns != TIME_UNKNOWN;
    int64_t wait_ns = is_known ? network.end_ns - network.begin_ns : 0;
    traffic->steps++;
    traffic->network_wait_ns += wait_ns;
    traffic->busy_ns += serve(step, WAIT_NETWORK, &served_ns[WAIT_NETWORK]);
    sums->gpu_service_ns += serve(step, WAIT_GPU, &served_ns[WAIT_GPU]);
    if (is_known)
        interval_widen(&sums->network, network);
    if (wait_ns > traffic->network_wait_max_ns)
        traffic->network_wait_max_ns = wait_ns;
    int64_t ready = step->wait[WAIT_GPU].end_ns;
    if (ready > sums->gpu_done_ns)
        sums->gpu_done_ns = ready;
}

/* Sums the network steps of one proxy operation. Times are still on the host's clock. */
static int sum_steps(struct statement *statement, struct job_traffic *traffic, struct step_sums *sums,
                     struct error *error)
{
    size_t length;
    const void *blob = statement_blob(statement, 5, &length);
    struct unpack unpack;
    struct proxy_step step;
    int64_t served_ns[WAIT_KINDS];
    for (int kind = 0; kind < WAIT_KINDS; kind++)
        served_ns[kind] = TIME_UNKNOWN;
    *sums = (struct step_sums){.gpu_done_ns = TIME_UNKNOWN,
                               .network = {TIME_UNKNOWN, TIME_UNKNOWN},
                               .ends = {.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN}};
    if (!blob)
        return 0;
    if (unpack_steps(&unpack, blob, length, statement_integer_or(statement, 3, 0)))
        return error_set(error, "operation %lld has damaged proxy steps",
                         (long long)statement_integer(statement, 0));
    int more;
    while ((more = unpack_next_step(&unpack, &step)) == 1) {
        add_step(&step, traffic, served_ns, sums);
        note_end(&sums->ends, step.step, step.wait[WAIT_NETWORK].end_ns);
    }
    return more < 0 ? error_set(error, "operation %lld has damaged proxy steps",
                                (long long)statement_integer(statement, 0))
                    : 0;
}

/* Adds the services of a proxy operation to those of its rank and step. -1 when out of memory. */
static int add_service(struct job *job, const struct job_operation *operation,
                       const struct job_traffic *traffic, const struct step_sums *sums)
{
    struct job_drafts *drafts = &job->drafts;
    if (!traffic->by_receiver && sums->network.end_ns > sums->network.begin_ns) {
        if (array_reserve((void **)&drafts->sent, &drafts->sent_capacity, drafts->sent_count + 1,
                          sizeof *drafts->sent))
            return -1;
        drafts->sent[drafts->sent_count++] = (struct job_sent){sums->network, operation->rank};
    }
    if (!job->services || operation->step < 0)
        return 0;
    struct job_service *service = service_at(job, operation);
    if (traffic->by_receiver) {
        service->drain_ns += sums->gpu_service_ns;
    } else {
        service->send_ns += traffic->busy_ns;
        service->produce_ns += sums->gpu_service_ns;
    }
    return 0;
}

/* If the end of the kernel is unknown, the operation ended when its GPU last gave or took data. */
static void end_by_proxy(struct job_operation *operation, int64_t gpu_done_ns)
{
    if (gpu_done_ns == TIME_UNKNOWN || (operation->ends != ENDS_UNKNOWN && operation->ends != ENDS_BY_PROXY))
        return;
    if (operation->ends == ENDS_UNKNOWN || gpu_done_ns > operation->end_ns)
        operation->end_ns = gpu_done_ns;
    operation->ends = ENDS_BY_PROXY;
}

/* The stop may be too early if the operation is a tree, shares its kernel or has a channel without a stop. */
static int may_stop_early(const struct job *job, size_t at)
{
    if (job->operations[at].ends != ENDS_BY_KERNEL)
        return 0;
    return job->operations[at].is_tree || job->operations[at].incomplete ||
           (at && job_same_group(job, at - 1, at)) ||
           (at + 1 < job->operation_count && job_same_group(job, at, at + 1));
}

/*
 * One channel more has received from the network. Receiving is the last thing that the channels of a ring
 * between hosts do.
 */
static void take_channel(struct job_operation *operation, uint8_t *channels)
{
    if (*channels == 0 || *channels == CHANNELS_MANY)
        return;
    operation->all_taken = --*channels == 0;
}

/* Keeps when data arrived, for communicators that lack the records of some member. */
static int keep_arrivals(struct job *job, const struct job_operation *operation,
                         const struct job_traffic *traffic, const struct step_ends *ends)
{
    const struct job_communicator *communicator = &job->communicators[operation->communicator];
    if (communicator->size <= (int64_t)communicator->member_list_count ||
        function_is_point_to_point(operation->function) || traffic->steps < 2 || !have_beginning(ends))
        return 0;
    if (array_reserve((void **)&job->arrivals, &job->arrival_capacity, job->arrival_count + 1,
                      sizeof *job->arrivals))
        return -1;
    job->arrivals[job->arrival_count++] = (struct job_arrivals){.operation = traffic->operation,
                                                                .sender = traffic->sender,
                                                                .steps = traffic->steps,
                                                                .first_ns = ends->first_ns,
                                                                .last_ns = ends->last_ns,
                                                                .longest_ns = ends->longest_ns,
                                                                .before_longest = ends->before_longest};
    return 0;
}

/* Until all traffic is loaded, an operation is identified by its position in the order of reading. */
static int read_traffic(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t read = id_runs_find(&job->operation_ids, statement_integer(statement, 0));
    if (read < 0)
        return 0;
    struct job_operation *operation = &job->operations[loader->places[read]];
    int64_t *free_ns = &job->drafts.free_ns[loader->places[read]];
    int32_t peer = job_rank_in(job, operation->communicator, statement_integer(statement, 2));
    int receives = statement_integer(statement, 1) == DIRECTION_RECV;
    if (array_reserve((void **)&job->traffic, &job->traffic_capacity, job->traffic_count + 1,
                      sizeof *job->traffic))
        return error_no_memory(error);
    struct job_traffic *traffic = &job->traffic[job->traffic_count++];
    *traffic = (struct job_traffic){.sender = receives ? peer : operation->rank,
                                    .receiver = receives ? operation->rank : peer,
                                    .operation = (int32_t)read,
                                    .by_receiver = (uint8_t)receives};
    struct step_sums sums;
    if (sum_steps(statement, traffic, &sums, error))
        return -1;
    /* Another process made it (PXN), by its own clock: its waits count, its moments and its thread do not. */
    if (statement_integer(statement, 6))
        return 0;
    if (add_service(job, operation, traffic, &sums))
        return error_no_memory(error);
    if (receives && keep_arrivals(job, operation, traffic, &sums.ends))
        return error_no_memory(error);
    int64_t gpu_done_ns = sums.gpu_done_ns;
    /* An unfinished proxy operation does not show when its kernel ended. */
    if (statement_is_null(statement, 4))
        return 0;
    if (receives && gpu_done_ns != TIME_UNKNOWN)
        take_channel(operation, &loader->channels[read]);
    end_by_proxy(operation, gpu_done_ns);
    /* The kernel took the data that it received last until this time. */
    if (receives && gpu_done_ns > *free_ns && may_stop_early(job, (size_t)loader->places[read]))
        *free_ns = gpu_done_ns;
    return 0;
}

/* Traffic comes in the order of the files; entries of one operation must be adjacent. */
static int order_traffic(struct job *job)
{
    size_t count = job->traffic_count;
    struct sort_entry *order = array_new(count, sizeof *order), *scratch = array_new(count, sizeof *scratch);
    struct job_traffic *ordered = array_new(count, sizeof *ordered);
    int failed = !order || !scratch || !ordered;
    for (size_t i = 0; !failed && i < count; i++)
        order[i] = (struct sort_entry){job->traffic[i].operation, (int32_t)i};
    if (!failed)
        sort_entries(order, scratch, count);
    for (size_t i = 0; !failed && i < count; i++)
        ordered[i] = job->traffic[order[i].index];
    free(order);
    free(scratch);
    free(failed ? ordered : job->traffic);
    if (!failed)
        job->traffic = ordered;
    return failed ? -1 : 0;
}

static int is_ordered(const struct job *job)
{
    for (size_t i = 1; i < job->traffic_count; i++)
        if (job->traffic[i].operation < job->traffic[i - 1].operation)
            return 0;
    return 1;
}

static int by_operation(const void *a, const void *b)
{
    const struct job_arrivals *left = a, *right = b;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

int loader_read_traffic(struct loader *loader, struct error *error)
{
    struct job *job = loader->job;
    if (loader_list_places(loader) || make_services(job))
        return error_no_memory(error);
    if (loader_read(loader, schema_analysis_job_traffic, read_traffic, error))
        return -1;
    if (!is_ordered(job) && order_traffic(job))
        return error_no_memory(error);
    for (size_t i = 0; i < job->traffic_count; i++)
        job->traffic[i].operation = loader->places[job->traffic[i].operation];
    for (size_t i = 0; i < job->arrival_count; i++)
        job->arrivals[i].operation = loader->places[job->arrivals[i].operation];
    array_sort(job->arrivals, job->arrival_count, sizeof *job->arrivals, by_operation);
    return 0;
}

/* The times in which each rank sent: those of rank r from first[r] up to but not including first[r + 1]. */
struct sent_times {
    struct interval_ns *items; /* owned */
    size_t *first;             /* owned */
    size_t *count;             /* owned: [rank], how many are left after merging */
};

static int list_sent_times(const struct job *job, struct sent_times *times)
{
    const struct job_drafts *drafts = &job->drafts;
    *times = (struct sent_times){array_new(drafts->sent_count + 1, sizeof *times->items),
                                 array_new(job->rank_count + 1, sizeof *times->first),
                                 array_new(job->rank_count, sizeof *times->count)};
    if (!times->items || !times->first || !times->count)
        return -1;
    for (size_t i = 0; i < drafts->sent_count; i++)
        times->first[drafts->sent[i].rank + 1]++;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        times->first[rank + 1] += times->first[rank];
    for (size_t i = 0; i < drafts->sent_count; i++) {
        int32_t rank = drafts->sent[i].rank;
        times->items[times->first[rank] + times->count[rank]++] = drafts->sent[i].interval;
    }
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        intervals_sort(times->items + times->first[rank], times->count[rank]);
        times->count[rank] = intervals_merge(times->items + times->first[rank], times->count[rank], 0);
    }
    return 0;
}

static void release_sent_times(struct sent_times *times)
{
    free(times->items);
    free(times->first);
    free(times->count);
}

/* A moment of a rank that counted as a sample. */
struct sample {
    struct job_service *service; /* borrowed: where it was counted; NULL: there is none */
    int64_t at_ns;
    int is_late;
};

/* The last start and the last stop of a kernel that counted as samples. */
struct last_samples {
    struct sample items[2];
};

/* The sample that a moment belongs to: it is near a start or a stop. NULL: none. */
static struct sample *sample_near(struct last_samples *last, int64_t at_ns)
{
    for (size_t i = 0; i < 2; i++)
        if (last->items[i].service && llabs(at_ns - last->items[i].at_ns) < JOB_SLICE_NS)
            return &last->items[i];
    return NULL;
}

/*
 * Adds the notice of a moment on the device timeline, a start or a stop, without the time in which the rank
 * sent. Moments near an earlier sample belong to it: it is late if one of them is.
 */
static void add_notice(struct job *job, const struct job_operation *operation, int64_t at_ns,
                       int64_t noticed_ns, const struct sent_times *sent, int is_stop,
                       struct last_samples *last)
{
    int64_t delay_ns = job_delay(job, operation);
    if (at_ns == TIME_UNKNOWN || noticed_ns == TIME_UNKNOWN)
        return;
    struct job_service *service = service_at(job, operation);
    struct interval_ns late = {at_ns + delay_ns, at_ns + (noticed_ns > delay_ns ? noticed_ns : delay_ns)};
    int64_t late_ns =
        late.end_ns - late.begin_ns -
        intervals_covered_ns(sent->items + sent->first[operation->rank], sent->count[operation->rank], late);
    service->notices++;
    service->notice_ns += late_ns;
    /* A thread that was blocked in a send may have had a core or not. */
    int is_late = late_ns > JOB_SLICE_NS;
    service->between += !is_late && late_ns > JOB_PROMPT_NS;
    if (!is_late && late.end_ns - late.begin_ns > JOB_SLICE_NS)
        return;
    struct sample *sample = sample_near(last, at_ns);
    if (!sample) {
        sample = &last->items[is_stop];
        *sample = (struct sample){service, at_ns, 0};
        service->samples++;
    }
    sample->service->late += is_late && !sample->is_late;
    sample->is_late |= is_late;
}

/* Host clock minus GPU clock when the host noticed the stop, without their drift during the operation. */
static int64_t stop_notice_ns(const struct job *job, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    int64_t noticed_ns = job->drafts.notices[at].stop_ns;
    double drift = job->ranks[operation->rank].clock_drift;
    if (noticed_ns == TIME_UNKNOWN || operation->start_ns == TIME_UNKNOWN)
        return noticed_ns;
    return noticed_ns - llround(drift * (double)(operation->end_ns - operation->start_ns));
}

int job_sum_notices(struct job *job)
{
    struct job_drafts *drafts = &job->drafts;
    struct sent_times sent = {0};
    struct last_samples last = {0};
    int failed =
        drafts->notices && job->step_count > 0 && (make_services(job) || list_sent_times(job, &sent));
    for (size_t i = 0; !failed && sent.items && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (i == job->ranks[operation->rank].first)
            last = (struct last_samples){0};
        if (operation->step < 0)
            continue;
        add_notice(job, operation, operation->start_ns, drafts->notices[i].start_ns, &sent, 0, &last);
        if (operation->ends == ENDS_BY_KERNEL || operation->stamped)
            add_notice(job, operation, operation->end_ns, stop_notice_ns(job, i), &sent, 1, &last);
    }
    release_sent_times(&sent);
    free(drafts->notices);
    drafts->notices = NULL;
    free(drafts->sent);
    drafts->sent = NULL;
    drafts->sent_count = drafts->sent_capacity = 0;
    return failed ? -1 : 0;
}

/* Whether the clocks leave open when the other members arrived, by half of the gap or more. */
static int is_arrival_open(const struct job *job, const struct job_operation *operation, int64_t own_ns)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    const struct job_rank *mine = &job->ranks[operation->rank];
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t other = job_member(job, instance, i)->rank;
        if (job->ranks[other].clock != mine->clock &&
            (!job_is_aligned(&job->ranks[other]) || !job_is_aligned(mine) ||
             job_clock_uncertainty(job, operation->rank, other) * 2 > own_ns))
            return 1;
    }
    return 0;
}

int job_is_own_estimated(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    int may_stop_early = previous->may_be_tree && (previous->stamped || operation->stamped);
    return previous->ends == ENDS_ESTIMATED ||
           (may_stop_early && is_arrival_open(job, previous, operation->own_ns));
}

/*
 * How far the clock of a rank may be off. What differs from step to step is hardly due to a clock that is off
 * by the same amount, unless it is about as small as what ends of operations show of the clock's error.
 */
static int64_t clock_doubt(const struct job_rank *rank, int in_all_steps)
{
    return in_all_steps || rank->clock_doubt_ns < rank->clock_uncertainty_ns ? rank->clock_doubt_ns : 0;
}

int64_t job_own_doubt(const struct job *job, const struct job_operation *operation, int in_all_steps)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    int64_t most_ns = 0;
    if (!job_is_own_estimated(job, operation))
        return 0;
    /* A leaf of a tree leaves early in all steps; nothing tells by how much. */
    if (job->operations[operation->previous].ends != ENDS_ESTIMATED)
        return in_all_steps ? operation->own_ns : 0;
    int32_t group = job->operations[operation->previous].group;
    for (size_t i = (size_t)group; i < job->operation_count && job->operations[i].group == group; i++) {
        int32_t number = job->operations[i].instance;
        for (int32_t j = 0; number >= 0 && j < job->instances[number].members; j++) {
            const struct job_rank *of = &job->ranks[job_member(job, &job->instances[number], j)->rank];
            int64_t doubt_ns = clock_doubt(of, in_all_steps) + clock_doubt(rank, in_all_steps);
            if (of->clock != rank->clock && doubt_ns > most_ns)
                most_ns = doubt_ns;
        }
    }
    return most_ns;
}

/* How many earlier operations are examined, for streams that an operation may have waited for. */
enum { LOOK_BACK = 64 };

/* When an operation was over: its end, or when it freed its stream, if later. */
static int64_t over_ns(const struct job *job, size_t at)
{
    int64_t hold = -1;
    if (job->operations[at].held)
        hold = find_id(job->holds, job->hold_count, sizeof *job->holds, job->hold_count, (int64_t)at);
    return hold < 0 ? job->operations[at].end_ns : job->holds[hold].until_ns;
}

int64_t job_idle_time(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || !job->ranks[operation->rank].has_streams)
        return operation->own_ns;
    size_t at = (size_t)(operation - job->operations), first = job->ranks[operation->rank].first;
    int64_t free_ns = operation->start_ns - operation->own_ns;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        int64_t other_ns = over_ns(job, i);
        /* The clocks do not show precisely until when it occupied the stream; then its own end counts. */
        if (other_ns > operation->start_ns)
            other_ns = job->operations[i].end_ns;
        if (other_ns != TIME_UNKNOWN && job->operations[i].group != operation->group && other_ns > free_ns &&
            other_ns <= operation->start_ns)
            free_ns = other_ns;
    }
    return operation->start_ns - free_ns;
}

static int64_t bounded_of_rank(const struct job *job, const struct job_rank *rank)
{
    int64_t latest_ns = INT64_MIN, bounded = 0;
    for (size_t i = LOOK_BACK + 1; rank->has_streams && i < rank->count; i++) {
        const struct job_operation *operation = &job->operations[rank->first + i];
        int64_t over = over_ns(job, rank->first + i - LOOK_BACK - 1);
        latest_ns = over != TIME_UNKNOWN && over > latest_ns ? over : latest_ns;
        if (operation->own_ns == TIME_UNKNOWN || latest_ns > operation->start_ns ||
            latest_ns <= operation->start_ns - operation->own_ns)
            continue;
        bounded += latest_ns > operation->start_ns - job_idle_time(job, operation);
    }
    return bounded;
}

int64_t job_bounded_idle_times(const struct job *job)
{
    int64_t bounded = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        bounded += bounded_of_rank(job, &job->ranks[i]);
    return bounded;
}

int64_t job_lateness_in(const struct job *job, const struct job_operation *operation, int64_t idle_ns)
{
    if (idle_ns == TIME_UNKNOWN || operation->enqueued_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t free_ns = operation->start_ns - idle_ns;
    /*
     * If the estimated end is too late, it hides when the stream became free, but it still shows how far
     * ahead the host was.
     */
    if (job_is_own_estimated(job, operation))
        return operation->enqueued_ns - free_ns < idle_ns ? operation->enqueued_ns - free_ns : idle_ns;
    int64_t late_ns = operation->enqueued_ns > free_ns ? operation->enqueued_ns - free_ns : 0;
    /* A host may be waiting for its GPU while the GPU computes, which is no lateness of the host. */
    int64_t busy_ns = job->gpu_busy_ns ? job->gpu_busy_ns[operation - job->operations] : 0;
    int64_t left_ns = busy_ns < idle_ns ? idle_ns - busy_ns : 0;
    return late_ns < left_ns ? late_ns : left_ns;
}

int64_t job_lateness(const struct job *job, const struct job_operation *operation)
{
    return job_lateness_in(job, operation, job_idle_time(job, operation));
}
