#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Four ranks of one role with finished operations only. In each step an AllReduce and an AllGather of all
 * ranks, then a ReduceScatter and an AllReduce of ranks 0 and 3, and of 1 and 2.
 */
enum { RANKS = 4, LENGTH = 4, STEPS = 4, COMMUNICATORS = 3, PER_RANK = LENGTH * STEPS };

static const uint8_t FUNCTIONS[LENGTH] = {FUNCTION_ALL_REDUCE, FUNCTION_ALL_GATHER, FUNCTION_REDUCE_SCATTER,
                                          FUNCTION_ALL_REDUCE};

struct stopped {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[COMMUNICATORS];
    struct job_operation operations[RANKS * PER_RANK];
    int32_t positions[RANKS * PER_RANK];
    struct job_instance instances[PER_RANK * COMMUNICATORS];
    struct baseline baseline;
    struct role role;
    int32_t role_ranks[RANKS];
    int32_t role_of_rank[RANKS];
    int32_t rank_in_role[RANKS];
    int32_t cells[RANKS * PER_RANK];
    int32_t *cells_of_role;
};

static int32_t communicator_of(int32_t rank, int32_t position)
{
    return position < 2 ? 0 : rank == 0 || rank == 3 ? 1 : 2;
}

/* The operations of a rank up to a place; the instances are those that some rank finished. */
static void finish(struct stopped *stopped, int32_t rank, int32_t count)
{
    struct job *job = &stopped->job;
    stopped->ranks[rank] = (struct job_rank){.first = job->operation_count, .count = (size_t)count};
    for (int32_t i = 0; i < count; i++) {
        int32_t step = i / LENGTH, position = i % LENGTH, communicator = communicator_of(rank, position);
        int32_t instance = i * COMMUNICATORS + communicator, at = (int32_t)job->operation_count++;
        stopped->instances[instance] = (struct job_instance){
            .communicator = communicator, .function = FUNCTIONS[position], .sequence = step, .step = step};
        stopped->operations[at] = (struct job_operation){.rank = rank,
                                                         .communicator = communicator,
                                                         .function = FUNCTIONS[position],
                                                         .instance = instance,
                                                         .step = step,
                                                         .previous = i ? at - 1 : -1,
                                                         .tag = -1,
                                                         .start_ns = TIME_UNKNOWN,
                                                         .end_ns = TIME_UNKNOWN};
        stopped->positions[at] = position;
        stopped->cells[(position * RANKS + rank) * STEPS + step] = at;
    }
}

static void seat_all(struct stopped *stopped)
{
    static char label[] = "c";
    for (int i = 0; i < COMMUNICATORS; i++)
        stopped->communicators[i] = (struct job_communicator){.size = i ? 2 : RANKS, .label = label};
    for (int32_t rank = 0; rank < RANKS; rank++)
        for (int32_t position = 1; position < LENGTH - 1; position++) {
            struct job_communicator *communicator = &stopped->communicators[communicator_of(rank, position)];
            assert_int_equal(
                communicator_set_member(communicator, (int64_t)communicator->member_list_count, rank), 0);
        }
}

static void stopped_init(struct stopped *stopped, const int32_t finished[RANKS])
{
    *stopped = (struct stopped){.job = {.rank_count = RANKS,
                                        .communicator_count = COMMUNICATORS,
                                        .step_count = STEPS,
                                        .finished_only = 1,
                                        .timed_operations = 1}};
    stopped->job.ranks = stopped->ranks;
    stopped->job.communicators = stopped->communicators;
    stopped->job.operations = stopped->operations;
    stopped->job.instances = stopped->instances;
    stopped->job.instance_count = PER_RANK * COMMUNICATORS;
    for (int i = 0; i < PER_RANK * COMMUNICATORS; i++)
        stopped->instances[i].function = FUNCTION_SEND;
    for (int i = 0; i < RANKS * PER_RANK; i++)
        stopped->cells[i] = -1;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        stopped->role_ranks[rank] = stopped->rank_in_role[rank] = rank;
        finish(stopped, rank, finished[rank]);
    }
    stopped->role = (struct role){.ranks = stopped->role_ranks, .rank_count = RANKS, .length = LENGTH};
    stopped->cells_of_role = stopped->cells;
    stopped->baseline = (struct baseline){.positions = stopped->positions,
                                          .roles = &stopped->role,
                                          .role_count = 1,
                                          .rank_count = RANKS,
                                          .role_of_rank = stopped->role_of_rank,
                                          .rank_in_role = stopped->rank_in_role,
                                          .step_count = STEPS,
                                          .cells = &stopped->cells_of_role,
                                          .regular = 1};
    seat_all(stopped);
}

/*
 * `expected`: for each finding its kind, rank, confidence and step. The evidence of the first is returned in
 * `text`.
 */
static void check_found(struct stopped *stopped, const char *expected, char *text, size_t size)
{
    struct findings findings = {0};
    struct error error = ERROR_INIT;
    char found[256] = "";
    size_t used = 0;
    assert_int_equal(find_laggards(&stopped->job, &stopped->baseline, &findings, &error), 0);
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        used += (size_t)snprintf(found + used, sizeof found - used, "%s %d", finding_kind_name(finding->kind),
                                 (int)finding->rank);
        for (size_t j = 1; j < finding->candidate_count; j++)
            used += (size_t)snprintf(found + used, sizeof found - used, "/%d", (int)finding->candidates[j]);
        used += (size_t)snprintf(found + used, sizeof found - used, " %s %d ",
                                 confidence_name(finding->confidence), (int)finding->first_step);
        assert_true(finding->stops_job);
    }
    assert_string_equal(found, expected);
    if (text)
        snprintf(text, size, "%s", findings.items[0].evidence.data);
    findings_release(&findings);
    for (int i = 0; i < COMMUNICATORS; i++)
        free(stopped->communicators[i].member_list);
}

/* Up to which place each rank has records, over all steps. */
static void check(int32_t zero, int32_t one, int32_t two, int32_t three, const char *expected)
{
    struct stopped stopped;
    stopped_init(&stopped, (const int32_t[]){zero, one, two, three});
    check_found(&stopped, expected, NULL, 0);
}

/* Ranks 0 and 3 finished three steps, 1 and 2 nothing of their own in the third. */
static const char EITHER[] = "missing 1/2 low 2 ";

static void who_never_came_or_waits(void **state)
{
    check(12, 10, 10, 12, EITHER);
    check(12, 12, 12, 12, "");
}

/* The AllGather of the third step finished with rank 1, which has no record of it. */
static void who_alone_lost_the_end_of_its_record(void **state)
{
    check(12, 9, 10, 12, "ended_early 1 medium 2 ");
    check(12, 8, 10, 12, "ended_early 1 medium 2 ");
    check(12, 10, 9, 12, "ended_early 2 medium 2 ");
    /* Two ranks lost it; or one that finished its step. */
    check(12, 9, 9, 12, EITHER);
    check(11, 10, 10, 12, EITHER);
    check(11, 9, 10, 12, EITHER);
}

static void records_that_are_missing_elsewhere(void **state)
{
    struct stopped stopped;
    stopped_init(&stopped, (const int32_t[]){12, 9, 10, 12});
    stopped.job.missing_sequence = 1;
    check_found(&stopped, EITHER, NULL, 0);
}

static void what_is_said(void **state)
{
    char text[512];
    struct stopped stopped;
    stopped_init(&stopped, (const int32_t[]){12, 9, 10, 12});
    check_found(&stopped, "ended_early 1 medium 2 ", text, sizeof text);
    assert_non_null(strstr(text, "AllGather on communicator c in step 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_came_or_waits),
        cmocka_unit_test(who_alone_lost_the_end_of_its_record),
        cmocka_unit_test(records_that_are_missing_elsewhere),
        cmocka_unit_test(what_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
