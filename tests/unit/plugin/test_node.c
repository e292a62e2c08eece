/*
 * The writer's pool of events compared with a plain array: an event is found until it is removed, and there
 * are never more than allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/tree/node.c"
#include "plugin/tree/tree.h"

#define CAPACITY 1000
#define HANDLES 4000

static void behaves_like_an_array(void **state)
{
    (void)state;
    static uint32_t known[HANDLES];
    struct node_pool pool;
    uint32_t in_use = 0;
    uint32_t random = 12345;
    assert_int_equal(node_pool_init(&pool, CAPACITY), 0);
    for (int i = 0; i < 200000; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t which = (random >> 8) % HANDLES;
        /* As threads number their handles: few high bits, consecutive low ones. */
        uint64_t handle = (uint64_t)(which % 7 + 1) << 40 | which;
        assert_int_equal(node_find(&pool, handle), known[which]);
        if (known[which]) {
            node_remove(&pool, known[which]);
            known[which] = 0;
            in_use--;
        } else {
            known[which] = node_add(&pool, handle);
            assert_int_equal(known[which] != 0, in_use < CAPACITY);
            in_use += known[which] != 0;
        }
        assert_int_equal(pool.in_use, in_use);
    }
    assert_true(in_use > CAPACITY / 2);
    node_pool_release(&pool);
}

static void does_not_know_zero(void **state)
{
    (void)state;
    struct node_pool pool;
    assert_int_equal(node_pool_init(&pool, 10), 0);
    assert_int_equal(node_find(&pool, 0), 0);
    node_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_an_array),
        cmocka_unit_test(does_not_know_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
