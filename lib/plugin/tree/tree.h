/*
 * Puts records back together: each NCCL operation with its kernel channels, proxy operations and steps is a
 * tree, handed over once nothing more is to come. One thread only; records come in the order of their times.
 */
#ifndef PLUGIN_TREE_TREE_H
#define PLUGIN_TREE_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/tree/communicators.h"
#include "plugin/tree/names.h"
#include "plugin/tree/node.h"
#include "plugin/tree/tag_texts.h"

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

/* A start, stop, state or end of a context. */
void tree_take(struct tree *tree, const struct record *record);

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
