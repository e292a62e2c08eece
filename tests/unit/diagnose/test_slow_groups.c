#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <stdlib.h>

/*
 * 16 ranks on eight hosts, two each, without network steps. In a step each rank reduces with the other one of
 * its host (TENSOR), with a rank of a neighbouring host (DATA: hosts 0 and 1, 2 and 3 ...), with a rank of
 * the other neighbour (CONTEXT: hosts 1 and 2, 3 and 4 ... 7 and 0), and with all (WORLD). Before each it
 * computes.
 */
enum { RANKS = 16, STEPS = 24, OPERATIONS = RANKS * STEPS * 4, MOST_COMMUNICATORS = 25 };
enum kind { TENSOR, DATA, CONTEXT, WORLD, KINDS };
enum { SLOW = 1, SLIGHT = 2 };
static const double SLIGHTLY = 1.2;
enum { COMPUTE_NS = 200000, TRANSFER_NS = 100000 };

struct job_of_groups {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[MOST_COMMUNICATORS];
    struct communicator_set_member member_lists[MOST_COMMUNICATORS][RANKS];
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[OPERATIONS];
    int32_t members[OPERATIONS];
    int32_t communicator_of[KINDS][RANKS];
    int64_t free_ns[RANKS];
    /* In these steps, transfers of groups with one of the marked ranks take `times` as long, or SLIGHTLY */
    unsigned char is_slow[KINDS][RANKS];
    int first;
    int last;
    double times;
    int64_t late_ns; /* how much longer rank 4 computes in these steps */
    struct baseline baseline;
    struct transfer_excess *transfers;
    size_t first_edge[OPERATIONS + 1];
    struct edges edges; /* none */
    int64_t cost_ns[STEPS + 1];
    struct findings findings;
};

static int32_t partner_of(enum kind kind, int32_t rank)
{
    return kind == TENSOR ? rank ^ 1 : kind == DATA ? rank ^ 2 : (((rank + 2) ^ 2) - 2 + RANKS) % RANKS;
}

static char some_name[] = "some";

/* A linear congruential generator (Knuth's MMIX) of the place: up to 2 % of `of_ns`. */
static int64_t noise_of(size_t at, int64_t of_ns)
{
    uint64_t random = (uint64_t)(at + 1) * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random ^ random >> 31) * 6364136223846793005u >> 33) % (of_ns / 50);
}

static void add_communicator(struct job_of_groups *it, enum kind kind, const int32_t *ranks, int32_t count)
{
    int32_t number = (int32_t)it->job.communicator_count++;
    it->communicators[number] = (struct job_communicator){.size = count,
                                                          .hash = number + 1,
                                                          .label = some_name,
                                                          .member_list = it->member_lists[number],
                                                          .member_list_count = (size_t)count,
                                                          .is_whole = kind == WORLD,
                                                          .silent = -1};
    for (int32_t i = 0; i < count; i++) {
        it->member_lists[number][i] = (struct communicator_set_member){i, ranks[i]};
        it->communicator_of[kind][ranks[i]] = number;
    }
}

static void add_communicators(struct job_of_groups *it)
{
    const int32_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (enum kind kind = TENSOR; kind < WORLD; kind++)
        for (int32_t rank = 0; rank < RANKS; rank++)
            if (partner_of(kind, rank) > rank)
                add_communicator(it, kind, (int32_t[]){rank, partner_of(kind, rank)}, 2);
    add_communicator(it, WORLD, all, RANKS);
}

static double times_of(const struct job_of_groups *it, enum kind kind, int step, const int32_t *ranks,
                       int count)
{
    int has = 0;
    for (int i = 0; i < count && step >= it->first && step <= it->last; i++)
        has |= it->is_slow[kind][ranks[i]];
    return has & SLOW ? it->times : has ? SLIGHTLY : 1;
}

static void call(struct job_of_groups *it, enum kind kind, int step, const int32_t *ranks, int count)
{
    int32_t number = (int32_t)it->job.instance_count++;
    int64_t latest_ns = 0, transfer_ns = (int64_t)(TRANSFER_NS * times_of(it, kind, step, ranks, count));
    transfer_ns += noise_of((size_t)number * 31, transfer_ns);
    uint32_t first =
        number ? it->instances[number - 1].first_member + (uint32_t)it->instances[number - 1].members : 0;
    it->instances[number] = (struct job_instance){.sequence = step,
                                                  .communicator = it->communicator_of[kind][ranks[0]],
                                                  .transfer_ns = transfer_ns,
                                                  .sender = -1,
                                                  .receiver = -1,
                                                  .step = step,
                                                  .tag = -1,
                                                  .members = count,
                                                  .expected = count,
                                                  .first_member = first,
                                                  .function = FUNCTION_ALL_REDUCE};
    for (int i = 0; i < count; i++) {
        int32_t rank = ranks[i], at = rank * STEPS * KINDS + step * KINDS + (int32_t)kind;
        int64_t own_ns = COMPUTE_NS + noise_of((size_t)at, COMPUTE_NS);
        own_ns += rank == 4 && kind == TENSOR && step >= it->first && step <= it->last ? it->late_ns : 0;
        it->members[first + (uint32_t)i] = at;
        it->operations[at] = (struct job_operation){.rank = rank,
                                                    .instance = number,
                                                    .communicator = it->instances[number].communicator,
                                                    .step = step,
                                                    .tag = -1,
                                                    .root = -1,
                                                    .bytes = 1 << (20 + (int)kind),
                                                    .function = FUNCTION_ALL_REDUCE,
                                                    .previous = step || kind ? at - 1 : -1,
                                                    .group = at,
                                                    .start_ns = it->free_ns[rank] + own_ns,
                                                    .enqueued_ns = it->free_ns[rank] - 5,
                                                    .own_ns = step || kind ? own_ns : TIME_UNKNOWN,
                                                    .ends = ENDS_BY_KERNEL};
        latest_ns = it->operations[at].start_ns > latest_ns ? it->operations[at].start_ns : latest_ns;
    }
    for (int i = 0; i < count; i++) {
        it->free_ns[ranks[i]] = latest_ns + transfer_ns;
        it->operations[it->members[first + (uint32_t)i]].end_ns = latest_ns + transfer_ns;
    }
}

static void play(struct job_of_groups *it)
{
    const int32_t all[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int step = 0; step < STEPS; step++) {
        for (enum kind kind = TENSOR; kind < WORLD; kind++)
            for (int32_t rank = 0; rank < RANKS; rank++)
                if (partner_of(kind, rank) > rank)
                    call(it, kind, step, (int32_t[]){rank, partner_of(kind, rank)}, 2);
        call(it, WORLD, step, all, RANKS);
    }
}

/* Slow from `first` to `last`, `times` as long. The caller marks the slow groups, then calls take(). */
static struct job_of_groups *job_new(int first, int last, double times)
{
    struct job_of_groups *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->first = first;
    it->last = last;
    it->times = times;
    it->job = (struct job){.rank_count = RANKS,
                           .expected_ranks = RANKS,
                           .ranks = it->ranks,
                           .communicators = it->communicators,
                           .operation_count = OPERATIONS,
                           .operations = it->operations,
                           .instances = it->instances,
                           .instance_members = it->members,
                           .step_count = STEPS,
                           .timed_operations = OPERATIONS};
    for (int32_t rank = 0; rank < RANKS; rank++)
        it->ranks[rank] = (struct job_rank){.first = (size_t)rank * STEPS * KINDS,
                                            .count = STEPS * KINDS,
                                            .name = some_name,
                                            .clock = rank / 2,
                                            .tail_step = INT32_MAX};
    add_communicators(it);
    return it;
}

static void job_free(struct job_of_groups *it)
{
    findings_release(&it->findings);
    baseline_release(&it->baseline);
    free(it->transfers);
    free(it->job.operations_of_step);
    free(it->job.by_step);
    free(it->job.step_end);
    free(it);
}

/* Returns the network finding, if there is one. */
static const struct finding *take(struct job_of_groups *it)
{
    struct error error = ERROR_INIT;
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    const struct baseline_options own = {.sigmas = 6};
    const struct finding *found = NULL;
    struct replay replay;
    play(it);
    it->edges.first = it->first_edge;
    it->transfers = calloc(it->job.instance_count, sizeof *it->transfers);
    assert_non_null(it->transfers);
    for (size_t i = 0; i < it->job.instance_count; i++)
        it->transfers[i].culprit = -1;
    assert_int_equal(job_index_steps(&it->job, &error), 0);
    assert_int_equal(baseline_init(&it->baseline, &it->job, &own, &error), 0);
    assert_int_equal(replay_init(&replay, &it->job, &it->baseline.excess, it->transfers, &error), 0);
    assert_int_equal(findings_take_network(&it->findings, it->cost_ns, &it->job, &it->baseline, &it->edges,
                                           it->transfers, &replay, &options, &error),
                     0);
    replay_release(&replay);
    for (size_t i = 0; i < it->findings.count; i++)
        if (it->findings.items[i].kind == FINDING_NETWORK) {
            assert_null(found);
            found = &it->findings.items[i];
        }
    return found;
}

static void a_group_is_slower_than_its_sisters_in_all_steps(void **state)
{
    struct job_of_groups *it = job_new(0, STEPS - 1, 4);
    (void)state;
    it->is_slow[TENSOR][4] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[0], 4);
    assert_int_equal(finding->candidates[1], 5);
    assert_int_equal(finding->first_step, 1);
    assert_int_equal(finding->last_step, STEPS - 1);
    /* The other ranks wait for these two: nothing hides the slowness. */
    int64_t lost_ns = (int64_t)(STEPS - 1) * 3 * TRANSFER_NS;
    assert_true(llabs((long long)(finding->lost_ns - lost_ns)) < lost_ns / 10);
    assert_speaks(&finding->rule_results, RULE_ONE_OF_SEVERAL);
    assert_quiet(&finding->rule_results, RULE_CERTAINTY);
    assert_int_equal(it->transfers[it->operations[4 * STEPS * KINDS + KINDS].instance].culprit, 4);
    job_free(it);
}

static void a_group_is_slower_than_its_own_past(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    (void)state;
    it->is_slow[DATA][1] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[0], 1);
    assert_int_equal(finding->candidates[1], 3);
    assert_int_equal(finding->first_step, 9);
    job_free(it);
}

/* Rank 3 is in both. */
static void two_slow_groups_share_a_rank(void **state)
{
    struct job_of_groups *it = job_new(9, 15, 4);
    (void)state;
    it->is_slow[TENSOR][3] = it->is_slow[DATA][3] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->candidate_count, 0);
    assert_int_equal(finding->first_step, 9);
    assert_int_equal(finding->last_step, 15);
    assert_quiet(&finding->rule_results, RULE_ONE_OF_SEVERAL);
    job_free(it);
}

/* All groups that cross from host 1 (ranks 2 and 3) to its two neighbours. */
static void all_groups_that_cross_a_host_are_slow(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    (void)state;
    for (int32_t rank = 2; rank < 4; rank++)
        it->is_slow[DATA][rank] = it->is_slow[CONTEXT][rank] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->candidate_count, 0);
    assert_int_equal(finding->rank_count, 2);
    assert_int_equal(finding->ranks[0], 2);
    assert_int_equal(finding->ranks[1], 3);
    job_free(it);
}

static void nothing_is_slow(void **state)
{
    struct job_of_groups *it = job_new(0, STEPS - 1, 4);
    (void)state;
    assert_null(take(it));
    assert_int_equal(it->findings.count, 0);
    job_free(it);
}

/* What all groups of a kind share is no fault of one of them. */
static void all_groups_are_slow(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    (void)state;
    for (int32_t rank = 0; rank < RANKS; rank++)
        it->is_slow[TENSOR][rank] = 1;
    assert_null(take(it));
    job_free(it);
}

/* Both groups that cross from host 7 to host 0: either host, or what is between them. */
static void all_groups_between_two_hosts_are_slow(void **state)
{
    static const int32_t expected[] = {0, 1, 14, 15};
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    (void)state;
    it->is_slow[CONTEXT][0] = it->is_slow[CONTEXT][1] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->candidate_count, 4);
    assert_memory_equal(finding->candidates, expected, sizeof expected);
    job_free(it);
}

/* The network of all ranks: any of them may be at fault. */
static void only_the_communicator_of_all_is_slow(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    (void)state;
    it->is_slow[WORLD][0] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(finding->candidate_count, RANKS);
    job_free(it);
}

/* A group that is hardly slower in the same steps does not tell which of all ranks is at fault. */
static void another_group_is_hardly_slower(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 8);
    (void)state;
    it->is_slow[WORLD][0] = SLOW;
    it->is_slow[TENSOR][6] = SLIGHT;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->candidate_count, RANKS);
    job_free(it);
}

/* Groups may differ by design. */
/* Where the others are alike, 1.5 times is enough; where they differ by 1.2 times, more is needed. */
static void a_group_is_somewhat_slower_in_all_steps(void **state)
{
    static const struct {
        double times;
        int do_others_differ;
        int is_found;
    } cases[] = {{1.5, 0, 1}, {1.3, 0, 0}, {1.5, 1, 0}, {2.5, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job_of_groups *it = job_new(0, STEPS - 1, cases[i].times);
        it->is_slow[TENSOR][4] = SLOW;
        for (int32_t rank = 8; cases[i].do_others_differ && rank < RANKS; rank++)
            it->is_slow[TENSOR][rank] = SLIGHT;
        assert_int_equal(take(it) != NULL, cases[i].is_found);
        job_free(it);
    }
}

/* Healthy networks have such moments. */
static void a_group_is_slow_in_two_steps(void **state)
{
    struct job_of_groups *it = job_new(9, 10, 4);
    (void)state;
    it->is_slow[DATA][1] = 1;
    assert_null(take(it));
    job_free(it);
}

/* The steps take about 1.2 ms: a pause of three of them is no healthy moment. Rank 3 is in both groups. */
static void two_groups_of_a_rank_pause_once(void **state)
{
    struct job_of_groups *it = job_new(9, 9, 60);
    (void)state;
    it->is_slow[TENSOR][3] = it->is_slow[DATA][3] = 1;
    const struct finding *finding = take(it);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->candidate_count, 0);
    assert_int_equal(finding->first_step, 9);
    assert_int_equal(finding->last_step, 9);
    assert_true(finding->pause_ns >= 50 * TRANSFER_NS);
    job_free(it);
    it = job_new(9, 9, 20);
    it->is_slow[TENSOR][3] = it->is_slow[DATA][3] = 1;
    assert_null(take(it));
    job_free(it);
}

/* The transfer begins when the last member arrives. */
static void a_late_member_is_no_slow_transfer(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 1);
    (void)state;
    it->late_ns = 3 * TRANSFER_NS;
    assert_null(take(it));
    job_free(it);
}

/* A contended GPU transfers slowly, too. */
static void a_rank_that_computes_longer_in_all_steps(void **state)
{
    struct job_of_groups *it = job_new(0, STEPS - 1, 4);
    (void)state;
    it->is_slow[TENSOR][4] = 1;
    it->late_ns = 3 * TRANSFER_NS;
    assert_null(take(it));
    job_free(it);
}

static void a_finding_explains_it(void **state)
{
    struct job_of_groups *it = job_new(9, STEPS - 1, 4);
    struct finding *said = findings_add(&it->findings);
    (void)state;
    it->is_slow[TENSOR][4] = 1;
    said->kind = FINDING_COMPUTE;
    said->rank = 5;
    said->first_step = 9;
    said->last_step = STEPS - 1;
    said->confidence = CONFIDENCE_MEDIUM;
    assert_null(take(it));
    assert_int_equal(it->findings.count, 1);
    job_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_is_slower_than_its_sisters_in_all_steps),
                                       cmocka_unit_test(a_group_is_slower_than_its_own_past),
                                       cmocka_unit_test(two_slow_groups_share_a_rank),
                                       cmocka_unit_test(all_groups_that_cross_a_host_are_slow),
                                       cmocka_unit_test(nothing_is_slow),
                                       cmocka_unit_test(all_groups_are_slow),
                                       cmocka_unit_test(all_groups_between_two_hosts_are_slow),
                                       cmocka_unit_test(only_the_communicator_of_all_is_slow),
                                       cmocka_unit_test(another_group_is_hardly_slower),
                                       cmocka_unit_test(a_group_is_somewhat_slower_in_all_steps),
                                       cmocka_unit_test(a_group_is_slow_in_two_steps),
                                       cmocka_unit_test(two_groups_of_a_rank_pause_once),
                                       cmocka_unit_test(a_late_member_is_no_slow_transfer),
                                       cmocka_unit_test(a_rank_that_computes_longer_in_all_steps),
                                       cmocka_unit_test(a_finding_explains_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
