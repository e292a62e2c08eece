/*
 * Matches descriptions of calls to operations. The last part of the join: writes tables call_join and
 * call_place, from which reports get the source line of an operation.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

static const char not_recorded[] = "call description without an operation";
static const char ambiguous[] = "call description that matches several operations";

/* Printed times are whole seconds: the call came within that second. */
static const int64_t SECOND_NS = 1000000000;

/* More than clocks of one host differ when they are read one after the other. */
static const int64_t SLACK_NS = 100000000;

/* Descriptions of one class and one file in order, and the operations of the class. */
struct call_matching {
    const struct call_operations *operations;
    struct call **calls;
    size_t call_count;
    const struct call_operation *items;
    size_t item_count;
    /* for each description: latest time at which its operation was issued; TIME_UNKNOWN */
    int64_t *latest_ns;
    /*
     * for each description: its earliest possible operation if all others get one; -1: none. rightmost: the
     * latest
     */
    int64_t *leftmost;
    int64_t *rightmost;
};

static void join(struct call *call, const struct call_operation *operation)
{
    call->operation_id = operation->id;
    call->reason = NULL;
}

/* Marks that wait for their operation: calls[begin] to calls[end - 1]. */
struct queue {
    size_t begin;
    size_t end;
};

/* Marks of one call come one after the other, before all of its operations. */
static int is_same_call(const struct call_matching *matching, const struct call *one, const struct call *next)
{
    if (one->correlation >= 0 && one->correlation == next->correlation)
        return 1;
    return !call_operations_between(matching->operations, one->of.rank, one->at_ns, next->at_ns);
}

static void add_mark(const struct call_matching *matching, struct queue *queue)
{
    const struct call *mark = matching->calls[queue->end];
    while (queue->begin < queue->end && !is_same_call(matching, matching->calls[queue->begin], mark))
        queue->begin++;
    queue->end++;
}

static void match_marks(const struct call_matching *matching)
{
    struct queue queue = {0, 0};
    for (size_t i = 0; i < matching->item_count; i++) {
        while (queue.end < matching->call_count &&
               matching->calls[queue.end]->at_ns <= matching->items[i].at_ns)
            add_mark(matching, &queue);
        if (queue.begin < queue.end)
            join(matching->calls[queue.begin++], &matching->items[i]);
    }
}

static int is_too_early(const struct call_operation *operation, const struct call *call)
{
    return operation->wall_ns != TIME_UNKNOWN && call->said_ns != TIME_UNKNOWN &&
           operation->wall_ns < call->said_ns - SLACK_NS;
}

static int is_too_late(const struct call_matching *matching, size_t operation, size_t call)
{
    int64_t wall_ns = matching->items[operation].wall_ns;
    return wall_ns != TIME_UNKNOWN && matching->latest_ns[call] != TIME_UNKNOWN &&
           wall_ns > matching->latest_ns[call];
}

static void find_leftmost(const struct call_matching *matching)
{
    size_t at = 0;
    for (size_t i = 0; i < matching->call_count; i++) {
        while (at < matching->item_count && is_too_early(&matching->items[at], matching->calls[i]))
            at++;
        int fits = at < matching->item_count && !is_too_late(matching, at, i);
        matching->leftmost[i] = fits ? (int64_t)at++ : -1;
    }
}

static void find_rightmost(const struct call_matching *matching)
{
    size_t end = matching->item_count;
    for (size_t i = matching->call_count; i-- > 0;) {
        while (end > 0 && is_too_late(matching, end - 1, i))
            end--;
        int fits = end > 0 && !is_too_early(&matching->items[end - 1], matching->calls[i]);
        matching->rightmost[i] = fits ? (int64_t)--end : -1;
    }
}

/*
 * If there are more descriptions than operations and the operations are missing at one end only: 1 at the
 * end, -1 at the beginning; else 0.
 */
static int missing_end(const struct call_matching *matching)
{
    return matching->call_count > matching->item_count && matching->item_count
               ? call_operations_whole_end(matching->operations, matching->items[0].class)
               : 0;
}

static void match_printed(const struct call_matching *matching)
{
    find_leftmost(matching);
    find_rightmost(matching);
    int missing = missing_end(matching);
    for (size_t i = 0; i < matching->call_count; i++) {
        int64_t left = matching->leftmost[i], right = matching->rightmost[i];
        int64_t place = missing > 0 ? left : missing < 0 ? right : left == right ? left : -1;
        if (place >= 0)
            join(matching->calls[i], &matching->items[place]);
        else
            matching->calls[i]->reason = missing || (left < 0 && right < 0) ? not_recorded : ambiguous;
    }
}

struct matcher {
    const struct call_operations *operations;
    struct call **calls; /* owned; those with a class, sorted by class, file, time of a mark and id */
    size_t count;
    int64_t *latest_ns; /* owned; one for each of `calls` */
    int64_t *leftmost;  /* owned; for one call_matching at a time */
    int64_t *rightmost;
};

static int by_class(const void *a, const void *b)
{
    const struct call *const *one = a, *const *other = b;
    const struct call *left = *one, *right = *other;
    int order = compare_integers(left->class, right->class);
    order = order ? order : compare_integers(left->id >> 32, right->id >> 32);
    order = order || left->process < 0 ? order : compare_integers(left->at_ns, right->at_ns);
    return order ? order : compare_integers(left->id, right->id);
}

/*
 * A program makes the calls that it describes one after the other, so each was made before the next was
 * described.
 */
static int64_t latest(const struct call *next)
{
    int64_t latest_ns;
    return next && next->said_ns != TIME_UNKNOWN &&
                   !__builtin_add_overflow(next->said_ns, SECOND_NS + SLACK_NS, &latest_ns)
               ? latest_ns
               : TIME_UNKNOWN;
}

/* For each description, the next one that the same rank printed into the same file; NULL: none. */
static int find_next(struct call_list *list, const struct call **next)
{
    struct map last; /* rank -> index of the description after it */
    int failed = 0;
    map_init(&last);
    for (size_t i = list->count; i-- > 0 && !failed;) {
        const struct call *call = &list->items[i];
        struct map_key key = {{(uint64_t)(call->id >> 32), (uint64_t)call->said_rank}};
        int added;
        int64_t *behind = map_put(&last, key, (int64_t)i, &added);
        failed = !behind;
        if (behind && !added) {
            next[i] = &list->items[*behind];
            *behind = (int64_t)i;
        }
    }
    map_release(&last);
    return failed ? -1 : 0;
}

static int prepare(struct matcher *matcher, struct call_list *list)
{
    const struct call **next = array_new(list->count, sizeof *next);
    matcher->calls = array_new(list->count, sizeof *matcher->calls);
    matcher->latest_ns = array_new(list->count, sizeof *matcher->latest_ns);
    matcher->leftmost = array_new(list->count, sizeof *matcher->leftmost);
    matcher->rightmost = array_new(list->count, sizeof *matcher->rightmost);
    int failed = !next || !matcher->calls || !matcher->latest_ns || !matcher->leftmost ||
                 !matcher->rightmost || find_next(list, next);
    for (size_t i = 0; !failed && i < list->count; i++)
        if (list->items[i].class >= 0)
            matcher->calls[matcher->count++] = &list->items[i];
    if (!failed)
        array_sort(matcher->calls, matcher->count, sizeof *matcher->calls, by_class);
    for (size_t i = 0; !failed && i < matcher->count; i++)
        matcher->latest_ns[i] = latest(next[matcher->calls[i] - list->items]);
    free(next);
    return failed ? -1 : 0;
}

/* Matches the descriptions of one class and file, from `begin` on; returns how many these are. */
static size_t match_place_matrix(const struct matcher *matcher, size_t begin)
{
    const struct call *first = matcher->calls[begin];
    const struct call_operations *operations = matcher->operations;
    size_t end = begin;
    for (; end < matcher->count && matcher->calls[end]->class == first->class &&
           matcher->calls[end]->id >> 32 == first->id >> 32;
         end++)
        matcher->calls[end]->reason = not_recorded;
    if (!operations->items)
        return end - begin;
    size_t items = operations->first[first->class];
    const struct call_matching matching = {.operations = operations,
                                           .calls = matcher->calls + begin,
                                           .call_count = end - begin,
                                           .items = operations->items + items,
                                           .item_count = operations->first[first->class + 1] - items,
                                           .latest_ns = matcher->latest_ns + begin,
                                           .leftmost = matcher->leftmost,
                                           .rightmost = matcher->rightmost};
    if (first->process >= 0)
        match_marks(&matching);
    else
        match_printed(&matching);
    return end - begin;
}

int call_match(struct call_list *list, const struct call_operations *operations, struct error *error)
{
    struct matcher matcher = {.operations = operations};
    int failed = prepare(&matcher, list);
    for (size_t i = 0; !failed && i < matcher.count;)
        i += match_place_matrix(&matcher, i);
    free(matcher.calls);
    free(matcher.latest_ns);
    free(matcher.leftmost);
    free(matcher.rightmost);
    return failed ? error_no_memory(error) : 0;
}

static int put(struct statement *statement, const struct call *call, const struct work *work,
               struct error *error)
{
    int32_t rank = call->of.rank;
    int failed =
        statement_bind_integer(statement, 1, call->id, error) ||
        (rank < 0 ? statement_bind_null(statement, 2, error)
                  : statement_bind_integer(statement, 2, work->runs[work->ranks[rank].run].number, error)) ||
        (rank < 0 ? statement_bind_null(statement, 3, error)
                  : statement_bind_integer(statement, 3, rank + 1, error)) ||
        (call->operation_id ? statement_bind_integer(statement, 4, call->operation_id, error)
                            : statement_bind_null(statement, 4, error)) ||
        (call->operation_id ? statement_bind_null(statement, 5, error)
                            : statement_bind_text(statement, 5, call->reason, error)) ||
        statement_step(statement, error);
    return failed ? -1 : 0;
}

static int save(const struct call_list *list, const struct work *work, struct store *store,
                struct error *error)
{
    struct statement *statement = store_prepare(store, schema_join_call_put, error);
    int failed = !statement;
    for (size_t i = 0; !failed && i < list->count; i++)
        failed = put(statement, &list->items[i], work, error);
    statement_free(statement);
    return failed ? -1 : store_execute(store, schema_join_call_places, error);
}

static int join_descriptions(struct call_list *list, const struct work *work, struct store *store,
                             struct error *error)
{
    struct call_operations operations = {.items = NULL};
    int failed =
        call_operations_load(&operations, list, work, store, error) || call_match(list, &operations, error);
    call_operations_release(&operations);
    return failed ? -1 : save(list, work, store, error);
}

int calls_join(const struct work *work, struct store *store, struct error *error)
{
    struct call_list list;
    call_list_init(&list);
    int failed = store_execute(store, schema_join_call_clear, error) ||
                 call_list_load(&list, work, store, error) ||
                 (list.count && join_descriptions(&list, work, store, error));
    call_list_release(&list);
    return failed ? -1 : 0;
}
