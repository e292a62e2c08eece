#include "ingest/parts.h"

#include "base/array.h"
#include "format/registry.h"
#include "ingest/file.h"
#include "input/walk.h"

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

/* Regular, of a size that is worth it, and not the store. */
static int is_great(const struct ingest *ingest, const char *path, struct stat *status)
{
    if (strcmp(path, "-") == 0 || stat(path, status) || !S_ISREG(status->st_mode) ||
        ingest_is_store(ingest, path))
        return 0;
    uint64_t size = (uint64_t)status->st_size;
    return size >= 2 * PART_BYTES && size < MOST_BYTES;
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

static int cut_file(struct parts *parts, const char *path, struct part part)
{
    size_t first = part.first = parts->count;
    for (uint64_t from = PART_BYTES; from + PART_BYTES <= part.size; from += PART_BYTES) {
        part.end = find_cut(part.format, path, from);
        if (!part.end)
            continue;
        if (add(parts, part))
            return -1;
        part.begin = part.end;
    }
    part.end = part.size;
    if (add(parts, part))
        return -1;
    for (size_t i = first; i < parts->count; i++)
        parts->items[i].count = parts->count - first;
    return 0;
}

static int plan_file(struct parts *parts, size_t file, const char *path, const struct ingest *ingest)
{
    struct stat status;
    struct part part = {.file = file, .first = parts->count, .count = 1};
    if (is_great(ingest, path, &status)) {
        part.size = (uint64_t)status.st_size;
        part.modified = status.st_mtim;
        part.known = ingest_known(ingest, path, part.size, ingest->hooks.interrupted, ingest->hooks.context);
        if (part.known && ingest_is_outdated(part.known))
            part.known = NULL;
        part.format = part.known ? NULL : format_to_cut(path);
    }
    return part.format ? cut_file(parts, path, part) : add(parts, part);
}

int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest, struct error *error)
{
    *parts = (struct parts){.items = NULL};
    for (size_t i = 0; i < walk->count; i++)
        if (plan_file(parts, i, walk->files[i].realpath, ingest))
            return error_no_memory(error);
    return 0;
}
