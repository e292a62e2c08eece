#include "output/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* Level: columns of numbers shrink at any; higher ones cost more time than they save bytes. */
enum { GZIP_LEVEL = 1, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8 };

struct gzip {
    z_stream stream;
};

struct gzip *gzip_new(struct error *error)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);
    if (gzip && deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                             Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
    free(gzip);
    error_no_memory(error);
    return NULL;
}

void gzip_free(struct gzip *gzip)
{
    if (!gzip)
        return;
    deflateEnd(&gzip->stream);
    free(gzip);
}

int gzip_pack(struct gzip *gzip, const void *bytes, size_t length, struct buffer *packed, struct error *error)
{
    z_stream *stream = &gzip->stream;
    if (deflateReset(stream) != Z_OK)
        return error_set(error, "zlib cannot start");
    size_t most = deflateBound(stream, (uLong)length);
    if (buffer_reserve(packed, most))
        return error_no_memory(error);
    stream->next_in = (unsigned char *)(uintptr_t)bytes;
    stream->avail_in = (uInt)length;
    stream->next_out = (unsigned char *)packed->data + packed->length;
    stream->avail_out = (uInt)most;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return error_set(error, "zlib cannot compress %zu bytes", length);
    packed->length += most - stream->avail_out;
    packed->data[packed->length] = '\0';
    return 0;
}
