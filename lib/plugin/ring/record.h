/*
 * A record is what an event callback writes to the ring of its thread for the writer thread. A ring consists
 * of slots of 64 bytes, and a record takes one or more slots. All data is copied, so no pointer of NCCL is
 * kept after the call.
 */
#ifndef PLUGIN_RING_RECORD_H
#define PLUGIN_RING_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_SLOT_BYTES 64u
#define RECORD_SLOTS_MAX 96u

enum record_kind { RECORD_START, RECORD_STOP, RECORD_STATE, RECORD_TAG, RECORD_CONTEXT_END };

/* The bit numbers of enum api_event. The two events that share bit 15 have one number each. */
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

/* Whether a symmetric kernel runs a collective. */
enum record_symmetry { SYMMETRY_UNKNOWN, SYMMETRY_NO, SYMMETRY_YES };

/*
 * Bit in the handle of a kernel phase. The arguments of state 31 are read only for handles with this bit,
 * because the state has another meaning for others. Handles made from ring numbers never reach it.
 */
#define RECORD_PHASE_HANDLE (UINT64_C(1) << 63)

/* Names are short words of NCCL. Longer ones are truncated. */
struct record_names {
    char function[20];
    char datatype[16];
    char algorithm[20];
    char protocol[8];
};

struct record {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t handle;  /* the handle that NCCL received for the event */
    uint64_t parent;  /* handle of the enclosing event, or 0 */
    uint32_t context; /* number of the communicator, which NCCL holds as its context, or 0 */
    uint8_t kind;     /* enum record_kind */
    uint8_t type;     /* enum record_type */
    uint8_t slots;
    uint8_t state; /* enum api_state, for RECORD_STATE */
    union {
        struct {
            uint64_t value; /* transferred bytes, GPU clock or appended operations, depending on the state */
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
            uint64_t communicator_hash; /* versions 1 to 3 pass it here; otherwise 0 */
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
                char kernel_variant[32];    /* set if symmetry is known */
            };
        } task; /* collective or point-to-point operation */
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
            uint8_t phase; /* for a kernel phase */
        } kernel_ch;       /* kernel channel or kernel phase */
        struct {
            uint64_t work_request;
            uint64_t length;
            uint32_t id;
            int32_t device; /* or the descriptor of the socket */
            int32_t opcode; /* or the operation on the socket */
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
            int32_t number; /* number of ranks, or of operations in a batch */
            uint8_t flag;   /* is complete, or is synchronized within the batch */
        } ce_part;
        struct {
            int32_t rank;
            uint16_t length; /* bytes of the text that are kept */
            uint16_t depth;
            uint8_t source; /* enum tag_source */
            uint8_t truncated;
            char text[]; /* not terminated */
        } tag;
        unsigned char whole_slots[160]; /* slots are copied whole, so none may extend past the record */
    };
};

/*
 * Number of slots that a record of one kind takes. The members above are laid out so that the frequent kinds
 * fit in one slot.
 */
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

/* Copies at most size - 1 bytes. A null pointer counts as the empty text. */
static inline void record_text(char *to, size_t size, const char *from)
{
    size_t length = 0;
    if (from)
        for (; length < size - 1 && from[length]; length++)
            to[length] = from[length];
    to[length] = '\0';
}

#endif
