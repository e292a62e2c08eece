#ifndef NCCLPROF_FORMAT_INTERNAL_H
#define NCCLPROF_FORMAT_INTERNAL_H

#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct format_sink;
struct input;

/* -------------------- registry.c -------------------- */

/* A proxy operation with more network steps than this comes as several records. */
enum { FORMAT_STEPS_AT_ONCE = 4096 };

/* -------------------- sniff.c -------------------- */

/*
 * Telling traces from what only speaks of them: programs and pages that hold a trace's words lie in the same
 * directories as traces do.
 */

/*
 * The first `word` at or after `from` that may stand in a trace: in a text that begins with a brace or
 * bracket, or, where its beginning is lost, in a line that begins with an object whose first key (with its
 * quotes) is `first_key`. `from` points into the `length` bytes of text. NULL when there is none.
 */
const char *sniff_find(const char *text, size_t length, const char *from, const char *word,
                       const char *first_key);

int sniff_is_space(char byte);

/* The program that packed what begins with these bytes and unpacks it with -dc; NULL when none is known. Not
 * gzip. */
const char *sniff_packer(const char *bytes, size_t length);

/*
 * What else lies beside traces, told by the beginning of a file, and what to do with it. One that becomes a
 * format of its own leaves the table.
 */

/* "looks like ..."; NULL: nothing that is known here. */
const char *unsupported_find(const char *bytes, size_t length);

/* Likewise, only what is so whatever formats make of its content: traces in an archive, say. */
const char *unsupported_find_certain(const char *bytes, size_t length);

/* As unsupported_find, and for any other file what it is at all: "unknown binary data" and the like. */
const char *unsupported_describe(const char *bytes, size_t length);

/* The digits at the end of a file's name, endings such as ".json.gz" left out; COUNT_UNKNOWN: none. */
int64_t rank_of_path(const char *path);

/* The number behind "rank" in a file's name, else that at its end: "rank3_memory.pickle"; COUNT_UNKNOWN. */
int64_t rank_named_in_path(const char *path);

/* -------------------- scan.c -------------------- */

/*
 * Reads text that looks exactly as expected: fixed words with values between them, described by lists of
 * struct scan_field. Anything unexpected, valid JSON or not, is refused, and left to who reads any JSON
 * (lib/input's json.h). What is accepted means the same to both.
 */

enum scan_type {
    SCAN_NOTHING = 0,     /* the fixed words alone */
    SCAN_INTEGER,         /* int64_t */
    SCAN_NATURAL,         /* int64_t, not below 0 */
    SCAN_NATURAL_OR_NONE, /* the same, or -1 */
    SCAN_UNSIGNED,        /* uint64_t */
    SCAN_HEXADECIMAL,     /* uint64_t, digits without 0x */
    SCAN_ADDRESS,         /* uint64_t as printf's %p has it: "0x55d0", or "(nil)" for 0 */
    SCAN_MOMENT,          /* int64_t ns from microseconds, mostly "123.456789"; TIME_UNKNOWN when 0 */
    SCAN_MICROSECONDS,    /* int64_t ns from whole microseconds; TIME_UNKNOWN when 0 */
    SCAN_TEXT,            /* struct scan_text, up to the closing quote; without escapes */
    SCAN_FUNCTION,        /* enum function, likewise */
    SCAN_DATATYPE,        /* enum datatype, likewise */
    SCAN_DATATYPE_WORD,   /* ... up to a comma: "nccl" has been read, the rest of the word follows */
    SCAN_DATATYPE_NUMBER, /* enum datatype from ncclDataType_t */
    SCAN_ALGORITHM,
    SCAN_PROTOCOL,
    SCAN_FLAG,         /* int, 0 or 1 */
    SCAN_SKIP_TEXT,    /* a text that nobody wants, up to the closing quote; without escapes */
    SCAN_SKIP_INTEGER, /* an integer that nobody wants */
    SCAN_SKIP_UNSIGNED,
    SCAN_SKIP_DECIMAL /* "12.5" that nobody wants */
};

/* Fixed words and the value behind them, which goes to an offset in the struct being filled. */
struct scan_field {
    const char *words;
    size_t length; /* of the words */
    enum scan_type type;
    size_t offset;
};

#define SCAN_WORDS(text) text, sizeof(text) - 1

/* A piece of the text; not followed by a NUL. */
struct scan_text {
    const char *text;
    size_t length;
};

/* The eight bytes at a place, the first one lowest. */
static inline uint64_t scan_eight_bytes(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* How many digits there are at the front of eight bytes: adding lifts what is above 9 to the top bit. */
static inline unsigned scan_digits_of_eight(uint64_t bytes)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    bytes ^= 0x3030303030303030U;
    bytes = (((bytes & low) + 0x7676767676767676U) | bytes) & ~low;
    return bytes ? (unsigned)__builtin_ctzll(bytes) / 8 : 8;
}

/* The number that the first `digits`, 1 to 8, of eight bytes spell: each step joins neighbours. */
static inline uint64_t scan_number_of_eight(uint64_t bytes, unsigned digits)
{
    bytes <<= 64 - 8 * digits;
    bytes = (bytes & 0x0f0f0f0f0f0f0f0fU) * 2561 >> 8;
    bytes = (bytes & 0x00ff00ff00ff00ffU) * 6553601 >> 16;
    return (bytes & 0x0000ffff0000ffffU) * 42949672960001U >> 32;
}

/* One value; NULL when there is none. */
const char *scan_any_integer(const char *at, const char *end, int64_t *value);

/* The same, quicker for what they mostly are: a few digits. */
static inline const char *scan_integer(const char *at, const char *end, int64_t *value)
{
    if (end - at < 8)
        return scan_any_integer(at, end, value);
    uint64_t bytes = scan_eight_bytes(at);
    unsigned digits = scan_digits_of_eight(bytes);
    if (digits == 0 || digits == 8 || (*at == '0' && digits > 1))
        return scan_any_integer(at, end, value);
    *value = (int64_t)scan_number_of_eight(bytes, digits);
    return at + digits;
}

static inline const char *scan_not_below(const char *at, const char *end, int64_t least, int64_t *value)
{
    at = scan_integer(at, end, value);
    return at && *value >= least ? at : NULL;
}

/* Whole microseconds of our days have so many digits. */
enum { SCAN_EPOCH_DIGITS = 16 };

/* Whether there are exactly so many here. */
static inline int scan_has_epoch_digits(const char *at, const char *end)
{
    return end - at > SCAN_EPOCH_DIGITS && scan_digits_of_eight(scan_eight_bytes(at)) == 8 &&
           scan_digits_of_eight(scan_eight_bytes(at + 8)) == 8 && *at != '0' &&
           (unsigned char)(at[SCAN_EPOCH_DIGITS] - '0') > 9;
}

const char *scan_any_microseconds(const char *at, const char *end, int64_t *ns);

static inline const char *scan_microseconds(const char *at, const char *end, int64_t *ns)
{
    if (!scan_has_epoch_digits(at, end))
        return scan_any_microseconds(at, end, ns);
    uint64_t whole = scan_number_of_eight(scan_eight_bytes(at), 8) * 100000000 +
                     scan_number_of_eight(scan_eight_bytes(at + 8), 8);
    if (whole > NUMBER_MOST_NS / 1000)
        return NULL;
    *ns = (int64_t)whole * 1000;
    return at + SCAN_EPOCH_DIGITS;
}

const char *scan_any_unsigned(const char *at, const char *end, uint64_t *value);

static inline const char *scan_skip_unsigned(const char *at, const char *end)
{
    uint64_t ignored;
    return scan_has_epoch_digits(at, end) ? at + SCAN_EPOCH_DIGITS : scan_any_unsigned(at, end, &ignored);
}

/* Of the microseconds of a moment, before the point: more would not fit as nanoseconds. */
enum { SCAN_MOMENT_DIGITS = 15 };

/*
 * "%f" microseconds have six digits behind the point. Point, digits and the byte behind them, which every
 * line has, are taken at once; picoseconds are rounded to nanoseconds.
 */
static inline const char *scan_fraction(const char *at, const char *end, uint64_t whole, int64_t *ns)
{
    if (end - at < 8 || *at != '.')
        return NULL;
    uint64_t bytes = scan_eight_bytes(at) >> 8;
    if (scan_digits_of_eight(bytes) != 6 || at[7] == 'e' || at[7] == 'E')
        return NULL;
    *ns = (int64_t)(whole * 1000 + (scan_number_of_eight(bytes, 6) + 500) / 1000);
    if (*ns == 0)
        *ns = TIME_UNKNOWN;
    return at + 7;
}

static inline const char *scan_moment(const char *at, const char *end, int64_t *ns)
{
    if (end - at < 8)
        return NULL;
    uint64_t bytes = scan_eight_bytes(at);
    unsigned digits = scan_digits_of_eight(bytes);
    if (digits == 0 || (*at == '0' && digits > 1))
        return NULL;
    uint64_t whole = scan_number_of_eight(bytes, digits);
    const char *limit = at + SCAN_MOMENT_DIGITS < end ? at + SCAN_MOMENT_DIGITS : end;
    at += digits;
    for (; digits == 8 && at < limit && *at >= '0' && *at <= '9'; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    return scan_fraction(at, end, whole, ns);
}

/* The same of any number of microseconds that is not below 0. */
const char *scan_any_moment(const char *at, const char *end, int64_t *ns);

static inline uint64_t scan_difference(const char *at, const char *words, size_t offset)
{
    uint64_t left;
    uint64_t right;
    memcpy(&left, at + offset, sizeof left);
    memcpy(&right, words + offset, sizeof right);
    return left ^ right;
}

/* The same for 8 to 64 bytes, eight at a time, from both ends to the middle, where they may overlap. */
static inline uint64_t scan_differences(const char *at, const char *words, size_t length)
{
    uint64_t all = scan_difference(at, words, 0) | scan_difference(at, words, length - 8);
    if (length <= 16)
        return all;
    all |= scan_difference(at, words, 8) | scan_difference(at, words, length - 16);
    if (length <= 32)
        return all;
    all |= scan_difference(at, words, 16) | scan_difference(at, words, length - 24);
    return all | scan_difference(at, words, 24) | scan_difference(at, words, length - 32);
}

/* True when the next bytes are these, which the caller knows to be no more than there are. */
static inline int scan_same(const char *at, const char *words, size_t length)
{
    if (length > 64)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): where there are that many bytes, they are somewhere */
        return memcmp(at, words, length) == 0;
    if (length >= 8)
        return scan_differences(at, words, length) == 0;
    for (size_t i = 0; i < length; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): as above */
        if (at[i] != words[i])
            return 0;
    return 1;
}

static inline const char *scan_words(const char *at, const char *end, const char *words, size_t length)
{
    return (size_t)(end - at) >= length && scan_same(at, words, length) ? at + length : NULL;
}

/* One value; NULL when there is none. */
const char *scan_value(const char *at, const char *end, enum scan_type type, void *into);

/* The same, at the place of the call what is frequent. */
static inline __attribute__((always_inline)) const char *scan_frequent_value(const char *at, const char *end,
                                                                             enum scan_type type, void *into)
{
    int64_t ignored;
    switch (type) {
    case SCAN_NOTHING:
        return at;
    case SCAN_INTEGER:
        return scan_integer(at, end, into);
    case SCAN_NATURAL:
        return scan_not_below(at, end, 0, into);
    case SCAN_NATURAL_OR_NONE:
        return scan_not_below(at, end, -1, into);
    case SCAN_SKIP_INTEGER:
        return scan_integer(at, end, &ignored);
    case SCAN_MICROSECONDS:
        return scan_microseconds(at, end, into);
    case SCAN_SKIP_UNSIGNED:
        return scan_skip_unsigned(at, end);
    default:
        return scan_value(at, end, type, into);
    }
}

/*
 * Reads `count` fields from [at, end) into `*into`. Returns where it stopped, or NULL when the text is not as
 * expected; `*into` then holds anything.
 */
const char *scan_fields(const char *at, const char *end, const struct scan_field *fields, size_t count,
                        void *into);

/* The same for a table that the compiler sees: it lays the fields out one after the other. */
static inline __attribute__((always_inline)) const char *scan_table(const char *at, const char *end,
                                                                    const struct scan_field *fields,
                                                                    size_t count, void *into)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++) {
        at = scan_words(at, end, fields[i].words, fields[i].length);
        if (!at)
            return NULL;
        at = scan_frequent_value(at, end, fields[i].type, (char *)into + fields[i].offset);
        if (!at)
            return NULL;
    }
    return at;
}

/* -------------------- objects.c -------------------- */

/*
 * Cuts an input into JSON objects. The dialects have one a line, but files come cut, joined, re-formatted and
 * damaged. What ought to be one object is therefore tried in turn: a line; where a line is none, the parts of
 * it that begin like an object of the dialect; where an object is spread over lines, those lines together.
 * What remains is noted as damage ("unreadable text") and passed over. An array around the objects, and the
 * commas between them, are taken for granted.
 */
struct objects {
    const char *first_key;         /* with its quotes: what the dialect's objects begin with */
    const char *const *other_keys; /* what some begin with instead, ended by NULL; NULL: none */
    void *context;
    /* One object, perhaps. Returns 1 when it was, 0 when it could not be read, -1 with an error to stop. */
    int (*object)(void *context, const char *text, size_t length, uint64_t offset, struct error *error);
    /*
     * The quick way, where no object is open: text that begins with a line. Takes as many whole lines as it
     * knows, each shorter than INPUT_LINE_BYTES and with its newline, and says how many bytes that was: 0
     * when it does not know the first. Returns -1 to stop. NULL: there is no such way.
     */
    int (*lines)(void *context, const char *text, size_t length, uint64_t offset, size_t *taken,
                 struct error *error);
    /* An array begins: what came before is complete. NULL: no matter. Returns -1 to stop. */
    int (*array)(void *context, struct error *error);
    /* The input ends within an object. NULL: it is noted as any text that cannot be read. Returns -1 to stop.
     */
    int (*cut)(void *context, const char *text, size_t length, uint64_t offset, struct error *error);
    const struct format_sink *sink;
};

struct objects_end {
    uint64_t offset;    /* where the input ended */
    int in_array;       /* ... inside an array */
    int reading_failed; /* ... because it could not be read on: *error says why */
};

/* Reads it all. -1 when a callback stopped it or memory is out; a failure to read is no reason to stop. */
int objects_read(const struct objects *objects, struct input *input, struct objects_end *end,
                 struct error *error);

/* -------------------- text.c -------------------- */

/* Pieces of a line, borrowed from it, and the words and numbers in them. */
struct text {
    const char *data;
    size_t length;
};

/* What follows the first `mark` in it; a NULL `data` where there is none. */
struct text text_after(struct text text, const char *mark);

int text_begins(struct text text, const char *begin);
int text_holds(struct text text, const char *mark);
int text_holds_any(struct text text, const char *const *marks); /* up to a NULL */
int text_is(struct text text, const char *word);

/* Up to the first byte that is a space, a comma or a bracket of either kind. */
struct text text_word(struct text text);

/* As a string in `copy`, cut to what that holds; NULL where the text is empty. */
const char *text_copy(struct text text, char *copy, size_t bytes);

/* What stands behind " KEY " or at the beginning behind "KEY ", up to the next space; `key` is without
 * spaces. */
struct text text_value(struct text text, const char *key);

/* The same as a number. -1 where it is absent, or is none. */
int text_number(struct text text, const char *key, int64_t *value);
int text_hexadecimal(struct text text, const char *key, uint64_t *value);

/* The digits that a text begins with; COUNT_UNKNOWN where there is none, or they are no int64_t. */
int64_t text_leading_number(struct text text);

/* Seconds with decimals, "1.23", as nanoseconds; TIME_UNKNOWN where it is none, or more than three years:
 * sums of some are whole. */
int64_t text_seconds_ns(struct text text);

/*
 * The words of what a rank reports when another one, or the network to it, is gone: an echo of that failure,
 * and none of its own. The more is known of a text, the fewer words make it one: those of a line of NCCL's
 * count in the texts below, too.
 */
enum echo_text {
    ECHO_LINE,     /* a line of NCCL's log, which may be of anything */
    ECHO_ERROR,    /* an error of NCCL, or what stands behind its "Last error:" */
    ECHO_EXCEPTION /* a program's exception, which it also gets from its own watchdog, or after a vain wait */
};

int echo_is_in(struct text text, enum echo_text of);

/* -------------------- call_line.c -------------------- */

struct call_reader {
    int damage; /* 1: one that cannot be read is damage of the file; 0: it is about something else */
    struct json json;
    int64_t *group; /* owned */
    size_t group_capacity;
    size_t group_count;
    char correlation[24]; /* one that is a number */
};

void call_reader_init(struct call_reader *reader, int damage);
void call_reader_release(struct call_reader *reader);

/* Whether a line may hold one: cheap. */
int call_line_may(struct text line);

/*
 * What of a description that was cut can be read, as a whole one: its members up to the last that is whole,
 * in `mended`, which is cleared. 0; 1: there is nothing of it; -1: no memory.
 */
int call_line_correct(struct text cut, struct buffer *mended);

/*
 * Hands over each description in a line, with this origin; `at_ns` is the time of a mark, else TIME_UNKNOWN.
 * `*taken` is how many there were, those noted as unreadable included. The line is at `offset`. Where it
 * is_cut, a group that is not there may have been.
 */
int call_line_read(struct call_reader *reader, struct text line, uint64_t offset, const struct origin *origin,
                   int64_t at_ns, int is_cut, const struct format_sink *sink, size_t *taken,
                   struct error *error);

/* -------------------- member.c -------------------- */

/*
 * What an object says under a key. What is absent or null is not known. Nor is what is there but of another
 * kind or beyond what can be kept; json->misread then tells that something was lost. `object` may be NULL.
 */

/* NULL when not known. Texts and nodes are borrowed from the struct json. */
const struct value *member_object(struct json *json, const struct value *object, const char *key);
const struct value *member_array(struct json *json, const struct value *object, const char *key);
const char *member_text(struct json *json, const struct value *object, const char *key);

int64_t member_integer(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same for a count: what is below 0 is beyond what can be. */
int64_t member_natural(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same where -1 says that there is none: COUNT_UNKNOWN, and where it is not known. */
int64_t member_natural_or_none(struct json *json, const struct value *object, const char *key);

/* 0 when not known. */
uint64_t member_unsigned(struct json *json, const struct value *object, const char *key);

/* The same for a text of hexadecimal digits. */
uint64_t member_hexadecimal(struct json *json, const struct value *object, const char *key);

/* A number of microseconds, not below 0, in nanoseconds; "nan" is not known. */
int64_t member_nanoseconds(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* Such a point in time; TIME_UNKNOWN also where it is 0 or -1, which is how "never" prints. */
int64_t member_moment(struct json *json, const struct value *object, const char *key);

/*
 * What the bundled plugin says of its own recording, in Chrome traces and Inspector logs alike: objects of
 * the same members.
 */

enum { RECORDER_DROP_KINDS = 7 };

/* What it could not keep, in totals since its start, and what each kind means. */
void recorder_drops_read(struct json *json, const struct value *object, int64_t totals[RECORDER_DROP_KINDS]);
extern const char *const recorder_drop_meanings[RECORDER_DROP_KINDS];

/*
 * That it stopped while its process went on. Noted with FORMAT_NOTE_STOPPED; the detail is a clause that
 * begins with the time: "2026-11-26 14:37:36 UTC: limit of 65536 bytes reached".
 */
int recorder_stop_note(struct json *json, const struct value *object, const struct format_sink *sink,
                       uint64_t offset, struct error *error);

/* -------------------- prometheus.c -------------------- */

/* A line of Prometheus' text format: `metric{label="value",...} 1.5 1700000000000`, all borrowed. */
struct sample_line {
    struct text metric;
    struct text labels; /* between the braces; empty where there are none */
    double value;
    int64_t at_ns; /* that the line itself gives; TIME_UNKNOWN */
};

/* 1; 0 where there is nothing to be read (a comment, an empty line), -1 where it is no such line. */
int sample_line_read(struct text line, struct sample_line *said);

/*
 * What labels say, in all spellings of Inspector's versions; times and bandwidth are left unknown, but for
 * the time that a label gives. Texts are in `texts`, which is cleared. 0; 1: they say of no function, or are
 * damaged; -1: no memory.
 */
int sample_labels_read(struct text labels, struct buffer *texts, struct metric_sample *sample);

#endif
