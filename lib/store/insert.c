#include "store/insert.h"

#include "base/array.h"
#include "base/hash.h"
#include "schemas.h"
#include "store/internal.h"
#include "store/node_path.h"

#include <stdlib.h>
#include <string.h>

static const char *const lookup_sql[LOOKUPS] = {
    [FIND_PROCESS] = schema_ingest_write_find_process,
    [ADD_PROCESS] = schema_ingest_write_add_process,
    [FIND_COMMUNICATOR] = schema_ingest_write_find_communicator,
    [ADD_COMMUNICATOR] = schema_ingest_write_add_communicator,
    [TELL_COMMUNICATOR] = schema_ingest_write_tell_communicator,
    [FIND_MEMBER] = schema_ingest_write_find_member,
    [ADD_MEMBER] = schema_ingest_write_add_member,
    [ADD_FILE_MEMBER] = schema_ingest_write_add_file_member,
    [TELL_PEER] = schema_ingest_write_tell_peer,
};

static struct statement *prepare_bulk(struct store *store, enum event_kind kind, int rows,
                                      struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_printf(&sql, "INSERT INTO %s (", record_tables[kind].name) ||
                 record_table_put_columns(&record_tables[kind], &sql) ||
                 buffer_append_text(&sql, ") VALUES ");
    for (int row = 0; row < rows && !failed; row++) {
        failed = buffer_append_text(&sql, row ? ",(?" : "(?");
        for (int column = 1; column < record_tables[kind].field_count && !failed; column++)
            failed = buffer_append_text(&sql, ",?");
        failed = failed || buffer_append_byte(&sql, ')');
    }
    struct statement *statement = NULL;
    if (failed)
        error_no_memory(error);
    else
        statement = store_prepare(store, sql.data, error);
    buffer_release(&sql);
    return statement;
}

int inserter_init(struct inserter *inserter, struct store *store, struct error *error)
{
    *inserter = (struct inserter){.store = store};
    intern_init(&inserter->texts);
    map_init(&inserter->processes);
    map_init(&inserter->communicators);
    map_init(&inserter->members);
    for (int i = 0; i < LOOKUPS; i++)
        if (!(inserter->lookups[i] = store_prepare(store, lookup_sql[i], error)))
            return -1;
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        if (!(inserter->one[kind] = prepare_bulk(store, kind, 1, error)) ||
            !(inserter->many[kind] = prepare_bulk(store, kind, BULK_ROWS, error)))
            return -1;
    return 0;
}

void inserter_release(struct inserter *inserter)
{
    for (int i = 0; i < LOOKUPS; i++)
        statement_free(inserter->lookups[i]);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        statement_free(inserter->one[kind]);
        statement_free(inserter->many[kind]);
    }
    intern_release(&inserter->texts);
    inserter_forget(inserter);
}

void inserter_forget(struct inserter *inserter)
{
    map_release(&inserter->processes);
    map_release(&inserter->communicators);
    map_release(&inserter->members);
}

void insert_target_release(struct insert_target *target)
{
    free(target->processes);
    free(target->communicators);
    free(target->members);
    *target = (struct insert_target){.file_id = 0};
}

/* Finds a row by the parameters bound to both statements, or adds it. Returns its id, -1 on error. */
static int64_t find_or_add(struct inserter *inserter, enum lookup find, struct error *error)
{
    struct statement *statement = inserter->lookups[find];
    int found = statement_step(statement, error);
    if (found == 0) {
        statement = inserter->lookups[find + 1];
        found = statement_step(statement, error);
    }
    int64_t id = found == 1 ? statement_integer(statement, 0) : -1;
    statement_reset(statement);
    return id;
}

static int bind_both(struct inserter *inserter, enum lookup find, int parameter, int64_t value,
                     struct error *error)
{
    return statement_bind_integer(inserter->lookups[find], parameter, value, error) ||
           statement_bind_integer(inserter->lookups[find + 1], parameter, value, error);
}

static int bind_both_text(struct inserter *inserter, enum lookup find, int parameter, const char *value,
                          struct error *error)
{
    return statement_bind_text(inserter->lookups[find], parameter, value, error) ||
           statement_bind_text(inserter->lookups[find + 1], parameter, value, error);
}

static int append_id(int64_t **ids, size_t *count, size_t *capacity, int64_t id, struct error *error)
{
    if (array_reserve((void **)ids, capacity, *count + 1, sizeof **ids))
        return error_no_memory(error);
    (*ids)[(*count)++] = id;
    return 0;
}

/* A dialect that names neither host nor pid cannot tell processes apart: then each file is one. */
static int put_process(struct inserter *inserter, struct insert_target *target, const char *host,
                       const struct batch_process *process, struct error *error)
{
    int64_t pid = process->pid;
    const char *file_set = pid < 0 && !*host ? target->path : target->file_set;
    int64_t set_number = intern_put(&inserter->texts, file_set, strlen(file_set));
    int64_t host_number = intern_put(&inserter->texts, host, strlen(host));
    struct map_key key = {
        {(uint64_t)set_number, (uint64_t)host_number, (uint64_t)pid, (uint64_t)process->started_ns}};
    int added;
    int64_t *id = set_number < 0 || host_number < 0 ? NULL : map_put(&inserter->processes, key, -1, &added);
    if (!id)
        return error_no_memory(error);
    if (*id < 0) {
        if (bind_both_text(inserter, FIND_PROCESS, 1, file_set, error) ||
            bind_both_text(inserter, FIND_PROCESS, 2, host, error) ||
            bind_both(inserter, FIND_PROCESS, 3, pid, error) ||
            bind_both(inserter, FIND_PROCESS, 4, process->started_ns, error))
            return -1;
        *id = find_or_add(inserter, FIND_PROCESS, error);
        if (*id < 0)
            return -1;
    }
    return append_id(&target->processes, &target->process_count, &target->process_capacity, *id, error);
}

/* Of names that many jobs have: those of two directories are taken to be of two. The ranks of a job write
 * into the same one on each node. */
static uint64_t hash_in(const char *file_set, uint64_t named_hash)
{
    uint64_t hash = named_hash;
    for (const unsigned char *at = (const unsigned char *)node_path_plain(file_set); *at; at++)
        hash = hash_mix(hash, *at);
    return hash ? hash : 1;
}

static int64_t communicator_id(struct inserter *inserter, const struct insert_target *target, uint64_t hash,
                               struct error *error)
{
    int64_t file = hash == 0 ? target->file_id : 0;
    int64_t *id = map_put(&inserter->communicators, (struct map_key){{hash, (uint64_t)file}}, -1, NULL);
    if (!id)
        return error_no_memory(error);
    if (*id < 0) {
        if (bind_both(inserter, FIND_COMMUNICATOR, 1, (int64_t)hash, error) ||
            bind_both(inserter, FIND_COMMUNICATOR, 2, file, error))
            return -1;
        *id = find_or_add(inserter, FIND_COMMUNICATOR, error);
    }
    return *id;
}

static int bind_unless_0(struct statement *statement, int parameter, int64_t value, struct error *error)
{
    return value ? statement_bind_integer(statement, parameter, value, error)
                 : statement_bind_null(statement, parameter, error);
}

static int tell_communicator(struct inserter *inserter, int64_t id, const struct batch *batch,
                             const struct batch_communicator *communicator, struct error *error)
{
    struct statement *tell = inserter->lookups[TELL_COMMUNICATOR];
    if (!communicator->name.present && !communicator->size && !communicator->node_count &&
        !communicator->members.present && !communicator->description.present && !communicator->is_named)
        return 0;
    if (statement_bind_integer(tell, 1, id, error) ||
        statement_bind_text(tell, 2, rows_bytes(&batch->rows, communicator->name), error) ||
        bind_unless_0(tell, 3, communicator->size, error) ||
        bind_unless_0(tell, 4, communicator->node_count, error) ||
        statement_bind_text(tell, 5, rows_bytes(&batch->rows, communicator->members), error) ||
        statement_bind_text(tell, 6, rows_bytes(&batch->rows, communicator->description), error) ||
        bind_unless_0(tell, 7, communicator->is_named ? (int64_t)communicator->hash : 0, error))
        return -1;
    return statement_step(tell, error);
}

static int put_communicator(struct inserter *inserter, struct insert_target *target,
                            const struct batch *batch, const struct batch_communicator *communicator,
                            struct error *error)
{
    int is_named = communicator->is_named && communicator->hash;
    uint64_t hash = is_named ? hash_in(target->file_set, communicator->hash) : communicator->hash;
    int64_t id = communicator_id(inserter, target, hash, error);
    if (id < 0)
        return -1;
    if (communicator->number == target->communicator_count &&
        append_id(&target->communicators, &target->communicator_count, &target->communicator_capacity, id,
                  error))
        return -1;
    return tell_communicator(inserter, id, batch, communicator, error);
}

static int put_member(struct inserter *inserter, struct insert_target *target,
                      const struct batch_member *member, struct error *error)
{
    int64_t communicator = target->communicators[member->communicator];
    int64_t process = target->processes[member->process];
    struct map_key key = {{(uint64_t)communicator, (uint64_t)member->rank, (uint64_t)process}};
    int64_t *id = map_put(&inserter->members, key, -1, NULL);
    if (!id)
        return error_no_memory(error);
    if (*id < 0) {
        if (bind_both(inserter, FIND_MEMBER, 1, communicator, error) ||
            bind_both(inserter, FIND_MEMBER, 2, member->rank, error) ||
            bind_both(inserter, FIND_MEMBER, 3, process, error))
            return -1;
        *id = find_or_add(inserter, FIND_MEMBER, error);
        if (*id < 0)
            return -1;
    }
    struct statement *link = inserter->lookups[ADD_FILE_MEMBER];
    if (statement_bind_integer(link, 1, target->file_id, error) ||
        statement_bind_integer(link, 2, *id, error) || statement_step(link, error) < 0)
        return -1;
    if (array_reserve((void **)&target->members, &target->member_capacity, target->member_count + 1,
                      sizeof *target->members))
        return error_no_memory(error);
    target->members[target->member_count++] = (struct target_member){.id = *id, .greatest_peer = INT64_MIN};
    return 0;
}

/* What a number of the file's is in the store. */
static int64_t id_of(const struct insert_target *target, enum field_kind kind, int64_t number)
{
    switch (kind) {
    case FIELD_RECORD:
    case FIELD_OPERATION:
        return (int64_t)((uint64_t)target->file_id << 32 | (uint64_t)(target->first_ordinal + number));
    case FIELD_PROCESS:
        return target->processes[number];
    case FIELD_MEMBER:
        return target->members[number].id;
    default:
        return number;
    }
}

/* The rows outlive the statement's step, so SQLite need not copy. */
static int bind_cell(sqlite3_stmt *handle, int parameter, const struct rows *rows,
                     const struct row_cell *cell)
{
    switch (cell->type) {
    case ROW_INTEGER:
        return sqlite3_bind_int64(handle, parameter, cell->integer);
    case ROW_REAL:
        return sqlite3_bind_double(handle, parameter, cell->real);
    case ROW_TEXT:
        return sqlite3_bind_text64(handle, parameter, rows->bytes.data + cell->offset, cell->length,
                                   SQLITE_STATIC, SQLITE_UTF8);
    case ROW_BLOB:
        return sqlite3_bind_blob64(handle, parameter, rows->bytes.data + cell->offset, cell->length,
                                   SQLITE_STATIC);
    default:
        return sqlite3_bind_null(handle, parameter);
    }
}

/* Failures can only be lack of memory. */
static int bind_rows(sqlite3_stmt *handle, const struct rows *rows, const struct insert_target *target,
                     enum event_kind kind, size_t first, size_t count)
{
    const struct record_table *table = &record_tables[kind];
    const struct row_cell *cells = rows_at(rows, kind, first);
    int failed = 0;
    for (int i = 0; i < table->field_count * (int)count; i++) {
        struct row_cell cell = cells[i];
        if (cell.type == ROW_INTEGER)
            cell.integer = id_of(target, table->fields[i % table->field_count].kind, cell.integer);
        failed |= bind_cell(handle, i + 1, rows, &cell);
    }
    return failed ? -1 : 0;
}

static int put_rows(struct inserter *inserter, const struct insert_target *target, const struct rows *rows,
                    enum event_kind kind, struct error *error)
{
    size_t count = rows_count(rows, kind);
    for (size_t at = 0; at < count;) {
        size_t some = count - at >= BULK_ROWS ? BULK_ROWS : 1;
        struct statement *statement = some == 1 ? inserter->one[kind] : inserter->many[kind];
        if (bind_rows(statement->handle, rows, target, kind, at, some))
            return store_error(inserter->store, error, "cannot bind values for table %s",
                               record_tables[kind].name);
        if (statement_step(statement, error) < 0)
            return -1;
        at += some;
    }
    return 0;
}

static int put_names(struct inserter *inserter, struct insert_target *target, const struct batch *batch,
                     struct error *error)
{
    for (size_t i = 0; i < batch->processes.count; i++) {
        const struct batch_process *process = &batch->processes.items[i];
        if (put_process(inserter, target, rows_bytes(&batch->rows, process->host), process, error))
            return -1;
    }
    for (size_t i = 0; i < batch->communicators.count; i++)
        if (put_communicator(inserter, target, batch, &batch->communicators.items[i], error))
            return -1;
    for (size_t i = 0; i < batch->members.count; i++)
        if (put_member(inserter, target, &batch->members.items[i], error))
            return -1;
    return 0;
}

static void hear_peer(struct target_member *heard, int64_t peer)
{
    if (peer <= heard->greatest_peer)
        return;
    heard->greatest_peer = peer;
    heard->has_news = 1;
}

static int tell_peers(struct inserter *inserter, struct insert_target *target, const struct rows *rows,
                      struct error *error)
{
    struct statement *tell = inserter->lookups[TELL_PEER];
    int of_member = record_table_find(&record_tables[EVENT_PROXY], "member_id"),
        peer = record_table_find(&record_tables[EVENT_PROXY], "peer");
    for (size_t i = 0; i < rows_count(rows, EVENT_PROXY); i++) {
        const struct row_cell *row = rows_at(rows, EVENT_PROXY, i);
        if (row[of_member].type == ROW_INTEGER && row[peer].type == ROW_INTEGER)
            hear_peer(&target->members[row[of_member].integer], row[peer].integer);
    }
    for (size_t i = 0; i < target->member_count; i++) {
        struct target_member *member = &target->members[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.*): where there are no members, the count is 0 */
        if (member->has_news && (statement_bind_integer(tell, 1, target->file_id, error) ||
                                 statement_bind_integer(tell, 2, member->id, error) ||
                                 statement_bind_integer(tell, 3, member->greatest_peer, error) ||
                                 statement_step(tell, error) < 0))
            return -1;
        member->has_news = 0;
    }
    return 0;
}

int inserter_put(struct inserter *inserter, struct insert_target *target, const struct batch *batch,
                 struct error *error)
{
    if (put_names(inserter, target, batch, error))
        return -1;
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        if (put_rows(inserter, target, &batch->rows, kind, error))
            return -1;
    return tell_peers(inserter, target, &batch->rows, error);
}
