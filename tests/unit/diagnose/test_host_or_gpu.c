#include "support/cmocka_all.h"
#include "support/small_job.h"

/* Whether the host was late, or the GPU. */

static struct suspect suspicion_of(struct small *small)
{
    return small_suspicion(small, 1);
}

/*
 * Rank 1 is late by 1000 before the first operation of steps 1 to 3, because of its host or not, and by
 * `hidden_ns` before the second, whose own time is unknown and which had been enqueued long before: that does
 * not show which of the two it is.
 */
static enum finding_kind kind_where(int by_host, int64_t hidden_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 1; step <= 3; step++) {
        struct job_operation *known = at(&small, 1, step, 0), *hidden = at(&small, 1, step, 1);
        excess_with(&small, known)->excess_ns = 1000;
        excess_with(&small, known)->late_beyond_ns = by_host ? 900 : 0;
        excess_with(&small, hidden)->excess_ns = hidden_ns;
        hidden->own_ns = TIME_UNKNOWN;
        hidden->start_ns = 50000;
        hidden->enqueued_ns = 0;
    }
    return suspicion_of(&small).kind;
}

static void known_own_time_says_whose_it_is(void **state)
{
    assert_int_equal(kind_where(1, 1500), FINDING_HOST);
    assert_int_equal(kind_where(0, 1500), FINDING_COMPUTE);
    /* As long as it is at least a quarter of all. */
    assert_int_equal(kind_where(1, 3000), FINDING_HOST);
    assert_int_equal(kind_where(1, 3001), FINDING_COMPUTE);
}

/*
 * Rank 1 is late by 1000 in steps 2 and 3; its host by `late_ns`, before the first operation or the second.
 */
static enum finding_kind kind_of(int number, int64_t late_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        excess_at(&small, 1, step, number)->excess_ns = 1000;
        excess_at(&small, 1, step, number)->late_beyond_ns = late_ns;
    }
    return suspicion_of(&small).kind;
}

/*
 * Half of it; within a step an eighth, because computation that overlaps with communication is late with it.
 */
static void how_late_the_host_has_to_be(void **state)
{
    assert_int_equal(kind_of(0, 500), FINDING_HOST);
    assert_int_equal(kind_of(0, 499), FINDING_COMPUTE);
    assert_int_equal(kind_of(1, 125), FINDING_HOST);
    assert_int_equal(kind_of(1, 124), FINDING_COMPUTE);
    assert_int_equal(kind_of(1, TIME_UNKNOWN), FINDING_COMPUTE);
}

/* The host was late before the first operation of each step, by 1000, and not before the second. */
static enum finding_kind kind_where_half(int64_t second_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        excess_at(&small, 1, step, 0)->excess_ns = excess_at(&small, 1, step, 0)->late_beyond_ns = 1000;
        excess_at(&small, 1, step, 1)->excess_ns = second_ns;
    }
    return suspicion_of(&small).kind;
}

static void more_than_half_is_the_hosts(void **state)
{
    assert_int_equal(kind_where_half(999), FINDING_HOST);
    assert_int_equal(kind_where_half(1000), FINDING_COMPUTE);
}

/* The operation before it is unknown: it was enqueued `before_ns` before it began, and 1000 late. */
static enum finding_kind kind_where_enqueued(int64_t before_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 0);
        excess_with(&small, late)->excess_ns = 1000;
        late->own_ns = TIME_UNKNOWN;
        late->start_ns = 50000;
        late->enqueued_ns = 50000 - before_ns;
    }
    return suspicion_of(&small).kind;
}

static void a_host_that_was_late_where_own_time_is_unknown(void **state)
{
    assert_int_equal(kind_where_enqueued(499), FINDING_HOST);
    assert_int_equal(kind_where_enqueued(500), FINDING_COMPUTE);
}

/* In no step the operation before it is known; in some the host was late, in others that is not recorded. */
static enum finding_kind kind_where_some(int by_host, int not_known)
{
    struct small small;
    small_init(&small);
    for (int step = 1; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 0);
        excess_with(&small, late)->excess_ns = step < 3 ? 1000 : 2000;
        late->own_ns = TIME_UNKNOWN;
        late->start_ns = 50000;
        late->enqueued_ns = step <= by_host ? 50000 : step <= by_host + not_known ? TIME_UNKNOWN : 0;
    }
    return suspicion_of(&small).kind;
}

static void more_than_half_where_own_time_is_unknown(void **state)
{
    assert_int_equal(kind_where_some(2, 0), FINDING_COMPUTE);
    assert_int_equal(kind_where_some(3, 0), FINDING_HOST);
    assert_int_equal(kind_where_some(2, 1), FINDING_COMPUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_own_time_says_whose_it_is),
        cmocka_unit_test(how_late_the_host_has_to_be),
        cmocka_unit_test(more_than_half_is_the_hosts),
        cmocka_unit_test(a_host_that_was_late_where_own_time_is_unknown),
        cmocka_unit_test(more_than_half_where_own_time_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
