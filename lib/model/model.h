#ifndef NCCLPROF_MODEL_MODEL_H
#define NCCLPROF_MODEL_MODEL_H

#include "base/base.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- table.c -------------------- */

/*
 * What an analysis hands to a renderer: typed columns with units and descriptions, rows of cells, warnings.
 * Analyses know nothing of renderers, renderers nothing of analyses; they meet here.
 */

enum cell_type { CELL_NULL = 0, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_JSON };

struct cell {
    enum cell_type type;
    union {
        int64_t integer;
        double real; /* not finite reads as null in JSON */
        char *
            text; /* CELL_TEXT: any bytes, hostile; CELL_JSON: a well-formed JSON value. Owned by the table */
    };
};

struct column {
    const char *name;    /* the JSON key: lower_case, unit in it (`_us`, `_bytes`, `_gbs`). Static or borrowed
                            for the table's life */
    enum cell_type type; /* what its cells are when not null */
    const char *unit;    /* "us", "bytes", "GB/s", NULL for none: shown in a table's head */
    const char *description;                    /* one sentence; NULL */
    int decimals;                               /* reals in a table for people */
    int hidden;                                 /* left out of a table for people, kept in JSON and CSV */
    int detail;                                 /* likewise where the table would be wider than its line */
    enum colour (*colour_of)(const char *text); /* of its texts on a terminal; NULL: none */
};

struct table {
    const char *command;    /* name of the analysis */
    const char *legend;     /* a line below a table for people; static; NULL */
    struct column *columns; /* owned array */
    size_t column_count;
    size_t column_capacity;
    struct cell *cells; /* owned, row after row */
    size_t row_count;
    size_t cell_capacity;
    char **warnings; /* owned */
    size_t warning_count;
    size_t warning_capacity;
    char **kept; /* owned, see table_keep_text */
    size_t kept_count;
    size_t kept_capacity;
};

void table_init(struct table *table, const char *command);
void table_release(struct table *table);

int table_add_column(struct table *table, struct column column, struct error *error);

/* All columns at once, from an array of `count`. */
int table_add_columns(struct table *table, const struct column *columns, size_t count, struct error *error);

/* A copy of `text` that lives as long as the table, for a column's name that is made up; NULL when memory is
 * out. */
const char *table_keep_text(struct table *table, const char *text);

/* A new row of nulls; its cells are filled in place by the setters below. -1 when memory is out. */
int table_add_row(struct table *table, struct error *error);

/* Set a cell of the last row. Text is copied; NULL text, COUNT_UNKNOWN-like absences are the caller's to
 * skip. */
void table_set_integer(struct table *table, size_t column, int64_t value);
void table_set_real(struct table *table, size_t column, double value);
int table_set_text(struct table *table, size_t column, const char *text, struct error *error);

const struct cell *table_cell(const struct table *table, size_t row, size_t column);

/* The column of that name; -1 when there is none. */
int table_find_column(const struct table *table, const char *name);

/* Leaves the rows that `is_kept` says, in their order. */
void table_keep_rows(struct table *table,
                     int (*is_kept)(const void *context, const struct table *table, size_t row),
                     const void *context);

/* Puts rows in the order of a column, upwards or downwards, equals as they were; nulls come last. -1 when
 * memory is out. */
int table_sort_rows(struct table *table, size_t column, int upwards, struct error *error);

/* Puts rows that have a value in a column before those that have none, either as they were. -1 when memory is
 * out. */
int table_lift_rows(struct table *table, size_t column, struct error *error);

int table_add_warning(struct table *table, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -------------------- column.c -------------------- */

/*
 * A short column of 64-bit integers, some of them perhaps absent, as bytes: the offsets from the least value,
 * or from the least step between neighbours, all of the fewest bytes that hold the greatest one. Every value
 * comes back exactly. Kept in stores, so the form never changes; a new one would have another number.
 *
 *     byte         form: 0 nothing present, 1 offsets, 2 differences; + 4: a bitmap of what is absent
 * follows;
 *                  + 16 x the bytes of each offset (0 to 8)
 *     [bitmap]     a bit a row, the least first, set where the value is absent
 *     numbers      form 1: the least value; form 2: the first value and the least difference (column.c)
 *     offsets      of what is present, little-endian; form 2 has one less
 */

/* Rows of a column at most. */
enum { COLUMN_ROWS = 256 };

/* -------------------- block.c -------------------- */

/*
 * Up to BLOCK_ROWS rows of one table as one run of bytes, column by column (column.c), so that what is alike
 * from row to row takes next to no room and a reader unpacks only the columns that it asks for. Any value may
 * be absent. Kept in stores: the forms never change.
 *
 *     number       2, the form (numbers as in column.c)
 *     number       rows
 *     number       columns; form 1 is without it and has those that its table had first
 *     columns      each a number, its length, and its bytes
 *     number       distinct texts, each a number, its length, and its bytes with a NUL behind them
 *     bytes        of the column of type BLOCK_BYTES, row after row
 */
enum { BLOCK_ROWS = COLUMN_ROWS, BLOCK_COLUMNS = 40 };

enum block_type {
    BLOCK_INTEGER,
    BLOCK_TEXT, /* without NULs inside */
    BLOCK_BYTES /* one column of a table at most */
};

struct block_column {
    enum block_type type;
    int minus; /* integers that lie near those of an earlier column, 1 + its number: kept as differences; 0 */
};

/*
 * The columns of a table, BLOCK_COLUMNS at most. They are part of what is kept: none is ever moved, and new
 * ones follow at the end. In a block that was made before there was a column all its values are absent.
 */
struct block_layout {
    const struct block_column *columns;
    size_t count;
    size_t first_count; /* when blocks were of form 1 */
};

/* Making a block, row by row. Values not set are absent. */
struct block_writer {
    const struct block_layout *layout;
    size_t count;
    int64_t *values; /* owned; [column][row], as is absent */
    uint8_t *absent;
    struct buffer texts;
    size_t text_count;
    size_t text_at[BLOCK_ROWS]; /* in `texts` */
    struct buffer bytes;
    int failed; /* memory ran out: told by block_pack */
};

/* -1 when memory is out; release it all the same. */
int block_writer_init(struct block_writer *writer, const struct block_layout *layout);
void block_writer_release(struct block_writer *writer);

/* Begins a row; at most BLOCK_ROWS between two block_pack. */
static inline void block_add_row(struct block_writer *writer)
{
    writer->count++;
}

/* What stands in the newest row. Each column once a row. NULL texts and bytes are absent. */
static inline void block_set(struct block_writer *writer, int column, int64_t value)
{
    size_t at = (size_t)column * BLOCK_ROWS + writer->count - 1;
    writer->values[at] = value;
    writer->absent[at] = 0;
}

void block_set_text(struct block_writer *writer, int column, const char *text);
void block_set_bytes(struct block_writer *writer, int column, const void *bytes, size_t length);

/* Appends the block to `buffer` and empties the writer. -1 when memory is, or was, out. */
int block_pack(struct block_writer *writer, struct buffer *buffer);

/* -------------------- vocabulary.c -------------------- */

/*
 * From the words that NCCL prints, in any of its spellings ("ncclAllReduce", "AllReduce"; "ncclFloat32";
 * "Ring", "RING"). `text` need not end in NUL. Unknown words give *_OTHER, an empty text *_UNKNOWN.
 */
enum function function_from_text(const char *text, size_t length);
enum datatype datatype_from_text(const char *text, size_t length);
enum algorithm algorithm_from_text(const char *text, size_t length);
enum protocol protocol_from_text(const char *text, size_t length);

/*
 * Of the name of a kernel on symmetric memory, from its function on: "AllReduce_RSxLD_AGxST_sum_f32(...)".
 * ALGORITHM_OTHER: it is none that is known.
 */
enum algorithm algorithm_from_symmetric_kernel(const char *text, size_t length);

/* ncclDataType_t as a number, as NCCL 2.23's profiler prints it. */
enum datatype datatype_from_nccl(int64_t number);

/* The canonical word; NULL for *_UNKNOWN and numbers out of range. */
const char *function_name(enum function function);
const char *datatype_name(enum datatype datatype);
const char *algorithm_name(enum algorithm algorithm);
const char *protocol_name(enum protocol protocol);

/* Bytes of one element; 0 when not known. */
int64_t datatype_bytes(enum datatype datatype);

/* Send and Recv; everything else that is known is a collective. */
int function_is_point_to_point(enum function function);

/*
 * True for AllReduce, AllGather, ReduceScatter, AlltoAll and Barrier: nobody finishes before everybody has
 * arrived, so that waiting can be read off durations. False for rooted functions and for unknown ones.
 */
int function_is_full_exchange(enum function function);

/*
 * The size S of nccl-tests' doc/PERFORMANCE.md in bytes: `bytes` is count x type size as the API got it
 * (per rank for AllGather, ReduceScatter, AlltoAll, Gather and Scatter), `ranks` the communicator's size.
 */
int64_t function_size_bytes(enum function function, int64_t bytes, int64_t ranks);

/* Bus bandwidth = algorithm bandwidth x this factor (same source). */
double function_busbw_factor(enum function function, int64_t ranks);

/* -------------------- record.c -------------------- */

/*
 * What the store keeps of events: a table for each kind, under the number of the kind. Files are written,
 * removed and renumbered, stores merged, and joins undone by this description (store/batch.h, store/insert.h,
 * store/unload.h, store/record_tables.h): a kind that is added to it takes part in all of these.
 *
 * A new kind takes
 * - lib/model/model.h: its struct, columns and enumerator, and a member of struct event
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

/* -------------------- block.c -------------------- */

/* Reading blocks of one layout, one at a time. */
struct block_reader {
    const struct block_layout *layout;
    size_t count;             /* rows */
    size_t columns;           /* that the block has, at most those of the layout */
    struct buffer packed;     /* its own copy of the block */
    size_t at[BLOCK_COLUMNS]; /* where each column stands in it, and how long it is */
    size_t length[BLOCK_COLUMNS];
    int64_t *values[BLOCK_COLUMNS]; /* owned; NULL until asked for once */
    uint8_t *absent[BLOCK_COLUMNS];
    size_t value_room[BLOCK_COLUMNS]; /* rows that those have room for */
    size_t absent_room[BLOCK_COLUMNS];
    uint8_t is_unpacked[BLOCK_COLUMNS];
    size_t text_count;
    size_t text_at[BLOCK_ROWS];
    size_t bytes_at; /* of the column of bytes */
};

void block_reader_init(struct block_reader *reader, const struct block_layout *layout);
void block_reader_release(struct block_reader *reader);

/* Takes a block, which is copied. -1: it was not made here, or memory is out (*no_memory tells). */
int block_open(struct block_reader *reader, const void *block, size_t length, int *no_memory);

/*
 * Unpacks a column, once. Afterwards values[column][row] and absent[column][row] are good; a text's value is
 * its number among the texts, bytes' value where they end. -1 as above.
 */
int block_column(struct block_reader *reader, int column, int *no_memory);

/* Of a column that is unpacked. The value, or `otherwise` where it is absent. */
static inline int64_t block_value(const struct block_reader *reader, int column, size_t row,
                                  int64_t otherwise)
{
    return reader->absent[column][row] ? otherwise : reader->values[column][row];
}

/* Borrowed until the next block_open; NULL where absent. Texts end in NUL, bytes' length goes to *length. */
const char *block_text(const struct block_reader *reader, int column, size_t row);
const void *block_bytes(const struct block_reader *reader, int column, size_t row, size_t *length);

/* -------------------- pack.c -------------------- */

/*
 * Compact byte forms of what an operation holds many of: kernel channels, proxy steps, proxy states. They are
 * kept in stores, so the forms never change; a new one would begin with another number. A value comes back
 * exactly, TIME_UNKNOWN and 0 included.
 *
 * Times are written as differences to a base that the caller keeps beside the blob (any time near the first
 * one; 0 does, at some bytes more) and has to give again when unpacking. Numbers are little-endian base-128,
 * signed ones folded (0, -1, 1, -2 ...). Appending functions return -1 when memory is out; the buffer is then
 * to be thrown away. Unpacking never reads outside the blob, whatever it holds, and returns -1 when the blob
 * was not made here.
 */

/* The kernel channels of an operation; `gpu_base` is any GPU clock value near theirs. */
int pack_channels(struct buffer *buffer, int64_t base_ns, uint64_t gpu_base,
                  const struct kernel_channel *channels, size_t count);

/* The steps of a proxy operation. */
int pack_steps(struct buffer *buffer, int64_t base_ns, const struct proxy_step *steps, size_t count);

/* The counters of API v1 to v3: reads and writes `state` of a proxy operation, nothing else. */
int pack_states(struct buffer *buffer, int64_t base_ns, const struct proxy_operation *proxy);
int unpack_states(const void *blob, size_t length, int64_t base_ns, struct proxy_operation *proxy);

/*
 * Reading a blob of channels or steps from front to back:
 *
 *     struct unpack unpack;
 *     struct proxy_step step;
 *     int more;
 *     if (unpack_steps(&unpack, blob, length, base_ns)) ... not ours
 *     while ((more = unpack_next_step(&unpack, &step)) == 1) ...
 *     if (more < 0) ... damaged
 *
 * The blob is borrowed until the last call. `left` is how many are still to come, a count that has been
 * checked against the blob's length and may serve for an allocation.
 */
struct unpack {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t left;
    int64_t time_ns; /* what the next difference counts from */
    uint64_t gpu;
    int64_t number; /* channel or step before */
    int receive_order;
};

int unpack_channels(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns,
                    uint64_t gpu_base);
int unpack_next_channel(struct unpack *unpack, struct kernel_channel *channel);

int unpack_steps(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns);
int unpack_next_step(struct unpack *unpack, struct proxy_step *step);

/* -------------------- column.c -------------------- */

/*
 * Numbers as little-endian base-128: seven bits a byte, the least first, the top bit set on all but the last.
 * Signed ones are folded (0, -1, 1, -2 ...). Putting returns -1 when memory is out. Getting moves *at past
 * the number, never beyond `end`, and returns -1 where none stands.
 */
int varint_put(struct buffer *buffer, uint64_t value);
int varint_put_signed(struct buffer *buffer, int64_t value);

/* The same into memory that has room for VARINT_BYTES; returns where the number ends. */
enum { VARINT_BYTES = 10 };

static inline char *varint_write(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(0x80 | (value & 0x7f));
    *at++ = (char)value;
    return at;
}

/* Byte by byte: near the end, and what has more than eight of them. */
int varint_get_slowly(const unsigned char **at, const unsigned char *end, uint64_t *value);

/* Eight bytes at once, as they are read seven times for each network step. */
static inline int varint_get(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *next = *at;
    if (end - next < 8)
        return varint_get_slowly(at, end, value);
    uint64_t bytes = (uint64_t)next[0] | (uint64_t)next[1] << 8 | (uint64_t)next[2] << 16 |
                     (uint64_t)next[3] << 24 | (uint64_t)next[4] << 32 | (uint64_t)next[5] << 40 |
                     (uint64_t)next[6] << 48 | (uint64_t)next[7] << 56;
    uint64_t last = ~bytes & 0x8080808080808080U;
    if (!last)
        return varint_get_slowly(at, end, value);
    /* All bits up to that of the last byte, and then groups of 7, 14 and 28 bits next to each other. */
    bytes &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7fU;
    bytes = (bytes & 0x007f007f007f007fU) | (bytes & 0x7f007f007f007f00U) >> 1;
    bytes = (bytes & 0x00003fff00003fffU) | (bytes & 0x3fff00003fff0000U) >> 2;
    *value = (bytes & 0x000000000fffffffU) | (bytes & 0x0fffffff00000000U) >> 4;
    *at = next + ((unsigned)__builtin_ctzll(last) + 1) / 8;
    return 0;
}

/* -------------------- vocabulary.c -------------------- */

/*
 * Calls of torch.distributed as descriptions of them (lit-gpt's monitor_collectives) count them, and what
 * NCCL gets of them.
 *
 * A description's message size leaves out what stays on the rank, and is one rank's: of reduce_scatter what
 * the rank keeps, of all_to_all what it sends to others, of gather and scatter what the root gets or sends.
 * Its bandwidth is message size / time, times (n-1)/n for all_gather and reduce_scatter and 2(n-1)/n for
 * all_reduce (the docstrings of monitor_collectives.py); of all_to_all that of all ranks together. So it is
 * nccl-tests' bus bandwidth, but an n-th of it for reduce_scatter, and n times it for all_to_all.
 */

struct call_kind {
    enum function function; /* of NCCL; FUNCTION_UNKNOWN: no call that is known */
    int is_barrier;         /* an AllReduce of one element, whatever its size */
};

/* Of a name as descriptions have it: "all_reduce", "reduce_scatter_tensor", "isend". */
struct call_kind call_kind_of(const char *name);

/* The message size of an operation of which NCCL got `bytes` (count x type size, as in function_size_bytes);
 * -1 where it cannot be kept. */
int64_t call_message_bytes(enum function function, int64_t bytes, int64_t ranks);

/* The same of an operation's size S (function_size_bytes). */
int64_t call_message_of_size(enum function function, int64_t size_bytes, int64_t ranks);

/* A description's bandwidth = message size / time x this factor. */
double call_bandwidth_factor(enum function function, int64_t ranks);

/* Whether an AllReduce of so many bytes may be a barrier. */
int call_may_be_barrier(int64_t bytes);

/*
 * A hash for a communicator of which a trace does not tell NCCL's own: of what it is called (NULL as "") and
 * of the global ranks in it, in order of the ranks in the communicator (NULL with count 0: not known). The
 * same for all who know the same of it, in every run and on every machine; never 0.
 */
uint64_t communicator_hash_of(const char *name, const int64_t *members, size_t count);

/*
 * Communicators made anew in mid-run (an in-process restart, a split done again) have other hashes and number
 * their operations from 0, but do the same work. One succeeds another when the same ranks are in it in the
 * same order and it was first used after the other was last used. Where several of the same ranks live side
 * by side, those made anew come in the order in which the earlier ones began.
 */
struct communicator_life {
    uint64_t members;   /* a digest of who is in it, in order */
    int64_t first_used; /* on one clock, or in one order, for all that have the same members */
    int64_t last_used;
};

/* Of each, the first one of its succession: itself where it succeeds none. -1 when memory is out. */
int succession_find(const struct communicator_life *lives, size_t count, int32_t *first_of);

/*
 * Tables of another program's database, as a format that needs them gets them (lib/format/format.h,
 * read_tables) from who can open it (lib/store/store.h). Hostile as all input.
 */
enum foreign_kind { FOREIGN_NULL = 0, FOREIGN_INTEGER, FOREIGN_TEXT, FOREIGN_BLOB };

struct foreign_value {
    enum foreign_kind
        kind; /* FOREIGN_NULL also where the table has no such column; a real is cut to an integer */
    int64_t integer;
    const char *bytes; /* of a text (followed by a NUL) or blob: borrowed until the next call */
    size_t length;
};

enum { FOREIGN_COLUMNS = 16 };

struct foreign_tables {
    void *context;
    /*
     * Begins to read these columns of a table, FOREIGN_COLUMNS at most, row by row as they lie in the file;
     * what was being read before is left. 1; 0 where there is no such table; -1 where it cannot be read.
     */
    int (*open)(void *context, const char *table, const char *const *columns, size_t count,
                struct error *error);
    /* The next row: a value for each column. 1; 0 at the end; -1 where the rest cannot be read. */
    int (*next)(void *context, struct foreign_value *values, struct error *error);
};

#endif
