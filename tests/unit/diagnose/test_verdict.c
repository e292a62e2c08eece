#include "diagnose/suspect.h"
#include "support/cmocka_all.h"

#include "support/judged.h"
#include <string.h>

/* The content of findings, and whether there is one; confidence is in test_confidence.c. */

/* The only finding, without what it owns. */
static struct finding told(struct suspect suspect, const struct besides *besides)
{
    struct findings findings = {0};
    judge_suspect(suspect, besides, &findings);
    assert_int_equal(findings.count, 1);
    struct finding finding = findings.items[0];
    findings_release(&findings);
    return finding;
}

static size_t count_told(struct suspect suspect)
{
    struct findings findings = {0};
    judge_suspect(suspect, &(struct besides){0}, &findings);
    size_t count = findings.count;
    findings_release(&findings);
    return count;
}

static struct suspect two_steps(enum finding_kind kind, int64_t gain_ns)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 5,
                            .counted_steps = 2,
                            .gain_ns = gain_ns,
                            .chance = 0.01,
                            .ahead = 30};
}

/* Some rule limits it to low confidence. */
static void doubt(struct suspect *suspect)
{
    suspect_ask(suspect, RULE_SHARED_NETWORK, 1);
}

/* Half of 3 % of two steps; or the wait of partners for it. */
static void what_is_worth_saying(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 30);
    assert_int_equal(count_told(suspect), 1);
    suspect.gain_ns = 29;
    assert_int_equal(count_told(suspect), 0);
}

/*
 * A fault that noise is expected to make at least once is reported if it is five times as strong as any other
 * step.
 */
static void what_noise_does(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 600);
    suspect.chance = 1;
    suspect.ahead = 4.9;
    assert_int_equal(count_told(suspect), 0);
    suspect.ahead = 5;
    assert_int_equal(count_told(suspect), 1);
    suspect.chance = 0.99;
    suspect.ahead = 0.1;
    assert_int_equal(count_told(suspect), 1);
}

/* The gain, 600, but at most the excess of its two steps; and no less, if it is believed. */
static void what_it_cost(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 600);
    assert_int_equal(told(suspect, &(struct besides){0}).lost_ns, 600);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1300}).lost_ns, 600);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1200}).lost_ns, 400);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1400}).lost_ns, 800);
    /* Only a network delays operations that are not recorded. */
    assert_int_equal(told(suspect, &(struct besides){0}).lost_ns, 600);
    doubt(&suspect);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1400}).lost_ns, 600);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1200}).lost_ns, 400);
}

/* Its two steps were longer by more than five times its excess of 160, or by no more. */
static void a_little_of_what_made_steps_longer(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 100);
    suspect.total_ns = 160;
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1402}).lost_ns, 100);
    assert_int_equal(told(suspect, &(struct besides){.suspects_steps_ns = 1400}).lost_ns, 800);
}

/* Its receives are slow if more than half of the wait is on links over which it receives. */
static void whether_it_receives(void **state)
{
    const struct slow much = {5, 2};
    struct suspect suspect = two_steps(FINDING_NETWORK, 3000);
    assert_false(told(suspect, &(struct besides){.slow = &much}).receives);
    assert_false(told(suspect, &(struct besides){.slow = &much, .received = 1}).receives);
    assert_true(told(suspect, &(struct besides){.slow = &much, .received = 2}).receives);
    suspect.last_step = 8;
    suspect.counted_steps = 5;
    assert_false(told(suspect, &(struct besides){.slow = &much, .received = 2}).receives);
    assert_true(told(suspect, &(struct besides){.slow = &much, .received = 3}).receives);
}

/* Of the only peer there is. */
static int32_t peer_told(const struct besides *besides)
{
    struct findings findings = {0};
    judge_suspect(two_steps(FINDING_NETWORK, 3000), besides, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].peer_count, 1);
    int32_t peer = findings.items[0].peers[0];
    findings_release(&findings);
    return peer;
}

/* The other ends of the links in the sentence, although links of the other direction were slow as well. */
static void whose_other_ends(void **state)
{
    const struct slow much = {5, 2};
    assert_int_equal(peer_told(&(struct besides){.slow = &much}), 2);
    assert_int_equal(peer_told(&(struct besides){.slow = &much, .received = 1}), 2);
    assert_int_equal(peer_told(&(struct besides){.slow = &much, .received = 2}), 3);
    /* Not the waits of others, nor what another rank is blamed for. */
    assert_int_equal(peer_told(&(struct besides){.slow = &much, .others = 1}), 2);
}

/*
 * Five steps with the link over which it sends and one with the link over which it receives, or as many of
 * each.
 */
static void what_that_direction_waited(void **state)
{
    static const char *const said[] = {
        " network steps waited 5.00 us on average (SendWait; baseline 100 ns, longest 10.0 us).",
        " network steps waited 5.00 us on average (SendWait; baseline 100 ns, longest 20.0 us)."};
    const struct slow much = {50, 2};
    for (int receives = 0; receives < 2; receives++) {
        struct findings findings = {0};
        judge_suspect(two_steps(FINDING_NETWORK, 3000),
                      &(struct besides){.slow = &much, .received = 1 + receives}, &findings);
        if (!strstr(findings.items[0].evidence.data, said[receives]))
            fail_msg("%s", findings.items[0].evidence.data);
        findings_release(&findings);
    }
}

/* Links count if they waited longer than their baseline by a quarter of their wait. */
static void whose_other_ends_waited(void **state)
{
    for (int wait = 133; wait <= 134; wait++) {
        const struct slow some = {wait / 100.0 + 0.0001, 2};
        struct findings findings = {0};
        judge_suspect(two_steps(FINDING_NETWORK, 3000), &(struct besides){.slow = &some}, &findings);
        assert_int_equal(findings.items[0].peer_count, wait == 134);
        findings_release(&findings);
    }
}

/* The excess of a link for some members counts with the shortest duration: twice as long is believed. */
static void slow_for_some_members(void **state)
{
    const struct slow twice = {1, 2}, less = {1, 1.9};
    struct suspect suspect = two_steps(FINDING_NETWORK, 1500);
    assert_int_equal(told(suspect, &(struct besides){.slow = &twice, .for_some = 1}).confidence,
                     CONFIDENCE_MEDIUM);
    assert_int_equal(told(suspect, &(struct besides){.slow = &less, .for_some = 1}).confidence,
                     CONFIDENCE_LOW);
}

/*
 * Two steps of 2500 and another suspicion in them that cost 500: it has its part of the 2000 that no gain
 * explains, half if it gained as much.
 */
static int64_t cost_of_twin(int64_t gain_ns, const struct suspect *other)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, gain_ns);
    struct findings findings = {0};
    suspect.total_ns = 1000;
    judge_suspect(suspect, &(struct besides){.suspects_steps_ns = 2500, .other = other}, &findings);
    int64_t cost_ns = findings.items[0].lost_ns;
    findings_release(&findings);
    return cost_ns;
}

static void its_part_of_what_no_gain_explains(void **state)
{
    const struct suspect other = two_steps(FINDING_NETWORK, 500);
    assert_int_equal(cost_of_twin(500, &other), 500 + 1000);
    assert_int_equal(cost_of_twin(1500, &other), 1500 + 750);
    assert_int_equal(cost_of_twin(500, NULL), 3000);
}

/* Questions about it afterwards: how slow it was, and whether the next step shows it. */
static void what_it_was_slow_by(void **state)
{
    const struct slow much = {5, 2};
    struct suspect suspect = two_steps(FINDING_NETWORK, 3000);
    suspect.total_ns = 4000;
    for (int later = 0; later < 2; later++) {
        suspect.shows_later = later;
        struct finding finding = told(suspect, &(struct besides){.slow = &much});
        assert_int_equal(finding.slow_ns, 4000);
        assert_int_equal(finding.shows_later, later);
    }
}

/*
 * Two suspicions, of which the second was not replayed: if it is believed, it counts with the wait of
 * partners, or otherwise with its whole excess.
 */
static size_t not_replayed(int64_t total_ns, size_t count)
{
    struct suspect other = two_steps(FINDING_NETWORK, 0);
    struct findings findings = {0};
    other.rank = 2;
    other.total_ns = total_ns;
    judge_suspect(two_steps(FINDING_NETWORK, 600), &(struct besides){.other = &other, .not_replayed = count},
                  &findings);
    size_t not_replayed = findings.not_replayed;
    findings_release(&findings);
    return not_replayed;
}

static void what_was_not_weighed(void **state)
{
    assert_int_equal(not_replayed(60, 1), 1);
    /* Too little in any case. */
    assert_int_equal(not_replayed(59, 1), 0);
    assert_int_equal(not_replayed(60, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_worth_saying),
                                       cmocka_unit_test(what_noise_does),
                                       cmocka_unit_test(what_it_cost),
                                       cmocka_unit_test(a_little_of_what_made_steps_longer),
                                       cmocka_unit_test(whether_it_receives),
                                       cmocka_unit_test(slow_for_some_members),
                                       cmocka_unit_test(what_it_was_slow_by),
                                       cmocka_unit_test(its_part_of_what_no_gain_explains),
                                       cmocka_unit_test(whose_other_ends),
                                       cmocka_unit_test(what_that_direction_waited),
                                       cmocka_unit_test(whose_other_ends_waited),
                                       cmocka_unit_test(what_was_not_weighed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
