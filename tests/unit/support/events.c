#include "support/events.h"

#include "base/base.h"
#include "format/format.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "model/model.h"
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *copy_text(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    assert_true(!text || copy);
    return copy;
}

static void *copy_bytes(const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

/* The texts in facts about a process. */
enum { FACT_TEXT_COUNT = 6 };

static void list_facts(struct process_facts *facts, const char **texts[FACT_TEXT_COUNT])
{
    texts[0] = &facts->gpu_bus_id;
    texts[1] = &facts->gpu_serial;
    texts[2] = &facts->nic;
    texts[3] = &facts->host;
    texts[4] = &facts->rank_name;
    texts[5] = &facts->address;
}

static void own_facts(struct process_facts *facts)
{
    const char **texts[FACT_TEXT_COUNT];
    list_facts(facts, texts);
    for (int i = 0; i < FACT_TEXT_COUNT; i++)
        *texts[i] = copy_text(*texts[i]);
}

static void own_communicator(struct communicator_facts *facts)
{
    facts->description = copy_text(facts->description);
    facts->members = copy_bytes(facts->members, facts->member_count * sizeof *facts->members);
}

/* The texts of a call description and of a sample. */
enum { CALL_TEXTS = 5, SAMPLE_TEXTS = 6 };

static void list_call(struct call_description *call, const char **texts[CALL_TEXTS])
{
    texts[0] = &call->name;
    texts[1] = &call->source;
    texts[2] = &call->gpu_serial;
    texts[3] = &call->vm;
    texts[4] = &call->correlation;
}

static void list_sample(struct metric_sample *sample, const char **texts[SAMPLE_TEXTS])
{
    texts[0] = &sample->job;
    texts[1] = &sample->node;
    texts[2] = &sample->gpu;
    texts[3] = &sample->communicator;
    texts[4] = &sample->message_size;
    texts[5] = &sample->tag;
}

/* The texts of a sample, a message or a fact of a node. Returns how many. */
enum { NODE_TEXTS = 5 };

static int list_node(struct event *event, const char **texts[NODE_TEXTS])
{
    struct node_sample *sample = &event->node_sample;
    struct node_event *message = &event->node_event;
    struct node_fact *fact = &event->node_fact;
    int count = 0;
    switch (event->kind) {
    case EVENT_NODE_SAMPLE:
        texts[count++] = &sample->host;
        texts[count++] = &sample->device;
        return count;
    case EVENT_NODE_EVENT:
        texts[count++] = &message->host;
        texts[count++] = &message->device;
        texts[count++] = &message->process;
        texts[count++] = &message->text;
        return count;
    case EVENT_NODE_FACT:
        texts[count++] = &fact->host;
        texts[count++] = &fact->boot_id;
        texts[count++] = &fact->gpu_bus_id;
        texts[count++] = &fact->gpu_uuid;
        texts[count++] = &fact->gpu_name;
        return count;
    default:
        return 0;
    }
}

static void own_node(struct event *event)
{
    const char **texts[NODE_TEXTS];
    for (int i = list_node(event, texts) - 1; i >= 0; i--)
        *texts[i] = copy_text(*texts[i]);
}

static void own_call(struct call_description *call)
{
    const char **texts[CALL_TEXTS];
    list_call(call, texts);
    for (int i = 0; i < CALL_TEXTS; i++)
        *texts[i] = copy_text(*texts[i]);
    if (call->group)
        call->group = copy_bytes(call->group, call->group_count * sizeof *call->group);
}

static void own_sample(struct metric_sample *sample)
{
    const char **texts[SAMPLE_TEXTS];
    list_sample(sample, texts);
    for (int i = 0; i < SAMPLE_TEXTS; i++)
        *texts[i] = copy_text(*texts[i]);
}

static void own_texts(struct event *event)
{
    event->origin.host = copy_text(event->origin.host);
    event->origin.communicator_name = copy_text(event->origin.communicator_name);
    if (event->kind == EVENT_TAG)
        event->tag.text = copy_text(event->tag.text);
    if (event->kind == EVENT_TAG_NAME)
        event->tag_name.text = copy_text(event->tag_name.text);
    if (event->kind == EVENT_ANCHOR)
        event->anchor.boot_id = copy_text(event->anchor.boot_id);
    if (event->kind == EVENT_PROXY)
        event->proxy.steps =
            copy_bytes(event->proxy.steps, event->proxy.steps_recorded * sizeof(struct proxy_step));
    if (event->kind == EVENT_COMMUNICATOR)
        own_communicator(&event->communicator);
    if (event->kind == EVENT_PROCESS)
        own_facts(&event->process);
    if (event->kind == EVENT_GROUP_STATUS) {
        event->group_status.name = copy_text(event->group_status.name);
        event->group_status.description = copy_text(event->group_status.description);
        event->group_status.function = copy_text(event->group_status.function);
    }
    if (event->kind == EVENT_START_UP)
        event->start_up.function = copy_text(event->start_up.function);
    if (event->kind == EVENT_LOSS)
        event->loss.what = copy_text(event->loss.what);
    if (event->kind == EVENT_WARNING) {
        event->warning.nic = copy_text(event->warning.nic);
        event->warning.peer = copy_text(event->warning.peer);
        event->warning.text = copy_text(event->warning.text);
    }
    if (event->kind == EVENT_REGISTRATION && event->registration.calls)
        event->registration.calls =
            copy_bytes(event->registration.calls, FUNCTION_COUNT * sizeof *event->registration.calls);
    if (event->kind == EVENT_CALL_DESCRIPTION)
        own_call(&event->call);
    if (event->kind == EVENT_SAMPLE)
        own_sample(&event->sample);
    own_node(event);
    if (event->kind != EVENT_OPERATION)
        return;
    event->operation.source = copy_text(event->operation.source);
    event->operation.tag = copy_text(event->operation.tag);
    event->operation.channels = copy_bytes(event->operation.channels, event->operation.kernel_channel_count *
                                                                          sizeof(struct kernel_channel));
}

static int record_event(void *context, const struct event *event, struct error *error)
{
    struct recording *recording = context;
    assert_int_equal(array_reserve((void **)&recording->events, &recording->event_capacity,
                                   recording->event_count + 1, sizeof *recording->events),
                     0);
    recording->events[recording->event_count] = *event;
    own_texts(&recording->events[recording->event_count++]);
    return 0;
}

static int record_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                       size_t detail_length, struct error *error)
{
    struct recording *recording = context;
    assert_int_equal(array_reserve((void **)&recording->notes, &recording->note_capacity,
                                   recording->note_count + 1, sizeof *recording->notes),
                     0);
    recording->notes[recording->note_count++] = (struct recorded_note){
        copy_text(reason), damage, offset, copy_bytes(detail, detail ? detail_length : 0), detail_length};
    return 0;
}

static void read_into(struct recording *recording, const char *path)
{
    const struct format_sink sink = {recording, record_event, record_note};
    struct input *input = input_open(path, NULL, &recording->error);
    assert_non_null(input);
    const struct format *format = format_detect(input, &recording->error);
    recording->status = -2;
    if (format)
        recording->status = ingest_read(format, input, path, NULL, NULL, &sink, recording->dialect,
                                        sizeof recording->dialect, &recording->error);
    input_close(input);
}

void recording_of_file(struct recording *recording, const char *path)
{
    memset(recording, 0, sizeof *recording);
    read_into(recording, path);
}

/* Through a file of that name in a directory of its own, because some formats use the name. */
void recording_of_bytes(struct recording *recording, const char *name, const char *bytes, size_t length)
{
    char directory[] = "/tmp/ncclprof-unit-XXXXXX";
    char path[256];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    recording_of_file(recording, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* own_texts() made them ours: the const of the model's fields is for borrowers. */
static void free_borrowed(const void *memory)
{
    void *own;
    memcpy(&own, &memory, sizeof own);
    free(own);
}

static void release_facts(struct process_facts facts)
{
    const char **texts[FACT_TEXT_COUNT];
    list_facts(&facts, texts);
    for (int i = 0; i < FACT_TEXT_COUNT; i++)
        free_borrowed(*texts[i]);
}

static void release_call(struct call_description call)
{
    const char **texts[CALL_TEXTS];
    list_call(&call, texts);
    for (int i = 0; i < CALL_TEXTS; i++)
        free_borrowed(*texts[i]);
    free_borrowed(call.group);
}

static void release_sample(struct metric_sample sample)
{
    const char **texts[SAMPLE_TEXTS];
    list_sample(&sample, texts);
    for (int i = 0; i < SAMPLE_TEXTS; i++)
        free_borrowed(*texts[i]);
}

static void release_node(struct event event)
{
    const char **texts[NODE_TEXTS];
    for (int i = list_node(&event, texts) - 1; i >= 0; i--)
        free_borrowed(*texts[i]);
}

static void release_event(const struct event *event)
{
    release_node(*event);
    free_borrowed(event->origin.host);
    free_borrowed(event->origin.communicator_name);
    if (event->kind == EVENT_TAG)
        free_borrowed(event->tag.text);
    if (event->kind == EVENT_TAG_NAME)
        free_borrowed(event->tag_name.text);
    if (event->kind == EVENT_ANCHOR)
        free_borrowed(event->anchor.boot_id);
    if (event->kind == EVENT_PROXY)
        free_borrowed(event->proxy.steps);
    if (event->kind == EVENT_COMMUNICATOR) {
        free_borrowed(event->communicator.description);
        free_borrowed(event->communicator.members);
    }
    if (event->kind == EVENT_PROCESS)
        release_facts(event->process);
    if (event->kind == EVENT_GROUP_STATUS) {
        free_borrowed(event->group_status.name);
        free_borrowed(event->group_status.description);
        free_borrowed(event->group_status.function);
    }
    if (event->kind == EVENT_START_UP)
        free_borrowed(event->start_up.function);
    if (event->kind == EVENT_LOSS)
        free_borrowed(event->loss.what);
    if (event->kind == EVENT_WARNING) {
        free_borrowed(event->warning.nic);
        free_borrowed(event->warning.peer);
        free_borrowed(event->warning.text);
    }
    if (event->kind == EVENT_REGISTRATION)
        free_borrowed(event->registration.calls);
    if (event->kind == EVENT_CALL_DESCRIPTION)
        release_call(event->call);
    if (event->kind == EVENT_SAMPLE)
        release_sample(event->sample);
    if (event->kind != EVENT_OPERATION)
        return;
    free_borrowed(event->operation.source);
    free_borrowed(event->operation.tag);
    free_borrowed(event->operation.channels);
}

void recording_release(struct recording *recording)
{
    for (size_t i = 0; i < recording->event_count; i++)
        release_event(&recording->events[i]);
    for (size_t i = 0; i < recording->note_count; i++) {
        free(recording->notes[i].reason);
        free(recording->notes[i].detail);
    }
    free(recording->events);
    free(recording->notes);
}

size_t recording_notes(const struct recording *recording, const char *reason)
{
    size_t count = 0;
    for (size_t i = 0; i < recording->note_count; i++)
        count += strcmp(recording->notes[i].reason, reason) == 0;
    return count;
}

size_t recording_damage(const struct recording *recording)
{
    size_t count = 0;
    for (size_t i = 0; i < recording->note_count; i++)
        count += recording->notes[i].damage != 0;
    return count;
}

size_t recording_count(const struct recording *recording, enum event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < recording->event_count; i++)
        count += recording->events[i].kind == kind;
    return count;
}

const struct event *recording_event(const struct recording *recording, enum event_kind kind, size_t n)
{
    for (size_t i = 0; i < recording->event_count; i++)
        if (recording->events[i].kind == kind && n-- == 0)
            return &recording->events[i];
    return NULL;
}

/* A complete event as text, for comparison and for messages. */
static void describe_channels(struct buffer *text, const struct operation *operation)
{
    for (size_t i = 0; i < operation->kernel_channel_count; i++) {
        const struct kernel_channel *channel = &operation->channels[i];
        buffer_printf(text, " channel %d %lld..%lld %llu..%llu", channel->channel,
                      (long long)channel->host.begin_ns, (long long)channel->host.end_ns,
                      (unsigned long long)channel->gpu_begin, (unsigned long long)channel->gpu_end);
    }
}

static void describe_interval(struct buffer *text, const char *name, struct interval_ns interval)
{
    buffer_printf(text, " %s %lld..%lld", name, (long long)interval.begin_ns, (long long)interval.end_ns);
}

static void describe_operation(struct buffer *text, const struct operation *operation)
{
    buffer_printf(text, "operation %lld kind %d function %d sequence %lld count %lld datatype %d bytes %lld",
                  (long long)operation->ordinal, (int)operation->kind, (int)operation->function,
                  (long long)operation->sequence, (long long)operation->count, (int)operation->datatype,
                  (long long)operation->bytes);
    buffer_printf(text, " root %lld peer %lld algorithm %d protocol %d channels %lld stream %llx graph %d",
                  (long long)operation->root, (long long)operation->peer, (int)operation->algorithm,
                  (int)operation->protocol, (long long)operation->channel_count,
                  (unsigned long long)operation->stream, operation->graph_captured);
    describe_interval(text, "api", operation->api);
    describe_interval(text, "enqueue", operation->enqueue);
    describe_interval(text, "device", operation->device);
    buffer_printf(text, " source %d gpu %llu..%llu duration %lld unfinished %d tag %s",
                  (int)operation->end_source, (unsigned long long)operation->gpu_begin,
                  (unsigned long long)operation->gpu_end, (long long)operation->duration_ns,
                  operation->unfinished, operation->tag ? operation->tag : "none");
    buffer_printf(text, " noticed after %lld and %lld", (long long)operation->start_notice_ns,
                  (long long)operation->stop_notice_ns);
    buffer_printf(text, " called at %s", operation->source ? operation->source : "none");
    buffer_printf(text, " from %llx to %llx", (unsigned long long)operation->send_buffer,
                  (unsigned long long)operation->receive_buffer);
    describe_channels(text, operation);
}

static void describe_proxy(struct buffer *text, const struct proxy_operation *proxy)
{
    buffer_printf(text, "proxy of %lld direction %d channel %lld peer %lld steps %lld chunk %lld moved %lld",
                  (long long)proxy->operation, (int)proxy->direction, (long long)proxy->channel,
                  (long long)proxy->peer, (long long)proxy->step_count, (long long)proxy->chunk_bytes,
                  (long long)proxy->transferred_bytes);
    describe_interval(text, "schedule", proxy->schedule);
    describe_interval(text, "progress", proxy->progress);
    for (int i = 0; i < PROXY_STATES && proxy->has_states; i++)
        buffer_printf(text, " state %lld at %lld", (long long)proxy->state[i].steps,
                      (long long)proxy->state[i].at_ns);
    for (size_t i = 0; i < proxy->steps_recorded; i++) {
        buffer_printf(text, " step %lld", (long long)proxy->steps[i].step);
        for (int kind = 0; kind < WAIT_KINDS; kind++)
            describe_interval(text, "", proxy->steps[i].wait[kind]);
    }
}

static void describe_communicator(struct buffer *text, const struct communicator_facts *facts)
{
    buffer_printf(text, "for %s of", facts->description ? facts->description : "none");
    for (size_t i = 0; i < facts->member_count; i++)
        buffer_printf(text, " %lld", (long long)facts->members[i]);
}

static void describe_facts(struct buffer *text, const struct process_facts *facts)
{
    struct process_facts copy = *facts;
    const char **texts[FACT_TEXT_COUNT];
    list_facts(&copy, texts);
    buffer_printf(text, "rank %lld of %lld local %lld gpu %lld", (long long)facts->global_rank,
                  (long long)facts->world_size, (long long)facts->local_rank, (long long)facts->gpu);
    for (int i = 0; i < FACT_TEXT_COUNT; i++)
        buffer_printf(text, " %s", *texts[i] ? *texts[i] : "none");
}

static void describe_node(struct buffer *text, const struct event *event)
{
    if (event->kind == EVENT_NODE_SAMPLE)
        buffer_printf(text, "node %s place %d device %s metric %d from %lld to %lld: %.17g",
                      event->node_sample.host ? event->node_sample.host : "none", event->node_sample.place,
                      event->node_sample.device ? event->node_sample.device : "none",
                      (int)event->node_sample.metric, (long long)event->node_sample.begin_ns,
                      (long long)event->node_sample.at_ns, event->node_sample.value);
    if (event->kind == EVENT_NODE_EVENT)
        buffer_printf(text, "node %s device %s code %d number %lld at %lld: %s",
                      event->node_event.host ? event->node_event.host : "none",
                      event->node_event.device ? event->node_event.device : "none",
                      (int)event->node_event.code, (long long)event->node_event.number,
                      (long long)event->node_event.at_ns,
                      event->node_event.text ? event->node_event.text : "none");
    if (event->kind == EVENT_NODE_FACT)
        buffer_printf(text, "node %s boot %s cores %lld GPU %lld %s",
                      event->node_fact.host ? event->node_fact.host : "none",
                      event->node_fact.boot_id ? event->node_fact.boot_id : "none",
                      (long long)event->node_fact.cores, (long long)event->node_fact.gpu_index,
                      event->node_fact.gpu_bus_id ? event->node_fact.gpu_bus_id : "none");
}

static void describe_event(struct buffer *text, const struct event *event)
{
    const struct origin *origin = &event->origin;
    buffer_clear(text);
    buffer_printf(
        text, "kind %d host %s pid %lld hash %llx rank %lld name %s size %lld nodes %lld byte %llu ",
        (int)event->kind, origin->host ? origin->host : "none", (long long)origin->pid,
        (unsigned long long)origin->communicator_hash, (long long)origin->rank,
        origin->communicator_name ? origin->communicator_name : "none", (long long)origin->communicator_size,
        (long long)origin->node_count, (unsigned long long)origin->offset);
    if (event->kind == EVENT_OPERATION)
        describe_operation(text, &event->operation);
    if (event->kind == EVENT_PROXY)
        describe_proxy(text, &event->proxy);
    if (event->kind == EVENT_TAG)
        buffer_printf(text, "tag %s at %lld depth %lld wide %d end %d",
                      event->tag.text ? event->tag.text : "", (long long)event->tag.at_ns,
                      (long long)event->tag.depth, event->tag.process_wide, event->tag.is_end);
    if (event->kind == EVENT_TAG_NAME)
        buffer_printf(text, "number %llu is %s at %lld", (unsigned long long)event->tag_name.number,
                      event->tag_name.text, (long long)event->tag_name.at_ns);
    if (event->kind == EVENT_ANCHOR)
        buffer_printf(text, "anchor %lld %lld %lld", (long long)event->anchor.local_ns,
                      (long long)event->anchor.monotonic_ns, (long long)event->anchor.realtime_ns);
    if (event->kind == EVENT_COMMUNICATOR)
        describe_communicator(text, &event->communicator);
    if (event->kind == EVENT_PROCESS)
        describe_facts(text, &event->process);
    if (event->kind == EVENT_GROUP_STATUS)
        buffer_printf(text, "status of %s: %lld %lld %lld",
                      event->group_status.name ? event->group_status.name : "none",
                      (long long)event->group_status.enqueued, (long long)event->group_status.started,
                      (long long)event->group_status.completed);
    if (event->kind == EVENT_START_UP)
        buffer_printf(text, "made by %s in %lld",
                      event->start_up.function ? event->start_up.function : "none",
                      (long long)event->start_up.total_ns);
    if (event->kind == EVENT_WARNING)
        buffer_printf(text, "warning %d of %s at %lld: %s", (int)event->warning.kind,
                      event->warning.nic ? event->warning.nic : "none", (long long)event->warning.at_ns,
                      event->warning.text ? event->warning.text : "none");
    if (event->kind == EVENT_REGISTRATION)
        buffer_printf(text, "registration %d way %d at %llx of %lld function %d number %lld",
                      (int)event->registration.kind, (int)event->registration.way,
                      (unsigned long long)event->registration.address, (long long)event->registration.bytes,
                      (int)event->registration.function, (long long)event->registration.number);
    if (event->kind == EVENT_CALL_DESCRIPTION)
        buffer_printf(text, "call %s of %lld at %s, %lld bytes", event->call.name,
                      (long long)event->call.rank, event->call.source ? event->call.source : "none",
                      (long long)event->call.message_bytes);
    if (event->kind == EVENT_SAMPLE)
        buffer_printf(text, "sample %g %lld of %s", event->sample.busbw_gbs,
                      (long long)event->sample.duration_ns,
                      event->sample.communicator ? event->sample.communicator : "none");
    describe_node(text, event);
    if (event->kind == EVENT_LOSS)
        buffer_printf(text, "loss %lld %s", (long long)event->loss.events, event->loss.what);
}

void assert_same_events(const struct recording *left, const struct recording *right)
{
    struct buffer one = BUFFER_INIT;
    struct buffer other = BUFFER_INIT;
    assert_string_equal(left->dialect, right->dialect);
    for (size_t i = 0; i < left->event_count && i < right->event_count; i++) {
        describe_event(&one, &left->events[i]);
        describe_event(&other, &right->events[i]);
        assert_string_equal(one.data, other.data);
    }
    buffer_release(&one);
    buffer_release(&other);
    assert_int_equal(left->event_count, right->event_count);
    assert_int_equal(left->note_count, right->note_count);
    for (size_t i = 0; i < left->note_count; i++)
        assert_true(strcmp(left->notes[i].reason, right->notes[i].reason) == 0 &&
                    left->notes[i].offset == right->notes[i].offset);
}

char *bytes_of_file(const char *path, size_t *length)
{
    struct error error = ERROR_INIT;
    struct buffer all = BUFFER_INIT;
    struct input_line line;
    struct input *input = input_open(path, NULL, &error);
    assert_non_null(input);
    while (input_line(input, &line, &error) == 1) {
        assert_int_equal(buffer_append(&all, line.text, line.length), 0);
        if (line.ended)
            assert_int_equal(buffer_append_byte(&all, '\n'), 0);
    }
    assert_int_equal(error.depth, 0);
    input_close(input);
    *length = all.length;
    return buffer_detach(&all);
}
