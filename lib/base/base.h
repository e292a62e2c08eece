#ifndef NCCLPROF_BASE_BASE_H
#define NCCLPROF_BASE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct map_slot;

/* -------------------- buffer.c -------------------- */

/*
 * A growing byte array. A NUL always follows the content and is not counted in `length`, so `data` can be
 * used as a C string. The functions return -1 when out of memory and then leave the content unchanged.
 */
struct buffer {
    char *data; /* owned; never NULL after the first successful call */
    size_t length;
    size_t capacity;
};

#define BUFFER_INIT                              \
    {                                            \
        .data = NULL, .length = 0, .capacity = 0 \
    }

void buffer_release(struct buffer *buffer);

/* Empties the buffer and keeps its memory for reuse. */
void buffer_clear(struct buffer *buffer);

/* Makes room for `more` bytes beyond `length`. */
int buffer_reserve(struct buffer *buffer, size_t more);
int buffer_append(struct buffer *buffer, const void *bytes, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_append_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Gives the bytes to the caller, who frees them, and leaves the buffer empty. Returns NULL if the buffer
 * never held any bytes.
 */
char *buffer_detach(struct buffer *buffer);

/* -------------------- error.c -------------------- */

/*
 * Errors travel up as a chain of causes. The function that fails says what failed (error_set), each caller
 * that knows more adds one sentence (error_wrap), and main() prints the chain once, outermost cause first.
 *
 * An error needs no allocation, so running out of memory can be reported like any other error. Texts longer
 * than ERROR_TEXT_BYTES are truncated. A chain deeper than ERROR_DEPTH keeps its innermost and outermost
 * causes. Every function that can fail takes `struct error *error` as its last argument and returns -1 (or
 * NULL). A caller that does not need the text passes NULL.
 */

enum { ERROR_DEPTH = 8, ERROR_TEXT_BYTES = 768 };

struct error {
    int depth;
    int is_no_memory; /* the innermost cause is error_no_memory(): the input is not at fault */
    char cause[ERROR_DEPTH][ERROR_TEXT_BYTES]; /* [0] is the innermost */
};

#define ERROR_INIT \
    {              \
        .depth = 0 \
    }

/*
 * Discards the previous chain and starts a new one. Returns -1, so that a caller can write `return
 * error_set(...)`.
 */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set, followed by ": " and the text of errno value `number`. */
int error_set_errno(struct error *error, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds an outer cause to a chain. Returns -1. */
int error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Starts a chain with "out of memory". Returns -1. */
int error_no_memory(struct error *error);

void error_clear(struct error *error);

/* Lets compilers and static analyzers see that the functions below return -1. */
static inline int error_returned(void)
{
    return -1;
}

#define error_set(...) (error_set(__VA_ARGS__), error_returned())
#define error_set_errno(...) (error_set_errno(__VA_ARGS__), error_returned())
#define error_wrap(...) (error_wrap(__VA_ARGS__), error_returned())
#define error_no_memory(error) (error_no_memory(error), error_returned())

/* -------------------- text.c -------------------- */

/* How urgent a word on a terminal is. */
enum colour { COLOUR_NONE = 0, COLOUR_ALARM, COLOUR_CAUTION, COLOUR_CALM };

/* The ANSI sequence that starts a colour ("" for COLOUR_NONE), and the one that resets it. */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

/* Appends text that is already escaped, in this colour. Returns -1 when out of memory. */
int colour_text(struct buffer *buffer, enum colour colour, const char *text);

/* -------------------- map.c -------------------- */

static const uint64_t HASH_PRIME_A = 0x9E3779B97F4A7C15ull, HASH_PRIME_B = 0xC2B2AE3D27D4EB4Full;

/*
 * One round of a keyed hash (multiply, fold the high half into the low). Fast and well distributed, but not
 * cryptographic.
 */
static inline uint64_t hash_mix(uint64_t state, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)(state ^ value ^ HASH_PRIME_B) * HASH_PRIME_A;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (value << 1);
}

/* A random seed that stays the same within one thread. */
uint64_t hash_seed(void);

/*
 * The 128-bit digest of a byte stream. It does not depend on how the stream is split into updates, and is the
 * same in every run and on machines of either endianness. It distinguishes files; it does not resist
 * deliberate collisions.
 */
struct digest {
    uint64_t lane[2];
    uint64_t length_bytes;
    unsigned char tail[32]; /* bytes that do not fill a block yet */
};

void digest_init(struct digest *digest);
void digest_update(struct digest *digest, const void *bytes, size_t length);

/* Writes 32 hexadecimal digits and a NUL. */
void digest_hex(const struct digest *digest, char text[33]);

/* Assigns each distinct string a number, 0, 1, 2 ..., in the order of first appearance. */
struct intern {
    char **texts; /* the array and the strings are owned */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table of number + 1; 0 means free */
    size_t slot_count;
    uint64_t seed;
};

void intern_init(struct intern *intern);
void intern_release(struct intern *intern);

/*
 * Returns the number of `text`, which has `length` bytes and is copied if it is new, or -1 when out of
 * memory.
 */
int64_t intern_put(struct intern *intern, const char *text, size_t length);

/* The number of a text that was put in; -1: it was not. */
int64_t intern_find(const struct intern *intern, const char *text);

/* The text of a number that intern_put returned. Borrowed; valid as long as the intern. */
const char *intern_text(const struct intern *intern, int64_t number);

/*
 * A hash map with open addressing. A key is up to four 64-bit numbers, a value is one 64-bit number (an index
 * or a row id). Keys are hashed with a seed chosen in map_init, so that a hostile file cannot force
 * collisions.
 */
struct map_key {
    uint64_t part[4];
};

struct map {
    struct map_slot *slots; /* owned */
    size_t capacity;        /* a power of two, or 0 */
    size_t count;
    uint64_t seed;
};

void map_init(struct map *map);
void map_release(struct map *map);

/* The value of `key`, or NULL if there is none. Valid until the next map_put or map_remove. */
int64_t *map_get(const struct map *map, struct map_key key);

/*
 * Returns the value of `key`, inserting `value` if the key is absent. *added, if not NULL, is set to whether
 * it was inserted. Returns NULL when out of memory. Valid until the next map_put or map_remove.
 */
int64_t *map_put(struct map *map, struct map_key key, int64_t value, int *added);

/* Removes `key`, if present. */
void map_remove(struct map *map, struct map_key key);

/*
 * Sets times[i] to the number of times that values[i] occurs among all values. `times` has room for `count`.
 * Returns -1 when out of memory.
 */
int map_count(const uint64_t *values, size_t count, int64_t *times);

/* -------------------- buffer.c -------------------- */

/*
 * Makes room in a plain C array. `*items` (owned by the caller, NULL at first) holds `*capacity` items of
 * `item_bytes` each; after the call it holds at least `wanted`. Growth is geometric. Returns -1 when out of
 * memory or when the size overflows, and leaves the array unchanged then.
 *
 *     if (array_reserve((void **)&ops, &capacity, count + 1, sizeof *ops)) return error_no_memory(error);
 *     ops[count++] = op;
 */
int array_reserve(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

/*
 * calloc that is safe against overflow by a count from a hostile file. Returns NULL when out of memory. Free
 * with free().
 */
void *array_new(size_t count, size_t item_bytes);

/*
 * qsort that accepts NULL for an empty array, which the C standard does not allow. An array that is in order
 * takes one comparison per item.
 */
void array_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *));

/* -------------------- text.c -------------------- */

/* Whether a byte is a decimal digit, in any locale. */
static inline int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/*
 * Text in pieces of eight bytes, which takes a fraction of the instructions of a loop over its bytes. All
 * long inputs are read with these.
 */

/* The next eight bytes as a number, the first byte lowest. */
static inline uint64_t eight_bytes(const void *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* Counts the digits at the front of eight bytes: the addition sets the top bit of every byte above 9. */
static inline unsigned eight_digits(uint64_t bytes)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    bytes ^= 0x3030303030303030U;
    bytes = (((bytes & low) + 0x7676767676767676U) | bytes) & ~low;
    return bytes ? (unsigned)__builtin_ctzll(bytes) / 8 : 8;
}

/*
 * The number formed by the first `digits` (1 to 8) of eight bytes. Each multiplication joins neighboring
 * digits.
 */
static inline uint64_t eight_number(uint64_t bytes, unsigned digits)
{
    bytes <<= 64 - 8 * digits;
    bytes = (bytes & 0x0f0f0f0f0f0f0f0fU) * 2561 >> 8;
    bytes = (bytes & 0x00ff00ff00ff00ffU) * 6553601 >> 16;
    return (bytes & 0x0000ffff0000ffffU) * 42949672960001U >> 32;
}

/* Counts the spaces at the front of eight bytes. */
static inline unsigned eight_spaces(uint64_t bytes)
{
    bytes ^= 0x2020202020202020U;
    return bytes ? (unsigned)__builtin_ctzll(bytes) / 8 : 8;
}

/*
 * Counts the bytes before the first quote, backslash or control character: what a string of JSON does not
 * contain as it is. A subtraction sets the top bit of each byte below its operand, and maybe of later ones.
 */
static inline unsigned eight_plain(uint64_t bytes)
{
    const uint64_t ones = 0x0101010101010101U;
    uint64_t quote = bytes ^ ones * '"', backslash = bytes ^ ones * '\\';
    bytes =
        (((bytes - ones * 0x20) & ~bytes) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) &
        ones * 0x80;
    return bytes ? (unsigned)__builtin_ctzll(bytes) / 8 : 8;
}

/* Skips such bytes, except some of the last eight before `end`, for which the caller needs a loop. */
static inline const char *skip_plain(const char *at, const char *end)
{
    for (unsigned count = 8; count == 8 && end - at >= 8; at += count)
        count = eight_plain(eight_bytes(at));
    return at;
}

/*
 * Makes hostile text safe to show. For a terminal: control characters, escape sequences, direction overrides
 * and invalid UTF-8 become \xNN, so that one line stays one line and the terminal executes nothing. Returns
 * -1 when out of memory.
 */
int escape_terminal(struct buffer *buffer, const char *text, size_t length);

/*
 * escape_utf8 is for readers that accept any valid UTF-8: it replaces invalid bytes by U+FFFD and keeps the
 * rest, and returns -1 when out of memory. escape_is_utf8 returns whether the text is valid already.
 */
int escape_is_utf8(const char *text, size_t length);
int escape_utf8(struct buffer *buffer, const char *text, size_t length);

/*
 * Escapes text for HTML and XML, for element content and for attribute values in double quotes: as for a
 * terminal, and without markup. Returns -1 when out of memory.
 */
int escape_markup(struct buffer *buffer, const char *text, size_t length);

/* The number of terminal columns of escaped text: its characters without colour sequences. */
size_t escape_width(const char *text);

/* Pieces of JSON. All return -1 when out of memory. */

/* A value: the text, escaped and in quotes; null for NULL. */
int text_json_quote(struct buffer *json, const char *text);

/* Appends "name": before a value, preceded by a comma if one is needed. */
int text_json_key(struct buffer *json, const char *name);

int text_json_string(struct buffer *json, const char *name, const char *value);
int text_json_integer(struct buffer *json, const char *name, int64_t value);

/* Writes a number in decimal, and a NUL. Returns its end. */
enum { INTEGER_TEXT_BYTES = 24 };
char *integer_text(uint64_t value, char text[INTEGER_TEXT_BYTES]);

/* The shortest decimal number that reads back as the same double. */
enum { REAL_TEXT_BYTES = 40 };
void real_text(double value, char text[REAL_TEXT_BYTES]);

/*
 * Appends a word so that a shell reads it as it is: unchanged, in quotes, or, where escape_terminal would
 * change it, as the output of printf. Returns -1 when out of memory.
 */
int text_shell_word(struct buffer *text, const char *word);

/* A time with three significant digits for people: "1.20 ms", "3.41 s". Returns -1 when out of memory. */
int text_time(struct buffer *text, int64_t time_ns);

/* The width in columns of prose and tables when the output is not a terminal. */
enum { LINE_WIDTH = 80 };

/*
 * Appends one line of escaped text, broken at blanks into lines of at most `width` columns, each followed by
 * a newline. The first line keeps its indentation; continuation lines are indented by `hang` columns. A word
 * longer than a line is not broken and stands alone on its line. Returns -1 when out of memory.
 */
int wrap_line(struct buffer *buffer, const char *text, size_t length, size_t width, size_t hang);

/* The first byte of a line that wrap_text does not break, so that it can be copied. It is not written. */
#define UNBROKEN_LINE "\x1f"

/*
 * Wraps a text of several lines, each on its own. Continuation lines are indented by two columns more than
 * their first line.
 */
int wrap_text(struct buffer *buffer, const char *text, size_t length, size_t width);

/* Appends the bytes as padded base64 (RFC 4648, section 4). Returns -1 when out of memory. */
int base64_append(struct buffer *text, const void *bytes, size_t length);

/* -------------------- map.c -------------------- */

/*
 * Disjoint sets of the numbers 0 to count - 1, in an array of the caller. parent[i] is another member of i's
 * set, or i itself if i is the root of its set. Finding a root halves the path to it (Tarjan and van Leeuwen,
 * 1984).
 */

/* Puts each number in a set of its own. */
void disjoint_init(int32_t *parent, size_t count);

/* The root of a number's set. */
int32_t disjoint_root(int32_t *parent, int32_t number);

/*
 * Merges two sets; the smaller of their roots becomes the root. Returns 1, or 0 if they were one set already.
 */
int disjoint_unite(int32_t *parent, int32_t a, int32_t b);

/* -------------------- sort.c -------------------- */

/* Below, at or above 0 as `left` is less than, equal to or greater than `right`, for comparisons of items. */
static inline int compare_integers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

/* The same for items with several keys, given in pairs: the first pair that differs decides. */
static inline int compare_in_turn(const int32_t (*keys)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Sorts in ascending order, several times as fast as qsort. O(n log n) even in the worst case. */
void sort_integers(int64_t *values, size_t count);

/* Sorts in ascending order. The values must not contain NaN. */
void sort_reals(double *values, size_t count);

/*
 * The value that would be at index `rank` if the values were sorted; `rank` is below `count`. Reorders the
 * values. O(n) on average, O(n log n) in the worst case.
 */
int64_t select_integer(int64_t *values, size_t count, size_t rank);
double select_real(double *values, size_t count, size_t rank); /* the same; the values must not contain NaN */

/*
 * The most frequent value. The values must be sorted. Of two equally frequent values the smaller; 0 for no
 * values.
 */
int64_t most_frequent_integer(const int64_t *sorted, size_t count);

/* The index of the greatest value, the first of equal ones; -1 if none is above 0. */
int32_t greatest_above_zero(const int64_t *values, size_t count);

/* A sort key (a time, a cell, an owner) and the index of its item in a list. */
struct sort_entry {
    int64_t key;
    int32_t index;
};

/*
 * Sorts by key, ascending. The sort is stable, and linear if the list consists of a few ascending runs, as
 * traces do. `scratch` has room for `count` entries.
 */
void sort_entries(struct sort_entry *items, struct sort_entry *scratch, size_t count);

/* Whether an item comes before the wanted position. */
typedef int (*lower_bound_is_before)(const void *item, const void *wanted);

/*
 * Binary search: the index of the first of `count` items for which `is_before` is false; `count` if there is
 * none. The items for which it is true must come first. The function is inlined together with an `is_before`
 * that is known at the call, so it is as fast as a loop written in place.
 */
static inline __attribute__((always_inline)) size_t lower_bound(const void *items, size_t count,
                                                                size_t item_bytes,
                                                                lower_bound_is_before is_before,
                                                                const void *wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before((const char *)items + middle * item_bytes, wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * The index of `id` among `count` items of `item_bytes` each; -1 if it is absent. Each item begins with its
 * int64_t id, and ids ascend. Since ids are mostly consecutive, the search first tries the index where `id`
 * would be if ids were consecutive from item `near` on, and uses binary search otherwise.
 */
int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id);

/*
 * Ascending ids, each with its index in the order of insertion (from 0). Consecutive ids share one entry, so
 * they need no further memory.
 *
 *     struct id_runs ids = {0};
 *     if (id_runs_add(&ids, id)) return error_no_memory(error);
 *     int64_t index = id_runs_find(&ids, id);
 *     id_runs_release(&ids);
 */
struct id_run {
    int64_t id;   /* of the first id; must be the first member, find_id relies on it */
    size_t index; /* of the first id */
};

struct id_runs {
    struct id_run *items; /* owned */
    size_t run_count;
    size_t run_capacity;
    size_t count;  /* number of ids */
    size_t latest; /* the run that the last search found */
};

/* Adds an id, which must be greater than all earlier ones. Returns -1 when out of memory. */
int id_runs_add(struct id_runs *runs, int64_t id);

/* The index of an id; -1 if it is absent. Fast if the id is close to the one found last. */
int64_t id_runs_find(struct id_runs *runs, int64_t id);

/* The id at an index, which must be less than `count`. */
int64_t id_runs_at(const struct id_runs *runs, size_t index);

void id_runs_release(struct id_runs *runs);

/*
 * The two greatest of some values, and the rank that has the greatest. Initialize with {.rank = -1}; if
 * values may be negative, also set `most` and `second` to the smallest possible value.
 */
struct top_two {
    int64_t most;
    int64_t second;
    int32_t rank; /* -1: no value is greater than the initial one */
};

void top_two_add(struct top_two *top, int32_t rank, int64_t value);

/* -------------------- statistics.c -------------------- */

/* Robust statistics of integers. Without values the result is INT64_MIN, which equals TIME_UNKNOWN. */
/* The median of `count` values; the lower one of two. Reorders the values. TIME_UNKNOWN for no values. */
int64_t median_of(int64_t *values, size_t count);

/* The middle values of a list, from which its median without any one of the values follows. */
struct middles {
    int64_t low;  /* the median without a value greater than it; TIME_UNKNOWN if no value is left */
    int64_t high; /* the median without a value that is not greater than `low` */
    int64_t all;  /* the median of all values; the lower one of two */
};

/* The middles of `count` values, in linear time. Reorders the values. */
struct middles middles_of(int64_t *values, size_t count);

/* The median without one occurrence of `left_out`, which must be one of the values. */
static inline int64_t median_of_others(const struct middles *middles, int64_t left_out)
{
    return middles->low >= left_out ? middles->high : middles->low;
}

/* The standard deviation of a normal distribution divided by its median absolute deviation. */
static const double SIGMA_OF_DISTANCE = 1.4826;

/*
 * The standard deviation about `centre`, estimated from the median absolute deviation. Overwrites the values
 * with their distances.
 */
int64_t sigma_about(int64_t *values, size_t count, int64_t centre);

/* The quantile `part` (0 to 1) of `count` values. Sorts the values. */
int64_t quantile_of(int64_t *values, size_t count, double part);

/* The same in linear time. Reorders the values without sorting them. */
int64_t pick_quantile(int64_t *values, size_t count, double part);

/*
 * The baseline of a series of steps, most of which may be affected by a fault: the lower quartile, or, if
 * smaller, the greatest of the lowest tenth of the values (of at least two values). Reorders the values.
 * TIME_UNKNOWN for no values.
 */
int64_t baseline_quantile(int64_t *values, size_t count);

/*
 * Student's t distribution: the probability that chance alone makes a difference this large if the spread is
 * estimated from few values.
 */

/* The probability that |t| exceeds `t` (above 0) with `freedom` degrees of freedom; 1 if either is NaN. */
double student_beyond(double t, double freedom);

/* The t that |t| exceeds with probability `part` (above 0, at most 1). */
double student_limit(double part, double freedom);

/*
 * Holm's step-down procedure (1979) as a single level. A test is significant if its p-value is below the
 * returned level. The probability of any false positive among all `count` tests is then at most `level`, even
 * if the tests depend on each other. `chances` are the p-values; they get sorted.
 */
double holm_level(double *chances, size_t count, double level);

/*
 * `value` times `by`, clamped to the range of int64_t: times in a damaged or hostile file may be of any size.
 */
static inline int64_t scale(int64_t value, double by)
{
    double product = (double)value * by;
    if (product >= -(double)INT64_MIN)
        return INT64_MAX;
    return product > (double)INT64_MIN ? (int64_t)product : INT64_MIN;
}

/* -------------------- incomplete.c -------------------- */

struct follow;

/* Which item comes next after which, in several sequences of the same items that each lack some. */
struct follows {
    struct map pairs;
    struct follow *items; /* owned */
    size_t count;
    size_t capacity;
};

void follows_init(struct follows *follows);
void follows_release(struct follows *follows);
int follows_add(struct follows *follows, int32_t before, int32_t after); /* -1: out of memory */

/*
 * Sorts the items 0 to `count` - 1 in `list` so that each comes after those that precede it in most
 * sequences. Where these leave the order open, it stays; also if they contradict each other too much. -1: out
 * of memory.
 */
int follows_sort(struct follows *follows, int32_t *list, size_t count);

/*
 * Corrects the numbers with which parts of a sequence begin, each the least that was recorded of its part, if
 * most of them grow by the same amount: a begin that is off while later ones fit is set to what they show. A
 * part without numbers has -1, and gets one if its neighbors show it. Returns the growth; 0: they do not grow
 * evenly; -1: out of memory.
 */
int64_t even_begins(int64_t *begins, size_t count);

/* -------------------- clock_fit.c -------------------- */

/*
 * Clock offsets from difference constraints. This is pure mathematics without knowledge of NCCL.
 *
 * Each of `clock_count` clocks follows true = scale x local + offset. In each meeting no participant left
 * before the last one had come: for all its visits i, j, leave_i >= come_j in true time, so offset_j -
 * offset_i <= leave_i - come_j. Relative to clock `reference`, the offsets that satisfy all meetings form one
 * interval per clock (shortest paths, Bellman and Ford). The middle of the interval is the offset and half
 * its width is the uncertainty. No probability is involved: the true offset lies inside if the premises hold.
 *
 * Where participants of meetings stop at nearly the same time, the median difference of their stops is a
 * better estimate than the middle (align_clock.nearer_ns).
 */
struct align_visit {
    int32_t clock;
    int64_t come_ns; /* all on the local clock */
    int64_t leave_ns;
    int64_t stop_ns; /* if has_stop: when it stopped, at nearly the same time as the others */
    int has_stop;
};

/*
 * One meeting: consecutive visits. In a one-way meeting, the participant of the second visit did not leave
 * before that of the first had come, and nothing else is known: the other two times are not used.
 */
struct align_meeting {
    size_t first; /* index in visits */
    size_t count;
    int is_one_way; /* `count` is 2 */
};

/* The input of align_solve. The arrays are borrowed. */
struct align_problem {
    const struct align_visit *visits;
    const struct align_meeting *meetings;
    size_t meeting_count;
    int32_t clock_count;
    int32_t reference;
    int64_t slack_ns; /* recorded arrivals may be too late by this much */
};

enum align_state {
    ALIGN_SOLVED = 0,
    ALIGN_UNREACHED, /* no chain of meetings connects the clock to the reference */
    ALIGN_ROUGH,     /* all meetings are consistent if some arrivals were recorded later, by milliseconds at
                        most; the true offset may lie outside of its interval by as much */
    ALIGN_CONTRADICTORY /* no offsets satisfy all meetings, even with scales: the clock drifts, or ranks were
                           matched wrongly */
};

/* The result for one clock. */
struct align_clock {
    enum align_state state;
    int64_t offset_ns; /* to be added to scale x (local - origin) + origin */
    int64_t uncertainty_ns;
    int64_t nearer_ns; /* what to add to the offset so that stops agree best; 0: stops do not tell */
    int64_t doubt_ns;  /* how far the offset plus nearer_ns may be off: the uncertainty, or less by stops */
    double scale;
    int64_t origin_ns; /* the local time that scaling leaves as it is */
};

/* Converts a local time to the reference's rate, without adding the offset. */
int64_t align_scaled(double scale, int64_t origin_ns, int64_t local_ns);

/*
 * Fills `clocks`, which has room for clock_count. Tries scale 1 first. If the constraints then contradict
 * each other, fits scales relative to the reference by least squares over shared meetings and tries once
 * more, then without the few arrivals that contradict the others (a host that polls may notice them late),
 * and then with more slack. Returns -1 only when out of memory.
 */
int align_solve(const struct align_problem *problem, struct align_clock *clocks, struct error *error);

/* -------------------- parallel.c -------------------- */

/*
 * Threads for work that consists of independent items: the ranks of a job, the cells of a step. The result
 * does not depend on the number of threads if each item writes only to its own memory and all sums are
 * integer sums.
 */

/*
 * Processes the items from `first` up to but not including `end`. `worker` is a number below `threads` that
 * no other thread uses at the same time; use it to select scratch memory. Returns -1 when out of memory.
 */
typedef int (*parallel_piece)(void *context, size_t worker, size_t first, size_t end);

/*
 * Processes `count` items in pieces of `grain` with up to `threads` threads, one of which is the caller's,
 * and returns when all are done. Returns -1 when a piece ran out of memory; no further pieces are started
 * then. If threads cannot be created, the existing ones do the work. With one thread or one piece this is a
 * plain function call.
 */
int parallel_for(size_t count, size_t grain, size_t threads, parallel_piece piece, void *context);

/*
 * How many of `threads` threads to use for `count` items: as many as get at least `least` items each, but at
 * least one.
 */
size_t parallel_threads(size_t threads, size_t count, size_t least);

/* -------------------- build_id.c -------------------- */

/* Room for the build ID in hexadecimal digits, and a NUL. */
enum { BUILD_ID_BYTES = 65 };

/*
 * Sets `id` to the build ID of the running program, which is another one whenever the program is; "" if it
 * has none.
 */
void build_id(char id[BUILD_ID_BYTES]);

/* -------------------- sha256.c -------------------- */

/*
 * SHA-256 (FIPS 180-4) of a complete byte string. A Content-Security-Policy identifies scripts and styles by
 * it.
 */

enum { SHA256_BYTES = 32 };

void sha256(const void *bytes, size_t length, unsigned char digest[SHA256_BYTES]);

#endif
