/*
 * Connects the calls, launches and kernels of a Kineto trace: which kernels do the work of which call. Also
 * finds missing peers, and how busy the GPU was between kernels.
 */
#include "base/base.h"
#include "format/kineto/kineto.h"
#include "model/model.h"

#include <stdlib.h>

static int by_correlation(const void *a, const void *b)
{
    const struct kineto_launch *left = a, *right = b;
    int order = compare_integers(left->correlation, right->correlation);
    return order ? order : compare_integers(left->begin_ns, right->begin_ns);
}

static int by_thread(const void *a, const void *b)
{
    const struct kineto_range *left = a, *right = b;
    int order = compare_integers(left->thread, right->thread);
    order = order ? order : compare_integers(left->time.begin_ns, right->time.begin_ns);
    return order ? order : compare_integers(right->time.end_ns, left->time.end_ns);
}

static size_t retained_launches(const struct kineto_trace *trace)
{
    return trace->launch_count < KINETO_LAUNCHES ? trace->launch_count : KINETO_LAUNCHES;
}

static int is_lower(const void *launch, const void *correlation)
{
    return ((const struct kineto_launch *)launch)->correlation < *(const int64_t *)correlation;
}

static int32_t find_launch(const struct kineto_trace *trace, int64_t correlation)
{
    size_t count = retained_launches(trace);
    size_t at = lower_bound(trace->launches, count, sizeof *trace->launches, is_lower, &correlation);
    return at < count && trace->launches[at].correlation == correlation ? (int32_t)at : -1;
}

struct moment {
    int32_t thread;
    int64_t at_ns;
};

static int begins_by(const void *item, const void *wanted)
{
    const struct kineto_range *range = item;
    const struct moment *moment = wanted;
    return range->thread != moment->thread ? range->thread < moment->thread
                                           : range->time.begin_ns <= moment->at_ns;
}

int64_t kineto_range_before(const struct kineto_ranges *ranges, int32_t thread, int64_t at_ns)
{
    struct moment moment = {thread, at_ns};
    size_t past = lower_bound(ranges->items, ranges->count, sizeof *ranges->items, begins_by, &moment);
    return past && ranges->items[past - 1].thread == thread ? (int64_t)past - 1 : -1;
}

/* Limit on the calls of one group. */
enum { GROUP_CALLS = 4096 };

/* The calls in two orders, and the kernels without a call in the order of their launches. */
struct linking {
    struct kineto_trace *trace;
    struct kineto_call **by_id;   /* owned, as are the other arrays */
    struct kineto_call **by_time; /* by thread, then by begin */
    struct kineto_kernel **rest;
    size_t rest_count;
};

static int call_by_id(const void *a, const void *b)
{
    const struct kineto_call *left = *(struct kineto_call *const *)a;
    const struct kineto_call *right = *(struct kineto_call *const *)b;
    return compare_integers(left->external_id, right->external_id);
}

static int call_by_time(const void *a, const void *b)
{
    const struct kineto_call *left = *(struct kineto_call *const *)a;
    const struct kineto_call *right = *(struct kineto_call *const *)b;
    int order = compare_integers(left->thread, right->thread);
    order = order ? order : compare_integers(left->api.begin_ns, right->api.begin_ns);
    return order ? order : compare_integers((int64_t)left->offset, (int64_t)right->offset);
}

/* Kernels of one launch, for example of a graph, in the order in which the GPU ran them. */
static int kernel_by_time(const void *a, const void *b)
{
    const struct kineto_kernel *left = *(struct kineto_kernel *const *)a;
    const struct kineto_kernel *right = *(struct kineto_kernel *const *)b;
    return compare_integers(left->device.begin_ns, right->device.begin_ns);
}

static int kernel_by_end(const void *a, const void *b)
{
    const struct kineto_kernel *left = *(struct kineto_kernel *const *)a;
    const struct kineto_kernel *right = *(struct kineto_kernel *const *)b;
    return compare_integers(left->device.end_ns, right->device.end_ns);
}

static void linking_release(struct linking *linking)
{
    free(linking->by_id);
    free(linking->by_time);
    free(linking->rest);
}

static int linking_init(struct linking *linking, struct kineto_trace *trace)
{
    *linking = (struct linking){.trace = trace,
                                .by_id = array_new(trace->call_count, sizeof *linking->by_id),
                                .by_time = array_new(trace->call_count, sizeof *linking->by_time),
                                .rest = array_new(trace->kernel_count, sizeof *linking->rest)};
    if (!linking->by_id || !linking->by_time || !linking->rest) {
        linking_release(linking);
        return -1;
    }
    for (size_t i = 0; i < trace->call_count; i++)
        linking->by_id[i] = linking->by_time[i] = &trace->calls[i];
    array_sort(linking->by_id, trace->call_count, sizeof *linking->by_id, call_by_id);
    array_sort(linking->by_time, trace->call_count, sizeof *linking->by_time, call_by_time);
    return 0;
}

static void attach(const struct kineto_trace *trace, struct kineto_kernel *kernel, struct kineto_call *call)
{
    int32_t number = (int32_t)(kernel - trace->kernels);
    if (call->first_kernel < 0 ||
        trace->kernels[call->first_kernel].device.begin_ns > kernel->device.begin_ns)
        call->first_kernel = number;
    if (call->last_kernel < 0 || trace->kernels[call->last_kernel].device.end_ns < kernel->device.end_ns)
        call->last_kernel = number;
    kernel->is_linked = 1;
}

static int has_lower_id(const void *item, const void *external_id)
{
    return (*(struct kineto_call *const *)item)->external_id < *(const int64_t *)external_id;
}

static int was_called_by(const void *item, const void *wanted)
{
    const struct kineto_call *call = *(struct kineto_call *const *)item;
    const struct moment *moment = wanted;
    return call->thread != moment->thread ? call->thread < moment->thread
                                          : call->api.begin_ns <= moment->at_ns;
}

static struct kineto_call *find_by_id(const struct linking *linking, int64_t external_id)
{
    size_t count = linking->trace->call_count;
    size_t at = lower_bound(linking->by_id, count, sizeof *linking->by_id, has_lower_id, &external_id);
    return at < count && linking->by_id[at]->external_id == external_id ? linking->by_id[at] : NULL;
}

/* How many calls in by_time[] began by then, on this thread or on one sorted before it. */
static size_t called_by(const struct linking *linking, int32_t thread, int64_t at_ns)
{
    struct moment moment = {thread, at_ns};
    return lower_bound(linking->by_time, linking->trace->call_count, sizeof *linking->by_time, was_called_by,
                       &moment);
}

/* The call during which something was launched. */
static struct kineto_call *find_around(const struct linking *linking, const struct kineto_launch *launch)
{
    size_t past = called_by(linking, launch->thread, launch->begin_ns);
    struct kineto_call *call = past ? linking->by_time[past - 1] : NULL;
    return call && call->thread == launch->thread && call->api.end_ns >= launch->begin_ns ? call : NULL;
}

static int is_pair(enum function function)
{
    return function_is_point_to_point(function);
}

/* Whether a kernel with this name may do the work of the call. Unknown functions fit anything. */
static int may_run_call(const struct kineto_kernel *kernel, const struct kineto_call *call)
{
    enum function function = (enum function)call->told.function, name = (enum function)kernel->told.function;
    if (function == FUNCTION_UNKNOWN || function == FUNCTION_OTHER || name == FUNCTION_OTHER)
        return 1;
    return function == name || function == FUNCTION_BARRIER || is_pair(function) == is_pair(name);
}

int kineto_moves_data(const struct kineto_trace *trace, const struct kineto_call *call)
{
    return call->first_kernel >= 0 || call->told.function != FUNCTION_UNKNOWN ||
           (!trace->functions.count && call->told.count > 0);
}

/*
 * Connects a kernel to the calls of the group that ended with its launch: the calls on the thread since the
 * previous group that have no kernel yet. Returns how many there are.
 */
static size_t attach_group(const struct linking *linking, struct kineto_kernel *kernel, int64_t since_ns,
                           int64_t until_ns, int32_t thread)
{
    size_t end = called_by(linking, thread, until_ns), attached = 0;
    for (size_t at = end; at-- > 0 && end - at <= GROUP_CALLS;) {
        struct kineto_call *call = linking->by_time[at];
        if (call->thread != thread || call->api.begin_ns < since_ns)
            break;
        if (call->first_kernel >= 0 || !may_run_call(kernel, call) ||
            !kineto_moves_data(linking->trace, call))
            continue;
        attach(linking->trace, kernel, call);
        attached++;
    }
    return attached;
}

/* A group may launch several kernels. The further ones belong to the same calls as the first. */
static void attach_further(const struct linking *linking, struct kineto_kernel *kernel,
                           const struct kineto_kernel *first, const struct kineto_launch *launch)
{
    int32_t number = (int32_t)(first - linking->trace->kernels);
    size_t end = called_by(linking, launch->thread, launch->begin_ns);
    for (size_t at = end; at-- > 0 && end - at <= GROUP_CALLS;)
        if (linking->by_time[at]->first_kernel == number || linking->by_time[at]->last_kernel == number)
            attach(linking->trace, kernel, linking->by_time[at]);
}

/* The earliest possible begin of the group that ends with the launch: the end of the previous group. */
static int64_t group_since(const struct kineto_trace *trace, const struct kineto_launch *launch,
                           const struct kineto_launch *before)
{
    int64_t since_ns = before && before->thread == launch->thread ? before->begin_ns : INT64_MIN;
    int64_t around = kineto_range_before(&trace->coalesced, launch->thread, launch->begin_ns);
    if (around < 0 || trace->coalesced.items[around].time.end_ns < launch->begin_ns)
        return since_ns;
    const struct kineto_range *previous = around ? &trace->coalesced.items[around - 1] : NULL;
    if (previous && previous->thread == launch->thread && previous->time.end_ns > since_ns)
        return previous->time.end_ns;
    return since_ns;
}

static int is_same_group(const struct kineto_trace *trace, const struct kineto_launch *launch,
                         const struct kineto_launch *before)
{
    return before && before->thread == launch->thread &&
           kineto_range_before(&trace->coalesced, launch->thread, launch->begin_ns) >= 0 &&
           kineto_range_before(&trace->coalesced, launch->thread, launch->begin_ns) ==
               kineto_range_before(&trace->coalesced, launch->thread, before->begin_ns);
}

static const struct kineto_launch *launch_of(const struct kineto_trace *trace,
                                             const struct kineto_kernel *kernel)
{
    return kernel->launch < 0 ? NULL : &trace->launches[kernel->launch];
}

/* Connects the kernels that name no call, in the order in which each thread launched them. */
static void link_groups(const struct linking *linking)
{
    struct kineto_trace *trace = linking->trace;
    const struct kineto_kernel *before = NULL;
    for (size_t i = 0; i < linking->rest_count; i++) {
        struct kineto_kernel *kernel = linking->rest[i];
        const struct kineto_launch *launch = launch_of(trace, kernel);
        const struct kineto_launch *last = before ? launch_of(trace, before) : NULL;
        if (!launch || kernel->has_graph)
            continue;
        int64_t since_ns = group_since(trace, launch, last);
        if (attach_group(linking, kernel, since_ns, launch->begin_ns, launch->thread))
            before = kernel;
        else if (is_same_group(trace, launch, last) && before->is_linked)
            attach_further(linking, kernel, before, launch);
    }
}

static int kernel_by_launch(const void *a, const void *b, void *context)
{
    const struct kineto_trace *trace = context;
    const struct kineto_launch *left = launch_of(trace, *(struct kineto_kernel *const *)a);
    const struct kineto_launch *right = launch_of(trace, *(struct kineto_kernel *const *)b);
    if (!left || !right || left == right)
        return left == right ? kernel_by_time(a, b) : left ? 1 : -1;
    int order = compare_integers(left->thread, right->thread);
    return order ? order : compare_integers(left->begin_ns, right->begin_ns);
}

static void link_kernels(struct linking *linking)
{
    struct kineto_trace *trace = linking->trace;
    for (size_t i = 0; i < trace->kernel_count; i++) {
        struct kineto_kernel *kernel = &trace->kernels[i];
        struct kineto_call *call = NULL;
        kernel->launch = kernel->correlation >= 0 ? find_launch(trace, kernel->correlation) : -1;
        if (kernel->external_id >= 0)
            call = find_by_id(linking, kernel->external_id);
        if (!call && kernel->launch >= 0 && !kernel->has_graph)
            call = find_around(linking, launch_of(trace, kernel));
        if (call)
            attach(trace, kernel, call);
        else if (!kernel->library)
            linking->rest[linking->rest_count++] = kernel;
    }
    if (linking->rest_count)
        qsort_r(linking->rest, linking->rest_count, sizeof *linking->rest, kernel_by_launch, trace);
    link_groups(linking);
}

/*
 * Up to torch 2.1 only the annotation inside a call names its function. Calls without one move no data: their
 * wait, or a call that contains another.
 */
static void name_functions(const struct linking *linking)
{
    const struct kineto_ranges *functions = &linking->trace->functions;
    for (size_t i = 0; i < functions->count; i++) {
        const struct kineto_range *range = &functions->items[i];
        struct kineto_launch inside = {.begin_ns = range->time.begin_ns, .thread = range->thread};
        struct kineto_call *call = find_around(linking, &inside);
        if (!call || call->told.function != FUNCTION_UNKNOWN)
            continue;
        call->told.function = (uint8_t)range->number;
        call->is_named_by_annotation = 1;
    }
}

/* Before torch 2.5 only the annotation inside a call gives the peer. */
static void name_peers(struct kineto_trace *trace)
{
    for (size_t i = 0; i < trace->call_count; i++) {
        struct kineto_call *call = &trace->calls[i];
        if (!is_pair((enum function)call->told.function) || call->told.peer >= 0)
            continue;
        int64_t at = kineto_range_before(&trace->pairs, call->thread, call->api.end_ns);
        if (at < 0 || trace->pairs.items[at].time.begin_ns < call->api.begin_ns)
            continue;
        call->told.own_number = trace->pairs.items[at].number >> 32;
        call->told.peer_number = trace->pairs.items[at].number & INT32_MAX;
    }
}

/* Drops the intervals that ended by then. */
static void busy_forget(struct kineto_busy *busy, int64_t until_ns)
{
    size_t kept = 0;
    kineto_busy_settle(busy);
    for (size_t i = intervals_first_after(busy->items, busy->count, until_ns); i < busy->count; i++)
        busy->items[kept++] = busy->items[i];
    busy->count = kept;
}

/*
 * Computes, for each NCCL kernel, how long the GPU did other work between the end of the previous NCCL kernel
 * and its begin, and while it ran. `order` has room for all kernels.
 */
static void measure_busy(struct kineto_trace *trace, struct kineto_kernel **order)
{
    struct kineto_kernel **by_end = order + trace->kernel_count;
    size_t ended = 0;
    for (size_t i = 0; i < trace->kernel_count; i++)
        order[i] = by_end[i] = &trace->kernels[i];
    array_sort(order, trace->kernel_count, sizeof *order, kernel_by_time);
    array_sort(by_end, trace->kernel_count, sizeof *by_end, kernel_by_end);
    for (size_t i = 0; i < trace->kernel_count; i++) {
        int64_t begin_ns = order[i]->device.begin_ns;
        while (ended < trace->kernel_count && by_end[ended]->device.end_ns <= begin_ns)
            ended++;
        order[i]->overlap_ns = intervals_covered_ns(trace->busy.items, trace->busy.count, order[i]->device);
        if (ended)
            order[i]->busy_ns =
                intervals_covered_ns(trace->busy.items, trace->busy.count,
                                     (struct interval_ns){by_end[ended - 1]->device.end_ns, begin_ns});
    }
    if (ended)
        busy_forget(&trace->busy, by_end[ended - 1]->device.end_ns);
}

static int find_busy(struct kineto_trace *trace)
{
    kineto_busy_settle(&trace->busy);
    if (!trace->busy.count)
        return 0;
    struct kineto_kernel **order = array_new(trace->kernel_count * 2, sizeof *order);
    if (!order)
        return -1;
    measure_busy(trace, order);
    free(order);
    return 0;
}

/* In a trace without calls, their annotations are the calls. */
static int call_functions(struct kineto_trace *trace)
{
    for (size_t i = 0; !trace->has_calls && i < trace->functions.count; i++) {
        struct kineto_range *range = &trace->functions.items[i];
        if (range->number == FUNCTION_UNKNOWN)
            continue;
        if (array_reserve((void **)&trace->calls, &trace->call_capacity, trace->call_count + 1,
                          sizeof *trace->calls))
            return -1;
        trace->calls[trace->call_count++] = (struct kineto_call){.told = {.count = COUNT_UNKNOWN,
                                                                          .bytes = COUNT_UNKNOWN,
                                                                          .sequence = COUNT_UNKNOWN,
                                                                          .peer = COUNT_UNKNOWN,
                                                                          .own_number = COUNT_UNKNOWN,
                                                                          .peer_number = COUNT_UNKNOWN,
                                                                          .group = KINETO_NO_GROUP,
                                                                          .function = (uint8_t)range->number},
                                                                 .api = range->time,
                                                                 .thread = range->thread,
                                                                 .external_id = COUNT_UNKNOWN,
                                                                 .offset = range->offset,
                                                                 .first_kernel = -1,
                                                                 .last_kernel = -1};
        range->number = FUNCTION_UNKNOWN; /* each is one call, however often it is linked */
    }
    return 0;
}

int kineto_link(struct kineto_trace *trace)
{
    struct kineto_ranges *const ranges[] = {&trace->steps,     &trace->gpu_steps, &trace->annotations,
                                            &trace->coalesced, &trace->pairs,     &trace->functions};
    struct linking linking;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        array_sort(ranges[i]->items, ranges[i]->count, sizeof *ranges[i]->items, by_thread);
    array_sort(trace->launches, retained_launches(trace), sizeof *trace->launches, by_correlation);
    if (call_functions(trace) || linking_init(&linking, trace))
        return -1;
    name_functions(&linking);
    link_kernels(&linking);
    linking_release(&linking);
    name_peers(trace);
    return find_busy(trace);
}
