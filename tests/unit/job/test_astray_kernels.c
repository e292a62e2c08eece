#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * A rank with two communicators, on which it calls in turn every millisecond. Each kernel begins half a
 * millisecond later, except those of the first communicator, which begin `early_ns` before their call.
 */
enum { OPERATIONS = 200, EACH_NS = 1000000, BEGIN_NS = 500000 };

struct recorded {
    struct job job;
    struct job_rank rank;
    struct job_communicator communicators[2];
    struct job_operation operations[OPERATIONS];
};

static void record(struct recorded *recorded, int64_t early_ns, int early_count)
{
    *recorded = (struct recorded){.rank = {.count = OPERATIONS}};
    recorded->job = (struct job){.ranks = &recorded->rank,
                                 .rank_count = 1,
                                 .communicators = recorded->communicators,
                                 .communicator_count = 2,
                                 .operations = recorded->operations,
                                 .operation_count = OPERATIONS,
                                 .timed_operations = OPERATIONS};
    struct job_drafts *drafts = &recorded->job.drafts;
    drafts->issued_ns = calloc(OPERATIONS, sizeof *drafts->issued_ns);
    drafts->free_ns = calloc(OPERATIONS, sizeof *drafts->free_ns);
    drafts->noticed_ns = calloc(OPERATIONS, sizeof *drafts->noticed_ns);
    assert_true(drafts->issued_ns && drafts->free_ns && drafts->noticed_ns);
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t issued_ns = (int64_t)(i + 1) * EACH_NS;
        int is_early = i % 2 == 0 && i / 2 < early_count;
        drafts->issued_ns[i] = issued_ns;
        recorded->operations[i] =
            (struct job_operation){.communicator = i % 2,
                                   .start_ns = issued_ns + BEGIN_NS - (is_early ? early_ns : 0),
                                   .end_ns = issued_ns + BEGIN_NS + 1000,
                                   .ends = ENDS_BY_KERNEL};
    }
}

/* How many operations of a communicator have kept their times. */
static int64_t timed(const struct recorded *recorded, int32_t communicator)
{
    int64_t count = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        const struct job_operation *operation = &recorded->operations[i];
        assert_int_equal(operation->start_ns == TIME_UNKNOWN, operation->end_ns == TIME_UNKNOWN);
        assert_int_equal(operation->start_ns == TIME_UNKNOWN, operation->ends == ENDS_UNKNOWN);
        count += operation->communicator == communicator && operation->start_ns != TIME_UNKNOWN;
    }
    return count;
}

static int64_t timed_after(int64_t early_ns, int early_count)
{
    struct recorded recorded;
    record(&recorded, early_ns, early_count);
    assert_int_equal(job_remove_misattributed_kernels(&recorded.job), 0);
    int64_t count = timed(&recorded, 0);
    assert_int_equal(timed(&recorded, 1), OPERATIONS / 2);
    assert_int_equal(recorded.job.timed_operations, OPERATIONS / 2 + count);
    assert_int_equal(recorded.job.misattributed_kernels, count ? 0 : MISATTRIBUTED_IMPOSSIBLE);
    job_drafts_release(&recorded.job.drafts);
    return count;
}

/*
 * If a part began before its call, all operations of the communicator lose their times; the other one has its
 * own count.
 */
static void kernels_that_begin_before_their_call(void **state)
{
    assert_int_equal(timed_after(EACH_NS + BEGIN_NS, OPERATIONS / 2), 0);
    assert_int_equal(timed_after(EACH_NS + BEGIN_NS, OPERATIONS / 2 / 10), 0);
}

/* A few may be launches that were recorded late; and a little early is within the error of the clocks. */
static void what_clocks_and_hosts_do(void **state)
{
    assert_int_equal(timed_after(EACH_NS + BEGIN_NS, 2), OPERATIONS / 2);
    assert_int_equal(timed_after(EACH_NS + BEGIN_NS, OPERATIONS / 2 / 10 - 1), OPERATIONS / 2);
    assert_int_equal(timed_after(BEGIN_NS + 140000, OPERATIONS / 2), OPERATIONS / 2);
    assert_int_equal(timed_after(BEGIN_NS, OPERATIONS / 2), OPERATIONS / 2);
    assert_int_equal(timed_after(0, 0), OPERATIONS / 2);
}

/* One of two ranks has them: the clock of its process jumped. */
static void a_clock_that_jumps(void **state)
{
    struct recorded recorded;
    struct job_rank ranks[2];
    record(&recorded, EACH_NS + BEGIN_NS, OPERATIONS / 2);
    recorded.job.ranks = ranks;
    recorded.job.rank_count = 2;
    ranks[0] = (struct job_rank){.count = OPERATIONS / 2};
    ranks[1] = (struct job_rank){.first = OPERATIONS / 2, .count = OPERATIONS / 2};
    for (int i = OPERATIONS / 2; i < OPERATIONS; i++) {
        recorded.operations[i].rank = 1;
        recorded.operations[i].start_ns = recorded.job.drafts.issued_ns[i] + BEGIN_NS;
    }
    assert_int_equal(job_remove_misattributed_kernels(&recorded.job), 0);
    assert_int_equal(recorded.job.timed_operations, OPERATIONS);
    job_drafts_release(&recorded.job.drafts);
}

/* On the host's clock alone, so many begin too early that the others are not trusted either. */
static void kernels_that_begin_before_by_the_host(void **state)
{
    static const struct {
        int64_t before;
        int is_believed;
    } all[] = {{0, 1}, {2, 1}, {OPERATIONS / 10 - 1, 1}, {OPERATIONS / 10, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct recorded recorded;
        record(&recorded, 0, 0);
        recorded.job.kernels_before = all[i].before;
        assert_int_equal(job_remove_misattributed_kernels(&recorded.job), 0);
        assert_int_equal(timed(&recorded, 0) + timed(&recorded, 1), all[i].is_believed ? OPERATIONS : 0);
        job_drafts_release(&recorded.job.drafts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_begin_before_their_call),
        cmocka_unit_test(what_clocks_and_hosts_do),
        cmocka_unit_test(a_clock_that_jumps),
        cmocka_unit_test(kernels_that_begin_before_by_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
