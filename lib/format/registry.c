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
 * What such files were taken for until now leaves the table of lib/format/strangers.c.
 *
 * A change of a reader: where other records, or other notes for the ledger, come of the same bytes from now
 * on, raise `version` in its struct format. Stores remember which version read a file, and the next ingest
 * reads the file again. Where another format claims such files from now on, raise the version of the one that
 * did before.
 */
#include "format/registry.h"

#include "format/call/call.h"
#include "format/chrome/chrome.h"
#include "format/comma/comma.h"
#include "format/flight_recorder/flight_recorder.h"
#include "format/inspector/inspector.h"
#include "format/kineto/kineto.h"
#include "format/memory_snapshot/memory_snapshot.h"
#include "format/nccl/nccl.h"
#include "format/nccl_ras/nccl_ras.h"
#include "format/nsys/nsys.h"
#include "format/prometheus/prometheus.h"
#include "format/sniff.h"
#include "format/strangers.h"
#include "format/torch/torch.h"
#include "input/input.h"

#include <string.h>

/* Formats are told apart by the beginning of a file. */
enum { SNIFF_BYTES = 64 * 1024 };

const struct format *const format_registry[] = {
    &format_chrome, &format_inspector,  &format_comma, &format_flight_recorder, &format_kineto,
    &format_nccl,   &format_nccl_ras,   &format_nsys,  &format_torch,           &format_memory_snapshot,
    &format_call,   &format_prometheus, NULL};

int format_is_improved(const char *name, int64_t version)
{
    for (const struct format *const *format = format_registry; *format; format++)
        if (name && strcmp((*format)->name, name) == 0)
            return version < (*format)->version;
    return !name;
}

const char *format_why_nothing(const struct format *format, const char *path, uint64_t bytes)
{
    return format->why_nothing ? format->why_nothing(path, bytes) : NULL;
}

/* NULL when no format knows one. */
static const char *why_empty(const char *path)
{
    const char *why = NULL;
    for (const struct format *const *format = format_registry; *format && !why; format++)
        why = format_why_nothing(*format, path, 0);
    return why;
}

const char *format_stranger(struct input *input)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, &error);
    error_clear(&error);
    return length > 0 ? strangers_find(bytes, (size_t)length) : NULL;
}

const struct format *format_detect(struct input *input, struct error *error)
{
    const char *bytes;
    const struct format *best = NULL;
    int most = 0;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, error);
    if (length < 0)
        return NULL;
    int is_other = strangers_sure(bytes, (size_t)length) != NULL;
    for (const struct format *const *format = format_registry; *format && !is_other; format++) {
        int sure = (*format)->sniff(bytes, (size_t)length, input_path(input));
        if (sure > most) {
            most = sure;
            best = *format;
        }
    }
    const char *packer = best ? NULL : sniff_packer(bytes, (size_t)length);
    const char *empty = length == 0 ? why_empty(input_path(input)) : NULL;
    if (empty)
        error_set(error, "%s: empty file: %s", input_path(input), empty);
    else if (packer)
        error_set(error, "%s: compressed with %s; run: %s -dc %s | ncclprof ingest -", input_path(input),
                  packer, packer, input_path(input));
    else if (!best)
        error_set(error, "%s: not a supported trace (%s)", input_path(input),
                  strangers_describe(bytes, (size_t)length));
    return best;
}
