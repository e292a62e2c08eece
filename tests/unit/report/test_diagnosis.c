#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* A complete diagnosis of a hand-made job: the effect of each part on the findings of the others. */

/*
 * Eight ranks in a ring, three AllReduces per step, each of 1000, in which every rank sends to the next; a
 * step takes 10000. In steps 5 to 8 one link may be slow in each AllReduce, which all ranks show, and two
 * GPUs may be late for the first one.
 */
enum { RANKS = 8, STEPS = 14, EACH = 3, INSTANCES = STEPS * EACH, FIRST_SLOW = 5, LAST_SLOW = 8 };

struct ring {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[3]; /* the world, and one half of the ranks each */
    char label[8];
    struct communicator_set_member member_list[RANKS];
    struct job_operation operations[RANKS * INSTANCES];
    struct job_instance instances[INSTANCES];
    int32_t members[RANKS * INSTANCES];
    struct job_traffic traffic[RANKS * INSTANCES];
};

static void put(struct ring *ring, int rank, int number, int64_t start_ns, int64_t end_ns, int64_t slow_ns)
{
    int32_t at = rank * INSTANCES + number;
    ring->members[number * RANKS + rank] = at;
    ring->operations[at] = (struct job_operation){.rank = rank,
                                                  .instance = number,
                                                  .step = number / EACH,
                                                  .tag = -1,
                                                  .bytes = 1 << 20,
                                                  .function = FUNCTION_ALL_REDUCE,
                                                  .previous = number ? at - 1 : -1,
                                                  .group = at,
                                                  .start_ns = start_ns,
                                                  .end_ns = end_ns,
                                                  .enqueued_ns = end_ns - 5000,
                                                  .own_ns = TIME_UNKNOWN,
                                                  .ends = ENDS_BY_KERNEL};
    if (number)
        ring->operations[at].own_ns = start_ns - ring->operations[at - 1].end_ns;
    int64_t wait_ns = 40 + slow_ns;
    ring->traffic[at] = (struct job_traffic){.sender = rank,
                                             .receiver = (rank + 1) % RANKS,
                                             .operation = at,
                                             .steps = 4,
                                             .network_wait_ns = wait_ns,
                                             .network_wait_max_ns = wait_ns / 4,
                                             .busy_ns = wait_ns};
}

/* How slow a link is in another step, once: that of rank 2 or 4 in the second or third AllReduce. */
static int64_t moment_ns(int number, int64_t slow_ns)
{
    static const int moments[] = {2 * EACH + 1, 3 * EACH + 2, 10 * EACH + 1, 12 * EACH + 2};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (moments[i] == number)
            return slow_ns;
    return 0;
}

/*
 * The sends of ranks 0, 2 and 4 are slow by this much in the first, second and third AllReduce, and in some
 * other steps once by `elsewhere_ns`; ranks are late by this much for the first.
 */
static void ring_init(struct ring *ring, const int64_t *slow_ns, int64_t elsewhere_ns, const int64_t *late_ns)
{
    struct error error = ERROR_INIT;
    int64_t start_ns = 0, latest_ns = 0;
    *ring = (struct ring){.label = "world"};
    for (int i = 0; i < 3; i++) {
        int size = i ? RANKS / 2 : RANKS;
        ring->communicators[i] =
            (struct job_communicator){.size = size,
                                      .hash = 1,
                                      .label = ring->label,
                                      .member_list = ring->member_list + (i == 2 ? size : 0),
                                      .member_list_count = (size_t)size,
                                      .is_whole = !i,
                                      .silent = -1};
    }
    for (int rank = 0; rank < RANKS; rank++) {
        latest_ns = late_ns[rank] > latest_ns ? late_ns[rank] : latest_ns;
        ring->ranks[rank] = (struct job_rank){
            .first = (size_t)(rank * INSTANCES), .count = INSTANCES, .tail_step = INT32_MAX};
        ring->member_list[rank] = (struct communicator_set_member){rank, rank};
    }
    for (int number = 0; number < INSTANCES; number++) {
        int step = number / EACH, which = number % EACH;
        int is_slow = step >= FIRST_SLOW && step <= LAST_SLOW;
        int is_late = is_slow && !which;
        int64_t slow = is_slow ? slow_ns[which] : moment_ns(number, elsewhere_ns);
        int64_t end_ns = start_ns + (is_late ? latest_ns : 0) + 1000 + slow;
        ring->instances[number] = (struct job_instance){.sequence = number,
                                                        .transfer_ns = 1000 + slow,
                                                        .sender = -1,
                                                        .receiver = -1,
                                                        .step = step,
                                                        .tag = -1,
                                                        .members = RANKS,
                                                        .expected = RANKS,
                                                        .first_member = (uint32_t)(number * RANKS),
                                                        .function = FUNCTION_ALL_REDUCE};
        for (int rank = 0; rank < RANKS; rank++)
            put(ring, rank, number, start_ns + (is_late ? late_ns[rank] : 0), end_ns,
                rank == 2 * which ? slow : 0);
        start_ns = end_ns + (which == EACH - 1 ? 3000 : 2000);
    }
    ring->job = (struct job){.rank_count = RANKS,
                             .expected_ranks = RANKS,
                             .ranks = ring->ranks,
                             .communicator_count = 1,
                             .communicators = ring->communicators,
                             .operation_count = RANKS * INSTANCES,
                             .operations = ring->operations,
                             .instance_count = INSTANCES,
                             .instances = ring->instances,
                             .instance_members = ring->members,
                             .traffic = ring->traffic,
                             .traffic_count = RANKS * INSTANCES,
                             .step_count = STEPS,
                             .timed_operations = RANKS * INSTANCES};
    assert_int_equal(job_index_steps(&ring->job, &error), 0);
}

/* The findings; the caller releases them. */
static void find(struct ring *ring, struct findings *findings)
{
    struct baseline baseline = {0};
    struct error error = ERROR_INIT;
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    *findings = (struct findings){0};
    struct transfer_excess *transfers = NULL;
    assert_int_equal(findings_find(findings, &ring->job, &baseline, &transfers, &options, &error), 0);
    free(transfers);
    baseline_release(&baseline);
    free(ring->job.operations_of_step);
    free(ring->job.by_step);
    free(ring->job.step_end);
}

static const struct finding *finding_of(const struct findings *findings, int32_t rank)
{
    const struct finding *found = NULL;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].rank == rank) {
            assert_null(found);
            found = &findings->items[i];
        }
    return found;
}

/*
 * A link that is slow by 6 % of a step, with one or two others that are slow by less than half of that.
 */
static void slow_links_beside_a_slow_link(void **state)
{
    for (int two = 0; two < 2; two++) {
        struct ring ring;
        struct findings findings;
        ring_init(&ring, (const int64_t[EACH]){600, 250, two ? 250 : 0}, 0, (const int64_t[RANKS]){0});
        find(&ring, &findings);
        const struct finding *greatest = finding_of(&findings, 0);
        assert_non_null(greatest);
        assert_int_equal(greatest->kind, FINDING_NETWORK);
        assert_int_equal(greatest->first_step, FIRST_SLOW);
        assert_int_equal(greatest->last_step, LAST_SLOW);
        /* Others that are less than half as slow do not make it doubtful. */
        assert_int_equal(greatest->confidence, CONFIDENCE_HIGH);
        findings_release(&findings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slow_links_beside_a_slow_link)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
