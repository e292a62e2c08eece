#ifndef NCCLPROF_FORMAT_FORMAT_H
#define NCCLPROF_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct event;
struct foreign_tables;
struct input;

/* A format whose files can be cut promises that its records are no shorter. */
enum { FORMAT_RECORD_BYTES = 16 };

/* The reason of a note, no damage: the file is being written, or its writer was killed. All of it was read.
 */
#define FORMAT_NOTE_OPEN "trace is open"

/* The reason of a note, where a file is of a later version of its format than is known: detail is the
 * version. */
#define FORMAT_NOTE_NEWER "newer format version"

/*
 * The expansion limit: how many bytes of rows and texts a file may take, by the bytes that were read of it. A
 * pickle and a table of texts hold once what they refer to many times. Usual files take about a byte for
 * each; the least is for short files. What is over the limit is refused and noted.
 */
enum { FORMAT_TOLD_A_BYTE = 8, FORMAT_TOLD_AT_LEAST = 1 << 20 };

static inline uint64_t format_told_most(uint64_t bytes_read)
{
    return FORMAT_TOLD_AT_LEAST +
           (bytes_read < UINT64_MAX / 2 / FORMAT_TOLD_A_BYTE ? bytes_read * FORMAT_TOLD_A_BYTE : bytes_read);
}

/* The reason of a note on what is refused by it. */
#define FORMAT_NOTE_BEYOND "record over the expansion limit"

/*
 * What a reader hands over. Both callbacks return 0, or -1 with `error` set to stop reading.
 */
struct format_sink {
    void *context;
    int (*event)(void *context, const struct event *event, struct error *error);
    /*
     * Something in the file that does not become an event: for the coverage ledger. `reason` is a fixed
     * phrase out of enum-like constants in the format's source ("unreadable line", "stale proxy step",
     * "proxy control event", ...), `detail` the text at fault or NULL (hostile: not yet escaped, need not
     * end in NUL). `damage` is true where data was lost or unreadable, false for what is merely not modelled.
     */
    int (*note)(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);
};

/*
 * One input dialect family. What a new one takes stands at the head of registry.c.
 */
struct format {
    const char *name;        /* "chrome", "inspector": what --format json calls `dialect` begins with it */
    int version;             /* of the reader, from 1: raised whenever other records come of the same bytes */
    const char *description; /* one line for help */
    const char *unknown; /* the reason under which it notes what is well-formed and no record of its own */
    int is_snapshot; /* files are written anew again and again: what a later content says takes nothing away
                      */
    /*
     * How sure the format is, 0 (not mine) to 100, from the first bytes of the unpacked input; the path is
     * only a tie-breaker.
     */
    int (*sniff)(const char *bytes, size_t length, const char *path);
    /*
     * Where reading may begin anew, in bytes from anywhere in a file, so that what comes before and what
     * comes from there on, read apart, give the same events: an offset above 0, or 0 for nowhere. NULL: files
     * of this format are read from front to back. A record is at least FORMAT_RECORD_BYTES long then.
     */
    size_t (*cut)(const char *bytes, size_t length);
    /*
     * Reads the whole input and hands over its events. Damage is noted and read past; the return value is
     * -1 only when the sink stopped it or reading failed. `dialect`, of `dialect_bytes`, receives the exact
     * dialect seen, "chrome-v5" or "inspector-2.30" for example.
     */
    int (*read)(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                struct error *error);
    /*
     * The same of a format that needs tables: its files are SQLite databases. NULL: it reads bytes, by
     * `read`, which is NULL else.
     */
    int (*read_tables)(const struct foreign_tables *tables, const struct format_sink *sink, char *dialect,
                       size_t dialect_bytes, struct error *error);
    /*
     * The likely reason, a clause for people, why a file with this path holds nothing at all (bytes 0), or no
     * event. NULL: none is known, or no recorder of this format gives its files such a name. The function is
     * NULL where no reason ever is (format_why_nothing asks).
     */
    const char *(*why_nothing)(const char *path, uint64_t bytes);
};

/* The format whose sniff is the surest, or NULL with an error that says what was seen instead. */
const struct format *format_detect(struct input *input, struct error *error);

/*
 * Whether the reader of the format of that name is a later one than `version`. No name: an early ncclprof,
 * which did not note it, read the file; that is earlier. A name that is not known is a later ncclprof's.
 */
int format_is_improved(const char *name, int64_t version);

/* Why a file of a format may hold nothing: its why_nothing(); NULL where it has none. */
const char *format_why_nothing(const struct format *format, const char *path, uint64_t bytes);

/* What else an input is, told by its beginning: "looks like ..."; NULL: nothing that is known here. */
const char *unsupported_file(struct input *input);

/* All formats, ended by NULL. */
extern const struct format *const format_registry[];

#endif
