#ifndef NCCLPROF_FORMAT_NCCL_MESSAGE_H
#define NCCLPROF_FORMAT_NCCL_MESSAGE_H

#include "format/text.h"
#include "model/vocab.h"

/* What NCCL's messages say, in all their forms from 2.18 to 2.30. Each function returns 1 where it is such a
 * one, 0 where it is not, -1 where it began as one and is not whole. */

/* "AllReduce: opCount 1f sendbuff ... count 8 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x1". */
struct message_call {
    enum function function; /* FUNCTION_OTHER: one that moves data on one side alone */
    int64_t count;
    enum datatype datatype;
    int64_t root; /* the peer, of a send or receive */
    uint64_t communicator;
    int64_t ranks;   /* of the communicator; COUNT_UNKNOWN */
    uint64_t stream; /* 0: the default one */
    uint64_t send_buffer;
    uint64_t receive_buffer; /* of a send, too, where it has no other */
};
int message_read_call(struct text message, struct message_call *call);

/* "ncclCommSplit comm 0x1 rank 0 nranks 4 ... parent 0x2 splitCount 1 color 0 key 0 - Init COMPLETE" and its
 * kind. */
struct message_init {
    struct text function; /* empty: not said, before 2.21 */
    uint64_t communicator;
    int64_t rank;
    int64_t ranks;
    int64_t device; /* CUDA's number in the process; COUNT_UNKNOWN */
    int64_t nvml_device;
    struct text bus;
    uint64_t id;     /* 0: not said */
    uint64_t parent; /* 0: none */
    int64_t child;   /* how many of the parent's it is; COUNT_UNKNOWN: not said */
    int64_t color;
    int is_complete;
};
/* 2: it is whole, and names no communicator, as before NCCL 2.18 (RCCL 6). */
int message_read_init(struct text message, struct message_init *init);

/*
 * As nvidia-smi and NCCL's other plugins write it: NCCL's log has the digits alone, without the zeros before
 * them. What is no such number is shown as it stands.
 */
void message_write_bus(struct text said, char *bus, size_t bytes);

/*
 * "comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1b000 - Destroy COMPLETE", which a communicator that failed has
 * not: it is aborted. 0: it is no such line.
 */
int message_read_end(struct text message, uint64_t *communicator);

/* "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 ...". */
struct message_nodes {
    uint64_t communicator;
    int64_t nodes;
};
int message_read_nodes(struct text message, struct message_nodes *nodes);

/* Another line about registered memory. */
int message_is_registration(struct text message);

#endif
