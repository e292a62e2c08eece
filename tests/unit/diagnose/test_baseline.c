#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Ranks 1 and 2 execute P on one stream and Q on another, rank 0 only Q, at these times in each of twelve
 * steps of 10000; "late" are the times in three of them:
 *
 *            rank 0          rank 1               rank 2
 *   P                        100 - 200            100 - 200, late 100 - 600
 *   Q        1000 - 1050     1000, late 1400      1000, late 1400
 *
 * Those are longer by 400: in them rank 1 takes 1200 after P instead of 800, and rank 2 waits in P for it. On
 * the stream of Q both took 400 longer, but only rank 1 had no operation running in that time.
 */
enum { RANKS = 3, STEPS = 12, FIRST_LATE = 6, LAST_LATE = 8, P = 0, Q = 1 };
enum { OPERATIONS = STEPS + 2 * 2 * STEPS, INSTANCES = 2 * STEPS };

struct streams {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[2];
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[INSTANCES * RANKS];
    int64_t begin_ns[STEPS];
    struct baseline baseline;
};

static int32_t number_of(int rank, int step, int what)
{
    return rank ? STEPS + ((rank - 1) * STEPS + step) * 2 + what : step;
}

static struct job_operation *at(struct streams *streams, int rank, int step, int what)
{
    return &streams->operations[number_of(rank, step, what)];
}

static void put(struct streams *streams, int rank, int step, int what, int64_t start_ns, int64_t end_ns)
{
    int32_t number = number_of(rank, step, what);
    struct job_instance *instance = &streams->instances[2 * step + what];
    struct job_operation *operation = &streams->operations[number];
    *operation = (struct job_operation){.rank = rank,
                                        .communicator = what,
                                        .instance = 2 * step + what,
                                        .step = step,
                                        .bytes = 64,
                                        .function = FUNCTION_ALL_REDUCE,
                                        .previous = step ? number_of(rank, step - 1, what) : -1,
                                        .group = number,
                                        .start_ns = streams->begin_ns[step] + start_ns,
                                        .end_ns = streams->begin_ns[step] + end_ns,
                                        .enqueued_ns = streams->begin_ns[step],
                                        .own_ns = TIME_UNKNOWN,
                                        .ends = ENDS_BY_KERNEL};
    if (step)
        operation->own_ns = operation->start_ns - at(streams, rank, step - 1, what)->end_ns;
    streams->members[instance->first_member + (uint32_t)instance->members++] = number;
}

/*
 * `late`: rank 1 is late in those steps by this amount; `shorter`: P is over sooner in them because of that.
 */
static void streams_init(struct streams *streams, int64_t late, int64_t shorter)
{
    struct error error = ERROR_INIT;
    const struct baseline_options options = {.sigmas = 6};
    memset(streams, 0, sizeof *streams);
    streams->communicators[P] = (struct job_communicator){.size = 2, .silent = -1};
    streams->communicators[Q] = (struct job_communicator){.size = RANKS, .silent = -1};
    for (int i = 0; i < INSTANCES; i++)
        streams->instances[i] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                      .step = i / 2,
                                                      .communicator = i % 2,
                                                      .first_member = (uint32_t)i * RANKS};
    for (int step = 0; step < STEPS; step++) {
        int is_late = step >= FIRST_LATE && step <= LAST_LATE;
        int64_t by = is_late ? late : 0, sooner = is_late ? shorter : 0;
        if (step + 1 < STEPS)
            streams->begin_ns[step + 1] = streams->begin_ns[step] + 10000 + by;
        put(streams, 0, step, Q, 1000, 1050 + by);
        put(streams, 1, step, P, 100, 200 - sooner);
        put(streams, 1, step, Q, 1000 + by, 1050 + by);
        put(streams, 2, step, P, 100, 200 + by);
        put(streams, 2, step, Q, 1000 + by, 1050 + by);
    }
    for (int rank = 0; rank < RANKS; rank++)
        streams->ranks[rank] = (struct job_rank){.first = (size_t)number_of(rank, 0, rank ? P : Q - 1),
                                                 .count = rank ? 2 * STEPS : STEPS,
                                                 .has_streams = rank > 0};
    streams->job = (struct job){.rank_count = RANKS,
                                .ranks = streams->ranks,
                                .communicator_count = 2,
                                .communicators = streams->communicators,
                                .operation_count = OPERATIONS,
                                .operations = streams->operations,
                                .instance_count = INSTANCES,
                                .instances = streams->instances,
                                .instance_members = streams->members,
                                .step_count = STEPS,
                                .timed_operations = 1};
    assert_int_equal(baseline_init(&streams->baseline, &streams->job, &options, &error), 0);
}

static void check_excess(struct streams *streams, int rank, int what, int64_t in_late_steps)
{
    for (int step = 1; step < STEPS; step++)
        assert_int_equal(
            excess_of(&streams->baseline, &streams->job, at(streams, rank, step, what)).excess_ns,
            step >= FIRST_LATE && step <= LAST_LATE ? in_late_steps : 0);
}

static void waiting_on_another_stream_is_no_own_time(void **state)
{
    struct streams streams;
    streams_init(&streams, 400, 0);
    check_excess(&streams, 1, Q, 400);
    check_excess(&streams, 2, Q, 0);
    check_excess(&streams, 0, Q, 0);
    baseline_release(&streams.baseline);
}

/*
 * The operation next to it was over sooner, so nothing was running for longer, but no rank is later because
 * of it, by at least half as much.
 */
static void what_is_over_sooner_makes_nobody_late(void **state)
{
    struct streams streams;
    for (int64_t late = 0; late <= 40; late += 40) {
        streams_init(&streams, late, 90);
        check_excess(&streams, 1, Q, 0);
        check_excess(&streams, 2, Q, 0);
        baseline_release(&streams.baseline);
    }
    streams_init(&streams, 100, 90);
    check_excess(&streams, 1, Q, 100);
    baseline_release(&streams.baseline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_on_another_stream_is_no_own_time),
        cmocka_unit_test(what_is_over_sooner_makes_nobody_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
