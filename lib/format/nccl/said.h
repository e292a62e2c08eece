#ifndef NCCLPROF_FORMAT_NCCL_SAID_H
#define NCCLPROF_FORMAT_NCCL_SAID_H

#include "format/text.h"

/* A message of NCCL's and where it stands. */
struct said {
    struct text message;
    int64_t speaker;
    int64_t tid;
    int64_t device; /* -1 */
    uint64_t offset;
    int64_t at_ns; /* TIME_UNKNOWN */
    int is_cut;    /* another line begins in it */
    int is_last;   /* the file ends with it, without a line's end */
};

#endif
