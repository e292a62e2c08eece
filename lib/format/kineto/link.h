#ifndef NCCLPROF_FORMAT_KINETO_LINK_H
#define NCCLPROF_FORMAT_KINETO_LINK_H

#include "format/kineto/trace.h"

/*
 * Which kernels do the work of which calls. A kernel names the innermost operator around its launch, which is
 * the call; where calls are put into one group (batched sends and receives, lists) the group's kernel is
 * launched outside of all of them and names none: it is of the calls before it on its thread, since the end
 * of the group before. Joined by what is launched where on the host, never by when the GPU began: its clock
 * may put that before the launch.
 *
 * Fills in `launch`, `first_kernel`, `last_kernel`, `is_linked`; sorts launches and ranges; of sends and
 * receives that do not say their peer takes it from their annotation; measures what else GPUs did. -1: out of
 * memory.
 */
int kineto_link(struct kineto_trace *trace);

/* The last range of a thread that begins at or before a time, among those that kineto_link has sorted; -1. */
int64_t kineto_range_before(const struct kineto_ranges *ranges, int32_t thread, int64_t at_ns);

#endif
