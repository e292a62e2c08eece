/*
 * Generates SQL over all record tables from their description (lib/model/record.c): statements with markers
 * from schemas/, removal and renumbering of files, and moving records to another process or member.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/records.h"
#include "store/store.h"

#include <string.h>

#define OF_FILE "BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295"
/* Of these, all or those from number ?2 on. */
#define OF_FILE_FROM "BETWEEN (?1 << 32) + coalesce(?2, 0) AND (?1 << 32) + 4294967295"

static int put_processes_of_file(struct buffer *sql, const struct record_table *table)
{
    return buffer_printf(sql, " UNION SELECT process_id FROM %s WHERE process_id IS NOT NULL AND %s " OF_FILE,
                         table->name, record_table_id(table));
}

/* For rows that a join changed, the saved earlier form counts. */
static int put_recorded_of_file(struct buffer *sql, const struct record_table *table)
{
    const char *kept = table->kept, *id = record_table_id(table);
    if (put_processes_of_file(sql, table))
        return -1;
    return kept ? buffer_printf(
                      sql,
                      " AND %s NOT IN (SELECT %s FROM %s WHERE %s " OF_FILE
                      ")"
                      " UNION SELECT process_id FROM %s WHERE process_id IS NOT NULL AND %s " OF_FILE,
                      id, id, kept, id, kept, id)
                : 0;
}

static int put_files_of_run(struct buffer *sql, const struct record_table *table)
{
    return buffer_printf(
        sql, " UNION SELECT %s >> 32 FROM process_run JOIN %s USING (process_id) WHERE run_id = ?1",
        record_table_id(table), table->name);
}

static int put_of_no_record(struct buffer *sql, const struct record_table *table)
{
    return buffer_printf(sql, " AND NOT EXISTS (SELECT 1 FROM %s WHERE %s.process_id = process.process_id)",
                         table->name, table->name);
}

static int put_without_run(struct buffer *sql, const struct record_table *table)
{
    return buffer_printf(sql,
                         " AND NOT EXISTS (SELECT 1 FROM %s"
                         " WHERE process_id IN (SELECT process_id FROM process_run)"
                         " AND %s BETWEEN file_id << 32 AND (file_id << 32) + 4294967295)",
                         table->name, record_table_id(table));
}

static int is_put_back(const struct record_table *table)
{
    return table->kept && !table->is_restored_by_joins;
}

static int put_back(struct buffer *sql, const struct record_table *table)
{
    return is_put_back(table)
               ? buffer_printf(sql, "INSERT OR REPLACE INTO %s SELECT * FROM %s; DELETE FROM %s;",
                               table->name, table->kept, table->kept)
               : 0;
}

static int put_keeping(struct buffer *sql, const struct record_table *table)
{
    return is_put_back(table) ? buffer_printf(sql,
                                              "INSERT OR IGNORE INTO %s SELECT * FROM %s"
                                              " WHERE process_id IN (SELECT process_id FROM heard);",
                                              table->kept, table->name)
                              : 0;
}

static int put_moving(struct buffer *sql, const struct record_table *table)
{
    const char *name = table->name;
    if (!is_put_back(table))
        return 0;
    return buffer_printf(sql,
                         "UPDATE %s SET process_id ="
                         " (SELECT as_process FROM heard WHERE heard.process_id = %s.process_id)",
                         name, name) ||
           (record_table_has(table, FIELD_MEMBER) &&
            buffer_printf(sql,
                          ", member_id = coalesce((SELECT as_member FROM heard_member"
                          " WHERE heard_member.member_id = %s.member_id), member_id)",
                          name)) ||
           buffer_append_text(sql, " WHERE process_id IN (SELECT process_id FROM heard);");
}

static const struct {
    const char *marker;
    int (*put)(struct buffer *sql, const struct record_table *table); /* NULL: for blocks only */
} forms[] = {{"/* columns of a block */", NULL},
             {"/* processes of file ?1 */", put_processes_of_file},
             {"/* processes that file ?1 recorded */", put_recorded_of_file},
             {"/* files of run ?1 */", put_files_of_run},
             {"/* and of no record */", put_of_no_record},
             {"/* and without a run */", put_without_run},
             {"/* records go back */", put_back},
             {"/* records of heard are kept */", put_keeping},
             {"/* records of heard are moved */", put_moving}};

enum { FORMS = sizeof forms / sizeof *forms };

static int put_tables(struct buffer *sql, int form)
{
    int failed = 0;
    if (!forms[form].put)
        return record_table_put_columns(&record_tables[EVENT_OPERATION], sql);
    for (enum event_kind kind = 0; kind < EVENT_TABLES && !failed; kind++)
        if (record_table_has(&record_tables[kind], FIELD_PROCESS))
            failed = forms[form].put(sql, &record_tables[kind]);
    return failed;
}

/* Finds the first marker in the text and returns its index; -1 if there is none. */
static int find_marker(const char *text, const char **at)
{
    int found = -1;
    for (int form = 0; form < FORMS; form++) {
        const char *marker = strstr(text, forms[form].marker);
        if (marker && (found < 0 || marker < *at)) {
            *at = marker;
            found = form;
        }
    }
    return found;
}

static int write_all(struct buffer *sql, const char *text)
{
    const char *at = NULL;
    for (int form; (form = find_marker(text, &at)) >= 0; text = at + strlen(forms[form].marker))
        if (buffer_append(sql, text, (size_t)(at - text)) || put_tables(sql, form))
            return -1;
    return buffer_append_text(sql, text);
}

struct statement *record_tables_prepare(struct store *store, const char *sql, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    struct statement *statement = NULL;
    if (write_all(&text, sql))
        error_no_memory(error);
    else
        statement = store_prepare(store, text.data, error);
    buffer_release(&text);
    return statement;
}

int record_tables_execute(struct store *store, const char *sql, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = write_all(&text, sql) ? error_no_memory(error) : store_execute(store, text.data, error);
    buffer_release(&text);
    return failed;
}

/* Number of tables, for each kind of record, that use the record's id. */
enum { PLACES = 3 };

static const char *place_of(const struct record_table *table, int place)
{
    return place == 0 ? table->name : place == 1 ? table->kept : table->joined;
}

/* Tables with a file_id; the file's own row is last. */
static const char *const file_tables[] = {"file_member", "ledger", "file"};

enum { FILE_TABLES = sizeof file_tables / sizeof *file_tables };

/* Runs a statement with parameters ?1 and ?2 and releases its text. */
static int run(struct store *store, struct buffer *sql, int failed, int64_t one, int64_t two,
               struct error *error)
{
    struct statement *statement =
        failed ? (error_no_memory(error), NULL) : store_prepare(store, sql->data, error);
    failed = !statement || statement_bind_integer(statement, 1, one, error) ||
             statement_bind_integer(statement, 2, two, error) || statement_step(statement, error) < 0;
    statement_free(statement);
    buffer_release(sql);
    return failed ? -1 : 0;
}

/* Network traffic refers to its operation, which belongs to the same file. */
static int renumber_place(struct store *store, const struct record_table *table, int place, int64_t from,
                          int64_t to, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    const char *id = record_table_id(table);
    int names_operation = place_of(table, place) != table->joined && record_table_has(table, FIELD_OPERATION);
    int failed = buffer_printf(
        &sql, "UPDATE %s SET %s = %s + ((?2 - ?1) << 32)%s WHERE %s " OF_FILE, place_of(table, place), id, id,
        names_operation ? ", operation_id = operation_id + ((?2 - ?1) << 32)" : "", id);
    return run(store, &sql, failed, from, to, error);
}

int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error)
{
    for (size_t i = 0; i < FILE_TABLES; i++) {
        struct buffer sql = BUFFER_INIT;
        int failed = buffer_printf(&sql, "UPDATE %s SET file_id = ?2 WHERE file_id = ?1", file_tables[i]);
        if (run(store, &sql, failed, from, to, error))
            return -1;
    }
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        for (int place = 0; place < PLACES; place++)
            if (place_of(&record_tables[kind], place) &&
                renumber_place(store, &record_tables[kind], place, from, to, error))
                return -1;
    return 0;
}

int record_tables_move(struct store *store, enum field_kind whose, int64_t from, int64_t to,
                       struct error *error)
{
    const char *column = whose == FIELD_PROCESS ? "process_id" : "member_id";
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        const struct record_table *table = &record_tables[kind];
        /* Most tables have an index by process but none by member. */
        const char *of_process =
            whose == FIELD_MEMBER && record_table_has(table, FIELD_PROCESS)
                ? " AND process_id = (SELECT process_id FROM member WHERE member_id = ?1)"
                : "";
        for (int place = 0; place < 2 && record_table_has(table, whose); place++) {
            struct buffer sql = BUFFER_INIT;
            if (!place_of(table, place))
                continue;
            int failed = buffer_printf(&sql, "UPDATE %s SET %s = ?2 WHERE %s = ?1%s", place_of(table, place),
                                       column, column, of_process);
            if (run(store, &sql, failed, from, to, error))
                return -1;
        }
    }
    return 0;
}

static int add_statement(struct store *store, struct statement **statements, size_t *count,
                         struct buffer *sql, int failed, struct error *error)
{
    if (failed)
        error_no_memory(error);
    else
        statements[*count] = store_prepare(store, sql->data, error);
    buffer_release(sql);
    return failed || !statements[(*count)++] ? -1 : 0;
}

int record_tables_removal(struct store *store, struct statement *statements[REMOVAL_STATEMENTS],
                          size_t *record_count, size_t *count, struct error *error)
{
    *count = 0;
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        for (int place = 0; place < PLACES; place++) {
            struct buffer sql = BUFFER_INIT;
            const char *name = place_of(&record_tables[kind], place);
            if (name && add_statement(store, statements, count, &sql,
                                      buffer_printf(&sql, "DELETE FROM %s WHERE %s " OF_FILE_FROM, name,
                                                    record_table_id(&record_tables[kind])),
                                      error))
                return -1;
        }
    *record_count = *count;
    for (size_t i = 0; i < FILE_TABLES; i++) {
        struct buffer sql = BUFFER_INIT;
        if (add_statement(store, statements, count, &sql,
                          buffer_printf(&sql, "DELETE FROM %s WHERE file_id = ?1", file_tables[i]), error))
            return -1;
    }
    return 0;
}
