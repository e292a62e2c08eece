/*
 * Removes duplicate records from the Inspector logs of a process, before log_clock.c corrects times. The
 * second half measures by how much a clock stepped.
 */
#include "base/base.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Records of the same operation have the same member, function, peer and number, and equal contents. They
 * occur if a log was copied before it was truncated, or is in the directory twice. If a process was restarted
 * with the same id, its numbers start again with different contents; if most repeated numbers of a member are
 * like that, equal ones are accidental and are kept.
 */

struct double_operation {
    int64_t block_id;
    size_t member;
    uint16_t row;
};

/* The last numbers of the same word of `numbers` below. */
struct numbers_run {
    struct map_key key;
    uint64_t bits;  /* 0: none */
    uint64_t again; /* those that occur more than once among them */
};

struct search {
    struct logs *logs;
    struct numbers_run run;
    struct map numbers;               /* numbers that occur, 64 in a word */
    struct map repeated;              /* those that occur again */
    struct map firsts;                /* operations by number */
    struct map contents;              /* operations by number and contents */
    struct double_operation *doubles; /* owned; by block and row */
    size_t double_count;
    size_t double_capacity;
    struct tally {
        size_t alike;
        size_t other;
    } * tallies; /* owned; one for each member: repeated records */
};

/* What distinguishes operations of a member that have equal numbers. */
static struct map_key key_of(const struct block_reader *rows, size_t row, size_t member)
{
    uint64_t kind = (uint8_t)rows->values[OPERATION_KIND][row];
    uint64_t function = (uint8_t)rows->values[OPERATION_FUNCTION][row];
    return (struct map_key){{(uint64_t)member << 16 | kind << 8 | function,
                             (uint64_t)block_value(rows, OPERATION_PEER, row, -1)}};
}

static int64_t number_of(const struct block_reader *rows, size_t row)
{
    return block_value(rows, OPERATION_SEQUENCE, row, -1);
}

static int has_number(const struct map *set, struct map_key key, int64_t number)
{
    key.part[2] = (uint64_t)number >> 6;
    const int64_t *word = map_get(set, key);
    return word && ((uint64_t)*word >> (number & 63) & 1);
}

/* Adds the collected numbers. -1: out of memory. */
static int note_run(struct search *search)
{
    struct numbers_run *run = &search->run;
    if (!run->bits)
        return 0;
    int64_t *word = map_put(&search->numbers, run->key, 0, NULL);
    if (!word)
        return -1;
    uint64_t again = run->again | ((uint64_t)*word & run->bits);
    *word = (int64_t)((uint64_t)*word | run->bits);
    if (!again)
        return 0;
    int64_t *repeated = map_put(&search->repeated, run->key, 0, NULL);
    if (!repeated)
        return -1;
    *repeated = (int64_t)((uint64_t)*repeated | again);
    return 0;
}

/* Numbers in a row of the same operations are collected, so that they take one look into the map. */
static int note_number(struct search *search, struct map_key key, int64_t number)
{
    struct numbers_run *run = &search->run;
    uint64_t bit = UINT64_C(1) << (number & 63);
    if (number < 0)
        return 0;
    key.part[2] = (uint64_t)number >> 6;
    if (run->bits && key.part[0] == run->key.part[0] && key.part[1] == run->key.part[1] &&
        key.part[2] == run->key.part[2]) {
        run->again |= run->bits & bit;
        run->bits |= bit;
        return 0;
    }
    if (note_run(search))
        return -1;
    *run = (struct numbers_run){.key = key, .bits = bit};
    return 0;
}

/* Finds the numbers that occur more than once. */
static int note_numbers(struct search *search, struct error *error)
{
    static const int columns[] = {OPERATION_KIND, OPERATION_FUNCTION, OPERATION_SEQUENCE, OPERATION_PEER};
    const struct block_reader *rows = &search->logs->reader;
    for (size_t at = 0; at < search->logs->block_count; at++) {
        const struct log_block *block = &search->logs->blocks[at];
        if (logs_open(search->logs, block->id, columns, sizeof columns / sizeof *columns, error))
            return -1;
        for (size_t row = 0; row < rows->count; row++)
            if (note_number(search, key_of(rows, row, block->member), number_of(rows, row)))
                return error_no_memory(error);
    }
    return note_run(search) ? error_no_memory(error) : 0;
}

int logs_have_repeated(struct logs *logs, struct error *error)
{
    struct search search = {.logs = logs};
    map_init(&search.numbers);
    map_init(&search.repeated);
    int failed = note_numbers(&search, error), found = search.repeated.count > 0;
    map_release(&search.numbers);
    map_release(&search.repeated);
    return failed ? -1 : found;
}

static uint64_t hash_bytes(uint64_t state, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, from + at, length - at < 8 ? length - at : 8);
        state = hash_mix(state, word);
    }
    return hash_mix(state, length);
}

static uint64_t hash_value(uint64_t state, const struct block_reader *rows, int column, size_t row)
{
    size_t length;
    const char *text;
    const void *bytes;
    switch (operation_layout.columns[column].type) {
    case BLOCK_TEXT:
        text = block_text(rows, column, row);
        return hash_bytes(state, text ? text : "", text ? strlen(text) : 0);
    case BLOCK_BYTES:
        bytes = block_bytes(rows, column, row, &length);
        return hash_bytes(state, bytes ? bytes : "", bytes ? length : 0);
    default:
        return hash_mix(state, (uint64_t)rows->values[column][row]);
    }
}

/* A hash of all that a record contains, except its position. */
static uint64_t content_of(const struct block_reader *rows, size_t row, uint64_t seed)
{
    uint64_t state = seed;
    for (int column = 0; column < OPERATION_COLUMNS; column++) {
        if (column == OPERATION_ORDINAL || column == OPERATION_BYTE_OFFSET)
            continue;
        state = hash_mix(state, (uint64_t)column);
        if (!rows->absent[column][row])
            state = hash_value(state, rows, column, row);
    }
    return state;
}

static int add_double(struct search *search, const struct log_block *block, size_t row)
{
    if (array_reserve((void **)&search->doubles, &search->double_capacity, search->double_count + 1,
                      sizeof *search->doubles))
        return -1;
    search->doubles[search->double_count++] =
        (struct double_operation){block->id, block->member, (uint16_t)row};
    return 0;
}

/* Handles an operation whose number occurs more than once. */
static int compare_row(struct search *search, const struct log_block *block, size_t row)
{
    const struct block_reader *rows = &search->logs->reader;
    struct map_key key = key_of(rows, row, block->member);
    int is_first, is_other;
    key.part[2] = (uint64_t)number_of(rows, row);
    if (!map_put(&search->firsts, key, 0, &is_first))
        return -1;
    key.part[3] = content_of(rows, row, search->firsts.seed);
    if (!map_put(&search->contents, key, 0, &is_other))
        return -1;
    struct tally *tally = &search->tallies[block->member];
    tally->other += is_other && !is_first;
    tally->alike += !is_other;
    return is_other ? 0 : add_double(search, block, row);
}

static int compare_block(struct search *search, const struct log_block *block, struct error *error)
{
    const struct block_reader *rows = &search->logs->reader;
    static const int columns[] = {OPERATION_KIND, OPERATION_FUNCTION, OPERATION_SEQUENCE, OPERATION_PEER};
    int is_whole = 0;
    if (logs_open(search->logs, block->id, columns, sizeof columns / sizeof *columns, error))
        return -1;
    for (size_t row = 0; row < rows->count; row++) {
        int64_t number = number_of(rows, row);
        if (number < 0 || !has_number(&search->repeated, key_of(rows, row, block->member), number))
            continue;
        if (!is_whole && logs_open_whole(search->logs, block->id, error))
            return -1;
        is_whole = 1;
        if (compare_row(search, block, row))
            return error_no_memory(error);
    }
    return 0;
}

/* Removes the network traffic of the operations that were removed from a file. */
static int drop_traffic(struct search *search, int64_t file_id, struct error *error)
{
    return logs_run(search->logs->store, schema_join_logs_keep_proxies, file_id, error) ||
                   logs_run(search->logs->store, schema_join_logs_remove_proxies, file_id, error)
               ? -1
               : 0;
}

/*
 * Removes the duplicates of one block, from index `at` of the list. Returns how many entries it has; -1 on
 * error.
 */
static int64_t drop_entry(struct search *search, size_t at, struct error *error)
{
    struct log_change changes[BLOCK_ROWS] = {{0}};
    int64_t block_id = search->doubles[at].block_id, count = 0;
    size_t left_out = 0;
    for (; at < search->double_count && search->doubles[at].block_id == block_id; at++, count++) {
        const struct tally *tally = &search->tallies[search->doubles[at].member];
        changes[search->doubles[at].row].is_double = tally->alike > tally->other;
        left_out += tally->alike > tally->other;
    }
    if (left_out && (logs_open_whole(search->logs, block_id, error) ||
                     logs_replace(search->logs, block_id, changes, error)))
        return -1;
    return count;
}

static int find_and_drop(struct search *search, struct error *error)
{
    if (note_numbers(search, error))
        return -1;
    for (size_t at = 0; search->repeated.count && at < search->logs->block_count; at++)
        if (compare_block(search, &search->logs->blocks[at], error))
            return -1;
    for (size_t at = 0; at < search->double_count;) {
        int64_t file_id = search->doubles[at].block_id >> 32, taken = drop_entry(search, at, error);
        if (taken < 0)
            return -1;
        at += (size_t)taken;
        int is_last = at == search->double_count || search->doubles[at].block_id >> 32 != file_id;
        if (is_last && drop_traffic(search, file_id, error))
            return -1;
    }
    return 0;
}

int logs_drop_duplicates(struct logs *logs, struct error *error)
{
    struct search search = {.logs = logs, .tallies = array_new(logs->member_count, sizeof *search.tallies)};
    map_init(&search.numbers);
    map_init(&search.repeated);
    map_init(&search.firsts);
    map_init(&search.contents);
    int failed = search.tallies ? find_and_drop(&search, error) : error_no_memory(error);
    map_release(&search.numbers);
    map_release(&search.repeated);
    map_release(&search.firsts);
    map_release(&search.contents);
    free(search.doubles);
    free(search.tallies);
    return failed;
}

/*
 * Measures a step of the clock. The ranks of a communicator end a collective at about the same time. If the
 * clock of another rank did not step, the difference between the ends on the two ranks changes at the step by
 * exactly the size of the step. If there is no other rank, the operation after the step is assumed to follow
 * immediately, so that no time is invented.
 */

enum { WINDOW = 8, MOST_OTHER_RANKS = 8 };

/* At most this many steps of a series are measured in one pass over the blocks. */
enum { STEPS_AT_ONCE = 32 };

/* Ends of operations near a step, by distance from it: [0] before, [1] after. TIME_UNKNOWN: none. */
struct window {
    int64_t end_ns[2][WINDOW];
};

/* Steps that the same series shows. */
struct step_group {
    struct log_step *steps[STEPS_AT_ONCE];
    size_t count;
    int64_t series;
    struct window own[STEPS_AT_ONCE];
    struct window other[STEPS_AT_ONCE]; /* on the rank that is compared */
};

/* The blocks of one rank; each is unpacked once as long as it is the one that was opened last. */
struct rank_blocks {
    struct logs *logs;
    int64_t series;
    size_t open;    /* index of the block that was opened last; SIZE_MAX: none */
    int64_t *least; /* owned: smallest number of the series in each block; NOT_READ, or -1: none */
};

enum { NOT_READ = -2 };

static int64_t end_of(const struct block_reader *rows, size_t row)
{
    int64_t end = block_value(rows, OPERATION_DEVICE_END, row, TIME_UNKNOWN);
    int64_t begin = block_value(rows, OPERATION_DEVICE_BEGIN, row, TIME_UNKNOWN);
    int64_t duration = block_value(rows, OPERATION_DURATION, row, COUNT_UNKNOWN);
    if (end != TIME_UNKNOWN || begin == TIME_UNKNOWN || duration < 0)
        return end;
    return begin + duration;
}

static void take_row(const struct block_reader *rows, size_t row, const struct log_step *step,
                     struct window *window)
{
    int64_t number = block_value(rows, OPERATION_SEQUENCE, row, -1);
    if (number < 0 || number >= step->number_end || logs_series(rows, row) != step->series)
        return;
    int is_after = number >= step->number_after;
    uint64_t distance =
        is_after ? (uint64_t)(number - step->number_after) : (uint64_t)step->number_before - (uint64_t)number;
    if ((!is_after && number > step->number_before) || distance >= WINDOW)
        return;
    window->end_ns[is_after][distance] = end_of(rows, row);
}

static int open_block(struct rank_blocks *blocks, size_t at, struct error *error)
{
    static const int columns[] = {LOG_COLUMNS, OPERATION_DURATION};
    if (blocks->open == at)
        return 0;
    blocks->open = at;
    return logs_open(blocks->logs, blocks->logs->blocks[at].id, columns, sizeof columns / sizeof *columns,
                     error);
}

/* The smallest number of a series in the open block; -1: none. */
static int64_t least_number(const struct block_reader *rows, int64_t series)
{
    int64_t least = -1;
    for (size_t row = 0; row < rows->count; row++) {
        int64_t number = block_value(rows, OPERATION_SEQUENCE, row, -1);
        if (number >= 0 && logs_series(rows, row) == series && (least < 0 || number < least))
            least = number;
    }
    return least;
}

static int find_least(struct rank_blocks *blocks, size_t at, struct error *error)
{
    if (blocks->least[at] != NOT_READ)
        return 0;
    if (open_block(blocks, at, error))
        return -1;
    blocks->least[at] = least_number(&blocks->logs->reader, blocks->series);
    return 0;
}

/*
 * The last block whose smallest number is not above `number`, since numbers rise from block to block; 0:
 * none.
 */
static int find_block(struct rank_blocks *blocks, int64_t number, size_t *found, struct error *error)
{
    size_t low = 0, high = blocks->logs->block_count;
    *found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2, at = middle;
        int64_t least = -1;
        for (; at < high && least < 0; at++) {
            if (find_least(blocks, at, error))
                return -1;
            least = blocks->least[at];
        }
        if (least >= 0 && least <= number) {
            *found = at - 1;
            low = at;
        } else {
            high = middle;
        }
    }
    return 0;
}

static int read_window(struct rank_blocks *blocks, const struct log_step *step, struct window *window,
                       struct error *error)
{
    const struct logs *logs = blocks->logs;
    size_t at;
    for (size_t i = 0; i < WINDOW; i++)
        window->end_ns[0][i] = window->end_ns[1][i] = TIME_UNKNOWN;
    if (find_block(blocks, step->number_before - WINDOW, &at, error))
        return -1;
    for (int64_t least = -1; at < logs->block_count && least < step->number_after + WINDOW; at++) {
        if (open_block(blocks, at, error) || find_least(blocks, at, error))
            return -1;
        least = blocks->least[at];
        for (size_t row = 0; row < logs->reader.count; row++)
            take_row(&logs->reader, row, step, window);
    }
    return 0;
}

static int list_blocks(struct rank_blocks *blocks, int64_t member_id, struct error *error)
{
    struct logs *logs = blocks->logs;
    logs->block_count = logs->member_count = 0;
    if (array_reserve((void **)&logs->members, &logs->member_capacity, 1, sizeof *logs->members))
        return error_no_memory(error);
    logs->members[logs->member_count++] = (struct log_member){.id = member_id};
    if (logs_add_blocks(logs, 0, error))
        return -1;
    blocks->least = array_new(logs->block_count, sizeof *blocks->least);
    for (size_t i = 0; blocks->least && i < logs->block_count; i++)
        blocks->least[i] = NOT_READ;
    return blocks->least ? 0 : error_no_memory(error);
}

/* Reads the windows of all steps of a group on one rank. */
static int read_windows(struct logs *logs, int64_t member_id, const struct step_group *group,
                        struct window *windows, struct error *error)
{
    struct rank_blocks blocks = {.logs = logs, .series = group->series, .open = SIZE_MAX};
    int failed = list_blocks(&blocks, member_id, error);
    for (size_t i = 0; !failed && i < group->count; i++)
        failed = read_window(&blocks, group->steps[i], &windows[i], error);
    free(blocks.least);
    return failed;
}

/* Ends on the other rank minus ends on this rank. */
struct lead {
    int64_t ahead[WINDOW];
    size_t count;
    int64_t median; /* valid if count > 0 */
    int64_t range;
};

static struct lead lead_of(const int64_t *one, const int64_t *other)
{
    struct lead lead = {.count = 0};
    for (size_t i = 0; i < WINDOW; i++)
        if (one[i] != TIME_UNKNOWN && other[i] != TIME_UNKNOWN)
            lead.ahead[lead.count++] = other[i] - one[i];
    if (!lead.count)
        return lead;
    sort_integers(lead.ahead, lead.count);
    lead.median = lead.ahead[lead.count / 2];
    lead.range = lead.ahead[lead.count - 1] - lead.ahead[0];
    return lead;
}

/* Corrections that other ranks show, and how many of them are clear. */
struct clock_corrections {
    int64_t said[MOST_OTHER_RANKS];
    size_t count;
    size_t clear;
};

/*
 * A step that only other ranks show must be CLEARLY or VERY_CLEARLY times as large as the usual variation of
 * the ends: the more, the fewer operations there are. It is never small.
 */
enum { CLEARLY = 4, CLEAR_OPERATIONS = 6, VERY_CLEARLY = 32, FEWEST_OPERATIONS = 3 };

static int is_clear(const struct lead *before, const struct lead *after, int64_t add_ns)
{
    size_t least = before->count < after->count ? before->count : after->count;
    int64_t magnitude = add_ns < 0 ? -add_ns : add_ns, range = before->range + after->range;
    if (least >= CLEAR_OPERATIONS)
        return magnitude / CLEARLY > range;
    return least >= FEWEST_OPERATIONS && magnitude >= 10 * LOG_CLOCK_TOLERANCE_NS &&
           magnitude / VERY_CLEARLY > range;
}

static void hear(const struct log_step *step, const struct window *own, const struct window *other,
                 struct clock_corrections *corrections)
{
    struct lead before = lead_of(own->end_ns[0], other->end_ns[0]);
    struct lead after = lead_of(own->end_ns[1], other->end_ns[1]);
    int64_t add = after.median - before.median;
    /* Less than the least correction: the clock of the other rank stepped as well. */
    if (!before.count || !after.count || add < step->floor_ns - LOG_CLOCK_TOLERANCE_NS)
        return;
    corrections->said[corrections->count++] = add;
    corrections->clear += is_clear(&before, &after, add) != 0;
}

/* Returns how many there are; -1 on error. */
static int list_other_ranks(const struct logs *logs, int64_t member_id, int64_t members[MOST_OTHER_RANKS],
                            struct error *error)
{
    int found = 0;
    struct statement *list = logs->list_other_ranks;
    logs_enter(logs);
    int row = statement_bind_integer(list, 1, member_id, error) ? -1 : 1;
    while (row == 1 && found < MOST_OTHER_RANKS && (row = statement_step(list, error)) == 1)
        members[found++] = statement_integer(list, 0);
    statement_reset(list);
    logs_leave(logs);
    return row < 0 ? -1 : found;
}

static void conclude(struct log_step *step, struct clock_corrections *corrections)
{
    if (!corrections->count)
        return;
    step->add_ns = select_integer(corrections->said, corrections->count, corrections->count / 2);
    step->is_measured = 1;
    step->is_clear = corrections->clear * 2 > corrections->count;
}

/* Measures the steps of a group, which is empty afterwards. */
static int measure_group(const struct logs *logs, struct logs *other, struct step_group *group,
                         struct error *error)
{
    struct clock_corrections corrections[STEPS_AT_ONCE] = {{.count = 0}};
    int64_t ranks[MOST_OTHER_RANKS], own_id;
    if (!group->count)
        return 0;
    own_id = logs->members[group->steps[0]->member].id;
    int found = list_other_ranks(logs, own_id, ranks, error);
    if (found < 0 || read_windows(other, own_id, group, group->own, error))
        return -1;
    for (int rank = 0; rank < found; rank++) {
        if (read_windows(other, ranks[rank], group, group->other, error))
            return -1;
        for (size_t i = 0; i < group->count; i++)
            hear(group->steps[i], &group->own[i], &group->other[i], &corrections[i]);
    }
    for (size_t i = 0; i < group->count; i++)
        conclude(group->steps[i], &corrections[i]);
    group->count = 0;
    return 0;
}

int log_step_is_of_same_series(const struct log_step *a, const struct log_step *b)
{
    return a->member == b->member && a->series == b->series;
}

static int is_first_of_series(const struct log_step *steps, size_t at)
{
    for (size_t before = 0; before < at; before++)
        if (log_step_is_of_same_series(&steps[before], &steps[at]))
            return 0;
    return 1;
}

/* Measures all steps of the series that step `first` shows. */
static int measure_series(const struct logs *logs, struct logs *other, struct log_step *steps, size_t first,
                          size_t count, struct error *error)
{
    struct step_group group = {.series = steps[first].series};
    for (size_t i = first; i < count; i++) {
        if (!log_step_is_of_same_series(&steps[first], &steps[i]))
            continue;
        group.steps[group.count++] = &steps[i];
        if (group.count == STEPS_AT_ONCE && measure_group(logs, other, &group, error))
            return -1;
    }
    return measure_group(logs, other, &group, error);
}

int log_steps_measure(const struct logs *logs, struct logs *other, struct log_step *steps, size_t count,
                      struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        steps[i].is_measured = steps[i].is_clear = 0;
        steps[i].add_ns = steps[i].floor_ns;
    }
    for (size_t i = 0; i < count; i++)
        if (steps[i].series != LOG_SERIES_OF_PAIRS && is_first_of_series(steps, i) &&
            measure_series(logs, other, steps, i, count, error))
            return -1;
    return 0;
}
