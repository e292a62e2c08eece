/* Files are put together in memory and written when closed, so that a file that was cut short can be made
 * too. */
#include "simulate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct output {
    char path[4096];
    bool gzip;
    char *bytes;
    size_t length;
    size_t capacity;
};

struct output *output_open(const char *directory, const char *name, bool gzip)
{
    struct output *output = allocate(1, sizeof(*output));
    int length = snprintf(output->path, sizeof(output->path), "%s/%s%s", directory, name, gzip ? ".gz" : "");
    if (length < 0 || (size_t)length >= sizeof(output->path))
        fail("the path of %s is too long", name);
    output->gzip = gzip;
    return output;
}

void output_print(struct output *output, const char *format, ...)
{
    for (;;) {
        size_t room = output->capacity - output->length;
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(room > 0 ? output->bytes + output->length : NULL, room, format, arguments);
        va_end(arguments);
        if (length < 0)
            fail("cannot format a line of %s", output->path);
        if ((size_t)length < room) {
            output->length += (size_t)length;
            return;
        }
        output->capacity = output->capacity * 2 + (size_t)length + 4096;
        output->bytes = realloc(output->bytes, output->capacity);
        if (output->bytes == NULL)
            fail("out of memory for %s", output->path);
    }
}

void output_bytes(struct output *output, const void *bytes, size_t length)
{
    if (length > output->capacity - output->length) {
        output->capacity = output->capacity * 2 + length + 4096;
        output->bytes = realloc(output->bytes, output->capacity);
        if (output->bytes == NULL)
            fail("out of memory for %s", output->path);
    }
    memcpy(output->bytes + output->length, bytes, length);
    output->length += length;
}

void output_cut(struct output *output, double fraction)
{
    output->length = (size_t)((double)output->length * fraction);
}

static void write_plain(const struct output *output)
{
    FILE *file = fopen(output->path, "wb");
    if (file == NULL)
        fail("cannot write %s", output->path);
    bool whole = fwrite(output->bytes, 1, output->length, file) == output->length;
    if (fclose(file) != 0 || !whole)
        fail("cannot write all of %s", output->path);
}

static void write_gzip(const struct output *output)
{
    gzFile file = gzopen(output->path, "wb3");
    if (file == NULL)
        fail("cannot write %s", output->path);
    bool whole = output->length == 0 || gzwrite(file, output->bytes, (unsigned)output->length) > 0;
    if (gzclose(file) != Z_OK || !whole)
        fail("cannot write all of %s", output->path);
}

void output_close(struct output *output)
{
    if (output->gzip)
        write_gzip(output);
    else
        write_plain(output);
    free(output->bytes);
    free(output);
}

int64_t local_time(const struct job *job, const struct process *process, int64_t time_ns)
{
    return (int64_t)((double)(time_ns - process->start_ns) * process->scale) +
           situation_clock(job, process, time_ns);
}

int64_t gpu_time(const struct process *process, int64_t time_ns)
{
    return (process->gpu_zero + (int64_t)((double)time_ns * process->gpu_scale)) & ~(int64_t)31;
}

bool process_killed(const struct job *job, int rank)
{
    for (int i = 0; i < job->fault_count; i++)
        if (job->faults[i].enabled && job->faults[i].kind == FAULT_KILL && fault_on(&job->faults[i], rank))
            return true;
    return false;
}
