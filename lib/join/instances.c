#include "join/work.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

/*
 * Collective instance = (communicator, function, sequence number); point-to-point instance = (communicator,
 * sender, receiver, ordinal). A sequence number that one member shows again (a replayed CUDA graph,
 * communicators that a dialect cannot tell apart) is counted as another occurrence.
 */

static struct map_key instance_key(const struct work *work, const struct work_operation *operation)
{
    const struct work_member *member = &work->members[operation->member];
    uint64_t communicator = (uint64_t)(uint32_t)member->communicator << 32;
    if (!function_is_point_to_point(operation->function))
        return (struct map_key){{communicator | (uint64_t)operation->kind << 8 | operation->function,
                                 (uint64_t)operation->sequence, (uint64_t)operation->occurrence, 0}};
    int sends = operation->function == FUNCTION_SEND;
    uint64_t sender = sends ? (uint64_t)member->rank : (uint64_t)operation->peer;
    uint64_t receiver = sends ? (uint64_t)operation->peer : (uint64_t)member->rank;
    return (struct map_key){{communicator | 0xff00, sender, receiver, (uint64_t)operation->sequence}};
}

/* The sequence numbers that a member showed for one function. One that only ever rises repeats none. */
struct series {
    int64_t last;
    int repeats;
};

struct numbering {
    struct map numbers; /* of series, by member, kind and function */
    struct series *series;
    size_t capacity;
    struct map seen; /* how often, by what must be told apart */
};

static void numbering_release(struct numbering *numbering)
{
    map_release(&numbering->numbers);
    map_release(&numbering->seen);
    free(numbering->series);
}

static struct map_key series_key(const struct work_operation *operation)
{
    return (struct map_key){
        {(uint64_t)operation->member, (uint64_t)operation->kind << 8 | operation->function, 0, 0}};
}

static struct series *find_series(struct numbering *numbering, const struct work_operation *operation)
{
    int added;
    int64_t *number =
        map_put(&numbering->numbers, series_key(operation), (int64_t)numbering->numbers.count, &added);
    if (!number || array_reserve((void **)&numbering->series, &numbering->capacity, numbering->numbers.count,
                                 sizeof *numbering->series))
        return NULL;
    if (added)
        numbering->series[*number] = (struct series){.last = INT64_MIN};
    return &numbering->series[*number];
}

/* Counting number by number takes memory for each operation, so only series that repeat one are counted. */
static int find_repeats(struct numbering *numbering, const struct work *work)
{
    for (size_t i = 0; i < work->operation_count; i++) {
        const struct work_operation *operation = &work->operations[work->order[i]];
        if (function_is_point_to_point(operation->function))
            continue;
        struct series *series = find_series(numbering, operation);
        if (!series)
            return -1;
        series->repeats |= operation->sequence <= series->last;
        series->last = operation->sequence;
    }
    return 0;
}

static int count_collective(struct numbering *numbering, struct work_operation *operation)
{
    struct series *series = find_series(numbering, operation);
    if (!series)
        return -1;
    if (!series->repeats)
        return 0;
    struct map_key key = series_key(operation);
    key.part[2] = (uint64_t)operation->sequence;
    int64_t *count = map_put(&numbering->seen, key, 0, NULL);
    if (count)
        operation->occurrence = (int32_t)(*count)++;
    return count ? 0 : -1;
}

static int count_pair(struct numbering *numbering, struct work_operation *operation)
{
    struct map_key key = series_key(operation);
    key.part[2] = (uint64_t)operation->peer;
    key.part[3] = 1;
    int64_t *count = map_put(&numbering->seen, key, 0, NULL);
    if (count)
        operation->sequence = (*count)++;
    return count ? 0 : -1;
}

/* Numbers the point-to-point operations of each (member, peer, direction), and repeated sequence numbers. */
static int number_occurrences(struct work *work, struct error *error)
{
    struct numbering numbering = {.series = NULL};
    map_init(&numbering.numbers);
    map_init(&numbering.seen);
    int failed = find_repeats(&numbering, work);
    for (size_t i = 0; i < work->operation_count && !failed; i++) {
        struct work_operation *operation = &work->operations[work->order[i]];
        failed = function_is_point_to_point(operation->function) ? count_pair(&numbering, operation)
                                                                 : count_collective(&numbering, operation);
    }
    numbering_release(&numbering);
    return failed ? error_no_memory(error) : 0;
}

static int64_t add_instance(struct work *work, const struct work_operation *operation)
{
    if (array_reserve((void **)&work->instances, &work->instance_capacity, work->instance_count + 1,
                      sizeof *work->instances))
        return -1;
    const struct work_member *member = &work->members[operation->member];
    const struct work_communicator *communicator = &work->communicators[member->communicator];
    struct work_instance *instance = &work->instances[work->instance_count];
    int pair = function_is_point_to_point(operation->function);
    int sends = operation->function == FUNCTION_SEND;
    *instance = (struct work_instance){.communicator = member->communicator,
                                       .kind = operation->kind,
                                       .function = pair ? FUNCTION_SEND : operation->function,
                                       .sequence = operation->sequence,
                                       .sender = -1,
                                       .receiver = -1,
                                       .size_bytes = COUNT_UNKNOWN,
                                       .transfer_ns = COUNT_UNKNOWN,
                                       .effective_ns = COUNT_UNKNOWN,
                                       .margin_ns = COUNT_UNKNOWN,
                                       .last_member = -1,
                                       .tag = -1,
                                       .tag_member = -1,
                                       .step = operation->step,
                                       .expected = (int32_t)communicator->size};
    if (communicator->hash == 0)
        instance->expected = 1;
    if (pair) {
        instance->sender = sends ? (int32_t)member->rank : operation->peer;
        instance->receiver = sends ? operation->peer : (int32_t)member->rank;
        instance->expected = 2;
    }
    if (operation->bytes >= 0)
        instance->size_bytes = function_size_bytes(operation->function, operation->bytes, communicator->size);
    return (int64_t)work->instance_count++;
}

/*
 * Whether a member counts before another one that is its equal: by rank, so that the order in which files
 * came in decides nothing.
 */
static int is_before(const struct work *work, int32_t member, int32_t other)
{
    return other < 0 || work->members[member].rank < work->members[other].rank;
}

/* Folds one member's operation into its instance: the two shortest durations and the longest. */
static void fold(const struct work *work, struct work_instance *instance,
                 const struct work_operation *operation)
{
    instance->members++;
    if (operation->step >= 0 && (instance->step < 0 || operation->step < instance->step))
        instance->step = operation->step;
    if (operation->tag >= 0 && is_before(work, operation->member, instance->tag_member)) {
        instance->tag = operation->tag;
        instance->tag_member = operation->member;
    }
    int64_t duration = operation->duration_ns;
    if (duration < 0)
        return;
    instance->durations++;
    if (duration > instance->effective_ns)
        instance->effective_ns = duration;
    if (instance->durations == 1 || duration < instance->transfer_ns) {
        instance->margin_ns = instance->durations == 1 ? COUNT_UNKNOWN : instance->transfer_ns - duration;
        instance->transfer_ns = duration;
        instance->last_member = operation->member;
    } else if (instance->margin_ns < 0 || duration - instance->transfer_ns < instance->margin_ns) {
        instance->margin_ns = duration - instance->transfer_ns;
    }
    if (duration == instance->transfer_ns && is_before(work, operation->member, instance->last_member))
        instance->last_member = operation->member;
}

/* Waiting can be read only where nobody finishes before everybody has arrived, and all durations are known.
 */
static void finish(struct work_instance *instance)
{
    int waits = function_is_full_exchange(instance->function) || instance->function == FUNCTION_SEND;
    if (!waits || instance->durations < instance->expected || instance->durations < 2) {
        instance->last_member = -1;
        instance->margin_ns = COUNT_UNKNOWN;
    }
}

int work_join_instances(struct work *work, struct error *error)
{
    if (number_occurrences(work, error))
        return -1;
    struct map instances;
    map_init(&instances);
    for (size_t i = 0; i < work->operation_count; i++) {
        struct work_operation *operation = &work->operations[work->order[i]];
        int added;
        int64_t *at = map_put(&instances, instance_key(work, operation), 0, &added);
        if (at && added)
            *at = add_instance(work, operation);
        if (!at || *at < 0) {
            map_release(&instances);
            return error_no_memory(error);
        }
        operation->instance = (int32_t)*at;
        fold(work, &work->instances[*at], operation);
    }
    map_release(&instances);
    for (size_t i = 0; i < work->instance_count; i++)
        finish(&work->instances[i]);
    return 0;
}
