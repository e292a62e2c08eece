#ifndef NCCLPROF_INGEST_COPIES_H
#define NCCLPROF_INGEST_COPIES_H

#include "base/error.h"

#include <stddef.h>

struct input_limits;
struct walk;

/* The reason in a file's ledger: how many copies of it there were, or of its beginning. */
#define COPIES_NOTE "another file is a copy of this one, or of its beginning"

/*
 * Traces lie beside backups, half-copied files and older states of themselves. Of two files of which one is
 * the beginning of the other, packed or not, the longer one is used: the other is taken out of `walk`, *count
 * of them. Of two that are alike the one that lies less deep is read first, and the other comes last: its
 * content is there by then. What is used is told of its copies (walk_file). Inspector's logs stay: they may
 * overlap otherwise, too, and are joined record by record (join/logs.h). Of each file, where there are
 * several, the beginning is read, and all of those that begin alike, as far as `limits` have it read. -1 when
 * memory is out, or `limits` say to stop.
 */
int copies_leave_out(struct walk *walk, const struct input_limits *limits, size_t *count,
                     struct error *error);

#endif
