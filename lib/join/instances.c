/*
 * Joins the operations of one communicator across its members: makes an instance of each collective and of
 * each send with its receive, with its transfer time and the member that arrived last. Runs after
 * numbering.c, in parallel for several communicators.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PENDING_PAIR UINT64_C(0xff0000)

/* The values of kind by which series of one function are kept apart. */
enum { KINDS = 3, SERIES = KINDS * FUNCTION_COUNT };

/*
 * A member may be AHEAD collectives ahead of the one behind it before another is read, and at most
 * OPERATIONS_AT_ONCE operations are read at a time. When LOOK_THROUGH instances wait, they are checked for
 * ones that cannot be completed.
 */
enum { AHEAD = 64, OPERATIONS_AT_ONCE = 256, LOOK_THROUGH = 1024 };

/* The operations of a member, and how far they have been read. */
struct stream {
    struct cursor cursor;
    int32_t member;
    int is_over;
    uint64_t position; /* number of collectives of the communicator reached, by its sequence numbers */
    uint64_t consumed;
    int64_t last[SERIES]; /* greatest sequence number, by kind and function; INT64_MIN: none */
};

struct joining {
    const struct work *work;
    const struct series_table *series; /* one for each rank */
    struct blocks *blocks;
    int32_t communicator;
    struct stream *streams;
    size_t stream_count;
    struct stream **heap; /* streams that are not over, by position */
    size_t heap_count;
    struct map ranks; /* rank -> number of its streams */
    struct map live;  /* rank -> number of its streams that are not over */
    struct pending pending;
    uint64_t look_at; /* number of waiting instances at which they are checked */
    int64_t block_id; /* of the instances that are being packed */
    struct unequal_pairs *unequal;
};

static int64_t base_id(const struct joining *joining)
{
    return joining->work->communicators[joining->communicator].id << 32;
}

static const struct work_member *member_of(const struct joining *joining, int32_t member)
{
    return &joining->work->members[member];
}

/* The index of a kind and function among the series; -1: invalid values. */
static int series_index(uint8_t kind, uint8_t function)
{
    return kind < KINDS && function < FUNCTION_COUNT ? kind * FUNCTION_COUNT + function : -1;
}

static struct pending_key key_of(const struct joining *joining, const struct issued_operation *issued)
{
    if (!function_is_point_to_point(issued->function))
        return (struct pending_key){{(uint64_t)issued->kind << 8 | (uint64_t)issued->function,
                                     (uint64_t)issued->sequence, (uint64_t)issued->joined->number}};
    uint32_t own = (uint32_t)member_of(joining, issued->member)->rank, peer = (uint32_t)issued->peer;
    int sends = issued->function == FUNCTION_SEND;
    return (struct pending_key){{PENDING_PAIR, (uint64_t)(sends ? own : peer) << 32 | (sends ? peer : own),
                                 (uint64_t)issued->joined->number}};
}

static int is_pair(const struct pending_instance *instance)
{
    return instance->key.part[0] == PENDING_PAIR;
}

static int32_t sender_of(const struct pending_instance *instance)
{
    return (int32_t)(instance->key.part[1] >> 32);
}

static int32_t receiver_of(const struct pending_instance *instance)
{
    return (int32_t)instance->key.part[1];
}

/* The count of a rank; 0 if it is no member. */
static int64_t count_of(const struct map *counts, int64_t rank)
{
    const int64_t *count = map_get(counts, (struct map_key){{(uint64_t)rank}});
    return count ? *count : 0;
}

static int add_to(struct map *counts, int64_t rank, int64_t more)
{
    int64_t *count = map_put(counts, (struct map_key){{(uint64_t)rank}}, 0, NULL);
    if (count)
        *count += more;
    return count ? 0 : -1;
}

static int begin_stream(struct joining *joining, size_t at, int32_t member, struct error *error)
{
    struct stream *stream = &joining->streams[at];
    *stream = (struct stream){.member = member};
    for (int i = 0; i < SERIES; i++)
        stream->last[i] = INT64_MIN;
    if (cursor_begin(&stream->cursor, joining->blocks, joining->work, &member, 1, error))
        return -1;
    stream->cursor.joined = stream->cursor.writes = 1;
    joining->heap[joining->heap_count++] = stream;
    int64_t rank = member_of(joining, member)->rank;
    return add_to(&joining->ranks, rank, 1) || add_to(&joining->live, rank, 1) ? error_no_memory(error) : 0;
}

/* Whether a member takes precedence over another: by rank, so that the order of the files does not matter. */
static int is_before(const struct joining *joining, int32_t member, int32_t other)
{
    return other < 0 || member_of(joining, member)->rank < member_of(joining, other)->rank;
}

static void fold_stay(const struct joining *joining, struct pending_stays *stays, int32_t member,
                      int64_t stay_ns)
{
    stays->count++;
    if (stays->count == 1 || stay_ns < stays->least_ns) {
        stays->margin_ns = stays->count == 1 ? COUNT_UNKNOWN : stays->least_ns - stay_ns;
        stays->least_ns = stay_ns;
        stays->last_member = member;
    } else if (stays->margin_ns < 0 || stay_ns - stays->least_ns < stays->margin_ns) {
        stays->margin_ns = stay_ns - stays->least_ns;
    }
    if (stay_ns == stays->least_ns && is_before(joining, member, stays->last_member))
        stays->last_member = member;
}

/*
 * The duration of a member's operation, and the part of it spent waiting for others if its kernel recorded
 * it.
 */
static void fold_times(const struct joining *joining, struct pending_instance *instance,
                       const struct issued_operation *issued)
{
    int64_t sync_ns = issued->initial_sync_ns, took_ns = issued->duration_ns;
    if (sync_ns > 0)
        fold_stay(joining, &instance->initial_syncs, issued->member, sync_ns);
    if (took_ns < 0)
        return;
    fold_stay(joining, &instance->durations, issued->member, took_ns);
    if (took_ns > instance->effective_ns)
        instance->effective_ns = took_ns;
    int64_t behind_ns = took_ns > sync_ns ? took_ns - sync_ns : 0;
    if (instance->durations.count == 1 || behind_ns < instance->behind_sync_ns)
        instance->behind_sync_ns = behind_ns;
}

static void start(struct pending_instance *instance)
{
    instance->first_member = instance->tag_member = -1;
    instance->tag = instance->step = -1;
    instance->size_bytes = instance->effective_ns = COUNT_UNKNOWN;
    instance->sent_bytes = instance->received_bytes = COUNT_UNKNOWN;
}

/* Adds the operation of one member to its instance. */
static void fold(const struct joining *joining, struct pending_instance *instance,
                 const struct issued_operation *issued)
{
    const struct joined_row *joined = issued->joined;
    instance->seen++;
    if (issued->function == FUNCTION_SEND)
        instance->sent_bytes = issued->bytes;
    if (issued->function == FUNCTION_RECV)
        instance->received_bytes = issued->bytes;
    if (is_before(joining, issued->member, instance->first_member)) {
        int64_t size = joining->work->communicators[joining->communicator].size;
        instance->first_member = issued->member;
        instance->kind = issued->kind;
        instance->function = function_is_point_to_point(issued->function) ? FUNCTION_SEND : issued->function;
        instance->size_bytes =
            issued->bytes >= 0 ? function_size_bytes(issued->function, issued->bytes, size) : COUNT_UNKNOWN;
    }
    if (joined->step >= 0 && (instance->step < 0 || joined->step < instance->step))
        instance->step = joined->step;
    if (joined->tag >= 0 && is_before(joining, issued->member, instance->tag_member)) {
        instance->tag = joined->tag;
        instance->tag_member = issued->member;
    }
    fold_times(joining, instance, issued);
}

/* Whether all members recorded how long they waited for the others. */
static int is_synced(const struct pending_instance *instance)
{
    return instance->initial_syncs.count == instance->seen && instance->seen >= 2;
}

/*
 * Shortest duration. If the time spent waiting is known by itself: shortest duration without it, plus the
 * shortest wait.
 */
static int64_t transfer_of(const struct pending_instance *instance)
{
    if (!instance->durations.count)
        return COUNT_UNKNOWN;
    return is_synced(instance) ? instance->behind_sync_ns + instance->initial_syncs.least_ns
                               : instance->durations.least_ns;
}

/* How many operations the instance should have. */
static int64_t expected(const struct joining *joining, const struct pending_instance *instance)
{
    const struct work_communicator *communicator = &joining->work->communicators[joining->communicator];
    return is_pair(instance) ? 2 : communicator->hash == 0 ? 1 : communicator->size;
}

static void set_known(struct block_writer *rows, int column, int64_t value)
{
    if (value >= 0)
        block_set(rows, column, value);
}

/*
 * The member that arrived last can be determined only if all members recorded how long they waited, or if
 * none can finish before all have arrived and all durations are known.
 */
static void set_last(struct joining *joining, const struct pending_instance *instance)
{
    const struct pending_stays *stays = is_synced(instance) ? &instance->initial_syncs : &instance->durations;
    int waits = is_synced(instance) || function_is_full_exchange(instance->function) ||
                instance->function == FUNCTION_SEND;
    if (!waits || stays->count < expected(joining, instance) || stays->count < 2)
        return;
    block_set(&joining->blocks->instance_rows, INSTANCE_LAST_MEMBER,
              member_of(joining, stays->last_member)->id);
    set_known(&joining->blocks->instance_rows, INSTANCE_MARGIN, stays->margin_ns);
}

static void set_pair(struct block_writer *rows, const struct pending_instance *instance)
{
    set_known(rows, INSTANCE_SENDER, sender_of(instance));
    set_known(rows, INSTANCE_RECEIVER, receiver_of(instance));
}

/* Whether one pair comes before the other. */
static int comes_first(const struct unequal_pairs *pair, const struct unequal_pairs *other)
{
    if (pair->sequence != other->sequence)
        return pair->sequence < other->sequence;
    return pair->sender != other->sender ? pair->sender < other->sender : pair->receiver < other->receiver;
}

static void compare_sizes(struct unequal_pairs *unequal, const struct pending_instance *instance)
{
    if (instance->sent_bytes < 0 || instance->received_bytes < 0 ||
        instance->sent_bytes == instance->received_bytes)
        return;
    const struct unequal_pairs here = {unequal->count + 1,   (int64_t)instance->key.part[2],
                                       sender_of(instance),  receiver_of(instance),
                                       instance->sent_bytes, instance->received_bytes};
    if (!unequal->count || comes_first(&here, unequal))
        *unequal = here;
    unequal->count = here.count;
}

static int write_rows(struct joining *joining, struct error *error)
{
    size_t count = joining->blocks->instance_rows.count;
    const struct work_communicator *communicator = &joining->work->communicators[joining->communicator];
    if (count == 0)
        return 0;
    if (blocks_write_instances(joining->blocks, joining->block_id, communicator->id, error))
        return -1;
    joining->block_id += (int64_t)count;
    return 0;
}

static int write_instance(struct joining *joining, const struct pending_instance *instance,
                          struct error *error)
{
    struct block_writer *rows = &joining->blocks->instance_rows;
    const struct intern *texts = joining->blocks->texts;
    int pair = is_pair(instance);
    block_add_row(rows);
    block_set(rows, INSTANCE_ORDINAL, (int64_t)rows->count - 1);
    block_set(rows, INSTANCE_KIND, instance->kind);
    block_set(rows, INSTANCE_FUNCTION, instance->function);
    block_set(rows, INSTANCE_SEQUENCE, (int64_t)instance->key.part[pair ? 2 : 1]);
    if (pair) {
        set_pair(rows, instance);
        compare_sizes(joining->unequal, instance);
    }
    set_known(rows, INSTANCE_SIZE_BYTES, instance->size_bytes);
    block_set(rows, INSTANCE_MEMBERS, instance->seen);
    block_set(rows, INSTANCE_EXPECTED, expected(joining, instance));
    set_known(rows, INSTANCE_TRANSFER, transfer_of(instance));
    set_known(rows, INSTANCE_EFFECTIVE, instance->effective_ns);
    set_last(joining, instance);
    block_set_text(rows, INSTANCE_TAG, instance->tag >= 0 ? intern_text(texts, instance->tag) : NULL);
    set_known(rows, INSTANCE_STEP, instance->step);
    return rows->count == BLOCK_ROWS ? write_rows(joining, error) : 0;
}

/* Writes instances that are complete, in order, up to the first that is not. */
static int write_done(struct joining *joining, struct error *error)
{
    struct pending *pending = &joining->pending;
    while (pending->first < pending->next && pending_at(pending, pending->first)->is_done) {
        if (write_instance(joining, pending_at(pending, pending->first), error))
            return -1;
        pending_pop(pending);
    }
    return 0;
}

/*
 * For each series, the sequence number below which no member will have another operation. Members that repeat
 * numbers keep it at INT64_MIN.
 */
static void find_passed(const struct joining *joining, int64_t *passed)
{
    for (int i = 0; i < SERIES; i++)
        passed[i] = INT64_MAX;
    for (size_t at = 0; at < joining->heap_count; at++) {
        const struct stream *stream = joining->heap[at];
        const struct series_table *series = &joining->series[member_of(joining, stream->member)->job_rank];
        for (int i = 0; i < SERIES; i++) {
            int repeats = stream->last[i] != INT64_MIN &&
                          series_repeats(series, stream->member, (uint8_t)(i / FUNCTION_COUNT),
                                         (uint8_t)(i % FUNCTION_COUNT));
            int64_t last = repeats ? INT64_MIN : stream->last[i];
            passed[i] = last < passed[i] ? last : passed[i];
        }
    }
}

/*
 * The greatest number of a complete pair, for each sender and receiver. If memory runs out, pairs only wait
 * longer.
 */
static void find_complete_pairs(struct pending *pending, struct map *complete)
{
    for (uint64_t number = pending->first; number < pending->next; number++) {
        const struct pending_instance *instance = pending_at(pending, number);
        int64_t *greatest = is_pair(instance) && instance->is_done
                                ? map_put(complete, (struct map_key){{instance->key.part[1]}}, 0, NULL)
                                : NULL;
        if (greatest && (int64_t)instance->key.part[2] > *greatest)
            *greatest = (int64_t)instance->key.part[2];
    }
}

/* A pair is over if so many later ones between its ranks are complete: then one of its operations is lost. */
enum { LATER_PAIRS = 64 };

/* Whether no more operations of the pair can come. */
static int pair_is_over(const struct joining *joining, const struct map *complete,
                        const struct pending_instance *instance)
{
    const int64_t *greatest = map_get(complete, (struct map_key){{instance->key.part[1]}});
    return (greatest && *greatest - (int64_t)instance->key.part[2] > LATER_PAIRS) ||
           (!count_of(&joining->live, sender_of(instance)) &&
            !count_of(&joining->live, receiver_of(instance)));
}

/* Marks instances as done whose missing members are already past them. */
static void look_through(struct joining *joining)
{
    struct pending *pending = &joining->pending;
    int64_t passed[SERIES];
    struct map complete;
    map_init(&complete);
    find_passed(joining, passed);
    find_complete_pairs(pending, &complete);
    for (uint64_t number = pending->first; number < pending->next; number++) {
        struct pending_instance *instance = pending_at(pending, number);
        int series = series_index(instance->kind, instance->function);
        if (is_pair(instance))
            instance->is_done |= pair_is_over(joining, &complete, instance);
        else
            instance->is_done |= series >= 0 && (int64_t)instance->key.part[1] < passed[series];
    }
    map_release(&complete);
}

/* Whether all members of this store have had their operation. */
static int is_complete(const struct joining *joining, const struct pending_instance *instance)
{
    if (!is_pair(instance))
        return (size_t)instance->seen == joining->stream_count;
    return instance->seen ==
           count_of(&joining->ranks, sender_of(instance)) + count_of(&joining->ranks, receiver_of(instance));
}

static void note_position(struct stream *stream, const struct issued_operation *issued)
{
    int series = series_index(issued->kind, issued->function);
    stream->consumed++;
    if (series < 0 || function_is_point_to_point(issued->function) ||
        issued->sequence <= stream->last[series])
        return;
    int64_t last = stream->last[series] == INT64_MIN ? -1 : stream->last[series];
    stream->position += (uint64_t)issued->sequence - (uint64_t)last;
    stream->last[series] = issued->sequence;
}

static int join_operation(struct joining *joining, struct stream *stream,
                          const struct issued_operation *issued, struct error *error)
{
    int added;
    struct pending_key key = key_of(joining, issued);
    int64_t number = pending_put(&joining->pending, &key, &added);
    if (number < 0)
        return error_no_memory(error);
    struct pending_instance *instance = pending_at(&joining->pending, (uint64_t)number);
    if (added)
        start(instance);
    fold(joining, instance, issued);
    issued->joined->number = base_id(joining) + number;
    instance->is_done = is_complete(joining, instance);
    note_position(stream, issued);
    return instance->is_done ? write_done(joining, error) : 0;
}

static int is_behind(const struct stream *left, const struct stream *right)
{
    return left->position != right->position ? left->position < right->position
                                             : left->consumed < right->consumed;
}

static void sift_down(struct joining *joining, size_t at)
{
    struct stream **heap = joining->heap;
    for (size_t child = 2 * at + 1; child < joining->heap_count; at = child, child = 2 * at + 1) {
        if (child + 1 < joining->heap_count && is_behind(heap[child + 1], heap[child]))
            child++;
        if (!is_behind(heap[child], heap[at]))
            return;
        struct stream *held = heap[child];
        heap[child] = heap[at];
        heap[at] = held;
    }
}

/* The position up to which the first member of the heap may be read. */
static uint64_t limit(const struct joining *joining)
{
    uint64_t next = UINT64_MAX - AHEAD;
    for (size_t i = 1; i < 3 && i < joining->heap_count; i++)
        if (joining->heap[i]->position < next)
            next = joining->heap[i]->position;
    return next + AHEAD;
}

/* Reads on in the member that is furthest behind. 1; 0 if it is over; -1 on error. */
static int go_on(struct joining *joining, struct error *error)
{
    struct stream *stream = joining->heap[0];
    struct issued_operation issued;
    uint64_t position = limit(joining), consumed = stream->consumed + OPERATIONS_AT_ONCE;
    int more;
    do {
        more = cursor_next(&stream->cursor, &issued, error);
        if (more == 1 && join_operation(joining, stream, &issued, error))
            more = -1;
    } while (more == 1 && stream->position < position && stream->consumed < consumed);
    return more;
}

static void end_stream(struct joining *joining)
{
    struct stream *stream = joining->heap[0];
    add_to(&joining->live, member_of(joining, stream->member)->rank,
           -1); /* the entry exists, so this cannot fail */
    stream->is_over = 1;
    cursor_end(&stream->cursor);
    joining->heap[0] = joining->heap[--joining->heap_count];
}

static int look_if_many(struct joining *joining, struct error *error)
{
    struct pending *pending = &joining->pending;
    if (pending->next - pending->first < joining->look_at)
        return 0;
    look_through(joining);
    if (write_done(joining, error))
        return -1;
    joining->look_at = 2 * (pending->next - pending->first) + LOOK_THROUGH;
    return 0;
}

static int join_all(struct joining *joining, struct error *error)
{
    while (joining->heap_count) {
        int more = go_on(joining, error);
        if (more < 0)
            return -1;
        if (more == 0)
            end_stream(joining);
        sift_down(joining, 0);
        if (look_if_many(joining, error))
            return -1;
    }
    look_through(joining);
    return write_done(joining, error) || write_rows(joining, error) ? -1 : 0;
}

static int begin(struct joining *joining, struct error *error)
{
    const struct grouping *members = &joining->work->by_communicator;
    size_t first = members->first[joining->communicator];
    size_t count = members->first[joining->communicator + 1] - first;
    joining->streams = array_new(count, sizeof *joining->streams);
    joining->heap = array_new(count, sizeof *joining->heap);
    if (!joining->streams || !joining->heap)
        return error_no_memory(error);
    for (; joining->stream_count < count; joining->stream_count++)
        if (begin_stream(joining, joining->stream_count, members->items[first + joining->stream_count],
                         error)) {
            cursor_end(&joining->streams[joining->stream_count].cursor);
            return -1;
        }
    return 0;
}

static void release(struct joining *joining)
{
    for (size_t i = 0; i < joining->stream_count; i++)
        if (!joining->streams[i].is_over)
            cursor_end(&joining->streams[i].cursor);
    free(joining->streams);
    free(joining->heap);
    map_release(&joining->ranks);
    map_release(&joining->live);
    pending_release(&joining->pending);
}

int instances_join(const struct work *work, int32_t communicator, struct blocks *blocks,
                   const struct series_table *series, struct unequal_pairs *unequal, struct error *error)
{
    *unequal = (struct unequal_pairs){.count = 0};
    struct joining joining = {.work = work,
                              .series = series,
                              .blocks = blocks,
                              .unequal = unequal,
                              .communicator = communicator,
                              .look_at = LOOK_THROUGH};
    joining.block_id = base_id(&joining);
    map_init(&joining.ranks);
    map_init(&joining.live);
    pending_init(&joining.pending);
    int failed = begin(&joining, error) || join_all(&joining, error);
    release(&joining);
    return failed ? -1 : 0;
}
