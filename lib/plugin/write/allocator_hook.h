/* Whether PyTorch registers its allocator's memory with NCCL. */
#ifndef PLUGIN_WRITE_ALLOCATOR_HOOK_H
#define PLUGIN_WRITE_ALLOCATOR_HOOK_H

#include <stdbool.h>

/* As the environment says when the first communicator is there: PyTorch has asked by then. */
bool allocator_hook_is_on(void);

#endif
