/*
 * Files of other tools: what they are, and what to do instead. Each kind is a row of a table; it needs no
 * reader.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"

#include <string.h>

const char *packer_find(const char *bytes, size_t length)
{
    static const struct {
        const char *program;
        size_t length;
        const char *magic;
    } packers[] = {{"xz", 6, "\xfd\x37\x7aXZ\0"},
                   {"zstd", 4, "\x28\xb5\x2f\xfd"},
                   {"bzip2", 3, "BZh"},
                   {"lz4", 4, "\x04\x22\x4d\x18"}};
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++)
        if (length >= packers[i].length && memcmp(bytes, packers[i].magic, packers[i].length) == 0)
            return packers[i].program;
    return NULL;
}

/* Places of a mark that are no fixed offset; ENDING is of the file's name. */
enum { ANYWHERE = -1, ENDING = -2 };

/* The mark of a kind of file. The first row that fits counts, so certain kinds come first. */
struct stranger {
    int offset;
    size_t length; /* 0: length of the text */
    const char *mark;
    const char *also; /* another text that the file must contain; NULL */
    const char *what;
};

/* Certain from their fixed place, whatever the rest contains (an archive may contain traces). */
static const struct stranger sure[] = {
    {257, 0, "ustar", NULL, "looks like a tar archive; unpack it and pass the directory"},
    {0, 4, "PK\3\4", NULL, "looks like a zip archive; unpack it and pass the directory"},
    {0, 6, "7z\xbc\xaf\x27\x1c", NULL, "looks like a 7z archive; unpack it and pass the directory"},
    {0, 4, "\x7f\x45LF", NULL, "looks like a program"},
    {68, 0, "NCPF", NULL, "looks like an ncclprof store; pass it with --store"},
    {0, 2, "\xff\xfe", NULL,
     "looks like UTF-16 text, as PowerShell writes it; run: iconv -f UTF-16 -t UTF-8"},
    {0, 2, "\xfe\xff", NULL, "looks like UTF-16 text; run: iconv -f UTF-16 -t UTF-8"},
    {0, 0, "QDSTRM", NULL,
     "looks like a raw Nsight Systems file; import it, then run: nsys export --type sqlite REPORT"},
    {ENDING, 0, ".nsys-rep", NULL,
     "looks like a report of Nsight Systems; run: nsys export --type sqlite REPORT"},
    {ENDING, 0, ".ncu-rep", NULL, "looks like a report of Nsight Compute, which has no collectives"},
    {ENDING, 0, ".xplane.pb", NULL,
     "looks like a JAX profile; set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL"},
};

#define NOT_AS_WRITTEN                                                                                      \
    "looks like CSV of nvidia-smi with semicolons or tabs, whose numbers may have decimal commas; pass it " \
    "as "                                                                                                   \
    "nvidia-smi wrote it"
#define WITH_RECORD "record it with: ncclprof record COMMAND"
#define WITH_NSYS "run: nsys export --type sqlite REPORT"
#define WITH_KINETO "pass the trace of torch.profiler (export_chrome_trace)"

static const struct stranger strangers[] = {
    {0, 0, "SQLite format 3", NULL, "looks like an SQLite database"},
    /* Exports of Nsight Systems in other forms, and its statistics as CSV and as text. */
    {0, 0, "PAR1", NULL, "looks like a Parquet file; for an nsys report " WITH_NSYS},
    {0, 0, "ARROW1", NULL, "looks like an Arrow file; for an nsys report " WITH_NSYS},
    {1, 0, "HDF\r\n", NULL, "looks like an HDF5 file; for an nsys report " WITH_NSYS},
    {ANYWHERE, 0, "Total Time (ns)", "Instances",
     "looks like a table of nsys stats, which has only sums; " WITH_NSYS},
    {ANYWHERE, 0, "Total Time (ns)", "Num Calls",
     "looks like a table of nsys stats, which has only sums; " WITH_NSYS},
    {ANYWHERE, 0, "Start (ns)", "Duration (ns)", "looks like a table of nsys stats; " WITH_NSYS},
    {ANYWHERE, 0, "\"NvtxEvent\"", NULL, "looks like a JSON export of nsys; " WITH_NSYS},
    {ANYWHERE, 0, "\"CudaEvent\"", NULL, "looks like a JSON export of nsys; " WITH_NSYS},
    /* Benchmarks: a mean over all ranks for each size. */
    {ANYWHERE, 0, "nccl-tests version", NULL,
     "looks like a table of nccl-tests, which has means of all ranks; " WITH_RECORD},
    {ANYWHERE, 0, "rccl-tests", NULL,
     "looks like a table of rccl-tests, which has means of all ranks; " WITH_RECORD},
    {ANYWHERE, 0, "out-of-place", "algbw",
     "looks like a table of nccl-tests, which has means of all ranks; " WITH_RECORD},
    {ANYWHERE, 0, "# nThread ", "nGpus",
     "looks like a table of nccl-tests, which has means of all ranks; " WITH_RECORD},
    /* Metrics: averages of a GPU, without single operations. */
    {ANYWHERE, 0, "\"resourceMetrics\"", NULL,
     "looks like metrics of OpenTelemetry (OTLP), which have no single operations; for Inspector's JSON "
     "lines set "
     "NCCL_INSPECTOR_DUMP_VERBOSE=1"},
    {ANYWHERE, 0, "\"resourceSpans\"", NULL, "looks like traces of OpenTelemetry (OTLP)"},
    {ANYWHERE, 0, "\"resourceLogs\"", NULL,
     "looks like logs of OpenTelemetry (OTLP); pass the text of the lines"},
    {ANYWHERE, 0, "# HELP ", "# TYPE ",
     "looks like Prometheus text without metrics of NCCL, DCGM or node_exporter"},
    /* Host-side traces of PyTorch, and traces for replay. */
    {ANYWHERE, 0, "-chakra.", "\"nodes\"",
     "looks like a Chakra execution trace, which has no GPU times; " WITH_KINETO},
    {ENDING, 0, ".et", NULL, "looks like a Chakra execution trace; " WITH_KINETO},
    {ANYWHERE, 0, "[pytorch|profiler|execution_trace|", NULL,
     "looks like a PyTorch execution trace, which has no GPU times; " WITH_KINETO},
    {ANYWHERE, 0, "\"comms\"", "\"in_msg_size\"",
     "looks like a PARAM communication trace for replay, which has no times; " WITH_KINETO},
    {ANYWHERE, 0, "Self CPU time total:", NULL,
     "looks like a table of torch.profiler, which has only sums; " WITH_KINETO},
    /* Other recorders. */
    {ANYWHERE, 0, "\"rocprofiler-sdk-tool\"", NULL, "looks like a result of rocprofv3; " WITH_KINETO},
    {ANYWHERE, 0, "\"proxyOps\"", "\"commHash\"",
     "looks like a dump of RCCL's proxy trace; set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL"},
    {ANYWHERE, 0, "\"schema\":\"nccl-h1\"", NULL,
     "looks like records of FlagScale's NCCL probe; " WITH_RECORD},
    {ANYWHERE, 0, "xla/service/gpu/", NULL,
     "looks like a log of XLA without lines of NCCL; set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL"},
    /* What is collected around a stuck job. */
    {ANYWHERE, 0, " NCCL DIAG === RAS Diagnostics ===", NULL,
     "looks like a report of RAS diagnostics, which has no operations; run ncclras -f json"},
    {ANYWHERE, 0, "NVIDIA-SMI ", NULL, "looks like the output of nvidia-smi"},
    {ANYWHERE, 0, "NVRM: Xid", NULL,
     "has messages of a GPU's driver (Xid), but no lines of a kernel log; pass the output of dmesg or "
     "journalctl -k"},
    {ANYWHERE, 0, "<system version=", "<cpu ", "looks like a topology file of NCCL (NCCL_TOPO_DUMP_FILE)"},
    {ANYWHERE, 0, "<graphs version=", NULL, "looks like a graph file of NCCL (NCCL_GRAPH_DUMP_FILE)"},
    {ANYWHERE, 0, "\"traceEvents\"", NULL, "looks like a Chrome trace of another tool"},
};

static int stands_in(const struct stranger *stranger, const char *bytes, size_t length, const char *path)
{
    size_t mark = stranger->length ? stranger->length : strlen(stranger->mark), name = strlen(path);
    if (stranger->also && !memmem(bytes, length, stranger->also, strlen(stranger->also)))
        return 0;
    if (stranger->offset == ENDING)
        return length > 0 && name > mark && memcmp(path + name - mark, stranger->mark, mark) == 0;
    if (stranger->offset == ANYWHERE)
        return memmem(bytes, length, stranger->mark, mark) != NULL;
    return length >= (size_t)stranger->offset + mark &&
           memcmp(bytes + stranger->offset, stranger->mark, mark) == 0;
}

static const char *find(const struct stranger *table, size_t count, const char *bytes, size_t length,
                        const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (stands_in(&table[i], bytes, length, path))
            return table[i].what;
    return NULL;
}

static char first_sign(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!sniff_is_space(bytes[i]))
            return bytes[i];
    return '\0';
}

const char *unsupported_find_certain(const char *bytes, size_t length, const char *path)
{
    return find(sure, sizeof sure / sizeof *sure, bytes, length, path);
}

const char *unsupported_find(const char *bytes, size_t length, const char *path)
{
    const char *what = unsupported_find_certain(bytes, length, path);
    if (!what)
        what = find(strangers, sizeof strangers / sizeof *strangers, bytes, length, path);
    if (!what && sniff_is_pickle(bytes, length))
        what = "looks like a Python pickle";
    if (!what && nvidia_smi_has_no_header(bytes, length))
        what = "looks like CSV of nvidia-smi without the names of its columns; record it without noheader";
    if (!what && nvidia_smi_has_other_separators(bytes, length))
        what = NOT_AS_WRITTEN;
    return what;
}

const char *unsupported_describe(const char *bytes, size_t length, const char *path)
{
    const char *stranger = unsupported_find(bytes, length, path);
    if (length == 0)
        return "empty file";
    if (stranger)
        return stranger;
    if (memchr(bytes, '\0', length))
        return "unknown binary data";
    char first = first_sign(bytes, length);
    return first == '{' || first == '[' ? "JSON, but no known format" : "neither JSON nor a known log";
}
