#ifndef NCCLPROF_FORMAT_REGISTRY_H
#define NCCLPROF_FORMAT_REGISTRY_H

#include "format/format.h"

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
const char *format_stranger(struct input *input);

/* All formats, ended by NULL. */
extern const struct format *const format_registry[];

#endif
