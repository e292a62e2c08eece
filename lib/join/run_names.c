#include "join/run_names.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/ids.h"
#include "schemas.h"
#include "store/node_path.h"
#include "store/store.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Greater numbers are a damaged store's. */
#define GREATEST_NUMBER (INT64_C(1) << 53)

/* What a run without a folder is called: its files came through a pipe, or lie in "/". */
#define NAME_OF_PIPES "stdin"
#define NAME_OF_ROOT "run"

/* Takes the text when no run has it: its number, -1 when some run has it, -2 when memory is out. */
static int64_t take_name(struct work *work, const char *text)
{
    size_t known = work->run_names.count;
    int64_t name = intern_put(&work->run_names, text, strlen(text));
    return name < 0 ? -2 : work->run_names.count > known ? name : -1;
}

/* Rows come by number: a process's run takes the first one it is offered, and each is taken once. */
static int read_earlier(struct work *work, struct store *store, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_load_earlier_runs, error);
    int row = statement ? 1 : -1;
    int64_t taken = 0;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        int64_t process = find_id(work->processes, work->process_count, sizeof *work->processes,
                                  work->process_count, statement_integer(statement, 0));
        int64_t number = statement_integer(statement, 1);
        const char *name = statement_text(statement, 2);
        struct work_run *run = process < 0 ? NULL : &work->runs[work->processes[process].run];
        if (!run || run->number || number <= taken || number >= GREATEST_NUMBER)
            continue;
        run->number = taken = number;
        if (name && (run->name = take_name(work, name)) == -2)
            row = error_no_memory(error);
    }
    statement_free(statement);
    if (taken > work->last_run)
        work->last_run = taken;
    return row;
}

/* The folder of all files of a run: a text of `length` bytes; NULL where none is known. */
struct folder {
    const char *text; /* borrowed */
    size_t length;
};

/* How long the path is that both begin with: "/a/b" of "/a/b/c" and "/a/b", "/a" of "/a/bc" and "/a/bd". */
static size_t common_length(const struct folder *folder, const char *path)
{
    size_t length = 0;
    while (length < folder->length && path[length] == folder->text[length])
        length++;
    int ends_here =
        (length == folder->length || folder->text[length] == '/') && (path[length] == '/' || !path[length]);
    while (!ends_here && length && folder->text[length - 1] != '/')
        length--;
    return ends_here || !length ? length : length - 1;
}

static void find_folders(const struct work *work, struct folder *folders)
{
    for (size_t i = 0; i < work->process_count; i++) {
        const char *file_set = node_path_plain(work->processes[i].file_set);
        struct folder *folder = &folders[work->processes[i].run];
        if (*file_set != '/')
            continue;
        if (folder->text)
            folder->length = common_length(folder, file_set);
        else
            *folder = (struct folder){file_set, strlen(file_set)};
    }
}

/* Files of other recorders that tell of the same runs. */
static int widen_folders(const struct work *work, struct store *store, struct folder *folders,
                         struct error *error)
{
    struct statement *row = store_prepare(store, schema_join_witnesses_folders, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        int64_t process = find_id(work->processes, work->process_count, sizeof *work->processes,
                                  work->process_count, statement_integer(row, 0));
        const char *text = statement_text(row, 1), *file_set = text ? node_path_plain(text) : NULL;
        struct folder *folder = process < 0 ? NULL : &folders[work->processes[process].run];
        if (folder && folder->text && file_set && *file_set == '/')
            folder->length = common_length(folder, file_set);
    }
    statement_free(row);
    return more;
}

/* As it stands in a name: no blanks, commas and control characters. */
static char plain(char byte)
{
    if ((unsigned char)byte <= ' ' || byte == 0x7f || byte == ',')
        return '_';
    return byte;
}

/* Writes the name that the folder gives. */
static int name_after(const struct folder *folder, struct buffer *name)
{
    size_t begin = folder->length;
    buffer_clear(name);
    while (begin && folder->text[begin - 1] != '/')
        begin--;
    const char *last = folder->text ? folder->text + begin : "";
    size_t length = folder->length - begin;
    if (!length)
        return buffer_append_text(name, folder->text ? NAME_OF_ROOT : NAME_OF_PIPES);
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)last[digits]))
        digits++;
    int failed = (digits == length || *last == '-') && buffer_append_text(name, NAME_OF_ROOT "-");
    for (size_t i = 0; i < length && !failed; i++)
        failed = buffer_append_byte(name, plain(last[i]));
    return failed;
}

/* Gives a run the name in `name`, or with a number behind it that no run has; `next` has the one to try for
 * each name. */
static int give_name(struct work *work, struct work_run *run, struct buffer *name, struct map *next)
{
    size_t length = name->length;
    run->name = take_name(work, name->data);
    if (run->name != -1)
        return run->name == -2 ? -1 : 0;
    int64_t base = intern_put(&work->run_names, name->data, length);
    int64_t *number = base < 0 ? NULL : map_put(next, (struct map_key){{(uint64_t)base}}, 2, NULL);
    if (!number)
        return -1;
    while (run->name == -1) {
        name->data[name->length = length] = '\0';
        if (buffer_printf(name, "-%lld", (long long)(*number)++))
            return -1;
        run->name = take_name(work, name->data);
    }
    return run->name == -2 ? -1 : 0;
}

static int name_new(struct work *work, const struct folder *folders)
{
    struct buffer name = BUFFER_INIT;
    struct map next;
    int failed = 0;
    map_init(&next);
    for (size_t i = 0; i < work->run_count && !failed; i++) {
        struct work_run *run = &work->runs[i];
        if (!run->number)
            run->number = ++work->last_run;
        if (run->name < 0)
            failed = name_after(&folders[i], &name) || give_name(work, run, &name, &next);
    }
    map_release(&next);
    buffer_release(&name);
    return failed;
}

int work_name_runs(struct work *work, struct store *store, struct error *error)
{
    for (size_t i = 0; i < work->run_count; i++)
        work->runs[i].name = -1;
    if (store_fact(store, "last_run", 0, &work->last_run, error))
        return -1;
    if (work->last_run < 0 || work->last_run >= GREATEST_NUMBER)
        work->last_run = 0;
    if (read_earlier(work, store, error))
        return -1;
    struct folder *folders = array_new(work->run_count, sizeof *folders);
    if (!folders)
        return error_no_memory(error);
    find_folders(work, folders);
    int failed = widen_folders(work, store, folders, error);
    if (!failed && name_new(work, folders))
        failed = error_no_memory(error);
    free(folders);
    return failed;
}
