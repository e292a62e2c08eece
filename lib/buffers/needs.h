#ifndef NCCLPROF_BUFFERS_NEEDS_H
#define NCCLPROF_BUFFERS_NEEDS_H

#include "model/event.h"

/*
 * What of its buffers a call touches on a rank: NCCL's API, src/nccl.h.in. `bytes` is count x type size as
 * the API got them, `ranks` the communicator's size (0: not known, then no more than `bytes` is asked for).
 */
struct needs {
    uint64_t send_bytes; /* 0: it reads none */
    uint64_t receive_bytes;
};

struct needs needs_of(enum function function, int64_t bytes, int64_t ranks, int is_root);

#endif
