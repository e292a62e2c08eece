/*
 * The writer's memory of events that are not written yet: nodes from a bounded pool, found by NCCL's handle.
 * Number 0 is no node.
 */
#ifndef PLUGIN_TREE_NODE_H
#define PLUGIN_TREE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/ring/record.h"

#define NODE_STATES 4

struct node_task {
    uint64_t sequence;
    uint64_t send_buffer;
    uint64_t recv_buffer;
    uint64_t count;
    int32_t root;
    int32_t rank;
    int32_t peer;
    uint32_t tag; /* number in tags */
    uint16_t function, datatype, algorithm, protocol;
    uint16_t kernels_expected, kernels_started, kernels_stopped;
    uint16_t kernel_variant;
    uint8_t channels, warps;
    uint8_t symmetry;  /* enum record_symmetry */
    uint64_t user_tag; /* 0: none */
};

struct node_call {
    uint64_t count;
    uint64_t stream;
    uint64_t user_tag;
    int32_t root; /* or the group's depth */
    uint16_t function, datatype;
    uint8_t graph_captured;
};

struct node_proxy_op {
    uint64_t progress_ns;
    uint64_t transferred_bytes;
    uint64_t state_ns[NODE_STATES]; /* versions 1 to 3 */
    int32_t state_steps[NODE_STATES];
    int32_t pid, rank, peer, steps, chunk_bytes;
    bool detached;
};

struct node_proxy_step {
    uint64_t state_ns[3];
    int32_t step;
};

struct node_kernel {
    uint64_t start_clock, stop_clock;
    uint8_t phase; /* of a kernel phase */
};

struct node_net {
    uint64_t work_request, length;
    uint32_t id;
    int32_t device, opcode, queue_pair;
};

struct node_ce {
    uint64_t sequence, count, stream, total_bytes, user_tag;
    int32_t root, rank, number;
    uint16_t function, datatype, strategy;
    uint8_t flag;
};

struct node {
    uint64_t handle;
    uint64_t start_ns, stop_ns; /* stop 0: it has not stopped */
    uint32_t parent, first_child, last_child, next_sibling;
    uint32_t previous_root, next_root;
    uint32_t context;
    uint32_t open;            /* roots: events below, itself included, that have not stopped */
    uint32_t kernels_awaited; /* roots: tasks below whose kernel channels have not all stopped */
    uint64_t touched_ns;      /* roots: last event in this tree */
    uint64_t settle_ns;       /* roots: when to think again about kernels that do not come */
    uint64_t reported_ns;     /* when a report that it is pending was last written; 0: none was */
    uint64_t report_ns;       /* when to look whether another one is due */
    uint64_t report_step_ns;  /* how long until the next where nothing changes */
    uint32_t reported_state;  /* what the last one said of kernels and proxy operations, as a number */
    uint32_t reported_steps;  /* and of network steps */
    uint64_t reports_ns;      /* roots: when the first of all below may be due */
    uint64_t part_ns;         /* roots: when to let go of what is over below, if nothing starts or stops */
    uint8_t type;             /* enum record_type */
    uint8_t api;
    uint8_t channel;
    uint8_t is_send;
    uint8_t state; /* proxy control: last state */
    bool guessed;  /* roots: how many kernel channels will come is not known */
    union {
        struct node_task task;
        struct node_call call;
        struct node_proxy_op proxy_op;
        struct node_proxy_step proxy_step;
        struct node_kernel kernel; /* and kernel phase */
        struct node_net net;
        struct node_ce ce;
        int32_t appended;
    };
};

struct node_pool {
    struct node *nodes; /* capacity + 1; number 0 unused */
    uint32_t capacity;
    uint32_t used; /* numbers ever given */
    uint32_t free_head;
    uint32_t in_use;
    uint32_t *places; /* open addressing by handle */
    uint32_t place_mask;
};

/* 0, or -1 when memory is short. */
int node_pool_init(struct node_pool *pool, uint32_t capacity);
void node_pool_release(struct node_pool *pool);

/* A zeroed node known by handle; 0 when the pool is empty. */
uint32_t node_add(struct node_pool *pool, uint64_t handle);
uint32_t node_find(const struct node_pool *pool, uint64_t handle);
void node_remove(struct node_pool *pool, uint32_t number);

#endif
