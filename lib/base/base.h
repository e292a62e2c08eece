#ifndef NCCLPROF_BASE_BASE_H
#define NCCLPROF_BASE_BASE_H

#include <stddef.h>
#include <stdint.h>

struct map_slot;

/* -------------------- buffer.c -------------------- */

/*
 * A growing run of bytes, always followed by a NUL that `length` does not count, so that `data` serves as
 * a C string. Functions return -1 when memory is out and leave the content as it was.
 */
struct buffer {
    char *data; /* owned; never NULL after the first success */
    size_t length;
    size_t capacity;
};

#define BUFFER_INIT                              \
    {                                            \
        .data = NULL, .length = 0, .capacity = 0 \
    }

void buffer_release(struct buffer *buffer);

/* Empties it; the memory is kept for the next use. */
void buffer_clear(struct buffer *buffer);

/* Room for `more` bytes beyond the length. */
int buffer_reserve(struct buffer *buffer, size_t more);
int buffer_append(struct buffer *buffer, const void *bytes, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_append_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hands the bytes to the caller, who frees them; the buffer is empty again. NULL when it never held any. */
char *buffer_detach(struct buffer *buffer);

/* -------------------- error.c -------------------- */

/*
 * Errors travel up as a chain of causes: the place that fails says what failed (error_set), each caller
 * that knows more adds one sentence (error_wrap), and main() prints the chain once, outermost first.
 *
 * An error needs no allocation, so that running out of memory can be told like anything else. Texts
 * longer than ERROR_TEXT_BYTES are cut, chains deeper than ERROR_DEPTH keep the innermost and outermost
 * causes. Every function that can fail takes `struct error *error` as its last argument, which may be
 * NULL for a caller that does not care, and returns -1 (or NULL).
 */

enum { ERROR_DEPTH = 8, ERROR_TEXT_BYTES = 768 };

struct error {
    int depth;
    int is_no_memory; /* the innermost cause is error_no_memory(): nothing is wrong with the input */
    char cause[ERROR_DEPTH][ERROR_TEXT_BYTES]; /* [0] is the innermost */
};

#define ERROR_INIT \
    {              \
        .depth = 0 \
    }

/* Forgets what was there and starts a chain. Returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set, with ": " and the text of errno value `number` after it. */
int error_set_errno(struct error *error, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds an outer cause to a chain. Returns -1. */
int error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory" as the innermost cause. Returns -1. */
int error_no_memory(struct error *error);

void error_clear(struct error *error);

/* Lets compilers and analysers see that these return -1. */
static inline int error_returned(void)
{
    return -1;
}

#define error_set(...) (error_set(__VA_ARGS__), error_returned())
#define error_set_errno(...) (error_set_errno(__VA_ARGS__), error_returned())
#define error_wrap(...) (error_wrap(__VA_ARGS__), error_returned())
#define error_no_memory(error) (error_no_memory(error), error_returned())

/* -------------------- text.c -------------------- */

/* How much a word on a terminal asks to be looked at. */
enum colour { COLOUR_NONE = 0, COLOUR_ALARM, COLOUR_CAUTION, COLOUR_CALM };

/* The sequence that begins a colour, "" for none, and the one that ends it. */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

/* Appends escaped text in its colour. -1 when memory is out. */
int colour_text(struct buffer *buffer, enum colour colour, const char *text);

/* -------------------- map.c -------------------- */

static const uint64_t HASH_PRIME_A = 0x9E3779B97F4A7C15ull, HASH_PRIME_B = 0xC2B2AE3D27D4EB4Full;

/* One round of a keyed mixer (multiply, fold the high half): not cryptographic, but fast and well spread. */
static inline uint64_t hash_mix(uint64_t state, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)(state ^ value ^ HASH_PRIME_B) * HASH_PRIME_A;
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (value << 1);
}

/* A seed that differs from run to run, the same within one. */
uint64_t hash_seed(void);

/*
 * The 128-bit digest of a stream of bytes, whatever pieces it comes in; the same in every run and on every
 * machine of either endianness. It tells files apart; it does not withstand somebody who wants a collision.
 */
struct digest {
    uint64_t lane[2];
    uint64_t length_bytes;
    unsigned char tail[32]; /* bytes that do not fill a block yet */
};

void digest_init(struct digest *digest);
void digest_update(struct digest *digest, const void *bytes, size_t length);

/* 32 hexadecimal digits and a NUL. */
void digest_hex(const struct digest *digest, char text[33]);

/* Gives every distinct string a small number, 0, 1, 2 ... in order of first sight. */
struct intern {
    char **texts; /* owned, as are the strings */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table of number + 1; 0 is free */
    size_t slot_count;
    uint64_t seed;
};

void intern_init(struct intern *intern);
void intern_release(struct intern *intern);

/* The number of `text` (of `length` bytes, copied when new), or -1 when memory is out. */
int64_t intern_put(struct intern *intern, const char *text, size_t length);

/* The text under a number that intern_put gave. Borrowed; lives as long as the intern. */
const char *intern_text(const struct intern *intern, int64_t number);

/*
 * A hash map from keys of up to four 64-bit numbers to one 64-bit number (an index or a row id). Keys mix
 * through a seed chosen at map_init, so that a file cannot be made to collide. Open addressing.
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

/* The value under `key`, or NULL. Valid until the next map_put or map_remove. */
int64_t *map_get(const struct map *map, struct map_key key);

/*
 * The value under `key`, which is put there as `value` when it was absent (*added, if not NULL, tells).
 * NULL when memory is out. Valid until the next map_put or map_remove.
 */
int64_t *map_put(struct map *map, struct map_key key, int64_t value, int *added);

/* Forgets `key`; nothing happens when it is absent. */
void map_remove(struct map *map, struct map_key key);

/* How often each value comes among all of them, in `times` (room for count). Returns -1 when memory is out.
 */
int map_count(const uint64_t *values, size_t count, int64_t *times);

/* -------------------- buffer.c -------------------- */

/*
 * Makes room in a plain C array of items. `*items` (owned by the caller, NULL at first) holds `*capacity`
 * items of `item_bytes` each; afterwards it holds at least `wanted`. Growth is geometric. Returns -1 when
 * memory is out or the size overflows; the array is then as it was.
 *
 *     if (array_reserve((void **)&ops, &capacity, count + 1, sizeof *ops)) return error_no_memory(error);
 *     ops[count++] = op;
 */
int array_reserve(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

/* calloc that a count from a hostile file cannot overflow; NULL when memory is out. Freed with free(). */
void *array_new(size_t count, size_t item_bytes);

/* qsort that takes NULL for an array without items, as C's own may not. */
void array_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *));

/* -------------------- text.c -------------------- */

/*
 * Makes hostile text fit to be shown. For a terminal: control characters, escapes, direction overrides and
 * invalid UTF-8 become \xNN, so that one line stays one line and nothing is executed. For JSON: RFC 8259
 * (without the quotes around it), invalid UTF-8 as U+FFFD. Both return -1 when memory is out.
 */
int escape_terminal(struct buffer *buffer, const char *text, size_t length);

/* For readers that take nothing but UTF-8 and any character of it: what is none becomes U+FFFD, the rest
 * stays as it is. Whether it has to; -1 when memory is out. */
int escape_is_utf8(const char *text, size_t length);
int escape_utf8(struct buffer *buffer, const char *text, size_t length);

/* Likewise for HTML and XML, as text and between double quotes: as for a terminal, and no markup. */
int escape_markup(struct buffer *buffer, const char *text, size_t length);

/* Columns that escaped text takes: its characters, without colours (text.c). */
size_t escape_width(const char *text);

/* Pieces of JSON. All return -1 when memory is out. */

/* A value: the text, escaped, between quotes; null for NULL. */
int text_json_quote(struct buffer *json, const char *text);

/* "name": ahead of a value, with a comma where one is needed. */
int text_json_key(struct buffer *json, const char *name);

int text_json_string(struct buffer *json, const char *name, const char *value);
int text_json_integer(struct buffer *json, const char *name, int64_t value);

/* The shortest decimal number that reads back as the same double. */
enum { REAL_TEXT_BYTES = 40 };
void real_text(double value, char text[REAL_TEXT_BYTES]);

/* "1.20 ms", "3.41 s": three figures for people. -1 when memory is out. */
int text_time(struct buffer *text, int64_t time_ns);

/* What a line of prose and a table are laid out for where there is no terminal. */
enum { LINE_WIDTH = 80 };

/*
 * Appends a line of escaped text broken at blanks into lines of at most `width` columns, a newline behind
 * each. It begins as it does; what follows is indented by `hang` columns. A word that is longer than a line
 * stands alone, whole. -1 when memory is out.
 */
int wrap_line(struct buffer *buffer, const char *text, size_t length, size_t width, size_t hang);

/* The same of a text of several lines, each by itself: what follows is indented by two more than its
 * beginning.
 */
int wrap_text(struct buffer *buffer, const char *text, size_t length, size_t width);

/* Bytes as base64 (RFC 4648, section 4), padded. -1 when memory is out. */
int base64_append(struct buffer *text, const void *bytes, size_t length);

/* -------------------- map.c -------------------- */

/*
 * Disjoint sets of the numbers 0 to count - 1, in an array of the caller's: parent[i] is another of i's set,
 * or i itself, which then stands for the set. Paths are halved on the way (Tarjan and van Leeuwen, 1984).
 */

/* Each number in a set of its own. */
void disjoint_init(int32_t *parent, size_t count);

/* Who stands for a number's set. */
int32_t disjoint_root(int32_t *parent, int32_t number);

/* Makes one set of two, for which the lesser of their roots stands. Returns 1, or 0 where they were one. */
int disjoint_unite(int32_t *parent, int32_t a, int32_t b);

/* -------------------- sort.c -------------------- */

/*
 * Sorts numbers, least first, several times as fast as qsort. No order of them makes it slow: n log n at
 * worst.
 */
void sort_integers(int64_t *values, size_t count);

/* Sorts numbers, least first, of which all are some: no NaN. */
void sort_reals(double *values, size_t count);

/* The value that would stand at index `rank`, below `count`, were they sorted. They are reordered; as fast.
 */
int64_t select_integer(int64_t *values, size_t count, size_t rank);

/* What most of them are, sorted as they have to be; of two that are as common the lesser, of none 0. */
int64_t usual_integer(const int64_t *sorted, size_t count);

/* Where something stands in a list, and what orders it: a time, a cell, whom it belongs to. */
struct sort_entry {
    int64_t key;
    int32_t index;
};

/*
 * Sorts by key, least first; what has the same key stays in the order it was in. Linear where the list is
 * made of a few ascending runs, as traces are. `scratch` has room for `count`.
 */
void sort_entries(struct sort_entry *items, struct sort_entry *scratch, size_t count);

/* Whether an item stands before what is looked for. */
typedef int (*lower_bound_is_before)(const void *item, const void *wanted);

/*
 * Where the first of `count` items stands that `is_before` does not hold for; `count` where it holds for all.
 * Items that it holds for come first. Inlined, and with it a function that is known where it is called from:
 * no slower than a loop written there.
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
 * Where an id stands among `count` items in ascending order of theirs, which each begins with and of which
 * each takes `item_bytes`; -1 when it is not there. Ids mostly follow each other, so that it is looked for
 * first where it would stand if they did from item `near` on: at once when it does, else by halving.
 */
int64_t find_id(const void *items, size_t count, size_t item_bytes, size_t near, int64_t id);

/*
 * Ascending ids and the index of each in the order in which they were added, from 0 on. Ids that follow each
 * other take no room.
 *
 *     struct id_runs ids = {0};
 *     if (id_runs_add(&ids, id)) return error_no_memory(error);
 *     int64_t index = id_runs_find(&ids, id);
 *     id_runs_release(&ids);
 */
struct id_run {
    int64_t id;   /* of its first: find_id and such look for it */
    size_t index; /* likewise */
};

struct id_runs {
    struct id_run *items; /* owned */
    size_t run_count;
    size_t run_capacity;
    size_t count;  /* of ids */
    size_t latest; /* the run in which one was found last */
};

/* `id` is greater than all before it. -1 when memory is out. */
int id_runs_add(struct id_runs *runs, int64_t id);

/* -1: it is not there. Quick where what is looked for is near what was found last. */
int64_t id_runs_find(struct id_runs *runs, int64_t id);

/* The id at an index, which is less than `count`. */
int64_t id_runs_at(const struct id_runs *runs, size_t index);

void id_runs_release(struct id_runs *runs);

/* The greatest of some values, by rank, and the next. Starts out as {.rank = -1}; where values may be below
 * 0, with the least there is as `most` and `second`. */
struct top_two {
    int64_t most;
    int64_t second;
    int32_t rank; /* -1: none is above what it started with */
};

void top_two_add(struct top_two *top, int32_t rank, int64_t value);

/* -------------------- statistics.c -------------------- */

/* Robust statistics of whole numbers. There is no value where there are none: INT64_MIN, as TIME_UNKNOWN is.
 */
/* The middle of `count` values, which are reordered; the lower of two. TIME_UNKNOWN for none. */
int64_t median_of(int64_t *values, size_t count);

/* The middle ones of a list, for its medians without one of them or the other. */
struct middles {
    int64_t low;  /* the median without a greater value; TIME_UNKNOWN where none are left */
    int64_t high; /* without one that is no greater than low */
    int64_t all;  /* of all; of two the lower */
};

/* Of `count` values, which are reordered; in linear time. */
struct middles middles_of(int64_t *values, size_t count);

/* The median of the others, without one occurrence of `left_out`, which is one of them. */
static inline int64_t median_of_others(const struct middles *middles, int64_t left_out)
{
    return middles->low >= left_out ? middles->high : middles->low;
}

/* The standard deviation of a normal distribution is so many times the median distance from its middle. */
static const double SIGMA_OF_DISTANCE = 1.4826;

/* Their standard deviation about a centre, from the median of their distances, which take their places. */
int64_t sigma_about(int64_t *values, size_t count, int64_t centre);

/* The value at fraction `part` (0 to 1) of `count` values, which are reordered. */
int64_t quantile_of(int64_t *values, size_t count, double part);

/* The same in linear time; the values are not sorted afterwards. */
int64_t pick_quantile(int64_t *values, size_t count, double part);

/*
 * The usual value of a row of steps that a fault may fill for the most part: the lower quartile, or what the
 * least tenth of them are at most, two at least, if that is less. They are reordered. TIME_UNKNOWN: none.
 */
int64_t baseline_quantile(int64_t *values, size_t count);
int64_t pick_quiet(int64_t *values, size_t count); /* as pick_quantile */

/* Student's t: how often chance alone makes a difference so great, where its spread is known from few values
 * only. */

/* The chance that |t| is beyond `t` with `freedom` degrees of freedom, above 0; 1 where either is no number.
 */
double student_beyond(double t, double freedom);

/* The t beyond which |t| is by chance `part` of the time, above 0 and at most 1. */
double student_limit(double part, double freedom);

/*
 * Holm's step-down (1979) as one level: what each of `count` questions has to be below to be answered with
 * yes, so that all answers of yes are right but for a chance of `level`, whatever the questions have to do
 * with each other. `chances` are those of the questions; they are sorted.
 */
double holm_level(double *chances, size_t count, double level);

/* `value` times `by`, cut off where it does not fit: times out of a strange file may be as long as times get.
 */
static inline int64_t scale(int64_t value, double by)
{
    double product = (double)value * by;
    if (product >= -(double)INT64_MIN)
        return INT64_MAX;
    return product > (double)INT64_MIN ? (int64_t)product : INT64_MIN;
}

/* -------------------- clock_fit.c -------------------- */

/*
 * Clock offsets by difference constraints: pure mathematics.
 *
 * Each of `clock_count` clocks runs at true = scale x local + offset. Of every meeting it is known that
 * nobody left before the last one had come: for all its visits i, j: leave_i >= come_j in true time, so that
 * offset_j - offset_i <= leave_i - come_j. The offsets that satisfy all meetings form, relative to clock
 * `reference`, an interval per clock (shortest paths, Bellman and Ford); its middle is the offset, half its
 * width the uncertainty. No probability is involved: the true offset is inside if the premises hold.
 */
struct align_visit {
    int32_t clock;
    int64_t come_ns; /* local */
    int64_t leave_ns;
};

struct align_meeting {
    size_t first; /* in visits */
    size_t count;
};

struct align_problem {
    const struct align_visit *visits;
    const struct align_meeting *meetings;
    size_t meeting_count;
    int32_t clock_count;
    int32_t reference;
    int64_t slack_ns; /* comes may be told late by so much */
};

enum align_state {
    ALIGN_SOLVED = 0,
    ALIGN_UNREACHED,    /* no chain of meetings links the clock with the reference */
    ALIGN_CONTRADICTORY /* no offsets satisfy all meetings, even with scales: drift, or a wrong join */
};

struct align_clock {
    enum align_state state;
    int64_t offset_ns; /* to be added to scale x (local - origin) + origin */
    int64_t uncertainty_ns;
    double scale;
    int64_t origin_ns; /* local time around which the scale turns */
};

/* A local time brought to the reference's pace; without the offset. */
int64_t align_scaled(double scale, int64_t origin_ns, int64_t local_ns);

/*
 * Fills `clocks` (clock_count of them). Tries scale 1 first; where that contradicts itself, fits scales
 * against the reference by least squares over shared meetings and tries once more. -1 only when memory is
 * out.
 */
int align_solve(const struct align_problem *problem, struct align_clock *clocks, struct error *error);

/* -------------------- parallel.c -------------------- */

/*
 * Threads for work that falls into items, none of which needs another's result: the ranks of a job, the
 * places of a step. What comes out is the same with any number of threads as long as items write to places of
 * their own, and what they add up are integers.
 */

/*
 * Does items `first` to before `end`. `worker` is a number below the `threads` asked for, of which nobody
 * else makes use meanwhile: scratch memory goes by it. -1 when memory is out.
 */
typedef int (*parallel_piece)(void *context, size_t worker, size_t first, size_t end);

/*
 * Does `count` items in pieces of `grain` with up to `threads` threads, of which the caller is one, and
 * returns when all are done: -1 when memory was out for a piece, after which no more are begun. Where threads
 * cannot be had, those that can do the work. One thread, or one piece, is a plain call.
 */
int parallel_for(size_t count, size_t grain, size_t threads, parallel_piece piece, void *context);

/* How many threads are worth their while: as many as have `least` items each, one at least. */
size_t parallel_threads(size_t threads, size_t count, size_t least);

/* -------------------- sha256.c -------------------- */

/* SHA-256 (FIPS 180-4) of a text at once: what a Content-Security-Policy names scripts and styles by. */

enum { SHA256_BYTES = 32 };

void sha256(const void *bytes, size_t length, unsigned char digest[SHA256_BYTES]);

#endif
