#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/*
 * Findings that have one cause become one, of one round and of several. Steps 0 to 9, 20 to 29 and 50 to 59
 * are loaded.
 */

struct bench {
    struct job job;
    struct findings found;
};

static void begin(struct bench *bench)
{
    static const struct job_excerpt some[] = {{0, 10, 0}, {20, 30, 0}, {50, 60, 0}};
    struct job_excerpt *excerpts = malloc(sizeof some);
    assert_non_null(excerpts);
    memcpy(excerpts, some, sizeof some);
    *bench = (struct bench){.job = {.step_count = 100}};
    assert_int_equal(job_set_excerpts(&bench->job, excerpts, sizeof some / sizeof *some), 0);
}

static void end(struct bench *bench)
{
    findings_release(&bench->found);
    job_release(&bench->job);
}

/* Rank 3 computes longer in these steps of the run. */
static struct finding *add(struct bench *bench, struct findings *round, int32_t first, int32_t last)
{
    struct finding *finding = findings_add(round);
    assert_non_null(finding);
    finding->kind = FINDING_COMPUTE;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding->rank = 3;
    finding->first_step = job_loaded_step(&bench->job, first);
    finding->last_step = job_loaded_step(&bench->job, last);
    finding->lost_ns = 100;
    assert_true(finding->first_step >= 0 && finding->last_step >= 0);
    return finding;
}

static void unite(struct bench *bench, struct findings *round)
{
    assert_int_equal(findings_unite_round(&bench->found, round, &bench->job), 0);
    assert_int_equal(round->count, 0);
    findings_release(round);
}

static void check(const struct bench *bench, size_t at, int32_t first, int32_t last)
{
    const struct finding *finding = &bench->found.items[at];
    assert_true(at < bench->found.count);
    assert_int_equal(job_run_step(&bench->job, finding->first_step), first);
    assert_int_equal(job_run_step(&bench->job, finding->last_step), last);
}

static void check_steps(const struct bench *bench, const struct finding *finding, const int32_t *steps,
                        size_t count)
{
    assert_int_equal(finding->step_count, count);
    assert_int_equal(finding_steps(finding), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(job_run_step(&bench->job, finding->steps[i]), steps[i]);
    for (int32_t step = 0, at = 0; step < bench->job.step_count; step++) {
        int is_listed = (size_t)at < count && !job_is_break(&bench->job, step) &&
                        job_run_step(&bench->job, step) == steps[at];
        assert_int_equal(finding_has_step(finding, step), is_listed);
        at += is_listed;
    }
}

static void steps_beside_a_break_are_one_interval(void **state)
{
    struct bench bench;
    struct findings round = {0};
    (void)state;
    begin(&bench);
    add(&bench, &round, 8, 9);
    unite(&bench, &round);
    add(&bench, &round, 50, 52);
    unite(&bench, &round);
    /* Steps 20 to 29 were analyzed, and do not show it. */
    const int32_t steps[] = {8, 9, 50, 51, 52};
    assert_int_equal(bench.found.count, 1);
    check_steps(&bench, &bench.found.items[0], steps, 5);
    add(&bench, &round, 20, 29)->lost_ns = 300;
    unite(&bench, &round);
    assert_int_equal(bench.found.count, 1);
    check(&bench, 0, 8, 52);
    assert_null(bench.found.items[0].steps);
    assert_int_equal(bench.found.items[0].lost_ns, 500);
    assert_int_equal(bench.found.items[0].breaks, 2);
    assert_int_equal(finding_steps(&bench.found.items[0]), 2 + 10 + 3);
    end(&bench);
}

static void others_are_not_united(void **state)
{
    struct bench bench;
    struct findings round = {0};
    (void)state;
    begin(&bench);
    add(&bench, &round, 2, 3);
    unite(&bench, &round);
    add(&bench, &round, 4, 5)->rank = 4;
    add(&bench, &round, 4, 5)->kind = FINDING_HOST;
    add(&bench, &round, 4, 5)->confidence = CONFIDENCE_LOW;
    add(&bench, &round, 4, 5)->stops_job = 1;
    unite(&bench, &round);
    assert_int_equal(bench.found.count, 5);
    end(&bench);
}

/* Of one round: the findings of a rank at single steps, or in intervals, are one. */
static void of_one_round(void **state)
{
    struct bench bench;
    struct findings *found = &bench.found;
    (void)state;
    begin(&bench);
    for (int32_t step = 1; step <= 9; step += 4)
        add(&bench, found, step, step);
    add(&bench, found, 2, 3)->rank = 4;
    assert_int_equal(findings_unite(found, &bench.job), 0);
    assert_int_equal(found->count, 2);
    check(&bench, 0, 1, 9);
    assert_int_equal(found->items[0].period, 4);
    assert_null(found->items[0].steps);
    assert_int_equal(finding_steps(&found->items[0]), 3);
    assert_int_equal(found->items[0].lost_ns, 300);
    /* Irregular steps are a list. */
    add(&bench, found, 6, 6);
    assert_int_equal(findings_unite(found, &bench.job), 0);
    const int32_t steps[] = {1, 5, 6, 9};
    assert_int_equal(found->count, 2);
    assert_int_equal(found->items[0].period, 0);
    check_steps(&bench, &found->items[0], steps, 4);
    end(&bench);
}

/* Three of four steps of a period make a period, with a list; two of four are only a list. */
static void a_period_with_a_step_that_lacks_it(void **state)
{
    struct bench bench;
    (void)state;
    for (int missing = 1; missing <= 2; missing++) {
        begin(&bench);
        for (int32_t step = 1; step <= 9; step += 2)
            if (step != 3 && (step != 5 || missing < 2))
                add(&bench, &bench.found, step, step);
        assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
        assert_int_equal(bench.found.count, 1);
        assert_int_equal(bench.found.items[0].period, missing < 2 ? 2 : 0);
        assert_int_equal(finding_steps(&bench.found.items[0]), 5 - missing);
        end(&bench);
    }
}

/* Ranks 2 and 3 as a group, and rank 3 in `first` to `last`. */
static void add_group_and_rank(struct bench *bench, int32_t first, int32_t last)
{
    struct finding *group = add(bench, &bench->found, 1, 8);
    group->ranks = calloc(2, sizeof *group->ranks);
    assert_non_null(group->ranks);
    group->ranks[0] = group->rank = 2;
    group->ranks[1] = 3;
    group->rank_count = 2;
    group->lost_ns = 400;
    add(bench, &bench->found, first, last);
}

/* In more than half of the steps of each. Only the score takes one away before it finds the other. */
static void a_group_and_one_of_its_ranks(void **state)
{
    struct bench bench;
    (void)state;
    for (int scored = 0; scored < 2; scored++) {
        begin(&bench);
        add_group_and_rank(&bench, 1, 5);
        for (size_t i = 0; i < 2; i++)
            bench.found.items[i].certainty = scored ? 10 : 0;
        assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
        assert_int_equal(bench.found.count, 1);
        assert_int_equal(bench.found.items[0].rank_count, 2);
        assert_int_equal(bench.found.items[0].lost_ns, scored ? 500 : 400);
        check(&bench, 0, 1, 8);
        end(&bench);
    }
    begin(&bench);
    add_group_and_rank(&bench, 1, 4);
    assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
    assert_int_equal(bench.found.count, 2);
    end(&bench);
}

static void put_phase(struct finding *finding, int32_t tag, int64_t excess_ns)
{
    finding->phases = calloc(1, sizeof *finding->phases);
    assert_non_null(finding->phases);
    finding->phases[0] = (struct phase_excess){tag, excess_ns};
    finding->phase_count = 1;
}

static void put_waiting(struct finding *finding, int32_t rank)
{
    finding->waiting = calloc(1, sizeof *finding->waiting);
    assert_non_null(finding->waiting);
    finding->waiting[0] = rank;
    finding->waiting_count = 1;
}

/*
 * The one with higher confidence gives the evidence, the earlier one the time, and both their costs and
 * phases.
 */
static void each_gives_its_own(void **state)
{
    struct bench bench;
    struct findings round = {0};
    (void)state;
    begin(&bench);
    struct finding *early = add(&bench, &round, 2, 3);
    early->operation = 7;
    early->since_ns = 70;
    early->lost_ns = 1000;
    put_phase(early, 1, 30);
    put_waiting(early, 6);
    assert_int_equal(buffer_append_text(&early->evidence, "early"), 0);
    unite(&bench, &round);
    struct finding *sure = add(&bench, &round, 4, 5);
    sure->confidence = CONFIDENCE_HIGH;
    sure->operation = 9;
    sure->since_ns = 90;
    put_phase(sure, 2, 40);
    put_waiting(sure, 5);
    assert_int_equal(buffer_append_text(&sure->evidence, "sure"), 0);
    unite(&bench, &round);
    assert_int_equal(bench.found.count, 1);
    const struct finding *finding = &bench.found.items[0];
    check(&bench, 0, 2, 5);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_string_equal(finding->evidence.data, "In steps 4-5: sure");
    assert_int_equal(finding->operation, 7);
    assert_int_equal(finding->since_ns, 70);
    assert_int_equal(finding->lost_ns, 1100);
    assert_int_equal(finding->phase_count, 2);
    assert_int_equal(finding->phases[0].tag, 2);
    assert_int_equal(finding_excess_ns(finding), 70);
    assert_int_equal(finding->waiting_count, 2);
    assert_int_equal(finding->waiting[0], 5);
    assert_int_equal(finding->waiting[1], 6);
    end(&bench);
}

/* By the step numbers of the run, whatever those of the job are; of the loaded steps, three in four show it.
 */
static void what_recurs_alike_is_one(void **state)
{
    struct bench bench;
    struct findings round = {0};
    (void)state;
    begin(&bench);
    struct finding *finding = add(&bench, &round, 1, 9);
    finding->period = 4;
    finding->numbers = bench.job.step_numbers;
    unite(&bench, &round);
    finding = add(&bench, &round, 53, 57);
    finding->period = 4;
    finding->numbers = bench.job.step_numbers;
    unite(&bench, &round);
    const int32_t steps[] = {1, 5, 9, 53, 57};
    assert_int_equal(bench.found.count, 1);
    check_steps(&bench, &bench.found.items[0], steps, 5);
    add(&bench, &round, 25, 25);
    unite(&bench, &round);
    assert_int_equal(bench.found.count, 1);
    assert_int_equal(bench.found.items[0].period, 4);
    assert_int_equal(finding_steps(&bench.found.items[0]), 6);
    add(&bench, &round, 21, 21);
    unite(&bench, &round);
    add(&bench, &round, 29, 29);
    unite(&bench, &round);
    assert_int_equal(bench.found.items[0].period, 4);
    assert_null(bench.found.items[0].steps);
    assert_int_equal(finding_steps(&bench.found.items[0]), 3 + 3 + 2);
    end(&bench);
}

/* A finding of one round, of a job whose ranks have names. */
static struct finding *add_of(struct bench *bench, enum finding_kind kind, int32_t rank, int32_t first,
                              int64_t lost_ns)
{
    struct finding *finding = add(bench, &bench->found, first, first + 3);
    finding->kind = kind;
    finding->rank = rank;
    finding->lost_ns = lost_ns;
    return finding;
}

static void begin_named(struct bench *bench, struct job_rank *ranks, size_t count)
{
    static char names[][2] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    begin(bench);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct job_rank){.name = names[i], .global_rank = (int64_t)i};
    bench->job.ranks = ranks;
    bench->job.rank_count = count;
}

static void end_named(struct bench *bench)
{
    bench->job.ranks = NULL;
    bench->job.rank_count = 0;
    end(bench);
}

/* A contended CPU makes a host late and its sends slow: the host is at fault, whichever costs more. */
static void a_host_and_its_sends(void **state)
{
    struct bench bench;
    struct job_rank ranks[8];
    (void)state;
    begin_named(&bench, ranks, 8);
    add_of(&bench, FINDING_NETWORK, 3, 2, 300);
    struct finding *late = add_of(&bench, FINDING_HOST, 3, 5, 100);
    late->confidence = CONFIDENCE_HIGH;
    assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
    assert_int_equal(bench.found.count, 2); /* neither has the steps of the other */
    bench.found.items[0].last_step = 8;
    assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
    assert_int_equal(bench.found.count, 1);
    const struct finding *host = &bench.found.items[0];
    assert_int_equal(host->kind, FINDING_HOST);
    assert_int_equal(host->confidence, CONFIDENCE_HIGH);
    assert_int_equal(host->lost_ns, 400);
    assert_int_equal(host->sign_ns, 300);
    assert_non_null(strstr(host->evidence.data, "Also: sends from rank 3"));
    end_named(&bench);
}

/* What is late only in the steps after a fault of the same rank is no fault of its own; another rank's is. */
static void what_follows_a_fault(void **state)
{
    struct bench bench;
    struct job_rank ranks[8];
    (void)state;
    begin_named(&bench, ranks, 8);
    add_of(&bench, FINDING_COMPUTE, 3, 2, 300);
    add_of(&bench, FINDING_HOST, 3, 3, 100);
    add_of(&bench, FINDING_HOST, 4, 3, 100);
    add_of(&bench, FINDING_NETWORK, 3, 3, 100)->receives = 1;
    assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
    assert_int_equal(bench.found.count, 3);
    assert_int_equal(bench.found.items[0].kind, FINDING_COMPUTE);
    assert_int_equal(bench.found.items[0].lost_ns, 400);
    assert_int_equal(bench.found.items[0].last_step, 5);
    assert_true(bench.found.items[0].shows_later);
    end_named(&bench);
}

static void recur(struct finding *finding, int32_t period, int32_t first, int32_t last)
{
    finding->period = period;
    finding->first_step = first;
    finding->last_step = last;
}

/* Transfers elsewhere that are slow with each recurrence of a fault are its effect, if they cost little. */
static void what_recurs_with_a_fault(void **state)
{
    struct bench bench;
    struct job_rank ranks[8];
    (void)state;
    begin_named(&bench, ranks, 8);
    recur(add_of(&bench, FINDING_HOST, 3, 2, 400), 3, 2, 8);
    recur(add_of(&bench, FINDING_NETWORK, 4, 2, 90), 3, 2, 9);  /* its effect */
    recur(add_of(&bench, FINDING_NETWORK, 5, 2, 90), 3, 1, 7);  /* in the steps before */
    recur(add_of(&bench, FINDING_NETWORK, 6, 2, 90), 2, 2, 8);  /* with another period */
    recur(add_of(&bench, FINDING_NETWORK, 7, 2, 110), 3, 2, 8); /* costs too much */
    assert_int_equal(findings_unite(&bench.found, &bench.job), 0);
    assert_int_equal(bench.found.count, 4);
    assert_int_equal(bench.found.items[0].rank, 3);
    assert_int_equal(bench.found.items[0].lost_ns, 490);
    assert_int_equal(bench.found.items[0].last_step, 8);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(bench.found.items[i].rank, 4 + (int32_t)i);
    end_named(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_beside_a_break_are_one_interval),
        cmocka_unit_test(others_are_not_united),
        cmocka_unit_test(of_one_round),
        cmocka_unit_test(a_period_with_a_step_that_lacks_it),
        cmocka_unit_test(a_group_and_one_of_its_ranks),
        cmocka_unit_test(each_gives_its_own),
        cmocka_unit_test(what_recurs_alike_is_one),
        cmocka_unit_test(a_host_and_its_sends),
        cmocka_unit_test(what_follows_a_fault),
        cmocka_unit_test(what_recurs_with_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
