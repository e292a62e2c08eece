#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "join/join.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>

/*
 * The virtual table of operations compared with the written values. Operation i of a file is that of member i
 * modulo 3.
 */
enum { OPERATIONS = 20000, MEMBERS = 3 };

static const struct interval_ns UNKNOWN = {TIME_UNKNOWN, TIME_UNKNOWN};

static int64_t ordinal_of(int64_t i)
{
    /* Neighbours are exchanged: the events of a file need not be in order of their ordinals. */
    return i ^ 1;
}

static struct event operation(int64_t i)
{
    int64_t ordinal = ordinal_of(i);
    return (struct event){.kind = EVENT_OPERATION,
                          .origin = {.host = "node1",
                                     .pid = 7,
                                     .communicator_hash = (uint64_t)(i % MEMBERS) + 1,
                                     .rank = i % MEMBERS,
                                     .offset = (uint64_t)ordinal * 10},
                          .operation = {.ordinal = ordinal,
                                        .function = FUNCTION_ALL_REDUCE,
                                        .sequence = i / MEMBERS,
                                        .count = ordinal % 5 ? ordinal * ordinal : COUNT_UNKNOWN,
                                        .bytes = 4096,
                                        .root = COUNT_UNKNOWN,
                                        .peer = COUNT_UNKNOWN,
                                        .channel_count = COUNT_UNKNOWN,
                                        .api = UNKNOWN,
                                        .enqueue = {ordinal * 1000, TIME_UNKNOWN},
                                        .device = UNKNOWN,
                                        .gpu_begin = UINT64_MAX - (uint64_t)ordinal,
                                        .duration_ns = -5 - ordinal,
                                        .initial_sync_ns = ordinal % 3 ? ordinal + 1 : 0,
                                        .is_symmetric = ordinal % 2 != 0,
                                        .tag = ordinal % 7 ? "tag" : NULL}};
}

static struct {
    struct writer *writer;
    struct writer_file file;
} now;

static int full(void *context, struct batch **batch, struct error *error)
{
    assert_int_equal(writer_put(now.writer, &now.file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

static void put_file(struct store *store)
{
    struct batch batch;
    struct intake intake;
    enum writer_outcome outcome;
    batch_init(&batch);
    intake_init(&intake, &batch, full, NULL);
    now.writer = writer_new(store, NULL);
    assert_non_null(now.writer);
    assert_int_equal(writer_begin(now.writer, &now.file, 0, 0, "/traces/a", "/traces", NULL), 0);
    for (int64_t i = 0; i < OPERATIONS; i++) {
        struct event event = operation(i);
        assert_int_equal(intake_event(&intake, &event, NULL), 0);
    }
    assert_int_equal(intake_end(&intake, NULL), 0);
    const struct writer_facts facts = {.dialect = "x", .digest = "d", .ledger = &intake.ledger};
    assert_int_equal(writer_finish(now.writer, &now.file, &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(now.writer, NULL), 0);
    writer_free(now.writer);
    intake_release(&intake);
    batch_release(&batch);
}

static int setup(void **state)
{
    if (store_file_setup(state))
        return -1;
    struct store *store = store_file_open(state, STORE_CREATE);
    put_file(store);
    store_close(store);
    return 0;
}

static const int64_t FIRST = INT64_C(1) << 32; /* id of the first operation of file 1 */

static int64_t sum_of_squares(void)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < OPERATIONS; i++)
        sum += i % 5 ? i * i : 0;
    return sum;
}

static void test_all_rows(void **state)
{
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), OPERATIONS);
    assert_int_equal(store_file_number(store, "SELECT count(DISTINCT operation_id) FROM operation"),
                     OPERATIONS);
    assert_int_equal(store_file_number(store, "SELECT sum(count) FROM operation"), sum_of_squares());
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation WHERE count IS NULL"),
                     OPERATIONS / 5);
    assert_int_equal(store_file_number(store, "SELECT count(tag) FROM operation"),
                     OPERATIONS - (OPERATIONS + 6) / 7);
    /* Every value belongs to its ID: 0 rows where it does not. */
    assert_int_equal(
        store_file_number(
            store,
            "SELECT count(*) FROM operation WHERE byte_offset <> (operation_id & 0xffffffff) * 10"
            " OR enqueue_begin_ns <> (operation_id & 0xffffffff) * 1000"
            " OR gpu_begin <> -1 - (operation_id & 0xffffffff)"
            " OR duration_ns <> -5 - (operation_id & 0xffffffff) OR enqueue_end_ns IS NOT NULL"
            " OR initial_sync_ns IS NOT"
            " iif((operation_id & 0xffffffff) % 3, (operation_id & 0xffffffff) + 1, NULL)"
            " OR flags <> (operation_id & 1) * 8"),
        0);
    store_close(store);
}

static void test_lookups(void **state)
{
    static const int64_t places[] = {0, 1, 2, 255, 256, 4095, 4096, 9999, OPERATIONS - 1};
    struct store *store = store_file_open(state, STORE_READ);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT byte_offset FROM operation WHERE operation_id = %lld",
                 (long long)(FIRST + places[i]));
        assert_int_equal(store_file_number(store, sql), places[i] * 10);
    }
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation WHERE operation_id IN"
                                       " (4294967295, 4294987296, NULL, 'x', 4294967296.5)"),
                     0);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation WHERE operation_id = '4294967296'"
                                       " OR operation_id = 4294967297.0"),
                     2);
    store_close(store);
}

static void test_ranges(void **state)
{
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM operation WHERE operation_id > 4294967296"),
        OPERATIONS - 1);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation"
                                       " WHERE operation_id BETWEEN 4294967396 AND 4294967495"),
                     100);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM operation WHERE operation_id < 4294967299"), 3);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation WHERE operation_id > 'x'"), 0);
    store_close(store);
}

/* By member, and as the inner table of a join, in which each lookup follows the previous one. */
static void test_joins(void **state)
{
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation o JOIN member USING (member_id)"
                                       " WHERE rank = 1 AND o.sequence < 1000"),
                     1000);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation a CROSS JOIN operation b"
                                       " ON b.operation_id = a.operation_id AND b.sequence = a.sequence"),
                     OPERATIONS);
    assert_int_equal(
        store_file_number(store,
                          "SELECT sum(b.member_id <> a.member_id) FROM operation a CROSS JOIN operation b"
                          " ON b.operation_id = a.operation_id + 1 WHERE a.operation_id & 1 = 0"),
        OPERATIONS / 2);
    store_close(store);
}

/* The promise on which lookups rely. */
static void test_blocks_are_narrow(void **state)
{
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM operation_block b WHERE operations > 256"), 0);
    assert_int_equal(store_file_number(store, "SELECT sum(operations) FROM operation_block"), OPERATIONS);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM operation_block WHERE latest_ns - earliest_ns"
                                       " >= 4096 * 1000"),
                     0);
    store_close(store);
}

static void test_reading_only(void **state)
{
    struct store *store = store_file_open(state, STORE_WRITE);
    struct error error = ERROR_INIT;
    assert_int_equal(store_execute(store, "DELETE FROM operation", &error), -1);
    error_clear(&error);
    assert_int_equal(store_execute(store, "CREATE VIRTUAL TABLE mine USING operation", &error), -1);
    store_close(store);
}

/* A damaged block gives an error, and has no other effect. */
static void test_damage_is_told(void **state)
{
    struct store *store = store_file_open(state, STORE_WRITE);
    assert_int_equal(store_execute(store, "UPDATE operation_block SET packed = zeroblob(100)", NULL), 0);
    struct error error = ERROR_INIT;
    struct statement *statement = store_prepare(store, "SELECT count(*) FROM operation", &error);
    assert_non_null(statement);
    assert_int_equal(statement_step(statement, &error), -1);
    statement_free(statement);
    store_close(store);
}

/* By ID, although the blocks of three members overlap, and with everything that was recorded. */
static void test_cursor(void **state)
{
    struct store *store = store_file_open(state, STORE_WRITE);
    assert_int_equal(join_store(store, 2, NULL), 0);
    struct operation_cursor *cursor = operation_cursor_open(store, 0, NULL);
    struct stored_operation stored;
    assert_non_null(cursor);
    for (int64_t ordinal = 0; ordinal < OPERATIONS; ordinal++) {
        const struct operation expected = operation(ordinal ^ 1).operation;
        assert_int_equal(operation_cursor_next(cursor, &stored, NULL), 1);
        assert_int_equal(stored.id, FIRST + ordinal);
        assert_int_equal(stored.operation.ordinal, ordinal);
        assert_int_equal(stored.byte_offset, ordinal * 10);
        assert_int_equal(stored.operation.sequence, expected.sequence);
        assert_int_equal(stored.operation.count, expected.count);
        assert_int_equal(stored.operation.peer, COUNT_UNKNOWN);
        assert_true(stored.operation.gpu_begin == expected.gpu_begin);
        assert_true(stored.operation.device.begin_ns == TIME_UNKNOWN);
        assert_int_equal(stored.operation.enqueue.begin_ns, expected.enqueue.begin_ns);
        assert_true((stored.tag == NULL) == (expected.tag == NULL));
        assert_null(stored.kernel_channels);
    }
    assert_int_equal(operation_cursor_next(cursor, &stored, NULL), 0);
    operation_cursor_close(cursor);
    cursor = operation_cursor_open(store, 99, NULL);
    assert_int_equal(operation_cursor_next(cursor, &stored, NULL), 0);
    operation_cursor_close(cursor);
    store_close(store);
}

static int is_wanted(const void *context, int64_t step)
{
    return step == *(const int64_t *)context;
}

/* The number of operations that a cursor returns for a step; checks that each of them has this step. */
static int64_t count_chosen(struct store *store, int64_t step)
{
    struct operation_cursor *cursor = operation_cursor_open(store, 1, NULL);
    struct stored_operation stored;
    int64_t count = 0, latest = 0;
    assert_non_null(cursor);
    operation_cursor_choose(cursor, is_wanted, &step);
    int more;
    while ((more = operation_cursor_next(cursor, &stored, NULL)) == 1) {
        assert_int_equal(stored.step, step);
        assert_true(stored.id > latest);
        latest = stored.id;
        count++;
    }
    assert_int_equal(more, 0);
    operation_cursor_close(cursor);
    return count;
}

/* The number of operations of a step, counted by SQL. */
static int64_t count_of_step(struct store *store, int64_t step)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM operation_join WHERE coalesce(step, -1) = %lld",
             (long long)step);
    return store_file_number(store, sql);
}

/* The first cursor reads all blocks, the next ones only those of the step. */
static void test_cursor_of_steps(void **state)
{
    struct store *store = store_file_open(state, STORE_WRITE);
    assert_int_equal(join_store(store, 2, NULL), 0);
    int64_t steps = store_file_number(store, "SELECT max(step) + 1 FROM operation_join");
    assert_true(steps > 1000);
    for (int64_t step = -1; step < steps; step += steps / 10) {
        assert_int_equal(count_chosen(store, step), count_of_step(store, step));
        assert_true(step < 0 || count_chosen(store, step) > 0);
    }
    store_close(store);
}

/* What a cursor knows from an earlier one is not used after something was written. */
static void test_cursor_of_steps_after_a_change(void **state)
{
    static const char copy[] =
        "UPDATE operation_join_block SET packed ="
        " (SELECT packed FROM operation_join_block WHERE block_id ="
        " (SELECT min(block_id) FROM operation_join_block)) WHERE block_id IN"
        " (SELECT block_id FROM operation_block WHERE operations = 256)";
    for (int by_other = 0; by_other < 2; by_other++) {
        struct store *store = store_file_open(state, STORE_WRITE);
        assert_int_equal(join_store(store, 2, NULL), 0);
        int64_t before = count_chosen(store, 0);
        assert_int_equal(count_chosen(store, 0), before);
        struct store *writer = by_other ? store_file_open(state, STORE_WRITE) : store;
        assert_int_equal(store_execute(writer,
                                       "CREATE TABLE IF NOT EXISTS saved AS"
                                       " SELECT * FROM operation_join_block",
                                       NULL),
                         0);
        assert_int_equal(store_execute(writer, copy, NULL), 0);
        assert_true(count_chosen(store, 0) > before);
        assert_int_equal(count_chosen(store, 0), count_of_step(store, 0));
        assert_int_equal(store_execute(writer, "REPLACE INTO operation_join_block SELECT * FROM saved", NULL),
                         0);
        assert_int_equal(count_chosen(store, 0), before);
        if (by_other)
            store_close(writer);
        store_close(store);
    }
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_all_rows),        WITH_FILE(test_lookups),
        WITH_FILE(test_ranges),          WITH_FILE(test_joins),
        WITH_FILE(test_reading_only),    WITH_FILE(test_blocks_are_narrow),
        WITH_FILE(test_damage_is_told),  WITH_FILE(test_cursor),
        WITH_FILE(test_cursor_of_steps), WITH_FILE(test_cursor_of_steps_after_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
