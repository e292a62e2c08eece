#ifndef NCCLPROF_MODEL_EVENT_H
#define NCCLPROF_MODEL_EVENT_H

#include "model/node.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- vocabulary.c -------------------- */

/*
 * The field's terms as small numbers. Stores contain the numbers, so they never change: add new ones at the
 * end. 0 always means unknown; *_OTHER is a word that ncclprof does not know.
 */

enum function {
    FUNCTION_UNKNOWN = 0,
    FUNCTION_OTHER,
    FUNCTION_ALL_REDUCE,
    FUNCTION_ALL_GATHER,
    FUNCTION_REDUCE_SCATTER,
    FUNCTION_ALL_TO_ALL,
    FUNCTION_GATHER,
    FUNCTION_SCATTER,
    FUNCTION_BROADCAST,
    FUNCTION_REDUCE,
    FUNCTION_BARRIER,
    FUNCTION_SEND,
    FUNCTION_RECV,
    FUNCTION_COUNT
};

enum datatype {
    DATATYPE_UNKNOWN = 0,
    DATATYPE_OTHER,
    DATATYPE_INT8,
    DATATYPE_UINT8,
    DATATYPE_INT32,
    DATATYPE_UINT32,
    DATATYPE_INT64,
    DATATYPE_UINT64,
    DATATYPE_FLOAT16,
    DATATYPE_FLOAT32,
    DATATYPE_FLOAT64,
    DATATYPE_BFLOAT16,
    DATATYPE_FLOAT8E4M3,
    DATATYPE_FLOAT8E5M2,
    DATATYPE_COUNT
};

enum algorithm {
    ALGORITHM_UNKNOWN = 0,
    ALGORITHM_OTHER,
    ALGORITHM_TREE,
    ALGORITHM_RING,
    ALGORITHM_COLLNET_DIRECT,
    ALGORITHM_COLLNET_CHAIN,
    ALGORITHM_NVLS,
    ALGORITHM_NVLS_TREE,
    ALGORITHM_PAT,
    ALGORITHM_COPY_ENGINE, /* no kernel: copies by the GPU's copy engines; traces give no algorithm for these
                            */
    /* Symmetric-memory kernels, named as NCCL names them after the function ("AllGather_LLMC"). */
    ALGORITHM_SYMMETRIC_FIRST,
    ALGORITHM_AGXLL_R = ALGORITHM_SYMMETRIC_FIRST,
    ALGORITHM_AGXLLMC_R,
    ALGORITHM_RSXLD_AGXST,
    ALGORITHM_RSXLDMC_AGXSTMC,
    ALGORITHM_RSXTMALD_AGXTMAST,
    ALGORITHM_RSXNET_ARXMC_AGXNET,
    ALGORITHM_SYMMETRIC_LL,
    ALGORITHM_LLMC,
    ALGORITHM_ST,
    ALGORITHM_STMC,
    ALGORITHM_TMAST,
    ALGORITHM_TMASTMC,
    ALGORITHM_RAILRING_LSASTMC,
    ALGORITHM_GINHIER_MCRING,
    ALGORITHM_LD,
    ALGORITHM_LDMC,
    ALGORITHM_TMALD,
    ALGORITHM_RAILA2A_LSALD,
    ALGORITHM_RAILA2A_LSALDMC,
    ALGORITHM_COUNT
};

enum protocol {
    PROTOCOL_UNKNOWN = 0,
    PROTOCOL_OTHER,
    PROTOCOL_LL,
    PROTOCOL_LL128,
    PROTOCOL_SIMPLE,
    PROTOCOL_COUNT
};

/* -------------------- record.c -------------------- */

/*
 * The normalised record. Every reader (lib/format) turns its input into these events, and code after
 * lib/format does not depend on the input format.
 *
 * Times are nanoseconds on the clock of the process that recorded them: since the start of its profiler
 * plugin for Chrome traces (each process has its own zero), since the epoch for Inspector lines. TIME_UNKNOWN
 * stands for a time that the trace does not give; that includes the 0.000000 that NVIDIA's plugin prints for
 * "never". GPU clocks are raw, exact values, comparable on one GPU only; 0 is unknown. Texts and arrays are
 * borrowed until the callback that received the event returns.
 *
 * lib/model/record.c lists the columns of each struct's table in the store; those of packed operations are in
 * PACKED_OPERATION below. A new field takes a member here, its column there and in schemas/store, and code in
 * each reader in lib/format that knows it.
 */

#define TIME_UNKNOWN INT64_MIN
#define COUNT_UNKNOWN (-1)

struct interval_ns {
    int64_t begin_ns;
    int64_t end_ns;
};

/* Extends the interval so that it includes `by`. An unknown end is replaced by that of `by`. */
static inline void interval_widen(struct interval_ns *interval, struct interval_ns by)
{
    if (interval->begin_ns == TIME_UNKNOWN || by.begin_ns < interval->begin_ns)
        interval->begin_ns = by.begin_ns;
    if (interval->end_ns == TIME_UNKNOWN || by.end_ns > interval->end_ns)
        interval->end_ns = by.end_ns;
}

/* -------------------- interval.c -------------------- */

/* Sorts intervals by their begin. */
void intervals_sort(struct interval_ns *intervals, size_t count);

/*
 * Merges sorted intervals that overlap or are at most `apart_ns` (not below 0) apart, and drops empty ones.
 * Returns how many are left. The functions below need intervals that have been merged.
 */
size_t intervals_merge(struct interval_ns *intervals, size_t count, int64_t apart_ns);

/* Index of the first interval that ends after a time; `count` if there is none. */
size_t intervals_first_after(const struct interval_ns *intervals, size_t count, int64_t at_ns);

/* How much of the time `within` the intervals cover. */
int64_t intervals_covered_ns(const struct interval_ns *intervals, size_t count, struct interval_ns within);

/*
 * The process and communicator that a record belongs to. Unknown: NULL, 0 (hash, size, nodes) or
 * COUNT_UNKNOWN (pid, rank).
 */
struct origin {
    const char *host;
    int64_t pid;
    int64_t started_ns; /* wall-clock start of recording, because pids are reused; 0: unknown; negative: not a
                           time, but a number that distinguishes processes without host and pid */
    /*
     * NCCL's hash; 0: unknown (NCCL up to 2.26, for records after a newer one). If a format does not give it,
     * communicator_hash_of() (vocabulary.c), with communicator_is_named set: such a hash distinguishes
     * communicators of one directory, not those of different jobs.
     */
    uint64_t communicator_hash;
    int communicator_is_named;
    int64_t rank; /* in the communicator */
    const char *communicator_name;
    int64_t communicator_size;
    int64_t node_count;
    uint64_t offset; /* byte offset, in the decompressed input, of the line that began the record */
};

enum operation_kind { OPERATION_COLLECTIVE = 0, OPERATION_POINT_TO_POINT = 1, OPERATION_COPY_ENGINE = 2 };

/* The source of an operation's device_end_ns, best first. */
enum end_source {
    END_UNKNOWN = 0, /* the trace does not show when it ended */
    END_KERNEL = 1,  /* a kernel channel with begin and end */
    END_PROXY = 2,   /* end of its last proxy operation: late by up to milliseconds */
    END_HOST = 3,    /* end of the operation's own record (the host polls) */
    END_DUMP = 4     /* first dump of the recorder after it ended: late by up to the interval of the dumps */
};

struct kernel_channel {
    int32_t channel;
    /*
     * When the host noticed start and stop: never early, at times milliseconds late. More exact if the
     * recorder knows the offset between the GPU's clock and the host's.
     */
    struct interval_ns host;
    uint64_t gpu_begin; /* GPU clock, ns */
    uint64_t gpu_end;
};

struct operation {
    int64_t ordinal; /* 0, 1, 2 ... in the order of the file; proxy records refer to it */
    enum operation_kind kind;
    enum function function;
    int64_t sequence; /* per (communicator, function). Of point-to-point operations the rank's own count,
                         which does not match between ranks. COUNT_UNKNOWN */
    int64_t count;
    enum datatype datatype;
    int64_t bytes; /* count x type size as passed to the API; COUNT_UNKNOWN */
    int64_t root;  /* of rooted collectives; COUNT_UNKNOWN */
    int64_t peer;  /* of point-to-point operations, rank in the communicator; COUNT_UNKNOWN */
    enum algorithm algorithm;
    enum protocol protocol;
    int64_t channel_count;
    uint64_t stream; /* address of the CUDA stream; 0: unknown, or the default stream */
    /*
     * Addresses of its buffers in the process; 0: unknown or unused. A send uses only the first, a receive
     * only the second.
     */
    uint64_t send_buffer;
    uint64_t receive_buffer;
    int graph_captured;
    struct interval_ns api;     /* the API call: from group begin (or the call) to its return */
    struct interval_ns enqueue; /* begin and end of the record itself: enqueueing to the GPU */
    struct interval_ns device;  /* execution on the GPU, on the host clock as polled */
    enum end_source end_source;
    uint64_t gpu_begin; /* earliest start and latest stop of channels that have both; 0: unknown */
    uint64_t gpu_end;
    int64_t duration_ns; /* on the GPU's clock, else as the recorder gives it; COUNT_UNKNOWN */
    /*
     * The first phase of the kernel on the GPU's clock: the shortest over channels with both ends. In a
     * symmetric kernel this is the time that a block waited for the blocks of its peers. 0: unknown.
     */
    int64_t initial_sync_ns;
    int is_symmetric;    /* uses symmetric memory: the kernel first waits for all members */
    const char *source;  /* file:line of the call in the program; NULL: unknown */
    const char *tag;     /* user tag in the record itself */
    int tag_is_number;   /* the tag is a 64-bit decimal number, which may have a name (struct tag_name) */
    int unfinished;      /* the record has no end: the file ends, or the operation was pending */
    int64_t gpu_busy_ns; /* time that its GPU computed since the previous operation there ended; 0: unknown */
    int64_t gpu_overlap_ns; /* time that its GPU computed while the operation ran; 0: none, or unknown */
    /*
     * How long after the start of the first channel, and after the stop of the last one, the host noticed it.
     * 0 also if the recorder does not convert GPU times to the host's clock: then the host times of the
     * channels are those at which the host noticed.
     */
    int64_t start_notice_ns;
    int64_t stop_notice_ns;
    /*
     * 1 + the position in the program's own numbering; 0: unknown. A recorder that ran only for a while
     * starts anywhere, so if `sequence` is unknown, this identifies the same operation on all ranks.
     */
    int64_t told_step;     /* training step */
    int64_t told_sequence; /* among all collectives of the communicator */
    const struct kernel_channel *channels;
    size_t kernel_channel_count;
};

/*
 * The columns of packed operations (lib/store/packed_table.c) and of the table operation. A column is never
 * moved; new ones are added at the end. ALWAYS: the value is always known. KNOWN: the given value of the
 * member stands for unknown. NEAR: as KNOWN, and the values are similar to those of an earlier column. OTHER:
 * lib/store/insert.c computes the value, lib/store/operations.c reads it.
 */
#define PACKED_OPERATION(ALWAYS, KNOWN, NEAR, OTHER)                                  \
    ALWAYS(KIND, kind, kind)                                                          \
    ALWAYS(FUNCTION, function, function)                                              \
    KNOWN(SEQUENCE, sequence, sequence, COUNT_UNKNOWN)                                \
    KNOWN(COUNT, count, count, COUNT_UNKNOWN)                                         \
    ALWAYS(DATATYPE, datatype, datatype)                                              \
    KNOWN(BYTES, bytes, bytes, COUNT_UNKNOWN)                                         \
    KNOWN(ROOT, root, root, COUNT_UNKNOWN)                                            \
    KNOWN(PEER, peer, peer, COUNT_UNKNOWN)                                            \
    ALWAYS(ALGORITHM, algorithm, algorithm)                                           \
    ALWAYS(PROTOCOL, protocol, protocol)                                              \
    KNOWN(CHANNEL_COUNT, channel_count, channel_count, COUNT_UNKNOWN)                 \
    KNOWN(STREAM, stream, stream, 0)                                                  \
    KNOWN(API_BEGIN, api_begin_ns, api.begin_ns, TIME_UNKNOWN)                        \
    NEAR(API_END, api_end_ns, api.end_ns, TIME_UNKNOWN, API_BEGIN)                    \
    NEAR(ENQUEUE_BEGIN, enqueue_begin_ns, enqueue.begin_ns, TIME_UNKNOWN, API_BEGIN)  \
    NEAR(ENQUEUE_END, enqueue_end_ns, enqueue.end_ns, TIME_UNKNOWN, ENQUEUE_BEGIN)    \
    NEAR(DEVICE_BEGIN, device_begin_ns, device.begin_ns, TIME_UNKNOWN, ENQUEUE_BEGIN) \
    NEAR(DEVICE_END, device_end_ns, device.end_ns, TIME_UNKNOWN, DEVICE_BEGIN)        \
    ALWAYS(END_SOURCE, end_source, end_source)                                        \
    KNOWN(GPU_BEGIN, gpu_begin, gpu_begin, 0)                                         \
    NEAR(GPU_END, gpu_end, gpu_end, 0, GPU_BEGIN)                                     \
    KNOWN(DURATION, duration_ns, duration_ns, COUNT_UNKNOWN)                          \
    OTHER(TAG, tag, TEXT)                                                             \
    OTHER(FLAGS, flags, INTEGER)                                                      \
    OTHER(BYTE_OFFSET, byte_offset, INTEGER)                                          \
    OTHER(KERNEL_CHANNELS, kernel_channels, BYTES)                                    \
    KNOWN(INITIAL_SYNC, initial_sync_ns, initial_sync_ns, 0)                          \
    OTHER(SOURCE, source, TEXT)                                                       \
    OTHER(TOLD_STEP, told_step, INTEGER)                                              \
    OTHER(TOLD_SEQUENCE, told_sequence, INTEGER)                                      \
    KNOWN(GPU_BUSY, gpu_busy_ns, gpu_busy_ns, 0)                                      \
    KNOWN(SEND_BUFFER, send_buffer, send_buffer, 0)                                   \
    NEAR(RECEIVE_BUFFER, receive_buffer, receive_buffer, 0, SEND_BUFFER)              \
    KNOWN(START_NOTICE, start_notice_ns, start_notice_ns, 0)                          \
    KNOWN(STOP_NOTICE, stop_notice_ns, stop_notice_ns, 0)                             \
    KNOWN(GPU_OVERLAP, gpu_overlap_ns, gpu_overlap_ns, 0)

/* An operation without any facts. */
#define OPERATION_UNKNOWN                                        \
    ((struct operation){.sequence = COUNT_UNKNOWN,               \
                        .count = COUNT_UNKNOWN,                  \
                        .bytes = COUNT_UNKNOWN,                  \
                        .root = COUNT_UNKNOWN,                   \
                        .peer = COUNT_UNKNOWN,                   \
                        .channel_count = COUNT_UNKNOWN,          \
                        .api = {TIME_UNKNOWN, TIME_UNKNOWN},     \
                        .enqueue = {TIME_UNKNOWN, TIME_UNKNOWN}, \
                        .device = {TIME_UNKNOWN, TIME_UNKNOWN},  \
                        .duration_ns = COUNT_UNKNOWN})

enum direction { DIRECTION_SEND = 0, DIRECTION_RECV = 1 };

/* The waits of a network step. Which of them exist depends on the direction and the NCCL version. */
enum wait_kind {
    WAIT_BUFFER = 0, /* SendBufferWait, RecvBufferWait: up to 2.26 */
    WAIT_GPU,  /* SendGpuWait: no data yet from the sender's GPU; RecvGpuWait: waits for the receiver's GPU */
    WAIT_PEER, /* SendPeerWait: no credit from the receiver; since 2.27 */
    WAIT_NETWORK, /* SendWait: the network or the sender's NIC; RecvWait: no data arrived */
    WAIT_FLUSH,   /* RecvFlushWait */
    WAIT_KINDS
};

struct proxy_step {
    int64_t step;
    struct interval_ns wait[WAIT_KINDS]; /* TIME_UNKNOWN if absent */
};

#define PROXY_STEP_UNKNOWN                      \
    ((struct proxy_step){                       \
        .wait = {{TIME_UNKNOWN, TIME_UNKNOWN},  \
                 {TIME_UNKNOWN, TIME_UNKNOWN},  \
                 {TIME_UNKNOWN, TIME_UNKNOWN},  \
                 {TIME_UNKNOWN, TIME_UNKNOWN},  \
                 {TIME_UNKNOWN, TIME_UNKNOWN}}, \
    })

/*
 * Progress counters of profiler API v1 to v3: the number of steps that reached the state, and the time when
 * the last one did.
 */
enum proxy_state { STATE_POSTED = 0, STATE_PEER, STATE_TRANSMITTED, STATE_DONE, PROXY_STATES };

struct proxy_operation {
    int64_t operation; /* ordinal of the operation it belongs to; COUNT_UNKNOWN if detached */
    enum direction direction;
    int64_t channel;
    int64_t peer; /* rank in the communicator */
    int64_t step_count;
    int64_t chunk_bytes;
    int64_t transferred_bytes;
    struct interval_ns schedule; /* since 2.27: ScheduleSend/Recv */
    struct interval_ns progress; /* ProgressSend/Recv; up to 2.26 the whole record */
    /*
     * The process of the same host that a detached one works for (PXN; 0: not given), and its rank in a
     * communicator that is not given. The peer is a rank of that communicator.
     */
    int64_t origin_pid;
    int64_t origin_rank;
    int has_states;
    struct {
        int64_t steps;
        int64_t at_ns;
    } state[PROXY_STATES];          /* STATE_PEER: REM_FIFO_WAIT of a send, RECEIVED of a receive */
    const struct proxy_step *steps; /* at most FORMAT_STEPS_AT_ONCE; more steps come in several records */
    size_t steps_recorded;
    int continued; /* a further record of the same proxy operation */
};

struct tag_mark {
    const char *text;
    int64_t at_ns;
    int64_t depth;    /* nesting depth; 0 if the format has none */
    int process_wide; /* applies to every communicator of the process */
    int is_end;       /* end of a range of this depth; text is NULL */
};

/* The text for a number that operations of the process have as their tag. */
struct tag_name {
    uint64_t number;
    const char *text;
    int64_t at_ns; /* TIME_UNKNOWN; if a number has several names, the latest is used */
};

/* One moment on several clocks (bundled plugin). */
struct clock_anchor {
    int64_t local_ns;     /* on the clock of the times in this file */
    int64_t monotonic_ns; /* CLOCK_MONOTONIC; TIME_UNKNOWN */
    int64_t realtime_ns;  /* CLOCK_REALTIME; TIME_UNKNOWN */
    const char *boot_id;  /* NULL: unknown. Processes with the same boot_id share CLOCK_MONOTONIC */
};

/* The recorder reports that it dropped events. */
struct loss {
    int64_t events;
    const char *what;
    /*
     * `events` is the total dropped so far, of the communicator or, if the origin has none, of the process:
     * the greatest of several totals is used. If 0, the figures are added up.
     */
    int is_total;
};

/*
 * Facts about a process besides its origin; if the origin has a communicator and rank, about that rank only
 * (a process may drive several GPUs). Unknown: NULL and COUNT_UNKNOWN. Facts may come in several events, from
 * several files, in any order; of contradicting facts the first is used.
 */
struct process_facts {
    int64_t global_rank;    /* in the launcher's or framework's numbering */
    int64_t world_size;     /* number of global ranks of the job */
    int64_t local_rank;     /* on its host */
    int64_t gpu;            /* CUDA device number in the process */
    const char *gpu_bus_id; /* "0000:3b:00.0" */
    const char *gpu_serial; /* serial number or UUID */
    const char *nic;        /* network cards that its traffic uses, separated by commas */
    const char *host;       /* if the origin has no host */
    const char *rank_name;  /* the framework's name of the rank: "tp 0 dp 1" */
    const char *address;    /* address at which other processes reach its host: "10.0.0.10" */
};

/* No fact is known. */
#define PROCESS_FACTS_NONE                                \
    ((struct process_facts){.global_rank = COUNT_UNKNOWN, \
                            .world_size = COUNT_UNKNOWN,  \
                            .local_rank = COUNT_UNKNOWN,  \
                            .gpu = COUNT_UNKNOWN})

/*
 * The progress of a process in the operations of a process group, as its framework counts them (torch's
 * pg_status, lines of its watchdog). It refers to the communicator and rank of the origin or, without these,
 * to the group `name`. Numbers count from 1; GROUP_STATUS_NONE: none so far; COUNT_UNKNOWN: unknown.
 */
enum { GROUP_STATUS_NONE = 0 };

struct group_status {
    const char *name;        /* the framework's name of the group; NULL */
    const char *description; /* the framework's description of it; NULL */
    const char *function;    /* operation that timed out, as printed; NULL */
    int64_t enqueued;
    int64_t started;
    int64_t completed;
    int64_t timed_out;
    int64_t at_ns; /* TIME_UNKNOWN */
};

/*
 * A fact about memory that is registered with NCCL, by NCCL's own trace or by a rule of the framework. Stores
 * contain the numbers, so they never change.
 */
enum registration_kind {
    REGISTRATION_MADE = 0,   /* memory was registered with the communicator of the origin */
    REGISTRATION_ENDED = 1,  /* the registration that contains `address` ended */
    REGISTRATION_USED = 2,   /* call `number` of `function` used the registration of its buffer */
    REGISTRATION_FAILED = 3, /* the call tried to use it and could not */
    REGISTRATION_WATCHED =
        4, /* calls of the origin are recorded in a trace that would also show registrations */
    REGISTRATION_SNAPSHOT = 5, /* snapshot of a framework's allocator as a whole, taken at `alive.end_ns` */
    REGISTRATION_SEGMENT = 6,  /* a segment that the allocator got from the driver */
    REGISTRATION_HOOK_ON = 8,  /* the framework registers all segments of the process */
    REGISTRATION_HOOK_OFF = 9, /* the framework does not register segments */
    REGISTRATION_EXPANDABLE =
        7 /* segment of mapped and unmapped pieces, which the framework never registers */
};

enum registration_way { WAY_UNKNOWN = 0, WAY_IPC = 1, WAY_NET = 2, WAY_NVLS = 3, WAY_COLLNET = 4 };

struct registration {
    enum registration_kind kind;
    enum registration_way way; /* transport that used the registration, or did not */
    uint64_t address;
    int64_t bytes;
    enum function function;
    int64_t number; /* number of the call of this function on this communicator, from 0 */
    /* Number of calls of each function that the origin had made on its communicator; NULL: unknown. */
    const int64_t *calls;     /* array of FUNCTION_COUNT */
    struct interval_ns alive; /* lifetime of a segment, wall clock */
    int64_t device;           /* CUDA device number in the process; COUNT_UNKNOWN */
    int64_t global_rank;      /* rank that the snapshot is of; COUNT_UNKNOWN */
};

/* Facts about the origin's communicator as a whole. */
struct communicator_facts {
    const int64_t *members; /* global ranks in order of the ranks in the communicator; NULL: unknown */
    size_t member_count;
    const char *description; /* its purpose: "TENSOR_MODEL_PARALLEL_GROUP"; NULL */
};

/* Phases of the creation of a communicator, as NCCL's log names them. */
enum start_part {
    START_KERNELS = 0, /* loads the kernels */
    START_ALLOCATION,
    START_BOOTSTRAP,  /* connects to the other ranks, including the wait for them */
    START_ALLGATHERS, /* exchanges the topology, including the wait */
    START_TOPOLOGY,
    START_GRAPHS,
    START_CONNECTIONS,
    START_REST,
    START_PARTS
};

/* The creation of the origin's communicator on one rank. TIME_UNKNOWN: unknown. */
struct start_up {
    const char *function; /* API function that the program called: "ncclCommInitRankConfig"; NULL */
    uint64_t parent_hash; /* communicator from which it was split; 0: none */
    int64_t begin_ns;     /* timestamps on the clock of the log */
    int64_t end_ns;
    int is_complete;  /* the log reports that creation completed; 0: it was in progress at the end of the log
                       */
    int64_t total_ns; /* durations */
    int64_t parts_ns[START_PARTS];
};

#define START_UP_UNKNOWN                                                                                  \
    ((struct start_up){.begin_ns = TIME_UNKNOWN,                                                          \
                       .end_ns = TIME_UNKNOWN,                                                            \
                       .total_ns = TIME_UNKNOWN,                                                          \
                       .parts_ns = {TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN, \
                                    TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN}})

/*
 * Stores contain the numbers, so they never change. A new kind also takes a line in
 * lib/hang/reported_errors.c, which says whose fault it is, in schemas/info/info.sql and in
 * ncclprof-store(5).
 */
enum warning_kind {
    WARNING_OTHER = 0,
    WARNING_COMPLETION = 1, /* a transfer of a NIC failed: `status` */
    WARNING_CARD = 2,       /* a NIC or its port failed */
    WARNING_CLOSED = 3,     /* a peer closed its connection, or its process ended */
    WARNING_SILENT = 4,     /* a peer does not answer NCCL's RAS */
    WARNING_DEAD = 5,       /* RAS considers the peer dead */
    WARNING_INTERNAL = 6,   /* internal error of NCCL or of its proxy thread */
    WARNING_CUDA = 7,       /* a CUDA call failed */
    WARNING_MEMORY = 8,     /* out of GPU or host memory */
    WARNING_REQUEST = 9,   /* a request of a network plugin failed: `status` is libfabric's or the plugin's */
    WARNING_NO_CARD = 10,  /* a NIC could not be opened */
    WARNING_MISMATCH = 11, /* ranks have different network plugins or NICs */
    WARNING_ABORTED = 12,  /* the communicator was aborted because another rank failed */
    WARNING_CARD_FATAL = 13, /* a NIC failed and does not recover */
    WARNING_SYSTEM = 14,     /* a system call failed, and NCCL with it */
    WARNING_USAGE = 15,      /* invalid use of NCCL */
    /* 16 to 31 come from PyTorch's log. */
    WARNING_STUCK = 16,  /* its watchdog hangs in a CUDA or NCCL call */
    WARNING_RAISED = 17, /* the program raised an exception that no other rank caused */
    WARNING_FAILED = 18, /* an NCCL error of no kind above */
    WARNING_NEVER_JOINED =
        19, /* rank `status` did not join an operation, according to a report over all ranks */
    WARNING_UNFINISHED =
        20, /* rank `status` did not finish an operation, according to a report over all ranks */
    WARNING_NO_DUMP = 21,   /* the Flight Recorder could not be dumped */
    WARNING_ENDED = 22,     /* its launcher reports that a signal ended it */
    WARNING_CARD_BACK = 32, /* not a failure: the port of a NIC is active again */
    WARNING_NETWORK = 33,   /* not a warning: the network that NCCL uses, in `text` */
    WARNING_GOT_OVER = 34,  /* an error of the rank itself, as text, after which it continued normally */
    WARNING_SETTING = 35,   /* not a warning: a setting or version of the process, as "NAME=VALUE" */
    WARNING_KINDS = 36
};

/* A warning by a process, or about it by others, during or after its run. */
struct warning {
    enum warning_kind kind;
    int64_t at_ns;  /* on the clock of the log; TIME_UNKNOWN */
    int64_t gpu;    /* device of the thread that warned; COUNT_UNKNOWN */
    int64_t calls;  /* calls that the process had made before, as far as the same file shows them */
    int64_t status; /* of a completion (InfiniBand's numbers) or a request, or a global rank; COUNT_UNKNOWN */
    const char *nic;  /* NIC of the process itself; NULL */
    const char *peer; /* address or name of the peer's host; NULL */
    const char *text;
};

/*
 * A description of a call that the program was about to make, either printed or recorded as a mark in a trace
 * (lit-gpt's monitor_collectives). A mark has the origin of its process. Printed text has neither host nor
 * pid: only the rank identifies the process. Unknown: NULL and COUNT_UNKNOWN.
 */
struct call_description {
    const char *name;      /* name in torch.distributed: "all_reduce" */
    int64_t rank;          /* global rank; always known */
    const char *source;    /* file:line of the program */
    int64_t message_bytes; /* counted as descriptions do: see call_kind in lib/model/model.h */
    int64_t device;        /* CUDA device number in the process */
    int64_t said_ns; /* since the epoch, in whole seconds if the program prints no fraction; TIME_UNKNOWN */
    const char *gpu_serial;
    const char *vm;       /* virtual machine */
    const int64_t *group; /* global ranks of the group; NULL: all ranks */
    size_t group_count;
    int group_is_cut;        /* the description was truncated in its group or before */
    int64_t peer;            /* global rank; of send and receive */
    int64_t root;            /* global rank; of rooted collectives */
    const char *correlation; /* equal for all operations of one call (batch_isend_irecv) */
    int64_t at_ns;           /* of a mark, on the clock of its process; TIME_UNKNOWN */
};

/* Inspector's Prometheus metrics of one kind of operation between two of its dumps. */
struct metric_sample {
    int64_t at_ns;   /* since the epoch; TIME_UNKNOWN */
    const char *job; /* the scheduler's job id; all texts here may be NULL */
    const char *node;
    const char *gpu; /* "GPU4" */
    const char *communicator;
    int64_t node_count; /* of the communicator; COUNT_UNKNOWN */
    int64_t rank_count;
    int64_t rank; /* in the communicator; COUNT_UNKNOWN */
    enum function function;
    const char *message_size; /* as printed: "4-5MB" */
    int64_t least_bytes;      /* lower limit of message_size, per rank as passed to the API; COUNT_UNKNOWN */
    enum algorithm algorithm;
    enum protocol protocol;
    double busbw_gbs;    /* geometric mean; negative: unknown */
    int64_t duration_ns; /* arithmetic mean; COUNT_UNKNOWN */
    const char *tag;
    int64_t sequence; /* of the last operation; COUNT_UNKNOWN */
};

enum event_kind {
    EVENT_OPERATION,
    EVENT_PROXY,
    EVENT_TAG,
    EVENT_TAG_NAME,
    EVENT_ANCHOR,
    EVENT_LOSS,
    EVENT_PROCESS,
    EVENT_GROUP_STATUS,
    EVENT_START_UP,
    EVENT_WARNING,
    EVENT_REGISTRATION,
    EVENT_CALL_DESCRIPTION,
    EVENT_SAMPLE,
    EVENT_NODE_SAMPLE,
    EVENT_NODE_EVENT,
    EVENT_NODE_FACT,
    EVENT_TABLES, /* each kind above has a table (record.c) */
    EVENT_COMMUNICATOR = EVENT_TABLES
};

struct event {
    enum event_kind kind;
    struct origin origin;
    union {
        struct operation operation;
        struct proxy_operation proxy;
        struct tag_mark tag;
        struct tag_name tag_name;
        struct clock_anchor anchor;
        struct loss loss;
        /*
         * EVENT_COMMUNICATOR: the origin gives this process and its rank in the communicator; all of this may
         * be NULL
         */
        struct communicator_facts communicator;
        struct process_facts process;
        struct group_status group_status;
        struct start_up start_up; /* its origin has communicator and rank */
        struct warning warning;
        struct registration registration;
        struct call_description call;
        struct metric_sample sample;
        struct node_sample node_sample;
        struct node_event node_event;
        struct node_fact node_fact;
    };
};

#endif
