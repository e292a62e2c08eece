#ifndef NCCLPROF_FORMAT_TORCH_WRAPPED_H
#define NCCLPROF_FORMAT_TORCH_WRAPPED_H

#include "base/buffer.h"
#include "format/text.h"

/*
 * Records of the watchdog that a terminal or a launcher broke into several lines: the line in which one
 * begins is held until it is whole. What a launcher puts before each line is left out of those that follow.
 */
struct wrapped_record {
    struct buffer text; /* as far as it has come; nothing where `lines` is 0 */
    uint64_t offset;    /* of its first line */
    size_t lines;
    size_t prefix;    /* bytes before the record in its first line */
    size_t last_line; /* bytes of the latest line */
    size_t width;     /* of lines that were broken before in this file; 0: none was */
};

void wrapped_record_init(struct wrapped_record *record);
void wrapped_record_release(struct wrapped_record *record);

/* Begins anew with a line. -1: no memory. */
int wrapped_record_begin(struct wrapped_record *record, struct text line, uint64_t offset);

/* Adds a line to the record that is held, where it is its continuation: 1; 0: it is none; -1: no memory. */
int wrapped_record_add(struct wrapped_record *record, struct text line);

/* A line that follows a record without what the launcher put before both. */
struct text wrapped_record_strip(const struct wrapped_record *record, struct text line);

#endif
