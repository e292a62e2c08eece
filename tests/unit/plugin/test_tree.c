/* Joins records into operations: what the writer's memory holds, and what it gives up when it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/communicators.c"
#include "plugin/tree/node.c"
#include "plugin/tree/tree.c"
#include "plugin/tree/tree.h"

#define CAPACITY 1024u

uint32_t communicator_count(void)
{
    return 2;
}

const struct communicator *communicator_at(uint32_t number)
{
    static const struct communicator known[] = {{.hash = 1, .api = 6, .mask = UINT32_MAX},
                                                {.hash = 2, .api = 6, .mask = UINT32_MAX}};
    return &known[number - 1];
}

static bool second_ended;

bool communicator_ended(uint32_t number)
{
    return number == 2 && second_ended;
}

uint32_t communicator_ends(void)
{
    return second_ended;
}

struct done {
    uint64_t finished, unfinished;
    /* of the last completed tree */
    uint64_t handle, start_ns, stop_ns;
    uint64_t child; /* handle of its first child */
    uint8_t type;
};

static const struct tree *tree_under_test;

static void count_done(void *owner, uint32_t root, bool finished)
{
    struct done *done = owner;
    if (tree_under_test) {
        const struct node *node = tree_node(tree_under_test, root);
        done->handle = node->handle;
        done->start_ns = node->start_ns;
        done->stop_ns = node->stop_ns;
        done->type = node->type;
        done->child = node->first_child ? tree_node(tree_under_test, node->first_child)->handle : 0;
    }
    done->finished += finished;
    done->unfinished += !finished;
}

/* A group call, which needs one node. */
static void start_group(struct tree *tree, uint64_t number)
{
    struct record record = {
        .time_ns = number, .handle = number, .kind = RECORD_START, .type = TYPE_GROUP_API};
    event_tree_add(tree, &record);
}

/* As many as fit, numbered from 1. */
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
    event_tree_add(tree, &record);
}

/* Searching for complete events visits all of them: it must not happen with every event. */
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

/* Without any space, each is counted. */
static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct tree tree;
    assert_int_equal(tree_init(&tree, 0, UINT32_MAX, 77, 6), 0);
    start_group(&tree, 1);
    start_group(&tree, 2);
    assert_int_equal(tree.counts.lost, 2);
    stop(&tree, 2);
    assert_int_equal(tree.counts.late, 1);
    tree_release(&tree);
}

#define SECOND UINT64_C(1000000000)

static void begin(struct tree *tree, struct done *done)
{
    assert_int_equal(tree_init(tree, CAPACITY, UINT32_MAX, 77, 6), 0);
    tree->done = count_done;
    tree->owner = done;
    tree_under_test = tree;
    tree_learn_communicators(tree);
}

static void end(struct tree *tree)
{
    tree_under_test = NULL;
    tree_release(tree);
}

static void start(struct tree *tree, enum record_type type, uint64_t handle, uint64_t parent,
                  uint32_t context)
{
    struct record record = {.time_ns = SECOND + handle,
                            .handle = handle,
                            .parent = parent,
                            .context = context,
                            .kind = RECORD_START,
                            .type = (uint8_t)type};
    if (type == TYPE_COLL)
        record.task.channels = 1;
    event_tree_add(tree, &record);
}

static void stop_at(struct tree *tree, uint64_t handle, uint64_t time_ns)
{
    struct record record = {.time_ns = time_ns, .handle = handle, .kind = RECORD_STOP};
    event_tree_add(tree, &record);
}

/*
 * A group call of two collectives on communicators 1 and 2, enqueued within a microsecond after one second: 1
 * is the group, 10 and 20 the calls, 11 and 21 the operations, 12 and 22 their kernels.
 */
static void start_group_of_two(struct tree *tree)
{
    start(tree, TYPE_GROUP_API, 1, 0, 1);
    for (uint32_t i = 1; i <= 2; i++) {
        start(tree, TYPE_COLL_API, i * 10, 1, i);
        start(tree, TYPE_COLL, i * 10 + 1, i * 10, i);
        start(tree, TYPE_KERNEL_CH, i * 10 + 2, i * 10 + 1, i);
        stop_at(tree, i * 10 + 1, SECOND + 100);
        stop_at(tree, i * 10, SECOND + 100);
    }
    stop_at(tree, 1, SECOND + 100);
}

static void end_context(struct tree *tree, uint32_t context)
{
    struct record record = {.time_ns = SECOND, .context = context, .kind = RECORD_CONTEXT_END};
    event_tree_add(tree, &record);
}

static void sweep_twice(struct tree *tree, uint64_t now_ns)
{
    event_tree_flush(tree, now_ns, false);
    event_tree_flush(tree, now_ns + 1, false);
}

/* The job may be killed while the other one hangs: the finished one is written with its call and a group. */
static void operation_that_is_over_leaves_a_group_that_hangs(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin(&tree, &done);
    start_group_of_two(&tree);
    stop_at(&tree, 12, SECOND + 200);
    sweep_twice(&tree, 6 * SECOND + 200);
    assert_int_equal(done.finished, 1);
    assert_int_equal(done.unfinished, 0);
    assert_int_equal(done.type, TYPE_GROUP_API);
    assert_int_equal(done.child, 10);
    assert_int_equal(done.start_ns, SECOND + 1);
    assert_int_equal(done.stop_ns, SECOND + 100);
    /* The rest is complete without it. */
    stop_at(&tree, 22, 8 * SECOND);
    sweep_twice(&tree, 9 * SECOND);
    assert_int_equal(done.finished, 2);
    assert_int_equal(done.handle, 1);
    assert_int_equal(done.child, 20);
    assert_int_equal(done.unfinished + tree.counts.late + tree.counts.orphans, 0);
    assert_int_equal(tree.pool.in_use, 0);
    end(&tree);
}

/* In a healthy pipeline one operation of a group can wait for seconds: the group stays complete. */
static void group_that_waits_stays_whole(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin(&tree, &done);
    start_group_of_two(&tree);
    stop_at(&tree, 12, 3 * SECOND);
    sweep_twice(&tree, 8 * SECOND - 2);
    assert_int_equal(done.finished + done.unfinished, 0);
    stop_at(&tree, 22, 8 * SECOND);
    sweep_twice(&tree, 9 * SECOND);
    assert_int_equal(done.finished, 1);
    assert_int_equal(done.handle, 1);
    assert_int_equal(done.child, 10);
    end(&tree);
}

/* It is not split before its call has returned either, because it may have more operations to launch. */
static void group_that_has_not_returned_stays_whole(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin(&tree, &done);
    start(&tree, TYPE_GROUP_API, 1, 0, 1);
    start(&tree, TYPE_COLL_API, 10, 1, 1);
    start(&tree, TYPE_COLL, 11, 10, 1);
    start(&tree, TYPE_KERNEL_CH, 12, 11, 1);
    for (uint64_t handle = 12; handle >= 10; handle--)
        stop_at(&tree, handle, SECOND + 100);
    start(&tree, TYPE_COLL_API, 20, 1, 1);
    stop_at(&tree, 20, SECOND + 100);
    sweep_twice(&tree, 20 * SECOND);
    assert_int_equal(done.finished + done.unfinished, 0);
    /* The second call has no operation yet; operations that come later find it. */
    stop_at(&tree, 1, 20 * SECOND);
    start(&tree, TYPE_COLL, 21, 20, 1);
    stop_at(&tree, 21, 20 * SECOND);
    sweep_twice(&tree, 26 * SECOND);
    assert_int_equal(done.finished, 1);
    assert_int_equal(done.child, 10);
    event_tree_flush(&tree, 27 * SECOND, true);
    assert_int_equal(done.unfinished, 1);
    assert_int_equal(done.child, 20);
    assert_int_equal(tree.pool.in_use, 0);
    end(&tree);
}

/* An operation of an aborted communicator is given up, whichever communicator its group call began with. */
static void operation_of_an_aborted_communicator_is_given_up(void **state)
{
    (void)state;
    for (uint32_t aborted = 1; aborted <= 2; aborted++) {
        struct tree tree;
        struct done done = {0};
        begin(&tree, &done);
        start_group_of_two(&tree);
        stop_at(&tree, aborted == 1 ? 22 : 12, SECOND + 200);
        end_context(&tree, aborted);
        event_tree_flush(&tree, SECOND + SECOND * 3 / 4, false);
        assert_int_equal(done.unfinished, 1);
        assert_int_equal(done.handle, 1);
        assert_int_equal(tree.pool.in_use, 0);
        end(&tree);
    }
}

/* Also if no ring buffer had space for the record that reports it. */
static void end_without_a_record(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin(&tree, &done);
    tree_learn_ends(&tree);
    assert_false(tree_communicator(&tree, 2)->ended);
    second_ended = true;
    tree_learn_ends(&tree);
    second_ended = false;
    assert_false(tree_communicator(&tree, 1)->ended);
    assert_true(tree_communicator(&tree, 2)->ended);
    tree_learn_ends(&tree);
    assert_true(tree_communicator(&tree, 2)->ended);
    end(&tree);
}

static void tag(struct tree *tree, enum tag_source source, const char *text)
{
    unsigned char bytes[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES] = {0};
    struct record *record = (struct record *)(void *)bytes;
    record->kind = RECORD_TAG;
    record->tag.source = (uint8_t)source;
    record->tag.length = (uint16_t)strlen(text);
    memcpy(record->tag.text, text, strlen(text));
    tree_tag(tree, record);
}

/* An operation of a communicator without a number does not belong to the process. */
static void tag_of_an_unknown_communicator(void **state)
{
    (void)state;
    struct tree tree;
    struct done done = {0};
    begin(&tree, &done);
    tag(&tree, TAG_SOURCE_CALL, "ours");
    tag(&tree, TAG_SOURCE_NCCL, "stranger");
    assert_string_equal(tag_texts_get(&tree.tags, tree.process_tag), "ours");
    tag(&tree, TAG_SOURCE_NVTX, "next");
    assert_string_equal(tag_texts_get(&tree.tags, tree.process_tag), "next");
    end(&tree);
}

/* Nothing of a group is given up while a communicator lives for which one of its operations waits. */
static void operation_of_a_live_communicator_is_waited_for(void **state)
{
    (void)state;
    for (uint32_t aborted = 1; aborted <= 2; aborted++) {
        struct tree tree;
        struct done done = {0};
        begin(&tree, &done);
        start_group_of_two(&tree);
        end_context(&tree, aborted);
        event_tree_flush(&tree, SECOND + SECOND * 3 / 4, false);
        event_tree_flush(&tree, 60 * SECOND, false);
        assert_int_equal(done.finished + done.unfinished, 0);
        stop_at(&tree, aborted == 1 ? 22 : 12, 60 * SECOND);
        end_context(&tree, 3 - aborted);
        event_tree_flush(&tree, 61 * SECOND, false);
        assert_int_equal(tree.pool.in_use, 0);
        end(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_up_many_at_once),
        cmocka_unit_test(gives_up_nothing_where_enough_is_complete),
        cmocka_unit_test(gives_up_more_where_little_is_complete),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(operation_that_is_over_leaves_a_group_that_hangs),
        cmocka_unit_test(group_that_waits_stays_whole),
        cmocka_unit_test(group_that_has_not_returned_stays_whole),
        cmocka_unit_test(operation_of_an_aborted_communicator_is_given_up),
        cmocka_unit_test(end_without_a_record),
        cmocka_unit_test(operation_of_a_live_communicator_is_waited_for),
        cmocka_unit_test(tag_of_an_unknown_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
