#include "ingest/read.h"

#include "store/foreign.h"

/* All bytes go through the digest, whoever read them. */
static int read_to_end(struct input *input, struct error *error)
{
    struct input_line line;
    int more;
    do
        more = input_line(input, &line, error);
    while (more == 1);
    return more;
}

int ingest_read(const struct format *format, struct input *input, const char *path,
                int (*stopped)(void *context), void *context, const struct format_sink *sink, char *dialect,
                size_t dialect_bytes, struct error *error)
{
    if (!format->read_tables)
        return format->read(input, sink, dialect, dialect_bytes, error);
    struct foreign *foreign = foreign_open(path, stopped, context, error);
    if (!foreign)
        return -1;
    int failed = format->read_tables(foreign_tables(foreign), sink, dialect, dialect_bytes, error);
    foreign_close(foreign);
    return failed || read_to_end(input, error) ? -1 : 0;
}
