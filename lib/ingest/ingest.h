#ifndef NCCLPROF_INGEST_INGEST_H
#define NCCLPROF_INGEST_INGEST_H

#include "input/input.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct store;

/* -------------------- file.c -------------------- */

enum file_status {
    FILE_INGESTED,
    FILE_OPEN,
    FILE_UNCHANGED,
    FILE_PARTIAL,
    FILE_FAILED,
    FILE_NOT_A_TRACE,
    FILE_FORGOTTEN /* it was in the store */
};

/* What became of one file. */
struct file_result {
    const char *path; /* borrowed from the walk, or from who forgot it */
    size_t start;     /* which of the paths given led to it */
    char dialect[64];
    enum file_status status;
    int64_t events;
    int64_t skipped;
    uint64_t bytes;
    int is_read_again;  /* the store had it, from an earlier version of its reader */
    const char *remark; /* why it may hold no event; NULL: it does, or nobody knows */
    char *reason;       /* owned: why it failed or is no trace, or what of it could not be read; NULL */
    char newer_version[LEDGER_EXAMPLE_BYTES + 1]; /* of its format, where later than is known; hostile; "" */
};

/* Who asks for an ingest, and hears of it: the library prints nothing. */
struct ingest_hooks {
    void *context;
    /* Whether everything is to stop; any thread asks, often. */
    int (*interrupted)(void *context);
    /* The others are called by the thread of crew_run alone. Some times a second: so many files are done
     * with, so many bytes read. */
    void (*progress)(void *context, size_t files, uint64_t bytes);
    /* A file is done with, though not yet safe in the store. */
    void (*tell)(void *context, const struct file_result *result);
    /* At the end, in the walk's order: what became of each file that was begun. Takes over what it owns; -1
     * with `error` set where it cannot. */
    int (*take)(void *context, struct file_result *result, struct error *error);
};

/* What holds for all files; only read while workers run. */
struct ingest {
    const struct known *known;
    struct input_limits limits;
    const char *store_path; /* of the store, or where one is to be made */
    dev_t store_device;     /* the store itself is no input */
    ino_t store_inode;
    char *const *named; /* paths that were asked for: what is wrong with one of these is told */
    size_t named_count;
    int force;
    struct ingest_hooks hooks;
};

/* -------------------- duplicates.c -------------------- */

/*
 * Traces lie beside backups, half-copied files and older states of themselves. Of two files of which one is
 * the beginning of the other, packed or not, the longer one is used: the other is taken out of `walk`, *count
 * of them. Of two that are alike the one that lies less deep is read first, and the other comes last: its
 * content is there by then. What is used is told of its copies (walk_file). Inspector's logs stay: they may
 * overlap otherwise, too, and are joined record by record (join/logs.h). Of each file, where there are
 * several, the beginning is read, and all of those that begin alike, as far as `limits` have it read. -1 when
 * memory is out, or `limits` say to stop.
 */
int drop_prefix_files(struct walk *walk, const struct input_limits *limits, size_t *count,
                      struct error *error);

/*
 * The bundled plugin can write a Chrome trace and Inspector lines of the same operations at once: NAME.json
 * and NAME.jsonl, packed or not. Flight Recorder's dumps are often written twice: NAME, NAME.pkl or
 * NAME.pickle, and NAME.json, which lacks the stacks. Takes the latter out of `walk` where the former is
 * beside it, which says more, and is in `walk`, too, or in the store already; *left_out of them. -1 when
 * memory is out.
 */
int drop_second_formats(struct walk *walk, const struct known *known, size_t *left_out, struct error *error);

/* -------------------- read_files.c -------------------- */

/*
 * Of the files of a walk those whose place in it is `number` modulo `count`: tasks that see the same files
 * divide them so without talking. The others go. After what is left out for another's sake
 * (duplicates.c, duplicates.c) has gone, or tasks would not agree.
 */
void partition_take(struct walk *walk, int64_t number, int64_t count);

/* -------------------- reader_threads.c -------------------- */

/*
 * Reads all files of a walk with `jobs` threads, writes their rows into *store with this one, and hands what
 * became of each to the hook `take`, in the walk's order. A *store that is NULL is made once there is
 * something to write; it is the caller's in any case. Returns -1 when the store failed or the user stopped
 * it: files that were said to be ingested are in the store nevertheless.
 */
int crew_run(const struct ingest *ingest, const struct walk *walk, struct store **store, int jobs,
             struct error *error);

/* -------------------- merge_plan.c -------------------- */

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
    size_t stale_count; /* files that are left out: another shard has a later content of the same path */
};

/* Looks into all stores; one that cannot be read is lost. `into` is the path of the one that is written. */
int merge_plan_make(struct merge_plan *plan, char *const *paths, size_t count, const char *into,
                    struct error *error);
void merge_plan_release(struct merge_plan *plan);

/* -------------------- merge.c -------------------- */

/*
 * Brings the files of other stores into *store, by the rules by which an ingest brings in files: what their
 * tables hold of them is the same as if one ingest had read them all. Each file goes in whole or not at all;
 * what a merge that ended early has brought stays, and the next one brings the rest. The tables are not
 * joined. As long as it has not ended, the store says of each shard that it is not all there.
 */
struct merge {
    struct merge_plan plan;
    int stays_shard;  /* the store is one itself afterwards: it is merged again */
    int64_t expected; /* so many shards there are to be, whatever they say; 0: as many as they say */
    struct ingest_hooks hooks;
};

/*
 * *store is NULL where there is none; it is made at `path` once there is something to write. Paths in what
 * the hooks get are the plan's. -1: the store failed, or the user stopped it.
 */
int merge_run(struct merge *merge, struct store **store, const char *path, struct error *error);

#endif
