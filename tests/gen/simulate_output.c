/*
 * Files are built in memory and written when they are closed, so that a truncated file can be made, too.
 * Those of a stream are written in parts, and are open only then, because there may be more of them than file
 * descriptors.
 */
#include "simulate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define WORTH_WRITING (16 << 10)

struct output {
    char *path;
    bool gzip;
    bool begun; /* some of it is in the file */
    char *bytes;
    size_t length;
    size_t capacity;
};

struct output *output_open(const char *directory, const char *name, bool gzip)
{
    struct output *output = allocate(1, sizeof(*output));
    size_t size = strlen(directory) + strlen(name) + sizeof("/.gz");
    output->path = allocate(size, 1);
    snprintf(output->path, size, "%s/%s%s", directory, name, gzip ? ".gz" : "");
    output->gzip = gzip;
    return output;
}

struct output *output_of(const struct job *job, const struct process *process, const char *name, bool gzip)
{
    const struct options *options = &job->options;
    if (!options->node_folders)
        return output_open(options->directory, name, gzip);
    size_t size = strlen(options->directory) + 1 + sizeof(process->host);
    char *folder = allocate(size, 1);
    snprintf(folder, size, "%s/%s", options->directory, process->host);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        fail("cannot make %s: %s", folder, strerror(errno));
    struct output *output = output_open(folder, name, gzip);
    free(folder);
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

void output_text(struct output *output, const char *text)
{
    output_bytes(output, text, strlen(text));
}

void output_number(struct output *output, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    output_bytes(output, digits + at, sizeof(digits) - at);
}

/*
 * For values that are not huge, millionths are whole numbers with a precision far better than 0.5; values
 * close to a half are left to the exact function.
 */
void output_real(struct output *output, double value)
{
    double millionths = value * 1e6, below = floor(millionths), rest = millionths - below;
    if (!(millionths >= 0 && millionths < 1e12) || (rest > 0.499 && rest < 0.501)) {
        output_print(output, "%f", value);
        return;
    }
    uint64_t whole = (uint64_t)below + (rest > 0.5);
    char fraction[7] = ".";
    uint64_t left = whole % 1000000;
    for (int i = 6; i > 0; i--, left /= 10)
        fraction[i] = (char)('0' + left % 10);
    output_number(output, (int64_t)(whole / 1000000));
    output_bytes(output, fraction, sizeof(fraction));
}

void output_cut(struct output *output, double fraction)
{
    output->length = (size_t)((double)output->length * fraction);
}

static void write_plain(const struct output *output)
{
    FILE *file = fopen(output->path, output->begun ? "ab" : "wb");
    if (file == NULL)
        fail("cannot write %s: %s", output->path, strerror(errno));
    bool whole = fwrite(output->bytes, 1, output->length, file) == output->length;
    if (fclose(file) != 0 || !whole)
        fail("cannot write all of %s", output->path);
}

static void write_gzip(const struct output *output)
{
    gzFile file = gzopen(output->path, output->begun ? "ab3" : "wb3");
    if (file == NULL)
        fail("cannot write %s: %s", output->path, strerror(errno));
    bool whole = output->length == 0 || gzwrite(file, output->bytes, (unsigned)output->length) > 0;
    if (gzclose(file) != Z_OK || !whole)
        fail("cannot write all of %s", output->path);
}

static void write_out(struct output *output)
{
    if (output->gzip)
        write_gzip(output);
    else
        write_plain(output);
    free(output->bytes);
    output->bytes = NULL;
    output->length = output->capacity = 0;
    output->begun = true;
}

void output_flush(struct output *output)
{
    if (output->length >= WORTH_WRITING)
        write_out(output);
}

void output_close(struct output *output)
{
    if (output->length > 0 || !output->begun)
        write_out(output);
    free(output->bytes);
    free(output->path);
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
