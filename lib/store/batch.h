#ifndef NCCLPROF_STORE_BATCH_H
#define NCCLPROF_STORE_BATCH_H

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "model/block_write.h"
#include "model/event.h"
#include "store/rows.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Events of one file as rows in plain memory: what a thread that parses makes and the thread that writes
 * consumes (insert.h). Processes, communicators and members have numbers of this file, 0, 1, 2 ... in the
 * order in which the file's batches introduce them; texts and packed blobs are spans of the rows' bytes.
 */

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
    struct rows rows;
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);

/* Empties it; the memory is kept for the next use. */
void batch_clear(struct batch *batch);

/* Memory that its rows take, to decide when it is full. */
size_t batch_size_bytes(const struct batch *batch);

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
    int64_t ordinals[EVENT_TABLES]; /* of the next row of each */
    int is_full;                    /* there are more rows of one than ids */
    int64_t events;                 /* records understood so far */
    uint64_t told_bytes;            /* of texts and lists that they took, and BATCH_ROW_BYTES for each */
    struct block_writer operations; /* that are being packed */
    struct buffer packed;           /* what came of it */
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
