#ifndef NCCLPROF_CMD_INGEST_REPORT_H
#define NCCLPROF_CMD_INGEST_REPORT_H

#include "cmd/ingest_file.h"

#include <stddef.h>

struct arguments;
struct context;

/* What became of all files. */
struct report {
    struct file_result *results; /* owned */
    size_t count;
    size_t capacity;
    size_t safe; /* so many of them are committed */
    double seconds;
};

void report_release(struct report *report);

/* A new result at the end, to be filled; valid until the next one. NULL when memory is out. */
struct file_result *report_add(struct report *report, struct error *error);

/* A path that was asked for and cannot be read, for the reason in `why`, which is cleared. Told at once. */
int report_add_failed(struct report *report, const char *path, struct error *why);

/* A line on standard error for a file that failed or is partial. */
void report_tell(const struct file_result *result);

/* The store failed, or the user stopped it: what was not committed is not in the store. */
void report_lose(struct report *report);

/* Whether some file failed or is partial. */
int report_has_trouble(const struct report *report);

/* Writes the result to standard output. Returns an exit_status. */
int report_show(struct context *context, const struct arguments *arguments, const struct report *report);

#endif
