#include "output/output.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Packets, written by hand from Perfetto's .proto files. */

static char path[64];
static struct output *output;
static struct trace_writer perfetto;
static unsigned char content[4096];
static size_t length;

/* Processes are in the order of their tracks. */
static const unsigned char root[] = {0x0a, 0x0c, 0x50, 0x01, 0x68, 0x03, 0xe2,
                                     0x03, 0x05, 0x08, 0x00, 0x98, 0x01, 0x01};

static int begin(void **state)
{
    snprintf(path, sizeof path, "/tmp/ncclprof-perfetto-%d", (int)getpid());
    output = output_open(path, OUTPUT_PLAIN, NULL);
    return !output || trace_open(&perfetto, trace_format_of(path), output, NULL) ? -1 : 0;
}

static int end(void **state)
{
    return unlink(path);
}

/* The bytes after the packet of the root. */
static void finish(void)
{
    assert_int_equal(trace_finish(&perfetto, NULL), 0);
    trace_release(&perfetto);
    assert_int_equal(output_close(output, NULL), 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    length = fread(content, 1, sizeof content, file);
    fclose(file);
    assert_true(length >= sizeof root);
    assert_memory_equal(content, root, sizeof root);
}

#define assert_behind_root(...)                                                \
    do {                                                                       \
        const unsigned char expected[] = {__VA_ARGS__};                        \
        assert_int_equal(length - sizeof root, sizeof expected);               \
        assert_memory_equal(content + sizeof root, expected, sizeof expected); \
    } while (0)

static void test_slices(void **state)
{
    const struct trace_event event = {.track = 5, .at_ns = 1000, .category = "c", .name = "n"};
    assert_int_equal(trace_begin(&perfetto, &event, NULL), 0);
    assert_int_equal(trace_end(&perfetto, 5, 2000, NULL), 0);
    assert_int_equal(trace_begin(&perfetto, &event, NULL), 0);
    assert_int_equal(perfetto.slices, 2);
    finish();
    assert_behind_root(
        /* timestamp, sequence, its flags, new names, the event */
        0x0a, 0x21, 0x40, 0xe8, 0x07, 0x50, 0x01, 0x68, 0x02, 0x62, 0x0e, 0x0a, 0x05, 0x08, 0x01, 0x12, 0x01,
        'c', 0x12, 0x05, 0x08, 0x01, 0x12, 0x01, 'n', 0x5a, 0x08, 0x48, 0x01, 0x58, 0x05, 0x18, 0x01, 0x50,
        0x01,
        /* its end */
        0x0a, 0x0d, 0x40, 0xd0, 0x0f, 0x50, 0x01, 0x68, 0x02, 0x5a, 0x04, 0x48, 0x02, 0x58, 0x05,
        /* the names are known by now */
        0x0a, 0x11, 0x40, 0xe8, 0x07, 0x50, 0x01, 0x68, 0x02, 0x5a, 0x08, 0x48, 0x01, 0x58, 0x05, 0x18, 0x01,
        0x50, 0x01);
}

static void test_arguments_and_arrows(void **state)
{
    const struct trace_argument arguments[] = {{"k", "v", 0}, {"k", NULL, 300}};
    const uint64_t arrow = 7;
    const struct trace_event event = {.track = 2,
                                      .name = "m",
                                      .arguments = arguments,
                                      .argument_count = 2,
                                      .arrows = &arrow,
                                      .arrow_count = 1};
    assert_int_equal(trace_mark(&perfetto, &event, NULL), 0);
    assert_int_equal(perfetto.slices, 0);
    finish();
    assert_behind_root(0x0a, 0x3e, 0x40, 0x00, 0x50, 0x01, 0x68, 0x02, 0x62, 0x16,
                       /* the name, the key, the value: field 29 */
                       0x12, 0x05, 0x08, 0x01, 0x12, 0x01, 'm', 0x1a, 0x05, 0x08, 0x01, 0x12, 0x01, 'k', 0xea,
                       0x01, 0x05, 0x08, 0x01, 0x12, 0x01, 'v',
                       /* an instant event with two arguments and an arrow */
                       0x5a, 0x1e, 0x48, 0x03, 0x58, 0x02, 0x50, 0x01, 0x22, 0x05, 0x08, 0x01, 0x88, 0x01,
                       0x01, 0x22, 0x05, 0x08, 0x01, 0x20, 0xac, 0x02, 0xf9, 0x02, 0x07, 0, 0, 0, 0, 0, 0, 0);
}

static void test_process(void **state)
{
    const struct trace_track track = {
        .id = 3, .name = "t", .process = "p", .process_number = 9, .order = 2, .labels = {NULL, "l"}};
    assert_int_equal(trace_add_track(&perfetto, &track, NULL), 0);
    finish();
    assert_behind_root(0x0a, 0x16, 0x50, 0x01, 0xe2, 0x03, 0x11, 0x08, 0x03, 0x12, 0x01, 't', 0x1a, 0x08,
                       0x08, 0x09, 0x32, 0x01, 'p', 0x42, 0x01, 'l', 0x60, 0x02);
}

static void test_texts_are_valid(void **state)
{
    const struct trace_track track = {.id = 3, .parent = 4, .name = "\xff\x1b"};
    assert_int_equal(trace_add_track(&perfetto, &track, NULL), 0);
    finish();
    assert_behind_root(0x0a, 0x13, 0x50, 0x01, 0xe2, 0x03, 0x0e, 0x08, 0x03, 0x28, 0x04, 0x12, 0x08, '\\',
                       'x', 'f', 'f', '\\', 'x', '1', 'b');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slices, begin, end),
        cmocka_unit_test_setup_teardown(test_arguments_and_arrows, begin, end),
        cmocka_unit_test_setup_teardown(test_process, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_are_valid, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
