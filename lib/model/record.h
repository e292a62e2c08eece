#ifndef NCCLPROF_MODEL_RECORD_H
#define NCCLPROF_MODEL_RECORD_H

#include "base/buffer.h"
#include "model/event.h"

/*
 * What the store keeps of events: a table for each kind, under the number of the kind. Files are written,
 * removed and renumbered, stores merged, and joins undone by this description (store/batch.h, store/insert.h,
 * store/unload.h, store/record_tables.h): a kind that is added to it takes part in all of these.
 *
 * A new kind takes
 * - lib/model/event.h: its struct, columns and enumerator, and a member of struct event
 * - lib/model/record.c: a line
 * - schemas/store/NNN_what.sql: its table, and one for rows that joins change (store/migrate.c says what a
 * new version of the schema takes)
 * - lib/format/foo: who makes such events
 * - a fixture that has some, and the outputs kept of it
 */

/* A kind for each way in which a column may be unknown, and for numbers that differ from store to store. */
enum field_kind {
    FIELD_RECORD,    /* the record itself, always the first column: its file's number and its ordinal there */
    FIELD_OPERATION, /* an operation of the same file, numbered in the same way; below 0: NULL */
    FIELD_PROCESS,
    FIELD_MEMBER,
    FIELD_WHOLE,    /* always known */
    FIELD_COUNT,    /* COUNT_UNKNOWN: NULL */
    FIELD_TIME,     /* TIME_UNKNOWN: NULL */
    FIELD_SOME,     /* 0: NULL */
    FIELD_FLAG,     /* 0 or 1 */
    FIELD_POSITIVE, /* a double; below 0: NULL */
    FIELD_TEXT,     /* NULL: NULL */
    FIELD_MADE      /* made of several members: enum made */
};

/* Values that store/batch.c makes. */
enum made { MADE_STATES, MADE_STEPS, MADE_WHAT, MADE_CALLS, MADE_GROUP };

/* A column of a table, and where in a struct event its value lies. */
struct record_field {
    const char *name;
    enum field_kind kind;
    unsigned short at; /* bytes; FIELD_MADE: enum made */
    unsigned short size_bytes;
};

struct record_table {
    const char *name;
    const struct record_field *fields;
    int field_count;
    /* The table in which joins keep rows as they were recorded before they change or remove them; NULL: none.
     */
    const char *kept;
    int is_put_back_by_joins; /* process by process (schemas/join); else store/recorded.h puts back all */
    const char *joined;       /* the table of what joins found out about each record, by its id; NULL: none */
};

extern const struct record_table record_tables[EVENT_TABLES];

/* Where a column stands, by its name; -1: there is none. */
int record_table_find(const struct record_table *table, const char *name);

/* Appends "a, b, c", the columns. -1 when memory is out. */
int record_table_put_columns(const struct record_table *table, struct buffer *sql);

/* The name of the table's id. */
const char *record_table_id(const struct record_table *table);

/* Whether the table has a column of this kind. */
int record_table_has(const struct record_table *table, enum field_kind kind);

#endif
