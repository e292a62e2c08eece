#ifndef NCCLPROF_FORMAT_CHROME_LINE_H
#define NCCLPROF_FORMAT_CHROME_LINE_H

#include "input/json.h"
#include "model/event.h"

/*
 * One event of a Chrome trace, as its line says it: the seam between reading text and pairing events.
 * chrome_decode() reads any JSON into it; chrome_scan() does so quickly for lines that have the words of one
 * that was decoded before.
 */

/* In the order of their nesting: see chrome_level(). */
enum chrome_category {
    CHROME_OTHER = 0,
    CHROME_GROUP,
    CHROME_GROUP_API,
    CHROME_COLL_API,
    CHROME_P2P_API,
    CHROME_KERNEL_LAUNCH,
    CHROME_COLL,
    CHROME_P2P,
    CHROME_CE_COLL,
    CHROME_CE_PART, /* CE_SYNC, CE_BATCH */
    CHROME_GPU,
    CHROME_PROXY,
    CHROME_NET,
    CHROME_NET_PLUGIN, /* NET_IB, NET_SOCK */
    CHROME_USER_TAG,
    CHROME_NCCLPROF, /* what the bundled plugin says beside events */
    CHROME_CATEGORIES
};

/* Names that matter; those of operations are functions (model/vocab.h). */
enum chrome_name {
    CHROME_NAME_OTHER = 0,
    CHROME_SEND, /* PROXY, up to 2.26 */
    CHROME_RECV,
    CHROME_SCHEDULE_SEND,
    CHROME_SCHEDULE_RECV,
    CHROME_PROGRESS_SEND,
    CHROME_PROGRESS_RECV,
    CHROME_PROXY_CONTROL,    /* Idle, Sleep, Append */
    CHROME_SEND_BUFFER_WAIT, /* NET */
    CHROME_SEND_GPU_WAIT,
    CHROME_SEND_PEER_WAIT,
    CHROME_SEND_WAIT,
    CHROME_RECV_BUFFER_WAIT,
    CHROME_RECV_WAIT,
    CHROME_RECV_FLUSH_WAIT,
    CHROME_RECV_GPU_WAIT,
    CHROME_KERNEL_CHANNEL, /* GPU */
    CHROME_INITIAL_SYNC,   /* phases of a kernel */
    CHROME_COMPUTE,
    CHROME_FINAL_SYNC,
    CHROME_TAG_NAME, /* USER_TAG */
    CHROME_PROCESS,  /* NCCLPROF */
    CHROME_PLACE,
    CHROME_COMMUNICATOR,
    CHROME_CLOCK_ANCHOR,
    CHROME_DROPS,
    CHROME_PENDING_OPERATION,
    CHROME_CALL_DESCRIPTION,
    CHROME_STOPPED,
    CHROME_NAMES
};

/* What a line gives away of the dialect. */
enum chrome_hint {
    CHROME_HINT_UNQUOTED = 1,         /* not JSON: bare words (2.28) */
    CHROME_HINT_NUMERIC_DATATYPE = 2, /* 2.23 */
    CHROME_HINT_NO_CHANNELS = 4,      /* nMaxChannels, or none: up to 2.26 */
    CHROME_HINT_PHASES = 8,           /* of kernels, or what the kernel of an operation is: 2.31 */
};

struct chrome_operation {
    int64_t sequence;
    uint64_t communicator_hash;
    int64_t rank;
    int64_t peer;
    int64_t count;
    int64_t channel_count;
    enum datatype datatype;
    enum algorithm algorithm;
    enum protocol protocol;
    int is_symmetric;  /* its kernel is one that works on symmetric memory */
    uint64_t user_tag; /* 0: none */
    /* From the bundled plugin only. */
    int64_t root;
    int64_t enqueue_end_ns;
    uint64_t send_buffer; /* 0: not told; of a send or receive its only one */
    uint64_t receive_buffer;
    int unfinished;
};

struct chrome_api {
    int64_t count;
    enum datatype datatype;
    int64_t root;
    int64_t graph_captured;
    uint64_t stream;
    uint64_t user_tag; /* 0: none */
};

struct chrome_proxy {
    int64_t channel;
    int64_t peer;
    int64_t step_count;
    int64_t chunk_bytes;
    int64_t transferred_bytes;
    int has_states;
    struct {
        int64_t steps;
        int64_t at_ns;
    } state[PROXY_STATES];
};

struct chrome_kernel {
    int64_t channel;
    uint64_t gpu_begin;
    uint64_t gpu_end;
    int64_t phase; /* its number: 0 the initial sync, 1 and 2 the others; COUNT_UNKNOWN */
    /* From the bundled plugin only: the two on the host's clock; TIME_UNKNOWN. */
    int64_t begin_ns;
    int64_t end_ns;
};

struct chrome_copy {
    int64_t count;
    enum datatype datatype;
    int64_t duration_ns;
    uint64_t user_tag; /* 0: none */
    /* From the bundled plugin only. */
    int64_t sequence;
    uint64_t communicator_hash;
    int64_t rank;
    int is_enqueue; /* its times are those of being enqueued; when it ran is not known */
};

struct chrome_tag {
    const char *text; /* borrowed: lives as long as the line and the struct json; need not end in NUL */
    size_t length;
    int64_t rank;
    /* From the bundled plugin only. */
    int64_t depth;
    uint64_t communicator_hash; /* 0: the tag is for every communicator of the process */
    int has_source;             /* the line is of that plugin */
    uint64_t number;            /* that the text is the name of: a line TagName; 0: not said */
};

struct chrome_line {
    enum chrome_category category;
    enum chrome_name name;
    enum function function;
    char phase;      /* 'b', 'e', 'i', 'X' (complete: begin and end in one); 0 when there is none */
    unsigned hints;  /* of enum chrome_hint */
    int64_t id;      /* COUNT_UNKNOWN */
    int64_t pid;     /* COUNT_UNKNOWN */
    int64_t time_ns; /* TIME_UNKNOWN where it is missing or not above 0, which is how "never" prints */
    union {          /* by category; not in ends, and only what the line has is known */
        struct chrome_operation operation; /* COLL, P2P */
        struct chrome_api api;             /* COLL_API, P2P_API, KERNEL_LAUNCH (its stream) */
        struct chrome_proxy proxy;
        int64_t step;                /* NET */
        struct chrome_kernel kernel; /* GPU; its 'X' is a phase of a kernel */
        struct chrome_copy copy;     /* CE_COLL */
        struct chrome_tag tag;
        const struct value *arguments; /* NCCLPROF: borrowed from the struct json */
    };
};

#endif
