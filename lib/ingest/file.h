#ifndef NCCLPROF_INGEST_FILE_H
#define NCCLPROF_INGEST_FILE_H

#include "base/error.h"
#include "ingest/pipeline.h"
#include "input/input.h"
#include "store/ledger.h"

#include <sys/types.h>

struct known;
struct part;
struct walk_file;

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

/* What the thread that read a file hands to the one that writes it. */
struct file_facts {
    char digest[33];
    char unpacked_digest[33]; /* "" when not all of it could be unpacked */
    uint64_t unpacked_bytes;
    struct ledger *ledger; /* owned */
    const struct format *format;
    int is_read_again; /* the store has this content, from an earlier version of the reader */
    int has_moved;     /* the store has this content from another directory, where it is no longer */
    int is_snapshot;   /* what the store has of an earlier content of its path stays */
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

/* Whether the user wants everything to stop. */
static inline int ingest_interrupted(const struct ingest *ingest)
{
    return ingest->hooks.interrupted(ingest->hooks.context);
}

/* Whether a path leads to the store that is being written. */
int ingest_is_store(const struct ingest *ingest, const char *path);

/*
 * What the store holds of the content of the file at `path`, of `size_bytes`; NULL when it has to be read: it
 * is new, cannot be told, is to be read in any case, or `stop` said so.
 */
const struct known_file *ingest_known(const struct ingest *ingest, const char *path, uint64_t size_bytes,
                                      int (*stop)(void *context), void *context);

/* Whether the reader of a file that the store holds has improved since. */
int ingest_is_outdated(const struct known_file *known);

/* Says in one sentence, in result->reason, what of a file could not be read; and whether its format is newer.
 */
int ingest_tell_ledger(const struct ledger *ledger, struct file_result *result, struct error *error);

/*
 * Reads a file, or a part of it, and sends its rows down the pipeline as number `number`; *batch, an empty
 * one, is the worker's and is exchanged as it fills. What is wrong with the file is told in `result`; of a
 * part that is for the caller to tell. The first part gives the whole file's digest. Returns what is to be
 * sent at last: MESSAGE_FINISH (with `facts` filled), MESSAGE_PASSED, or MESSAGE_ABANDON with `error` set
 * when not the file is at fault.
 */
enum message_kind ingest_file(const struct ingest *ingest, struct pipeline *pipeline, size_t number,
                              const struct walk_file *file, const struct part *part, int named,
                              struct batch **batch, struct file_result *result, struct file_facts *facts,
                              struct error *error);

#endif
