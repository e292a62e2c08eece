#ifndef NCCLPROF_FORMAT_NCCL_IDENTITY_H
#define NCCLPROF_FORMAT_NCCL_IDENTITY_H

#include <stdint.h>

/*
 * The hash of a communicator that was split off another, as NCCL 2.26 and later make it of the parent's, of
 * how many such there were before, and of the color. The same on all ranks, as the hash of a root
 * communicator is, which the log prints as commId; and what a profiler plugin names it by.
 */
uint64_t identity_of_child(uint64_t parent_hash, int32_t child, int32_t color);

#endif
