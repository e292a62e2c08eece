#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* The file that is being written. */
static struct {
    struct writer *writer;
    struct writer_file file;
    struct intake intake;
    struct batch batch;
} now;

static int full(void *context, struct batch **batch, struct error *error)
{
    assert_int_equal(writer_put(now.writer, &now.file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

static void begin(struct store *store)
{
    now.writer = writer_new(store, NULL);
    assert_non_null(now.writer);
    batch_init(&now.batch);
    intake_init(&now.intake, &now.batch, full, NULL);
    assert_int_equal(writer_begin(now.writer, &now.file, 0, 0, "/traces/node.jsonl", "/traces", NULL), 0);
}

static void finish(void)
{
    enum writer_outcome outcome;
    assert_int_equal(intake_end(&now.intake, NULL), 0);
    const struct writer_facts facts = {
        .dialect = "node", .digest = "d", .events = now.intake.builder.events, .ledger = &now.intake.ledger};
    assert_int_equal(writer_finish(now.writer, &now.file, &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(now.writer, NULL), 0);
    intake_release(&now.intake);
    batch_release(&now.batch);
    writer_free(now.writer);
}

static void put(struct event event)
{
    event.origin = (struct origin){.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    assert_int_equal(intake_event(&now.intake, &event, NULL), 0);
}

/* Sample `second` of the GPU's metric: of the second before. */
static void put_sample(enum node_metric metric, int64_t second, double value)
{
    put((struct event){.kind = EVENT_NODE_SAMPLE,
                       .node_sample = {.host = "node017",
                                       .place = NODE_GPU,
                                       .device = "00000000:3b:00.0",
                                       .metric = metric,
                                       .begin_ns = (second - 1) * SECOND_NS,
                                       .at_ns = second * SECOND_NS,
                                       .value = value}});
}

static int64_t count_where(struct store *store, const char *condition)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM v_node_sample WHERE %s", condition);
    return store_file_number(store, sql);
}

/* Gauges are united while they keep their value; counters only while they do not move. */
static void test_equal_samples_are_united(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    begin(store);
    for (int64_t second = 1; second <= 10; second++) {
        put_sample(NODE_TEMPERATURE, second, second <= 7 ? 61 : 62);
        put_sample(NODE_PCIE_REPLAYS, second, second <= 4 ? 0 : 3);
    }
    put_sample(NODE_TEMPERATURE, 20, 62); /* nobody knows what it was in between */
    finish();
    assert_int_equal(count_where(store, "metric = 'temperature_c'"), 3);
    assert_int_equal(count_where(store, "value = 61 AND begin_ns = 0 AND at_ns = 7e9"), 1);
    assert_int_equal(count_where(store, "value = 62 AND begin_ns = 7e9 AND at_ns = 10e9"), 1);
    assert_int_equal(count_where(store, "metric = 'pcie_replays'"), 7);
    assert_int_equal(count_where(store, "value = 0 AND begin_ns = 0 AND at_ns = 4e9"), 1);
    assert_int_equal(store_file_number(store,
                                       "SELECT sum(value) FROM v_node_sample"
                                       " WHERE metric = 'pcie_replays'"),
                     18);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM node_sample_block"), 2);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM process"), 0);
    store_close(store);
}

/* A total has no begin; it is not united with an increase that follows. */
static void test_totals(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    begin(store);
    put((struct event){.kind = EVENT_NODE_SAMPLE,
                       .node_sample = {.host = "node017",
                                       .place = NODE_GPU,
                                       .device = "00000000:3b:00.0",
                                       .metric = NODE_PCIE_REPLAYS,
                                       .begin_ns = TIME_UNKNOWN,
                                       .at_ns = SECOND_NS}});
    put_sample(NODE_PCIE_REPLAYS, 2, 0);
    put_sample(NODE_PCIE_REPLAYS, 3, 0);
    finish();
    assert_int_equal(count_where(store, "begin_ns IS NULL AND at_ns = 1e9 AND value = 0"), 1);
    assert_int_equal(count_where(store, "begin_ns = 1e9 AND at_ns = 3e9"), 1);
    assert_int_equal(store_file_number(store, "SELECT earliest_ns FROM node_sample_block"), SECOND_NS);
    store_close(store);
}

static double value_of(struct store *store, int64_t second)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT value FROM v_node_sample WHERE at_ns = %lld",
             (long long)(second * SECOND_NS));
    struct statement *statement = store_prepare(store, sql, NULL);
    assert_non_null(statement);
    assert_int_equal(statement_step(statement, NULL), 1);
    double value = statement_is_null(statement, 0) ? NAN : statement_real(statement, 0);
    statement_free(statement);
    return value;
}

/* Exact with up to six decimals, and as whole numbers; to a millionth otherwise; never out of range. */
static void test_values_are_kept(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    const double values[] = {0.6312, 0.1, -3, 1e-6, 123456.75, 0};
    enum { VALUES = sizeof values / sizeof *values };
    begin(store);
    for (int64_t i = 0; i < VALUES; i++)
        put_sample(NODE_POWER, 1 + i, values[i]);
    put_sample(NODE_CPU_SHARE, 101, 1.0 / 3);
    put_sample(NODE_OTHER_GPU_MEMORY, 102, 70368744177665.0);
    put_sample(NODE_RECEIVED_BYTES, 103, 1e300);
    put_sample(NODE_FAN, 104, NAN);
    finish();
    for (int64_t i = 0; i < VALUES; i++)
        assert_true(value_of(store, 1 + i) == values[i]);
    assert_true(fabs(value_of(store, 101) - 1.0 / 3) < 1e-6);
    assert_true(value_of(store, 102) == 70368744177665.0);
    assert_true(value_of(store, 103) >= 9e18);
    assert_true(isnan(value_of(store, 104)));
    store_close(store);
}

/* More samples than a block has room for, of many series in turn, and without times. */
static void test_many_samples(void **state)
{
    enum { SECONDS = 700, SERIES = 5 };
    struct store *store = store_file_open(state, STORE_CREATE);
    begin(store);
    for (int64_t second = 1; second <= SECONDS; second++)
        for (int series = 0; series < SERIES; series++)
            put_sample(NODE_SM_CLOCK + series, second, (double)(second % 100 + series));
    put((struct event){.kind = EVENT_NODE_SAMPLE,
                       .node_sample = {.metric = NODE_DISK_FREE,
                                       .begin_ns = TIME_UNKNOWN,
                                       .at_ns = TIME_UNKNOWN,
                                       .error_ns = 5,
                                       .value = 7}});
    assert_int_equal(now.intake.builder.events, SECONDS * SERIES + 1);
    finish();
    assert_int_equal(count_where(store, "metric = 'sm_clock_mhz'"), SECONDS);
    assert_int_equal(count_where(store, "metric = 'temperature_c' AND value = at_ns / 1000000000 % 100 + 2"),
                     SECONDS);
    assert_int_equal(count_where(store, "begin_ns <> at_ns - 1000000000"), 0);
    assert_int_equal(count_where(store, "time IS NULL AND host IS NULL AND value = 7 AND error_us > 0"), 1);
    assert_int_equal(store_file_number(store, "SELECT count(DISTINCT node_sample_id) FROM v_node_sample"),
                     SECONDS * SERIES + 1);
    assert_int_equal(store_file_number(store, "SELECT sum(samples) FROM node_sample_block"),
                     SECONDS * SERIES + 1);
    store_close(store);
}

static void test_messages_and_facts(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    begin(store);
    put((struct event){.kind = EVENT_NODE_EVENT,
                       .node_event = {.host = "node017",
                                      .place = NODE_GPU,
                                      .device = "00000000:3b:00.0",
                                      .code = NODE_EVENT_XID,
                                      .number = 79,
                                      .at_ns = TIME_UNKNOWN,
                                      .since_boot_ns = 12,
                                      .pid = COUNT_UNKNOWN,
                                      .text = "GPU has fallen off the bus"}});
    put((struct event){.kind = EVENT_NODE_FACT,
                       .node_fact = {.host = "node017",
                                     .boot_id = "b",
                                     .cores = 8,
                                     .memory_bytes = COUNT_UNKNOWN,
                                     .monotonic_ns = 5,
                                     .realtime_ns = 1005,
                                     .gpu_index = COUNT_UNKNOWN}});
    finish();
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM v_node_event WHERE code = 'xid' AND number"
                                       " = 79 AND time IS NULL AND pid IS NULL AND since_boot_ns = 12"),
                     1);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM v_node_fact WHERE cores = 8 AND memory_bytes"
                                       " IS NULL AND gpu_index IS NULL AND realtime_ns = 1005"),
                     1);
    store_close(store);
}

/* A metric's number never changes its name. */
static void test_names(void **state)
{
    for (int metric = 1; metric < NODE_METRIC_COUNT; metric++) {
        assert_non_null(node_metric_name(metric));
        assert_int_equal(node_metric_of(node_metric_name(metric)), metric);
    }
    assert_int_equal(node_metric_of("sm_clock"), NODE_METRIC_OTHER);
    for (int place = 0; place < NODE_PLACES; place++)
        assert_non_null(node_place_name(place));
    for (int code = 0; code < NODE_EVENT_COUNT; code++)
        assert_non_null(node_event_name(code));
    assert_null(node_metric_name(NODE_METRIC_COUNT));
    assert_int_equal(node_metric_of("disk_free_bytes"), 62);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_equal_samples_are_united), WITH_FILE(test_totals),
        WITH_FILE(test_values_are_kept),          WITH_FILE(test_many_samples),
        WITH_FILE(test_messages_and_facts),       cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
