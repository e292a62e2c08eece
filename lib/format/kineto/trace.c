/*
 * Keeps the parts of a Kineto trace until operations can be assembled: calls, launches, kernels, annotations,
 * and the intervals in which the GPU did other work.
 */
#include "base/base.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * When the GPU did work other than NCCL's: kernels and copies on any stream. Times are as printed. Intervals
 * that touch are merged; if there are too many, those closest to each other are merged, too.
 */
enum { KINETO_INTERVALS = 1 << 18 };

static void kineto_busy_release(struct kineto_busy *busy)
{
    free(busy->items);
}

void kineto_busy_settle(struct kineto_busy *busy)
{
    if (busy->is_sorted)
        return;
    intervals_sort(busy->items, busy->count);
    busy->count = intervals_merge(busy->items, busy->count, 0);
    busy->is_sorted = 1;
}

/* Merges until at most half of them are left, the smallest gaps first. */
static void make_room(struct kineto_busy *busy)
{
    kineto_busy_settle(busy);
    for (int64_t apart_ns = 1000; busy->count > KINETO_INTERVALS / 2 && apart_ns < INT64_MAX / 2;
         apart_ns *= 2)
        busy->count = intervals_merge(busy->items, busy->count, apart_ns);
}

/* Returns -1 if memory is out. */
static int kineto_busy_add(struct kineto_busy *busy, struct interval_ns interval)
{
    struct interval_ns *last = busy->count ? &busy->items[busy->count - 1] : NULL;
    if (interval.end_ns <= interval.begin_ns)
        return 0;
    if (last && !busy->is_sorted && interval.begin_ns >= last->begin_ns &&
        interval.begin_ns <= last->end_ns) {
        interval_widen(last, interval);
        return 0;
    }
    if (busy->count == KINETO_INTERVALS)
        make_room(busy);
    if (array_reserve((void **)&busy->items, &busy->capacity, busy->count + 1, sizeof *busy->items))
        return -1;
    busy->items[busy->count++] = interval;
    busy->is_sorted = 0;
    return 0;
}

void kineto_trace_init(struct kineto_trace *trace)
{
    *trace = (struct kineto_trace){.rank = COUNT_UNKNOWN,
                                   .world_size = COUNT_UNKNOWN,
                                   .process = COUNT_UNKNOWN,
                                   .device = COUNT_UNKNOWN};
    kineto_groups_init(&trace->groups);
    intern_init(&trace->texts);
    map_init(&trace->threads);
}

void kineto_trace_release(struct kineto_trace *trace)
{
    kineto_groups_release(&trace->groups);
    intern_release(&trace->texts);
    map_release(&trace->threads);
    free(trace->calls);
    free(trace->kernels);
    free(trace->launches);
    free(trace->steps.items);
    free(trace->gpu_steps.items);
    free(trace->annotations.items);
    free(trace->coalesced.items);
    free(trace->functions.items);
    free(trace->pairs.items);
    kineto_busy_release(&trace->busy);
}

/*
 * Elements of one rank: the input of a gather, the output of a scatter. For an AlltoAll, the output divided
 * by the ranks, because with unequal parts the work of a rank depends on its output.
 */
static int64_t elements_of(enum function function, const struct kineto_arguments *arguments)
{
    int64_t in = arguments->in_elements, out = arguments->out_elements, ranks = arguments->group_size;
    switch (function) {
    case FUNCTION_REDUCE_SCATTER:
    case FUNCTION_SCATTER:
        return out;
    case FUNCTION_ALL_TO_ALL:
        in = out >= 0 ? out : in;
        return in >= 0 && ranks > 0 ? in / ranks : COUNT_UNKNOWN;
    case FUNCTION_BROADCAST:
        return in > out ? in : out;
    default:
        return in;
    }
}

static int64_t bytes_of(int64_t count, enum datatype datatype)
{
    int64_t bytes, size = datatype_bytes(datatype);
    return count < 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ? COUNT_UNKNOWN : bytes;
}

/* Returns -1 if memory is out. */
static int read_kineto_operation(struct kineto_trace *trace, const struct kineto_arguments *arguments,
                                 struct kineto_operation *told)
{
    enum function function = kineto_function(arguments->collective);
    *told = (struct kineto_operation){.function = (uint8_t)function,
                                      .datatype = (uint8_t)kineto_datatype(arguments->datatype),
                                      .count = elements_of(function, arguments),
                                      .sequence = arguments->sequence,
                                      .peer = function == FUNCTION_SEND   ? arguments->receiver
                                              : function == FUNCTION_RECV ? arguments->sender
                                                                          : COUNT_UNKNOWN,
                                      .own_number = COUNT_UNKNOWN,
                                      .peer_number = COUNT_UNKNOWN,
                                      .group = KINETO_NO_GROUP};
    if (told->count < 0)
        told->count = kineto_elements(arguments->shapes);
    told->bytes = bytes_of(told->count, (enum datatype)told->datatype);
    return arguments->collective.length && function == FUNCTION_UNKNOWN
               ? 0
               : kineto_groups_find(&trace->groups, arguments, &told->group);
}

static struct interval_ns time_of(const struct kineto_event *event)
{
    return (struct interval_ns){event->begin_ns, event->begin_ns + event->duration_ns};
}

/* Collectives give the own rank in their group; sends and receives give that of the peer. */
static void learn_rank(struct kineto_trace *trace, const struct kineto_arguments *arguments,
                       const struct kineto_operation *told)
{
    if (trace->rank != COUNT_UNKNOWN || told->group == KINETO_NO_GROUP || arguments->rank < 0 ||
        function_is_point_to_point((enum function)told->function))
        return;
    const struct kineto_group *group = &trace->groups.items[told->group];
    if ((uint64_t)arguments->rank < group->rank_count)
        trace->rank = group->ranks[arguments->rank];
}

/* Returns -1 if memory is out. */
static int32_t thread_of(struct kineto_trace *trace, const struct kineto_event *event)
{
    struct map_key key = {{(uint64_t)event->thread}};
    const int64_t *number = map_put(&trace->threads, key, (int64_t)trace->threads.count, NULL);
    return number ? (int32_t)*number : -1;
}

/* Calls that move no data (wait, init) are left out. */
static int add_call(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    struct kineto_call call = {.api = time_of(event),
                               .thread = thread_of(trace, event),
                               .external_id = event->arguments.external_id,
                               .offset = offset,
                               .first_kernel = -1,
                               .last_kernel = -1};
    trace->has_calls = 1;
    if (event->arguments.collective.length &&
        kineto_function(event->arguments.collective) == FUNCTION_UNKNOWN)
        return 0;
    if (trace->call_count == KINETO_CALLS) {
        trace->dropped++;
        return 0;
    }
    if (call.thread < 0 || read_kineto_operation(trace, &event->arguments, &call.told) ||
        array_reserve((void **)&trace->calls, &trace->call_capacity, trace->call_count + 1,
                      sizeof *trace->calls))
        return -1;
    learn_rank(trace, &event->arguments, &call.told);
    trace->calls[trace->call_count++] = call;
    return 0;
}

static void learn_device(struct kineto_trace *trace, int64_t device)
{
    if (device == COUNT_UNKNOWN)
        return;
    if (trace->device == COUNT_UNKNOWN)
        trace->device = device;
    trace->has_devices |= device != trace->device;
}

/*
 * Fills in from the kernel's name what its arguments do not give. Kernels that do not reduce move bytes,
 * whatever the datatype of the call.
 */
static void complete_kineto_operation(struct kineto_operation *told, const struct kineto_kernel_name *name)
{
    int reduces = name->function == FUNCTION_ALL_REDUCE || name->function == FUNCTION_REDUCE_SCATTER ||
                  name->function == FUNCTION_REDUCE;
    if (told->function == FUNCTION_UNKNOWN)
        told->function = (uint8_t)name->function;
    if (told->datatype == DATATYPE_UNKNOWN && reduces)
        told->datatype = (uint8_t)name->datatype;
}

static int add_kernel(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    struct kineto_kernel_name name;
    struct kineto_kernel kernel = {.device = time_of(event),
                                   .correlation = event->arguments.correlation,
                                   .external_id = event->arguments.external_id,
                                   .stream =
                                       event->arguments.stream >= 0 ? event->arguments.stream : event->thread,
                                   .offset = offset,
                                   .launch = -1,
                                   .has_graph = event->arguments.has_graph != 0};
    if (read_kineto_operation(trace, &event->arguments, &kernel.told) ||
        array_reserve((void **)&trace->kernels, &trace->kernel_capacity, trace->kernel_count + 1,
                      sizeof *trace->kernels))
        return -1;
    kineto_kernel_name(event->name, &name);
    complete_kineto_operation(&kernel.told, &name);
    kernel.is_symmetric = name.is_symmetric != 0;
    kernel.algorithm = (uint8_t)name.algorithm;
    learn_device(trace, event->arguments.device);
    trace->kernels[trace->kernel_count++] = kernel;
    return 0;
}

/* Makes the last kernel that of a library. */
static void set_library(struct kineto_trace *trace, const struct kineto_library_kernel *of)
{
    struct kineto_kernel *kernel = &trace->kernels[trace->kernel_count - 1];
    kernel->library = of->library;
    kernel->ranks = of->ranks;
    kernel->phase = (uint8_t)of->phase;
    kernel->told.function = (uint8_t)of->function;
    kernel->told.datatype = DATATYPE_UNKNOWN;
    kernel->algorithm = ALGORITHM_UNKNOWN;
}

static int add_work(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    struct kineto_library_kernel of;
    if (kineto_library_kernel_again(&trace->plain_names, event->name, &of)) {
        if (add_kernel(trace, event, offset))
            return -1;
        set_library(trace, &of);
        return 0;
    }
    learn_device(trace, event->arguments.device);
    return trace->has_devices ? 0 : kineto_busy_add(&trace->busy, time_of(event));
}

static int add_launch(struct kineto_trace *trace, const struct kineto_event *event)
{
    size_t place = trace->launch_count % KINETO_LAUNCHES;
    int32_t thread = thread_of(trace, event);
    if (event->arguments.correlation < 0)
        return 0;
    if (thread < 0 ||
        array_reserve((void **)&trace->launches, &trace->launch_capacity, place + 1, sizeof *trace->launches))
        return -1;
    trace->launches[place] = (struct kineto_launch){
        event->arguments.correlation, event->begin_ns,
        event->duration_ns > INT32_MAX ? INT32_MAX : (int32_t)event->duration_ns, thread};
    trace->launch_count++;
    return 0;
}

static int add_range(struct kineto_trace *trace, struct kineto_ranges *ranges,
                     const struct kineto_event *event, int64_t number)
{
    if (ranges->count == KINETO_RANGES) {
        trace->dropped++;
        return 0;
    }
    int32_t thread = thread_of(trace, event);
    if (thread < 0 ||
        array_reserve((void **)&ranges->items, &ranges->capacity, ranges->count + 1, sizeof *ranges->items))
        return -1;
    ranges->items[ranges->count++] =
        (struct kineto_range){.time = time_of(event), .thread = thread, .number = number};
    return 0;
}

static int read_step(struct raw_json name, int64_t *number)
{
    static const char beginning[] = "ProfilerStep#";
    size_t length = sizeof beginning - 1;
    return name.length <= length || memcmp(name.text, beginning, length) != 0 ||
                   number_int64(name.text + length, name.length - length, number) || *number < 0
               ? -1
               : 0;
}

/*
 * The annotation inside a call, "nccl:all_reduce" or "nccl:send 0->1". Up to torch 2.1 only it names the
 * function, so it is not missed in newer traces with more of them than are kept.
 */
static int add_function(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    struct kineto_ranges *functions = &trace->functions;
    struct raw_json word = {event->name.text + 5, event->name.length - 5};
    const char *blank = memchr(word.text, ' ', word.length);
    word.length = blank ? (size_t)(blank - word.text) : word.length;
    if (functions->count == KINETO_RANGES)
        return 0;
    if (add_range(trace, functions, event, kineto_function(word)))
        return -1;
    functions->items[functions->count - 1].offset = offset;
    return 0;
}

/*
 * Stores an annotation of the program: a step, the end of a group of calls, a send or receive, or else a tag.
 * Other annotations that torch makes for NCCL calls ("nccl:...") are no tags.
 */
static int add_annotation(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    int64_t number, own, peer;
    if (read_step(event->name, &number) == 0)
        return add_range(trace, &trace->steps, event, number);
    if (raw_json_is(event->name, "nccl:coalesced"))
        return add_range(trace, &trace->coalesced, event, 0);
    if (kineto_pair_name(event->name, &own, &peer) == 0 &&
        (own < 0 || peer < 0 || own > INT32_MAX || peer > INT32_MAX))
        return 0;
    if (kineto_pair_name(event->name, &own, &peer) == 0 &&
        add_range(trace, &trace->pairs, event, own << 32 | peer))
        return -1;
    if (event->name.length > 5 && memcmp(event->name.text, "nccl:", 5) == 0)
        return add_function(trace, event, offset);
    number = intern_put(&trace->texts, event->name.text, event->name.length);
    return number < 0 ? -1 : add_range(trace, &trace->annotations, event, number);
}

static int add_gpu_annotation(struct kineto_trace *trace, const struct kineto_event *event)
{
    int64_t number;
    return read_step(event->name, &number) ? 0 : add_range(trace, &trace->gpu_steps, event, number);
}

static int is_of_host(enum kineto_kind kind)
{
    return kind == KINETO_CALL || kind == KINETO_LAUNCH || kind == KINETO_ANNOTATION;
}

int kineto_trace_add(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset)
{
    if (trace->process == COUNT_UNKNOWN && is_of_host(event->kind))
        trace->process = event->process;
    switch (event->kind) {
    case KINETO_NCCL_KERNEL:
        return add_kernel(trace, event, offset);
    case KINETO_GPU_WORK:
        return add_work(trace, event, offset);
    case KINETO_CALL:
        return add_call(trace, event, offset);
    case KINETO_LAUNCH:
        return add_launch(trace, event);
    case KINETO_ANNOTATION:
        return add_annotation(trace, event, offset);
    case KINETO_GPU_ANNOTATION:
        return add_gpu_annotation(trace, event);
    default:
        return 0;
    }
}

void kineto_trace_append(struct kineto_trace *trace, struct raw_json key, struct raw_json value)
{
    int64_t number;
    struct raw_json content;
    if (raw_json_string(value, &content) == 0)
        value = content;
    if (number_int64(value.text, value.length, &number) || number < 0)
        return;
    if (raw_json_is(key, "rank"))
        trace->rank = number;
    else if (raw_json_is(key, "world_size"))
        trace->world_size = number;
    else if (raw_json_is(key, "baseTimeNanoseconds") && number <= NUMBER_MOST_NS)
        trace->base_ns = number;
}
