/* JSON lines in the style of NVIDIA's Inspector plugin. */
#include "simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_INTERVAL_US 500
#define EPOCH_US INT64_C(1795218000000000)
#define SMALLEST_BYTES_2_30 8192

struct version {
    const char *name;
    const char *revision;
    bool names;  /* comm_name */
    bool points; /* p2p_perf */
    bool tags;   /* user_tag */
    bool ring;   /* keeps 1024 finished operations instead of one; drops small ones */
};

static const struct version versions[] = {
    {"inspector-2.28", "v2.28.9", false, false, false, false},
    {"inspector-2.30", "v2.30.7", true, true, false, true},
    {"inspector", "pr2045", false, false, true, false},
};

/* A finished operation that reaches the file, with the time of the dump that wrote it. */
struct entry {
    const struct record *record;
    struct record *copy; /* of a record that is no longer in memory: the entry's own */
    int64_t dump_us;
    int communicator;
    int order;    /* among all of its process */
    int place;    /* among those that have entries */
    bool written; /* or overwritten; the next ones of its communicator still look at it */
};

/* What one process has in its file, and what is not there yet. */
struct log {
    struct output *output;
    struct entry *entries;
    int count, capacity;
    int places;
};

struct inspector {
    struct job *job;
    const struct version *version;
    bool verbose;
    struct log *logs; /* by rank */
};

/* Of a collective its kernel's last stop, of a send or receive its true end; UNKNOWN: it has none. */
static int64_t noted_end(const struct record *record)
{
    int64_t end = UNKNOWN;
    if (record->function >= FUNCTION_SEND)
        return record->end;
    for (int i = 0; i < record->channels; i++) {
        if (record->channel_stop[i] == UNKNOWN)
            return UNKNOWN;
        end = record->channel_stop[i] > end ? record->channel_stop[i] : end;
    }
    return end;
}

static int64_t wall_us(const struct job *job, const struct process *process, int64_t time)
{
    int64_t skew_us = process->start_ns / 1000000; /* hosts agree to a fraction of a millisecond */
    return EPOCH_US + time / 1000 + skew_us + situation_clock(job, process, time) / 1000;
}

static int64_t dump_after(const struct job *job, const struct process *process, int64_t time,
                          const struct version *version)
{
    int64_t us = wall_us(job, process, time) + (version->ring ? 20 : 0),
            interval = version->ring ? 100 : DUMP_INTERVAL_US;
    int64_t phase = process->pid % interval;
    return ((us - phase) / interval + 1) * interval + phase;
}

static int compare_entry(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->dump_us != y->dump_us)
        return x->dump_us < y->dump_us ? -1 : 1;
    return x->order - y->order;
}

static bool overwritten(const struct log *log, int at, const struct version *version)
{
    const struct entry *entries = log->entries;
    if (version->ring)
        return false;
    for (int i = at + 1; i < log->count && entries[i].place < entries[at].place + 400; i++)
        if (entries[i].communicator == entries[at].communicator)
            return entries[i].dump_us == entries[at].dump_us;
    return false;
}

static void collect(struct inspector *inspector, const struct process *process, struct record **records,
                    int count)
{
    struct job *job = inspector->job;
    const struct version *version = inspector->version;
    struct log *log = &inspector->logs[process->rank];
    log->entries = grow(log->entries, &log->capacity, log->count + count, sizeof(*log->entries));
    for (int i = 0; i < count; i++) {
        const struct record *record = records[i];
        int order = process->taken + i;
        bool point = record->function >= FUNCTION_SEND;
        int64_t bytes = record->count * record->type_bytes;
        bool lost = random_unit(job->options.seed, DRAW_DROP, (uint64_t)process->rank, (uint64_t)order, 1) <
                    job->options.drop;
        if (record->lost || noted_end(record) == UNKNOWN || (point && !version->points) ||
            (version->ring && bytes < SMALLEST_BYTES_2_30))
            continue;
        job->lost_operations += lost;
        if (lost)
            continue;
        log->entries[log->count++] = (struct entry){.record = record,
                                                    .dump_us = dump_after(job, process, noted_end(record), version),
                                                    .communicator = record->communicator,
                                                    .order = order,
                                                    .place = log->places++};
    }
}

/* Marks those that no later one can come before, and puts them into `ready` in the order of the file. */
static int choose(struct inspector *inspector, struct log *log, int64_t before_us, struct entry *ready)
{
    int count = 0;
    for (int i = 0; i < log->count; i++) {
        struct entry *entry = &log->entries[i];
        if (entry->written || entry->dump_us >= before_us)
            continue;
        entry->written = true;
        if (overwritten(log, i, inspector->version))
            inspector->job->lost_operations++;
        else
            ready[count++] = *entry;
    }
    qsort(ready, (size_t)count, sizeof(*ready), compare_entry);
    return count;
}

/* What is left outlives its records. */
static void keep_rest(struct log *log)
{
    int gone = 0;
    while (gone < log->count && log->entries[gone].written)
        free(log->entries[gone++].copy);
    log->count -= gone;
    memmove(log->entries, log->entries + gone, (size_t)log->count * sizeof(*log->entries));
    for (int i = 0; i < log->count; i++) {
        struct entry *entry = &log->entries[i];
        if (entry->written || entry->copy != NULL)
            continue;
        entry->copy = allocate(1, sizeof(*entry->copy));
        *entry->copy = *entry->record;
        entry->record = entry->copy;
    }
}

static double algorithm_factor(enum function function, int ranks)
{
    return function == FUNCTION_ALL_GATHER || function == FUNCTION_REDUCE_SCATTER ? ranks : 1;
}

static double bus_factor(enum function function, int ranks)
{
    if (function == FUNCTION_ALL_REDUCE)
        return 2.0 * (ranks - 1) / ranks;
    return function == FUNCTION_ALL_GATHER || function == FUNCTION_REDUCE_SCATTER
               ? (double)(ranks - 1) / ranks
               : 1;
}

static void write_trace(struct output *output, const struct job *job, const struct process *process,
                        const struct record *record)
{
    bool point = record->function >= FUNCTION_SEND;
    const char *kind = point ? "p2p" : "coll";
    bool timed = !point;
    int first = point ? 2 : 1;
    output_print(output, ",\"event_trace_sn\":{\"%s_start_sn\":%d,\"%s_stop_sn\":%d,\"kernel_events\":[",
                 kind, first, kind, first + 1);
    for (int i = 0; i < record->channels; i++) {
        int place = record->channels == 2 && record->channel_stop[0] > record->channel_stop[1] ? 1 - i : i;
        int start = timed ? first + 2 + i : 0, stop = timed ? first + 3 + record->channels + 2 * place : 0;
        output_print(
            output,
            "%s{\"channel_id\":%d,\"kernel_start_sn\":%d,\"kernel_stop_sn\":%d,\"kernel_record_sn\":%d}",
            i > 0 ? "," : "", i, start, stop, timed ? stop - 1 : 0);
    }
    int64_t begin = wall_us(job, process, record->enqueue_begin),
            end = wall_us(job, process, record->enqueue_end);
    output_print(output,
                 "]},\"event_trace_ts\":{\"%s_start_ts\":%" PRId64 ",\"%s_stop_ts\":%" PRId64
                 ",\"kernel_events\":[",
                 kind, begin, kind, end);
    for (int i = 0; i < record->channels; i++) {
        uint64_t a = (uint64_t)process->rank << 20 | (uint64_t)record->step;
        uint64_t b = (uint64_t)record->communicator << 20 | (uint64_t)record->sequence << 3 | (uint64_t)i;
        double draw = random_unit(job->options.seed, DRAW_NOTICE, a, b, (uint64_t)record->function);
        int64_t late = draw < 0.012 ? (int64_t)(draw * 3e5) : draw < 0.07 ? (int64_t)(draw * 3000) : 1;
        int64_t start = wall_us(job, process, record->start) + late,
                stop = wall_us(job, process, record->channel_stop[i]) + 1;
        stop = stop < start ? start : stop;
        output_print(output,
                     "%s{\"channel_id\":%d,\"kernel_start_ts\":%" PRId64 ",\"kernel_stop_ts\":%" PRId64
                     ",\"kernel_record_ts\":%" PRId64 "}",
                     i > 0 ? "," : "", i, timed ? start : 0, timed ? stop : 0, timed ? stop : 0);
    }
    output_print(output, "]}");
}

static void write_performance(struct output *output, const struct job *job, const struct version *version,
                              const struct process *process, const struct record *record)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                        "Reduce",    "Send",      "Recv"};
    const struct communicator *communicator = &job->communicators[record->communicator];
    bool point = record->function >= FUNCTION_SEND, timed = !point;
    const char *kind = point ? "p2p" : "coll";
    int64_t bytes = record->count * record->type_bytes;
    int64_t us = (gpu_time(process, noted_end(record)) - gpu_time(process, record->start)) / 1000;
    us = us > 0 ? us : 1;
    double algorithm =
        (double)bytes * algorithm_factor(record->function, communicator->size) / (double)us / 1000;
    output_print(output, "\"%s_perf\":{\"%s\":\"%s\",\"%s_sn\":%d,", kind, kind, names[record->function],
                 kind, point ? record->group : record->sequence);
    if (point)
        output_print(output, "\"p2p_peer\":%d,", record->peer);
    output_print(output,
                 "\"%s_msg_size_bytes\":%" PRId64 ",\"%s_exec_time_us\":%" PRId64
                 ",\"%s_timing_source\":\"%s\","
                 "\"%s_algobw_gbs\":%f,\"%s_busbw_gbs\":%f",
                 kind, bytes, kind, us, kind, timed ? "kernel_gpu" : "collective_cpu", kind, algorithm, kind,
                 algorithm * bus_factor(record->function, communicator->size));
    if (version->tags)
        output_print(output, ",\"user_tag\":\"%s\"", job->phases[record->phase]);
}

static void write_entry(struct output *output, const struct job *job, const struct version *version,
                        const struct process *process, const struct entry *entry, bool verbose)
{
    const struct record *record = entry->record;
    const struct communicator *communicator = &job->communicators[record->communicator];
    output_print(output, "{\"header\":{\"id\":\"0x%" PRIx64 "\",", communicator->hash);
    if (version->names)
        output_print(output, "\"comm_name\":\"%s\",", communicator->name);
    output_print(output, "\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d},", record->rank_in_communicator,
                 communicator->size, communicator->node_count);
    output_print(output,
                 "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"%s\","
                 "\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":%" PRId64
                 ",\"hostname\":\"%s\",\"pid\":%d},",
                 version->revision, entry->dump_us, process->host, process->pid);
    write_performance(output, job, version, process, record);
    if (verbose)
        write_trace(output, job, process, record);
    output_print(output, "}}\n");
}

static const struct version *find_version(const char *dialect, bool *verbose)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        size_t length = strlen(versions[i].name);
        if (strncmp(dialect, versions[i].name, length) != 0)
            continue;
        *verbose = dialect[length] == '\0';
        if (*verbose || strcmp(dialect + length, "-terse") == 0)
            return &versions[i];
    }
    return NULL;
}

bool inspector_dialect(const char *dialect)
{
    bool verbose;
    return find_version(dialect, &verbose) != NULL;
}

struct inspector *inspector_open(struct job *job)
{
    struct inspector *inspector = allocate(1, sizeof(*inspector));
    inspector->job = job;
    inspector->version = find_version(job->options.dialect, &inspector->verbose);
    if (inspector->version == NULL)
        fail("no dialect is called '%s'", job->options.dialect);
    inspector->logs = allocate((size_t)job->options.ranks, sizeof(*inspector->logs));
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        char name[96];
        snprintf(name, sizeof(name), "%s-pid%d.log", process->host, process->pid);
        inspector->logs[rank].output = output_of(job, process, name, job->options.gzip);
    }
    return inspector;
}

void inspector_take(struct inspector *inspector, const struct process *process, struct record **records,
                    int count, int64_t horizon)
{
    struct job *job = inspector->job;
    struct log *log = &inspector->logs[process->rank];
    collect(inspector, process, records, count);
    struct entry *ready = allocate((size_t)log->count, sizeof(*ready));
    int64_t before_us =
        horizon == INT64_MAX ? INT64_MAX : dump_after(job, process, horizon, inspector->version);
    int ready_count = choose(inspector, log, before_us, ready);
    for (int i = 0; i < ready_count; i++)
        write_entry(log->output, job, inspector->version, process, &ready[i], inspector->verbose);
    keep_rest(log);
    free(ready);
    /* A file that is to be cut is cut when it is whole. */
    if (job->options.stream && !(process_killed(job, process->rank) && job->options.cut))
        output_flush(log->output);
}

void inspector_close(struct inspector *inspector)
{
    struct job *job = inspector->job;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct log *log = &inspector->logs[rank];
        if (process_killed(job, rank) && job->options.cut)
            output_cut(log->output, 0.97);
        output_close(log->output);
        free(log->entries);
    }
    free(inspector->logs);
    free(inspector);
}
