/* JSON lines as written by NVIDIA's Inspector plugin. */
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

/* A finished operation that is written to the file, with the time of the dump that wrote it. */
struct entry {
    const struct record *record;
    struct record *copy; /* of a record that is no longer in memory: its own copy */
    int64_t dump_us;
    int communicator;
    int order;    /* index among all operations of its process */
    int place;    /* index among those that have entries */
    bool written; /* or overwritten; the next ones of its communicator still read it */
};

/* The file content of one process, and the part that is not written yet. */
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

/*
 * For a collective the last stop of its kernel, for a send or receive its true end; UNKNOWN: there is none.
 */
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
        log->entries[log->count++] =
            (struct entry){.record = record,
                           .dump_us = dump_after(job, process, noted_end(record), version),
                           .communicator = record->communicator,
                           .order = order,
                           .place = log->places++};
    }
}

/* Marks those that no later one can precede, and puts them into `ready` in file order. */
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

/* The rest is needed longer than its records. */
static void keep_rest(struct log *log)
{
    int gone = 0;
    while (gone < log->count && log->entries[gone].written)
        free(log->entries[gone++].copy);
    log->count -= gone;
    if (gone > 0)
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

static void put(struct output *output, const char *before, int64_t value)
{
    output_text(output, before);
    output_number(output, value);
}

/* A key that starts with the kind of operation. */
static void put_kind(struct output *output, const char *before, const char *kind, const char *key,
                     int64_t value)
{
    output_text(output, before);
    output_text(output, kind);
    put(output, key, value);
}

static void write_order(struct output *output, const struct record *record, const char *kind, bool timed)
{
    int first = timed ? 1 : 2;
    put_kind(output, ",\"event_trace_sn\":{\"", kind, "_start_sn\":", first);
    put_kind(output, ",\"", kind, "_stop_sn\":", first + 1);
    output_text(output, ",\"kernel_events\":[");
    for (int i = 0; i < record->channels; i++) {
        int place = record->channels == 2 && record->channel_stop[0] > record->channel_stop[1] ? 1 - i : i;
        int start = timed ? first + 2 + i : 0, stop = timed ? first + 3 + record->channels + 2 * place : 0;
        put(output, i > 0 ? ",{\"channel_id\":" : "{\"channel_id\":", i);
        put(output, ",\"kernel_start_sn\":", start);
        put(output, ",\"kernel_stop_sn\":", stop);
        put(output, ",\"kernel_record_sn\":", timed ? stop - 1 : 0);
        output_text(output, "}");
    }
    output_text(output, "]}");
}

/* The delay with which the host notices the start of a kernel. */
static int64_t noticed_us(const struct job *job, const struct process *process, const struct record *record,
                          int channel)
{
    uint64_t a = (uint64_t)process->rank << 20 | (uint64_t)record->step;
    uint64_t b = (uint64_t)record->communicator << 20 | (uint64_t)record->sequence << 3 | (uint64_t)channel;
    double draw = random_unit(job->options.seed, DRAW_NOTICE, a, b, (uint64_t)record->function);
    return draw < 0.012 ? (int64_t)(draw * 3e5) : draw < 0.07 ? (int64_t)(draw * 3000) : 1;
}

static void write_trace(struct output *output, const struct job *job, const struct process *process,
                        const struct record *record)
{
    bool timed = record->function < FUNCTION_SEND;
    const char *kind = timed ? "coll" : "p2p";
    write_order(output, record, kind, timed);
    put_kind(output, ",\"event_trace_ts\":{\"", kind,
             "_start_ts\":", wall_us(job, process, record->enqueue_begin));
    put_kind(output, ",\"", kind, "_stop_ts\":", wall_us(job, process, record->enqueue_end));
    output_text(output, ",\"kernel_events\":[");
    for (int i = 0; i < record->channels; i++) {
        int64_t started =
            contended_until(job, process->rank, record->step, record->phase, CONTENDED_PROXY, record->start);
        int64_t stopped = contended_until(job, process->rank, record->step, record->phase, CONTENDED_PROXY,
                                          record->channel_stop[i]);
        int64_t start = wall_us(job, process, started) + noticed_us(job, process, record, i);
        int64_t stop = wall_us(job, process, stopped) + 1;
        stop = stop < start ? start : stop;
        put(output, i > 0 ? ",{\"channel_id\":" : "{\"channel_id\":", i);
        put(output, ",\"kernel_start_ts\":", timed ? start : 0);
        put(output, ",\"kernel_stop_ts\":", timed ? stop : 0);
        put(output, ",\"kernel_record_ts\":", timed ? stop : 0);
        output_text(output, "}");
    }
    output_text(output, "]}");
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
    output_text(output, point ? "\"p2p_perf\":{\"p2p\":\"" : "\"coll_perf\":{\"coll\":\"");
    output_text(output, names[record->function]);
    put_kind(output, "\",\"", kind, "_sn\":", point ? record->group : record->sequence);
    if (point)
        put(output, ",\"p2p_peer\":", record->peer);
    put_kind(output, ",\"", kind, "_msg_size_bytes\":", bytes);
    put_kind(output, ",\"", kind, "_exec_time_us\":", us);
    output_text(output, timed ? ",\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":"
                              : ",\"p2p_timing_source\":\"collective_cpu\",\"p2p_algobw_gbs\":");
    output_real(output, algorithm);
    output_text(output, point ? ",\"p2p_busbw_gbs\":" : ",\"coll_busbw_gbs\":");
    output_real(output, algorithm * bus_factor(record->function, communicator->size));
    if (version->tags) {
        output_text(output, ",\"user_tag\":\"");
        output_text(output, job->phases[record->phase]);
        output_text(output, "\"");
    }
}

static void write_header(struct output *output, const struct version *version, const struct record *record,
                         const struct communicator *communicator)
{
    output_print(output, "{\"header\":{\"id\":\"0x%" PRIx64 "\",", communicator->hash);
    if (version->names)
        output_print(output, "\"comm_name\":\"%s\",", communicator->name);
    put(output, "\"rank\":", record->rank_in_communicator);
    put(output, ",\"n_ranks\":", communicator->size);
    put(output, ",\"nnodes\":", communicator->node_count);
}

static void write_entry(struct output *output, const struct job *job, const struct version *version,
                        const struct process *process, const struct entry *entry, bool verbose)
{
    const struct record *record = entry->record;
    write_header(output, version, record, &job->communicators[record->communicator]);
    output_text(output, "},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"");
    output_text(output, version->revision);
    put(output, "\",\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":", entry->dump_us);
    output_text(output, ",\"hostname\":\"");
    output_text(output, process->host);
    put(output, "\",\"pid\":", process->pid);
    output_text(output, "},");
    write_performance(output, job, version, process, record);
    if (verbose)
        write_trace(output, job, process, record);
    output_text(output, "}}\n");
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
        fail("unknown dialect '%s'", job->options.dialect);
    inspector->logs = allocate((size_t)job->options.ranks, sizeof(*inspector->logs));
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        if (process->lost)
            continue;
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
    if (process->lost)
        return;
    collect(inspector, process, records, count);
    struct entry *ready = allocate((size_t)log->count, sizeof(*ready));
    int64_t before_us =
        horizon == INT64_MAX ? INT64_MAX : dump_after(job, process, horizon, inspector->version);
    int ready_count = choose(inspector, log, before_us, ready);
    for (int i = 0; i < ready_count; i++)
        write_entry(log->output, job, inspector->version, process, &ready[i], inspector->verbose);
    keep_rest(log);
    free(ready);
    /* A file that is to be truncated is truncated when it is complete. */
    if (job->options.stream && !(process_killed(job, process->rank) && job->options.cut))
        output_flush(log->output);
}

void inspector_close(struct inspector *inspector)
{
    struct job *job = inspector->job;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct log *log = &inspector->logs[rank];
        if (job->processes[rank].lost)
            continue;
        if (process_killed(job, rank) && job->options.cut)
            output_cut(log->output, 0.97);
        output_close(log->output);
        free(log->entries);
    }
    free(inspector->logs);
    free(inspector);
}
