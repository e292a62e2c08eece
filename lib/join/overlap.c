#include "join/overlap.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/scale.h"

#include <stdlib.h>

enum {
    COLLECTIVES_MOST = 2048, /* that are looked at of each member */
    SHIFTS_EACH_WAY = 64,    /* beyond what the clocks say */
    TIMES_BETTER = 4         /* the right order fits the clocks so many times better than any other */
};

struct collective {
    int64_t end_ns;
    uint64_t what; /* function and size */
};

/* The first collectives of a member. */
struct record {
    struct collective *items; /* owned */
    size_t count;
    int32_t rank;
    int64_t shift; /* its first one's place among those of the reference */
};

struct records {
    struct record *items; /* owned */
    size_t count;
    const struct record *reference;
};

static int read_block(struct record *record, size_t *capacity, struct operation_rows *rows,
                      struct error *error)
{
    static const int column = OPERATION_DEVICE_END;
    const struct block_reader *reader = &rows->reader;
    if (stored_block_unpack(&rows->reader, rows->block_id, &column, 1, error))
        return -1;
    for (size_t i = 0; i < reader->count && record->count < COLLECTIVES_MOST; i++) {
        size_t row = rows->order[i];
        enum function function = (enum function)reader->values[OPERATION_FUNCTION][row];
        if (function_is_point_to_point(function))
            continue;
        if (array_reserve((void **)&record->items, capacity, record->count + 1, sizeof *record->items))
            return error_no_memory(error);
        record->items[record->count++] = (struct collective){
            block_value(reader, OPERATION_DEVICE_END, row, TIME_UNKNOWN),
            hash_mix((uint64_t)function, (uint64_t)block_value(reader, OPERATION_BYTES, row, COUNT_UNKNOWN))};
    }
    return 0;
}

static int read_record(struct record *record, const struct work *work, int32_t member, struct blocks *blocks,
                       struct error *error)
{
    struct block_place *places = NULL;
    size_t count = 0, capacity = 0;
    struct operation_rows *rows = operation_rows_new();
    int failed = rows ? 0 : error_no_memory(error);
    record->rank = work->members[member].job_rank;
    failed = failed || blocks_list(blocks, work->members[member].id, &places, &count, error);
    for (size_t i = 0; !failed && i < count && record->count < COLLECTIVES_MOST; i++) {
        rows->member = member;
        failed =
            blocks_read(blocks, places[i].id, 0, rows, error) || read_block(record, &capacity, rows, error);
    }
    operation_rows_free(rows);
    free(places);
    return failed ? -1 : 0;
}

/* The reference is the one with the most. */
static int read_records(struct records *records, const struct work *work, int32_t communicator,
                        struct blocks *blocks, struct error *error)
{
    const struct grouping *of = &work->by_communicator;
    size_t first = of->first[communicator], count = of->first[communicator + 1] - first;
    records->items = array_new(count, sizeof *records->items);
    if (!records->items)
        return error_no_memory(error);
    for (records->count = 0; records->count < count;) {
        struct record *record = &records->items[records->count++];
        if (read_record(record, work, of->items[first + records->count - 1], blocks, error))
            return -1;
        if (!records->reference || record->count > records->reference->count)
            records->reference = record;
    }
    return 0;
}

static void records_release(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free(records->items[i].items);
    free(records->items);
}

/* Half of what the shorter one has must be in both. */
static int is_enough(const struct record *record, const struct record *reference, size_t both)
{
    size_t least = record->count < reference->count ? record->count : reference->count;
    return both > 0 && both * 2 >= least;
}

/* How far ends lie apart on average; -1: the order does not fit, or too little is in both. */
static int64_t distance(const struct record *record, const struct record *reference, int64_t shift)
{
    size_t both = 0, timed = 0;
    double sum = 0;
    for (size_t i = shift < 0 ? (size_t)-shift : 0; i < record->count; i++) {
        size_t at = (size_t)((int64_t)i + shift);
        if (at >= reference->count)
            break;
        if (record->items[i].what != reference->items[at].what)
            return -1;
        both++;
        if (record->items[i].end_ns == TIME_UNKNOWN || reference->items[at].end_ns == TIME_UNKNOWN)
            continue;
        double apart = (double)record->items[i].end_ns - (double)reference->items[at].end_ns;
        sum += apart < 0 ? -apart : apart;
        timed++;
    }
    if (!timed || !is_enough(record, reference, both))
        return -1;
    return scale(1, sum / (double)timed);
}

/* Where in the reference something ends nearest to the record's first known end. */
static int64_t nearest(const struct record *record, const struct record *reference)
{
    size_t first = 0, best = 0;
    while (first < record->count && record->items[first].end_ns == TIME_UNKNOWN)
        first++;
    if (first == record->count)
        return 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < reference->count; i++) {
        if (reference->items[i].end_ns == TIME_UNKNOWN)
            continue;
        int64_t apart = reference->items[i].end_ns - record->items[first].end_ns;
        apart = apart < 0 ? -apart : apart;
        if (apart < least) {
            least = apart;
            best = i;
        }
    }
    return (int64_t)best - (int64_t)first;
}

/* 1: it is clear where the record begins in the reference. */
static int find_shift(struct record *record, const struct record *reference)
{
    int64_t middle = nearest(record, reference), best = -1, second = -1;
    for (int64_t shift = middle - SHIFTS_EACH_WAY; shift <= middle + SHIFTS_EACH_WAY; shift++) {
        int64_t apart = distance(record, reference, shift);
        if (apart < 0)
            continue;
        if (best < 0 || apart < best) {
            second = best;
            best = apart;
            record->shift = shift;
        } else if (second < 0 || apart < second) {
            second = apart;
        }
    }
    return best >= 0 && (second < 0 || best < second / TIMES_BETTER);
}

/* The first that all have; 0: there is none. */
static int place_all(const struct records *records, int64_t *places)
{
    int64_t common = 0;
    for (size_t i = 0; i < records->count; i++)
        common = records->items[i].shift > common ? records->items[i].shift : common;
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->items[i];
        int64_t place = common - record->shift;
        if (place >= (int64_t)record->count)
            return 0;
        places[record->rank] = place;
    }
    return 1;
}

int overlap_find(const struct work *work, int32_t communicator, struct blocks *blocks, int64_t *places,
                 struct error *error)
{
    struct records records = {.count = 0};
    int failed = read_records(&records, work, communicator, blocks, error);
    int is_clear = !failed && records.reference && records.reference->count > 0;
    for (size_t i = 0; i < records.count && is_clear; i++)
        is_clear = find_shift(&records.items[i], records.reference);
    is_clear = is_clear && place_all(&records, places);
    records_release(&records);
    return failed ? -1 : is_clear;
}
