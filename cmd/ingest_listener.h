#ifndef NCCLPROF_CMD_INGEST_LISTENER_H
#define NCCLPROF_CMD_INGEST_LISTENER_H

#include "cmd/progress.h"
#include "ingest/file.h"

struct report;

/* Where the library's news of an ingest or a merge go: a line on a terminal, and a report. */
struct ingest_listener {
    struct report *report;
    int is_silent;            /* nothing is told: the report has it */
    struct progress progress; /* begun by the caller */
};

struct ingest_hooks ingest_listener_hooks(struct ingest_listener *listener);

#endif
