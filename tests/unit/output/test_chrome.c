#include "output/output.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines of JSON, written by hand from Google's document "Trace Event Format". */

static char path[64];
static struct output *output;
static struct trace_writer trace;
static char content[4096];

static int begin(void **state)
{
    snprintf(path, sizeof path, "/tmp/ncclprof-chrome-%d.json", (int)getpid());
    output = output_open(path, OUTPUT_PLAIN, NULL);
    return !output || trace_open(&trace, trace_format_of(path), output, NULL) ? -1 : 0;
}

static int end(void **state)
{
    return unlink(path);
}

static void assert_events(const char *expected)
{
    static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", tail[] = "\n]}\n";
    assert_int_equal(trace_finish(&trace, NULL), 0);
    trace_release(&trace);
    assert_int_equal(output_close(output, NULL), 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content - 1, file);
    fclose(file);
    content[length] = '\0';
    assert_int_equal(length, strlen(expected) + strlen(head) + strlen(tail));
    assert_memory_equal(content, head, strlen(head));
    assert_memory_equal(content + strlen(head), expected, strlen(expected));
    assert_string_equal(content + strlen(head) + strlen(expected), tail);
}

static void test_nothing(void **state)
{
    assert_events("");
}

static void test_a_process_and_its_track(void **state)
{
    const struct trace_track process = {.id = 3,
                                        .name = "clock",
                                        .process = "rank 0",
                                        .process_number = 9,
                                        .order = 2,
                                        .labels = {NULL, "a", "b"}},
                             track = {.id = 5, .parent = 3, .name = "\"\xff\x1b"};
    const struct trace_event event = {.track = 5, .at_ns = 1234567, .category = "c", .name = "n"};
    assert_int_equal(trace_add_track(&trace, &process, NULL), 0);
    assert_int_equal(trace_add_track(&trace, &track, NULL), 0);
    assert_int_equal(trace_begin(&trace, &event, NULL), 0);
    assert_int_equal(trace_end(&trace, 5, 2000001, NULL), 0);
    assert_int_equal(trace.slices, 1);
    assert_events(
        "{\"ph\":\"M\",\"pid\":9,\"tid\":3,\"name\":\"process_name\",\"args\":{\"name\":\"rank 0\"}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":3,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":2}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":3,\"name\":\"process_labels\",\"args\":{\"labels\":\"a, b\"}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"clock\"}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":3,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":3}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":5,\"name\":\"thread_name\",\"args\":{\"name\":"
        "\"\\\"\xef\xbf\xbd\\u001b\"}},\n"
        "{\"ph\":\"M\",\"pid\":9,\"tid\":5,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":5}},\n"
        "{\"ph\":\"B\",\"pid\":9,\"tid\":5,\"ts\":1234.567,\"name\":\"n\",\"cat\":\"c\"},\n"
        "{\"ph\":\"E\",\"pid\":9,\"tid\":5,\"ts\":2000.001}");
}

/* An arrow begins at a mark and ends at a slice. Tracks without a process are those of the job. */
static void test_arguments_and_arrows(void **state)
{
    const struct trace_track first = {.id = 1, .name = "x"}, second = {.id = 2, .name = "y"};
    const struct trace_argument arguments[] = {{"k", "v", 0}, {"l", NULL, 9007199254740993}};
    const uint64_t arrow = 7;
    const struct trace_event mark = {.track = 1,
                                     .name = "m",
                                     .arguments = arguments,
                                     .argument_count = 2,
                                     .arrows = &arrow,
                                     .arrow_count = 1},
                             slice = {.track = 2, .at_ns = 5, .arrows = &arrow, .arrow_count = 1};
    assert_int_equal(trace_add_track(&trace, &first, NULL), 0);
    assert_int_equal(trace_add_track(&trace, &second, NULL), 0);
    assert_int_equal(trace_mark(&trace, &mark, NULL), 0);
    assert_int_equal(trace_begin(&trace, &slice, NULL), 0);
    assert_events(
        "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"job\"}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"x\"}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":1,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":1}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"y\"}},\n"
        "{\"ph\":\"M\",\"pid\":0,\"tid\":2,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":2}},\n"
        "{\"ph\":\"i\",\"pid\":0,\"tid\":1,\"ts\":0.000,\"s\":\"t\",\"name\":\"m\","
        "\"args\":{\"k\":\"v\",\"l\":9007199254740993}},\n"
        "{\"ph\":\"s\",\"pid\":0,\"tid\":1,\"ts\":0.000,\"id\":7,\"cat\":\"waiting\",\"name\":\"waited "
        "for\"},\n"
        "{\"ph\":\"B\",\"pid\":0,\"tid\":2,\"ts\":0.005},\n"
        "{\"ph\":\"f\",\"pid\":0,\"tid\":2,\"ts\":0.005,\"id\":7,\"cat\":\"waiting\",\"name\":\"waited for\","
        "\"bp\":\"e\"}");
}

static void test_names_of_files(void **state)
{
    const struct trace_format *chrome = trace_format_of("a.json"), *perfetto = trace_format_of("a.pftrace");
    assert_ptr_not_equal(chrome, perfetto);
    assert_ptr_equal(trace_format_of("b.json.gz"), chrome);
    assert_ptr_equal(trace_format_of("a.pftrace.gz"), perfetto);
    assert_ptr_equal(trace_format_of("-"), perfetto);
    assert_ptr_equal(trace_format_of(".json"), perfetto);
    assert_ptr_equal(trace_format_of("json"), perfetto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_process_and_its_track, begin, end),
        cmocka_unit_test_setup_teardown(test_arguments_and_arrows, begin, end),
        cmocka_unit_test(test_names_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
