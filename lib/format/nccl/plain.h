#ifndef NCCLPROF_FORMAT_NCCL_PLAIN_H
#define NCCLPROF_FORMAT_NCCL_PLAIN_H

#include "base/buffer.h"
#include "format/text.h"

/* Leaves escape sequences of terminals out of a line; in `buffer`, where there are any. -1: no memory. */
int plain_text(struct text *line, struct buffer *buffer);

/* How much of a text is left where what stands before a line of NCCL's begins in it: a time, or a launcher's
 * name. */
size_t plain_before_stamp(struct text text);

#endif
