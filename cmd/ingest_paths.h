#ifndef NCCLPROF_CMD_INGEST_PATHS_H
#define NCCLPROF_CMD_INGEST_PATHS_H

#include "input/input.h"

#include <stddef.h>

struct context;
struct report;
struct walk;

/* What is to be brought in, and how. */
struct ingest_wishes {
    char *const *paths;
    size_t path_count;
    int jobs; /* files read, and ranks joined, at once */
    int force;
    int is_silent; /* nothing is told: the report has it */
    int is_shard;  /* the store is left unjoined */
    int64_t
        share_number; /* of the files, those whose number is this one modulo share_count; that is 0: all */
    int64_t share_count;
    struct input_limits limits;
    /* Takes files out of the walk that are not to be read; where none is left, that is all. NULL: all are. */
    int (*choose)(void *context, struct walk *walk, struct error *error);
    void *context;
};

/* As many as this process may use; 1 where nobody knows. */
int ingest_processors(void);

/*
 * Brings paths into context->store, which is made at context->store_path where it is NULL and there is
 * something to write. Tells on standard error what is wrong with files; what became of each goes into
 * `report`, whose paths are `walk`'s, initialised by the caller. Returns an exit_status; *is_lacking where
 * something could not be read, or was no trace.
 */
int ingest_paths(struct context *context, const struct ingest_wishes *wishes, struct walk *walk,
                 struct report *report, int *is_lacking);

#endif
