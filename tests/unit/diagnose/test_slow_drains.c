#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"

#include <stdlib.h>

/*
 * Eight ranks on two hosts (blocks of four, by the network edges). Transfers are slow from SLOW_FIRST to
 * SLOW_LAST, since the GPUs of one host take received data late. The GPU of rank 1 has findings there.
 */
enum { SLOW_FIRST = 8, SLOW_LAST = 13, SLOW_NS = 1800, GPU = 1, DRAIN_NS = 500 };

struct drains {
    struct slow_ranks slow;
    struct slow_job played;
    struct edge items[RANKS];
    size_t first[INSTANCES + 1];
    int64_t cost_ns[STEPS + 1];
    struct findings findings;
    struct job_service services[RANKS * STEPS];
};

static int is_slow(int step)
{
    return step >= SLOW_FIRST && step <= SLOW_LAST;
}

static struct drains *drains_new(void)
{
    struct drains *drains = calloc(1, sizeof *drains);
    assert_non_null(drains);
    for (int step = SLOW_FIRST; step <= SLOW_LAST; step++)
        drains->slow.transfer_ns[step] = SLOW_NS;
    slow_job_init(&drains->played, &drains->slow);
    for (int i = 0; i < INSTANCES; i++) {
        drains->played.transfers[i].culprit = -1;
        drains->played.transfers[i].slow_ns = is_slow(i / EACH) ? SLOW_NS : 0;
        drains->first[i] = i ? RANKS : 0;
    }
    drains->first[INSTANCES] = RANKS;
    for (int32_t rank = 0; rank < RANKS; rank++)
        drains->items[rank] = (struct edge){.sender = rank, .receiver = (rank + RANKS / 2) % RANKS};
    drains->played.edges = (struct edges){.items = drains->items, .count = RANKS, .first = drains->first};
    drains->played.job.services = drains->services;
    drains->played.job.traffic_count = 1;
    for (int i = 0; i < RANKS * STEPS; i++)
        drains->services[i] = (struct job_service){.send_ns = DRAIN_NS, .drain_ns = DRAIN_NS};
    return drains;
}

/* In the slow steps, a rank takes received data, or its sends take, as much longer as the transfers do. */
static void slow_down(struct drains *drains, int rank, int sends)
{
    for (int step = SLOW_FIRST; step <= SLOW_LAST; step++) {
        struct job_service *service = &drains->services[rank * STEPS + step];
        *(sends ? &service->send_ns : &service->drain_ns) += EACH * SLOW_NS;
    }
}

static void add_finding(struct drains *drains, int first, int last)
{
    struct finding *finding = findings_add(&drains->findings);
    assert_non_null(finding);
    finding->kind = FINDING_COMPUTE;
    finding->confidence = CONFIDENCE_HIGH;
    finding->rank = GPU;
    finding->first_step = first;
    finding->last_step = last;
    finding->lost_ns = 1000;
}

static void drains_free(struct drains *drains)
{
    drains->played.job.services = NULL;
    findings_release(&drains->findings);
    slow_job_release(&drains->played);
    free(drains);
}

static void add(struct drains *drains)
{
    struct error error = ERROR_INIT;
    struct slow_job *played = &drains->played;
    struct replay replay;
    assert_int_equal(replay_init(&replay, &played->job, &played->baseline.excess, played->transfers, &error),
                     0);
    assert_int_equal(findings_add_slow_drains(&drains->findings, drains->cost_ns, &played->job,
                                              &played->baseline, &played->edges, played->transfers, &replay,
                                              &error),
                     0);
    replay_release(&replay);
}

/* The cost of the finding, where a rank of some host takes data late and perhaps another one sends slowly. */
static int64_t cost_with(int draining, int sending)
{
    struct drains *drains = drains_new();
    slow_down(drains, draining, 0);
    if (sending >= 0)
        slow_down(drains, sending, 1);
    add_finding(drains, SLOW_FIRST, SLOW_LAST);
    add(drains);
    assert_int_equal(drains->findings.count, 1);
    int64_t lost_ns = drains->findings.items[0].lost_ns;
    drains_free(drains);
    return lost_ns;
}

static void slow_transfers_cost(void **state)
{
    enum { STEPS_SLOW = SLOW_LAST - SLOW_FIRST + 1 };
    /* Rank 2 is on the host of rank 1, and takes the data that rank 1 passes on. */
    assert_in_range(cost_with(2, -1), STEPS_SLOW * EACH * SLOW_NS / 2, STEPS_SLOW * EACH * SLOW_NS * 11 / 10);
    /* The other host takes its data late; or a network is slow. */
    assert_int_equal(cost_with(5, -1), 1000);
    assert_int_equal(cost_with(2, 6), 1000);
}

static size_t findings_left(int drains_between)
{
    struct drains *drains = drains_new();
    slow_down(drains, 2, 0);
    if (!drains_between)
        drains->services[2 * STEPS + SLOW_FIRST + 2].drain_ns = DRAIN_NS;
    add_finding(drains, SLOW_FIRST + 3, SLOW_LAST);
    add_finding(drains, SLOW_FIRST, SLOW_FIRST + 1);
    add(drains);
    size_t count = drains->findings.count;
    if (count == 1) {
        assert_int_equal(drains->findings.items[0].first_step, SLOW_FIRST);
        assert_int_equal(drains->findings.items[0].last_step, SLOW_LAST);
    }
    drains_free(drains);
    return count;
}

static void findings_of_one_cause(void **state)
{
    assert_int_equal(findings_left(1), 1);
    assert_int_equal(findings_left(0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_transfers_cost),
        cmocka_unit_test(findings_of_one_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
