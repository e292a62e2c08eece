#include "format/comma/comma.h"

#include "format/comma/record.h"
#include "format/objects.h"
#include "format/sniff.h"
#include "input/input.h"

#include <stdio.h>

/* Keys come in the alphabet's order: an operation begins with "args", a proxy operation or a group with
 * "cat". */
static const char first_key[] = "\"args\"";
static const char *const other_keys[] = {"\"cat\"", NULL};

static int take(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    return comma_take(context, text, length, offset, error);
}

/* CoMMA writes as the job goes: a last line without its end is of a job that runs, or was killed. */
static int take_cut(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    const struct comma_reader *reader = context;
    return reader->sink->note(reader->sink->context, FORMAT_NOTE_OPEN, 0, offset, text, length, error);
}

static int comma_read(struct input *input, const struct format_sink *sink, char *dialect,
                      size_t dialect_bytes, struct error *error)
{
    struct comma_reader reader;
    struct objects_end end = {.offset = 0};
    struct objects objects = {.first_key = first_key,
                              .other_keys = other_keys,
                              .context = &reader,
                              .object = take,
                              .cut = take_cut,
                              .sink = sink};
    snprintf(dialect, dialect_bytes, "comma");
    int status = comma_reader_init(&reader, sink) ? error_no_memory(error)
                                                  : objects_read(&objects, input, &end, error);
    comma_reader_release(&reader);
    return status || end.reading_failed ? -1 : 0;
}

enum { SURE = 90 };

/* No other dialect calls its communicators so; a program or a page that speaks of CoMMA is none of its files.
 */
static int comma_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    return sniff_find(bytes, length, bytes, "\"comm_hash\"", first_key) &&
                   sniff_find(bytes, length, bytes, "\"ph\"", first_key) &&
                   sniff_find(bytes, length, bytes, "\"cat\"", first_key)
               ? SURE
               : 0;
}

const struct format format_comma = {
    .name = "comma",
    .version = 1,
    .description = "JSON lines of CoMMA, Google's NCCL profiler plugin",
    .unknown = "unknown record",
    .sniff = comma_sniff,
    .read = comma_read,
};
