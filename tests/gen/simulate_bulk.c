/*
 * Traces of gigabytes, for benchmarks: one communicator, one file per rank, the same operations on every rank
 * with their own times. Queues are not simulated, but sequence numbers, sizes and clocks are consistent, so
 * that everything can be joined.
 */
#include "simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (1 << 20)
#define LINE_BYTES 1024
#define STEPS 8
#define CHANNELS 2
#define OPERATION_NS INT64_C(8000000)
#define OPERATIONS_PER_STEP 16

struct bulk {
    FILE *file;
    const char *path;
    char *buffer;
    size_t length;
    int64_t written;
    int rank, ranks, pid;
    uint64_t hash;
    uint64_t luck;
    int operation, proxy, step;
};

static void put(struct bulk *bulk, const char *text)
{
    size_t length = strlen(text);
    memcpy(bulk->buffer + bulk->length, text, length);
    bulk->length += length;
}

static void put_number(struct bulk *bulk, uint64_t value)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (count > 0)
        bulk->buffer[bulk->length++] = digits[--count];
}

/*
 * Microseconds with six digits after the point, the last three of them 0, as the plugin prints nanoseconds.
 */
static void put_time(struct bulk *bulk, int64_t ns)
{
    int fraction = (int)(ns % 1000);
    put_number(bulk, (uint64_t)(ns / 1000));
    char *at = bulk->buffer + bulk->length;
    at[0] = '.';
    at[1] = (char)('0' + fraction / 100);
    at[2] = (char)('0' + fraction / 10 % 10);
    at[3] = (char)('0' + fraction % 10);
    memcpy(at + 4, "000", 3);
    bulk->length += 7;
}

static void flush(struct bulk *bulk, bool all)
{
    if (!all && bulk->length < BUFFER_BYTES)
        return;
    if (fwrite(bulk->buffer, 1, bulk->length, bulk->file) != bulk->length)
        fail("cannot write %s", bulk->path);
    bulk->written += (int64_t)bulk->length;
    bulk->length = 0;
}

/* Cheap random numbers up to limit: a benchmark needs varying values, not good ones. */
static int64_t luck(struct bulk *bulk, int64_t limit)
{
    bulk->luck = bulk->luck * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((bulk->luck >> 33) % (uint64_t)limit);
}

static void head(struct bulk *bulk, const char *name_and_category, const char *phase, int id, int64_t time)
{
    put(bulk, name_and_category);
    put(bulk, phase);
    put_number(bulk, (uint64_t)id);
    put(bulk, ", \"pid\": ");
    put_number(bulk, (uint64_t)bulk->pid);
    put(bulk, ", \"tid\": 1, \"ts\": ");
    if (time == UNKNOWN)
        put(bulk, "0.000000");
    else
        put_time(bulk, time);
}

#define BEGIN "\", \"ph\": \"b\", \"id\": "
#define END "\", \"ph\": \"e\", \"id\": "

static void end_line(struct bulk *bulk, const char *name_and_category, int id, int64_t time)
{
    head(bulk, name_and_category, END, id, time);
    put(bulk, "},\n");
    flush(bulk, false);
}

static void wait_lines(struct bulk *bulk, const char *name_and_category, int step, int64_t from, int64_t to)
{
    head(bulk, name_and_category, BEGIN, bulk->step, from);
    put(bulk, ", \"args\": {\"Step\": ");
    put_number(bulk, (uint64_t)step);
    put(bulk, "}},\n");
    end_line(bulk, name_and_category, bulk->step, to);
}

static void proxy_begin(struct bulk *bulk, const char *name_and_category, int channel, int peer, int64_t time)
{
    head(bulk, name_and_category, BEGIN, bulk->proxy, time);
    put(bulk, ", \"args\": {\"Channel\": ");
    put_number(bulk, (uint64_t)channel);
    put(bulk, ", \"Peer\": ");
    put_number(bulk, (uint64_t)peer);
    put(bulk, ", \"Steps\": 8, \"ChunkSize\": 4194304, \"transSize\": 8388608}},\n");
    flush(bulk, false);
}

static void chrome_proxy(struct bulk *bulk, bool send, int channel, int64_t start, int64_t end)
{
    int peer = (bulk->rank + (send ? 1 : bulk->ranks - 1)) % bulk->ranks;
    const char *schedule = send ? "{\"name\": \"ScheduleSend\", \"cat\": \"PROXY"
                                : "{\"name\": \"ScheduleRecv\", \"cat\": \"PROXY";
    const char *progress = send ? "{\"name\": \"ProgressSend\", \"cat\": \"PROXY"
                                : "{\"name\": \"ProgressRecv\", \"cat\": \"PROXY";
    static const char *const waits[2][3] = {
        {"{\"name\": \"RecvWait\", \"cat\": \"NET", "{\"name\": \"RecvFlushWait\", \"cat\": \"NET",
         "{\"name\": \"RecvGpuWait\", \"cat\": \"NET"},
        {"{\"name\": \"SendGpuWait\", \"cat\": \"NET", "{\"name\": \"SendPeerWait\", \"cat\": \"NET",
         "{\"name\": \"SendWait\", \"cat\": \"NET"}};
    int64_t at = start + 2000 + luck(bulk, 5000), each = (end - start) / (STEPS + 1);
    proxy_begin(bulk, schedule, channel, peer, start - 40000 - luck(bulk, 20000));
    end_line(bulk, schedule, bulk->proxy, at);
    proxy_begin(bulk, progress, channel, peer, at);
    for (int step = 0; step < STEPS; step++) {
        int64_t first = at + each / 3 + luck(bulk, each / 3), second = first + 100 + luck(bulk, 4000);
        int64_t done = second + each / 4 + luck(bulk, each / 3);
        wait_lines(bulk, waits[send][0], step, at, first);
        wait_lines(bulk, waits[send][1], step, first, second);
        wait_lines(bulk, waits[send][2], step, second, done);
        bulk->step++;
        at += each;
    }
    end_line(bulk, progress, bulk->proxy++, at + luck(bulk, 9000));
}

static void chrome_channel(struct bulk *bulk, int channel, int64_t start, int64_t end)
{
    static const char kernel[] = "{\"name\": \"KernelCh\", \"cat\": \"GPU";
    uint64_t gpu = 1795218000000000000u + (uint64_t)bulk->rank * 31250016u;
    head(bulk, kernel, BEGIN, 0, start + 300 + luck(bulk, 2000));
    put(bulk, ", \"args\": {\"Channel\": ");
    put_number(bulk, (uint64_t)channel);
    put(bulk, ", \"StartGpuClk\": ");
    put_number(bulk, (gpu + (uint64_t)start) & ~(uint64_t)31);
    put(bulk, ", \"StopGpuClk\": ");
    put_number(bulk, channel == 0 ? (gpu + (uint64_t)end) & ~(uint64_t)31 : 0);
    put(bulk, "}},\n");
    chrome_proxy(bulk, false, channel, start, end);
    chrome_proxy(bulk, true, channel, start, end);
    end_line(bulk, kernel, 0, channel == 0 ? end + 400 + luck(bulk, 2000) : UNKNOWN);
}

/* Starts differ from rank to rank; all ranks end together, as the data requires. */
static int64_t start_of(struct bulk *bulk)
{
    return OPERATION_NS * bulk->operation + 250000000 + luck(bulk, OPERATION_NS / 4) + bulk->rank * 1000;
}

static int64_t end_of(const struct bulk *bulk)
{
    return OPERATION_NS * bulk->operation + 250000000 + OPERATION_NS * 9 / 10 + bulk->rank * 1000;
}

static void chrome_operation(struct bulk *bulk)
{
    static const char group[] = "{\"name\": \"Group API\", \"cat\": \"GROUP_API";
    static const char launch[] = "{\"name\": \"KernelLaunch\", \"cat\": \"KERNEL_LAUNCH";
    static const char api[] = "{\"name\": \"AllReduce\", \"cat\": \"COLL_API";
    static const char collective[] = "{\"name\": \"AllReduce\", \"cat\": \"COLL";
    int64_t start = start_of(bulk), end = end_of(bulk), enqueue = start - 90000 - luck(bulk, 50000);
    int id = bulk->operation;
    head(bulk, group, BEGIN, id, enqueue);
    put(bulk, ", \"args\": {\"groupApiId\": ");
    put_number(bulk, (uint64_t)id);
    put(bulk, ", \"groupDepth\": 1}},\n");
    head(bulk, launch, BEGIN, id, UNKNOWN);
    put(bulk, ", \"args\": {\"groupId\": 0, \"Stream\": \"0x55e872994590\"}},\n");
    end_line(bulk, launch, id, enqueue + 9000);
    head(bulk, api, BEGIN, id, UNKNOWN);
    put(bulk,
        ", \"args\": {\"count\": 4194304, \"datatype\": \"ncclFloat32\", \"root\": 0, \"GraphCaptured\": 0, "
        "\"Stream\": \"0x55e872994590\"}},\n");
    head(bulk, collective, BEGIN, id, enqueue + 10000);
    put(bulk, ", \"args\": {\"SeqNum\": ");
    put_number(bulk, (uint64_t)id);
    put(bulk, ", \"CommHash\": ");
    put_number(bulk, bulk->hash);
    put(bulk, ", \"Rank\": ");
    put_number(bulk, (uint64_t)bulk->rank);
    put(bulk,
        ", \"Count\": 4194304, \"Datatype\": \"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": "
        "\"SIMPLE\", \"nChannels\": 2}},\n");
    for (int channel = 0; channel < CHANNELS; channel++)
        chrome_channel(bulk, channel, start, end);
    end_line(bulk, collective, id, enqueue + 11000);
    end_line(bulk, api, id, enqueue + 1000);
    end_line(bulk, group, id, enqueue + 13000);
    bulk->operation++;
}

static void chrome_tags(struct bulk *bulk)
{
    static const char *const tags[] = {"forward", "backward", "grad_sync", "optimizer"};
    for (int i = 0; i < bulk->operation; i += OPERATIONS_PER_STEP / 4) {
        put(bulk, "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", \"pid\": ");
        put_number(bulk, (uint64_t)bulk->pid);
        put(bulk, ", \"tid\": 1, \"ts\": ");
        put_time(bulk, OPERATION_NS * i + 249800000);
        put(bulk, ", \"args\": {\"tag\": \"");
        put(bulk, tags[i / (OPERATIONS_PER_STEP / 4) % 4]);
        put(bulk, "\", \"rank\": ");
        put_number(bulk, (uint64_t)bulk->rank);
        put(bulk, "}},\n");
        flush(bulk, false);
    }
}

static void put_wall(struct bulk *bulk, const char *key, int64_t ns)
{
    put(bulk, key);
    put_number(bulk, 1795218000000000u + (uint64_t)(ns / 1000));
}

static void inspector_trace(struct bulk *bulk, int64_t enqueue, int64_t start, int64_t end)
{
    put(bulk,
        ",\"event_trace_sn\":{\"coll_start_sn\":1,\"coll_stop_sn\":2,\"kernel_events\":[{\"channel_id\":0,"
        "\"kernel_start_sn\":3,\"kernel_stop_sn\":6,\"kernel_record_sn\":5},{\"channel_id\":1,\"kernel_start_"
        "sn\":4,"
        "\"kernel_stop_sn\":8,\"kernel_record_sn\":7}]},\"event_trace_ts\":{");
    put_wall(bulk, "\"coll_start_ts\":", enqueue);
    put_wall(bulk, ",\"coll_stop_ts\":", enqueue + 2000);
    for (int channel = 0; channel < CHANNELS; channel++) {
        put(bulk, channel == 0 ? ",\"kernel_events\":[{\"channel_id\":0" : "},{\"channel_id\":1");
        put_wall(bulk, ",\"kernel_start_ts\":", start + luck(bulk, 2000));
        put_wall(bulk, ",\"kernel_stop_ts\":", end + 1000);
        put_wall(bulk, ",\"kernel_record_ts\":", end + 1000);
    }
    put(bulk, "}]}");
}

static void put_fraction(struct bulk *bulk, int64_t millionths)
{
    put_number(bulk, (uint64_t)(millionths / 1000000));
    char *at = bulk->buffer + bulk->length;
    *at++ = '.';
    for (int64_t unit = 100000; unit > 0; unit /= 10)
        *at++ = (char)('0' + millionths / unit % 10);
    bulk->length += 7;
}

static void inspector_operation(struct bulk *bulk, bool verbose)
{
    static const char digits[] = "0123456789abcdef";
    int64_t start = start_of(bulk), end = end_of(bulk), us = (end - start) / 1000, bytes = 16777216;
    put(bulk, "{\"header\":{\"id\":\"0x");
    for (int shift = 60; shift >= 0; shift -= 4)
        bulk->buffer[bulk->length++] = digits[bulk->hash >> shift & 15];
    put(bulk, "\",\"comm_name\":\"world\",\"rank\":");
    put_number(bulk, (uint64_t)bulk->rank);
    put(bulk, ",\"n_ranks\":");
    put_number(bulk, (uint64_t)bulk->ranks);
    put(bulk,
        ",\"nnodes\":2},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"v2.30.7\","
        "\"rec_mechanism\":\"nccl_profiler_interface\"");
    put_wall(bulk, ",\"dump_timestamp_us\":", end + 300000);
    put(bulk, ",\"hostname\":\"node000\",\"pid\":");
    put_number(bulk, (uint64_t)bulk->pid);
    put(bulk, "},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":");
    put_number(bulk, (uint64_t)bulk->operation);
    put(bulk, ",\"coll_msg_size_bytes\":16777216,\"coll_exec_time_us\":");
    put_number(bulk, (uint64_t)us);
    put(bulk, ",\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":");
    put_fraction(bulk, bytes * 1000 / us);
    put(bulk, ",\"coll_busbw_gbs\":");
    put_fraction(bulk, bytes * 1000 / us * 2 * (bulk->ranks - 1) / bulk->ranks);
    if (verbose)
        inspector_trace(bulk, start - 90000, start, end);
    put(bulk, "}}\n");
    flush(bulk, false);
    bulk->operation++;
}

static void bulk_file(const struct options *options, struct bulk *bulk, int64_t bytes)
{
    bool chrome = chrome_dialect(options->dialect), verbose = strstr(options->dialect, "terse") == NULL;
    char path[4096];
    int length = chrome ? snprintf(path, sizeof(path), "%s/dump_%" PRIu64 "_%d.json", options->directory,
                                   bulk->hash, bulk->rank)
                        : snprintf(path, sizeof(path), "%s/node000-pid%d.log", options->directory, bulk->pid);
    if (length < 0 || (size_t)length >= sizeof(path))
        fail("the path of a file of %s is too long", options->directory);
    bulk->path = path;
    bulk->file = fopen(path, "wb");
    if (bulk->file == NULL)
        fail("cannot write %s", path);
    setvbuf(bulk->file, NULL, _IONBF, 0);
    if (chrome)
        put(bulk, "[\n");
    while (bulk->written + (int64_t)bulk->length < bytes) {
        if (chrome)
            chrome_operation(bulk);
        else
            inspector_operation(bulk, verbose);
    }
    if (chrome) {
        chrome_tags(bulk);
        put(bulk, "{}]\n");
    }
    flush(bulk, true);
    if (fclose(bulk->file) != 0)
        fail("cannot write all of %s", path);
}

void bulk_write(const struct options *options, int64_t bytes, int files)
{
    char *buffer = allocate(BUFFER_BYTES + 64 * LINE_BYTES, 1);
    for (int rank = 0; rank < files; rank++) {
        struct bulk bulk = {.buffer = buffer, .rank = rank, .ranks = files, .pid = 20000 + rank};
        bulk.hash = random_bits(options->seed, DRAW_NAME, 1, 2, 3) | UINT64_C(1) << 63;
        bulk.luck = random_bits(options->seed, DRAW_NAME, 4, (uint64_t)rank, 5);
        bulk_file(options, &bulk, bytes / files);
    }
    free(buffer);
}
