/*
 * The format "nsys": SQLite exports of Nsight Systems. Connects the calls and kernels that profile.c reads,
 * and makes events from them.
 */
#include "format/nsys/nsys.h"
#include "base/base.h"
#include "format/format.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static int by_thread(const void *a, const void *b)
{
    const struct nsys_call *left = a, *right = b;
    int order = compare_integers(left->thread, right->thread);
    order = order ? order : compare_integers(left->api.begin_ns, right->api.begin_ns);
    return order ? order : compare_integers((int64_t)left->row, (int64_t)right->row);
}

static int by_process(const void *a, const void *b)
{
    const struct nsys_call *left = a, *right = b;
    int order = compare_integers(nsys_process_of(left->thread), nsys_process_of(right->thread));
    order = order ? order : compare_integers(left->api.begin_ns, right->api.begin_ns);
    return order ? order : compare_integers((int64_t)left->row, (int64_t)right->row);
}

static int by_launch(const void *a, const void *b)
{
    const struct nsys_kernel *left = a, *right = b;
    int order = compare_integers(left->thread, right->thread);
    order = order ? order : compare_integers(left->launch.begin_ns, right->launch.begin_ns);
    return order ? order : compare_integers(left->device.begin_ns, right->device.begin_ns);
}

/* The calls from `first` to before `past` have no kernel yet. */
struct waiting {
    size_t first;
    size_t past;
};

static void attach(struct nsys_profile *profile, size_t first, size_t past, int64_t kernel)
{
    for (size_t i = first; i < past; i++) {
        if (profile->calls[i].first_kernel < 0)
            profile->calls[i].first_kernel = kernel;
        profile->calls[i].last_kernel = kernel;
    }
}

static int are_of_one_communicator(const struct nsys_profile *profile, size_t first, size_t past)
{
    for (size_t i = first + 1; i < past; i++)
        if (profile->calls[i].communicator_hash != profile->calls[first].communicator_hash)
            return 0;
    return 1;
}

static int holds_launch(const struct nsys_call *call, int64_t launched_ns)
{
    return call->api.begin_ns <= launched_ns && call->api.end_ns >= launched_ns;
}

/* Connects one launch. Returns 1 if the kernel belongs to no call. */
static int take_launch(struct nsys_profile *profile, struct waiting *waiting, size_t kernel)
{
    const struct nsys_kernel *of = &profile->kernels[kernel];
    while (waiting->past < profile->call_count && profile->calls[waiting->past].thread == of->thread &&
           profile->calls[waiting->past].api.begin_ns <= of->launch.begin_ns)
        waiting->past++;
    size_t first = waiting->first, past = waiting->past;
    if (past > first && holds_launch(&profile->calls[past - 1], of->launch.begin_ns))
        first = past - 1;
    /* A call may launch several kernels. */
    if (past == first && past > 0 && profile->calls[past - 1].thread == of->thread &&
        profile->calls[past - 1].first_kernel >= 0 &&
        holds_launch(&profile->calls[past - 1], of->launch.begin_ns))
        first = past - 1;
    waiting->first = past;
    if (first == past || !are_of_one_communicator(profile, first, past))
        return 1;
    attach(profile, first, past, (int64_t)kernel);
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct nsys_task *left = a, *right = b;
    int order = compare_integers(left->thread, right->thread);
    return order ? order : compare_integers(left->begin_ns, right->begin_ns);
}

static int is_call_of(const struct nsys_call *call, const struct nsys_task *task, int with_size)
{
    return call->task < 0 && call->communicator_hash == task->communicator_hash &&
           call->function == task->function &&
           (!with_size || (call->bytes == task->bytes && call->bytes != COUNT_UNKNOWN));
}

/* A group has at most this many calls that are looked through for each of its tasks. */
enum { GROUP_CALLS_MOST = 1 << 12 };

/*
 * Finds the call of a task among the calls of its thread that begin before it, which end at `past`; -1 if
 * there is none. NCCL sorts the collectives of a group by size, so their order does not tell.
 */
static int64_t call_of_task(const struct nsys_profile *profile, size_t past, const struct nsys_task *task)
{
    int64_t first = -1;
    if (past && holds_launch(&profile->calls[past - 1], task->begin_ns))
        return is_call_of(&profile->calls[past - 1], task, 0) ? (int64_t)past - 1 : -1;
    for (size_t i = past; i-- > 0 && past - i <= GROUP_CALLS_MOST;) {
        const struct nsys_call *call = &profile->calls[i];
        if (call->thread != task->thread)
            break;
        if (call->first_kernel == profile->calls[past - 1].first_kernel && is_call_of(call, task, 1))
            first = (int64_t)i;
    }
    return first;
}

/* Connects the tasks with calls, which are sorted by thread. */
static void link_tasks(struct nsys_profile *profile)
{
    size_t past = 0;
    array_sort(profile->tasks, profile->task_count, sizeof *profile->tasks, by_begin);
    for (size_t i = 0; i < profile->task_count; i++) {
        const struct nsys_task *task = &profile->tasks[i];
        while (past < profile->call_count && (profile->calls[past].thread < task->thread ||
                                              (profile->calls[past].thread == task->thread &&
                                               profile->calls[past].api.begin_ns <= task->begin_ns)))
            past++;
        int64_t call =
            past && profile->calls[past - 1].thread == task->thread ? call_of_task(profile, past, task) : -1;
        if (call >= 0)
            profile->calls[call].task = (int64_t)i;
    }
}

void nsys_link(struct nsys_profile *profile, int64_t *loose)
{
    struct waiting waiting = {0, 0};
    int64_t thread = -1;
    *loose = 0;
    array_sort(profile->calls, profile->call_count, sizeof *profile->calls, by_thread);
    array_sort(profile->kernels, profile->kernel_count, sizeof *profile->kernels, by_launch);
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct nsys_kernel *kernel = &profile->kernels[i];
        if (kernel->thread < 0) {
            ++*loose;
            continue;
        }
        if (kernel->thread != thread) {
            thread = kernel->thread;
            while (waiting.past < profile->call_count && profile->calls[waiting.past].thread < thread)
                waiting.past++;
            waiting.first = waiting.past;
        }
        *loose += take_launch(profile, &waiting, i);
    }
    link_tasks(profile);
    array_sort(profile->calls, profile->call_count, sizeof *profile->calls, by_process);
}

struct emission {
    const struct nsys_profile *profile;
    struct map member_of; /* (process, communicator) -> member */
    struct map counted;   /* (process, communicator, function) -> number of calls so far */
    int64_t ordinal;
};

static struct interval_ns wall_times(const struct nsys_profile *profile, struct interval_ns interval)
{
    return (struct interval_ns){nsys_wall(profile, interval.begin_ns), nsys_wall(profile, interval.end_ns)};
}

static struct map_key place_of(int64_t process, uint64_t hash)
{
    return (struct map_key){{(uint64_t)process, hash}};
}

static struct origin origin_of_member(const struct nsys_profile *profile, const struct nsys_member *member)
{
    struct origin origin = nsys_origin(profile, member->process, member->communicator_hash);
    origin.rank = member->rank;
    origin.communicator_size = member->size;
    return origin;
}

static int hand_over(const struct nsys_profile *profile, const struct event *event, struct error *error)
{
    return profile->sink->event(profile->sink->context, event, error);
}

static int emit_member(const struct nsys_profile *profile, const struct nsys_member *member,
                       struct error *error)
{
    struct event place = {.kind = EVENT_COMMUNICATOR, .origin = origin_of_member(profile, member)};
    struct event facts = {.kind = EVENT_PROCESS, .origin = place.origin, .process = PROCESS_FACTS_NONE};
    struct map_key device = {{(uint64_t)nsys_pid_of(member->process), (uint64_t)member->device}};
    const int64_t *uuid = map_get(&profile->uuid_of, device);
    facts.process.gpu = member->device;
    facts.process.gpu_serial = uuid ? intern_text(&profile->texts, *uuid) : NULL;
    return hand_over(profile, &place, error) ||
                   (member->device != COUNT_UNKNOWN && hand_over(profile, &facts, error))
               ? -1
               : 0;
}

/* A process may create a communicator again with a hash that it used before; the last one counts. */
static int emit_members(struct emission *emission, struct error *error)
{
    const struct nsys_profile *profile = emission->profile;
    for (size_t i = 0; i < profile->member_list_count; i++) {
        const struct nsys_member *member = &profile->member_list[i];
        int64_t *at = map_put(&emission->member_of, place_of(member->process, member->communicator_hash),
                              (int64_t)i, NULL);
        if (!at)
            return error_no_memory(error);
        *at = (int64_t)i;
    }
    for (size_t i = 0; i < profile->member_list_count; i++) {
        const struct nsys_member *member = &profile->member_list[i];
        const int64_t *at =
            map_get(&emission->member_of, place_of(member->process, member->communicator_hash));
        if (at && *at == (int64_t)i && emit_member(profile, member, error))
            return -1;
    }
    return 0;
}

/*
 * Counts a call like NCCL numbers the collectives of a communicator, which works if the export has all calls
 * since its creation. Returns -1 if memory is out.
 */
static int count_call(struct emission *emission, const struct nsys_call *call, int64_t *number)
{
    struct map_key key = {
        {(uint64_t)nsys_process_of(call->thread), call->communicator_hash, (uint64_t)call->function}};
    int64_t *count = map_put(&emission->counted, key, 0, NULL);
    if (!count)
        return -1;
    *number = (*count)++;
    return 0;
}

static void take_kernel(const struct nsys_profile *profile, const struct nsys_call *call,
                        struct operation *operation)
{
    if (call->first_kernel < 0)
        return;
    const struct nsys_kernel *first = &profile->kernels[call->first_kernel];
    const struct nsys_kernel *last = &profile->kernels[call->last_kernel];
    struct interval_ns device = first->device;
    interval_widen(&device, last->device);
    operation->enqueue = wall_times(profile, first->launch);
    operation->device = wall_times(profile, device);
    operation->end_source = END_KERNEL;
    operation->duration_ns = device.end_ns - device.begin_ns;
    operation->stream = (uint64_t)first->stream;
    operation->algorithm = first->algorithm;
    operation->is_symmetric = first->is_symmetric;
}

static void take_task(const struct nsys_profile *profile, const struct nsys_call *call,
                      struct operation *operation)
{
    if (call->task < 0)
        return;
    const struct nsys_task *task = &profile->tasks[call->task];
    if (!operation->is_symmetric)
        operation->algorithm = task->algorithm;
    operation->protocol = task->protocol;
    operation->channel_count = task->channel_count;
}

static int emit_call(struct emission *emission, const struct nsys_call *call, struct error *error)
{
    const struct nsys_profile *profile = emission->profile;
    int64_t process = nsys_process_of(call->thread), number;
    const int64_t *at = map_get(&emission->member_of, place_of(process, call->communicator_hash));
    int is_pair = function_is_point_to_point(call->function);
    if (count_call(emission, call, &number))
        return error_no_memory(error);
    struct event event = {.kind = EVENT_OPERATION,
                          .origin = at ? origin_of_member(profile, &profile->member_list[*at])
                                       : nsys_origin(profile, process, call->communicator_hash)};
    event.origin.offset = call->row;
    event.operation = (struct operation){
        .ordinal = emission->ordinal++,
        .kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
        .function = call->function,
        .sequence = at && !is_pair ? number : COUNT_UNKNOWN,
        .count = COUNT_UNKNOWN,
        .bytes = call->bytes,
        .root = is_pair ? COUNT_UNKNOWN : call->root,
        .peer = is_pair ? call->peer : COUNT_UNKNOWN,
        .channel_count = COUNT_UNKNOWN,
        .api = wall_times(profile, call->api),
        .enqueue = {TIME_UNKNOWN, TIME_UNKNOWN},
        .device = {TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = COUNT_UNKNOWN,
    };
    take_kernel(profile, call, &event.operation);
    take_task(profile, call, &event.operation);
    return hand_over(profile, &event, error);
}

/*
 * Hands over the placement of the ranks, and all calls as operations; requires nsys_link(). Returns -1 if the
 * sink stopped it or memory is out.
 */
static int nsys_emit(const struct nsys_profile *profile, struct error *error)
{
    struct emission emission = {.profile = profile};
    map_init(&emission.member_of);
    map_init(&emission.counted);
    int failed = emit_members(&emission, error);
    for (size_t i = 0; i < profile->call_count && !failed; i++)
        failed = emit_call(&emission, &profile->calls[i], error);
    map_release(&emission.member_of);
    map_release(&emission.counted);
    return failed;
}

static int note_some(const struct nsys_profile *profile, int64_t count, const char *reason,
                     struct error *error)
{
    int failed = 0;
    for (int64_t i = 0; i < count && !failed; i++)
        failed = profile->sink->note(profile->sink->context, reason, 0, 0, NULL, 0, error);
    return failed;
}

/* What was read before the damage is handed over. */
static int nsys_read(const struct foreign_tables *tables, const struct format_sink *sink, char *dialect,
                     size_t dialect_bytes, struct error *error)
{
    struct nsys_profile profile;
    struct error later = ERROR_INIT;
    int64_t loose;
    snprintf(dialect, dialect_bytes, "nsys");
    nsys_profile_init(&profile, tables, sink);
    int damaged = nsys_profile_read(&profile, error);
    nsys_link(&profile, &loose);
    int failed = error->is_no_memory ? -1 : 0;
    struct error *told = damaged ? &later : error;
    failed = failed || nsys_emit(&profile, told) || nsys_emit_tags(&profile, told) ||
             note_some(&profile, loose, "kernel without a call", told) ||
             (profile.is_full && sink->note(sink->context, "too many calls or kernels", 1, 0, NULL, 0, told));
    error_clear(&later);
    nsys_profile_release(&profile);
    return damaged || failed ? -1 : 0;
}

enum { SURE = 90 };

/* SQLite's magic bytes, and tables that only nsys exports have; they are created first. */
static int nsys_sniff(const char *bytes, size_t length, const char *path)
{
    static const char begin[] = "SQLite format 3";
    static const char *const tables[] = {"ENUM_NSYS_EVENT", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS",
                                         "TARGET_INFO_SESSION_START_TIME"};
    (void)path;
    if (length < sizeof begin || memcmp(bytes, begin, sizeof begin) != 0)
        return 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (memmem(bytes, length, tables[i], strlen(tables[i])))
            return SURE;
    return 0;
}

static const char *nsys_why_nothing(const char *path, uint64_t bytes)
{
    (void)path;
    return bytes ? "nsys records NCCL calls only with --trace=cuda,nvtx and without NCCL_NVTX_DISABLE" : NULL;
}

const struct format format_nsys = {
    .name = "nsys",
    .version = 2,
    .description = "SQLite export of NVIDIA's Nsight Systems",
    .unknown = "unknown record",
    .sniff = nsys_sniff,
    .read_tables = nsys_read,
    .why_nothing = nsys_why_nothing,
};
