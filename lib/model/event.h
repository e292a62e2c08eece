#ifndef NCCLPROF_MODEL_EVENT_H
#define NCCLPROF_MODEL_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* -------------------- vocabulary.c -------------------- */

/*
 * The field's words as small numbers. The numbers are stored in files (schemas/store) and so never change:
 * add at the end. 0 is always "not said", *_OTHER a word that we do not know.
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
    ALGORITHM_COPY_ENGINE, /* no kernel: copies by the GPU's copy engines, which no trace calls an algorithm
                            */
    /* Kernels on symmetric memory, as NCCL names them behind their function ("AllGather_LLMC"). */
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
 * The one normalised record. Every input dialect (lib/format) turns its lines into these, and nothing after
 * lib/format knows where they came from.
 *
 * Times are nanoseconds on the clock of the process that recorded them: since its profiler plugin's start for
 * Chrome traces (no two processes share a zero), since the epoch for Inspector lines. TIME_UNKNOWN stands for
 * a time that the trace does not give (among them the 0.000000 that NVIDIA's plugin prints for "never").
 * GPU clocks are raw values, exact, comparable on one GPU only; 0 is unknown.
 * Texts and arrays are borrowed: they live until the callback that got the event returns.
 *
 * Below each struct stand the columns of its table in the store; WHOLE, COUNT ... are the kinds of columns of
 * record.c. A new field takes its member and its column here, the column in schemas/store, and the reader in
 * lib/format that knows it.
 */

#define TIME_UNKNOWN INT64_MIN
#define COUNT_UNKNOWN (-1)

struct interval_ns {
    int64_t begin_ns;
    int64_t end_ns;
};

/* So that it holds `by`, too; an end that is not known becomes that of `by`. */
static inline void interval_widen(struct interval_ns *interval, struct interval_ns by)
{
    if (interval->begin_ns == TIME_UNKNOWN || by.begin_ns < interval->begin_ns)
        interval->begin_ns = by.begin_ns;
    if (interval->end_ns == TIME_UNKNOWN || by.end_ns > interval->end_ns)
        interval->end_ns = by.end_ns;
}

/* Who speaks. What a dialect does not say is NULL, 0 (hash, size, nodes) or COUNT_UNKNOWN (pid, rank). */
struct origin {
    const char *host;
    int64_t pid;
    int64_t started_ns; /* when the process began to record, wall clock: ids come again; 0: not said; below 0
                           no time: it tells a process without host and id from others */
    /* 0: not said (NCCL up to 2.26 behind a newer one). NCCL's own, or where a dialect does not know that,
     * communicator_hash_of() (vocabulary.c), and communicator_is_named set: such a hash tells
     * communicators of one directory apart, not those of different jobs. */
    uint64_t communicator_hash;
    int communicator_is_named;
    int64_t rank; /* in the communicator */
    const char *communicator_name;
    int64_t communicator_size;
    int64_t node_count;
    uint64_t offset; /* byte offset in the (unpacked) input of the line that began the record */
};

enum operation_kind { OPERATION_COLLECTIVE = 0, OPERATION_POINT_TO_POINT = 1, OPERATION_COPY_ENGINE = 2 };

/* Where an operation's device_end_ns comes from, best first. */
enum end_source {
    END_UNKNOWN = 0, /* nothing in the trace says when it ended */
    END_KERNEL = 1,  /* a kernel channel with both ends */
    END_PROXY = 2,   /* the end of its last proxy operation: late by up to milliseconds */
    END_HOST = 3     /* the end that the operation's own record gives (a poll by the host) */
};

struct kernel_channel {
    int32_t channel;
    /* When the host noticed start and stop, never early and at times milliseconds late; better where the
     * recorder knows the GPU's clock on the host's. */
    struct interval_ns host;
    uint64_t gpu_begin; /* GPU clock, ns */
    uint64_t gpu_end;
};

struct operation {
    int64_t ordinal; /* 0, 1, 2 ... in order of appearance in the file: proxy records refer to it */
    enum operation_kind kind;
    enum function function;
    int64_t sequence; /* per (communicator, function); of point-to-point, how its rank counts its calls, which
                         is no key between ranks; COUNT_UNKNOWN */
    int64_t count;
    enum datatype datatype;
    int64_t bytes; /* count x type size as the API got them; COUNT_UNKNOWN */
    int64_t root;  /* collectives with one; COUNT_UNKNOWN */
    int64_t peer;  /* rank in the communicator, point-to-point; COUNT_UNKNOWN */
    enum algorithm algorithm;
    enum protocol protocol;
    int64_t channel_count;
    uint64_t stream; /* the CUDA stream's address; 0 unknown, or the default stream's */
    /* Addresses in the process of what it reads and writes; 0: not told, or not used. Of a send the first, of
     * a receive the second. */
    uint64_t send_buffer;
    uint64_t receive_buffer;
    int graph_captured;
    struct interval_ns api;     /* the call: group begin (or call), return of the call */
    struct interval_ns enqueue; /* the record's own begin and end: being enqueued to the GPU */
    struct interval_ns device;  /* running on the GPU, host clock as polled */
    enum end_source end_source;
    uint64_t gpu_begin; /* least start and greatest stop over channels that have both; 0 unknown */
    uint64_t gpu_end;
    int64_t duration_ns; /* on the GPU's own clock, else the recorder's figure; COUNT_UNKNOWN */
    /* The first phase of its kernel, the shortest over channels that have both its ends, on the GPU's own
     * clock: of a symmetric kernel what its block waited for those of its peers; 0 unknown. */
    int64_t initial_sync_ns;
    int is_symmetric;    /* its kernel works on symmetric memory: all members come together in it first */
    const char *source;  /* file:line of the program that called it; NULL unknown */
    const char *tag;     /* user tag that the record itself carries */
    int tag_is_number;   /* ... in decimal, of 64 bits, which may have a name (struct tag_name) */
    int unfinished;      /* the record has no end: the file stops, or the operation was pending */
    int64_t gpu_busy_ns; /* that its GPU computed since the operation before it there had ended; 0 unknown */
    /* Where it stands as the program itself counts, 1 more than its number; 0: not told. Recorders that were
     * on for a while only begin anywhere: where `sequence` is not known, this tells what is the same on all
     * ranks. */
    int64_t told_step;     /* training step */
    int64_t told_sequence; /* among all collectives of the communicator */
    const struct kernel_channel *channels;
    size_t kernel_channel_count;
};

/*
 * The columns into which operations are packed (store/tables.h), which are those of table operation as well.
 * None is ever moved, new ones follow at the end. ALWAYS: the value is always known. KNOWN: this value of the
 * member stands for unknown. NEAR: the same, and the values lie near those of an earlier column. OTHER:
 * store/batch_pack.c makes the value, store/operations.c reads it.
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
    NEAR(RECEIVE_BUFFER, receive_buffer, receive_buffer, 0, SEND_BUFFER)

/* A call of which nothing is said yet. */
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

/* The waits of one network step. Which exist depends on direction and NCCL version (formats.md). */
enum wait_kind {
    WAIT_BUFFER = 0, /* SendBufferWait, RecvBufferWait: up to 2.26 */
    WAIT_GPU,        /* SendGpuWait: no data yet from the sender's GPU; RecvGpuWait: receiver's GPU */
    WAIT_PEER,       /* SendPeerWait: no credit from the receiver; 2.27 on */
    WAIT_NETWORK,    /* SendWait: the network or the sender's card; RecvWait: nothing arrived */
    WAIT_FLUSH,      /* RecvFlushWait */
    WAIT_KINDS
};

struct proxy_step {
    int64_t step;
    struct interval_ns wait[WAIT_KINDS]; /* TIME_UNKNOWN where absent */
};

/* Progress counters of API v1 to v3: how many steps reached the state, and when the last one did. */
enum proxy_state { STATE_POSTED = 0, STATE_PEER, STATE_TRANSMITTED, STATE_DONE, PROXY_STATES };

struct proxy_operation {
    int64_t operation; /* ordinal of the operation that encloses it; COUNT_UNKNOWN when detached */
    enum direction direction;
    int64_t channel;
    int64_t peer; /* rank in the communicator */
    int64_t step_count;
    int64_t chunk_bytes;
    int64_t transferred_bytes;
    struct interval_ns schedule; /* 2.27 on: ScheduleSend/Recv */
    struct interval_ns progress; /* ProgressSend/Recv, or the whole record up to 2.26 */
    int has_states;
    struct {
        int64_t steps;
        int64_t at_ns;
    } state[PROXY_STATES];          /* STATE_PEER: REM_FIFO_WAIT of a send, RECEIVED of a receive */
    const struct proxy_step *steps; /* at most FORMAT_STEPS_AT_ONCE; a longer one comes in several records */
    size_t steps_recorded;
    int continued; /* not the first record of this proxy operation */
};

struct tag_mark {
    const char *text;
    int64_t at_ns;
    int64_t depth;    /* nesting; 0 when the dialect has none */
    int process_wide; /* true: applies to every communicator of the process */
    int is_end;       /* a range of `depth` ends here; text is NULL */
};

/* What a number that operations have as their tag stands for, in all that the process records. */
struct tag_name {
    uint64_t number;
    const char *text;
    int64_t at_ns; /* of several names the last one counts; TIME_UNKNOWN */
};

/* A moment read on several clocks at once (bundled plugin). */
struct clock_anchor {
    int64_t local_ns;     /* on the clock of this file's times */
    int64_t monotonic_ns; /* CLOCK_MONOTONIC; TIME_UNKNOWN */
    int64_t realtime_ns;  /* CLOCK_REALTIME; TIME_UNKNOWN */
    const char *boot_id;  /* NULL when unknown: monotonic clocks of one boot are the same clock */
};

/* The recorder says that it dropped events. */
struct loss {
    int64_t events;
    const char *what;
    /*
     * What it says is all that it has dropped so far, of that communicator, or of the process where the
     * origin names none: of several such figures the greatest counts. Else figures add up.
     */
    int is_total;
};

/*
 * What is known of a process beside its origin, or, where the origin says communicator and rank, of that rank
 * of the process alone: of processes that drive several. NULL and COUNT_UNKNOWN are unknown. It may come in
 * several events, from several files, before or after all else: of what contradicts itself the first counts.
 */
struct process_facts {
    int64_t global_rank;    /* as the launcher or the framework counts them */
    int64_t world_size;     /* global ranks of the job */
    int64_t local_rank;     /* on its host */
    int64_t gpu;            /* CUDA's number of the device in the process */
    const char *gpu_bus_id; /* "0000:3b:00.0" */
    const char *gpu_serial; /* serial number or UUID */
    const char *nic;        /* that its traffic uses; several by comma */
    const char *host;       /* where the origin does not say it */
    const char *rank_name;  /* what the framework calls it: "tp 0 dp 1" */
    const char *address;    /* at which other processes reach its host: "10.0.0.10" */
};

/* All facts unknown. */
#define PROCESS_FACTS_NONE                                \
    ((struct process_facts){.global_rank = COUNT_UNKNOWN, \
                            .world_size = COUNT_UNKNOWN,  \
                            .local_rank = COUNT_UNKNOWN,  \
                            .gpu = COUNT_UNKNOWN})

/*
 * How far a process came with the operations of a group that its framework counts (torch's pg_status, its
 * watchdog's lines). Where the origin says communicator and rank, of that; else `name` tells which group.
 * Numbers count from 1, GROUP_STATUS_NONE is none yet; COUNT_UNKNOWN is not said.
 */
enum { GROUP_STATUS_NONE = 0 };

struct group_status {
    const char *name;        /* the framework's, of the group; NULL */
    const char *description; /* likewise */
    const char *function;    /* that timed out, as it is written; NULL */
    int64_t enqueued;
    int64_t started;
    int64_t completed;
    int64_t timed_out;
    int64_t at_ns; /* TIME_UNKNOWN */
};

/*
 * What a file tells of memory that is registered with NCCL, or is by a rule of the framework's. Stored: their
 * numbers never change.
 */
enum registration_kind {
    REGISTRATION_MADE = 0,      /* memory was registered with the origin's communicator */
    REGISTRATION_ENDED = 1,     /* the one that holds `address` ended */
    REGISTRATION_USED = 2,      /* call `number` of `function` used the registration of its buffer */
    REGISTRATION_FAILED = 3,    /* ... tried to, and could not */
    REGISTRATION_WATCHED = 4,   /* calls of the origin are listed where registrations would be told */
    REGISTRATION_SNAPSHOT = 5,  /* of a framework's allocator, as a whole: up to `alive.end_ns` */
    REGISTRATION_SEGMENT = 6,   /* memory that the allocator got from the driver in one piece */
    REGISTRATION_HOOK_ON = 8,   /* the framework registers all segments of the process */
    REGISTRATION_HOOK_OFF = 9,  /* ... and does not */
    REGISTRATION_EXPANDABLE = 7 /* ... in pieces that are mapped and unmapped: never registered by the hook */
};

enum registration_way { WAY_UNKNOWN = 0, WAY_IPC = 1, WAY_NET = 2, WAY_NVLS = 3, WAY_COLLNET = 4 };

struct registration {
    enum registration_kind kind;
    enum registration_way way; /* by which it was used, or was not */
    uint64_t address;
    int64_t bytes;
    enum function function;
    int64_t number; /* of calls of this function on this communicator, from 0 */
    /* How many calls of each function the origin had made on its communicator; NULL: not known. */
    const int64_t *calls;     /* FUNCTION_COUNT of them */
    struct interval_ns alive; /* wall clock, of a segment */
    int64_t device;           /* CUDA's number in the process; COUNT_UNKNOWN */
    int64_t global_rank;      /* whose snapshot it is; COUNT_UNKNOWN */
};

/* What a dialect says of the origin's communicator as a whole. */
struct communicator_facts {
    const int64_t *members; /* global ranks, in order of the ranks in the communicator; NULL: not said */
    size_t member_count;
    const char *description; /* what it is for: "TENSOR_MODEL_PARALLEL_GROUP"; NULL */
};

/* Parts of the making of a communicator, as NCCL's log names them. */
enum start_part {
    START_KERNELS = 0, /* loading its kernels */
    START_ALLOCATION,
    START_BOOTSTRAP,  /* meeting the other ranks, and waiting for them */
    START_ALLGATHERS, /* telling each other of topology, and waiting */
    START_TOPOLOGY,
    START_GRAPHS,
    START_CONNECTIONS,
    START_REST,
    START_PARTS
};

/* How a rank came into the origin's communicator. TIME_UNKNOWN: not said. */
struct start_up {
    const char *function; /* the program called: "ncclCommInitRankConfig"; NULL */
    uint64_t parent_hash; /* of the communicator that it was split off; 0: none */
    int64_t begin_ns;     /* moments, on the clock of the log */
    int64_t end_ns;
    int is_complete;  /* the log says that it was made; else it was being made as the log ends */
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
 * Stored: their numbers never change. One more takes a line here, in lib/hang/reported_errors.c where
 * it says whose fault it is, in schemas/info/info.sql and in ncclprof-store(5).
 */
enum warning_kind {
    WARNING_OTHER = 0,
    WARNING_COMPLETION = 1, /* a transfer of a network card failed: `status` */
    WARNING_CARD = 2,       /* of a card itself: its port, or all of it, failed */
    WARNING_CLOSED = 3,     /* a peer closed its connection, or its process ended */
    WARNING_SILENT = 4,     /* NCCL's RAS asks it, and gets no answer */
    WARNING_DEAD = 5,       /* ... and has given it up */
    WARNING_INTERNAL = 6,   /* an error of NCCL's own, or of its proxy thread */
    WARNING_CUDA = 7,       /* a call of CUDA failed */
    WARNING_MEMORY = 8,     /* the GPU's memory, or the host's, is out */
    WARNING_REQUEST = 9,   /* a request of a network plugin failed: `status` is libfabric's or the plugin's */
    WARNING_NO_CARD = 10,  /* a network card could not be opened */
    WARNING_MISMATCH = 11, /* ranks have different network plugins or cards */
    WARNING_ABORTED = 12,  /* the communicator was aborted, as another rank had failed */
    WARNING_CARD_FATAL = 13, /* of a card itself: what it does is over */
    WARNING_SYSTEM = 14,     /* a call of the operating system failed, and NCCL with it */
    WARNING_USAGE = 15,      /* NCCL was called in a way that it does not allow */
    /* 16 to 31 are those of PyTorch's log. */
    WARNING_STUCK = 16,        /* its watchdog hangs in a call of CUDA or NCCL */
    WARNING_RAISED = 17,       /* its program raised an exception that is no effect of another rank's */
    WARNING_FAILED = 18,       /* an error of NCCL, of no kind above */
    WARNING_NEVER_JOINED = 19, /* rank `status` did not join what others did, by a report of all ranks */
    WARNING_UNFINISHED = 20,   /* rank `status` did not finish what others did, likewise */
    WARNING_NO_DUMP = 21,      /* its Flight Recorder could not be dumped */
    WARNING_ENDED = 22,        /* its launcher says that a signal ended it */
    WARNING_CARD_BACK = 32,    /* no failure: the port of a card is there again */
    WARNING_NETWORK = 33,      /* no warning: which network NCCL uses, its `text` */
    WARNING_GOT_OVER = 34,     /* an error of the rank's own, in words, after which it went on as if none */
    WARNING_KINDS = 35
};

/* What a process warned of, or others of it, while or after it ran. */
struct warning {
    enum warning_kind kind;
    int64_t at_ns;    /* on the clock of the log; TIME_UNKNOWN */
    int64_t gpu;      /* the thread's device; COUNT_UNKNOWN */
    int64_t calls;    /* that the process had made by then, as far as the same file tells */
    int64_t status;   /* of a completion (InfiniBand's numbers) or request, or a global rank; COUNT_UNKNOWN */
    const char *nic;  /* the process's own; NULL */
    const char *peer; /* address or name of the other end's host; NULL */
    const char *text;
};

/*
 * What a program printed, or marked in a trace, of a call that it was about to make (lit-gpt's
 * monitor_collectives). A mark has the origin of its process; what was printed has neither host nor pid, and
 * the rank alone tells whose it is. NULL and COUNT_UNKNOWN are not said.
 */
struct call_description {
    const char *name;      /* torch.distributed's: "all_reduce" */
    int64_t rank;          /* global; always said */
    const char *source;    /* file:line of the program */
    int64_t message_bytes; /* as the description counts: model/call.h */
    int64_t device;        /* CUDA's number of it in the process */
    int64_t said_ns; /* since the epoch, in whole seconds where the program says no more; TIME_UNKNOWN */
    const char *gpu_serial;
    const char *vm;       /* the virtual machine */
    const int64_t *group; /* global ranks of the group; NULL: of all */
    size_t group_count;
    int group_is_cut;        /* the description was cut where its group stood, or before it */
    int64_t peer;            /* global rank; of send and receive */
    int64_t root;            /* likewise; of collectives with one */
    const char *correlation; /* the same for all that one call made (batch_isend_irecv) */
    int64_t at_ns;           /* of a mark, on its process's clock; TIME_UNKNOWN */
};

/* What Inspector's Prometheus text says of the operations of one kind between two of its dumps. */
struct metric_sample {
    int64_t at_ns;   /* since the epoch; TIME_UNKNOWN */
    const char *job; /* the scheduler's; NULL, as all texts that are not said */
    const char *node;
    const char *gpu; /* "GPU4" */
    const char *communicator;
    int64_t node_count; /* of the communicator; COUNT_UNKNOWN */
    int64_t rank_count;
    int64_t rank; /* in the communicator; COUNT_UNKNOWN */
    enum function function;
    const char *message_size; /* as it is written: "4-5MB" */
    int64_t least_bytes;      /* that this stands for, per rank as the API got them; COUNT_UNKNOWN */
    enum algorithm algorithm;
    enum protocol protocol;
    double busbw_gbs;    /* geometric mean; below 0: not said */
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
    EVENT_TABLES, /* those above have a table each (record.c) */
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
        /* EVENT_COMMUNICATOR: its origin says that this process is such a rank of it; all else may be NULL */
        struct communicator_facts communicator;
        struct process_facts process;
        struct group_status group_status;
        struct start_up start_up; /* its origin names communicator and rank */
        struct warning warning;
        struct registration registration;
        struct call_description call;
        struct metric_sample sample;
    };
};

#endif
