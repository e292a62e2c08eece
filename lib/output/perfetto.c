/*
 * Writes Perfetto traces (ui.perfetto.dev, trace_processor): protobuf encoding, then packets with tracks and
 * events. Each name is written once and referred to by number. The field numbers are those of
 * github.com/google/perfetto, protos/perfetto/trace/, which is a public interface: trace.proto,
 * trace_packet.proto, track_event/track_descriptor.proto, track_event/process_descriptor.proto,
 * track_event/track_event.proto, track_event/debug_annotation.proto and interned_data/interned_data.proto.
 */
#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static int put_tag(struct buffer *message, unsigned field, enum wire_type type)
{
    return varint_put(message, (uint64_t)field << 3 | type);
}

int protobuf_number(struct buffer *message, unsigned field, uint64_t value)
{
    return put_tag(message, field, WIRE_VARINT) || varint_put(message, value) ? -1 : 0;
}

int protobuf_fixed(struct buffer *message, unsigned field, uint64_t value)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(value >> (8 * i) & 0xff);
    return put_tag(message, field, WIRE_FIXED64) || buffer_append(message, bytes, sizeof bytes) ? -1 : 0;
}

/* bytes fields, and messages that were built elsewhere. */
static int protobuf_bytes(struct buffer *message, unsigned field, const void *bytes, size_t length)
{
    return put_tag(message, field, WIRE_LENGTH) || varint_put(message, length) ||
                   buffer_append(message, bytes, length)
               ? -1
               : 0;
}

int protobuf_text(struct buffer *message, unsigned field, const char *text)
{
    return protobuf_bytes(message, field, text, strlen(text));
}

/* Reserves one byte for the length, which is enough for most messages. */
int protobuf_open(struct buffer *message, unsigned field, size_t *mark)
{
    if (put_tag(message, field, WIRE_LENGTH))
        return -1;
    *mark = message->length;
    return buffer_append_byte(message, 0);
}

int protobuf_close(struct buffer *message, size_t mark)
{
    char length[VARINT_BYTES];
    size_t content = message->length - mark - 1;
    size_t more = (size_t)(varint_write(length, content) - length) - 1;
    if (more) {
        if (buffer_append(message, length, more))
            return -1;
        memmove(message->data + mark + 1 + more, message->data + mark + 1, content);
    }
    memcpy(message->data + mark, length, more + 1);
    return 0;
}

enum { TRACE_PACKET = 1 };

enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK = 60
};

enum { SEQUENCE = 1, STATE_CLEARED = 1, NEEDS_STATE = 2 };

enum {
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_ORDER = 12,
    TRACK_DESCRIPTION = 14,
    TRACK_PROCESS_ORDERING = 19
};

enum { PROCESS_ORDERING_EXPLICIT = 1 };

enum { PROCESS_ID = 1, PROCESS_NAME = 6, PROCESS_LABELS = 8 };

enum {
    EVENT_CATEGORY = 3,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_FLOW = 47
};

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

enum { ARGUMENT_KEY = 1, ARGUMENT_NUMBER = 4, ARGUMENT_TEXT = 17 };

enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_KEYS = 3, INTERNED_VALUES = 29 };

enum { ENTRY_ID = 1, ENTRY_TEXT = 2 };

struct perfetto {
    struct output *output; /* borrowed */
    struct intern names;   /* of events; like the interns below, numbers start at 1 */
    struct intern categories;
    struct intern keys;   /* of arguments */
    struct intern values; /* texts of arguments */
    struct buffer packet; /* like the buffers below, content of the current packet */
    struct buffer event;
    struct buffer interned; /* texts that are new in this packet */
    struct buffer text;
};

/* Writes a text with arbitrary content as a field. */
static int put_text(struct perfetto *perfetto, struct buffer *message, unsigned field, const char *text)
{
    buffer_clear(&perfetto->text);
    return escape_terminal(&perfetto->text, text, strlen(text)) ||
                   protobuf_bytes(message, field, perfetto->text.data, perfetto->text.length)
               ? -1
               : 0;
}

/* Writes a field with the number of a text. A new text is also added to the packet's interned data. */
static int put_interned(struct perfetto *perfetto, unsigned field, struct intern *list, unsigned kind,
                        const char *text)
{
    size_t before = list->count, mark;
    int64_t number = intern_put(list, text, strlen(text));
    struct buffer *interned = &perfetto->interned;
    if (number < 0)
        return -1;
    if (list->count > before &&
        (protobuf_open(interned, kind, &mark) || protobuf_number(interned, ENTRY_ID, (uint64_t)number + 1) ||
         put_text(perfetto, interned, ENTRY_TEXT, text) || protobuf_close(interned, mark)))
        return -1;
    return protobuf_number(&perfetto->event, field, (uint64_t)number + 1);
}

/* Writes the packet, preceded by its length. */
static int write_packet(struct perfetto *perfetto, struct error *error)
{
    struct buffer *packet = &perfetto->packet;
    buffer_clear(&perfetto->event);
    if (protobuf_bytes(&perfetto->event, TRACE_PACKET, packet->data, packet->length))
        return error_no_memory(error);
    return output_write(perfetto->output, perfetto->event.data, perfetto->event.length, error);
}

/* Makes Perfetto sort processes by their `order`, and clears the state of the packet sequence. */
static int put_root(struct buffer *packet)
{
    size_t mark;
    return protobuf_number(packet, PACKET_SEQUENCE, SEQUENCE) ||
                   protobuf_number(packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED | NEEDS_STATE) ||
                   protobuf_open(packet, PACKET_TRACK, &mark) || protobuf_number(packet, TRACK_ID, 0) ||
                   protobuf_number(packet, TRACK_PROCESS_ORDERING, PROCESS_ORDERING_EXPLICIT) ||
                   protobuf_close(packet, mark)
               ? -1
               : 0;
}

static int perfetto_open(struct trace_writer *trace, struct error *error)
{
    struct perfetto *perfetto = trace->state = calloc(1, sizeof *perfetto);
    if (!perfetto)
        return error_no_memory(error);
    perfetto->output = trace->output;
    intern_init(&perfetto->names);
    intern_init(&perfetto->categories);
    intern_init(&perfetto->keys);
    intern_init(&perfetto->values);
    return put_root(&perfetto->packet) ? error_no_memory(error) : write_packet(perfetto, error);
}

static int perfetto_finish(struct trace_writer *trace, struct error *error)
{
    return 0; /* a trace may end after any packet */
}

static void perfetto_release(void *state)
{
    struct perfetto *perfetto = state;
    if (!perfetto)
        return;
    intern_release(&perfetto->names);
    intern_release(&perfetto->categories);
    intern_release(&perfetto->keys);
    intern_release(&perfetto->values);
    buffer_release(&perfetto->packet);
    buffer_release(&perfetto->event);
    buffer_release(&perfetto->interned);
    buffer_release(&perfetto->text);
    free(perfetto);
}

static int put_process(struct perfetto *perfetto, const struct trace_track *track)
{
    struct buffer *packet = &perfetto->packet;
    size_t mark;
    int failed = protobuf_open(packet, TRACK_PROCESS, &mark) ||
                 protobuf_number(packet, PROCESS_ID, (uint64_t)track->process_number) ||
                 put_text(perfetto, packet, PROCESS_NAME, track->process);
    for (size_t i = 0; !failed && i < TRACE_LABELS; i++)
        if (track->labels[i])
            failed = put_text(perfetto, packet, PROCESS_LABELS, track->labels[i]);
    return failed || protobuf_close(packet, mark) ||
                   protobuf_number(packet, TRACK_ORDER, (uint64_t)(int64_t)track->order)
               ? -1
               : 0;
}

static int put_track(struct perfetto *perfetto, const struct trace_track *track)
{
    struct buffer *packet = &perfetto->packet;
    size_t mark;
    buffer_clear(packet);
    return protobuf_number(packet, PACKET_SEQUENCE, SEQUENCE) || protobuf_open(packet, PACKET_TRACK, &mark) ||
                   protobuf_number(packet, TRACK_ID, track->id) ||
                   (track->parent && protobuf_number(packet, TRACK_PARENT, track->parent)) ||
                   put_text(perfetto, packet, TRACK_NAME, track->name) ||
                   (track->description &&
                    put_text(perfetto, packet, TRACK_DESCRIPTION, track->description)) ||
                   (track->process && put_process(perfetto, track)) || protobuf_close(packet, mark)
               ? -1
               : 0;
}

static int perfetto_add_track(struct trace_writer *trace, const struct trace_track *track,
                              struct error *error)
{
    struct perfetto *perfetto = trace->state;
    return put_track(perfetto, track) ? error_no_memory(error) : write_packet(perfetto, error);
}

static int put_argument(struct perfetto *perfetto, const struct trace_argument *argument)
{
    struct buffer *event = &perfetto->event;
    size_t mark;
    return protobuf_open(event, EVENT_ARGUMENT, &mark) ||
                   put_interned(perfetto, ARGUMENT_KEY, &perfetto->keys, INTERNED_KEYS, argument->key) ||
                   (argument->text ? put_interned(perfetto, ARGUMENT_TEXT, &perfetto->values, INTERNED_VALUES,
                                                  argument->text)
                                   : protobuf_number(event, ARGUMENT_NUMBER, (uint64_t)argument->number)) ||
                   protobuf_close(event, mark)
               ? -1
               : 0;
}

static int put_event(struct perfetto *perfetto, const struct trace_event *event, enum event_type type)
{
    struct buffer *message = &perfetto->event;
    int failed =
        protobuf_number(message, EVENT_TYPE, type) || protobuf_number(message, EVENT_TRACK, event->track) ||
        (event->category && put_interned(perfetto, EVENT_CATEGORY, &perfetto->categories, INTERNED_CATEGORIES,
                                         event->category)) ||
        (event->name && put_interned(perfetto, EVENT_NAME, &perfetto->names, INTERNED_NAMES, event->name));
    for (size_t i = 0; !failed && i < event->argument_count; i++)
        failed = put_argument(perfetto, &event->arguments[i]);
    for (size_t i = 0; !failed && i < event->arrow_count; i++)
        failed = protobuf_fixed(message, EVENT_FLOW, event->arrows[i]);
    return failed ? -1 : 0;
}

static int put_packet(struct perfetto *perfetto, const struct trace_event *event, enum event_type type)
{
    struct buffer *packet = &perfetto->packet, *interned = &perfetto->interned;
    buffer_clear(packet);
    buffer_clear(interned);
    buffer_clear(&perfetto->event);
    return put_event(perfetto, event, type) ||
                   protobuf_number(packet, PACKET_TIMESTAMP, (uint64_t)event->at_ns) ||
                   protobuf_number(packet, PACKET_SEQUENCE, SEQUENCE) ||
                   protobuf_number(packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE) ||
                   (interned->length &&
                    protobuf_bytes(packet, PACKET_INTERNED, interned->data, interned->length)) ||
                   protobuf_bytes(packet, PACKET_EVENT, perfetto->event.data, perfetto->event.length)
               ? -1
               : 0;
}

static int perfetto_add_event(struct trace_writer *trace, const struct trace_event *event,
                              enum trace_event_type type, struct error *error)
{
    static const enum event_type types[] = {
        [TRACE_BEGIN] = SLICE_BEGIN, [TRACE_END] = SLICE_END, [TRACE_MARK] = INSTANT};
    struct perfetto *perfetto = trace->state;
    return put_packet(perfetto, event, types[type]) ? error_no_memory(error) : write_packet(perfetto, error);
}

const struct trace_format trace_format_perfetto = {
    .open = perfetto_open,
    .add_track = perfetto_add_track,
    .add_event = perfetto_add_event,
    .finish = perfetto_finish,
    .release = perfetto_release,
};
