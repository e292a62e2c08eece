#ifndef NCCLPROF_MODEL_PACK_H
#define NCCLPROF_MODEL_PACK_H

#include "base/buffer.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Compact byte forms of what an operation holds many of: kernel channels, proxy steps, proxy states. They are
 * kept in stores, so the forms never change; a new one would begin with another number. A value comes back
 * exactly, TIME_UNKNOWN and 0 included.
 *
 * Times are written as differences to a base that the caller keeps beside the blob (any time near the first
 * one; 0 does, at some bytes more) and has to give again when unpacking. Numbers are little-endian base-128,
 * signed ones folded (0, -1, 1, -2 ...). Appending functions return -1 when memory is out; the buffer is then
 * to be thrown away. Unpacking never reads outside the blob, whatever it holds, and returns -1 when the blob
 * was not made here.
 */

/* The kernel channels of an operation; `gpu_base` is any GPU clock value near theirs. */
int pack_channels(struct buffer *buffer, int64_t base_ns, uint64_t gpu_base,
                  const struct kernel_channel *channels, size_t count);

/* The steps of a proxy operation. */
int pack_steps(struct buffer *buffer, int64_t base_ns, const struct proxy_step *steps, size_t count);

/* The counters of API v1 to v3: reads and writes `state` of a proxy operation, nothing else. */
int pack_states(struct buffer *buffer, int64_t base_ns, const struct proxy_operation *proxy);
int unpack_states(const void *blob, size_t length, int64_t base_ns, struct proxy_operation *proxy);

/*
 * Reading a blob of channels or steps from front to back:
 *
 *     struct unpack unpack;
 *     struct proxy_step step;
 *     int more;
 *     if (unpack_steps(&unpack, blob, length, base_ns)) ... not ours
 *     while ((more = unpack_next_step(&unpack, &step)) == 1) ...
 *     if (more < 0) ... damaged
 *
 * The blob is borrowed until the last call. `left` is how many are still to come, a count that has been
 * checked against the blob's length and may serve for an allocation.
 */
struct unpack {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t left;
    int64_t time_ns; /* what the next difference counts from */
    uint64_t gpu;
    int64_t number; /* channel or step before */
    int receive_order;
};

int unpack_channels(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns,
                    uint64_t gpu_base);
int unpack_next_channel(struct unpack *unpack, struct kernel_channel *channel);

int unpack_steps(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns);
int unpack_next_step(struct unpack *unpack, struct proxy_step *step);

#endif
