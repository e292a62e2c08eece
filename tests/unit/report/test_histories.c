#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/steps.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <stdlib.h>

/* One role for all ranks, as in small_job.h: two places per step. */
struct roles {
    struct role role;
    int32_t ranks[RANKS];
    int32_t zeros[RANKS];
    int32_t cells[2 * RANKS * STEPS];
    int32_t *of_role;
};

static void play(struct small *small, struct roles *roles)
{
    small_init(small);
    *roles = (struct roles){
        .role = {.ranks = roles->ranks, .rank_count = RANKS, .length = 2, .call_sequences = 1}};
    for (int rank = 0; rank < RANKS; rank++) {
        roles->ranks[rank] = rank;
        for (int i = 0; i < EACH; i++)
            roles->cells[(i % 2 * RANKS + rank) * STEPS + i / 2] = rank * EACH + i;
    }
    roles->of_role = roles->cells;
    small->baseline.roles = &roles->role;
    small->baseline.role_count = 1;
    small->baseline.role_of_rank = roles->zeros;
    small->baseline.rank_in_role = roles->ranks;
    small->baseline.cells = &roles->of_role;
}

static void check(const struct step_history *history, int32_t step, int64_t mine, int64_t peers, int64_t low,
                  int64_t high)
{
    int32_t at = step - history->first_step;
    assert_true(at >= 0 && at < history->steps);
    assert_int_equal(history->mine_ns[at], mine);
    assert_int_equal(history->peers_ns[at], peers);
    assert_int_equal(history->low_ns[at], low);
    assert_int_equal(history->high_ns[at], high);
}

static void gap_beside_its_peers(void **state)
{
    struct small small;
    struct roles roles;
    const int32_t rank = 1;
    struct step_history history;
    play(&small, &roles);
    at(&small, 1, 2, 1)->own_ns = 9000;
    at(&small, 0, 2, 1)->own_ns = 1200;
    at(&small, 2, 3, 1)->own_ns = TIME_UNKNOWN;
    at(&small, 1, 3, 1)->own_ns = TIME_UNKNOWN;
    assert_int_equal(place_history_init(&history, &small.job, &small.baseline, &rank, 1, 1, PLACE_GAP), 0);
    assert_int_equal(history.first_step, 1); /* step 0 is warm-up */
    assert_int_equal(history.steps, 3);
    check(&history, 1, 1000, 1000, 1000, 1000);
    check(&history, 2, 9000, 1000, 1000, 1200);
    check(&history, 3, TIME_UNKNOWN, 1000, 1000, 1000);
    assert_int_equal(step_history_known(&history), 2);
    step_history_release(&history);
    /* The other place; two ranks at fault at once: the lower of the two values is the median. */
    const int32_t ranks[] = {0, 1};
    at(&small, 0, 2, 0)->own_ns = 4000;
    assert_int_equal(place_history_init(&history, &small.job, &small.baseline, ranks, 2, 0, PLACE_GAP), 0);
    check(&history, 2, 1000, 1000, 1000, 1000);
    step_history_release(&history);
    /* There is no such place. */
    assert_int_equal(place_history_init(&history, &small.job, &small.baseline, &rank, 1, 2, PLACE_GAP), 0);
    assert_int_equal(step_history_known(&history), 0);
    step_history_release(&history);
    small_release(&small);
}

/* What all ranks did together is not compared. */
static void transfer_of_others_only(void **state)
{
    struct small small;
    struct roles roles;
    const int32_t rank = 0;
    struct step_history history;
    play(&small, &roles);
    for (int i = 0; i < EACH; i++)
        small.instances[i].transfer_ns = 100 * (i + 1);
    at(&small, 2, 2, 0)->instance = 1; /* another communicator's, of 200 */
    assert_int_equal(place_history_init(&history, &small.job, &small.baseline, &rank, 1, 0, PLACE_TRANSFER),
                     0);
    check(&history, 1, 300, TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN);
    check(&history, 2, 500, 200, 200, 200);
    step_history_release(&history);
    small_release(&small);
}

/* Rank 0 sends to 1, and 1 to 2: in step 2 the sends of 0 wait longer. */
static void waits_of_senders_and_receivers(void **state)
{
    struct small small;
    struct roles roles;
    const int32_t ranks[] = {0, 1};
    struct step_history history;
    play(&small, &roles);
    struct job_traffic traffic[2 * STEPS + 1];
    for (int step = 0; step < STEPS; step++)
        for (int sender = 0; sender < 2; sender++)
            traffic[2 * step + sender] =
                (struct job_traffic){.sender = sender,
                                     .receiver = sender + 1,
                                     .operation = sender * EACH + 2 * step,
                                     .steps = 4,
                                     .network_wait_ns = step == 2 && sender == 0 ? 4000 : 400};
    /* The wait that the other side recorded is another one. */
    traffic[(size_t)2 * STEPS] = (struct job_traffic){
        .sender = 0, .receiver = 1, .by_receiver = 1, .steps = 1, .network_wait_ns = 1 << 20};
    small.job.traffic = traffic;
    small.job.traffic_count = 2 * STEPS + 1;
    struct wait_ends ends = {.ranks = &ranks[0], .count = 1};
    assert_int_equal(wait_history_init(&history, &small.job, &ends), 0);
    check(&history, 0, 100, 100, 100, 100);
    check(&history, 2, 1000, 100, 100, 100);
    step_history_release(&history);
    ends = (struct wait_ends){.ranks = &ranks[1], .count = 1, .by_receiver = 1};
    assert_int_equal(wait_history_init(&history, &small.job, &ends), 0);
    check(&history, 2, 1000, 100, 100, 100); /* sends to 1, next to sends to 2 */
    step_history_release(&history);
    /* Sends of 1 go to 2 alone. */
    const int32_t two = 2;
    ends = (struct wait_ends){.ranks = &ranks[1], .count = 1, .others = &two, .other_count = 1};
    assert_int_equal(wait_history_init(&history, &small.job, &ends), 0);
    check(&history, 2, 100, 1000, 1000, 1000);
    step_history_release(&history);
    ends.others = &ranks[0];
    assert_int_equal(wait_history_init(&history, &small.job, &ends), 0);
    assert_int_equal(step_history_known(&history), 0);
    step_history_release(&history);
    small_release(&small);
}

/* A link's network steps in a step are one item, whatever operations they are of. */
static void links_by_step(void **state)
{
    struct small small;
    struct roles roles;
    play(&small, &roles);
    struct job_traffic traffic[] = {
        {.sender = 0, .receiver = 1, .operation = 2, .steps = 3, .network_wait_ns = 300},
        {.sender = 0, .receiver = 2, .operation = 2, .steps = 1, .network_wait_ns = 150},
        {.sender = 0, .receiver = 1, .operation = 3, .steps = 1, .network_wait_ns = 900},
        {.sender = 0, .receiver = 1, .operation = 4, .steps = 0, .network_wait_ns = 0},
        {.sender = 0,
         .receiver = 2,
         .operation = 2,
         .by_receiver = 1,
         .steps = 1,
         .network_wait_ns = 1 << 20}};
    small.job.traffic = traffic;
    small.job.traffic_count = sizeof traffic / sizeof *traffic;
    struct link_steps steps;
    assert_int_equal(link_steps_init(&steps, &small.job), 0);
    assert_int_equal(steps.count, 2);
    assert_int_equal(steps.items[0].receiver, 1);
    assert_int_equal(steps.items[0].step, 1);
    assert_int_equal(steps.items[0].steps, 4);
    assert_int_equal(steps.items[0].wait_ns, 1200);
    assert_int_equal(steps.items[1].receiver, 2);
    assert_int_equal(steps.items[1].wait_ns, 150);
    assert_false(link_steps_are_alike(&steps.items[0], &steps.items[1]));
    link_steps_release(&steps);
    small_release(&small);
}

/* A tenth of ten at either end is one. */
static void a_few_peers_are_left_out(void **state)
{
    struct step_history history;
    int64_t mine[] = {7}, peers[11];
    for (int i = 0; i < 11; i++)
        peers[i] = 10 - i;
    assert_int_equal(step_history_init(&history, 0, 1), 0);
    step_history_set(&history, 0, mine, 1, peers, 11);
    check(&history, 0, 7, 5, 1, 9);
    step_history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap_beside_its_peers),           cmocka_unit_test(transfer_of_others_only),
        cmocka_unit_test(waits_of_senders_and_receivers), cmocka_unit_test(links_by_step),
        cmocka_unit_test(a_few_peers_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
