#ifndef NCCLPROF_INPUT_INPUT_H
#define NCCLPROF_INPUT_INPUT_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input;
struct value_items;
struct values_chunk;

/* -------------------- input.c -------------------- */

/* What no trace grows by when it is unpacked: the bound where nobody says another. */
#define INPUT_RATIO_MOST 500

struct input_limits {
    uint64_t unpacked_bytes; /* at most so many bytes come out of a packed file; 0: no bound */
    uint64_t unpack_ratio;   /* ... and at most so many per byte read (checked past 16 MiB); 0: no bound */
    int (*stopped)(void *context); /* asked before each read, and while a pipe gives nothing; may be NULL */
    void *context;
};

/*
 * `path` "-" is standard input. Refuses what is neither a regular file, a pipe given by name on purpose, nor
 * standard input ("is a directory", "is a device").
 */
struct input *input_open(const char *path, const struct input_limits *limits, struct error *error);
/*
 * Bytes `begin` to `end` of a regular file that is not packed, as if the rest were not there; offsets count
 * from the file's beginning all the same. There is no digest of it.
 */
struct input *input_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                              uint64_t end, struct error *error);
void input_close(struct input *input);

/* When the file was last written, since the epoch; INT64_MIN: it is no regular file. */
int64_t input_modified_ns(const struct input *input);

const char *input_path(const struct input *input);

/* A look at the next bytes without taking them: at most `length`, fewer only at the end. -1 on a read error.
 */
int64_t input_peek(struct input *input, const char **bytes, size_t length, struct error *error);

/*
 * The next line, without its end ("\n" or "\r\n"), borrowed until the next call. Returns 1, 0 at the end, -1
 * on a read error (damaged gzip included: everything readable before it has come out by then). A line longer
 * than INPUT_LINE_BYTES comes in pieces of at most that size: all but the last have `goes_on` set, all but
 * the first `continued`, so that a whole trace on one line can be read as well and nothing is lost.
 */
enum { INPUT_LINE_BYTES = 1 << 20 };

struct input_line {
    const char *text; /* followed by a NUL that is not part of it; may hold NULs inside */
    size_t length;
    uint64_t offset; /* of its first byte, in the unpacked stream */
    int goes_on;     /* the next call gives more of the same line */
    int continued;   /* it is such a piece */
    int ended;       /* it had its newline; false for the last line of a cut file, and where it goes on */
};

int input_line(struct input *input, struct input_line *line, struct error *error);

/*
 * What of the next lines is in memory already: `*length` bytes, borrowed until the next call of any other
 * function, and the offset of the first. 0 bytes where the next is not the beginning of a line. For who can
 * tell by himself where lines end: he says by input_skip() how many bytes he took, which is a number of whole
 * lines, newlines included. input_line() goes on behind them.
 */
const char *input_ahead(const struct input *input, size_t *length, uint64_t *offset);
void input_skip(struct input *input, size_t length);

/* Bytes taken from the file so far (packed), and handed out (unpacked). */
uint64_t input_bytes_read(const struct input *input);
uint64_t input_bytes_unpacked(const struct input *input);

/* The file's size as the system tells it; 0 when it has none (a pipe). */
uint64_t input_size(const struct input *input);

/*
 * Digest of the raw bytes of the whole file: call after the last line. Of a file that was not read to its end
 * (a failure, a limit) one that no whole file has.
 */
void input_digest(const struct input *input, char text[33]);

/*
 * Digest of the unpacked bytes, that of the raw ones where the file is not packed: call after the last line.
 * -1 when they did not all come out.
 */
int input_unpacked_digest(const struct input *input, char text[33]);

/*
 * All bytes of an input at once: for formats that can only be read whole. Behind what is there already. -1
 * when it cannot be read to its end (what came before is there), memory is out, or there are more than
 * `bytes_most`.
 */
int input_whole(struct input *input, size_t bytes_most, struct buffer *bytes, struct error *error);

/* -------------------- walk.c -------------------- */

const char *raw_json_skip_space(const char *text, const char *end);

/* Text borrowed from what is read. Of a value: strings with their quotes. Of a key: without. */
struct raw_json {
    const char *text;
    size_t length;
};

/* A way through the values of an object or an array. */
struct raw_json_cursor {
    const char *at;
    const char *end;
    char closing; /* '}' or ']'; '\0': it is neither */
    int is_begun;
};

void raw_json_enter(struct raw_json_cursor *cursor, struct raw_json container);

/* The next value, with its key in an object. 1, 0 when there is none left, -1 where the text is no JSON. */
int raw_json_next(struct raw_json_cursor *cursor, struct raw_json *key, struct raw_json *value);

/* Whether it is this text, which has no escapes. Of a literal the compiler knows the length. */
static inline int raw_json_is(struct raw_json text, const char *expected)
{
    size_t length = strlen(expected);
    return text.length == length && (length == 0 || memcmp(text.text, expected, length) == 0);
}

/* What stands between a string's quotes, escapes as they are. -1: it is no string. */
int raw_json_string(struct raw_json value, struct raw_json *content);

/* Adds it to the buffer with its escapes resolved; one that is none stays as it is. -1: out of memory. */
int raw_json_unescape(struct raw_json content, struct buffer *buffer);

/* -------------------- tokens.c -------------------- */

/*
 * Pulls values out of one JSON text, however long it is and whatever lines it has: those that stand at the
 * paths asked for, one after the other. Memory is the input's window; a value that is handed out is no longer
 * than TOKENS_VALUE_BYTES. What is damaged is told and passed over: after a value that cannot be followed to
 * its end (a quote too many) reading goes on where the next one begins as its neighbours do.
 *
 * A path names members, from the outermost: "distributedInfo.rank"; "[]" stands for each item of an array,
 * "*" for each member of an object: "traceEvents[]", "pg_config.*", "*". A value at several of them comes at
 * the longest: with "*" and "traceEvents[]" the events come one by one, and each other member whole.
 */
enum { TOKENS_VALUE_BYTES = 1 << 20, TOKENS_PATHS = 8, TOKENS_LEVELS = 8 };

enum tokens_kind {
    TOKENS_VALUE,
    TOKENS_DAMAGE,   /* text that is no JSON where it stands: value.text is its beginning */
    TOKENS_TOO_LONG, /* a value longer than can be handed out: value.text is its beginning */
    TOKENS_CUT,      /* the text ends within a value: value.text is what there is of it */
    TOKENS_END
};

struct tokens_value {
    enum tokens_kind kind;
    size_t path;           /* which one it stands at */
    struct raw_json key;   /* in its object; length 0: an item of an array */
    struct raw_json value; /* borrowed, as the key is, until the next call */
    uint64_t offset;       /* of its first byte, in the unpacked input */
};

/* Where a container was entered, and what of each path is still to come. */
struct tokens_level {
    const char *rest[TOKENS_PATHS]; /* NULL: not on that path */
    char closing;                   /* '}' or ']'; '\0': outside of all */
    char has_value;
    char mark[40]; /* what its values begin with, a line break and spaces before it where there are */
    size_t mark_bytes;
};

struct tokens {
    struct input *input; /* borrowed, as are the paths */
    const char *const *paths;
    size_t path_count;
    struct tokens_level levels[TOKENS_LEVELS + 1];
    size_t depth;
    const char *text; /* what of the input is at hand */
    const char *at;
    const char *end;
    uint64_t offset; /* of text */
    int at_end;      /* there is no more than this */
    int is_over;     /* the outermost value has ended */
    int must_resume; /* what was handed out last was damaged, and stands there still */
    int must_skip;   /* ... was too long */
    char key[256];   /* of the value being read: a longer one is cut, and fits no path but "*" */
    size_t key_bytes;
};

/* `paths` are ended by NULL, TOKENS_PATHS at most. Nothing is to be released. */
void tokens_init(struct tokens *tokens, struct input *input, const char *const *paths);

/* The next value, or what stands in its place. -1 when reading failed, after all that could be read. */
int tokens_next(struct tokens *tokens, struct tokens_value *value, struct error *error);

/*
 * Whether more text follows the outermost value: the input stands there then, at its first byte that is no
 * space, and tokens_init may begin anew.
 */
int tokens_leave(struct tokens *tokens);

/*
 * Numbers read from their text, exactly: 64-bit integers and times do not survive a double. Each function
 * wants the whole text to be the number and returns -1 when it is not or when it does not fit.
 */

/* "-12", "12", and "12.000" or "1.2e1" too, as other tools rewrite numbers, where nothing is cut off. */
int number_int64(const char *text, size_t length, int64_t *value);
int number_uint64(const char *text, size_t length, uint64_t *value);

/* "0x55d0" or "55d0". */
int number_hexadecimal(const char *text, size_t length, uint64_t *value);

/*
 * A decimal number of microseconds as nanoseconds, rounded half away from zero. Beyond NUMBER_MOST_NS, 146
 * years, it is taken for one that does not fit: so the difference of any two times does.
 */
#define NUMBER_MOST_NS ((INT64_C(1) << 62) - 1)
int number_microseconds_ns(const char *text, size_t length, int64_t *ns);

/* True for what JSON calls a number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)? */
int number_is_json(const char *text, size_t length);

/* -------------------- walk.c -------------------- */

/*
 * The regular files below a set of paths, each once whatever ways lead to it (links of any kind). Directories
 * are searched through; links are followed, but no directory is entered twice. What is not a regular file
 * inside a directory (pipes, sockets, devices, links to nothing) is noted and left out. Names that begin with
 * a dot are left out of directories.
 */
struct walk_file {
    char *path;     /* as reached from the path given; "-" for standard input */
    char *realpath; /* absolute, links resolved; "-" for standard input and other pipes without a name */
    size_t start;   /* which of the paths given led to it */
    size_t copies;  /* other files that are copies of it, or of its beginning; 0 until they are looked for */
    char *copy;     /* path of one of these; NULL */
    char *folder;   /* real path of another that stands for its own, which holds copies of that one's; NULL */
};

/* One of the paths given. */
struct walk_start {
    int is_directory;
    int has_known; /* something in it had been reached from an earlier one */
};

struct walk {
    struct walk_file *files; /* owned; in the order of the paths given, sorted by name inside a directory */
    size_t count;
    size_t capacity;
    struct walk_start *starts; /* owned: one for each walk_add(), failed ones too */
    size_t start_count;
    size_t start_capacity;
    char **notes; /* owned: one sentence for each thing left out */
    size_t note_count;
    size_t note_capacity;
    char **losses; /* owned: one sentence for each place that could not be searched */
    size_t loss_count;
    size_t loss_capacity;
    struct map seen; /* device and inode of every file and directory so far: which start led to it */
};

void walk_init(struct walk *walk);
void walk_release(struct walk *walk);

/*
 * Adds what is at and below `path`. A path that does not exist or may not be read is an error (-1): it was
 * asked for by name; so is being out of memory. A pipe given by name is taken as it is.
 */
int walk_add(struct walk *walk, const char *path, struct error *error);

/* Whether the file at `path`, whatever way leads to it, is among what was added. */
int walk_has(const struct walk *walk, const char *path);

/* -------------------- value.c -------------------- */

/*
 * A tree of plain values, whatever a file spelled them in: pickle or JSON. What is read from strangers' bytes
 * is bounded in depth (VALUE_DEPTH_MOST) and in memory (struct values, bytes_most). A list or dictionary may
 * stand in several places: it is shared, never copied, and no way leads from one back to itself. Whoever
 * walks a tree must therefore bound how many items he looks at: what is shared often is written once.
 *
 * Texts are UTF-8 as the file has them (hostile: unchecked), borrowed from its bytes or from the arena, and
 * not followed by a NUL.
 */
enum value_kind {
    VALUE_NULL = 0,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_NUMBER,  /* a double */
    VALUE_DECIMAL, /* a number as JSON spells it, in `text`: exact, and of any size */
    VALUE_TEXT,
    VALUE_LIST,      /* and a tuple */
    VALUE_DICTIONARY /* keys may be of any kind */
};

struct value {
    enum value_kind kind;
    uint32_t length; /* of a text or decimal, in bytes */
    union {
        int64_t integer; /* of a boolean 0 or 1 */
        double number;
        const char *text;
        struct value_items *items; /* of a list or dictionary */
    };
};

/* Of a list its values, of a dictionary keys and values in turn, as they stand in the file. */
struct value_items {
    struct value *items; /* in the arena */
    size_t count;
    size_t capacity;
    uint32_t depth;  /* of the deepest value below, 1: none of them is a list or dictionary */
    uint64_t offset; /* in the file, of its first byte */
    int is_closed;   /* it stands in another one: nothing can be added any more */
    int is_cut;      /* the file was damaged before its end: items may be missing */
};

/* Where values live: freed all at once. */
struct values {
    struct values_chunk *chunks; /* owned */
    size_t bytes;                /* taken so far */
    size_t bytes_most;           /* more is refused */
    uint32_t depth_most;         /* of lists and dictionaries in each other: VALUE_DEPTH_MOST */
};

enum values_status {
    VALUES_OK = 0,
    VALUES_NO_MEMORY = -1,
    VALUES_TOO_MANY = -2,
    VALUES_TOO_DEEP = -3,
    VALUES_CYCLE = -4
};

void values_init(struct values *values, size_t bytes_most);
void values_release(struct values *values);

/* Memory that lives as long as the values do. NULL when there is none left, or the bound is reached. */
void *values_take(struct values *values, size_t bytes);

/* Why values_take() gave none for so many bytes. */
enum values_status values_why_none(const struct values *values, size_t bytes);

/* An empty list or dictionary into *value, which begins at that offset of the file. */
enum values_status values_container(struct values *values, enum value_kind kind, uint64_t offset,
                                    struct value *value);

/*
 * Adds `count` values behind those that a list or dictionary has; of a dictionary keys and values in turn.
 * What is added is closed: as only open ones take something up, none can come to contain itself.
 */
enum values_status values_add(struct values *values, struct value_items *into, const struct value *added,
                              size_t count);

/* Whether a value is this text. */
int value_is(const struct value *value, const char *text);

/* The value under a text as key; NULL when there is none, or when it is NULL or no dictionary, or one of more
 * than 1,024 members, which no record has. Of several the last counts, as it does in Python. */
const struct value *value_member(const struct value *dictionary, const char *key);

/* The items of a list; NULL where it is NULL or something else. */
const struct value_items *value_list(const struct value *value);

/* Where the items of a list or dictionary begin and end; both NULL where it is NULL or something else. */
const struct value *value_begin(const struct value *value);
const struct value *value_end(const struct value *value);

/* Whether it is there and of this kind. */
static inline int value_is_of(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

/* A whole number; -1 and *into as it was where it is none, NULL included. A text of decimal digits is one. */
int value_int64(const struct value *value, int64_t *into);

/* -------------------- json.c -------------------- */

struct json {
    struct value root;    /* it and what is below it: borrowed, until the next parse */
    struct values values; /* where that lives */
    struct value *open;   /* while it is parsed: what its list or dictionary has not taken up yet; owned */
    size_t open_count;
    size_t open_capacity;
    struct buffer mended; /* for users: a text that they made JSON of */
    int misread; /* something in it could not be taken as it stands: a string with a NUL inside, and whatever
                    else its user finds */
    int has_nan; /* json_parse_lenient() met nan or inf, as C prints a double that is no number */
    int has_misfit; /* a number that none of the functions below can read: they answer as if it were missing
                     */
};

enum json_status { JSON_OK = 0, JSON_INVALID = -1, JSON_NO_MEMORY = -2 };

void json_init(struct json *json);
void json_release(struct json *json);

/*
 * Parses `text`, which has to be one JSON value with nothing but white space around it. What was parsed
 * before into `json` is gone. Numbers are VALUE_DECIMAL and borrowed from `text`. Texts have a NUL behind
 * them.
 */
enum json_status json_parse(struct json *json, const char *text, size_t length);

/*
 * The same for text that is almost JSON: words that stand where a value should are taken for strings, as in
 * `"datatype": ncclFloat32`, `"Stream": 0x55d0`, `"Stream": (nil)` or `"ts": nan`. To be tried when
 * json_parse() has refused.
 */
enum json_status json_parse_lenient(struct json *json, const char *text, size_t length);

/*
 * A JSON text as values that borrow nothing of it: integers that fit are VALUE_INTEGER, other numbers
 * VALUE_NUMBER. `offset` is that of the text in the file. They are nested no deeper than VALUE_DEPTH_MOST.
 * Returns 0; 1 when it is no JSON, nested too deep or too much (*root is null); -1 when memory is out.
 */
int json_to_values(struct values *values, const char *text, size_t length, uint64_t offset,
                   struct value *root, struct error *error);

/* The value under a key; NULL when there is none, or when `object` is NULL or no object. */
const struct value *json_member(const struct value *object, const char *key);

/* Whether it is the boolean true. */
int json_is_true(const struct value *value);

/* A text; NULL when the value is NULL or something else. */
const char *json_text(const struct value *value);

/* Exact values of decimals; -1 and `*into` as it was when there is none or it does not fit. */
int json_int64(const struct value *value, int64_t *into);
int json_uint64(const struct value *value, uint64_t *into);

/* A number of microseconds, in nanoseconds (tokens.c). */
int json_microseconds_ns(const struct value *value, int64_t *ns);

/* -------------------- unpickle.c -------------------- */

/*
 * Python's pickle, as far as it is data: what torch's C++ pickler writes (protocol 2) and CPython's protocols
 * 2 to 5. A pickle is a program for a stack machine, and Python runs whatever it names: GLOBAL, REDUCE,
 * BUILD, INST, OBJ, PERSID, NEWOBJ, STACK_GLOBAL, EXT and their like are refused by name. So are the text
 * opcodes of protocol 0, sets and out-of-band buffers, which no dump has. Nothing is ever executed.
 *
 * Every length is held against the bytes that are left before anything is taken for it; memory is bounded by
 * UNPICKLE_BYTES_A_BYTE times the input. Opcodes: CPython's Lib/pickletools.py and torch's
 * torch/csrc/jit/serialization/pickler.h.
 */

/*
 * An opcode of one byte makes at most a value of 16 bytes on the stack, one in its container and one where
 * that grows, or an empty container of 40; the rest is the growth of arrays.
 */
enum { UNPICKLE_BYTES_A_BYTE = 24 };

struct unpickle_damage {
    uint64_t offset;  /* of the opcode that could not be taken */
    const char *what; /* a clause: "GLOBAL would run code"; NULL: all was read */
};

/*
 * Reads one pickle. The values borrow texts from `bytes`, and live in `values`, which the caller inits and
 * releases. What was read before damage is in *root all the same, its open containers marked as cut; *root is
 * VALUE_NULL where there was nothing. -1 when memory is out.
 */
int unpickle(struct values *values, const char *bytes, size_t length, struct value *root,
             struct unpickle_damage *damage, struct error *error);

#endif
