/*
 * The writer's memory of events that are not written yet. Records become trees: an NCCL operation with its
 * kernel channels, proxy operations and network steps. Also the GPU clocks, the communicators as the writer
 * knows them, and the texts of tags. Everything here belongs to the writer thread. Times are in ns of
 * CLOCK_MONOTONIC unless noted.
 */
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
 * Maps the clock of one GPU to CLOCK_MONOTONIC. The host notices the start or stop of a kernel only by
 * polling, never early, so (host - GPU) is at least the true offset: the smallest value seen is an upper
 * bound. A kernel cannot start before it was enqueued, which gives a lower bound. Bounds come from the last
 * one or two windows, because clocks drift by microseconds per second.
 */

struct gpu_clock_bounds {
    int64_t highest_ns; /* upper bound of the offset */
    int64_t lowest_ns;  /* lower bound of the offset */
    uint64_t samples;
    uint64_t enqueues; /* samples of the lower bound */
};

struct gpu_clock {
    struct gpu_clock_bounds now, before;
    uint64_t samples; /* samples since the start */
};

void gpu_clock_noticed(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);
void gpu_clock_not_before(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);

/* Bounds from both windows. If samples is 0, nothing is known. */
struct gpu_clock_bounds gpu_clock_bounds(const struct gpu_clock *clock);

/* Converts a GPU time to CLOCK_MONOTONIC with the upper bound of the offset. Returns 0 when unknown. */
uint64_t gpu_clock_host_ns(const struct gpu_clock *clock, uint64_t gpu_ns);

/* Starts a new window if the current one has `enough` samples. */
void gpu_clock_turn(struct gpu_clock *clock, uint64_t enough);

/* -------------------- communicators.c -------------------- */

/* Communicators as the writer knows them, and the tags that apply to their operations. */

struct communicator_state {
    struct communicator known; /* with versions 1 to 3 completed by the first operation */
    struct gpu_clock clock;
    uint64_t clock_samples_written; /* number of samples when the last GpuClock line was written */
    uint64_t done_start_ns;         /* latest start of an operation that has a stopped kernel channel */
    uint32_t tag; /* number in the tags of the tree: the newest tag that NCCL passed for this communicator */
    uint64_t tag_ns;
    uint64_t p2p_written; /* point-to-point operations written as Inspector lines so far */
    bool ended;
};

/* Adds communicators that are new in the registry. Returns the number of known ones, including [0]. */
uint32_t tree_learn_communicators(struct tree *tree);
/* Marks communicators that have ended without an end record. */
void tree_learn_ends(struct tree *tree);
/* Returns [0] for an unknown number. */
struct communicator_state *tree_communicator(struct tree *tree, uint32_t number);

/* Stores a tag for the operations that start after it. */
void tree_tag(struct tree *tree, const struct record *record);

/* -------------------- node.c -------------------- */

/*
 * A bounded set of short texts, each with a small number. Number 0 is the empty text, which is also used when
 * the set is full.
 */

struct names {
    char **texts;
    uint32_t count;
    uint32_t *places; /* hash table of numbers, twice the capacity in size */
    uint32_t capacity;
};

/* Returns 0, or -1 when memory is short. The capacity is rounded up to a power of two. */
int names_init(struct names *names, uint32_t capacity);
void names_release(struct names *names);

/* The text is borrowed and lives as long as `names`. */
const char *names_text(const struct names *names, uint32_t number);

/*
 * Events that are not written yet: nodes from a bounded pool, found by the handle that NCCL holds. Number 0
 * means no node.
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
    uint32_t tag; /* number in the tags of the tree */
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
    int32_t root; /* or the depth of the group */
    uint16_t function, datatype;
    uint8_t graph_captured;
};

struct node_proxy_op {
    uint64_t progress_ns;
    uint64_t transferred_bytes;
    uint64_t state_ns[NODE_STATES]; /* for versions 1 to 3 */
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
    uint8_t phase; /* for a kernel phase */
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
    uint64_t start_ns, stop_ns; /* stop_ns 0: not stopped */
    uint32_t parent, first_child, last_child, next_sibling;
    uint32_t previous_root, next_root;
    uint32_t context;
    uint32_t open;            /* roots: events in the tree, the root included, that have not stopped */
    uint32_t kernels_awaited; /* roots: operations in the tree whose kernel channels have not all stopped */
    uint64_t touched_ns;      /* roots: time of the last event in this tree */
    uint64_t settle_ns;       /* roots: when to check again for kernels that do not arrive */
    uint64_t reported_ns;     /* when the event was last reported as pending; 0: never */
    uint64_t report_ns;       /* when to check whether the next report is due */
    uint64_t report_step_ns;  /* time until the next report if nothing changes */
    uint32_t reported_state;  /* state of kernels and proxy operations in the last report, as a number */
    uint32_t reported_steps;  /* state of the network steps in the last report */
    uint64_t reports_ns;      /* roots: when the first report in this tree may be due */
    uint64_t part_ns;         /* roots: when to write finished children, if nothing starts or stops */
    uint8_t type;             /* enum record_type */
    uint8_t api;
    uint8_t channel;
    uint8_t is_send;
    uint8_t state; /* proxy control: the last state */
    bool guessed;  /* roots: the number of kernel channels is not known in advance */
    union {
        struct node_task task;
        struct node_call call;
        struct node_proxy_op proxy_op;
        struct node_proxy_step proxy_step;
        struct node_kernel kernel; /* kernel channel or kernel phase */
        struct node_net net;
        struct node_ce ce;
        int32_t appended;
    };
};

struct node_pool {
    struct node *nodes; /* capacity + 1 entries; number 0 is unused */
    uint32_t capacity;
    uint32_t used; /* numbers given out since the start */
    uint32_t free_head;
    uint32_t in_use;
    uint32_t *places; /* open addressing by handle */
    uint32_t place_mask;
};

/* Returns 0, or -1 when memory is short. */
int node_pool_init(struct node_pool *pool, uint32_t capacity);
void node_pool_release(struct node_pool *pool);

/* Returns a zeroed node for the handle, or 0 when the pool is full. */
uint32_t node_add(struct node_pool *pool, uint64_t handle);
uint32_t node_find(const struct node_pool *pool, uint64_t handle);
void node_remove(struct node_pool *pool, uint32_t number);

/* -------------------- communicators.c -------------------- */

/*
 * Texts of tags that are still referenced, each with a number. A tag that contains the number of a step is
 * new in every step, so texts are removed when they are no longer used. Number 0 means no tag.
 */

struct tag_text {
    char *text;
    uint32_t references;
    uint32_t next_free;
};

/* All members zero: empty. */
struct tag_texts {
    struct tag_text *texts; /* [0] is unused */
    uint32_t used, capacity;
    uint32_t first_free;
};

void tag_texts_release(struct tag_texts *tags);

/* Adds a reference and returns the number. */
uint32_t tag_texts_keep(struct tag_texts *tags, uint32_t number);
/* Drops a reference. The text is freed with the last one. */
void tag_texts_drop(struct tag_texts *tags, uint32_t number);
/* Borrowed. Null for number 0. */
const char *tag_texts_get(const struct tag_texts *tags, uint32_t number);

/* -------------------- tree.c -------------------- */

/*
 * Assembles records into trees: each NCCL operation with its kernel channels, proxy operations and steps. A
 * tree is passed on when nothing more is expected for it. For one thread only. Records must arrive in the
 * order of their times.
 */

struct tree_counts {
    uint64_t late;    /* stops and states of events that were already written or never known */
    uint64_t orphans; /* events with an unknown parent, except operations, which can stand alone */
    uint64_t evicted; /* operations written unfinished to free nodes */
    uint64_t lost;    /* events for which there was no node */
};

struct tree {
    struct node_pool pool;
    struct names names;
    struct tag_texts tags;
    struct communicator_state *communicators; /* [0]: the unknown communicator */
    uint32_t communicator_count, communicator_room;
    uint32_t ends_learnt;
    uint32_t first_root, last_root;
    uint32_t process_tag; /* number in tags: the newest tag set by a call or by NVTX */
    uint64_t process_tag_ns;
    pid_t process;
    struct tree_counts counts;
    /*
     * Called with each tree that is done. The nodes are freed afterwards. If `finished` is false, the
     * operation never ended.
     */
    void (*done)(void *owner, uint32_t root, bool finished);
    void *owner;
};

/*
 * mask and api apply to events without a communicator of this process. Returns 0, or -1 when memory is short.
 */
int tree_init(struct tree *tree, uint32_t pending_events, uint32_t mask, pid_t process, unsigned api);
void tree_release(struct tree *tree);

/* Takes a start, a stop, a state or the end of a context. */
void event_tree_add(struct tree *tree, const struct record *record);

/*
 * Passes on the trees that have been complete and quiet for long enough. If `all` is true, passes on every
 * tree as it is.
 */
void event_tree_flush(struct tree *tree, uint64_t now_ns, bool all);

static inline struct node *tree_node(const struct tree *tree, uint32_t number)
{
    return &tree->pool.nodes[number];
}

static inline bool node_is_task(const struct node *node)
{
    return node->type == TYPE_COLL || node->type == TYPE_P2P;
}

/* Returns when the last part of this event ended: the event itself or any event below it. */
uint64_t tree_end_ns(const struct tree *tree, uint32_t number);

/* True if an operation and all its parts have stopped. */
bool tree_task_finished(const struct tree *tree, uint32_t number);

/* -------------------- node.c -------------------- */

/* Copies the data of a start record to the node, depending on the event type. */

void tree_fill(struct tree *tree, struct node *node, const struct record *record);

#endif
