#ifndef NCCLPROF_JOIN_LOG_REPACK_H
#define NCCLPROF_JOIN_LOG_REPACK_H

#include "join/log_blocks.h"

/* What becomes of an operation of a block. */
struct log_change {
    int is_double;
    int64_t host_ns;    /* added to times of calls and enqueueing */
    int64_t device_ns;  /* and on the device */
    const char *source; /* file:line of the program, where the row has none; NULL */
};

/* Puts another block in the place of the one that is opened whole. `changes` are row by row. */
int logs_replace(struct logs *logs, int64_t block_id, const struct log_change *changes, struct error *error);

#endif
