#ifndef NCCLPROF_FORMAT_NCCL_WARNING_H
#define NCCLPROF_FORMAT_NCCL_WARNING_H

#include "format/text.h"
#include "model/event.h"

/*
 * What a warning of NCCL is about, as far as it says, in all its forms from 2.18 to 2.30. All that is neither
 * a failed transfer, a card's own failure nor a closed connection is WARNING_OTHER: among those are many that
 * healthy jobs print (a speed that cannot be read, a table of addresses that changed, a variable without
 * effect). Pieces are borrowed; empty where it does not say.
 */
struct warning_words {
    enum warning_kind kind;
    int64_t status;   /* of an InfiniBand completion: 12, retries exceeded; 5, flushed since another failed;
                         COUNT_UNKNOWN */
    struct text peer; /* the other end: an address or a host's name, without its port */
    struct text nic;  /* of this end: "mlx5_0" */
};

void warning_read(struct text message, struct warning_words *words);

/* "Bootstrap : Using eth0:10.0.0.10<0>": where others reach this host. Empty: it is no such line. */
struct text warning_own_address(struct text message);

#endif
