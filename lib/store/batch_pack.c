#include "store/batch_pack.h"

#include "base/array.h"
#include "store/tables.h"

#include <stdlib.h>

/* An operation of the batch, in the order in which they are packed. */
struct place {
    uint32_t member;
    uint32_t at; /* in the batch's list */
    int64_t ordinal;
};

static int by_member(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->member != right->member)
        return left->member < right->member ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

static struct place place_of(const struct batch *batch, size_t at)
{
    const struct batch_operation *row = &batch->operations.items[at];
    return (struct place){row->member, (uint32_t)at, row->operation.ordinal};
}

static int is_ordered(const struct place *places, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_member(&places[i - 1], &places[i]) > 0)
            return 0;
    return 1;
}

/* Puts operations by member, as they come; members are numbers below `members`. -1 when memory is out. */
static int group_by_member(const struct batch *batch, size_t members, struct place *places)
{
    size_t *next = array_new(members + 1, sizeof *next);
    if (!next)
        return -1;
    for (size_t i = 0; i < batch->operations.count; i++)
        next[batch->operations.items[i].member + 1]++;
    for (size_t i = 1; i < members; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < batch->operations.count; i++)
        places[next[batch->operations.items[i].member]++] = place_of(batch, i);
    free(next);
    return 0;
}

/*
 * The operations member by member, each by its ordinals, which mostly is as they come. NULL when memory is
 * out.
 */
static struct place *order_by_member(const struct batch_builder *builder, const struct batch *batch)
{
    size_t count = batch->operations.count, members = builder->members.count;
    struct place *places = array_new(count, sizeof *places);
    for (size_t i = 0; places && i < count; i++)
        places[i] = place_of(batch, i);
    if (!places || is_ordered(places, count))
        return places;
    if (members <= count && group_by_member(batch, members, places)) {
        free(places);
        return NULL;
    }
    if (!is_ordered(places, count))
        array_sort(places, count, sizeof *places, by_member);
    return places;
}

/* Absent where the value is the one that stands for unknown. */
static void set_known(struct block_writer *rows, int column, int64_t value, int64_t unknown)
{
    if (value != unknown)
        block_set(rows, column, value);
}

static int64_t flags_of(const struct operation *operation)
{
    return (operation->unfinished ? OPERATION_IS_UNFINISHED : 0) |
           (operation->graph_captured ? OPERATION_IS_CAPTURED : 0) |
           (operation->tag_is_number ? OPERATION_HAS_NUMBER : 0) |
           (operation->is_symmetric ? OPERATION_IS_SYMMETRIC : 0);
}

#define SET_ALWAYS(name, column, member) block_set(rows, OPERATION_##name, (int64_t)operation->member);
#define SET_KNOWN(name, column, member, unknown, ...) \
    set_known(rows, OPERATION_##name, (int64_t)operation->member, unknown);
#define SET_NOT(...)

static void add_row(struct block_writer *rows, const struct batch *batch, const struct batch_operation *row,
                    int64_t first)
{
    const struct operation *operation = &row->operation;
    block_add_row(rows);
    block_set(rows, OPERATION_ORDINAL, operation->ordinal - first);
    PACKED_OPERATION(SET_ALWAYS, SET_KNOWN, SET_KNOWN, SET_NOT)
    block_set_text(rows, OPERATION_TAG, rows_bytes(&batch->rows, row->tag));
    block_set(rows, OPERATION_FLAGS, flags_of(operation));
    block_set(rows, OPERATION_BYTE_OFFSET, (int64_t)row->offset);
    set_known(rows, OPERATION_TOLD_STEP, operation->told_step - 1, -1);
    set_known(rows, OPERATION_TOLD_SEQUENCE, operation->told_sequence - 1, -1);
    if (row->source.present)
        block_set_text(rows, OPERATION_SOURCE, rows_bytes(&batch->rows, row->source));
    block_set_bytes(rows, OPERATION_KERNEL_CHANNELS, rows_bytes(&batch->rows, row->channels),
                    row->channels.length);
}

/* An operation counts as issued when its call began, or as soon as the record says. */
static int64_t issued_ns(const struct operation *operation)
{
    const int64_t times[] = {operation->api.begin_ns, operation->enqueue.begin_ns, operation->device.begin_ns,
                             operation->device.end_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] != TIME_UNKNOWN)
            return times[i];
    return 0;
}

/* What a block's row says of its operations. */
struct summary {
    int64_t operations;
    int64_t tagged;      /* those that carry a tag */
    int64_t earliest_ns; /* when they were issued */
    int64_t latest_ns;
    int64_t greatest_peer;     /* COUNT_UNKNOWN: no point-to-point operation among them */
    int64_t clock_distance_ns; /* TIME_UNKNOWN: nowhere both clocks */
};

static void sum_up(struct summary *block, const struct batch_operation *row)
{
    const struct operation *operation = &row->operation;
    int64_t issued = issued_ns(operation), distance;
    if (block->operations++ == 0)
        block->earliest_ns = block->latest_ns = issued;
    block->tagged += row->tag.present;
    block->earliest_ns = issued < block->earliest_ns ? issued : block->earliest_ns;
    block->latest_ns = issued > block->latest_ns ? issued : block->latest_ns;
    if (operation->kind == OPERATION_POINT_TO_POINT && operation->peer > block->greatest_peer)
        block->greatest_peer = operation->peer;
    if (operation->device.begin_ns == TIME_UNKNOWN || operation->gpu_begin == 0 ||
        __builtin_sub_overflow(operation->device.begin_ns, (int64_t)operation->gpu_begin, &distance))
        return;
    if (block->clock_distance_ns == TIME_UNKNOWN || distance < block->clock_distance_ns)
        block->clock_distance_ns = distance;
}

/* How many operations from `from` on go into one block: all of one member, none BLOCK_SPAN beyond the first.
 */
static size_t extent_of(const struct place *places, size_t count, size_t from)
{
    size_t to = from + 1;
    while (to < count && to - from < BLOCK_ROWS && places[to].member == places[from].member &&
           places[to].ordinal - places[from].ordinal < BLOCK_SPAN)
        to++;
    return to - from;
}

static int put_block(struct rows *rows, const struct place *first, const struct summary *block,
                     const struct buffer *packed)
{
    size_t at = rows->bytes.length;
    struct span span;
    struct row row;
    if (rows_put_bytes(rows, at, buffer_append(&rows->bytes, packed->data, packed->length), &span) ||
        row_begin(&row, rows, EVENT_OPERATION))
        return -1;
    row_integer(&row, first->ordinal);
    row_integer(&row, first->member);
    row_integer(&row, block->operations);
    row_integer(&row, block->tagged);
    row_integer(&row, block->earliest_ns);
    row_integer(&row, block->latest_ns);
    row_known(&row, block->greatest_peer, COUNT_UNKNOWN);
    row_known(&row, block->clock_distance_ns, TIME_UNKNOWN);
    if (row_span(&row, ROW_BLOB, span))
        return -1;
    row_end(&row);
    return 0;
}

static int pack_block(struct batch_builder *builder, struct batch *batch, const struct place *places,
                      size_t count)
{
    struct summary block = {.greatest_peer = COUNT_UNKNOWN, .clock_distance_ns = TIME_UNKNOWN};
    for (size_t i = 0; i < count; i++) {
        const struct batch_operation *row = &batch->operations.items[places[i].at];
        add_row(&builder->operations, batch, row, places[0].ordinal);
        sum_up(&block, row);
    }
    buffer_clear(&builder->packed);
    return block_pack(&builder->operations, &builder->packed) ||
                   put_block(&batch->rows, places, &block, &builder->packed)
               ? -1
               : 0;
}

int batch_pack(struct batch_builder *builder, struct batch *batch, struct error *error)
{
    if (batch->operations.count == 0)
        return 0;
    if (!builder->operations.values && block_writer_init(&builder->operations, &operation_layout))
        return error_no_memory(error);
    struct place *places = order_by_member(builder, batch);
    int failed = !places;
    for (size_t at = 0; at < batch->operations.count && !failed;) {
        size_t count = extent_of(places, batch->operations.count, at);
        failed = pack_block(builder, batch, places + at, count);
        at += count;
    }
    free(places);
    batch->operations.count = 0;
    return failed ? error_no_memory(error) : 0;
}
