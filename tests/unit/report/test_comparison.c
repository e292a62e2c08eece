#include "report/comparison.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two sides of twelve steps of 1000 us, on 8 ranks, with the same calls. Each side has one run, and may have
 * a repeat: runs[REPEAT + A] and runs[REPEAT + B].
 */
struct pair {
    struct measured_run runs[4];
    size_t repeats; /* 1, or 2 with repeats */
    struct comparisons all;
};

enum { STEPS = 12, A = 0, B = 1, REPEAT = 2, MOST_RUNS = 4 };

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
static void begin_run(struct measured_run *run, double level, double noise)
{
    run->ranks = 8;
    run->calls = run->sizes = 7;
    run->steps = run->usual = STEPS;
    add(run, SERIES_STEP, "", STEPS, level, noise);
}

static void begin(struct pair *pair, double b, double noise)
{
    pair->repeats = 1;
    for (int run = 0; run < MOST_RUNS; run++)
        measured_run_init(&pair->runs[run]);
    begin_run(&pair->runs[A], 1000, noise);
    begin_run(&pair->runs[B], b, noise);
}

/* Adds a repeat to each side. */
static void begin_repeats(struct pair *pair, double a, double b, double noise)
{
    pair->repeats = 2;
    begin_run(&pair->runs[REPEAT + A], a, noise);
    begin_run(&pair->runs[REPEAT + B], b, noise);
}

static void compare(struct pair *pair)
{
    static struct measured_run sides[2][2];
    for (int run = 0; run < MOST_RUNS; run++) {
        measured_sort(&pair->runs[run]);
        sides[run % 2][run / 2] = pair->runs[run];
    }
    assert_int_equal(comparisons_make(&pair->all, (struct measured_side){sides[A], pair->repeats},
                                      (struct measured_side){sides[B], pair->repeats},
                                      compare_limit(COMPARE_NETWORK)),
                     0);
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
    for (int run = 0; run < MOST_RUNS; run++)
        measured_run_release(&pair->runs[run]);
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

/* Own times of ranks that change by 100: the error of their level is 25 with a noise of 80. */
static void chance(void **state)
{
    struct pair pair;
    for (int noise = 80; noise >= 1; noise -= 79) {
        begin_apart(&pair);
        add(&pair.runs[A], SERIES_OWN, "", STEPS, 500, noise);
        add(&pair.runs[B], SERIES_OWN, "", STEPS, 600, noise);
        if (noise > 1)
            assert_decides(COMPARE_CHANCE, &pair, SERIES_OWN, "");
        else
            assert_allows(COMPARE_CHANCE, &pair, SERIES_OWN, "");
    }
}

/*
 * Steps whose fifths have a standard deviation of 28, and their level an error of 13: 2.46 (Student's t for
 * 3 %, 12 degrees of freedom) times the square root of 2 times the square root of 28 * 28 + 13 * 13 is 108.
 */
static void spread(void **state)
{
    struct pair pair;
    begin(&pair, 1100, 40);
    assert_decides(COMPARE_SPREAD, &pair, SERIES_STEP, "");
    begin(&pair, 1100, 1);
    assert_allows(COMPARE_SPREAD, &pair, SERIES_STEP, "");
}

/* The same with 1 % of the middle: 35 of 1015. */
static void runs_differ(void **state)
{
    struct pair pair;
    begin(&pair, 1034, 0.01);
    assert_decides(COMPARE_RUNS, &pair, SERIES_STEP, "");
    begin(&pair, 1037, 0.01);
    assert_allows(COMPARE_RUNS, &pair, SERIES_STEP, "");
    begin(&pair, 963, 0.01);
    compare(&pair);
    assert_int_equal(find(&pair, SERIES_STEP, "")->verdict, COMPARED_BEYOND);
    end(&pair);
}

/* Transfers: 2.5 % of the middle, and 3.43 for 0.5 %. Own times: 0.3 % of a step, and 3.21 for 0.75 %. */
static void transfers_and_own_times_of_runs_differ(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1000, 0.01);
        add(&pair.runs[A], SERIES_TRANSFER, "AllReduce", STEPS, 1000, 0.01);
        add(&pair.runs[B], SERIES_TRANSFER, "AllReduce", STEPS, is_more ? 1135 : 1125, 0.01);
        if (is_more)
            assert_allows(COMPARE_RUNS_TRANSFER, &pair, SERIES_TRANSFER, "AllReduce");
        else
            assert_decides(COMPARE_RUNS_TRANSFER, &pair, SERIES_TRANSFER, "AllReduce");
        begin(&pair, 1000, 0.01);
        add(&pair.runs[A], SERIES_OWN, "", STEPS, 100, 0.01);
        add(&pair.runs[B], SERIES_OWN, "", STEPS, is_more ? 115 : 112, 0.01);
        if (is_more)
            assert_allows(COMPARE_RUNS_OWN, &pair, SERIES_OWN, "");
        else
            assert_decides(COMPARE_RUNS_OWN, &pair, SERIES_OWN, "");
    }
}

/* Repeats that differ by 60, as the sides do, and repeats that differ by 1. */
static void repeats_differ(void **state)
{
    struct pair pair;
    begin(&pair, 1060, 0.01);
    begin_repeats(&pair, 1060, 1120, 0.01);
    assert_decides(COMPARE_REPEATS, &pair, SERIES_STEP, "");
    begin(&pair, 1060, 0.01);
    begin_repeats(&pair, 1001, 1061, 0.01);
    assert_allows(COMPARE_REPEATS, &pair, SERIES_STEP, "");
}

/* A change of 30 is too small for single runs, and is found in repeats that agree. */
static void repeats_find_smaller_changes(void **state)
{
    struct pair pair;
    begin(&pair, 1030, 0.01);
    compare(&pair);
    double detectable = find(&pair, SERIES_STEP, "")->detectable;
    assert_int_equal(find(&pair, SERIES_STEP, "")->verdict, COMPARED_WITHIN);
    end(&pair);
    begin(&pair, 1030, 0.01);
    begin_repeats(&pair, 1000, 1030, 0.01);
    compare(&pair);
    const struct comparison *of = find(&pair, SERIES_STEP, "");
    assert_int_equal(of->verdict, COMPARED_BEYOND);
    assert_true(of->detectable < detectable && of->detectable > of->noise);
    assert_true(of->change - of->reach > 0);
    assert_float_equal(of->values[B], 1030, 1e-9);
    end(&pair);
}

/* B compared with A says the same as A compared with B, with the opposite sign. */
static void sides_are_symmetric(void **state)
{
    double changes[2], reaches[2], detectable[2];
    for (int is_back = 0; is_back < 2; is_back++) {
        struct pair pair;
        begin(&pair, 1000, 0.01);
        for (int side = 0; side < 2; side++) {
            struct step_series *steps = &pair.runs[side].items[0];
            for (size_t i = 0; i < steps->count; i++)
                steps->values[i] =
                    (side == is_back ? 1000 : 1080) + (double)(i * i % 7) * (side == is_back ? 2 : 5);
        }
        compare(&pair);
        const struct comparison *of = find(&pair, SERIES_STEP, "");
        changes[is_back] = of->change;
        reaches[is_back] = of->reach;
        detectable[is_back] = of->detectable;
        assert_int_equal(of->verdict, COMPARED_BEYOND);
        end(&pair);
    }
    assert_float_equal(changes[0], -changes[1], 1e-9);
    assert_float_equal(reaches[0], reaches[1], 1e-9);
    assert_float_equal(detectable[0], detectable[1], 1e-9);
}

/* What half of the repeats of a side have does not count; what all of them have does. */
static void findings_of_repeats(void **state)
{
    struct pair pair;
    for (int is_in_both = 0; is_in_both < 2; is_in_both++) {
        begin(&pair, 1000, 0.01);
        begin_repeats(&pair, 1000, 1000, 0.01);
        add_finding(&pair.runs[B], "compute, rank 3", 100, 1);
        if (is_in_both)
            add_finding(&pair.runs[REPEAT + B], "compute, rank 3", 50, 1);
        if (is_in_both)
            assert_allows(COMPARE_SELDOM, &pair, COMPARED_FINDING, "compute, rank 3");
        else
            assert_decides(COMPARE_SELDOM, &pair, COMPARED_FINDING, "compute, rank 3");
    }
    /* A job that stopped is no noise. Its cost is the mean over the repeats. */
    begin(&pair, 1000, 0.01);
    begin_repeats(&pair, 1000, 1000, 0.01);
    add_finding(&pair.runs[B], "missing, rank 3", 30, 1);
    pair.runs[B].findings[0].stops_job = 1;
    compare(&pair);
    assert_int_equal(find(&pair, COMPARED_FINDING, "missing, rank 3")->verdict, COMPARED_BEYOND);
    assert_float_equal(find(&pair, COMPARED_FINDING, "missing, rank 3")->values[B], 15, 1e-9);
    assert_int_equal(comparisons_answer(&pair.all, 5), ANSWER_SLOWER);
    end(&pair);
}

/* A bar that applies to any two of the runs bars the comparison. */
static void repeats_that_are_other_jobs(void **state)
{
    struct pair pair;
    begin_apart(&pair);
    begin_repeats(&pair, 1000, 1100, 1);
    pair.runs[REPEAT + B].calls = 8;
    assert_decides(COMPARE_PROGRAMME, &pair, SERIES_STEP, "");
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

static void add_edges(struct measured_run *run, double level)
{
    add(run, SERIES_EDGE, "rank 0 to rank 1", STEPS, level, 0.01)->is_over_network = 1;
}

/* Half of the middle of both: 67 of 134. Repeats show how much the network differs. */
static void network_from_run_to_run(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1000, 0.01);
        add_edges(&pair.runs[A], 100);
        add_edges(&pair.runs[B], is_more ? 168 : 165);
        if (is_more)
            assert_allows(COMPARE_NETWORK, &pair, SERIES_EDGE, "rank 0 to rank 1");
        else
            assert_decides(COMPARE_NETWORK, &pair, SERIES_EDGE, "rank 0 to rank 1");
    }
    begin(&pair, 1000, 0.01);
    begin_repeats(&pair, 1000, 1000, 0.01);
    for (int run = 0; run < MOST_RUNS; run++)
        add_edges(&pair.runs[run], run % 2 == A ? 100 : 150);
    assert_allows(COMPARE_NETWORK, &pair, SERIES_EDGE, "rank 0 to rank 1");
}

/*
 * A hundredth of a step of 1000 us, for a phase and for a figure that occurs ten times per step; for own time
 * 15 us.
 */
static void worth(void **state)
{
    struct pair pair;
    for (int is_more = 0; is_more < 2; is_more++) {
        begin(&pair, 1040, 0.01);
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
        assert_float_equal(comparison_percent(of, of->change), cases[i].change / 10, 0.001);
        assert_int_equal(of->verdict, cases[i].change != 0 ? COMPARED_BEYOND : COMPARED_WITHIN);
        end(&pair);
    }
}

/* Time that moves from one phase to another while step times stay the same. */
static void what_steps_do_not_show(void **state)
{
    struct pair pair;
    for (int b = 1000; b <= 1040; b += 40) {
        begin(&pair, b, 0.01);
        add(&pair.runs[A], SERIES_PHASE, "backward", STEPS, 500, 0.01);
        add(&pair.runs[B], SERIES_PHASE, "backward", STEPS, 600, 0.01);
        if (b == 1000)
            assert_decides(COMPARE_SHOWN, &pair, SERIES_PHASE, "backward");
        else
            assert_allows(COMPARE_SHOWN, &pair, SERIES_PHASE, "backward");
    }
    /* If steps cannot be compared, nothing is known. */
    begin(&pair, 1040, 0.01);
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
        assert_float_equal(comparison_percent(of, of->change), 3, 0.01);
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
    begin(&pair, 1010, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    /* Steps are longer, and the interval does not tell by how much: 0.5 to 7.5 %. */
    begin(&pair, 1040, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_UNDECIDED);
    begin(&pair, 1060, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_SLOWER);
    begin(&pair, 900, 0.01);
    assert_int_equal(answer(&pair, 5), ANSWER_FINE);
    /* Noise that hides ten per cent hides five. */
    begin(&pair, 1000, 60);
    assert_int_equal(answer(&pair, 5), ANSWER_UNDECIDED);
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
        cmocka_unit_test(spread),
        cmocka_unit_test(runs_differ),
        cmocka_unit_test(transfers_and_own_times_of_runs_differ),
        cmocka_unit_test(repeats_differ),
        cmocka_unit_test(repeats_find_smaller_changes),
        cmocka_unit_test(sides_are_symmetric),
        cmocka_unit_test(findings_of_repeats),
        cmocka_unit_test(repeats_that_are_other_jobs),
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
