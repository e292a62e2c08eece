#ifndef NCCLPROF_FORMAT_STRANGERS_H
#define NCCLPROF_FORMAT_STRANGERS_H

#include <stddef.h>

/*
 * What else lies beside traces, told by the beginning of a file, and what to do with it. One that becomes a
 * format of its own leaves the table.
 */

/* "looks like ..."; NULL: nothing that is known here. */
const char *strangers_find(const char *bytes, size_t length);

/* Likewise, only what is so whatever formats make of its content: traces in an archive, say. */
const char *strangers_sure(const char *bytes, size_t length);

/* As strangers_find, and for any other file what it is at all: "unknown binary data" and the like. */
const char *strangers_describe(const char *bytes, size_t length);

#endif
