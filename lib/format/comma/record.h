#ifndef NCCLPROF_FORMAT_COMMA_RECORD_H
#define NCCLPROF_FORMAT_COMMA_RECORD_H

#include "format/format.h"
#include "input/json.h"

/*
 * One object of a CoMMA file as events: an operation with its proxy operations, or a proxy operation by
 * itself. Times are microseconds since the plugin started. Fields: google/CoMMA, src/event.rs.
 */
struct comma_reader {
    const struct format_sink *sink; /* borrowed */
    struct json json;
    int64_t next_ordinal;
    struct proxy_step *steps; /* of the proxy operation being read; FORMAT_STEPS_AT_ONCE of them, owned */
};

/* -1 when memory is out. */
int comma_reader_init(struct comma_reader *reader, const struct format_sink *sink);
void comma_reader_release(struct comma_reader *reader);

/* Hands over what the text says. 1; 0 when it is no object of CoMMA's; -1 to stop. */
int comma_take(struct comma_reader *reader, const char *text, size_t length, uint64_t offset,
               struct error *error);

#endif
