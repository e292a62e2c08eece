/* The interval of a sampler that uses more CPU time than it may. */
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
        changed |= node_pace_check(pace);
    return changed;
}

/* One millionth of a core is used up by 3 ms at once, so the interval becomes as long as it can. */
static void it_samples_less_often(void **state)
{
    struct node_pace pace = {.interval_ns = 1000, .most_cpu_share_ppm = 1, .stretch = 1};
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, NODE_SLOW_ROUNDS - 1), 0); /* the start does not count */
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, 1), 1);
    assert_int_equal(node_pace_interval(&pace), 16000);
}

static void a_fixed_interval_stays(void **state)
{
    struct node_pace pace = {.interval_ns = 1000, .stretch = 1};
    use_cpu(3000000);
    assert_int_equal(rounds(&pace, 3 * NODE_SLOW_ROUNDS), 0);
    assert_int_equal(node_pace_interval(&pace), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_samples_less_often),
                                       cmocka_unit_test(a_fixed_interval_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
