/*
 * NCCL's profiler plugin interface, API versions 1 to 7: what NCCL's core passes to a plugin.
 *
 * The layouts are facts of NCCL's binary interface (NCCL 2.23.4, 2.24.3, 2.26.2, 2.27.3, 2.28.3, 2.30.7 and
 * 2.31). entry/api_layout.h holds them against the numbers that a compiler gave for NCCL's own declarations
 * on a 64-bit machine.
 *
 * Version 7 is two: NVIDIA/nccl pull request 2045 added an event to version 6 and called it 7; NCCL 2.31
 * released another 7, whose event of the same bit is something else and whose descriptor is longer. Which of
 * the two calls, only the library that it comes from tells (entry_v7.c).
 *
 * Pointers in a descriptor are borrowed: valid during the call only, except the handles that a plugin made up
 * itself.
 */
#ifndef PLUGIN_RING_API_H
#define PLUGIN_RING_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* ncclResult_t as far as a plugin needs it. */
enum api_result { API_SUCCESS = 0 };

/* ncclDebugLogLevel and the one ncclDebugLogSubSys used here. */
enum api_log_level { API_LOG_WARN = 2, API_LOG_INFO = 3 };
enum { API_LOG_INIT = 1 };

typedef void api_logger(int level, unsigned long subsystem, const char *file, int line, const char *format,
                        ...);

/* Event types: bits of the activation mask and values of a descriptor's type. */
enum api_event {
    API_GROUP = 1 << 0,
    API_COLL = 1 << 1,
    API_P2P = 1 << 2,
    API_PROXY_OP = 1 << 3,
    API_PROXY_STEP = 1 << 4,
    API_PROXY_CTRL = 1 << 5,
    API_KERNEL_CH = 1 << 6,      /* version 3 on */
    API_NET_PLUGIN = 1 << 7,     /* version 3 on */
    API_GROUP_API = 1 << 8,      /* version 5 on */
    API_COLL_API = 1 << 9,       /* version 5 on */
    API_P2P_API = 1 << 10,       /* version 5 on */
    API_KERNEL_LAUNCH = 1 << 11, /* version 5 on */
    API_CE_COLL = 1 << 12,       /* version 6 on */
    API_CE_SYNC = 1 << 13,       /* version 6 on */
    API_CE_BATCH = 1 << 14,      /* version 6 on */
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
    API_PROXY_OP_IN_PROGRESS = 19, /* version 4 on */
    API_STEP_SEND_PEER_WAIT = 20,  /* version 4 on */
    API_NET_PLUGIN_UPDATE = 21,    /* version 4 on */
    API_KERNEL_CH_STOP = 22,       /* version 4 on */
    API_GROUP_START_STOP = 23,     /* version 5 on */
    API_GROUP_END_START = 24,      /* version 5 on */
    /* 25 to 30 belong to copy-engine events, whose core never records a state */
    API_CE_BATCH_COMPLETE = 30, /* version 6 on */
    API_KERNEL_PHASE_STOP = 31, /* version 7 as released */
};

/* What a network plugin hands through the core; netPlugin.id = type | version. */
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
    pid_t pid; /* process that the operation came from: another one with PXN */
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
            uint64_t gpu_clock; /* globaltimer, ns */
        } kernel_ch;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
    };
};

/*
 * Versions 5, 6 and the 7 of pull request 2045 share one layout: 6 adds the copy engine's members, 7 the tag,
 * and no member moved. A member is only read for an event type that the version knows.
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
 * Version 7 as released: where it has a member of version 6, that lies where it lay; some events end with
 * more, and one is new. Declared are those alone.
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
            const char *kernel_variant; /* null but for symmetric kernels */
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
            uint64_t gpu_clock; /* its start; state 31 tells its stop */
        } kernel_phase;         /* below a kernel channel */
    };
};

/* State arguments: versions 1 to 3, and 4 on. May be null for states without any. */
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
 * What may follow in a table: NCCL appended functions to a published version before, and calls what it finds
 * there if that is not null. A NCCL that knows more of a table than we do finds null.
 */
#define API_RESERVED_WORDS 32

/* The exported tables; the state is NCCL's enum, an int. */
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
