#include "buffers/cost.h"

#include "base/array.h"
#include "base/statistics.h"
#include "store/scan.h"

#include <stdlib.h>

/* A call of an operation. */
struct part {
    int64_t instance_id;
    uint32_t group;
    uint8_t is_missed;
    uint8_t is_judged;
};

/* An operation that all its ranks had on registered memory, or some had not. */
struct whole {
    int64_t communicator_id;
    int64_t function;
    int64_t size_bytes;
    int64_t transfer_ns;
    size_t first; /* its parts */
    size_t end;
    int is_missed;
};

struct costing {
    struct part *parts; /* owned */
    size_t part_count;
    size_t part_capacity;
    struct whole *wholes; /* owned */
    size_t whole_count;
    size_t whole_capacity;
};

static int keep_part(void *context, const struct share_call *call)
{
    struct costing *costing = context;
    if (call->instance_id < 0)
        return 0;
    if (call->group > UINT32_MAX || array_reserve((void **)&costing->parts, &costing->part_capacity,
                                                  costing->part_count + 1, sizeof *costing->parts))
        return -1;
    enum memory_state state = call->judgement.state;
    costing->parts[costing->part_count++] = (struct part){
        call->instance_id, (uint32_t)call->group,
        (uint8_t)(memory_is_judged(state) && state != MEMORY_REGISTERED), (uint8_t)memory_is_judged(state)};
    return 0;
}

static int by_instance(const void *a, const void *b)
{
    const struct part *left = a, *right = b;
    if (left->instance_id != right->instance_id)
        return left->instance_id < right->instance_id ? -1 : 1;
    return (left->group > right->group) - (left->group < right->group);
}

/* The first part of an operation of at least that number. */
static size_t find_part(const struct costing *costing, int64_t instance_id)
{
    size_t low = 0, high = costing->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (costing->parts[middle].instance_id < instance_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int keep_whole(struct costing *costing, const struct block_scan *scan, size_t row)
{
    int64_t id = scan->block_id + scan->rows.values[INSTANCE_ORDINAL][row];
    struct whole whole = {.communicator_id = scan->owner_id,
                          .function = block_value(&scan->rows, INSTANCE_FUNCTION, row, 0),
                          .size_bytes = block_value(&scan->rows, INSTANCE_SIZE_BYTES, row, -1),
                          .transfer_ns = block_value(&scan->rows, INSTANCE_TRANSFER, row, TIME_UNKNOWN),
                          .first = find_part(costing, id)};
    int is_judged = 1;
    for (whole.end = whole.first;
         whole.end < costing->part_count && costing->parts[whole.end].instance_id == id; whole.end++) {
        whole.is_missed |= costing->parts[whole.end].is_missed;
        is_judged &= costing->parts[whole.end].is_judged;
    }
    if (whole.end == whole.first || !is_judged || whole.transfer_ns == TIME_UNKNOWN || whole.size_bytes <= 0)
        return 0;
    if (array_reserve((void **)&costing->wholes, &costing->whole_capacity, costing->whole_count + 1,
                      sizeof *costing->wholes))
        return -1;
    costing->wholes[costing->whole_count++] = whole;
    return 0;
}

static int read_wholes(struct costing *costing, struct store *store, int64_t run_id, struct error *error)
{
    static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_FUNCTION, INSTANCE_SIZE_BYTES,
                                  INSTANCE_TRANSFER};
    struct block_scan scan;
    int more = scan_instances(&scan, store, run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1) {
        if (scan_columns(&scan, columns, sizeof columns / sizeof *columns, error))
            more = -1;
        for (size_t i = 0; more == 1 && i < scan.rows.count; i++)
            if (keep_whole(costing, &scan, i))
                more = error_no_memory(error);
    }
    scan_release(&scan);
    return more;
}

static int compare(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

/* Alike next to each other, the registered ones first. */
static int by_likeness(const void *a, const void *b)
{
    const struct whole *left = a, *right = b;
    int order = compare(left->communicator_id, right->communicator_id);
    order = order ? order : compare(left->function, right->function);
    order = order ? order : compare(left->size_bytes, right->size_bytes);
    return order ? order : left->is_missed - right->is_missed;
}

static int is_alike(const struct whole *left, const struct whole *right)
{
    return left->communicator_id == right->communicator_id && left->function == right->function &&
           left->size_bytes == right->size_bytes;
}

/* Each group that had a part of it on other memory bears it once. */
static void charge(struct shares *shares, const struct costing *costing, const struct whole *whole,
                   int64_t usual_ns)
{
    int64_t charged = -1;
    for (size_t i = whole->first; i < whole->end; i++) {
        const struct part *part = &costing->parts[i];
        if (!part->is_missed || part->group == charged)
            continue;
        charged = part->group;
        shares->groups[part->group].lost_ns += (double)(whole->transfer_ns - usual_ns);
        shares->groups[part->group].compared++;
    }
}

/* Operations that are alike: from `first` on. Returns where they end. */
static size_t compare_alike(struct shares *shares, const struct costing *costing, size_t first,
                            int64_t *transfers)
{
    size_t registered = 0, end = first;
    for (; end < costing->whole_count && is_alike(&costing->wholes[first], &costing->wholes[end]); end++)
        if (!costing->wholes[end].is_missed)
            transfers[registered++] = costing->wholes[end].transfer_ns;
    if (registered < COST_LEAST_OPERATIONS)
        return end;
    int64_t usual_ns = median_of(transfers, registered);
    for (size_t i = first + registered; i < end; i++)
        charge(shares, costing, &costing->wholes[i], usual_ns);
    return end;
}

static int compare_all(struct shares *shares, struct costing *costing)
{
    int64_t *transfers = array_new(costing->whole_count, sizeof *transfers);
    if (!transfers)
        return -1;
    array_sort(costing->wholes, costing->whole_count, sizeof *costing->wholes, by_likeness);
    for (size_t i = 0; i < costing->whole_count;)
        i = compare_alike(shares, costing, i, transfers);
    free(transfers);
    return 0;
}

/* Whether there is anything to compare. */
static int has_both(const struct shares *shares)
{
    int64_t registered = 0, missed = 0;
    for (size_t i = 0; i < shares->count; i++) {
        registered += shares->groups[i].registered_bytes;
        missed += shares->groups[i].judged_bytes - shares->groups[i].registered_bytes;
    }
    return registered > 0 && missed > 0;
}

int shares_cost(struct shares *shares, struct known_memory *known, struct store *store, int64_t run_id,
                struct error *error)
{
    struct costing costing = {NULL};
    if (!has_both(shares))
        return 0;
    int failed = shares_walk(shares, known, store, run_id, keep_part, &costing, error);
    array_sort(costing.parts, costing.part_count, sizeof *costing.parts, by_instance);
    failed = failed || read_wholes(&costing, store, run_id, error);
    if (!failed && compare_all(shares, &costing))
        failed = error_no_memory(error);
    free(costing.parts);
    free(costing.wholes);
    return failed ? -1 : 0;
}
