/*
 * The reader of a Chrome trace: follows begins and ends through the nesting levels, and assembles proxy
 * operations and the waits of their network steps. operation.c and bundled.c do the rest.
 */
#include "format/chrome/chrome.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

/*
 * Proxy operations and the waits of their network steps. A schedule event and the progress event after it
 * form one proxy operation. A flush hands the open one over.
 */

static int is_schedule(enum chrome_name name)
{
    return name == CHROME_SCHEDULE_SEND || name == CHROME_SCHEDULE_RECV;
}

static enum direction direction_of(enum chrome_name name)
{
    return name == CHROME_SEND || name == CHROME_SCHEDULE_SEND || name == CHROME_PROGRESS_SEND
               ? DIRECTION_SEND
               : DIRECTION_RECV;
}

static enum wait_kind wait_of(enum chrome_name name)
{
    static const unsigned char kinds[CHROME_NAMES] = {
        [CHROME_SEND_BUFFER_WAIT] = WAIT_BUFFER, [CHROME_RECV_BUFFER_WAIT] = WAIT_BUFFER,
        [CHROME_SEND_GPU_WAIT] = WAIT_GPU,       [CHROME_RECV_GPU_WAIT] = WAIT_GPU,
        [CHROME_SEND_PEER_WAIT] = WAIT_PEER,     [CHROME_RECV_FLUSH_WAIT] = WAIT_FLUSH,
        [CHROME_SEND_WAIT] = WAIT_NETWORK,       [CHROME_RECV_WAIT] = WAIT_NETWORK,
    };
    return (enum wait_kind)kinds[name];
}

/* Hands over the steps so far. Only the last record of a long proxy operation has its end. */
static int emit(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    struct event event = {.kind = EVENT_PROXY, .origin = transfer->origin, .proxy = transfer->proxy};
    event.proxy.steps = transfer->steps;
    event.proxy.steps_recorded = transfer->step_count;
    transfer->step_count = 0;
    transfer->proxy.continued = 1;
    return chrome_emit(reader, &event, error);
}

/* The earliest time of a step; TIME_UNKNOWN if it has none. */
static int64_t step_begin(const struct proxy_step *step)
{
    int64_t first_ns = TIME_UNKNOWN;
    for (int kind = 0; kind < WAIT_KINDS; kind++) {
        int64_t begin_ns = step->wait[kind].begin_ns;
        if (begin_ns != TIME_UNKNOWN && (first_ns == TIME_UNKNOWN || begin_ns < first_ns))
            first_ns = begin_ns;
    }
    return first_ns;
}

/* Stores the step being read, unless it is empty or left from an earlier use of its slot. */
static int close_step(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->step_is_open)
        return 0;
    transfer->step_is_open = 0;
    if (transfer->step_begin_ns == TIME_UNKNOWN)
        return 0;
    if (transfer->step_begin_ns < transfer->not_before_ns)
        return chrome_note(reader, "stale proxy step", 0, transfer->step_offset, NULL, 0, error);
    if (transfer->step_count == FORMAT_STEPS_AT_ONCE && emit(reader, error))
        return -1;
    transfer->steps[transfer->step_count++] = transfer->step;
    return 0;
}

static int is_stale(const struct chrome_reader *reader)
{
    int64_t enqueued_ns = reader->assembly.operation.enqueue.begin_ns;
    const struct proxy_operation *proxy = &reader->transfer.proxy;
    int64_t begin_ns =
        proxy->schedule.begin_ns != TIME_UNKNOWN ? proxy->schedule.begin_ns : proxy->progress.begin_ns;
    return proxy->operation != COUNT_UNKNOWN && enqueued_ns != TIME_UNKNOWN && begin_ns != TIME_UNKNOWN &&
           begin_ns < enqueued_ns;
}

/* Passes the ends of proxy operations to the operation around them. */
static void extend_operation_by_proxy(struct chrome_reader *reader)
{
    struct chrome_assembly *assembly = &reader->assembly;
    int64_t end_ns = reader->transfer.proxy.progress.end_ns;
    if (reader->transfer.proxy.operation == COUNT_UNKNOWN)
        return;
    if (end_ns == TIME_UNKNOWN)
        assembly->proxy_pending = 1;
    else if (end_ns > assembly->last_proxy_end_ns)
        assembly->last_proxy_end_ns = end_ns;
}

/*
 * Steps without an end in a proxy operation that has ended. NCCL starts more steps than it stops if
 * NET/Socket is forced on one node (NVIDIA/nccl#1658).
 */
static int note_unended(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    int64_t count = transfer->proxy.progress.end_ns == TIME_UNKNOWN ? 0 : transfer->unended_count;
    for (int64_t i = 0; i < count; i++)
        if (chrome_note(reader, "network step without an end", 0, transfer->unended_offset, NULL, 0, error))
            return -1;
    return 0;
}

static int chrome_proxy_flush(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open)
        return 0;
    if (close_step(reader, error))
        return -1;
    transfer->is_open = 0;
    if (is_stale(reader))
        return chrome_note(reader, "stale proxy operation", 0, transfer->origin.offset, NULL, 0, error);
    extend_operation_by_proxy(reader);
    return note_unended(reader, error) || emit(reader, error) ? -1 : 0;
}

static void start(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset)
{
    struct chrome_transfer *transfer = &reader->transfer;
    const struct chrome_proxy *said = &line->proxy;
    const struct chrome_assembly *assembly = &reader->assembly;
    transfer->is_open = 1;
    transfer->name = line->name;
    transfer->id = line->id;
    transfer->origin = assembly->is_open ? assembly->origin : chrome_origin(reader, offset);
    transfer->origin.offset = offset;
    transfer->step_count = 0;
    transfer->step_is_open = 0;
    transfer->unended_count = 0;
    transfer->proxy = (struct proxy_operation){
        .operation = assembly->is_open ? assembly->operation.ordinal : COUNT_UNKNOWN,
        .direction = direction_of(line->name),
        .channel = said->channel,
        .peer = said->peer,
        .step_count = said->step_count,
        .chunk_bytes = said->chunk_bytes,
        .transferred_bytes = said->transferred_bytes,
        .origin_pid = assembly->is_open ? 0 : said->origin_pid,
        .origin_rank = said->origin_rank,
        .schedule = {TIME_UNKNOWN, TIME_UNKNOWN},
        .progress = {TIME_UNKNOWN, TIME_UNKNOWN},
        .has_states = said->has_states,
    };
    for (int i = 0; i < PROXY_STATES && said->has_states; i++) {
        transfer->proxy.state[i].steps = said->state[i].steps;
        transfer->proxy.state[i].at_ns = said->state[i].at_ns;
    }
}

/*
 * Notes once that the file has proxy operations for other processes (lib/join looks for them only then), and
 * once that it has some whose process is unknown.
 */
static int note_origin(struct chrome_reader *reader, uint64_t offset, struct error *error)
{
    const struct proxy_operation *proxy = &reader->transfer.proxy;
    if (proxy->operation != COUNT_UNKNOWN)
        return 0;
    int is_known = proxy->origin_pid > 0, *seen = is_known ? &reader->seen_origin : &reader->seen_detached;
    if (*seen)
        return 0;
    *seen = 1;
    return chrome_note(reader, is_known ? FORMAT_NOTE_FOREIGN_PROXIES : FORMAT_NOTE_DETACHED_PROXIES, 0,
                       offset, NULL, 0, error);
}

/* A progress event continues the schedule event with the same id. */
static int is_same_transfer(const struct chrome_reader *reader, const struct chrome_line *line)
{
    const struct chrome_transfer *transfer = &reader->transfer;
    return transfer->is_open && is_schedule(transfer->name) && !is_schedule(line->name) &&
           transfer->id == line->id && transfer->proxy.direction == direction_of(line->name);
}

/* Steps belong to it from its own begin on; if that is unknown, from the begin of the operation on. */
static int64_t earliest_step(const struct chrome_reader *reader)
{
    const struct proxy_operation *proxy = &reader->transfer.proxy;
    if (proxy->progress.begin_ns != TIME_UNKNOWN)
        return proxy->progress.begin_ns;
    if (proxy->schedule.begin_ns != TIME_UNKNOWN)
        return proxy->schedule.begin_ns;
    return proxy->operation != COUNT_UNKNOWN ? reader->assembly.operation.enqueue.begin_ns : TIME_UNKNOWN;
}

static int chrome_proxy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                              struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (line->name == CHROME_PROXY_CONTROL)
        return chrome_note(reader, "proxy control event", 0, offset, NULL, 0, error);
    if (!is_same_transfer(reader, line)) {
        if (chrome_proxy_flush(reader, error))
            return -1;
        start(reader, line, offset);
        if (note_origin(reader, offset, error))
            return -1;
    }
    if (is_schedule(line->name)) {
        reader->seen_schedule = 1;
        transfer->proxy.schedule.begin_ns = line->time_ns;
    } else {
        transfer->name = line->name;
        transfer->proxy.progress.begin_ns = line->time_ns;
        transfer->not_before_ns = earliest_step(reader);
    }
    return 0;
}

static int chrome_proxy_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns,
                            uint64_t offset, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (name == CHROME_PROXY_CONTROL || !transfer->is_open)
        return 0;
    if (is_schedule(name))
        return chrome_set_end(reader, &transfer->proxy.schedule, end_ns, offset, error);
    return chrome_set_end(reader, &transfer->proxy.progress, end_ns, offset, error) ||
                   chrome_proxy_flush(reader, error)
               ? -1
               : 0;
}

static int chrome_wait_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                             struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open || is_schedule(transfer->name))
        return chrome_note(reader, "network step outside a proxy operation", 1, offset, NULL, 0, error);
    if (transfer->step_is_open && (line->id != transfer->step_id || line->step != transfer->step.step) &&
        close_step(reader, error))
        return -1;
    if (!transfer->step_is_open) {
        transfer->step_is_open = 1;
        transfer->step_is_unended = 0;
        transfer->step_id = line->id;
        transfer->step_offset = offset;
        transfer->step = PROXY_STEP_UNKNOWN;
        transfer->step.step = line->step;
        transfer->step_begin_ns = TIME_UNKNOWN;
    }
    /* A wait that was not reached can hold a time from an earlier use of its slot. */
    if (line->time_ns < transfer->step_begin_ns)
        return 0;
    int64_t *begin_ns = &transfer->step.wait[wait_of(line->name)].begin_ns;
    int is_first = *begin_ns == TIME_UNKNOWN;
    *begin_ns = line->time_ns;
    if (!is_first || transfer->step_begin_ns == TIME_UNKNOWN)
        transfer->step_begin_ns = step_begin(&transfer->step);
    return 0;
}

/* A time before the wait's begin is left from an earlier use of the slot: the wait goes on. */
static void chrome_wait_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open || !transfer->step_is_open)
        return;
    struct interval_ns *wait = &transfer->step.wait[wait_of(name)];
    if (wait->begin_ns == TIME_UNKNOWN)
        return;
    if (end_ns >= wait->begin_ns)
        wait->end_ns = end_ns;
    else if (end_ns == TIME_UNKNOWN && !transfer->step_is_unended) {
        transfer->step_is_unended = 1;
        transfer->unended_offset =
            transfer->unended_count++ ? transfer->unended_offset : transfer->step_offset;
    }
}

const char chrome_unknown_event[] = "unknown event";

static const unsigned char levels[CHROME_CATEGORIES] = {
    [CHROME_GROUP] = LEVEL_GROUP,       [CHROME_GROUP_API] = LEVEL_GROUP,    [CHROME_COLL_API] = LEVEL_CALL,
    [CHROME_P2P_API] = LEVEL_CALL,      [CHROME_KERNEL_LAUNCH] = LEVEL_CALL, [CHROME_COLL] = LEVEL_OPERATION,
    [CHROME_P2P] = LEVEL_OPERATION,     [CHROME_CE_COLL] = LEVEL_OPERATION,  [CHROME_CE_PART] = LEVEL_KERNEL,
    [CHROME_GPU] = LEVEL_KERNEL,        [CHROME_PROXY] = LEVEL_PROXY,        [CHROME_NET] = LEVEL_WAIT,
    [CHROME_NET_PLUGIN] = LEVEL_PLUGIN,
};

static int is_open(const struct chrome_reader *reader, int level)
{
    return (reader->open >> level & 1) != 0;
}

/*
 * A call with no records inside, not even unreadable ones: NCCL reported no operation for it, or the recorder
 * left it out. The note gives the reason if the line shows it.
 */
static int note_bare_call(struct chrome_reader *reader, const struct chrome_frame *frame, struct error *error)
{
    const struct chrome_call *call = &reader->call;
    const char *name = function_name(frame->function);
    const char *reason = call->graph_captured         ? "call without operation: captured in a graph"
                         : call->count == 0           ? "call without operation: no data"
                         : reader->greatest_size == 1 ? "call without operation: one rank"
                                                      : "call without operation";
    int is_broadcast = frame->function == FUNCTION_BROADCAST && !call->graph_captured && call->count != 0;
    if (is_broadcast && kernel_count_bare_broadcast(reader, error))
        return -1;
    return chrome_note(reader, reason, 0, frame->offset, name, name ? strlen(name) : 0, error);
}

/* Applies the end of an event to the records being assembled. `has_end`: a line gives it. */
static int end_frame(struct chrome_reader *reader, enum chrome_level level, int64_t end_ns, int has_end,
                     struct error *error)
{
    struct chrome_frame *frame = &reader->frames[level];
    reader->open &= ~(1U << level);
    switch (frame->category) {
    case CHROME_GROUP:
    case CHROME_GROUP_API:
        reader->call.group_begin_ns = TIME_UNKNOWN;
        reader->call.launch_stream = 0;
        return 0;
    case CHROME_COLL_API:
    case CHROME_P2P_API:
        if (has_end && reader->call.is_bare && note_bare_call(reader, frame, error))
            return -1;
        reader->call.root = COUNT_UNKNOWN;
        reader->call.stream = 0;
        reader->call.graph_captured = 0;
        reader->call.user_tag = 0;
        return chrome_operation_flush(reader, end_ns, error);
    case CHROME_COLL:
    case CHROME_P2P:
    case CHROME_CE_COLL:
        if (chrome_proxy_flush(reader, error) ||
            chrome_operation_end(reader, end_ns, has_end, frame->offset, error))
            return -1;
        /* The end of the call around it follows, and is needed. */
        return is_open(reader, LEVEL_CALL) ? 0 : chrome_operation_flush(reader, TIME_UNKNOWN, error);
    case CHROME_GPU:
        return chrome_kernel_end(reader, end_ns, frame->offset, error);
    case CHROME_PROXY:
        return chrome_proxy_end(reader, frame->name, end_ns, frame->offset, error);
    case CHROME_NET:
        if (has_end)
            chrome_wait_end(reader, frame->name, end_ns);
        return 0;
    default:
        return 0;
    }
}

static int end_open_frames(struct chrome_reader *reader, int level, struct error *error)
{
    for (int inner = LEVELS - 1; inner >= level; inner--) {
        if (!is_open(reader, inner))
            continue;
        if (chrome_note(reader, "begin without end", !reader->ends_open, reader->frames[inner].offset, NULL,
                        0, error) ||
            end_frame(reader, (enum chrome_level)inner, TIME_UNKNOWN, 0, error))
            return -1;
    }
    return 0;
}

/* Ends all open events at this level and below, innermost first, as their own ends are missing. */
static inline int end_inner_frames(struct chrome_reader *reader, int level, struct error *error)
{
    return reader->open >> level ? end_open_frames(reader, level, error) : 0;
}

int chrome_reader_close(struct chrome_reader *reader, struct error *error)
{
    if (end_inner_frames(reader, LEVEL_GROUP, error) || chrome_proxy_flush(reader, error))
        return -1;
    return chrome_operation_flush(reader, TIME_UNKNOWN, error);
}

static void begin_call(struct chrome_reader *reader, const struct chrome_line *line)
{
    if (line->category == CHROME_KERNEL_LAUNCH) {
        reader->call.launch_stream = line->api.stream;
        return;
    }
    reader->call.is_bare = 1;
    reader->call.count = line->api.count;
    reader->call.root = line->api.root;
    reader->call.stream = line->api.stream;
    reader->call.graph_captured = line->api.graph_captured;
    reader->call.user_tag = line->api.user_tag;
}

/* Applies the begin of an event to the records being assembled. */
static int begin_frame(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                       struct error *error)
{
    switch (line->category) {
    case CHROME_GROUP:
    case CHROME_GROUP_API:
        reader->call.group_begin_ns = line->time_ns;
        return 0;
    case CHROME_COLL_API:
    case CHROME_P2P_API:
    case CHROME_KERNEL_LAUNCH:
        begin_call(reader, line);
        return 0;
    case CHROME_COLL:
    case CHROME_P2P:
        chrome_operation_begin(reader, line, offset);
        return 0;
    case CHROME_CE_COLL:
        chrome_copy_begin(reader, line, offset);
        return 0;
    case CHROME_CE_PART:
        return chrome_note(reader, "part of a copy-engine operation", 0, offset, NULL, 0, error);
    case CHROME_GPU:
        return chrome_kernel_begin(reader, line, offset, error);
    case CHROME_PROXY:
        return chrome_proxy_begin(reader, line, offset, error);
    case CHROME_NET:
        return chrome_wait_begin(reader, line, offset, error);
    case CHROME_NET_PLUGIN:
        return chrome_note(reader, "network plugin event", 0, offset, NULL, 0, error);
    default:
        return 0;
    }
}

static int begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                 struct error *error)
{
    enum chrome_level level = (enum chrome_level)levels[line->category];
    if (end_inner_frames(reader, level, error))
        return -1;
    /* A new event at the level of operations or above: the previous operation is complete. */
    if (level <= LEVEL_OPERATION &&
        (chrome_proxy_flush(reader, error) || chrome_operation_flush(reader, TIME_UNKNOWN, error)))
        return -1;
    reader->call.is_bare &= level <= LEVEL_CALL;
    reader->open |= 1U << level;
    reader->frames[level] = (struct chrome_frame){
        .category = line->category,
        .name = line->name,
        .function = line->function,
        .id = line->id,
        .offset = offset,
    };
    return begin_frame(reader, line, offset, error);
}

static int end(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
               struct error *error)
{
    enum chrome_level level = (enum chrome_level)levels[line->category];
    const struct chrome_frame *frame = &reader->frames[level];
    reader->call.is_bare &= level <= LEVEL_CALL;
    if (!is_open(reader, (int)level) || frame->category != line->category || frame->name != line->name ||
        frame->function != line->function || frame->id != line->id)
        return chrome_note(reader, "end without begin", 1, offset, NULL, 0, error);
    if (end_inner_frames(reader, (int)level + 1, error))
        return -1;
    return end_frame(reader, level, line->time_ns, 1, error);
}

/*
 * If a disk ran full, the line that reports it replaces the end of an operation. How far the operation got is
 * unknown; it need not have been pending.
 */
static int end_where_stopped(struct chrome_reader *reader, struct error *error)
{
    reader->assembly.is_cut = 1;
    reader->ends_open = 1;
    int failed = chrome_reader_close(reader, error);
    reader->ends_open = 0;
    return failed;
}

/* A begin or end with a name that its category has in no known version: it does not change what is open. */
static int is_unknown(const struct chrome_line *line)
{
    int is_pair = line->phase == 'b' || line->phase == 'e';
    if (line->category == CHROME_GPU)
        return is_pair && line->name != CHROME_KERNEL_CHANNEL;
    return (line->category == CHROME_PROXY || line->category == CHROME_NET) &&
           line->name == CHROME_NAME_OTHER;
}

int chrome_reader_line(struct chrome_reader *reader, const struct chrome_line *line, struct json *json,
                       const char *text, size_t length, uint64_t offset, struct error *error)
{
    reader->hints |= line->hints;
    reader->seen[line->category] = 1;
    if (line->pid != COUNT_UNKNOWN)
        reader->pid = line->pid;
    if (line->category == CHROME_USER_TAG && line->phase == 'i')
        return chrome_tag_line(reader, line, offset, error);
    if (line->name == CHROME_STOPPED && end_where_stopped(reader, error))
        return -1;
    if (line->category == CHROME_NCCLPROF && json)
        return chrome_bundled_line(reader, json, line, offset, error);
    if (levels[line->category] == LEVEL_NONE || is_unknown(line)) {
        reader->call.is_bare &= levels[line->category] <= LEVEL_CALL;
        return chrome_note(reader, chrome_unknown_event, 0, offset, text, length, error);
    }
    if (line->phase == 'b')
        return begin(reader, line, offset, error);
    if (line->phase == 'e')
        return end(reader, line, offset, error);
    if (line->phase == 'X' && line->category == CHROME_GPU)
        return chrome_kernel_phase(reader, line, offset, error);
    return chrome_note(reader, chrome_unknown_event, 0, offset, text, length, error);
}

int chrome_reader_wait(struct chrome_reader *reader, const struct chrome_line *line, int64_t end_ns,
                       uint64_t offset, struct error *error)
{
    reader->seen[CHROME_NET] = 1;
    reader->call.is_bare = 0;
    if (line->pid != COUNT_UNKNOWN)
        reader->pid = line->pid;
    if (end_inner_frames(reader, LEVEL_WAIT, error) || chrome_wait_begin(reader, line, offset, error))
        return -1;
    chrome_wait_end(reader, line->name, end_ns);
    return 0;
}

/* A file without operations still shows that its process is a member of the communicator in its name. */
static int tell_communicator(struct chrome_reader *reader, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_COMMUNICATOR, .origin = chrome_origin(reader, offset)};
    if (reader->is_bundled || reader->next_ordinal > 0 || reader->pid == COUNT_UNKNOWN ||
        reader->communicator_hash == 0)
        return 0;
    event.origin.communicator_hash = reader->communicator_hash;
    event.origin.rank = reader->rank;
    return chrome_emit(reader, &event, error);
}

int chrome_reader_finish(struct chrome_reader *reader, uint64_t offset, struct error *error)
{
    if (chrome_reader_close(reader, error) || chrome_pending_flush(reader, error))
        return -1;
    return tell_communicator(reader, offset, error);
}
