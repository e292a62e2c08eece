/*
 * Operations of a Chrome trace and their kernel channels: assembles one from its lines, and computes when it
 * was enqueued and when it ran.
 */
#include "base/base.h"
#include "format/chrome/chrome.h"
#include "input/input.h"
#include "model/model.h"

/* More channels than any version of NCCL has. */
enum { CHANNELS_MOST = 1024 };

/*
 * Starts an operation: nothing is known but the call around it. The call's user tag holds unless the
 * operation has its own.
 */
static void start(struct chrome_reader *reader, const struct chrome_line *line, uint64_t user_tag,
                  uint64_t offset)
{
    struct chrome_assembly *assembly = &reader->assembly;
    const struct chrome_call *call = &reader->call;
    assembly->is_open = 1;
    assembly->is_closed = 0;
    assembly->unfinished = 0;
    assembly->is_cut = 0;
    assembly->proxy_pending = 0;
    assembly->channel_count = 0;
    assembly->channel_is_open = 0;
    assembly->has_kernel_lines = assembly->has_stale_kernel = 0;
    assembly->first_begin = assembly->last_end = 0;
    assembly->record = (struct interval_ns){line->time_ns, TIME_UNKNOWN};
    assembly->given_enqueue_end_ns = TIME_UNKNOWN;
    assembly->last_proxy_end_ns = TIME_UNKNOWN;
    assembly->origin = chrome_origin(reader, offset);
    assembly->operation = (struct operation){
        .ordinal = reader->next_ordinal++,
        .function = line->function,
        .root = COUNT_UNKNOWN,
        .peer = COUNT_UNKNOWN,
        .channel_count = COUNT_UNKNOWN,
        .stream = call->stream ? call->stream : call->launch_stream,
        .graph_captured = call->graph_captured != 0,
        .api = {call->group_begin_ns, TIME_UNKNOWN},
        .enqueue = {line->time_ns, TIME_UNKNOWN},
        .device = {TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = COUNT_UNKNOWN,
        .tag = chrome_user_tag(user_tag ? user_tag : call->user_tag, assembly->tag),
        .tag_is_number = user_tag || call->user_tag,
    };
}

/* Remembers communicator and rank, for the records that do not give them. */
static void set_member(struct chrome_reader *reader, uint64_t hash, int64_t rank)
{
    reader->assembly.origin.communicator_hash = hash;
    reader->assembly.origin.rank = rank;
    reader->communicator_hash = hash;
    reader->rank = rank;
}

void chrome_operation_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset)
{
    const struct chrome_operation *said = &line->operation;
    struct chrome_assembly *assembly = &reader->assembly;
    struct operation *operation = &assembly->operation;
    start(reader, line, said->user_tag, offset);
    set_member(reader, said->communicator_hash, said->rank);
    operation->kind = line->category == CHROME_P2P ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE;
    operation->sequence = operation->kind == OPERATION_COLLECTIVE ? said->sequence : COUNT_UNKNOWN;
    operation->count = said->count;
    operation->datatype = said->datatype;
    operation->bytes = chrome_bytes(said->count, said->datatype);
    operation->peer = operation->kind == OPERATION_POINT_TO_POINT ? said->peer : COUNT_UNKNOWN;
    operation->algorithm = said->algorithm;
    operation->protocol = said->protocol;
    operation->channel_count = said->channel_count;
    operation->is_symmetric = said->is_symmetric;
    int is_receive = operation->function == FUNCTION_RECV;
    operation->send_buffer = is_receive ? 0 : said->send_buffer;
    operation->receive_buffer = is_receive ? said->send_buffer : said->receive_buffer;
    if (operation->kind == OPERATION_COLLECTIVE && function_has_root(line->function))
        operation->root = said->root != COUNT_UNKNOWN ? said->root : reader->call.root;
    assembly->given_enqueue_end_ns = said->enqueue_end_ns;
    assembly->unfinished = said->unfinished;
}

/*
 * The line of a copy-engine operation says when it ran, as polled by the host, unless it has the times of the
 * enqueue.
 */
void chrome_copy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset)
{
    const struct chrome_copy *said = &line->copy;
    struct operation *operation = &reader->assembly.operation;
    start(reader, line, said->user_tag, offset);
    if (said->communicator_hash)
        set_member(reader, said->communicator_hash, said->rank);
    else
        set_member(reader, reader->communicator_hash, reader->rank);
    operation->kind = OPERATION_COPY_ENGINE;
    operation->algorithm = ALGORITHM_COPY_ENGINE;
    operation->sequence = said->sequence;
    operation->count = said->count;
    operation->datatype = said->datatype;
    operation->bytes = chrome_bytes(said->count, said->datatype);
    if (said->is_enqueue)
        return;
    operation->enqueue.begin_ns = TIME_UNKNOWN;
    operation->device.begin_ns = line->time_ns;
    operation->duration_ns = said->duration_ns;
}

/* Keeps the notice of the start of the channel that starts first, which is the last one if it does. */
static void notice_start(struct chrome_assembly *assembly, int64_t noticed_ns)
{
    const struct kernel_channel *channel = &assembly->channels[assembly->channel_count - 1];
    if (!channel->gpu_begin || (assembly->first_begin && channel->gpu_begin >= assembly->first_begin))
        return;
    assembly->first_begin = channel->gpu_begin;
    assembly->operation.start_notice_ns =
        noticed_ns == TIME_UNKNOWN ? 0 : noticed_ns - channel->host.begin_ns;
}

/* The same for the stop of the channel that stops last. */
static void notice_stop(struct chrome_assembly *assembly, int64_t noticed_ns)
{
    const struct kernel_channel *channel = &assembly->channels[assembly->channel_count - 1];
    if (channel->gpu_end <= assembly->last_end)
        return;
    assembly->last_end = channel->gpu_end;
    assembly->operation.stop_notice_ns = noticed_ns == TIME_UNKNOWN ? 0 : noticed_ns - channel->host.end_ns;
}

int chrome_kernel_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error)
{
    struct chrome_assembly *assembly = &reader->assembly;
    const struct chrome_kernel *said = &line->kernel;
    int64_t enqueued_ns = assembly->operation.enqueue.begin_ns;
    assembly->channel_is_open = 0;
    assembly->has_kernel_lines = 1;
    if (!assembly->is_open)
        return chrome_note(reader, "kernel channel outside an operation", 1, offset, NULL, 0, error);
    if (line->time_ns != TIME_UNKNOWN && enqueued_ns != TIME_UNKNOWN && line->time_ns < enqueued_ns) {
        assembly->has_stale_kernel = 1;
        return chrome_note(reader, "stale kernel channel", 0, offset, NULL, 0, error);
    }
    const char *misattribution = kernel_channel_mismatch(reader);
    if (misattribution)
        return chrome_note(reader, misattribution, 0, offset, NULL, 0, error);
    if (assembly->channel_count >= CHANNELS_MOST || said->channel < 0 || said->channel > INT32_MAX)
        return chrome_note(reader, "impossible kernel channel", 1, offset, NULL, 0, error);
    if (array_reserve((void **)&assembly->channels, &assembly->channel_capacity, assembly->channel_count + 1,
                      sizeof *assembly->channels))
        return error_no_memory(error);
    assembly->channels[assembly->channel_count++] = (struct kernel_channel){
        .channel = (int32_t)said->channel,
        .host = {chrome_kernel_time(line->time_ns, said->begin_ns, enqueued_ns), TIME_UNKNOWN},
        .gpu_begin = said->gpu_begin,
        .gpu_end = said->gpu_end,
    };
    assembly->channel_is_open = 1;
    assembly->channel_end_ns = said->end_ns;
    notice_start(assembly, line->time_ns);
    return 0;
}

static const struct kernel_channel *find_channel(const struct chrome_assembly *assembly, int64_t number)
{
    for (size_t i = assembly->channel_count; i-- > 0;)
        if (assembly->channels[i].channel == number)
            return &assembly->channels[i];
    return NULL;
}

/* By number and by name, as far as both are given; if they disagree it is none. */
static int is_initial_sync(const struct chrome_line *line)
{
    if (line->kernel.phase == COUNT_UNKNOWN)
        return line->name == CHROME_INITIAL_SYNC;
    return line->kernel.phase == 0 && line->name != CHROME_COMPUTE && line->name != CHROME_FINAL_SYNC;
}

/* A phase outside its kernel is left from an earlier use of the slot. */
static int is_stale_phase(const struct chrome_kernel *said, const struct kernel_channel *channel)
{
    return said->gpu_begin < channel->gpu_begin || (channel->gpu_end && said->gpu_end > channel->gpu_end);
}

int chrome_kernel_phase(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error)
{
    struct chrome_assembly *assembly = &reader->assembly;
    const struct chrome_kernel *said = &line->kernel;
    if (!assembly->is_open)
        return chrome_note(reader, "kernel phase outside an operation", 1, offset, NULL, 0, error);
    if (!is_initial_sync(line))
        return chrome_note(reader, "kernel phase other than the initial sync", 0, offset, NULL, 0, error);
    const struct kernel_channel *channel = find_channel(assembly, said->channel);
    if (!channel)
        return chrome_note(reader, "kernel phase without a channel", 0, offset, NULL, 0, error);
    if (!said->gpu_begin || said->gpu_end <= said->gpu_begin ||
        said->gpu_end - said->gpu_begin > NUMBER_MOST_NS)
        return chrome_note(reader, "kernel phase without both ends", 0, offset, NULL, 0, error);
    if (is_stale_phase(said, channel))
        return chrome_note(reader, "stale kernel phase", 0, offset, NULL, 0, error);
    int64_t lasted_ns = (int64_t)(said->gpu_end - said->gpu_begin);
    int64_t *shortest_ns = &assembly->operation.initial_sync_ns;
    if (*shortest_ns == 0 || lasted_ns < *shortest_ns)
        *shortest_ns = lasted_ns;
    return 0;
}

int chrome_kernel_end(struct chrome_reader *reader, int64_t end_ns, uint64_t offset, struct error *error)
{
    struct chrome_assembly *assembly = &reader->assembly;
    if (!assembly->channel_is_open)
        return 0;
    assembly->channel_is_open = 0;
    struct interval_ns *host = &assembly->channels[assembly->channel_count - 1].host;
    if (chrome_set_end(reader, host, end_ns, offset, error))
        return -1;
    int64_t noticed_ns = host->end_ns;
    host->end_ns = chrome_kernel_time(noticed_ns, assembly->channel_end_ns, host->begin_ns);
    notice_stop(assembly, noticed_ns);
    return 0;
}

int chrome_operation_end(struct chrome_reader *reader, int64_t end_ns, int has_end, uint64_t offset,
                         struct error *error)
{
    struct chrome_assembly *assembly = &reader->assembly;
    if (!assembly->is_open)
        return 0;
    assembly->is_open = 0;
    assembly->is_closed = 1;
    assembly->unfinished |= !has_end;
    return kernel_count_operation(reader, error) ||
                   chrome_set_end(reader, &assembly->record, end_ns, offset, error)
               ? -1
               : 0;
}

/* Uses the channels that have both ends, by the GPU's clock and by the host's. */
static void measure_kernel(const struct chrome_assembly *assembly, struct operation *operation)
{
    int64_t first_begin_ns = TIME_UNKNOWN;
    for (size_t i = 0; i < assembly->channel_count; i++) {
        const struct kernel_channel *channel = &assembly->channels[i];
        if (channel->gpu_begin && channel->gpu_end > channel->gpu_begin) {
            if (!operation->gpu_begin || channel->gpu_begin < operation->gpu_begin)
                operation->gpu_begin = channel->gpu_begin;
            if (channel->gpu_end > operation->gpu_end)
                operation->gpu_end = channel->gpu_end;
        }
        if (channel->host.begin_ns == TIME_UNKNOWN)
            continue;
        if (channel->host.end_ns != TIME_UNKNOWN)
            interval_widen(&operation->device, channel->host);
        if (first_begin_ns == TIME_UNKNOWN || channel->host.begin_ns < first_begin_ns)
            first_begin_ns = channel->host.begin_ns;
    }
    if (operation->device.end_ns != TIME_UNKNOWN)
        operation->end_source = END_KERNEL;
    else if (operation->device.begin_ns == TIME_UNKNOWN)
        operation->device.begin_ns = first_begin_ns;
}

/* The best known start and duration on the device. */
static void measure_device(const struct chrome_assembly *assembly, struct operation *operation)
{
    measure_kernel(assembly, operation);
    if (operation->gpu_begin && operation->gpu_end - operation->gpu_begin <= INT64_MAX)
        operation->duration_ns = (int64_t)(operation->gpu_end - operation->gpu_begin);
    else if (operation->end_source == END_KERNEL)
        operation->duration_ns = operation->device.end_ns - operation->device.begin_ns;
    if (operation->kind == OPERATION_COPY_ENGINE) {
        if (operation->device.begin_ns != TIME_UNKNOWN && assembly->record.end_ns != TIME_UNKNOWN) {
            operation->device.end_ns = assembly->record.end_ns;
            operation->end_source = END_HOST;
        }
        return;
    }
    if (operation->end_source == END_UNKNOWN && !assembly->proxy_pending &&
        assembly->last_proxy_end_ns != TIME_UNKNOWN) {
        operation->device.end_ns = assembly->last_proxy_end_ns;
        operation->end_source = END_PROXY;
    }
}

/*
 * The record ends with the enqueue, unless proxy or kernel events moved that end. It is then the end of the
 * last of them, or a moment later (up to NCCL 2.27, and if the enqueue took longer than the operation). If no
 * stop of the kernel is recorded, an end after its start is not that of the enqueue.
 */
static int64_t enqueue_end(const struct chrome_assembly *assembly, const struct operation *operation)
{
    int64_t last_ns = assembly->last_proxy_end_ns;
    if (assembly->given_enqueue_end_ns != TIME_UNKNOWN)
        return assembly->given_enqueue_end_ns;
    if (operation->end_source == END_KERNEL && operation->device.end_ns > last_ns)
        last_ns = operation->device.end_ns;
    if (last_ns == TIME_UNKNOWN && assembly->channel_count > 0)
        last_ns = operation->device.begin_ns;
    if (last_ns != TIME_UNKNOWN && assembly->record.end_ns >= last_ns)
        return TIME_UNKNOWN;
    return assembly->record.end_ns;
}

/* Some part began on the device and has no end. Of the channels, only channel 0 reliably has an end. */
static int is_pending(const struct chrome_assembly *assembly)
{
    if (assembly->proxy_pending)
        return 1;
    for (size_t i = 0; i < assembly->channel_count; i++) {
        const struct kernel_channel *channel = &assembly->channels[i];
        if (channel->channel == 0 && channel->host.end_ns == TIME_UNKNOWN && !channel->gpu_end)
            return 1;
    }
    return 0;
}

int chrome_operation_flush(struct chrome_reader *reader, int64_t api_end_ns, struct error *error)
{
    struct chrome_assembly *assembly = &reader->assembly;
    struct operation *operation = &assembly->operation;
    if (!assembly->is_closed)
        return 0;
    assembly->is_closed = 0;
    operation->api.end_ns = api_end_ns;
    operation->channels = assembly->channels;
    operation->kernel_channel_count = assembly->channel_count;
    measure_device(assembly, operation);
    if (operation->kind != OPERATION_COPY_ENGINE || operation->enqueue.begin_ns != TIME_UNKNOWN)
        operation->enqueue.end_ns = enqueue_end(assembly, operation);
    operation->unfinished = !assembly->is_cut && (assembly->unfinished || is_pending(assembly));
    struct event event = {.kind = EVENT_OPERATION, .origin = assembly->origin, .operation = *operation};
    chrome_pending_done(reader, &event);
    return chrome_emit(reader, &event, error);
}
