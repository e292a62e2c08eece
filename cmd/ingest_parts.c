#include "cmd/ingest_parts.h"

#include "base/array.h"
#include "cmd/ingest_file.h"
#include "format/format.h"
#include "input/walk.h"
#include "store/known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A part is about so long; the build may say otherwise (make torture does). */
#ifndef PART_BYTES
#define PART_BYTES (UINT64_C(32) << 20)
#endif

/* It is cut in the first bytes from there on. */
static const uint64_t LOOK_BYTES = 64 << 10;

/* Records of greater files, counted by bytes, would get numbers past those that a store has. */
static const uint64_t MOST_BYTES = (uint64_t)FORMAT_RECORD_BYTES << 32;

void parts_release(struct parts *parts)
{
    free(parts->items);
    *parts = (struct parts){.items = NULL};
}

static int add(struct parts *parts, struct part part)
{
    if (array_reserve((void **)&parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items))
        return -1;
    parts->items[parts->count++] = part;
    return 0;
}

/* Regular, of a size that is worth it, and neither the store nor, as it seems, in it already. */
static int is_great(const struct ingest *ingest, const char *path, uint64_t *size)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) || !S_ISREG(status.st_mode) ||
        ingest_is_store(ingest, path))
        return 0;
    *size = (uint64_t)status.st_size;
    return *size >= 2 * PART_BYTES && *size < MOST_BYTES &&
           (ingest->force || !known_has_size(ingest->known, *size));
}

/* Its format, if that can be cut; NULL. A packed file shows as one that cannot be read from its middle. */
static const struct format *format_to_cut(const char *path)
{
    struct error error = ERROR_INIT;
    struct input *input = input_open_part(path, NULL, 0, LOOK_BYTES, &error);
    const struct format *format = input ? format_detect(input, &error) : NULL;
    input_close(input);
    error_clear(&error);
    return format && format->cut ? format : NULL;
}

/* The first place from `from` on where the file can be cut; 0 for none near. */
static uint64_t find_cut(const struct format *format, const char *path, uint64_t from)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    struct input *input = input_open_part(path, NULL, from, from + LOOK_BYTES, &error);
    int64_t length = input ? input_peek(input, &bytes, LOOK_BYTES, &error) : 0;
    size_t at = length > 0 ? format->cut(bytes, (size_t)length) : 0;
    input_close(input);
    error_clear(&error);
    return at ? from + at : 0;
}

static int cut_file(struct parts *parts, size_t file, const char *path, const struct format *format,
                    uint64_t size)
{
    size_t first = parts->count;
    uint64_t begin = 0;
    for (uint64_t from = PART_BYTES; from + PART_BYTES <= size; from += PART_BYTES) {
        uint64_t end = find_cut(format, path, from);
        if (!end)
            continue;
        if (add(parts, (struct part){file, first, 0, begin, end, format}))
            return -1;
        begin = end;
    }
    if (add(parts, (struct part){file, first, 0, begin, size, format}))
        return -1;
    for (size_t i = first; i < parts->count; i++)
        parts->items[i].count = parts->count - first;
    return 0;
}

int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest, struct error *error)
{
    *parts = (struct parts){.items = NULL};
    for (size_t i = 0; i < walk->count; i++) {
        const char *path = walk->files[i].realpath;
        uint64_t size;
        const struct format *format = is_great(ingest, path, &size) ? format_to_cut(path) : NULL;
        if (format ? cut_file(parts, i, path, format, size)
                   : add(parts, (struct part){.file = i, .first = parts->count, .count = 1}))
            return error_no_memory(error);
    }
    return 0;
}
