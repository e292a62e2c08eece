#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/seats.h"

#include <stdlib.h>

/*
 * Collectives on the communicator of all ranks, as Flight Recorder lists them. One letter per rank: 'w'
 * called the last one and waits in it, 'i' did not call it, 'd' has finished it, '-' left no record. Each of
 * the others has an earlier one that has ended.
 */
struct made_job {
    struct job job;
    struct job_communicator communicator;
    struct job_instance instances[2];
};

static void add_operation(struct made_job *made, int32_t rank, int64_t number, int unfinished,
                          int64_t called_ns)
{
    struct job *job = &made->job;
    struct job_rank *of = &job->ranks[rank];
    if (of->count++ == 0)
        of->first = job->operation_count;
    job->calls[job->operation_count] = (struct job_call){.number = number, .peer = -1, .own_rank = rank};
    job->operations[job->operation_count++] = (struct job_operation){.rank = rank,
                                                                     .kind = OPERATION_COLLECTIVE,
                                                                     .function = FUNCTION_BROADCAST,
                                                                     .unfinished = unfinished != 0,
                                                                     .instance = (int32_t)number,
                                                                     .enqueued_ns = called_ns};
}

static void make(struct made_job *made, const char *letters, size_t count)
{
    struct job *job = &made->job;
    *made = (struct made_job){.communicator = {.size = (int64_t)count, .silent = -1}};
    *job = (struct job){.rank_count = count,
                        .ranks = calloc(count, sizeof *job->ranks),
                        .operations = calloc(count * 2, sizeof *job->operations),
                        .calls = calloc(count * 2, sizeof *job->calls),
                        .communicators = &made->communicator,
                        .communicator_count = 1,
                        .instances = made->instances,
                        .instance_count = 2,
                        .expected_ranks = (int64_t)count};
    assert_non_null(job->ranks);
    assert_non_null(job->operations);
    assert_non_null(job->calls);
    for (size_t i = 0; i < count; i++) {
        job->ranks[i] =
            (struct job_rank){.global_rank = (int64_t)i, .process_id = letters[i] == '-' ? -1 : 0};
        if (letters[i] == '-')
            continue;
        assert_int_equal(communicator_set_member(&made->communicator, (int64_t)i, (int32_t)i), 0);
        add_operation(made, (int32_t)i, 0, 0, 100 + (int64_t)i);
        if (letters[i] != 'i')
            add_operation(made, (int32_t)i, 1, letters[i] == 'w', 1000 - (int64_t)i);
    }
    seat_silent_ranks(job);
}

static void made_release(struct made_job *made)
{
    free(made->communicator.member_list);
    free(made->job.ranks);
    free(made->job.operations);
    free(made->job.calls);
}

static void who_is_with_whom(void **state)
{
    struct made_job made;
    struct wait_graph graph;
    make(&made, "wiwd-w", 6);
    /*
     * The record of rank 4 is lost, and nothing shows which communicators it is in except that of all ranks.
     */
    assert_int_equal(wait_graph_init(&graph, &made.job), 0);
    assert_int_equal(graph.call_count, 1);
    for (int32_t rank = 0; rank < 6; rank += rank == 2 ? 3 : 2) {
        const struct waiter *waiter = &graph.waiters[rank];
        assert_int_equal(waiter->with, 2); /* of three waiting ranks, the others */
        assert_int_equal(waiter->done, 1);
        assert_int_equal(waiter->count, 2); /* for ranks 1 and 4 */
        assert_true(waiter->is_sure);       /* of rank 1 */
    }
    assert_int_equal(graph.waiters[1].operation, -1);
    assert_int_equal(graph.wait_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct wait *wait = &graph.waits[i];
        assert_int_equal(wait_is_sure(&graph, wait, 0), wait->to == 1);
        assert_int_equal(graph.waits_for[wait->to], i);
        assert_int_equal(wait_operation(&graph, wait, 5), graph.waiters[5].operation);
    }
    wait_graph_release(&graph);
    made_release(&made);
}

static void who_called_first(void **state)
{
    struct made_job made;
    struct wait_graph graph;
    make(&made, "wwiw", 4);
    assert_int_equal(wait_graph_init(&graph, &made.job), 0);
    const struct wait_party *party = wait_party_of(&graph, graph.waiters[0].call, 1);
    assert_non_null(party);
    assert_int_equal(party->count, 3);
    assert_int_equal(party->earliest, 3); /* later ranks call earlier */
    assert_null(wait_party_of(&graph, 0, 0));
    wait_graph_release(&graph);
    made_release(&made);
}

/* The cost is that of the waiting ranks plus that of the ranks waited for, not their product. */
static void no_larger_than_its_calls(void **state)
{
    enum { WAITING = 3000, IDLE = 3000, ALL = WAITING + IDLE };
    char *letters = malloc(ALL);
    struct made_job made;
    struct wait_graph graph;
    assert_non_null(letters);
    for (size_t i = 0; i < ALL; i++)
        letters[i] = i % 2 ? 'i' : 'w';
    make(&made, letters, ALL);
    assert_int_equal(wait_graph_init(&graph, &made.job), 0);
    assert_false(graph.is_cut);
    assert_int_equal(graph.call_count, 1);
    assert_int_equal(graph.party_count, 1);
    assert_int_equal(graph.wait_count, IDLE);
    assert_int_equal(graph.waiters[0].count, IDLE);
    assert_int_equal(graph.waiters[ALL - 2].count, IDLE);
    wait_graph_release(&graph);
    made_release(&made);
    free(letters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_with_whom),
        cmocka_unit_test(who_called_first),
        cmocka_unit_test(no_larger_than_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
