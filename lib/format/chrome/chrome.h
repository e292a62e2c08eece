#ifndef NCCLPROF_FORMAT_CHROME_CHROME_H
#define NCCLPROF_FORMAT_CHROME_CHROME_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

struct chrome_layout;
struct chrome_pending;
struct format_sink;

/* -------------------- scan.c -------------------- */

/*
 * One event of a Chrome trace as its line gives it, before events are paired. chrome_decode() reads it from
 * any JSON; chrome_scan() reads lines faster if they have the layout of a line that was decoded before.
 */

/* In the order of their nesting; see chrome_level(). */
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
    CHROME_NCCLPROF, /* records of the bundled plugin that are no events */
    CHROME_CATEGORIES
};

/* Names that matter. Names of operations are functions (model/model.h). */
enum chrome_name {
    CHROME_NAME_OTHER = 0,
    CHROME_SEND, /* PROXY, up to NCCL 2.26 */
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

/* What a line shows about the dialect. */
enum chrome_hint {
    CHROME_HINT_UNQUOTED = 1,         /* not JSON: words without quotes (NCCL 2.28) */
    CHROME_HINT_NUMERIC_DATATYPE = 2, /* NCCL 2.23 */
    CHROME_HINT_NO_CHANNELS = 4,      /* nMaxChannels, or no channel count: up to NCCL 2.26 */
    CHROME_HINT_PHASES = 8,           /* phases of kernels, or the kernel of an operation: NCCL 2.31 */
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
    int is_symmetric;  /* its kernel works on symmetric memory */
    uint64_t user_tag; /* 0: none */
    /* Only from the bundled plugin. */
    int64_t root;
    int64_t enqueue_end_ns;
    uint64_t send_buffer; /* 0: not given; the only buffer of a send or receive */
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
    int64_t origin_pid; /* only from the bundled plugin: the process that it works for; 0 */
    int64_t origin_rank;
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
    int64_t phase; /* number of the phase: 0 for the initial sync, 1 and 2 for the others; COUNT_UNKNOWN */
    /* Only from the bundled plugin: begin and end by the host's clock; TIME_UNKNOWN. */
    int64_t begin_ns;
    int64_t end_ns;
};

struct chrome_copy {
    int64_t count;
    enum datatype datatype;
    int64_t duration_ns;
    uint64_t user_tag; /* 0: none */
    /* Only from the bundled plugin. */
    int64_t sequence;
    uint64_t communicator_hash;
    int64_t rank;
    int is_enqueue; /* its times are those of the enqueue; when the copy ran is unknown */
};

struct chrome_tag {
    const char *text; /* borrowed from the line or the struct json; need not end in NUL */
    size_t length;
    int64_t rank;
    /* Only from the bundled plugin. */
    int64_t depth;
    uint64_t communicator_hash; /* 0: the tag is for every communicator of the process */
    int has_source;             /* the line comes from the bundled plugin */
    uint64_t number;            /* of a TagName line: the number that the text names; 0: not given */
};

struct chrome_line {
    enum chrome_category category;
    enum chrome_name name;
    enum function function;
    char phase;      /* 'b', 'e', 'i', 'X' (complete: begin and end in one); 0: none */
    unsigned hints;  /* of enum chrome_hint */
    int64_t id;      /* COUNT_UNKNOWN */
    int64_t pid;     /* COUNT_UNKNOWN */
    int64_t time_ns; /* TIME_UNKNOWN if it is missing, 0 ("never") or negative */
    union {          /* by category; unset in end lines; members that the line lacks are unknown */
        struct chrome_operation operation; /* COLL, P2P */
        struct chrome_api api;             /* COLL_API, P2P_API, KERNEL_LAUNCH (its stream) */
        struct chrome_proxy proxy;
        int64_t step;                /* of a NET event */
        struct chrome_kernel kernel; /* GPU; with phase 'X' one phase of a kernel */
        struct chrome_copy copy;     /* CE_COLL */
        struct chrome_tag tag;
        const struct value *arguments; /* NCCLPROF: borrowed from the struct json */
    };
};

/* -------------------- chrome.c -------------------- */

/*
 * From the lines of a Chrome trace to events. The order of lines gives the hierarchy of a trace: an event
 * belongs to those that have begun before it and have not ended. proxy.c keeps the open events, one frame per
 * level. operation.c, proxy.c and bundled.c assemble the records; bundled.c hands them over.
 *
 * Every function returns -1, with the error set, if the sink stops the reading or memory is out.
 */

/* Nesting levels, outermost first. Two events of one level never overlap. */
enum chrome_level {
    LEVEL_NONE = 0,
    LEVEL_GROUP,     /* GROUP, GROUP_API */
    LEVEL_CALL,      /* COLL_API, P2P_API, KERNEL_LAUNCH */
    LEVEL_OPERATION, /* COLL, P2P, CE_COLL */
    LEVEL_KERNEL,    /* GPU, parts of CE_COLL */
    LEVEL_PROXY,
    LEVEL_WAIT,   /* NET */
    LEVEL_PLUGIN, /* NET_IB, NET_SOCK */
    LEVELS
};

struct chrome_frame {
    enum chrome_category category;
    enum chrome_name name;
    enum function function;
    int64_t id;
    uint64_t offset;
};

enum { CHROME_NUMBER_BYTES = 24 }; /* 64 bits in decimal, with a NUL */

/* The operation being read, and what is known of it so far. */
struct chrome_assembly {
    int is_open;   /* between its begin and its end */
    int is_cut;    /* the recorder could not write the rest of it */
    int is_closed; /* after its end, while the call around it is still open */
    int unfinished;
    struct operation operation;
    struct origin origin;
    struct interval_ns record; /* time of the operation from its own lines */
    int64_t given_enqueue_end_ns;
    char tag[CHROME_NUMBER_BYTES]; /* the user tag, in decimal */
    int64_t last_proxy_end_ns;     /* latest end of its proxy operations */
    int proxy_pending;             /* one of its proxy operations has no end */
    struct kernel_channel *channels;
    size_t channel_count;
    size_t channel_capacity;
    int has_kernel_lines;   /* it has kernel lines, even if their times are not trusted */
    int has_stale_kernel;   /* a kernel line begins before the operation */
    int channel_is_open;    /* the last channel has begun and not ended */
    int64_t channel_end_ns; /* end of the last channel by the GPU's clock; TIME_UNKNOWN */
    uint64_t first_begin;   /* GPU clock: earliest start and latest stop of its channels so far; 0: none */
    uint64_t last_end;
};

/* The proxy operation being read. */
struct chrome_transfer {
    int is_open;
    enum chrome_name name; /* name of its last begin: ScheduleSend, then ProgressSend */
    int64_t id;
    struct proxy_operation proxy;
    struct origin origin;
    struct proxy_step *steps; /* an array of FORMAT_STEPS_AT_ONCE */
    size_t step_count;
    int step_is_open;
    int64_t step_id;
    uint64_t step_offset;
    struct proxy_step step;
    int64_t step_begin_ns; /* earliest time of the open step; TIME_UNKNOWN if it has none */
    int64_t not_before_ns; /* a step that begins earlier is stale: it is left from another operation */
    int step_is_unended;   /* a wait of the open step has a begin, and an end of 0 */
    int64_t unended_count; /* number of such steps */
    uint64_t unended_offset;
};

/* The API call around an operation. */
struct chrome_call {
    int is_bare;            /* a collective or point-to-point call that contains nothing yet */
    int64_t count;          /* count argument of the call; COUNT_UNKNOWN */
    int64_t group_begin_ns; /* up to NCCL 2.27: of the group that is one kernel (enqueue.cc) */
    int64_t root;
    int64_t graph_captured;
    uint64_t stream;
    uint64_t user_tag;      /* 0: none */
    uint64_t launch_stream; /* stream of the group's kernel launch */
};

struct chrome_reader {
    const struct format_sink *sink;
    struct chrome_frame frames[LEVELS];
    unsigned open; /* a bit for each level with an open frame */
    struct chrome_assembly assembly;
    struct chrome_transfer transfer;
    struct chrome_call call;
    int64_t next_ordinal;
    struct map counted; /* (communicator, rank): which kernels NCCL's host counts; see bundled.c */

    /* What the file says about its process. */
    int64_t pid;
    int is_of_member; /* the file's name gives communicator and rank: they hold for all operations */
    uint64_t communicator_hash; /* of the last operation, else from the file's name; 0 */
    int64_t rank;
    struct buffer host;
    struct buffer boot_id;
    int64_t started_ns;
    struct buffer text;                 /* a tag, with its NUL */
    int64_t drops[RECORDER_DROP_KINDS]; /* totals of the last Drops line of the bundled plugin */
    int64_t greatest_size;              /* largest communicator size in the lines; 0: none given */
    struct map pending;                 /* operations in PendingOperation lines: index into `waiting` */
    struct chrome_pending *waiting;
    size_t waiting_count;
    size_t waiting_capacity;

    /* What was seen so far; gives the name of the dialect. */
    unsigned hints;
    int seen[CHROME_CATEGORIES];
    int seen_schedule;
    int seen_origin;   /* of a proxy operation for another process */
    int seen_detached; /* a proxy operation for another process, without its origin */
    int is_bundled;
    int ends_open; /* the bundled plugin had more to write: open events are no damage */
};

/* -------------------- bundled.c -------------------- */

/* Tags, and the records of the bundled plugin that are no events. */

int chrome_tag_line(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                    struct error *error);

/* Reads any other record of the bundled plugin. */
int chrome_bundled_line(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error);

/*
 * Operations that the plugin reported while they were pending. chrome_pending_done() removes one that was
 * recorded completely; chrome_pending_flush() hands over the rest.
 */
void chrome_pending_done(struct chrome_reader *reader, const struct event *event);
int chrome_pending_flush(struct chrome_reader *reader, struct error *error);

/*
 * Kernel channels with the times of another kernel. NCCL takes the times of a kernel channel from a ring that
 * the GPU and the host both count through, kernel by kernel. The host does not count kernels for which it
 * reports no kernel channel, and from then on reads the times of earlier operations, on that communicator of
 * that rank:
 * - sends of a rank to itself, NCCL 2.26 to 2.30 (enqueue.cc, addP2pToPlan: no proxy operations where
 *   selfSend);
 * - each ncclBroadcast, NCCL 2.29.2 and later with NCCL_ALLGATHERV_ENABLE=1, the default: its task loses the
 *   event mask (NVIDIA/nccl#2368). If such an operation has kernel channels, the host counted it, and its
 *   times are right.
 */

/* Takes the operation that ended last. Returns -1 if memory is out. */
int kernel_count_operation(struct chrome_reader *reader, struct error *error);

/* Takes a Broadcast for which NCCL reported no operation at all. */
int kernel_count_bare_broadcast(struct chrome_reader *reader, struct error *error);

/*
 * Returns the reason of a note if a kernel channel of the open operation has the times of another kernel,
 * else NULL.
 */
const char *kernel_channel_mismatch(struct chrome_reader *reader);

/* How the reader's files hand over what they assemble, and values that several of them compute. */

/* Adds a note to the ledger; see format_sink. */
int chrome_note(struct chrome_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *detail, size_t detail_length, struct error *error);

int chrome_emit(struct chrome_reader *reader, const struct event *event, struct error *error);

/*
 * The process of the file as the origin of a record, as far as it is known by now, without communicator and
 * rank.
 */
struct origin chrome_origin(const struct chrome_reader *reader, uint64_t offset);

/*
 * Sets the end of an interval. An end before the begin is left from an earlier use of the slot: it is noted,
 * and the end stays unknown.
 */
int chrome_set_end(struct chrome_reader *reader, struct interval_ns *interval, int64_t end_ns,
                   uint64_t offset, struct error *error);

/* COUNT_UNKNOWN if count or datatype is unknown. */
int64_t chrome_bytes(int64_t count, enum datatype datatype);

/* Writes a user tag to `text` and returns it; NULL for 0, which means no tag. */
const char *chrome_user_tag(uint64_t user_tag, char text[CHROME_NUMBER_BYTES]);

/*
 * Returns when a kernel channel began or ended, on the host's clock. `noticed_ns` is when the host noticed
 * it, at that time or up to milliseconds later. `mapped_ns`, the GPU's timestamp mapped to the host's clock
 * by the recorder, is more precise if it is known; the result is then not before `not_before_ns`.
 */
int64_t chrome_kernel_time(int64_t noticed_ns, int64_t mapped_ns, int64_t not_before_ns);

/* -------------------- decode.c -------------------- */

enum chrome_status {
    CHROME_LINE = 0,
    CHROME_UNREADABLE = -1, /* not a JSON object, even with the known deviations */
    CHROME_NO_MEMORY = -2
};

/*
 * Reads one object with json.h. If that fails, tries the two known ways in which NCCL's plugins print invalid
 * JSON: words without quotes, and tags with quotes inside. An object that is no event has category
 * CHROME_OTHER and phase 0.
 */
enum chrome_status chrome_decode(struct json *json, const char *text, size_t length,
                                 struct chrome_line *line);

/*
 * The objects of an event: the event itself, its arguments, and the states of a proxy operation within the
 * arguments.
 */
enum chrome_place {
    CHROME_IN_EVENT,
    CHROME_IN_ARGUMENTS,
    CHROME_IN_POSTED,
    CHROME_IN_PEER_WAIT,
    CHROME_IN_RECEIVED,
    CHROME_IN_TRANSMITTED,
    CHROME_IN_DONE,
    CHROME_PLACES
};

/* A member that is read, in events of some categories, and where its value is stored. */
struct chrome_member {
    unsigned categories; /* 1 << enum chrome_category */
    enum chrome_place place;
    const char *key;
    enum scan_type type;
    size_t offset; /* in struct chrome_line */
};

/*
 * Finds the member with this key; NULL if it is not read. Keys are compared as they are printed, with
 * escapes.
 */
const struct chrome_member *chrome_find_member(enum chrome_category category, enum chrome_place place,
                                               struct raw_json key);

/* The object with this key; CHROME_PLACES if it is not read. */
enum chrome_place chrome_find_place(enum chrome_place outside, struct raw_json key);

/* Whether the arguments of the event are read. */
int chrome_reads_arguments(const struct chrome_line *line);

/* -------------------- scan.c -------------------- */

/*
 * The fast way to read a line. A recorder prints lines of few layouts: the same words with other values
 * between them. Each line that chrome_decode() reads shows a layout. Later lines of that layout are read by
 * comparing the words and taking the values; `*line` is the same as chrome_decode() would make it.
 */
enum { CHROME_LAYOUTS = 128, CHROME_REPEAT_BYTES = 64 };

struct chrome_scanner {
    struct chrome_layout *layouts[CHROME_LAYOUTS]; /* owned; the first layout_count are set */
    size_t layout_count;
    size_t oldest; /* replaced by the next new layout once all are set */
    /*
     * The layout of the last line, and for each layout the one that followed it last. Lines that were read as
     * the end of a wait have the numbers from CHROME_LAYOUTS on.
     */
    unsigned char latest;
    unsigned char follower[2 * CHROME_LAYOUTS];
    char time[CHROME_REPEAT_BYTES]; /* of the last end, usually equal to that of the next begin */
    size_t time_length;             /* 0: none yet */
    int64_t time_ns;
};

void chrome_scanner_init(struct chrome_scanner *scanner);
void chrome_scanner_release(struct chrome_scanner *scanner);

/*
 * Learns the layout of the object [text, text + length). `line` is the result of chrome_decode(), which lost
 * nothing of it. Layouts that cannot be recognized from the text alone are left to chrome_decode().
 */
void chrome_scanner_learn(struct chrome_scanner *scanner, const char *text, size_t length,
                          const struct chrome_line *line);

/*
 * Reads a line of a known layout, which begins at `text` and ends before `end`. Returns where its object
 * ends, or NULL if the layout is unknown.
 */
const char *chrome_scan(struct chrome_scanner *scanner, const char *text, const char *end,
                        struct chrome_line *line);

/*
 * Reads the begin and the end of a network step's wait, the bulk of a trace, together. `*line` is the begin,
 * `*end_ns` the time of the end. Returns where the end's object ends, or NULL if the lines must be read one
 * by one.
 */
const char *chrome_scan_wait(struct chrome_scanner *scanner, const char *text, const char *end,
                             struct chrome_line *line, int64_t *end_ns);

/* -------------------- operation.c -------------------- */

/*
 * Operations and their kernels. A flush hands an operation over once the lines after its end cannot change it
 * any more. `api_end_ns` is the end of the call around it; TIME_UNKNOWN if there is none.
 */

void chrome_operation_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset);
void chrome_copy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset);
int chrome_operation_end(struct chrome_reader *reader, int64_t end_ns, int has_end, uint64_t offset,
                         struct error *error);
int chrome_operation_flush(struct chrome_reader *reader, int64_t api_end_ns, struct error *error);

/* A kernel channel of the open operation, and one phase of it. */
int chrome_kernel_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_phase(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_end(struct chrome_reader *reader, int64_t end_ns, uint64_t offset, struct error *error);

/* -------------------- proxy.c -------------------- */

/* Takes one line. `text` is its text; `json` is what chrome_decode() used, or NULL. */
int chrome_reader_line(struct chrome_reader *reader, const struct chrome_line *line, struct json *json,
                       const char *text, size_t length, uint64_t offset, struct error *error);

/* Takes the two lines of a network step's wait; `line` is its begin. */
int chrome_reader_wait(struct chrome_reader *reader, const struct chrome_line *line, int64_t end_ns,
                       uint64_t offset, struct error *error);

/* A new array begins: open events end here. */
int chrome_reader_close(struct chrome_reader *reader, struct error *error);

/* The file ended. */
int chrome_reader_finish(struct chrome_reader *reader, uint64_t offset, struct error *error);

/* Reason of the note on events that no plugin of NCCL prints. */
extern const char chrome_unknown_event[];

#endif
