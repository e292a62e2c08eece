#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Rank 0; a letter is an AllReduce of a size of its own on communicator 0, a digit an AllGather of that size
 * on communicator 1; < and ( are receives from rank 1 and 2, > and ) sends to them, all of one size. Sequence
 * numbers are consecutive; a point is one that was lost. The result is the position of each operation in its
 * step, as digits; - for none.
 */
enum { MOST = 128, STEPS = 4 };

/* A send or receive is identified by sender and receiver. */
static void make_pair(char what, struct job_operation *operation, struct job_instance *instance)
{
    int sends = what == '>' || what == ')', peer = what == '<' || what == '>' ? 1 : 2;
    operation->function = sends ? FUNCTION_SEND : FUNCTION_RECV;
    operation->bytes = 1;
    instance->sender = sends ? 0 : peer;
    instance->receiver = sends ? peer : 0;
}

static void check(const char *const steps[STEPS], int32_t canonical, const char *const positions[STEPS])
{
    struct job_operation operations[MOST];
    int32_t positions_found[MOST];
    struct job_instance instances[MOST];
    struct stretch stretches[STEPS];
    size_t count = 0;
    int64_t numbers[2] = {0, 0};
    int lost = 0;
    for (int step = 0; step < STEPS; step++) {
        stretches[step] = (struct stretch){.first = (int32_t)count};
        for (const char *at = steps[step]; *at; at++) {
            int gather = *at >= '0' && *at <= '9';
            lost |= *at == '.';
            numbers[0] += *at == '.';
            stretches[step].has_gap += *at == '.';
            if (*at == '.')
                continue;
            instances[count] = (struct job_instance){.sequence = numbers[gather]++};
            operations[count] =
                (struct job_operation){.instance = (int32_t)count,
                                       .communicator = gather,
                                       .function = gather ? FUNCTION_ALL_GATHER : FUNCTION_ALL_REDUCE,
                                       .bytes = *at,
                                       .step = step};
            positions_found[count] = -1;
            if (strchr("<>()", *at))
                make_pair(*at, &operations[count], &instances[count]);
            count++;
            stretches[step].count++;
            stretches[step].signature = stretches[step].signature * 131 + (uint64_t)*at;
        }
    }
    struct job_communicator communicators[] = {{.hash = 1}, {.hash = 1}};
    struct job job = {.step_count = STEPS,
                      .communicators = communicators,
                      .communicator_count = 2,
                      .operations = operations,
                      .operation_count = count,
                      .instances = instances,
                      .missing_sequence = lost};
    struct job_rank rank = {.count = count};
    struct step_numbers numbers_of_steps;
    assert_int_equal(step_numbers_init(&numbers_of_steps, &job, &rank), 0);
    assert_int_equal(positions_match(&job, stretches, stretches[canonical], lost ? &numbers_of_steps : NULL,
                                     positions_found),
                     0);
    step_numbers_release(&numbers_of_steps);
    for (int step = 0; step < STEPS; step++)
        for (int32_t i = 0; i < stretches[step].count; i++) {
            char expected = positions[step][i];
            assert_int_equal(positions_found[stretches[step].first + i],
                             expected == '-' ? -1 : expected - '0');
        }
}

/* A step with one more operation does not shift the following steps. */
static void one_more_now_and_then(void **state)
{
    check((const char *const[]){"ABC", "ABCl", "ABC", "AlBC"}, 0,
          (const char *const[]){"012", "012-", "012", "0-12"});
    check((const char *const[]){"ABCl", "ABC", "ABCl", "ABC"}, 0,
          (const char *const[]){"0123", "012", "0123", "012"});
}

/* One that looks like another operation of the step, before it. */
static void one_like_another(void **state)
{
    check((const char *const[]){"ABCl", "AlBCl", "lABCl", "ABCll"}, 0,
          (const char *const[]){"0123", "0-123", "-0123", "0123-"});
    check((const char *const[]){"ABlCl", "ABCl", "ABl", "lCl"}, 0,
          (const char *const[]){"01234", "0134", "012", "234"});
}

/* Batches differ in size: then only the calls are compared. */
static void other_sizes(void **state)
{
    check((const char *const[]){"1A1A", "2A2A", "3B3Bl", "1A1A"}, 0,
          (const char *const[]){"0123", "0123", "0123-", "0123"});
    /* One additional operation that matches this way is enough. */
    check((const char *const[]){"1A1A", "2A1A", "1A1A", "1A1A"}, 0,
          (const char *const[]){"0123", "0123", "0123", "0123"});
    /* If sizes are as good as calls, they are used: the AllGather is 1; by calls, it would be 2. */
    check((const char *const[]){"1A", "1A", "21", "1A"}, 0, (const char *const[]){"01", "01", "-0", "01"});
    /* If sizes are unambiguous, calls are not used. */
    check((const char *const[]){"AB", "AB", "lAB", "AB"}, 0, (const char *const[]){"01", "01", "-01", "01"});
}

/* If operations were lost, their numbers show which. */
static void lost_ones(void **state)
{
    check((const char *const[]){"AAA", "A.A", ".AA", "AA."}, 0,
          (const char *const[]){"012", "02", "12", "01"});
}

/*
 * If no step is complete, the numbers show how many operations a step has: of five, any may have been lost.
 */
static void lost_ones_in_all_steps(void **state)
{
    check((const char *const[]){"A.AAA", "AA.AA", "AAA.A", "AAAA."}, 0,
          (const char *const[]){"0123", "0-23", "0-13", "0-12"});
    check((const char *const[]){".AAAA", "A.AAA", "AAA.A", "A.AAA"}, 2,
          (const char *const[]){"12-3", "02-3", "0123", "02-3"});
}

/*
 * One more in every second step, which is always lost: the other operations are better evidence than numbers.
 */
static void lost_ones_that_are_no_part_of_a_step(void **state)
{
    check((const char *const[]){"AAA.", "AAA", "AAA.", "AAA"}, 0,
          (const char *const[]){"012", "012", "012", "012"});
}

/* Operations of a step before the canonical one are counted back from its own. */
static void lost_ones_before(void **state)
{
    check((const char *const[]){"A.A", "AAA", ".AA", "AAA"}, 3,
          (const char *const[]){"02", "012", "12", "012"});
}

/* For identical sends and receives, the peers show which one is there. */
static void other_peers(void **state)
{
    check((const char *const[]){"<(A>)", "(A)", "<A>", "<(A>)"}, 0,
          (const char *const[]){"01234", "124", "023", "01234"});
    /* The same if sizes differ, or numbers were lost, which pairs do not have. */
    check((const char *const[]){"<(A>)", "(B)", "<B>", "<(A>)"}, 0,
          (const char *const[]){"01234", "124", "023", "01234"});
    check((const char *const[]){"<(A>)", "(A)", "<.>", "<(A>)"}, 0,
          (const char *const[]){"01234", "124", "03", "01234"});
}

/* A step with many times as many operations is like none of the others. */
static void far_too_long(void **state)
{
    check((const char *const[]){"AB", "AB", "ABABABABA", "ABABABAB"}, 0,
          (const char *const[]){"01", "01", "---------", "01------"});
}

/*
 * No step is complete, and each lacks something else, the first step its first operation: of `operations`
 * AllReduces per step, number `lost[step]` is lost.
 */
enum { MERGED_STEPS = 8, PER_STEP = 5 };

static void steps_make_one_together(void **state)
{
    static const int32_t lost[MERGED_STEPS] = {0, 3, 1, 0, 2, 4, 1, 3};
    struct job_operation operations[MERGED_STEPS * PER_STEP];
    struct job_instance instances[MERGED_STEPS * PER_STEP];
    struct stretch stretches[MERGED_STEPS];
    int32_t count = 0, last = -1;
    for (int32_t step = 0; step < MERGED_STEPS; step++) {
        stretches[step] = (struct stretch){.first = count};
        for (int32_t i = 0; i < PER_STEP; i++) {
            if (i == lost[step])
                continue;
            /* A size that is another one in each step, and one that is always the same. */
            instances[count] = (struct job_instance){.sequence = 100 + step * PER_STEP + i};
            operations[count] = (struct job_operation){.instance = count,
                                                       .function = FUNCTION_ALL_REDUCE,
                                                       .bytes = i == 2 ? 1000 + step : 7,
                                                       .step = step};
            count++;
            stretches[step].count++;
        }
    }
    struct job_communicator communicators[] = {{.hash = 1}};
    struct job job = {.step_count = MERGED_STEPS,
                      .communicators = communicators,
                      .communicator_count = 1,
                      .operations = operations,
                      .operation_count = (size_t)count,
                      .instances = instances,
                      .missing_sequence = MERGED_STEPS};
    struct job_rank rank = {.count = (size_t)count};
    struct step_numbers numbers;
    struct merged_step merged;
    assert_int_equal(step_numbers_init(&numbers, &job, &rank), 0);
    assert_true(numbers.is_even);
    assert_int_equal(merged_step_find(&merged, &numbers, stretches, 0), 0);
    assert_int_equal(merged.count, PER_STEP);
    for (int32_t i = 0; i < merged.count; i++) {
        int32_t slot = (int32_t)step_numbers_slot(&numbers, &operations[merged.operations[i]]);
        assert_int_equal(slot, i);
        assert_true(slot > last);
        assert_int_equal(merged.varies[i], i == 2);
        last = slot;
    }
    merged_step_release(&merged);
    step_numbers_release(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_more_now_and_then),
        cmocka_unit_test(one_like_another),
        cmocka_unit_test(other_sizes),
        cmocka_unit_test(lost_ones),
        cmocka_unit_test(lost_ones_before),
        cmocka_unit_test(other_peers),
        cmocka_unit_test(far_too_long),
        cmocka_unit_test(steps_make_one_together),
        cmocka_unit_test(lost_ones_in_all_steps),
        cmocka_unit_test(lost_ones_that_are_no_part_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
