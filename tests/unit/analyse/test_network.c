#include "analyse/edges.h"
#include "analyse/finding.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * One AllReduce of four ranks by a ring, in step 2 of four, and what each edge waited beyond the usual. Who
 * is to blame, -1 nobody.
 */
enum { RANKS = 4 };

/* `joined` of the ranks began it; it ended at 5000, or never where that is TIME_UNKNOWN. */
static int32_t culprit_where(const int64_t extra_ns[RANKS], int32_t joined, int64_t end_ns)
{
    struct job_operation operations[RANKS];
    int32_t members[RANKS];
    struct edge items[RANKS];
    size_t first[2] = {0, RANKS};
    struct job_instance instance = {.function = FUNCTION_ALL_REDUCE,
                                    .members = joined,
                                    .expected = RANKS,
                                    .transfer_ns = end_ns,
                                    .beyond_ns = TIME_UNKNOWN,
                                    .culprit = -1,
                                    .step = 2};
    for (int32_t i = 0; i < RANKS; i++) {
        members[i] = i;
        operations[i] = (struct job_operation){.rank = i, .step = 2, .start_ns = 0, .end_ns = end_ns};
        items[i] = (struct edge){.sender = i,
                                 .receiver = (i + 1) % RANKS,
                                 .wait_ns = extra_ns[i] + 10,
                                 .extra_ns = extra_ns[i],
                                 .busy_ns = extra_ns[i] + 10,
                                 .over_ns = extra_ns[i],
                                 .step = 2};
    }
    struct job job = {.rank_count = RANKS,
                      .operations = operations,
                      .operation_count = RANKS,
                      .instances = &instance,
                      .instance_count = 1,
                      .instance_members = members,
                      .step_count = 4};
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&job, &error), 0);
    struct edges edges = {.items = items, .count = RANKS, .first = first};
    struct baseline baseline = {.step_count = 4, .first_step = 1, .median_step_ns = 10000};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct suspects suspects = {0};
    assert_int_equal(suspect_network(&suspects, &job, &baseline, &edges, &options, &error), 0);
    free(suspects.items);
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return instance.culprit;
}

static int32_t culprit_of(const int64_t extra_ns[RANKS])
{
    return culprit_where(extra_ns, RANKS, 5000);
}

static void one_slow_edge_is_its_senders(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 0}), 1);
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 1900}), 1);
}

/* Rank 2 neither takes from rank 1 nor sends to rank 3: together that is all there is, each alone is half. */
static void a_rank_that_stands_still_is_between_its_edges(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){0, 3900, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){4000, 0, 0, 4000}), 0);
}

/* Edges with nothing in common, or three in a row that two ranks explain alike, are nobody's. */
static void else_nobody(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){4000, 4000, 4000, 4000}), -1);
}

/* Rank 2 sends to who never came. That is no slow link, unless others went on without it, or it ended. */
static void sends_to_who_never_came(void **state)
{
    const int64_t extra_ns[] = {0, 0, 4000, 0};
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, TIME_UNKNOWN), -1);
    assert_int_equal(culprit_where(extra_ns, RANKS, TIME_UNKNOWN), 2);
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, 5000), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slow_edge_is_its_senders),
        cmocka_unit_test(a_rank_that_stands_still_is_between_its_edges),
        cmocka_unit_test(else_nobody),
        cmocka_unit_test(sends_to_who_never_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
