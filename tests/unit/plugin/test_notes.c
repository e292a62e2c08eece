/*
 * Pending operations are reported when they begin to hang, when they continue, and otherwise at increasing
 * intervals.
 */
#include "support/cmocka_all.h"

/*
 * The plugin is a separate library; the tool's library does not contain it, but has a function of that name.
 */
#define chrome_note plugin_chrome_note
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/communicators.c"
#include "plugin/tree/node.c"
#include "plugin/tree/tree.c"
#include "plugin/tree/tree.h"
#include "plugin/write/chrome_proxy.c"
#include "plugin/write/notes.c"
#include "plugin/write/text.c"
#include "plugin/write/write.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)
/* The interval at which the writer thread looks. */
#define TICK_NS (SECOND_NS / 4)

static bool has_room = true;

bool files_have_room(struct files *files)
{
    (void)files;
    return has_room;
}

uint32_t communicator_count(void)
{
    return 0;
}

const struct communicator *communicator_at(uint32_t number)
{
    (void)number;
    return NULL;
}

bool communicator_ended(uint32_t number)
{
    (void)number;
    return false;
}

uint32_t communicator_ends(void)
{
    return 0;
}

struct pending {
    struct tree tree;
    struct sink sink;
    struct chrome chrome;
    uint64_t now_ns;
    uint64_t lines;
};

/* Lines are counted and discarded. */
void sink_flush(struct sink *sink, const char *ending)
{
    (void)ending;
    sink->text.length = 0;
}

static void begin(struct pending *pending)
{
    memset(pending, 0, sizeof(*pending));
    has_room = true;
    assert_int_equal(tree_init(&pending->tree, 1024, UINT32_MAX, 77, 6), 0);
    pending->sink.text.bytes = malloc(SINK_BYTES);
    assert_non_null(pending->sink.text.bytes);
    chrome_init(&pending->chrome, &pending->sink, &pending->tree, SECOND_NS, 77);
    pending->now_ns = SECOND_NS;
}

static void end(struct pending *pending)
{
    tree_release(&pending->tree);
    free(pending->sink.text.bytes);
}

static void take(struct pending *pending, enum record_type type, uint64_t handle, uint64_t parent,
                 enum record_kind kind)
{
    struct record record = {
        .time_ns = pending->now_ns, .handle = handle, .parent = parent, .kind = kind, .type = (uint8_t)type};
    if (type == TYPE_PROXY_OP)
        record.proxy_op.pid = 77;
    event_tree_add(&pending->tree, &record);
}

/* The number of lines up to that time. */
static uint64_t wait_for(struct pending *pending, uint64_t ns)
{
    uint64_t lines = 0;
    for (uint64_t until_ns = pending->now_ns + ns; pending->now_ns < until_ns; pending->now_ns += TICK_NS) {
        notes_pending(&pending->chrome, NULL, pending->now_ns);
        for (size_t i = 0; i < pending->sink.text.length; i++)
            lines += pending->sink.text.bytes[i] == '\n';
        pending->sink.text.length = 0;
    }
    pending->lines += lines;
    return lines;
}

/* At 1, 2, 4, 8 s and so on, up to an interval of an hour. */
static void intervals_grow(void **state)
{
    (void)state;
    struct pending pending;
    begin(&pending);
    take(&pending, TYPE_COLL, 1, 0, RECORD_START);
    assert_int_equal(wait_for(&pending, SECOND_NS), 0);
    assert_int_equal(wait_for(&pending, SECOND_NS * 3 / 4), 1);
    assert_int_equal(wait_for(&pending, SECOND_NS), 1);
    /* By the seconds of the looks: 4, 8, 16, 32. */
    assert_int_equal(wait_for(&pending, 40 * SECOND_NS), 4);
    uint64_t first_hour = pending.lines + wait_for(&pending, HOUR_NS - 43 * SECOND_NS);
    assert_in_range(first_hour, 11, 13);
    assert_in_range(wait_for(&pending, 10 * HOUR_NS), 9, 12);
    end(&pending);
}

static void what_gets_on_is_told_within_a_second(void **state)
{
    (void)state;
    struct pending pending;
    begin(&pending);
    take(&pending, TYPE_COLL, 1, 0, RECORD_START);
    (void)wait_for(&pending, HOUR_NS / 2);
    assert_int_equal(wait_for(&pending, 10 * SECOND_NS), 0);
    take(&pending, TYPE_KERNEL_CH, 2, 1, RECORD_START);
    assert_int_equal(wait_for(&pending, SECOND_NS * 5 / 4), 1);
    take(&pending, TYPE_PROXY_OP, 3, 1, RECORD_START);
    assert_int_equal(wait_for(&pending, SECOND_NS * 5 / 4), 1);
    take(&pending, TYPE_COLL, 1, 0, RECORD_STOP);
    assert_int_equal(wait_for(&pending, SECOND_NS * 5 / 4), 1);
    assert_int_equal(wait_for(&pending, 10 * SECOND_NS), 0);
    end(&pending);
}

/* It may continue step by step for hours: a line every 8 s. */
static void what_moves_over_the_network_is_told_less_often(void **state)
{
    (void)state;
    struct pending pending;
    begin(&pending);
    take(&pending, TYPE_COLL, 1, 0, RECORD_START);
    take(&pending, TYPE_PROXY_OP, 2, 1, RECORD_START);
    (void)wait_for(&pending, HOUR_NS / 2);
    uint64_t lines = 0;
    for (uint64_t i = 0; i < 80; i++) {
        take(&pending, TYPE_PROXY_STEP, 3 + i, 2, RECORD_START);
        lines += wait_for(&pending, SECOND_NS);
    }
    assert_in_range(lines, 8, 11);
    end(&pending);
}

static void nothing_without_room(void **state)
{
    (void)state;
    struct pending pending;
    begin(&pending);
    take(&pending, TYPE_COLL, 1, 0, RECORD_START);
    has_room = false;
    assert_int_equal(wait_for(&pending, 100 * SECOND_NS), 0);
    end(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_grow),
        cmocka_unit_test(what_gets_on_is_told_within_a_second),
        cmocka_unit_test(what_moves_over_the_network_is_told_less_often),
        cmocka_unit_test(nothing_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
