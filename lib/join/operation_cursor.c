/*
 * Iterates over the operations of several members in the order of issue, for numbering and joining. Keeps
 * only those blocks in memory that overlap in time.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/* How many blocks of a member may be open at the same time to sort calls issued at the same time. */
enum { MOST_OPEN = 3 };

/*
 * In place of a call's number: among entries of the same time, a closed block comes after open ones
 * (to_open).
 */
#define CLOSED INT64_MAX

/* A member and its blocks. */
struct cursor_source {
    int32_t member;
    uint64_t hash;              /* of its communicator */
    struct block_place *places; /* owned */
    size_t count;
    size_t next;                 /* index of the next place to put into the heap */
    size_t opened;               /* how many of those in the heap have been opened */
    size_t open;                 /* opened blocks with operations left */
    const struct numbers *first; /* first numbers of operations without their own; NULL: not needed */
    struct numbers *counted;     /* owned: the operations that have been numbered so far */
};

/*
 * What comes next in a block: if it is closed, its earliest time and its id; else those of its next
 * operation.
 */
struct cursor_entry {
    int64_t at_ns;
    int64_t id;
    int64_t call; /* the number of a send or receive that has one; COUNT_UNKNOWN; CLOSED */
    size_t source;
    struct operation_rows *rows; /* owned; NULL: not opened yet */
};

/*
 * Entries with the same known time come in the order of their communicators' hashes, which is equal on all
 * ranks, whatever the order of files. Within a block of a member, rows keep their places. Across its blocks,
 * calls with numbers come by their numbers, as within a block (operation_rows_call), after all others.
 */
static int is_before(const struct cursor *cursor, const struct cursor_entry *left,
                     const struct cursor_entry *right)
{
    uint64_t mine = cursor->sources[left->source].hash, other = cursor->sources[right->source].hash;
    if (left->at_ns != right->at_ns || !left->at_ns)
        return left->at_ns != right->at_ns ? left->at_ns < right->at_ns : left->id < right->id;
    int order = (mine > other) - (mine < other);
    order = order ? order : compare_integers((int64_t)left->source, (int64_t)right->source);
    order = order ? order : compare_integers(left->call, right->call);
    return order ? order < 0 : left->id < right->id;
}

static void swap(struct cursor_entry *left, struct cursor_entry *right)
{
    struct cursor_entry held = *left;
    *left = *right;
    *right = held;
}

static void sift_down(struct cursor *cursor, size_t at)
{
    struct cursor_entry *heap = cursor->heap;
    for (size_t child = 2 * at + 1; child < cursor->heap_count; at = child, child = 2 * at + 1) {
        if (child + 1 < cursor->heap_count && is_before(cursor, &heap[child + 1], &heap[child]))
            child++;
        if (!is_before(cursor, &heap[child], &heap[at]))
            return;
        swap(&heap[child], &heap[at]);
    }
}

static void sift_up(struct cursor *cursor, size_t at)
{
    struct cursor_entry *heap = cursor->heap;
    for (; at && is_before(cursor, &heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

/* Puts the next block of a source into the heap, closed. */
static int line_up(struct cursor *cursor, size_t source, struct error *error)
{
    struct cursor_source *of = &cursor->sources[source];
    if (of->next == of->count)
        return 0;
    if (array_reserve((void **)&cursor->heap, &cursor->heap_capacity, cursor->heap_count + 1,
                      sizeof *cursor->heap))
        return error_no_memory(error);
    const struct block_place *place = &of->places[of->next++];
    cursor->heap[cursor->heap_count++] =
        (struct cursor_entry){place->earliest_ns, place->id, CLOSED, source, NULL};
    sift_up(cursor, cursor->heap_count - 1);
    return 0;
}

int cursor_begin(struct cursor *cursor, struct blocks *blocks, const struct work *work,
                 const int32_t *members, size_t count, struct error *error)
{
    *cursor = (struct cursor){.blocks = blocks, .source_count = count};
    cursor->sources = array_new(count, sizeof *cursor->sources);
    if (!cursor->sources) {
        cursor->source_count = 0;
        return error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        struct cursor_source *source = &cursor->sources[i];
        source->member = members[i];
        source->hash = work->communicators[work->members[members[i]].communicator].hash;
        source->first = work->members[members[i]].first_numbers;
        if (source->first && !(source->counted = numbers_new()))
            return error_no_memory(error);
        if (blocks_list(blocks, work->members[members[i]].id, &source->places, &source->count, error) ||
            line_up(cursor, i, error))
            return -1;
    }
    return 0;
}

int cursor_begin_rank(struct cursor *cursor, struct blocks *blocks, const struct work *work, int32_t rank,
                      struct error *error)
{
    size_t first = work->by_rank.first[rank];
    return cursor_begin(cursor, blocks, work, work->by_rank.items + first,
                        work->by_rank.first[rank + 1] - first, error);
}

void cursor_end(struct cursor *cursor)
{
    for (size_t i = 0; i < cursor->source_count; i++) {
        free(cursor->sources[i].places);
        numbers_free(cursor->sources[i].counted);
    }
    for (size_t i = 0; i < cursor->heap_count; i++)
        operation_rows_free(cursor->heap[i].rows);
    operation_rows_free(cursor->spare);
    free(cursor->sources);
    free(cursor->heap);
}

/* Sets the entry of an open block to its next operation. */
static void settle(struct cursor_entry *entry)
{
    const struct operation_rows *rows = entry->rows;
    size_t row = rows->order[rows->next];
    entry->at_ns = rows->issued_ns[row];
    entry->id = rows->block_id + rows->reader.values[OPERATION_ORDINAL][row];
    entry->call = operation_rows_call(rows, row);
}

static void settle_first(struct cursor *cursor)
{
    struct cursor_entry *first = &cursor->heap[0];
    settle(first);
    if ((cursor->heap_count > 1 && is_before(cursor, &cursor->heap[1], first)) ||
        (cursor->heap_count > 2 && is_before(cursor, &cursor->heap[2], first)))
        sift_down(cursor, 0);
}

static int open_block(struct cursor *cursor, size_t at, struct error *error)
{
    struct cursor_entry *entry = &cursor->heap[at];
    struct operation_rows *rows = cursor->spare ? cursor->spare : operation_rows_new();
    cursor->spare = NULL;
    if (!rows)
        return error_no_memory(error);
    size_t source = entry->source;
    entry->rows = rows;
    cursor->sources[source].opened++;
    cursor->sources[source].open++;
    rows->member = cursor->sources[source].member;
    if (blocks_read(cursor->blocks, entry->id, cursor->joined, rows, error))
        return -1;
    settle(entry);
    sift_up(cursor, at);
    sift_down(cursor, at);
    return line_up(cursor, source, error);
}

/*
 * Whether a closed block of the source begins at that time. The heap has at most one closed block per source.
 */
static int begins_another(const struct cursor_source *source, int64_t at_ns)
{
    return source->next > source->opened && source->open < MOST_OPEN &&
           source->places[source->next - 1].earliest_ns == at_ns;
}

/*
 * Index of the block to open next: the first one if it is closed, or one of the same member that begins at
 * the time of the first one's next call. heap_count: none.
 */
static size_t to_open(const struct cursor *cursor)
{
    const struct cursor_entry *heap = cursor->heap, *first = &heap[0];
    if (!cursor->heap_count || !first->rows)
        return 0;
    if (!first->at_ns || first->call == COUNT_UNKNOWN ||
        !begins_another(&cursor->sources[first->source], first->at_ns))
        return cursor->heap_count;
    for (size_t i = 1; i < cursor->heap_count; i++)
        if (!heap[i].rows && heap[i].source == first->source)
            return i;
    return cursor->heap_count;
}

/* Removes the first block, which has no operations left. */
static int close_first(struct cursor *cursor, struct error *error)
{
    struct operation_rows *rows = cursor->heap[0].rows;
    int failed = cursor->writes ? blocks_write_joined(cursor->blocks, rows, error) : 0;
    operation_rows_free(cursor->spare);
    cursor->spare = rows;
    cursor->sources[cursor->heap[0].source].open--;
    cursor->heap[0] = cursor->heap[--cursor->heap_count];
    sift_down(cursor, 0);
    return failed;
}

/* Moves past the operation that was returned last. */
static int go_on(struct cursor *cursor, struct error *error)
{
    if (!cursor->is_given)
        return 0;
    cursor->is_given = 0;
    if (++cursor->heap[0].rows->next == cursor->heap[0].rows->reader.count)
        return close_first(cursor, error);
    settle_first(cursor);
    return 0;
}

/* Only symmetric kernels wait for other ranks in this phase. */
static int64_t initial_sync(const struct block_reader *reader, size_t row)
{
    if (reader->absent[OPERATION_INITIAL_SYNC][row] ||
        reader->values[OPERATION_KIND][row] != OPERATION_COLLECTIVE ||
        !(reader->values[OPERATION_FLAGS][row] & OPERATION_IS_SYMMETRIC))
        return 0;
    return reader->values[OPERATION_INITIAL_SYNC][row];
}

/* Numbers an operation that has no number of its own. -1: out of memory. */
static int number(struct cursor *cursor, struct issued_operation *issued)
{
    const struct cursor_source *source = &cursor->sources[issued->source];
    if (!source->first || issued->sequence != COUNT_UNKNOWN)
        return 0;
    issued->sequence = numbers_next(source->first, source->counted, issued->function, issued->peer);
    return issued->sequence < 0 ? -1 : 0;
}

static int give(struct cursor *cursor, struct issued_operation *issued)
{
    struct operation_rows *rows = cursor->heap[0].rows;
    const struct block_reader *reader = &rows->reader;
    size_t row = rows->order[rows->next];
    enum function function = (enum function)reader->values[OPERATION_FUNCTION][row];
    *issued = (struct issued_operation){
        .sequence = function_is_point_to_point(function)
                        ? COUNT_UNKNOWN
                        : block_value(reader, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .own_number = function_is_point_to_point(function)
                          ? block_value(reader, OPERATION_SEQUENCE, row, COUNT_UNKNOWN)
                          : COUNT_UNKNOWN,
        .told_sequence = block_value(reader, OPERATION_TOLD_SEQUENCE, row, COUNT_UNKNOWN),
        .told_step = block_value(reader, OPERATION_TOLD_STEP, row, COUNT_UNKNOWN),
        .bytes = block_value(reader, OPERATION_BYTES, row, COUNT_UNKNOWN),
        .issued_ns = rows->issued_ns[row],
        .at_end = rows->at_end[row],
        .duration_ns = scan_duration(reader, row, COUNT_UNKNOWN),
        .initial_sync_ns = initial_sync(reader, row),
        .member = rows->member,
        .source = cursor->heap[0].source,
        .peer = (int32_t)block_value(reader, OPERATION_PEER, row, COUNT_UNKNOWN),
        .tag = reader->absent[OPERATION_TAG][row] ? -1 : rows->tags[reader->values[OPERATION_TAG][row]],
        .tag_is_number = (reader->values[OPERATION_FLAGS][row] & OPERATION_HAS_NUMBER) != 0,
        .kind = (uint8_t)reader->values[OPERATION_KIND][row],
        .function = (uint8_t)function,
        .joined = &rows->joined[row]};
    cursor->is_given = 1;
    return number(cursor, issued);
}

int cursor_next(struct cursor *cursor, struct issued_operation *issued, struct error *error)
{
    if (go_on(cursor, error))
        return -1;
    for (size_t at; (at = to_open(cursor)) < cursor->heap_count;)
        if (open_block(cursor, at, error))
            return -1;
    if (!cursor->heap_count)
        return 0;
    return give(cursor, issued) ? error_no_memory(error) : 1;
}

int rank_pass(struct blocks *blocks, const struct work *work, int32_t rank, enum pass_results results,
              int (*take)(void *context, const struct work *work, const struct issued_operation *issued),
              void *context, struct error *error)
{
    struct cursor cursor;
    struct issued_operation issued;
    int more = cursor_begin_rank(&cursor, blocks, work, rank, error) ? -1 : 1;
    cursor.joined = results != PASS_WITHOUT_RESULTS;
    cursor.writes = results == PASS_CHANGES_RESULTS;
    while (more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1)
        if (take(context, work, &issued))
            more = error_no_memory(error);
    cursor_end(&cursor);
    return more;
}
