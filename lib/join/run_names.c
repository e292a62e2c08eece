/*
 * Numbers and names runs so that they stay the same when files are added, and names their ranks and
 * communicators. Runs at the end of the join, when ranks and runs are known.
 */
#include "base/base.h"
#include "join/internal.h"
#include "store/store.h"

#include "schemas.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Larger numbers come from a damaged store. */
#define GREATEST_NUMBER (INT64_C(1) << 53)

/* The name of a run without a folder: its files came through a pipe, or are in "/". */
#define NAME_OF_PIPES "stdin"
#define NAME_OF_ROOT "run"

/* Takes a name if no run has it. Returns its number; -1 if a run has it; -2: out of memory. */
static int64_t take_name(struct work *work, const char *text)
{
    size_t known = work->run_names.count;
    int64_t name = intern_put(&work->run_names, text, strlen(text));
    return name < 0 ? -2 : work->run_names.count > known ? name : -1;
}

/*
 * Rows are sorted by number. The run of a process takes the first number offered, and each number is taken
 * once.
 */
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

/* The folder of all files of a run, `length` bytes; NULL: unknown. */
struct folder {
    const char *text; /* borrowed */
    size_t length;
};

/* The length of the common directory: "/a/b" of "/a/b/c" and "/a/b", "/a" of "/a/bc" and "/a/bd". */
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

/* Includes the files of recorders that were united with the run. */
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

/* Replaces characters that are not allowed in a name. */
static char plain(char byte)
{
    if ((unsigned char)byte <= ' ' || byte == 0x7f || byte == ',')
        return '_';
    return byte;
}

/* Makes a name from the last part of the folder. */
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

/*
 * Gives a run the name in `name`; if it is taken, with the first free number appended. `next` has the number
 * to try next for each name.
 */
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

/* Names of ranks and labels of communicators. */

static int name_rank(struct work *work, struct work_rank *rank)
{
    struct buffer text = BUFFER_INIT;
    int failed;
    if (rank->global_rank >= 0) {
        failed = buffer_printf(&text, "%lld", (long long)rank->global_rank);
    } else {
        const struct work_process *process = &work->processes[rank->process];
        failed = buffer_printf(&text, "%s:%lld", process->host[0] ? process->host : "process",
                               (long long)process->pid);
    }
    if (failed)
        buffer_release(&text);
    rank->name = buffer_detach(&text);
    return rank->name ? 0 : -1;
}

/* Writes a list such as "0-3,7". */
static int write_numbers(struct buffer *text, int64_t *numbers, size_t count)
{
    sort_integers(numbers, count);
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        if (i && buffer_append_byte(text, ','))
            return -1;
        if (buffer_printf(text, last > i ? "%lld-%lld" : "%lld", (long long)numbers[i],
                          (long long)numbers[last]))
            return -1;
        i = last + 1;
    }
    return 0;
}

static int label_by_ranks(const struct work *work, struct buffer *text, const int32_t *members, size_t count)
{
    int64_t *numbers = array_new(count, sizeof *numbers);
    if (!numbers)
        return -1;
    int global = 1;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = work->ranks[work->members[members[i]].job_rank].global_rank;
        global &= numbers[i] >= 0;
    }
    int failed;
    if (global && count) {
        failed = write_numbers(text, numbers, count);
    } else {
        const struct work_communicator *communicator =
            &work->communicators[count ? work->members[members[0]].communicator : 0];
        failed = buffer_printf(text, "%llx", (unsigned long long)communicator->hash);
    }
    free(numbers);
    return failed;
}

/*
 * Appends "#2", "#3" ... to a label that is already used in the same run; times[] counts by number in `seen`.
 */
static int make_unique(struct intern *seen, int *times, int32_t run, struct buffer *text)
{
    struct buffer key = BUFFER_INIT;
    int64_t number = -1;
    if (!buffer_printf(&key, "%d %s", run, text->data))
        number = intern_put(seen, key.data, key.length);
    buffer_release(&key);
    if (number < 0)
        return -1;
    return ++times[number] > 1 ? buffer_printf(text, "#%d", times[number]) : 0;
}

static int label_communicator(struct work *work, size_t at, struct intern *seen, int *times)
{
    struct work_communicator *communicator = &work->communicators[at];
    const int32_t *members = work->by_communicator.items + work->by_communicator.first[at];
    struct buffer text = BUFFER_INIT;
    int failed;
    if (communicator->name && strcmp(communicator->name, "unknown") != 0 && communicator->name[0])
        failed = buffer_append_text(&text, communicator->name);
    else
        failed = label_by_ranks(work, &text, members, (size_t)communicator->member_count);
    failed = failed || make_unique(seen, times, communicator->run, &text);
    communicator->label = buffer_detach(&text);
    return failed || !communicator->label;
}

/* A communicator and its sort key: the hash, and its first member by host, process and rank. */
struct labelled {
    uint64_t hash;
    size_t communicator;
    const struct work_process *process; /* NULL: no members */
    int64_t rank;
    const char *path;
};

static int compare_processes(const struct work_process *left, const struct work_process *right)
{
    if (!left || !right)
        return (left != NULL) - (right != NULL);
    int order = strcmp(left->host, right->host);
    order = order ? order : compare_integers(left->pid, right->pid);
    return order ? order : strcmp(left->file_set, right->file_set);
}

static int by_hash(const void *a, const void *b)
{
    const struct labelled *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    int order = compare_processes(left->process, right->process);
    order = order ? order : compare_integers(left->rank, right->rank);
    order = order ? order : strcmp(left->path, right->path);
    return order ? order : compare_integers((int64_t)left->communicator, (int64_t)right->communicator);
}

static struct labelled find_by(const struct work *work, size_t at)
{
    const struct work_communicator *communicator = &work->communicators[at];
    struct labelled label = {(uint64_t)communicator->hash, at, NULL, 0,
                             communicator->path ? communicator->path : ""};
    for (size_t i = work->by_communicator.first[at]; i < work->by_communicator.first[at + 1]; i++) {
        const struct work_member *member = &work->members[work->by_communicator.items[i]];
        const struct work_process *process = &work->processes[member->process];
        int order = label.process ? compare_processes(process, label.process) : -1;
        if (order < 0 || (order == 0 && member->rank < label.rank)) {
            label.process = process;
            label.rank = member->rank;
        }
    }
    return label;
}

/*
 * Sorts communicators by hash, then by members, then by file: which of two with the same ranks comes first
 * must not depend on the order in which files were read.
 */
static struct labelled *label_order(const struct work *work)
{
    struct labelled *order = array_new(work->communicator_count, sizeof *order);
    for (size_t i = 0; order && i < work->communicator_count; i++)
        order[i] = find_by(work, i);
    if (order)
        array_sort(order, work->communicator_count, sizeof *order, by_hash);
    return order;
}

static int label_communicators(struct work *work, struct error *error)
{
    struct labelled *order = label_order(work);
    int *times = array_new(work->communicator_count, sizeof *times);
    struct intern seen;
    intern_init(&seen);
    int failed = !order || !times;
    for (size_t i = 0; !failed && i < work->communicator_count; i++)
        failed = label_communicator(work, order[i].communicator, &seen, times);
    intern_release(&seen);
    free(times);
    free(order);
    return failed ? error_no_memory(error) : 0;
}

int work_label(struct work *work, struct error *error)
{
    for (size_t i = 0; i < work->rank_count; i++)
        if (name_rank(work, &work->ranks[i]))
            return error_no_memory(error);
    return label_communicators(work, error);
}
