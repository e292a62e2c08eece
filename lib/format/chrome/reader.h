#ifndef NCCLPROF_FORMAT_CHROME_READER_H
#define NCCLPROF_FORMAT_CHROME_READER_H

#include "base/buffer.h"
#include "base/map.h"
#include "format/chrome/line.h"
#include "format/format.h"
#include "format/recorder_note.h"

/*
 * From the lines of a Chrome trace to events. The hierarchy of a trace is the order of its lines: an event
 * belongs to those that have begun before it and not ended. nesting.c keeps what is open, a frame a level;
 * operation.c, proxy.c and bundled.c put together what the lines between say, emit.c hands it over.
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
    struct map counted; /* (communicator, rank): which of its kernels NCCL's host counts, kernel_count.h */

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

/* Whether the path tells communicator and rank, as NVIDIA's example plugin names its files from NCCL 2.27 on.
 */
int chrome_names_member(const char *path);

/* `path` may tell communicator and rank: NAME_<hash>_<rank>.json. */
int chrome_reader_init(struct chrome_reader *reader, const struct format_sink *sink, const char *path,
                       struct error *error);
void chrome_reader_release(struct chrome_reader *reader);

#endif
