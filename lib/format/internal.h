#ifndef NCCLPROF_FORMAT_INTERNAL_H
#define NCCLPROF_FORMAT_INTERNAL_H

#include "base/base.h"
#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct format_sink;
struct input;

/* -------------------- registry.c -------------------- */

/* A proxy operation with more network steps than this is handed over as several records. */
enum { FORMAT_STEPS_AT_ONCE = 4096 };

/* -------------------- sniff.c -------------------- */

/*
 * Distinguishes traces from files that only mention them: programs and web pages that contain the words of a
 * trace lie in the same directories as traces.
 */

/*
 * Returns the first `word` at or after `from` that may be part of a trace, or NULL. It may be if the text
 * begins with a brace or bracket; or, where the beginning of the file is lost, if its line begins with an
 * object whose first key is `first_key` (with its quotes). `from` points into the `length` bytes of `text`.
 */
const char *sniff_find(const char *text, size_t length, const char *from, const char *word,
                       const char *first_key);

int sniff_is_space(char byte);

/* Whether a file begins as a Python pickle of protocol 2 to 5. */
int sniff_is_pickle(const char *bytes, size_t length);

/*
 * Files that are no traces but lie beside them, recognized by their beginning, and what to do with each. A
 * kind that becomes a format leaves the table.
 */

/*
 * Returns the number at the end of a file's name, before endings such as ".json.gz"; COUNT_UNKNOWN if there
 * is none.
 */
int64_t rank_of_path(const char *path);

/* The number after "rank" in the name of a file: "nccl.rank3.log"; COUNT_UNKNOWN if there is none. */
int64_t rank_word_in_path(const char *path);

/*
 * Returns the number after "rank" in a file's name ("rank3_memory.pickle"), else the number at its end;
 * COUNT_UNKNOWN if there is none.
 */
int64_t rank_named_in_path(const char *path);

/* -------------------- scan.c -------------------- */

/*
 * The fast reader: text with exactly the expected layout, fixed words with values between them, described by
 * a list of struct scan_field. It refuses anything else, valid JSON or not; the caller then uses the reader
 * for any JSON (lib/input's json.h). What both accept means the same.
 */

enum scan_type {
    SCAN_NOTHING = 0,     /* only the fixed words */
    SCAN_INTEGER,         /* int64_t */
    SCAN_NATURAL,         /* int64_t, not below 0 */
    SCAN_NATURAL_OR_NONE, /* the same, or -1 */
    SCAN_UNSIGNED,        /* uint64_t */
    SCAN_HEXADECIMAL,     /* uint64_t, digits without 0x */
    SCAN_ADDRESS,         /* uint64_t as printed by %p: "0x55d0", or "(nil)" for 0 */
    SCAN_MOMENT,          /* int64_t ns from microseconds, usually "123.456789"; TIME_UNKNOWN if 0 */
    SCAN_MICROSECONDS,    /* int64_t ns from whole microseconds; TIME_UNKNOWN if 0 */
    SCAN_TEXT,            /* struct scan_text, up to the closing quote; no escapes */
    SCAN_FUNCTION,        /* enum function, up to the closing quote */
    SCAN_DATATYPE,        /* enum datatype, up to the closing quote */
    SCAN_DATATYPE_WORD,   /* enum datatype, up to a comma: the rest of the word after "nccl" */
    SCAN_DATATYPE_NUMBER, /* enum datatype from ncclDataType_t */
    SCAN_ALGORITHM,
    SCAN_PROTOCOL,
    SCAN_FLAG,         /* int, 0 or 1 */
    SCAN_SKIP_TEXT,    /* a text that is skipped, up to the closing quote; no escapes */
    SCAN_SKIP_INTEGER, /* an integer that is skipped */
    SCAN_SKIP_UNSIGNED,
    SCAN_SKIP_DECIMAL /* a number such as "12.5" that is skipped */
};

/* Fixed words and the value after them, which is stored at an offset of the struct being filled. */
struct scan_field {
    const char *words;
    size_t length; /* of the words */
    enum scan_type type;
    size_t offset;
};

#define SCAN_WORDS(text) text, sizeof(text) - 1

/* A piece of the text, not terminated by NUL. */
struct scan_text {
    const char *text;
    size_t length;
};

/* Reads one value. Returns where it ends, or NULL if there is none. */
const char *scan_any_integer(const char *at, const char *end, int64_t *value);

/* The same, fast for the usual case of a few digits. */
static inline const char *scan_integer(const char *at, const char *end, int64_t *value)
{
    if (end - at < 8)
        return scan_any_integer(at, end, value);
    uint64_t bytes = eight_bytes(at);
    unsigned digits = eight_digits(bytes);
    if (digits == 0 || (digits == 8 && (end - at == 8 || is_digit(at[8]))) || (*at == '0' && digits > 1))
        return scan_any_integer(at, end, value);
    *value = (int64_t)eight_number(bytes, digits);
    return at + digits;
}

static inline const char *scan_not_below(const char *at, const char *end, int64_t least, int64_t *value)
{
    at = scan_integer(at, end, value);
    return at && *value >= least ? at : NULL;
}

/* Microseconds since 1970 have this many digits today. */
enum { SCAN_EPOCH_DIGITS = 16 };

/* Whether exactly SCAN_EPOCH_DIGITS digits follow. */
static inline int scan_has_epoch_digits(const char *at, const char *end)
{
    return end - at > SCAN_EPOCH_DIGITS && eight_digits(eight_bytes(at)) == 8 &&
           eight_digits(eight_bytes(at + 8)) == 8 && *at != '0' &&
           (unsigned char)(at[SCAN_EPOCH_DIGITS] - '0') > 9;
}

const char *scan_any_microseconds(const char *at, const char *end, int64_t *ns);

/* A duration has fewer digits than a time since 1970. */
static inline const char *scan_few_microseconds(const char *at, const char *end, int64_t *ns)
{
    int64_t whole;
    const char *past = scan_integer(at, end, &whole);
    if (!past || whole <= 0 || whole > NUMBER_MOST_NS / 1000)
        return scan_any_microseconds(at, end, ns);
    *ns = whole * 1000;
    return past;
}

static inline const char *scan_microseconds(const char *at, const char *end, int64_t *ns)
{
    if (!scan_has_epoch_digits(at, end))
        return scan_few_microseconds(at, end, ns);
    uint64_t whole = eight_number(eight_bytes(at), 8) * 100000000 + eight_number(eight_bytes(at + 8), 8);
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

/* Digits before the decimal point of a time in microseconds; more would overflow as nanoseconds. */
enum { SCAN_MOMENT_DIGITS = 15 };

/*
 * Microseconds printed with "%f" have six decimals. Reads the point, the digits and the byte after them,
 * which every line has, in one step. Picoseconds are rounded to nanoseconds.
 */
static inline const char *scan_fraction(const char *at, const char *end, uint64_t whole, int64_t *ns)
{
    if (end - at < 8 || *at != '.')
        return NULL;
    uint64_t bytes = eight_bytes(at) >> 8;
    if (eight_digits(bytes) != 6 || at[7] == 'e' || at[7] == 'E')
        return NULL;
    *ns = (int64_t)(whole * 1000 + (eight_number(bytes, 6) + 500) / 1000);
    if (*ns == 0)
        *ns = TIME_UNKNOWN;
    return at + 7;
}

static inline const char *scan_moment(const char *at, const char *end, int64_t *ns)
{
    if (end - at < 8)
        return NULL;
    uint64_t bytes = eight_bytes(at);
    unsigned digits = eight_digits(bytes);
    if (digits == 0 || (*at == '0' && digits > 1))
        return NULL;
    uint64_t whole = eight_number(bytes, digits);
    const char *limit = at + SCAN_MOMENT_DIGITS < end ? at + SCAN_MOMENT_DIGITS : end;
    at += digits;
    for (; digits == 8 && at < limit && is_digit(*at); at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    return scan_fraction(at, end, whole, ns);
}

/* The same for any number of microseconds that is not negative. */
const char *scan_any_moment(const char *at, const char *end, int64_t *ns);

static inline uint64_t scan_difference(const char *at, const char *words, size_t offset)
{
    uint64_t left;
    uint64_t right;
    memcpy(&left, at + offset, sizeof left);
    memcpy(&right, words + offset, sizeof right);
    return left ^ right;
}

/*
 * Compares 8 to 64 bytes, eight at a time, from both ends to the middle, where the pieces may overlap. 0:
 * equal.
 */
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

/* Whether the next `length` bytes equal `words`. The caller has checked that the text has that many. */
static inline int scan_same(const char *at, const char *words, size_t length)
{
    if (length > 64)
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the caller checked that there are `length` bytes */
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

/* Reads a string up to its closing quote. Refuses escapes and all bytes that JSON does not allow as they are.
 */
const char *scan_string(const char *at, const char *end, struct scan_text *text);

/* Skips a number such as "12.5". */
const char *scan_decimal(const char *at, const char *end);

/* Reads one value of a type that is rare in long files, as scan_value(). */
const char *scan_rare_value(const char *at, const char *end, enum scan_type type, void *into);

/*
 * Reads one value of any type; frequent types are inlined. Returns where it ends, or NULL if there is none.
 */
static inline __attribute__((always_inline)) const char *scan_value(const char *at, const char *end,
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
    case SCAN_SKIP_DECIMAL:
        return scan_decimal(at, end);
    case SCAN_TEXT:
        return scan_string(at, end, into);
    default:
        return scan_rare_value(at, end, type, into);
    }
}

/*
 * Reads `count` fields from [at, end) into `*into`. Returns where it stopped, or NULL if the text differs
 * from the fields; the content of `*into` is then undefined.
 */
const char *scan_fields(const char *at, const char *end, const struct scan_field *fields, size_t count,
                        void *into);

/* The same for a constant table: the compiler unrolls the loop over its fields. */
static inline __attribute__((always_inline)) const char *scan_table(const char *at, const char *end,
                                                                    const struct scan_field *fields,
                                                                    size_t count, void *into)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++) {
        at = scan_words(at, end, fields[i].words, fields[i].length);
        if (!at)
            return NULL;
        at = scan_value(at, end, fields[i].type, (char *)into + fields[i].offset);
        if (!at)
            return NULL;
    }
    return at;
}

/* -------------------- strangers.c -------------------- */

/*
 * As unsupported_find(), but only kinds that hold whatever a format recognizes in the content: an archive of
 * traces, say.
 */
const char *unsupported_find_certain(const char *bytes, size_t length, const char *path);

/* As unsupported_find(); for any other file a general description, such as "unknown binary data". */
const char *unsupported_describe(const char *bytes, size_t length, const char *path);

/*
 * Returns the program that unpacks (with -dc) a file that begins with these bytes; NULL if none is known.
 * gzip is not among them: it is unpacked by this program.
 */
const char *packer_find(const char *bytes, size_t length);

/* -------------------- nvidia_smi.c -------------------- */

/* Whether a text is nvidia-smi's CSV with values, but without the line that names them (noheader). */
int nvidia_smi_has_no_header(const char *bytes, size_t length);

/* Whether its names are between semicolons or tabs, as spreadsheets write them in some locales. */
int nvidia_smi_has_other_separators(const char *bytes, size_t length);

/* -------------------- archive.c -------------------- */

/* Whether the name of a file says that it is an archive, compressed or not. */
int archive_is_named(const char *path);

/* Whether the content is an archive whose files can be traces: tar or zip. */
int archive_is_content(const char *bytes, size_t length);

/*
 * Appends the commands that unpack it and diagnose what is in it: "run: mkdir a && tar -xf a.tar.xz -C a &&
 * ncclprof diagnose a". Without a known ending: "unpack it and pass the directory". -1 when memory runs out.
 */
int archive_append_command(const char *path, struct buffer *text);

/* -------------------- objects.c -------------------- */

/*
 * Splits an input into JSON objects. The dialects print one object per line, but files may be truncated,
 * joined, re-formatted or damaged. Candidates for an object are tried in this order: a line; if it is no
 * object, the parts of it that begin like an object of the dialect; if an object spans several lines, these
 * lines together. The rest is noted as damage ("unreadable text") and skipped. An array around the objects
 * and the commas between them are accepted silently.
 */
struct objects {
    const char *first_key;         /* first key of the dialect's objects, with its quotes */
    const char *const *other_keys; /* other first keys, terminated by NULL; NULL: none */
    void *context;
    /*
     * Receives a candidate. Returns 1 if it was an object, 0 if it could not be read, -1 with an error to
     * stop.
     */
    int (*object)(void *context, const char *text, size_t length, uint64_t offset, struct error *error);
    /*
     * Optional fast path, called where no object is open with text that begins at a line. Takes as many whole
     * lines as it knows, each shorter than INPUT_LINE_BYTES and with its newline, and sets `*taken` to their
     * bytes; 0 if it does not know the first line. Returns -1 to stop.
     */
    int (*lines)(void *context, const char *text, size_t length, uint64_t offset, size_t *taken,
                 struct error *error);
    /* An array begins, so everything before it is complete. Optional. Returns -1 to stop. */
    int (*array)(void *context, struct error *error);
    /* The input ends within an object. NULL: that is noted like any unreadable text. Returns -1 to stop. */
    int (*cut)(void *context, const char *text, size_t length, uint64_t offset, struct error *error);
    const struct format_sink *sink;
};

struct objects_end {
    uint64_t offset;    /* where the input ended */
    int in_array;       /* the input ended inside an array */
    int reading_failed; /* the input ended because reading failed; *error says why */
};

/*
 * Reads the whole input. Returns -1 if a callback stopped it or memory is out. If reading the input fails, it
 * returns 0 and sets end->reading_failed.
 */
int objects_read(const struct objects *objects, struct input *input, struct objects_end *end,
                 struct error *error);

/* -------------------- text.c -------------------- */

/* Pieces of a line, borrowed from it, and the words and numbers in them. */
struct text {
    const char *data;
    size_t length;
};

/* memmem(), in less time where a text is a line. NULL: not found. */
const char *text_find(const char *text, size_t length, const char *mark, size_t mark_length);

/* The text after the first `mark`; `data` is NULL if the mark is not there. */
struct text text_after(struct text text, const char *mark);

int text_begins(struct text text, const char *begin);
int text_contains(struct text text, const char *mark);
int text_contains_any(struct text text, const char *const *marks); /* `marks` ends with NULL */
int text_is(struct text text, const char *word);

/* The text up to the first space, comma or bracket (opening or closing). */
struct text text_word(struct text text);

/* Copies the text as a string into `copy`, truncated to `bytes`. Returns NULL if the text is empty. */
const char *text_copy(struct text text, char *copy, size_t bytes);

/* The value after " KEY ", or after "KEY " at the beginning, up to the next space. `key` has no spaces. */
struct text text_value(struct text text, const char *key);

/* The same as a number. Returns -1 if it is absent or no number. */
int text_number(struct text text, const char *key, int64_t *value);
int text_hexadecimal(struct text text, const char *key, uint64_t *value);

/* The number at the beginning of a text; COUNT_UNKNOWN if there is none or it does not fit. */
int64_t text_leading_number(struct text text);

/*
 * Returns the global rank in what a launcher prints before a line: "[rank3]:", srun's "3: ", mpirun's
 * "[1,3]<stderr>:". Not torchrun's "[default3]:", which counts from 0 on each host. COUNT_UNKNOWN: none.
 */
int64_t launcher_rank(struct text before);

/*
 * Seconds with decimals ("1.23") as nanoseconds. TIME_UNKNOWN if it is no such number, or above three years;
 * that limit keeps sums of several from overflowing.
 */
int64_t text_seconds_ns(struct text text);

/*
 * Recognizes the messages that a rank prints because another rank, or the network to it, is gone: they repeat
 * that failure and are no failure of this rank. The less is known of a text, the more words count. Each kind
 * below includes the words of the kinds above it.
 */
enum echo_text {
    ECHO_LINE,     /* a line of NCCL's log, about anything */
    ECHO_ERROR,    /* an error of NCCL, or the text after its "Last error:" */
    ECHO_EXCEPTION /* an exception of the program, also from its own watchdog or after a timeout */
};

int echo_is_in(struct text text, enum echo_text of);

/* -------------------- call_line.c -------------------- */

struct call_reader {
    int damage; /* whether an unreadable description is damage (1) or another text (0) */
    struct json json;
    int64_t *group; /* owned */
    size_t group_capacity;
    size_t group_count;
    char correlation[24]; /* a correlation that is a number, as text */
};

void call_reader_init(struct call_reader *reader, int damage);
void call_reader_release(struct call_reader *reader);

/* Whether a line may contain a call description. Cheap. */
int call_line_is_candidate(struct text line);

/*
 * Repairs a truncated description: `mended`, which is cleared first, receives its complete members as a whole
 * object. Returns 0; 1 if no member is complete; -1 if memory is out.
 */
int call_line_correct(struct text cut, struct buffer *mended);

/*
 * Hands over each call description in a line, with this origin. `at_ns` is the time of a mark, else
 * TIME_UNKNOWN. `*taken` receives their number, including those noted as unreadable. `offset` is that of the
 * line. If `is_cut` is set, an absent group may only have been cut off.
 */
int call_line_read(struct call_reader *reader, struct text line, uint64_t offset, const struct origin *origin,
                   int64_t at_ns, int is_cut, const struct format_sink *sink, size_t *taken,
                   struct error *error);

/* -------------------- member.c -------------------- */

/*
 * Reads members of JSON objects. A member that is absent or null is unknown. So is one of another type or out
 * of range; json->misread then records that something was lost. `object` may be NULL.
 */

/* These return NULL if unknown. Texts and nodes are borrowed from the struct json. */
const struct value *member_object(struct json *json, const struct value *object, const char *key);
const struct value *member_array(struct json *json, const struct value *object, const char *key);
const char *member_text(struct json *json, const struct value *object, const char *key);

int64_t member_integer(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same for a count: negative values are out of range. */
int64_t member_natural(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* The same where -1 means "none": COUNT_UNKNOWN for -1 and for unknown. */
int64_t member_natural_or_none(struct json *json, const struct value *object, const char *key);

/* 0 if unknown. */
uint64_t member_unsigned(struct json *json, const struct value *object, const char *key);

/* The same for a text of hexadecimal digits. */
uint64_t member_hexadecimal(struct json *json, const struct value *object, const char *key);

/* A number of microseconds, not negative, as nanoseconds; "nan" is unknown. */
int64_t member_nanoseconds(struct json *json, const struct value *object, const char *key, int64_t otherwise);

/* A point in time in microseconds, as nanoseconds. TIME_UNKNOWN also for 0 and -1, which mean "never". */
int64_t member_moment(struct json *json, const struct value *object, const char *key);

/*
 * What the bundled plugin reports about its own recording. Chrome traces and Inspector logs use objects with
 * the same members.
 */

enum { RECORDER_DROP_KINDS = 7 };

/* Reads how much the plugin could not record: totals since its start, one for each kind of loss. */
void recorder_drops_read(struct json *json, const struct value *object, int64_t totals[RECORDER_DROP_KINDS]);
extern const char *const recorder_drop_meanings[RECORDER_DROP_KINDS];

/*
 * Notes that the plugin stopped recording while its process went on. The reason is FORMAT_NOTE_STOPPED; the
 * detail is a clause that begins with the time: "2026-11-26 14:37:36 UTC: limit of 65536 bytes reached".
 */
int recorder_stop_note(struct json *json, const struct value *object, const struct format_sink *sink,
                       uint64_t offset, struct error *error);

/* -------------------- prometheus.c -------------------- */

/*
 * A line in the Prometheus text format, `metric{label="value",...} 1.5 1700000000000`. All texts are
 * borrowed.
 */
struct sample_line {
    struct text metric;
    struct text labels; /* between the braces; empty without braces */
    double value;
    int64_t at_ns; /* timestamp of the line itself; TIME_UNKNOWN */
};

/* Returns 1 for a sample, 0 for a comment or empty line, -1 for anything else. */
int sample_line_read(struct text line, struct sample_line *said);

/*
 * Takes one `name="value"` and the comma before it. `*place` receives where in `texts` the value begins,
 * without escapes and with a NUL; -1 at the end of the labels. Returns 0; 1 if the labels are damaged; -1 if
 * memory is out.
 */
int sample_label_take(const char **at, const char *end, struct buffer *texts, struct text *name,
                      int64_t *place);

/*
 * Reads labels in the spellings of all Inspector versions. Durations and bandwidth are left unknown, except
 * the time that a label gives. Texts are stored in `texts`, which is cleared first. Returns 0; 1 if the
 * labels name no function or are damaged; -1 if memory is out.
 */
int sample_labels_read(struct text labels, struct buffer *texts, struct metric_sample *sample);

#endif
