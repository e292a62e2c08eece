#include "report/comparison.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two runs of twelve steps of 1000 us, on 8 ranks, with the same calls. */
struct pair {
    struct measured_run runs[2];
    struct comparisons all;
};

enum { STEPS = 12, A = 0, B = 1 };

/* Adds a figure whose steps vary around a level, by `noise` times these values, which have a median of 0. */
static struct step_series *add(struct measured_run *run, enum series_kind kind, const char *key, size_t steps,
                               double level, double noise)
{
    static const double about[STEPS] = {1, -1, 2, -2, -1, 1, 0, 0, 2, -2, 1, -1};
    struct step_series *series = measured_add(run, kind, key, steps);
    assert_non_null(series);
    for (size_t i = 0; i < steps; i++)
        series_add(series, level + noise * about[i % STEPS]);
    series->itself = level;
    return series;
}

static void add_finding(struct measured_run *run, const char *key, double lost_us, int is_told)
{
    struct measured_finding *findings =
        realloc(run->findings, (run->finding_count + 1) * sizeof *run->findings);
    assert_non_null(findings);
    run->findings = findings;
    findings[run->finding_count++] = (struct measured_finding){.key = measured_keep(run, key),
                                                               .rank = 3,
                                                               .lost_us = lost_us,
                                                               .is_told = is_told,
                                                               .text = strdup(key)};
}

static void add_way(struct measured_run *run, uint64_t members, int over_network)
{
    run->ways = calloc(1, sizeof *run->ways);
    assert_non_null(run->ways);
    run->ways[run->way_count++] = (struct communicator_network_use){members, over_network};
    run->has_network = 1;
}

/* The step times of A and B, with the noise of both. */
static void begin(struct pair *pair, double b, double noise)
{
    for (int side = 0; side < 2; side++) {
        measured_run_init(&pair->runs[side]);
        pair->runs[side].ranks = 8;
        pair->runs[side].calls = pair->runs[side].sizes = 7;
        pair->runs[side].steps = pair->runs[side].usual = STEPS;
        add(&pair->runs[side], SERIES_STEP, "", STEPS, side == A ? 1000 : b, noise);
    }
}

static void compare(struct pair *pair)
{
    measured_sort(&pair->runs[A]);
    measured_sort(&pair->runs[B]);
    assert_int_equal(
        comparisons_make(&pair->all, &pair->runs[A], &pair->runs[B], compare_limit(COMPARE_NETWORK)), 0);
}

static const struct comparison *find(const struct pair *pair, int kind, const char *key)
{
    for (size_t i = 0; i < pair->all.count; i++)
        if (pair->all.items[i].kind == kind && strcmp(pair->all.items[i].key, key) == 0)
            return &pair->all.items[i];
    return NULL;
}

static void end(struct pair *pair)
{
    comparisons_release(&pair->all);
    measured_run_release(&pair->runs[A]);
    measured_run_release(&pair->runs[B]);
}

/*
 * The rule decides about a row, so that it does not differ; or it does not, and the row differs. Ends the
 * pair.
 */
static void assert_decides(enum compare_rule rule, struct pair *pair, int kind, const char *key)
{
    compare(pair);
    const struct comparison *of = find(pair, kind, key);
    assert_non_null(of);
    assert_int_equal(of->rule, rule);
    assert_int_equal(of->verdict, compare_rules[rule].is_bar ? COMPARED_NOT : COMPARED_WITHIN);
    end(pair);
}

static void assert_allows(enum compare_rule rule, struct pair *pair, int kind, const char *key)
{
    assert_true(compare_asks(rule, kind));
    compare(pair);
    const struct comparison *of = find(pair, kind, key);
    assert_non_null(of);
    assert_int_equal(of->verdict, COMPARED_BEYOND);
    end(pair);
}

/* 100 us are ten per cent, and no rule prevents the comparison. */
static void begin_apart(struct pair *pair)
{
    begin(pair, 1100, 1);
}

static void what_only_one_run_has(void **state)
{
    struct pair pair;
    begin_apart(&pair);
    add(&pair.runs[B], SERIES_PHASE, "forward", STEPS, 300, 1);
    assert_decides(COMPARE_ONE_SIDE, &pair, SERIES_PHASE, "forward");
    begin_apart(&pair);
    add(&pair.runs[A], SERIES_PHASE, "forward", STEPS, 200, 1);
    add(&pair.runs[B], SERIES_PHASE, "forward", STEPS, 300, 1);
    assert_allows(COMPARE_ONE_SIDE, &pair, SERIES_PHASE, "forward");
}

static void other_ranks(void **state)
{
    struct pair pair;
    begin_apart(&pair);
    pair.runs[B].ranks = 7;
    assert_decides(COMPARE_RANKS, &pair, SERIES_STEP, "");
    begin_apart(&pair);
    assert_allows(COMPARE_RANKS, &pair, SERIES_STEP, "");
}

static void other_calls(void **state)
{
    struct pair pair;
    begin_apart(&pair);
    pair.runs[B].calls = 8;
    assert_decides(COMPARE_PROGRAMME, &pair, SERIES_STEP, "");
    begin_apart(&pair);
    pair.runs[B].sizes = 8;
    assert_decides(COMPARE_PROGRAMME, &pair, SERIES_STEP, "");
    begin_apart(&pair);
    pair.runs[B].sizes = 0;
    assert_allows(COMPARE_PROGRAMME, &pair, SERIES_STEP, "");
}

static void other_placement(void **state)
{
    struct pair pair;
    for (int over_network = 0; over_network < 2; over_network++) {
        begin_apart(&pair);
        add_way(&pair.runs[A], 42, 1);
        add_way(&pair.runs[B], 42, over_network);
        if (over_network)
            assert_allows(COMPARE_PLACEMENT, &pair, SERIES_STEP, "");
        else
            assert_decides(COMPARE_PLACEMENT, &pair, SERIES_STEP, "");
    }
}

/* The same ranks on other hosts have the same placement as long as ranks that share a host still do. */
static void other_hosts(void **state)
{
    struct pair pair;
    for (int is_same = 0; is_same < 2; is_same++) {
        begin_apart(&pair);
        for (int side = 0; side < 2; side++) {
            pair.runs[side].hosts = calloc(8, sizeof(int64_t));
            assert_non_null(pair.runs[side].hosts);
            for (int rank = 0; rank < 8; rank++)
                pair.runs[side].hosts[rank] = side == A || is_same ? rank / 4 * 4 : rank / 2 * 2;
        }
        if (is_same)
            assert_allows(COMPARE_PLACEMENT, &pair, SERIES_STEP, "");
        else
            assert_decides(COMPARE_PLACEMENT, &pair, SERIES_STEP, "");
    }
}

static void steps_from_call_to_call(void **state)
{
    struct pair pair;
    begin_apart(&pair);
    pair.runs[A].measured_by_calls = 1;
    assert_decides(COMPARE_CALLED, &pair, SERIES_STEP, "");
    begin_apart(&pair);
    assert_allows(COMPARE_CALLED, &pair, SERIES_STEP, "");
}

static void few_steps(void **state)
{
    struct pair pair;
    for (size_t steps = 5; steps <= 6; steps++) {
        begin_apart(&pair);
        add(&pair.runs[A], SERIES_PHASE, "forward", STEPS, 200, 0.1);
        add(&pair.runs[B], SERIES_PHASE, "forward", steps, 300, 0.1);
        if (steps == 6)
            assert_allows(COMPARE_FEW_STEPS, &pair, SERIES_PHASE, "forward");
        else
            assert_decides(COMPARE_FEW_STEPS, &pair, SERIES_PHASE, "forward");
    }
}

/* The same steps in both, 80 times as noisy in the first pair as in the second. */
static void chance(void **state)
{
    struct pair pair;
    begin(&pair, 1100, 80);
    assert_decides(COMPARE_CHANCE, &pair, SERIES_STEP, "");
    begin(&pair, 1100, 1);
    assert_allows(COMPARE_CHANCE, &pair, SERIES_STEP, "");
}

/* With many comparisons each must be clearer: a difference that would count alone does not count among 40. */
static void questions_pay_for_their_number(void **state)
{
    double noise[2];
    for (int many = 0; many < 2; many++) {
        struct pair pair;
        begin_apart(&pair);
        for (int i = 0; i < (many ? 40 : 1); i++) {
            char key[24];
            snprintf(key, sizeof key, "phase %d", i);
            add(&pair.runs[A], SERIES_PHASE, key, STEPS, 500, 10);
            add(&pair.runs[B], SERIES_PHASE, key, STEPS, 500, 10);
        }
        compare(&pair);
        noise[many] = find(&pair, SERIES_PHASE, "phase 0")->noise;
        end(&pair);
    }
    assert_true(noise[1] > 1.5 * noise[0]);
}

/*
 * The last third of A is 60 longer than the others: a difference of 55 between the runs does not count, 65
 * does.
 */
static void drift(void **state)
{
    enum { LONG = 120, THIRD = 40 };
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin_apart(&pair);
        struct step_series *a = add(&pair.runs[A], SERIES_PHASE, "forward", LONG, 1000, 0);
        for (int i = LONG - THIRD; i < LONG; i++)
            a->values[i] += 60;
        add(&pair.runs[B], SERIES_PHASE, "forward", LONG, is_more ? 1065 : 1055, 0);
        if (is_more)
            assert_allows(COMPARE_DRIFT, &pair, SERIES_PHASE, "forward");
        else
            assert_decides(COMPARE_DRIFT, &pair, SERIES_PHASE, "forward");
    }
}

/* Two per cent do not count; for transfers five. */
static void smallest(void **state)
{
    struct pair pair;
    begin(&pair, 1019, 0.01);
    assert_decides(COMPARE_SMALLEST, &pair, SERIES_STEP, "");
    begin(&pair, 1021, 0.01);
    assert_allows(COMPARE_SMALLEST, &pair, SERIES_STEP, "");
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1000, 0.01);
        add(&pair.runs[A], SERIES_TRANSFER, "AllReduce", STEPS, 1000, 0.01);
        add(&pair.runs[B], SERIES_TRANSFER, "AllReduce", STEPS, is_more ? 1051 : 1049, 0.01);
        if (is_more)
            assert_allows(COMPARE_SMALLEST_TRANSFER, &pair, SERIES_TRANSFER, "AllReduce");
        else
            assert_decides(COMPARE_SMALLEST_TRANSFER, &pair, SERIES_TRANSFER, "AllReduce");
    }
}

/* Half of the network time: for a link or a transfer that is all, for a step of 1000 us here 300. */
static void network_from_run_to_run(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1000, 0.01);
        add(&pair.runs[A], SERIES_EDGE, "rank 0 to rank 1", STEPS, 100, 0.01)->network = INFINITY;
        add(&pair.runs[B], SERIES_EDGE, "rank 0 to rank 1", STEPS, is_more ? 151 : 149, 0.01);
        if (is_more)
            assert_allows(COMPARE_NETWORK, &pair, SERIES_EDGE, "rank 0 to rank 1");
        else
            assert_decides(COMPARE_NETWORK, &pair, SERIES_EDGE, "rank 0 to rank 1");
        begin(&pair, is_more ? 1151 : 1149, 0.01);
        pair.runs[A].items[0].network = 300;
        if (is_more)
            assert_allows(COMPARE_NETWORK, &pair, SERIES_STEP, "");
        else
            assert_decides(COMPARE_NETWORK, &pair, SERIES_STEP, "");
    }
}

/*
 * A hundredth of a step of 1000 us, for a phase and for a figure that occurs ten times per step; for own time
 * 15 us.
 */
static void worth(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1021, 0.01);
        add(&pair.runs[A], SERIES_PHASE, "loss", STEPS, 50, 0.01);
        add(&pair.runs[B], SERIES_PHASE, "loss", STEPS, is_more ? 61 : 59, 0.01);
        if (is_more)
            assert_allows(COMPARE_WORTH, &pair, SERIES_PHASE, "loss");
        else
            assert_decides(COMPARE_WORTH, &pair, SERIES_PHASE, "loss");
        begin(&pair, 1000, 0.01);
        for (int side = 0; side < 2; side++)
            add(&pair.runs[side], SERIES_TRANSFER, "AllReduce", STEPS,
                side == A ? 5
                : is_more ? 6.1
                          : 5.9,
                0.01)
                ->transfers_per_step = 10;
        if (is_more)
            assert_allows(COMPARE_WORTH, &pair, SERIES_TRANSFER, "AllReduce");
        else
            assert_decides(COMPARE_WORTH, &pair, SERIES_TRANSFER, "AllReduce");
        begin(&pair, 1021, 0.01);
        add(&pair.runs[A], SERIES_RANK, "rank 3", STEPS, 0, 0.01);
        add(&pair.runs[B], SERIES_RANK, "rank 3", STEPS, is_more ? 16 : 14, 0.01);
        if (is_more)
            assert_allows(COMPARE_WORTH_RANK, &pair, SERIES_RANK, "rank 3");
        else
            assert_decides(COMPARE_WORTH_RANK, &pair, SERIES_RANK, "rank 3");
    }
}

/* A rank whose peers became faster is not slow; nor is one in a job in which all became slower. */
static void a_rank_changes_by_itself_and_beyond_its_peers(void **state)
{
    static const struct {
        double itself, beyond, change;
    } cases[] = {{100, 100, 100}, {0, 100, 0}, {100, 0, 0}, {100, 60, 60}, {-40, 100, 0}, {-40, -50, -40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pair pair;
        begin(&pair, 1000, 0.01);
        add(&pair.runs[A], SERIES_RANK, "rank 3", STEPS, 0, 0.01)->itself = 500;
        add(&pair.runs[B], SERIES_RANK, "rank 3", STEPS, cases[i].beyond, 0.01)->itself =
            500 + cases[i].itself;
        compare(&pair);
        const struct comparison *of = find(&pair, SERIES_RANK, "rank 3");
        assert_float_equal(of->change, cases[i].change, 0.001);
        assert_float_equal(comparison_change_percent(of), cases[i].change / 10, 0.001);
        assert_int_equal(of->verdict, cases[i].change != 0 ? COMPARED_BEYOND : COMPARED_WITHIN);
        end(&pair);
    }
}

/* Time that moves from one phase to another while step times stay the same. */
static void what_steps_do_not_show(void **state)
{
    struct pair pair;
    for (int b = 1000; b <= 1021; b += 21) {
        begin(&pair, b, 0.01);
        add(&pair.runs[A], SERIES_PHASE, "backward", STEPS, 500, 0.01);
        add(&pair.runs[B], SERIES_PHASE, "backward", STEPS, 600, 0.01);
        if (b == 1000)
            assert_decides(COMPARE_SHOWN, &pair, SERIES_PHASE, "backward");
        else
            assert_allows(COMPARE_SHOWN, &pair, SERIES_PHASE, "backward");
    }
    /* If steps cannot be compared, nothing is known. */
    begin(&pair, 1021, 0.01);
    pair.runs[A].measured_by_calls = 1;
    add(&pair.runs[A], SERIES_PHASE, "backward", STEPS, 500, 0.01);
    add(&pair.runs[B], SERIES_PHASE, "backward", STEPS, 600, 0.01);
    compare(&pair);
    assert_int_equal(find(&pair, SERIES_PHASE, "backward")->verdict, COMPARED_NOT);
    end(&pair);
}

/* Own time does not depend on the placement of ranks, nor on the network. */
static void own_times_are_compared_wherever_ranks_are(void **state)
{
    struct pair pair;
    for (enum series_kind kind = SERIES_OWN; kind <= SERIES_RANK; kind++) {
        begin(&pair, 1000, 0.01);
        add_way(&pair.runs[A], 42, 1);
        add_way(&pair.runs[B], 42, 0);
        add(&pair.runs[A], kind, "rank 3", STEPS, 100, 0.01);
        add(&pair.runs[B], kind, "rank 3", STEPS, 130, 0.01);
        compare(&pair);
        assert_int_equal(find(&pair, SERIES_STEP, "")->verdict, COMPARED_NOT);
        const struct comparison *of = find(&pair, kind, "rank 3");
        assert_int_equal(of->verdict, COMPARED_BEYOND);
        assert_float_equal(comparison_change_percent(of), 3, 0.01);
        end(&pair);
    }
}

/* Found in both, at 100 and 166 us per step: that is the accuracy of a cost. */
static void findings_that_stayed(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1000, 0.01);
        add_finding(&pair.runs[A], "compute, rank 3", 100, 1);
        add_finding(&pair.runs[B], "compute, rank 3", is_more ? 168 : 166, 1);
        if (is_more)
            assert_allows(COMPARE_RESIZED, &pair, COMPARED_FINDING, "compute, rank 3");
        else
            assert_decides(COMPARE_RESIZED, &pair, COMPARED_FINDING, "compute, rank 3");
    }
}

static void findings_new_and_gone(void **state)
{
    struct pair pair;
    begin(&pair, 1000, 0.01);
    add_finding(&pair.runs[A], "host, rank 1", 50, 1);
    add_finding(&pair.runs[A], "network, rank 2", 5, 0);
    add_finding(&pair.runs[B], "network, rank 2", 60, 1);
    compare(&pair);
    const struct comparison *gone = find(&pair, COMPARED_FINDING, "host, rank 1");
    const struct comparison *grown = find(&pair, COMPARED_FINDING, "network, rank 2");
    assert_int_equal(gone->verdict, COMPARED_BEYOND);
    assert_int_equal(comparison_is_worse(gone), 0);
    assert_int_equal(grown->verdict, COMPARED_BEYOND);
    assert_int_equal(comparison_is_worse(grown), 1);
    assert_float_equal(grown->change, 55, 1e-9);
    assert_ptr_equal(&pair.all.items[0], grown);
    end(&pair);
}

static enum comparison_answer answer(struct pair *pair, double percent)
{
    compare(pair);
    enum comparison_answer found = comparisons_answer(&pair->all, percent);
    end(pair);
    return found;
}

static void answers_for_scripts(void **state)
{
    struct pair pair;
    begin(&pair, 1000, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    begin(&pair, 1040, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    begin(&pair, 1060, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_SLOWER);
    begin(&pair, 900, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    /* Noise that hides ten per cent hides five. */
    begin(&pair, 1000, 60);
    assert_int_equal(answer(&pair, 5), ANSWER_UNDECIDED);
    /*
     * The differences between networks from run to run do not prevent a comparison; otherwise none would be
     * possible.
     */
    begin(&pair, 1000, 0.01);
    pair.runs[A].items[0].network = 500;
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    begin(&pair, 1000, 0.01);
    add(&pair.runs[A], SERIES_OWN, "", STEPS, 100, 0.01);
    add(&pair.runs[B], SERIES_OWN, "", STEPS, 160, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_SLOWER);
    begin(&pair, 1000, 0.01);
    pair.runs[B].ranks = 4;
    assert_int_equal(answer(&pair, 5), ANSWER_UNDECIDED);
    begin(&pair, 1000, 0.01);
    add_finding(&pair.runs[B], "compute, rank 3", 60, 1);
    assert_int_equal(answer(&pair, 5), ANSWER_SLOWER);
    begin(&pair, 1000, 0.01);
    add_finding(&pair.runs[B], "compute, rank 3", 40, 1);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    begin(&pair, 1000, 0.01);
    add_finding(&pair.runs[B], "missing, rank 3", 0, 1);
    pair.runs[B].findings[0].stops_job = 1;
    assert_int_equal(answer(&pair, 5), ANSWER_SLOWER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_one_run_has),
        cmocka_unit_test(other_ranks),
        cmocka_unit_test(other_calls),
        cmocka_unit_test(other_placement),
        cmocka_unit_test(other_hosts),
        cmocka_unit_test(steps_from_call_to_call),
        cmocka_unit_test(few_steps),
        cmocka_unit_test(chance),
        cmocka_unit_test(questions_pay_for_their_number),
        cmocka_unit_test(drift),
        cmocka_unit_test(smallest),
        cmocka_unit_test(network_from_run_to_run),
        cmocka_unit_test(worth),
        cmocka_unit_test(a_rank_changes_by_itself_and_beyond_its_peers),
        cmocka_unit_test(what_steps_do_not_show),
        cmocka_unit_test(own_times_are_compared_wherever_ranks_are),
        cmocka_unit_test(findings_that_stayed),
        cmocka_unit_test(findings_new_and_gone),
        cmocka_unit_test(answers_for_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
