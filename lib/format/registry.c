/*
 * Trace formats. A new one, foo, takes a line in format_registry below and what follows; `make check` says
 * what is missing.
 * - lib/format/foo.c: exports `const struct format format_foo` (lib/format/format.h). A reader of several
 *   files lies in lib/format/foo/, with one header, and takes an entry in FAMILIES of tests/check/check.py
 *   and a row in CONTRIBUTING.md
 * - tests/unit/format/test_foo.c: the reader, line by line, whole and damaged
 * - fixtures/: a folder with a small trace and its TRUTH; `make golden` keeps what comes of it
 * - tests/fuzz/module.mk: that folder among FUZZ_TRACES, so that fuzz_format.c and fuzz_whole.c begin
 *   with it
 * - tests/torture/faults.py: a file of it among FIXTURES: every call fails once while it is read
 * - man/ncclprof-formats.5: a section (.Sh FOO): what is read, what is not, in which versions
 * - README.md: a row under "What it reads"
 * What such files were taken for until now leaves the table of lib/format/sniff.c.
 *
 * A change of a reader: where other records, or other notes for the ledger, come of the same bytes from now
 * on, raise `version` in its struct format. Stores remember which version read a file, and the next ingest
 * reads the file again. Where another format claims such files from now on, raise the version of the one that
 * did before.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"

#include <string.h>

/* What a program prints of its calls (format/call_line.h), of one rank or of several mixed, among whatever
 * else was printed. */
extern const struct format format_call;

/* JSON lines of CoMMA, Google's profiler plugin (NCCL_PROFILER_LATENCY_FILE). */
extern const struct format format_comma;

/* Snapshots of PyTorch's CUDA caching allocator (torch.cuda.memory._dump_snapshot), pickled or as JSON. */
extern const struct format format_memory_snapshot;

/* The text that Inspector writes for Prometheus (NCCL_INSPECTOR_PROM_DUMP): averages, a file a GPU. */
extern const struct format format_prometheus;

/* What `nsys export --type sqlite` makes of a report of NVIDIA's Nsight Systems. */
extern const struct format format_nsys;

/* Chrome traces of NVIDIA's example profiler plugin, NCCL 2.23 on, and of the bundled plugin. */
extern const struct format format_chrome;

/* Dumps of PyTorch's Flight Recorder: pickles and JSON, a file a rank. */
extern const struct format format_flight_recorder;

/* JSON lines of NVIDIA's Inspector plugin, NCCL 2.28 on, and of the bundled plugin. */
extern const struct format format_inspector;

/* Traces of PyTorch's profiler (Kineto), torch 2.1 on, of NVIDIA's and AMD's GPUs. */
extern const struct format format_kineto;

/* NCCL's debug log (NCCL_DEBUG=INFO), of one process or of several mixed, among whatever else was printed. */
extern const struct format format_nccl;

/* What NCCL's RAS subsystem tells of a running job: `ncclras`, its text of NCCL 2.24 on and its JSON of
 * 2.28.7 on. */
extern const struct format format_nccl_ras;

/* What PyTorch prints of stuck process groups, of one rank or of several mixed, among whatever else was
 * printed. */
extern const struct format format_torch;

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

const char *unsupported_file(struct input *input)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, &error);
    error_clear(&error);
    return length > 0 ? unsupported_find(bytes, (size_t)length) : NULL;
}

const struct format *format_detect(struct input *input, struct error *error)
{
    const char *bytes;
    const struct format *best = NULL;
    int most = 0;
    int64_t length = input_peek(input, &bytes, SNIFF_BYTES, error);
    if (length < 0)
        return NULL;
    int is_other = unsupported_find_certain(bytes, (size_t)length) != NULL;
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
                  unsupported_describe(bytes, (size_t)length));
    return best;
}
