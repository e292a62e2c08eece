/*
 * Chrome traces as written by the example profiler plugin, one dialect per version of the profiler interface.
 */
#include "simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The differences between the versions. */
struct dialect {
    const char *name;
    bool per_process_name; /* NAME-host-tid.txt instead of NAME_hash_rank.json */
    bool api_levels;       /* Group API, collective and point-to-point API, kernel launch */
    bool unquoted;         /* data types and stream addresses of the API events are not strings */
    bool kernels;
    bool all_stops; /* the stop of every channel is known, not only that of channel 0 */
    bool states;    /* POSTED and so on in the proxy operation; BufferWait steps */
    bool old_words; /* ncclAllReduce, Ring, a number for the data type */
    bool tags;
    bool late_stop; /* COLL ends with its last child, not with the enqueue */
    int max_steps;
    bool raw_clock; /* timestamps have more digits than nanoseconds */
};

static const struct dialect dialects[] = {
    {.name = "chrome-v1",
     .per_process_name = true,
     .states = true,
     .old_words = true,
     .late_stop = true,
     .max_steps = 16,
     .raw_clock = true},
    {.name = "chrome-v2",
     .per_process_name = true,
     .states = true,
     .late_stop = true,
     .max_steps = 16,
     .raw_clock = true},
    {.name = "chrome-v3",
     .per_process_name = true,
     .states = true,
     .late_stop = true,
     .max_steps = 16,
     .raw_clock = true},
    {.name = "chrome-v4",
     .kernels = true,
     .all_stops = true,
     .late_stop = true,
     .max_steps = 16,
     .raw_clock = true},
    {.name = "chrome-v5", .api_levels = true, .unquoted = true, .kernels = true, .max_steps = 1024},
    {.name = "chrome-v6", .api_levels = true, .kernels = true, .max_steps = 1024},
    {.name = "chrome-v7", .api_levels = true, .kernels = true, .tags = true, .max_steps = 1024},
};

struct writer {
    struct job *job;
    const struct dialect *dialect;
    struct process *process;
    struct output *output;
    int group_id, operation_id[2], proxy_id, step_id, control_id, api_id, thread;
};

static const struct dialect *find_dialect(const char *name)
{
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    return NULL;
}

bool chrome_dialect(const char *dialect)
{
    return find_dialect(dialect) != NULL;
}

struct stamp {
    char text[40];
};

static struct stamp stamp(const struct writer *writer, int64_t time)
{
    struct stamp stamp;
    if (time == UNKNOWN) {
        snprintf(stamp.text, sizeof(stamp.text), "0.000000");
        return stamp;
    }
    int64_t ns = local_time(writer->job, writer->process, time);
    if (ns < 0)
        ns = 0;
    int fraction =
        writer->dialect->raw_clock ? (int)(random_bits(7, DRAW_CLOCK, (uint64_t)ns, 0, 0) % 1000) : 0;
    snprintf(stamp.text, sizeof(stamp.text), "%" PRId64 ".%03d%03d", ns / 1000, (int)(ns % 1000), fraction);
    return stamp;
}

static void line(struct writer *writer, const char *name, const char *category, char ph, int id, int64_t time,
                 const char *arguments)
{
    output_print(writer->output,
                 "{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"%c\", \"id\": %d, \"pid\": %d, \"tid\": 1, "
                 "\"ts\": %s%s%s%s},\n",
                 name, category, ph, id, writer->process->pid, stamp(writer, time).text,
                 arguments != NULL ? ", \"args\": {" : "", arguments != NULL ? arguments : "",
                 arguments != NULL ? "}" : "");
}

static const char *function_name(const struct writer *writer, enum function function)
{
    static const char *const names[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
                                        "ncclBroadcast", "ncclReduce",    "ncclSend",
                                        "ncclRecv"};
    return names[function] + (writer->dialect->old_words ? 0 : 4);
}

static int type_number(const char *datatype)
{
    return strcmp(datatype, "ncclInt8") == 0 ? 0 : strcmp(datatype, "ncclFloat32") == 0 ? 7 : 9;
}

/* The host notices the start or stop of a kernel when it polls: usually immediately, sometimes much later. */
static int64_t noticed(const struct writer *writer, const struct record *record, int channel, int which,
                       int64_t time)
{
    const struct options *options = &writer->job->options;
    uint64_t seed = options->seed;
    uint64_t a = (uint64_t)writer->process->rank << 32 | (uint64_t)record->sequence;
    uint64_t b = (uint64_t)record->communicator << 8 | (uint64_t)channel << 4 | (uint64_t)which;
    uint64_t c = (uint64_t)record->function << 32 | (uint64_t)record->step;
    double kind = random_unit(seed, DRAW_NOTICE, a, b, c);
    double draw = random_exponential(seed, DRAW_NOTICE, a, b, c + 1000003);
    double us = 0.4 + draw;
    if (kind < 0.015)
        us += 1500 * draw;
    else if (kind < 0.1)
        us += 150 * draw;
    if (us > 6000)
        us = 6000;
    return contended_until(writer->job, writer->process->rank, record->step, record->phase, CONTENDED_PROXY,
                           time + (int64_t)(us * 1000));
}

static void step_wait(struct writer *writer, const char *name, int64_t from, int64_t to, int step)
{
    char arguments[32];
    snprintf(arguments, sizeof(arguments), "\"Step\": %d", step);
    line(writer, name, "NET", 'b', writer->step_id, from, arguments);
    line(writer, name, "NET", 'e', writer->step_id, to, NULL);
}

static void write_step(struct writer *writer, const struct proxy *proxy, int step)
{
    const int64_t *time = proxy->step[step].time;
    if (writer->dialect->states) {
        const char *buffer = proxy->send ? "SendBufferWait" : "RecvBufferWait";
        int64_t begun = time[0] - 150 - (step % 8) * 40;
        step_wait(writer, buffer, begun, time[0], step);
    }
    if (proxy->send) {
        /* Up to API v3 the wait for the receiver's credit is part of SendGpuWait. */
        step_wait(writer, "SendGpuWait", time[0], time[writer->dialect->states ? 2 : 1], step);
        if (!writer->dialect->states)
            step_wait(writer, "SendPeerWait", time[1], time[2], step);
        step_wait(writer, "SendWait", time[2], time[3], step);
    } else {
        step_wait(writer, "RecvWait", time[0], time[1], step);
        step_wait(writer, "RecvFlushWait", time[1], time[2], step);
        step_wait(writer, "RecvGpuWait", time[2], time[3], step);
    }
    writer->step_id++;
}

static void write_steps(struct writer *writer, const struct proxy *proxy)
{
    int most = writer->dialect->max_steps;
    for (int slot = 0; slot < most && slot < proxy->recorded; slot++) {
        int step = slot + (proxy->recorded - 1 - slot) / most * most;
        write_step(writer, proxy, step);
    }
}

/* The number of steps that reached each state, and the time of the last one. */
static void state_text(struct writer *writer, char *text, size_t size, const struct proxy *proxy)
{
    static const char *const names[2][4] = {{"POSTED", "RECEIVED", "TRANSMITTED", "DONE"},
                                            {"POSTED", "REM_FIFO_WAIT", "TRANSMITTED", "DONE"}};
    int at = snprintf(text, size, ", ");
    for (int i = 0; i < 4; i++) {
        int reached = 0;
        while (reached < proxy->recorded && proxy->step[reached].time[i] != UNKNOWN)
            reached++;
        int64_t time = reached > 0 ? proxy->step[reached - 1].time[i] : UNKNOWN;
        at += snprintf(text + at, size - (size_t)at, "%s\"%s\": {\"step\": %d, \"ts\": %s}",
                       i > 0 ? ", " : "", names[proxy->send][i], reached, stamp(writer, time).text);
    }
}

static void write_proxy(struct writer *writer, const struct proxy *proxy)
{
    char arguments[1024], states[640] = "";
    if (writer->dialect->states)
        state_text(writer, states, sizeof(states), proxy);
    snprintf(arguments, sizeof(arguments),
             "\"Channel\": %d, \"Peer\": %d, \"Steps\": %d, \"ChunkSize\": %" PRId64
             ", \"transSize\": %" PRId64 "%s",
             proxy->channel, proxy->peer, proxy->steps, proxy->chunk_bytes, proxy->bytes, states);
    const char *name = proxy->send ? "Send" : "Recv";
    if (writer->dialect->states) {
        line(writer, name, "PROXY", 'b', writer->proxy_id, proxy->scheduled, arguments);
        write_steps(writer, proxy);
        line(writer, name, "PROXY", 'e', writer->proxy_id++, proxy->end, NULL);
        return;
    }
    const char *schedule = proxy->send ? "ScheduleSend" : "ScheduleRecv";
    const char *progress = proxy->send ? "ProgressSend" : "ProgressRecv";
    line(writer, schedule, "PROXY", 'b', writer->proxy_id, proxy->scheduled, arguments);
    line(writer, schedule, "PROXY", 'e', writer->proxy_id, proxy->progress, NULL);
    line(writer, progress, "PROXY", 'b', writer->proxy_id, proxy->progress, arguments);
    write_steps(writer, proxy);
    line(writer, progress, "PROXY", 'e', writer->proxy_id++, proxy->end, NULL);
}

static int64_t write_channel(struct writer *writer, const struct record *record, int channel)
{
    const struct dialect *dialect = writer->dialect;
    bool kernel = dialect->kernels && record->start != UNKNOWN;
    int64_t stop = record->channel_stop[channel - record->first_channel];
    bool stop_known = stop != UNKNOWN && (dialect->all_stops || channel == 0);
    int64_t begin = UNKNOWN, end = UNKNOWN, last = UNKNOWN;
    if (kernel) {
        begin = noticed(writer, record, channel, 0, record->start + 30 * channel);
        if (stop_known)
            end = noticed(writer, record, channel, 1, stop);
        if (stop_known && end < begin)
            end = begin + 300;
        char arguments[160];
        snprintf(arguments, sizeof(arguments),
                 "\"Channel\": %d, \"StartGpuClk\": %" PRId64 ", \"StopGpuClk\": %" PRId64, channel,
                 gpu_time(writer->process, record->start), stop_known ? gpu_time(writer->process, stop) : 0);
        line(writer, "KernelCh", "GPU", 'b', 0, begin, arguments);
    }
    for (int i = 0; i < record->proxy_count; i++)
        if (record->proxy[i].channel == channel) {
            write_proxy(writer, &record->proxy[i]);
            last = record->proxy[i].end > last ? record->proxy[i].end : last;
        }
    if (kernel)
        line(writer, "KernelCh", "GPU", 'e', 0, end, NULL);
    return end > last ? end : last;
}

static void operation_arguments(struct writer *writer, char *text, size_t size, const struct record *record)
{
    const struct communicator *communicator = &writer->job->communicators[record->communicator];
    bool old = writer->dialect->old_words, point = record->function >= FUNCTION_SEND;
    bool bytes = record->function == FUNCTION_ALL_GATHER || record->function == FUNCTION_BROADCAST;
    int64_t count = bytes ? record->count * record->type_bytes : record->count;
    const char *datatype = bytes ? "ncclInt8" : record->datatype;
    char type[32];
    snprintf(type, sizeof(type), "\"%s\"", datatype);
    if (old)
        snprintf(type, sizeof(type), "%d", type_number(datatype));
    int at = 0;
    if (!point)
        at = snprintf(text, size, "\"SeqNum\": %d, ", record->sequence);
    at += snprintf(text + at, size - (size_t)at, "\"CommHash\": %" PRIu64 ", \"Rank\": %d, ",
                   communicator->hash, record->rank_in_communicator);
    if (point)
        at += snprintf(text + at, size - (size_t)at, "\"Peer\": %d, ", record->peer);
    at += snprintf(text + at, size - (size_t)at, "\"Count\": %" PRId64 ", \"Datatype\": %s", count, type);
    if (!point) {
        const char *algorithm = record->algorithm == ALGORITHM_RING ? (old ? "Ring" : "RING")
                                : old                               ? "Tree"
                                                                    : "TREE";
        const char *protocol = record->protocol == PROTOCOL_LL ? "LL" : old ? "Simple" : "SIMPLE";
        at += snprintf(text + at, size - (size_t)at, ", \"Algorithm\": \"%s\", \"Protocol\": \"%s\"",
                       algorithm, protocol);
    }
    if (!point || writer->dialect->api_levels || writer->dialect->kernels)
        snprintf(text + at, size - (size_t)at, ", \"%s\": %d",
                 writer->dialect->states ? "nMaxChannels" : "nChannels", record->channels);
}

static void write_operation(struct writer *writer, const struct record *record)
{
    char arguments[512];
    bool point = record->function >= FUNCTION_SEND;
    const char *category = point ? "P2P" : "COLL", *name = function_name(writer, record->function);
    int id = writer->operation_id[point];
    int64_t last = record->enqueue_end;
    operation_arguments(writer, arguments, sizeof(arguments), record);
    line(writer, name, category, 'b', id, record->enqueue_begin, arguments);
    for (int i = 0; i < record->channels; i++) {
        int64_t end = write_channel(writer, record, record->first_channel + i);
        if (end > last && writer->dialect->late_stop)
            last = end;
    }
    line(writer, name, category, 'e', id, last, NULL);
}

static void write_api_operation(struct writer *writer, const struct record *record, int index)
{
    const struct dialect *dialect = writer->dialect;
    bool point = record->function >= FUNCTION_SEND;
    char arguments[256];
    const char *quote = dialect->unquoted ? "" : "\"", *space = dialect->unquoted ? "" : " ";
    int at = snprintf(arguments, sizeof(arguments), "\"count\": %" PRId64 ", \"datatype\": %s%s%s, ",
                      record->count, quote, record->datatype, quote);
    if (!point)
        at += snprintf(arguments + at, sizeof(arguments) - (size_t)at, "\"root\": %d, ", record->root);
    snprintf(arguments + at, sizeof(arguments) - (size_t)at,
             "\"GraphCaptured\":%s0, \"Stream\": %s0x%" PRIx64 "%s", space, quote,
             writer->process->stream_address[record->stream], quote);
    const char *name = function_name(writer, record->function), *category = point ? "P2P_API" : "COLL_API";
    line(writer, name, category, 'b', writer->operation_id[point], UNKNOWN, arguments);
    write_operation(writer, record);
    int64_t at_time = record->group_begin + 900 + 400 * index;
    line(writer, name, category, 'e', writer->operation_id[point], at_time, NULL);
}

/* The operations of one group: those enqueued between a start and an end of a group. */
static void write_group(struct writer *writer, struct record **records, int count)
{
    const struct dialect *dialect = writer->dialect;
    const struct record *first = records[0], *last = records[count - 1];
    char arguments[128];
    if (dialect->api_levels) {
        snprintf(arguments, sizeof(arguments), "\"groupApiId\": %d, \"groupDepth\":%s1", writer->api_id,
                 dialect->unquoted ? "" : " ");
        line(writer, "Group API", "GROUP_API", 'b', writer->group_id, first->group_begin, arguments);
        const char *quote = dialect->unquoted ? "" : "\"";
        snprintf(arguments, sizeof(arguments), "\"groupId\": 0, \"Stream\": %s0x%" PRIx64 "%s", quote,
                 writer->process->stream_address[first->stream], quote);
        line(writer, "KernelLaunch", "KERNEL_LAUNCH", 'b', writer->group_id, UNKNOWN, arguments);
        line(writer, "KernelLaunch", "KERNEL_LAUNCH", 'e', writer->group_id, first->launch_end, NULL);
    } else {
        snprintf(arguments, sizeof(arguments), "\"groupId\": %d", writer->api_id);
        line(writer, "Group", "GROUP", 'b', writer->group_id, first->enqueue_begin - 900, arguments);
    }
    for (int i = 0; i < count; i++) {
        if (dialect->api_levels)
            write_api_operation(writer, records[i], i);
        else
            write_operation(writer, records[i]);
        writer->operation_id[records[i]->function >= FUNCTION_SEND]++;
    }
    line(writer, dialect->api_levels ? "Group API" : "Group", dialect->api_levels ? "GROUP_API" : "GROUP",
         'e', writer->group_id, dialect->api_levels ? last->group_end : last->enqueue_end + 500, NULL);
    writer->group_id++;
    writer->api_id++;
}

/* The proxy thread sleeps between operations and then takes new ones. */
static void write_control(struct writer *writer, struct record **records, int count)
{
    bool idled = false;
    for (int i = 0; i < count; i++) {
        const struct record *record = records[i];
        if (record->proxy_count > 0 && !idled) {
            int64_t at = record->proxy[0].scheduled - 2000000;
            line(writer, "Idle", "PROXY", 'b', writer->control_id, at, NULL);
            line(writer, "Idle", "PROXY", 'e', writer->control_id++, at + 500, NULL);
            idled = true;
        }
        if (record->proxy_count == 0 || record->proxy[0].end == UNKNOWN)
            continue;
        int64_t woken = record->proxy[0].scheduled - 4000;
        char arguments[32];
        line(writer, "Sleep", "PROXY", 'b', writer->control_id, woken - 60000, NULL);
        line(writer, "Sleep", "PROXY", 'e', writer->control_id++, woken, NULL);
        snprintf(arguments, sizeof(arguments), "\"appended\": %d", record->proxy_count);
        line(writer, "Append", "PROXY", 'b', writer->control_id, woken + 1500, arguments);
        line(writer, "Append", "PROXY", 'e', writer->control_id++, record->proxy[0].scheduled + 2500, NULL);
    }
}

static void write_tag(struct writer *writer, const char *tag, int local, int64_t time)
{
    output_print(writer->output,
                 "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", \"pid\": %d, "
                 "\"tid\": 1, "
                 "\"ts\": %s, \"args\": {\"tag\": \"%s\", \"rank\": %d}},\n",
                 writer->process->pid, stamp(writer, time).text, tag, local);
}

static void write_tags(struct writer *writer, int local)
{
    const struct job *job = writer->job;
    for (int i = 0; i < writer->process->mark_count; i++) {
        const struct mark *mark = &writer->process->marks[i];
        write_tag(writer, job->phases[mark->phase], local, mark->time);
    }
    int64_t end = job->rank_step_end[writer->process->rank * job->options.steps + job->options.steps - 1];
    if (writer->process->left != UNKNOWN)
        end = writer->process->left;
    if (end != UNKNOWN)
        write_tag(writer, "done", local, end + 200000);
}

static struct output *open_file(struct writer *writer, const struct communicator *communicator, int local)
{
    const struct options *options = &writer->job->options;
    char name[128];
    if (writer->dialect->per_process_name)
        snprintf(name, sizeof(name), "dump-%s-%d.txt", writer->process->host,
                 writer->process->pid + 10000 * writer->thread++);
    else
        snprintf(name, sizeof(name), "dump_%" PRIu64 "_%d.json", communicator->hash, local);
    return output_of(writer->job, writer->process, name, options->gzip);
}

static int collect(const struct writer *writer, int communicator, struct record **records)
{
    const struct process *process = writer->process;
    int count = 0;
    for (int i = 0; i < process->record_count; i++)
        if (process->records[i]->communicator == communicator && !process->records[i]->lost)
            records[count++] = process->records[i];
    int keep = writer->job->options.keep_last;
    if (keep > 0 && count > keep) {
        memmove(records, records + count - keep, (size_t)keep * sizeof(*records));
        count = keep;
    }
    return count;
}

static void write_file(struct writer *writer, int index, int local, struct record **records)
{
    const struct communicator *communicator = &writer->job->communicators[index];
    int count = collect(writer, index, records);
    writer->output = open_file(writer, communicator, local);
    writer->api_id = 0;
    output_print(writer->output, "[\n");
    for (int i = 0; i < count;) {
        int end = i + 1;
        while (end < count && records[end]->group == records[i]->group)
            end++;
        write_group(writer, records + i, end - i);
        i = end;
    }
    write_control(writer, records, count);
    if (writer->dialect->tags)
        write_tags(writer, local);
    output_print(writer->output, "{}]\n");
    if (process_killed(writer->job, writer->process->rank))
        output_cut(writer->output,
                   0.93 + 0.05 * random_unit(writer->job->options.seed, DRAW_DROP, (uint64_t)index, 0, 0));
    output_close(writer->output);
}

static void write_process(struct job *job, const struct dialect *dialect, int rank)
{
    struct writer writer = {.job = job, .dialect = dialect, .process = &job->processes[rank]};
    struct record **records = allocate((size_t)writer.process->record_count, sizeof(*records));
    for (int i = 0; i < job->communicator_count; i++) {
        const struct communicator *communicator = &job->communicators[i];
        for (int local = 0; local < communicator->size; local++)
            if (communicator->ranks[local] == rank)
                write_file(&writer, i, local, records);
    }
    free(records);
}

void chrome_write(struct job *job)
{
    const struct dialect *dialect = find_dialect(job->options.dialect);
    for (int rank = 0; rank < job->options.ranks; rank++)
        if (!job->processes[rank].lost && (!process_killed(job, rank) || job->options.cut))
            write_process(job, dialect, rank);
}
