#ifndef NCCLPROF_POSTMORTEM_WHO_WAITS_H
#define NCCLPROF_POSTMORTEM_WHO_WAITS_H

#include "base/buffer.h"
#include "postmortem/wait_graph.h"

/*
 * Who waits for a rank in the instance of an operation: "Ranks 0, 2 wait in ", "Rank 3 waits in ", "7 ranks
 * wait in ". -1 when memory is out.
 */
int say_who_waits(const struct wait_graph *graph, int32_t rank, int32_t operation, struct buffer *text);

#endif
