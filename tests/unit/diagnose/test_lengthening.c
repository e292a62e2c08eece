#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two ranks of one role, one operation per step, twelve steps: the start of each step on each rank. */
enum { RANKS = 2, STEPS = 12 };

struct steps {
    struct job job;
    struct baseline baseline;
    struct job_operation operations[RANKS * STEPS];
    struct role role;
    int32_t cells[RANKS * STEPS];
    int32_t *cells_of_role[1];
    int64_t step_ns[STEPS + 1];
};

/* Step times per rank; the time of a step is the lower median over the ranks. */
static void steps_init(struct steps *steps, int64_t lengths[RANKS][STEPS])
{
    memset(steps, 0, sizeof *steps);
    for (int rank = 0; rank < RANKS; rank++) {
        int64_t begin = 0;
        for (int step = 0; step < STEPS; step++) {
            steps->operations[rank * STEPS + step].start_ns = begin;
            steps->cells[rank * STEPS + step] = rank * STEPS + step;
            begin += lengths[rank][step];
        }
    }
    for (int step = 0; step < STEPS; step++)
        steps->step_ns[step] = lengths[0][step] < lengths[1][step] ? lengths[0][step] : lengths[1][step];
    steps->step_ns[STEPS - 1] = TIME_UNKNOWN;
    steps->cells_of_role[0] = steps->cells;
    steps->role = (struct role){.rank_count = RANKS, .length = 1};
    steps->baseline = (struct baseline){.roles = &steps->role,
                                        .role_count = 1,
                                        .first_step = 1,
                                        .step_count = STEPS,
                                        .cells = steps->cells_of_role,
                                        .step_ns = steps->step_ns,
                                        .median_step_ns = 100};
    steps->job = (struct job){.rank_count = RANKS, .operations = steps->operations, .timed_operations = 1};
}

static void even(int64_t lengths[RANKS][STEPS])
{
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            lengths[rank][step] = 100;
}

static void uneven(int64_t lengths[RANKS][STEPS])
{
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            lengths[rank][step] = step % 3 == 0 ? 100 : step % 3 == 1 ? 80 : 120;
}

/* Steps 6 and 7, on all ranks. */
static void lengthen(int64_t lengths[RANKS][STEPS], int64_t length)
{
    for (int rank = 0; rank < RANKS; rank++)
        lengths[rank][6] = lengths[rank][7] = length;
}

/* What a finding is about, and what it would gain. */
struct claim {
    enum finding_kind kind;
    int32_t first_step;
    int32_t last_step;
    int64_t gain_ns;
};

/* For the first claim; the others are findings whose cost is known. */
static struct lengthening measured(struct steps *steps, const struct claim *claims, size_t count)
{
    int64_t cost_ns[STEPS + 1] = {0};
    struct lengthening lengthening;
    for (size_t i = 0; i < count; i++)
        for (int32_t step = claims[i].first_step; step <= claims[i].last_step; step++)
            cost_ns[step] += claims[i].gain_ns / (claims[i].last_step - claims[i].first_step + 1);
    const struct costly_steps costly = {
        claims[0].first_step, claims[0].last_step, cost_ns, claims[0].gain_ns, NULL, NULL};
    assert_int_equal(lengthening_measure(&lengthening, &costly, &steps->job, &steps->baseline), 0);
    return lengthening;
}

/* The rules that compare a claim with the duration of its steps. */
static struct rule_results asked(const struct claim *claim, struct lengthening lengthening)
{
    struct findings findings = {0};
    struct finding finding = {.kind = claim->kind};
    finding_ask_steps(&findings, &finding, &lengthening, claim->gain_ns);
    return finding.rule_results;
}

static int shows(struct steps *steps, const struct claim *claims, size_t count)
{
    struct rule_results results = asked(&claims[0], measured(steps, claims, count));
    return allowed_confidence(&results) > CONFIDENCE_LOW;
}

/*
 * Two steps of 150 instead of 100 and no others that differ: 100, unless another finding has a part of it.
 */
static void what_it_cost(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    lengthen(lengths, 150);
    steps_init(&steps, lengths);
    struct claim claims[2] = {{.kind = FINDING_HOST, .first_step = 6, .last_step = 7, .gain_ns = 70},
                              {.kind = FINDING_HOST, .first_step = 7, .last_step = 8, .gain_ns = 20}};
    assert_int_equal(measured(&steps, claims, 1).most_ns, 100);
    assert_int_equal(measured(&steps, claims, 2).most_ns, 100);
}

/* Seven of ten steps take 150 instead of 100: the baseline is that of the other three, not of most. */
static void most_steps(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 2; step <= 8; step++)
            lengths[rank][step] = 150;
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_COMPUTE, .first_step = 2, .last_step = 8, .gain_ns = 350};
    assert_int_equal(measured(&steps, &claim, 1).most_ns, 350);
}

/* The claim with single steps, or with those in which its rank led. */
static struct lengthening measured_in(struct steps *steps, const struct claim *claim,
                                      const unsigned char *marks, const unsigned char *led)
{
    struct lengthening lengthening;
    const struct costly_steps costly = {
        claim->first_step, claim->last_step, NULL, claim->gain_ns, marks, led};
    assert_int_equal(lengthening_measure(&lengthening, &costly, &steps->job, &steps->baseline), 0);
    lengthening.has_to_show = led != NULL;
    return lengthening;
}

/* Steps 3, 5, 7 and 9 of 150: what is between them counts as other steps, longer or not. */
static void single_steps(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    static const unsigned char marks[STEPS] = {[3] = 1, [5] = 1, [7] = 1, [9] = 1};
    struct claim claim = {.kind = FINDING_HOST, .first_step = 3, .last_step = 9, .gain_ns = 200};
    for (int between = 100; between <= 150; between += 50) {
        even(lengths);
        for (int step = 3; step < STEPS; step++)
            lengths[0][step] = lengths[1][step] = marks[step] ? 150 : between;
        steps_init(&steps, lengths);
        struct lengthening lengthening = measured_in(&steps, &claim, marks, NULL);
        struct rule_results results = asked(&claim, lengthening);
        assert_int_equal(lengthening.some_ns, between == 100 ? 200 : 0);
        if (between == 100)
            assert_quiet(&results, RULE_NOT_IN_STEPS);
        else
            assert_speaks(&results, RULE_NOT_IN_STEPS);
    }
}

/* Of an interval, the steps in which another rank arrived last count as other steps. */
static void the_pace_in_an_interval(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    static const unsigned char led[STEPS] = {[3] = 1, [4] = 1, [5] = 1, [6] = 1};
    struct claim claim = {.kind = FINDING_COMPUTE, .first_step = 3, .last_step = 9, .gain_ns = 280};
    for (int step = 0; step < STEPS; step++)
        lengths[0][step] = lengths[1][step] = step >= 3 && step <= 9 ? 150 : 100;
    steps_init(&steps, lengths);
    assert_int_equal(measured_in(&steps, &claim, NULL, NULL).some_ns, 350);
    assert_int_equal(measured_in(&steps, &claim, NULL, led).some_ns, 200);
    for (int step = 10; step < STEPS; step++)
        lengths[0][step] = lengths[1][step] = 150;
    steps_init(&steps, lengths);
    assert_int_equal(measured_in(&steps, &claim, NULL, led).some_ns, 0);
}

/*
 * A rank that is late in all steps and led all but three of them: these have to be shorter, by more than
 * steps differ.
 */
static void the_pace_of_others(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    static const unsigned char led[STEPS] = {1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1};
    struct claim claim = {.kind = FINDING_COMPUTE, .first_step = 1, .last_step = STEPS - 1, .gain_ns = 400};
    for (int without = 100; without <= 150; without += 50) {
        for (int step = 0; step < STEPS; step++)
            lengths[0][step] = lengths[1][step] = led[step] ? 150 : without;
        steps_init(&steps, lengths);
        struct rule_results results = asked(&claim, measured_in(&steps, &claim, NULL, led));
        if (without == 100)
            assert_quiet(&results, RULE_NOT_IN_STEPS);
        else
            assert_speaks(&results, RULE_NOT_IN_STEPS);
    }
    uneven(lengths);
    for (int step = 0; step < STEPS; step++)
        lengths[0][step] = lengths[1][step] += led[step] ? 10 : 0;
    lengths[0][3] = lengths[1][3] = 70;
    lengths[0][9] = lengths[1][9] = 130;
    steps_init(&steps, lengths);
    struct rule_results within = asked(&claim, measured_in(&steps, &claim, NULL, led));
    assert_speaks(&within, RULE_NOT_IN_STEPS);
}

/*
 * One rank counts a pause in step 6, the other in step 7: in neither is the median longer, together they are.
 */
static void a_pause_between_two_steps(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    lengths[0][6] = lengths[1][7] = 500;
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_NETWORK, .first_step = 6, .last_step = 7, .gain_ns = 400};
    int64_t list[RANKS];
    assert_int_equal(baseline_steps_duration_ns(&steps.baseline, &steps.job, 6, 7, list), 600);
    assert_true(shows(&steps, &claim, 1));
}

/* Most other steps are longer, too. It matters whether another finding made them longer. */
static void without_what_others_cost(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 3; step < STEPS; step++)
            lengths[rank][step] = 150;
    steps_init(&steps, lengths);
    struct claim claims[2] = {{.kind = FINDING_NETWORK, .first_step = 3, .last_step = 4, .gain_ns = 100},
                              {.kind = FINDING_COMPUTE, .first_step = 5, .last_step = 10, .gain_ns = 300}};
    assert_false(shows(&steps, claims, 1));
    assert_true(shows(&steps, claims, 2));
}

/*
 * Another finding made all other steps except one longer by 200: the one is the least that they would be.
 */
static void where_all_but_one_are_anothers(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 2; step < STEPS; step++)
            lengths[rank][step] = step < 7 ? 300 : 160;
    steps_init(&steps, lengths);
    struct claim claims[2] = {{.kind = FINDING_NETWORK, .first_step = 7, .last_step = 10, .gain_ns = 240},
                              {.kind = FINDING_NETWORK, .first_step = 2, .last_step = 6, .gain_ns = 1000}};
    assert_true(shows(&steps, claims, 2));
    lengths[0][1] = lengths[1][1] = 160;
    steps_init(&steps, lengths);
    assert_false(shows(&steps, claims, 2));
}

/* Steps that differ by 20 anyway: two of 115 are nothing. Deviation 20 x 1.48, so 2 sqrt(2) of it are 82. */
static void beyond_what_steps_differ_by(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    uneven(lengths);
    lengthen(lengths, 135);
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_NETWORK, .first_step = 6, .last_step = 7, .gain_ns = 70};
    struct rule_results within = asked(&claim, measured(&steps, &claim, 1));
    assert_speaks(&within, RULE_NOT_IN_STEPS);
    lengthen(lengths, 145);
    steps_init(&steps, lengths);
    struct rule_results beyond = asked(&claim, measured(&steps, &claim, 1));
    assert_quiet(&beyond, RULE_NOT_IN_STEPS);
    assert_limit(LIMIT_ERRORS, 2);
}

/* Step times may contradict a cost: two steps longer by 50 each allow three times 100. */
static void a_third_of_what_it_cost(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    lengthen(lengths, 150);
    steps_init(&steps, lengths);
    static const enum finding_kind kinds[] = {FINDING_COMPUTE, FINDING_HOST, FINDING_NETWORK};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct claim claim = {.kind = kinds[i], .first_step = 6, .last_step = 7, .gain_ns = 300};
        assert_true(shows(&steps, &claim, 1));
        claim.gain_ns = 303;
        assert_false(shows(&steps, &claim, 1));
    }
}

/*
 * Steps of 80 and 120 besides 100 may hide a cost: two standard errors, 2 sqrt(2) times 29, are 82, which is
 * a third of 246. For a network they are no evidence. Equal steps hide nothing.
 */
static void what_uneven_steps_may_hide(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    uneven(lengths);
    lengthen(lengths, 100);
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_COMPUTE, .first_step = 6, .last_step = 7, .gain_ns = 240};
    assert_true(shows(&steps, &claim, 1));
    claim.kind = FINDING_NETWORK;
    assert_false(shows(&steps, &claim, 1));
    claim.kind = FINDING_COMPUTE;
    claim.gain_ns = 255;
    assert_false(shows(&steps, &claim, 1));
    even(lengths);
    steps_init(&steps, lengths);
    claim.gain_ns = 4;
    assert_false(shows(&steps, &claim, 1));
}

/* The duration of the last step is unknown: alone it proves nothing in either direction. */
static void the_last_step(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    lengths[0][10] = lengths[1][10] = 180;
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_NETWORK, .first_step = 11, .last_step = 11, .gain_ns = 500};
    assert_true(shows(&steps, &claim, 1));
    claim.first_step = 10;
    assert_false(shows(&steps, &claim, 1));
    claim.gain_ns = 160;
    assert_true(shows(&steps, &claim, 1));
}

/*
 * Two steps longer by 50 each, besides steps of 80 and 120: within twice the standard error of their mean, 2
 * sqrt(2) x 29.
 */
static void give_or_take_what_steps_differ_by(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    uneven(lengths);
    lengthen(lengths, 150);
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_HOST, .first_step = 6, .last_step = 7, .gain_ns = 2};
    const double doubt = 2 * sqrt(2) * 29;
    assert_int_equal(measured(&steps, &claim, 1).most_ns, (int)(100 + doubt));
}

/* All steps except one or two are its own: a single one is no baseline. */
static void what_one_step_says(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    steps_init(&steps, lengths);
    struct claim claim = {.kind = FINDING_NETWORK, .first_step = 2, .last_step = 10, .gain_ns = 100};
    assert_true(shows(&steps, &claim, 1));
    assert_int_equal(measured(&steps, &claim, 1).most_ns, INT64_MAX);
    claim.first_step = 3;
    assert_false(shows(&steps, &claim, 1));
}

/* The starts of its steps are unknown: this contradicts nothing, however late other hosts were. */
static void steps_of_unknown_length(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    steps_init(&steps, lengths);
    steps.baseline.rank_count = RANKS;
    for (int rank = 0; rank < RANKS; rank++)
        steps.operations[rank * STEPS + 6].start_ns = TIME_UNKNOWN;
    for (int host = 0; host < 2; host++) {
        struct claim claim = {
            .kind = host ? FINDING_HOST : FINDING_NETWORK, .first_step = 6, .last_step = 7, .gain_ns = 900};
        const struct lengthening lengthening = measured(&steps, &claim, 1);
        assert_true(shows(&steps, &claim, 1));
        assert_int_equal(lengthening.most_ns, INT64_MAX);
    }
}

/*
 * Another finding cost far more than its steps were longer by. It does not reduce a step below the lower
 * quartile: of those steps in which it cost nothing, or of all if there are none. The finding's own steps
 * and those of unknown duration do not count.
 */
static void down_to_the_lower_quartile(void **state)
{
    struct steps steps;
    int64_t lengths[RANKS][STEPS];
    even(lengths);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 2; step < STEPS; step++)
            lengths[rank][step] = step < 4 ? 300 : 160;
    steps_init(&steps, lengths);
    struct claim claims[2] = {{.kind = FINDING_NETWORK, .first_step = 4, .last_step = 10, .gain_ns = 7 * 60},
                              {.kind = FINDING_NETWORK, .first_step = 2, .last_step = 3, .gain_ns = 2000}};
    assert_int_equal(measured(&steps, claims, 2).some_ns, 7 * 60);
    steps.step_ns[1] = steps.step_ns[4] = TIME_UNKNOWN;
    claims[0].first_step = 5;
    assert_int_equal(measured(&steps, claims, 2).some_ns, 6 * (160 - 300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_it_cost),
                                       cmocka_unit_test(most_steps),
                                       cmocka_unit_test(a_pause_between_two_steps),
                                       cmocka_unit_test(single_steps),
                                       cmocka_unit_test(the_pace_of_others),
                                       cmocka_unit_test(the_pace_in_an_interval),
                                       cmocka_unit_test(without_what_others_cost),
                                       cmocka_unit_test(where_all_but_one_are_anothers),
                                       cmocka_unit_test(a_third_of_what_it_cost),
                                       cmocka_unit_test(beyond_what_steps_differ_by),
                                       cmocka_unit_test(what_uneven_steps_may_hide),
                                       cmocka_unit_test(the_last_step),
                                       cmocka_unit_test(give_or_take_what_steps_differ_by),
                                       cmocka_unit_test(what_one_step_says),
                                       cmocka_unit_test(steps_of_unknown_length),
                                       cmocka_unit_test(down_to_the_lower_quartile)

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
