/*
 * Sends and receives of ranks that lost some: which step they belong to, and which of several to the same
 * peer each one is, from the rank's own numbers. Called by numbering.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Sends and receives are joined by their count between two ranks, so a lost one would shift all that follow.
 * Inspector numbers them per rank. If each step has the same ones, the numbers grow by the same amount per
 * step, and the distance from the number at which the step begins shows which one of the step it is, whatever
 * was lost.
 */

/* One of the sends or receives of each step. */
struct pair_slot {
    int64_t offset; /* its number minus that at which the step begins */
    int64_t seen;   /* number of steps that have it */
    int64_t place;  /* among those with the same function and peer */
    int64_t per_step;
    int32_t peer;
    uint8_t function;
};

/* The sends and receives of a member. */
struct pair_plan {
    int64_t *begins; /* owned; [step]: number at which it begins; COUNT_UNKNOWN */
    int32_t steps;
    int32_t first; /* the first step that has any, and the step after the last one */
    int32_t end;
    struct pair_slot *slots; /* owned; sorted by function, peer and offset */
    size_t slot_count;
    size_t slot_capacity;
    struct map places; /* (function and peer, offset) -> index in `slots`, until they are sorted */
    int is_used;       /* it has sends or receives */
    int is_regular;    /* each step has the same ones */
};

int pair_plans_init(struct pair_plans *plans, size_t member_count)
{
    *plans =
        (struct pair_plans){.items = array_new(member_count, sizeof *plans->items), .count = member_count};
    for (size_t i = 0; plans->items && i < member_count; i++)
        map_init(&plans->items[i].places);
    return plans->items ? 0 : -1;
}

void pair_plans_release(struct pair_plans *plans)
{
    for (size_t i = 0; plans->items && i < plans->count; i++) {
        map_release(&plans->items[i].places);
        free(plans->items[i].begins);
        free(plans->items[i].slots);
    }
    free(plans->items);
    *plans = (struct pair_plans){.items = NULL};
}

/* The plan of the operation's member; NULL: it is no send or receive. */
static struct pair_plan *plan_of(struct pair_plans *plans, const struct issued_operation *issued)
{
    return function_is_point_to_point(issued->function) ? &plans->items[issued->member] : NULL;
}

/* The least number of each step. */
static int take_begin(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct pair_plan *plan = plan_of(context, issued);
    if (!plan)
        return 0;
    int32_t step = issued->joined->step;
    if (!plan->is_used)
        plan->is_used = plan->is_regular = 1;
    plan->is_regular &= issued->own_number >= 0 && step >= 0 && step < plan->steps;
    if (!plan->is_regular)
        return 0;
    int64_t *begin = &plan->begins[step];
    if (*begin == COUNT_UNKNOWN || issued->own_number < *begin)
        *begin = issued->own_number;
    return 0;
}

/* Whether the steps that have numbers follow each other, with ascending numbers. */
static int are_ascending(struct pair_plan *plan)
{
    plan->end = plan->steps;
    while (plan->first < plan->end && plan->begins[plan->first] == COUNT_UNKNOWN)
        plan->first++;
    while (plan->end > plan->first && plan->begins[plan->end - 1] == COUNT_UNKNOWN)
        plan->end--;
    for (int32_t step = plan->first + 1; step < plan->end; step++)
        if (plan->begins[step] <= plan->begins[step - 1])
            return 0;
    return plan->first < plan->end;
}

/* The step to which a number belongs; -1: it comes before all. */
static int32_t step_of(const struct pair_plan *plan, int64_t own_number)
{
    int32_t first = plan->first, end = plan->end;
    while (first < end) {
        int32_t middle = first + (end - first) / 2;
        if (plan->begins[middle] <= own_number)
            first = middle + 1;
        else
            end = middle;
    }
    return first > plan->first ? first - 1 : -1;
}

/* How many steps have each send and receive. */
static int take_slot(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct pair_plan *plan = plan_of(context, issued);
    if (!plan)
        return 0;
    int32_t step = plan->is_regular ? step_of(plan, issued->own_number) : -1;
    if (step < 0)
        return plan->is_regular = 0;
    int64_t offset = issued->own_number - plan->begins[step];
    struct map_key key = {{(uint64_t)issued->function << 32 | (uint32_t)issued->peer, (uint64_t)offset}};
    int added;
    int64_t *place = map_put(&plan->places, key, (int64_t)plan->slot_count, &added);
    if (!place ||
        array_reserve((void **)&plan->slots, &plan->slot_capacity, plan->slot_count + 1, sizeof *plan->slots))
        return -1;
    if (added)
        plan->slots[plan->slot_count++] =
            (struct pair_slot){.offset = offset, .peer = issued->peer, .function = issued->function};
    plan->slots[*place].seen++;
    return 0;
}

static int by_call(const void *a, const void *b)
{
    const struct pair_slot *left = a, *right = b;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

static int is_same_call(const struct pair_slot *slot, const struct pair_slot *other)
{
    return slot->function == other->function && slot->peer == other->peer;
}

/* Regular: at least half of the steps have each of its sends and receives. */
static void settle_slots(struct pair_plan *plan)
{
    int64_t used = plan->end - plan->first;
    map_release(&plan->places);
    array_sort(plan->slots, plan->slot_count, sizeof *plan->slots, by_call);
    for (size_t i = 0, end; i < plan->slot_count; i = end) {
        for (end = i; end < plan->slot_count && is_same_call(&plan->slots[end], &plan->slots[i]); end++)
            plan->is_regular &= plan->slots[end].seen * 2 >= used && plan->slots[end].seen <= used;
        for (size_t j = i; j < end; j++) {
            plan->slots[j].place = (int64_t)(j - i);
            plan->slots[j].per_step = (int64_t)(end - i);
        }
    }
}

int pair_plans_make(struct pair_plans *plans, struct blocks *blocks, const struct work *work, int32_t rank,
                    struct error *error)
{
    size_t first = work->by_rank.first[rank], end = work->by_rank.first[rank + 1];
    int32_t steps = work->ranks[rank].step_count;
    for (size_t i = first; i < end; i++) {
        struct pair_plan *plan = &plans->items[work->by_rank.items[i]];
        plan->begins = array_new((size_t)steps, sizeof *plan->begins);
        plan->steps = steps;
        if (!plan->begins)
            return error_no_memory(error);
        for (int32_t step = 0; step < steps; step++)
            plan->begins[step] = COUNT_UNKNOWN;
    }
    if (rank_pass(blocks, work, rank, PASS_READS_RESULTS, take_begin, plans, error))
        return -1;
    for (size_t i = first; i < end; i++) {
        struct pair_plan *plan = &plans->items[work->by_rank.items[i]];
        int64_t growth = plan->is_regular ? even_begins(plan->begins, (size_t)steps) : 0;
        if (growth < 0)
            return error_no_memory(error);
        plan->is_regular = growth && are_ascending(plan);
    }
    if (rank_pass(blocks, work, rank, PASS_READS_RESULTS, take_slot, plans, error))
        return -1;
    for (size_t i = first; i < end; i++)
        settle_slots(&plans->items[work->by_rank.items[i]]);
    return 0;
}

/* How many sends or receives with a peer a step has. */
static int64_t per_step(const struct pair_plan *plan, uint8_t function, int64_t peer)
{
    for (size_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i].function == function && plan->slots[i].peer == peer)
            return plan->slots[i].per_step;
    return 0;
}

/* Whether the peers of a member that recorded something have as many sends and receives with it. */
static int peers_agree(const struct pair_plans *plans, const struct work *work, int32_t member,
                       const struct map *members)
{
    const struct pair_plan *plan = &plans->items[member];
    for (size_t i = 0; i < plan->slot_count; i++) {
        const struct pair_slot *slot = &plan->slots[i];
        const int64_t *peer = map_get(members, (struct map_key){{(uint64_t)slot->peer}});
        uint8_t function = slot->function == FUNCTION_SEND ? FUNCTION_RECV : FUNCTION_SEND;
        if (peer && work->members[*peer].operations &&
            per_step(&plans->items[*peer], function, work->members[member].rank) != slot->per_step)
            return 0;
    }
    return 1;
}

int pair_plans_agree(struct pair_plans *plans, const struct work *work, int32_t communicator)
{
    const struct grouping *of = &work->by_communicator;
    struct map members; /* rank -> member */
    int agree = 1;
    map_init(&members);
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1] && agree >= 0; i++) {
        const struct pair_plan *plan = &plans->items[of->items[i]];
        int added;
        if (!map_put(&members, (struct map_key){{(uint64_t)work->members[of->items[i]].rank}}, of->items[i],
                     &added))
            agree = -1;
        else
            agree &= added && plan->is_used <= plan->is_regular;
    }
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1] && agree == 1; i++)
        agree = peers_agree(plans, work, of->items[i], &members);
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1] && agree != 1; i++)
        plans->items[of->items[i]].is_regular = 0;
    map_release(&members);
    return agree < 0 ? -1 : 0;
}

static int give_number(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct pair_plan *plan = plan_of(context, issued);
    if (!plan)
        return 0;
    int32_t step = plan->is_regular ? step_of(plan, issued->own_number) : -1;
    if (step < 0)
        return 0;
    struct pair_slot wanted = {.offset = issued->own_number - plan->begins[step],
                               .peer = issued->peer,
                               .function = issued->function};
    const struct pair_slot *slot =
        bsearch(&wanted, plan->slots, plan->slot_count, sizeof *plan->slots, by_call);
    if (!slot)
        return 0;
    issued->joined->step = step;
    issued->joined->number = step * slot->per_step + slot->place;
    return 0;
}

int pair_plans_apply(struct pair_plans *plans, struct blocks *blocks, const struct work *work, int32_t rank,
                     struct error *error)
{
    size_t regular = 0;
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        regular += plans->items[work->by_rank.items[i]].is_regular != 0;
    return regular ? rank_pass(blocks, work, rank, PASS_CHANGES_RESULTS, give_number, plans, error) : 0;
}
