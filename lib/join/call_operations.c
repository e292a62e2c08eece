/*
 * Finds the operations that descriptions of calls may refer to, by class: rank, group, function, size and
 * peer. call_list.c loads the descriptions, call_match.c chooses among the operations.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

/* From 2001 on a time can only be on the wall clock. Other clocks count from the start of the machine. */
static const int64_t EPOCH_FROM_NS = INT64_C(1000000000) * 1000000000;

struct finder {
    const struct work *work;
    struct call_list *list;
    struct call_operations *operations;
    struct map classes; /* hash of a call_class -> its number */
    struct map anchors; /* process -> wall clock minus its own clock */
    struct map series;  /* (member, function) -> index */
    char *is_described; /* owned; for each rank: some description is of it */
    int32_t *groups;    /* owned; for each communicator the group of its members; GROUP_DAMAGED: unknown */
    int64_t member;     /* of the block that is being read */
};

void call_operations_release(struct call_operations *operations)
{
    free(operations->items);
    free(operations->first);
    free(operations->moments);
    free(operations->series);
    *operations = (struct call_operations){.items = NULL};
}

static struct map_key key_of(const struct call_class *of)
{
    return (struct map_key){{(uint64_t)(uint32_t)of->rank << 32 | (uint32_t)of->group,
                             (uint64_t)(uint32_t)of->function << 1 | (uint64_t)of->is_barrier,
                             (uint64_t)of->message_bytes, (uint64_t)of->peer}};
}

/* The number of ranks in each group. */
static int64_t *group_sizes(const struct intern *groups)
{
    int64_t *sizes = array_new(groups->count, sizeof *sizes);
    for (size_t i = 0; sizes && i < groups->count; i++)
        for (const char *at = intern_text(groups, (int64_t)i); *at; at++)
            sizes[i] += *at == ',';
    return sizes;
}

/*
 * A listed group of all ranks of a run is the same as GROUP_OF_ALL. Sends and receives are distinguished by
 * peer only, because PyTorch makes communicators of two ranks for them.
 */
static int32_t group_of(const struct finder *finder, const struct call *call, const int64_t *sizes)
{
    const struct work_run *run = &finder->work->runs[finder->work->ranks[call->of.rank].run];
    int is_pair = function_is_point_to_point((enum function)call->of.function);
    int is_of_all = call->of.group >= 0 && sizes[call->of.group] == run->expected_ranks;
    return is_pair || is_of_all ? GROUP_OF_ALL : call->of.group;
}

static int number_classes(struct finder *finder, const int64_t *sizes)
{
    for (size_t i = 0; i < finder->list->count; i++) {
        struct call *call = &finder->list->items[i];
        if (call->reason || call->of.rank < 0)
            continue;
        if (call->of.function == FUNCTION_UNKNOWN) {
            call->reason = "call description of an unknown call";
            continue;
        }
        call->of.group = group_of(finder, call, sizes);
        const int64_t *class =
            map_put(&finder->classes, key_of(&call->of), (int64_t)finder->classes.count, NULL);
        if (!class)
            return -1;
        call->class = *class;
        finder->is_described[call->of.rank] = 1;
    }
    finder->operations->class_count = finder->classes.count;
    return 0;
}

/* The global ranks of a communicator's members, as far as known. NULL: out of memory. */
static int64_t *members_of(const struct work *work, size_t communicator, size_t *count)
{
    const struct work_communicator *told = &work->communicators[communicator];
    const struct grouping *seen = &work->by_communicator;
    size_t seen_count = seen->first[communicator + 1] - seen->first[communicator];
    int64_t *ranks = array_new(told->told_count + seen_count + 1, sizeof *ranks);
    *count = 0;
    for (size_t i = 0; ranks && i < told->told_count; i++)
        ranks[(*count)++] = told->told[i];
    for (size_t i = 0; ranks && !told->told_count && i < seen_count; i++) {
        int32_t member = seen->items[seen->first[communicator] + i];
        int64_t rank = work->ranks[work->members[member].job_rank].global_rank;
        if (rank >= 0)
            ranks[(*count)++] = rank;
    }
    return ranks;
}

static int find_groups(struct finder *finder)
{
    const struct work *work = finder->work;
    for (size_t i = 0; i < work->communicator_count; i++) {
        size_t count;
        int64_t *ranks = members_of(work, i, &count);
        int is_whole = ranks && count && (int64_t)count == work->communicators[i].size;
        int64_t number = is_whole ? call_group(finder->list, ranks, count) : GROUP_DAMAGED;
        free(ranks);
        if (!ranks || number == -1)
            return -1;
        finder->groups[i] = (int32_t)number;
    }
    return 0;
}

static int read_anchors(struct finder *finder, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_join_call_anchors, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        struct map_key key = {{(uint64_t)statement_integer(row, 0)}};
        int64_t offset;
        if (!__builtin_sub_overflow(statement_integer(row, 2), statement_integer(row, 1), &offset) &&
            !map_put(&finder->anchors, key, offset, NULL))
            more = error_no_memory(error);
    }
    statement_free(row);
    return more;
}

static int64_t wall_clock(const struct finder *finder, int64_t process_id, int64_t at_ns)
{
    const int64_t *offset = map_get(&finder->anchors, (struct map_key){{(uint64_t)process_id}});
    int64_t wall_ns;
    if (!at_ns)
        return TIME_UNKNOWN;
    if (offset)
        return __builtin_add_overflow(at_ns, *offset, &wall_ns) ? TIME_UNKNOWN : wall_ns;
    return at_ns >= EPOCH_FROM_NS ? at_ns : TIME_UNKNOWN;
}

/* The class of an operation with `group` in place of its own group; -1: none. */
static int64_t find_class(const struct finder *finder, struct call_class of, int32_t group)
{
    of.group = group;
    const int64_t *class = map_get(&finder->classes, key_of(&of));
    return class ? *class : -1;
}

static int64_t find_in_groups(const struct finder *finder, const struct call_class *of, size_t communicator)
{
    const struct work *work = finder->work;
    const struct work_communicator *where = &work->communicators[communicator];
    if (function_is_point_to_point((enum function)of->function))
        return find_class(finder, *of, GROUP_OF_ALL);
    int64_t class =
        finder->groups[communicator] >= 0 ? find_class(finder, *of, finder->groups[communicator]) : -1;
    if (class < 0 && where->run >= 0 && where->size == work->runs[where->run].expected_ranks)
        class = find_class(finder, *of, GROUP_OF_ALL);
    return class < 0 ? find_class(finder, *of, GROUP_ANY) : class;
}

/* A description of a send or receive without a peer only matches operations whose peer is unknown. */
static int64_t class_of(const struct finder *finder, const struct block_reader *rows, size_t row,
                        int64_t global_peer)
{
    const struct work_member *member = &finder->work->members[finder->member];
    int64_t ranks = finder->work->communicators[member->communicator].size;
    enum function function = (enum function)block_value(rows, OPERATION_FUNCTION, row, FUNCTION_UNKNOWN);
    int64_t bytes = block_value(rows, OPERATION_BYTES, row, -1);
    struct call_class of = {.rank = member->job_rank,
                            .function = (int32_t)function,
                            .message_bytes = call_message_bytes(function, bytes, ranks),
                            .peer = global_peer};
    int64_t class = find_in_groups(finder, &of, (size_t)member->communicator);
    if (class >= 0 || function != FUNCTION_ALL_REDUCE || !call_may_be_barrier(bytes))
        return class;
    of.is_barrier = 1;
    of.message_bytes = 0;
    return find_in_groups(finder, &of, (size_t)member->communicator);
}

/* The global rank of an operation's peer; COUNT_UNKNOWN. */
static int64_t peer_of(const struct finder *finder, const struct block_reader *rows, size_t row)
{
    const struct work *work = finder->work;
    size_t communicator = (size_t)work->members[finder->member].communicator;
    int64_t peer = block_value(rows, OPERATION_PEER, row, COUNT_UNKNOWN);
    const struct work_communicator *of = &work->communicators[communicator];
    if (peer < 0 || !function_is_point_to_point(
                        (enum function)block_value(rows, OPERATION_FUNCTION, row, FUNCTION_UNKNOWN)))
        return COUNT_UNKNOWN;
    if ((uint64_t)peer < of->told_count)
        return of->told[peer];
    if (of->run >= 0 && of->size == work->runs[of->run].expected_ranks)
        return peer;
    const struct grouping *seen = &work->by_communicator;
    for (size_t i = seen->first[communicator]; i < seen->first[communicator + 1]; i++)
        if (work->members[seen->items[i]].rank == peer)
            return work->ranks[work->members[seen->items[i]].job_rank].global_rank;
    return COUNT_UNKNOWN;
}

static int64_t take_series(struct finder *finder, const struct block_reader *rows, size_t row)
{
    struct call_operations *operations = finder->operations;
    int64_t function = block_value(rows, OPERATION_FUNCTION, row, FUNCTION_UNKNOWN);
    int64_t number = block_value(rows, OPERATION_SEQUENCE, row, -1);
    int added;
    const int64_t *index =
        map_put(&finder->series, (struct map_key){{(uint64_t)finder->member, (uint64_t)function}},
                (int64_t)operations->series_count, &added);
    if (!index)
        return -1;
    if (added) {
        if (array_reserve((void **)&operations->series, &operations->series_capacity,
                          operations->series_count + 1, sizeof *operations->series))
            return -1;
        operations->series[operations->series_count++] = (struct call_series){INT64_MAX, -1, 0, 0};
    }
    struct call_series *series = &operations->series[*index];
    series->count++;
    series->has_gaps |= number < 0 || function_is_point_to_point((enum function)function);
    series->least = number < series->least ? number : series->least;
    series->greatest = number > series->greatest ? number : series->greatest;
    return *index;
}

static int take_operation(struct finder *finder, const struct block_scan *scan, size_t row)
{
    const struct block_reader *rows = &scan->rows;
    const struct work_member *member = &finder->work->members[finder->member];
    struct call_operations *operations = finder->operations;
    int64_t series = take_series(finder, rows, row);
    int64_t class = class_of(finder, rows, row, peer_of(finder, rows, row));
    if (series < 0)
        return -1;
    if (class < 0)
        return 0;
    if (array_reserve((void **)&operations->items, &operations->capacity, operations->count + 1,
                      sizeof *operations->items))
        return -1;
    int64_t at_ns = logs_issued_ns(rows, row);
    operations->items[operations->count++] = (struct call_operation){
        .class = class,
        .at_ns = at_ns,
        .wall_ns = wall_clock(finder, finder->work->processes[member->process].id, at_ns),
        .id = scan->block_id + rows->values[OPERATION_ORDINAL][row],
        .series = series,
        .rank = member->job_rank};
    return 0;
}

static int take_block(struct finder *finder, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {LOG_COLUMNS, OPERATION_BYTES};
    const struct work *work = finder->work;
    finder->member = find_id(work->members, work->member_count, sizeof *work->members, 0, scan->owner_id);
    if (finder->member < 0 || !finder->is_described[work->members[finder->member].job_rank])
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    for (size_t i = 0; i < scan->rows.count; i++)
        if (take_operation(finder, scan, i))
            return error_no_memory(error);
    return 0;
}

/* Only the blocks of runs with descriptions. */
static int take_blocks(struct finder *finder, struct store *store, struct error *error)
{
    const struct work *work = finder->work;
    for (size_t i = 0; i < work->run_count; i++) {
        const struct grouping *of = &work->ranks_of_run;
        int is_described = 0;
        for (size_t k = of->first[i]; k < of->first[i + 1]; k++)
            is_described |= finder->is_described[of->items[k]];
        struct block_scan scan;
        int more = !is_described ? 0 : scan_operations(&scan, store, work->runs[i].number, error) ? -1 : 1;
        while (more == 1 && (more = scan_next(&scan, error)) == 1)
            if (take_block(finder, &scan, error))
                more = -1;
        if (is_described)
            scan_release(&scan);
        if (more)
            return -1;
    }
    return 0;
}

static int by_class(const void *a, const void *b)
{
    const struct call_operation *left = a, *right = b;
    int order = compare_integers(left->class, right->class);
    order = order ? order : compare_integers(left->at_ns, right->at_ns);
    return order ? order : compare_integers(left->id, right->id);
}

static int by_moment(const void *a, const void *b)
{
    const struct call_moment *left = a, *right = b;
    int order = compare_integers(left->rank, right->rank);
    return order ? order : compare_integers(left->at_ns, right->at_ns);
}

static int put_in_order(struct call_operations *operations)
{
    operations->first = array_new(operations->class_count + 1, sizeof *operations->first);
    operations->moments = array_new(operations->count, sizeof *operations->moments);
    if (!operations->first || !operations->moments)
        return -1;
    array_sort(operations->items, operations->count, sizeof *operations->items, by_class);
    for (size_t i = 0; i < operations->count; i++) {
        operations->first[operations->items[i].class + 1] = i + 1;
        operations->moments[i] = (struct call_moment){operations->items[i].rank, operations->items[i].at_ns};
    }
    for (size_t i = 0; i < operations->class_count; i++)
        if (operations->first[i + 1] < operations->first[i])
            operations->first[i + 1] = operations->first[i];
    array_sort(operations->moments, operations->count, sizeof *operations->moments, by_moment);
    return 0;
}

static int find_all(struct finder *finder, struct store *store, struct error *error)
{
    int64_t *sizes = group_sizes(&finder->list->groups);
    int failed = !sizes || !finder->is_described || !finder->groups || number_classes(finder, sizes) ||
                 find_groups(finder);
    free(sizes);
    if (failed)
        return error_no_memory(error);
    if (read_anchors(finder, store, error) || take_blocks(finder, store, error))
        return -1;
    return put_in_order(finder->operations) ? error_no_memory(error) : 0;
}

int call_operations_load(struct call_operations *operations, struct call_list *list, const struct work *work,
                         struct store *store, struct error *error)
{
    struct finder finder = {.work = work,
                            .list = list,
                            .operations = operations,
                            .is_described = array_new(work->rank_count + 1, 1),
                            .groups = array_new(work->communicator_count + 1, sizeof *finder.groups)};
    map_init(&finder.classes);
    map_init(&finder.anchors);
    map_init(&finder.series);
    *operations = (struct call_operations){.items = NULL};
    int failed = find_all(&finder, store, error);
    map_release(&finder.classes);
    map_release(&finder.anchors);
    map_release(&finder.series);
    free(finder.is_described);
    free(finder.groups);
    return failed ? -1 : 0;
}

static int is_earlier(const void *item, const void *wanted)
{
    return by_moment(item, wanted) < 0;
}

int call_operations_between(const struct call_operations *operations, int32_t rank, int64_t begin_ns,
                            int64_t end_ns)
{
    const struct call_moment wanted = {rank, begin_ns};
    size_t at =
        lower_bound(operations->moments, operations->count, sizeof *operations->moments, is_earlier, &wanted);
    return at < operations->count && operations->moments[at].rank == rank &&
           operations->moments[at].at_ns < end_ns;
}

int call_operations_whole_end(const struct call_operations *operations, int64_t class)
{
    size_t first = operations->first[class], end = operations->first[class + 1];
    if (first == end)
        return 0;
    for (size_t i = first; i < end; i++)
        if (operations->items[i].series != operations->items[first].series)
            return 0;
    const struct call_series *series = &operations->series[operations->items[first].series];
    if (series->has_gaps || series->greatest - series->least + 1 != series->count)
        return 0;
    return series->least == 0 ? 1 : -1;
}
