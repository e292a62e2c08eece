/*
 * Puts records back together: each NCCL operation with its kernel channels, proxy operations and steps is a
 * tree, handed over once nothing more is to come. One thread only; records come in the order of their times.
 */
#ifndef PLUGIN_TREE_TREE_H
#define PLUGIN_TREE_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/ring/communicator.h"
#include "plugin/tree/gpu_clock.h"
#include "plugin/tree/names.h"
#include "plugin/tree/node.h"
#include "plugin/tree/tag_texts.h"

/* A communicator as the writer knows it. */
struct communicator_state {
    struct communicator known; /* versions 1 to 3: filled in by the first operation */
    struct gpu_clock clock;
    uint64_t clock_told;    /* samples that the last GpuClock line knew */
    uint64_t done_start_ns; /* latest start of an operation of which a kernel channel stopped */
    uint32_t tag;           /* number in tags: newest of NCCL's own for this communicator */
    uint64_t tag_ns;
    uint64_t p2p_written; /* point-to-point operations in Inspector lines so far */
    bool ended;
};

struct tree_counts {
    uint64_t late;    /* stops and states of events that were written already, or never known */
    uint64_t orphans; /* events whose parent was not known, but for tasks: those stand alone */
    uint64_t evicted; /* operations written unfinished to make room */
    uint64_t lost;    /* events for which there was no room at all */
};

struct tree {
    struct node_pool pool;
    struct names names;
    struct tag_texts tags;
    struct communicator_state *communicators; /* [0]: unknown */
    uint32_t communicator_count, communicator_room;
    uint32_t ends_learnt;
    uint32_t first_root, last_root;
    uint32_t process_tag; /* number in tags: newest of a call or NVTX */
    uint64_t process_tag_ns;
    pid_t process;
    struct tree_counts counts;
    /* Called with each tree when it is done; the nodes go away afterwards. finished false: it never ended. */
    void (*done)(void *owner, uint32_t root, bool finished);
    void *owner;
};

/* mask, api: of events without a communicator of ours. 0, or -1 when memory is short. */
int tree_init(struct tree *tree, uint32_t pending_events, uint32_t mask, pid_t process, unsigned api);
void tree_release(struct tree *tree);

/* Takes over communicators that are new in the registry; returns how many are known then, [0] included. */
uint32_t tree_learn_communicators(struct tree *tree);
/* Takes over which have ended, where no record tells. */
void tree_learn_ends(struct tree *tree);
struct communicator_state *tree_communicator(struct tree *tree, uint32_t number);

/* A start, stop, state or end of a context. */
void tree_take(struct tree *tree, const struct record *record);

/* Remembers a tag for the operations that start after it. */
void tree_tag(struct tree *tree, const struct record *record);

/* Hands over what has been complete and quiet for long enough; all: everything, as it stands. */
void tree_sweep(struct tree *tree, uint64_t now_ns, bool all);

static inline struct node *tree_node(const struct tree *tree, uint32_t number)
{
    return &tree->pool.nodes[number];
}

static inline bool node_is_task(const struct node *node)
{
    return node->type == TYPE_COLL || node->type == TYPE_P2P;
}

/* When the last part of this event ended: itself or anything below. */
uint64_t tree_end_ns(const struct tree *tree, uint32_t number);

/* True when a task stopped with everything that belongs to it. */
bool tree_task_finished(const struct tree *tree, uint32_t number);

#endif
