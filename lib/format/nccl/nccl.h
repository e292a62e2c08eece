#ifndef NCCLPROF_FORMAT_NCCL_NCCL_H
#define NCCLPROF_FORMAT_NCCL_NCCL_H

#include "format/format.h"

/* NCCL's debug log (NCCL_DEBUG=INFO), of one process or of several mixed, among whatever else was printed. */
extern const struct format format_nccl;

#endif
