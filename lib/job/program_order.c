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

/* The operations of a rank. All but `job` and `order` is owned, and has room for each operation. */
struct program {
    const struct job *job;
    int32_t *order; /* in the order of their dumps */
    size_t count;
    struct step_calls *steps;
    size_t step_count;
    const struct step_calls *usual; /* of `steps`, the first of those with the calls of most steps */
    size_t usual_count;
    int32_t *ordinal;          /* [place in order]: its number among those of its communicator in the step */
    int32_t *uses;             /* [communicator]: scratch, 0 between uses */
    int32_t *base;             /* [communicator]: the number of its first call in a usual step */
    struct sort_entry *sorted; /* [call] */
    struct sort_entry *merged; /* scratch */
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

/* Numbers the calls of a usual step: communicator by communicator, in the order within each. */
static void number_calls(struct program *program)
{
    int32_t next = 0;
    for (size_t i = 0; i < program->usual->count; i++)
        program->uses[operation_of(program, program->usual->first + i)->communicator]++;
    for (size_t i = 0; i < program->job->communicator_count; i++) {
        program->base[i] = next;
        next += program->uses[i];
        program->uses[i] = 0;
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

/* Whether in some step, a call was dumped before one that comes before it. */
static int is_order_mixed(struct program *program)
{
    const int64_t *stamps_ns = program->job->drafts.stamps_ns;
    for (size_t i = 0; i < program->usual_count; i++) {
        list_calls(program, &program->usual[i]);
        for (size_t call = 1; call < program->usual->count; call++)
            if (stamps_ns[program->placed[program->sorted[call].index]] + JOB_ONE_DUMP_NS <
                stamps_ns[program->placed[program->sorted[call - 1].index]])
                return 1;
    }
    return 0;
}

static void order_steps(struct program *program)
{
    for (size_t i = 0; i < program->usual_count; i++) {
        const struct step_calls *step = &program->usual[i];
        list_calls(program, step);
        for (size_t call = 0; call < step->count; call++)
            program->order[step->first + call] = program->placed[program->sorted[call].index];
    }
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
                                .sorted = array_new(count, sizeof *program->sorted),
                                .merged = array_new(count, sizeof *program->merged),
                                .placed = array_new(count, sizeof *program->placed)};
    return program->steps && program->ordinal && program->uses && program->base && program->sorted &&
                   program->merged && program->placed
               ? 0
               : -1;
}

static void program_release(struct program *program)
{
    free(program->steps);
    free(program->ordinal);
    free(program->uses);
    free(program->base);
    free(program->sorted);
    free(program->merged);
    free(program->placed);
}

int job_order_program(const struct job *job, int32_t *order, size_t count)
{
    struct program program;
    if (!job->drafts.stamps_ns || !count || !is_dumped_only(job, (size_t)order[0]))
        return 0;
    int failed = program_init(&program, job, order, count);
    if (!failed && read_steps(&program))
        find_usual(&program);
    if (program.usual_count >= FEWEST_STEPS) {
        number_calls(&program);
        sum_dumps(&program);
        sort_calls(&program);
        if (is_order_mixed(&program))
            order_steps(&program);
    }
    program_release(&program);
    return failed;
}
