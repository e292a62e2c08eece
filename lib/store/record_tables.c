#include "store/record_tables.h"

#include "base/buffer.h"
#include "schemas.h"
#include "store/insert.h"
#include "store/statement.h"

#include <string.h>

const char *const record_tables_kept[BULK_TABLES] = {
    [BULK_BLOCK] = "operation_recorded",     [BULK_PROXY] = "proxy_recorded",
    [BULK_LOSS] = "loss_recorded",           [BULK_FACT] = "process_fact_recorded",
    [BULK_STATUS] = "group_status_recorded", [BULK_START] = "start_up_recorded",
    [BULK_WARNING] = "warning_recorded",     [BULK_REGISTRATION] = "registration_recorded"};

/* How long the name is of a table's id, which is its first column. */
static int id_length(const struct bulk_layout *table)
{
    return (int)strcspn(table->columns, ",");
}

static int names_process(const struct bulk_layout *table)
{
    return strstr(table->columns, " process_id,") != NULL;
}

static int put_processes_of_file(struct buffer *sql, const struct bulk_layout *table)
{
    return buffer_printf(sql,
                         " UNION SELECT process_id FROM %s WHERE process_id IS NOT NULL"
                         " AND %.*s BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295",
                         table->name, id_length(table), table->columns);
}

/* Rows of which an earlier form is kept count by that. */
static int put_recorded_of_file(struct buffer *sql, const struct bulk_layout *table)
{
    static const char of_file[] = "BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295";
    const char *kept = record_tables_kept[table - bulk_tables], *id = table->columns;
    int length = id_length(table);
    if (!kept)
        return put_processes_of_file(sql, table);
    return buffer_printf(sql,
                         " UNION SELECT process_id FROM %s WHERE process_id IS NOT NULL AND %.*s %s"
                         " AND %.*s NOT IN (SELECT %.*s FROM %s WHERE %.*s %s)"
                         " UNION SELECT process_id FROM %s WHERE process_id IS NOT NULL AND %.*s %s",
                         table->name, length, id, of_file, length, id, length, id, kept, length, id, of_file,
                         kept, length, id, of_file);
}

static int put_files_of_run(struct buffer *sql, const struct bulk_layout *table)
{
    return buffer_printf(sql,
                         " UNION SELECT %.*s >> 32 FROM process_run JOIN %s USING (process_id)"
                         " WHERE run_id = ?1",
                         id_length(table), table->columns, table->name);
}

static int put_of_no_record(struct buffer *sql, const struct bulk_layout *table)
{
    return buffer_printf(sql, " AND NOT EXISTS (SELECT 1 FROM %s WHERE %s.process_id = process.process_id)",
                         table->name, table->name);
}

static int put_without_process(struct buffer *sql, const struct bulk_layout *table)
{
    return buffer_printf(sql,
                         " AND NOT EXISTS (SELECT 1 FROM %s WHERE process_id IS NOT NULL"
                         " AND %.*s BETWEEN file_id << 32 AND (file_id << 32) + 4294967295)",
                         table->name, id_length(table), table->columns);
}

static const struct {
    const char *marker;
    int (*put)(struct buffer *sql, const struct bulk_layout *table);
} forms[] = {{"/* processes of file ?1 */", put_processes_of_file},
             {"/* processes that file ?1 recorded */", put_recorded_of_file},
             {"/* files of run ?1 */", put_files_of_run},
             {"/* and of no record */", put_of_no_record},
             {"/* and without a process */", put_without_process}};

enum { FORMS = sizeof forms / sizeof *forms };

static int put_tables(struct buffer *sql, int form)
{
    int failed = 0;
    for (enum bulk_table table = 0; table < BULK_TABLES && !failed; table++)
        if (names_process(&bulk_tables[table]))
            failed = forms[form].put(sql, &bulk_tables[table]);
    return failed;
}

/* The form of the first marker in the text, and where that is; -1: there is none. */
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

/* What joins made of records: rows by the id of the record. */
static const struct bulk_layout joined_tables[] = {{"operation_recorded", "block_id,", 0},
                                                   {"operation_join_block", "block_id,", 0},
                                                   {"proxy_recorded", "proxy_operation_id,", 0},
                                                   {"call_join", "call_description_id,", 0}};

/* By the number of the file; file itself is the last. */
static const char *const file_tables[] = {"file_member", "ledger", "file"};

enum {
    JOINED_TABLES = sizeof joined_tables / sizeof *joined_tables,
    FILE_TABLES = sizeof file_tables / sizeof *file_tables
};

/* The table of that number, of those that have rows by the id of a record; NULL past the last. */
static const struct bulk_layout *table_at(size_t number)
{
    if (number < BULK_TABLES)
        return &bulk_tables[number];
    return number < BULK_TABLES + JOINED_TABLES ? &joined_tables[number - BULK_TABLES] : NULL;
}

/* Traffic names the operation that it is of, which is of the same file. */
static int put_renumbering(struct buffer *sql, const struct bulk_layout *table)
{
    int length = id_length(table), is_traffic = strncmp(table->columns, "proxy_", strlen("proxy_")) == 0;
    return buffer_printf(sql, "UPDATE %s SET %.*s = %.*s + ((?2 - ?1) << 32)%s", table->name, length,
                         table->columns, length, table->columns,
                         is_traffic ? ", operation_id = operation_id + ((?2 - ?1) << 32)" : "") ||
           buffer_printf(sql, " WHERE %.*s BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295", length,
                         table->columns);
}

static int renumber_table(struct store *store, const struct bulk_layout *table, int64_t from, int64_t to,
                          struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = put_renumbering(&sql, table) ? error_no_memory(error) : 0;
    struct statement *update = failed ? NULL : store_prepare(store, sql.data, error);
    failed = !update || statement_bind_integer(update, 1, from, error) ||
             statement_bind_integer(update, 2, to, error) || statement_step(update, error) < 0;
    statement_free(update);
    buffer_release(&sql);
    return failed ? -1 : 0;
}

int record_tables_renumber(struct store *store, int64_t from, int64_t to, struct error *error)
{
    const struct bulk_layout *table;
    for (size_t i = 0; (table = table_at(i)); i++)
        if (renumber_table(store, table, from, to, error))
            return -1;
    return 0;
}

struct statement *record_tables_removal(struct store *store, size_t number, int *is_past, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    struct statement *statement = NULL;
    const struct bulk_layout *table = table_at(number);
    *is_past = number >= BULK_TABLES + JOINED_TABLES + FILE_TABLES;
    if (*is_past)
        return NULL;
    if (table ? buffer_printf(&sql, "DELETE FROM %s WHERE %.*s BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295",
                              table->name, id_length(table), table->columns)
              : buffer_printf(&sql, "DELETE FROM %s WHERE file_id = ?1",
                              file_tables[number - BULK_TABLES - JOINED_TABLES]))
        error_no_memory(error);
    else
        statement = store_prepare(store, sql.data, error);
    buffer_release(&sql);
    return statement;
}
