#ifndef NCCLPROF_STORE_BATCH_H
#define NCCLPROF_STORE_BATCH_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "model/block_write.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Events of one file as rows in plain memory: what a thread that parses makes and the thread that writes
 * consumes (insert.h). Nothing here knows SQLite or the ids of a store: processes, communicators and members
 * have numbers of this file, 0, 1, 2 ... in the order in which the file's batches introduce them, and texts
 * and packed blobs are spans of `bytes`.
 */

struct span {
    size_t offset;
    size_t length;
    int present; /* false: NULL */
};

struct batch_process {
    struct span host;
    int64_t pid;
    int64_t started_ns;
};

/* A communicator when it is first seen, and once more when a later line says more of it. */
struct batch_communicator {
    uint32_t number;
    uint64_t hash;
    struct span name;
    int is_named;        /* the hash is of its name and members, not NCCL's */
    int64_t size;        /* 0: not said */
    int64_t node_count;  /* 0: not said */
    struct span members; /* "[0,4,8]": global ranks, in order of its ranks */
    struct span description;
};

struct batch_member {
    uint32_t communicator;
    uint32_t process;
    int64_t rank;
};

struct batch_operation {
    uint32_t member;
    uint64_t offset;
    struct operation operation; /* its pointers are not valid: see the spans */
    struct span tag;
    struct span source;
    struct span channels; /* packed */
};

/* Operations of one member, packed: a row of table operation_block. */
struct batch_block {
    uint32_t member;
    int64_t ordinal; /* of its first operation */
    int64_t operations;
    int64_t tagged;      /* those that carry a tag */
    int64_t earliest_ns; /* when they were issued */
    int64_t latest_ns;
    int64_t greatest_peer;     /* COUNT_UNKNOWN: no point-to-point operation among them */
    int64_t clock_distance_ns; /* TIME_UNKNOWN: nowhere both clocks */
    size_t offset;             /* in the batch's `packed` */
    size_t length;
};

struct batch_proxy {
    int64_t ordinal;
    int64_t member; /* -1: none */
    uint64_t offset;
    struct proxy_operation proxy; /* its pointer is not valid: see the span */
    struct span states;           /* packed */
    struct span steps;            /* packed */
};

struct batch_tag {
    int64_t ordinal;
    uint32_t process;
    int64_t member; /* -1: every communicator of the process */
    struct tag_mark tag;
    struct span text;
};

struct batch_tag_name {
    int64_t ordinal;
    uint32_t process;
    uint64_t number;
    int64_t at_ns;
    struct span text;
};

struct batch_anchor {
    int64_t ordinal;
    uint32_t process;
    struct clock_anchor anchor;
    struct span boot_id;
};

struct batch_loss {
    int64_t ordinal;
    uint32_t process;
    int64_t member; /* -1: of the process, or not said of whom */
    int is_total;
    int64_t events;
    struct span what;
};

enum batch_fact_text {
    FACT_BUS_ID,
    FACT_SERIAL,
    FACT_NIC,
    FACT_HOST,
    FACT_RANK_NAME,
    FACT_ADDRESS,
    FACT_TEXTS
};

struct batch_fact {
    int64_t ordinal;
    uint32_t process;
    int64_t member;             /* -1: of the process */
    struct process_facts facts; /* its pointers are not valid: see the spans */
    struct span texts[FACT_TEXTS];
};

struct batch_status {
    int64_t ordinal;
    uint32_t process;
    int64_t member;             /* -1: `name` tells which group */
    struct group_status status; /* its pointers are not valid: see the spans */
    struct span name;
    struct span description;
    struct span function;
};

struct batch_start {
    int64_t ordinal;
    uint32_t process;
    int64_t member;
    struct start_up start; /* its pointer is not valid: see the span */
    struct span function;
};

struct batch_warning {
    int64_t ordinal;
    uint32_t process;
    uint64_t offset;
    struct warning warning; /* its pointers are not valid: see the spans */
    struct span nic;
    struct span peer;
    struct span text;
};

struct batch_registration {
    int64_t ordinal;
    int64_t process;                  /* -1: none */
    int64_t member;                   /* -1: none */
    struct registration registration; /* its pointer is not valid: see the span */
    struct span calls;                /* packed */
};

struct batch_call {
    int64_t ordinal;
    int64_t process; /* -1: printed by one that is not known */
    uint64_t offset;
    struct call_description call; /* its pointers are not valid: see the spans */
    struct span name;
    struct span source;
    struct span gpu_serial;
    struct span vm;
    struct span group; /* "[0,4,8]" */
    struct span correlation;
};

struct batch_sample {
    int64_t ordinal;
    uint64_t offset;
    struct metric_sample sample; /* its pointers are not valid: see the spans */
    struct span job;
    struct span node;
    struct span gpu;
    struct span communicator;
    struct span message_size;
    struct span tag;
};

#define BATCH_LIST(type) \
    struct {             \
        type *items;     \
        size_t count;    \
        size_t capacity; \
    }

struct batch {
    BATCH_LIST(struct batch_process) processes;
    BATCH_LIST(struct batch_communicator) communicators;
    BATCH_LIST(struct batch_member) members;
    BATCH_LIST(struct batch_operation) operations;
    BATCH_LIST(struct batch_block) blocks; /* what batch_pack made of the operations */
    BATCH_LIST(struct batch_proxy) proxies;
    BATCH_LIST(struct batch_tag) tags;
    BATCH_LIST(struct batch_tag_name) tag_names;
    BATCH_LIST(struct batch_anchor) anchors;
    BATCH_LIST(struct batch_loss) losses;
    BATCH_LIST(struct batch_fact) facts;
    BATCH_LIST(struct batch_status) statuses;
    BATCH_LIST(struct batch_start) starts;
    BATCH_LIST(struct batch_warning) warnings;
    BATCH_LIST(struct batch_registration) registrations;
    BATCH_LIST(struct batch_call) calls;
    BATCH_LIST(struct batch_sample) samples;
    struct buffer bytes;
    struct buffer packed;
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);

/* Empties it; the memory is kept for the next use. */
void batch_clear(struct batch *batch);

/* Memory that its rows take, to decide when it is full. */
size_t batch_size_bytes(const struct batch *batch);

/* Copies a text to the batch's bytes; NULL makes a span that is not present. -1 when memory is out. */
int batch_put_text(struct batch *batch, const char *text, struct span *span);

/* The bytes of a span, NULL for one that is not present. Followed by a NUL. Borrowed. */
const char *batch_bytes(const struct batch *batch, struct span span);

/* What an event takes in a store beside its texts and lists, about. */
enum { BATCH_ROW_BYTES = 64 };

/*
 * Turns the events of one file into batches. It remembers across batches which processes, communicators and
 * members the file has introduced, so one file needs one builder and its batches keep their order.
 */
struct batch_builder {
    struct intern hosts;
    struct map processes;     /* host number, pid -> process */
    struct map communicators; /* hash -> communicator */
    struct map members;       /* communicator, process, rank -> member */
    struct batch_communicator
        *known; /* what has been said of each communicator; name's span only says whether */
    size_t known_capacity;
    int64_t proxies;
    int64_t tags;
    int64_t tag_names;
    int64_t anchors;
    int64_t losses;
    int64_t facts;
    int64_t statuses;
    int64_t starts;
    int64_t warnings;
    int64_t registrations;
    int64_t calls;
    int64_t samples;
    int64_t events;           /* records understood so far */
    uint64_t told_bytes;      /* of texts and lists that they took, and BATCH_ROW_BYTES for each */
    struct block_writer rows; /* the operations being packed */
    struct {
        int64_t member; /* of the newest record that has one; -1 before it */
        uint64_t hash;
        int64_t rank;
        int64_t pid;
        int64_t started_ns;
        int64_t host; /* its number */
        uint32_t communicator;
    } last;
};

void batch_builder_init(struct batch_builder *builder);
void batch_builder_release(struct batch_builder *builder);

/* Adds a row for `event` to `batch`. On -1 (memory, or more than 2^32 records) both are only fit for release.
 */
int batch_add(struct batch_builder *builder, struct batch *batch, const struct event *event,
              struct error *error);

#endif
