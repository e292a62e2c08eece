#include "store/unload_rows.h"

#include "base/ids.h"
#include "store/internal.h"

#include <string.h>

enum { MOST_COLUMNS = 24 };

/* What of a column is another number in another store. */
enum meaning { AS_IT_IS, RECORD, PROCESS, MEMBER };

int64_t id_list_find(const struct id_list *list, int64_t id)
{
    return find_id(list->items, list->count, sizeof *list->items, 0, id);
}

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

static void find_meanings(enum meaning meanings[MOST_COLUMNS], const struct bulk_layout *table)
{
    const char *name = table->columns;
    for (int i = 0; i < table->column_count && i < MOST_COLUMNS; i++) {
        size_t length = strcspn(name, ",");
        meanings[i] = meaning_of(name, length, i == 0);
        name += length + (name[length] ? strlen(", ") : 0);
    }
}

/* What an id in a row is in the other store; -1: it names nothing that is there. */
static int64_t translate(const struct names *names, const struct insert_target *target, enum meaning meaning,
                         int64_t id)
{
    if (meaning == RECORD)
        return (int64_t)((uint64_t)target->file_id << 32 | ((uint64_t)id & 0xffffffff));
    int64_t number = id_list_find(meaning == PROCESS ? &names->processes : &names->members, id);
    if (number < 0)
        return -1;
    return meaning == PROCESS ? target->processes[number] : target->members[number].id;
}

static int bind_cell(sqlite3_stmt *add, int parameter, const struct rows *rows, const struct cell_value *cell)
{
    const char *bytes = rows->bytes.data ? rows->bytes.data : "";
    switch (cell->type) {
    case SQLITE_INTEGER:
        return sqlite3_bind_int64(add, parameter, cell->as.integer);
    case SQLITE_FLOAT:
        return sqlite3_bind_double(add, parameter, cell->as.real);
    case SQLITE_BLOB:
        return sqlite3_bind_blob64(add, parameter, bytes + cell->as.span.offset, cell->as.span.length,
                                   SQLITE_STATIC);
    case SQLITE_TEXT:
        return sqlite3_bind_text64(add, parameter, bytes + cell->as.span.offset, cell->as.span.length,
                                   SQLITE_STATIC, SQLITE_UTF8);
    default:
        return sqlite3_bind_null(add, parameter);
    }
}

/* Binds a row as number `place` of those that go in at once. 1: it names nobody; -1: no memory. */
static int bind_row(sqlite3_stmt *add, int place, int columns, const enum meaning *meanings,
                    const struct unload *load, const struct cell_value *cells,
                    const struct insert_target *target)
{
    for (int i = 0; i < columns; i++) {
        struct cell_value cell = cells[i];
        if (meanings[i] != AS_IT_IS && cell.type != SQLITE_NULL) {
            cell.as.integer = cell.type == SQLITE_INTEGER
                                  ? translate(load->names, target, meanings[i], cell.as.integer)
                                  : -1;
            cell.type = SQLITE_INTEGER;
            if (cell.as.integer < 0)
                return 1;
        }
        if (bind_cell(add, place * columns + i + 1, load->rows, &cell) != SQLITE_OK)
            return -1;
    }
    return 0;
}

/* Rows that the other store's own constraints refuse are no fault of it. */
static int add_rows(struct inserter *inserter, struct statement *add, struct error *error)
{
    if (statement_step(add, error) >= 0)
        return 0;
    return (sqlite3_errcode(inserter->store->handle) & 0xff) == SQLITE_CONSTRAINT ? 1 : -1;
}

static int put_table(const struct unload *load, enum bulk_table table, struct inserter *inserter,
                     const struct insert_target *target, struct error *error)
{
    enum meaning meanings[MOST_COLUMNS];
    int columns = bulk_tables[table].column_count, outcome = 0;
    size_t count = load->rows->tables[table].count / (size_t)columns;
    find_meanings(meanings, &bulk_tables[table]);
    for (size_t at = 0; at < count && !outcome;) {
        int rows = count - at >= BULK_ROWS ? BULK_ROWS : 1;
        struct statement *add = rows == 1 ? inserter->one[table] : inserter->many[table];
        for (int i = 0; i < rows && !outcome; i++)
            outcome = bind_row(add->handle, i, columns, meanings, load,
                               &load->rows->tables[table].cells[(at + (size_t)i) * (size_t)columns], target);
        if (outcome < 0)
            return error_no_memory(error);
        if (outcome)
            error_set(error, "table %s refers to a process that is not in this store",
                      bulk_tables[table].name);
        else
            outcome = add_rows(inserter, add, error);
        at += (size_t)rows;
    }
    return outcome;
}

static int put_names(struct unload *load, struct inserter *inserter, struct insert_target *target,
                     struct error *error)
{
    struct names *names = load->names;
    if (names->are_put)
        return 0;
    if (inserter_put(inserter, target, &names->batch, error))
        return -1;
    for (size_t i = 0; i < names->peers.count; i++)
        insert_target_hear(target, i, names->peers.items[i]);
    batch_clear(&names->batch);
    names->are_put = 1;
    return inserter_put(inserter, target, &names->batch, error);
}

int unload_put(struct unload *load, struct inserter *inserter, struct insert_target *target,
               struct error *error)
{
    if (put_names(load, inserter, target, error))
        return -1;
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        int outcome = put_table(load, table, inserter, target, error);
        if (outcome)
            return outcome;
    }
    load->bytes += load->rows->size_bytes;
    return 0;
}
