/*
 * Communicators that NCCL has told us of. NCCL holds a small number as its context, never a pointer: with PXN
 * it hands us the context of another process, and after finalize one that is gone.
 */
#ifndef PLUGIN_RING_COMMUNICATOR_H
#define PLUGIN_RING_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#define COMMUNICATORS_MAX 65536u

/* Which version 7 its NCCL speaks. */
enum api_dialect {
    DIALECT_OTHER,    /* another version, or unknown */
    DIALECT_RELEASED, /* NCCL 2.31's */
    DIALECT_TAGS,     /* NVIDIA/nccl pull request 2045's */
};

struct communicator {
    uint64_t hash; /* 0: unknown (versions 1 to 3 tell it with the operations) */
    int rank;      /* -1: unknown */
    int ranks;     /* -1: unknown */
    int nodes;     /* -1: unknown */
    unsigned api;  /* version of NCCL's interface */
    enum api_dialect dialect;
    uint32_t mask; /* enum api_event: what is recorded of it */
    char name[128];
};

/* The number of a copy, from 1 on; 0 when there are too many or memory is short. Callers take turns. */
uint32_t communicator_add(const struct communicator *communicator);

/* That it ended, where no ring had room to say so. */
void communicator_end(uint32_t number);
bool communicator_ended(uint32_t number);
/* How many did so: whoever saw as many need not look at each. */
uint32_t communicator_ends(void);

/* Any thread. Numbers 1 to count are readable; they stay for good. */
uint32_t communicator_count(void);
const struct communicator *communicator_at(uint32_t number);
/* On the event path, for any number that NCCL may come with: DIALECT_OTHER for one that is none of ours. */
enum api_dialect communicator_dialect(uint32_t number);
/* How many found no number: their events have none either. */
uint64_t communicator_refused(void);
/* Counts one that is not added at all. */
void communicator_refuse(void);

/* In a child after fork: they were the parent's. */
void communicator_forget_all(void);

#endif
