#ifndef NCCLPROF_FORMAT_SNAPSHOT_SNAPSHOT_H
#define NCCLPROF_FORMAT_SNAPSHOT_SNAPSHOT_H

#include "format/format.h"

/* Snapshots of PyTorch's CUDA caching allocator (torch.cuda.memory._dump_snapshot), pickled or as JSON. */
extern const struct format format_snapshot;

#endif
