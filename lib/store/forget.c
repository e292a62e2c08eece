/*
 * Removes files from a store: the steps that the writer uses to replace a file, and the removal of whole runs
 * (`ncclprof ingest --forget`). Also restores the rows that a join changed.
 */

#include "base/base.h"
#include "store/records.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int removal_init(struct removal *removal, struct store *store, struct error *error)
{
    *removal = (struct removal){.note = NULL};
    removal->note = record_tables_prepare(store, schema_ingest_write_note_departure, error);
    return removal->note ? record_tables_removal(store, removal->statements, &removal->record_count,
                                                 &removal->count, error)
                         : -1;
}

void removal_release(struct removal *removal)
{
    statement_free(removal->note);
    for (size_t i = 0; i < removal->count; i++)
        statement_free(removal->statements[i]);
    *removal = (struct removal){.note = NULL};
}

static int run_for(struct statement *statement, int64_t file_id, struct error *error)
{
    return statement_bind_integer(statement, 1, file_id, error) || statement_step(statement, error) < 0 ? -1
                                                                                                        : 0;
}

int removal_note(struct removal *removal, int64_t file_id, struct error *error)
{
    return run_for(removal->note, file_id, error);
}

int removal_file(struct removal *removal, int64_t file_id, struct error *error)
{
    for (size_t i = 0; i < removal->count; i++)
        if (run_for(removal->statements[i], file_id, error))
            return -1;
    return 0;
}

int removal_records(struct removal *removal, int64_t file_id, int64_t first_ordinal, struct error *error)
{
    for (size_t i = 0; i < removal->record_count; i++) {
        struct statement *statement = removal->statements[i];
        int failed = statement_bind_integer(statement, 2, first_ordinal, error) ||
                     run_for(statement, file_id, error) || statement_bind_null(statement, 2, error);
        if (failed)
            return -1;
    }
    return 0;
}

int removal_sweep(struct store *store, struct error *error)
{
    return record_tables_execute(store, schema_ingest_write_sweep, error);
}

int recorded_restore(struct store *store, struct error *error)
{
    int64_t is_set_aside;
    if (store_fact(store, "set_aside", 0, &is_set_aside, error))
        return -1;
    if (!is_set_aside)
        return 0;
    return record_tables_execute(store, schema_ingest_recorded_restore, error) ||
                   store_set_fact(store, "joined", 0, error)
               ? -1
               : 1;
}

/* The runs to remove. */
struct wanted {
    const int64_t *runs;
    size_t count;
};

void forgotten_release(struct forgotten *forgotten)
{
    for (size_t i = 0; i < forgotten->count; i++)
        free(forgotten->files[i].path);
    free(forgotten->files);
    *forgotten = (struct forgotten){.files = NULL};
}

static int is_known(const struct forgotten *forgotten, int64_t id)
{
    for (size_t i = 0; i < forgotten->count; i++)
        if (forgotten->files[i].id == id)
            return 1;
    return 0;
}

static int take_file(struct forgotten *forgotten, struct statement *row, struct error *error)
{
    const char *path = statement_text(row, 1), *dialect = statement_text(row, 2);
    if (array_reserve((void **)&forgotten->files, &forgotten->capacity, forgotten->count + 1,
                      sizeof *forgotten->files))
        return error_no_memory(error);
    struct forgotten_file *file = &forgotten->files[forgotten->count];
    *file = (struct forgotten_file){.id = statement_integer(row, 0),
                                    .path = strdup(path ? path : ""),
                                    .events = statement_integer(row, 3),
                                    .skipped = statement_integer(row, 4),
                                    .bytes = statement_integer(row, 5)};
    if (!file->path)
        return error_no_memory(error);
    snprintf(file->dialect, sizeof file->dialect, "%s", dialect ? dialect : "");
    forgotten->count++;
    return 0;
}

/* The file may be in the list already because of an earlier run. */
static int list_files(struct store *store, int64_t run, size_t runs_before, struct forgotten *forgotten,
                      struct error *error)
{
    struct statement *statement = record_tables_prepare(store, schema_ingest_forget_files, error);
    int row = statement && !statement_bind_integer(statement, 1, run, error) ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (!(runs_before && is_known(forgotten, statement_integer(statement, 0))) &&
            take_file(forgotten, statement, error))
            row = -1;
    statement_free(statement);
    return row;
}

static int is_wanted(const struct wanted *wanted, int64_t run)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->runs[i] == run)
            return 1;
    return 0;
}

static int refuse(const struct forgotten_file *file, struct statement *row, struct error *error)
{
    const char *name = statement_text(row, 1);
    return error_set(error, "%s also contains records of run %lld%s%s%s; forget both runs (A,B) or neither",
                     file->path, (long long)statement_integer(row, 0), name ? " (" : "", name ? name : "",
                     name ? ")" : "");
}

/* `others` is a prepared statement that lists the runs of a file. */
static int check_file(struct statement *others, const struct wanted *wanted,
                      const struct forgotten_file *file, struct error *error)
{
    int row = statement_bind_integer(others, 1, file->id, error) ? -1 : 1;
    while (row == 1 && (row = statement_step(others, error)) == 1)
        if (!is_wanted(wanted, statement_integer(others, 0)))
            row = refuse(file, others, error);
    return row;
}

static int check_files(struct store *store, const struct wanted *wanted, const struct forgotten *forgotten,
                       struct error *error)
{
    struct statement *others = record_tables_prepare(store, schema_ingest_forget_other_runs, error);
    int failed = !others || statement_bind_integer(others, 2, wanted->runs[0], error);
    for (size_t i = 0; !failed && i < forgotten->count; i++)
        failed = check_file(others, wanted, &forgotten->files[i], error);
    statement_free(others);
    return failed ? -1 : 0;
}

/*
 * 1: all runs whose files are nearest to `path` in the directory tree are to be removed; 0: not all; -1:
 * error.
 */
static int is_of_wanted(struct statement *folders, const struct wanted *wanted, const char *path,
                        struct error *error)
{
    size_t nearest = 0;
    int is_of = 0, row;
    while ((row = statement_step(folders, error)) == 1) {
        const char *folder = statement_text(folders, 1);
        size_t depth = 1 + (folder ? node_path_common_depth(folder, path) : 0);
        int is = is_wanted(wanted, statement_integer(folders, 0));
        is_of = depth > nearest ? is : depth == nearest ? is_of && is : is_of;
        nearest = depth > nearest ? depth : nearest;
    }
    return row < 0 ? -1 : is_of;
}

/* Lists files that name no process of a run, such as memory snapshots and metrics. */
static int list_files_without_process(struct store *store, const struct wanted *wanted,
                                      struct forgotten *forgotten, struct error *error)
{
    struct statement *files = record_tables_prepare(store, schema_ingest_forget_files_of_nobody, error);
    struct statement *folders = files ? store_prepare(store, schema_ingest_forget_folders, error) : NULL;
    int row = folders ? 1 : -1;
    while (row == 1 && (row = statement_step(files, error)) == 1) {
        const char *path = statement_text(files, 1);
        int is_of = is_of_wanted(folders, wanted, path ? path : "", error);
        if (is_of < 0 || (is_of && take_file(forgotten, files, error)))
            row = -1;
    }
    statement_free(folders);
    statement_free(files);
    return row;
}

/*
 * Marks the jobs of all files before it removes the first one, because a file's records may be found by the
 * rows of another.
 */
static int remove_files(struct store *store, const struct forgotten *forgotten, struct error *error)
{
    struct removal removal;
    int failed = removal_init(&removal, store, error);
    for (size_t i = 0; !failed && i < forgotten->count; i++)
        failed = removal_note(&removal, forgotten->files[i].id, error);
    for (size_t i = 0; !failed && i < forgotten->count; i++)
        failed = removal_file(&removal, forgotten->files[i].id, error);
    removal_release(&removal);
    return failed || removal_sweep(store, error) || store_set_fact(store, "joined", 0, error) ? -1 : 0;
}

int forget_runs(struct store *store, const int64_t *runs, size_t count, struct forgotten *forgotten,
                struct error *error)
{
    const struct wanted wanted = {.runs = runs, .count = count};
    if (!count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (list_files(store, runs[i], i, forgotten, error))
            return -1;
    return check_files(store, &wanted, forgotten, error) ||
                   list_files_without_process(store, &wanted, forgotten, error) ||
                   recorded_restore(store, error) < 0 || remove_files(store, forgotten, error)
               ? -1
               : 0;
}
