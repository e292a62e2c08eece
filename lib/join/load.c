/*
 * Loads processes, communicators, members and tag marks from the base tables into struct work. Also: which
 * tag an operation has, and occurrence numbers of operations whose sequence numbers repeat.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t find_member(const struct work *work, int64_t id)
{
    return (int32_t)find_id(work->members, work->member_count, sizeof *work->members, work->member_count, id);
}

static char *copy_text(struct statement *statement, int column)
{
    const char *text = statement_text(statement, column);
    return strdup(text ? text : "");
}

typedef int (*row_reader)(struct work *work, struct statement *statement, struct error *error);

static int read_rows(struct work *work, struct store *store, const char *sql, row_reader read,
                     struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    if (!statement)
        return -1;
    int row;
    while ((row = statement_step(statement, error)) == 1)
        if (read(work, statement, error)) {
            row = -1;
            break;
        }
    statement_free(statement);
    return row;
}

/*
 * Ranks and sizes are of type int in NCCL. Larger ones come from a damaged line or a hostile file. They stay
 * in the store unchanged and are not used here.
 */
static int64_t believed(int64_t number, int64_t otherwise)
{
    return number < INT32_MAX ? number : otherwise;
}

static int read_process(struct work *work, struct statement *statement, struct error *error)
{
    if (array_reserve((void **)&work->processes, &work->process_capacity, work->process_count + 1,
                      sizeof *work->processes))
        return error_no_memory(error);
    struct work_process *process = &work->processes[work->process_count++];
    *process = (struct work_process){.id = statement_integer(statement, 0),
                                     .file_set = copy_text(statement, 1),
                                     .host = copy_text(statement, 2),
                                     .pid = statement_integer(statement, 3),
                                     .first_file = statement_integer(statement, 4),
                                     .declared_rank = -1,
                                     .run = -1};
    return process->file_set && process->host ? 0 : error_no_memory(error);
}

/* A list that does not fit the declared size is not used. */
static int read_told_members(struct work_communicator *communicator, const char *members, struct error *error)
{
    if (!members)
        return 0;
    if (members_read(members, &communicator->told, &communicator->told_count))
        return error_no_memory(error);
    if (communicator->declared_size == 0)
        communicator->declared_size = (int64_t)communicator->told_count;
    if (communicator->declared_size != (int64_t)communicator->told_count)
        communicator->told_count = 0;
    return 0;
}

static int read_communicator(struct work *work, struct statement *statement, struct error *error)
{
    if (array_reserve((void **)&work->communicators, &work->communicator_capacity,
                      work->communicator_count + 1, sizeof *work->communicators))
        return error_no_memory(error);
    struct work_communicator *communicator = &work->communicators[work->communicator_count++];
    *communicator =
        (struct work_communicator){.id = statement_integer(statement, 0),
                                   .hash = statement_integer(statement, 1),
                                   .declared_size = believed(statement_integer_or(statement, 3, 0), 0),
                                   .greatest_peer = -1,
                                   .is_named = !statement_is_null(statement, 6),
                                   .is_without_nccl = statement_integer(statement, 7) != 0,
                                   .run = -1};
    if (!statement_is_null(statement, 2) && !(communicator->name = copy_text(statement, 2)))
        return error_no_memory(error);
    if (!statement_is_null(statement, 4) && !(communicator->path = copy_text(statement, 4)))
        return error_no_memory(error);
    return read_told_members(communicator, statement_text(statement, 5), error);
}

static int read_member(struct work *work, struct statement *statement, struct error *error)
{
    if (array_reserve((void **)&work->members, &work->member_capacity, work->member_count + 1,
                      sizeof *work->members))
        return error_no_memory(error);
    int64_t communicator = find_id(work->communicators, work->communicator_count, sizeof *work->communicators,
                                   work->communicator_count, statement_integer(statement, 1));
    int64_t process = find_id(work->processes, work->process_count, sizeof *work->processes,
                              work->process_count, statement_integer(statement, 3));
    if (communicator < 0 || process < 0)
        return error_set(error, "member %lld refers to a process or communicator that is not in this store",
                         (long long)statement_integer(statement, 0));
    work->members[work->member_count++] =
        (struct work_member){.id = statement_integer(statement, 0),
                             .communicator = (int32_t)communicator,
                             .rank = believed(statement_integer(statement, 2), -1),
                             .process = (int32_t)process,
                             .job_rank = -1,
                             .declared_rank = -1,
                             .affinity = INT64_MIN};
    work->communicators[communicator].member_count++;
    return 0;
}

static void name_peer(struct work *work, int32_t member, int64_t peer)
{
    struct work_communicator *communicator = &work->communicators[work->members[member].communicator];
    if (believed(peer, -1) > communicator->greatest_peer)
        communicator->greatest_peer = peer;
}

static int read_greatest_peer(struct work *work, struct statement *statement, struct error *error)
{
    int32_t member = find_member(work, statement_integer(statement, 0));
    if (member >= 0)
        name_peer(work, member, statement_integer(statement, 1));
    return 0;
}

/*
 * Summary of the blocks of a member: greatest peer, and host clock minus GPU clock at the operation whose
 * start the host noticed soonest. That difference is equal in all files of one process on one GPU, and equal
 * for two GPUs only by accident.
 */
static int read_summary(struct work *work, struct statement *statement, struct error *error)
{
    int32_t member = find_member(work, statement_integer(statement, 0));
    if (member < 0)
        return 0;
    name_peer(work, member, statement_integer_or(statement, 1, -1));
    work->members[member].affinity = statement_integer_or(statement, 2, INT64_MIN);
    work->members[member].operations = (size_t)statement_integer(statement, 3);
    work->members[member].tagged = (size_t)statement_integer(statement, 4);
    work->members[member].first_ns = statement_integer(statement, 5);
    work->members[member].last_ns = statement_integer(statement, 6);
    return 0;
}

/* The first declared rank is kept. */
static int keep_told(struct work *work, int32_t process, int64_t rank, int64_t *kept, struct error *error)
{
    if (*kept < 0)
        *kept = rank;
    return rank >= 0 && *kept != rank ? join_add_conflict(work, process, *kept, rank, error) : 0;
}

static int read_told_rank(struct work *work, struct statement *statement, struct error *error)
{
    int64_t process = find_id(work->processes, work->process_count, sizeof *work->processes,
                              work->process_count, statement_integer(statement, 0));
    int64_t rank = believed(statement_integer_or(statement, 2, -1), -1);
    int64_t size = believed(statement_integer_or(statement, 3, 0), 0);
    if (process < 0)
        return 0;
    if (work->processes[process].declared_job_size == 0)
        work->processes[process].declared_job_size = size;
    if (statement_is_null(statement, 1))
        return keep_told(work, (int32_t)process, rank, &work->processes[process].declared_rank, error);
    int32_t member = find_member(work, statement_integer(statement, 1));
    return member < 0 ? 0
                      : keep_told(work, (int32_t)process, rank, &work->members[member].declared_rank, error);
}

static int read_text(struct work *work, struct statement *statement, int column, int32_t *number,
                     struct error *error)
{
    const char *text = statement_text(statement, column);
    *number = -1;
    if (!text)
        return 0;
    int64_t interned = intern_put(&work->texts, text, strlen(text));
    if (interned < 0)
        return error_no_memory(error);
    *number = (int32_t)interned;
    return 0;
}

static int read_mark(struct work *work, struct statement *statement, struct error *error)
{
    if (array_reserve((void **)&work->marks, &work->mark_capacity, work->mark_count + 1, sizeof *work->marks))
        return error_no_memory(error);
    struct work_mark *mark = &work->marks[work->mark_count];
    *mark = (struct work_mark){
        .order = work->mark_count++,
        .member = statement_is_null(statement, 0) ? -1 : find_member(work, statement_integer(statement, 0)),
        .at_ns = statement_integer(statement, 1),
        .depth = (int32_t)statement_integer(statement, 2),
        .is_end = statement_integer(statement, 3) != 0,
    };
    return read_text(work, statement, 4, &mark->text, error);
}

static int read_tag_name(struct work *work, struct statement *statement, struct error *error)
{
    char number[24];
    int32_t name;
    int length = snprintf(number, sizeof number, "%" PRIu64, (uint64_t)statement_integer(statement, 0));
    int64_t key = intern_put(&work->texts, number, (size_t)length);
    if (read_text(work, statement, 1, &name, error))
        return -1;
    int64_t *known = key < 0 ? NULL : map_put(&work->tag_names, (struct map_key){{(uint64_t)key}}, 0, NULL);
    if (!known)
        return error_no_memory(error);
    /* A name without text removes an earlier name. */
    *known = name < 0 || !*intern_text(&work->texts, name) ? key : name;
    return 0;
}

int work_load(struct work *work, struct store *store, struct error *error)
{
    static const struct {
        const char *sql;
        row_reader read;
    } parts[] = {
        {schema_join_load_processes, read_process}, {schema_join_load_communicators, read_communicator},
        {schema_join_load_members, read_member},    {schema_join_load_greatest_peers, read_greatest_peer},
        {schema_join_load_summaries, read_summary}, {schema_join_load_told_ranks, read_told_rank},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (read_rows(work, store, parts[i].sql, parts[i].read, error))
            return -1;
    return 0;
}

static int by_member(const void *a, const void *b)
{
    const struct work_mark *left = a, *right = b;
    if (left->member != right->member)
        return left->member < right->member ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

/* Reads the rows that a statement finds for a process. */
static int read_of_process(struct work *work, struct store *store, const char *sql, int32_t process,
                           row_reader read, struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    if (!statement)
        return -1;
    int row = statement_bind_integer(statement, 1, work->processes[process].id, error) ? -1 : 1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (read(work, statement, error))
            row = -1;
    statement_free(statement);
    return row;
}

int work_load_marks(struct work *work, struct store *store, int32_t process, struct error *error)
{
    if (process >= 0 && work->marked_process == process + 1)
        return 0;
    work->mark_count = 0;
    work->marked_process = process + 1;
    map_release(&work->tag_names);
    map_init(&work->tag_names);
    if (process < 0)
        return 0;
    if (read_of_process(work, store, schema_join_load_tag_marks, process, read_mark, error) ||
        read_of_process(work, store, schema_join_load_tag_names, process, read_tag_name, error))
        return -1;
    array_sort(work->marks, work->mark_count, sizeof *work->marks, by_member);
    return 0;
}

static int is_of_lesser(const void *mark, const void *member)
{
    return ((const struct work_mark *)mark)->member < *(const int32_t *)member;
}

/* Index of the first mark of the member or of a later one. */
static size_t first_mark(const struct work *work, int32_t member)
{
    return lower_bound(work->marks, work->mark_count, sizeof *work->marks, is_of_lesser, &member);
}

size_t work_marks_of(const struct work *work, int32_t member, const struct work_mark **marks)
{
    size_t first = first_mark(work, member);
    *marks = work->mark_count ? work->marks + first : NULL;
    return first_mark(work, member + 1) - first;
}

/*
 * The tag of an operation is the newest one that its process had set on its communicator when the operation
 * was issued. A tag in the operation's own record takes precedence.
 */

int32_t tag_carried(const struct work *work, const struct issued_operation *issued)
{
    const int64_t *name = issued->tag >= 0 && issued->tag_is_number
                              ? map_get(&work->tag_names, (struct map_key){{(uint64_t)issued->tag}})
                              : NULL;
    return name ? (int32_t)*name : issued->tag;
}

struct tag_state tag_state_at_start(const struct work *work, int32_t member)
{
    struct tag_state state = {.set.top = -1};
    state.own.left = work_marks_of(work, member, &state.own.next);
    state.common.left = work_marks_of(work, -1, &state.common.next);
    return state;
}

/* The next mark up to a time, of the member or of the whole process; NULL: none. */
static const struct work_mark *next_mark(struct tag_state *state, int64_t at_ns)
{
    struct tag_marks *own = &state->own, *common = &state->common;
    int is_own = own->left > 0 && (common->left == 0 || own->next->order < common->next->order);
    struct tag_marks *from = is_own ? own : common;
    if (from->left == 0 || from->next->at_ns > at_ns)
        return NULL;
    from->left--;
    return from->next++;
}

int32_t tag_at(struct tag_state *state, int64_t at_ns)
{
    const struct work_mark *mark;
    while ((mark = next_mark(state, at_ns)))
        tag_stack_apply(&state->set, mark->depth, mark->is_end, mark->text);
    return tag_stack_innermost(&state->set);
}

void series_table_init(struct series_table *table)
{
    *table = (struct series_table){.last_number = -1};
    map_init(&table->numbers);
    map_init(&table->seen);
}

void series_table_release(struct series_table *table)
{
    map_release(&table->numbers);
    map_release(&table->seen);
    free(table->series);
}

static struct map_key series_key(int32_t member, int kind, int function)
{
    return (struct map_key){{(uint64_t)member, (uint64_t)kind << 8 | (uint64_t)function, 0, 0}};
}

static struct series *find(struct series_table *table, const struct issued_operation *issued)
{
    if (table->last_number >= 0 && issued->member == table->last_member && issued->kind == table->last_kind &&
        issued->function == table->last_function)
        return &table->series[table->last_number];
    int added;
    int64_t *number = map_put(&table->numbers, series_key(issued->member, issued->kind, issued->function),
                              (int64_t)table->numbers.count, &added);
    if (!number ||
        array_reserve((void **)&table->series, &table->capacity, table->numbers.count, sizeof *table->series))
        return NULL;
    if (added)
        table->series[*number] = (struct series){.last = INT64_MIN};
    table->last_member = issued->member;
    table->last_kind = issued->kind;
    table->last_function = issued->function;
    table->last_number = *number;
    return &table->series[*number];
}

static int64_t count(struct series_table *table, const struct issued_operation *issued, uint64_t number,
                     uint64_t is_peer)
{
    struct map_key key = series_key(issued->member, issued->kind, issued->function);
    key.part[2] = number;
    key.part[3] = is_peer;
    int64_t *times = map_put(&table->seen, key, 0, NULL);
    return times ? (*times)++ : -1;
}

int64_t series_number(struct series_table *table, const struct issued_operation *issued)
{
    if (function_is_point_to_point(issued->function) && issued->sequence >= 0)
        return issued->sequence;
    if (function_is_point_to_point(issued->function))
        return count(table, issued, (uint64_t)issued->peer, 1);
    struct series *series = find(table, issued);
    if (!series)
        return -1;
    if (series->repeats)
        return count(table, issued, (uint64_t)issued->sequence, 0);
    if (issued->sequence <= series->last)
        series->repeats = table->has_found = 1;
    series->last = issued->sequence;
    return 0;
}

void series_forget_counts(struct series_table *table)
{
    map_release(&table->seen);
    table->has_found = 0;
}

int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function)
{
    const int64_t *number = map_get(&table->numbers, series_key(member, kind, function));
    return number && table->series[*number].repeats;
}
