#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"
#include "support/spoken.h"

#include <stdlib.h>

/*
 * Slow senders become findings. Eight ranks on two hosts (blocks of four); each sends to the rank four
 * positions further in both AllReduces of a step, with a network step of about 200; slow ones take SLOW_NS
 * more, and the AllReduces take longer by that.
 */
enum { WAIT_NS = 200, SLOW_NS = 1800, NIC = 2, NIC_RANKS = 2, LATE_FIRST = 8, LATE_LAST = 12 };

struct sending {
    struct slow_ranks slow;
    struct slow_job played;
    struct edge items[OPERATIONS];
    size_t first[INSTANCES + 1];
    int64_t cost_ns[STEPS + 1];
    struct findings findings;
};

/* A linear congruential generator (Knuth's MMIX) of the place: noise that recurred would be a fault. */
static int64_t noise_of(size_t at)
{
    uint64_t random = (uint64_t)(at + 1) * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random ^ random >> 31) * 6364136223846793005u >> 33) % 21;
}

static void add_edges(struct sending *sending, int senders, int slow, int count, int first, int last)
{
    size_t at = 0;
    for (int number = 0; number < INSTANCES; number++) {
        int step = number / EACH;
        sending->first[number] = at;
        for (int rank = 0; rank < senders; rank++, at++) {
            int is_slow = rank >= slow && rank < slow + count && step >= first && step <= last;
            int64_t wait_ns = WAIT_NS + noise_of(at) + (is_slow ? SLOW_NS : 0);
            sending->items[at] = (struct edge){.instance = number,
                                               .sender = rank,
                                               .receiver = (rank + RANKS / 2) % RANKS,
                                               .step = step,
                                               .steps = 1,
                                               .wait_ns = wait_ns,
                                               .wait_max_ns = wait_ns,
                                               .busy_ns = wait_ns};
        }
    }
    sending->first[INSTANCES] = at;
    sending->played.edges = (struct edges){.items = sending->items, .count = at, .first = sending->first};
}

/* This many ranks send, and `count` of them from `slow` on are slow in these steps. */
static struct sending *sending_new(int senders, int slow, int count, int first, int last)
{
    struct sending *sending = calloc(1, sizeof *sending);
    assert_non_null(sending);
    for (int step = first; step <= last && count; step++)
        sending->slow.transfer_ns[step] = SLOW_NS;
    slow_job_init(&sending->played, &sending->slow);
    for (int i = 0; i < INSTANCES; i++)
        sending->played.transfers[i].culprit = -1;
    add_edges(sending, senders, slow, count, first, last);
    return sending;
}

static void sending_free(struct sending *sending)
{
    findings_release(&sending->findings);
    slow_job_release(&sending->played);
    free(sending);
}

static const struct finding *take(struct sending *sending)
{
    struct error error = ERROR_INIT;
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct slow_job *played = &sending->played;
    struct replay replay;
    assert_int_equal(replay_init(&replay, &played->job, &played->baseline.excess, played->transfers, &error),
                     0);
    assert_int_equal(findings_take_network(&sending->findings, sending->cost_ns, &played->job,
                                           &played->baseline, &played->edges, played->transfers, &replay,
                                           &options, &error),
                     0);
    replay_release(&replay);
    return sending->findings.count ? &sending->findings.items[sending->findings.count - 1] : NULL;
}

static void ranks_of_one_host_are_one_finding(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, NIC_RANKS, LATE_FIRST, LATE_LAST);
    const struct finding *finding = take(sending);
    (void)state;
    assert_int_equal(sending->findings.count, 1);
    assert_int_equal(finding->kind, FINDING_NETWORK);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_int_equal(finding->rank_count, NIC_RANKS);
    assert_int_equal(finding->ranks[0], NIC);
    assert_int_equal(finding->ranks[1], NIC + 1);
    assert_int_equal(finding->first_step, LATE_FIRST);
    assert_int_equal(finding->last_step, LATE_LAST);
    assert_int_equal(finding->peer_count, 2);
    assert_int_equal(finding->peers[0], NIC + RANKS / 2);
    /* Two operations in each of five steps. */
    assert_true(labs((long)(finding->lost_ns - 2L * 5 * SLOW_NS)) < SLOW_NS);
    assert_int_equal(sending->played.transfers[LATE_FIRST * EACH].culprit, NIC);
    assert_int_equal(sending->played.transfers[LATE_FIRST * EACH - 1].culprit, -1);
    assert_quiet(&finding->rule_results, RULE_CERTAINTY);
    assert_quiet(&finding->rule_results, RULE_LATE_RECEIVERS);
    assert_quiet(&finding->rule_results, RULE_NOT_IN_STEPS);
    assert_not_asked(&finding->rule_results, RULE_BY_DESIGN);
    sending_free(sending);
}

static void through_all_steps(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, NIC_RANKS, 0, STEPS - 1);
    const struct finding *finding = take(sending);
    (void)state;
    assert_non_null(finding);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_int_equal(finding->first_step, 1);
    assert_int_equal(finding->last_step, STEPS - 1);
    assert_quiet(&finding->rule_results, RULE_BY_DESIGN);
    sending_free(sending);
}

/* A single one among many is at fault. */
static void one_through_all_steps(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, 1, 0, STEPS - 1);
    const struct finding *finding = take(sending);
    (void)state;
    assert_non_null(finding);
    assert_int_equal(finding->rank, NIC);
    assert_int_equal(finding->rank_count, 0);
    assert_quiet(&finding->rule_results, RULE_BY_DESIGN);
    sending_free(sending);
}

/* What NIC sends takes three times as long as what others send, except in this step. */
static void be_somewhat_slower(struct sending *sending, int32_t except)
{
    for (size_t i = 0; i < sending->played.edges.count; i++)
        if (sending->items[i].sender == NIC)
            sending->items[i].wait_ns = (sending->items[i].step == except ? 1 : 3) * WAIT_NS + noise_of(i);
}

/* Healthy links may wait three times as long as others in most steps, but not in all. */
static void one_is_somewhat_slower_through_all_steps(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, 1, 0, STEPS - 1);
    (void)state;
    be_somewhat_slower(sending, STEPS / 2);
    assert_null(take(sending));
    be_somewhat_slower(sending, -1);
    assert_non_null(take(sending));
    sending_free(sending);
}

/* In the other steps it is as fast as others: they and its own past say the same. */
static void one_is_somewhat_slower_from_a_step_on(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, 1, 5, STEPS - 1);
    (void)state;
    for (size_t i = 0; i < sending->played.edges.count; i++)
        if (sending->items[i].sender == NIC && sending->items[i].step >= 5)
            sending->items[i].wait_ns = WAIT_NS * 5 / 2 + noise_of(i);
    const struct finding *finding = take(sending);
    assert_non_null(finding);
    assert_int_equal(finding->first_step, 5);
    assert_not_asked(&finding->rule_results, RULE_NOT_SLOWER_MANY);
    sending_free(sending);
}

/* Ranks 3 and 4, of two hosts, may have longer routes by design. Each gains nothing without the other. */
static void the_way_may_be_longer(void **state)
{
    struct sending *sending = sending_new(RANKS, RANKS / 2 - 1, 2, 0, STEPS - 1);
    (void)state;
    sending->findings.off.has[RULE_WORTH] = sending->findings.off.has[RULE_WORTH_SURE] = 1;
    assert_null(take(sending));
    sending->findings.off.has[RULE_BY_DESIGN] = 1;
    assert_non_null(take(sending));
    sending_free(sending);
}

/* Three of five, in all steps: it cannot be determined which are normal. */
static void most_have_no_others(void **state)
{
    struct sending *sending = sending_new(5, 0, 3, 0, STEPS - 1);
    (void)state;
    assert_null(take(sending));
    sending_free(sending);
}

static void the_receivers_were_late(void **state)
{
    struct sending *sending = sending_new(RANKS, NIC, NIC_RANKS, LATE_FIRST, LATE_LAST);
    (void)state;
    for (int i = 0; i < NIC_RANKS; i++) {
        struct finding *late = findings_add(&sending->findings);
        late->kind = FINDING_HOST;
        late->rank = NIC + i + RANKS / 2;
        late->first_step = LATE_FIRST;
        late->last_step = LATE_LAST;
        late->confidence = CONFIDENCE_MEDIUM;
    }
    take(sending);
    assert_int_equal(sending->findings.count, NIC_RANKS);
    sending->findings.items[0].confidence = CONFIDENCE_LOW;
    take(sending);
    assert_int_equal(sending->findings.count, NIC_RANKS + 1);
    sending_free(sending);
}

/* Its host was late in the same steps: what costs a tenth of that is an after-effect, if the finding is sure.
 */
static void the_sender_was_late_by_far_more(void **state)
{
    static const struct {
        enum confidence confidence;
        int last, times, is_found;
    } cases[] = {{CONFIDENCE_MEDIUM, LATE_LAST, 11, 0},
                 {CONFIDENCE_MEDIUM, LATE_LAST, 9, 1},
                 {CONFIDENCE_LOW, LATE_LAST, 11, 1},
                 {CONFIDENCE_MEDIUM, LATE_FIRST, 11, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sending *sending = sending_new(RANKS, NIC, NIC_RANKS, LATE_FIRST, LATE_LAST);
        struct finding *late = findings_add(&sending->findings);
        late->kind = FINDING_HOST;
        late->rank = NIC;
        late->first_step = LATE_FIRST;
        late->last_step = cases[i].last;
        late->confidence = cases[i].confidence;
        late->lost_ns = (int64_t)cases[i].times * EACH * (LATE_LAST - LATE_FIRST + 1) * SLOW_NS;
        take(sending);
        assert_int_equal(sending->findings.count, 1 + cases[i].is_found);
        sending_free(sending);
    }
}

/* The certainty for a rank that is slow in four steps, if every so many links of others are for a moment. */
static double certainty_of_four_steps(int moments)
{
    struct sending *sending = sending_new(RANKS, NIC, 1, LATE_FIRST, LATE_FIRST + 3);
    for (size_t i = 0; moments && i < sending->played.edges.count; i++) {
        struct edge *edge = &sending->items[i];
        if (edge->sender != NIC && (edge->step * 5 + edge->sender * 3) % moments == 0)
            edge->wait_ns += SLOW_NS;
    }
    const struct finding *finding = take(sending);
    assert_non_null(finding);
    assert_int_equal(sending->findings.count, 1);
    assert_int_equal(finding->rank, NIC);
    assert_int_equal(finding->first_step, LATE_FIRST);
    assert_int_equal(finding->last_step, LATE_FIRST + 3);
    double certainty = finding->certainty;
    sending_free(sending);
    return certainty;
}

/* Few steps say more where no link has slow moments. */
static void one_is_slow_in_four_steps(void **state)
{
    (void)state;
    assert_true(certainty_of_four_steps(0) > certainty_of_four_steps(11) + 2);
}

/* Rank NIC sends nothing for a time in one step: a pause of three median steps is no slow moment. */
static void one_pauses_once(void **state)
{
    assert_limit(LIMIT_PAUSE, 3);
    (void)state;
    for (int steps = 2; steps <= 3; steps++) {
        struct sending *sending = sending_new(RANKS, NIC, 1, LATE_FIRST, LATE_FIRST);
        sending->played.baseline.median_step_ns = SLOW_NS / steps;
        for (size_t i = 0; i < sending->played.edges.count; i++)
            sending->items[i].over_ns = sending->items[i].wait_ns > SLOW_NS ? SLOW_NS : 0;
        const struct finding *finding = take(sending);
        assert_int_equal(finding != NULL, steps == 3);
        if (finding) {
            assert_int_equal(finding->rank, NIC);
            assert_false(finding->receives);
            assert_int_equal(finding->first_step, LATE_FIRST);
            assert_int_equal(finding->last_step, LATE_FIRST);
        }
        sending_free(sending);
    }
}

/* Makes the links of NIC wait twice as long in its steps, and those of others in one step `times` as long as
 * that. */
static void make_wander(struct sending *sending, double times)
{
    for (size_t i = 0; i < sending->played.edges.count; i++) {
        struct edge *edge = &sending->items[i];
        if (edge->wait_ns > SLOW_NS)
            edge->wait_ns = 2 * WAIT_NS;
        else if (edge->sender == NIC + 1 && edge->step == LATE_LAST + 1)
            edge->wait_ns = (int64_t)(WAIT_NS * pow(2, times));
    }
    for (int i = 0; i < INSTANCES; i++)
        sending->played.instances[i].transfer_ns += 2 * SLOW_NS;
    sending->findings.off.has[RULE_WORTH] = sending->findings.off.has[RULE_WORTH_SURE] = 1;
    sending->findings.off.has[RULE_NOT_IN_STEPS] = 1;
}

/* Nor longer by a tenth and, in the logarithm, five times as slow as any link was in other steps. */
static void one_is_far_ahead_in_longer_steps(void **state)
{
    static const struct {
        double others, longer;
        int is_found;
    } cases[] = {{0.1, 0.2, 1}, {0.1, 0.05, 0}, {0.4, 0.2, 0}};
    assert_limit(LIMIT_LONGER_MANY, 0.1);
    assert_limit(LIMIT_AHEAD_MANY, 5);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sending *sending = sending_new(RANKS, NIC, 1, LATE_FIRST, LATE_LAST);
        make_wander(sending, cases[i].others);
        sending->findings.off.has[RULE_NOT_SLOWER_MANY] = 1;
        sending->played.baseline.median_step_ns = SLOW_NS;
        const struct finding *finding = take(sending);
        assert_non_null(finding);
        int64_t lost_ns = finding->lost_ns / (LATE_LAST - LATE_FIRST + 1);
        sending_free(sending);
        sending = sending_new(RANKS, NIC, 1, LATE_FIRST, LATE_LAST);
        make_wander(sending, cases[i].others);
        sending->played.baseline.median_step_ns = (int64_t)((double)lost_ns / cases[i].longer);
        assert_int_equal(take(sending) != NULL, cases[i].is_found);
        sending_free(sending);
    }
}

/* Links wander, but do not make steps longer by a quarter. */
static void one_wanders_or_costs_too_much_for_that(void **state)
{
    assert_limit(LIMIT_LONGER_STEPS, 0.25);
    assert_limit(LIMIT_SLOWER_OPERATIONS, 2);
    (void)state;
    for (int costly = 0; costly < 2; costly++) {
        struct sending *sending = sending_new(RANKS, NIC, 1, LATE_FIRST, LATE_LAST);
        for (size_t i = 0; i < sending->played.edges.count; i++)
            if (sending->items[i].wait_ns > SLOW_NS)
                sending->items[i].wait_ns = 2 * WAIT_NS;
        for (int i = 0; i < INSTANCES; i++)
            sending->played.instances[i].transfer_ns += 2 * SLOW_NS;
        sending->played.baseline.median_step_ns = costly ? 2 * SLOW_NS : 100 * SLOW_NS;
        sending->findings.off.has[RULE_WORTH] = sending->findings.off.has[RULE_WORTH_SURE] = 1;
        sending->findings.off.has[RULE_NOT_IN_STEPS] = 1;
        const struct finding *finding = take(sending);
        assert_int_equal(finding != NULL, costly);
        if (finding)
            assert_not_asked(&finding->rule_results, RULE_NOT_SLOWER_MANY);
        sending_free(sending);
    }
}

static void nobody_is_slow(void **state)
{
    struct sending *sending = sending_new(RANKS, 0, 0, 0, 0);
    (void)state;
    assert_null(take(sending));
    sending_free(sending);
}

static struct rule_results of(enum rule_id rule, double reading)
{
    struct rule_results rule_results = {0};
    rule_results_add(&rule_results, FINDING_NETWORK, rule, reading);
    return rule_results;
}

static void limits_of_senders(void **state)
{
    struct rule_results less = of(RULE_CERTAINTY, 2.99), sure = of(RULE_CERTAINTY, 3);
    struct rule_results late = of(RULE_LATE_RECEIVERS, 0.51), few = of(RULE_LATE_RECEIVERS, 0.5);
    struct rule_results none = of(RULE_BY_DESIGN, 0.49), one = of(RULE_BY_DESIGN, 0.5);
    (void)state;
    assert_speaks(&less, RULE_CERTAINTY);
    assert_quiet(&sure, RULE_CERTAINTY);
    assert_speaks(&late, RULE_LATE_RECEIVERS);
    assert_quiet(&few, RULE_LATE_RECEIVERS);
    assert_speaks(&none, RULE_BY_DESIGN);
    assert_quiet(&one, RULE_BY_DESIGN);
    assert_int_equal(allowed_confidence(&less), CONFIDENCE_LOW);
}

/* The same for rules about the cost and about what links are at times. */
static void limits_of_cost(void **state)
{
    struct rule_results little = of(RULE_WORTH, 0.99), enough = of(RULE_WORTH, 1);
    struct rule_results almost = of(RULE_WORTH_SURE, 1.99), twice = of(RULE_WORTH_SURE, 2);
    struct rule_results hidden = of(RULE_NOT_IN_STEPS, 0.33), shown = of(RULE_NOT_IN_STEPS, 0.34);
    struct rule_results slow = of(RULE_NOT_SLOWER_MANY, 2.99), slower = of(RULE_NOT_SLOWER_MANY, 3);
    (void)state;
    assert_speaks(&little, RULE_WORTH);
    assert_quiet(&enough, RULE_WORTH);
    assert_speaks(&almost, RULE_WORTH_SURE);
    assert_quiet(&twice, RULE_WORTH_SURE);
    assert_speaks(&hidden, RULE_NOT_IN_STEPS);
    assert_quiet(&shown, RULE_NOT_IN_STEPS);
    assert_speaks(&slow, RULE_NOT_SLOWER_MANY);
    assert_quiet(&slower, RULE_NOT_SLOWER_MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_of_one_host_are_one_finding),
                                       cmocka_unit_test(through_all_steps),
                                       cmocka_unit_test(one_through_all_steps),
                                       cmocka_unit_test(one_is_somewhat_slower_through_all_steps),
                                       cmocka_unit_test(one_is_somewhat_slower_from_a_step_on),
                                       cmocka_unit_test(the_way_may_be_longer),
                                       cmocka_unit_test(most_have_no_others),
                                       cmocka_unit_test(the_receivers_were_late),
                                       cmocka_unit_test(the_sender_was_late_by_far_more),
                                       cmocka_unit_test(one_is_slow_in_four_steps),
                                       cmocka_unit_test(one_pauses_once),
                                       cmocka_unit_test(one_is_far_ahead_in_longer_steps),
                                       cmocka_unit_test(one_wanders_or_costs_too_much_for_that),
                                       cmocka_unit_test(nobody_is_slow),
                                       cmocka_unit_test(limits_of_senders),
                                       cmocka_unit_test(limits_of_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
