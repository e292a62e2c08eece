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

/* The default bound of unpack_ratio: more than any real trace expands by. */
#define INPUT_RATIO_MOST 500

/* Limits of reading, and a way to stop it. */
struct input_limits {
    uint64_t unpacked_bytes; /* maximum number of bytes unpacked from a compressed file; 0: no limit */
    uint64_t unpack_ratio;   /* maximum number of unpacked bytes per byte read (checked beyond 16 MiB); 0: no
                                limit */
    int (*stopped)(void *context); /* called before each read, and while a pipe has no data; may be NULL */
    void *context;
};

/*
 * Opens a file; `path` "-" is standard input. Refuses everything but regular files, standard input, and pipes
 * that are named by the user, with a reason ("is a directory", "is a device").
 */
struct input *input_open(const char *path, const struct input_limits *limits, struct error *error);
/*
 * Opens bytes `begin` to `end` of an uncompressed regular file as if the file had no others. Offsets still
 * count from the beginning of the file. input_digest is not available.
 */
struct input *input_open_part(const char *path, const struct input_limits *limits, uint64_t begin,
                              uint64_t end, struct error *error);
void input_close(struct input *input);

/* When the file was last modified, in nanoseconds since the epoch; INT64_MIN if it is not a regular file. */
int64_t input_modified_ns(const struct input *input);

const char *input_path(const struct input *input);

/*
 * Returns the next bytes without consuming them: at most `length`, fewer only at the end of the input. -1 on
 * a read error.
 */
int64_t input_peek(struct input *input, const char **bytes, size_t length, struct error *error);

/*
 * Reads the next line, without its "
 *
 * " or "\r
 *
 * ". The text is borrowed until the next call. Returns 1; 0 at the end; -1 on a read error. For damaged gzip
 * data that is after everything readable before the damage was returned. A line longer than INPUT_LINE_BYTES
 * comes in pieces of at most that size, so that a whole trace on one line can be read and nothing is lost.
 * All pieces but the last have `goes_on` set, all but the first `continued`.
 */
enum { INPUT_LINE_BYTES = 1 << 20 };

struct input_line {
    const char *text; /* followed by a NUL that is not part of it; may contain NULs */
    size_t length;
    uint64_t offset; /* of the first byte, in the unpacked stream */
    int goes_on;     /* the next call returns more of the same line */
    int continued;   /* this is a later piece of a line */
    int ended;       /* the newline was present; false for an incomplete last line, and if the line goes on */
};

int input_line(struct input *input, struct input_line *line, struct error *error);

/*
 * The bytes of the next lines that are in memory already: `*length` bytes, borrowed until the next call of
 * any other function, and the offset of the first one. 0 bytes if the next byte is not at the beginning of a
 * line. This is for readers that find the ends of lines themselves: they then pass the number of bytes that
 * they consumed to input_skip(), which must be whole lines with their newlines. input_line() continues after
 * them.
 */
const char *input_ahead(const struct input *input, size_t *length, uint64_t *offset);
void input_skip(struct input *input, size_t length);

/* The number of (compressed) bytes read from the file so far, and of unpacked bytes returned. */
uint64_t input_bytes_read(const struct input *input);
uint64_t input_bytes_unpacked(const struct input *input);

/* The size of the file as the operating system reports it; 0 if it has none (a pipe). */
uint64_t input_size(const struct input *input);

/*
 * The digest of the raw bytes of the whole file. Call it after the last line. If the file was not read to its
 * end (an error, a limit), the digest matches that of no complete file.
 */
void input_digest(const struct input *input, char text[33]);

/*
 * The digest of the unpacked bytes, or of the raw bytes if the file is not compressed. Call it after the last
 * line. Returns -1 if the file was not unpacked completely.
 */
int input_unpacked_digest(const struct input *input, char text[33]);

/*
 * Appends all bytes of an input to `bytes`, for formats that can only be read as a whole. Returns -1 when the
 * input cannot be read to its end (the bytes before are appended), when out of memory, or when there are more
 * than `bytes_most` bytes.
 */
int input_whole(struct input *input, size_t bytes_most, struct buffer *bytes, struct error *error);

/* -------------------- walk.c -------------------- */

const char *raw_json_skip_spaces(const char *text, const char *end);

/* The first position that is not JSON white space; `end` if there is none. Usually there is no white space.
 */
static inline const char *raw_json_skip_space(const char *text, const char *end)
{
    return text < end && (unsigned char)*text <= ' ' ? raw_json_skip_spaces(text, end) : text;
}

/* Text borrowed from the input. A string value includes its quotes, a key does not. */
struct raw_json {
    const char *text;
    size_t length;
};

/* Iterates over the values of an object or array. */
struct raw_json_cursor {
    const char *at;
    const char *end;
    char closing; /* '}' or ']'; '\0' if the value is neither an object nor an array */
    int is_begun;
};

/* Starts an iteration over the values of a container. */
void raw_json_enter(struct raw_json_cursor *cursor, struct raw_json container);

/*
 * Gets the next value, with its key if in an object. Returns 1; 0 if there are no more; -1 if the text is not
 * valid JSON.
 */
int raw_json_next(struct raw_json_cursor *cursor, struct raw_json *key, struct raw_json *value);

/* Where a value that begins at `text` ends; NULL if it does not end before `end`, or is not valid. */
const char *raw_json_value_end(const char *text, const char *end);

/*
 * Whether the text equals `expected`, which contains no escapes. For a literal the compiler computes the
 * length.
 */
static inline int raw_json_is(struct raw_json text, const char *expected)
{
    size_t length = strlen(expected);
    return text.length == length && (length == 0 || memcmp(text.text, expected, length) == 0);
}

/*
 * The text between the quotes of a string, with its escapes unresolved. Returns -1 if the value is not a
 * string.
 */
static inline int raw_json_string(struct raw_json value, struct raw_json *content)
{
    if (value.length < 2 || value.text[0] != '"')
        return -1;
    *content = (struct raw_json){value.text + 1, value.length - 2};
    return 0;
}

/*
 * Appends the text with its escapes resolved; an invalid escape is copied unchanged. Returns -1 when out of
 * memory.
 */
int raw_json_unescape(struct raw_json content, struct buffer *buffer);

/* -------------------- tokens.c -------------------- */

/*
 * Extracts the values at given paths from one JSON text of any length and with any line breaks, one after the
 * other. It needs no more memory than the window of the input; a returned value has at most
 * TOKENS_VALUE_BYTES. Damage is reported and skipped: after a value whose end cannot be found (as with a
 * stray quote), reading resumes where the next value begins in the same way as its siblings.
 *
 * A path names the members from the outermost one: "distributedInfo.rank". "[]" stands for each item of an
 * array, "*" for each member of an object: "traceEvents[]", "pg_config.*", "*". If a value matches several
 * paths, the longest one applies: with "*" and "traceEvents[]" the events are returned one by one, and every
 * other member as a whole.
 */
enum { TOKENS_VALUE_BYTES = 1 << 20, TOKENS_PATHS = 8, TOKENS_LEVELS = 8 };

/* What tokens_next found. */
enum tokens_kind {
    TOKENS_VALUE,
    TOKENS_DAMAGE,   /* invalid JSON; value.text is its beginning */
    TOKENS_TOO_LONG, /* a value longer than TOKENS_VALUE_BYTES; value.text is its beginning */
    TOKENS_CUT,      /* the input ends within a value; value.text is the incomplete value */
    TOKENS_END
};

struct tokens_value {
    enum tokens_kind kind;
    size_t path;           /* index of the path that it matches */
    struct raw_json key;   /* its key in its object; length 0 for an item of an array */
    struct raw_json value; /* like the key, borrowed until the next call */
    uint64_t offset;       /* of the first byte, in the unpacked input */
};

/* An open object or array, and for each path the part that is not matched yet. */
struct tokens_level {
    const char *rest[TOKENS_PATHS]; /* NULL: not on that path */
    char closing;                   /* '}' or ']'; '\0' at the outermost level */
    char has_value;
    size_t items; /* 1 + index of the path that each item of an array matches; 0: none, or it leads further */
    char mark[40]; /* how its values begin, including the line break and spaces before them, if any */
    size_t mark_bytes;
};

struct tokens {
    struct input *input; /* borrowed, as are the paths */
    const char *const *paths;
    size_t path_count;
    struct tokens_level levels[TOKENS_LEVELS + 1];
    size_t depth;
    const char *text; /* the part of the input in memory */
    const char *at;
    const char *end;
    uint64_t offset; /* of text */
    int at_end;      /* the input has no more bytes than these */
    int is_over;     /* the outermost value has ended */
    int must_resume; /* the item returned last was damaged and is not consumed yet */
    int must_skip;   /* the value returned last was too long and is not consumed yet */
    char key[256];   /* of the value being read; a longer key is truncated and matches no path but "*" */
    size_t key_bytes;
};

/*
 * `paths` has at most TOKENS_PATHS entries and ends with NULL. A struct tokens owns nothing, so there is no
 * release function.
 */
void tokens_init(struct tokens *tokens, struct input *input, const char *const *paths);

/*
 * Gets the next value, or a description of damage in its place. Returns -1 when reading failed, after
 * everything readable was returned.
 */
int tokens_next(struct tokens *tokens, struct tokens_value *value, struct error *error);

/*
 * Whether more text follows the outermost value. If so, the input is at the first byte that is not white
 * space, and tokens_init may start again there.
 */
int tokens_leave(struct tokens *tokens);

/*
 * Exact numbers from their text: a double cannot hold every 64-bit integer and time. Each function requires
 * that the whole text is the number, and returns -1 if it is not or if the number is out of range.
 */

/*
 * Accepts "-12" and "12", and also "12.000" and "1.2e1", as other tools rewrite integers, if no fraction is
 * lost.
 */
int number_int64(const char *text, size_t length, int64_t *value);
int number_uint64(const char *text, size_t length, uint64_t *value);

/* Accepts "0x55d0" and "55d0". */
int number_hexadecimal(const char *text, size_t length, uint64_t *value);

/*
 * Converts a decimal number of microseconds to nanoseconds, rounded half away from zero. Numbers beyond
 * NUMBER_MOST_NS (146 years) are rejected, so that the difference of any two times fits into 64 bits.
 */
#define NUMBER_MOST_NS ((INT64_C(1) << 62) - 1)
int number_microseconds_ns(const char *text, size_t length, int64_t *ns);

/* Whether the text is a JSON number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)? */
int number_is_json(const char *text, size_t length);

/* -------------------- walk.c -------------------- */

/*
 * The regular files below a set of paths, each once, even if several paths or links lead to it. Directories
 * are searched recursively. Links are followed, but no directory is entered twice. Inside directories, names
 * that begin with a dot are ignored, and entries that are not regular files (pipes, sockets, devices,
 * dangling links) are skipped with a note.
 */
struct walk_file {
    char *path;     /* as reached from the given path; "-" for standard input */
    char *realpath; /* absolute, links resolved; "-" for standard input and other pipes without a name */
    size_t start;   /* index of the given path that led to it */
    size_t copies;  /* number of other files that are copies of this one or of its beginning; 0 until copies
                       are searched for */
    char *copy;     /* path of one of these copies; NULL */
    char *folder;   /* real path of the folder that represents its own, which contains copies of the files
                       there; NULL */
};

/* One of the given paths. */
struct walk_start {
    int is_directory;
    int has_known; /* something in it was already reached from an earlier path */
};

struct walk {
    struct walk_file *files; /* owned; in the order of the given paths, sorted by name inside a directory */
    size_t count;
    size_t capacity;
    struct walk_start *starts; /* owned; one for each call of walk_add(), including failed ones */
    size_t start_count;
    size_t start_capacity;
    char **notes; /* owned; one sentence for each skipped entry */
    size_t note_count;
    size_t note_capacity;
    char **losses; /* owned; one sentence for each place that could not be searched */
    size_t loss_count;
    size_t loss_capacity;
    struct map seen; /* (device, inode) of each file and directory -> start that led to it */
};

void walk_init(struct walk *walk);
void walk_release(struct walk *walk);

/*
 * Adds the files at and below `path`. Returns -1 if the path does not exist or cannot be read, since the user
 * named it, or when out of memory. A pipe given by name is accepted.
 */
int walk_add(struct walk *walk, const char *path, struct error *error);

/* Whether the file at `path` was added, under this or another name. */
int walk_has(const struct walk *walk, const char *path);

/* -------------------- value.c -------------------- */

/*
 * A tree of plain values, read from a pickle or from JSON. Depth (VALUE_DEPTH_MOST) and memory (struct
 * values, bytes_most) are bounded, since the input is hostile. A list or dictionary may occur in several
 * places: it is shared, never copied, and there are no cycles. Code that walks a tree must therefore bound
 * the number of items it visits: a small file can refer to the same list very often.
 *
 * Texts are UTF-8 as in the file (hostile and not validated). They are borrowed from the bytes of the file or
 * from the arena, and are not followed by a NUL.
 */
enum value_kind {
    VALUE_NULL = 0,
    VALUE_BOOLEAN,
    VALUE_INTEGER,
    VALUE_NUMBER,  /* a double */
    VALUE_DECIMAL, /* a number as JSON writes it, in `text`: exact and of any size */
    VALUE_TEXT,
    VALUE_LIST,      /* or a tuple */
    VALUE_DICTIONARY /* with keys of any kind */
};

/* A value. `kind` selects the member of the union. */
struct value {
    enum value_kind kind;
    uint32_t length; /* in bytes, of a text or decimal */
    union {
        int64_t integer; /* of a boolean 0 or 1 */
        double number;
        const char *text;
        struct value_items *items; /* of a list or dictionary */
    };
};

/* The values of a list; the keys and values of a dictionary in turn. Both in the order of the file. */
struct value_items {
    struct value *items; /* in the arena */
    size_t count;
    size_t capacity;
    uint32_t depth;  /* levels of lists and dictionaries from here down; 1: contains none */
    uint64_t offset; /* of the first byte, in the file */
    int is_closed;   /* it is part of another container, so no more items can be added */
    int is_cut;      /* the file was damaged before the end of the container: items may be missing */
};

/* An arena of values, which are all freed at once. */
struct values {
    struct values_chunk *chunks; /* owned */
    size_t bytes;                /* allocated so far */
    size_t bytes_most;           /* limit of `bytes` */
    uint32_t depth_most;         /* limit of nested lists and dictionaries: VALUE_DEPTH_MOST */
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

/* Allocates memory that lives as long as the arena. Returns NULL when out of memory or beyond bytes_most. */
void *values_take(struct values *values, size_t bytes);

/* The reason why values_take() returned NULL for this many bytes. */
enum values_status values_why_none(const struct values *values, size_t bytes);

/* Creates an empty list or dictionary in *value; `offset` is where it begins in the file. */
enum values_status values_container(struct values *values, enum value_kind kind, uint64_t offset,
                                    struct value *value);

/*
 * Appends `count` values to a list or dictionary; for a dictionary keys and values in turn. The appended
 * containers become closed. Since only open containers can grow, no container can ever contain itself.
 */
enum values_status values_add(struct values *values, struct value_items *into, const struct value *added,
                              size_t count);

/* Whether a value is a text equal to `text`. */
int value_is(const struct value *value, const char *text);

/*
 * The value of a text key. NULL if there is none, if `dictionary` is NULL or not a dictionary, or if it has
 * more than 1,024 members, which no record has. Of duplicate keys the last one counts, as in Python.
 */
const struct value *value_member(const struct value *dictionary, const char *key);

/* The items of a list; NULL if `value` is NULL or not a list. */
const struct value_items *value_list(const struct value *value);

/*
 * The first and the end of the items of a list or dictionary; both are NULL if `value` is NULL or of another
 * kind.
 */
const struct value *value_begin(const struct value *value);
const struct value *value_end(const struct value *value);

/* Whether the value is present and of this kind. */
static inline int value_is_of(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

/*
 * An integer; a text of decimal digits counts as one. Returns -1 and leaves *into unchanged for anything
 * else, including NULL.
 */
int value_int64(const struct value *value, int64_t *into);

/* -------------------- json.c -------------------- */

struct json {
    struct value root;    /* with everything below it borrowed, until the next parse */
    struct values values; /* arena of the tree */
    struct value *open;   /* owned; while parsing: values whose list or dictionary is not complete */
    size_t open_count;
    size_t open_capacity;
    struct buffer mended; /* for callers: a text that they converted to JSON */
    int misread;    /* some value was not taken literally: a string with a NUL inside, or anything that the
                       caller flags */
    int has_nan;    /* json_parse_lenient() found nan or inf, as C prints such a double */
    int has_misfit; /* a number is out of range for all functions below, which treat it as missing */
};

enum json_status { JSON_OK = 0, JSON_INVALID = -1, JSON_NO_MEMORY = -2 };

void json_init(struct json *json);
void json_release(struct json *json);

/*
 * Parses `text`, which must be one JSON value with only white space around it. The previous content of `json`
 * is discarded. Numbers become VALUE_DECIMAL and are borrowed from `text`. Texts are followed by a NUL.
 */
enum json_status json_parse(struct json *json, const char *text, size_t length);

/*
 * Parses text that is almost JSON: a bare word in place of a value becomes a string, as in `"datatype":
 * ncclFloat32`, `"Stream": 0x55d0`, `"Stream": (nil)` or `"ts": nan`. Try it when json_parse() has failed.
 */
enum json_status json_parse_lenient(struct json *json, const char *text, size_t length);

/*
 * Parses a JSON text into values that borrow nothing from it. Integers in range become VALUE_INTEGER, other
 * numbers VALUE_NUMBER. `offset` is the position of the text in the file. Values are nested at most
 * VALUE_DEPTH_MOST deep. Returns 0; 1 if the text is not valid JSON, nested too deep or too large (*root is
 * then VALUE_NULL); -1 when out of memory.
 */
int json_to_values(struct values *values, const char *text, size_t length, uint64_t offset,
                   struct value *root, struct error *error);

/* The value of a key; NULL if there is none, or if `object` is NULL or not an object. */
const struct value *json_member(const struct value *object, const char *key);

/* Whether the value is the boolean true. */
int json_is_true(const struct value *value);

/* The text of a value; NULL if the value is NULL or not a text. */
const char *json_text(const struct value *value);

/*
 * The exact value of a decimal. Returns -1 and leaves *into unchanged if `value` is not a number or out of
 * range.
 */
int json_int64(const struct value *value, int64_t *into);
int json_uint64(const struct value *value, uint64_t *into);

/* A number of microseconds, converted to nanoseconds (tokens.c). */
int json_microseconds_ns(const struct value *value, int64_t *ns);

/* -------------------- unpickle.c -------------------- */

/*
 * Reads Python pickles that contain only data: those of torch's C++ pickler (protocol 2) and of CPython's
 * protocols 2 to 5. A pickle is a program for a stack machine, and Python runs whatever it names. Nothing is
 * executed here: GLOBAL, REDUCE, BUILD, INST, OBJ, PERSID, NEWOBJ, STACK_GLOBAL, EXT and similar opcodes are
 * refused by name. The text opcodes of protocol 0, sets and out-of-band buffers, which do not occur in dumps,
 * are refused as well.
 *
 * Every length is checked against the remaining bytes before memory is allocated for it. Memory is bounded by
 * UNPICKLE_BYTES_A_BYTE times the input. Opcodes: CPython's Lib/pickletools.py and torch's
 * torch/csrc/jit/serialization/pickler.h.
 */

/*
 * An opcode of one byte creates at most a value of 16 bytes on the stack, another 16 bytes in its container
 * and another where the container grows, or an empty container of 40 bytes. The rest is for the growth of
 * arrays.
 */
enum { UNPICKLE_BYTES_A_BYTE = 24 };

struct unpickle_damage {
    uint64_t offset;  /* of the opcode that was refused or damaged */
    const char *what; /* a clause such as "GLOBAL would run code"; NULL if everything was read */
};

/*
 * Reads one pickle. The values borrow texts from `bytes` and live in `values`, which the caller initializes
 * and releases. After damage, *root contains what was read before, with the open containers marked is_cut; it
 * is VALUE_NULL if there was nothing. Returns -1 when out of memory.
 */
int unpickle(struct values *values, const char *bytes, size_t length, struct value *root,
             struct unpickle_damage *damage, struct error *error);

#endif
