/*
 * The virtual tables operation, operation_join, instance and node_sample, through which SQL reads the rows of
 * packed blocks. They are read-only and need not be created: every connection that this library opens has
 * them. The first column is the id; then come columns of the block's own row, then those inside the block.
 * SQLite passes down equality of the id or the owner (member or communicator) and ranges of ids.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define NEAR(column) (1 + (column))

#define FAR_FROM_OTHERS(...)
#define NEAR_EARLIER(name, column, member, unknown, earlier) \
    [OPERATION_##name] = {.minus = NEAR(OPERATION_##earlier)},
#define OF_TYPE(name, column, kind) [OPERATION_##name] = {.type = BLOCK_##kind},

static const struct block_column operation_columns[OPERATION_COLUMNS] = {
    PACKED_OPERATION(FAR_FROM_OTHERS, FAR_FROM_OTHERS, NEAR_EARLIER, OF_TYPE)};

const struct block_layout operation_layout = {operation_columns, OPERATION_COLUMNS, OPERATION_COLUMNS_FIRST};

static const struct block_column joined_columns[JOINED_COLUMNS] = {
    [JOINED_TAG] = {.type = BLOCK_TEXT},
};

const struct block_layout joined_layout = {joined_columns, JOINED_COLUMNS, JOINED_COLUMNS};

static const struct block_column instance_columns[INSTANCE_COLUMNS] = {
    [INSTANCE_EFFECTIVE] = {.minus = NEAR(INSTANCE_TRANSFER)},
    [INSTANCE_TAG] = {.type = BLOCK_TEXT},
};

const struct block_layout instance_layout = {instance_columns, INSTANCE_COLUMNS, INSTANCE_COLUMNS};

static const struct block_column node_sample_columns[NODE_SAMPLE_COLUMNS] = {
    [NODE_SAMPLE_AT] = {.minus = NEAR(NODE_SAMPLE_BEGIN)},
};

const struct block_layout node_sample_layout = {node_sample_columns, NODE_SAMPLE_COLUMNS,
                                                NODE_SAMPLE_COLUMNS};

int stored_block_damaged(int64_t block_id, struct error *error)
{
    return error_set(error, "block %lld is damaged", (long long)block_id);
}

int stored_block_open(struct block_reader *reader, int64_t block_id, const void *packed, size_t length,
                      struct error *error)
{
    int no_memory;
    if (block_open(reader, packed, length, &no_memory) == 0)
        return 0;
    return no_memory ? error_no_memory(error) : stored_block_damaged(block_id, error);
}

int stored_block_unpack(struct block_reader *reader, int64_t block_id, const int *columns, size_t count,
                        struct error *error)
{
    int no_memory;
    for (size_t i = 0; i < count; i++)
        if (block_column(reader, columns[i], &no_memory))
            return no_memory ? error_no_memory(error) : stored_block_damaged(block_id, error);
    return 0;
}

static int is_id(const struct sqlite3_index_constraint *constraint, struct lookup_columns columns)
{
    return constraint->iColumn == 0 || (columns.rowid_is_id && constraint->iColumn < 0);
}

/* The bit of enum lookup_way for a constraint; 0 if it cannot be passed down. */
static int way_of(const struct sqlite3_index_constraint *constraint, struct lookup_columns columns)
{
    if (!constraint->usable)
        return 0;
    if (columns.owner && constraint->iColumn == columns.owner)
        return constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? LOOKUP_BY_OWNER : 0;
    if (!is_id(constraint, columns))
        return 0;
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return LOOKUP_BY_ID;
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_GT:
        return LOOKUP_FROM_ID;
    case SQLITE_INDEX_CONSTRAINT_LE:
    case SQLITE_INDEX_CONSTRAINT_LT:
        return LOOKUP_UP_TO_ID;
    default:
        return 0;
    }
}

int lookup_choose(sqlite3_index_info *info, struct lookup_columns columns)
{
    int chosen = 0, arguments = 0;
    for (int way = LOOKUP_BY_ID; way <= LOOKUP_BY_OWNER; way <<= 1)
        for (int i = 0; i < info->nConstraint && !(chosen & way); i++)
            if (way_of(&info->aConstraint[i], columns) == way) {
                chosen |= way;
                info->aConstraintUsage[i].argvIndex = ++arguments;
            }
    info->idxNum = chosen;
    return chosen;
}

int lookup_bind(sqlite3_stmt *source, int plan, int count, sqlite3_value **values)
{
    int code = SQLITE_OK;
    for (int way = 0, next = 0; way < LOOKUP_WAYS && next < count && code == SQLITE_OK; way++)
        if (plan & (1 << way))
            code = sqlite3_bind_value(source, way + 1, values[next++]);
    return code;
}

/* One of the virtual tables. */

struct packed_table {
    const char *name;
    const char *declaration;
    const struct block_layout *layout;
    const char *source; /* its columns: block_id, packed, then those with one value for all rows of a block */
    int shared;         /* number of columns with one value for all rows */
    int owner;          /* index of `owner_name` among the table's columns; 0: none */
    const char *owner_name;
    int ordered; /* blocks do not overlap, and their rows are sorted by id */
};

/* SQL types of the packed columns. */
#define SQL_INTEGER "INTEGER"
#define SQL_TEXT "TEXT"
#define SQL_BYTES "BLOB"
#define TYPED_COLUMN(name, column, type) ", " #column " " SQL_##type
#define INTEGER_COLUMN(name, column, ...) ", " #column " INTEGER"

static const struct packed_table tables[] = {
    {.name = "operation",
     .declaration = "CREATE TABLE operation (operation_id INTEGER, member_id INTEGER" PACKED_OPERATION(
         INTEGER_COLUMN, INTEGER_COLUMN, INTEGER_COLUMN, TYPED_COLUMN) ")",
     .layout = &operation_layout,
     .source = "SELECT block_id, packed, member_id FROM operation_block",
     .shared = 1,
     .owner = 1,
     .owner_name = "member_id"},
    {.name = "operation_join",
     .declaration =
         "CREATE TABLE operation_join (operation_id INTEGER, instance_id INTEGER, step INTEGER, tag TEXT)",
     .layout = &joined_layout,
     .source = "SELECT block_id, packed FROM operation_join_block"},
    {.name = "instance",
     .declaration =
         "CREATE TABLE instance (instance_id INTEGER, run_id INTEGER, communicator_id INTEGER, kind INTEGER,"
         "function INTEGER, sequence INTEGER, sender INTEGER, receiver INTEGER, size_bytes INTEGER,"
         "members INTEGER, expected INTEGER, transfer_ns INTEGER, effective_ns INTEGER,"
         "last_member_id INTEGER, margin_ns INTEGER, tag TEXT, step INTEGER)",
     .layout = &instance_layout,
     .source = "SELECT block_id, packed, run_id, communicator_id"
               " FROM instance_block JOIN communicator_join USING (communicator_id)",
     .shared = 2,
     .owner = 2,
     .owner_name = "communicator_id",
     .ordered = 1},
    {.name = "node_sample",
     .declaration = "CREATE TABLE node_sample (node_sample_id INTEGER, host TEXT, place INTEGER, device TEXT,"
                    "metric INTEGER, error_ns INTEGER, divisor INTEGER, begin_ns INTEGER, at_ns INTEGER,"
                    "value INTEGER)",
     .layout = &node_sample_layout,
     .source =
         "SELECT block_id, packed, host, place, device, metric, error_ns, divisor FROM node_sample_block",
     .shared = 6},
};

/* Columns of the source. */
enum { SOURCE_ID, SOURCE_PACKED, SOURCE_SHARED };

struct connected_table {
    sqlite3_vtab base;
    struct store *store;
    const struct packed_table *table;
};

struct packed_cursor {
    sqlite3_vtab_cursor base;
    const struct packed_table *table;
    sqlite3_stmt *source;
    int plan; /* plan of the source; -1: none */
    struct block_reader reader;
    int has_block; /* the reader has opened the block `block_id` */
    sqlite3_int64 block_id;
    sqlite3_int64 wanted_id; /* for LOOKUP_BY_ID */
    size_t row;
    int at_end;
};

/* Other programs that lack these tables show the names that the views use, which say what to do. */
#define PACKED_HINT " (packed; .load ncclprof_views.so, or use: ncclprof export --to sqlite)"
static const char computed_name[] =
    "computed by ncclprof (use: ncclprof query, or ncclprof export --to sqlite)";

/* The views of computed rows (schemas/view/verdict.sql) read nothing from their table, which may be any. */
static int is_named(const struct packed_table *table, const char *module)
{
    size_t length = strlen(table->name);
    return (strncmp(table->name, module, length) == 0 &&
            (!module[length] || strcmp(module + length, PACKED_HINT) == 0)) ||
           (table == tables && strcmp(module, computed_name) == 0);
}

static int packed_connect(sqlite3 *handle, void *context, int count, const char *const *words,
                          sqlite3_vtab **table, char **reason)
{
    struct connected_table *made = sqlite3_malloc(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    *made = (struct connected_table){.store = context};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (is_named(&tables[i], words[0]))
            made->table = &tables[i];
    if (!made->table) {
        sqlite3_free(made);
        return SQLITE_ERROR;
    }
    made->store->declares_table = 1;
    int code = sqlite3_declare_vtab(handle, made->table->declaration);
    made->store->declares_table = 0;
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(handle, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK) {
        sqlite3_free(made);
        return code;
    }
    *table = &made->base;
    return SQLITE_OK;
}

static int packed_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int packed_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct packed_table *table = ((struct connected_table *)base)->table;
    int chosen = lookup_choose(info, (struct lookup_columns){.owner = table->owner, .rowid_is_id = 1});
    double rows = chosen & LOOKUP_BY_ID ? 1 : chosen & LOOKUP_BY_OWNER ? 1e4 : chosen ? 1e6 : 1e7;
    info->estimatedRows = (sqlite3_int64)rows;
    info->estimatedCost = rows + 20;
    info->idxFlags = chosen & LOOKUP_BY_ID ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    info->orderByConsumed = table->ordered && !(chosen & LOOKUP_BY_OWNER) && info->nOrderBy == 1 &&
                            info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc;
    return SQLITE_OK;
}

static int packed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    struct packed_cursor *made = sqlite3_malloc(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    *made = (struct packed_cursor){.table = ((struct connected_table *)table)->table, .plan = -1};
    block_reader_init(&made->reader, made->table->layout);
    *cursor = &made->base;
    return SQLITE_OK;
}

static int packed_close(sqlite3_vtab_cursor *base)
{
    struct packed_cursor *cursor = (struct packed_cursor *)base;
    sqlite3_finalize(cursor->source);
    block_reader_release(&cursor->reader);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Unpacks a column unless that was done. */
static int need(struct packed_cursor *cursor, int column)
{
    int no_memory;
    if (cursor->reader.is_unpacked[column] || block_column(&cursor->reader, column, &no_memory) == 0)
        return SQLITE_OK;
    return no_memory ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
}

/* Moves to the first row of the next block. */
static int next_block(struct packed_cursor *cursor)
{
    int code = sqlite3_step(cursor->source), no_memory;
    cursor->has_block = 0;
    if (code != SQLITE_ROW) {
        cursor->at_end = 1;
        return code == SQLITE_DONE ? SQLITE_OK : code;
    }
    const void *packed = sqlite3_column_blob(cursor->source, SOURCE_PACKED);
    size_t length = (size_t)sqlite3_column_bytes(cursor->source, SOURCE_PACKED);
    if (block_open(&cursor->reader, packed, length, &no_memory))
        return no_memory ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
    cursor->block_id = sqlite3_column_int64(cursor->source, SOURCE_ID);
    cursor->row = 0;
    code = need(cursor, 0);
    cursor->has_block = code == SQLITE_OK;
    return code;
}

static sqlite3_int64 id_at(const struct packed_cursor *cursor, size_t row)
{
    return cursor->block_id + cursor->reader.values[0][row];
}

/*
 * Whether the open block contains the wanted id; sets `row`. First tries the row that the id has if no ids
 * are missing.
 */
static int find_in_block(struct packed_cursor *cursor)
{
    sqlite3_int64 at = cursor->wanted_id - cursor->block_id;
    if (!cursor->has_block || at < 0 || at >= BLOCK_SPAN)
        return 0;
    cursor->row = (size_t)at;
    if (cursor->row < cursor->reader.count && cursor->reader.values[0][cursor->row] == at)
        return 1;
    for (cursor->row = 0; cursor->row < cursor->reader.count; cursor->row++)
        if (cursor->reader.values[0][cursor->row] == at)
            return 1;
    return 0;
}

/* Searches the blocks, starting with the one whose id is nearest below the wanted id. */
static int packed_table_find_id(struct packed_cursor *cursor)
{
    int code = SQLITE_OK;
    while (code == SQLITE_OK && !cursor->at_end && !find_in_block(cursor))
        code = next_block(cursor);
    return code;
}

static int packed_next(sqlite3_vtab_cursor *base)
{
    struct packed_cursor *cursor = (struct packed_cursor *)base;
    if (cursor->plan & LOOKUP_BY_ID) {
        cursor->at_end = 1;
        return SQLITE_OK;
    }
    if (++cursor->row < cursor->reader.count)
        return SQLITE_OK;
    return next_block(cursor);
}

static int prepare(struct packed_cursor *cursor, int plan)
{
    struct store *store = ((struct connected_table *)cursor->base.pVtab)->store;
    sqlite3_finalize(cursor->source);
    cursor->source = NULL;
    cursor->plan = plan;
    char *owner = sqlite3_mprintf(plan & LOOKUP_BY_OWNER ? " AND %s = ?4" : "", cursor->table->owner_name);
    /* ?5 is the largest distance between the id of a row and that of its block. */
    char *sql = sqlite3_mprintf("%s WHERE 1%s%s%s%s%s", cursor->table->source,
                                plan & LOOKUP_BY_ID ? " AND block_id BETWEEN ?1 - ?5 AND ?1" : "",
                                plan & LOOKUP_FROM_ID ? " AND block_id >= ?2 - ?5" : "",
                                plan & LOOKUP_UP_TO_ID ? " AND block_id <= ?3" : "", owner ? owner : "",
                                plan & LOOKUP_BY_OWNER ? ""
                                : plan & LOOKUP_BY_ID  ? " ORDER BY block_id DESC"
                                                       : " ORDER BY block_id");
    int code =
        owner && sql ? sqlite3_prepare_v2(store->handle, sql, -1, &cursor->source, NULL) : SQLITE_NOMEM;
    sqlite3_free(owner);
    sqlite3_free(sql);
    return code;
}

/* Restarts the source with these arguments. */
static int start(struct packed_cursor *cursor, int plan, int count, sqlite3_value **values)
{
    int code = SQLITE_OK;
    cursor->has_block = 0;
    if (cursor->source && cursor->plan == plan)
        sqlite3_reset(cursor->source);
    else
        code = prepare(cursor, plan);
    if (code == SQLITE_OK)
        code = lookup_bind(cursor->source, plan, count, values);
    if (code == SQLITE_OK && plan & (LOOKUP_BY_ID | LOOKUP_FROM_ID))
        code = sqlite3_bind_int(cursor->source, LOOKUP_WAYS + 1, BLOCK_SPAN - 1);
    return code;
}

static int packed_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int count,
                         sqlite3_value **values)
{
    struct packed_cursor *cursor = (struct packed_cursor *)base;
    cursor->at_end = 0;
    /* Successive lookups from a joined table mostly hit the same block. */
    if (plan == LOOKUP_BY_ID) {
        cursor->wanted_id = sqlite3_value_int64(values[0]);
        if (cursor->plan == plan && find_in_block(cursor))
            return SQLITE_OK;
    }
    int code = start(cursor, plan, count, values);
    if (code != SQLITE_OK || !(plan & LOOKUP_BY_ID))
        return code == SQLITE_OK ? next_block(cursor) : code;
    cursor->wanted_id = sqlite3_value_int64(values[0]);
    return packed_table_find_id(cursor);
}

static int packed_eof(sqlite3_vtab_cursor *base)
{
    return ((struct packed_cursor *)base)->at_end;
}

static void put_text(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void put_bytes(sqlite3_context *context, const struct packed_cursor *cursor, int column)
{
    size_t length;
    const void *bytes = block_bytes(&cursor->reader, column, cursor->row, &length);
    if (bytes)
        sqlite3_result_blob64(context, bytes, length, SQLITE_TRANSIENT);
}

/* Returns a packed column to SQLite. */
static int put_packed(struct packed_cursor *cursor, sqlite3_context *context, int column)
{
    int code = need(cursor, column);
    if (code != SQLITE_OK || cursor->reader.absent[column][cursor->row])
        return code;
    enum block_type type = cursor->table->layout->columns[column].type;
    if (type == BLOCK_INTEGER)
        sqlite3_result_int64(context, cursor->reader.values[column][cursor->row]);
    else if (type == BLOCK_TEXT)
        put_text(context, block_text(&cursor->reader, column, cursor->row));
    else
        put_bytes(context, cursor, column);
    return SQLITE_OK;
}

static int packed_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct packed_cursor *cursor = (struct packed_cursor *)base;
    int shared = cursor->table->shared;
    if (column == 0)
        sqlite3_result_int64(context, id_at(cursor, cursor->row));
    else if (column <= shared)
        sqlite3_result_value(context, sqlite3_column_value(cursor->source, SOURCE_SHARED + column - 1));
    else
        return put_packed(cursor, context, column - shared);
    return SQLITE_OK;
}

static int packed_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    struct packed_cursor *cursor = (struct packed_cursor *)base;
    *row = id_at(cursor, cursor->row);
    return SQLITE_OK;
}

/* Without xCreate the table is eponymous only: nobody can create another one in the file. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = packed_connect,
    .xBestIndex = packed_best_index,
    .xDisconnect = packed_disconnect,
    .xDestroy = packed_disconnect,
    .xOpen = packed_open,
    .xClose = packed_close,
    .xFilter = packed_filter,
    .xNext = packed_next,
    .xEof = packed_eof,
    .xColumn = packed_column,
    .xRowid = packed_rowid,
};

int packed_tables_register(struct store *store, struct error *error)
{
    char name[128];
    for (size_t i = 0; i < 2 * (sizeof tables / sizeof *tables); i++) {
        snprintf(name, sizeof name, "%s%s", tables[i / 2].name, i % 2 ? PACKED_HINT : "");
        if (sqlite3_create_module_v2(store->handle, name, &module, store, NULL) != SQLITE_OK)
            return store_error(store, error, "cannot register table %s", name);
    }
    return 0;
}

int computed_table_register(struct store *store, struct error *error)
{
    if (sqlite3_create_module_v2(store->handle, computed_name, &module, store, NULL) != SQLITE_OK)
        return store_error(store, error, "cannot register table '%s'", computed_name);
    return 0;
}
