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

/* -------------------- chrome.c -------------------- */

/*
 * From the lines of a Chrome trace to events. The hierarchy of a trace is the order of its lines: an event
 * belongs to those that have begun before it and not ended. proxy.c keeps what is open, a frame a level;
 * operation.c, proxy.c and bundled.c put together what the lines between say, bundled.c hands it over.
 *
 * Every function returns -1, with the error set, when the sink stops the reading or memory is out.
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

enum { CHROME_NUMBER_BYTES = 24 }; /* of 64 bits in decimal, with a NUL */

/* The operation being read, and what of it is known so far. */
struct chrome_assembly {
    int is_open;   /* between its begin and its end */
    int is_cut;    /* the recorder could not write the rest of it */
    int is_closed; /* past its end, waiting for the end of the call around it */
    int unfinished;
    struct operation operation;
    struct origin origin;
    struct interval_ns record; /* what its own lines give */
    int64_t given_enqueue_end_ns;
    char tag[CHROME_NUMBER_BYTES]; /* the user tag, in decimal */
    int64_t last_proxy_end_ns;     /* of its proxy operations that have an end */
    int proxy_pending;             /* one of them has none */
    struct kernel_channel *channels;
    size_t channel_count;
    size_t channel_capacity;
    int has_kernel_lines;   /* some line of it is of a kernel, whatever is believed of its times */
    int has_stale_kernel;   /* ... whose begin is before the operation's */
    int channel_is_open;    /* the last of them has begun and not ended */
    int64_t channel_end_ns; /* its end by the GPU's clock; TIME_UNKNOWN */
};

/* The proxy operation being read. */
struct chrome_transfer {
    int is_open;
    enum chrome_name name; /* of its last begin: ScheduleSend, then ProgressSend */
    int64_t id;
    struct proxy_operation proxy;
    struct origin origin;
    struct proxy_step *steps; /* FORMAT_STEPS_AT_ONCE */
    size_t step_count;
    int step_is_open;
    int64_t step_id;
    uint64_t step_offset;
    struct proxy_step step;
    int64_t step_begin_ns; /* the earliest of its moments; TIME_UNKNOWN when it has none */
    int64_t not_before_ns; /* a step that begins earlier is a leftover of another operation */
    int step_is_unended;   /* a wait of it has begun, and its end is at 0 */
    int64_t unended_count; /* of steps */
    uint64_t unended_offset;
};

/* The call around an operation. */
struct chrome_call {
    int is_bare;            /* a collective or point-to-point call, with nothing below it yet */
    int64_t count;          /* that it was given; COUNT_UNKNOWN */
    int64_t group_begin_ns; /* up to NCCL 2.27 of the group that is one kernel (enqueue.cc: a group event a
                               plan) */
    int64_t root;
    int64_t graph_captured;
    uint64_t stream;
    uint64_t user_tag;      /* 0: none */
    uint64_t launch_stream; /* the group's kernel launch knows it as well */
};

struct chrome_reader {
    const struct format_sink *sink;
    struct chrome_frame frames[LEVELS];
    unsigned open; /* a bit for each level whose frame is open */
    struct chrome_assembly assembly;
    struct chrome_transfer transfer;
    struct chrome_call call;
    int64_t next_ordinal;
    struct map counted; /* (communicator, rank): which of its kernels NCCL's host counts, bundled.c */

    /* What the file says about itself. */
    int64_t pid;
    int is_of_member;           /* its name tells communicator and rank: all operations are theirs */
    uint64_t communicator_hash; /* of the last operation; else the file's name's; 0 */
    int64_t rank;
    struct buffer host;
    struct buffer boot_id;
    int64_t started_ns;
    struct buffer text;                 /* a tag, with its NUL */
    int64_t drops[RECORDER_DROP_KINDS]; /* totals that the bundled plugin's Drops lines gave last */
    int64_t greatest_size;              /* of communicators, as far as lines say; 0: none does */
    struct map pending; /* operations that PendingOperation lines tell of: index into `waiting` */
    struct chrome_pending *waiting;
    size_t waiting_count;
    size_t waiting_capacity;

    /* What was seen, for the dialect's name. */
    unsigned hints;
    int seen[CHROME_CATEGORIES];
    int seen_schedule;
    int is_bundled;
    int ends_open; /* all is read, and the bundled plugin had more to write: what is open here is no damage */
};

/* -------------------- bundled.c -------------------- */

/* Tags, and what the bundled plugin says beside events. */

int chrome_tag_line(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                    struct error *error);

/* Any other line of the bundled plugin's own. */
int chrome_bundled_line(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error);

/* Operations that the plugin told of while they were pending: one came whole; the rest is handed over. */
void chrome_pending_done(struct chrome_reader *reader, const struct event *event);
int chrome_pending_flush(struct chrome_reader *reader, struct error *error);

/*
 * NCCL takes the times of a kernel channel from a ring that the GPU and the host both count through, work by
 * work. The host leaves out works of which it tells no kernel channel, and from then on finds the times of
 * earlier operations there, on that communicator of that rank:
 * - what a rank sends to itself, NCCL 2.26 to 2.30 (enqueue.cc, addP2pToPlan: no proxy operations where
 *   selfSend);
 * - each ncclBroadcast, NCCL 2.29.2 and later with NCCL_ALLGATHERV_ENABLE=1, the default: its task loses the
 *   mask of events (NVIDIA/nccl#2368).
 * Where such an operation has kernel channels the host counted it, and nothing is wrong.
 */

/* What the operation that ended last tells of it. -1: no memory. */
int kernel_count_operation(struct chrome_reader *reader, struct error *error);

/* A Broadcast of which NCCL reported no operation at all. */
int kernel_count_bare_broadcast(struct chrome_reader *reader, struct error *error);

/* The reason of a note, where a kernel channel of the open operation has the times of another; NULL: its own.
 */
const char *kernel_count_astray(struct chrome_reader *reader);

/* How the files of the reader hand over what they put together, and figures that several of them make. */

/* A note for the ledger, as format_sink has it. */
int chrome_note(struct chrome_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *detail, size_t detail_length, struct error *error);

int chrome_emit(struct chrome_reader *reader, const struct event *event, struct error *error);

/* Who says so: the process of the file, as far as it is known by now; neither communicator nor rank. */
struct origin chrome_origin(const struct chrome_reader *reader, uint64_t offset);

/* An end before its begin is left from an earlier use of the slot: it is noted and unknown. */
int chrome_set_end(struct chrome_reader *reader, struct interval_ns *interval, int64_t end_ns,
                   uint64_t offset, struct error *error);

/* COUNT_UNKNOWN where count or datatype is not known. */
int64_t chrome_bytes(int64_t count, enum datatype datatype);
int chrome_has_root(enum function function);

/* The text of a user tag, which is `text`; NULL for 0, which is none. */
const char *chrome_user_tag(uint64_t user_tag, char text[CHROME_NUMBER_BYTES]);

/*
 * When a channel's kernel began or ended on the host's clock. The host noticed it then or later, by
 * milliseconds at times; where the recorder knows the GPU's clock on the host's it says better.
 */
int64_t chrome_kernel_time(int64_t noticed_ns, int64_t mapped_ns, int64_t not_before_ns);

/* -------------------- decode.c -------------------- */

enum chrome_status {
    CHROME_LINE = 0,
    CHROME_UNREADABLE = -1, /* no JSON object, not even nearly */
    CHROME_NO_MEMORY = -2
};

/*
 * Reads one object through json.h; where that refuses it, in the two ways in which NCCL's plugins are known
 * to print what is no JSON: words without quotes, tags with quotes inside. An object that is no event at all
 * has category CHROME_OTHER and no phase.
 */
enum chrome_status chrome_decode(struct json *json, const char *text, size_t length,
                                 struct chrome_line *line);

/* The objects of an event: itself, its arguments, and the states of a proxy operation among these. */
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

/* A member that matters, in events of some categories, and where its value goes. */
struct chrome_member {
    unsigned categories; /* 1 << enum chrome_category */
    enum chrome_place place;
    const char *key;
    enum scan_type type;
    size_t offset; /* in struct chrome_line */
};

/* What stands under a key; NULL: nothing that matters. Texts of keys are as they stand, escapes and all. */
const struct chrome_member *chrome_find_member(enum chrome_category category, enum chrome_place place,
                                               struct raw_json key);

/* The object under a key; CHROME_PLACES: none that matters. */
enum chrome_place chrome_find_place(enum chrome_place outside, struct raw_json key);

/* Whether the arguments of such an event matter. */
int chrome_reads_arguments(const struct chrome_line *line);

/* -------------------- scan.c -------------------- */

/*
 * The quick way to read a line. A recorder prints lines of few layouts: the same words with other values
 * between them. A line that chrome_decode() has read shows a layout; the next one of it is read by comparing
 * the words and taking the values, and `*line` is the same as chrome_decode() would make it.
 */
enum { CHROME_LAYOUTS = 128, CHROME_REPEAT_BYTES = 64 };

struct chrome_scanner {
    struct chrome_layout *layouts[CHROME_LAYOUTS]; /* owned; the first layout_count are there */
    size_t layout_count;
    size_t oldest; /* the one that a new layout takes the place of, when there are as many as can be */
    /* Which line came last, and what came behind each: by number of the layout, those read as the end of a
     * wait behind all others. */
    unsigned char latest;
    unsigned char follower[2 * CHROME_LAYOUTS];
    char time[CHROME_REPEAT_BYTES]; /* of the last end, which is mostly that of the next begin */
    size_t time_length;             /* 0: none yet */
    int64_t time_ns;
};

void chrome_scanner_init(struct chrome_scanner *scanner);
void chrome_scanner_release(struct chrome_scanner *scanner);

/*
 * Learns the layout of the object [text, text + length), of which chrome_decode() made `line` and nothing was
 * lost. One that cannot be told from the text alone is left to chrome_decode().
 */
void chrome_scanner_learn(struct chrome_scanner *scanner, const char *text, size_t length,
                          const struct chrome_line *line);

/*
 * Reads a line of a known layout, which begins at `text` and does not go beyond `end`. Returns where its
 * object ends, or NULL when it is of none.
 */
const char *chrome_scan(struct chrome_scanner *scanner, const char *text, const char *end,
                        struct chrome_line *line);

/*
 * Begin and end of a network step's wait, line by line what most of a trace consists of, both at once:
 * `*line` is the begin, `*end_ns` the time of the end. Returns where the end's object ends, or NULL when
 * these lines have to be read one by one.
 */
const char *chrome_scan_wait(struct chrome_scanner *scanner, const char *text, const char *end,
                             struct chrome_line *line, int64_t *end_ns);

/* -------------------- operation.c -------------------- */

/*
 * Operations and their kernels: begun, ended, and handed over by a flush, once what follows an end cannot
 * change it any more. `api_end_ns`: the end of the call around it, TIME_UNKNOWN where there is none.
 */

int chrome_operation_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                           struct error *error);
void chrome_copy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset);
int chrome_operation_end(struct chrome_reader *reader, int64_t end_ns, int has_end, uint64_t offset,
                         struct error *error);
int chrome_operation_flush(struct chrome_reader *reader, int64_t api_end_ns, struct error *error);

/* A channel of the kernel of the open operation, and one phase of it. */
int chrome_kernel_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_phase(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_end(struct chrome_reader *reader, int64_t end_ns, uint64_t offset, struct error *error);

/* -------------------- proxy.c -------------------- */

/* One line; `text` is what it was read from, `json` what chrome_decode() used (NULL when it did not). */
int chrome_reader_line(struct chrome_reader *reader, const struct chrome_line *line, struct json *json,
                       const char *text, size_t length, uint64_t offset, struct error *error);

/* The two lines of a network step's wait: `line` begins it. */
int chrome_reader_wait(struct chrome_reader *reader, const struct chrome_line *line, int64_t end_ns,
                       uint64_t offset, struct error *error);

/* A new array begins: what was open ends here. */
int chrome_reader_close(struct chrome_reader *reader, struct error *error);

/* The end of the file. */
int chrome_reader_finish(struct chrome_reader *reader, uint64_t offset, struct error *error);

/* The reason under which events are noted that no plugin of NCCL's prints. */
extern const char chrome_unknown_event[];

#endif
