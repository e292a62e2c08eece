#ifndef NCCLPROF_FORMAT_CHROME_EMIT_H
#define NCCLPROF_FORMAT_CHROME_EMIT_H

#include "format/chrome/reader.h"

/* How the files of the reader hand over what they put together, and figures that several of them make. */

/* A note for the ledger, as format_sink has it. */
int chrome_note(struct chrome_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *detail, size_t detail_length, struct error *error);

int chrome_emit(struct chrome_reader *reader, const struct event *event, struct error *error);

/* Who says so: the process of the file, as far as it is known by now; neither communicator nor rank. */
struct origin chrome_origin(const struct chrome_reader *reader, uint64_t offset);

/* An end before its begin is left from an earlier use of the slot: it is noted and unknown. */
int chrome_set_end(struct chrome_reader *reader, struct interval_ns *interval, int64_t end_ns,
                   uint64_t offset, struct error *error);

/* COUNT_UNKNOWN where count or datatype is not known. */
int64_t chrome_bytes(int64_t count, enum datatype datatype);
int chrome_has_root(enum function function);

/* The text of a user tag, which is `text`; NULL for 0, which is none. */
const char *chrome_user_tag(uint64_t user_tag, char text[CHROME_NUMBER_BYTES]);

/*
 * When a channel's kernel began or ended on the host's clock. The host noticed it then or later, by
 * milliseconds at times; where the recorder knows the GPU's clock on the host's it says better.
 */
int64_t chrome_kernel_time(int64_t noticed_ns, int64_t mapped_ns, int64_t not_before_ns);

#endif
