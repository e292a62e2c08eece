#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <string.h>

enum { RANKS = 6, CALLS = 17 };

/* Ranks 0 to 5, a communicator of all ranks, and the progress of each with its init. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[2];
    struct job_start starts[2 * RANKS];
    struct job_instance instances[CALLS];
    struct findings findings;
};

static char label[] = "0-5";
static char names[RANKS][2] = {"0", "1", "2", "3", "4", "5"};

/* For each rank: 'c' complete, 's' started, 'b' started and past the bootstrap, '-' no line. */
static void play(struct played *played, const char *states)
{
    *played =
        (struct played){.communicators = {{.size = RANKS, .label = label}, {.size = RANKS, .label = label}}};
    played->job = (struct job){.ranks = played->ranks,
                               .rank_count = RANKS,
                               .communicators = played->communicators,
                               .communicator_count = 2,
                               .starts = played->starts,
                               .instances = played->instances};
    for (size_t i = 0; i < RANKS; i++) {
        played->ranks[i] =
            (struct job_rank){.name = names[i], .global_rank = (int64_t)i, .facts = {.gpu = COUNT_UNKNOWN}};
        if (states[i] == '-')
            continue;
        struct job_start *start = &played->starts[played->job.start_count++];
        *start =
            (struct job_start){.rank = (int32_t)i, .parent = -1, .function = -1, .told = START_UP_UNKNOWN};
        start->told.is_complete = states[i] == 'c';
        start->told.parts_ns[START_BOOTSTRAP] = states[i] == 'b' ? 1000 : TIME_UNKNOWN;
    }
    for (size_t i = 0; i < CALLS; i++)
        played->instances[i] = (struct job_instance){.members = 2};
}

/* The only finding; NULL if there is none. */
static const struct finding *found(struct played *played)
{
    findings_release(&played->findings);
    assert_int_equal(find_unfinished_creations(&played->job, &played->findings), 0);
    assert_true(played->findings.count < 2);
    return played->findings.count ? &played->findings.items[0] : NULL;
}

/* The finding names these ranks first; what it says of them is the matter of its kind. */
static void check_named(struct played *played, const char *expected)
{
    struct buffer said = BUFFER_INIT;
    assert_int_equal(finding_append(&played->findings.items[0], &played->job, &said), 0);
    assert_int_equal(strncmp(said.data, expected, strlen(expected)), 0);
    buffer_release(&said);
}

static void some_get_through_and_some_do_not(void **state)
{
    struct played played;
    play(&played, "cbcsbc");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->kind, FINDING_MISSING);
    assert_int_equal(finding->creation_fault, CREATION_STUCK);
    assert_int_equal(finding->candidate_count, 3);
    assert_int_equal(finding->candidates[1], 3);
    assert_int_equal(finding->peer_count, 3);
    assert_speaks(&finding->rule_results, RULE_SEVERAL);
    assert_quiet(&finding->rule_results, RULE_NO_TRACE);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_non_null(strstr(finding->evidence.data, "3 of 6 ranks reached Init COMPLETE, 3 are stuck"));
    check_named(&played, "ranks 1, 3 and 4 ");
    findings_release(&played.findings);
}

/* No rank leaves the bootstrap before all have arrived. */
static void one_rank_never_came(void **state)
{
    struct played played;
    play(&played, "ssss-s");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->creation_fault, CREATION_ABSENT);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(finding->rank, 4);
    assert_int_equal(finding->candidate_count, 0);
    assert_quiet(&finding->rule_results, RULE_SEVERAL);
    assert_quiet(&finding->rule_results, RULE_NO_TRACE);
    check_named(&played, "rank 4 ");
    /* Its log may merely not have been ingested. */
    played.ranks[4].process_id = -1;
    finding = found(&played);
    assert_speaks(&finding->rule_results, RULE_NO_TRACE);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_int_equal(finding->peer_count, 5);
    check_named(&played, "rank 4 ");
    findings_release(&played.findings);
    /* The ranks that joined with it wait for something else. */
    play(&played, "sbss-s");
    finding = found(&played);
    assert_int_equal(finding->creation_fault, CREATION_STUCK);
    assert_int_equal(finding->candidate_count, 5);
    findings_release(&played.findings);
}

/* For a communicator of some ranks, the log does not show which one is missing: not those that wait in it. */
static void one_of_the_ranks_elsewhere(void **state)
{
    struct played played;
    play(&played, "--ss--");
    played.communicators[0].size = 3;
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->creation_fault, CREATION_ONE_ABSENT);
    assert_int_equal(finding->candidate_count, 4);
    assert_int_equal(finding->candidates[2], 4);
    assert_int_equal(finding->peer_count, 2);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    check_named(&played, "rank 0, rank 1, rank 4 or rank 5 ");
    findings_release(&played.findings);
}

/* The first one in the log is reported, and the number of others. */
static void several_communicators(void **state)
{
    struct played played;
    play(&played, "scssss");
    for (size_t i = 0; i < RANKS; i++) {
        played.starts[RANKS + i] = played.starts[i];
        played.starts[RANKS + i].communicator = 1;
        played.starts[RANKS + i].told.is_complete = i != 4;
        played.starts[i].order = 100;
    }
    played.job.start_count = 2 * RANKS;
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 4);
    assert_non_null(strstr(finding->evidence.data, ". 1 more communicator was being initialized"));
    findings_release(&played.findings);
}

/* A communicator that was created or used was no problem: lines of logs can be lost. */
static void what_accuses_nobody(void **state)
{
    struct played played;
    play(&played, "cccccc");
    assert_null(found(&played));
    play(&played, "ccc-cc");
    assert_null(found(&played));
    play(&played, "ccsccc");
    played.job.instance_count = CALLS;
    assert_null(found(&played));
    played.job.instance_count = CALLS - 1;
    assert_non_null(found(&played));
    findings_release(&played.findings);
    struct finding *missing = findings_add(&played.findings);
    assert_non_null(missing);
    missing->kind = FINDING_MISSING;
    missing->stops_job = 1;
    missing->confidence = CONFIDENCE_MEDIUM;
    assert_int_equal(find_unfinished_creations(&played.job, &played.findings), 0);
    assert_int_equal(played.findings.count, 1);
    findings_release(&played.findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_get_through_and_some_do_not),
        cmocka_unit_test(one_rank_never_came),
        cmocka_unit_test(one_of_the_ranks_elsewhere),
        cmocka_unit_test(several_communicators),
        cmocka_unit_test(what_accuses_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
