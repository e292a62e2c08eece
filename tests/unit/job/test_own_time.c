#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"
#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdlib.h>

/*
 * A rank whose AllReduce on one stream is over at 10 by the one channel with a stop. On another stream, an
 * operation before it ended at 5, and one after it began at 120. By its network steps the AllReduce took data
 * until `free_ns`; the next operation of its stream began at 500. Returns how long the rank was idle before
 * the other stream's operation.
 */
static int64_t idle_after(struct store *store, int64_t free_ns)
{
    enum { BEFORE, REDUCE, AFTER, NEXT, COUNT };
    static const int64_t times[COUNT][2] = {{0, 5}, {0, 10}, {120, 130}, {500, 510}};
    struct job job = {.store = store, .rank_count = 1, .operation_count = COUNT, .instance_count = COUNT};
    struct job_rank rank = {.count = COUNT, .clock_scale = 1};
    struct job_operation operations[COUNT];
    struct job_instance instances[COUNT];
    int32_t members[COUNT];
    struct error error = ERROR_INIT;
    job.drafts = (struct job_drafts){.issued_ns = calloc(COUNT, sizeof *job.drafts.issued_ns),
                                     .free_ns = calloc(COUNT, sizeof *job.drafts.free_ns),
                                     .noticed_ns = calloc(COUNT, sizeof *job.drafts.noticed_ns),
                                     .streams = calloc(COUNT, sizeof *job.drafts.streams),
                                     .stream_ids = calloc(3, sizeof *job.drafts.stream_ids)};
    assert_true(job.drafts.issued_ns && job.drafts.free_ns && job.drafts.noticed_ns && job.drafts.streams &&
                job.drafts.stream_ids);
    job.drafts.stream_ids[1] = 7;
    job.drafts.stream_ids[2] = 8;
    for (int i = 0; i < COUNT; i++) {
        operations[i] = (struct job_operation){.function = FUNCTION_ALL_REDUCE,
                                               .instance = i,
                                               .ends = ENDS_BY_KERNEL,
                                               .start_ns = times[i][0],
                                               .end_ns = times[i][1],
                                               .enqueued_ns = TIME_UNKNOWN,
                                               .incomplete = i == REDUCE};
        job.drafts.issued_ns[i] = i;
        job.drafts.free_ns[i] = times[i][1];
        job.drafts.streams[i] = i == REDUCE || i == NEXT ? 1 : 2;
        instances[i] = (struct job_instance){
            .function = FUNCTION_ALL_REDUCE, .members = 1, .expected = 1, .first_member = (uint32_t)i};
        members[i] = i;
    }
    job.drafts.free_ns[REDUCE] = free_ns;
    job.ranks = &rank;
    job.operations = operations;
    job.instances = instances;
    job.instance_members = members;
    assert_int_equal(job_build_timelines(&job, &error), 0);
    assert_null(job.drafts.free_ns);
    assert_null(job.drafts.streams);
    int64_t idle_ns = job_idle_time(&job, &operations[AFTER]);
    assert_int_equal(operations[REDUCE].end_ns, 10);
    free(job.holds);
    free(rank.delays_ns);
    return idle_ns;
}

/*
 * A stream that took data for most of the operation was occupied that long; less is the normal difference
 * between the ends of ranks.
 */
static void one_that_held_its_stream_counts_on_others(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(idle_after(store, 100), 20);
    assert_int_equal(idle_after(store, 20), 100);
    assert_int_equal(idle_after(store, 19), 110);
    /* Until after that one began, which is contradictory: then its recorded end counts. */
    assert_int_equal(idle_after(store, 121), 110);
    assert_int_equal(idle_after(store, 10), 110);
    store_close(store);
}

/*
 * Rounds of 1000 us: an AllReduce with kernel times, then a send and a receive of another communicator, which
 * were dumped at 300 and 400 and took 20 us and `received_us`. No streams are recorded. Returns the start of
 * the receive of the last round, from the begin of that round.
 */
static int64_t start_of_receive(struct store *store, int64_t received_us, int32_t *previous)
{
    enum { REDUCE, SEND, RECEIVE, EACH, ROUNDS = 8, COUNT = EACH * ROUNDS };
    struct job job = {.store = store, .rank_count = 1, .operation_count = COUNT, .instance_count = COUNT};
    struct job_rank rank = {.count = COUNT, .clock_scale = 1};
    struct job_operation operations[COUNT];
    struct job_instance instances[COUNT];
    int32_t members[COUNT];
    struct error error = ERROR_INIT;
    job.drafts = (struct job_drafts){.issued_ns = calloc(COUNT, sizeof *job.drafts.issued_ns),
                                     .free_ns = calloc(COUNT, sizeof *job.drafts.free_ns),
                                     .noticed_ns = calloc(COUNT, sizeof *job.drafts.noticed_ns),
                                     .stamps_ns = calloc(COUNT, sizeof *job.drafts.stamps_ns),
                                     .durations_ns = calloc(COUNT, sizeof *job.drafts.durations_ns)};
    assert_true(job.drafts.issued_ns && job.drafts.free_ns && job.drafts.noticed_ns && job.drafts.stamps_ns &&
                job.drafts.durations_ns);
    for (int i = 0; i < COUNT; i++) {
        static const enum function functions[EACH] = {FUNCTION_ALL_REDUCE, FUNCTION_SEND, FUNCTION_RECV};
        static const int64_t stamps_us[EACH] = {0, 300, 400};
        int kind = i % EACH;
        int64_t base_ns = (int64_t)(i / EACH) * 1000000;
        int is_timed = kind == REDUCE;
        operations[i] = (struct job_operation){.function = functions[kind],
                                               .communicator = !is_timed,
                                               .instance = i,
                                               .step = i / EACH / 2,
                                               .ends = ENDS_BY_KERNEL,
                                               .start_ns = is_timed ? base_ns + 100000 : TIME_UNKNOWN,
                                               .end_ns = is_timed ? base_ns + 150000 : TIME_UNKNOWN,
                                               .enqueued_ns = TIME_UNKNOWN};
        job.drafts.issued_ns[i] = i;
        job.drafts.free_ns[i] = operations[i].end_ns;
        job.drafts.stamps_ns[i] = is_timed ? TIME_UNKNOWN : base_ns + stamps_us[kind] * 1000;
        job.drafts.durations_ns[i] = (kind == RECEIVE ? received_us : kind == SEND ? 20 : 50) * 1000;
        instances[i] = (struct job_instance){
            .function = functions[kind], .members = 1, .expected = 1, .first_member = (uint32_t)i};
        members[i] = i;
    }
    job.ranks = &rank;
    job.operations = operations;
    job.instances = instances;
    job.instance_members = members;
    assert_int_equal(job_build_timelines(&job, &error), 0);
    int at = COUNT - EACH + RECEIVE;
    *previous = operations[at].previous - at;
    free(job.holds);
    free(rank.delays_ns);
    return operations[at].start_ns / 1000 - (ROUNDS - 1) * 1000;
}

/* What had begun long before the send was over is on another stream, and is not moved behind it. */
static void receives_that_overlap_with_sends_have_their_own_stream(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    int32_t previous;
    assert_int_equal(start_of_receive(store, 600, &previous), -200);
    assert_int_equal(previous, -3);
    assert_int_equal(start_of_receive(store, 80, &previous), 320);
    assert_int_equal(previous, -1);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(receives_that_overlap_with_sends_have_their_own_stream,
                                        store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(one_that_held_its_stream_counts_on_others, store_file_setup,
                                        store_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
