#ifndef NCCLPROF_MODEL_CALL_H
#define NCCLPROF_MODEL_CALL_H

#include "model/vocab.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Calls of torch.distributed as descriptions of them (lit-gpt's monitor_collectives) count them, and what
 * NCCL gets of them.
 *
 * A description's message size leaves out what stays on the rank, and is one rank's: of reduce_scatter what
 * the rank keeps, of all_to_all what it sends to others, of gather and scatter what the root gets or sends.
 * Its bandwidth is message size / time, times (n-1)/n for all_gather and reduce_scatter and 2(n-1)/n for
 * all_reduce (the docstrings of monitor_collectives.py); of all_to_all that of all ranks together. So it is
 * nccl-tests' bus bandwidth, but an n-th of it for reduce_scatter, and n times it for all_to_all.
 */

struct call_kind {
    enum function function; /* of NCCL; FUNCTION_UNKNOWN: no call that is known */
    int is_barrier;         /* an AllReduce of one element, whatever its size */
};

/* Of a name as descriptions have it: "all_reduce", "reduce_scatter_tensor", "isend". */
struct call_kind call_kind_of(const char *name);

/* The message size of an operation of which NCCL got `bytes` (count x type size, as in function_size_bytes);
 * -1 where it cannot be kept. */
int64_t call_message_bytes(enum function function, int64_t bytes, int64_t ranks);

/* The same of an operation's size S (function_size_bytes). */
int64_t call_message_of_size(enum function function, int64_t size_bytes, int64_t ranks);

/* A description's bandwidth = message size / time x this factor. */
double call_bandwidth_factor(enum function function, int64_t ranks);

/* Whether an AllReduce of so many bytes may be a barrier. */
int call_may_be_barrier(int64_t bytes);

#endif
