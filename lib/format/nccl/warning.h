#ifndef NCCLPROF_FORMAT_NCCL_WARNING_H
#define NCCLPROF_FORMAT_NCCL_WARNING_H

#include "format/text.h"

/* What a warning of NCCL is about, as far as it says. Pieces are borrowed; empty where it does not say. */
struct warning {
    struct text peer; /* the other end: an address or a host's name, without its port */
    struct text nic;  /* of this end: "mlx5_0" */
    int64_t status;   /* of an InfiniBand completion: 12, retries exceeded; 5, flushed since another failed;
                         COUNT_UNKNOWN */
};

void warning_read(struct text message, struct warning *warning);

#endif
