#include "format/chrome/nesting.h"

#include "format/chrome/bundled.h"
#include "format/chrome/emit.h"
#include "format/chrome/kernel_count.h"
#include "format/chrome/operation.h"
#include "format/chrome/proxy.h"

#include <string.h>

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
 * A call below which nothing stands, not even what could not be read: NCCL reported no operation of it, or
 * the recorder left it out. As far as the line says why, that is told apart.
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

/* What an event's end means for what is being put together. `has_end`: a line says so. */
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
        /* The end of the call around it, which is worth waiting for, follows. */
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

/* Ends, innermost first, what is open at this level and inside: their own ends never came. */
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

/* What a begin means for what is being put together. */
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
        return chrome_operation_begin(reader, line, offset, error);
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
    /* Something new at the level of operations or further out: the one before is complete. */
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
 * Where a disk ran full, the line that says so stands in place of what ended an operation: how far that got
 * is not known, nor that it was pending.
 */
static int end_where_stopped(struct chrome_reader *reader, struct error *error)
{
    reader->assembly.is_cut = 1;
    reader->ends_open = 1;
    int failed = chrome_reader_close(reader, error);
    reader->ends_open = 0;
    return failed;
}

/*
 * A begin or end whose name its category does not have in any known version: it says nothing of what is open,
 * however it nests.
 */
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

/* A file without any operation still tells that its process is a rank of the communicator in its name. */
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
