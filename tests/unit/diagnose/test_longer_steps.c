#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* Which steps are reported as longer than the baseline, and which of them raise an alarm. */

enum { STEPS = 40 };

/* Step 0 is the warm-up, the duration of the last one is unknown, all others take 1000 unless given. */
struct steps {
    int64_t ns[STEPS];
    int64_t bytes[STEPS]; /* of the single operation in each step */
    int is_timed;
    int64_t inside_ns[STEPS]; /* transfer time of this operation, which starts with its step */
    struct finding finding;
    struct finding other;
    int has_finding;      /* 2: the other, too */
    struct finding found; /* the first, with its part of the account */
    double irregular;
    int measured_by_calls;
    struct longer_steps longer;
};

static void steps_init(struct steps *steps)
{
    *steps = (struct steps){.has_finding = 0};
    for (int i = 0; i < STEPS; i++) {
        steps->ns[i] = i ? 1000 : 9000;
        steps->bytes[i] = 100;
        steps->inside_ns[i] = 100;
    }
    steps->ns[STEPS - 1] = TIME_UNKNOWN;
}

static void make(struct steps *steps, int first, int last, int64_t ns)
{
    for (int i = first; i <= last; i++)
        steps->ns[i] = ns;
}

/* The time lost is what findings explain, each alone or all together, and what has a reason instead. */
static void check_sum(const struct longer_steps *longer, const struct findings *findings)
{
    int64_t rest_ns = 0, alone_ns = 0;
    for (int reason = 0; reason < LOSS_REASONS; reason++)
        rest_ns += longer->undetermined[reason].lost_ns;
    for (size_t i = 0; i < findings->count; i++)
        alone_ns += findings->items[i].account_ns;
    assert_int_equal(longer->lost_ns, longer->explained_ns + rest_ns);
    assert_int_equal(longer->explained_ns, longer->hidden_ns + alone_ns);
    assert_true(longer->hidden_ns >= 0 && longer->lost_ns <= longer->whole_ns);
}

/* Six times the noise counts. */
static const struct longer_steps *look(struct steps *steps)
{
    struct error error = ERROR_INIT;
    struct job_rank rank = {.count = STEPS};
    struct job_communicator communicator = {.size = 1};
    struct job_operation operations[STEPS];
    struct job_instance instances[STEPS];
    int32_t members[STEPS];
    struct job job = {.run_id = 1,
                      .step_count = STEPS,
                      .ranks = &rank,
                      .rank_count = 1,
                      .communicators = &communicator,
                      .communicator_count = 1,
                      .operations = operations,
                      .operation_count = STEPS,
                      .instances = instances,
                      .instance_count = STEPS,
                      .instance_members = members};
    for (int i = 0; i < STEPS; i++) {
        members[i] = i;
        operations[i] = (struct job_operation){.bytes = steps->bytes[i],
                                               .step = i,
                                               .instance = i,
                                               .start_ns = steps->is_timed ? 10000 * i : TIME_UNKNOWN,
                                               .end_ns = steps->is_timed ? 10000 * i + steps->inside_ns[i]
                                                                         : TIME_UNKNOWN};
        instances[i] = (struct job_instance){.step = i,
                                             .members = 1,
                                             .expected = 1,
                                             .first_member = (uint32_t)i,
                                             .transfer_ns = steps->inside_ns[i]};
    }
    struct baseline baseline = {.first_step = 1,
                                .started_step = 1,
                                .step_count = STEPS,
                                .step_ns = steps->ns,
                                .median_step_ns = 1000,
                                .steps_are_measured_by_calls = steps->measured_by_calls,
                                .regular = 1 - steps->irregular};
    struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct finding both[] = {steps->finding, steps->other};
    struct findings findings = {.items = both, .count = (size_t)steps->has_finding};
    longer_steps_release(&steps->longer);
    assert_int_equal(job_index_steps(&job, &error), 0);
    assert_int_equal(findings_fit_costs(&findings, &job, &baseline, &options), 0);
    assert_int_equal(longer_steps_find(&steps->longer, &job, &baseline, &findings, &options), 0);
    assert_int_equal(longer_steps_account(&steps->longer, &job, &baseline, &findings, &options), 0);
    check_sum(&steps->longer, &findings);
    steps->found = both[0];
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return &steps->longer;
}

static void check_row(const struct longer_steps *longer, size_t number, int first, int last)
{
    assert_true(longer->count > number);
    assert_int_equal(longer->rows[number].first, first);
    assert_int_equal(longer->rows[number].last, last);
}

/* Two consecutive steps count from a tenth of the baseline step on, a single one from twice its duration. */
static void how_long_they_have_to_be(void **state)
{
    struct steps steps;
    steps_init(&steps);
    assert_int_equal(look(&steps)->count, 0);
    make(&steps, 5, 6, 1100);
    check_row(look(&steps), 0, 5, 6);
    steps.ns[6] = 1099;
    assert_int_equal(look(&steps)->count, 0);
    steps.ns[5] = 1999;
    assert_int_equal(look(&steps)->count, 0);
    steps.ns[5] = 2000;
    check_row(look(&steps), 0, 5, 5);
    longer_steps_release(&steps.longer);
}

/* One or two are a slow moment; three that are a quarter longer are not, nor are five of a tenth. */
static void what_is_an_alarm(void **state)
{
    struct steps steps;
    steps_init(&steps);
    make(&steps, 5, 6, 2500);
    assert_false(longer_steps_alarm(look(&steps)));
    make(&steps, 5, 7, 1249);
    assert_false(longer_steps_alarm(look(&steps)));
    make(&steps, 5, 7, 1250);
    assert_true(longer_steps_alarm(look(&steps)));
    make(&steps, 5, 9, 1100);
    assert_true(longer_steps_alarm(look(&steps)));
    /*
     * Hosts run ahead of their GPUs and catch up: the times of their calls show little about the duration of
     * a step.
     */
    steps.measured_by_calls = 1;
    assert_false(longer_steps_alarm(look(&steps)));
    longer_steps_release(&steps.longer);
}

/*
 * What may be the last part of the warm-up is not reported, and counts neither as lost nor as time of the
 * job.
 */
static void what_the_job_begins_with(void **state)
{
    struct steps steps;
    steps_init(&steps);
    int64_t whole_ns = look(&steps)->whole_ns;
    make(&steps, 1, 2, 9000);
    make(&steps, 10, 11, 1500);
    const struct longer_steps *longer = look(&steps);
    assert_int_equal(longer->count, 1);
    check_row(longer, 0, 10, 11);
    assert_int_equal(longer->lost_ns, 2 * 500);
    assert_int_equal(longer->whole_ns, whole_ns - 2 * 1000 + 2 * 500);
    longer_steps_release(&steps.longer);
}

/* A fault in half of the job, or in three quarters of it, is not a new baseline. */
static void a_fault_that_fills_most_of_the_job(void **state)
{
    struct steps steps;
    for (int first = 10; first <= 20; first += 5) {
        steps_init(&steps);
        make(&steps, first, STEPS - 2, 1600);
        const struct longer_steps *longer = look(&steps);
        check_row(longer, 0, first, STEPS - 2);
        assert_true(longer_steps_alarm(longer));
        assert_int_equal(longer->rows[0].usual_ns, 1000);
        assert_int_equal(longer->rows[0].took_ns, 1600);
        assert_int_equal(longer->lost_ns, 600 * (STEPS - 1 - first));
        assert_int_equal(longer->explained_ns, 0);
        longer_steps_release(&steps.longer);
    }
    /* From the first step on, until it ends. */
    steps_init(&steps);
    make(&steps, 1, 29, 1600);
    check_row(look(&steps), 0, 1, 29);
    assert_true(longer_steps_alarm(&steps.longer));
    longer_steps_release(&steps.longer);
    /* Three of every four. */
    steps_init(&steps);
    for (int i = 4; i < STEPS - 4; i += 4)
        make(&steps, i, i + 2, 1600);
    assert_true(longer_steps_alarm(look(&steps)));
    longer_steps_release(&steps.longer);
}

/* A slow period that begins with the first step and ends soon is the last part of the warm-up. */
static void what_begins_with_the_first(void **state)
{
    struct steps steps;
    steps_init(&steps);
    make(&steps, 1, 4, 3000);
    assert_int_equal(look(&steps)->count, 0);
    assert_false(longer_steps_alarm(&steps.longer));
    longer_steps_release(&steps.longer);
}

/* Steps that differ anyway must be longer by six times that: 0.7 of 1.4826 of the difference of two steps. */
static void beyond_what_steps_differ_by(void **state)
{
    struct steps steps;
    steps_init(&steps);
    for (int i = 1; i < STEPS - 1; i++)
        steps.ns[i] = i % 2 ? 1050 : 950;
    make(&steps, 5, 6, 950 + 6 * 105);
    check_row(look(&steps), 0, 5, 6);
    make(&steps, 5, 6, 950 + 6 * 103);
    assert_int_equal(look(&steps)->count, 0);
    longer_steps_release(&steps.longer);
}

/* By half of their excess; a finding of low confidence explains nothing. */
static void what_findings_explain(void **state)
{
    struct steps steps;
    steps_init(&steps);
    make(&steps, 5, 7, 1400);
    steps.has_finding = 1;
    steps.finding =
        (struct finding){.confidence = CONFIDENCE_MEDIUM, .first_step = 5, .last_step = 7, .lost_ns = 600};
    assert_false(longer_steps_alarm(look(&steps)));
    assert_null(longer_steps_unexplained(&steps.longer));
    assert_int_equal(steps.longer.lost_ns, 1200);
    assert_int_equal(steps.longer.explained_ns, 1200);
    steps.finding.lost_ns = 597;
    assert_true(longer_steps_alarm(look(&steps)));
    assert_int_equal(steps.longer.lost_ns, 1200);
    assert_int_equal(steps.longer.explained_ns, 597);
    steps.finding.lost_ns = 600;
    steps.finding.confidence = CONFIDENCE_LOW;
    assert_true(longer_steps_alarm(look(&steps)));
    assert_int_equal(steps.longer.explained_ns, 0);
    longer_steps_release(&steps.longer);
}

static struct finding finding_of(int32_t first, int32_t last, int64_t lost_ns)
{
    return (struct finding){
        .confidence = CONFIDENCE_MEDIUM, .first_step = first, .last_step = last, .lost_ns = lost_ns};
}

/* A fault in all steps makes none longer than others; a step may be longer beside that. */
static void a_fault_in_all_steps(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.has_finding = 1;
    steps.finding = finding_of(1, STEPS - 1, 200 * (STEPS - 1));
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 200 * (STEPS - 1));
    assert_int_equal(steps.longer.explained_ns, 200 * (STEPS - 1));
    make(&steps, 20, 22, 1500);
    look(&steps);
    /* Parts of a cost are rounded. */
    assert_in_range(steps.longer.lost_ns, 200 * (STEPS - 1) + 3 * 500 - 5, 200 * (STEPS - 1) + 3 * 500);
    assert_in_range(steps.longer.undetermined[LOSS_WITH_FINDING].lost_ns, 3 * 500 - 5, 3 * 500);
    assert_int_equal(steps.longer.undetermined[LOSS_WITH_FINDING].steps, 3);
    longer_steps_release(&steps.longer);
}

/* The cost of a fault in every fourth step is that of these steps, and not of those between. */
static void a_fault_that_recurs(void **state)
{
    struct steps steps;
    steps_init(&steps);
    for (int i = 4; i < STEPS - 1; i += 4)
        steps.ns[i] = 1400;
    steps.has_finding = 1;
    steps.finding = finding_of(4, 36, 9 * 400);
    steps.finding.period = 4;
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 9 * 400);
    assert_int_equal(steps.longer.explained_ns, 9 * 400);
    longer_steps_release(&steps.longer);
}

static int64_t fitted_cost(struct steps *steps, int64_t cost_ns, int64_t slow_ns, int64_t took_ns)
{
    steps_init(steps);
    steps->has_finding = 1;
    steps->finding = finding_of(10, 19, cost_ns);
    steps->finding.slow_ns = slow_ns;
    make(steps, 10, 19, took_ns);
    look(steps);
    longer_steps_release(&steps->longer);
    assert_int_equal(steps->found.account_ns, steps->found.lost_ns);
    return steps->found.lost_ns;
}

/* A finding whose steps took no longer than the others has low confidence. */
static void what_the_steps_do_not_show(void **state)
{
    struct steps steps;
    assert_int_equal(fitted_cost(&steps, 3000, 0, 1000), 0);
    assert_int_equal(steps.found.confidence, CONFIDENCE_LOW);
    assert_int_equal(fitted_cost(&steps, 3000, 0, 1100), 1000);
    assert_int_equal(steps.found.confidence, CONFIDENCE_MEDIUM);
}

/* The ten steps of a finding took longer, or less long, than its replay says. */
static void costs_follow_the_steps(void **state)
{
    struct steps steps;
    steps_init(&steps);
    assert_int_equal(fitted_cost(&steps, 3000, 0, 1300), 3000);
    assert_int_equal(fitted_cost(&steps, 3000, 0, 1500), 5000);
    assert_int_equal(fitted_cost(&steps, 3000, 0, 1200), 2000);
    /* It explains less than half, and its rank was late by 4000. */
    assert_int_equal(fitted_cost(&steps, 1000, 4000, 1500), 4000);
    assert_int_equal(fitted_cost(&steps, 1000, 0, 1500), 1000);
    /* Other steps differ by 400 from one to the next: the mean of ten steps is no more exact than 6 x 89. */
    for (int noisy = 0; noisy < 2; noisy++) {
        steps_init(&steps);
        steps.has_finding = 1;
        steps.finding = finding_of(10, 19, 3000);
        for (int i = 1; noisy && i < STEPS - 1; i++)
            steps.ns[i] = i % 2 ? 1200 : 800;
        for (int i = 10; i <= 19; i++)
            steps.ns[i] += 330;
        look(&steps);
        longer_steps_release(&steps.longer);
        assert_int_equal(steps.found.lost_ns, noisy ? 3000 : 3300);
    }
}

/* A fault that fills the job but for three steps, and but for two, which could be the end of the warm-up. */
static void costs_follow_three_steps(void **state)
{
    struct steps steps;
    for (int first = 3; first <= 4; first++) {
        steps_init(&steps);
        steps.has_finding = 1;
        steps.finding = finding_of(first, STEPS - 1, 7000);
        make(&steps, first, STEPS - 2, 1330);
        look(&steps);
        longer_steps_release(&steps.longer);
        assert_int_equal(steps.found.lost_ns, first == 3 ? 7000 : 7000 + 330 * 35 - 7000 * 35 / 36);
    }
}

/* Steps that are longer by less than the sum of two costs, and by more: they delay the job together, or in
 * turn. */
static void faults_at_the_same_time(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.has_finding = 2;
    steps.finding = finding_of(10, 19, 4000);
    steps.other = finding_of(10, 19, 3000);
    make(&steps, 10, 19, 1500);
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 5000);
    assert_int_equal(steps.longer.explained_ns, 5000);
    assert_int_equal(steps.found.account_ns, 2000);
    assert_int_equal(steps.longer.hidden_ns, 5000 - 2000 - 1000);
    make(&steps, 10, 19, 1700);
    look(&steps);
    assert_int_equal(steps.longer.explained_ns, 7000);
    assert_int_equal(steps.found.account_ns, 4000);
    assert_int_equal(steps.longer.hidden_ns, 0);
    /* The greatest cost is the least that they explain. */
    make(&steps, 10, 19, 1000);
    assert_int_equal(look(&steps)->explained_ns, 4000);
    longer_steps_release(&steps.longer);
}

/* Of a step that is longer after a faulty one, at most half of the cost is an after-effect. */
static void after_effects(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.has_finding = 1;
    steps.finding = finding_of(10, 10, 1000);
    steps.ns[10] = 2000;
    steps.ns[11] = 1500;
    look(&steps);
    assert_int_equal(steps.longer.explained_ns, 1500);
    assert_int_equal(steps.longer.lost_ns, 1500);
    assert_int_equal(steps.found.lost_ns, 1500);
    steps.ns[11] = 1501;
    look(&steps);
    assert_int_equal(steps.found.lost_ns, 1000);
    assert_int_equal(steps.longer.undetermined[LOSS_WITH_FINDING].lost_ns, 501);
    /* What does not show in its own step shows in the next. */
    steps.ns[10] = 1000;
    steps.ns[11] = 2000;
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 1000);
    assert_int_equal(steps.found.lost_ns, 1000);
    longer_steps_release(&steps.longer);
}

/* How a cost is divided among the steps of a finding is less certain than its sum. */
static void what_other_steps_show(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.has_finding = 1;
    steps.finding = finding_of(10, 15, 6 * 400);
    make(&steps, 10, 12, 1800);
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 6 * 400);
    make(&steps, 10, 12, 2000);
    look(&steps);
    assert_int_equal(steps.longer.lost_ns, 3 * 1000);
    assert_int_equal(steps.longer.explained_ns, 3 * 1000);
    longer_steps_release(&steps.longer);
}

static int64_t part_of(struct steps *steps, enum loss_reason reason)
{
    const struct longer_steps *longer = look(steps);
    assert_int_equal(longer->undetermined[reason].lost_ns, longer->lost_ns);
    return longer->lost_ns;
}

/* Each part that has no finding has one reason. */
static void why_there_is_no_finding(void **state)
{
    struct steps steps;
    steps_init(&steps);
    make(&steps, 10, 12, 1500);
    assert_int_equal(part_of(&steps, LOSS_NO_TIMES), 1500);
    steps.measured_by_calls = 1;
    assert_int_equal(part_of(&steps, LOSS_BY_CALLS), 1500);
    steps.measured_by_calls = 0;
    steps.has_finding = 1;
    steps.finding = finding_of(10, 12, 750);
    steps.finding.confidence = CONFIDENCE_LOW;
    assert_int_equal(part_of(&steps, LOSS_DOUBTED), 1500);
    steps.finding.lost_ns = 744;
    assert_int_equal(part_of(&steps, LOSS_NO_TIMES), 1500);
    steps.has_finding = 0;
    steps.is_timed = 1;
    assert_int_equal(part_of(&steps, LOSS_BETWEEN), 1500);
    for (int i = 10; i <= 12; i++)
        steps.inside_ns[i] = 350;
    assert_int_equal(part_of(&steps, LOSS_INSIDE_NO_NETWORK), 1500);
    make(&steps, 10, 12, 1000);
    for (int i = 4; i < STEPS - 1; i += 5)
        steps.ns[i] = 2000;
    assert_int_equal(part_of(&steps, LOSS_RECURS), 7000);
    /* What makes their transfers longer is no checkpoint. */
    for (int i = 4; i < STEPS - 1; i += 5)
        steps.inside_ns[i] = 1000;
    assert_int_equal(part_of(&steps, LOSS_INSIDE_NO_NETWORK), 7000);
    longer_steps_release(&steps.longer);
}

/* Twice the bytes may take twice the time; and with that load a step may still be too long. */
static void steps_that_have_more_to_do(void **state)
{
    struct steps steps;
    steps_init(&steps);
    for (int i = 20; i < STEPS; i++)
        steps.bytes[i] = 200;
    make(&steps, 20, STEPS - 2, 2000);
    assert_int_equal(look(&steps)->count, 0);
    assert_false(longer_steps_alarm(&steps.longer));
    make(&steps, 30, 33, 3000);
    check_row(look(&steps), 0, 30, 33);
    assert_int_equal(steps.longer.rows[0].usual_ns, 2000);
    longer_steps_release(&steps.longer);
}

/*
 * Every fifth step twice as long is a checkpoint; as many at irregular distances cost the job a tenth of its
 * time.
 */
static void single_steps(void **state)
{
    struct steps steps;
    steps_init(&steps);
    for (int i = 4; i < STEPS - 1; i += 5)
        steps.ns[i] = 2000;
    assert_false(longer_steps_alarm(look(&steps)));
    assert_int_equal(steps.longer.period, 5);
    steps.ns[19] = 1000;
    steps.ns[21] = 2000;
    assert_true(longer_steps_alarm(look(&steps)));
    assert_int_equal(steps.longer.period, 0);
    longer_steps_release(&steps.longer);
}

/* If most steps have another shape, there is nothing to compare with. */
static void where_nothing_is_usual(void **state)
{
    struct steps steps;
    steps_init(&steps);
    make(&steps, 5, 9, 5000);
    steps.irregular = 0.4;
    assert_true(longer_steps_alarm(look(&steps)));
    steps.irregular = 0.6;
    assert_false(longer_steps_alarm(look(&steps)));
    longer_steps_release(&steps.longer);
}

/*
 * Rows of all rounds by their steps in the run; the one whose operations are loaded shows most of the cause.
 */
static void of_several_rounds(void **state)
{
    struct longer_row
        own = {.first = 2, .last = 2, .run_first = 40, .run_last = 40, .steps = 1, .lost_ns = 10},
        other = {.first = 1, .last = 3, .run_first = 20, .run_last = 22, .steps = 3, .lost_ns = 90};
    struct longer_steps longer = {.whole_ns = 1000, .lost_ns = 10, .explained_ns = 0},
                        round = {
                            .rows = &other, .count = 1, .whole_ns = 500, .lost_ns = 90, .explained_ns = 80};
    (void)state;
    assert_int_equal(longer_steps_add_round(&longer, &round), 0);
    assert_ptr_equal(longer_steps_unexplained(&longer), &longer.rows[0]);
    longer.rows[longer.count - 1] = own;
    assert_int_equal(longer_steps_add_round(&longer, &round), 0);
    assert_int_equal(longer.count, 2);
    assert_int_equal(longer.rows[0].run_first, 20);
    assert_int_equal(longer.rows[0].first, -1);
    assert_int_equal(longer.rows[1].run_first, 40);
    assert_ptr_equal(longer_steps_unexplained(&longer), &longer.rows[1]);
    assert_int_equal(longer.whole_ns, 2000);
    assert_int_equal(longer.lost_ns, 190);
    assert_int_equal(longer.explained_ns, 160);
    longer_steps_release(&longer);
}

/*
 * Steps vary by 5 % of their time, so that no single step of a tenth more stands out; from step 14 on all are
 * longer by `more`, up to step `last`.
 */
static const struct longer_steps *shift(struct steps *steps, int last, int64_t more)
{
    static const int64_t noise[] = {0, 50, -30, 20, -50, 40, 10, -20};
    steps_init(steps);
    for (int i = 1; i < STEPS - 1; i++)
        steps->ns[i] = 1000 + noise[i % 8] + (i >= 14 && i <= last ? more : 0);
    return look(steps);
}

/* Together they stand out, from a tenth on, where they are many and apart from the others. */
static void many_that_are_longer_together(void **state)
{
    struct steps steps;
    check_row(shift(&steps, STEPS - 2, 150), 0, 14, STEPS - 2);
    assert_true(longer_steps_alarm(&steps.longer));
    assert_true(steps.longer.lost_ns >= 150 * 25);
    longer_steps_release(&steps.longer);
    assert_int_equal(shift(&steps, STEPS - 2, 80)->count, 0);
    assert_int_equal(steps.longer.lost_ns, 0);
    longer_steps_release(&steps.longer);
    assert_int_equal(shift(&steps, 17, 150)->count, 0);
    longer_steps_release(&steps.longer);
}

/* Where a rank is named, its finding says which steps are longer. */
static void no_shift_beside_a_finding(void **state)
{
    struct steps steps;
    shift(&steps, STEPS - 2, 150);
    steps.finding = (struct finding){.confidence = CONFIDENCE_MEDIUM, .first_step = 2, .last_step = 3};
    steps.has_finding = 1;
    assert_int_equal(look(&steps)->count, 0);
    longer_steps_release(&steps.longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_rounds),
        cmocka_unit_test(how_long_they_have_to_be),
        cmocka_unit_test(what_is_an_alarm),
        cmocka_unit_test(what_the_job_begins_with),
        cmocka_unit_test(a_fault_that_fills_most_of_the_job),
        cmocka_unit_test(what_begins_with_the_first),
        cmocka_unit_test(beyond_what_steps_differ_by),
        cmocka_unit_test(what_findings_explain),
        cmocka_unit_test(a_fault_in_all_steps),
        cmocka_unit_test(a_fault_that_recurs),
        cmocka_unit_test(what_the_steps_do_not_show),
        cmocka_unit_test(costs_follow_the_steps),
        cmocka_unit_test(costs_follow_three_steps),
        cmocka_unit_test(faults_at_the_same_time),
        cmocka_unit_test(after_effects),
        cmocka_unit_test(what_other_steps_show),
        cmocka_unit_test(why_there_is_no_finding),
        cmocka_unit_test(steps_that_have_more_to_do),
        cmocka_unit_test(single_steps),
        cmocka_unit_test(many_that_are_longer_together),
        cmocka_unit_test(no_shift_beside_a_finding),
        cmocka_unit_test(where_nothing_is_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
