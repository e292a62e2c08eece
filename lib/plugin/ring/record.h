/*
 * What an event callback leaves in its thread's ring for the writer thread: fixed slots of 64 bytes, a record
 * takes one or several. Everything is copied in, so no pointer of NCCL's outlives the call.
 */
#ifndef PLUGIN_RING_RECORD_H
#define PLUGIN_RING_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_SLOT_BYTES 64u
#define RECORD_SLOTS_MAX 96u

enum record_kind { RECORD_START, RECORD_STOP, RECORD_STATE, RECORD_TAG, RECORD_CONTEXT_END };

/* Bit numbers of enum api_event, where two events share one of two numbers. */
enum record_type {
    TYPE_GROUP,
    TYPE_COLL,
    TYPE_P2P,
    TYPE_PROXY_OP,
    TYPE_PROXY_STEP,
    TYPE_PROXY_CTRL,
    TYPE_KERNEL_CH,
    TYPE_NET_PLUGIN,
    TYPE_GROUP_API,
    TYPE_COLL_API,
    TYPE_P2P_API,
    TYPE_KERNEL_LAUNCH,
    TYPE_CE_COLL,
    TYPE_CE_SYNC,
    TYPE_CE_BATCH,
    TYPE_USER_TAG,
    TYPE_KERNEL_PHASE,
    TYPE_COUNT
};

enum tag_source { TAG_SOURCE_NCCL, TAG_SOURCE_CALL, TAG_SOURCE_NVTX };

/* Whether a symmetric kernel does a collective. */
enum record_symmetry { SYMMETRY_UNTOLD, SYMMETRY_NO, SYMMETRY_YES };

/*
 * In the handle of a kernel phase: what NCCL's state of that number tells is read for no other handle. Rings'
 * numbers never reach so high.
 */
#define RECORD_PHASE_HANDLE (UINT64_C(1) << 63)

/* Names are short words of NCCL's; what is longer is cut. */
struct record_names {
    char function[20];
    char datatype[16];
    char algorithm[20];
    char protocol[8];
};

struct record {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t handle;  /* what NCCL got as the event's handle */
    uint64_t parent;  /* handle of the enclosing event, or 0 */
    uint32_t context; /* communicator: number of its context, or 0 */
    uint8_t kind;     /* enum record_kind */
    uint8_t type;     /* enum record_type */
    uint8_t slots;
    uint8_t state; /* enum api_state, for RECORD_STATE */
    union {
        struct {
            uint64_t value; /* transferred bytes, GPU clock or appended operations, by the state */
            int32_t steps;
        } state_values;
        struct {
            int32_t depth;
            uint8_t graph_captured;
        } group_api;
        struct {
            uint64_t stream;
            uint64_t count;
            int32_t root;
            uint8_t graph_captured;
            char function[20];
            char datatype[16];
            uint64_t user_tag; /* 0: none */
        } call;                /* collective and point-to-point API calls, kernel launch */
        struct {
            uint64_t sequence;
            uint64_t send_buffer;
            uint64_t recv_buffer;
            uint64_t count;
            uint64_t communicator_hash; /* versions 1 to 3 name it here; else 0 */
            uint64_t user_tag;          /* 0: none */
            int32_t rank;
            int32_t root;
            int32_t peer;
            uint8_t channels;
            uint8_t warps;
            uint8_t symmetry; /* enum record_symmetry */
            struct record_names names;
            union {
                char communicator_name[24]; /* versions 1 to 3 */
                char kernel_variant[32];    /* where symmetry tells anything */
            };
        } task; /* collective, point-to-point */
        struct {
            int32_t pid;
            int32_t rank;
            int32_t peer;
            int32_t steps;
            int32_t chunk_bytes;
            uint8_t channel;
            uint8_t is_send;
        } proxy_op;
        struct {
            int32_t step;
        } proxy_step;
        struct {
            uint64_t gpu_clock;
            uint8_t channel;
            uint8_t phase; /* of a kernel phase */
        } kernel_ch;       /* and kernel phase */
        struct {
            uint64_t work_request;
            uint64_t length;
            uint32_t id;
            int32_t device; /* or the socket's descriptor */
            int32_t opcode; /* or the socket's operation */
            int32_t queue_pair;
        } net_plugin;
        struct {
            uint64_t sequence;
            uint64_t count;
            uint64_t stream;
            int32_t root;
            int32_t rank;
            char function[20];
            char datatype[16];
            char strategy[8];
            uint64_t user_tag; /* 0: none */
        } ce_coll;
        struct {
            uint64_t total_bytes;
            int32_t number; /* ranks, or operations of a batch */
            uint8_t flag;   /* complete, or synchronised within the batch */
        } ce_part;
        struct {
            int32_t rank;
            uint16_t length; /* of the text kept */
            uint16_t depth;
            uint8_t source; /* enum tag_source */
            uint8_t truncated;
            char text[]; /* not terminated */
        } tag;
        unsigned char whole_slots[160]; /* slots are copied whole: none may end outside */
    };
};

/* Slots that a record of one kind takes; the members above are laid out to keep the frequent ones in one. */
#define RECORD_SLOTS_TO(member)                                                                              \
    ((uint8_t)((offsetof(struct record, member) + sizeof(((struct record *)0)->member) + RECORD_SLOT_BYTES - \
                1) /                                                                                         \
               RECORD_SLOT_BYTES))
_Static_assert(RECORD_SLOTS_TO(state_values) == 1, "a state is one slot");
_Static_assert(RECORD_SLOTS_TO(proxy_op) == 1, "a proxy operation is one slot");
_Static_assert(RECORD_SLOTS_TO(proxy_step) == 1, "a proxy step is one slot");
_Static_assert(RECORD_SLOTS_TO(kernel_ch) == 1, "a kernel channel is one slot");
_Static_assert(RECORD_SLOTS_TO(task) == 3, "a task is three slots");
_Static_assert(sizeof(struct record) == 3 * RECORD_SLOT_BYTES, "a record ends with a slot");

#define RECORD_TEXT_MAX (RECORD_SLOTS_MAX * RECORD_SLOT_BYTES - offsetof(struct record, tag.text))

/* Copies at most size - 1 bytes; null is the empty text. */
static inline void record_text(char *to, size_t size, const char *from)
{
    size_t length = 0;
    if (from)
        for (; length < size - 1 && from[length]; length++)
            to[length] = from[length];
    to[length] = '\0';
}

#endif
