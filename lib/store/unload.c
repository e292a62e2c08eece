#include "store/unload.h"

#include "base/array.h"
#include "base/ids.h"
#include "schemas.h"
#include "store/insert.h"
#include "store/internal.h"
#include "store/ledger.h"

#include <stdlib.h>
#include <string.h>

enum sentence { IS_THERE, LEDGER, PROCESSES, COMMUNICATORS, MEMBERS, SENTENCES };

static const char *const sentences[SENTENCES] = {
    [IS_THERE] = schema_ingest_unload_is_there,   [LEDGER] = schema_ingest_unload_ledger,
    [PROCESSES] = schema_ingest_unload_processes, [COMMUNICATORS] = schema_ingest_unload_communicators,
    [MEMBERS] = schema_ingest_unload_members,
};

/* Of these a join may have put others in the place of what was recorded. */
static const char *const recorded_tables[BULK_TABLES] = {
    [BULK_BLOCK] = "operation_recorded", [BULK_PROXY] = "proxy_recorded"};

enum { MOST_COLUMNS = 24 };

/* What of a column is another number in another store. */
enum meaning { AS_IT_IS, RECORD, PROCESS, MEMBER };

/* Ids of the store that is read, ascending; at the same place stands what the inserter counts. */
struct id_list {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

struct unloader {
    struct store *store;
    struct statement *statements[SENTENCES];
    struct statement *rows[BULK_TABLES];
    enum meaning meanings[BULK_TABLES][MOST_COLUMNS];
    struct batch names; /* of the file at hand */
    struct id_list processes;
    struct id_list communicators;
    struct id_list members;
    struct id_list peers; /* of each member; INT64_MIN: no traffic */
};

/* ---- files ---- */

static int take_text(struct statement *row, int column, char **text)
{
    const char *value = statement_text(row, column);
    *text = strdup(value ? value : "");
    return *text ? 0 : -1;
}

static int read_file(struct stored_files *files, struct statement *row, struct error *error)
{
    if (array_reserve((void **)&files->items, &files->capacity, files->count + 1, sizeof *files->items))
        return error_no_memory(error);
    struct stored_file *file = &files->items[files->count++];
    *file = (struct stored_file){.id = statement_integer(row, 0),
                                 .bytes = statement_integer(row, 6),
                                 .unpacked_bytes = statement_integer(row, 7),
                                 .events = statement_integer(row, 9),
                                 .skipped = statement_integer(row, 10),
                                 .modified_ns = statement_integer(row, 11)};
    const char *status = statement_text(row, 8);
    file->is_open = status && strcmp(status, "open") == 0;
    return take_text(row, 1, &file->path) || take_text(row, 2, &file->file_set) ||
                   take_text(row, 3, &file->dialect) || take_text(row, 4, &file->digest) ||
                   (!statement_is_null(row, 5) && take_text(row, 5, &file->unpacked_digest))
               ? error_no_memory(error)
               : 0;
}

int stored_files_read(struct stored_files *files, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_ingest_unload_files, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (read_file(files, row, error))
            more = -1;
    statement_free(row);
    return more;
}

void stored_files_release(struct stored_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].file_set);
        free(files->items[i].dialect);
        free(files->items[i].digest);
        free(files->items[i].unpacked_digest);
    }
    free(files->items);
    *files = (struct stored_files){.items = NULL};
}

/* ---- statements ---- */

static enum meaning meaning_of(const char *name, size_t length, int is_first)
{
    static const struct {
        const char *name;
        enum meaning meaning;
    } known[] = {{"operation_id", RECORD}, {"process_id", PROCESS}, {"member_id", MEMBER}};
    if (is_first)
        return RECORD;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
            return known[i].meaning;
    return AS_IT_IS;
}

static void find_meanings(enum meaning *meanings, const struct bulk_layout *table)
{
    const char *name = table->columns;
    for (int i = 0; i < table->column_count && i < MOST_COLUMNS; i++) {
        size_t length = strcspn(name, ",");
        meanings[i] = meaning_of(name, length, i == 0);
        name += length + (name[length] ? strlen(", ") : 0);
    }
}

/* Rows of file ?1 of a table, by id, from ?2 on. */
static int put_question(struct buffer *sql, enum bulk_table table)
{
    static const char of_file[] = "BETWEEN ?2 AND (?1 << 32) + 4294967295";
    const char *columns = bulk_tables[table].columns, *recorded = recorded_tables[table];
    int length = (int)strcspn(columns, ",");
    if (buffer_printf(sql, "SELECT %s FROM %s WHERE %.*s %s", columns, bulk_tables[table].name, length,
                      columns, of_file))
        return -1;
    if (recorded && buffer_printf(sql,
                                  " AND %.*s NOT IN (SELECT %.*s FROM %s WHERE %.*s %s)"
                                  " UNION ALL SELECT %s FROM %s WHERE %.*s %s",
                                  length, columns, length, columns, recorded, length, columns, of_file,
                                  columns, recorded, length, columns, of_file))
        return -1;
    return buffer_append_text(sql, " ORDER BY 1");
}

static struct statement *prepare_rows(struct store *store, enum bulk_table table, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    struct statement *statement = NULL;
    if (put_question(&sql, table))
        error_no_memory(error);
    else
        statement = store_prepare(store, sql.data, error);
    buffer_release(&sql);
    return statement;
}

struct unloader *unloader_new(struct store *store, struct error *error)
{
    struct unloader *unloader = calloc(1, sizeof *unloader);
    int failed = !unloader;
    if (!unloader) {
        error_no_memory(error);
        return NULL;
    }
    unloader->store = store;
    batch_init(&unloader->names);
    for (int i = 0; i < SENTENCES && !failed; i++)
        failed = !(unloader->statements[i] = store_prepare(store, sentences[i], error));
    for (enum bulk_table table = 0; table < BULK_TABLES && !failed; table++) {
        find_meanings(unloader->meanings[table], &bulk_tables[table]);
        failed = !(unloader->rows[table] = prepare_rows(store, table, error));
    }
    if (!failed)
        return unloader;
    unloader_free(unloader);
    return NULL;
}

void unloader_free(struct unloader *unloader)
{
    if (!unloader)
        return;
    for (int i = 0; i < SENTENCES; i++)
        statement_free(unloader->statements[i]);
    for (enum bulk_table table = 0; table < BULK_TABLES; table++)
        statement_free(unloader->rows[table]);
    batch_release(&unloader->names);
    free(unloader->processes.items);
    free(unloader->communicators.items);
    free(unloader->members.items);
    free(unloader->peers.items);
    free(unloader);
}

/* Asks one of the sentences for file `file_id`. */
static struct statement *ask(struct unloader *unloader, enum sentence sentence, int64_t file_id,
                             struct error *error)
{
    struct statement *statement = unloader->statements[sentence];
    statement_reset(statement);
    return statement_bind_integer(statement, 1, file_id, error) ? NULL : statement;
}

/* A row of the ledger. */
static int take_entry(struct statement *row, struct ledger *ledger, struct error *error)
{
    const char *reason = statement_text(row, 0), *example = statement_text(row, 4);
    struct ledger one = {.count = 0};
    if (ledger_note(&one, reason ? reason : "", statement_integer(row, 1) != 0,
                    (uint64_t)statement_integer(row, 3), example, example ? strlen(example) : 0, error))
        return -1;
    one.entries[0].count = statement_integer(row, 2);
    int failed = ledger_add(ledger, &one, error);
    ledger_release(&one);
    return failed;
}

int unloader_ledger(struct unloader *unloader, int64_t file_id, struct ledger *ledger, struct error *error)
{
    struct statement *row = ask(unloader, LEDGER, file_id, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_entry(row, ledger, error))
            more = -1;
    if (row)
        statement_reset(row);
    return more;
}

/* ---- names ---- */

static int append_id(struct id_list *list, int64_t id)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    list->items[list->count++] = id;
    return 0;
}

static int64_t number_of(const struct id_list *list, int64_t id)
{
    return find_id(list->items, list->count, sizeof *list->items, 0, id);
}

static int put_text(struct batch *names, const char *text, struct span *span)
{
    *span = (struct span){.offset = names->bytes.length};
    if (!text)
        return 0;
    span->present = 1;
    span->length = strlen(text);
    return buffer_append(&names->bytes, text, span->length + 1);
}

static int take_process(struct unloader *unloader, struct statement *row, struct error *error)
{
    struct batch *names = &unloader->names;
    const char *host = statement_text(row, 1);
    if (append_id(&unloader->processes, statement_integer(row, 0)) ||
        array_reserve((void **)&names->processes.items, &names->processes.capacity,
                      names->processes.count + 1, sizeof *names->processes.items))
        return error_no_memory(error);
    struct batch_process *process = &names->processes.items[names->processes.count++];
    *process =
        (struct batch_process){.pid = statement_integer(row, 2), .started_ns = statement_integer(row, 3)};
    return put_text(names, host ? host : "", &process->host) ? error_no_memory(error) : 0;
}

static int take_communicator(struct unloader *unloader, struct statement *row, struct error *error)
{
    struct batch *names = &unloader->names;
    if (append_id(&unloader->communicators, statement_integer(row, 0)) ||
        array_reserve((void **)&names->communicators.items, &names->communicators.capacity,
                      names->communicators.count + 1, sizeof *names->communicators.items))
        return error_no_memory(error);
    struct batch_communicator *said = &names->communicators.items[names->communicators.count];
    int is_named = !statement_is_null(row, 7);
    *said = (struct batch_communicator){.number = (uint32_t)names->communicators.count++,
                                        .hash = (uint64_t)statement_integer(row, is_named ? 7 : 1),
                                        .is_named = is_named,
                                        .size = statement_integer(row, 3),
                                        .node_count = statement_integer(row, 4)};
    return put_text(names, statement_text(row, 2), &said->name) ||
                   put_text(names, statement_text(row, 5), &said->members) ||
                   put_text(names, statement_text(row, 6), &said->description)
               ? error_no_memory(error)
               : 0;
}

static int take_member(struct unloader *unloader, struct statement *row, struct error *error)
{
    struct batch *names = &unloader->names;
    int64_t communicator = number_of(&unloader->communicators, statement_integer(row, 1));
    int64_t process = number_of(&unloader->processes, statement_integer(row, 2));
    if (communicator < 0 || process < 0)
        return error_set(error, "a member is of a process or a communicator that is not there");
    if (append_id(&unloader->members, statement_integer(row, 0)) ||
        append_id(&unloader->peers, statement_integer_or(row, 4, INT64_MIN)) ||
        array_reserve((void **)&names->members.items, &names->members.capacity, names->members.count + 1,
                      sizeof *names->members.items))
        return error_no_memory(error);
    names->members.items[names->members.count++] =
        (struct batch_member){.communicator = (uint32_t)communicator,
                              .process = (uint32_t)process,
                              .rank = statement_integer(row, 3)};
    return 0;
}

static int read_names(struct unloader *unloader, int64_t file_id, struct error *error)
{
    static const struct {
        enum sentence sentence;
        int (*take)(struct unloader *, struct statement *, struct error *);
    } kinds[] = {{PROCESSES, take_process}, {COMMUNICATORS, take_communicator}, {MEMBERS, take_member}};
    batch_clear(&unloader->names);
    unloader->processes.count = unloader->communicators.count = 0;
    unloader->members.count = unloader->peers.count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct statement *row = ask(unloader, kinds[i].sentence, file_id, error);
        int more = row ? 1 : -1;
        while (more == 1 && (more = statement_step(row, error)) == 1)
            if (kinds[i].take(unloader, row, error))
                more = -1;
        if (row)
            statement_reset(row);
        if (more < 0)
            return -1;
    }
    return 0;
}

/* ---- rows ---- */

/* What an id in a row is in the other store; -1: it names nothing that is there. */
static int64_t translate(const struct unloader *unloader, const struct insert_target *target,
                         enum meaning meaning, int64_t id)
{
    if (meaning == RECORD)
        return (int64_t)((uint64_t)target->file_id << 32 | ((uint64_t)id & 0xffffffff));
    int64_t number = number_of(meaning == PROCESS ? &unloader->processes : &unloader->members, id);
    if (number < 0)
        return -1;
    return meaning == PROCESS ? target->processes[number] : target->members[number].id;
}

/* Binds the row at hand as number `place` of those that go in at once. 1: it names nobody; -1: no memory. */
static int bind_row(const struct unloader *unloader, enum bulk_table table, struct statement *add, int place,
                    const struct insert_target *target, uint64_t *bytes)
{
    sqlite3_stmt *row = unloader->rows[table]->handle;
    int failed = 0, parameter = place * bulk_tables[table].column_count;
    for (int i = 0; i < bulk_tables[table].column_count && !failed; i++) {
        enum meaning meaning = unloader->meanings[table][i];
        int type = sqlite3_column_type(row, i);
        parameter++;
        *bytes += type == SQLITE_BLOB || type == SQLITE_TEXT ? (uint64_t)sqlite3_column_bytes(row, i)
                                                             : sizeof(int64_t);
        if (meaning == AS_IT_IS || type == SQLITE_NULL) {
            failed = sqlite3_bind_value(add->handle, parameter, sqlite3_column_value(row, i)) != SQLITE_OK;
            continue;
        }
        int64_t id = translate(unloader, target, meaning, sqlite3_column_int64(row, i));
        if (id < 0)
            return 1;
        failed = sqlite3_bind_int64(add->handle, parameter, id) != SQLITE_OK;
    }
    return failed ? -1 : 0;
}

/* Rows that the other store's own constraints refuse are no fault of it. */
static int add_rows(struct inserter *inserter, struct statement *add, struct error *error)
{
    if (statement_step(add, error) >= 0)
        return 0;
    return (sqlite3_errcode(inserter->store->handle) & 0xff) == SQLITE_CONSTRAINT ? 1 : -1;
}

/* A table's rows on their way, `at_once` of them in each statement. */
struct copying {
    enum bulk_table table;
    struct inserter *inserter;
    const struct insert_target *target;
    int at_once;
    int pending;     /* bound so far, of those that go in at once */
    int64_t from_id; /* of the first of these, or where to begin */
};

static int copy_row(struct unloader *unloader, struct copying *copying, uint64_t *bytes, struct error *error)
{
    enum bulk_table table = copying->table;
    struct statement *add =
        copying->at_once == 1 ? copying->inserter->one[table] : copying->inserter->many[table];
    if (!copying->pending)
        copying->from_id = statement_integer(unloader->rows[table], 0);
    int bound = bind_row(unloader, table, add, copying->pending, copying->target, bytes);
    if (bound < 0)
        return error_no_memory(error);
    if (bound > 0) {
        error_set(error, "a row of table %s is of nobody who is there", bulk_tables[table].name);
        return 1;
    }
    if (++copying->pending < copying->at_once)
        return 0;
    copying->pending = 0;
    return add_rows(copying->inserter, add, error);
}

static int copy_from(struct unloader *unloader, int64_t file_id, struct copying *copying, uint64_t *bytes,
                     struct error *error)
{
    struct statement *row = unloader->rows[copying->table];
    int more = 0, outcome = statement_bind_integer(row, 1, file_id, error) ||
                                    statement_bind_integer(row, 2, copying->from_id, error)
                                ? 1
                                : 0;
    while (!outcome && (more = statement_step(row, error)) == 1)
        outcome = copy_row(unloader, copying, bytes, error);
    statement_reset(row);
    return outcome ? outcome : more < 0;
}

/* What is left in the end, too few for one statement, is read again. */
static int copy_rows(struct unloader *unloader, int64_t file_id, enum bulk_table table,
                     struct inserter *inserter, const struct insert_target *target, uint64_t *bytes,
                     struct error *error)
{
    struct copying copying = {.table = table,
                              .inserter = inserter,
                              .target = target,
                              .at_once = BULK_ROWS,
                              .from_id = (int64_t)((uint64_t)file_id << 32)};
    int outcome = copy_from(unloader, file_id, &copying, bytes, error);
    if (outcome || !copying.pending)
        return outcome;
    copying.pending = 0;
    copying.at_once = 1;
    return copy_from(unloader, file_id, &copying, bytes, error);
}

static int copy_all(struct unloader *unloader, int64_t file_id, struct inserter *inserter,
                    struct insert_target *target, uint64_t *bytes, struct error *error)
{
    if (read_names(unloader, file_id, error))
        return 1;
    if (inserter_put(inserter, target, &unloader->names, error))
        return -1;
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        int outcome = copy_rows(unloader, file_id, table, inserter, target, bytes, error);
        if (outcome)
            return outcome;
    }
    for (size_t i = 0; i < unloader->peers.count; i++)
        insert_target_hear(target, i, unloader->peers.items[i]);
    batch_clear(&unloader->names);
    return inserter_put(inserter, target, &unloader->names, error);
}

/* 1: the file is there as it was; 0: it is not; -1: error. */
static int is_there(struct unloader *unloader, int64_t file_id, const char *digest, struct error *error)
{
    struct statement *row = ask(unloader, IS_THERE, file_id, error);
    int found = row && !statement_bind_text(row, 2, digest, error) ? statement_step(row, error) : -1;
    if (row)
        statement_reset(row);
    return found == 0 ? (error_set(error, "it was written to while it was merged"), 0) : found;
}

int unloader_copy(struct unloader *unloader, int64_t file_id, const char *digest, struct inserter *inserter,
                  struct insert_target *target, uint64_t *bytes, struct error *error)
{
    /* One state of it, whoever writes. */
    if (store_execute(unloader->store, "BEGIN", error))
        return 1;
    int outcome = is_there(unloader, file_id, digest, error) == 1
                      ? copy_all(unloader, file_id, inserter, target, bytes, error)
                      : 1;
    store_rollback(unloader->store);
    return outcome;
}
