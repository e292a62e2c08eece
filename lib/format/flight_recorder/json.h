#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_JSON_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_JSON_H

#include "format/format.h"
#include "input/value.h"

struct input;

/*
 * A dump in JSON as the same tree that its pickle gives. What cannot be read is noted and passed over: of
 * entries each one by itself. *bytes is how much text there was. -1: memory is out, the sink stopped it, or
 * reading failed, after all that could be read.
 */
int dump_read_json(struct input *input, struct values *values, struct value *root, size_t *bytes,
                   const struct format_sink *sink, struct error *error);

#endif
