#ifndef NCCLPROF_FORMAT_OBJECTS_H
#define NCCLPROF_FORMAT_OBJECTS_H

#include "base/error.h"
#include "format/format.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
