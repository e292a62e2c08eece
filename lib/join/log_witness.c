#include "join/log_witness.h"

#include "base/array.h"
#include "base/sort.h"
#include "model/event.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>

/*
 * By how much a clock stepped. The ranks of a communicator end a collective at about the same moment: what a
 * rank's ends are ahead of another's by differs before and after the step by just the step, if the other's
 * clock went on. Where there is nobody to ask, what comes after the step is taken to follow at once: no time
 * is made up that somebody would have to answer for.
 */

enum { WINDOW = 8, MOST_WITNESSES = 8 };

/* When operations near a step ended: [0] before it and [1] after it, by distance. TIME_UNKNOWN: not there. */
struct window {
    int64_t end_ns[2][WINDOW];
};

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

static int open_block(struct logs *logs, size_t at, struct error *error)
{
    static const int columns[] = {LOG_COLUMNS, OPERATION_DURATION};
    return logs_open(logs, logs->blocks[at].id, columns, sizeof columns / sizeof *columns, error);
}

/* The least number of a series in the block that is open; -1: there is none. */
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

/* The last block that begins up to a number, as numbers rise from block to block; 0 where none does. */
static int find_block(struct logs *logs, int64_t series, int64_t number, size_t *found, struct error *error)
{
    size_t low = 0, high = logs->block_count;
    *found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2, at = middle;
        int64_t least = -1;
        for (; at < high && least < 0; at++) {
            if (open_block(logs, at, error))
                return -1;
            least = least_number(&logs->reader, series);
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

static int read_window(struct logs *logs, const struct log_step *step, struct window *window,
                       struct error *error)
{
    size_t at;
    for (size_t i = 0; i < WINDOW; i++)
        window->end_ns[0][i] = window->end_ns[1][i] = TIME_UNKNOWN;
    if (find_block(logs, step->series, step->number_before - WINDOW, &at, error))
        return -1;
    for (int64_t least = -1; at < logs->block_count && least < step->number_after + WINDOW; at++) {
        if (open_block(logs, at, error))
            return -1;
        least = least_number(&logs->reader, step->series);
        for (size_t row = 0; row < logs->reader.count; row++)
            take_row(&logs->reader, row, step, window);
    }
    return 0;
}

static int read_member(struct logs *logs, int64_t member_id, const struct log_step *step,
                       struct window *window, struct error *error)
{
    logs->block_count = logs->member_count = 0;
    if (array_reserve((void **)&logs->members, &logs->member_capacity, 1, sizeof *logs->members))
        return error_no_memory(error);
    logs->members[logs->member_count++] = (struct log_member){.id = member_id};
    return logs_add_blocks(logs, 0, error) || read_window(logs, step, window, error) ? -1 : 0;
}

/* What the other's ends are ahead of the one's. */
struct lead {
    int64_t ahead[WINDOW];
    size_t count;
    int64_t median; /* where there is any */
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

/* What witnesses say is to be added, and how many say it clearly. */
struct testimony {
    int64_t said[MOST_WITNESSES];
    size_t count;
    size_t clear;
};

/*
 * Steps that nothing else tells of are many times as much as ends are apart anyway: the more so, the fewer
 * operations there are to tell from, and never little.
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
                 struct testimony *testimony)
{
    struct lead before = lead_of(own->end_ns[0], other->end_ns[0]);
    struct lead after = lead_of(own->end_ns[1], other->end_ns[1]);
    int64_t add = after.median - before.median;
    /* Less than it takes: the other's clock stepped as well. */
    if (!before.count || !after.count || add < step->floor_ns - LOG_CLOCK_TOLERANCE_NS)
        return;
    testimony->said[testimony->count++] = add;
    testimony->clear += is_clear(&before, &after, add) != 0;
}

static int ask_witnesses(const struct logs *logs, struct logs *other, const struct log_step *step,
                         const struct window *own, struct testimony *testimony, struct error *error)
{
    int64_t members[MOST_WITNESSES];
    size_t members_found = 0;
    struct statement *list = store_prepare(logs->store, schema_join_logs_witnesses, error);
    int row = list && !statement_bind_integer(list, 1, logs->members[step->member].id, error) ? 1 : -1;
    while (row == 1 && members_found < MOST_WITNESSES && (row = statement_step(list, error)) == 1)
        members[members_found++] = statement_integer(list, 0);
    statement_free(list);
    if (row < 0)
        return -1;
    for (size_t i = 0; i < members_found; i++) {
        struct window window;
        if (read_member(other, members[i], step, &window, error))
            return -1;
        hear(step, own, &window, testimony);
    }
    return 0;
}

int log_step_measure(const struct logs *logs, struct logs *other, struct log_step *step, struct error *error)
{
    struct window own;
    struct testimony testimony = {.count = 0};
    step->is_measured = step->is_clear = 0;
    step->add_ns = step->floor_ns;
    if (step->series == LOG_SERIES_OF_PAIRS)
        return 0;
    if (read_member(other, logs->members[step->member].id, step, &own, error) ||
        ask_witnesses(logs, other, step, &own, &testimony, error))
        return -1;
    if (!testimony.count)
        return 0;
    step->add_ns = select_integer(testimony.said, testimony.count, testimony.count / 2);
    step->is_measured = 1;
    step->is_clear = testimony.clear * 2 > testimony.count;
    return 0;
}
