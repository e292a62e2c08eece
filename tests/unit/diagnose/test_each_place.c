#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/*
 * Six ranks of one role with forty AllReduces per step, each of another size. Before each a rank computes for
 * 1000 and up to 60 more; from step 14 on the host of rank 2 enqueues every fifth call late.
 */
enum { RANKS = 6, STEPS = 20, EACH = 40, INSTANCES = STEPS * EACH, OPERATIONS = RANKS * INSTANCES };

struct wide {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator world;
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[OPERATIONS];
};

static int64_t late_ns(int rank, int number)
{
    return rank == 2 && number / EACH >= 14 && number % 5 == 0 ? 700 : 0;
}

static int64_t own_ns(int rank, int number)
{
    uint64_t random = (uint64_t)(rank * INSTANCES + number + 1) * 6364136223846793005u + 1442695040888963407u;
    return 1000 + (int64_t)((random ^ random >> 31) * 6364136223846793005u >> 33) % 61 +
           late_ns(rank, number);
}

static void put(struct wide *wide, int rank, int number, int64_t free_ns, int64_t end_ns)
{
    int32_t at = rank * INSTANCES + number;
    wide->members[number * RANKS + rank] = at;
    wide->operations[at] = (struct job_operation){
        .rank = rank,
        .instance = number,
        .step = number / EACH,
        .tag = -1,
        .bytes = 1024 * (1 + number % EACH),
        .function = FUNCTION_ALL_REDUCE,
        .previous = number ? at - 1 : -1,
        .group = at,
        .start_ns = free_ns + own_ns(rank, number),
        .end_ns = end_ns,
        .enqueued_ns = free_ns + (late_ns(rank, number) ? own_ns(rank, number) : 0) - 5,
        .own_ns = number ? own_ns(rank, number) : TIME_UNKNOWN,
        .ends = ENDS_BY_KERNEL};
}

static void wide_init(struct wide *wide, size_t threads)
{
    struct error error = ERROR_INIT;
    int64_t free_ns = 0;
    memset(wide, 0, sizeof *wide);
    for (int number = 0; number < INSTANCES; number++) {
        int64_t latest_ns = 0;
        for (int rank = 0; rank < RANKS; rank++)
            latest_ns = own_ns(rank, number) > latest_ns ? own_ns(rank, number) : latest_ns;
        int64_t end_ns = free_ns + latest_ns + 300;
        for (int rank = 0; rank < RANKS; rank++)
            put(wide, rank, number, free_ns, end_ns);
        wide->instances[number] = (struct job_instance){.sequence = number,
                                                        .transfer_ns = 300,
                                                        .sender = -1,
                                                        .receiver = -1,
                                                        .step = number / EACH,
                                                        .tag = -1,
                                                        .members = RANKS,
                                                        .expected = RANKS,
                                                        .first_member = (uint32_t)(number * RANKS),
                                                        .function = FUNCTION_ALL_REDUCE};
        free_ns = end_ns;
    }
    wide->world = (struct job_communicator){.size = RANKS, .hash = 1, .is_whole = 1, .silent = -1};
    for (int rank = 0; rank < RANKS; rank++)
        wide->ranks[rank] = (struct job_rank){.first = (size_t)(rank * INSTANCES), .count = INSTANCES};
    wide->job = (struct job){.threads = threads,
                             .rank_count = RANKS,
                             .ranks = wide->ranks,
                             .communicator_count = 1,
                             .communicators = &wide->world,
                             .operation_count = OPERATIONS,
                             .operations = wide->operations,
                             .instance_count = INSTANCES,
                             .instances = wide->instances,
                             .instance_members = wide->members,
                             .step_count = STEPS,
                             .timed_operations = OPERATIONS};
    assert_int_equal(job_index_steps(&wide->job, &error), 0);
}

static void wide_release(struct wide *wide)
{
    free(wide->job.operations_of_step);
    free(wide->job.by_step);
    free(wide->job.step_end);
    free(wide);
}

static struct wide *wide_new(size_t threads)
{
    struct wide *wide = array_new(1, sizeof *wide);
    assert_non_null(wide);
    wide_init(wide, threads);
    return wide;
}

static void init_baseline(struct baseline *baseline, const struct wide *wide)
{
    struct error error = ERROR_INIT;
    const struct baseline_options options = {.sigmas = 6};
    assert_int_equal(baseline_init(baseline, &wide->job, &options, &error), 0);
    assert_int_equal(baseline->role_count, 1);
    assert_int_equal(baseline->roles[0].length, EACH);
}

static void check_alike(const struct baseline *one, const struct baseline *several)
{
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct excess mine = excess_list_get(&one->excess, i), theirs = excess_list_get(&several->excess, i);
        assert_true(mine.beyond_ns == theirs.beyond_ns && mine.excess_ns == theirs.excess_ns);
    }
    assert_int_equal(one->excess.count, several->excess.count);
    assert_memory_equal(one->hidden, several->hidden, OPERATIONS * sizeof *one->hidden);
    assert_memory_equal(one->late_ns, several->late_ns, RANKS * STEPS * sizeof *one->late_ns);
    assert_memory_equal(one->roles[0].limits, several->roles[0].limits, EACH * sizeof *one->roles[0].limits);
}

/* Only the host of rank 2 is late, by 700 at eight of the forty calls of a step. */
static void what_is_usual_does_not_depend_on_threads(void **state)
{
    (void)state;
    struct wide *alone = wide_new(1);
    struct baseline one;
    init_baseline(&one, alone);
    assert_true(one.excess.count > 0);
    assert_true(one.late_ns[2 * STEPS + 16] > 8 * 600 && one.late_ns[3 * STEPS + 16] < 8 * 60);
    for (size_t threads = 2; threads <= 5; threads++) {
        struct wide *wide = wide_new(threads);
        struct baseline several;
        init_baseline(&several, wide);
        check_alike(&one, &several);
        baseline_release(&several);
        wide_release(wide);
    }
    baseline_release(&one);
    wide_release(alone);
}

static void count_visit(void *context, size_t worker, size_t role, int32_t position)
{
    int(*visits)[EACH] = context;
    (void)worker;
    visits[role][position]++;
}

/* Roles of 3, none, 40 and 1 places. */
static void each_place_is_gone_to_once(void **state)
{
    (void)state;
    struct role roles[] = {{.length = 3, .rank_count = 2},
                           {.length = 0, .rank_count = 9},
                           {.length = EACH, .rank_count = 4},
                           {.length = 1, .rank_count = 1}};
    const struct baseline baseline = {.roles = roles, .role_count = 4};
    assert_int_equal(each_place_ranks(&baseline), 9);
    for (size_t threads = 1; threads <= 4; threads++) {
        int visits[4][EACH] = {{0}};
        assert_int_equal(each_place(&baseline, threads, count_visit, visits), 0);
        for (size_t role = 0; role < 4; role++)
            for (int32_t position = 0; position < EACH; position++)
                assert_int_equal(visits[role][position], position < roles[role].length);
    }
}

/* Eight places are enough work for a thread, in a job with enough work for several. */
static void few_places_are_for_one(void **state)
{
    (void)state;
    struct role role = {.length = 15, .rank_count = 2};
    const struct baseline baseline = {.roles = &role, .role_count = 1};
    const struct job great = {.threads = 8, .operation_count = 1000000},
                     small = {.threads = 8, .operation_count = 100};
    assert_int_equal(each_place_threads(&baseline, &great), 1);
    role.length = 24;
    assert_int_equal(each_place_threads(&baseline, &great), 3);
    assert_int_equal(each_place_threads(&baseline, &small), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_usual_does_not_depend_on_threads),
        cmocka_unit_test(each_place_is_gone_to_once),
        cmocka_unit_test(few_places_are_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
