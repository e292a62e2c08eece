#ifndef NCCLPROF_FORMAT_NCCL_NCCL_SNIFF_H
#define NCCLPROF_FORMAT_NCCL_NCCL_SNIFF_H

#include <stddef.h>

/* Whether bytes are of NCCL's debug log: as in format.h. */
int nccl_sniff(const char *bytes, size_t length, const char *path);

#endif
