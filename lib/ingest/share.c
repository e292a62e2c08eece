#include "ingest/share.h"

#include "input/walk.h"

#include <stdlib.h>

void share_take(struct walk *walk, int64_t number, int64_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->count; i++) {
        struct walk_file *file = &walk->files[i];
        if ((int64_t)i % count == number) {
            walk->files[kept++] = *file;
            continue;
        }
        walk->starts[file->start].has_known = 1;
        free(file->path);
        free(file->realpath);
        free(file->copy);
        free(file->folder);
    }
    walk->count = kept;
}
