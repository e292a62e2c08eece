#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"

/*
 * Residuals of a job with a known fault: 1000 before the first AllReduce, by rank 3, in steps 10 to 14; the
 * noise (slow_ranks.h) is twice 40 per step.
 */

enum { SLOW = 3, FIRST = 10, LAST = 14, SLOW_NS = 1000, NOISE_NS = 2 * 40 };

struct measured {
    struct slow_job played;
    struct residual_matrix residual_matrices[MOST_PARTITIONS];
    unsigned char steps[STEPS];
    int64_t by_step[STEPS]; /* of the fault */
    int64_t by_rank[RANKS];
};

/* Plays a job with slow ranks, and compares them. */
static void play(struct measured *measured, const struct slow_ranks *slow)
{
    slow_job_init(&measured->played, slow);
    assert_int_equal(residual_matrices_init(measured->residual_matrices, &measured->played.source,
                                            &measured->played.partitions, 0),
                     0);
}

static void measure(struct measured *measured, int is_hosts, int first, int last)
{
    struct slow_ranks slow = {.is_hosts = is_hosts};
    *measured = (struct measured){.steps = {0}};
    slow_ranks_add(&slow, SLOW, 1, first, last, 1, SLOW_NS);
    play(measured, &slow);
    assert_int_equal(measured->played.baseline.role_count, 1);
}

static void release(struct measured *measured)
{
    for (size_t i = 0; i < measured->played.partitions.count; i++)
        residual_matrix_release(&measured->residual_matrices[i]);
    slow_job_release(&measured->played);
}

static void assert_near(int64_t value, int64_t wanted)
{
    assert_in_range(value + SLOW_NS, wanted + SLOW_NS - NOISE_NS, wanted + SLOW_NS + NOISE_NS);
}

static void the_fault_is_the_residual(void **state)
{
    struct measured measured;
    measure(&measured, 0, FIRST, LAST);
    const struct residual_matrix *residual_matrix = &measured.residual_matrices[0];
    assert_int_equal(residual_matrix->units, RANKS);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 1; step < STEPS; step++) {
            int is_slow = rank == SLOW && step >= FIRST && step <= LAST;
            assert_near(residual_matrix->beyond[rank * STEPS + step], is_slow ? SLOW_NS : 0);
            assert_near(residual_matrix->more[rank * STEPS + step], is_slow ? SLOW_NS : 0);
            assert_near(residual_matrix->host[rank * STEPS + step], 0);
        }
    assert_int_equal(residual_matrix->beyond[SLOW * STEPS], TIME_UNKNOWN);
    /* It is in no level: it is absent from most steps. */
    assert_near(residual_matrix->level[SLOW].apart_ns, 0);
    assert_near(residual_matrix->level[SLOW].widest_ns, FIRST_NS);
    assert_near(residual_matrix->level[SLOW].others_ns, FIRST_NS + SECOND_NS);
    release(&measured);
}

static void the_hosts_part(void **state)
{
    struct measured measured;
    measure(&measured, 1, FIRST, LAST);
    for (int step = FIRST; step <= LAST; step++)
        assert_near(measured.residual_matrices[0].host[SLOW * STEPS + step], SLOW_NS);
    release(&measured);
}

/*
 * A host that is late before the first operation by more than shows there delays what follows: the next
 * excess of the step is its own, too, although that operation is already queued.
 */
static void lateness_that_shows_later(void **state)
{
    for (int64_t late_ns = 0; late_ns <= 1000; late_ns += 1000) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct measured measured = {.steps = {0}};
        for (int step = FIRST; step <= LAST; step++) {
            slow.first_ns[SLOW][step] = SLOW_NS / 2;
            slow.second_ns[SLOW][step] = SLOW_NS / 2;
        }
        slow_job_init(&measured.played, &slow);
        for (int step = FIRST; step <= LAST; step++)
            measured.played.operations[SLOW * INSTANCES + step * EACH].enqueued_ns += late_ns + 5;
        assert_int_equal(residual_matrices_init(measured.residual_matrices, &measured.played.source,
                                                &measured.played.partitions, 0),
                         0);
        for (int step = FIRST; step <= LAST; step++) {
            assert_near(measured.residual_matrices[0].more[SLOW * STEPS + step], SLOW_NS);
            assert_near(measured.residual_matrices[0].host[SLOW * STEPS + step], late_ns);
        }
        release(&measured);
    }
}

/* Only what lies before the launch, beyond what is usual: with and without the past of the rank. */
static void late_launches(void **state)
{
    for (int is_hosts = 0; is_hosts <= 1; is_hosts++) {
        struct measured measured;
        measure(&measured, is_hosts, FIRST, LAST);
        const struct residual_matrix *residual_matrix = &measured.residual_matrices[0];
        for (int rank = 0; rank < RANKS; rank++)
            for (int step = 1; step < STEPS; step++) {
                int is_late = is_hosts && rank == SLOW && step >= FIRST && step <= LAST;
                assert_near(residual_matrix->late[rank * STEPS + step], is_late ? SLOW_NS : 0);
                assert_near(residual_matrix->late_beyond[rank * STEPS + step], is_late ? SLOW_NS : 0);
            }
        assert_int_equal(residual_matrix->late[SLOW * STEPS], TIME_UNKNOWN);
        release(&measured);
    }
}

/* A rank that is late in all steps: its own past hides it, its peers show it. */
static void late_in_all_steps(void **state)
{
    struct measured measured;
    measure(&measured, 1, 0, STEPS - 1);
    for (int step = 1; step < STEPS; step++) {
        assert_near(measured.residual_matrices[0].late[SLOW * STEPS + step], SLOW_NS);
        assert_near(measured.residual_matrices[0].late_beyond[SLOW * STEPS + step], 0);
    }
    release(&measured);
}

/* Half of a pair, a quarter of four: three of the four ranks would have to be slow. */
static void one_of_several_is_none_of_theirs(void **state)
{
    struct measured measured;
    measure(&measured, 0, FIRST, LAST);
    assert_true(measured.played.partitions.count > 1);
    for (size_t i = 1; i < measured.played.partitions.count; i++)
        for (size_t cell = 0; cell < measured.residual_matrices[i].units * STEPS; cell++)
            if (cell % STEPS)
                assert_near(measured.residual_matrices[i].beyond[cell], 0);
    release(&measured);
}

/* Compared with the others only: there are no earlier steps. */
static void slow_in_all_steps(void **state)
{
    struct measured measured;
    measure(&measured, 0, 0, STEPS - 1);
    const struct level *level = &measured.residual_matrices[0].level[SLOW];
    assert_near(level->apart_ns, SLOW_NS);
    assert_near(level->quiet_ns, SLOW_NS);
    assert_near(level->widest_more_ns, SLOW_NS);
    assert_near(level->slower_ns, FIRST_NS);
    assert_near(measured.residual_matrices[0].level[0].apart_ns, 0);
    for (int step = 1; step < STEPS; step++)
        assert_near(measured.residual_matrices[0].beyond[SLOW * STEPS + step], 0);
    release(&measured);
}

static void take(void *context, int32_t operation, int64_t fault_ns)
{
    struct measured *measured = context;
    const struct job_operation *at = &measured->played.operations[operation];
    measured->by_step[at->step] += fault_ns;
    measured->by_rank[at->rank] += fault_ns;
}

static void take_part(struct measured *measured, size_t partition, int is_steady, int first, int last,
                      double most_part)
{
    const struct partition *of = &measured->played.partitions.items[partition];
    const struct fault fault = {.partition = of,
                                .unit = (size_t)of->unit_of[SLOW],
                                .residual_matrices = &measured->residual_matrices[partition],
                                .apart = measured->played.partitions.count,
                                .steps = measured->steps,
                                .is_steady = is_steady,
                                .most_part = most_part};
    for (int step = first; step <= last; step++)
        measured->steps[step] = 1;
    assert_int_equal(fault_each(&fault, &measured->played.source, take, measured), 0);
}

static void take_fault(struct measured *measured, size_t partition, int is_steady, int first, int last)
{
    take_part(measured, partition, is_steady, first, last, 1);
}

static void the_fault_is_what_is_taken(void **state)
{
    struct measured measured;
    measure(&measured, 0, FIRST, LAST);
    take_fault(&measured, 0, 0, FIRST, LAST);
    for (int step = 0; step < STEPS; step++)
        if (step >= FIRST && step <= LAST)
            assert_near(measured.by_step[step], SLOW_NS);
        else
            assert_int_equal(measured.by_step[step], 0);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(measured.by_rank[rank] != 0, rank == SLOW);
    release(&measured);
}

static void what_is_steady_is_taken_from_all_steps(void **state)
{
    struct measured measured;
    measure(&measured, 0, 0, STEPS - 1);
    take_fault(&measured, 0, 1, 1, STEPS - 1);
    for (int step = 1; step < STEPS; step++)
        assert_near(measured.by_step[step], SLOW_NS);
    release(&measured);
}

/* A loader is late by another time in each step, and that is what each step is to be replayed without. */
static void each_step_tells_its_own_amount(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct measured measured = {.steps = {0}};
    slow_ranks_add(&slow, SLOW, 1, 0, STEPS - 1, 1, SLOW_NS);
    slow_ranks_add(&slow, SLOW, 1, FIRST, LAST, 1, 3 * SLOW_NS);
    play(&measured, &slow);
    take_fault(&measured, 0, 1, 1, STEPS - 1);
    for (int step = 1; step < STEPS; step++)
        assert_near(measured.by_step[step], step >= FIRST && step <= LAST ? 4 * SLOW_NS : SLOW_NS);
    release(&measured);
}

/* Where the rank computes less than the others, it waited less before: the fault makes nothing shorter. */
static void nothing_is_given_at_other_places(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct measured measured = {.steps = {0}};
    slow_ranks_add(&slow, SLOW, 1, 0, STEPS - 1, 1, SLOW_NS);
    for (int step = 0; step < STEPS; step++)
        slow.second_ns[SLOW][step] = -SLOW_NS / 2;
    play(&measured, &slow);
    take_fault(&measured, 0, 1, 1, STEPS - 1);
    for (int step = 1; step < STEPS; step++)
        assert_near(measured.by_step[step], SLOW_NS);
    release(&measured);
}

/* A slow clock takes its part of the own time and of the operation before, beside which the rank computes. */
static void a_clock_slows_what_overlaps(void **state)
{
    struct measured measured;
    measure(&measured, 0, 0, STEPS - 1);
    take_part(&measured, 0, 1, 1, STEPS - 1, 0.1);
    for (int step = 1; step < STEPS; step++)
        assert_near(measured.by_step[step], (FIRST_NS + SLOW_NS + LASTS_NS) / 10);
    release(&measured);
}

/* The other three took no longer. */
static void nothing_is_taken_from_its_neighbours(void **state)
{
    struct measured measured;
    measure(&measured, 0, FIRST, LAST);
    take_fault(&measured, 1, 0, FIRST, LAST);
    for (int step = FIRST; step <= LAST; step++)
        assert_in_range(measured.by_step[step] + SLOW_NS, SLOW_NS - 2 * NOISE_NS, SLOW_NS + 2 * NOISE_NS);
    release(&measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_fault_is_the_residual),
                                       cmocka_unit_test(the_hosts_part),
                                       cmocka_unit_test(lateness_that_shows_later),
                                       cmocka_unit_test(late_launches),
                                       cmocka_unit_test(late_in_all_steps),
                                       cmocka_unit_test(one_of_several_is_none_of_theirs),
                                       cmocka_unit_test(slow_in_all_steps),
                                       cmocka_unit_test(the_fault_is_what_is_taken),
                                       cmocka_unit_test(what_is_steady_is_taken_from_all_steps),
                                       cmocka_unit_test(each_step_tells_its_own_amount),
                                       cmocka_unit_test(nothing_is_given_at_other_places),
                                       cmocka_unit_test(a_clock_slows_what_overlaps),
                                       cmocka_unit_test(nothing_is_taken_from_its_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
