#ifndef NCCLPROF_STORE_NODE_PATH_H
#define NCCLPROF_STORE_NODE_PATH_H

#include <stddef.h>

/*
 * Paths of files that lie on one node of several, as merged stores have them: "node7:/local/traces/a.json".
 * The same path on another node is another file.
 */

/* The path on its node, "/local/traces/a.json": the rest of `path`. One that names no node is returned as it
 * is. */
const char *node_path_plain(const char *path);

/* `path` of that node, owned by the caller; NULL when memory is out. What is no absolute path stays as it is:
 * it names a node already, or none, as a pipe does. */
char *node_path_of(const char *node, const char *path);

/* How many directories two paths have in common, from the root down. */
size_t node_path_common_depth(const char *one, const char *other);

#endif
