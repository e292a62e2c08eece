#ifndef NCCLPROF_CMD_INGEST_REPORT_H
#define NCCLPROF_CMD_INGEST_REPORT_H

#include "ingest/file.h"

#include <stddef.h>

struct arguments;
struct context;
struct walk;

/* What became of all files. */
struct report {
    struct file_result *results; /* owned */
    size_t count;
    size_t capacity;
    double seconds;
};

void report_release(struct report *report);

/* Takes a result over, with what it owns. */
int report_add(struct report *report, struct file_result *result, struct error *error);

/* Path number `start` was asked for and cannot be read, for the reason in `why`, which is cleared. */
int report_add_failed(struct report *report, const char *path, size_t start, struct error *why);

/* A line on standard error for a file that failed or of which part could not be read. */
void report_tell(const struct file_result *result);

/* A line on standard error where files are of a later version of their format than is known. */
void report_tell_newer(const struct report *report);

/* A line on standard error that says how many files were read again for the sake of a better reader. */
void report_tell_read_again(const struct report *report);

/* Whether some file failed or could not be read whole, now or when it came into the store. */
int report_has_trouble(const struct report *report);

/* A line on standard error for each likely reason of files that hold no event. */
void report_tell_remarks(const struct report *report);

/* A line on standard error for each directory asked for in which nothing is a trace. How many there are. */
size_t report_tell_empty(const struct report *report, const struct walk *walk, char *const *paths);

/* Writes the result to standard output. Returns an exit_status. */
int report_show(struct context *context, const struct arguments *arguments, const struct report *report);

#endif
