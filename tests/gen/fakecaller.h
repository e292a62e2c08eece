/*
 * The part of a fake NCCL that calls a plugin's init: in a program, or in a library of its own, which exports
 * ncclNotifyTag or does not. By that a plugin tells NCCLs of version 7 apart.
 */
#ifndef FAKECALLER_H
#define FAKECALLER_H

#include "nccl_layout.h"

/* Which version 7 it stands for: true is that of NVIDIA/nccl pull request 2045, which exports ncclNotifyTag.
 */
bool fakecaller_has_tags(void);

typedef int fakecaller_function(nccl_init_v5 *init, void **context, uint64_t hash, int *mask,
                                const char *name, int nodes, int ranks, int rank, nccl_logger *logger);

/* init is called from within the code of whoever this was linked into. */
extern fakecaller_function fakecaller_init;

#endif
