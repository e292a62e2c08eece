#ifndef NCCLPROF_CMD_INGEST_FORGET_H
#define NCCLPROF_CMD_INGEST_FORGET_H

#include <stddef.h>

struct arguments;
struct context;

/*
 * Removes the runs of a list of names or numbers, with commas between, from the store at
 * context->store_path, and shows which files went with them. Returns an exit_status.
 */
int ingest_forget(struct context *context, const struct arguments *arguments, const char *runs, size_t jobs);

#endif
