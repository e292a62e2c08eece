#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"

/*
 * A send of rank 0 and its receive by rank 1, which began at 1000 and ended at 1200, with the end source
 * `ends`.
 */
static int64_t received_ns(enum function function, enum end_kind ends, int64_t end_ns, int is_grouped,
                           int incomplete)
{
    int32_t members[] = {0, 1};
    struct job_operation operations[] = {
        {.function = FUNCTION_SEND, .start_ns = 100, .end_ns = 900, .group = 0},
        {.function = FUNCTION_RECV,
         .rank = 1,
         .start_ns = 1000,
         .end_ns = end_ns,
         .ends = ends,
         .incomplete = incomplete & 1,
         .group = 1},
        {.function = FUNCTION_SEND, .rank = 1, .group = is_grouped ? 1 : 2}};
    struct job_instance instance = {.function = function, .members = 2};
    struct job job = {.operations = operations, .operation_count = 3, .instance_members = members};
    return job_received_ns(&job, &instance);
}

/* How long the receiver was there, however long its sender waited for it. */
static void how_long_a_receive_lasted(void **state)
{
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 0, 0), 200);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_PROXY, 1200, 0, 0), 200);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_HOST, 1200, 0, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, TIME_UNKNOWN, 0, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 1, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 0, 1), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_PROXY, 1200, 0, 1), 200);
    assert_int_equal(received_ns(FUNCTION_ALL_REDUCE, ENDS_BY_KERNEL, 1200, 0, 0), INT64_MAX);
}

/*
 * Three ranks send to each other in one call. Rank 2 arrives at 3000, and the transfers take 400 from then
 * on. `stops` has the stops of rank 0's kernel for the data from rank 1 and from rank 2.
 */
enum { RANKS = 3, PAIRS = RANKS * (RANKS - 1), LATE_NS = 3000, TOOK_NS = 400 };

struct exchange {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[2 * PAIRS];
    struct job_instance instances[PAIRS];
    int32_t members[2 * PAIRS];
};

static void call(struct exchange *exchange, int64_t from_1_ns, int is_aligned)
{
    *exchange = (struct exchange){
        .job = {.rank_count = RANKS, .operation_count = 2 * PAIRS, .instance_count = PAIRS}};
    exchange->job.ranks = exchange->ranks;
    exchange->job.operations = exchange->operations;
    exchange->job.instances = exchange->instances;
    exchange->job.instance_members = exchange->members;
    for (int32_t i = 0, at = 0; i < RANKS; i++) {
        exchange->ranks[i] = (struct job_rank){.clock_scale = 1,
                                               .clock_method = is_aligned ? CLOCK_SHARED : CLOCK_NONE,
                                               .clock = is_aligned ? 0 : i,
                                               .clock_uncertainty_ns = is_aligned ? 0 : LATE_NS};
        for (int32_t peer = 0, group = at; peer < RANKS; peer++)
            for (int is_receive = 0; peer != i && is_receive < 2; is_receive++, at++) {
                int32_t sender = is_receive ? peer : i, receiver = is_receive ? i : peer;
                int32_t instance = sender * (RANKS - 1) + receiver - (receiver > sender);
                exchange->operations[at] =
                    (struct job_operation){.rank = i,
                                           .function = is_receive ? FUNCTION_RECV : FUNCTION_SEND,
                                           .group = group,
                                           .instance = instance,
                                           .ends = ENDS_BY_KERNEL,
                                           .start_ns = i == 2 ? LATE_NS : 10,
                                           .end_ns = i == 0 && peer == 1 ? from_1_ns : LATE_NS + TOOK_NS};
                exchange->instances[instance] = (struct job_instance){.function = FUNCTION_SEND,
                                                                      .members = 2,
                                                                      .expected = 2,
                                                                      .first_member = 2 * (uint32_t)instance,
                                                                      .transfer_ns = LATE_NS + TOOK_NS - 10};
                exchange->members[2 * instance + is_receive] = at;
            }
    }
}

static int64_t transfer_from_1_to_0(int64_t end_ns, int is_aligned)
{
    struct exchange exchange;
    call(&exchange, end_ns, is_aligned);
    assert_int_equal(job_measure_pairs(&exchange.job), 0);
    return exchange.instances[RANKS - 1].transfer_ns;
}

/* One stop for all shows when the last had arrived; separate stops show it for each pair. */
static void a_stop_that_several_pairs_share(void **state)
{
    assert_int_equal(transfer_from_1_to_0(LATE_NS + TOOK_NS, 1), TOOK_NS);
    assert_int_equal(transfer_from_1_to_0(LATE_NS + TOOK_NS + 32, 1), TOOK_NS + 32);
    assert_int_equal(transfer_from_1_to_0(2 * LATE_NS, 1), LATE_NS + TOOK_NS - 10 + (LATE_NS - TOOK_NS));
    /* If clocks do not show it, it took no longer than the shortest stay. */
    assert_int_equal(transfer_from_1_to_0(LATE_NS + TOOK_NS, 0), TOOK_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_that_several_pairs_share),
        cmocka_unit_test(how_long_a_receive_lasted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
