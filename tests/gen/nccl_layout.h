/*
 * The data that NCCL's core passes to a profiler plugin, for the fake core: copied from NVIDIA's headers,
 * version by version, independent of the plugin's own declarations (lib/plugin/ring/api.h). The plugin's
 * declarations are tested against these, so neither may be derived from the other.
 */
#ifndef NCCL_LAYOUT_H
#define NCCL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENT(name, bit) NCCL_##name = 1 << (bit),
#define STATE(name, number)
#define MEMBER(version, member, offset, bytes)
#define ADDED(version, member, offset, bytes)
#define DESCRIPTOR(version, bytes)
#define ARGUMENTS(version, bytes)
#define KNOWN(version, events, state)
enum nccl_event {
#include "nccl_figures.def"
};
#undef EVENT
#undef STATE
#define EVENT(name, bit)
#define STATE(name, number) NCCL_##name = (number),
enum nccl_state {
#include "nccl_figures.def"
};
#undef EVENT
#undef STATE
#undef MEMBER
#undef ADDED
#undef DESCRIPTOR
#undef ARGUMENTS
#undef KNOWN

typedef void nccl_logger(int level, unsigned long subsystem, const char *file, int line, const char *format,
                         ...);

/*
 * -- data that network plugins pass through the core: the ID of netPlugin is 1 or 2 in the upper half, 1 in
 * the lower --
 */

#define NCCL_NET_TYPE_IB 0x10000
#define NCCL_NET_TYPE_SOCKET 0x20000

struct nccl_net_ib {
    uint8_t type; /* 1 */
    union {
        struct {
            int device;
            uint64_t wr_id;
            int opcode;
            int qp_number;
            size_t length;
        } qp;
    };
};

struct nccl_net_socket {
    uint8_t type; /* 1 */
    union {
        struct {
            int descriptor;
            int operation;
            size_t length;
        } socket;
    };
};

_Static_assert(sizeof(struct nccl_net_ib) == 40 && offsetof(struct nccl_net_ib, qp.wr_id) == 16 &&
                   offsetof(struct nccl_net_ib, qp.length) == 32,
               "a queue pair's event");
_Static_assert(sizeof(struct nccl_net_socket) == 24 && offsetof(struct nccl_net_socket, socket.length) == 16,
               "a socket's event");

/* -- descriptors -- */

struct nccl_proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int is_send;
};

struct nccl_proxy_step {
    int step;
};

struct nccl_net_plugin {
    int64_t id;
    void *data;
};

struct nccl_event_v1 {
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
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
    };
};

/* Versions 2 and 3. */
struct nccl_p2p_v2 {
    const char *name;
    uint64_t communicator_hash;
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};

struct nccl_event_v2 {
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
        struct nccl_p2p_v2 p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
    };
};

struct nccl_event_v3 {
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
        struct nccl_p2p_v2 p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct {
            uint8_t channel;
        } kernel_ch;
        struct nccl_net_plugin net_plugin;
    };
};

/* Version 4 on. */
struct nccl_kernel_ch {
    uint8_t channel;
    uint64_t gpu_clock;
};

struct nccl_event_v4 {
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
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct nccl_kernel_ch kernel_ch;
        struct nccl_net_plugin net_plugin;
    };
};

/* Versions 5 and 6, and version 7 except for the fields that it appended. */
struct nccl_group_api {
    bool graph_captured;
    int depth;
};

struct nccl_coll_api {
    const char *function;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graph_captured;
};

struct nccl_p2p_api {
    const char *function;
    size_t count;
    const char *datatype;
    void *stream;
    bool graph_captured;
};

struct nccl_kernel_launch {
    void *stream;
};

struct nccl_coll_v5 {
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
};

struct nccl_p2p_v5 {
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void *parent_group;
};

struct nccl_event_v5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct nccl_group_api group_api;
        struct nccl_coll_api coll_api;
        struct nccl_p2p_api p2p_api;
        struct nccl_kernel_launch kernel_launch;
        struct nccl_coll_v5 coll;
        struct nccl_p2p_v5 p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct nccl_kernel_ch kernel_ch;
        struct nccl_net_plugin net_plugin;
    };
};

struct nccl_ce_coll_v6 {
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
};

struct nccl_ce_sync {
    bool is_complete;
    int ranks;
};

struct nccl_ce_batch {
    int operations;
    size_t total_bytes;
    bool use_intra_sync;
};

struct nccl_event_v6 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct nccl_group_api group_api;
        struct nccl_coll_api coll_api;
        struct nccl_p2p_api p2p_api;
        struct nccl_kernel_launch kernel_launch;
        struct nccl_coll_v5 coll;
        struct nccl_p2p_v5 p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct nccl_kernel_ch kernel_ch;
        struct nccl_net_plugin net_plugin;
        struct nccl_ce_coll_v6 ce_coll;
        struct nccl_ce_sync ce_sync;
        struct nccl_ce_batch ce_batch;
    };
};

/* NVIDIA/nccl pull request 2045: an event without a parent that stops immediately. */
struct nccl_event_v7_tags {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct nccl_group_api group_api;
        struct nccl_coll_api coll_api;
        struct nccl_p2p_api p2p_api;
        struct nccl_kernel_launch kernel_launch;
        struct nccl_coll_v5 coll;
        struct nccl_p2p_v5 p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct nccl_kernel_ch kernel_ch;
        struct nccl_net_plugin net_plugin;
        struct nccl_ce_coll_v6 ce_coll;
        struct nccl_ce_sync ce_sync;
        struct nccl_ce_batch ce_batch;
        struct {
            const char *tag;
        } user_tag;
    };
};

/* NCCL 2.31. */
struct nccl_event_v7 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct nccl_group_api group_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool graph_captured;
            uint64_t user_tag;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *datatype;
            void *stream;
            bool graph_captured;
            uint64_t user_tag;
        } p2p_api;
        struct nccl_kernel_launch kernel_launch;
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
            const char *kernel_variant;
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
        struct nccl_proxy_op proxy_op;
        struct nccl_proxy_step proxy_step;
        struct nccl_kernel_ch kernel_ch;
        struct nccl_net_plugin net_plugin;
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
        struct nccl_ce_sync ce_sync;
        struct nccl_ce_batch ce_batch;
        struct {
            uint8_t channel;
            uint8_t phase;
            const char *name;
            uint64_t gpu_clock;
        } kernel_phase;
    };
};

/* -- arguments of states -- */

/* Versions 1 to 3. */
union nccl_values_v1 {
    struct {
        size_t transferred_bytes;
        int steps;
    } proxy_op;
    struct {
        int appended;
    } proxy_ctrl;
};

/* From version 4 on; the stop of a kernel phase has its clock where that of a kernel channel has it. */
union nccl_values_v4 {
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

/* -- the table that a plugin exports: the same except for the arguments of init -- */

struct nccl_table {
    const char *name;
    void (*init)(void);
    int (*start_event)(void *context, void **handle, void *event);
    int (*stop_event)(void *handle);
    int (*record_event_state)(void *handle, int state, void *values);
    int (*finalize)(void *context);
};

typedef int nccl_init_v1(void **context, int *mask);
typedef int nccl_init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                         int rank, nccl_logger *logger);
typedef int nccl_init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                         int rank, nccl_logger *logger);

/* -- and each table at the place where NVIDIA's headers have it -- */

#define MEMBER(version, member, offset, bytes)                                        \
    _Static_assert(offsetof(struct nccl_event_##version, member) == (offset) &&       \
                       sizeof(((struct nccl_event_##version *)0)->member) == (bytes), \
                   "layout of " #version " " #member);
#define ADDED(version, member, offset, bytes) MEMBER(version, member, offset, bytes)
#define DESCRIPTOR(version, bytes) \
    _Static_assert(sizeof(struct nccl_event_##version) == (bytes), "size of " #version);
#define ARGUMENTS(version, bytes)
#define EVENT(name, bit)
#define STATE(name, number)
#define KNOWN(version, events, state)
#include "nccl_figures.def"
#undef MEMBER
#undef ADDED
#undef DESCRIPTOR
#undef ARGUMENTS
#undef EVENT
#undef STATE
#undef KNOWN

_Static_assert(sizeof(union nccl_values_v1) == 16 && offsetof(union nccl_values_v1, proxy_op.steps) == 8,
               "values of states, versions 1 to 3");
_Static_assert(sizeof(union nccl_values_v4) == 8, "values of states, version 4 on");
_Static_assert(sizeof(struct nccl_table) == 48, "the table");

#endif
