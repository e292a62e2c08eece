/* Records back together: what the writer's memory holds, and what it gives up when it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The plugin is a library of its own: the tool's does not hold it. */
#include "plugin/gpu_clock.c"
#include "plugin/names.c"
#include "plugin/node.c"
#include "plugin/tag_texts.c"
#include "plugin/tree.c"
#include "plugin/tree_fill.c"

#define CAPACITY 1024u

uint32_t communicator_count(void)
{
    return 0;
}

const struct communicator *communicator_at(uint32_t number)
{
    (void)number;
    return NULL;
}

struct done {
    uint64_t finished, unfinished;
};

static void count_done(void *owner, uint32_t root, bool finished)
{
    (void)root;
    struct done *done = owner;
    done->finished += finished;
    done->unfinished += !finished;
}

/* A group call, which needs one node. */
static void start_group(struct tree *tree, uint64_t number)
{
    struct record record = {
        .time_ns = number, .handle = number, .kind = RECORD_START, .type = TYPE_GROUP_API};
    tree_take(tree, &record);
}

/* As many as there is room for, numbered from 1. */
static void begin_full(struct tree *tree, struct done *done)
{
    assert_int_equal(tree_init(tree, CAPACITY, UINT32_MAX, 77, 6), 0);
    tree->done = count_done;
    tree->owner = done;
    for (uint64_t i = 1; i <= CAPACITY; i++)
        start_group(tree, i);
}

static void stop(struct tree *tree, uint64_t number)
{
    struct record record = {.time_ns = number, .handle = number, .kind = RECORD_STOP};
    tree_take(tree, &record);
}

/* Looking for what is complete takes a look at everything: it must not happen with every event. */
static void gives_up_many_at_once(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin_full(&tree, &done);
    assert_int_equal(done.unfinished, 0);
    start_group(&tree, CAPACITY + 1);
    assert_int_equal(done.unfinished, CAPACITY / 16);
    assert_int_equal(tree.counts.evicted, CAPACITY / 16);
    assert_int_equal(node_find(&tree.pool, CAPACITY / 16), 0);
    assert_int_not_equal(node_find(&tree.pool, CAPACITY / 16 + 1), 0);
    tree_release(&tree);
}

static void gives_up_nothing_where_enough_is_complete(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin_full(&tree, &done);
    for (uint64_t i = 1; i <= CAPACITY / 2; i++)
        stop(&tree, 2 * i);
    start_group(&tree, CAPACITY + 1);
    assert_int_equal(done.finished, CAPACITY / 2);
    assert_int_equal(done.unfinished, 0);
    assert_int_equal(tree.counts.evicted, 0);
    tree_release(&tree);
}

/* However few are complete each time. */
static void gives_up_more_where_little_is_complete(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin_full(&tree, &done);
    stop(&tree, CAPACITY);
    start_group(&tree, CAPACITY + 1);
    assert_int_equal(done.finished, 1);
    assert_int_equal(done.unfinished, CAPACITY / 16 - 1);
    tree_release(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_up_many_at_once),
        cmocka_unit_test(gives_up_nothing_where_enough_is_complete),
        cmocka_unit_test(gives_up_more_where_little_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
