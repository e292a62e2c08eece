#ifndef NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H
#define NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H

#include "format/format.h"

/* What NCCL's RAS subsystem tells of a running job: `ncclras -f json`, NCCL 2.28.7 on. */
extern const struct format format_nccl_ras;

#endif
