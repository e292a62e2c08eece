#ifndef NCCLPROF_FORMAT_CHROME_KERNEL_COUNT_H
#define NCCLPROF_FORMAT_CHROME_KERNEL_COUNT_H

#include "format/chrome/reader.h"

/*
 * NCCL takes the times of a kernel channel from a ring that the GPU and the host both count through, work by
 * work. The host leaves out works of which it tells no kernel channel, and from then on finds the times of
 * earlier operations there, on that communicator of that rank:
 * - what a rank sends to itself, NCCL 2.26 to 2.30 (enqueue.cc, addP2pToPlan: no proxy operations where
 *   selfSend);
 * - each ncclBroadcast, NCCL 2.29.2 and later with NCCL_ALLGATHERV_ENABLE=1, the default: its task loses the
 *   mask of events (NVIDIA/nccl#2368).
 * Where such an operation has kernel channels the host counted it, and nothing is wrong.
 */

/* What the operation that ended last tells of it. -1: no memory. */
int kernel_count_operation(struct chrome_reader *reader, struct error *error);

/* A Broadcast of which NCCL reported no operation at all. */
int kernel_count_bare_broadcast(struct chrome_reader *reader, struct error *error);

/* The reason of a note, where a kernel channel of the open operation has the times of another; NULL: its own.
 */
const char *kernel_count_astray(struct chrome_reader *reader);

#endif
