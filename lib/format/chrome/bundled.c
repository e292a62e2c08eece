/*
 * The records of the bundled plugin that are no events, user tags, the check of kernel channels, and the
 * functions by which the files of the Chrome reader hand records over.
 */
#include "base/base.h"
#include "format/chrome/chrome.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int chrome_note(struct chrome_reader *reader, const char *reason, int damage, uint64_t offset,
                const char *detail, size_t detail_length, struct error *error)
{
    return reader->sink->note(reader->sink->context, reason, damage, offset, detail, detail_length, error);
}

int chrome_emit(struct chrome_reader *reader, const struct event *event, struct error *error)
{
    return reader->sink->event(reader->sink->context, event, error);
}

struct origin chrome_origin(const struct chrome_reader *reader, uint64_t offset)
{
    return (struct origin){
        .host = reader->host.length ? reader->host.data : NULL,
        .pid = reader->pid,
        .started_ns = reader->started_ns,
        .rank = COUNT_UNKNOWN,
        .offset = offset,
    };
}

int chrome_set_end(struct chrome_reader *reader, struct interval_ns *interval, int64_t end_ns,
                   uint64_t offset, struct error *error)
{
    int is_stale = end_ns != TIME_UNKNOWN && end_ns < interval->begin_ns;
    interval->end_ns = is_stale ? TIME_UNKNOWN : end_ns;
    return is_stale ? chrome_note(reader, "stale end", 0, offset, NULL, 0, error) : 0;
}

int64_t chrome_bytes(int64_t count, enum datatype datatype)
{
    int64_t bytes;
    int64_t size = datatype_bytes(datatype);
    if (count < 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes))
        return COUNT_UNKNOWN;
    return bytes;
}

const char *chrome_user_tag(uint64_t user_tag, char text[CHROME_NUMBER_BYTES])
{
    snprintf(text, CHROME_NUMBER_BYTES, "%" PRIu64, user_tag);
    return user_tag ? text : NULL;
}

int64_t chrome_kernel_time(int64_t noticed_ns, int64_t mapped_ns, int64_t not_before_ns)
{
    if (noticed_ns == TIME_UNKNOWN || mapped_ns == TIME_UNKNOWN || mapped_ns > noticed_ns)
        return noticed_ns;
    return mapped_ns > not_before_ns ? mapped_ns : not_before_ns;
}

/* Limit on the operations that are pending at once. */
enum { PENDING_MOST = 1 << 16 };

/* An operation that was pending when the line was written. */
struct chrome_pending {
    uint64_t offset;
    uint64_t communicator_hash;
    int64_t rank;
    int64_t pid;
    struct operation operation;
    uint64_t user_tag;
    struct kernel_channel kernel; /* gpu_begin 0: no channel has started */
};

static int set_text(struct buffer *buffer, const char *text, size_t length, struct error *error)
{
    buffer_clear(buffer);
    return buffer_append(buffer, text, length) ? error_no_memory(error) : 0;
}

/* The number of a name is required. The time when it was given only decides between several. */
static int tag_name_line(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                         struct error *error)
{
    const struct chrome_tag *tag = &line->tag;
    struct event event = {.kind = EVENT_TAG_NAME, .origin = chrome_origin(reader, offset)};
    if (tag->number == 0)
        return chrome_note(reader, "tag name without a number", 1, offset, tag->text, tag->length, error);
    if (set_text(&reader->text, tag->text, tag->length, error))
        return -1;
    event.tag_name =
        (struct tag_name){tag->number, reader->text.length ? reader->text.data : "", line->time_ns};
    return chrome_emit(reader, &event, error);
}

int chrome_tag_line(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                    struct error *error)
{
    if (line->name == CHROME_TAG_NAME)
        return tag_name_line(reader, line, offset, error);
    const struct chrome_tag *tag = &line->tag;
    struct event event = {.kind = EVENT_TAG, .origin = chrome_origin(reader, offset)};
    uint64_t hash = tag->has_source ? tag->communicator_hash : reader->communicator_hash;
    if (line->time_ns == TIME_UNKNOWN)
        return chrome_note(reader, "tag without a timestamp", 1, offset, tag->text, tag->length, error);
    if (set_text(&reader->text, tag->text, tag->length, error))
        return -1;
    event.origin.communicator_hash = hash;
    event.origin.rank = hash ? tag->rank : COUNT_UNKNOWN;
    event.tag = (struct tag_mark){
        .text = tag->length ? reader->text.data : NULL,
        .at_ns = line->time_ns,
        .depth = tag->depth,
        .process_wide = hash == 0,
        .is_end = tag->length == 0,
    };
    return chrome_emit(reader, &event, error);
}

static const char *text_of(struct json *json, const struct chrome_line *line, const char *key)
{
    const char *text = member_text(json, line->arguments, key);
    return text ? text : "";
}

static int emit_anchor(struct chrome_reader *reader, int64_t local_ns, int64_t monotonic_ns,
                       int64_t realtime_ns, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_ANCHOR, .origin = chrome_origin(reader, offset)};
    event.anchor = (struct clock_anchor){
        .local_ns = local_ns,
        .monotonic_ns = monotonic_ns,
        .realtime_ns = realtime_ns,
        .boot_id = reader->boot_id.length ? reader->boot_id.data : NULL,
    };
    return chrome_emit(reader, &event, error);
}

/* Older recorders do not record it. */
static int emit_hook(struct chrome_reader *reader, int64_t is_on, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_REGISTRATION, .origin = chrome_origin(reader, offset)};
    if (is_on == COUNT_UNKNOWN)
        return 0;
    event.registration = (struct registration){.kind = is_on ? REGISTRATION_HOOK_ON : REGISTRATION_HOOK_OFF,
                                               .number = COUNT_UNKNOWN,
                                               .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                                               .device = COUNT_UNKNOWN,
                                               .global_rank = COUNT_UNKNOWN};
    return chrome_emit(reader, &event, error);
}

/* The first line of the bundled plugin: its process, and the zero of its times. */
static int read_process(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error)
{
    const char *host = text_of(json, line, "host");
    const char *boot = text_of(json, line, "boot_id");
    if (set_text(&reader->host, host, strlen(host), error) ||
        set_text(&reader->boot_id, boot, strlen(boot), error))
        return -1;
    reader->started_ns = member_integer(json, line->arguments, "start_realtime_ns", 0);
    if (emit_hook(reader, member_natural(json, line->arguments, "allocator_hook", COUNT_UNKNOWN), offset,
                  error))
        return -1;
    return emit_anchor(reader, 0, member_integer(json, line->arguments, "start_monotonic_ns", TIME_UNKNOWN),
                       member_integer(json, line->arguments, "start_realtime_ns", TIME_UNKNOWN), offset,
                       error);
}

static const char *known_text(struct json *json, const struct chrome_line *line, const char *key)
{
    const char *text = text_of(json, line, key);
    return text[0] ? text : NULL;
}

static int read_place(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                      uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_PROCESS, .origin = chrome_origin(reader, offset)};
    event.origin.communicator_hash = 0;
    event.process = PROCESS_FACTS_NONE;
    event.process.global_rank = member_natural(json, line->arguments, "rank", COUNT_UNKNOWN);
    event.process.local_rank = member_natural(json, line->arguments, "local_rank", COUNT_UNKNOWN);
    event.process.gpu = member_natural(json, line->arguments, "gpu", COUNT_UNKNOWN);
    event.process.rank_name = known_text(json, line, "rank_name");
    event.process.gpu_bus_id = known_text(json, line, "gpu_bus_id");
    event.process.gpu_serial = known_text(json, line, "gpu_uuid");
    event.process.nic = known_text(json, line, "nic");
    return chrome_emit(reader, &event, error);
}

static int read_anchor(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                       uint64_t offset, struct error *error)
{
    int64_t local_ns = line->time_ns == TIME_UNKNOWN ? 0 : line->time_ns;
    return emit_anchor(reader, local_ns, member_integer(json, line->arguments, "monotonic_ns", TIME_UNKNOWN),
                       member_integer(json, line->arguments, "realtime_ns", TIME_UNKNOWN), offset, error);
}

/* -1 before version 4 of NCCL's plugin interface, which does not give it. */
static int64_t known(int64_t count)
{
    return count > 0 ? count : 0;
}

static int read_communicator(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                             uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_COMMUNICATOR, .origin = chrome_origin(reader, offset)};
    const char *name = text_of(json, line, "CommName");
    event.origin.communicator_hash = member_unsigned(json, line->arguments, "CommHash");
    event.origin.rank = member_natural_or_none(json, line->arguments, "Rank");
    event.origin.communicator_name = name[0] ? name : NULL;
    event.origin.communicator_size = known(member_natural_or_none(json, line->arguments, "nRanks"));
    if (event.origin.communicator_size > reader->greatest_size)
        reader->greatest_size = event.origin.communicator_size;
    event.origin.node_count = known(member_natural_or_none(json, line->arguments, "nNodes"));
    return chrome_emit(reader, &event, error);
}

/* The line has totals since the start. The increase since the previous line is the loss. */
static int read_drops(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                      uint64_t offset, struct error *error)
{
    int64_t totals[RECORDER_DROP_KINDS];
    recorder_drops_read(json, line->arguments, totals);
    for (int i = 0; i < RECORDER_DROP_KINDS; i++) {
        struct event event = {.kind = EVENT_LOSS, .origin = chrome_origin(reader, offset)};
        event.loss = (struct loss){.events = totals[i] - reader->drops[i], .what = recorder_drop_meanings[i]};
        if (totals[i] <= reader->drops[i])
            continue;
        reader->drops[i] = totals[i];
        if (chrome_emit(reader, &event, error))
            return -1;
    }
    return 0;
}

static struct map_key pending_key(const struct chrome_pending *pending)
{
    const struct operation *operation = &pending->operation;
    return (struct map_key){{pending->communicator_hash, (uint64_t)pending->rank,
                             (uint64_t)operation->enqueue.begin_ns,
                             (uint64_t)operation->function << 32 ^ (uint64_t)operation->sequence}};
}

static void describe_pending(struct json *json, const struct chrome_line *line, struct operation *operation)
{
    const char *name = text_of(json, line, "name");
    const char *datatype = text_of(json, line, "Datatype");
    const char *algorithm = text_of(json, line, "Algorithm");
    const char *protocol = text_of(json, line, "Protocol");
    *operation = (struct operation){
        .function = function_from_text(name, strlen(name)),
        .sequence = member_natural(json, line->arguments, "SeqNum", COUNT_UNKNOWN),
        .count = member_natural(json, line->arguments, "Count", COUNT_UNKNOWN),
        .datatype = datatype_from_text(datatype, strlen(datatype)),
        .bytes = COUNT_UNKNOWN,
        .root = member_natural_or_none(json, line->arguments, "Root"),
        .peer = member_natural_or_none(json, line->arguments, "Peer"),
        .algorithm = algorithm_from_text(algorithm, strlen(algorithm)),
        .protocol = protocol_from_text(protocol, strlen(protocol)),
        .channel_count = member_natural(json, line->arguments, "nChannels", COUNT_UNKNOWN),
        .api = {TIME_UNKNOWN, TIME_UNKNOWN},
        .enqueue = {member_moment(json, line->arguments, "begin"),
                    member_moment(json, line->arguments, "EnqueueEnd")},
        .device = {TIME_UNKNOWN, TIME_UNKNOWN},
        .duration_ns = COUNT_UNKNOWN,
        .unfinished = 1,
    };
    operation->bytes = chrome_bytes(operation->count, operation->datatype);
    if (!function_has_root(operation->function))
        operation->root = COUNT_UNKNOWN;
}

/* Its first kernel channel, if one has started; otherwise, and where that is impossible, none. */
static struct kernel_channel kernel_of(struct json *json, const struct chrome_line *line,
                                       const struct operation *operation)
{
    int64_t channel = member_integer(json, line->arguments, "Channel", COUNT_UNKNOWN);
    int64_t noticed_ns = member_moment(json, line->arguments, "KernelBegin");
    int64_t mapped_ns = member_moment(json, line->arguments, "StartHost");
    int64_t enqueued_ns = operation->enqueue.begin_ns;
    int is_stale = noticed_ns != TIME_UNKNOWN && enqueued_ns != TIME_UNKNOWN && noticed_ns < enqueued_ns;
    if (is_stale || channel < 0 || channel > INT32_MAX)
        return (struct kernel_channel){.gpu_begin = 0};
    return (struct kernel_channel){
        .channel = (int32_t)channel,
        .host = {chrome_kernel_time(noticed_ns, mapped_ns, enqueued_ns), TIME_UNKNOWN},
        .gpu_begin = member_unsigned(json, line->arguments, "StartGpuClk")};
}

/* Keeps an operation that is not kept yet. Of one that is kept, keeps a kernel that has started since. */
static int keep_pending(struct chrome_reader *reader, const struct chrome_pending *pending,
                        struct error *error)
{
    struct map_key key = pending_key(pending);
    const int64_t *kept = map_get(&reader->pending, key);
    if (kept && !reader->waiting[*kept].kernel.gpu_begin)
        reader->waiting[*kept].kernel = pending->kernel;
    if (kept)
        return 0;
    if (reader->waiting_count == PENDING_MOST)
        return chrome_note(reader, "too many pending operations", 1, pending->offset, NULL, 0, error);
    if (array_reserve((void **)&reader->waiting, &reader->waiting_capacity, reader->waiting_count + 1,
                      sizeof *reader->waiting) ||
        !map_put(&reader->pending, key, (int64_t)reader->waiting_count, NULL))
        return error_no_memory(error);
    reader->waiting[reader->waiting_count++] = *pending;
    return 0;
}

/*
 * An operation is written again while it stays pending, and completely when it ends. It is kept until then,
 * or until the file ends. Pending calls are only counted.
 */
static int read_pending(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error)
{
    const char *category = text_of(json, line, "cat");
    int is_pair = strcmp(category, "P2P") == 0;
    struct chrome_pending pending = {.offset = offset, .pid = reader->pid};
    if (!is_pair && strcmp(category, "COLL") != 0)
        return chrome_note(reader, "pending call", 0, offset, NULL, 0, error);
    describe_pending(json, line, &pending.operation);
    pending.operation.kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE;
    pending.communicator_hash = member_unsigned(json, line->arguments, "CommHash");
    pending.rank = member_natural_or_none(json, line->arguments, "Rank");
    pending.user_tag = member_unsigned(json, line->arguments, "UserTag");
    pending.kernel = kernel_of(json, line, &pending.operation);
    return keep_pending(reader, &pending, error);
}

/* The last operation replaces the completed one. */
void chrome_pending_done(struct chrome_reader *reader, const struct event *event)
{
    const struct chrome_pending done = {.communicator_hash = event->origin.communicator_hash,
                                        .rank = event->origin.rank,
                                        .operation = event->operation};
    const int64_t *index = map_get(&reader->pending, pending_key(&done));
    if (!index)
        return;
    struct chrome_pending *freed = &reader->waiting[*index];
    const struct chrome_pending *last = &reader->waiting[--reader->waiting_count];
    *map_get(&reader->pending, pending_key(last)) = *index;
    *freed = *last;
    map_remove(&reader->pending, pending_key(&done));
}

static int by_offset(const void *a, const void *b)
{
    const struct chrome_pending *left = a, *right = b;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* In the order of the file. */
int chrome_pending_flush(struct chrome_reader *reader, struct error *error)
{
    char tag[CHROME_NUMBER_BYTES];
    array_sort(reader->waiting, reader->waiting_count, sizeof *reader->waiting, by_offset);
    for (size_t i = 0; i < reader->waiting_count; i++) {
        const struct chrome_pending *pending = &reader->waiting[i];
        struct event event = {.kind = EVENT_OPERATION, .origin = chrome_origin(reader, pending->offset)};
        event.origin.pid = pending->pid;
        event.origin.communicator_hash = pending->communicator_hash;
        event.origin.rank = pending->rank;
        event.operation = pending->operation;
        event.operation.ordinal = reader->next_ordinal++;
        event.operation.tag = chrome_user_tag(pending->user_tag, tag);
        event.operation.tag_is_number = event.operation.tag != NULL;
        event.operation.device.begin_ns =
            pending->kernel.gpu_begin ? pending->kernel.host.begin_ns : TIME_UNKNOWN;
        event.operation.channels = &pending->kernel;
        event.operation.kernel_channel_count = pending->kernel.gpu_begin != 0;
        if (chrome_emit(reader, &event, error))
            return -1;
    }
    return 0;
}

/*
 * Reads what the plugin recorded of a truncated description. Another text in braces is a different mark of
 * the program.
 */
static int read_call(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                     uint64_t offset, struct error *error)
{
    const char *said = text_of(json, line, "text");
    struct text text = {said, strlen(said)};
    int is_cut = member_integer(json, line->arguments, "truncated", 0) != 0;
    struct origin origin = chrome_origin(reader, offset);
    struct buffer mended = BUFFER_INIT;
    struct call_reader call;
    size_t taken = 0;
    int correct = is_cut ? call_line_correct(text, &mended) : 1;
    if (correct == 0)
        text = (struct text){mended.data, mended.length};
    call_reader_init(&call, 0);
    int failed = correct < 0 ? error_no_memory(error)
                             : call_line_read(&call, text, offset, &origin, line->time_ns, is_cut,
                                              reader->sink, &taken, error);
    call_reader_release(&call);
    buffer_release(&mended);
    if (failed)
        return -1;
    return taken ? 0 : chrome_note(reader, "unknown mark", 0, offset, said, strlen(said), error);
}

int chrome_bundled_line(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error)
{
    reader->is_bundled = 1;
    switch (line->name) {
    case CHROME_PROCESS:
        return read_process(reader, json, line, offset, error);
    case CHROME_PLACE:
        return read_place(reader, json, line, offset, error);
    case CHROME_COMMUNICATOR:
        return read_communicator(reader, json, line, offset, error);
    case CHROME_CLOCK_ANCHOR:
        return read_anchor(reader, json, line, offset, error);
    case CHROME_DROPS:
        return read_drops(reader, json, line, offset, error);
    case CHROME_STOPPED:
        return recorder_stop_note(json, line->arguments, reader->sink, offset, error);
    case CHROME_PENDING_OPERATION:
        return read_pending(reader, json, line, offset, error);
    case CHROME_CALL_DESCRIPTION:
        return read_call(reader, json, line, offset, error);
    default:
        return chrome_note(reader, "recorder message", 0, offset, NULL, 0, error);
    }
}

enum {
    SELF_SEND_LEFT_OUT = 1,
    BROADCAST_LEFT_OUT = 2,
    OTHER_LEFT_OUT =
        4 /* a collective that NCCL counts: the recorder left its kernels out, so it shows nothing */
};

static struct map_key member_key(uint64_t hash, int64_t rank)
{
    return (struct map_key){{hash, (uint64_t)rank}};
}

static int set(struct chrome_reader *reader, struct map_key key, int64_t left_out, struct error *error)
{
    int64_t *known = map_put(&reader->counted, key, 0, NULL);
    if (!known)
        return error_no_memory(error);
    *known |= left_out;
    return 0;
}

/* 0: an operation that the host does not leave out, or that it counted. */
static int64_t left_out_by(const struct chrome_assembly *assembly)
{
    const struct operation *operation = &assembly->operation;
    if (assembly->has_kernel_lines || assembly->unfinished)
        return 0;
    if (operation->kind == OPERATION_POINT_TO_POINT)
        return operation->peer != COUNT_UNKNOWN && operation->peer == assembly->origin.rank
                   ? SELF_SEND_LEFT_OUT
                   : 0;
    if (operation->kind != OPERATION_COLLECTIVE || operation->graph_captured)
        return 0;
    return operation->function == FUNCTION_BROADCAST ? BROADCAST_LEFT_OUT : OTHER_LEFT_OUT;
}

int kernel_count_operation(struct chrome_reader *reader, struct error *error)
{
    const struct origin *origin = &reader->assembly.origin;
    int64_t left_out = left_out_by(&reader->assembly);
    if (reader->assembly.has_stale_kernel && !reader->assembly.channel_count &&
        chrome_note(reader, "operation whose kernel began before it", 0, origin->offset, NULL, 0, error))
        return -1;
    return left_out ? set(reader, member_key(origin->communicator_hash, origin->rank), left_out, error) : 0;
}

/* The line of the call does not give the communicator; the file's communicator is used. */
int kernel_count_bare_broadcast(struct chrome_reader *reader, struct error *error)
{
    return reader->is_of_member && !reader->is_bundled
               ? set(reader, member_key(reader->communicator_hash, reader->rank), BROADCAST_LEFT_OUT, error)
               : 0;
}

const char *kernel_channel_mismatch(struct chrome_reader *reader)
{
    const struct origin *origin = &reader->assembly.origin;
    int64_t *known = map_get(&reader->counted, member_key(origin->communicator_hash, origin->rank));
    if (!known)
        return NULL;
    /* This NCCL counts Broadcasts: the kernel of the earlier one was lost. */
    if (reader->assembly.operation.function == FUNCTION_BROADCAST)
        *known &= ~(int64_t)BROADCAST_LEFT_OUT;
    if (*known & SELF_SEND_LEFT_OUT)
        return "kernel channel of another operation";
    return (*known & (BROADCAST_LEFT_OUT | OTHER_LEFT_OUT)) == BROADCAST_LEFT_OUT
               ? "kernel channel of another operation after a Broadcast"
               : NULL;
}
