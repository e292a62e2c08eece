#include "format/chrome/reader.h"

#include "input/number.h"

#include <stdlib.h>
#include <string.h>

/* Whether a name ends with _<hash>_<rank>. */
static int read_member(const char *name, size_t length, uint64_t *hash, int64_t *rank)
{
    const char *last = memrchr(name, '_', length);
    const char *before = last ? memrchr(name, '_', (size_t)(last - name)) : NULL;
    return before && !number_uint64(before + 1, (size_t)(last - before - 1), hash) &&
           !number_int64(last + 1, (size_t)(name + length - last - 1), rank);
}

/* NAME_<hash>_<rank>.json, whatever dots there are in NAME and whatever follows the rank's. */
static int read_file_name(const char *path, uint64_t *hash, int64_t *rank)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *end = name + strlen(name);
    uint64_t named_hash;
    int64_t named_rank;
    while (end && !read_member(name, (size_t)(end - name), &named_hash, &named_rank))
        end = memrchr(name, '.', (size_t)(end - name));
    if (!end)
        return 0;
    *hash = named_hash;
    *rank = named_rank;
    return 1;
}

int chrome_names_member(const char *path)
{
    uint64_t hash;
    int64_t rank;
    return read_file_name(path, &hash, &rank);
}

int chrome_reader_init(struct chrome_reader *reader, const struct format_sink *sink, const char *path,
                       struct error *error)
{
    *reader = (struct chrome_reader){.sink = sink, .pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    map_init(&reader->pending);
    map_init(&reader->counted);
    reader->is_of_member = read_file_name(path, &reader->communicator_hash, &reader->rank);
    reader->call = (struct chrome_call){.group_begin_ns = TIME_UNKNOWN, .root = COUNT_UNKNOWN};
    reader->transfer.steps = calloc(FORMAT_STEPS_AT_ONCE, sizeof *reader->transfer.steps);
    return reader->transfer.steps ? 0 : error_no_memory(error);
}

void chrome_reader_release(struct chrome_reader *reader)
{
    free(reader->transfer.steps);
    free(reader->assembly.channels);
    buffer_release(&reader->host);
    buffer_release(&reader->boot_id);
    buffer_release(&reader->text);
    map_release(&reader->pending);
    map_release(&reader->counted);
    free(reader->waiting);
}
