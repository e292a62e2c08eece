#ifndef NCCLPROF_INGEST_INGEST_H
#define NCCLPROF_INGEST_INGEST_H

#include "base/base.h"
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
    FILE_FORGOTTEN /* was in the store and was removed */
};

/* Whether rows of the file were read in this run. */
static inline int file_is_read(enum file_status status)
{
    return status == FILE_INGESTED || status == FILE_OPEN || status == FILE_PARTIAL;
}

/* The result for one file. */
struct file_result {
    const char *path; /* borrowed from the walk, or from the list of forgotten files */
    size_t start;     /* index of the given path that led to this file */
    char dialect[64];
    enum file_status status;
    int64_t events;
    int64_t skipped;
    uint64_t bytes;
    int is_read_again;  /* the store had it, as an earlier version of its reader read it */
    const char *remark; /* why it may contain no event; NULL: it contains events, or the reason is unknown */
    char *reason;       /* owned: why it failed or is not a trace, or what could not be read; NULL */
    char newer_version[LEDGER_EXAMPLE_BYTES + 1]; /* if newer than known; hostile */
};

/* The caller's callbacks: the library itself prints nothing. */
struct ingest_hooks {
    void *context;
    /* Returns true to stop the ingest. Called often, from any thread. */
    int (*interrupted)(void *context);
    /*
     * The other callbacks are only called by the thread that called ingest_run_threads. Reports the files and
     * bytes read so far, some times per second.
     */
    void (*progress)(void *context, size_t files, uint64_t bytes);
    /* A file was read; its records may not be committed yet. */
    void (*tell)(void *context, const struct file_result *result);
    /*
     * Called at the end, in the order of the walk, with the result of each file that was started. Takes over
     * what the result owns. -1, with `error` set, on failure.
     */
    int (*take)(void *context, struct file_result *result, struct error *error);
};

/* -------------------- follow.c -------------------- */

/*
 * What one process remembers of the files that it reads again and again while they grow. If the format of a
 * file can be split (format.h), an ingest reads only what is new. An ingest that failed may leave it
 * inconsistent: release it then.
 */
struct follower {
    struct intern paths;     /* real paths */
    struct followed **files; /* owned; one for each path */
    size_t capacity;
};

void follower_init(struct follower *follower);
void follower_release(struct follower *follower);

/* -------------------- file.c -------------------- */

/* Settings for all files; read-only while workers run. */
struct ingest {
    const struct known *known;
    struct input_limits limits;
    const char *store_path; /* path of the store, which may not exist yet */
    dev_t store_device;     /* the store itself is skipped as input */
    ino_t store_inode;
    char *const *named; /* paths given by the user: problems with these are reported */
    size_t named_count;
    int force;
    struct follower *follower; /* NULL: all files are read from their start */
    struct ingest_hooks hooks;
};

/* -------------------- duplicates.c -------------------- */

/*
 * Trace directories often also contain backups, incomplete copies and earlier states of the same files. If
 * one file is a prefix of another, compressed or not, only the longer one is used: the other is removed from
 * `walk`, and *count is the number removed. Of two equal files the one at the lesser depth is read first and
 * the other last, when the store already has its content. A file that is used lists its copies (struct
 * walk_file). Inspector logs are kept: they may overlap in other ways, and their records are joined one by
 * one (lib/join/logs.h). If there are several files, the beginning of each is read, and all of those that
 * begin alike, up to `limits`, by `threads` threads. -1 if memory is out or `limits` asks to stop.
 */
int drop_prefix_files(struct walk *walk, const struct input_limits *limits, size_t threads, size_t *count,
                      struct error *error);

/*
 * The bundled plugin can write the same operations as a Chrome trace and as Inspector lines: NAME.json and
 * NAME.jsonl, compressed or not. Flight Recorder dumps are often stored twice: as NAME, NAME.pkl or
 * NAME.pickle, and as NAME.json, which lacks the stacks. Removes the second file from `walk` if the first,
 * which has more detail, is beside it, in `walk` or already in the store. *left_out is the number removed. -1
 * if memory is out.
 */
int drop_second_formats(struct walk *walk, const struct known *known, size_t *left_out, struct error *error);

/* -------------------- read_files.c -------------------- */

/*
 * Keeps every `count`th file of the walk, from position `number` on, and removes the others, so that tasks
 * that see the same files can divide them without communication. Call it after duplicates were removed
 * (duplicates.c), so that all tasks see the same list.
 */
void partition_take(struct walk *walk, int64_t number, int64_t count);

/* -------------------- reader_threads.c -------------------- */

/*
 * Reads all files of a walk with `jobs` threads. The calling thread writes their rows into *store and then
 * passes the result of each file to the callback `take`, in the order of the walk. If *store is NULL, the
 * store is created when there is something to write; the caller owns it in any case. -1 if the store failed
 * or the user stopped the ingest; files reported as ingested are in the store all the same.
 */
int ingest_run_threads(const struct ingest *ingest, const struct walk *walk, struct store **store, int jobs,
                       struct error *error);

/* -------------------- merge_plan.c -------------------- */

/* A store that is merged. */
struct merge_source {
    const char *given; /* borrowed: its path as given */
    char *path;        /* owned: its absolute path, if that can be determined */
    char *node;        /* owned: the node on whose disk its files are; "": all nodes see them */
    struct shards shards;
    struct stored_files files;
    struct store *store; /* still open, for the first ones; else NULL. The reader takes it over */
    char *why_lost;      /* owned: why it cannot be read; NULL if it can */
    char *why_damaged;   /* owned: why some of its files could not be read; NULL if all could */
};

/* A file of one of the sources. */
struct merge_file {
    size_t source;
    const struct stored_file *stored;
    char *path;     /* owned: its path in the merged store */
    char *file_set; /* owned */
    int is_copy;    /* copy of an earlier file */
};

/*
 * What to merge, in the order in which one ingest of all files would number them: by path, copies last. The
 * same path on two nodes is two files. The same path that all nodes see is one file, which had grown when the
 * later shard was made.
 */
struct merge_plan {
    struct merge_source *sources; /* owned */
    size_t source_count;
    struct merge_file *files; /* owned */
    size_t file_count;
    size_t stale_count; /* files left out because another shard has a later content of the same path */
};

/*
 * Opens all stores; one that cannot be read is marked as lost. `into` is the path of the store that is
 * written.
 */
int merge_plan_make(struct merge_plan *plan, char *const *paths, size_t count, const char *into,
                    struct error *error);
void merge_plan_release(struct merge_plan *plan);

/* -------------------- merge.c -------------------- */

/*
 * Merges the files of other stores into *store, by the same rules as an ingest: the tables are the same as if
 * one ingest had read all files. A file is merged completely or not at all. After an interrupted merge the
 * files merged so far stay, and the next merge adds the rest. The tables are not joined. Until the merge
 * ends, the store marks each shard as incomplete.
 */
struct merge {
    struct merge_plan plan;
    int stays_shard;  /* the result is itself a shard, to be merged again */
    int64_t expected; /* expected number of shards, whatever they state; 0: the number that they state */
    struct ingest_hooks hooks;
};

/*
 * If *store is NULL, it is created at `path` when there is something to write. Paths in the arguments of the
 * callbacks belong to the plan. -1: the store failed, or the user stopped the merge.
 */
int merge_run(struct merge *merge, struct store **store, const char *path, struct error *error);

#endif
