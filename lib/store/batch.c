/*
 * Turns the events of one file into batches of rows in memory, with numbers local to the file. insert.c
 * writes the batches into the store, in another thread.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/records.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Approximate size of a stored event without its texts and lists. */
enum { BATCH_ROW_BYTES = 64 };

/* An id in the store consists of the file's id and a 32-bit ordinal (schemas/store). */
static const int64_t MOST_RECORDS = INT64_C(0xffffffff);

void batch_init(struct batch *batch)
{
    *batch = (struct batch){.rows = {.bytes = BUFFER_INIT}};
}

void batch_release(struct batch *batch)
{
    free(batch->processes.items);
    free(batch->communicators.items);
    free(batch->members.items);
    free(batch->operations.items);
    free(batch->node_samples.items);
    rows_release(&batch->rows);
    batch_init(batch);
}

void batch_clear(struct batch *batch)
{
    batch->processes.count = batch->communicators.count = batch->members.count = 0;
    batch->operations.count = batch->node_samples.count = 0;
    rows_clear(&batch->rows);
}

size_t batch_size_bytes(const struct batch *batch)
{
    return batch->processes.count * sizeof *batch->processes.items +
           batch->communicators.count * sizeof *batch->communicators.items +
           batch->members.count * sizeof *batch->members.items +
           batch->operations.count * sizeof *batch->operations.items +
           batch->node_samples.count * sizeof *batch->node_samples.items + rows_size_bytes(&batch->rows);
}

void batch_builder_init(struct batch_builder *builder)
{
    *builder = (struct batch_builder){.packed = BUFFER_INIT, .last = {.member = -1}};
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
    block_writer_release(&builder->operations);
    buffer_release(&builder->packed);
    node_series_release(&builder->series);
    free(builder->known);
    builder->known = NULL;
}

/* Appends an uninitialised item to one of the batch's lists and returns it. NULL if memory is out. */
#define LIST_ADD(list)                                                                                   \
    (array_reserve((void **)&(list)->items, &(list)->capacity, (list)->count + 1, sizeof *(list)->items) \
         ? NULL                                                                                          \
         : &(list)->items[(list)->count++])

static const struct span absent = {.present = 0};

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
        if (!process || rows_put_text(&batch->rows, host, &process->host))
            return -1;
        process->pid = origin->pid;
        process->started_ns = origin->started_ns;
        return value;
    }
    return *number;
}

/* Emits the facts about the communicator that this origin gives and no earlier line gave. */
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
    if (!told || rows_put_text(&batch->rows, origin->communicator_name, &told->name))
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

/* Whether a record has the same member as the last one and no new facts about the communicator. */
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
    if (rows_put_text(&batch->rows, operation->tag, &row->tag) ||
        rows_put_text(&batch->rows, operation->source, &row->source))
        return -1;
    if (operation->kernel_channel_count == 0)
        return 0;
    size_t at = batch->rows.bytes.length;
    int64_t base_ns = or_zero(operation->device.begin_ns, operation->enqueue.begin_ns);
    int failed = pack_channels(&batch->rows.bytes, base_ns, operation->gpu_begin, operation->channels,
                               operation->kernel_channel_count);
    return rows_put_bytes(&batch->rows, at, failed, &row->channels);
}

/* Appends a decimal number. Faster than printf, because each file lists all ranks of the job. */
static int put_decimal(struct buffer *bytes, int64_t number)
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
    struct buffer *bytes = &batch->rows.bytes;
    size_t at = bytes->length;
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++)
        failed = buffer_append_byte(bytes, i ? ',' : '[') || put_decimal(bytes, members[i]);
    failed = failed || buffer_append_byte(bytes, ']');
    return rows_put_bytes(&batch->rows, at, failed, span);
}

/* Emits facts about a communicator as a whole, once. */
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
                   (description && rows_put_text(&batch->rows, facts->description, &told->description))
               ? -1
               : 0;
}

/* Appends the number of calls of each function. */
static int put_calls(struct buffer *bytes, const int64_t *calls)
{
    int failed = 0;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        failed = failed || varint_put(bytes, (uint64_t)calls[i]);
    return failed;
}

/* Computes a value that no single member holds; not present if there is nothing to store. */
static int make(struct batch *batch, const struct event *event, enum made made, struct span *span)
{
    const struct proxy_operation *proxy = &event->proxy;
    const struct call_description *call = &event->call;
    struct rows *rows = &batch->rows;
    size_t at = rows->bytes.length;
    int64_t base_ns = or_zero(proxy->progress.begin_ns, TIME_UNKNOWN);
    *span = absent;
    switch (made) {
    case MADE_STATES:
        return (proxy->has_states || proxy->origin_pid > 0) &&
               rows_put_bytes(rows, at, pack_states(&rows->bytes, base_ns, proxy), span);
    case MADE_STEPS:
        return proxy->steps_recorded > 0 &&
               rows_put_bytes(rows, at,
                              pack_steps(&rows->bytes, base_ns, proxy->steps, proxy->steps_recorded), span);
    case MADE_WHAT:
        return rows_put_text(rows, event->loss.what ? event->loss.what : "events", span);
    case MADE_CALLS:
        return event->registration.calls &&
               rows_put_bytes(rows, at, put_calls(&rows->bytes, event->registration.calls), span);
    case MADE_GROUP:
        return call->group_is_cut
                   ? rows_put_text(rows, "", span)
                   : call->group_count && put_members(batch, call->group, call->group_count, span);
    }
    return -1;
}

static int is_of_process(enum registration_kind kind)
{
    return kind == REGISTRATION_HOOK_ON || kind == REGISTRATION_HOOK_OFF;
}

/* A snapshot belongs to a process that it does not name. */
static int names_no_process(enum registration_kind kind)
{
    return kind == REGISTRATION_SNAPSHOT || kind == REGISTRATION_SEGMENT || kind == REGISTRATION_EXPANDABLE;
}

/* Whether a record belongs to a process; has_member: to a member. */
static int has_process(const struct event *event)
{
    int is_printed = !event->origin.host && event->origin.pid == COUNT_UNKNOWN;
    return event->kind == EVENT_REGISTRATION       ? !names_no_process(event->registration.kind)
           : event->kind == EVENT_CALL_DESCRIPTION ? !is_printed
                                                   : 1;
}

static int has_member(const struct event *event)
{
    int is_named = event->origin.communicator_hash != 0;
    switch (event->kind) {
    case EVENT_PROXY:
        return event->proxy.operation >= 0 || is_named;
    case EVENT_TAG:
        return !event->tag.process_wide;
    case EVENT_LOSS:
        return event->loss.is_total && is_named;
    case EVENT_REGISTRATION:
        return !names_no_process(event->registration.kind) && !is_of_process(event->registration.kind);
    default:
        return is_named && event->origin.rank >= 0;
    }
}

static int64_t whole_at(const struct event *event, const struct record_field *field)
{
    const char *at = (const char *)event + field->at;
    int64_t value;
    int narrow;
    if (field->size_bytes == sizeof value) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static void put_number(struct row *row, const struct event *event, const struct record_field *field)
{
    int64_t value = whole_at(event, field);
    double real;
    switch (field->kind) {
    case FIELD_OPERATION:
        row_integer_or_null(row, value < 0 ? -1 : value, -1);
        break;
    case FIELD_COUNT:
        row_integer_or_null(row, value, COUNT_UNKNOWN);
        break;
    case FIELD_TIME:
        row_integer_or_null(row, value, TIME_UNKNOWN);
        break;
    case FIELD_NOT_ZERO:
        row_integer_or_null(row, value, 0);
        break;
    case FIELD_POSITIVE:
        memcpy(&real, &value, sizeof real);
        if (real < 0)
            row_null(row);
        else
            row_real(row, real);
        break;
    default:
        row_integer(row, field->kind == FIELD_FLAG ? value != 0 : value);
    }
}

static int put_field(struct row *row, struct batch_builder *builder, struct batch *batch,
                     const struct event *event, const struct record_field *field)
{
    const char *text;
    struct span span;
    int64_t number;
    switch (field->kind) {
    case FIELD_PROCESS:
        number = has_process(event) ? find_process(builder, batch, &event->origin) : COUNT_UNKNOWN;
        row_integer_or_null(row, number, COUNT_UNKNOWN);
        return has_process(event) && number < 0;
    case FIELD_MEMBER:
        number = has_member(event) ? find_member(builder, batch, &event->origin) : COUNT_UNKNOWN;
        row_integer_or_null(row, number, COUNT_UNKNOWN);
        return has_member(event) && number < 0;
    case FIELD_TEXT:
        memcpy(&text, (const char *)event + field->at, sizeof text);
        return row_text(row, text);
    case FIELD_MADE:
        if (make(batch, event, field->at, &span))
            return -1;
        return row_span(row, field->at == MADE_WHAT || field->at == MADE_GROUP ? ROW_TEXT : ROW_BLOB, span);
    default:
        put_number(row, event, field);
        return 0;
    }
}

static int add_record(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    const struct record_table *table = &record_tables[event->kind];
    struct row row;
    builder->is_full |= builder->ordinals[event->kind] > MOST_RECORDS;
    if (builder->is_full || row_begin(&row, &batch->rows, event->kind))
        return -1;
    row_integer(&row, builder->ordinals[event->kind]++);
    for (int i = 1; i < table->field_count; i++)
        if (put_field(&row, builder, batch, event, &table->fields[i]))
            return -1;
    row_end(&row);
    return 0;
}

static int add_row(struct batch_builder *builder, struct batch *batch, const struct event *event)
{
    switch (event->kind) {
    case EVENT_OPERATION:
        return add_operation(builder, batch, event);
    case EVENT_COMMUNICATOR:
        return add_communicator(builder, batch, event);
    case EVENT_NODE_SAMPLE:
        builder->is_full |= builder->ordinals[EVENT_NODE_SAMPLE] > MOST_RECORDS;
        return builder->is_full || node_sample_add(builder, batch, &event->node_sample) ? -1 : 0;
    default:
        return add_record(builder, batch, event);
    }
}

/* Records that no line of the input stands for, so they are not counted as events. */
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
    builder->is_full |= event->kind == EVENT_OPERATION && event->operation.ordinal > MOST_RECORDS;
    size_t before = batch->rows.bytes.length;
    if (builder->is_full || add_row(builder, batch, event))
        return builder->is_full ? error_set(error, "one file contains more than 2^32 records of one kind")
                                : error_no_memory(error);
    builder->told_bytes += batch->rows.bytes.length - before + BATCH_ROW_BYTES;
    builder->events += !is_part;
    return 0;
}
