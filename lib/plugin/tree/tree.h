#ifndef NCCLPROF_PLUGIN_TREE_TREE_H
#define NCCLPROF_PLUGIN_TREE_TREE_H

#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct record;
struct tree;

/* -------------------- node.c -------------------- */

/*
 * Maps one GPU's clock to CLOCK_MONOTONIC. The host notices a kernel's start or stop only by polling, never
 * early, so (host - GPU) is at least the true offset: the least one seen bounds it from above. A kernel
 * cannot start before it was enqueued: that bounds it from below. Bounds come from the last one to two
 * windows, since clocks drift by microseconds a second.
 */

struct gpu_clock_bounds {
    int64_t highest_ns; /* offset is at most this */
    int64_t lowest_ns;  /* and at least this */
    uint64_t samples;
    uint64_t enqueues; /* samples of the lower bound */
};

struct gpu_clock {
    struct gpu_clock_bounds now, before;
    uint64_t samples; /* ever */
};

void gpu_clock_noticed(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);
void gpu_clock_not_before(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);

/* Both windows together; samples 0: nothing known. */
struct gpu_clock_bounds gpu_clock_bounds(const struct gpu_clock *clock);

/* CLOCK_MONOTONIC of a GPU time, by the upper bound of the offset; 0 when unknown. */
uint64_t gpu_clock_host_ns(const struct gpu_clock *clock, uint64_t gpu_ns);

/* Starts a new window, if this one has `enough` samples. */
void gpu_clock_turn(struct gpu_clock *clock, uint64_t enough);

/* -------------------- communicators.c -------------------- */

/* Communicators as the writer knows them, and the tags that hold for what they do. */

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

/* -------------------- node.c -------------------- */

/* A bounded set of short texts, each known by a small number: 0 is the empty text, and stands in when it is
 * full. */

struct names {
    char **texts;
    uint32_t count;
    uint32_t *places; /* hash table of numbers, twice the capacity */
    uint32_t capacity;
};

/* 0, or -1 when memory is short. capacity is rounded up to a power of two. */
int names_init(struct names *names, uint32_t capacity);
void names_release(struct names *names);

/* Borrowed; lives as long as names. */
const char *names_text(const struct names *names, uint32_t number);

/*
 * The writer's memory of events that are not written yet: nodes from a bounded pool, found by NCCL's handle.
 * Number 0 is no node.
 */

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

/* -------------------- communicators.c -------------------- */

/*
 * Texts of tags that somebody still refers to, each known by a number: a tag that names a step's number is
 * new every time, so they come and go. Number 0 is no tag.
 */

struct tag_text {
    char *text;
    uint32_t references;
    uint32_t next_free;
};

/* All zero: none. */
struct tag_texts {
    struct tag_text *texts; /* [0] unused */
    uint32_t used, capacity;
    uint32_t first_free;
};

void tag_texts_release(struct tag_texts *tags);

/* One more reference; returns number. */
uint32_t tag_texts_keep(struct tag_texts *tags, uint32_t number);
/* One reference less; the text goes away with the last. */
void tag_texts_drop(struct tag_texts *tags, uint32_t number);
/* Borrowed; null for number 0. */
const char *tag_texts_get(const struct tag_texts *tags, uint32_t number);

/* -------------------- tree.c -------------------- */

/*
 * Puts records back together: each NCCL operation with its kernel channels, proxy operations and steps is a
 * tree, handed over once nothing more is to come. One thread only; records come in the order of their times.
 */

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
void event_tree_add(struct tree *tree, const struct record *record);

/* Hands over what has been complete and quiet for long enough; all: everything, as it stands. */
void event_tree_flush(struct tree *tree, uint64_t now_ns, bool all);

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

/* -------------------- node.c -------------------- */

/* What a start record says of its event, by its type. */

void tree_fill(struct tree *tree, struct node *node, const struct record *record);

#endif
