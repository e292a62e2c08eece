#include "support/cmocka_all.h"
#include "support/strength_cells.h"

#include <math.h>
#include <stdlib.h>

/* Runs of strong steps, and how likely noise makes them. */

static const double CELLS = (double)RANKS * (STEPS - FIRST);

static void nothing_strong(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, LEAST - 1);
    put(&strength, 3, 0, 1000 * LEAST); /* warm-up */
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 0);
    free(suspects.items);
}

static void a_run(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 200);
    put(&strength, 3, 6, 150);
    put(&strength, 3, 7, 400);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 1);
    const struct suspect *run = &suspects.items[0];
    assert_int_equal(run->kind, FINDING_COMPUTE);
    assert_int_equal(run->rank, 3);
    assert_int_equal(run->first_step, 5);
    assert_int_equal(run->last_step, 7);
    assert_int_equal(run->weakest_ns, 150);
    assert_int_equal(run->total_ns, 750);
    /* No step stands alone: N (1/N)^3. */
    assert_true(fabs(run->chance - 1 / CELLS / CELLS) < 1e-12);
    free(suspects.items);
}

static void a_weak_step_does_not_end_a_run(void **state)
{
    struct strength strength = start(RANKS);
    for (int step = 4; step <= 9; step++)
        put(&strength, 0, step, step == 7 ? 20 : 300);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 1);
    assert_int_equal(suspects.items[0].first_step, 4);
    assert_int_equal(suspects.items[0].last_step, 9);
    assert_int_equal(suspects.items[0].weakest_ns, 300);
    free(suspects.items);
}

static void two_weak_steps_end_it(void **state)
{
    struct strength strength = start(RANKS);
    for (int step = 4; step <= 10; step++)
        put(&strength, 0, step, step == 7 || step == 8 ? 20 : 300);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 2);
    assert_int_equal(suspects.items[0].last_step, 6);
    assert_int_equal(suspects.items[1].first_step, 9);
    free(suspects.items);
}

/* Four steps stand alone elsewhere, three of them at least as strong as the run's weakest: N (4/N)^2. */
static void chance_comes_from_steps_that_stand_alone(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 1, 3, 150);
    put(&strength, 2, 8, 250);
    put(&strength, 5, 12, 300);
    put(&strength, 6, 15, 5000);
    put(&strength, 8, 10, 200);
    put(&strength, 8, 11, 700);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 5);
    assert_true(fabs(suspects.items[4].chance - 16 / CELLS) < 1e-12);
    free(suspects.items);
}

/* The stronger a lone step, and the fewer there are, the less likely is chance. */
static void one_step_alone(void **state)
{
    double chance[3];
    const int64_t excess[] = {LEAST, 10 * LEAST, 100 * LEAST};
    for (int i = 0; i < 3; i++) {
        struct strength strength = start(RANKS);
        put(&strength, 4, 9, excess[i]);
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, 1);
        chance[i] = suspects.items[0].chance;
        free(suspects.items);
    }
    assert_true(fabs(chance[0] - 1) < 1e-12);
    assert_true(chance[1] <= 0.1 && chance[2] <= chance[1] / 10);
}

static double chance_at(const struct suspects *suspects, int32_t step)
{
    const struct suspect *found = NULL;
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->items[i].first_step == step)
            found = &suspects->items[i];
    assert_non_null(found);
    return found->chance;
}

/* Ten others from 101 to 110, more that are worth nothing, the step itself 2000: k (u / x)^power, by hand. */
static void one_step_beyond_a_tail(void **state)
{
    struct strength strength = start(RANKS);
    double logs = 2 / 1.5;
    for (int i = 0; i < 10; i++) {
        put(&strength, i, 2 * (i % 5) + 3, 101 + i);
        put(&strength, i, 2 * (i % 5) + 4, 1 + i);
        logs += log((101.0 + i) / LEAST);
    }
    put(&strength, 0, 15, 2000);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_true(fabs(chance_at(&suspects, 15) / (10 * pow(LEAST / 2000.0, 12 / logs)) - 1) < 1e-9);
    free(suspects.items);
}

/* Of thirty others, from 101 to 130, the greatest twenty. */
static void the_greatest_twenty_are_the_tail(void **state)
{
    struct strength strength = start(RANKS);
    double logs = 2 / 1.5;
    for (int i = 0; i < 30; i++) {
        put(&strength, i % 10, 2 * (i / 10) + 3, 101 + i);
        if (i >= 10)
            logs += log((101.0 + i) / 111);
    }
    put(&strength, 0, 15, 2000);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_true(fabs(chance_at(&suspects, 15) / (20 * pow(111 / 2000.0, 22 / logs)) - 1) < 1e-9);
    free(suspects.items);
}

/* How far ahead of any other a run is goes by its weakest step, and by no step of its own; at least by what
 * counts. */
static void ahead_of_all_others(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 2, 5, 900);
    put(&strength, 2, 6, 600);
    put(&strength, 4, 9, 150);
    put(&strength, 5, 9, 50);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 2);
    assert_int_equal(suspects.items[0].counted_steps, 2);
    assert_true(fabs(suspects.items[0].ahead - 4) < 1e-12);
    assert_int_equal(suspects.items[1].counted_steps, 1);
    assert_true(fabs(suspects.items[1].ahead - 1.5) < 1e-12);
    free(suspects.items);
}

/* Where samples are given, they say what is usual, not the few cells that stand out; a run's own do not
 * count. */
static void samples_say_what_is_usual(void **state)
{
    struct strength strength = start(RANKS);
    strength.samples = calloc(12, sizeof *strength.samples);
    assert_non_null(strength.samples);
    for (int i = 0; i < 10; i++)
        strength.samples[strength.sample_count++] = (struct sample){1500 + i, -1, 3};
    strength.samples[strength.sample_count++] = (struct sample){2000, 4, 9};
    strength.samples[strength.sample_count++] = (struct sample){900000, 7, 12};
    put(&strength, 4, 9, 2000);
    put(&strength, 7, 12, 900000);
    put(&strength, 7, 13, 900000);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 2);
    assert_true(suspects.items[0].chance > 1);
    assert_true(suspects.items[1].chance < 0.01);
    free(suspects.items);
}

/* A run that begins right after the warm-up is as likely as what comes after its first step. */
static void the_first_step_speaks_for_nothing(void **state)
{
    double chance[2];
    for (int first = 0; first < 2; first++) {
        struct strength strength = start(RANKS);
        for (int step = 2 - first; step <= 3; step++)
            put(&strength, 5, step, 900);
        put(&strength, 1, 8, 1200);
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, 2);
        assert_int_equal(suspects.items[1].after_warm_up, first);
        chance[first] = suspects.items[1].chance;
        free(suspects.items);
    }
    assert_true(fabs(chance[0] - 4 / CELLS) < 1e-12);
    assert_true(fabs(chance[1] - chance[0]) < 1e-12);
}

/*
 * A step that was let pass, idle or weak, is none of the weakest of a run and does not count, as its first
 * one may not: 300 against 150 is twice as much.
 */
static void what_was_let_pass_measures_nothing(void **state)
{
    for (int begin = FIRST; begin <= FIRST + 1; begin++)
        for (int weak = 0; weak <= 20; weak += 20) {
            struct strength strength = start(RANKS);
            for (int step = begin; step < begin + 6; step++)
                put(&strength, 3, step, step == begin + 3 ? weak : 300);
            put(&strength, 5, 12, 150);
            struct suspects suspects = find(&strength, FINDING_COMPUTE);
            assert_int_equal(suspects.count, 2);
            assert_int_equal(suspects.items[0].rank, 3);
            assert_int_equal(suspects.items[0].counted_steps, begin == FIRST ? 4 : 5);
            assert_true(fabs(suspects.items[0].ahead - 2) < 1e-12);
            free(suspects.items);
        }
}

/* Nor does what others show in that step speak against anybody. */
static void the_first_step_is_no_example(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 1, FIRST, 9000);
    put(&strength, 3, 5, 300);
    put(&strength, 3, 6, 300);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 2);
    assert_true(fabs(suspects.items[1].ahead - 300.0 / LEAST) < 1e-12);
    assert_true(fabs(suspects.items[1].chance - 1 / CELLS) < 1e-12);
    free(suspects.items);
}

/* Ten times the least that counts, and nothing else: by the power of a tail that hardly has a mean, or 1.5.
 */
static void networks_have_a_heavier_tail(void **state)
{
    static const enum finding_kind kinds[] = {FINDING_NETWORK, FINDING_COMPUTE, FINDING_HOST};
    for (int i = 0; i < 3; i++) {
        struct strength strength = start(RANKS);
        put(&strength, 4, 9, 10 * LEAST);
        struct suspects suspects = find(&strength, kinds[i]);
        assert_true(fabs(suspects.items[0].chance - pow(10, i ? -1.5 : -1)) < 1e-12);
        free(suspects.items);
    }
}

/* A rank that was late in the step between, though nobody waited because another was later, goes on. */
static void a_masked_step_does_not_end_a_run(void **state)
{
    for (int masked = 0; masked < 2; masked++) {
        struct strength strength = start(RANKS);
        strength.unbounded_ns = calloc(RANKS * (STEPS + 1), sizeof *strength.unbounded_ns);
        assert_non_null(strength.unbounded_ns);
        put(&strength, 2, 5, 400);
        put(&strength, 2, 7, 500);
        strength.unbounded_ns[2 * STEPS + 6] = masked ? 200 : 199;
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, masked ? 1 : 2);
        free(suspects.items);
    }
}

/* A pause of a whole step in step 5, and what another rank shows in the same step: its victim, or its cause.
 */
static void a_pause_has_victims(void **state)
{
    const int64_t beside[] = {9999, 10000};
    for (int i = 0; i < 2; i++) {
        struct strength strength = start(RANKS);
        strength.whole_ns = 5000;
        put(&strength, 0, 5, 20000);
        put(&strength, 1, 5, beside[i]);
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, 2);
        assert_true(fabs(suspects.items[0].ahead - (i ? 2 : 200)) < 1e-9);
        free(suspects.items);
    }
}

/* Pauses of a whole step (5000) in `steps` steps, of so many ranks in turn; the first one's chance and lead.
 */
static struct suspect first_of_pauses(const int *steps, int count, int ranks)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    for (int i = 0; i < count; i++)
        put(&strength, i % ranks, steps[i], 20000);
    put(&strength, 9, 3, 200);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_true(suspects.count >= (size_t)count);
    struct suspect first = suspects.items[0];
    free(suspects.items);
    return first;
}

/*
 * What lasts longer than a step is no noise for another such, unless that is in the same step, or they
 * abound, or half of all ranks pause in turns.
 */
static void pauses_do_not_doubt_each_other(void **state)
{
    const int apart[] = {5, 9}, together[] = {5, 5}, many[] = {5, 7, 9, 11, 13, 15}, once[] = {5, 9, 9, 9, 9};
    struct suspect alone = first_of_pauses(apart, 1, 1);
    struct suspect one_of_two = first_of_pauses(apart, 2, 2);
    assert_true(fabs(alone.ahead - 100) < 1e-9);
    assert_true(fabs(one_of_two.ahead - 100) < 1e-9);
    assert_true(fabs(one_of_two.chance - alone.chance) < 1e-12);
    assert_true(fabs(first_of_pauses(together, 2, 2).ahead - 1) < 1e-9);
    assert_true(fabs(first_of_pauses(many, 5, 4).ahead - 100) < 1e-9);
    assert_true(fabs(first_of_pauses(many, 6, 4).ahead - 1) < 1e-9);
    assert_true(fabs(first_of_pauses(many, 5, 5).ahead - 1) < 1e-9);
    assert_true(fabs(first_of_pauses(once, 5, 5).ahead - 100) < 1e-9);
}

/*
 * Rank 0 stands still for four steps' length in steps 5 and 6, and rank 2 waits for it in 5. That says
 * nothing of what rank 1 does in step 9, but much of what it does in step 6.
 */
static void a_long_fault_has_victims(void **state)
{
    const int steps[] = {9, 6};
    for (int i = 0; i < 2; i++) {
        struct strength strength = start(RANKS);
        strength.whole_ns = 5000;
        put(&strength, 0, 5, 20000);
        put(&strength, 0, 6, 20000);
        put(&strength, 2, 5, 4000);
        put(&strength, 1, steps[i], 4500);
        put(&strength, 4, 12, 150);
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, 4);
        assert_int_equal(suspects.items[1].rank, 1);
        assert_true(fabs(suspects.items[1].ahead - (i ? 4500.0 / 4000 : 4500.0 / 150)) < 1e-9);
        free(suspects.items);
    }
}

/* The same where rank 0 is late by less than a step in each: then nobody is its victim. */
static void a_shorter_fault_has_none(void **state)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    put(&strength, 0, 5, 4999);
    put(&strength, 0, 6, 4999);
    put(&strength, 2, 5, 4000);
    put(&strength, 1, 9, 4500);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 3);
    assert_int_equal(suspects.items[1].rank, 1);
    assert_true(fabs(suspects.items[1].ahead - 4500.0 / 4000) < 1e-9);
    free(suspects.items);
}

/* Five pauses in twenty steps are not too many; a sixth that falls in a long fault's steps is that one's. */
static void pauses_beside_a_long_fault(void **state)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    for (int i = 0; i < 5; i++)
        put(&strength, i % 3, 5 + 2 * i, 20000);
    put(&strength, 6, 15, 20000);
    put(&strength, 6, 16, 20000);
    put(&strength, 7, 15, 20000);
    put(&strength, 9, 3, 200);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 8);
    assert_int_equal(suspects.items[0].rank, 0);
    assert_true(fabs(suspects.items[0].ahead - 100) < 1e-9);
    free(suspects.items);
}

/* Rank 0 stands still for two steps, and rank 1 waits: with 2 and 3, each once, those are no three in turns.
 */
static void victims_take_no_turns(void **state)
{
    struct strength strength = start(4);
    strength.whole_ns = 5000;
    put(&strength, 0, 5, 20000);
    put(&strength, 0, 6, 20000);
    put(&strength, 1, 5, 10000);
    put(&strength, 2, 12, 7500);
    put(&strength, 3, 17, 15000);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 4);
    assert_int_equal(suspects.items[3].rank, 3);
    assert_true(fabs(suspects.items[3].ahead - 15000.0 / LEAST) < 1e-9);
    free(suspects.items);
}

static void put_run(struct strength *strength, int rank, int step, int steps, int64_t excess_ns)
{
    for (int i = 0; i < steps; i++)
        put(strength, rank, step + i, excess_ns);
}

/* The chance of steps of rank 0 in a row beside runs of 3, 2 and 2 steps: the last as given. */
static double chance_of_row(int steps, int rank, int step, int64_t excess_ns)
{
    struct strength strength = start(RANKS);
    put_run(&strength, 0, 10, steps, 1000);
    put_run(&strength, 1, 3, 3, 500);
    put_run(&strength, 2, 16, 2, 500);
    put_run(&strength, rank, step, 2, excess_ns);
    put(&strength, 6, 15, 500); /* no row */
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.items[0].rank, 0);
    double chance = suspects.items[rank == 0 && step < 10].chance;
    free(suspects.items);
    return chance;
}

static double chance_beside(int rank, int step, int64_t excess_ns)
{
    return chance_of_row(4, rank, step, excess_ns);
}

/* Whether two steps of rank 3 are doubted for as many of so many others, of sixteen ranks. */
static int is_doubted(int others, int64_t excess_ns, int64_t of_others_ns, int64_t whole_ns)
{
    struct strength strength = start(16);
    strength.whole_ns = whole_ns;
    for (int i = 0; i <= others; i++)
        put_run(&strength, 3 * i, 3 * i + 3, 2, i == 1 ? excess_ns : of_others_ns);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, others + 1);
    int doubted = suspects.items[1].chance > 0.05;
    free(suspects.items);
    return doubted;
}

/* Of sixteen ranks three are not enough, and four are; what lasts for a whole step is no noise. */
static void faults_of_several(void **state)
{
    assert_false(is_doubted(3, 1000, 1000, 0));
    assert_true(is_doubted(4, 1000, 1000, 0));
    assert_true(is_doubted(4, 1000, 1000, 1001));
    assert_false(is_doubted(4, 1000, 1000, 1000));
    assert_false(is_doubted(4, 1000, 600, 900));
}

/* Three runs of others, 4 of 7 steps of which go on: 3 (4/7)^3 as long as this one are expected. */
static void late_steps_in_rows(void **state)
{
    assert_true(fabs(chance_beside(3, 18, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(fabs(chance_beside(1, 18, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(fabs(chance_of_row(1, 3, 18, 500) - 3) < 1e-9);
    /* Too weak, of the same rank, at the same time, part of the warm-up. */
    assert_true(chance_beside(3, 18, 499) < 1e-3);
    assert_true(chance_beside(0, 18, 500) < 1e-3);
    assert_true(chance_beside(0, 5, 500) < 1e-3);
    assert_true(chance_beside(3, 13, 500) < 1e-3);
    assert_true(chance_beside(3, 9, 500) < 1e-3);
    assert_true(fabs(chance_beside(3, 8, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(chance_beside(3, FIRST, 500) < 1e-3);
}

/* Strong in steps 5 and 7, and nothing is known of step 6, which speaks for nothing. */
static void a_step_of_which_nothing_is_known(void **state)
{
    for (int blank = 0; blank <= 1; blank++) {
        struct strength strength = start(RANKS);
        strength.blank = calloc(RANKS * (STEPS + 1), 1);
        strength.blank[3 * STEPS + 6] = (unsigned char)blank;
        put(&strength, 3, 5, 400);
        put(&strength, 3, 7, 300);
        struct suspects suspects = find(&strength, FINDING_COMPUTE);
        assert_int_equal(suspects.count, blank ? 1 : 2);
        assert_int_equal(suspects.items[0].last_step, blank ? 7 : 5);
        assert_int_equal(suspects.items[0].counted_steps, blank ? 2 : 1);
        /* N (1/N)^2: two steps, not three. */
        assert_true(!blank || fabs(suspects.items[0].chance - 1 / CELLS) < 1e-12);
        free(suspects.items);
    }
}

/*
 * Rank 2 is late by 9000 in one step; rank 8 by 500 in three others. Of what else ranks do alone, `beside_ns`
 * is the most.
 */
static struct suspect behind_one(int64_t beside_ns, enum finding_kind kind)
{
    struct strength strength = start(RANKS);
    put(&strength, 2, 9, 9000);
    put(&strength, 5, 12, beside_ns);
    for (int step = 14; step <= 16; step++)
        put(&strength, 8, step, 500);
    struct suspects suspects = find(&strength, kind);
    struct suspect run = suspects.items[suspects.count - 1];
    assert_int_equal(run.rank, 8);
    free(suspects.items);
    return run;
}

/* What stands alone beyond all noise is another fault, not how strong noise may be; of networks it is noise.
 */
static void a_fault_of_one_step_is_no_noise_beside_several(void **state)
{
    struct suspect run = behind_one(200, FINDING_COMPUTE);
    assert_true(fabs(run.chance - 1 / CELLS / CELLS) < 1e-12);
    assert_true(run.ahead == 500 / 200.);
    run = behind_one(200, FINDING_NETWORK);
    assert_true(fabs(run.chance - 8 / CELLS / CELLS) < 1e-12);
    assert_true(run.ahead == 500 / 9000.);
    /* Nine times as much as another is not beyond noise: both speak. */
    run = behind_one(1000, FINDING_COMPUTE);
    assert_true(fabs(run.chance - 27 / CELLS / CELLS) < 1e-12);
    assert_true(run.ahead == 500 / 9000.);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_strong),
        cmocka_unit_test(victims_take_no_turns),
        cmocka_unit_test(late_steps_in_rows),
        cmocka_unit_test(faults_of_several),
        cmocka_unit_test(what_was_let_pass_measures_nothing),
        cmocka_unit_test(a_run),
        cmocka_unit_test(a_weak_step_does_not_end_a_run),
        cmocka_unit_test(a_step_of_which_nothing_is_known),
        cmocka_unit_test(two_weak_steps_end_it),
        cmocka_unit_test(a_fault_of_one_step_is_no_noise_beside_several),
        cmocka_unit_test(chance_comes_from_steps_that_stand_alone),
        cmocka_unit_test(one_step_alone),
        cmocka_unit_test(one_step_beyond_a_tail),
        cmocka_unit_test(ahead_of_all_others),
        cmocka_unit_test(the_greatest_twenty_are_the_tail),
        cmocka_unit_test(samples_say_what_is_usual),
        cmocka_unit_test(the_first_step_speaks_for_nothing),
        cmocka_unit_test(the_first_step_is_no_example),
        cmocka_unit_test(networks_have_a_heavier_tail),
        cmocka_unit_test(a_masked_step_does_not_end_a_run),
        cmocka_unit_test(pauses_do_not_doubt_each_other),
        cmocka_unit_test(a_pause_has_victims),
        cmocka_unit_test(a_long_fault_has_victims),
        cmocka_unit_test(a_shorter_fault_has_none),
        cmocka_unit_test(pauses_beside_a_long_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
