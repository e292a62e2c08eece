#ifndef NCCLPROF_FORMAT_MEMORY_SNAPSHOT_MEMORY_SNAPSHOT_H
#define NCCLPROF_FORMAT_MEMORY_SNAPSHOT_MEMORY_SNAPSHOT_H

#include "format/format.h"

/* Snapshots of PyTorch's CUDA caching allocator (torch.cuda.memory._dump_snapshot), pickled or as JSON. */
extern const struct format format_memory_snapshot;

#endif
