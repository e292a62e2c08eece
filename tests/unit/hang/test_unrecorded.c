#include "diagnose/diagnose.h"
#include "hang/internal.h"
#include "job/job.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <stdlib.h>

enum { MOST = 16 };

/* A job of this many ranks in one communicator, of which the first ones have records of their calls. */
struct played {
    struct job job;
    struct job_rank ranks[MOST];
    struct communicator_set_member member_list[MOST];
    struct job_communicator communicator;
    struct unrecorded unrecorded;
};

static void play(struct played *played, int64_t size, int32_t recorded, int is_sized)
{
    *played =
        (struct played){.job = {.rank_count = (size_t)size, .expected_ranks = size, .communicator_count = 1}};
    played->job.ranks = played->ranks;
    played->job.communicators = &played->communicator;
    for (int32_t i = 0; i < size; i++)
        played->ranks[i] = (struct job_rank){.process_id = i < recorded ? i : -1, .count = i < recorded};
    for (int32_t i = 0; i < recorded; i++)
        played->member_list[i] = (struct communicator_set_member){i, i};
    played->communicator = (struct job_communicator){.size = size,
                                                     .size_is_known = is_sized,
                                                     .member_list = played->member_list,
                                                     .member_list_count = (size_t)recorded};
    assert_int_equal(unrecorded_init(&played->unrecorded, &played->job), 0);
}

/* Half of the ranks if their number is known; else three quarters. */
static void how_many_records_it_takes(void **state)
{
    static const struct {
        int64_t size;
        int32_t recorded;
        int is_sized;
        int can_be_named;
    } cases[] = {{8, 7, 1, 1}, {8, 4, 1, 1}, {8, 3, 1, 0}, {2, 1, 1, 1}, {8, 1, 1, 0},
                 {8, 7, 0, 1}, {8, 6, 0, 1}, {8, 5, 0, 0}, {2, 1, 0, 0}, {4, 3, 0, 1}};
    assert_limit(LIMIT_RECORDS, 1);
    assert_limit(LIMIT_RECORDS_UNSIZED, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct played played;
        play(&played, cases[i].size, cases[i].recorded, cases[i].is_sized);
        assert_int_equal(unrecorded_can_be_named(&played.unrecorded, 0), cases[i].can_be_named);
        unrecorded_release(&played.unrecorded);
    }
}

/* In a pair of a larger job, most of whose ranks left no record, no rank is named. */
static void few_records_of_the_job(void **state)
{
    struct played played;
    play(&played, 2, 1, 1);
    played.job.expected_ranks = 3;
    assert_int_equal(unrecorded_can_be_named(&played.unrecorded, 0), 0);
    unrecorded_release(&played.unrecorded);
}

static enum confidence doubted(struct played *played, struct findings *findings)
{
    struct finding *finding = findings_add(findings);
    finding->kind = FINDING_MISSING;
    finding->confidence = CONFIDENCE_HIGH;
    unrecorded_doubt(&played->unrecorded, findings, 0, finding);
    return finding->confidence;
}

static void how_sure_it_is(void **state)
{
    struct played played;
    struct findings findings = {0};
    play(&played, 4, 3, 1);
    assert_int_equal(doubted(&played, &findings), CONFIDENCE_MEDIUM);
    assert_speaks(&findings.items[0].rule_results, RULE_UNRECORDED);
    assert_quiet(&findings.items[0].rule_results, RULE_NO_TRACE);
    unrecorded_release(&played.unrecorded);
    play(&played, 4, 3, 0);
    assert_int_equal(doubted(&played, &findings), CONFIDENCE_LOW);
    assert_speaks(&findings.items[1].rule_results, RULE_NO_TRACE);
    unrecorded_release(&played.unrecorded);
    play(&played, 2, 1, 1);
    assert_int_equal(doubted(&played, &findings), CONFIDENCE_LOW);
    assert_speaks(&findings.items[2].rule_results, RULE_NO_TRACE);
    unrecorded_release(&played.unrecorded);
    findings_release(&findings);
}

/* A rank with lines but without calls has no record of them; but it exists. */
static void a_process_without_calls(void **state)
{
    struct played played;
    play(&played, 2, 2, 1);
    unrecorded_release(&played.unrecorded);
    played.ranks[1].count = 0;
    assert_int_equal(unrecorded_init(&played.unrecorded, &played.job), 0);
    assert_int_equal(played.unrecorded.ranks, 1);
    assert_int_equal(played.unrecorded.present, 2);
    unrecorded_release(&played.unrecorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_many_records_it_takes),
        cmocka_unit_test(few_records_of_the_job),
        cmocka_unit_test(how_sure_it_is),
        cmocka_unit_test(a_process_without_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
