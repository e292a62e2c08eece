#include "store/known.h"

#include "base/array.h"
#include "base/lower_bound.h"
#include "schemas.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct known *known, struct statement *list, struct error *error)
{
    if (array_reserve((void **)&known->files, &known->capacity, known->count + 1, sizeof *known->files))
        return error_no_memory(error);
    struct known_file *file = &known->files[known->count++];
    *file = (struct known_file){.bytes = (uint64_t)statement_integer(list, 0),
                                .events = statement_integer(list, 3),
                                .skipped = statement_integer(list, 4),
                                .lost_pieces = statement_integer(list, 5),
                                .first_offset = (uint64_t)statement_integer(list, 7),
                                .reader_version = statement_integer(list, 10)};
    const char *digest = statement_text(list, 1), *dialect = statement_text(list, 2);
    const char *reason = statement_text(list, 6);
    if (reason && !(file->first_reason = strdup(reason)))
        return error_no_memory(error);
    const char *path = statement_text(list, 8), *reader = statement_text(list, 9);
    if (reader && !(file->reader = strdup(reader)))
        return error_no_memory(error);
    if (!(file->path = strdup(path ? path : "")))
        return error_no_memory(error);
    snprintf(file->digest, sizeof file->digest, "%s", digest ? digest : "");
    snprintf(file->dialect, sizeof file->dialect, "%s", dialect ? dialect : "");
    return 0;
}

int known_read(struct known *known, struct store *store, struct error *error)
{
    *known = (struct known){.files = NULL};
    struct statement *list = store_prepare(store, schema_ingest_write_known_files, error);
    if (!list)
        return -1;
    int more;
    while ((more = statement_step(list, error)) == 1)
        if (add(known, list, error)) {
            more = -1;
            break;
        }
    statement_free(list);
    if (more < 0)
        known_release(known);
    return more;
}

void known_release(struct known *known)
{
    for (size_t i = 0; i < known->count; i++) {
        free(known->files[i].first_reason);
        free(known->files[i].reader);
        free(known->files[i].path);
    }
    free(known->files);
    *known = (struct known){.files = NULL};
}

static int is_smaller(const void *file, const void *bytes)
{
    return ((const struct known_file *)file)->bytes < *(const uint64_t *)bytes;
}

/* The first file of at least that size. */
static size_t first_of(const struct known *known, uint64_t bytes)
{
    return lower_bound(known->files, known->count, sizeof *known->files, is_smaller, &bytes);
}

int known_has_size(const struct known *known, uint64_t bytes)
{
    size_t at = first_of(known, bytes);
    return at < known->count && known->files[at].bytes == bytes;
}

int known_has_path(const struct known *known, const char *path)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->files[i].path, path) == 0)
            return 1;
    return 0;
}

const struct known_file *known_find(const struct known *known, uint64_t bytes, const char *digest)
{
    for (size_t at = first_of(known, bytes); at < known->count && known->files[at].bytes == bytes; at++)
        if (strcmp(known->files[at].digest, digest) == 0)
            return &known->files[at];
    return NULL;
}
