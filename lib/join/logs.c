/*
 * Corrects Inspector logs before the join: unites processes found in several directories, puts the files of a
 * process in order, then calls log_duplicates.c and log_clock.c.
 */
#include "join/logs.h"
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/*
 * Rotated logs may be in another directory. Two processes with the same host and process id that are the same
 * rank of the same communicator are one process.
 */

static int run_all(struct store *store, const char *const *sentences, size_t count, int64_t to, int64_t from,
                   struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct statement *statement = store_prepare(store, sentences[i], error);
        int failed = !statement || statement_bind_integer(statement, 1, to, error) ||
                     statement_bind_integer(statement, 2, from, error) ||
                     statement_step(statement, error) < 0;
        statement_free(statement);
        if (failed)
            return -1;
    }
    return 0;
}

struct pair {
    int64_t from;
    int64_t to;
};

static int list_pairs(struct store *store, int64_t to, int64_t from, struct pair **pairs, size_t *count,
                      struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_united, error);
    size_t capacity = 0;
    int row = !statement || statement_bind_integer(statement, 1, to, error) ||
                      statement_bind_integer(statement, 2, from, error)
                  ? -1
                  : 1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)pairs, &capacity, *count + 1, sizeof **pairs)) {
            row = error_no_memory(error);
            break;
        }
        (*pairs)[(*count)++] =
            (struct pair){statement_integer(statement, 0), statement_integer(statement, 1)};
    }
    statement_free(statement);
    return row;
}

static int unite(struct store *store, int64_t to, int64_t from, struct error *error)
{
    static const char *const of_member[] = {schema_join_logs_move_files, schema_join_logs_forget_files,
                                            schema_join_logs_forget_joined, schema_join_logs_forget_member};
    static const char *const of_process[] = {schema_join_logs_unite_changes, schema_join_logs_forget_changes,
                                             schema_join_logs_forget_clock, schema_join_logs_forget_process};
    static const char *const first[] = {schema_join_logs_unite_members};
    struct pair *pairs = NULL;
    size_t count = 0;
    int failed =
        run_all(store, first, 1, to, from, error) || list_pairs(store, to, from, &pairs, &count, error);
    for (size_t i = 0; !failed && i < count; i++)
        failed = record_tables_move(store, FIELD_MEMBER, pairs[i].from, pairs[i].to, error) ||
                 run_all(store, of_member, sizeof of_member / sizeof *of_member, pairs[i].to, pairs[i].from,
                         error);
    free(pairs);
    return failed || record_tables_move(store, FIELD_PROCESS, from, to, error) ||
                   run_all(store, of_process, sizeof of_process / sizeof *of_process, to, from, error)
               ? -1
               : 0;
}

/* Finds two processes that are the same. 1, 0 if there are none, -1 on error. */
static int find_two(struct store *store, int64_t *to, int64_t *from, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_same_process, error);
    int row = statement ? statement_step(statement, error) : -1;
    if (row == 1) {
        *to = statement_integer(statement, 0);
        *from = statement_integer(statement, 1);
    }
    statement_free(statement);
    return row;
}

/* Unites processes found in several directories. */
static int logs_unite_processes(struct store *store, struct error *error)
{
    int64_t to, from;
    int found;
    while ((found = find_two(store, &to, &from, error)) == 1)
        if (unite(store, to, from, error))
            return -1;
    return found;
}

/*
 * The files of a process are ordered by their records. If two files have numbers of the same series, the one
 * that begins with the smaller number is first; else the one with the earlier times. Names do not decide:
 * x.log.1 is older than x.log if it was rotated, and newer if it is a copy.
 */

struct series_begin {
    int64_t number;
    int64_t at_ns; /* 0: unknown */
};

/* Where a file begins in a series. */
struct begin_of {
    size_t series; /* index among the series of the process */
    struct series_begin begin;
};

struct log_file {
    int64_t id;
    char *path;            /* owned */
    int64_t at_ns;         /* of its first record with a time; 0: none */
    struct begin_of *list; /* owned; sorted by series */
    size_t count;
    size_t capacity;
};

struct files {
    struct log_file *items; /* owned */
    size_t count;
    size_t capacity;
    struct map series; /* (member, series) -> index */
};

static void files_release(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].list);
    }
    free(files->items);
    map_release(&files->series);
}

static int add_file(struct files *files, struct statement *statement, struct error *error)
{
    const char *path = statement_text(statement, 1);
    if (array_reserve((void **)&files->items, &files->capacity, files->count + 1, sizeof *files->items))
        return error_no_memory(error);
    struct log_file *file = &files->items[files->count];
    *file = (struct log_file){.id = statement_integer(statement, 0), .path = strdup(path ? path : "")};
    if (!file->path)
        return error_no_memory(error);
    files->count++;
    return 0;
}

static int list_files(struct files *files, const struct logs *logs, struct error *error)
{
    struct statement *list = logs->list_files;
    int row = statement_bind_integer(list, 1, logs->process_id, error) ? -1 : 1;
    while (row == 1 && (row = statement_step(list, error)) == 1)
        if (add_file(files, list, error))
            row = -1;
    statement_reset(list);
    return row;
}

static int is_of_earlier(const void *begin, const void *series)
{
    return ((const struct begin_of *)begin)->series < *(const size_t *)series;
}

/* The beginning of the file in a series, which is added if there is none; NULL: out of memory. */
static struct begin_of *find_begin(struct log_file *file, size_t series)
{
    size_t at = lower_bound(file->list, file->count, sizeof *file->list, is_of_earlier, &series);
    if (at < file->count && file->list[at].series == series)
        return &file->list[at];
    if (array_reserve((void **)&file->list, &file->capacity, file->count + 1, sizeof *file->list))
        return NULL;
    memmove(&file->list[at + 1], &file->list[at], (file->count - at) * sizeof *file->list);
    file->count++;
    file->list[at] = (struct begin_of){series, {-1, 0}};
    return &file->list[at];
}

static int note_row(struct files *files, struct log_file *file, const struct block_reader *rows, size_t row,
                    size_t member)
{
    int64_t issued = logs_issued_ns(rows, row), number = block_value(rows, OPERATION_SEQUENCE, row, -1);
    file->at_ns = file->at_ns ? file->at_ns : issued;
    if (number < 0)
        return 0;
    const int64_t *series =
        map_put(&files->series, (struct map_key){{(uint64_t)member, (uint64_t)logs_series(rows, row)}},
                (int64_t)files->series.count, NULL);
    struct begin_of *begin = series ? find_begin(file, (size_t)*series) : NULL;
    if (!begin)
        return -1;
    if (begin->begin.number < 0)
        begin->begin = (struct series_begin){number, issued};
    return 0;
}

static int note_blocks(struct files *files, struct logs *logs, struct error *error)
{
    static const int columns[] = {LOG_COLUMNS};
    size_t file = 0;
    for (size_t at = 0; at < logs->block_count; at++) {
        const struct log_block *block = &logs->blocks[at];
        while (file < files->count && files->items[file].id < block->id >> 32)
            file++;
        if (file == files->count || files->items[file].id != block->id >> 32)
            return stored_block_damaged(block->id, error);
        if (logs_open(logs, block->id, columns, sizeof columns / sizeof *columns, error))
            return -1;
        for (size_t row = 0; row < logs->reader.count; row++)
            if (note_row(files, &files->items[file], &logs->reader, row, block->member))
                return error_no_memory(error);
    }
    return 0;
}

/* The order by most series that both files have; 0: undecided. */
static int by_numbers(const struct log_file *left, const struct log_file *right)
{
    int votes = 0;
    for (size_t i = 0, j = 0; i < left->count && j < right->count;) {
        const struct begin_of *a = &left->list[i], *b = &right->list[j];
        if (a->series == b->series)
            votes += (a->begin.number > b->begin.number) - (a->begin.number < b->begin.number);
        i += a->series <= b->series;
        j += b->series <= a->series;
    }
    return votes;
}

static int compare(const struct log_file *left, const struct log_file *right)
{
    int order = by_numbers(left, right);
    if (!order && left->at_ns && right->at_ns)
        order = (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
    /* Only now the names of rotated logs decide: x.log.2, x.log.1, x.log. */
    return order ? order : strcmp(right->path, left->path);
}

static int is_not_after(const void *file, const void *other)
{
    return compare(file, other) <= 0;
}

/* Binary insertion, which terminates even if the comparisons are not transitive. */
static void sort_files(struct files *files)
{
    for (size_t i = 1; i < files->count; i++) {
        struct log_file file = files->items[i];
        size_t at = lower_bound(files->items, i, sizeof *files->items, is_not_after, &file);
        memmove(&files->items[at + 1], &files->items[at], (i - at) * sizeof *files->items);
        files->items[at] = file;
    }
}

static int renumber(struct store *store, int64_t from, int64_t to, struct error *error)
{
    static const char *const sentences[] = {schema_join_logs_renumber_unhashed,
                                            schema_join_logs_renumber_clock_steps};
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct statement *statement = store_prepare(store, sentences[i], error);
        int failed = !statement || statement_bind_integer(statement, 1, from, error) ||
                     statement_bind_integer(statement, 2, to, error) || statement_step(statement, error) < 0;
        statement_free(statement);
        if (failed)
            return -1;
    }
    return record_tables_renumber(store, from, to, error);
}

static int next_number(struct store *store, int64_t *next, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_next_file, error);
    int row = statement ? statement_step(statement, error) : -1;
    *next = row == 1 ? statement_integer(statement, 0) : 0;
    statement_free(statement);
    return row == 1 ? 0 : -1;
}

/*
 * Gives a new number to each file that comes after one with a greater number. Returns whether there was one;
 * -1 on error.
 */
static int renumber_files(const struct files *files, struct store *store, struct error *error)
{
    int64_t last = 0, next = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (files->items[i].id > last) {
            last = files->items[i].id;
            continue;
        }
        if ((!next && next_number(store, &next, error)) || renumber(store, files->items[i].id, next, error))
            return -1;
        last = next++;
    }
    return next != 0;
}

/* Numbers the files of a process in the order of their records. 1: numbers changed; 0: not; -1 on error. */
static int logs_order_files(struct logs *logs, struct error *error)
{
    struct files files = {.items = NULL};
    map_init(&files.series);
    int outcome = list_files(&files, logs, error);
    if (!outcome && files.count > 1) {
        outcome = note_blocks(&files, logs, error);
        if (!outcome) {
            sort_files(&files);
            outcome = renumber_files(&files, logs->store, error);
        }
    }
    files_release(&files);
    return outcome;
}

static int list_members(struct logs *logs, struct error *error)
{
    struct statement *list = logs->list_members;
    int row = statement_bind_integer(list, 1, logs->process_id, error) ? -1 : 1;
    while (row == 1 && (row = statement_step(list, error)) == 1) {
        if (array_reserve((void **)&logs->members, &logs->member_capacity, logs->member_count + 1,
                          sizeof *logs->members)) {
            row = error_no_memory(error);
            break;
        }
        logs->members[logs->member_count++] =
            (struct log_member){statement_integer(list, 0), statement_integer(list, 1)};
    }
    statement_reset(list);
    return row;
}

static int by_id(const void *a, const void *b)
{
    const struct log_block *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Lists the members and blocks of a process in place of those of the previous one. */
static int logs_list(struct logs *logs, int64_t process_id, struct error *error)
{
    logs->process_id = process_id;
    logs->member_count = logs->block_count = 0;
    logs_enter(logs);
    int failed = list_members(logs, error);
    logs_leave(logs);
    if (failed)
        return -1;
    for (size_t i = 0; i < logs->member_count; i++)
        if (logs_add_blocks(logs, i, error))
            return -1;
    array_sort(logs->blocks, logs->block_count, sizeof *logs->blocks, by_id);
    return 0;
}

/* What a look at a process shows. */
enum look {
    LOOK_RIGHT,           /* nothing is to be corrected */
    LOOK_RIGHT_BY_OTHERS, /* the same, as long as the other processes stay as they are */
    LOOK_WRONG            /* something is or was corrected */
};

/* Whether a process has an earlier correction, or has several files: 1, 0 or -1. */
static int needs_order(struct logs *logs, struct error *error)
{
    struct files files = {.items = NULL};
    map_init(&files.series);
    logs_enter(logs);
    int row = statement_bind_integer(logs->is_corrected, 1, logs->process_id, error)
                  ? -1
                  : statement_step(logs->is_corrected, error);
    int is_corrected = row == 1 && statement_integer(logs->is_corrected, 0);
    statement_reset(logs->is_corrected);
    int failed = row < 0 || list_files(&files, logs, error);
    logs_leave(logs);
    int several = files.count > 1;
    files_release(&files);
    return failed ? -1 : is_corrected || several;
}

/* Changes nothing. -1 on error. */
static int look_at(struct logs *logs, struct logs *other, int64_t process_id, struct error *error)
{
    int by_others = 0;
    if (logs_list(logs, process_id, error))
        return -1;
    int wrong = needs_order(logs, error);
    if (wrong == 0 && logs->block_count)
        wrong = logs_have_repeated(logs, error);
    if (wrong == 0 && logs->block_count)
        wrong = logs_find_step(logs, other, &by_others, error);
    return wrong < 0 ? -1 : wrong ? LOOK_WRONG : by_others ? LOOK_RIGHT_BY_OTHERS : LOOK_RIGHT;
}

/* The threads that look at all processes. */
struct lookers {
    pthread_mutex_t inside; /* held by the thread that uses the store; protects `error`, too */
    struct looker {
        struct logs logs, other;
    } * items; /* owned */
    size_t count;
    const int64_t *ids;   /* of the processes */
    unsigned char *looks; /* enum look of each process */
    int failed;
    struct error error; /* of the first that failed */
};

static int look_piece(void *context, size_t worker, size_t first, size_t end)
{
    struct lookers *lookers = context;
    struct looker *looker = &lookers->items[worker];
    for (size_t i = first; i < end; i++) {
        struct error error = ERROR_INIT;
        int look = look_at(&looker->logs, &looker->other, lookers->ids[i], &error);
        if (look >= 0) {
            lookers->looks[i] = (unsigned char)look;
            continue;
        }
        inside_enter(&lookers->inside);
        if (!lookers->failed)
            lookers->error = error;
        lookers->failed = 1;
        inside_leave(&lookers->inside);
        return -1;
    }
    return 0;
}

static int lookers_init(struct lookers *lookers, struct store *store, size_t threads, struct error *error)
{
    lookers->items = array_new(threads, sizeof *lookers->items);
    if (!lookers->items)
        return error_no_memory(error);
    for (; lookers->count < threads; lookers->count++) {
        struct looker *looker = &lookers->items[lookers->count];
        if (logs_init(&looker->logs, store, &lookers->inside, error) ||
            logs_init(&looker->other, store, &lookers->inside, error)) {
            lookers->count++;
            return -1;
        }
    }
    return 0;
}

static void lookers_release(struct lookers *lookers)
{
    for (size_t i = 0; i < lookers->count; i++) {
        logs_release(&lookers->items[i].logs);
        logs_release(&lookers->items[i].other);
    }
    free(lookers->items);
    pthread_mutex_destroy(&lookers->inside);
}

/* Looks at `count` processes, in any order and in parallel. */
static int look_at_all(struct store *store, size_t threads, const int64_t *ids, size_t count,
                       unsigned char *looks, struct error *error)
{
    struct lookers lookers = {.ids = ids, .looks = looks, .error = ERROR_INIT};
    pthread_mutex_init(&lookers.inside, NULL);
    threads = parallel_threads(threads, count, 1);
    int failed = lookers_init(&lookers, store, threads, error);
    if (!failed && parallel_for(count, 1, threads, look_piece, &lookers)) {
        failed = -1;
        if (lookers.failed && error)
            *error = lookers.error;
        else if (!lookers.failed)
            error_no_memory(error);
    }
    lookers_release(&lookers);
    return failed;
}

static int correct_process(struct logs *logs, struct logs *other, int64_t process_id, struct error *error)
{
    static const char *const undo[] = {schema_join_logs_restore, schema_join_logs_forget_recorded,
                                       schema_join_logs_restore_proxies, schema_join_logs_forget_proxies,
                                       schema_join_logs_forget_clock_steps};
    for (size_t i = 0; i < sizeof undo / sizeof *undo; i++)
        if (logs_run(logs->store, undo[i], process_id, error))
            return -1;
    if (logs_list(logs, process_id, error))
        return -1;
    int moved = logs_order_files(logs, error);
    if (moved < 0 || (moved && logs_list(logs, process_id, error)))
        return -1;
    return logs_drop_duplicates(logs, error) || logs_list(logs, process_id, error) ||
                   logs_correct_clock(logs, other, error)
               ? -1
               : 0;
}

static int list_processes(struct store *store, int64_t **ids, size_t *count, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_logs_processes, error);
    size_t capacity = 0;
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)ids, &capacity, *count + 1, sizeof **ids)) {
            row = error_no_memory(error);
            break;
        }
        (*ids)[(*count)++] = statement_integer(statement, 0);
    }
    statement_free(statement);
    return row;
}

/* Once a process was corrected, a look at others by its records does not count. */
static int correct_from(struct store *store, const int64_t *ids, size_t first, size_t count,
                        const unsigned char *looks, struct error *error)
{
    struct logs logs, other;
    int failed = logs_init(&logs, store, NULL, error);
    failed = logs_init(&other, store, NULL, failed ? NULL : error) || failed;
    for (size_t i = first; !failed && i < count; i++)
        if (looks[i] != LOOK_RIGHT)
            failed = correct_process(&logs, &other, ids[i], error);
    logs_release(&logs);
    logs_release(&other);
    return failed ? -1 : 0;
}

static int correct_all(struct store *store, const int64_t *ids, size_t count, const unsigned char *looks,
                       struct error *error)
{
    size_t first = 0;
    while (first < count && looks[first] != LOOK_WRONG)
        first++;
    return first < count ? correct_from(store, ids, first, count, looks, error) : 0;
}

int logs_correct(struct store *store, size_t threads, struct error *error)
{
    int64_t *ids = NULL;
    size_t count = 0;
    unsigned char *looks = NULL;
    int failed = logs_unite_processes(store, error) || list_processes(store, &ids, &count, error);
    if (!failed && !(looks = array_new(count, sizeof *looks)))
        failed = error_no_memory(error);
    failed = failed || look_at_all(store, threads, ids, count, looks, error) ||
             correct_all(store, ids, count, looks, error);
    free(looks);
    free(ids);
    return failed ? -1 : 0;
}
