#include "export/files.h"

#include "base/buffer.h"
#include "export/csv_file.h"
#include "output/output.h"
#include "store/plain_file.h"
#include "store/statement.h"
#include "store/store.h"
#include "store/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_wanted(const struct export_request *request, const struct view *view)
{
    return request->network_steps || !view->is_network_steps;
}

static int add_table(const struct export_request *request, const struct view *view, struct plain_file *file,
                     struct error *error)
{
    int64_t count = 0;
    struct statement *rows = view_rows(request->store, view, request->run_id, error);
    int failed = !rows || plain_file_add(file, view, rows, &count, error) ||
                 request->tell(request->context, view, request->path, count, error);
    statement_free(rows);
    return failed ? error_wrap(error, "cannot write %s as a table", view->name) : 0;
}

static int write_tables(const struct export_request *request, struct plain_file *file, struct error *error)
{
    int failed = store_begin_reading(request->store, error);
    for (int i = 0; i < STORE_VIEWS && !failed; i++)
        if (is_wanted(request, &store_views[i]))
            failed = add_table(request, &store_views[i], file, error);
    store_rollback(request->store);
    return failed;
}

int export_sqlite(const struct export_request *request, struct error *error)
{
    struct output *output = output_open(request->path, OUTPUT_BY_DESCRIPTOR, error);
    if (!output)
        return -1;
    struct plain_file *file = plain_file_open(output_descriptor(output), error);
    int failed = !file || write_tables(request, file, error);
    if (failed)
        plain_file_discard(file);
    else
        failed = plain_file_close(file, error);
    if (!failed)
        return output_close(output, error);
    output_discard(output);
    return error_wrap(error, "cannot export to %s", request->path);
}

/* What the files of a directory are. */
struct kind {
    const char *name;
    const char *ending;
    int (*write)(const struct export_request *request, struct output *output, const struct view *view,
                 struct statement *rows, int64_t *count, struct error *error);
};

/* A file in the directory. NULL when memory is out. */
static char *name_of(const struct export_request *request, const struct kind *kind, const struct view *view)
{
    struct buffer path = BUFFER_INIT;
    if (buffer_printf(&path, "%s/%s%s", request->path, view->name, kind->ending))
        buffer_release(&path);
    return buffer_detach(&path);
}

static int write_view(const struct export_request *request, const struct kind *kind, const struct view *view,
                      struct output **output, struct error *error)
{
    int64_t count = 0;
    char *path = name_of(request, kind, view);
    if (!path)
        return error_no_memory(error);
    struct statement *rows = view_rows(request->store, view, request->run_id, error);
    int failed = !rows || !(*output = output_open(path, OUTPUT_PLAIN, error)) ||
                 kind->write(request, *output, view, rows, &count, error) ||
                 request->tell(request->context, view, path, count, error);
    statement_free(rows);
    free(path);
    return failed ? error_wrap(error, "cannot write %s as %s", view->name, kind->name) : 0;
}

static int write_views(const struct export_request *request, const struct kind *kind, struct output **outputs,
                       struct error *error)
{
    int failed = store_begin_reading(request->store, error);
    for (int i = 0; i < STORE_VIEWS && !failed; i++)
        if (is_wanted(request, &store_views[i]))
            failed = write_view(request, kind, &store_views[i], &outputs[i], error);
    store_rollback(request->store);
    return failed;
}

/* Of an earlier export: beside today's files it would tell of another state. */
static int remove_view(const struct export_request *request, const struct kind *kind, const struct view *view,
                       struct error *error)
{
    char *path = name_of(request, kind, view);
    int failed = !path ? error_no_memory(error)
                 : unlink(path) == 0 || errno == ENOENT
                     ? 0
                     : error_set_errno(error, errno, "cannot remove %s", path);
    free(path);
    return failed;
}

/* A disk that is full shows here, before the first of them takes its name. */
static int flush_all(struct output **outputs, struct error *error)
{
    for (int i = 0; i < STORE_VIEWS; i++)
        if (outputs[i] && output_flush(outputs[i], error))
            return -1;
    return 0;
}

/* All take their names, or are as they were. */
static int close_all(const struct export_request *request, const struct kind *kind, struct output **outputs,
                     int failed, struct error *error)
{
    for (int i = 0; i < STORE_VIEWS; i++) {
        if (failed)
            output_discard(outputs[i]);
        else
            failed = outputs[i] ? output_close(outputs[i], error)
                                : remove_view(request, kind, &store_views[i], error);
    }
    return failed;
}

/* Whether the directory was made here. -1 on error. */
static int make_directory(const char *path, struct error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return 1;
    if (errno != EEXIST || stat(path, &status))
        return error_set_errno(error, errno, "cannot create directory %s", path);
    return S_ISDIR(status.st_mode) ? 0 : error_set(error, "%s: is not a directory", path);
}

static int export_directory(const struct export_request *request, const struct kind *kind,
                            struct error *error)
{
    struct output *outputs[STORE_VIEWS] = {NULL};
    if (strcmp(request->path, "-") == 0)
        return error_set(error, "this format needs a directory, not standard output");
    int is_new = make_directory(request->path, error);
    if (is_new < 0)
        return -1;
    int failed = write_views(request, kind, outputs, error) || flush_all(outputs, error);
    if (!close_all(request, kind, outputs, failed, error))
        return 0;
    if (is_new)
        rmdir(request->path);
    return error_wrap(error, "cannot export to %s", request->path);
}

static int write_csv(const struct export_request *request, struct output *output, const struct view *view,
                     struct statement *rows, int64_t *count, struct error *error)
{
    return csv_file_write(output, view, rows, count, error);
}

static int write_parquet(const struct export_request *request, struct output *output, const struct view *view,
                         struct statement *rows, int64_t *count, struct error *error)
{
    return parquet_file_write(output, view, rows, &request->parquet, count, error);
}

int export_csv(const struct export_request *request, struct error *error)
{
    static const struct kind csv = {"CSV", ".csv", write_csv};
    return export_directory(request, &csv, error);
}

int export_parquet(const struct export_request *request, struct error *error)
{
    static const struct kind parquet = {"Parquet", ".parquet", write_parquet};
    return export_directory(request, &parquet, error);
}
