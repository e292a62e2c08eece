/*
 * The part of a fake NCCL that calls a plugin's init: in a program, or in a separate library, which exports
 * ncclNotifyTag or does not. This is how a plugin distinguishes the two NCCLs of version 7.
 */
#ifndef FAKECALLER_H
#define FAKECALLER_H

#include "nccl_layout.h"

/*
 * Which version 7 it represents: true is that of NVIDIA/nccl pull request 2045, which exports ncclNotifyTag.
 */
bool fakecaller_has_tags(void);

typedef int fakecaller_function(nccl_init_v5 *init, void **context, uint64_t hash, int *mask,
                                const char *name, int nodes, int ranks, int rank, nccl_logger *logger);

/* Calls init from the code of the program or library into which this file was linked. */
extern fakecaller_function fakecaller_init;

#endif
