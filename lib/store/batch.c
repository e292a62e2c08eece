#include "store/batch.h"

#include "base/array.h"
#include "model/pack.h"
#include "model/varint.h"

#include <stdlib.h>
#include <string.h>

/* An id in the store is a file's number and an ordinal of 32 bits (schemas/store). */
static const int64_t MOST_RECORDS = INT64_C(0xffffffff);

void batch_init(struct batch *batch)
{
    *batch = (struct batch){.bytes = BUFFER_INIT, .packed = BUFFER_INIT};
}

void batch_release(struct batch *batch)
{
    free(batch->processes.items);
    free(batch->communicators.items);
    free(batch->members.items);
    free(batch->operations.items);
    free(batch->blocks.items);
    free(batch->proxies.items);
    free(batch->tags.items);
    free(batch->tag_names.items);
    free(batch->anchors.items);
    free(batch->losses.items);
    free(batch->facts.items);
    free(batch->statuses.items);
    free(batch->starts.items);
    free(batch->warnings.items);
    free(batch->registrations.items);
    free(batch->calls.items);
    free(batch->samples.items);
    buffer_release(&batch->bytes);
    buffer_release(&batch->packed);
    batch_init(batch);
}

void batch_clear(struct batch *batch)
{
    batch->processes.count = batch->communicators.count = batch->members.count = 0;
    batch->operations.count = batch->blocks.count = batch->proxies.count = batch->tags.count = 0;
    batch->tag_names.count = 0;
    batch->anchors.count = batch->losses.count = batch->facts.count = batch->statuses.count = 0;
    batch->starts.count = batch->warnings.count = 0;
    batch->registrations.count = 0;
    batch->calls.count = batch->samples.count = 0;
    buffer_clear(&batch->bytes);
    buffer_clear(&batch->packed);
}

size_t batch_size_bytes(const struct batch *batch)
{
    return batch->processes.count * sizeof *batch->processes.items +
           batch->communicators.count * sizeof *batch->communicators.items +
           batch->members.count * sizeof *batch->members.items +
           batch->operations.count * sizeof *batch->operations.items +
           batch->blocks.count * sizeof *batch->blocks.items +
           batch->proxies.count * sizeof *batch->proxies.items +
           batch->tags.count * sizeof *batch->tags.items +
           batch->tag_names.count * sizeof *batch->tag_names.items +
           batch->anchors.count * sizeof *batch->anchors.items +
           batch->losses.count * sizeof *batch->losses.items +
           batch->facts.count * sizeof *batch->facts.items +
           batch->statuses.count * sizeof *batch->statuses.items +
           batch->starts.count * sizeof *batch->starts.items +
           batch->warnings.count * sizeof *batch->warnings.items +
           batch->registrations.count * sizeof *batch->registrations.items +
           batch->calls.count * sizeof *batch->calls.items +
           batch->samples.count * sizeof *batch->samples.items + batch->bytes.length + batch->packed.length;
}

const char *batch_bytes(const struct batch *batch, struct span span)
{
    return span.present ? batch->bytes.data + span.offset : NULL;
}

void batch_builder_init(struct batch_builder *builder)
{
    *builder = (struct batch_builder){.known = NULL, .last = {.member = -1}};
    intern_init(&builder->hosts);
    map_init(&builder->processes);
    map_init(&builder->communicators);
    map_init(&builder->members);
}

void batch_builder_release(struct batch_builder *builder)
{
    intern_release(&builder->hosts);
    map_release(&builder->processes);
    map_release(&builder->communicators);
    map_release(&builder->members);
    block_writer_release(&builder->rows);
    free(builder->known);
    builder->known = NULL;
}

/* A new item at the end of one of the batch's lists, to be filled: it holds anything. NULL when memory is
 * out. */
#define LIST_ADD(list)                                                                                   \
    (array_reserve((void **)&(list)->items, &(list)->capacity, (list)->count + 1, sizeof *(list)->items) \
         ? NULL                                                                                          \
         : &(list)->items[(list)->count++])

static const struct span absent = {.present = 0};

int batch_put_text(struct batch *batch, const char *text, struct span *span)
{
    *span = (struct span){.offset = batch->bytes.length};
    if (!text)
        return 0;
    span->present = 1;
    span->length = strlen(text);
    return buffer_append(&batch->bytes, text, span->length + 1);
}

/* Closes a span of blob bytes that were appended since `offset`. */
static int put_blob(struct batch *batch, size_t offset, int failed, struct span *span)
{
    *span = (struct span){.offset = offset, .length = batch->bytes.length - offset, .present = 1};
    return failed || buffer_append_byte(&batch->bytes, '\0');
}

static int64_t find_process(struct batch_builder *builder, struct batch *batch, const struct origin *origin)
{
    const char *host = origin->host ? origin->host : "";
    int64_t host_number = intern_put(&builder->hosts, host, strlen(host));
    if (host_number < 0)
        return -1;
    int added;
    struct map_key key = {{(uint64_t)host_number, (uint64_t)origin->pid, (uint64_t)origin->started_ns}};
    int64_t *number = map_put(&builder->processes, key, (int64_t)builder->processes.count, &added);
    if (!number)
        return -1;
    if (added) {
        int64_t value = *number;
        struct batch_process *process = LIST_ADD(&batch->processes);
        if (!process || batch_put_text(batch, host, &process->host))
            return -1;
        process->pid = origin->pid;
        process->started_ns = origin->started_ns;
        return value;
    }
    return *number;
}

/* Hands on what this origin says of its communicator and no line before did. */
static int tell_communicator(struct batch_builder *builder, struct batch *batch, uint32_t number, int is_new,
                             const struct origin *origin)
{
    struct batch_communicator *known = &builder->known[number];
    int name = origin->communicator_name && !known->name.present;
    int size = origin->communicator_size > 0 && known->size == 0;
    int nodes = origin->node_count > 0 && known->node_count == 0;
    if (!is_new && !name && !size && !nodes)
        return 0;
    struct batch_communicator *told = LIST_ADD(&batch->communicators);
    if (!told || batch_put_text(batch, origin->communicator_name, &told->name))
        return -1;
    told->number = number;
    told->hash = origin->communicator_hash;
    told->is_named = origin->communicator_is_named;
    told->members = told->description = absent;
    told->size = origin->communicator_size > 0 ? origin->communicator_size : 0;
    told->node_count = origin->node_count > 0 ? origin->node_count : 0;
    known->name.present |= name;
    known->size = known->size ? known->size : told->size;
    known->node_count = known->node_count ? known->node_count : told->node_count;
    return 0;
}

static int64_t find_communicator(struct batch_builder *builder, struct batch *batch,
                                 const struct origin *origin)
{
    int added;
    struct map_key key = {{origin->communicator_hash}};
    int64_t *found = map_put(&builder->communicators, key, (int64_t)builder->communicators.count, &added);
    if (!found)
        return -1;
    int64_t number = *found;
    if (added) {
        if (array_reserve((void **)&builder->known, &builder->known_capacity, (size_t)number + 1,
                          sizeof *builder->known))
            return -1;
        builder->known[number] = (struct batch_communicator){.number = (uint32_t)number};
    }
    return tell_communicator(builder, batch, (uint32_t)number, added, origin) ? -1 : number;
}

static int64_t look_member_up(struct batch_builder *builder, struct batch *batch, const struct origin *origin)
{
    int64_t process = find_process(builder, batch, origin);
    int64_t communicator = process < 0 ? -1 : find_communicator(builder, batch, origin);
    if (communicator < 0)
        return -1;
    int added;
    struct map_key key = {{(uint64_t)communicator, (uint64_t)process, (uint64_t)origin->rank}};
    int64_t *number = map_put(&builder->members, key, (int64_t)builder->members.count, &added);
    if (!number)
        return -1;
    if (added) {
        struct batch_member *member = LIST_ADD(&batch->members);
        if (!member)
            return -1;
        *member = (struct batch_member){
            .communicator = (uint32_t)communicator, .process = (uint32_t)process, .rank = origin->rank};
    }
    builder->last.communicator = (uint32_t)communicator;
    return *number;
}

/* Whether a record speaks of the same member as the last one, and says nothing new of its communicator. */
static int is_last_member(const struct batch_builder *builder, const struct origin *origin)
{
    if (builder->last.member < 0 || origin->communicator_hash != builder->last.hash ||
        origin->rank != builder->last.rank || origin->pid != builder->last.pid ||
        origin->started_ns != builder->last.started_ns ||
        strcmp(origin->host ? origin->host : "", intern_text(&builder->hosts, builder->last.host)) != 0)
        return 0;
    const struct batch_communicator *known = &builder->known[builder->last.communicator];
    return (!origin->communicator_name || known->name.present) &&
           (origin->communicator_size <= 0 || known->size) && (origin->node_count <= 0 || known->node_count);
}

static int64_t find_member(struct batch_builder *builder, struct batch *batch, const struct origin *origin)
{
    if (is_last_member(builder, origin))
        return builder->last.member;
    const char *host = origin->host ? origin->host : "";
    builder->last.member = look_member_up(builder, batch, origin);
    builder->last.hash = origin->communicator_hash;
    builder->last.rank = origin->rank;
    builder->last.pid = origin->pid;
    builder->last.started_ns = origin->started_ns;
    builder->last.host = builder->last.member < 0 ? 0 : intern_put(&builder->hosts, host, strlen(host));
    return builder->last.member;
}

static int64_t or_zero(int64_t first_ns, int64_t second_ns)
{
    return first_ns != TIME_UNKNOWN ? first_ns : second_ns != TIME_UNKNOWN ? second_ns : 0;
}

static int add_operation(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct operation *operation = &event->operation;
    int64_t member = find_member(builder, batch, &event->origin);
    struct batch_operation *row = member < 0 ? NULL : LIST_ADD(&batch->operations);
    if (!row)
        return -1;
    row->member = (uint32_t)member;
    row->offset = event->origin.offset;
    row->operation = *operation;
    row->channels = absent;
    if (batch_put_text(batch, operation->tag, &row->tag) ||
        batch_put_text(batch, operation->source, &row->source))
        return -1;
    if (operation->kernel_channel_count == 0)
        return 0;
    size_t at = batch->bytes.length;
    int64_t base_ns = or_zero(operation->device.begin_ns, operation->enqueue.begin_ns);
    int failed = pack_channels(&batch->bytes, base_ns, operation->gpu_begin, operation->channels,
                               operation->kernel_channel_count);
    return put_blob(batch, at, failed, &row->channels);
}

static int add_proxy(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct proxy_operation *proxy = &event->proxy;
    int64_t member = -1;
    if (proxy->operation >= 0 || event->origin.communicator_hash) {
        member = find_member(builder, batch, &event->origin);
        if (member < 0)
            return -1;
    }
    struct batch_proxy *row = LIST_ADD(&batch->proxies);
    if (!row)
        return -1;
    row->ordinal = builder->proxies++;
    row->member = member;
    row->offset = event->origin.offset;
    row->proxy = *proxy;
    row->states = row->steps = absent;
    int64_t base_ns = or_zero(proxy->progress.begin_ns, TIME_UNKNOWN);
    size_t at = batch->bytes.length;
    if (proxy->has_states && put_blob(batch, at, pack_states(&batch->bytes, base_ns, proxy), &row->states))
        return -1;
    at = batch->bytes.length;
    if (proxy->steps_recorded == 0)
        return 0;
    int failed = pack_steps(&batch->bytes, base_ns, proxy->steps, proxy->steps_recorded);
    return put_blob(batch, at, failed, &row->steps);
}

static int add_tag(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    int64_t process = find_process(builder, batch, &event->origin);
    int64_t member = -1;
    if (process >= 0 && !event->tag.process_wide) {
        member = find_member(builder, batch, &event->origin);
        if (member < 0)
            return -1;
    }
    struct batch_tag *row = process < 0 ? NULL : LIST_ADD(&batch->tags);
    if (!row)
        return -1;
    row->ordinal = builder->tags++;
    row->process = (uint32_t)process;
    row->member = member;
    row->tag = event->tag;
    return batch_put_text(batch, event->tag.text, &row->text);
}

static int add_tag_name(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    int64_t process = find_process(builder, batch, &event->origin);
    struct batch_tag_name *row = process < 0 ? NULL : LIST_ADD(&batch->tag_names);
    if (!row)
        return -1;
    row->ordinal = builder->tag_names++;
    row->process = (uint32_t)process;
    row->number = event->tag_name.number;
    row->at_ns = event->tag_name.at_ns;
    return batch_put_text(batch, event->tag_name.text, &row->text);
}

static int add_anchor(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    int64_t process = find_process(builder, batch, &event->origin);
    struct batch_anchor *row = process < 0 ? NULL : LIST_ADD(&batch->anchors);
    if (!row)
        return -1;
    row->ordinal = builder->anchors++;
    row->process = (uint32_t)process;
    row->anchor = event->anchor;
    return batch_put_text(batch, event->anchor.boot_id, &row->boot_id);
}

static int add_loss(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    int64_t process = find_process(builder, batch, &event->origin);
    int64_t member = -1;
    if (process >= 0 && event->loss.is_total && event->origin.communicator_hash) {
        member = find_member(builder, batch, &event->origin);
        if (member < 0)
            return -1;
    }
    struct batch_loss *row = process < 0 ? NULL : LIST_ADD(&batch->losses);
    if (!row)
        return -1;
    row->ordinal = builder->losses++;
    row->process = (uint32_t)process;
    row->member = member;
    row->is_total = event->loss.is_total;
    row->events = event->loss.events;
    return batch_put_text(batch, event->loss.what ? event->loss.what : "events", &row->what);
}

/* In decimal: of a job's ranks there are many, in each of its files. */
static int put_number(struct buffer *bytes, int64_t number)
{
    char digits[20], *end = digits + sizeof digits, *at = end;
    if (number < 0)
        return buffer_printf(bytes, "%lld", (long long)number);
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return buffer_append(bytes, at, (size_t)(end - at));
}

/* "[0,4,8]" */
static int put_members(struct batch *batch, const int64_t *members, size_t count, struct span *span)
{
    size_t at = batch->bytes.length;
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++)
        failed = buffer_append_byte(&batch->bytes, i ? ',' : '[') || put_number(&batch->bytes, members[i]);
    failed = failed || buffer_append_byte(&batch->bytes, ']');
    return put_blob(batch, at, failed, span);
}

/* What a communicator is as a whole is kept once. */
static int add_communicator(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    if (find_member(builder, batch, &event->origin) < 0)
        return -1;
    const struct communicator_facts *facts = &event->communicator;
    uint32_t number = builder->last.communicator;
    struct batch_communicator *known = &builder->known[number];
    int members = facts->member_count && !known->members.present;
    int description = facts->description && !known->description.present;
    if (!members && !description)
        return 0;
    struct batch_communicator *told = LIST_ADD(&batch->communicators);
    if (!told)
        return -1;
    *told = (struct batch_communicator){.number = number,
                                        .hash = event->origin.communicator_hash,
                                        .is_named = event->origin.communicator_is_named};
    known->members.present |= members;
    known->description.present |= description;
    return (members && put_members(batch, facts->members, facts->member_count, &told->members)) ||
                   (description && batch_put_text(batch, facts->description, &told->description))
               ? -1
               : 0;
}

/* The member that the origin names; -1 where it names none, -2 when memory is out. */
static int64_t named_member(struct batch_builder *builder, struct batch *batch, const struct origin *origin)
{
    if (!origin->communicator_hash || origin->rank < 0)
        return -1;
    int64_t member = find_member(builder, batch, origin);
    return member < 0 ? -2 : member;
}

static int add_status(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct group_status *status = &event->group_status;
    int64_t process = find_process(builder, batch, &event->origin);
    int64_t member = process < 0 ? -2 : named_member(builder, batch, &event->origin);
    struct batch_status *row = member < -1 ? NULL : LIST_ADD(&batch->statuses);
    if (!row)
        return -1;
    row->ordinal = builder->statuses++;
    row->process = (uint32_t)process;
    row->member = member;
    row->status = *status;
    return batch_put_text(batch, status->name, &row->name) ||
                   batch_put_text(batch, status->description, &row->description) ||
                   batch_put_text(batch, status->function, &row->function)
               ? -1
               : 0;
}

static int add_start(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    int64_t process = find_process(builder, batch, &event->origin);
    int64_t member = process < 0 ? -2 : named_member(builder, batch, &event->origin);
    struct batch_start *row = member < -1 ? NULL : LIST_ADD(&batch->starts);
    if (!row)
        return -1;
    row->ordinal = builder->starts++;
    row->process = (uint32_t)process;
    row->member = member;
    row->start = event->start_up;
    return batch_put_text(batch, event->start_up.function, &row->function);
}

static int add_warning(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct warning *warning = &event->warning;
    int64_t process = find_process(builder, batch, &event->origin);
    struct batch_warning *row = process < 0 ? NULL : LIST_ADD(&batch->warnings);
    if (!row)
        return -1;
    row->ordinal = builder->warnings++;
    row->process = (uint32_t)process;
    row->offset = event->origin.offset;
    row->warning = *warning;
    return batch_put_text(batch, warning->nic, &row->nic) ||
                   batch_put_text(batch, warning->peer, &row->peer) ||
                   batch_put_text(batch, warning->text, &row->text)
               ? -1
               : 0;
}

static int add_facts(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct process_facts *facts = &event->process;
    const char *const texts[FACT_TEXTS] = {[FACT_BUS_ID] = facts->gpu_bus_id,
                                           [FACT_SERIAL] = facts->gpu_serial,
                                           [FACT_NIC] = facts->nic,
                                           [FACT_HOST] = facts->host,
                                           [FACT_RANK_NAME] = facts->rank_name,
                                           [FACT_ADDRESS] = facts->address};
    int64_t process = find_process(builder, batch, &event->origin);
    int64_t member = process < 0 ? -2 : named_member(builder, batch, &event->origin);
    struct batch_fact *row = member < -1 ? NULL : LIST_ADD(&batch->facts);
    if (!row)
        return -1;
    row->ordinal = builder->facts++;
    row->process = (uint32_t)process;
    row->member = member;
    row->facts = *facts;
    for (int i = 0; i < FACT_TEXTS; i++)
        if (batch_put_text(batch, texts[i], &row->texts[i]))
            return -1;
    return 0;
}

/* How many calls of each function there had been. */
static int put_calls(struct batch *batch, const int64_t *calls, struct span *span)
{
    size_t at = batch->bytes.length;
    int failed = 0;
    *span = absent;
    for (int i = 0; calls && i < FUNCTION_COUNT; i++)
        failed = failed || varint_put(&batch->bytes, (uint64_t)calls[i]);
    return calls ? put_blob(batch, at, failed, span) : 0;
}

static int is_of_process(enum registration_kind kind)
{
    return kind == REGISTRATION_HOOK_ON || kind == REGISTRATION_HOOK_OFF;
}

/* A snapshot is of a process that it does not name. */
static int is_of_nobody(enum registration_kind kind)
{
    return kind == REGISTRATION_SNAPSHOT || kind == REGISTRATION_SEGMENT || kind == REGISTRATION_EXPANDABLE;
}

static int add_registration(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    enum registration_kind kind = event->registration.kind;
    int is_of_member = !is_of_nobody(kind) && !is_of_process(kind);
    int64_t process = is_of_nobody(kind) ? -1 : find_process(builder, batch, &event->origin);
    int64_t member = is_of_member && process >= 0 ? find_member(builder, batch, &event->origin) : -1;
    int is_found = (is_of_nobody(kind) || process >= 0) && (!is_of_member || member >= 0);
    struct batch_registration *row = is_found ? LIST_ADD(&batch->registrations) : NULL;
    if (!row)
        return -1;
    row->ordinal = builder->registrations++;
    row->process = process;
    row->member = member;
    row->registration = event->registration;
    return put_calls(batch, event->registration.calls, &row->calls);
}

static int add_call(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct call_description *call = &event->call;
    int is_printed = !event->origin.host && event->origin.pid == COUNT_UNKNOWN;
    int64_t process = is_printed ? -1 : find_process(builder, batch, &event->origin);
    struct batch_call *row = process < 0 && !is_printed ? NULL : LIST_ADD(&batch->calls);
    if (!row)
        return -1;
    row->ordinal = builder->calls++;
    row->process = process;
    row->offset = event->origin.offset;
    row->call = *call;
    row->group = absent;
    return batch_put_text(batch, call->name, &row->name) ||
                   batch_put_text(batch, call->source, &row->source) ||
                   batch_put_text(batch, call->gpu_serial, &row->gpu_serial) ||
                   batch_put_text(batch, call->vm, &row->vm) ||
                   batch_put_text(batch, call->correlation, &row->correlation) ||
                   (call->group_count && put_members(batch, call->group, call->group_count, &row->group)) ||
                   (call->group_is_cut && batch_put_text(batch, "", &row->group))
               ? -1
               : 0;
}

static int add_sample(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct metric_sample *sample = &event->sample;
    struct batch_sample *row = LIST_ADD(&batch->samples);
    if (!row)
        return -1;
    row->ordinal = builder->samples++;
    row->offset = event->origin.offset;
    row->sample = *sample;
    return batch_put_text(batch, sample->job, &row->job) || batch_put_text(batch, sample->node, &row->node) ||
                   batch_put_text(batch, sample->gpu, &row->gpu) ||
                   batch_put_text(batch, sample->communicator, &row->communicator) ||
                   batch_put_text(batch, sample->message_size, &row->message_size) ||
                   batch_put_text(batch, sample->tag, &row->tag)
               ? -1
               : 0;
}

static int add_row(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    switch (event->kind) {
    case EVENT_OPERATION:
        return add_operation(builder, batch, event);
    case EVENT_PROXY:
        return add_proxy(builder, batch, event);
    case EVENT_TAG:
        return add_tag(builder, batch, event);
    case EVENT_TAG_NAME:
        return add_tag_name(builder, batch, event);
    case EVENT_ANCHOR:
        return add_anchor(builder, batch, event);
    case EVENT_LOSS:
        return add_loss(builder, batch, event);
    case EVENT_COMMUNICATOR:
        return add_communicator(builder, batch, event);
    case EVENT_PROCESS:
        return add_facts(builder, batch, event);
    case EVENT_GROUP_STATUS:
        return add_status(builder, batch, event);
    case EVENT_START_UP:
        return add_start(builder, batch, event);
    case EVENT_WARNING:
        return add_warning(builder, batch, event);
    case EVENT_REGISTRATION:
        return add_registration(builder, batch, event);
    case EVENT_CALL_DESCRIPTION:
        return add_call(builder, batch, event);
    case EVENT_SAMPLE:
        return add_sample(builder, batch, event);
    }
    return 0;
}

/* What no line says by itself. */
static int is_mark(enum registration_kind kind)
{
    return kind == REGISTRATION_WATCHED || kind == REGISTRATION_SNAPSHOT || is_of_process(kind);
}

int batch_add(struct batch_builder *builder, struct batch *batch, const struct event *event,
              struct error *error)
{
    int is_part = event->kind == EVENT_COMMUNICATOR || event->kind == EVENT_PROCESS ||
                  event->kind == EVENT_GROUP_STATUS ||
                  (event->kind == EVENT_REGISTRATION && is_mark(event->registration.kind)) ||
                  (event->kind == EVENT_PROXY && event->proxy.continued);
    if (builder->proxies > MOST_RECORDS || builder->tags > MOST_RECORDS ||
        builder->tag_names > MOST_RECORDS || builder->warnings > MOST_RECORDS ||
        builder->registrations > MOST_RECORDS || builder->calls > MOST_RECORDS ||
        builder->samples > MOST_RECORDS ||
        (event->kind == EVENT_OPERATION && event->operation.ordinal > MOST_RECORDS))
        return error_set(error, "one file contains more than 2^32 records of one kind");
    size_t before = batch->bytes.length;
    if (add_row(builder, batch, event))
        return error_no_memory(error);
    builder->told_bytes += batch->bytes.length - before + BATCH_ROW_BYTES;
    builder->events += !is_part;
    return 0;
}
