/*
 * Finds steps of the wall clock in Inspector logs and corrects the times after each. Runs for each changed
 * process, after log_duplicates.c has removed duplicates; log_duplicates.c also measures the size of a step.
 */
#include "base/base.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Inspector's times are on the wall clock of the host, which steps when it is set. If the numbers of a series
 * rise while its times go back, the clock stepped. By how much is measured with the ranks that ended the same
 * collectives (log_duplicates.c). Steps forward, and steps back smaller than the time between two operations,
 * look like normal behaviour; only the other ranks can show those.
 */

/*
 * Limits for one process. MOST_STEPS: a clock that steps more often is not corrected further. MOST_SEEN: how
 * often series show the next step. MOST_DOUBTFUL: possible steps that only other ranks can confirm.
 */
enum { MOST_STEPS = 16, MOST_SEEN = 4096, MOST_DOUBTFUL = 16 };

/* A possible step forward: a pause of at least PAUSE_NS and more than FAR times the average gap. */
#define PAUSE_NS INT64_C(20000000)
enum { FAR = 4 };

/* A possible step back: an operation this much earlier than the one recorded before it. */
#define BEHIND_NS INT64_C(100000)

/* The progress of a series. */
struct pace {
    int64_t number; /* the greatest so far, and when it was issued */
    int64_t at_ns;
    int64_t before_ns; /* when the one before it was issued; 0: none */
    int64_t gaps_ns;   /* sum of the gaps without pauses */
    int64_t gaps;
    int is_behind; /* the last operation was issued before others of the member that were recorded earlier */
};

/* How far a member has got, on the clock since its last step. */
struct reach {
    int64_t issued_ns; /* the latest; 0: none */
    int64_t end_ns;    /* the latest; TIME_UNKNOWN */
};

/* The largest of some possible steps. */
struct doubtful {
    struct log_step steps[MOST_DOUBTFUL];
    size_t count;
};

struct finder {
    struct logs *logs;
    struct map series;  /* (member, series) -> index in `paces` */
    struct pace *paces; /* owned */
    size_t pace_capacity;
    struct map_key latest; /* of the pace that was found last, which is usually found again */
    int64_t latest_pace;   /* index in `paces`; -1: none */
    struct reach *reaches; /* owned; one for each member */
    struct log_step *seen; /* owned; has room for all that can be found */
    size_t seen_count;
    struct doubtful pauses;
    /* recorded later than an operation of another series that was issued later */
    struct doubtful inversions;
};

static struct pace *find_pace(struct finder *finder, size_t member, int64_t series, int *added)
{
    const struct map_key key = {{(uint64_t)member, (uint64_t)series}};
    *added = 0;
    if (finder->latest_pace >= 0 && key.part[0] == finder->latest.part[0] &&
        key.part[1] == finder->latest.part[1])
        return &finder->paces[finder->latest_pace];
    int64_t *number = map_put(&finder->series, key, (int64_t)finder->series.count, added);
    if (!number || array_reserve((void **)&finder->paces, &finder->pace_capacity, finder->series.count,
                                 sizeof *finder->paces))
        return NULL;
    finder->latest = key;
    finder->latest_pace = *number;
    return &finder->paces[*number];
}

static int is_far_beyond_usual(const struct pace *pace, int64_t gap_ns)
{
    return pace->gaps > 0 && gap_ns / FAR > pace->gaps_ns / pace->gaps;
}

/* A single time far ahead of those before and after it is an error of that record. */
static int is_stray(const struct pace *pace, int64_t issued_ns)
{
    return pace->before_ns && issued_ns >= pace->before_ns &&
           is_far_beyond_usual(pace, pace->at_ns - pace->before_ns);
}

static int64_t magnitude(const struct log_step *step)
{
    return step->floor_ns < 0 ? -step->floor_ns : step->floor_ns;
}

/* If there are too many, the smallest is dropped. */
static void keep_doubtful(struct doubtful *doubtful, const struct log_step *step)
{
    size_t least = 0;
    if (doubtful->count < MOST_DOUBTFUL) {
        doubtful->steps[doubtful->count++] = *step;
        return;
    }
    for (size_t i = 1; i < MOST_DOUBTFUL; i++)
        if (magnitude(&doubtful->steps[i]) < magnitude(&doubtful->steps[least]))
            least = i;
    if (magnitude(step) > magnitude(&doubtful->steps[least]))
        doubtful->steps[least] = *step;
}

/*
 * The clock may step between the call and its kernel. Without a step, a kernel does not begin before its
 * call.
 */
static int is_torn(const struct block_reader *rows, size_t row)
{
    int64_t begin = block_value(rows, OPERATION_DEVICE_BEGIN, row, TIME_UNKNOWN);
    return begin != TIME_UNKNOWN && begin < logs_issued_ns(rows, row) - LOG_CLOCK_TOLERANCE_NS;
}

/*
 * The least correction that puts an operation after all that its member recorded before: it is issued later,
 * and begins after they have ended.
 */
static int64_t floor_of(const struct pace *pace, const struct reach *reach, const struct block_reader *rows,
                        size_t row)
{
    int64_t begin = block_value(rows, OPERATION_DEVICE_BEGIN, row, TIME_UNKNOWN);
    int64_t latest_ns = reach->issued_ns > pace->at_ns ? reach->issued_ns : pace->at_ns;
    int64_t floor_ns = latest_ns - logs_issued_ns(rows, row);
    int is_told = begin != TIME_UNKNOWN && reach->end_ns != TIME_UNKNOWN && !is_torn(rows, row);
    if (is_told && reach->end_ns - begin > floor_ns)
        floor_ns = reach->end_ns - begin;
    return floor_ns;
}

static void reach_row(struct reach *reach, const struct block_reader *rows, size_t row)
{
    int64_t issued = logs_issued_ns(rows, row);
    int64_t end =
        is_torn(rows, row) ? TIME_UNKNOWN : block_value(rows, OPERATION_DEVICE_END, row, TIME_UNKNOWN);
    reach->issued_ns = issued > reach->issued_ns ? issued : reach->issued_ns;
    reach->end_ns = end > reach->end_ns ? end : reach->end_ns;
}

/*
 * Compares an operation with the previous one of its series. Returns whether the time of the previous one was
 * right.
 */
static int compare(struct finder *finder, struct pace *pace, struct reach *reach, const struct log_step *step)
{
    int64_t gap_ns = step->after_ns - step->before_ns;
    int was_behind = pace->is_behind, is_pair = step->series == LOG_SERIES_OF_PAIRS;
    pace->is_behind = 0;
    if (gap_ns < -LOG_CLOCK_TOLERANCE_NS) {
        if (is_stray(pace, step->after_ns))
            return 0;
        if (finder->seen_count < MOST_SEEN)
            finder->seen[finder->seen_count++] = *step;
        *reach = (struct reach){.end_ns = TIME_UNKNOWN};
        return 1;
    }
    if (!is_pair && gap_ns >= PAUSE_NS && is_far_beyond_usual(pace, gap_ns)) {
        keep_doubtful(&finder->pauses, step);
        return 1;
    }
    pace->gaps_ns += gap_ns;
    pace->gaps++;
    pace->is_behind = step->floor_ns > BEHIND_NS;
    if (!is_pair && pace->is_behind && !was_behind)
        keep_doubtful(&finder->inversions, step);
    return 1;
}

static void follow(struct finder *finder, struct pace *pace, const struct log_block *block, size_t row)
{
    const struct block_reader *rows = &finder->logs->reader;
    struct reach *reach = &finder->reaches[block->member];
    const struct log_step step = {.member = block->member,
                                  .series = logs_series(rows, row),
                                  .number_before = pace->number,
                                  .number_after = rows->values[OPERATION_SEQUENCE][row],
                                  .before_ns = pace->at_ns,
                                  .after_ns = logs_issued_ns(rows, row),
                                  .floor_ns = floor_of(pace, reach, rows, row),
                                  .number_end = INT64_MAX,
                                  .operation_id = block->id + rows->values[OPERATION_ORDINAL][row]};
    if (compare(finder, pace, reach, &step))
        pace->before_ns = pace->at_ns;
    pace->number = step.number_after;
    pace->at_ns = step.after_ns;
}

static int follow_row(struct finder *finder, const struct log_block *block, size_t row)
{
    const struct block_reader *rows = &finder->logs->reader;
    int64_t number = block_value(rows, OPERATION_SEQUENCE, row, -1), issued = logs_issued_ns(rows, row);
    int added;
    if (number < 0 || !issued)
        return 0;
    struct pace *pace = find_pace(finder, block->member, logs_series(rows, row), &added);
    if (!pace)
        return -1;
    if (added)
        *pace = (struct pace){.number = number, .at_ns = issued};
    else if (number > pace->number)
        follow(finder, pace, block, row);
    else
        return 0;
    reach_row(&finder->reaches[block->member], rows, row);
    return 0;
}

static int follow_blocks(struct finder *finder, struct error *error)
{
    static const int columns[] = {LOG_COLUMNS};
    struct logs *logs = finder->logs;
    for (size_t i = 0; i < logs->member_count; i++)
        finder->reaches[i].end_ns = TIME_UNKNOWN;
    for (size_t at = 0; at < logs->block_count; at++) {
        if (logs_open(logs, logs->blocks[at].id, columns, sizeof columns / sizeof *columns, error))
            return -1;
        for (size_t row = 0; row < logs->reader.count; row++)
            if (follow_row(finder, &logs->blocks[at], row))
                return error_no_memory(error);
    }
    return 0;
}

/*
 * A pause is a step forward if other ranks show that most of it is a step; an inversion is a step back.
 * Series that are recorded out of order have inversions too.
 */
static int is_confirmed(const struct log_step *step)
{
    int64_t gap_ns = step->after_ns - step->before_ns;
    return step->is_clear &&
           (step->add_ns > LOG_CLOCK_TOLERANCE_NS || (gap_ns >= PAUSE_NS && -step->add_ns > gap_ns / 2));
}

static int by_operation(const void *a, const void *b)
{
    const struct log_step *left = a, *right = b;
    return (left->operation_id > right->operation_id) - (left->operation_id < right->operation_id);
}

/*
 * Keeps only what series show of the first step. Each series shows it once at most, so its second one is the
 * next step.
 */
static void keep_first_step(struct finder *finder)
{
    struct log_step *seen = finder->seen;
    size_t count = 0;
    array_sort(seen, finder->seen_count, sizeof *seen, by_operation);
    for (; count < finder->seen_count; count++)
        for (size_t before = 0; before < count; before++)
            if (log_step_is_of_same_series(&seen[before], &seen[count])) {
                seen[before].number_end = seen[count].number_after;
                finder->seen_count = count;
                return;
            }
}

static int confirm(struct finder *finder, struct logs *other, const struct doubtful *doubtful,
                   struct error *error)
{
    struct log_step *steps = &finder->seen[finder->seen_count];
    memcpy(steps, doubtful->steps, doubtful->count * sizeof *steps);
    if (log_steps_measure(finder->logs, other, steps, doubtful->count, error))
        return -1;
    for (size_t i = 0; i < doubtful->count; i++)
        if (is_confirmed(&steps[i]))
            finder->seen[finder->seen_count++] = steps[i];
    return 0;
}

/*
 * Finds what series show of the first remaining step of the clock, measured; seen_count is 0 if there is
 * none.
 */
static int find_step(struct finder *finder, struct logs *other, struct error *error)
{
    if (follow_blocks(finder, error))
        return -1;
    if (finder->seen_count) {
        keep_first_step(finder);
        return log_steps_measure(finder->logs, other, finder->seen, finder->seen_count, error);
    }
    if (confirm(finder, other, &finder->pauses, error) || confirm(finder, other, &finder->inversions, error))
        return -1;
    keep_first_step(finder);
    return 0;
}

/* A step of the clock, and the number at which each series passes it. */
struct passage {
    struct log_step step;
    struct map numbers; /* (member, series) -> first number after it */
};

static struct map_key series_key(size_t member, int64_t series)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)series}};
}

/* Of what the series show, a measured correction is preferred, else the first is used. */
static int passage_init(struct passage *passage, const struct log_step *seen, size_t count)
{
    *passage = (struct passage){.step = seen[0]};
    map_init(&passage->numbers);
    for (size_t i = 0; i < count; i++) {
        struct log_step *step = &passage->step;
        step->before_ns = seen[i].before_ns > step->before_ns ? seen[i].before_ns : step->before_ns;
        if (seen[i].is_measured && !step->is_measured) {
            step->add_ns = seen[i].add_ns;
            step->is_measured = 1;
        }
        if (!map_put(&passage->numbers, series_key(seen[i].member, seen[i].series), seen[i].number_after,
                     NULL))
            return -1;
    }
    return 0;
}

/* Whether an operation comes after the step: by its number if its series shows the step, else by its id. */
static int is_after(const struct passage *passage, const struct log_block *block,
                    const struct block_reader *rows, size_t row)
{
    int64_t number = block_value(rows, OPERATION_SEQUENCE, row, -1);
    const int64_t *first =
        number < 0 ? NULL : map_get(&passage->numbers, series_key(block->member, logs_series(rows, row)));
    return first ? number >= *first
                 : block->id + rows->values[OPERATION_ORDINAL][row] >= passage->step.operation_id;
}

static struct log_change change_of(const struct passage *passage, const struct log_block *block,
                                   const struct block_reader *rows, size_t row)
{
    int after = is_after(passage, block, rows, row);
    int64_t add_ns = passage->step.add_ns;
    int crosses_step = !after && is_torn(rows, row) &&
                       rows->values[OPERATION_DEVICE_BEGIN][row] + add_ns >=
                           logs_issued_ns(rows, row) - LOG_CLOCK_TOLERANCE_NS;
    return (struct log_change){.host_ns = after ? add_ns : 0,
                               .device_ns = after || crosses_step ? add_ns : 0};
}

static int move_block(const struct passage *passage, struct logs *logs, const struct log_block *block,
                      struct error *error)
{
    static const int columns[] = {LOG_COLUMNS};
    struct log_change changes[BLOCK_ROWS] = {{0}};
    int moves = 0;
    if (logs_open(logs, block->id, columns, sizeof columns / sizeof *columns, error))
        return -1;
    for (size_t row = 0; row < logs->reader.count; row++) {
        changes[row] = change_of(passage, block, &logs->reader, row);
        moves |= changes[row].host_ns || changes[row].device_ns;
    }
    return moves && (logs_open_whole(logs, block->id, error) || logs_replace(logs, block->id, changes, error))
               ? -1
               : 0;
}

static int save_step(const struct logs *logs, size_t ordinal, const struct log_step *step,
                     struct error *error)
{
    const int64_t values[] = {logs->process_id, (int64_t)ordinal,  step->before_ns,
                              -step->add_ns,    step->is_measured, step->operation_id};
    struct statement *add = store_prepare(logs->store, schema_join_logs_add_clock_step, error);
    int failed = !add;
    for (size_t i = 0; !failed && i < sizeof values / sizeof *values; i++)
        failed = statement_bind_integer(add, (int)i + 1, values[i], error);
    failed = failed || statement_step(add, error) < 0;
    statement_free(add);
    return failed ? -1 : 0;
}

static int apply(const struct finder *finder, struct logs *logs, size_t ordinal, struct error *error)
{
    struct passage passage;
    int failed = passage_init(&passage, finder->seen, finder->seen_count) ? error_no_memory(error) : 0;
    failed = failed || save_step(logs, ordinal, &passage.step, error);
    for (size_t at = 0; !failed && at < logs->block_count; at++)
        failed = move_block(&passage, logs, &logs->blocks[at], error);
    map_release(&passage.numbers);
    return failed ? -1 : 0;
}

static int finder_init(struct finder *finder, struct logs *logs, struct error *error)
{
    *finder = (struct finder){.logs = logs,
                              .latest_pace = -1,
                              .reaches = array_new(logs->member_count, sizeof *finder->reaches),
                              .seen = array_new(MOST_SEEN + 2 * MOST_DOUBTFUL + 1, sizeof *finder->seen)};
    map_init(&finder->series);
    return finder->seen && finder->reaches ? 0 : error_no_memory(error);
}

static void finder_release(struct finder *finder)
{
    map_release(&finder->series);
    free(finder->paces);
    free(finder->reaches);
    free(finder->seen);
}

/* 1: found and corrected one step; 0: no step left; -1 on error. */
static int correct_step(struct logs *logs, struct logs *other, size_t ordinal, struct error *error)
{
    struct finder finder;
    int outcome = finder_init(&finder, logs, error) || find_step(&finder, other, error) ? -1 : 0;
    if (outcome == 0 && finder.seen_count)
        outcome = apply(&finder, logs, ordinal, error) ? -1 : 1;
    finder_release(&finder);
    return outcome;
}

int logs_correct_clock(struct logs *logs, struct logs *other, struct error *error)
{
    int more = 1;
    for (size_t ordinal = 0; more == 1 && ordinal < MOST_STEPS; ordinal++)
        more = correct_step(logs, other, ordinal, error);
    return more < 0 ? -1 : 0;
}

int logs_find_step(struct logs *logs, struct logs *other, int *by_others, struct error *error)
{
    struct finder finder;
    int failed = finder_init(&finder, logs, error) || find_step(&finder, other, error);
    int found = finder.seen_count > 0;
    *by_others = finder.pauses.count || finder.inversions.count;
    finder_release(&finder);
    return failed ? -1 : found;
}
