/* The interval of a sampler that uses more CPU time than it may, and calls that wait for CPU time. */
#include "support/cmocka_all.h"
#include "support/node_lines.h"

static void use_cpu(int64_t ns)
{
    for (int64_t begin_ns = node_own_cpu_ns(); node_own_cpu_ns() - begin_ns < ns;)
        ;
}

static int rounds(struct node_pace *pace, int count)
{
    int changed = 0;
    for (int i = 0; i < count; i++)
        changed |= node_pace_check(pace, 0);
    return changed;
}

/* One millionth of a core is used up by 3 ms at once, so the interval becomes longer, and then shorter again.
 */
static void it_samples_less_often(void **state)
{
    struct node_pace pace = {.interval_ns = 1000, .most_cpu_share_ppm = 1, .stretch = 1};
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, NODE_SLOW_ROUNDS - 1), 0); /* the start does not count */
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, 1), 1);
    assert_int_equal(node_pace_interval(&pace), 2000);
    for (int interval = 4000; interval <= 32000; interval *= 2) {
        use_cpu(3000000);
        rounds(&pace, NODE_SLOW_ROUNDS);
        assert_int_equal(node_pace_interval(&pace), interval < 16000 ? interval : 16000);
    }
    pace.most_cpu_share_ppm = 100000000;
    assert_int_equal(rounds(&pace, NODE_SLOW_ROUNDS), 1);
    assert_int_equal(node_pace_interval(&pace), 8000);
}

static void a_fixed_interval_stays(void **state)
{
    struct node_pace pace = {.interval_ns = 1000, .stretch = 1};
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, 3 * NODE_SLOW_ROUNDS), 0);
    assert_int_equal(node_pace_interval(&pace), 1000);
}

/* What has a budget of its own does not lengthen the interval. */
static void budgeted_time_does_not_count(void **state)
{
    struct node_pace pace = {.interval_ns = 1000, .most_cpu_share_ppm = 1, .stretch = 1};
    assert_int_equal(node_pace_check(&pace, 0), 0);
    int64_t begin_ns = node_own_cpu_ns();
    use_cpu(3000000);
    for (int i = 1; i < NODE_SLOW_ROUNDS; i++)
        assert_int_equal(node_pace_check(&pace, 2 * (node_own_cpu_ns() - begin_ns)), 0);
}

/* A share of 1000 millionths: a call of 2 ms every two seconds; at the start what is kept, 3 ms. */
static void dear_calls_wait(void **state)
{
    struct node_budget budget = {.share_ppm = 1000, .most_ns = 3000000};
    int64_t now_ns = 5000000000, second_ns = 1000000000;
    int calls = 0;
    for (int i = 0; i < 1001; i++) {
        if (!node_budget_allows(&budget, now_ns + i * second_ns))
            continue;
        node_budget_spend(&budget, 2000000);
        calls++;
    }
    assert_in_range(calls, 501, 502);
    /* After a long rest there is no more than what is kept. */
    now_ns += 1000000 * second_ns;
    for (calls = 0; node_budget_allows(&budget, now_ns); calls++)
        node_budget_spend(&budget, 2000000);
    assert_int_equal(calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_samples_less_often), cmocka_unit_test(a_fixed_interval_stays),
        cmocka_unit_test(budgeted_time_does_not_count), cmocka_unit_test(dear_calls_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
