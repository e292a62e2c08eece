#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <string.h>

enum { RANKS = 8, MOST = 300 };

/* Ranks 0 to 7, four on each of two hosts, and their warnings. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_warning warnings[MOST];
    struct findings findings;
};

static char host_a[] = "node0", host_b[] = "node1";
static char names[RANKS][2] = {"0", "1", "2", "3", "4", "5", "6", "7"};

static void play(struct played *played)
{
    *played = (struct played){.job = {.rank_count = RANKS}};
    played->job.ranks = played->ranks;
    played->job.warnings = played->warnings;
    for (size_t i = 0; i < RANKS; i++)
        played->ranks[i] = (struct job_rank){.name = names[i],
                                             .global_rank = (int64_t)i,
                                             .count = 100,
                                             .address = i < RANKS / 2 ? "10.0.0.1" : "10.0.0.2",
                                             .facts = {.host = i < RANKS / 2 ? host_a : host_b}};
}

static struct job_warning *warn(struct played *played, int32_t rank, enum warning_kind kind, int64_t status,
                                const char *nic, const char *peer)
{
    struct job_warning *warning = &played->warnings[played->job.warning_count++];
    *warning = (struct job_warning){.rank = rank,
                                    .kind = kind,
                                    .status = status,
                                    .nic = nic,
                                    .peer = peer,
                                    .count = 1,
                                    .calls = 100,
                                    .first_ns = TIME_UNKNOWN,
                                    .last_ns = TIME_UNKNOWN};
    return warning;
}

static void no_answer(struct played *played, int32_t rank, const char *nic, const char *peer)
{
    warn(played, rank, WARNING_COMPLETION, 12, nic, peer);
}

/* All others lose peers and report it. */
static void close_others(struct played *played, int32_t but)
{
    unsigned char has_warned[RANKS] = {0};
    for (size_t i = 0; i < played->job.warning_count; i++)
        has_warned[played->warnings[i].rank] = 1;
    for (int32_t i = 0; i < RANKS; i++)
        if (!has_warned[i] && i != but)
            warn(played, i, WARNING_CLOSED, COUNT_UNKNOWN, NULL, i < RANKS / 2 ? "node1" : "node0");
}

static const struct finding *found(struct played *played)
{
    assert_int_equal(find_broken_transfers(&played->job, &played->findings), 0);
    return played->findings.count ? &played->findings.items[played->findings.count - 1] : NULL;
}

static void one_card_that_found_no_answer(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    warn(&played, 2, WARNING_COMPLETION, 5, "mlx5_2", "10.0.0.2");
    warn(&played, 5, WARNING_COMPLETION, 5, "mlx5_1", "10.0.0.1");
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->kind, FINDING_NETWORK);
    assert_int_equal(finding->rank, 6);
    assert_int_equal(finding->rank_count, 0);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_string_equal(finding->nic, "mlx5_2");
    assert_int_equal(finding->peer_count, 4);
    assert_int_equal(finding->peers[0], 0);
    assert_quiet(&finding->rule_results, RULE_NO_TRACE);
    assert_quiet(&finding->rule_results, RULE_SEVERAL);
    assert_non_null(strstr(finding->evidence.data, "card mlx5_2 on host node1 to 10.0.0.1 (host node0)"));
    assert_non_null(
        strstr(finding->evidence.data,
               "2 ranks gave up transfers (status 5), 5 ranks lost connections that peers closed"));
    findings_release(&played.findings);
}

/* A dead process no longer answers, and warns of nothing. */
static void a_peer_that_may_have_died(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, 2);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_speaks(&finding->rule_results, RULE_NO_TRACE);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
    /* On the side that does not matter. */
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, 7);
    assert_int_equal(found(&played)->confidence, CONFIDENCE_MEDIUM);
    findings_release(&played.findings);
}

/* Two network cards of one host cannot reach the same other card, which is what they have in common. */
static void a_host_that_none_could_reach(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 5, "mlx5_1", "10.0.0.1");
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank_count, 4);
    assert_int_equal(finding->ranks[0], 0);
    assert_int_equal(finding->peers[0], 5);
    assert_quiet(&finding->rule_results, RULE_SEVERAL);
    findings_release(&played.findings);
}

/* Each cannot reach the other: it is unknown which of the two ends is at fault. */
static void both_ends_found_no_answer(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 2, "mlx5_2", "10.0.0.2");
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_speaks(&finding->rule_results, RULE_SEVERAL);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[1], 6);
    assert_string_equal(finding->link[0], "node0");
    assert_string_equal(finding->link[1], "node1");
    findings_release(&played.findings);
}

/*
 * Either end of a link, if a rank at the other end logs nothing; the rank that gave up is not necessarily at
 * fault.
 */
static void a_link_and_who_is_silent_at_its_other_end(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 1, NULL, "10.0.0.2");
    warn(&played, 0, WARNING_COMPLETION, 5, NULL, "10.0.0.2");
    warn(&played, 4, WARNING_COMPLETION, 5, NULL, "10.0.0.1");
    close_others(&played, 6);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_string_equal(finding->link[0], "node0");
    assert_string_equal(finding->link[1], "node1");
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[0], 1);
    assert_int_equal(finding->candidates[1], 6);
    findings_release(&played.findings);
}

/* A request of a plugin shows its rank and no peer; a cancelled one shows nothing. */
static void a_request_of_a_plugin(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 3, WARNING_REQUEST, 125, NULL, NULL);
    close_others(&played, -1);
    assert_null(found(&played));
    play(&played);
    warn(&played, 3, WARNING_REQUEST, 113, NULL, NULL)->text =
        "NET/OFI Request 0x1 completed with error. RC: 113";
    played.warnings[0].id = 77;
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->kind, FINDING_NETWORK);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->warning, 77);
    assert_null(finding->link[0]);
    assert_speaks(&finding->rule_results, RULE_NO_TRACE);
    assert_non_null(strstr(finding->evidence.data, "completed with error. RC: 113"));
    findings_release(&played.findings);
}

/* Failures other than reaching the peer count if there are none of those. */
static void other_failures_of_transfers(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 5, WARNING_COMPLETION, 10, "mlx5_1", "10.0.0.1");
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 5);
    assert_non_null(strstr(finding->evidence.data, "InfiniBand status 10"));
    findings_release(&played.findings);
    play(&played);
    warn(&played, 5, WARNING_COMPLETION, 10, "mlx5_1", "10.0.0.1");
    no_answer(&played, 2, "mlx5_2", "10.0.0.2");
    close_others(&played, -1);
    finding = found(&played);
    assert_int_equal(finding->rank, 2);
    assert_non_null(strstr(finding->evidence.data, "1 transfer of card mlx5_2"));
    findings_release(&played.findings);
}

/*
 * A card that warns about its own port is at fault, at either end. All processes of its host get that
 * warning.
 */
static void a_card_that_warns_of_itself(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    warn(&played, 2, WARNING_COMPLETION, 5, "mlx5_2", "10.0.0.2");
    for (int32_t i = 0; i < RANKS / 2; i++)
        warn(&played, i, WARNING_CARD, COUNT_UNKNOWN, "mlx5_2", NULL);
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 2);
    assert_int_equal(finding->rank_count, 0);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_non_null(
        strstr(finding->evidence.data, "Card mlx5_2 on host node0 reported a fault of the card or its port"));
    findings_release(&played.findings);
}

/* Healthy jobs have many warnings; ports come back; and a job that continues was not broken. */
static void what_accuses_nobody(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_OTHER, COUNT_UNKNOWN, NULL, NULL);
    warn(&played, 2, WARNING_CARD, COUNT_UNKNOWN, "mlx5_2", NULL);
    warn(&played, 3, WARNING_COMPLETION, 5, "mlx5_2", "10.0.0.2");
    close_others(&played, -1);
    assert_null(found(&played));
    assert_limit(LIMIT_CALLS_AHEAD, 1024);
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    played.ranks[6].count = 1125;
    assert_null(found(&played));
    played.ranks[6].count = 1124;
    assert_non_null(found(&played));
    findings_release(&played.findings);
}

/* With so many that they are no longer compared with each other, none is blamed. */
static void all_of_a_network(void **state)
{
    struct played played;
    play(&played);
    for (int i = 0; i < 257; i++)
        no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, -1);
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_null(finding->nic);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
}

static struct finding *miss(struct played *played, int32_t rank, enum confidence confidence)
{
    struct finding *finding = findings_add(&played->findings);
    assert_non_null(finding);
    finding->kind = FINDING_MISSING;
    finding->rank = rank;
    finding->stops_job = 1;
    finding->confidence = confidence;
    return finding;
}

/* A rank that never joined is at fault, not the rank that could no longer reach it. */
static void beside_a_rank_that_never_came(void **state)
{
    struct played played;
    play(&played);
    no_answer(&played, 6, "mlx5_2", "10.0.0.1");
    close_others(&played, -1);
    miss(&played, 2, CONFIDENCE_MEDIUM);
    assert_int_equal(found(&played)->kind, FINDING_MISSING);
    assert_int_equal(played.findings.count, 1);
    assert_non_null(strstr(played.findings.items[0].evidence.data, "Transfers also failed: 1 transfer"));
    findings_release(&played.findings);
    /*
     * A rank that made no progress since its own transfers failed; and a rank that lost its peers, for which
     * "missing" is unlikely.
     */
    miss(&played, 6, CONFIDENCE_MEDIUM);
    miss(&played, 3, CONFIDENCE_LOW);
    assert_int_equal(found(&played)->kind, FINDING_NETWORK);
    assert_int_equal(played.findings.count, 1);
    findings_release(&played.findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_card_that_found_no_answer),
        cmocka_unit_test(a_peer_that_may_have_died),
        cmocka_unit_test(a_host_that_none_could_reach),
        cmocka_unit_test(both_ends_found_no_answer),
        cmocka_unit_test(a_link_and_who_is_silent_at_its_other_end),
        cmocka_unit_test(a_request_of_a_plugin),
        cmocka_unit_test(other_failures_of_transfers),
        cmocka_unit_test(a_card_that_warns_of_itself),
        cmocka_unit_test(what_accuses_nobody),
        cmocka_unit_test(all_of_a_network),
        cmocka_unit_test(beside_a_rank_that_never_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
