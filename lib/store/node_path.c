#include "store/node_path.h"

#include <stdio.h>
#include <string.h>

const char *node_path_plain(const char *path)
{
    const char *slash = strchr(path, '/');
    return slash && slash > path + 1 && slash[-1] == ':' ? slash : path;
}

char *node_path_of(const char *node, const char *path)
{
    char *whole;
    if (*path != '/' || !*node)
        return strdup(path);
    return asprintf(&whole, "%s:%s", node, path) < 0 ? NULL : whole;
}

size_t node_path_common_depth(const char *one, const char *other)
{
    size_t depth = 0;
    for (; *one && *one == *other; one++, other++)
        depth += *one == '/';
    return depth + ((*one == '/' && !*other) || (!*one && *other == '/') || (!*one && !*other));
}
