#ifndef NCCLPROF_MODEL_MODEL_H
#define NCCLPROF_MODEL_MODEL_H

#include "base/base.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- table.c -------------------- */

/*
 * The result of an analysis, as renderers take it: typed columns with units and descriptions, rows of cells,
 * and warnings. Analyses do not know the renderers, nor the other way round.
 */

enum cell_type { CELL_NULL = 0, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_JSON };

struct cell {
    enum cell_type type;
    union {
        int64_t integer;
        double real; /* NaN and infinity are written as null in JSON */
        char *text;  /* CELL_TEXT: any bytes, hostile; CELL_JSON: a valid JSON value. Owned by the table */
    };
};

struct column {
    const char *name;        /* the JSON key: lower case, with its unit (`_us`, `_bytes`, `_gbs`). Static, or
                                borrowed for the life of the table */
    enum cell_type type;     /* type of its cells that are not null */
    const char *unit;        /* "us", "bytes", "GB/s"; shown in the heading of a table; NULL: none */
    const char *description; /* one sentence; may be NULL */
    int decimals;            /* digits of a real after the point, in text tables */
    int hidden;              /* not shown in text tables, only in JSON and CSV */
    int detail;              /* not shown in a text table that would be wider than the terminal */
    int is_asked_for;        /* the user named it: shown in a text table even without values */
    enum colour (*colour_of)(const char *text); /* colour of a text on a terminal; NULL: none */
};

struct table {
    const char *command;    /* name of the analysis */
    const char *legend;     /* a line below a text table; static; may be NULL */
    struct column *columns; /* owned array */
    size_t column_count;
    size_t column_capacity;
    struct cell *cells; /* owned, row by row */
    size_t row_count;
    size_t cell_capacity;
    char **warnings; /* owned */
    size_t warning_count;
    size_t warning_capacity;
    size_t *command_begins; /* owned, per warning: where its command line begins; 0: it has none */
    size_t command_capacity;
    int is_of_one_run; /* all rows and warnings belong to one run: warnings do not name it */
    char **kept;       /* owned, see table_keep_text */
    size_t kept_count;
    size_t kept_capacity;
};

void table_init(struct table *table, const char *command);
void table_release(struct table *table);

int table_add_column(struct table *table, struct column column, struct error *error);

/* Adds all columns of an array. */
int table_add_columns(struct table *table, const struct column *columns, size_t count, struct error *error);

/* Copies `text` for the life of the table, for column names made at run time. NULL if memory is out. */
const char *table_keep_text(struct table *table, const char *text);

/* Adds a row of nulls, whose cells the setters below fill. -1 if memory is out. */
int table_add_row(struct table *table, struct error *error);

/* Set a cell of the last row. Text is copied. For a NULL text or an unknown value, do not call the setter. */
void table_set_integer(struct table *table, size_t column, int64_t value);
void table_set_real(struct table *table, size_t column, double value);
int table_set_text(struct table *table, size_t column, const char *text, struct error *error);

const struct cell *table_cell(const struct table *table, size_t row, size_t column);

/* The index of the column with that name; -1 if there is none. */
int table_find_column(const struct table *table, const char *name);

/* Removes the rows for which `is_kept` returns 0. The order stays. */
void table_keep_rows(struct table *table,
                     int (*is_kept)(const void *context, const struct table *table, size_t row),
                     const void *context);

/* Sorts the rows by a column, ascending if `upwards` is set. Stable; nulls come last. -1 if memory is out. */
int table_sort_rows(struct table *table, size_t column, int upwards, struct error *error);

/* Moves rows that have a value in the column before those that have none. Stable. -1 if memory is out. */
int table_put_nulls_last(struct table *table, size_t column, struct error *error);

/* Adds a warning. In a table of one run, "run N: " at its start is left out. */
int table_add_warning(struct table *table, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Ends the latest warning with ": " and a command line that a user can copy. Text output gives it a line of
 * its own, which is not broken.
 */
int table_add_command(struct table *table, const char *command, struct error *error);

/* -------------------- column.c -------------------- */

/*
 * The packed form of a column of 64-bit integers, some of them absent: offsets from the least value, or from
 * the least difference between neighbours, each in as many bytes as the largest offset needs. Values are
 * restored exactly. Stores contain this form, so it never changes; a new form gets a new number.
 *
 *     byte         form: 0 nothing present, 1 offsets, 2 differences; + 4: a bitmap of absent values follows;
 *                  + 16 x the bytes of each offset (0 to 8)
 *     [bitmap]     one bit per row, the lowest first, set if the value is absent
 *     numbers      form 1: the least value; form 2: the first value and the least difference (column.c)
 *     offsets      of the present values, little-endian; form 2 has one less
 */

/* Largest number of rows of a column. */
enum { COLUMN_ROWS = 256 };

/* -------------------- block.c -------------------- */

/*
 * Up to BLOCK_ROWS rows of one table, packed column by column (column.c): values that repeat from row to row
 * take almost no room, and a reader unpacks only the columns that it needs. Any value may be absent. Stores
 * contain these forms, so they never change.
 *
 *     number       2, the form (numbers as in column.c)
 *     number       rows
 *     number       columns; form 1 lacks this and has the first_count columns of its layout
 *     columns      each: a number, its length, and its bytes
 *     number       distinct texts; each: a number, its length, and its bytes followed by a NUL
 *     bytes        of the column of type BLOCK_BYTES, row by row
 */
enum { BLOCK_ROWS = COLUMN_ROWS, BLOCK_COLUMNS = 40 };

enum block_type {
    BLOCK_INTEGER,
    BLOCK_TEXT, /* contains no NUL */
    BLOCK_BYTES /* at most one column of a table */
};

struct block_column {
    enum block_type type;
    int minus; /* 1 + the number of an earlier column with similar values: the differences from it are stored;
                  0: none */
};

/*
 * The columns of a table, at most BLOCK_COLUMNS. Stored blocks depend on them: columns are never moved, and
 * new ones are added at the end. In a block from before a column was added, all its values are absent.
 */
struct block_layout {
    const struct block_column *columns;
    size_t count;
    size_t first_count; /* number of columns in blocks of form 1 */
};

/* Builds a block row by row. Values that are not set are absent. */
struct block_writer {
    const struct block_layout *layout;
    size_t count;
    int64_t *values; /* owned; [column][row], as is `absent` */
    uint8_t *absent;
    struct buffer texts;
    size_t text_count;
    size_t text_at[BLOCK_ROWS]; /* offset in `texts` */
    struct buffer bytes;
    int failed; /* memory ran out; block_pack reports it */
};

/* -1 if memory is out; call block_writer_release in any case. */
int block_writer_init(struct block_writer *writer, const struct block_layout *layout);
void block_writer_release(struct block_writer *writer);

/* Begins a row; at most BLOCK_ROWS rows before each block_pack. */
static inline void block_add_row(struct block_writer *writer)
{
    writer->count++;
}

/* Set a value of the newest row, once for each column. NULL texts and bytes are absent. */
static inline void block_set(struct block_writer *writer, int column, int64_t value)
{
    size_t at = (size_t)column * BLOCK_ROWS + writer->count - 1;
    writer->values[at] = value;
    writer->absent[at] = 0;
}

void block_set_text(struct block_writer *writer, int column, const char *text);
void block_set_bytes(struct block_writer *writer, int column, const void *bytes, size_t length);

/* Appends the block to `buffer` and empties the writer. -1 if memory is out now, or was out earlier. */
int block_pack(struct block_writer *writer, struct buffer *buffer);

/* -------------------- vocabulary.c -------------------- */

/*
 * Parse the words that NCCL prints, in all spellings ("ncclAllReduce", "AllReduce"; "ncclFloat32"; "Ring",
 * "RING"). `text` need not end in NUL. Unknown words give *_OTHER, an empty text *_UNKNOWN.
 */
enum function function_from_text(const char *text, size_t length);
enum datatype datatype_from_text(const char *text, size_t length);
enum algorithm algorithm_from_text(const char *text, size_t length);
enum protocol protocol_from_text(const char *text, size_t length);

/*
 * Parses the name of a symmetric-memory kernel, which begins with its function:
 * "AllReduce_RSxLD_AGxST_sum_f32(...)". ALGORITHM_OTHER if it is not a known one.
 */
enum algorithm algorithm_from_symmetric_kernel(const char *text, size_t length);

/* From the number of an ncclDataType_t, which the profiler of NCCL 2.23 prints. */
enum datatype datatype_from_nccl(int64_t number);

/* The canonical word; NULL for *_UNKNOWN and for numbers out of range. */
const char *function_name(enum function function);
const char *datatype_name(enum datatype datatype);
const char *algorithm_name(enum algorithm algorithm);
const char *protocol_name(enum protocol protocol);

/* Bytes per element; 0 if unknown. */
int64_t datatype_bytes(enum datatype datatype);

/* True for Send and Recv; every other known function is a collective. */
int function_is_point_to_point(enum function function);

/*
 * True for AllReduce, AllGather, ReduceScatter, AlltoAll and Barrier: no rank finishes before all have
 * arrived, so durations show the wait time. False for rooted functions and for unknown ones.
 */
int function_is_full_exchange(enum function function);

/* True for functions that send from or to one rank, the root. */
int function_has_root(enum function function);

/*
 * The size S in bytes as defined in nccl-tests' doc/PERFORMANCE.md. `bytes` is count x type size as passed to
 * the API (per rank for AllGather, ReduceScatter, AlltoAll, Gather and Scatter), `ranks` is the size of the
 * communicator.
 */
int64_t function_size_bytes(enum function function, int64_t bytes, int64_t ranks);

/* The factor that turns algorithm bandwidth into bus bandwidth (same source). */
double function_busbw_factor(enum function function, int64_t ranks);

/* -------------------- node.c -------------------- */

/* Names of enum node_place, node_metric and node_event_code; NULL for numbers out of range. */
const char *node_place_name(enum node_place place);
const char *node_metric_name(enum node_metric metric);
const char *node_event_name(enum node_event_code code);

/* The metric with that name; NODE_METRIC_OTHER if there is none. */
enum node_metric node_metric_of(const char *name);

/* Whether samples are increases in their interval (errors, bytes), not values that hold during it. */
int node_metric_is_counter(enum node_metric metric);

/* Whether a gauge, a total or an increase can have that value; not NaN. Readers count others in the ledger.
 */
int node_metric_can_be(enum node_metric metric, double value);

/* -------------------- record.c -------------------- */

/*
 * The record tables of the store, one for each kind of event, indexed by the kind. This description drives
 * how files are written, removed and renumbered, how stores are merged and how joins are undone (all in
 * lib/store). A kind that is added here takes part in all of these.
 * lib/model/record.c lists what a new kind takes.
 */

/*
 * The kinds of columns: which value stands for unknown (stored as NULL), and which numbers must be translated
 * from one store to another.
 */
enum field_kind {
    FIELD_RECORD, /* the id of the record, always the first column: the file's id and the record's ordinal in
                     the file */
    FIELD_OPERATION, /* id of an operation of the same file, formed in the same way; a negative ordinal: NULL
                      */
    FIELD_PROCESS,
    FIELD_MEMBER,
    FIELD_WHOLE,    /* always known */
    FIELD_COUNT,    /* COUNT_UNKNOWN: NULL */
    FIELD_TIME,     /* TIME_UNKNOWN: NULL */
    FIELD_NOT_ZERO, /* 0: NULL */
    FIELD_FLAG,     /* 0 or 1 */
    FIELD_POSITIVE, /* a double; negative: NULL */
    FIELD_TEXT,     /* NULL: NULL */
    FIELD_MADE      /* computed from several members: enum made */
};

/* Values that lib/store/batch.c computes. */
enum made { MADE_STATES, MADE_STEPS, MADE_WHAT, MADE_CALLS, MADE_GROUP };

/* A column of a table, and the position of its value in struct event. */
struct record_field {
    const char *name;
    enum field_kind kind;
    unsigned short at; /* offset in bytes; for FIELD_MADE an enum made */
    unsigned short size_bytes;
};

struct record_table {
    const char *name;
    const struct record_field *fields;
    int field_count;
    /* The table that saves rows as they were recorded before a join changes or removes them; NULL: none. */
    const char *kept;
    int is_restored_by_joins; /* joins restore the rows of each process themselves (schemas/join); else
                                 recorded_restore (lib/store/forget.c) restores all of them */
    const char *joined; /* table with the results of joins for each record, with the same ids; NULL: none */
};

extern const struct record_table record_tables[EVENT_TABLES];

/* The index of the column with that name; -1 if there is none. */
int record_table_find(const struct record_table *table, const char *name);

/* Appends the names of the columns: "a, b, c". -1 if memory is out. */
int record_table_put_columns(const struct record_table *table, struct buffer *sql);

/* The name of the id column. */
const char *record_table_id(const struct record_table *table);

/* Whether the table has a column of this kind. */
int record_table_has(const struct record_table *table, enum field_kind kind);

/* -------------------- block.c -------------------- */

/* Reads blocks of one layout, one at a time. */
struct block_reader {
    const struct block_layout *layout;
    size_t count;             /* rows */
    size_t columns;           /* columns in the block, at most those of the layout */
    struct buffer packed;     /* a copy of the block */
    size_t at[BLOCK_COLUMNS]; /* offset and length of each column in `packed` */
    size_t length[BLOCK_COLUMNS];
    int64_t *values[BLOCK_COLUMNS]; /* owned; NULL until first unpacked */
    uint8_t *absent[BLOCK_COLUMNS];
    size_t value_room[BLOCK_COLUMNS]; /* allocated rows of each */
    size_t absent_room[BLOCK_COLUMNS];
    size_t absent_rows[BLOCK_COLUMNS]; /* the first rows that were left absent, and are still */
    uint8_t is_unpacked[BLOCK_COLUMNS];
    size_t text_count;
    size_t text_at[BLOCK_ROWS];
    size_t bytes_at; /* offset of the bytes of the BLOCK_BYTES column */
};

void block_reader_init(struct block_reader *reader, const struct block_layout *layout);
void block_reader_release(struct block_reader *reader);

/* Opens a copy of a block. -1: it is not a valid block, or memory is out (*no_memory says which). */
int block_open(struct block_reader *reader, const void *block, size_t length, int *no_memory);

/*
 * Unpacks a column once. Afterwards values[column][row] and absent[column][row] are valid. The value of a
 * text is its index among the texts, that of bytes is their end offset. -1 as for block_open.
 */
int block_column(struct block_reader *reader, int column, int *no_memory);

/* The value in an unpacked column; `otherwise` if it is absent. */
static inline int64_t block_value(const struct block_reader *reader, int column, size_t row,
                                  int64_t otherwise)
{
    return reader->absent[column][row] ? otherwise : reader->values[column][row];
}

/*
 * The text or bytes in an unpacked column, borrowed until the next block_open; NULL if absent. Texts end in
 * NUL; block_bytes sets *length.
 */
const char *block_text(const struct block_reader *reader, int column, size_t row);
const void *block_bytes(const struct block_reader *reader, int column, size_t row, size_t *length);

/*
 * Appends a block to `renamed`, with each of its texts replaced by what `rename` returns (NULL: memory is
 * out). -1: it is not a valid block, or memory is out.
 */
int block_rename(const void *block, size_t length, const struct block_layout *layout,
                 const char *(*rename)(void *context, const char *text), void *context,
                 struct buffer *renamed);

/* -------------------- pack.c -------------------- */

/*
 * Compact encodings of what an operation has many of: kernel channels, proxy steps, proxy states. Stores
 * contain them, so an encoding never changes; a new one would begin with another number. Values are restored
 * exactly, including TIME_UNKNOWN and 0.
 *
 * Times are stored as differences from a base that the caller keeps beside the blob and passes again when
 * unpacking. The base is any time near the first one; 0 works but takes more bytes. Numbers are little-endian
 * base-128; signed numbers are zigzag-encoded (0, -1, 1, -2 ...). The pack functions return -1 if memory is
 * out, and the buffer must then be discarded. Unpacking never reads outside the blob, whatever it contains,
 * and returns -1 if it is not a valid blob.
 */

/* The kernel channels of an operation; `gpu_base` is any value of the GPU clock near theirs. */
int pack_channels(struct buffer *buffer, int64_t base_ns, uint64_t gpu_base,
                  const struct kernel_channel *channels, size_t count);

/* The network steps of a proxy operation. */
int pack_steps(struct buffer *buffer, int64_t base_ns, const struct proxy_step *steps, size_t count);

/*
 * The counters of profiler API v1 to v3: the `state` array of a proxy operation, and its origin, if it has
 * these, and nothing else.
 */
int pack_states(struct buffer *buffer, int64_t base_ns, const struct proxy_operation *proxy);
int unpack_states(const void *blob, size_t length, int64_t base_ns, struct proxy_operation *proxy);

/*
 * Reads a blob of channels or steps from front to back:
 *
 *     struct unpack unpack;
 *     struct proxy_step step;
 *     int more;
 *     if (unpack_steps(&unpack, blob, length, base_ns)) ... not ours
 *     while ((more = unpack_next_step(&unpack, &step)) == 1) ...
 *     if (more < 0) ... damaged
 *
 * The blob is borrowed until the last call. `left` is the number of items still to come; it was checked
 * against the length of the blob, so it is safe as the size of an allocation.
 */
struct unpack {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t left;
    int64_t time_ns; /* base of the next difference */
    uint64_t gpu;
    int64_t number; /* number of the previous channel or step */
    int receive_order;
};

int unpack_channels(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns,
                    uint64_t gpu_base);
int unpack_next_channel(struct unpack *unpack, struct kernel_channel *channel);

int unpack_steps(struct unpack *unpack, const void *blob, size_t length, int64_t base_ns);
int unpack_next_step(struct unpack *unpack, struct proxy_step *step);

/* -------------------- column.c -------------------- */

/*
 * Numbers as little-endian base-128: seven bits per byte, the lowest first, the top bit set in all bytes but
 * the last. Signed numbers are zigzag-encoded (0, -1, 1, -2 ...). The put functions return -1 if memory is
 * out. The get functions move *at past the number, never beyond `end`, and return -1 if there is no valid
 * number.
 */
int varint_put(struct buffer *buffer, uint64_t value);
int varint_put_signed(struct buffer *buffer, int64_t value);

/* Most bytes of a number. */
enum { VARINT_BYTES = 10 };

/* Writes a number to memory with room for VARINT_BYTES; returns the end of the number. */
static inline char *varint_write(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(0x80 | (value & 0x7f));
    *at++ = (char)value;
    return at;
}

/* Reads byte by byte: close to `end`, and numbers of more than four bytes. */
int varint_get_slowly(const unsigned char **at, const unsigned char *end, uint64_t *value);

/* Reads four bytes in one load; worth it because each network step needs seven calls. */
static inline int varint_get(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *next = *at;
    if (end - next < 4)
        return varint_get_slowly(at, end, value);
    uint32_t bytes =
        (uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24;
    uint32_t last = ~bytes & 0x80808080U;
    if (!last)
        return varint_get_slowly(at, end, value);
    /* Keep the bits up to the last byte of the number, then join the groups of seven bits. */
    bytes &= last ^ (last - 1);
    *value = (bytes & 0x7f) | (bytes & 0x7f00) >> 1 | (bytes & 0x7f0000) >> 2 | (bytes & 0x7f000000) >> 3;
    *at = next + ((unsigned)__builtin_ctz(last) + 1) / 8;
    return 0;
}

/* -------------------- vocabulary.c -------------------- */

/*
 * Calls of torch.distributed as printed call descriptions (lit-gpt's monitor_collectives) measure them,
 * compared with what NCCL receives.
 *
 * The message size of a description is that of one rank and leaves out data that stays on the rank: for
 * reduce_scatter the size that the rank keeps, for all_to_all what it sends to the others, for gather and
 * scatter what the root receives or sends. Its bandwidth is message size / time, times (n-1)/n for all_gather
 * and reduce_scatter and 2(n-1)/n for all_reduce (docstrings of monitor_collectives.py); for all_to_all it is
 * the sum over all ranks. So it equals the bus bandwidth of nccl-tests, except that it is 1/n of it for
 * reduce_scatter and n times it for all_to_all.
 */

struct call_kind {
    enum function function; /* NCCL's function; FUNCTION_UNKNOWN: not a known call */
    int is_barrier;         /* NCCL receives an AllReduce of one element, whatever the described size */
};

/* From a name in a description: "all_reduce", "reduce_scatter_tensor", "isend". */
struct call_kind call_kind_of(const char *name);

/*
 * The message size of an operation for which NCCL received `bytes` (count x type size, as in
 * function_size_bytes); -1 if it overflows.
 */
int64_t call_message_bytes(enum function function, int64_t bytes, int64_t ranks);

/* The same, from the size S of an operation (function_size_bytes). */
int64_t call_message_of_size(enum function function, int64_t size_bytes, int64_t ranks);

/* The factor in: a description's bandwidth = message size / time x factor. */
double call_bandwidth_factor(enum function function, int64_t ranks);

/* Whether an AllReduce of `bytes` bytes may be a barrier. */
int call_may_be_barrier(int64_t bytes);

/*
 * A hash for a communicator whose NCCL hash the trace does not give. It is made from the communicator's name
 * (NULL counts as "") and from the global ranks of its members, in order of the ranks in the communicator
 * (NULL with count 0: unknown). Every reader with the same facts gets the same hash, in every run and on
 * every machine; never 0.
 */
uint64_t communicator_hash_of(const char *name, const int64_t *members, size_t count);

/*
 * A communicator that is created again during a run (an in-process restart, a repeated split) has another
 * hash and counts its operations from 0 again, but does the same work. One communicator succeeds another if
 * it has the same ranks in the same order and was first used after the other was last used. If several
 * communicators of the same ranks exist at the same time, the new ones are matched to the old ones in the
 * order of first use.
 */
struct communicator_life {
    uint64_t members;   /* digest of its members, in order */
    int64_t first_used; /* on one clock, or in one order, for all communicators with the same members */
    int64_t last_used;
};

/*
 * Sets first_of[i] to the first communicator in the succession of i, which is i itself if it succeeds none.
 * -1 if memory is out.
 */
int succession_find(const struct communicator_life *lives, size_t count, int32_t *first_of);

/* -------------------- tag_stack.c -------------------- */

/* Tags inside the same number of others replace each other; deeper ones than this count as this deep. */
enum { TAG_DEPTH = 64 };

/* The tags that are set at a time: numbers of their texts, the innermost last. Starts with top = -1. */
struct tag_stack {
    int32_t top;
    int32_t texts[TAG_DEPTH];
};

/* Applies a mark to it: a tag that is set inside `depth` others, or the end of such a tag. */
void tag_stack_apply(struct tag_stack *stack, int64_t depth, int is_end, int32_t text);

/* The innermost tag; -1: none is set. */
int32_t tag_stack_innermost(const struct tag_stack *stack);

/*
 * Tables of another program's database, as a format that reads such databases (lib/format/format.h,
 * read_tables) gets them from the code that opens them (lib/store/foreign.c). The content is hostile, like
 * all input.
 */
enum foreign_kind { FOREIGN_NULL = 0, FOREIGN_INTEGER, FOREIGN_TEXT, FOREIGN_BLOB };

struct foreign_value {
    enum foreign_kind
        kind; /* FOREIGN_NULL also if the table lacks the column; a real is truncated to an integer */
    int64_t integer;
    const char *bytes; /* a text (followed by a NUL) or blob, borrowed until the next call */
    size_t length;
};

enum { FOREIGN_COLUMNS = 16 };

struct foreign_tables {
    void *context;
    /*
     * Starts to read these columns of a table, at most FOREIGN_COLUMNS, row by row in the order of the file.
     * Ends an earlier read. 1: started; 0: no such table; -1: the table cannot be read.
     */
    int (*open)(void *context, const char *table, const char *const *columns, size_t count,
                struct error *error);
    /* Reads the next row, one value per column. 1: a row; 0: no more; -1: the rest cannot be read. */
    int (*next)(void *context, struct foreign_value *values, struct error *error);
};

#endif
