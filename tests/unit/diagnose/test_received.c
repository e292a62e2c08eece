#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Four ranks, each an expert, that send to each other in one call and then join an AllReduce: in each step a
 * rank works for 100 and a tenth of the bytes that it received. Loads differ in all steps; in four of them
 * one rank's is twice as large, in four others another rank is slower by 400.
 */
enum { RANKS = 4, PAIRS = 2 * (RANKS - 1), EACH = PAIRS + 1, STEPS = 16, USUAL = 1000, STEP_NS = 10000 };
enum { OPERATIONS = RANKS * STEPS * EACH, INSTANCES = STEPS * (1 + RANKS * RANKS) };
enum { HOT = 1, FIRST_HOT = 4, LAST_HOT = 7, SLOW = 2, FIRST_SLOW = 9, LAST_SLOW = 12, SLOWER_NS = 400 };

struct experts {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[1];
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[STEPS * RANKS + 2 * INSTANCES];
    struct baseline baseline;
};

static int is_even; /* all loads are equal */

static int number_of(int rank, int step, int at)
{
    return (rank * STEPS + step) * EACH + at;
}

/* The bytes that each of the others sends to a rank. */
static int64_t load_of(int rank, int step)
{
    if (is_even)
        return USUAL;
    int64_t usual = USUAL + 10 * ((step * 7 + rank * 3) % 11 - 5);
    return rank == HOT && step >= FIRST_HOT && step <= LAST_HOT ? 2 * usual : usual;
}

static int64_t work_of(int rank, int step)
{
    int is_slow = rank == SLOW && step >= FIRST_SLOW && step <= LAST_SLOW;
    return 100 + load_of(rank, step) * (RANKS - 1) / 10 + (is_slow ? SLOWER_NS : 0);
}

static void put(struct experts *experts, int rank, int step, int at, struct job_operation operation)
{
    operation.rank = rank;
    operation.step = step;
    operation.ends = ENDS_BY_KERNEL;
    operation.enqueued_ns = (int64_t)step * STEP_NS;
    experts->operations[number_of(rank, step, at)] = operation;
}

static void put_pairs(struct experts *experts, int rank, int step)
{
    int64_t start_ns = (int64_t)step * STEP_NS + 500;
    for (int i = 0; i < PAIRS; i++) {
        int peer = i / 2 + (i / 2 >= rank), sender = i % 2 ? peer : rank, receiver = i % 2 ? rank : peer;
        int instance = STEPS + (step * RANKS + sender) * RANKS + receiver;
        put(experts, rank, step, i,
            (struct job_operation){.function = i % 2 ? FUNCTION_RECV : FUNCTION_SEND,
                                   .bytes = load_of(receiver, step),
                                   .instance = instance,
                                   .group = number_of(rank, step, 0),
                                   .previous = step ? number_of(rank, step - 1, EACH - 1) : -1,
                                   .start_ns = start_ns,
                                   .end_ns = start_ns + 100,
                                   .own_ns = i || !step ? TIME_UNKNOWN : 300});
        experts->instances[instance] =
            (struct job_instance){.function = FUNCTION_SEND,
                                  .members = 2,
                                  .step = step,
                                  .sender = sender,
                                  .receiver = receiver,
                                  .first_member = (uint32_t)(STEPS * RANKS + 2 * instance)};
        experts->members[STEPS * RANKS + 2 * instance + i % 2] = number_of(rank, step, i);
    }
}

static void put_collective(struct experts *experts, int rank, int step)
{
    int64_t free_ns = (int64_t)step * STEP_NS + 600, start_ns = free_ns + work_of(rank, step);
    int number = number_of(rank, step, EACH - 1);
    put(experts, rank, step, EACH - 1,
        (struct job_operation){.function = FUNCTION_ALL_REDUCE,
                               .bytes = 64,
                               .instance = step,
                               .group = number,
                               .previous = number - 1,
                               .start_ns = start_ns,
                               .end_ns = (int64_t)step * STEP_NS + 5000,
                               .own_ns = start_ns - free_ns});
    experts->instances[step] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                     .members = RANKS,
                                                     .step = step,
                                                     .first_member = (uint32_t)(step * RANKS)};
    experts->members[step * RANKS + rank] = number;
}

static void experts_init(struct experts *experts)
{
    struct error error = ERROR_INIT;
    const struct baseline_options options = {.sigmas = 6};
    memset(experts, 0, sizeof *experts);
    experts->communicators[0] = (struct job_communicator){.size = RANKS, .silent = -1};
    for (int rank = 0; rank < RANKS; rank++) {
        experts->ranks[rank] =
            (struct job_rank){.first = (size_t)number_of(rank, 0, 0), .count = STEPS * EACH};
        for (int step = 0; step < STEPS; step++) {
            put_pairs(experts, rank, step);
            put_collective(experts, rank, step);
        }
    }
    experts->job = (struct job){.rank_count = RANKS,
                                .ranks = experts->ranks,
                                .communicator_count = 1,
                                .communicators = experts->communicators,
                                .operation_count = OPERATIONS,
                                .operations = experts->operations,
                                .instance_count = INSTANCES,
                                .instances = experts->instances,
                                .instance_members = experts->members,
                                .step_count = STEPS,
                                .timed_operations = 1};
    assert_int_equal(baseline_init(&experts->baseline, &experts->job, &options, &error), 0);
}

static void a_call_brought_what_it_received(void **state)
{
    struct experts experts;
    experts_init(&experts);
    const struct job_operation *work = &experts.operations[number_of(HOT, FIRST_HOT, EACH - 1)];
    assert_int_equal(received_bytes(&experts.job, work), load_of(HOT, FIRST_HOT) * (RANKS - 1));
    const struct job_operation *first = &experts.operations[number_of(HOT, FIRST_HOT, 0)];
    assert_int_equal(received_bytes(&experts.job, first), 64);
    assert_int_equal(received_bytes(&experts.job, &experts.operations[number_of(HOT, 0, 0)]), TIME_UNKNOWN);
    experts.operations[number_of(HOT, FIRST_HOT, 3)].bytes = COUNT_UNKNOWN;
    assert_int_equal(received_bytes(&experts.job, work), TIME_UNKNOWN);
    baseline_release(&experts.baseline);
}

/*
 * They are peers whatever their sizes. The busy one is not late, the slow one is: by as much as others
 * waited.
 */
static void load_is_no_lateness(void **state)
{
    struct experts experts;
    experts_init(&experts);
    assert_int_equal(experts.baseline.role_count, 1);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 1; step < STEPS; step++) {
            int is_slow = rank == SLOW && step >= FIRST_SLOW && step <= LAST_SLOW;
            const struct excess excess = excess_of(&experts.baseline, &experts.job,
                                                   &experts.operations[number_of(rank, step, EACH - 1)]);
            if (!is_slow)
                assert_int_equal(excess.excess_ns, 0);
            else
                assert_in_range(excess.excess_ns, SLOWER_NS * 9 / 10, SLOWER_NS);
        }
    baseline_release(&experts.baseline);
}

/* Only where amounts of received data vary can they explain anything. */
static void equal_amounts_explain_nothing(void **state)
{
    struct experts experts;
    experts_init(&experts);
    assert_non_null(experts.baseline.explained_ns);
    baseline_release(&experts.baseline);
    is_even = 1;
    experts_init(&experts);
    assert_null(experts.baseline.explained_ns);
    baseline_release(&experts.baseline);
    is_even = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_brought_what_it_received),
        cmocka_unit_test(load_is_no_lateness),
        cmocka_unit_test(equal_amounts_explain_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
