/*
 * Inserts batches of rows (batch.c) into the store and translates the numbers of a file into ids of the
 * store. Also packs the operations of a batch into blocks.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Number of rows per bulk insert. */
enum { BULK_ROWS = 20 };

static const char *const lookup_sql[LOOKUPS] = {
    [FIND_PROCESS] = schema_ingest_write_find_process,
    [ADD_PROCESS] = schema_ingest_write_add_process,
    [FIND_COMMUNICATOR] = schema_ingest_write_find_communicator,
    [ADD_COMMUNICATOR] = schema_ingest_write_add_communicator,
    [UPDATE_COMMUNICATOR] = schema_ingest_write_tell_communicator,
    [FIND_MEMBER] = schema_ingest_write_find_member,
    [ADD_MEMBER] = schema_ingest_write_add_member,
    [ADD_FILE_MEMBER] = schema_ingest_write_add_file_member,
    [UPDATE_GREATEST_PEER] = schema_ingest_write_tell_peer,
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

/* Finds a row by the parameters bound to both statements, or adds it. Returns its id; -1 on error. */
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

static int bind_process_text(struct inserter *inserter, int parameter, const char *value, struct error *error)
{
    return statement_bind_text(inserter->lookups[FIND_PROCESS], parameter, value, error) ||
           statement_bind_text(inserter->lookups[FIND_PROCESS + 1], parameter, value, error);
}

static int append_id(int64_t **ids, size_t *count, size_t *capacity, int64_t id, struct error *error)
{
    if (array_reserve((void **)ids, capacity, *count + 1, sizeof **ids))
        return error_no_memory(error);
    (*ids)[(*count)++] = id;
    return 0;
}

/* If a format gives neither host nor pid, each file counts as one process. */
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
        if (bind_process_text(inserter, 1, file_set, error) || bind_process_text(inserter, 2, host, error) ||
            bind_both(inserter, FIND_PROCESS, 3, pid, error) ||
            bind_both(inserter, FIND_PROCESS, 4, process->started_ns, error))
            return -1;
        *id = find_or_add(inserter, FIND_PROCESS, error);
        if (*id < 0)
            return -1;
    }
    return append_id(&target->processes, &target->process_count, &target->process_capacity, *id, error);
}

/*
 * Communicator names are the same in many jobs, so the directory is made part of the hash. The path is taken
 * without its node, because the ranks of a job use the same directory on each node.
 */
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
    struct statement *tell = inserter->lookups[UPDATE_COMMUNICATOR];
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

/* The store's id for a number of the file. */
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

/* The rows outlive the execution of the statement, so SQLite need not copy. */
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

/* Binding can only fail if memory is out. */
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
    struct statement *tell = inserter->lookups[UPDATE_GREATEST_PEER];
    int of_member = record_table_find(&record_tables[EVENT_PROXY], "member_id"),
        peer = record_table_find(&record_tables[EVENT_PROXY], "peer");
    for (size_t i = 0; i < rows_count(rows, EVENT_PROXY); i++) {
        const struct row_cell *row = rows_at(rows, EVENT_PROXY, i);
        if (row[of_member].type == ROW_INTEGER && row[peer].type == ROW_INTEGER)
            hear_peer(&target->members[row[of_member].integer], row[peer].integer);
    }
    for (size_t i = 0; i < target->member_count; i++) {
        struct target_member *member = &target->members[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.*): without members the count is 0 */
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

/* An operation of the batch, for sorting. */
struct place {
    uint32_t member;
    uint32_t at; /* index in the batch's list */
    int64_t ordinal;
};

static int by_member(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->member != right->member)
        return left->member < right->member ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

static struct place place_of(const struct batch *batch, size_t at)
{
    const struct batch_operation *row = &batch->operations.items[at];
    return (struct place){row->member, (uint32_t)at, row->operation.ordinal};
}

static int is_ordered(const struct place *places, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_member(&places[i - 1], &places[i]) > 0)
            return 0;
    return 1;
}

/* Groups the operations by member, each group in the order of the batch. -1 if memory is out. */
static int group_by_member(const struct batch *batch, size_t members, struct place *places)
{
    size_t *next = array_new(members + 1, sizeof *next);
    if (!next)
        return -1;
    for (size_t i = 0; i < batch->operations.count; i++)
        next[batch->operations.items[i].member + 1]++;
    for (size_t i = 1; i < members; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < batch->operations.count; i++)
        places[next[batch->operations.items[i].member]++] = place_of(batch, i);
    free(next);
    return 0;
}

/* The operations by member and ordinal, the order that most batches have. NULL if memory is out. */
static struct place *order_by_member(const struct batch_builder *builder, const struct batch *batch)
{
    size_t count = batch->operations.count, members = builder->members.count;
    struct place *places = array_new(count, sizeof *places);
    for (size_t i = 0; places && i < count; i++)
        places[i] = place_of(batch, i);
    if (!places || is_ordered(places, count))
        return places;
    if (members <= count && group_by_member(batch, members, places)) {
        free(places);
        return NULL;
    }
    if (!is_ordered(places, count))
        array_sort(places, count, sizeof *places, by_member);
    return places;
}

/* Sets a value unless it equals `unknown`. */
static void set_known(struct block_writer *rows, int column, int64_t value, int64_t unknown)
{
    if (value != unknown)
        block_set(rows, column, value);
}

static int64_t flags_of(const struct operation *operation)
{
    return (operation->unfinished ? OPERATION_IS_UNFINISHED : 0) |
           (operation->graph_captured ? OPERATION_IS_CAPTURED : 0) |
           (operation->tag_is_number ? OPERATION_HAS_NUMBER : 0) |
           (operation->is_symmetric ? OPERATION_IS_SYMMETRIC : 0);
}

#define SET_ALWAYS(name, column, member) block_set(rows, OPERATION_##name, (int64_t)operation->member);
#define SET_KNOWN(name, column, member, unknown, ...) \
    set_known(rows, OPERATION_##name, (int64_t)operation->member, unknown);
#define SET_NOT(...)

static void add_row(struct block_writer *rows, const struct batch *batch, const struct batch_operation *row,
                    int64_t first)
{
    const struct operation *operation = &row->operation;
    block_add_row(rows);
    block_set(rows, OPERATION_ORDINAL, operation->ordinal - first);
    PACKED_OPERATION(SET_ALWAYS, SET_KNOWN, SET_KNOWN, SET_NOT)
    block_set_text(rows, OPERATION_TAG, rows_bytes(&batch->rows, row->tag));
    block_set(rows, OPERATION_FLAGS, flags_of(operation));
    block_set(rows, OPERATION_BYTE_OFFSET, (int64_t)row->offset);
    set_known(rows, OPERATION_TOLD_STEP, operation->told_step - 1, -1);
    set_known(rows, OPERATION_TOLD_SEQUENCE, operation->told_sequence - 1, -1);
    if (row->source.present)
        block_set_text(rows, OPERATION_SOURCE, rows_bytes(&batch->rows, row->source));
    block_set_bytes(rows, OPERATION_KERNEL_CHANNELS, rows_bytes(&batch->rows, row->channels),
                    row->channels.length);
}

/* The time when an operation was issued: begin of its call, or the earliest time in the record. */
static int64_t issued_ns(const struct operation *operation)
{
    const int64_t times[] = {operation->api.begin_ns, operation->enqueue.begin_ns, operation->device.begin_ns,
                             operation->device.end_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] != TIME_UNKNOWN)
            return times[i];
    return 0;
}

/* Summary of a block's operations, stored in its row. */
struct summary {
    int64_t operations;
    int64_t tagged;      /* operations with a tag */
    int64_t earliest_ns; /* of the times when they were issued */
    int64_t latest_ns;
    int64_t greatest_peer;     /* COUNT_UNKNOWN: no point-to-point operation */
    int64_t clock_distance_ns; /* least distance from GPU clock to host clock; TIME_UNKNOWN: no operation has
                                  both */
};

static void sum_up(struct summary *block, const struct batch_operation *row)
{
    const struct operation *operation = &row->operation;
    int64_t issued = issued_ns(operation), distance;
    if (block->operations++ == 0)
        block->earliest_ns = block->latest_ns = issued;
    block->tagged += row->tag.present;
    block->earliest_ns = issued < block->earliest_ns ? issued : block->earliest_ns;
    block->latest_ns = issued > block->latest_ns ? issued : block->latest_ns;
    if (operation->kind == OPERATION_POINT_TO_POINT && operation->peer > block->greatest_peer)
        block->greatest_peer = operation->peer;
    if (operation->device.begin_ns == TIME_UNKNOWN || operation->gpu_begin == 0 ||
        __builtin_sub_overflow(operation->device.begin_ns, (int64_t)operation->gpu_begin, &distance))
        return;
    if (block->clock_distance_ns == TIME_UNKNOWN || distance < block->clock_distance_ns)
        block->clock_distance_ns = distance;
}

/* Operations from `from` on that fit into one block: of one member, within BLOCK_SPAN ordinals. */
static size_t extent_of(const struct place *places, size_t count, size_t from)
{
    size_t to = from + 1;
    while (to < count && to - from < BLOCK_ROWS && places[to].member == places[from].member &&
           places[to].ordinal - places[from].ordinal < BLOCK_SPAN)
        to++;
    return to - from;
}

static int put_block(struct rows *rows, const struct place *first, const struct summary *block,
                     const struct buffer *packed)
{
    size_t at = rows->bytes.length;
    struct span span;
    struct row row;
    if (rows_put_bytes(rows, at, buffer_append(&rows->bytes, packed->data, packed->length), &span) ||
        row_begin(&row, rows, EVENT_OPERATION))
        return -1;
    row_integer(&row, first->ordinal);
    row_integer(&row, first->member);
    row_integer(&row, block->operations);
    row_integer(&row, block->tagged);
    row_integer(&row, block->earliest_ns);
    row_integer(&row, block->latest_ns);
    row_integer_or_null(&row, block->greatest_peer, COUNT_UNKNOWN);
    row_integer_or_null(&row, block->clock_distance_ns, TIME_UNKNOWN);
    if (row_span(&row, ROW_BLOB, span))
        return -1;
    row_end(&row);
    return 0;
}

static int pack_block(struct batch_builder *builder, struct batch *batch, const struct place *places,
                      size_t count)
{
    struct summary block = {.greatest_peer = COUNT_UNKNOWN, .clock_distance_ns = TIME_UNKNOWN};
    for (size_t i = 0; i < count; i++) {
        const struct batch_operation *row = &batch->operations.items[places[i].at];
        add_row(&builder->operations, batch, row, places[0].ordinal);
        sum_up(&block, row);
    }
    buffer_clear(&builder->packed);
    return block_pack(&builder->operations, &builder->packed) ||
                   put_block(&batch->rows, places, &block, &builder->packed)
               ? -1
               : 0;
}

int batch_pack(struct batch_builder *builder, struct batch *batch, struct error *error)
{
    if (node_samples_pack(builder, batch))
        return error_no_memory(error);
    if (batch->operations.count == 0)
        return 0;
    if (!builder->operations.values && block_writer_init(&builder->operations, &operation_layout))
        return error_no_memory(error);
    struct place *places = order_by_member(builder, batch);
    int failed = !places;
    for (size_t at = 0; at < batch->operations.count && !failed;) {
        size_t count = extent_of(places, batch->operations.count, at);
        failed = pack_block(builder, batch, places + at, count);
        at += count;
    }
    free(places);
    batch->operations.count = 0;
    return failed ? error_no_memory(error) : 0;
}
