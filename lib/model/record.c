/*
 * The record tables of the store: for each kind of event its table, the columns, and where in struct event
 * their values are. The store is written, merged and restored by this description (lib/store).
 *
 * A new kind takes
 * - lib/model/event.h: its struct and enumerator, and a member of struct event
 * - lib/model/record.c: its columns and a line
 * - schemas/store/NNN_what.sql: its table, and one for rows that joins change (lib/store/migrate.c says what
 *   a new version of the schema takes)
 * - lib/format/foo: a reader that produces such events
 * - a fixture that contains some, and its expected outputs
 */

#include "base/base.h"
#include "model/event.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STORED_PROXY                                                                                        \
    ID("proxy_operation_id"), FIELD("operation_id", FIELD_OPERATION, proxy.operation), OF_MEMBER,           \
        WHOLE("direction", proxy.direction), WHOLE("channel", proxy.channel), WHOLE("peer", proxy.peer),    \
        WHOLE("step_count", proxy.step_count), COUNT("chunk_bytes", proxy.chunk_bytes),                     \
        COUNT("transferred_bytes", proxy.transferred_bytes),                                                \
        TIME("schedule_begin_ns", proxy.schedule.begin_ns),                                                 \
        TIME("progress_begin_ns", proxy.progress.begin_ns), TIME("progress_end_ns", proxy.progress.end_ns), \
        AT_OFFSET, MADE("states", MADE_STATES), MADE("steps", MADE_STEPS),                                  \
        WHOLE("steps_recorded", proxy.steps_recorded), FLAG("continued", proxy.continued)

#define STORED_TAG                                                                                  \
    ID("tag_mark_id"), OF_PROCESS, OF_MEMBER, WHOLE("at_ns", tag.at_ns), WHOLE("depth", tag.depth), \
        FLAG("is_end", tag.is_end), TEXT("text", tag.text)

#define STORED_TAG_NAME                                                                             \
    ID("tag_name_id"), OF_PROCESS, WHOLE("number", tag_name.number), TIME("at_ns", tag_name.at_ns), \
        TEXT("text", tag_name.text)

#define STORED_ANCHOR                                                                       \
    ID("clock_anchor_id"), OF_PROCESS, WHOLE("local_ns", anchor.local_ns),                  \
        TIME("monotonic_ns", anchor.monotonic_ns), TIME("realtime_ns", anchor.realtime_ns), \
        TEXT("boot_id", anchor.boot_id)

#define STORED_LOSS                                                                              \
    ID("loss_id"), OF_PROCESS, MADE("what", MADE_WHAT), WHOLE("events", loss.events), OF_MEMBER, \
        FLAG("is_total", loss.is_total)

#define STORED_PROCESS                                                                                \
    ID("process_fact_id"), OF_PROCESS, OF_MEMBER, COUNT("global_rank", process.global_rank),          \
        COUNT("world_size", process.world_size), COUNT("local_rank", process.local_rank),             \
        COUNT("gpu", process.gpu), TEXT("gpu_bus_id", process.gpu_bus_id),                            \
        TEXT("gpu_serial", process.gpu_serial), TEXT("nic", process.nic), TEXT("host", process.host), \
        TEXT("rank_name", process.rank_name), TEXT("address", process.address)

#define STORED_GROUP_STATUS                                                                     \
    ID("group_status_id"), OF_PROCESS, OF_MEMBER, TEXT("name", group_status.name),              \
        TEXT("description", group_status.description), TEXT("function", group_status.function), \
        COUNT("enqueued", group_status.enqueued), COUNT("started", group_status.started),       \
        COUNT("completed", group_status.completed), COUNT("timed_out", group_status.timed_out), \
        TIME("at_ns", group_status.at_ns)

#define STORED_REGISTRATION                                                                           \
    ID("registration_id"), OF_PROCESS, OF_MEMBER, WHOLE("kind", registration.kind),                   \
        WHOLE("way", registration.way), SOME("address", registration.address),                        \
        SOME("bytes", registration.bytes), COUNT("device", registration.device),                      \
        COUNT("global_rank", registration.global_rank), TIME("from_ns", registration.alive.begin_ns), \
        TIME("to_ns", registration.alive.end_ns), SOME("function", registration.function),            \
        COUNT("number", registration.number), MADE("calls", MADE_CALLS)

#define STORED_START_UP                                                                            \
    ID("start_up_id"), OF_PROCESS, OF_MEMBER, TEXT("function", start_up.function),                 \
        SOME("parent_hash", start_up.parent_hash), TIME("begin_ns", start_up.begin_ns),            \
        TIME("end_ns", start_up.end_ns), FLAG("is_complete", start_up.is_complete),                \
        TIME("total_ns", start_up.total_ns), TIME("kernels_ns", start_up.parts_ns[START_KERNELS]), \
        TIME("allocation_ns", start_up.parts_ns[START_ALLOCATION]),                                \
        TIME("bootstrap_ns", start_up.parts_ns[START_BOOTSTRAP]),                                  \
        TIME("allgathers_ns", start_up.parts_ns[START_ALLGATHERS]),                                \
        TIME("topology_ns", start_up.parts_ns[START_TOPOLOGY]),                                    \
        TIME("graphs_ns", start_up.parts_ns[START_GRAPHS]),                                        \
        TIME("connections_ns", start_up.parts_ns[START_CONNECTIONS]),                              \
        TIME("rest_ns", start_up.parts_ns[START_REST])

#define STORED_WARNING                                                                             \
    ID("warning_id"), OF_PROCESS, WHOLE("kind", warning.kind), TIME("at_ns", warning.at_ns),       \
        COUNT("gpu", warning.gpu), WHOLE("calls", warning.calls), COUNT("status", warning.status), \
        TEXT("nic", warning.nic), TEXT("peer", warning.peer), TEXT("text", warning.text), AT_OFFSET

#define STORED_CALL                                                                                         \
    ID("call_description_id"), OF_PROCESS, WHOLE("rank", call.rank), TEXT("name", call.name),               \
        TEXT("source", call.source), COUNT("message_bytes", call.message_bytes),                            \
        COUNT("device", call.device), TIME("said_ns", call.said_ns), TEXT("gpu_serial", call.gpu_serial),   \
        TEXT("vm", call.vm), MADE("group_ranks", MADE_GROUP), COUNT("peer_rank", call.peer),                \
        COUNT("root_rank", call.root), TEXT("correlation_id", call.correlation), TIME("at_ns", call.at_ns), \
        AT_OFFSET

#define STORED_SAMPLE                                                                                   \
    ID("sample_id"), TIME("at_ns", sample.at_ns), TEXT("job", sample.job), TEXT("node", sample.node),   \
        TEXT("gpu", sample.gpu), TEXT("communicator", sample.communicator),                             \
        COUNT("node_count", sample.node_count), COUNT("rank_count", sample.rank_count),                 \
        COUNT("rank", sample.rank), WHOLE("function", sample.function),                                 \
        TEXT("message_size", sample.message_size), COUNT("least_bytes", sample.least_bytes),            \
        WHOLE("algorithm", sample.algorithm), WHOLE("protocol", sample.protocol),                       \
        FIELD("busbw_gbs", FIELD_POSITIVE, sample.busbw_gbs), COUNT("duration_ns", sample.duration_ns), \
        TEXT("tag", sample.tag), COUNT("sequence", sample.sequence), AT_OFFSET

#define STORED_NODE_EVENT                                                                                 \
    ID("node_event_id"), TEXT("host", node_event.host), WHOLE("place", node_event.place),                 \
        TEXT("device", node_event.device), WHOLE("code", node_event.code),                                \
        COUNT("number", node_event.number), TIME("at_ns", node_event.at_ns),                              \
        TIME("since_boot_ns", node_event.since_boot_ns), WHOLE("error_ns", node_event.error_ns),          \
        COUNT("pid", node_event.pid), TEXT("process", node_event.process), TEXT("text", node_event.text), \
        AT_OFFSET

#define STORED_NODE_FACT                                                                          \
    ID("node_fact_id"), TEXT("host", node_fact.host), TEXT("boot_id", node_fact.boot_id),         \
        COUNT("cores", node_fact.cores), COUNT("memory_bytes", node_fact.memory_bytes),           \
        TIME("monotonic_ns", node_fact.monotonic_ns), TIME("realtime_ns", node_fact.realtime_ns), \
        COUNT("gpu_index", node_fact.gpu_index), TEXT("gpu_bus_id", node_fact.gpu_bus_id),        \
        TEXT("gpu_uuid", node_fact.gpu_uuid), TEXT("gpu_name", node_fact.gpu_name), AT_OFFSET

#define FIELD(name, kind, member)                                                     \
    {                                                                                 \
        name, kind, offsetof(struct event, member), sizeof((struct event *)0)->member \
    }
#define OF_NO_MEMBER(name, kind, what) \
    {                                  \
        name, kind, what, 0            \
    }
#define ID(name) OF_NO_MEMBER(name, FIELD_RECORD, 0)
#define OF_PROCESS OF_NO_MEMBER("process_id", FIELD_PROCESS, 0)
#define OF_MEMBER OF_NO_MEMBER("member_id", FIELD_MEMBER, 0)
#define MADE(name, what) OF_NO_MEMBER(name, FIELD_MADE, what)
#define WHOLE(name, member) FIELD(name, FIELD_WHOLE, member)
#define COUNT(name, member) FIELD(name, FIELD_COUNT, member)
#define TIME(name, member) FIELD(name, FIELD_TIME, member)
#define SOME(name, member) FIELD(name, FIELD_NOT_ZERO, member)
#define FLAG(name, member) FIELD(name, FIELD_FLAG, member)
#define TEXT(name, member) FIELD(name, FIELD_TEXT, member)
#define AT_OFFSET WHOLE("byte_offset", origin.offset)

/* The row of a block of operations; lib/store/insert.c makes these rows. */
#define STORED_BLOCK                                                                              \
    ID("block_id"), OF_MEMBER, OF_NO_MEMBER("operations", FIELD_WHOLE, 0),                        \
        OF_NO_MEMBER("tagged", FIELD_WHOLE, 0), OF_NO_MEMBER("earliest_ns", FIELD_WHOLE, 0),      \
        OF_NO_MEMBER("latest_ns", FIELD_WHOLE, 0), OF_NO_MEMBER("greatest_peer", FIELD_COUNT, 0), \
        OF_NO_MEMBER("clock_distance_ns", FIELD_TIME, 0), OF_NO_MEMBER("packed", FIELD_MADE, 0)

/* The row of a block of samples of a node; lib/store/node_samples.c makes these rows. */
#define STORED_NODE_SAMPLES                                                                      \
    ID("block_id"), OF_NO_MEMBER("host", FIELD_WHOLE, 0), OF_NO_MEMBER("place", FIELD_WHOLE, 0), \
        OF_NO_MEMBER("device", FIELD_WHOLE, 0), OF_NO_MEMBER("metric", FIELD_WHOLE, 0),          \
        OF_NO_MEMBER("samples", FIELD_WHOLE, 0), OF_NO_MEMBER("earliest_ns", FIELD_TIME, 0),     \
        OF_NO_MEMBER("latest_ns", FIELD_TIME, 0), OF_NO_MEMBER("error_ns", FIELD_WHOLE, 0),      \
        OF_NO_MEMBER("divisor", FIELD_WHOLE, 0), OF_NO_MEMBER("packed", FIELD_MADE, 0)

#define TABLE(called, columns)                                          \
    .name = (called), .fields = (const struct record_field[]){columns}, \
    .field_count = sizeof((const struct record_field[]){columns}) / sizeof(struct record_field)

const struct record_table record_tables[EVENT_TABLES] = {
    [EVENT_OPERATION] = {TABLE("operation_block", STORED_BLOCK), .kept = "operation_recorded",
                         .is_restored_by_joins = 1, .joined = "operation_join_block"},
    [EVENT_PROXY] = {TABLE("proxy_operation", STORED_PROXY), .kept = "proxy_recorded",
                     .is_restored_by_joins = 1},
    [EVENT_TAG] = {TABLE("tag_mark", STORED_TAG)},
    [EVENT_TAG_NAME] = {TABLE("tag_name", STORED_TAG_NAME)},
    [EVENT_ANCHOR] = {TABLE("clock_anchor", STORED_ANCHOR)},
    [EVENT_LOSS] = {TABLE("loss", STORED_LOSS), .kept = "loss_recorded"},
    [EVENT_PROCESS] = {TABLE("process_fact", STORED_PROCESS), .kept = "process_fact_recorded"},
    [EVENT_GROUP_STATUS] = {TABLE("group_status", STORED_GROUP_STATUS), .kept = "group_status_recorded"},
    [EVENT_START_UP] = {TABLE("start_up", STORED_START_UP), .kept = "start_up_recorded"},
    [EVENT_WARNING] = {TABLE("warning", STORED_WARNING), .kept = "warning_recorded"},
    [EVENT_REGISTRATION] = {TABLE("registration", STORED_REGISTRATION), .kept = "registration_recorded"},
    [EVENT_CALL_DESCRIPTION] = {TABLE("call_description", STORED_CALL), .joined = "call_join"},
    [EVENT_SAMPLE] = {TABLE("sample", STORED_SAMPLE)},
    [EVENT_NODE_SAMPLE] = {TABLE("node_sample_block", STORED_NODE_SAMPLES)},
    [EVENT_NODE_EVENT] = {TABLE("node_event", STORED_NODE_EVENT)},
    [EVENT_NODE_FACT] = {TABLE("node_fact", STORED_NODE_FACT)},
};

int record_table_find(const struct record_table *table, const char *name)
{
    for (int i = 0; i < table->field_count; i++)
        if (strcmp(table->fields[i].name, name) == 0)
            return i;
    return -1;
}

int record_table_put_columns(const struct record_table *table, struct buffer *sql)
{
    int failed = 0;
    for (int i = 0; i < table->field_count; i++)
        failed |= buffer_append_text(sql, i ? ", " : "") || buffer_append_text(sql, table->fields[i].name);
    return failed ? -1 : 0;
}

const char *record_table_id(const struct record_table *table)
{
    return table->fields[0].name;
}

int record_table_has(const struct record_table *table, enum field_kind kind)
{
    for (int i = 0; i < table->field_count; i++)
        if (table->fields[i].kind == kind)
            return 1;
    return 0;
}
