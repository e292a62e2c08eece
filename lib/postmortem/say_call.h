#ifndef NCCLPROF_POSTMORTEM_SAY_CALL_H
#define NCCLPROF_POSTMORTEM_SAY_CALL_H

#include "base/buffer.h"
#include "job/job.h"

/* "AllReduce number 8 on communicator 0-3 with 2048 bytes of float32, at train.py:66": of what is known. -1
 * when memory is out. */
int say_call(const struct job *job, int32_t operation, struct buffer *text);

/* ", at train.py:66"; nothing where that is not known. */
int say_source(const struct job *job, int32_t operation, struct buffer *text);

#endif
