#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <string.h>

enum { RANKS = 8 };

/* Ranks 0 to 7, four on each of two hosts, and a communicator of all. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[2];
    struct job_start starts[2 * RANKS];
    struct findings findings;
};

static char host_a[] = "node0", host_b[] = "node1", label[] = "0-7";
static char names[RANKS][2] = {"0", "1", "2", "3", "4", "5", "6", "7"};

static void play(struct played *played, size_t count, const double *waits)
{
    *played = (struct played){.communicators = {{.size = (int64_t)count, .label = label},
                                                {.size = (int64_t)count, .label = label}}};
    played->job = (struct job){.ranks = played->ranks,
                               .rank_count = count,
                               .communicators = played->communicators,
                               .communicator_count = 2,
                               .starts = played->starts,
                               .start_count = count};
    for (size_t i = 0; i < count; i++) {
        played->ranks[i] = (struct job_rank){
            .name = names[i], .global_rank = (int64_t)i, .facts = {.host = i < RANKS / 2 ? host_a : host_b}};
        played->starts[i] =
            (struct job_start){.rank = (int32_t)i, .parent = -1, .function = -1, .told = START_UP_UNKNOWN};
        played->starts[i].told.is_complete = 1;
        played->starts[i].told.parts_ns[START_BOOTSTRAP] = (int64_t)(waits[i] * 1e9);
    }
}

/* The only finding; NULL if there is none. */
static const struct finding *found(struct played *played)
{
    job_judge_starts(&played->job);
    findings_release(&played->findings);
    assert_int_equal(find_late_starts(&played->job, &played->findings), 0);
    assert_true(played->findings.count < 2);
    return played->findings.count ? &played->findings.items[0] : NULL;
}

static void who_the_others_waited_for(void **state)
{
    struct played played;
    play(&played, RANKS, (const double[]){21.3, 21.4, 21.3, 21.5, 21.3, 21.3, 0.03, 21.4});
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->kind, FINDING_HOST);
    assert_int_equal(finding->rank, 6);
    assert_int_equal(finding->rank_count, 0);
    assert_int_equal(finding->peer_count, RANKS - 1);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_int_equal(finding->lost_ns, 21270000000);
    assert_quiet(&finding->rule_results, RULE_START_SCATTER);
    findings_release(&played.findings);
}

/* All ranks of a host are equally late: they are one unit. */
static void a_host_that_was_late(void **state)
{
    struct played played;
    play(&played, RANKS, (const double[]){14.1, 14.4, 14.3, 14.5, 0.9, 0.02, 0.5, 0.4});
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank_count, 4);
    assert_int_equal(finding->ranks[0], 4);
    assert_int_equal(finding->ranks[3], 7);
    assert_int_equal(finding->lost_ns, 13200000000);
    struct buffer text = BUFFER_INIT;
    assert_int_equal(finding_append(finding, &played.job, &text), 0);
    assert_int_equal(strncmp(text.data, "host node1 (ranks 4 to 7) ", 26), 0);
    assert_non_null(strstr(text.data, "; costs 13.2 s"));
    buffer_release(&text);
    findings_release(&played.findings);
}

/* One that arrived early waits for the rest of the job, which is not late because of that. */
static void one_that_was_early(void **state)
{
    struct played played;
    play(&played, RANKS, (const double[]){60, 0.1, 0.2, 0.3, 0.1, 0.2, 0.05, 0.1});
    assert_null(found(&played));
    /* With two ranks, it is clear which one waited. */
    play(&played, 2, (const double[]){60, 0.1});
    assert_non_null(found(&played));
    findings_release(&played.findings);
}

static void how_late_is_late(void **state)
{
    assert_limit(LIMIT_START_LATE, 3);
    struct played played;
    play(&played, RANKS, (const double[]){3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 0, 3.0});
    assert_non_null(found(&played));
    findings_release(&played.findings);
    play(&played, RANKS, (const double[]){2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 0, 2.9});
    assert_null(found(&played));
}

/* If all arrived far apart, the last one is late. */
static void one_of_many_that_came_apart(void **state)
{
    struct played played;
    play(&played, RANKS, (const double[]){20, 17, 15, 14, 13, 12, 0, 10.01});
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_quiet(&finding->rule_results, RULE_START_SCATTER);
    findings_release(&played.findings);
    play(&played, RANKS, (const double[]){20, 17, 15, 14, 13, 12, 0, 9.99});
    finding = found(&played);
    assert_non_null(finding);
    assert_speaks(&finding->rule_results, RULE_START_SCATTER);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
}

/* A later communicator may be late because of what delayed its rank before. */
static void only_what_a_rank_makes_first(void **state)
{
    static const double waits[] = {21.3, 21.4, 21.3, 21.5, 21.3, 21.3, 0.03, 21.4};
    struct played played;
    play(&played, RANKS, waits);
    for (size_t i = 0; i < RANKS; i++) {
        played.starts[i].order = 1;
        played.starts[RANKS + i] = played.starts[i];
        played.starts[RANKS + i].communicator = 1;
        played.starts[RANKS + i].order = 0;
        played.starts[RANKS + i].told.parts_ns[START_BOOTSTRAP] = 0;
    }
    played.job.start_count = 2 * RANKS;
    assert_null(found(&played));
    for (size_t i = 0; i < 2 * RANKS; i++)
        played.starts[i].order = !played.starts[i].order;
    assert_non_null(found(&played));
    findings_release(&played.findings);
}

static void says(struct played *played, const char *words)
{
    const struct finding *finding = found(played);
    assert_non_null(finding);
    if (!strstr(finding->evidence.data, words))
        fail_msg("%s", finding->evidence.data);
    findings_release(&played->findings);
}

/* Called later, or delayed by its own kernels. */
static void what_it_was_late_by(void **state)
{
    static const double waits[] = {21.3, 21.4, 21.3, 21.5, 21.3, 21.3, 0.03, 21.4};
    struct played played;
    play(&played, RANKS, waits);
    for (size_t i = 0; i < RANKS; i++) {
        played.starts[i].told.parts_ns[START_KERNELS] = 400000000;
        played.starts[i].told.total_ns = i == 6 ? 500000000 : 21800000000;
    }
    says(&played, "The call came 21.3 s later than on the other ranks");
    played.starts[6].told.total_ns = 21800000000;
    played.starts[6].told.parts_ns[START_KERNELS] = 21700000000;
    says(&played, "Loading NCCL's kernels took 21.3 s longer than on the other ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_the_others_waited_for),   cmocka_unit_test(a_host_that_was_late),
        cmocka_unit_test(one_that_was_early),          cmocka_unit_test(how_late_is_late),
        cmocka_unit_test(one_of_many_that_came_apart), cmocka_unit_test(only_what_a_rank_makes_first),
        cmocka_unit_test(what_it_was_late_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
