#ifndef NCCLPROF_STORE_SHARD_H
#define NCCLPROF_STORE_SHARD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * What a store says of the shards that it is made of (schemas/store/016_shards.sql): what a part of a job's
 * files is called, and whether all of it is there.
 */

enum shard_state { SHARD_WHOLE, SHARD_LACKING, SHARD_UNFINISHED, SHARD_MISSING, SHARD_STATES };

struct shard {
    char *job; /* owned, as are the other texts; "" where no scheduler tells */
    int64_t number;
    int64_t count; /* 1: nobody counted */
    char *host;    /* ""; not known */
    int is_of_host;
    char *path; /* "" in the shard itself */
    enum shard_state state;
    char *reason; /* of the state; NULL: it says all */
};

struct shards {
    struct shard *items; /* owned */
    size_t count;
    size_t capacity;
};

int shards_read(struct shards *shards, struct store *store, struct error *error);
void shards_release(struct shards *shards);

/* The row of a store that is a shard, by itself; NULL where it is none, or was merged of others. */
const struct shard *shards_self(const struct shards *shards);

/* Writes a row in the place of what was said of the same shard. */
int shard_write(struct store *store, const struct shard *shard, struct error *error);

/* The store is this shard, which has no path, and no other. */
int shard_write_self(struct store *store, const struct shard *shard, struct error *error);

/* Whether a store is a shard, which is merged and never joined; -1 on error. */
int store_is_shard(struct store *store, struct error *error);
int store_set_shard(struct store *store, int is_shard, struct error *error);

/*
 * Of those that were counted, each number that there is no row of gets one: SHARD_MISSING. In the caller's
 * transaction.
 */
int shards_add_missing(struct store *store, struct error *error);

#endif
