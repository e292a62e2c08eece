#ifndef NCCLPROF_CMD_INGEST_FILE_H
#define NCCLPROF_CMD_INGEST_FILE_H

#include "base/error.h"
#include "cmd/progress.h"
#include "input/input.h"

struct walk_file;
struct writer;

enum file_status { FILE_INGESTED, FILE_UNCHANGED, FILE_PARTIAL, FILE_FAILED, FILE_NOT_A_TRACE };

/* What became of one file. */
struct file_result {
    const char *path; /* borrowed from the walk */
    char dialect[64];
    enum file_status status;
    int64_t events;
    int64_t skipped;
    uint64_t bytes;
    char *reason; /* owned: why it failed, or what of it could not be read; NULL */
};

struct ingest {
    struct writer *writer;
    struct input_limits limits;
    struct progress progress;
    uint64_t store_device; /* the store itself is no input */
    uint64_t store_inode;
    int force;
};

/*
 * Brings one file into the store. What is wrong with the file is told in `result`, and returns 0; -1 says
 * that the store failed or the user wants to stop. `named` tells that the user named this very file.
 */
int ingest_file(struct ingest *ingest, const struct walk_file *file, int named, struct file_result *result,
                struct error *error);

#endif
