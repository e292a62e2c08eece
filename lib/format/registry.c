/*
 * Trace formats. A new one, foo, takes a line in format_registry below and what follows; `make check` says
 * what is missing.
 * - lib/format/foo/foo.c: exports `const struct format format_foo` (lib/format/format.h); foo.h
 *   declares it
 * - Makefile: format/foo among ROOMS
 * - tests/check/check.py: format/foo among LAYERS, and in the row of format: what they may include
 * - CONTRIBUTING.md: the same in its table of rooms
 * - tests/unit/format/test_foo.c: the reader, line by line, whole and damaged
 * - fixtures/: a folder with a small trace and its TRUTH; `make golden` keeps what comes of it
 * - tests/fuzz/module.mk: that folder among FUZZ_TRACES, so that fuzz_format.c and fuzz_whole.c begin
 *   with it; a scanner of its own (lib/format/foo/scan.h) takes a target, as in fuzz_scan.c
 * - tests/torture/faults.py: a file of it among FIXTURES: every call fails once while it is read
 * - man/ncclprof-formats.5: a section (.Sh FOO): what is read, what is not, in which versions
 * - README.md: a row under "What it reads"
 * What such files were taken for until now leaves `strangers` below.
 */
#include "format/registry.h"

#include "format/chrome/chrome.h"
#include "format/inspector/inspector.h"
#include "format/sniff.h"
#include "input/input.h"

#include <string.h>

/* Formats are told apart by the beginning of a file. */
enum { SNIFF_BYTES = 64 * 1024 };

const struct format *const format_registry[] = {&format_chrome, &format_inspector, NULL};

/* Other things that lie beside traces, by what stands in them. */
struct stranger {
    const char *mark;
    const char *what;
};

static const struct stranger strangers[] = {
    {"SQLite format 3", "looks like an SQLite database"},
    {"\"traceEvents\"", "looks like a PyTorch Kineto trace"},
    {"\"device_traces\"", "looks like a CUDA allocator snapshot"},
    {"\"pg_config\"", "looks like a Flight Recorder dump"},
    {"\"pg_status\"", "looks like a Flight Recorder dump"},
    {"nccl_bus_bandwidth_gbs{", "looks like Inspector's Prometheus text, which holds only averages"},
    {"nccl_p2p_", "looks like Inspector's Prometheus text, which holds only averages"},
    {"\"proxyops\"", "looks like a trace of CoMMA, a profiler plugin of its own"},
};

/* NULL when no format knows one. */
static const char *why_empty(const char *path)
{
    const char *why = NULL;
    for (const struct format *const *format = format_registry; *format && !why; format++)
        why = (*format)->why_nothing(path, 0);
    return why;
}

static const char *find_stranger(const char *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (memmem(bytes, length, strangers[i].mark, strlen(strangers[i].mark)))
            return strangers[i].what;
    return NULL;
}

static const char *describe(const char *bytes, size_t length)
{
    const char *stranger = find_stranger(bytes, length);
    if (length == 0)
        return "is empty";
    if (stranger)
        return stranger;
    if (memchr(bytes, '\0', length))
        return "is binary";
    while (length > 1 && (*bytes == ' ' || *bytes == '\n' || *bytes == '\r' || *bytes == '\t')) {
        bytes++;
        length--;
    }
    return *bytes == '{' || *bytes == '[' ? "is JSON of another kind" : "is neither JSON nor gzip";
}

const char *format_stranger(struct input *input)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, &error);
    error_clear(&error);
    return length > 0 ? find_stranger(bytes, (size_t)length) : NULL;
}

const struct format *format_detect(struct input *input, struct error *error)
{
    const char *bytes;
    const struct format *best = NULL;
    int most = 0;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, error);
    if (length < 0)
        return NULL;
    for (const struct format *const *format = format_registry; *format; format++) {
        int sure = (*format)->sniff(bytes, (size_t)length, input_path(input));
        if (sure > most) {
            most = sure;
            best = *format;
        }
    }
    const char *packer = best ? NULL : sniff_packer(bytes, (size_t)length);
    const char *empty = length == 0 ? why_empty(input_path(input)) : NULL;
    if (length == 0)
        error_set(error, "%s: is empty: %s", input_path(input), empty ? empty : "not an NCCL profiler dump");
    else if (packer)
        error_set(error, "%s: is compressed with %s: %s -dc %s | ncclprof ingest -", input_path(input),
                  packer, packer, input_path(input));
    else if (!best)
        error_set(error, "%s: %s: not an NCCL profiler dump", input_path(input),
                  describe(bytes, (size_t)length));
    return best;
}
