/*
 * A file that grows, read again and again by one process: only what is new is read, and the store is as if
 * the file had been read at once.
 */
#include "support/cmocka_all.h"

#include "base/base.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of Inspector, always of the same length. */
#define LINE                                                                                     \
    "{\"header\":{\"id\":\"0xa6\",\"rank\":0,\"n_ranks\":2,\"nnodes\":1},\"metadata\":{"         \
    "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\",\"dump_timestamp_us\":%16d,"  \
    "\"hostname\":\"node0\",\"pid\":100},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%8d," \
    "\"coll_msg_size_bytes\":%d,\"coll_exec_time_us\":10,\"coll_timing_source\":\"kernel_gpu\"," \
    "\"coll_algobw_gbs\":1.0,\"coll_busbw_gbs\":1.0}}\n"

enum { SIZE = 4096, OTHER_SIZE = 8192 };

static char top[] = "/tmp/ncclprof-follow-XXXXXX";

static int build(void **state)
{
    return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int clean(void **state)
{
    return rmdir(top);
}

static int remove_files(void **state)
{
    unlink("log");
    unlink("store");
    return 0;
}

/* Returns the length of a line. */
static uint64_t write_lines(const char *mode, int from, int to, int bytes)
{
    FILE *file = fopen("log", mode);
    int length = 0;
    assert_non_null(file);
    for (int i = from; i < to; i++)
        length = fprintf(file, LINE, i, i, bytes);
    assert_int_equal(fclose(file), 0);
    return (uint64_t)length;
}

static void write_text(const char *text)
{
    FILE *file = fopen("log", "a");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int never(void *context)
{
    return 0;
}

static void show_nothing(void *context, size_t files, uint64_t bytes)
{
}

static void tell_nothing(void *context, const struct file_result *result)
{
}

static int take(void *context, struct file_result *result, struct error *error)
{
    struct file_result *taken = context;
    *taken = *result;
    taken->reason = NULL;
    free(result->reason);
    result->reason = NULL;
    return 0;
}

static struct file_result read_log(struct follower *follower, struct store **store)
{
    struct error error = ERROR_INIT;
    struct known known = {.files = NULL};
    struct file_result taken = {.status = FILE_FAILED};
    struct walk walk;
    char path[] = "log", *named[] = {path};
    walk_init(&walk);
    assert_int_equal(walk_add(&walk, path, NULL), 0);
    if (*store)
        assert_int_equal(known_read(&known, *store, NULL), 0);
    const struct ingest ingest = {.known = &known,
                                  .store_path = "store",
                                  .named = named,
                                  .named_count = 1,
                                  .follower = follower,
                                  .hooks = {.context = &taken,
                                            .interrupted = never,
                                            .progress = show_nothing,
                                            .tell = tell_nothing,
                                            .take = take}};
    assert_int_equal(ingest_run_threads(&ingest, &walk, store, 2, &error), 0);
    known_release(&known);
    walk_release(&walk);
    return taken;
}

static int64_t ask(struct store *store, const char *sql)
{
    struct statement *statement = store_prepare(store, sql, NULL);
    assert_non_null(statement);
    assert_int_equal(statement_step(statement, NULL), 1);
    int64_t answer = statement_integer(statement, 0);
    statement_free(statement);
    return answer;
}

/* Compares the store with one that reads the file at once. */
static void assert_as_read_at_once(struct store *store)
{
    static const char *const questions[] = {
        "SELECT count(*) FROM operation",
        "SELECT sum(sequence * (byte_offset + 1)) FROM operation",
        "SELECT sum(bytes) FROM operation",
        "SELECT count(DISTINCT operation_id) FROM operation",
        "SELECT count(*) FROM file",
        "SELECT events * 1000000 + bytes FROM file",
        "SELECT count(*) FROM file WHERE status = 'partial'",
        "SELECT coalesce(sum(count * (first_offset + 1)), 0) FROM ledger",
        "SELECT count(*) FROM member",
        "SELECT count(*) FROM file_member",
    };
    struct error error = ERROR_INIT;
    char path[] = "log", *named[] = {path};
    struct store *other = NULL;
    struct file_result taken;
    struct known known = {.files = NULL};
    struct walk walk;
    walk_init(&walk);
    assert_int_equal(walk_add(&walk, path, NULL), 0);
    const struct ingest ingest = {.known = &known,
                                  .store_path = "other",
                                  .named = named,
                                  .named_count = 1,
                                  .hooks = {.context = &taken,
                                            .interrupted = never,
                                            .progress = show_nothing,
                                            .tell = tell_nothing,
                                            .take = take}};
    assert_int_equal(ingest_run_threads(&ingest, &walk, &other, 1, &error), 0);
    walk_release(&walk);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        assert_int_equal(ask(store, questions[i]), ask(other, questions[i]));
    struct statement *one = store_prepare(store, "SELECT digest FROM file", NULL);
    struct statement *two = store_prepare(other, "SELECT digest FROM file", NULL);
    assert_int_equal(statement_step(one, NULL), 1);
    assert_int_equal(statement_step(two, NULL), 1);
    assert_string_equal(statement_text(one, 0), statement_text(two, 0));
    statement_free(one);
    statement_free(two);
    store_close(other);
    unlink("other");
}

static void test_only_what_is_new(void **state)
{
    struct follower follower;
    struct store *store = NULL;
    follower_init(&follower);
    uint64_t line = write_lines("w", 0, 200, SIZE);
    assert_true(read_log(&follower, &store).bytes == 200 * line);
    assert_as_read_at_once(store);
    for (int from = 200; from < 500; from += 100) {
        write_lines("a", from, from + 100, SIZE);
        struct file_result result = read_log(&follower, &store);
        assert_int_equal(result.status, FILE_INGESTED);
        assert_int_equal(result.events, from + 100);
        assert_true(result.bytes >= 100 * line);
        assert_true(result.bytes <= 100 * line + 4096);
        assert_as_read_at_once(store);
    }
    assert_int_equal(read_log(&follower, &store).status, FILE_UNCHANGED);
    store_close(store);
    follower_release(&follower);
}

/* A line that was cut off is complete next time. What cannot be read stays in the ledger. */
static void test_the_end_is_read_again(void **state)
{
    struct follower follower;
    struct store *store = NULL;
    char text[1024];
    follower_init(&follower);
    write_lines("w", 0, 100, SIZE);
    int length = snprintf(text, sizeof text, LINE, 100, 100, SIZE);
    char half[1024];
    snprintf(half, sizeof half, "%.*s", length / 2, text);
    write_text(half);
    assert_int_equal(read_log(&follower, &store).events, 100);
    assert_as_read_at_once(store);
    write_text(text + length / 2);
    struct file_result result = read_log(&follower, &store);
    assert_int_equal(result.status, FILE_INGESTED);
    assert_int_equal(result.events, 101);
    assert_as_read_at_once(store);
    write_text("not a record at all\n");
    write_lines("a", 101, 150, SIZE);
    assert_int_equal(read_log(&follower, &store).status, FILE_PARTIAL);
    assert_as_read_at_once(store);
    write_lines("a", 150, 200, SIZE);
    assert_int_equal(read_log(&follower, &store).status, FILE_PARTIAL);
    assert_as_read_at_once(store);
    store_close(store);
    follower_release(&follower);
}

/* Shorter, longer, and of the same length: what was read before is dropped. */
static void test_a_replaced_file(void **state)
{
    struct follower follower;
    struct store *store = NULL;
    static const int lengths[] = {100, 150, 150, 60};
    follower_init(&follower);
    uint64_t line = write_lines("w", 0, 120, SIZE);
    assert_int_equal(read_log(&follower, &store).events, 120);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_lines("w", 0, lengths[i], i % 2 ? SIZE : OTHER_SIZE);
        struct file_result result = read_log(&follower, &store);
        assert_int_equal(result.events, lengths[i]);
        assert_true(result.bytes == (uint64_t)lengths[i] * line);
        assert_as_read_at_once(store);
    }
    store_close(store);
    follower_release(&follower);
}

/* Another process took the file out of the store, so it is read from its start. */
static void test_a_file_that_left_the_store(void **state)
{
    struct follower follower;
    struct store *store = NULL;
    follower_init(&follower);
    uint64_t line = write_lines("w", 0, 120, SIZE);
    read_log(&follower, &store);
    store_close(store);
    unlink("store");
    store = NULL;
    write_lines("a", 120, 140, SIZE);
    assert_true(read_log(&follower, &store).bytes == 140 * line);
    assert_as_read_at_once(store);
    store_close(store);
    follower_release(&follower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_only_what_is_new, remove_files),
        cmocka_unit_test_teardown(test_the_end_is_read_again, remove_files),
        cmocka_unit_test_teardown(test_a_replaced_file, remove_files),
        cmocka_unit_test_teardown(test_a_file_that_left_the_store, remove_files),
    };
    return cmocka_run_group_tests(tests, build, clean);
}
