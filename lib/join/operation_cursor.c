#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/* So many blocks of a member are open at once for the sake of one moment's calls. */
enum { MOST_OPEN = 3 };

/* In place of a call's number: of a moment, a block that is closed comes after what is open (to_open). */
#define CLOSED INT64_MAX

/* The blocks of a member. */
struct sweep_source {
    int32_t member;
    uint64_t hash;              /* of its communicator */
    struct block_place *places; /* owned */
    size_t count;
    size_t next;                 /* of the places, to line up */
    size_t opened;               /* of those that were lined up */
    size_t open;                 /* of the opened ones, not through yet */
    const struct numbers *first; /* of operations that have no numbers of their own; NULL */
    struct numbers *counted;     /* owned: how many of these have been given */
};

/* What comes next of a block: its least time and id while it is closed, its next operation's then. */
struct sweep_entry {
    int64_t at_ns;
    int64_t id;
    int64_t call; /* the number of a send or receive that has one; COUNT_UNKNOWN; CLOSED */
    size_t source;
    struct operation_rows *rows; /* owned; NULL: still to be opened */
};

static int compare(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

/*
 * Of one known moment, members come in the order of their communicators' hashes, which is the same on all
 * ranks whatever was read first. Of a member, within a block rows have their places; among blocks numbered
 * calls go by their numbers, as within one (operation_rows_call), after all else.
 */
static int is_before(const struct sweep *sweep, const struct sweep_entry *left,
                     const struct sweep_entry *right)
{
    uint64_t mine = sweep->sources[left->source].hash, other = sweep->sources[right->source].hash;
    if (left->at_ns != right->at_ns || !left->at_ns)
        return left->at_ns != right->at_ns ? left->at_ns < right->at_ns : left->id < right->id;
    int order = (mine > other) - (mine < other);
    order = order ? order : compare((int64_t)left->source, (int64_t)right->source);
    order = order ? order : compare(left->call, right->call);
    return order ? order < 0 : left->id < right->id;
}

static void swap(struct sweep_entry *left, struct sweep_entry *right)
{
    struct sweep_entry held = *left;
    *left = *right;
    *right = held;
}

static void sift_down(struct sweep *sweep, size_t at)
{
    struct sweep_entry *heap = sweep->heap;
    for (size_t child = 2 * at + 1; child < sweep->heap_count; at = child, child = 2 * at + 1) {
        if (child + 1 < sweep->heap_count && is_before(sweep, &heap[child + 1], &heap[child]))
            child++;
        if (!is_before(sweep, &heap[child], &heap[at]))
            return;
        swap(&heap[child], &heap[at]);
    }
}

static void sift_up(struct sweep *sweep, size_t at)
{
    struct sweep_entry *heap = sweep->heap;
    for (; at && is_before(sweep, &heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

/* Lines the source's next block up, unopened. */
static int line_up(struct sweep *sweep, size_t source, struct error *error)
{
    struct sweep_source *of = &sweep->sources[source];
    if (of->next == of->count)
        return 0;
    if (array_reserve((void **)&sweep->heap, &sweep->heap_capacity, sweep->heap_count + 1,
                      sizeof *sweep->heap))
        return error_no_memory(error);
    const struct block_place *place = &of->places[of->next++];
    sweep->heap[sweep->heap_count++] =
        (struct sweep_entry){place->earliest_ns, place->id, CLOSED, source, NULL};
    sift_up(sweep, sweep->heap_count - 1);
    return 0;
}

int sweep_begin(struct sweep *sweep, struct blocks *blocks, const struct work *work, const int32_t *members,
                size_t count, struct error *error)
{
    *sweep = (struct sweep){.blocks = blocks, .source_count = count};
    sweep->sources = array_new(count, sizeof *sweep->sources);
    if (!sweep->sources) {
        sweep->source_count = 0;
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        struct sweep_source *source = &sweep->sources[i];
        source->member = members[i];
        source->hash = work->communicators[work->members[members[i]].communicator].hash;
        source->first = work->members[members[i]].first_numbers;
        if (source->first && !(source->counted = numbers_new()))
            return error_no_memory(error);
        if (blocks_list(blocks, work->members[members[i]].id, &source->places, &source->count, error) ||
            line_up(sweep, i, error))
            return -1;
    }
    return 0;
}

void sweep_end(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->source_count; i++) {
        free(sweep->sources[i].places);
        numbers_free(sweep->sources[i].counted);
    }
    for (size_t i = 0; i < sweep->heap_count; i++)
        operation_rows_free(sweep->heap[i].rows);
    operation_rows_free(sweep->spare);
    free(sweep->sources);
    free(sweep->heap);
}

/* What comes next of a block that is open and not through. */
static void settle(struct sweep_entry *entry)
{
    const struct operation_rows *rows = entry->rows;
    size_t row = rows->order[rows->next];
    entry->at_ns = rows->issued_ns[row];
    entry->id = rows->block_id + rows->reader.values[OPERATION_ORDINAL][row];
    entry->call = operation_rows_call(rows, row);
}

static void settle_first(struct sweep *sweep)
{
    struct sweep_entry *first = &sweep->heap[0];
    settle(first);
    if ((sweep->heap_count > 1 && is_before(sweep, &sweep->heap[1], first)) ||
        (sweep->heap_count > 2 && is_before(sweep, &sweep->heap[2], first)))
        sift_down(sweep, 0);
}

static int open_block(struct sweep *sweep, size_t at, struct error *error)
{
    struct sweep_entry *entry = &sweep->heap[at];
    struct operation_rows *rows = sweep->spare ? sweep->spare : operation_rows_new();
    sweep->spare = NULL;
    if (!rows)
        return error_no_memory(error);
    size_t source = entry->source;
    entry->rows = rows;
    sweep->sources[source].opened++;
    sweep->sources[source].open++;
    rows->member = sweep->sources[source].member;
    if (blocks_read(sweep->blocks, entry->id, sweep->joined, rows, error))
        return -1;
    settle(entry);
    sift_up(sweep, at);
    sift_down(sweep, at);
    return line_up(sweep, source, error);
}

/* Whether a closed block of the source begins at that time: at most one of a source is lined up. */
static int begins_another(const struct sweep_source *source, int64_t at_ns)
{
    return source->next > source->opened && source->open < MOST_OPEN &&
           source->places[source->next - 1].earliest_ns == at_ns;
}

/*
 * The block to open next: the first, if it is closed, or one that begins with calls of the moment in which
 * the first, which is open, has one. heap_count: none.
 */
static size_t to_open(const struct sweep *sweep)
{
    const struct sweep_entry *heap = sweep->heap, *first = &heap[0];
    if (!sweep->heap_count || !first->rows)
        return 0;
    if (!first->at_ns || first->call == COUNT_UNKNOWN ||
        !begins_another(&sweep->sources[first->source], first->at_ns))
        return sweep->heap_count;
    for (size_t i = 1; i < sweep->heap_count; i++)
        if (!heap[i].rows && heap[i].source == first->source)
            return i;
    return sweep->heap_count;
}

/* Takes the first block, which is through, away. */
static int close_first(struct sweep *sweep, struct error *error)
{
    struct operation_rows *rows = sweep->heap[0].rows;
    int failed = sweep->writes ? blocks_write_joined(sweep->blocks, rows, error) : 0;
    operation_rows_free(sweep->spare);
    sweep->spare = rows;
    sweep->sources[sweep->heap[0].source].open--;
    sweep->heap[0] = sweep->heap[--sweep->heap_count];
    sift_down(sweep, 0);
    return failed;
}

/* Goes past the operation that was given away last. */
static int go_on(struct sweep *sweep, struct error *error)
{
    if (!sweep->is_given)
        return 0;
    sweep->is_given = 0;
    if (++sweep->heap[0].rows->next == sweep->heap[0].rows->reader.count)
        return close_first(sweep, error);
    settle_first(sweep);
    return 0;
}

/* Other kernels than symmetric ones do not wait in it. */
static int64_t initial_sync(const struct block_reader *reader, size_t row)
{
    if (reader->absent[OPERATION_INITIAL_SYNC][row] ||
        reader->values[OPERATION_KIND][row] != OPERATION_COLLECTIVE ||
        !(reader->values[OPERATION_FLAGS][row] & OPERATION_IS_SYMMETRIC))
        return 0;
    return reader->values[OPERATION_INITIAL_SYNC][row];
}

/* Its number, counted from the first of its like where it has none of its own. -1: out of memory. */
static int number(struct sweep *sweep, struct swept *swept)
{
    const struct sweep_source *source = &sweep->sources[swept->source];
    if (!source->first || swept->sequence != COUNT_UNKNOWN)
        return 0;
    swept->sequence = numbers_next(source->first, source->counted, swept->function, swept->peer);
    return swept->sequence < 0 ? -1 : 0;
}

static int give(struct sweep *sweep, struct swept *swept)
{
    struct operation_rows *rows = sweep->heap[0].rows;
    const struct block_reader *reader = &rows->reader;
    size_t row = rows->order[rows->next];
    enum function function = (enum function)reader->values[OPERATION_FUNCTION][row];
    *swept = (struct swept){
        .sequence = function_is_point_to_point(function)
                        ? COUNT_UNKNOWN
                        : block_value(reader, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .told_sequence = block_value(reader, OPERATION_TOLD_SEQUENCE, row, COUNT_UNKNOWN),
        .told_step = block_value(reader, OPERATION_TOLD_STEP, row, COUNT_UNKNOWN),
        .bytes = block_value(reader, OPERATION_BYTES, row, COUNT_UNKNOWN),
        .issued_ns = rows->issued_ns[row],
        .duration_ns = scan_duration(reader, row, COUNT_UNKNOWN),
        .initial_sync_ns = initial_sync(reader, row),
        .member = rows->member,
        .source = sweep->heap[0].source,
        .peer = (int32_t)block_value(reader, OPERATION_PEER, row, COUNT_UNKNOWN),
        .tag = reader->absent[OPERATION_TAG][row] ? -1 : rows->tags[reader->values[OPERATION_TAG][row]],
        .tag_is_number = (reader->values[OPERATION_FLAGS][row] & OPERATION_HAS_NUMBER) != 0,
        .kind = (uint8_t)reader->values[OPERATION_KIND][row],
        .function = (uint8_t)function,
        .joined = &rows->joined[row]};
    sweep->is_given = 1;
    return number(sweep, swept);
}

int sweep_next(struct sweep *sweep, struct swept *swept, struct error *error)
{
    if (go_on(sweep, error))
        return -1;
    for (size_t at; (at = to_open(sweep)) < sweep->heap_count;)
        if (open_block(sweep, at, error))
            return -1;
    if (!sweep->heap_count)
        return 0;
    return give(sweep, swept) ? error_no_memory(error) : 1;
}
