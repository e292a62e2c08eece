#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>

/*
 * Four ranks in one step: slow instances of two members each, on communicators 0 (ranks 0 and 1), 1 (ranks 0
 * and 2), 2 (ranks 2 and 3) and 3 (all four); the operations of a rank are in this order. Before the
 * operation of all ranks, rank 3 sends to rank 0.
 */
enum { RANKS = 4, COMMUNICATORS = 4, SENT = COMMUNICATORS, INSTANCES, OPERATIONS = 12 };

static const struct {
    int32_t rank, instance;
} PLAYED[OPERATIONS] = {{0, 0}, {0, 1}, {0, SENT}, {0, 3}, {1, 0},    {1, 3},
                        {2, 1}, {2, 2}, {2, 3},    {3, 2}, {3, SENT}, {3, 3}};
static const int32_t MEMBERS[OPERATIONS] = {0, 4, 1, 6, 7, 9, 3, 5, 8, 11, 10, 2};
static const int32_t COUNT[INSTANCES] = {2, 2, 2, 4, 2};

struct step {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[COMMUNICATORS];
    struct job_operation operations[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct hidden_lateness hidden[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[OPERATIONS];
    struct communicator_set_member member_list[COMMUNICATORS][RANKS];
};

static struct job_operation *played(struct step *step, int32_t rank, int32_t instance)
{
    int32_t i = 0;
    while (PLAYED[i].rank != rank || PLAYED[i].instance != instance)
        i++;
    return &step->operations[i];
}

static struct hidden_lateness *hidden_before(struct step *step, int32_t rank, int32_t instance)
{
    return &step->hidden[played(step, rank, instance) - step->operations];
}

static void init_instances(struct step *step, const int64_t slow_ns[COMMUNICATORS])
{
    uint32_t first = 0;
    for (int32_t i = 0; i < INSTANCES; i++) {
        step->instances[i] = (struct job_instance){.communicator = i == SENT ? 3 : i,
                                                   .function = FUNCTION_ALL_REDUCE,
                                                   .members = COUNT[i],
                                                   .expected = COUNT[i],
                                                   .first_member = first,
                                                   .sender = -1,
                                                   .receiver = -1};
        step->transfers[i] = (struct transfer_excess){
            .beyond_ns = TIME_UNKNOWN, .slow_ns = i == SENT ? 0 : slow_ns[i], .culprit = -1};
        first += (uint32_t)COUNT[i];
    }
    step->instances[SENT].function = FUNCTION_SEND;
    step->instances[SENT].sender = 3;
    step->instances[SENT].receiver = 0;
}

static void init_operations(struct step *step)
{
    for (int32_t i = 0; i < OPERATIONS; i++) {
        int32_t instance = PLAYED[i].instance;
        step->members[i] = MEMBERS[i];
        step->operations[i] =
            (struct job_operation){.rank = PLAYED[i].rank,
                                   .instance = instance,
                                   .communicator = step->instances[instance].communicator,
                                   .function = FUNCTION_ALL_REDUCE,
                                   .previous = i && PLAYED[i - 1].rank == PLAYED[i].rank ? i - 1 : -1,
                                   .enqueued_ns = TIME_UNKNOWN,
                                   .own_ns = TIME_UNKNOWN};
        struct job_rank *rank = &step->ranks[PLAYED[i].rank];
        rank->first = rank->count++ ? rank->first : (size_t)i;
    }
    played(step, 3, SENT)->function = FUNCTION_SEND;
    played(step, 0, SENT)->function = FUNCTION_RECV;
}

static void step_init(struct step *step, const int64_t slow_ns[COMMUNICATORS])
{
    *step = (struct step){
        .member_list = {
            {{0, 0}, {1, 1}}, {{0, 0}, {1, 2}}, {{0, 2}, {1, 3}}, {{0, 0}, {1, 1}, {2, 2}, {3, 3}}}};
    for (size_t i = 0; i < COMMUNICATORS; i++)
        step->communicators[i] = (struct job_communicator){.size = COUNT[i],
                                                           .member_list = step->member_list[i],
                                                           .member_list_count = (size_t)COUNT[i],
                                                           .silent = -1};
    init_instances(step, slow_ns);
    init_operations(step);
    step->job = (struct job){.step_count = 1,
                             .ranks = step->ranks,
                             .rank_count = RANKS,
                             .communicators = step->communicators,
                             .communicator_count = COMMUNICATORS,
                             .operations = step->operations,
                             .operation_count = OPERATIONS,
                             .instances = step->instances,
                             .instance_count = INSTANCES,
                             .instance_members = step->members};
}

static void cover(struct step *step)
{
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&step->job, &error), 0);
    assert_int_equal(blame_without_network_steps(
                         &step->job,
                         &(struct baseline){.excess = *written_excess(step->excess), .hidden = step->hidden},
                         step->transfers),
                     0);
    free(step->job.operations_of_step);
    free(step->job.by_step);
    free(step->job.step_end);
}

static void assert_culprits(struct step *step, int32_t a, int32_t b, int32_t c, int32_t d)
{
    cover(step);
    assert_int_equal(step->transfers[0].culprit, a);
    assert_int_equal(step->transfers[1].culprit, b);
    assert_int_equal(step->transfers[2].culprit, c);
    assert_int_equal(step->transfers[3].culprit, d);
}

static void the_rank_in_all_of_them(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 100, 0, 100});
    assert_culprits(&step, 0, 0, -1, 0);
}

static void one_communicator_cannot_tell(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 0, 0, 0});
    assert_culprits(&step, -1, -1, -1, -1);
    step_init(&step, (int64_t[]){100, 0, 0, 100});
    assert_culprits(&step, -1, -1, -1, -1);
    /* Nor can two sends of a rank on one communicator, for which their receivers may only have been late. */
    step_init(&step, (int64_t[]){0, 0, 100, 0});
    step.instances[2].function = FUNCTION_SEND;
    step.instances[2].communicator = 3;
    step.instances[2].sender = 3;
    step.instances[2].receiver = 2;
    step.transfers[SENT].slow_ns = 90;
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].culprit, -1);
}

/*
 * Ranks 2 and 3 share the slowest: 2 explains 1090, 3 1010, which is too close. Without it 0 explains 190, 1
 * 110, 2 90.
 */
static void what_nobody_explains_leaves_the_rest(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 80, 1000, 10});
    assert_culprits(&step, 0, 0, -1, 0);
}

/*
 * Ranks 2 and 3 share the slowest: 2 explains 1300, 3 1100, which is too close. Of the rest 2 explains 300, 0
 * 200: rank 2 is blamed for those, and still not for the one that could not be attributed.
 */
static void what_nobody_explains_stays_nobodys(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){0, 100, 1000, 100});
    step.instances[SENT].sender = 2;
    step.transfers[SENT].slow_ns = 100;
    assert_culprits(&step, -1, 2, -1, 2);
    assert_int_equal(step.transfers[SENT].culprit, 2);
}

/* As above, but only the latency of the pair shows it: it blames nobody, and adds to no rank. */
static void latency_alone_blames_no_sender(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){0, 100, 1000, 0});
    step.instances[SENT].sender = 2;
    step.transfers[SENT].slow_ns = 300;
    assert_culprits(&step, -1, 2, 2, -1);
    assert_int_equal(step.transfers[SENT].culprit, 2);
    step_init(&step, (int64_t[]){0, 100, 1000, 0});
    step.instances[SENT].sender = 2;
    step.instances[SENT].by_latency = 1;
    step.transfers[SENT].slow_ns = 300;
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].culprit, -1);
}

/*
 * The rank that explains at least a quarter more than any other: rank 0 explains this much more than rank 1.
 */
static void clearly_more_than_any_other(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){80, 20, 0, 0});
    assert_culprits(&step, 0, 0, -1, -1);
    step_init(&step, (int64_t[]){81, 20, 0, 0});
    assert_culprits(&step, -1, -1, -1, -1);
}

/*
 * Rank 0 was in an AllReduce with rank 1 and sent to it on the same communicator, with long durations on both
 * sides: only for the send it is clear that the sender is at fault.
 */
static void a_collective_is_no_pair(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 0, 0, 0});
    step.instances[SENT].communicator = 0;
    step.instances[SENT].sender = 0;
    step.transfers[SENT].slow_ns = 90;
    for (int i = 0; i < OPERATIONS; i++)
        step.operations[i].end_ns = 1000;
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].culprit, 0);
}

static void a_send_of_nobody_known(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){0, 0, 0, 0});
    step.instances[SENT].sender = -1;
    step.transfers[SENT].slow_ns = 100;
    cover(&step);
    assert_int_equal(step.transfers[SENT].culprit, -1);
}

/* For a pair that took 100 longer than its baseline. */
static int32_t sender_of_pair(int64_t usual_ns, int64_t sends_ns, int64_t receives_ns)
{
    struct step step;
    step_init(&step, (int64_t[]){0, 0, 0, 0});
    step.transfers[SENT].slow_ns = 100;
    step.instances[SENT].transfer_ns = usual_ns == TIME_UNKNOWN ? TIME_UNKNOWN : usual_ns + 100;
    played(&step, 3, SENT)->start_ns = played(&step, 0, SENT)->start_ns = 1000;
    played(&step, 3, SENT)->end_ns = 1000 + sends_ns;
    played(&step, 0, SENT)->end_ns = receives_ns == TIME_UNKNOWN ? TIME_UNKNOWN : 1000 + receives_ns;
    cover(&step);
    return step.transfers[SENT].culprit;
}

/*
 * The sender is done when its data is in the network's buffers; a rank that was merely late is done
 * immediately.
 */
static void a_pair_that_both_were_long_at(void **state)
{
    assert_int_equal(sender_of_pair(40, 140, 160), 3);
    assert_int_equal(sender_of_pair(40, 90, 160), 3);
    assert_int_equal(sender_of_pair(40, 89, 160), -1);
    assert_int_equal(sender_of_pair(40, 160, 89), -1);
    assert_int_equal(sender_of_pair(TIME_UNKNOWN, 50, 160), 3);
    assert_int_equal(sender_of_pair(TIME_UNKNOWN, 49, 160), -1);
    /* One side is unknown. */
    assert_int_equal(sender_of_pair(40, 160, TIME_UNKNOWN), -1);
    struct step step;
    step_init(&step, (int64_t[]){0, 0, 0, 0});
    step.transfers[SENT].slow_ns = 100;
    step.instances[SENT].members = 1;
    played(&step, 0, SENT)->end_ns = played(&step, 3, SENT)->end_ns = 160;
    cover(&step);
    assert_int_equal(step.transfers[SENT].culprit, -1);
}

/*
 * Ranks 0 and 1 explain the same, and sends and receives are not recorded. The own time of one grew at a
 * place where they may be hidden: it may have sent slowly, or have waited for a slow sender.
 */
static void own_time_that_grew_breaks_no_tie(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 0, 0, 100});
    step.communicators[1].member_list_count = 1;
    played(&step, 0, 3)->own_ns = 60;
    step.excess[played(&step, 0, 3) - step.operations].beyond_ns = 50;
    step.job.blind_to_pairs = 1;
    assert_int_equal(job_find_stages(&step.job), 0);
    assert_culprits(&step, -1, -1, -1, -1);
}

/* After its receive, rank 0 is late by 50 of unknown origin; both sides took 60 for the transfer. */
static void receive_late(struct step *step, const int64_t slow_ns[COMMUNICATORS])
{
    step_init(step, slow_ns);
    hidden_before(step, 0, 3)->hidden_ns = 50;
    hidden_before(step, 0, 3)->stands_out = 1;
    played(step, 0, SENT)->end_ns = played(step, 3, SENT)->end_ns = 60;
}

/* Rank 0 explains 300 of three communicators, and has an own delay: nothing shows that rank 3 sent slowly. */
static void lateness_of_a_receiver_to_blame(void **state)
{
    struct step step;
    receive_late(&step, (int64_t[]){100, 100, 0, 100});
    assert_culprits(&step, 0, 0, -1, 0);
    assert_int_equal(step.transfers[SENT].slow_ns, 50);
    assert_int_equal(step.transfers[SENT].culprit, -1);
    /* The transfer itself took longer by half of that; by less. */
    receive_late(&step, (int64_t[]){100, 100, 0, 100});
    step.transfers[SENT].beyond_ns = 25;
    cover(&step);
    assert_int_equal(step.transfers[SENT].culprit, 3);
    receive_late(&step, (int64_t[]){100, 100, 0, 100});
    step.transfers[SENT].beyond_ns = 24;
    cover(&step);
    assert_int_equal(step.transfers[SENT].culprit, -1);
    /* It is unknown whether 0 or 1 was slow, so 0 is not blamed. */
    receive_late(&step, (int64_t[]){100, 0, 0, 0});
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].culprit, 3);
    /* It is blamed for less: for 49 each. */
    receive_late(&step, (int64_t[]){49, 49, 0, 0});
    assert_culprits(&step, 0, 0, -1, -1);
    assert_int_equal(step.transfers[SENT].culprit, 3);
}

/* An excess after a receive that also occurs at this place in other steps is no slow receive. */
static void lateness_that_does_not_stand_out(void **state)
{
    struct step step;
    receive_late(&step, (int64_t[]){0, 0, 0, 0});
    hidden_before(&step, 0, 3)->stands_out = 0;
    cover(&step);
    assert_int_equal(step.transfers[SENT].slow_ns, 0);
    assert_int_equal(step.transfers[SENT].culprit, -1);
}

/* After an AllReduce it may be any rank's, but it is no slow transfer of that rank. */
static void lateness_after_a_collective(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){0, 0, 0, 0});
    hidden_before(&step, 0, 1)->hidden_ns = 50;
    hidden_before(&step, 0, 1)->stands_out = 1;
    cover(&step);
    assert_int_equal(step.transfers[0].slow_ns, 0);
}

/*
 * The operation after the receive starts at 1000; if it had been enqueued long before, it waited on the GPU.
 */
static void lateness_of_a_host_is_no_receives(void **state)
{
    struct step step;
    receive_late(&step, (int64_t[]){0, 0, 0, 0});
    played(&step, 0, 3)->start_ns = 1000;
    played(&step, 0, 3)->enqueued_ns = 976;
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].slow_ns, 0);
    assert_int_equal(step.transfers[SENT].culprit, -1);
    played(&step, 0, 3)->enqueued_ns = 975;
    assert_culprits(&step, -1, -1, -1, -1);
    assert_int_equal(step.transfers[SENT].slow_ns, 50);
    assert_int_equal(step.transfers[SENT].culprit, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_in_all_of_them),
        cmocka_unit_test(one_communicator_cannot_tell),
        cmocka_unit_test(what_nobody_explains_leaves_the_rest),
        cmocka_unit_test(what_nobody_explains_stays_nobodys),
        cmocka_unit_test(latency_alone_blames_no_sender),
        cmocka_unit_test(clearly_more_than_any_other),
        cmocka_unit_test(a_collective_is_no_pair),
        cmocka_unit_test(a_send_of_nobody_known),
        cmocka_unit_test(lateness_after_a_collective),
        cmocka_unit_test(a_pair_that_both_were_long_at),
        cmocka_unit_test(own_time_that_grew_breaks_no_tie),
        cmocka_unit_test(lateness_of_a_receiver_to_blame),
        cmocka_unit_test(lateness_that_does_not_stand_out),
        cmocka_unit_test(lateness_of_a_host_is_no_receives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
