/*
 * Detects steps if every rank lost operations: merges the operations of the shared communicators from all
 * ranks and finds their period. Called by numbering.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * If every rank lost operations, no rank's sequence repeats exactly. So the operations of a communicator that
 * all ranks share are merged from all ranks. An operation that one rank lost is placed after the operation
 * that precedes it on a rank that has it, and in the order of its sequence numbers. Where that leaves the
 * order of two functions open, a rank that has both decides (put_in_order).
 */

struct shared_operation {
    int64_t sequence;
    int64_t bytes;
    int64_t gap_ns; /* time since the operation before it, on a rank that has both; -1: unknown */
    int32_t next;   /* -1: it is the last */
    uint8_t function;
};

struct whole {
    struct shared_operation *items; /* owned; a list that starts at `first` */
    size_t count;
    size_t capacity;
    int32_t first;
    struct map places;      /* (function, sequence) -> index in `items` */
    struct follows follows; /* which index comes next after which on a rank */
    int64_t least[FUNCTION_COUNT];
    int64_t greatest[FUNCTION_COUNT];
};

static struct map_key key_of(const struct issued_operation *issued)
{
    return (struct map_key){{issued->function, (uint64_t)issued->sequence}};
}

/* Whether no number is missing between the smallest and the greatest of each function. */
static int is_whole(const struct whole *whole)
{
    int64_t expected = 0;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (whole->greatest[i] >= whole->least[i])
            expected += whole->greatest[i] - whole->least[i] + 1;
    return (int64_t)whole->count >= expected;
}

static int64_t insert(struct whole *whole, const struct issued_operation *issued, int32_t after)
{
    if (array_reserve((void **)&whole->items, &whole->capacity, whole->count + 1, sizeof *whole->items))
        return -1;
    int32_t *link = after < 0 ? &whole->first : &whole->items[after].next;
    whole->items[whole->count] = (struct shared_operation){.sequence = issued->sequence,
                                                           .bytes = issued->bytes,
                                                           .gap_ns = -1,
                                                           .next = *link,
                                                           .function = issued->function};
    *link = (int32_t)whole->count;
    if (issued->sequence < whole->least[issued->function])
        whole->least[issued->function] = issued->sequence;
    if (issued->sequence > whole->greatest[issued->function])
        whole->greatest[issued->function] = issued->sequence;
    return (int64_t)whole->count++;
}

/*
 * The operation after which to insert: the one before it on its rank, or a later one of other ranks with a
 * lower number of the same function. Looks only a few operations ahead; more would cost more than it helps.
 */
static int32_t last_below(const struct whole *whole, const struct issued_operation *issued, int32_t before)
{
    enum { AHEAD = 64 };
    int32_t after = before, at = before < 0 ? whole->first : whole->items[before].next;
    for (int looked = 0; at >= 0 && looked < AHEAD; looked++, at = whole->items[at].next) {
        if (whole->items[at].function != issued->function)
            continue;
        if (whole->items[at].sequence > issued->sequence)
            break;
        after = at;
    }
    return after;
}

/* Adds an operation if it is not there yet. Returns its index; -1: out of memory. */
static int32_t add(struct whole *whole, const struct issued_operation *issued, int32_t before)
{
    int added;
    int64_t *place = map_put(&whole->places, key_of(issued), (int64_t)whole->count, &added);
    return place && (!added || insert(whole, issued, last_below(whole, issued, before)) >= 0)
               ? (int32_t)*place
               : -1;
}

/* Reads the operations of one member. With `adds`, adds missing ones; else records the gaps. */
static int pass_member(struct whole *whole, struct blocks *blocks, const struct work *work, int32_t member,
                       int adds, struct error *error)
{
    struct cursor cursor;
    struct issued_operation issued;
    int32_t before = -1;
    int64_t before_ns = 0;
    int more = cursor_begin(&cursor, blocks, work, &member, 1, error) ? -1 : 1;
    while (more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1) {
        if (issued.sequence < 0 || issued.function >= FUNCTION_COUNT)
            continue;
        int32_t place = add(whole, &issued, before);
        if (place < 0 || (adds && before >= 0 && follows_add(&whole->follows, before, place))) {
            more = error_no_memory(error);
            break;
        }
        if (!adds && before >= 0 && whole->items[before].next == place && whole->items[place].gap_ns < 0)
            whole->items[place].gap_ns = issued_gap(&issued, before_ns);
        before = place;
        before_ns = issued.issued_ns;
    }
    cursor_end(&cursor);
    return more;
}

static int has_all_gaps(const struct whole *whole)
{
    size_t unknown = 0;
    for (size_t i = 0; i < whole->count; i++)
        unknown += whole->items[i].gap_ns < 0;
    return unknown <= 1; /* the first has no gap before it */
}

struct ranked_member {
    int64_t rank;
    int32_t member;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked_member *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* The members of a communicator by rank, so that the result does not depend on the order of files. */
static struct ranked_member *list_ranked_members(const struct work *work, int32_t communicator, size_t *count)
{
    size_t first = work->by_communicator.first[communicator];
    *count = work->by_communicator.first[communicator + 1] - first;
    struct ranked_member *member_list = array_new(*count, sizeof *member_list);
    for (size_t i = 0; member_list && i < *count; i++) {
        int32_t member = work->by_communicator.items[first + i];
        member_list[i] = (struct ranked_member){work->members[member].rank, member};
    }
    if (member_list)
        array_sort(member_list, *count, sizeof *member_list, by_rank);
    return member_list;
}

/*
 * The first and the last operations may be missing without a gap in the numbers, so several members are read
 * even if no number is missing. The operations of more members would cost more than they help.
 */
enum { ENOUGH_MEMBERS = 16 };

static int pass_members(struct whole *whole, struct blocks *blocks, const struct work *work,
                        int32_t communicator, int adds, struct error *error)
{
    size_t count;
    struct ranked_member *member_list = list_ranked_members(work, communicator, &count);
    int failed = member_list ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < count; i++) {
        failed = pass_member(whole, blocks, work, member_list[i].member, adds, error);
        if (whole->count && (adds ? i + 1 >= ENOUGH_MEMBERS && is_whole(whole) : has_all_gaps(whole)))
            break;
    }
    free(member_list);
    return failed;
}

/* Puts the list in the order in which the ranks have the operations. -1: out of memory. */
static int put_in_order(struct whole *whole)
{
    int32_t *list = array_new(whole->count, sizeof *list);
    size_t count = 0;
    for (int32_t at = whole->first; list && at >= 0; at = whole->items[at].next)
        list[count++] = at;
    int failed = !list || follows_sort(&whole->follows, list, count);
    for (size_t i = 0; !failed && i < count; i++)
        whole->items[list[i]].next = i + 1 < count ? list[i + 1] : -1;
    if (!failed && count)
        whole->first = list[0];
    free(list);
    return failed ? -1 : 0;
}

/* The merged operations in order: their indexes, symbols for cycle_find, and the time before each. */
struct order {
    int32_t *items; /* owned, like the other arrays */
    uint64_t *symbols;
    size_t *starts;
    int64_t *gaps; /* with the same amount of scratch space after it */
};

/* For each operation, how many numbers of its function are missing before the next one; -1: unknown. */
static void count_left_out(const struct whole *whole, int64_t *left_out)
{
    int32_t last[FUNCTION_COUNT];
    for (int i = 0; i < FUNCTION_COUNT; i++)
        last[i] = -1;
    for (int32_t at = whole->first; at >= 0; at = whole->items[at].next) {
        left_out[at] = -1;
        int32_t *before = &last[whole->items[at].function];
        if (*before >= 0)
            left_out[*before] = whole->items[at].sequence - whole->items[*before].sequence - 1;
        *before = at;
    }
}

/*
 * If a recorder leaves out the same operations on all ranks, such as with a filter for small ones, the number
 * of missing operations is part of what repeats: of several equal calls it shows which is the last one.
 */
static int order_init(struct order *order, const struct whole *whole, int tells_left_out)
{
    *order = (struct order){.items = array_new(whole->count, sizeof *order->items),
                            .symbols = array_new(whole->count, sizeof *order->symbols),
                            .starts = array_new(whole->count, sizeof *order->starts),
                            .gaps = array_new(whole->count * 2, sizeof *order->gaps)};
    if (!order->items || !order->symbols || !order->starts || !order->gaps)
        return -1;
    if (tells_left_out)
        count_left_out(whole, order->gaps);
    size_t count = 0;
    for (int32_t at = whole->first; at >= 0; at = whole->items[at].next) {
        const struct shared_operation *item = &whole->items[at];
        order->items[count] = at;
        order->symbols[count] = hash_mix(item->function, (uint64_t)item->bytes);
        if (order->gaps[at] > 0)
            order->symbols[count] = hash_mix(order->symbols[count], (uint64_t)order->gaps[at]);
        count++;
    }
    return 0;
}

static void order_release(struct order *order)
{
    free(order->items);
    free(order->symbols);
    free(order->starts);
    free(order->gaps);
}

/*
 * After the last operation of a function it is unknown how many are missing. Takes the number from one period
 * before.
 */
static int take_last_as_before(const struct whole *whole, struct order *order, size_t period)
{
    int is_taken = 0;
    for (size_t i = period; i < whole->count; i++) {
        const struct shared_operation *item = &whole->items[order->items[i]];
        const struct shared_operation *before = &whole->items[order->items[i - period]];
        if (order->gaps[order->items[i]] >= 0 || item->function != before->function ||
            item->bytes != before->bytes)
            continue;
        order->symbols[i] = order->symbols[i - period];
        is_taken = 1;
    }
    return is_taken;
}

/*
 * The part that repeats must be at least half of all operations; if missing numbers are part of the symbols,
 * all but one in REST_OF_LEFT_OUT.
 */
enum { REST_OF_LEFT_OUT = 8 };

static int is_most(const struct cycle *cycle, size_t count, int tells_left_out)
{
    size_t rest = count - cycle->extent;
    return cycle->period && cycle->extent >= 3 * cycle->period &&
           (tells_left_out ? rest * REST_OF_LEFT_OUT <= count : rest <= cycle->extent);
}

/* Stores where cycles begin in starts[]; *count is 0 if most of the sequence does not repeat. */
static int find_cycles(const struct whole *whole, struct order *order, int tells_left_out, size_t *count)
{
    struct cycle cycle;
    *count = 0;
    if (cycle_find(order->symbols, whole->count, &cycle) ||
        (tells_left_out && cycle.period && take_last_as_before(whole, order, cycle.period) &&
         cycle_find(order->symbols, whole->count, &cycle)))
        return -1;
    if (!is_most(&cycle, whole->count, tells_left_out))
        return 0;
    *count = cycle_starts_early(&cycle, whole->count, order->starts);
    for (size_t i = 0; i < *count; i++) {
        int64_t gap_ns = whole->items[order->items[order->starts[i]]].gap_ns;
        order->gaps[i] = gap_ns > 0 ? gap_ns : 0;
    }
    *count = cycle_merge(order->starts, order->gaps, *count, order->gaps + *count);
    return 0;
}

/* The median gap before the operation at a place of all whole cycles; -1: unknown. */
static int64_t usual_gap(const struct whole *whole, const struct order *order, size_t count, size_t place,
                         int64_t *gaps)
{
    size_t known = 0;
    for (size_t i = 1; i + 1 < count; i++) {
        size_t at = order->starts[i] + place;
        int64_t gap_ns = at < order->starts[i + 1] ? whole->items[order->items[at]].gap_ns : -1;
        if (gap_ns >= 0)
            gaps[known++] = gap_ns;
    }
    return known ? median_of(gaps, known) : -1;
}

/*
 * Between two steps more time passes than within, where no step has several passes. If a cycle has several
 * equally long gaps, it may be several steps, and what is missing once per cycle is done once in several
 * steps. A gap is the longest if it is at least LONGEST_TO_NEXT / NEXT of the next one.
 */
enum { LONGEST_TO_NEXT = 3, NEXT = 2 };

static int has_one_long_gap(const struct whole *whole, const struct order *order, size_t count)
{
    int64_t longest_ns = 0, next_ns = 0;
    size_t period = count < 2 ? 0 : order->starts[count - 1] - order->starts[count - 2];
    for (size_t place = 0; place < period; place++) {
        int64_t gap_ns = usual_gap(whole, order, count, place, order->gaps);
        next_ns = gap_ns > longest_ns ? longest_ns : gap_ns > next_ns ? gap_ns : next_ns;
        longest_ns = gap_ns > longest_ns ? gap_ns : longest_ns;
    }
    return longest_ns * NEXT >= next_ns * LONGEST_TO_NEXT;
}

/* The ends of steps in order. */
struct end_list {
    struct step_end *items; /* owned */
    size_t count;
    size_t capacity;
    size_t cycles;    /* number of cycles found */
    size_t by_filter; /* those of them that numbers tell which all ranks lack */
    int more;         /* the merged operations include some that the rank lacks */
};

static int add_end(struct end_list *list, struct step_end end)
{
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return -1;
    list->items[list->count++] = end;
    return 0;
}

/*
 * Adds the ends of the steps on one communicator; also that of its last step if another communicator follows.
 */
static int take_ends(const struct whole *whole, int32_t turn, int is_last, struct end_list *list,
                     struct error *error)
{
    struct order order = {.items = NULL};
    size_t starts = 0, at = 0;
    int failed = 0;
    for (int tells_left_out = !is_whole(whole); !failed && !starts && tells_left_out >= 0; tells_left_out--) {
        order_release(&order);
        failed =
            order_init(&order, whole, tells_left_out) || find_cycles(whole, &order, tells_left_out, &starts);
        if (!failed && tells_left_out && starts >= 2 && has_one_long_gap(whole, &order, starts))
            list->by_filter += starts;
    }
    struct step_end end = step_end_none(turn);
    list->cycles += starts >= 2 ? starts : 0;
    /* A communicator without recurring operations is one step. */
    starts = starts ? starts : 1;
    for (size_t i = 1; !failed && i <= starts; i++) {
        size_t next = i < starts ? order.starts[i] : whole->count;
        for (; at < next; at++)
            step_end_take(&end, whole->items[order.items[at]].function,
                          whole->items[order.items[at]].sequence);
        failed = (i < starts || !is_last) && add_end(list, end);
    }
    order_release(&order);
    return failed ? error_no_memory(error) : 0;
}

static void whole_init(struct whole *whole)
{
    *whole = (struct whole){.first = -1};
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        whole->least[i] = INT64_MAX;
        whole->greatest[i] = -1;
    }
    map_init(&whole->places);
    follows_init(&whole->follows);
}

static void whole_release(struct whole *whole)
{
    map_release(&whole->places);
    follows_release(&whole->follows);
    free(whole->items);
}

/* The sequence numbers of a member while each series only rises, so that no number repeats. */
struct rising {
    int64_t first[FUNCTION_COUNT];
    int64_t last[FUNCTION_COUNT];
    int64_t count;
    int falls;
};

static int follow_member(struct rising *rising, struct blocks *blocks, const struct work *work,
                         int32_t member, struct error *error)
{
    struct cursor cursor;
    struct issued_operation issued;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        rising->first[i] = rising->last[i] = -1;
    int more = cursor_begin(&cursor, blocks, work, &member, 1, error) ? -1 : 1;
    while (more == 1 && !rising->falls && (more = cursor_next(&cursor, &issued, error)) == 1) {
        if (issued.sequence < 0 || issued.function >= FUNCTION_COUNT)
            continue;
        int64_t *last = &rising->last[issued.function];
        rising->falls = issued.sequence <= *last;
        if (*last < 0)
            rising->first[issued.function] = issued.sequence;
        *last = issued.sequence;
        rising->count++;
    }
    cursor_end(&cursor);
    return more < 0 ? -1 : 0;
}

static int has_gaps(const struct rising *rising)
{
    int64_t expected = 0;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (rising->last[i] >= 0)
            expected += rising->last[i] - rising->first[i] + 1;
    return rising->count < expected;
}

/* Reads the operations that a rank itself has on a communicator. */
static int pass_rank(struct whole *whole, struct blocks *blocks, const struct work *work, int32_t rank,
                     int32_t communicator, struct error *error)
{
    int failed = 0;
    for (size_t i = work->by_rank.first[rank]; !failed && i < work->by_rank.first[rank + 1]; i++)
        if (work->members[work->by_rank.items[i]].communicator == communicator)
            failed = pass_member(whole, blocks, work, work->by_rank.items[i], 1, error);
    return failed;
}

static int find_losses(struct blocks *blocks, const struct work *work, int32_t rank, int32_t communicator,
                       int *lost, struct error *error)
{
    struct whole whole;
    whole_init(&whole);
    int failed = pass_rank(&whole, blocks, work, rank, communicator, error);
    *lost = !is_whole(&whole);
    whole_release(&whole);
    return failed;
}

/* Sets *more if other ranks have operations of the communicator that the rank lacks. */
static int have_more(const struct whole *whole, struct blocks *blocks, const struct work *work, int32_t rank,
                     int32_t communicator, int *more, struct error *error)
{
    struct whole own;
    whole_init(&own);
    int failed = pass_rank(&own, blocks, work, rank, communicator, error);
    *more |= whole->count > own.count;
    whole_release(&own);
    return failed;
}

int steps_have_losses(struct blocks *blocks, const struct work *work, int32_t rank, int32_t communicator,
                      int *lost, struct error *error)
{
    struct rising rising = {.count = 0};
    int32_t member = -1;
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        if (work->members[work->by_rank.items[i]].communicator == communicator) {
            rising.falls = member >= 0;
            member = work->by_rank.items[i];
        }
    if (member >= 0 && !rising.falls && follow_member(&rising, blocks, work, member, error))
        return -1;
    *lost = has_gaps(&rising);
    return rising.falls ? find_losses(blocks, work, rank, communicator, lost, error) : 0;
}

static int take_communicator(struct blocks *blocks, const struct work *work, int32_t rank,
                             int32_t communicator, int32_t turn, int is_last, struct end_list *list,
                             struct error *error)
{
    struct whole whole;
    whole_init(&whole);
    int failed = pass_members(&whole, blocks, work, communicator, 1, error) ||
                 (put_in_order(&whole) && error_no_memory(error)) ||
                 pass_members(&whole, blocks, work, communicator, 0, error) ||
                 have_more(&whole, blocks, work, rank, communicator, &list->more, error) ||
                 (whole.count && take_ends(&whole, turn, is_last, list, error));
    whole_release(&whole);
    return failed ? -1 : 0;
}

int steps_from_shared(struct blocks *blocks, const struct work *work, int32_t rank,
                      const struct shared_communicators *shared, struct step_end **ends, size_t *count,
                      int *more, size_t *by_filter, struct error *error)
{
    struct end_list list = {.count = 0};
    int failed = 0;
    for (size_t i = 0; !failed && i < shared->count; i++)
        failed = take_communicator(blocks, work, rank, shared->items[i], (int32_t)i, i + 1 == shared->count,
                                   &list, error);
    *ends = list.items;
    *more = list.more;
    *by_filter = list.by_filter;
    *count = list.cycles ? list.count : 0;
    return failed;
}
