/*
 * Puts the operations of a rank into one order in all steps where a recorder shows only when their records
 * were dumped, as Inspector does if it is not verbose, and operations of several communicators run at the
 * same time. Those end in another order in each step. Their order within a communicator is known, and steps
 * repeat the same calls, so that the mean of the dumps over all steps tells which call comes first.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

/* Fewer steps of the same calls than this show no order. */
enum { FEWEST_STEPS = 3 };

/* Consecutive operations of a rank that belong to one step. */
struct step_calls {
    size_t first;
    size_t count;
    uint64_t calls; /* hash of its calls, whatever their order between communicators */
};

/* The calls of a step on one communicator. */
struct communicator_calls {
    uint64_t calls; /* hash of them in their order, and of the size of the communicator */
    int32_t count;
    int32_t communicator;
};

/* The order of the calls of a step. Ranks that make the same calls share one. */
struct call_order {
    uint64_t calls; /* hash of the calls by communicator */
    size_t count;
    int32_t *call; /* owned: [place] */
};

struct call_orders {
    struct call_order *items; /* owned */
    size_t count;
    size_t capacity;
};

/* The operations of a rank. All but `job` and `order` is owned, and has room for each operation. */
struct program {
    const struct job *job;
    int32_t *order; /* in the order of their dumps */
    size_t count;
    struct step_calls *steps;
    size_t step_count;
    const struct step_calls *usual; /* of `steps`, the first of those with the calls of most steps */
    size_t usual_count;
    int32_t *ordinal; /* [place in order]: its number among those of its communicator in the step */
    int32_t *uses;    /* [communicator]: scratch, 0 between uses */
    struct communicator_calls *communicators; /* those of a usual step */
    uint64_t calls;                           /* hash of `communicators` */
    int32_t *base;             /* [communicator]: the number of its first call in a usual step */
    struct sort_entry *sorted; /* [call] */
    struct sort_entry *merged; /* scratch */
    int32_t *own;              /* [place]: its own order of calls */
    int32_t *placed;           /* scratch */
};

static const struct job_operation *operation_of(const struct program *program, size_t at)
{
    return &program->job->operations[program->order[at]];
}

/* Whether only the time of its dump is known of an operation. */
static int is_dumped_only(const struct job *job, size_t at)
{
    return job->drafts.issued_ns[at] == TIME_UNKNOWN && job->operations[at].start_ns == TIME_UNKNOWN &&
           job->drafts.stamps_ns[at] != TIME_UNKNOWN;
}

/* Numbers the operations of a step by communicator, and hashes what they call. */
static void read_step(struct program *program, struct step_calls *step)
{
    for (size_t i = step->first; i < step->first + step->count; i++) {
        const struct job_operation *operation = operation_of(program, i);
        program->ordinal[i] = program->uses[operation->communicator]++;
        uint64_t which = (uint64_t)operation->communicator << 32 | (uint32_t)program->ordinal[i];
        step->calls += hash_mix(which, operation->function);
    }
    for (size_t i = step->first; i < step->first + step->count; i++)
        program->uses[operation_of(program, i)->communicator] = 0;
}

/* Cuts the operations into steps. Returns 0 if more is known of any than when it was dumped. */
static int read_steps(struct program *program)
{
    for (size_t i = 0, end; i < program->count; i = end) {
        int32_t number = operation_of(program, i)->step;
        for (end = i; end < program->count && operation_of(program, end)->step == number; end++)
            if (!is_dumped_only(program->job, (size_t)program->order[end]))
                return 0;
        struct step_calls *step = &program->steps[program->step_count];
        *step = (struct step_calls){.first = i, .count = end - i};
        read_step(program, step);
        program->step_count += number >= 0;
    }
    return 1;
}

static int by_calls(const void *a, const void *b)
{
    const struct step_calls *left = a, *right = b;
    if (left->calls != right->calls)
        return left->calls < right->calls ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

/* Finds the steps with the calls of most steps. */
static void find_usual(struct program *program)
{
    struct step_calls *steps = program->steps;
    array_sort(steps, program->step_count, sizeof *steps, by_calls);
    for (size_t i = 0, end; i < program->step_count; i = end) {
        for (end = i; end < program->step_count && steps[end].calls == steps[i].calls;)
            end++;
        if (end - i > program->usual_count) {
            program->usual_count = end - i;
            program->usual = &steps[i];
        }
    }
}

static int by_communicator_calls(const void *a, const void *b)
{
    const struct communicator_calls *left = a, *right = b;
    if (left->calls != right->calls)
        return left->calls < right->calls ? -1 : 1;
    return (left->communicator > right->communicator) - (left->communicator < right->communicator);
}

/*
 * Numbers the calls of a usual step: communicator by communicator, in the order within each. Communicators
 * are in the order of what is called on them, so that ranks that do the same number their calls alike.
 */
static void number_calls(struct program *program)
{
    const struct job *job = program->job;
    struct communicator_calls *communicators = program->communicators;
    size_t used = 0;
    int32_t next = 0;
    for (size_t i = program->usual->first; i < program->usual->first + program->usual->count; i++) {
        const struct job_operation *operation = operation_of(program, i);
        int32_t *use = &program->uses[operation->communicator];
        if (!*use) {
            uint64_t size = (uint64_t)job->communicators[operation->communicator].size;
            communicators[used++] = (struct communicator_calls){size, 0, operation->communicator};
            *use = (int32_t)used;
        }
        struct communicator_calls *of = &communicators[*use - 1];
        of->calls = hash_mix(of->calls, operation->function);
        of->count++;
    }
    array_sort(communicators, used, sizeof *communicators, by_communicator_calls);
    for (size_t i = 0; i < used; i++) {
        program->uses[communicators[i].communicator] = 0;
        program->base[communicators[i].communicator] = next;
        next += communicators[i].count;
        program->calls = hash_mix(program->calls, communicators[i].calls);
    }
}

/* The number of the call of an operation of a usual step. */
static int32_t call_of(const struct program *program, size_t at)
{
    return program->base[operation_of(program, at)->communicator] + program->ordinal[at];
}

/* Fills in when each call was dumped, summed over the usual steps, since the first dump of the step. */
static void sum_dumps(struct program *program)
{
    size_t calls = program->usual->count;
    for (size_t call = 0; call < calls; call++)
        program->sorted[call] = (struct sort_entry){0, (int32_t)call};
    for (size_t i = 0; i < program->usual_count; i++) {
        const struct step_calls *step = &program->usual[i];
        int64_t first_ns = program->job->drafts.stamps_ns[program->order[step->first]];
        for (size_t at = step->first; at < step->first + calls; at++)
            program->sorted[call_of(program, at)].key +=
                program->job->drafts.stamps_ns[program->order[at]] - first_ns;
    }
}

/* The operations of a usual step, by call. */
static void list_calls(struct program *program, const struct step_calls *step)
{
    for (size_t at = step->first; at < step->first + step->count; at++)
        program->placed[call_of(program, at)] = program->order[at];
}

/*
 * Sorts the calls by their dumps, but not before those that precede them on their communicator. Calls of one
 * group stay together.
 */
static void sort_calls(struct program *program)
{
    const struct job_operation *operations = program->job->operations;
    size_t calls = program->usual->count;
    list_calls(program, program->usual);
    for (size_t call = calls; call-- > 1;) {
        size_t at = (size_t)program->placed[call], before = (size_t)program->placed[call - 1];
        if (operations[before].communicator == operations[at].communicator &&
            program->sorted[call].key < program->sorted[call - 1].key)
            program->sorted[call - 1].key = program->sorted[call].key;
    }
    for (size_t call = 1; call < calls; call++)
        if (job_same_group(program->job, (size_t)program->placed[call - 1], (size_t)program->placed[call]))
            program->sorted[call].key = program->sorted[call - 1].key;
    sort_entries(program->sorted, program->merged, calls);
}

/* How many calls were dumped before one that comes before them in an order, over all usual steps. */
static size_t count_reversed(struct program *program, const int32_t *calls)
{
    const int64_t *stamps_ns = program->job->drafts.stamps_ns;
    size_t reversed = 0;
    for (size_t i = 0; i < program->usual_count; i++) {
        list_calls(program, &program->usual[i]);
        for (size_t place = 1; place < program->usual->count; place++)
            reversed += stamps_ns[program->placed[calls[place]]] + JOB_ONE_DUMP_NS <
                        stamps_ns[program->placed[calls[place - 1]]];
    }
    return reversed;
}

/*
 * A rank takes the order of another one if it reverses one in so many of its calls, at most. It is compared
 * with so many orders: more would take long where each rank has another one.
 */
enum { MOST_REVERSED = 10, MOST_COMPARED = 16 };

/* The order of a rank with the same calls that suits this one, or else its own; NULL when out of memory. */
static const struct call_order *find_call_order(struct program *program, struct call_orders *orders)
{
    size_t calls = program->usual->count, compared = 0;
    for (size_t i = 0; i < orders->count && compared < MOST_COMPARED; i++) {
        const struct call_order *known = &orders->items[i];
        int is_alike = known->calls == program->calls && known->count == calls;
        compared += (size_t)is_alike;
        if (is_alike && count_reversed(program, known->call) * MOST_REVERSED <= calls * program->usual_count)
            return known;
    }
    if (array_reserve((void **)&orders->items, &orders->capacity, orders->count + 1, sizeof *orders->items))
        return NULL;
    struct call_order *own = &orders->items[orders->count];
    *own = (struct call_order){program->calls, calls, array_new(calls, sizeof *own->call)};
    if (!own->call)
        return NULL;
    memcpy(own->call, program->own, calls * sizeof *own->call);
    orders->count++;
    return own;
}

static void order_steps(struct program *program, const int32_t *calls)
{
    for (size_t i = 0; i < program->usual_count; i++) {
        const struct step_calls *step = &program->usual[i];
        list_calls(program, step);
        for (size_t place = 0; place < step->count; place++)
            program->order[step->first + place] = program->placed[calls[place]];
    }
}

/* Fewer reversed calls than one in so many are those of a recorder that dumped late, or of the ends of steps.
 */
enum { FEW_REVERSED = 50 };

/* Orders the usual steps of a rank. Returns -1 when out of memory. */
static int order_usual(struct program *program, struct call_orders *orders)
{
    number_calls(program);
    sum_dumps(program);
    sort_calls(program);
    for (size_t i = 0; i < program->usual->count; i++)
        program->own[i] = program->sorted[i].index;
    if (count_reversed(program, program->own) * FEW_REVERSED < program->usual->count * program->usual_count)
        return 0;
    const struct call_order *found = find_call_order(program, orders);
    if (found)
        order_steps(program, found->call);
    return found ? 0 : -1;
}

static int program_init(struct program *program, const struct job *job, int32_t *order, size_t count)
{
    *program = (struct program){.job = job,
                                .order = order,
                                .count = count,
                                .steps = array_new(count, sizeof *program->steps),
                                .ordinal = array_new(count, sizeof *program->ordinal),
                                .uses = array_new(job->communicator_count, sizeof *program->uses),
                                .base = array_new(job->communicator_count, sizeof *program->base),
                                .communicators = array_new(count, sizeof *program->communicators),
                                .own = array_new(count, sizeof *program->own),
                                .sorted = array_new(count, sizeof *program->sorted),
                                .merged = array_new(count, sizeof *program->merged),
                                .placed = array_new(count, sizeof *program->placed)};
    return program->steps && program->ordinal && program->uses && program->base && program->communicators &&
                   program->own && program->sorted && program->merged && program->placed
               ? 0
               : -1;
}

static void program_release(struct program *program)
{
    free(program->steps);
    free(program->ordinal);
    free(program->uses);
    free(program->base);
    free(program->communicators);
    free(program->own);
    free(program->sorted);
    free(program->merged);
    free(program->placed);
}

static int order_rank(const struct job *job, int32_t *order, size_t count, struct call_orders *orders)
{
    struct program program;
    if (!count || !is_dumped_only(job, (size_t)order[0]))
        return 0;
    int failed = program_init(&program, job, order, count);
    if (!failed && read_steps(&program))
        find_usual(&program);
    if (program.usual_count >= FEWEST_STEPS)
        failed = order_usual(&program, orders);
    program_release(&program);
    return failed;
}

int job_order_programs(const struct job *job, int32_t *order)
{
    struct call_orders orders = {NULL, 0, 0};
    int failed = 0;
    for (size_t i = 0; !failed && job->drafts.stamps_ns && i < job->rank_count; i++)
        failed = order_rank(job, order + job->ranks[i].first, job->ranks[i].count, &orders);
    for (size_t i = 0; i < orders.count; i++)
        free(orders.items[i].call);
    free(orders.items);
    return failed;
}
