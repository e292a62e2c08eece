/*
 * Copies a store and replaces all names in the copy: of hosts, files, tags, communicators, source lines and
 * whatever else is text of a trace. The same name becomes the same pseudonym everywhere. Analyses of the copy
 * therefore say the same as those of the store, except for the names.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"host", "path",    "tag",  "communicator", "source",
                                    "run",  "process", "text", "name"};

enum { KINDS = sizeof kinds / sizeof *kinds, PSEUDONYM_BYTES = 48 };

struct pseudonyms {
    struct intern names;            /* the original names */
    char (*texts)[PSEUDONYM_BYTES]; /* owned; by number of the name */
    size_t capacity;
    size_t count;
    int64_t used[KINDS];
};

/* Numbers and lists of ranks are no names. */
static int is_name(const char *text)
{
    return text[strspn(text, "0123456789,- []")] != '\0';
}

static size_t kind_of(const char *kind)
{
    size_t at = 0;
    while (at + 1 < KINDS && strcmp(kinds[at], kind) != 0)
        at++;
    return at;
}

/* Returns NULL when memory is out. The result is valid until the next call. */
static const char *pseudonym_of(struct pseudonyms *all, const char *text, const char *kind)
{
    if (!is_name(text))
        return text;
    int64_t number = intern_put(&all->names, text, strlen(text));
    if (number < 0 ||
        array_reserve((void **)&all->texts, &all->capacity, (size_t)number + 1, sizeof *all->texts))
        return NULL;
    if ((size_t)number == all->count) {
        size_t of = kind_of(kind);
        snprintf(all->texts[all->count++], PSEUDONYM_BYTES, "%s#%lld", kinds[of], (long long)++all->used[of]);
    }
    return all->texts[number];
}

/* "host:pid", the name of a rank without a number, keeps the process id. */
static int append_process(struct pseudonyms *all, const char *text, struct buffer *renamed)
{
    const char *colon = strrchr(text, ':');
    char *host = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]
                     ? strndup(text, (size_t)(colon - text))
                     : NULL;
    const char *found = pseudonym_of(all, host ? host : text, host ? "host" : "process");
    int failed = !found || buffer_append_text(renamed, found) || (host && buffer_append_text(renamed, colon));
    free(host);
    return failed;
}

static void rename_value(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct pseudonyms *all = sqlite3_user_data(context);
    const char *text = (const char *)sqlite3_value_text(values[0]);
    const char *kind = (const char *)sqlite3_value_text(values[1]);
    struct buffer renamed = BUFFER_INIT;
    const char *found = NULL;
    if (text && kind && strcmp(kind, "process") == 0)
        found = append_process(all, text, &renamed) ? NULL : renamed.data;
    else if (text && kind)
        found = pseudonym_of(all, text, kind);
    if (found)
        sqlite3_result_text(context, found, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(context);
    buffer_release(&renamed);
}

/* "train.py:42" is a line of a program. Other texts of operations are tags. */
static const char *rename_in_block(void *context, const char *text)
{
    const char *colon = strrchr(text, ':');
    int is_source = colon && isdigit((unsigned char)colon[1]);
    return pseudonym_of(context, text, is_source ? "source" : "tag");
}

static const struct block_layout *layout_of(const char *table)
{
    return strcmp(table, "instance_block") == 0         ? &instance_layout
           : strcmp(table, "operation_join_block") == 0 ? &joined_layout
           : strcmp(table, "node_sample_block") == 0    ? &node_sample_layout
                                                        : &operation_layout;
}

static void rename_block(sqlite3_context *context, int count, sqlite3_value **values)
{
    const void *block = sqlite3_value_blob(values[0]);
    const char *table = (const char *)sqlite3_value_text(values[1]);
    struct buffer renamed = BUFFER_INIT;
    if (!table || block_rename(block, (size_t)sqlite3_value_bytes(values[0]), layout_of(table),
                               rename_in_block, sqlite3_user_data(context), &renamed))
        sqlite3_result_error(context, "a block is damaged, or memory is out", -1);
    else
        sqlite3_result_blob64(context, renamed.data, renamed.length, SQLITE_TRANSIENT);
    buffer_release(&renamed);
}

/* Reads all statements first, because they change the tables that are listed. */
static int list_updates(struct store *store, struct buffer *sql, struct error *error)
{
    struct statement *list = store_prepare(store, schema_export_anonymize_updates, error);
    int row = list ? 1 : -1;
    while (row == 1 && (row = statement_step(list, error)) == 1)
        if (buffer_printf(sql, "%s;\n", statement_text(list, 0)))
            row = error_no_memory(error);
    statement_free(list);
    return row;
}

static int rename_all(struct store *store, struct pseudonyms *all, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    if (sqlite3_create_function_v2(store->handle, "anonymous", 2, SQLITE_UTF8, all, rename_value, NULL, NULL,
                                   NULL) != SQLITE_OK ||
        sqlite3_create_function_v2(store->handle, "anonymous_block", 2, SQLITE_UTF8, all, rename_block, NULL,
                                   NULL, NULL) != SQLITE_OK)
        return store_error(store, error, "cannot register the functions that rename");
    int failed = list_updates(store, &sql, error) ||
                 store_execute(store, schema_export_anonymize_begin, error) ||
                 (sql.length && store_execute(store, sql.data, error)) ||
                 store_execute(store, schema_export_anonymize_end, error);
    buffer_release(&sql);
    return failed;
}

static int copy(struct store *store, const char *path, struct error *error)
{
    if (store_execute(store, "PRAGMA query_only=OFF", error))
        return -1;
    struct statement *statement = store_prepare(store, schema_export_anonymize_copy, error);
    int failed =
        !statement || statement_bind_text(statement, 1, path, error) || statement_step(statement, error) < 0;
    statement_free(statement);
    return failed;
}

struct store *store_anonymize(struct store *store, const char *path, struct error *error)
{
    struct pseudonyms all = {.texts = NULL};
    intern_init(&all.names);
    struct store *made = copy(store, path, error) ? NULL : store_open(path, STORE_WRITE, error);
    if (made && rename_all(made, &all, error)) {
        store_close(made);
        made = NULL;
    }
    if (!made)
        error_wrap(error, "cannot make a copy without names");
    intern_release(&all.names);
    free(all.texts);
    return made;
}
