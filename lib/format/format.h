#ifndef NCCLPROF_FORMAT_FORMAT_H
#define NCCLPROF_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct event;
struct foreign_tables;
struct input;

/* A format that can be split (see `cut`) promises that no record of it is shorter than this. */
enum { FORMAT_RECORD_BYTES = 16 };

/*
 * Reason of a note that is no damage: the file is still being written, or its writer was killed. Everything
 * in it was read.
 */
#define FORMAT_NOTE_OPEN "trace is open"

/*
 * Reason of a note: the file has a later version of its format than this reader knows. The detail is the
 * version.
 */
#define FORMAT_NOTE_NEWER "newer format version"
/* Reason of a note that is no damage: no such metric has this value (lib/model/node.c); it is not stored. */
#define FORMAT_NOTE_IMPOSSIBLE "value out of range"
/* Once per file (schemas/join/foreign.sql looks for it). */
#define FORMAT_NOTE_FOREIGN_PROXIES "proxy operations for other processes"
/* Once per file, if the recorder does not tell which processes (schemas/analysis/caution.sql looks for it).
 */
#define FORMAT_NOTE_DETACHED_PROXIES "proxy operations for unknown processes"

/*
 * The expansion limit: how many bytes of records and texts a file may yield, as a function of the bytes read
 * from it. Pickles and string tables store a value once and refer to it many times, so a small file can
 * expand without bound. Ordinary files yield about one byte per byte read; the minimum is for short files.
 * Records above the limit are refused and noted.
 */
enum { FORMAT_EXPANSION_PER_BYTE = 8, FORMAT_EXPANSION_LEAST = 1 << 20 };

static inline uint64_t format_expansion_limit(uint64_t bytes_read)
{
    return FORMAT_EXPANSION_LEAST + (bytes_read < UINT64_MAX / 2 / FORMAT_EXPANSION_PER_BYTE
                                         ? bytes_read * FORMAT_EXPANSION_PER_BYTE
                                         : bytes_read);
}

/* Reason of the note on a record that the expansion limit refused. */
#define FORMAT_NOTE_OVER_LIMIT "record over the expansion limit"

/*
 * Where a reader sends its events and notes. Both callbacks return 0, or -1 with `error` set to stop reading.
 */
struct format_sink {
    void *context;
    int (*event)(void *context, const struct event *event, struct error *error);
    /*
     * Reports something in the file that does not become an event, for the ledger of skipped input. `reason`
     * is one of the fixed phrases in the format's source ("unreadable line", "stale proxy step", "proxy
     * control event", ...). `detail` is the text in question, or NULL; it comes from the file, is not yet
     * escaped, and need not end in NUL. `damage` is 1 where data was lost or unreadable, 0 where the record
     * was understood but is not stored.
     */
    int (*note)(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);
};

/* One input format, with all its dialects. The head of registry.c lists what a new one needs. */
struct format {
    const char *name; /* "chrome", "inspector": the first word of `dialect` in the JSON output */
    int version; /* of the reader, from 1; raised whenever the same bytes give other records than before */
    const char *description; /* one line for --help */
    const char *unknown;     /* reason of the note on a well-formed record that the format does not know */
    int is_snapshot; /* files are rewritten again and again: later content does not replace earlier records */
    /*
     * The name of a file, and of its directory, says what its content is of (host, interface, time): equal
     * content of another name is no copy.
     */
    int name_counts;
    /*
     * How certain it is that the input has this format, from 0 (it does not) to 100. `bytes` is the beginning
     * of the unpacked input; `path` only breaks ties.
     */
    int (*sniff)(const char *bytes, size_t length, const char *path);
    /*
     * Finds where a file can be split: the two parts, read separately, give the same events as the whole.
     * `bytes` are from anywhere in the file. Returns an offset above 0, or 0 where it cannot be split. NULL:
     * files of this format are read from front to back. A format that sets it promises records of at least
     * FORMAT_RECORD_BYTES.
     */
    size_t (*cut)(const char *bytes, size_t length);
    /*
     * Reads the whole input and hands its events to the sink. Damage is noted and skipped. Returns -1 only if
     * the sink stopped it or the input could not be read. `dialect`, an array of `dialect_bytes`, receives
     * the exact dialect, "chrome-v5" or "inspector-2.30" for example.
     */
    int (*read)(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                struct error *error);
    /*
     * The same for formats whose files are SQLite databases. Exactly one of `read` and `read_tables` is set;
     * the other is NULL.
     */
    int (*read_tables)(const struct foreign_tables *tables, const struct format_sink *sink, char *dialect,
                       size_t dialect_bytes, struct error *error);
    /*
     * Returns the likely reason why a file with this path is empty (bytes 0) or has no event, as a clause for
     * the user; NULL if no reason is known, or if no recorder of this format names its files so. The member
     * is NULL for formats that never know a reason; format_why_nothing() checks that.
     */
    const char *(*why_nothing)(const char *path, uint64_t bytes);
};

/*
 * Returns the format whose sniff() is the most certain, or NULL with an error that says what the input looks
 * like.
 */
const struct format *format_detect(struct input *input, struct error *error);

/*
 * Whether the reader of the format `name` is later than `version`. Without a name the file was read by an
 * early ncclprof that did not record it: 1. An unknown name comes from a later ncclprof: 0.
 */
int format_is_improved(const char *name, int64_t version);

/* Calls why_nothing() of a format; NULL if it has none. */
const char *format_why_nothing(const struct format *format, const char *path, uint64_t bytes);

/* Formats are detected from this many bytes at the beginning of a file. */
enum { FORMAT_SNIFF_BYTES = 64 * 1024 };

/*
 * Returns "looks like ..." for a file of a known kind that is no trace, judged by its first
 * FORMAT_SNIFF_BYTES; NULL if the kind is unknown. It searches them for many words.
 */
const char *unsupported_find(const char *bytes, size_t length, const char *path);

/* All formats, terminated by NULL. */
extern const struct format *const format_registry[];

#endif
