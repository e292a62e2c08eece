/*
 * NCCL's profiler plugin interface, API versions 1 to 7: the structures that NCCL's core passes to a plugin.
 *
 * The layouts are facts of NCCL's binary interface (NCCL 2.23.4, 2.24.3, 2.26.2, 2.27.3, 2.28.3, 2.30.7 and
 * 2.31). entry/api_layout.h checks them against the offsets that a compiler gave for NCCL's own declarations
 * on a 64-bit machine.
 *
 * RCCL's version 6 differs from NCCL's by an event, bit 15 with state 31, which this plugin neither requests
 * nor reads.
 *
 * There are two versions 7. NVIDIA/nccl pull request 2045 added an event to version 6 and called the result
 * 7. NCCL 2.31 released another version 7: it uses the same bit for a different event, and its descriptor is
 * longer. Only the library that makes the call shows which of the two it is (entry_v7.c).
 *
 * Pointers in a descriptor are borrowed: they are valid only during the call, except for the handles that the
 * plugin itself returned.
 */
#ifndef PLUGIN_RING_API_H
#define PLUGIN_RING_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* The part of ncclResult_t that a plugin needs. */
enum api_result { API_SUCCESS = 0 };

/* ncclDebugLogLevel, and the only ncclDebugLogSubSys that is used here. */
enum api_log_level { API_LOG_WARN = 2, API_LOG_INFO = 3 };
enum { API_LOG_INIT = 1 };

typedef void api_logger(int level, unsigned long subsystem, const char *file, int line, const char *format,
                        ...);

/* Event types. Each is a bit of the activation mask and a value of a descriptor's type. */
enum api_event {
    API_GROUP = 1 << 0,
    API_COLL = 1 << 1,
    API_P2P = 1 << 2,
    API_PROXY_OP = 1 << 3,
    API_PROXY_STEP = 1 << 4,
    API_PROXY_CTRL = 1 << 5,
    API_KERNEL_CH = 1 << 6,      /* since version 3 */
    API_NET_PLUGIN = 1 << 7,     /* since version 3 */
    API_GROUP_API = 1 << 8,      /* since version 5 */
    API_COLL_API = 1 << 9,       /* since version 5 */
    API_P2P_API = 1 << 10,       /* since version 5 */
    API_KERNEL_LAUNCH = 1 << 11, /* since version 5 */
    API_CE_COLL = 1 << 12,       /* since version 6 */
    API_CE_SYNC = 1 << 13,       /* since version 6 */
    API_CE_BATCH = 1 << 14,      /* since version 6 */
    API_USER_TAG = 1 << 15,      /* version 7 of pull request 2045 */
    API_KERNEL_PHASE = 1 << 15,  /* version 7 as released */
};

enum api_state {
    API_SEND_POSTED = 0, /* 0 to 7: versions 1 to 3 */
    API_SEND_REM_FIFO_WAIT = 1,
    API_SEND_TRANSMITTED = 2,
    API_SEND_DONE = 3,
    API_RECV_POSTED = 4,
    API_RECV_RECEIVED = 5,
    API_RECV_TRANSMITTED = 6,
    API_RECV_DONE = 7,
    API_STEP_SEND_GPU_WAIT = 8,
    API_STEP_SEND_WAIT = 9,
    API_STEP_RECV_WAIT = 10,
    API_STEP_RECV_FLUSH_WAIT = 11,
    API_STEP_RECV_GPU_WAIT = 12,
    API_CTRL_IDLE = 13,
    API_CTRL_ACTIVE = 14,
    API_CTRL_SLEEP = 15,
    API_CTRL_WAKEUP = 16,
    API_CTRL_APPEND = 17,
    API_CTRL_APPEND_END = 18,
    API_PROXY_OP_IN_PROGRESS = 19, /* since version 4 */
    API_STEP_SEND_PEER_WAIT = 20,  /* since version 4 */
    API_NET_PLUGIN_UPDATE = 21,    /* since version 4 */
    API_KERNEL_CH_STOP = 22,       /* since version 4 */
    API_GROUP_START_STOP = 23,     /* since version 5 */
    API_GROUP_END_START = 24,      /* since version 5 */
    /* 25 to 30 belong to copy-engine events; the core never records a state for these */
    API_CE_BATCH_COMPLETE = 30, /* since version 6 */
    API_KERNEL_PHASE_STOP = 31, /* version 7 as released */
};

/* Data of a network plugin that the core passes through; netPlugin.id = type | version. */
#define API_NET_TYPE_IB (1u << 16)
#define API_NET_TYPE_SOCKET (2u << 16)
#define API_NET_TYPE_MASK 0xffff0000u

struct api_net_ib_v1 {
    uint8_t type; /* 1: queue pair */
    struct {
        int device;
        uint64_t wr_id;
        int opcode;
        int qp_number;
        size_t length;
    } qp;
};

struct api_net_socket_v1 {
    uint8_t type; /* 1: socket */
    struct {
        int descriptor;
        int operation;
        size_t length;
    } socket;
};

struct api_proxy_op {
    pid_t pid; /* process that the operation belongs to; another process with PXN */
    uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int is_send;
};

struct api_descriptor_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator_hash;
            uint64_t sequence;
            uint8_t function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t operator;
            size_t traffic_bytes;
            uint8_t channels;
            uint8_t warps;
            uint8_t algorithm;
            uint8_t protocol;
            int is_collnet;
            int is_nvls;
        } coll;
        struct {
            const char *name;
            uint64_t communicator_hash;
            uint8_t function;
            void *buffer;
            uint8_t datatype;
            size_t count;
            int peer;
        } p2p;
        struct api_proxy_op proxy_op;
        struct {
            int step;
        } proxy_step;
    };
};

struct api_descriptor_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator_hash;
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            size_t traffic_bytes;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
        } coll;
        struct {
            const char *name;
            uint64_t communicator_hash;
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
        } p2p;
        struct api_proxy_op proxy_op;
        struct {
            int step;
        } proxy_step;
    };
};

struct api_descriptor_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator_hash;
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
        } coll;
        struct {
            const char *name;
            uint64_t communicator_hash;
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
        } p2p;
        struct api_proxy_op proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel;
        } kernel_ch;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
    };
};

struct api_descriptor_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
        struct api_proxy_op proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel;
            uint64_t gpu_clock; /* globaltimer, in ns */
        } kernel_ch;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
    };
};

/*
 * Versions 5 and 6 and the version 7 of pull request 2045 share one layout: 6 adds the members of the copy
 * engine, 7 adds the tag, and no member moved. A member is only read for an event type that the version
 * knows.
 */
struct api_descriptor_v6 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            bool graph_captured;
            int depth;
        } group_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool graph_captured;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            void *stream;
            bool graph_captured;
        } p2p_api;
        struct {
            void *stream;
        } kernel_launch;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
            void *parent_group;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
            void *parent_group;
        } p2p;
        struct api_proxy_op proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel;
            uint64_t gpu_clock;
        } kernel_ch;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            const char *strategy;
            bool intra_batch_sync;
            uint32_t batch_size;
            uint32_t batches;
            uint32_t ce_sequence;
            void *stream;
        } ce_coll;
        struct {
            bool is_complete;
            int ranks;
        } ce_sync;
        struct {
            int operations;
            size_t total_bytes;
            bool use_intra_sync;
        } ce_batch;
        struct {
            const char *tag; /* borrowed during startEvent */
        } user_tag;
    };
};

/*
 * The released version 7. Members that it shares with version 6 are at the same offsets. Some events have
 * additional members at the end, and one event is new. Only the new and the extended events are declared
 * here.
 */
struct api_descriptor_v7 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool graph_captured;
            uint64_t user_tag; /* 0: none */
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            void *stream;
            bool graph_captured;
            uint64_t user_tag;
        } p2p_api;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels;
            uint8_t warps;
            const char *algorithm;
            const char *protocol;
            void *parent_group;
            const char *kernel_variant; /* null unless the kernel is symmetric */
            bool is_symmetric;
            uint64_t user_tag;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
            void *parent_group;
            uint64_t user_tag;
        } p2p;
        struct {
            uint64_t sequence;
            const char *function;
            const void *send_buffer;
            void *recv_buffer;
            size_t count;
            int root;
            const char *datatype;
            const char *strategy;
            bool intra_batch_sync;
            uint32_t batch_size;
            uint32_t batches;
            uint32_t ce_sequence;
            void *stream;
            uint64_t user_tag;
        } ce_coll;
        struct {
            uint8_t channel;
            uint8_t phase; /* 0 initial_sync, 1 compute, 2 final_sync */
            const char *name;
            uint64_t gpu_clock; /* start of the phase; state 31 carries its stop */
        } kernel_phase;         /* child of a kernel channel */
    };
};

/*
 * State arguments: one union for versions 1 to 3, one for versions 4 and later. The pointer may be null for
 * states without arguments.
 */
union api_state_args_v1 {
    struct {
        size_t transferred_bytes;
        int steps;
    } proxy_op;
    struct {
        int appended;
    } proxy_ctrl;
};

union api_state_args_v4 {
    struct {
        size_t transferred_bytes;
    } proxy_step;
    struct {
        int appended;
    } proxy_ctrl;
    struct {
        void *data;
    } net_plugin;
    struct {
        uint64_t gpu_clock;
    } kernel_ch;
};

/*
 * Space after the functions of a table. NCCL has appended functions to a published version before, and it
 * calls every entry that is not null. A newer NCCL finds null in the entries that this plugin does not know.
 */
#define API_RESERVED_WORDS 32

/* The exported tables. The state is an enum of NCCL, passed as an int. */
#define API_PLUGIN_TABLE(version, descriptor, arguments, ...)                        \
    struct api_plugin_##version {                                                    \
        const char *name;                                                            \
        int (*init)(__VA_ARGS__);                                                    \
        int (*start_event)(void *context, void **handle, struct descriptor *event);  \
        int (*stop_event)(void *handle);                                             \
        int (*record_event_state)(void *handle, int state, union arguments *values); \
        int (*finalize)(void *context);                                              \
        void *reserved[API_RESERVED_WORDS];                                          \
    }

API_PLUGIN_TABLE(v1, api_descriptor_v1, api_state_args_v1, void **context, int *mask);
API_PLUGIN_TABLE(v2, api_descriptor_v2, api_state_args_v1, void **context, int *mask);
API_PLUGIN_TABLE(v3, api_descriptor_v3, api_state_args_v1, void **context, int *mask);
API_PLUGIN_TABLE(v4, api_descriptor_v4, api_state_args_v4, void **context, int *mask, const char *name,
                 uint64_t hash, int nodes, int ranks, int rank, api_logger *logger);
API_PLUGIN_TABLE(v5, api_descriptor_v6, api_state_args_v4, void **context, uint64_t hash, int *mask,
                 const char *name, int nodes, int ranks, int rank, api_logger *logger);
API_PLUGIN_TABLE(v6, api_descriptor_v6, api_state_args_v4, void **context, uint64_t hash, int *mask,
                 const char *name, int nodes, int ranks, int rank, api_logger *logger);
API_PLUGIN_TABLE(v7, api_descriptor_v6, api_state_args_v4, void **context, uint64_t hash, int *mask,
                 const char *name, int nodes, int ranks, int rank, api_logger *logger);

#endif
