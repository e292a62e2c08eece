/*
 * Makes events from the kept parts of a Kineto trace: the process, its communicators, and one operation for
 * each call or kernel.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

void kineto_emitter_init(struct kineto_emitter *emitter, struct kineto_trace *trace,
                         const struct format_sink *sink, const char *path)
{
    *emitter = (struct kineto_emitter){.sink = sink, .trace = trace, .path = path, .process = COUNT_UNKNOWN};
}

void kineto_emitter_release(struct kineto_emitter *emitter)
{
    free(emitter->host);
}

/* An operation to hand over: a call with or without its kernel, or a kernel without a call. */
struct item {
    int64_t issued_ns;
    const struct kineto_call *call;     /* NULL */
    const struct kineto_kernel *kernel; /* NULL */
};

static int by_issue(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    uint64_t mine = left->call ? left->call->offset : left->kernel->offset;
    uint64_t other = right->call ? right->call->offset : right->kernel->offset;
    if (left->issued_ns != right->issued_ns)
        return left->issued_ns < right->issued_ns ? -1 : 1;
    return (mine > other) - (mine < other);
}

static struct item item_of_call(const struct kineto_trace *trace, const struct kineto_call *call)
{
    return (struct item){call->api.begin_ns, call,
                         call->first_kernel < 0 ? NULL : &trace->kernels[call->first_kernel]};
}

static const struct kineto_launch *launch_of(const struct kineto_trace *trace,
                                             const struct kineto_kernel *kernel)
{
    return kernel && kernel->launch >= 0 ? &trace->launches[kernel->launch] : NULL;
}

/* The kernels of a graph are launched together, so each counts as issued when the GPU begins it. */
static struct item item_of_kernel(const struct kineto_trace *trace, const struct kineto_kernel *kernel)
{
    const struct kineto_launch *launch = launch_of(trace, kernel);
    int is_launched = launch && !kernel->has_graph;
    return (struct item){is_launched ? launch->begin_ns : kernel->device.begin_ns, NULL, kernel};
}

/*
 * A kernel that was launched before the recording began. Its group, size and step are unknown, and its
 * duration includes waiting for the profilers of other ranks to start. It has no launch in a trace that
 * records launches.
 */
static int is_from_before(const struct kineto_trace *trace, const struct kineto_kernel *kernel)
{
    int has_launches = trace->launch_count && trace->launch_count <= KINETO_LAUNCHES;
    return has_launches && kernel->launch < 0 && kernel->told.group == KINETO_NO_GROUP;
}

/* Owned by the caller; NULL if memory is out. */
static struct item *list_items(struct kineto_trace *trace, int is_end, size_t *count)
{
    struct item *items = array_new(trace->call_count + trace->kernel_count, sizeof *items);
    *count = 0;
    for (size_t i = 0; items && i < trace->call_count; i++)
        if (trace->calls[i].first_kernel >= 0 || (is_end && kineto_moves_data(trace, &trace->calls[i])))
            items[(*count)++] = item_of_call(trace, &trace->calls[i]);
    for (size_t i = 0; items && i < trace->kernel_count; i++)
        if (!trace->kernels[i].is_linked && is_from_before(trace, &trace->kernels[i]))
            trace->from_before++;
        else if (!trace->kernels[i].is_linked)
            items[(*count)++] = item_of_kernel(trace, &trace->kernels[i]);
    if (items)
        array_sort(items, *count, sizeof *items, by_issue);
    return items;
}

/* Combines what call and kernel give; the call has priority. */
static struct kineto_operation operation_of_item(const struct item *item)
{
    if (!item->call)
        return item->kernel->told;
    struct kineto_operation told = item->call->told;
    if (!item->kernel)
        return told;
    const struct kineto_operation *kernel = &item->kernel->told;
    if (told.function == FUNCTION_UNKNOWN)
        told.function = kernel->function;
    if (told.datatype == DATATYPE_UNKNOWN)
        told.datatype = kernel->datatype;
    if (told.group == KINETO_NO_GROUP)
        told.group = kernel->group;
    if (told.sequence < 0)
        told.sequence = kernel->sequence;
    if (told.bytes < 0 && told.count >= 0 && datatype_bytes((enum datatype)told.datatype) &&
        __builtin_mul_overflow(told.count, datatype_bytes((enum datatype)told.datatype), &told.bytes))
        told.bytes = COUNT_UNKNOWN;
    return told;
}

/* The group of each stream, if all operations on the stream that name a group name the same one. */
struct streams {
    struct map groups; /* stream -> group; KINETO_NO_GROUP if there are several */
    struct map of_nameless;
    int has_bare_calls; /* calls without a group and without a kernel */
};

static int learn_stream(struct streams *streams, const struct item *item)
{
    struct kineto_operation told = operation_of_item(item);
    int added;
    streams->has_bare_calls |= !item->kernel && told.group == KINETO_NO_GROUP;
    if (!item->kernel || item->kernel->library)
        return 0;
    struct map_key key = {{(uint64_t)item->kernel->stream}};
    if (told.group == KINETO_NO_GROUP)
        return map_put(&streams->of_nameless, key, 0, NULL) ? 0 : -1;
    int64_t *group = map_put(&streams->groups, key, told.group, &added);
    if (group && !added && *group != told.group)
        *group = KINETO_NO_GROUP;
    return group ? 0 : -1;
}

static int learn_streams(struct streams *streams, const struct item *items, size_t count)
{
    map_init(&streams->groups);
    map_init(&streams->of_nameless);
    streams->has_bare_calls = 0;
    for (size_t i = 0; i < count; i++)
        if (learn_stream(streams, &items[i]))
            return -1;
    return 0;
}

/*
 * The group of operations that name none: the group of all ranks, if the trace mentions no other; otherwise
 * *group is KINETO_NO_GROUP. Returns -1 if memory is out.
 */
static int find_default(struct kineto_trace *trace, const struct streams *streams, int32_t *group)
{
    size_t named = trace->groups.count - trace->groups.library_count;
    *group = KINETO_NO_GROUP;
    if (trace->groups.configured_count > 1 || named > 1 ||
        (!streams->of_nameless.count && !streams->has_bare_calls))
        return 0;
    if (named == 1) {
        *group = 0;
        while (trace->groups.items[*group].is_library)
            ++*group;
        return 0;
    }
    if (streams->of_nameless.count > 1 || (trace->world_size <= 0 && !trace->groups.configured_count))
        return 0;
    return kineto_groups_world(&trace->groups, trace->world_size, group);
}

/* The same for servers, which configure several groups of the same ranks. */
static int find_repeated(struct kineto_trace *trace, const struct streams *streams, int32_t *group)
{
    return *group != KINETO_NO_GROUP || trace->groups.count > trace->groups.library_count ||
                   streams->of_nameless.count > 1 || (!streams->of_nameless.count && !streams->has_bare_calls)
               ? 0
               : kineto_groups_nameless(&trace->groups, trace->rank, group);
}

static int32_t group_of(const struct streams *streams, const struct item *item,
                        const struct kineto_operation *told, int32_t otherwise)
{
    const int64_t *group = NULL;
    if (told->group != KINETO_NO_GROUP || (item->kernel && item->kernel->library))
        return told->group;
    if (item->kernel)
        group = map_get(&streams->groups, (struct map_key){{(uint64_t)item->kernel->stream}});
    return group && *group != KINETO_NO_GROUP ? (int32_t)*group : otherwise;
}

static int64_t wall_ns(const struct kineto_emitter *emitter, int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN ? TIME_UNKNOWN : emitter->trace->base_ns + time_ns;
}

static struct interval_ns wall_times(const struct kineto_emitter *emitter, struct interval_ns interval)
{
    return (struct interval_ns){wall_ns(emitter, interval.begin_ns), wall_ns(emitter, interval.end_ns)};
}

/* torch numbers groups without a name. Such a number means nothing to users. */
static int is_telling(const char *name)
{
    return name[strspn(name, "0123456789")] != '\0';
}

static struct origin origin_of(const struct kineto_emitter *emitter, const struct kineto_group *group,
                               uint64_t offset)
{
    struct origin origin = {
        .host = emitter->host, .pid = emitter->process, .rank = COUNT_UNKNOWN, .offset = offset};
    int64_t rank = group && group->hash ? kineto_group_rank(group, emitter->trace->rank) : COUNT_UNKNOWN;
    if (rank == COUNT_UNKNOWN)
        return origin;
    origin.communicator_hash = group->hash;
    origin.communicator_is_named = 1;
    origin.rank = rank;
    origin.communicator_name = is_telling(group->name) ? group->name : NULL;
    origin.communicator_size = group->is_cut ? group->size : (int64_t)group->rank_count;
    return origin;
}

/*
 * The step at a time; steps begin on one thread. COUNT_UNKNOWN before the first step and after the last, as
 * the trace contains at most a part of those.
 */
static int64_t step_at(const struct kineto_ranges *steps, int64_t at_ns)
{
    int64_t at = steps->count ? kineto_range_before(steps, steps->items[0].thread, at_ns) : -1;
    if (at < 0)
        return COUNT_UNKNOWN;
    const struct kineto_range *step = &steps->items[at];
    int is_last = (size_t)at + 1 == steps->count || step[1].thread != step->thread;
    return is_last && at_ns > step->time.end_ns ? COUNT_UNKNOWN : step->number;
}

static int64_t step_of(const struct kineto_trace *trace, const struct item *item)
{
    if (!trace->steps.count && item->kernel)
        return step_at(&trace->gpu_steps, item->kernel->device.begin_ns);
    return step_at(&trace->steps, item->issued_ns);
}

/* Limit on the annotations between a call and the annotation around it. */
enum { ANNOTATIONS_WITHIN = 256 };

static const char *annotation_at(const struct kineto_trace *trace, int32_t thread, int64_t at_ns)
{
    int64_t at = kineto_range_before(&trace->annotations, thread, at_ns);
    for (int64_t first = at; at >= 0 && first - at < ANNOTATIONS_WITHIN; at--) {
        const struct kineto_range *range = &trace->annotations.items[at];
        if (range->thread != thread)
            break;
        if (range->time.end_ns >= at_ns)
            return intern_text(&trace->texts, range->number);
    }
    return NULL;
}

/* The innermost annotation around a call, on its thread or else on the thread that counts the steps. */
static const char *tag_of(const struct kineto_trace *trace, const struct item *item)
{
    if (!item->call)
        return NULL;
    const char *tag = annotation_at(trace, item->call->thread, item->issued_ns);
    if (!tag && trace->steps.count)
        tag = annotation_at(trace, trace->steps.items[0].thread, item->issued_ns);
    return tag;
}

static int64_t peer_of(const struct kineto_group *group, const struct kineto_operation *told)
{
    if (!function_is_point_to_point((enum function)told->function))
        return COUNT_UNKNOWN;
    if (told->peer_number >= 0)
        return told->peer_number;
    if (told->peer < 0 || !group)
        return COUNT_UNKNOWN;
    return kineto_group_rank(group, told->peer);
}

static void set_device(const struct kineto_emitter *emitter, const struct item *item,
                       struct operation *operation)
{
    const struct kineto_trace *trace = emitter->trace;
    const struct kineto_kernel *kernel = item->kernel;
    const struct kineto_launch *launch = launch_of(trace, kernel);
    if (!kernel)
        return;
    struct interval_ns device = kernel->device;
    if (item->call)
        device.end_ns = trace->kernels[item->call->last_kernel].device.end_ns;
    operation->device = wall_times(emitter, device);
    operation->duration_ns = device.end_ns - device.begin_ns;
    operation->end_source = END_KERNEL;
    operation->gpu_busy_ns = kernel->busy_ns;
    operation->gpu_overlap_ns = kernel->overlap_ns;
    operation->stream = (uint64_t)kernel->stream;
    operation->graph_captured = kernel->has_graph;
    operation->is_symmetric = kernel->is_symmetric;
    operation->algorithm = (enum algorithm)kernel->algorithm;
    if (launch)
        operation->enqueue = wall_times(
            emitter, (struct interval_ns){launch->begin_ns, launch->begin_ns + launch->duration_ns});
}

/*
 * A send or receive without a peer cannot be paired, so it is FUNCTION_OTHER. So is a kernel that may be only
 * the phase that sends, and one that may not wait for all ranks of its group.
 */
static enum function function_of(const struct kineto_trace *trace, const struct item *item,
                                 const struct kineto_group *group, const struct kineto_operation *told,
                                 int64_t peer)
{
    enum function function = (enum function)told->function;
    if ((trace->has_phases && item->kernel && item->kernel->phase != KINETO_WHOLE) ||
        (group && group->is_doubtful))
        return FUNCTION_OTHER;
    if (function == FUNCTION_UNKNOWN || (function_is_point_to_point(function) && peer < 0))
        return FUNCTION_OTHER;
    return function;
}

/* The shapes of an AlltoAll give its whole input; its count is that for one rank. */
static void count_one_peer(const struct kineto_group *group, struct kineto_operation *told)
{
    int64_t ranks = group && group->size > 0 ? group->size : 0;
    if (told->function != FUNCTION_ALL_TO_ALL || told->count < 0)
        return;
    told->bytes = ranks && told->bytes >= 0 && told->bytes % ranks == 0 ? told->bytes / ranks : COUNT_UNKNOWN;
    told->count = ranks && told->count % ranks == 0 ? told->count / ranks : COUNT_UNKNOWN;
}

static int emit_operation(struct kineto_emitter *emitter, const struct item *item, int32_t group_number,
                          struct error *error)
{
    const struct kineto_trace *trace = emitter->trace;
    const struct kineto_group *group = group_number < 0 ? NULL : &trace->groups.items[group_number];
    struct kineto_operation told = operation_of_item(item);
    if (item->call && item->call->is_named_by_annotation)
        count_one_peer(group, &told);
    int64_t peer = peer_of(group, &told);
    enum function function = function_of(trace, item, group, &told, peer);
    uint64_t offset = item->call && !item->kernel ? item->call->offset : item->kernel->offset;
    struct event event = {.kind = EVENT_OPERATION, .origin = origin_of(emitter, group, offset)};
    event.operation = (struct operation){
        .ordinal = emitter->next_ordinal++,
        .kind = function_is_point_to_point(function) ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
        .function = function,
        .sequence = COUNT_UNKNOWN,
        .count = told.count,
        .datatype = (enum datatype)told.datatype,
        .bytes = told.bytes,
        .root = COUNT_UNKNOWN,
        .peer = peer,
        .channel_count = COUNT_UNKNOWN,
        .api = item->call ? wall_times(emitter, item->call->api)
                          : (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN},
        .enqueue = {TIME_UNKNOWN, TIME_UNKNOWN},
        .device = {TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = COUNT_UNKNOWN,
        .tag = tag_of(trace, item),
        .told_step = step_of(trace, item) + 1,
        .told_sequence = told.sequence + 1,
    };
    set_device(emitter, item, &event.operation);
    return emitter->sink->event(emitter->sink->context, &event, error);
}

/* Hands over each communicator once. */
static int emit_groups(struct kineto_emitter *emitter, struct error *error)
{
    struct kineto_groups *groups = &emitter->trace->groups;
    for (size_t i = 0; i < groups->count; i++) {
        struct kineto_group *group = &groups->items[i];
        struct event event = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(emitter, group, 0)};
        if (group->is_told || !event.origin.communicator_hash)
            continue;
        group->is_told = 1;
        event.communicator =
            (struct communicator_facts){.members = group->is_cut ? NULL : group->ranks,
                                        .member_count = group->is_cut ? 0 : group->rank_count,
                                        .description = *group->description ? group->description : NULL};
        if (emitter->sink->event(emitter->sink->context, &event, error))
            return -1;
    }
    return 0;
}

static int emit_process(struct kineto_emitter *emitter, struct error *error)
{
    const struct kineto_trace *trace = emitter->trace;
    struct event event = {.kind = EVENT_PROCESS, .origin = origin_of(emitter, NULL, 0)};
    event.process = PROCESS_FACTS_NONE;
    event.process.global_rank = trace->rank;
    event.process.world_size = trace->world_size;
    event.process.gpu = trace->has_devices ? COUNT_UNKNOWN : trace->device;
    return emitter->sink->event(emitter->sink->context, &event, error);
}

/*
 * tensorboard_trace_handler names its files <host>_<pid>.<ns>.pt.trace.json. Without the host, a PID does not
 * identify a process, since containers use the same PIDs; each file is then a process of its own.
 */
static int learn_host(struct kineto_emitter *emitter)
{
    const char *slash = strrchr(emitter->path, '/');
    const char *name = slash ? slash + 1 : emitter->path;
    const char *dot = strchr(name, '.');
    int64_t process;
    while (dot) {
        const char *before = memrchr(name, '_', (size_t)(dot - name));
        if (before && before > name && !number_int64(before + 1, (size_t)(dot - before - 1), &process) &&
            process == emitter->trace->process) {
            emitter->process = process;
            emitter->host = strndup(name, (size_t)(before - name));
            return emitter->host ? 0 : -1;
        }
        dot = strchr(dot + 1, '.');
    }
    return 0;
}

/*
 * Returns the rank in a file's name ("rank3", "rank_3", "rank-3"), for traces that do not give it;
 * COUNT_UNKNOWN.
 */
static int64_t rank_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    int64_t rank = COUNT_UNKNOWN;
    for (const char *at = slash ? slash + 1 : path; (at = strcasestr(at, "rank")); at++) {
        const char *digits = at + 4;
        digits += *digits == '-' || *digits == '_' || *digits == '=' || *digits == '.';
        size_t length = strspn(digits, "0123456789");
        if (length && number_int64(digits, length, &rank))
            rank = COUNT_UNKNOWN;
    }
    return rank;
}

/* Values that are missing in one place may be in another. */
static int learn(struct kineto_emitter *emitter)
{
    struct kineto_trace *trace = emitter->trace;
    if (!emitter->host && learn_host(emitter))
        return -1;
    if (trace->rank == COUNT_UNKNOWN)
        trace->rank = rank_of_path(emitter->path);
    if (kineto_groups_settle(&trace->groups, trace->world_size))
        return -1;
    if (trace->rank == COUNT_UNKNOWN)
        trace->rank = kineto_groups_common_rank(&trace->groups);
    return 0;
}

/* The kernel of a library, without a call; NULL: the item is something else. */
static struct kineto_kernel *library_kernel_of(const struct kineto_trace *trace, const struct item *item)
{
    return item->call || !item->kernel || !item->kernel->library
               ? NULL
               : &trace->kernels[item->kernel - trace->kernels];
}

/* Gives kernels of libraries their groups: those that name the number of members, or the others. */
static int find_library_groups(struct kineto_trace *trace, const struct item *items, size_t count,
                               int names_ranks)
{
    for (size_t i = 0; i < count; i++) {
        struct kineto_kernel *kernel = library_kernel_of(trace, &items[i]);
        if (!kernel || (kernel->ranks >= 0) != names_ranks)
            continue;
        struct kineto_library_kernel of = {.library = kernel->library, .ranks = kernel->ranks};
        if (kineto_groups_of_library(&trace->groups, &of, trace->rank, trace->world_size,
                                     &kernel->told.group))
            return -1;
        trace->groupless +=
            kernel->told.group == KINETO_NO_GROUP || trace->groups.items[kernel->told.group].is_doubtful;
    }
    return 0;
}

/* Kernels with phases are launched once for each if two of the same name follow each other. */
static void find_phases(struct kineto_trace *trace, const struct item *items, size_t count)
{
    uint8_t before = KINETO_WHOLE;
    for (size_t i = 0; i < count; i++) {
        const struct kineto_kernel *kernel = library_kernel_of(trace, &items[i]);
        if (!kernel || kernel->phase == KINETO_WHOLE)
            continue;
        trace->has_phases |= kernel->phase == before;
        before = kernel->phase;
    }
}

static int emit_items(struct kineto_emitter *emitter, const struct item *items, size_t count,
                      struct error *error)
{
    struct streams streams;
    int32_t otherwise = KINETO_NO_GROUP;
    int failed = learn_streams(&streams, items, count) ||
                         find_default(emitter->trace, &streams, &otherwise) || learn(emitter) ||
                         find_repeated(emitter->trace, &streams, &otherwise) ||
                         find_library_groups(emitter->trace, items, count, 1) ||
                         find_library_groups(emitter->trace, items, count, 0) ||
                         (emitter->trace->groups.library_count &&
                          kineto_groups_job(&emitter->trace->groups, emitter->trace->world_size))
                     ? error_no_memory(error)
                     : 0;
    find_phases(emitter->trace, items, count);
    failed = failed || emit_groups(emitter, error);
    for (size_t i = 0; !failed && i < count; i++) {
        struct kineto_operation told = operation_of_item(&items[i]);
        emitter->lacks_launches |=
            !items[i].call && (!items[i].kernel || !launch_of(emitter->trace, items[i].kernel));
        failed = emit_operation(emitter, &items[i], group_of(&streams, &items[i], &told, otherwise), error);
    }
    map_release(&streams.groups);
    map_release(&streams.of_nameless);
    return failed ? -1 : 0;
}

static int emit_tag(const struct kineto_emitter *emitter, const char *text, int64_t at_ns, size_t depth,
                    struct error *error)
{
    struct event event = {.kind = EVENT_TAG, .origin = origin_of(emitter, NULL, 0)};
    event.tag = (struct tag_mark){.text = text,
                                  .at_ns = wall_ns(emitter, at_ns),
                                  .depth = (int64_t)depth,
                                  .process_wide = 1,
                                  .is_end = !text};
    return emitter->sink->event(emitter->sink->context, &event, error);
}

/* Hands over the ends of open annotations that end at or before a time, the innermost first. */
static int end_tags(const struct kineto_emitter *emitter, const int64_t *ends_ns, size_t *open, int64_t at_ns,
                    struct error *error)
{
    for (; *open && ends_ns[*open - 1] <= at_ns; --*open)
        if (emit_tag(emitter, NULL, ends_ns[*open - 1], *open - 1, error))
            return -1;
    return 0;
}

/*
 * Hands over the annotations of the thread that counts the steps as tags of the process, as tag_of takes
 * them: a phase need not have an operation. An annotation ends with the one around it.
 */
static int emit_tags(const struct kineto_emitter *emitter, struct error *error)
{
    const struct kineto_trace *trace = emitter->trace;
    int64_t ends_ns[TAG_DEPTH];
    size_t open = 0;
    int failed = 0;
    for (size_t i = 0; i < trace->annotations.count && !failed; i++) {
        const struct kineto_range *range = &trace->annotations.items[i];
        if (range->thread != trace->steps.items[0].thread)
            continue;
        failed = end_tags(emitter, ends_ns, &open, range->time.begin_ns, error);
        if (failed || open == TAG_DEPTH)
            continue;
        failed =
            emit_tag(emitter, intern_text(&trace->texts, range->number), range->time.begin_ns, open, error);
        ends_ns[open] =
            open && ends_ns[open - 1] < range->time.end_ns ? ends_ns[open - 1] : range->time.end_ns;
        open++;
    }
    return failed || end_tags(emitter, ends_ns, &open, INT64_MAX, error) ? -1 : 0;
}

/* Drops the kernels that were handed over, and their calls. */
static void forget(struct kineto_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->call_count; i++)
        if (trace->calls[i].first_kernel < 0)
            trace->calls[kept++] = trace->calls[i];
    trace->call_count = kept;
    trace->kernel_count = 0;
}

int kineto_emit(struct kineto_emitter *emitter, int is_end, struct error *error)
{
    size_t count;
    if (kineto_link(emitter->trace))
        return error_no_memory(error);
    struct item *items = list_items(emitter->trace, is_end, &count);
    int failed = items ? emit_items(emitter, items, count, error) : error_no_memory(error);
    free(items);
    if (!failed && is_end && emitter->next_ordinal && emitter->trace->steps.count && !emitter->lacks_launches)
        failed = emit_tags(emitter, error);
    forget(emitter->trace);
    return failed || (is_end && emitter->next_ordinal && emit_process(emitter, error)) ? -1 : 0;
}
