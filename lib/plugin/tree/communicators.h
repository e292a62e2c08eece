/* Communicators as the writer knows them, and the tags that hold for what they do. */
#ifndef PLUGIN_TREE_COMMUNICATORS_H
#define PLUGIN_TREE_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/ring/communicator.h"
#include "plugin/ring/record.h"
#include "plugin/tree/gpu_clock.h"

struct tree;

struct communicator_state {
    struct communicator known; /* versions 1 to 3: filled in by the first operation */
    struct gpu_clock clock;
    uint64_t clock_told;    /* samples that the last GpuClock line knew */
    uint64_t done_start_ns; /* latest start of an operation of which a kernel channel stopped */
    uint32_t tag;           /* number in the tree's tags: newest of NCCL's own for this communicator */
    uint64_t tag_ns;
    uint64_t p2p_written; /* point-to-point operations in Inspector lines so far */
    bool ended;
};

/* Takes over communicators that are new in the registry; returns how many are known then, [0] included. */
uint32_t tree_learn_communicators(struct tree *tree);
/* Takes over which have ended, where no record tells. */
void tree_learn_ends(struct tree *tree);
/* [0] for a number that is not known. */
struct communicator_state *tree_communicator(struct tree *tree, uint32_t number);

/* Remembers a tag for the operations that start after it. */
void tree_tag(struct tree *tree, const struct record *record);

#endif
