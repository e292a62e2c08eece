#ifndef NCCLPROF_STORE_INSERT_H
#define NCCLPROF_STORE_INSERT_H

#include "base/intern.h"
#include "base/map.h"
#include "store/batch.h"
#include "store/store.h"

/*
 * Puts batches into the store. One inserter a connection, inside a transaction that the caller holds; it
 * remembers the ids of processes, communicators and members across files.
 */

/* A row is found by the same parameters as it is added by: FIND_ and ADD_ follow each other. */
enum lookup {
    FIND_PROCESS,
    ADD_PROCESS,
    FIND_COMMUNICATOR,
    ADD_COMMUNICATOR,
    TELL_COMMUNICATOR,
    FIND_MEMBER,
    ADD_MEMBER,
    ADD_FILE_MEMBER,
    TELL_PEER,
    LOOKUPS
};

/* So many rows go in at once, where there are so many. */
enum { BULK_ROWS = 20 };

struct inserter {
    struct store *store;
    struct intern texts;
    struct map processes;     /* file set, host, pid -> process_id */
    struct map communicators; /* hash, file or 0 -> communicator_id */
    struct map members;       /* communicator_id, rank, process_id -> member_id */
    struct statement *lookups[LOOKUPS];
    struct statement *one[EVENT_TABLES];  /* inserts one row */
    struct statement *many[EVENT_TABLES]; /* inserts BULK_ROWS rows: faster by half */
};

/* A file on its way in: what its builder's numbers are in the store. */
struct insert_target {
    int64_t file_id;
    int64_t first_ordinal; /* of the part of the file that comes by this way: added to ordinals */
    const char *file_set;  /* borrowed, as is the path */
    const char *path;
    int64_t *processes; /* owned arrays, by the builder's numbers */
    size_t process_count;
    size_t process_capacity;
    int64_t *communicators;
    size_t communicator_count;
    size_t communicator_capacity;
    struct target_member {
        int64_t id;
        int64_t greatest_peer; /* that its network traffic has named; INT64_MIN: no traffic */
        int has_news;          /* the store does not know of it yet */
    } * members;
    size_t member_count;
    size_t member_capacity;
};

int inserter_init(struct inserter *inserter, struct store *store, struct error *error);
void inserter_release(struct inserter *inserter);

/* Forgets ids: rows may have gone that it remembers. */
void inserter_forget(struct inserter *inserter);

/* All rows of a batch, whose operations are packed (batch_pack). On -1 the transaction can only be rolled
 * back. */
int inserter_put(struct inserter *inserter, struct insert_target *target, const struct batch *batch,
                 struct error *error);

void insert_target_release(struct insert_target *target);

#endif
