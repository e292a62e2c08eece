#ifndef NCCLPROF_INGEST_MERGE_PLAN_H
#define NCCLPROF_INGEST_MERGE_PLAN_H

#include "base/error.h"
#include "store/shard.h"
#include "store/unload.h"

#include <stddef.h>

struct store;

/* A store that is merged. */
struct merge_source {
    const char *given; /* borrowed: its path as it was asked for */
    char *path;        /* owned: absolute, as far as that can be told */
    char *node;        /* owned: whose disk its files lie on; "": all see them */
    struct shards shards;
    struct stored_files files;
    struct store *store; /* open still, of the first ones; NULL. Whoever reads it takes it over */
    char *why_lost;      /* owned: why it cannot be read; NULL: it can */
    char *why_damaged;   /* owned: why some file of it could not be read; NULL: all could */
};

/* A file of one of them. */
struct merge_file {
    size_t source;
    const struct stored_file *stored;
    char *path;     /* owned: as it is called from now on */
    char *file_set; /* owned */
    int is_copy;    /* of one that comes before it */
    int is_stale;   /* another shard has a later content of the same path: it is left out */
};

/*
 * What is to be merged, in the order in which one ingest of all files would have numbered them: by path,
 * copies last. The same path on two nodes is two files; the same path that all nodes see is one, which had
 * grown when the later shard was made.
 */
struct merge_plan {
    struct merge_source *sources; /* owned */
    size_t source_count;
    struct merge_file *files; /* owned */
    size_t file_count;
    size_t stale_count;
};

/* Looks into all stores; one that cannot be read is lost. `into` is the path of the one that is written. */
int merge_plan_make(struct merge_plan *plan, char *const *paths, size_t count, const char *into,
                    struct error *error);
void merge_plan_release(struct merge_plan *plan);

/* So many are open at once. */
enum { MERGE_MOST_OPEN = 64 };

/* One of them, open for reading and the caller's; NULL with `error` set. */
struct store *merge_source_open(struct merge_source *source, struct error *error);

/* Whether files of a dialect are written anew again and again, each content beside those before it. */
int merge_is_snapshot(const char *dialect);

/* The chain of causes as one text, owned by the caller; NULL when memory is out. */
char *merge_tell_error(const struct error *error);

#endif
