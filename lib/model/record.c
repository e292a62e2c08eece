#include "model/record.h"

#include <stddef.h>
#include <string.h>

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
#define SOME(name, member) FIELD(name, FIELD_SOME, member)
#define FLAG(name, member) FIELD(name, FIELD_FLAG, member)
#define TEXT(name, member) FIELD(name, FIELD_TEXT, member)
#define AT_OFFSET WHOLE("byte_offset", origin.offset)

/* Of a block of operations: store/batch_pack.c makes the rows. */
#define STORED_BLOCK                                                                              \
    ID("block_id"), OF_MEMBER, OF_NO_MEMBER("operations", FIELD_WHOLE, 0),                        \
        OF_NO_MEMBER("tagged", FIELD_WHOLE, 0), OF_NO_MEMBER("earliest_ns", FIELD_WHOLE, 0),      \
        OF_NO_MEMBER("latest_ns", FIELD_WHOLE, 0), OF_NO_MEMBER("greatest_peer", FIELD_COUNT, 0), \
        OF_NO_MEMBER("clock_distance_ns", FIELD_TIME, 0), OF_NO_MEMBER("packed", FIELD_MADE, 0)

#define TABLE(called, columns)                                          \
    .name = (called), .fields = (const struct record_field[]){columns}, \
    .field_count = sizeof((const struct record_field[]){columns}) / sizeof(struct record_field)

const struct record_table record_tables[EVENT_TABLES] = {
    [EVENT_OPERATION] = {TABLE("operation_block", STORED_BLOCK), .kept = "operation_recorded",
                         .is_put_back_by_joins = 1, .joined = "operation_join_block"},
    [EVENT_PROXY] = {TABLE("proxy_operation", STORED_PROXY), .kept = "proxy_recorded",
                     .is_put_back_by_joins = 1},
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
