#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* A sample of a file, with times in seconds; without a begin (-1) it is a total. */
struct given {
    enum node_metric metric;
    int64_t begin;
    int64_t at;
    double value;
};

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

static void put_samples(struct intake *intake, const struct given *given, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct event event = {
            .kind = EVENT_NODE_SAMPLE,
            .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN},
            .node_sample = {.host = "node1",
                            .place = NODE_INTERFACE,
                            .device = "eth0",
                            .metric = given[i].metric,
                            .begin_ns = given[i].begin < 0 ? TIME_UNKNOWN : given[i].begin * SECOND_NS,
                            .at_ns = given[i].at * SECOND_NS,
                            .value = given[i].value}};
        assert_int_equal(intake_event(intake, &event, NULL), 0);
    }
}

/* A file with these samples. */
static void put_file(struct store *store, const char *path, const struct given *given, size_t count)
{
    struct intake intake;
    struct batch batch;
    enum writer_outcome outcome;
    now.writer = writer_new(store, NULL);
    assert_non_null(now.writer);
    batch_init(&batch);
    intake_init(&intake, &batch, full, NULL);
    assert_int_equal(writer_begin(now.writer, &now.file, 0, 0, path, "/traces", NULL), 0);
    put_samples(&intake, given, count);
    assert_int_equal(intake_end(&intake, NULL), 0);
    const struct writer_facts facts = {
        .dialect = "ethtool", .digest = path, .events = (int64_t)count, .ledger = &intake.ledger};
    assert_int_equal(writer_finish(now.writer, &now.file, &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(now.writer, NULL), 0);
    intake_release(&intake);
    batch_release(&batch);
    writer_free(now.writer);
}

#define PUT(store, path, ...)                                  \
    put_file(store, path, (const struct given[]){__VA_ARGS__}, \
             sizeof(const struct given[]){__VA_ARGS__} / sizeof(struct given))

/* What was read, as "METRIC begin-at value", in seconds. */
static int note_reading(void *context, const struct node_reading *reading)
{
    return buffer_printf(context, "%s %lld-%lld %g\n", node_metric_name(reading->metric),
                         (long long)(reading->during.begin_ns / SECOND_NS),
                         (long long)(reading->during.end_ns / SECOND_NS), reading->value);
}

static void check_readings(struct store *store, int64_t from, int64_t to, const char *expected)
{
    char name[] = "node1", names[] = "[\"node1\"]";
    const struct node_host host = {.name = name, .names = names, .cores = COUNT_UNKNOWN};
    struct buffer text = BUFFER_INIT;
    assert_int_equal(node_samples_read(&host, store, (struct interval_ns){from * SECOND_NS, to * SECOND_NS},
                                       note_reading, &text, NULL),
                     0);
    assert_string_equal(text.data ? text.data : "", expected);
    buffer_release(&text);
}

/* Two snapshots in a file each, read in the wrong order; the third is after a reset. */
static void test_snapshots(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    PUT(store, "b", {NODE_RECEIVE_ERRORS, -1, 20, 310}, {NODE_CPU_PRESSURE, -1, 20, 4e9});
    PUT(store, "a", {NODE_RECEIVE_ERRORS, -1, 10, 10}, {NODE_CPU_PRESSURE, -1, 10, 2e9});
    PUT(store, "c", {NODE_RECEIVE_ERRORS, -1, 30, 5}, {NODE_CPU_PRESSURE, -1, 30, 12e9});
    check_readings(store, 0, 100,
                   "cpu_pressure_share 10-20 0.2\ncpu_pressure_share 20-30 0.8\nreceive_errors 10-20 300\n");
    check_readings(store, 25, 100, "cpu_pressure_share 20-30 0.8\n");
    store_close(store);
}

/* The next file goes on from the sum of a total and the increases after it. */
static void test_several_in_a_file(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    PUT(store, "a", {NODE_RECEIVE_ERRORS, -1, 10, 10}, {NODE_RECEIVE_ERRORS, 10, 15, 100});
    PUT(store, "b", {NODE_RECEIVE_ERRORS, -1, 20, 160}, {NODE_RECEIVE_ERRORS, -1, 25, 5});
    PUT(store, "c", {NODE_RECEIVE_ERRORS, -1, 30, 7});
    check_readings(store, 0, 100,
                   "receive_errors 10-15 100\nreceive_errors 15-20 50\nreceive_errors 25-30 2\n");
    store_close(store);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_snapshots),
        WITH_FILE(test_several_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
