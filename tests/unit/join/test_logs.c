#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdio.h>

/* The logs of a process after the join: the order of its files, duplicates, its clock. */

enum { MOST = 64 };

/* A record: from rank 0's log unless given, an AllReduce that took 1 us. */
struct record {
    int64_t number;
    int64_t at_us; /* when it was issued; 0: unknown. Its kernel begins 10 us later */
    enum function function;
    int rank;
    int64_t duration_ns;
};

static int64_t ns(int64_t us)
{
    return us ? us * 1000 : TIME_UNKNOWN;
}

static struct event event_of(const struct record *record, size_t line)
{
    const struct interval_ns unknown = {TIME_UNKNOWN, TIME_UNKNOWN};
    enum function function = record->function ? record->function : FUNCTION_ALL_REDUCE;
    int is_pair = function_is_point_to_point(function);
    int64_t duration = record->duration_ns ? record->duration_ns : 1000;
    struct interval_ns device = unknown;
    if (record->at_us)
        device = (struct interval_ns){ns(record->at_us + 10), ns(record->at_us + 10) + duration};
    return (struct event){.kind = EVENT_OPERATION,
                          .origin = {.host = record->rank ? "far" : "near",
                                     .pid = 70 + record->rank,
                                     .communicator_hash = 5,
                                     .rank = record->rank,
                                     .offset = 100 * line},
                          .operation = {.ordinal = (int64_t)line,
                                        .kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
                                        .function = function,
                                        .sequence = record->number,
                                        .count = COUNT_UNKNOWN,
                                        .bytes = 4096,
                                        .root = COUNT_UNKNOWN,
                                        .peer = is_pair ? 1 : COUNT_UNKNOWN,
                                        .api = unknown,
                                        .enqueue = {ns(record->at_us), ns(record->at_us)},
                                        .device = device,
                                        .end_source = record->at_us ? END_KERNEL : END_UNKNOWN,
                                        .duration_ns = duration}};
}

struct putting {
    struct writer *writer;
    struct writer_file file;
};

static int put_batch(void *context, struct batch **batch, struct error *error)
{
    struct putting *putting = context;
    assert_int_equal(writer_put(putting->writer, &putting->file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

static void put_file(struct store *store, const char *path, const char *set, const struct record *records,
                     size_t count)
{
    struct putting putting = {.writer = writer_new(store, NULL)};
    struct intake intake;
    struct batch batch;
    enum writer_outcome outcome;
    char digest[64];
    snprintf(digest, sizeof digest, "%s %zu", path, count);
    assert_non_null(putting.writer);
    batch_init(&batch);
    intake_init(&intake, &batch, put_batch, &putting);
    assert_int_equal(writer_begin(putting.writer, &putting.file, 0, 0, path, set, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        struct event event = event_of(&records[i], i);
        assert_int_equal(intake_event(&intake, &event, NULL), 0);
    }
    assert_int_equal(intake_end(&intake, NULL), 0);
    const struct writer_facts facts = {
        .dialect = "inspector-2.30", .digest = digest, .ledger = &intake.ledger};
    assert_int_equal(writer_finish(putting.writer, &putting.file, &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(putting.writer, NULL), 0);
    intake_release(&intake);
    batch_release(&batch);
    writer_free(putting.writer);
}

static void correct(struct store *store)
{
    assert_int_equal(store_begin(store, NULL), 0);
    assert_int_equal(logs_correct(store, 2, NULL), 0);
    assert_int_equal(store_commit(store, NULL), 0);
}

/* Sequence numbers from `first` on, 100 us apart from at_us on; 0: no times. */
static size_t series(struct record *records, int64_t first, size_t count, int64_t at_us)
{
    for (size_t i = 0; i < count; i++)
        records[i] =
            (struct record){.number = first + (int64_t)i, .at_us = at_us ? at_us + 100 * (int64_t)i : 0};
    return count;
}

/* A file of such a sequence. */
static void put_series(struct store *store, const char *path, int64_t first, size_t count, int64_t at_us)
{
    struct record records[MOST];
    put_file(store, path, "/t", records, series(records, first, count, at_us));
}

#define NUMBER(sql) store_file_number(store, sql)

static const char falls[] =
    "SELECT count(*) FROM (SELECT sequence, lag(sequence) OVER (ORDER BY operation_id) AS before FROM "
    "operation)"
    " WHERE sequence <= before";

static void files_are_numbered_in_order(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    put_series(store, "/t/a", 20, 10, 0);
    put_series(store, "/t/b", 0, 10, 0);
    put_series(store, "/t/c", 10, 10, 0);
    assert_int_equal(NUMBER(falls), 1);
    correct(store);
    assert_int_equal(NUMBER(falls), 0);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 30);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation JOIN file ON file_id = operation_id >> 32"), 30);
    assert_int_equal(NUMBER("SELECT count(*) FROM file_member JOIN file USING (file_id)"), 3);
    store_close(store);
}

/* As if the wall clock was set back between two parts. */
static void numbers_say_more_than_times(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    put_series(store, "/t/a", 10, 10, 5000);
    put_series(store, "/t/b", 0, 10, 900000);
    correct(store);
    assert_int_equal(NUMBER(falls), 0);
    /*
     * It is assumed to continue immediately: the first operation of the later part begins when the last of
     * the earlier had ended.
     */
    assert_int_equal(NUMBER("SELECT step_ns FROM clock_step"), -(900911 - 5010) * INT64_C(1000));
    assert_int_equal(NUMBER("SELECT is_measured FROM clock_step"), 0);
    store_close(store);
}

static void what_is_told_twice_counts_once(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    put_series(store, "/t/b", 6, 10, 1600);
    put_series(store, "/t/a", 0, 10, 1000);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 16);
    assert_int_equal(NUMBER("SELECT count(DISTINCT sequence) FROM operation"), 16);
    assert_int_equal(NUMBER("SELECT sum(operations) FROM operation_block"), 16);
    assert_int_equal(NUMBER("SELECT count FROM v_ledger WHERE reason = 'duplicate operation'"), 4);
    assert_int_equal(NUMBER("SELECT path = '/t/b' FROM v_ledger"), 1);
    assert_int_equal(NUMBER("SELECT first_offset FROM v_ledger"), 0);
    /* Without the other file they are there again. */
    put_series(store, "/t/a", 0, 3, 1000);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 13);
    assert_int_equal(NUMBER("SELECT count(*) FROM v_ledger"), 0);
    store_close(store);
}

/* The traffic of dropped operations is dropped with them, and comes back with them. */
static void traffic_counts_once(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    static const char add[] =
        "INSERT INTO proxy_operation SELECT operation_id + 1000, operation_id, member_id, 0, 0, 1, 4, NULL, "
        "NULL, NULL, NULL,"
        " NULL, 0, NULL, NULL, 0, 0 FROM operation";
    put_series(store, "/t/a", 0, 10, 1000);
    put_series(store, "/t/b", 6, 10, 1600);
    assert_int_equal(store_execute(store, add, NULL), 0);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM proxy_operation"), 16);
    assert_int_equal(NUMBER("SELECT count(*) FROM proxy_operation JOIN operation USING (operation_id)"), 16);
    put_series(store, "/t/a", 0, 3, 1000);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM proxy_operation JOIN operation USING (operation_id)"), 10);
    store_close(store);
}

static void sends_are_told_by_peer_and_number(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    const struct record records[] = {{.number = 1, .function = FUNCTION_SEND},
                                     {.number = 2, .function = FUNCTION_RECV},
                                     {.number = 3, .function = FUNCTION_SEND}};
    put_file(store, "/t/a", "/t", records, 3);
    put_file(store, "/t/b", "/t", records + 1, 2);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 3);
    store_close(store);
}

/* Counters that start again: some records happen to be equal. */
static void other_contents_are_no_doubles(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct record records[10];
    put_series(store, "/t/a", 0, 10, 0);
    series(records, 0, 10, 0);
    for (size_t i = 0; i < 10; i++)
        records[i].duration_ns = i % 4 == 0 ? 1000 : 2000;
    put_file(store, "/t/b", "/t", records, 10);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 20);
    store_close(store);
}

static void directories_of_one_process(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct record records[MOST];
    put_file(store, "/new/a", "/new", records, series(records, 5, 10, 1500));
    put_file(store, "/old/a", "/old", records, series(records, 0, 8, 1000));
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM process"), 1);
    assert_int_equal(NUMBER("SELECT count(*) FROM member"), 1);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation"), 15);
    assert_int_equal(NUMBER(falls), 0);
    store_close(store);
}

/*
 * Rank 1, on another host, ends together with rank 0, whose clock is set by this amount before operation 10.
 */
static void put_stepped(struct store *store, int64_t by_us)
{
    struct record near[MOST], far[MOST];
    series(near, 0, 20, 1000000);
    series(far, 0, 20, 3000000);
    for (size_t i = 0; i < 20; i++) {
        far[i].rank = 1;
        near[i].at_us += i < 10 ? 0 : by_us;
    }
    put_file(store, "/t/near", "/t", near, 20);
    put_file(store, "/t/far", "/t", far, 20);
}

static const char steady[] =
    "SELECT count(*) FROM (SELECT o.enqueue_begin_ns - lag(o.enqueue_begin_ns) OVER (ORDER BY o.sequence) AS "
    "host,"
    " o.device_end_ns - lag(o.device_end_ns) OVER (ORDER BY o.sequence) AS device"
    " FROM operation o JOIN member USING (member_id) WHERE rank = 0) WHERE host = 100000 AND device = 100000";

static void times_go_on_after_a_step(void **state)
{
    static const int64_t steps_us[] = {-1500, -40000, -3600000, 25000, 1500000};
    for (size_t i = 0; i < sizeof steps_us / sizeof *steps_us; i++) {
        struct store *store = store_file_open(state, STORE_CREATE);
        put_stepped(store, steps_us[i]);
        correct(store);
        assert_int_equal(NUMBER("SELECT count(*) FROM clock_step"), 1);
        assert_int_equal(NUMBER("SELECT step_ns FROM clock_step"), steps_us[i] * 1000);
        assert_int_equal(NUMBER("SELECT is_measured FROM clock_step"), 1);
        assert_int_equal(NUMBER(steady), 19);
        assert_int_equal(NUMBER("SELECT sequence FROM operation JOIN clock_step USING (operation_id)"), 10);
        /* The recorded values are still there, and the next join starts from them. */
        assert_int_equal(store_execute(store,
                                       "INSERT OR IGNORE INTO changed_process SELECT process_id FROM process",
                                       NULL),
                         0);
        correct(store);
        assert_int_equal(NUMBER("SELECT step_ns FROM clock_step"), steps_us[i] * 1000);
        assert_int_equal(NUMBER(steady), 19);
        store_close(store);
        assert_int_equal(store_file_teardown(state), 0);
        assert_int_equal(store_file_setup(state), 0);
    }
}

/* All ranks pause: the clock was not set. */
static void a_pause_of_all_is_none(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct record near[MOST], far[MOST];
    series(near, 0, 20, 1000000);
    series(far, 0, 20, 3000000);
    for (size_t i = 0; i < 20; i++) {
        far[i].rank = 1;
        near[i].at_us += i < 10 ? 0 : 500000;
        far[i].at_us += i < 10 ? 0 : 500000;
    }
    put_file(store, "/t/near", "/t", near, 20);
    put_file(store, "/t/far", "/t", far, 20);
    correct(store);
    assert_int_equal(NUMBER("SELECT count(*) FROM clock_step"), 0);
    assert_int_equal(NUMBER("SELECT count(*) FROM operation_recorded"), 0);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_numbered_in_order, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(numbers_say_more_than_times, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(what_is_told_twice_counts_once, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(traffic_counts_once, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(sends_are_told_by_peer_and_number, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(other_contents_are_no_doubles, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(directories_of_one_process, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(times_go_on_after_a_step, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(a_pause_of_all_is_none, store_file_setup, store_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
