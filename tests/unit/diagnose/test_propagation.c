#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>
#include <string.h>

/*
 * Jobs simulated by hand: operations in the order of their ends, each with some ranks, of which at most one
 * had an own delay. A rank arrives as soon as its previous operation is done; each operation takes 10 after
 * all have arrived.
 */
enum { ALL_RANKS = 8, ALL_PLAYED = 258, TAKES = 10 };

struct played {
    const char *ranks; /* of a pair, the sender first */
    int32_t communicator;
    int32_t late; /* the rank with an own delay */
    int64_t late_ns;
    int is_pair;
};

struct script {
    struct job job;
    struct job_rank ranks[ALL_RANKS];
    struct job_operation operations[ALL_PLAYED * ALL_RANKS];
    struct excess excess[ALL_PLAYED * ALL_RANKS];
    struct job_instance instances[ALL_PLAYED];
    struct transfer_excess transfers[ALL_PLAYED];
    int32_t members[ALL_PLAYED * ALL_RANKS];
};

static int64_t latest_of(const char *ranks, const int64_t *come_ns)
{
    int64_t latest_ns = 0;
    for (; *ranks; ranks++)
        if (come_ns[*ranks - '0'] > latest_ns)
            latest_ns = come_ns[*ranks - '0'];
    return latest_ns;
}

/* Operations are stored by rank, in the order in which ranks are visited. */
static void add_operations(struct script *script, const struct played *played, int32_t rank,
                           int64_t (*starts_ns)[ALL_RANKS], const int64_t *ends_ns, size_t count)
{
    struct job *job = &script->job;
    int32_t previous = -1;
    script->ranks[rank].first = job->operation_count;
    for (size_t i = 0; i < count; i++) {
        const char *place = strchr(played[i].ranks, '0' + rank);
        if (!place)
            continue;
        int32_t at = (int32_t)job->operation_count++;
        script->excess[at].beyond_ns = played[i].late == rank ? played[i].late_ns : 0;
        script->operations[at] =
            (struct job_operation){.rank = rank,
                                   .communicator = played[i].communicator,
                                   .instance = (int32_t)i,
                                   .previous = previous,
                                   .group = at,
                                   .start_ns = starts_ns[i][rank],
                                   .end_ns = ends_ns[i],
                                   .own_ns = TIME_UNKNOWN,
                                   .ends = ENDS_BY_KERNEL,
                                   .function = !played[i].is_pair         ? FUNCTION_ALL_REDUCE
                                               : place == played[i].ranks ? FUNCTION_SEND
                                                                          : FUNCTION_RECV};
        script->members[script->instances[i].first_member + (size_t)(place - played[i].ranks)] = at;
        previous = at;
    }
    script->ranks[rank].count = job->operation_count - script->ranks[rank].first;
}

static struct delay *play(struct script *script, const struct played *played, size_t count, int32_t ranks)
{
    int64_t come_ns[ALL_RANKS] = {0}, starts_ns[ALL_PLAYED][ALL_RANKS], ends_ns[ALL_PLAYED];
    uint32_t members = 0;
    *script = (struct script){.job = {.rank_count = (size_t)ranks,
                                      .ranks = script->ranks,
                                      .operations = script->operations,
                                      .instances = script->instances,
                                      .instance_members = script->members,
                                      .instance_count = count}};
    for (size_t i = 0; i < count; i++) {
        int32_t size = (int32_t)strlen(played[i].ranks);
        come_ns[played[i].late] += played[i].late_ns;
        memcpy(starts_ns[i], come_ns, sizeof come_ns);
        ends_ns[i] = latest_of(played[i].ranks, come_ns) + TAKES;
        for (const char *rank = played[i].ranks; *rank; rank++)
            come_ns[*rank - '0'] = ends_ns[i];
        script->transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN, .culprit = -1};
        script->instances[i] =
            (struct job_instance){.transfer_ns = TAKES,
                                  .communicator = played[i].communicator,
                                  .sender = played[i].is_pair ? played[i].ranks[0] - '0' : -1,
                                  .receiver = played[i].is_pair ? played[i].ranks[1] - '0' : -1,
                                  .members = size,
                                  .expected = size,
                                  .first_member = members,
                                  .function = played[i].is_pair ? FUNCTION_SEND : FUNCTION_ALL_REDUCE};
        members += (uint32_t)size;
    }
    for (int32_t rank = 0; rank < ranks; rank++)
        add_operations(script, played, rank, starts_ns, ends_ns, count);
    struct error error = ERROR_INIT;
    const struct baseline baseline = {.excess = *written_excess(script->excess)};
    struct delay *delays = delays_measure(&script->job, &baseline, script->transfers, &error);
    assert_non_null(delays);
    return delays;
}

/*
 * Five ranks arrive late one after another, and rank 5 waits for each of them, 100 at a time. Rank 6 has
 * waited for rank 5 all the time: 500 of it are theirs, and the five transfers of 10 no rank's.
 */
static void a_wait_has_many_causes(void **state)
{
    static const struct played PLAYED[] = {{"05", 0, 0, 100, 0}, {"15", 1, 1, 210, 0}, {"25", 2, 2, 320, 0},
                                           {"35", 3, 3, 430, 0}, {"45", 4, 4, 540, 0}, {"56", 5, 0, 0, 0}};
    struct script script;
    struct delay *delays = play(&script, PLAYED, 6, 7);
    for (int32_t rank = 0; rank < 5; rank++) {
        assert_int_equal(delays[rank].own_ns, 100);
        assert_int_equal(delays[rank].caused_ns, 200);
    }
    assert_int_equal(delays[5].inherited_ns, 500);
    assert_int_equal(delays[5].unexplained_ns, 50);
    free(delays);
}

/*
 * Ranks 0 and 1 wait 200 for rank 2 in an operation of all ranks; then rank 0 waits 50 for rank 1. The common
 * delay explains nothing of that: it is all rank 1's own.
 */
static void all_ranks_have_met(void **state)
{
    static const struct played PLAYED[] = {{"01", 0, 0, 0, 0}, {"012", 1, 2, 210, 0}, {"01", 0, 1, 50, 0}};
    struct script script;
    struct delay *delays = play(&script, PLAYED, 3, 3);
    assert_int_equal(delays[2].own_ns, 400);
    assert_int_equal(delays[1].own_ns, 50);
    assert_int_equal(delays[1].inherited_ns, 0);
    assert_int_equal(delays[2].caused_ns, 400);
    free(delays);
}

/*
 * If rank 3 had not been there, they would have had only their own communicator in common: the wait is
 * divided.
 */
static void some_ranks_have_met(void **state)
{
    static const struct played PLAYED[] = {
        {"01", 0, 0, 0, 0}, {"012", 1, 2, 210, 0}, {"01", 0, 1, 50, 0}, {"23", 2, 0, 0, 0}};
    struct script script;
    struct delay *delays = play(&script, PLAYED, 4, 4);
    assert_int_equal(delays[1].own_ns, 10);
    assert_int_equal(delays[1].inherited_ns, 40);
    free(delays);
}

/*
 * Rank 1 is late by 100 and sends to rank 0, then to rank 2, on one communicator. Its operation with rank 0
 * there does not explain the wait of rank 2, of which only the first transfer is no rank's.
 */
static void pairs_meet_by_themselves(void **state)
{
    static const struct played PLAYED[] = {{"10", 0, 1, 100, 1}, {"12", 0, 0, 0, 1}};
    struct script script;
    struct delay *delays = play(&script, PLAYED, 2, 3);
    assert_int_equal(delays[1].own_ns, 200);
    assert_int_equal(delays[1].unexplained_ns, 10);
    assert_int_equal(delays[1].times_last, 2);
    free(delays);
}

/*
 * Rank 1 waits 10 for rank 2 and has an own delay of 990, so rank 0 waits 1000 for it plus a transfer, and
 * rank 3 for rank 0 as long plus another transfer: for rank 3, rank 2 is only a hundredth, which is not
 * attributed.
 */
static void small_parts_are_nameless(void **state)
{
    static const struct played PLAYED[] = {{"12", 0, 2, 10, 0}, {"01", 1, 1, 990, 0}, {"03", 2, 0, 0, 0}};
    struct script script;
    struct delay *delays = play(&script, PLAYED, 3, 4);
    assert_int_equal(delays[2].caused_ns, 10 + 10);
    assert_int_equal(delays[1].inherited_ns, 10);
    assert_int_equal(delays[0].inherited_ns, 990);
    assert_int_equal(delays[0].inherited_from, 1);
    assert_int_equal(delays[0].unexplained_ns, 10 + 10 + 10);
    free(delays);
}

/*
 * Rank 1 is late many times, then rank 0 waits for it; the last 256 of its delays are remembered. A rank that
 * joined with it each time waited for the last one only.
 */
static void delays_that_are_not_remembered(void **state)
{
    for (size_t times = 256; times <= 257; times++) {
        struct played played[ALL_PLAYED];
        struct script script;
        for (size_t i = 0; i < times; i++)
            played[i] = (struct played){"12", 0, 1, 100, 0};
        played[times] = (struct played){"01", 1, 0, 0, 0};
        struct delay *delays = play(&script, played, times + 1, 4);
        assert_int_equal(delays[1].forgotten, times == 257);
        assert_int_equal(delays[0].forgotten + delays[2].forgotten, 0);
        free(delays);
    }
}

static void number_steps(struct script *script, size_t count)
{
    for (size_t i = 0; i < count; i++)
        script->instances[i].step = (int32_t)i;
    for (size_t i = 0; i < script->job.operation_count; i++)
        script->operations[i].step = script->operations[i].instance;
}

/* Each operation is a step; those before `cut` are loaded separately, then all others. */
static struct delay *play_in_rows(const struct played *played, size_t count, size_t cut, int32_t ranks)
{
    const struct delay_steps before = {INT32_MIN, (int32_t)cut}, after = {(int32_t)cut, INT32_MAX};
    struct script first, second;
    struct error error = ERROR_INIT;
    free(play(&first, played, cut, ranks));
    free(play(&second, played, count, ranks));
    number_steps(&first, cut);
    number_steps(&second, count);
    struct delays *delays = delays_new(&first.job);
    assert_non_null(delays);
    struct baseline baseline = {.excess = *written_excess(first.excess)};
    assert_int_equal(delays_add(delays, &first.job, &baseline, first.transfers, before, &error), 0);
    baseline.excess = *written_excess(second.excess);
    assert_int_equal(delays_add(delays, &second.job, &baseline, second.transfers, after, &error), 0);
    return delays_end(delays);
}

static void check_rows(const struct played *played, size_t count, int32_t ranks)
{
    struct script script;
    struct delay *whole = play(&script, played, count, ranks);
    for (size_t cut = 1; cut < count; cut++) {
        struct delay *delays = play_in_rows(played, count, cut, ranks);
        for (int32_t rank = 0; rank < ranks; rank++) {
            assert_int_equal(delays[rank].own_ns, whole[rank].own_ns);
            assert_int_equal(delays[rank].inherited_ns, whole[rank].inherited_ns);
            assert_int_equal(delays[rank].inherited_from, whole[rank].inherited_from);
            assert_int_equal(delays[rank].unexplained_ns, whole[rank].unexplained_ns);
            assert_int_equal(delays[rank].caused_ns, whole[rank].caused_ns);
            assert_int_equal(delays[rank].times_last, whole[rank].times_last);
            assert_int_equal(delays[rank].instances, whole[rank].instances);
        }
        free(delays);
    }
    free(whole);
}

/* A delay of a rank before a cut explains waits for it after the cut, whatever operations came before. */
static void steps_are_added_in_rows(void **state)
{
    static const struct played CAUSES[] = {{"05", 0, 0, 100, 0}, {"15", 1, 1, 210, 0}, {"25", 2, 2, 320, 0},
                                           {"35", 3, 3, 430, 0}, {"45", 4, 4, 540, 0}, {"56", 5, 0, 0, 0}};
    static const struct played MET[] = {{"01", 0, 0, 0, 0}, {"012", 1, 2, 210, 0}, {"01", 0, 1, 50, 0}};
    static const struct played PAIRS[] = {{"10", 0, 1, 100, 1}, {"12", 0, 0, 0, 1}};
    (void)state;
    check_rows(CAUSES, 6, 7);
    check_rows(MET, 3, 3);
    check_rows(PAIRS, 2, 3);
}

/* A store may be changed between two loads. */
static void rows_are_of_the_same_ranks(void **state)
{
    static const struct played PLAYED[] = {{"01", 0, 0, 0, 0}, {"01", 0, 1, 50, 0}};
    struct script script;
    struct error error = ERROR_INIT;
    (void)state;
    free(play(&script, PLAYED, 2, 2));
    struct delays *delays = delays_new(&script.job);
    assert_non_null(delays);
    script.job.rank_count++;
    const struct baseline baseline = {.excess = *written_excess(script.excess)};
    assert_int_equal(delays_add(delays, &script.job, &baseline, script.transfers, DELAY_ALL_STEPS, &error),
                     -1);
    assert_non_null(strstr(error.cause[0], "has changed while it was read"));
    free(delays_end(delays));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_has_many_causes),   cmocka_unit_test(all_ranks_have_met),
        cmocka_unit_test(some_ranks_have_met),      cmocka_unit_test(pairs_meet_by_themselves),
        cmocka_unit_test(small_parts_are_nameless), cmocka_unit_test(delays_that_are_not_remembered),
        cmocka_unit_test(steps_are_added_in_rows),  cmocka_unit_test(rows_are_of_the_same_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
