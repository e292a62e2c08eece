/*
 * The processes of an nsys export, and the ranges of the program: their tags, and descriptions of calls.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nsys/nsys.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { PID_SHIFT = 24, PID_MASK = 0xffffff };

int64_t nsys_process_of(int64_t thread)
{
    return (int64_t)((uint64_t)thread & ~(uint64_t)PID_MASK);
}

int64_t nsys_pid_of(int64_t process)
{
    return (int64_t)((uint64_t)process >> PID_SHIFT & PID_MASK);
}

int64_t nsys_wall(const struct nsys_profile *profile, int64_t ns)
{
    return ns == TIME_UNKNOWN ? TIME_UNKNOWN : profile->epoch_ns + ns;
}

struct origin nsys_origin(const struct nsys_profile *profile, int64_t process, uint64_t hash)
{
    return (struct origin){.host = profile->host.length ? profile->host.data : NULL,
                           .pid = nsys_pid_of(process),
                           .communicator_hash = hash,
                           .rank = COUNT_UNKNOWN};
}

/* Limit on the ranges, above the number that a program of hours makes. */
enum { RANGES_MOST = 1 << 24 };

/* nsys' event types */
enum { TYPE_MARK = 34, TYPE_PUSH_POP = 59, TYPE_START_END = 60 };

/* Whether a range is of an operator of PyTorch (emit_nvtx, c10d) or of NCCL itself, not of the program. */
static int is_of_library(struct text text)
{
    static const char *const begins[] = {"nccl", "aten::", "c10d::", "torch::", "autograd::", "c10::"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text_begins(text, begins[i]))
            return 1;
    return text_contains(text, ", op_id = ") || text_contains(text, ", seq = ");
}

static int take_description(struct nsys_profile *profile, struct call_reader *calls,
                            const struct nsys_row *row, struct text text, struct error *error)
{
    struct origin origin = nsys_origin(profile, nsys_process_of(row->thread), 0);
    size_t taken;
    return call_line_read(calls, text, row->row, &origin, nsys_wall(profile, row->at.begin_ns), 0,
                          profile->sink, &taken, error);
}

static int add_range(struct nsys_profile *profile, const struct nsys_row *row)
{
    struct nsys_range range = {
        .thread = row->thread, .at = row->at, .text = -1, .number = row->number, .row = row->row};
    if (profile->range_count >= RANGES_MOST) {
        profile->is_full = 1;
        return 0;
    }
    if (row->text && (range.text = intern_put(&profile->texts, row->text, strlen(row->text))) < 0)
        return -1;
    if (array_reserve((void **)&profile->ranges, &profile->range_capacity, profile->range_count + 1,
                      sizeof *profile->ranges))
        return -1;
    profile->ranges[profile->range_count++] = range;
    return 0;
}

int nsys_take_range(struct nsys_profile *profile, struct call_reader *calls, const struct nsys_row *row,
                    struct error *error)
{
    struct text text = {row->text, row->text ? strlen(row->text) : 0};
    if (text.length && call_line_is_candidate(text))
        return take_description(profile, calls, row, text, error);
    if ((row->type != TYPE_PUSH_POP && row->type != TYPE_START_END) || row->domain != 0 ||
        row->at.end_ns == TIME_UNKNOWN || row->at.end_ns < row->at.begin_ns ||
        (text.length ? is_of_library(text) : row->number == COUNT_UNKNOWN))
        return 0;
    return add_range(profile, row) ? error_no_memory(error) : 0;
}

static int by_number(const void *a, const void *b)
{
    const struct nsys_range *left = a, *right = b;
    return compare_integers(left->number, right->number);
}

/* Sets the text of all ranges with this number; the ranges are sorted by number. */
static int set_text(struct nsys_profile *profile, int64_t number, const struct foreign_value *value)
{
    size_t low = 0, high = profile->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->ranges[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == profile->range_count || profile->ranges[low].number != number ||
        is_of_library((struct text){value->bytes, value->length}))
        return 0;
    int64_t text = intern_put(&profile->texts, value->bytes, value->length);
    for (; low < profile->range_count && profile->ranges[low].number == number; low++)
        if (profile->ranges[low].text < 0)
            profile->ranges[low].text = text;
    return text < 0 ? -1 : 0;
}

int nsys_read_range_texts(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"id", "value"};
    const struct foreign_tables *tables = profile->tables;
    struct foreign_value row[2];
    array_sort(profile->ranges, profile->range_count, sizeof *profile->ranges, by_number);
    if (!profile->range_count || profile->ranges[profile->range_count - 1].number == COUNT_UNKNOWN)
        return 0;
    int more = tables->open(tables->context, "StringIds", columns, 2, error);
    while (more == 1 && (more = tables->next(tables->context, row, error)) == 1)
        if (row[0].kind == FOREIGN_INTEGER && row[1].kind == FOREIGN_TEXT &&
            set_text(profile, row[0].integer, &row[1]))
            return error_no_memory(error);
    return more;
}

static int by_thread(const void *a, const void *b)
{
    const struct nsys_range *left = a, *right = b;
    int order = compare_integers(left->thread, right->thread);
    order = order ? order : compare_integers(left->at.begin_ns, right->at.begin_ns);
    order = order ? order : compare_integers(right->at.end_ns, left->at.end_ns);
    return order ? order : compare_integers((int64_t)left->row, (int64_t)right->row);
}

/* The open ranges of a thread, the innermost last. */
struct open_ranges {
    size_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Hands over the tag that applies from a moment on: that of the innermost open range, or none. */
static int emit_tag(const struct nsys_profile *profile, const struct open_ranges *open,
                    const struct nsys_range *of, int64_t at_ns, struct error *error)
{
    const struct nsys_range *range = open->count ? &profile->ranges[open->items[open->count - 1]] : NULL;
    struct event event = {.kind = EVENT_TAG, .origin = nsys_origin(profile, nsys_process_of(of->thread), 0)};
    event.origin.offset = of->row;
    event.tag = (struct tag_mark){.text = range ? intern_text(&profile->texts, range->text) : NULL,
                                  .at_ns = nsys_wall(profile, at_ns),
                                  .depth = (int64_t)open->count,
                                  .process_wide = 1,
                                  .is_end = !range};
    return profile->sink->event(profile->sink->context, &event, error);
}

/* Closes the ranges that end at or before a moment. One that is not the innermost ends with those inside it.
 */
static int close_ranges(const struct nsys_profile *profile, struct open_ranges *open, int64_t at_ns,
                        struct error *error)
{
    while (open->count) {
        const struct nsys_range *last = &profile->ranges[open->items[open->count - 1]];
        int64_t ended_ns = last->at.end_ns;
        if (ended_ns > at_ns)
            return 0;
        while (open->count && profile->ranges[open->items[open->count - 1]].at.end_ns <= ended_ns)
            open->count--;
        if (emit_tag(profile, open, last, ended_ns, error))
            return -1;
    }
    return 0;
}

static int emit_thread(const struct nsys_profile *profile, size_t first, size_t past,
                       struct open_ranges *open, struct error *error)
{
    for (size_t i = first; i < past; i++) {
        const struct nsys_range *range = &profile->ranges[i];
        if (range->text < 0)
            continue;
        if (close_ranges(profile, open, range->at.begin_ns, error))
            return -1;
        if (array_reserve((void **)&open->items, &open->capacity, open->count + 1, sizeof *open->items))
            return error_no_memory(error);
        open->items[open->count++] = i;
        if (emit_tag(profile, open, range, range->at.begin_ns, error))
            return -1;
    }
    return close_ranges(profile, open, INT64_MAX, error);
}

/* Returns the length of a text without the number at its end and what separates it: "step" of "step #12". */
static size_t length_without_number(const char *text)
{
    size_t length = strlen(text);
    while (length && is_digit(text[length - 1]))
        length--;
    while (text[length] && length && strchr(" _-#:=.", text[length - 1]))
        length--;
    return length;
}

/* How often ranges occur on each thread whose texts differ in the number at their end only. */
struct counters {
    struct map counts;   /* (thread, text without number) -> ranges */
    struct map distinct; /* (thread, text without number) -> different texts */
    struct map texts;    /* (thread, text) -> 1 */
};

/* Fewer different numbers do not show whether they count. */
enum { NUMBERS_LEAST = 3 };

static int count_in(struct map *map, int64_t thread, int64_t text)
{
    int64_t *count = map_put(map, (struct map_key){{(uint64_t)thread, (uint64_t)text}}, 0, NULL);
    return count ? (int)(++*count, 0) : -1;
}

static int count_range(struct counters *counters, const struct nsys_range *range, int64_t word)
{
    int added;
    struct map_key key = {{(uint64_t)range->thread, (uint64_t)range->text}};
    return !map_put(&counters->texts, key, 1, &added) || count_in(&counters->counts, range->thread, word) ||
                   (added && count_in(&counters->distinct, range->thread, word))
               ? -1
               : 0;
}

static int64_t count_of(const struct map *map, int64_t thread, int64_t text)
{
    const int64_t *count = map_get(map, (struct map_key){{(uint64_t)thread, (uint64_t)text}});
    return count ? *count : 0;
}

/* Sets words[i] to the text of range i without its number; to the text itself if it has none. */
static int find_words(struct nsys_profile *profile, struct counters *counters, int64_t *words)
{
    for (size_t i = 0; i < profile->range_count; i++) {
        const struct nsys_range *range = &profile->ranges[i];
        if (range->text < 0)
            continue;
        const char *text = intern_text(&profile->texts, range->text);
        size_t length = length_without_number(text);
        words[i] = length ? intern_put(&profile->texts, text, length) : range->text;
        if (words[i] < 0 || (words[i] != range->text && count_range(counters, range, words[i])))
            return -1;
    }
    return 0;
}

/*
 * A range whose number is another one each time, such as "step 12", loses the number: phases of a step have
 * the same tag in each step. The number of "layer 3" occurs in each step and stays.
 */
static int drop_counts(struct nsys_profile *profile, struct error *error)
{
    int64_t *words = array_new(profile->range_count + 1, sizeof *words);
    struct counters counters;
    map_init(&counters.counts);
    map_init(&counters.distinct);
    map_init(&counters.texts);
    int failed = !words || find_words(profile, &counters, words);
    for (size_t i = 0; i < profile->range_count && !failed; i++) {
        struct nsys_range *range = &profile->ranges[i];
        if (range->text < 0 || words[i] == range->text)
            continue;
        int64_t distinct = count_of(&counters.distinct, range->thread, words[i]);
        if (distinct >= NUMBERS_LEAST && distinct == count_of(&counters.counts, range->thread, words[i]))
            range->text = words[i];
    }
    map_release(&counters.counts);
    map_release(&counters.distinct);
    map_release(&counters.texts);
    free(words);
    return failed ? error_no_memory(error) : 0;
}

int nsys_emit_tags(struct nsys_profile *profile, struct error *error)
{
    struct open_ranges open = {.items = NULL};
    int failed = drop_counts(profile, error);
    array_sort(profile->ranges, profile->range_count, sizeof *profile->ranges, by_thread);
    for (size_t first = 0, past; first < profile->range_count && !failed; first = past) {
        int64_t thread = profile->ranges[first].thread;
        for (past = first; past < profile->range_count && profile->ranges[past].thread == thread; past++)
            ;
        if (map_get(&profile->threads, (struct map_key){{(uint64_t)thread}}))
            failed = emit_thread(profile, first, past, &open, error);
    }
    free(open.items);
    return failed;
}
