/*
 * Trace formats. A new one, foo, takes a line in format_registry below and the following; `make check`
 * reports what is missing.
 * - lib/format/foo.c: exports `const struct format format_foo` (lib/format/format.h). A reader of several
 *   files lies in lib/format/foo/, with one header, and takes an entry in FAMILIES of tests/check/check.py
 *   and a row in CONTRIBUTING.md
 * - tests/unit/format/test_foo.c: the reader, line by line, complete and damaged
 * - fixtures/: a folder with a small trace and its TRUTH; `make golden` stores its results
 * - man/ncclprof-formats.5: a section (.Sh FOO): what is read, what is not, in which versions
 * - man/ncclprof-formats.5: its dialects in the list at the beginning
 * Remove the row of lib/format/strangers.c for such files, if there is one. The fuzzers and the torture tests
 * take their files from fixtures/.
 *
 * If a change of a reader gives other records, or other notes for the ledger, for the same bytes, raise
 * `version` in its struct format. Stores remember the version that read a file, and the next ingest reads the
 * file again. If another format now recognizes files of this kind, raise the version of the format that did
 * before.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"

#include <string.h>

/*
 * Output of a program with call descriptions (lib/format/call_line.c), from one rank or several mixed, among
 * any other output.
 */
extern const struct format format_call;

/* JSON lines of CoMMA, Google's profiler plugin (NCCL_PROFILER_LATENCY_FILE). */
extern const struct format format_comma;

/* Snapshots of PyTorch's CUDA caching allocator (torch.cuda.memory._dump_snapshot), pickled or as JSON. */
extern const struct format format_memory_snapshot;

/* The text that Inspector writes for Prometheus (NCCL_INSPECTOR_PROM_DUMP): averages, one file per GPU. */
extern const struct format format_prometheus;

/* The result of `nsys export --type sqlite` for a report of NVIDIA Nsight Systems. */
extern const struct format format_nsys;

/* What `record` samples of a node while a job runs (lib/node). */
extern const struct format format_node;

/* Chrome traces of NVIDIA's example profiler plugin, since NCCL 2.23, and of the bundled plugin. */
extern const struct format format_chrome;

/* Dumps of PyTorch's Flight Recorder, as pickles or JSON, one file per rank. */
extern const struct format format_flight_recorder;

/* JSON lines of NVIDIA's Inspector plugin, since NCCL 2.28, and of the bundled plugin. */
extern const struct format format_inspector;

/* Traces of PyTorch's profiler (Kineto), since torch 2.1, on NVIDIA and AMD GPUs. */
extern const struct format format_kineto;

/* NCCL's debug log (NCCL_DEBUG=INFO), of one process or several mixed, among any other output. */
extern const struct format format_nccl;

/*
 * Reports of NCCL's RAS subsystem about a running job, printed by `ncclras`: text since NCCL 2.24, JSON since
 * 2.28.7.
 */
extern const struct format format_nccl_ras;

/* PyTorch's messages about stuck process groups, of one rank or several mixed, among any other output. */
extern const struct format format_torch;

/* Messages of the Linux kernel: dmesg, /dev/kmsg, journalctl -k, syslog. */
extern const struct format format_kernel_log;

/* What nvidia-smi writes repeatedly: CSV of --query-gpu, and dmon. */
extern const struct format format_nvidia_smi;

/* What dcgm-exporter and node_exporter answer to Prometheus. */
extern const struct format format_exporter;

/* What Prometheus kept of them. */
extern const struct format format_query_range;

/* Counters of network interfaces and of RDMA ports: ethtool -S, rdma statistic show. */
extern const struct format format_ethtool;
extern const struct format format_rdma;

/* Tables of dcgmi dmon. */
extern const struct format format_dcgmi;

/* Stacks of Python processes: py-spy dump. */
extern const struct format format_py_spy;

/* No format can be more certain, so the search for a better one ends. */
enum { CERTAIN = 100 };

const struct format *const format_registry[] = {&format_chrome,     &format_inspector,
                                                &format_comma,      &format_flight_recorder,
                                                &format_kineto,     &format_nccl,
                                                &format_nccl_ras,   &format_nsys,
                                                &format_torch,      &format_memory_snapshot,
                                                &format_call,       &format_prometheus,
                                                &format_kernel_log, &format_nvidia_smi,
                                                &format_exporter,   &format_query_range,
                                                &format_ethtool,    &format_rdma,
                                                &format_dcgmi,      &format_py_spy,
                                                &format_node,       NULL};

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

/* NULL if no format knows a reason. */
static const char *why_empty(const char *path)
{
    const char *why = NULL;
    for (const struct format *const *format = format_registry; *format && !why; format++)
        why = format_why_nothing(*format, path, 0);
    return why;
}

/* Says what a file without a format is, and what to type so that it is read. */
static void refuse(const char *path, const char *bytes, size_t length, struct error *error)
{
    const char *packer = packer_find(bytes, length);
    struct buffer command = BUFFER_INIT;
    int is_archive = packer ? archive_is_named(path) : archive_is_content(bytes, length);
    if (is_archive ? archive_append_command(path, &command) : text_shell_word(&command, path))
        error_no_memory(error);
    else if (is_archive && packer)
        error_set(error, "%s: an archive compressed with %s; %s", path, packer, command.data);
    else if (packer)
        error_set(error, "%s: compressed with %s; run: %s -dc %s | ncclprof ingest -", path, packer, packer,
                  command.data);
    else if (is_archive)
        error_set(error, "%s: not a supported trace (looks like a %s archive; %s)", path,
                  *bytes == 'P' ? "zip" : "tar", command.data);
    else
        error_set(error, "%s: not a supported trace (%s)", path, unsupported_describe(bytes, length, path));
    buffer_release(&command);
}

const struct format *format_detect(struct input *input, struct error *error)
{
    const char *bytes;
    const struct format *best = NULL;
    int most = 0;
    int64_t length = input_peek(input, &bytes, FORMAT_SNIFF_BYTES, error);
    if (length < 0)
        return NULL;
    int is_other = unsupported_find_certain(bytes, (size_t)length, input_path(input)) != NULL;
    for (const struct format *const *format = format_registry; *format && !is_other && most < CERTAIN;
         format++) {
        int certainty = (*format)->sniff(bytes, (size_t)length, input_path(input));
        if (certainty > most) {
            most = certainty;
            best = *format;
        }
    }
    const char *empty = length == 0 ? why_empty(input_path(input)) : NULL;
    if (empty)
        error_set(error, "%s: empty file: %s", input_path(input), empty);
    else if (!best)
        refuse(input_path(input), bytes, (size_t)length, error);
    return best;
}
