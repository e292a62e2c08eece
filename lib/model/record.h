#ifndef NCCLPROF_MODEL_RECORD_H
#define NCCLPROF_MODEL_RECORD_H

#include "base/buffer.h"
#include "model/event.h"

/*
 * What the store keeps of events: a table for each kind, by the number of the kind. Files are written,
 * removed and numbered anew, stores merged, and joins undone by this description (store/batch.h,
 * store/insert.h, store/unload.h, store/record_tables.h), so that a kind that comes to it takes part in all
 * of that.
 *
 * One more kind takes six files: struct, columns and enumerator in model/event.h, a line in record.c, a table
 * in schemas/store, the reader in lib/format, a fixture, and ncclprof-store(5).
 */

/* A kind for each way in which a column may be unknown, and for what is another number in each store. */
enum field_kind {
    FIELD_RECORD,    /* of the record itself, which comes first: an id of its file and its ordinal there */
    FIELD_OPERATION, /* likewise of an operation of the same file; below 0: NULL */
    FIELD_PROCESS,
    FIELD_MEMBER,
    FIELD_WHOLE,    /* always known */
    FIELD_COUNT,    /* COUNT_UNKNOWN: NULL */
    FIELD_TIME,     /* TIME_UNKNOWN: NULL */
    FIELD_SOME,     /* 0: NULL */
    FIELD_FLAG,     /* 0 or 1 */
    FIELD_POSITIVE, /* a double; below 0: NULL */
    FIELD_TEXT,     /* NULL: NULL */
    FIELD_MADE      /* out of several members: enum made */
};

/* What store/batch.c makes. */
enum made { MADE_STATES, MADE_STEPS, MADE_WHAT, MADE_CALLS, MADE_GROUP };

/* A column of a table: where in a struct event its value lies. */
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
    /* The table that keeps rows as they were recorded, after a join has changed or removed them; NULL: joins
     * leave rows as they are, or say only of which process they are, until the file goes. */
    const char *kept;
    int is_put_back_by_joins; /* by process, as schemas/join says; else all at once: store/recorded.h */
    const char *joined;       /* a table of what joins made of records, by their ids; NULL */
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
