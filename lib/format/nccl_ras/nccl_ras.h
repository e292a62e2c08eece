#ifndef NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H
#define NCCLPROF_FORMAT_NCCL_RAS_NCCL_RAS_H

#include "format/format.h"

/* What NCCL's RAS subsystem tells of a running job: `ncclras`, its text of NCCL 2.24 on and its JSON of
 * 2.28.7 on. */
extern const struct format format_nccl_ras;

#endif
