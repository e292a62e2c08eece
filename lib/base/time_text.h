#ifndef NCCLPROF_BASE_TIME_TEXT_H
#define NCCLPROF_BASE_TIME_TEXT_H

#include "base/buffer.h"

#include <stdint.h>

/* "1.20 ms", "3.41 s": three figures for people. -1 when memory is out. */
int text_time(struct buffer *text, int64_t time_ns);

#endif
