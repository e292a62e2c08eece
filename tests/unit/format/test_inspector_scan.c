#include "format/inspector/inspector.h"
#include "input/input.h"

#include "support/cmocka_all.h"
#include "support/events.h"
#include "support/random.h"
#include "support/same_line.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct readers {
    struct json json;
    struct inspector_scanner scanner;
    struct inspector_line quick;
    struct inspector_line patient;
};

/* Whether the scanner accepts the line; if so, it must read the same as the decoder. */
static int scan_and_compare(struct readers *readers, const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(&readers->quick, 0x5a, sizeof readers->quick);
    int taken = inspector_scan(&readers->scanner, copy, copy + length, &readers->quick) == copy + length;
    if (taken) {
        const char *difference = "the decoder refuses the line";
        if (inspector_decode(&readers->json, copy, length, &readers->patient) == INSPECTOR_LINE)
            difference = difference_of_inspector_lines(&readers->quick, &readers->patient);
        if (!difference && readers->json.misread)
            difference = "an unreadable value";
        if (difference)
            fail_msg("%s: %.*s", difference, (int)length, copy);
    }
    free(copy);
    return taken;
}

static struct readers *new_readers(void)
{
    struct readers *readers = calloc(1, sizeof *readers);
    assert_non_null(readers);
    json_init(&readers->json);
    inspector_scanner_init(&readers->scanner);
    return readers;
}

static void free_readers(struct readers *readers)
{
    json_release(&readers->json);
    free(readers);
}

static const char *const pattern = "fixtures/inspector-*/*.log";

static int is_operation(const char *line, size_t length)
{
    return memmem(line, length, "_perf\"", 6) != NULL;
}

/*
 * All operations of all versions are scanned, verbose or not; markers and proxy records are left to the
 * decoder.
 */
static void all_versions_are_scanned(void **state)
{
    glob_t found;
    size_t lines = 0;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++) {
        struct readers *readers = new_readers();
        size_t length;
        char *bytes = bytes_of_file(found.gl_pathv[n], &length);
        const char *newline;
        for (const char *at = bytes; (newline = strchr(at, '\n')); at = newline + 1, lines++) {
            size_t line = (size_t)(newline - at);
            assert_int_equal(scan_and_compare(readers, at, line), is_operation(at, line));
        }
        free(bytes);
        free_readers(readers);
    }
    globfree(&found);
    assert_true(lines > 100);
}

static void change(char *text, size_t length)
{
    static const char bytes[] = "0123456789.,:\"{}[]-+eEx \\\n\x01\xff";
    text[random_number() % length] = bytes[random_number() % (sizeof bytes - 1)];
}

static char *first_operation(char *lines)
{
    while (!is_operation(lines, strcspn(lines, "\n")))
        lines = strchr(lines, '\n') + 1;
    return lines;
}

static void changed_lines_mean_the_same(void **state)
{
    struct readers *readers = new_readers();
    glob_t found;
    size_t taken = 0;
    size_t tried = 0;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++) {
        size_t length;
        char *content = bytes_of_file(found.gl_pathv[n], &length);
        char *bytes = first_operation(content);
        size_t line = strcspn(bytes, "\n");
        char *copy = malloc(line + 1);
        assert_non_null(copy);
        for (int i = 0; i < 400; i++, tried++) {
            memcpy(copy, bytes, line + 1);
            change(copy, line);
            if (i % 2)
                change(copy, line);
            taken += (size_t)scan_and_compare(readers, copy, line);
        }
        for (size_t cut = 0; cut < line; cut++)
            assert_false(scan_and_compare(readers, bytes, cut));
        free(copy);
        free(content);
    }
    globfree(&found);
    free_readers(readers);
    assert_true(taken > 100 && taken < tried);
}

/* More communicators than the scanner remembers, in turn: none is mistaken for another. */
static void many_communicators(void **state)
{
    struct readers *readers = new_readers();
    size_t length;
    char *bytes = bytes_of_file("fixtures/inspector-2.30/vm-pid33442.log", &length);
    size_t line = strcspn(bytes, "\n");
    char *digit = strstr(bytes, "\"0x") + 3;
    for (int i = 0; i < 50; i++) {
        *digit = "0123456789abcdef"[i * 7 % 16];
        assert_true(scan_and_compare(readers, bytes, line));
    }
    free(bytes);
    free_readers(readers);
}

/* A line of the fixture with another number after those words. */
static int scan_with(struct readers *readers, const char *words, const char *number)
{
    char line[4096];
    size_t length;
    char *bytes = bytes_of_file("fixtures/inspector-2.30/vm-pid33442.log", &length);
    bytes[strcspn(bytes, "\n")] = '\0';
    char *at = strstr(bytes, words);
    assert_non_null(at);
    at += strlen(words);
    int written = snprintf(line, sizeof line, "%.*s%s%s", (int)(at - bytes), bytes, number,
                           at + strspn(at, "0123456789"));
    free(bytes);
    assert_true(written > 0 && (size_t)written < sizeof line);
    return scan_and_compare(readers, line, (size_t)written);
}

/*
 * Times of sixteen digits have a path of their own: similar ones and invalid ones have the same meaning as
 * for the decoder.
 */
static void times_of_all_lengths(void **state)
{
    static const struct {
        const char *number;
        int is_time;   /* in whole microseconds, of which 2^62 ns is the maximum */
        int is_number; /* that a reader might skip */
    } numbers[] = {
        {"0", 1, 1},
        {"7", 1, 1},
        {"99999999", 1, 1},
        {"999999999999999", 1, 1},
        {"1000000000000000", 1, 1},
        {"4611686018427387", 1, 1},
        {"4611686018427388", 0, 1},
        {"9999999999999999", 0, 1},
        {"17952183671925560", 0, 1},
        {"18446744073709551615", 0, 1},
        {"18446744073709551616", 0, 0},
        {"0795218367192556", 0, 0},
        {"17952183671925.0", 0, 0},
        {"-795218367192556", 0, 0},
        {"179521836719255x", 0, 0},
        {"17952183:7192556", 0, 0},
        {"", 0, 0},
    };
    struct readers *readers = new_readers();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(scan_with(readers, "\"coll_start_ts\":", numbers[i].number), numbers[i].is_time);
        assert_int_equal(scan_with(readers, "\"kernel_stop_ts\":", numbers[i].number), numbers[i].is_time);
        assert_int_equal(scan_with(readers, "\"kernel_record_ts\":", numbers[i].number),
                         numbers[i].is_number);
    }
    free_readers(readers);
}

/* Values that cannot be negative are left to the decoder if they are. */
static void negative_numbers_are_refused(void **state)
{
    static const char *const words[] = {
        "\"rank\":", "\"pid\":", "\"coll_sn\":", "\"coll_msg_size_bytes\":", "\"coll_exec_time_us\":"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct readers *readers = new_readers();
        assert_true(scan_with(readers, words[i], "8"));
        assert_false(scan_with(readers, words[i], "-1"));
        assert_false(scan_with(readers, words[i], "-8"));
        free_readers(readers);
    }
}

/* Channels without a comma between them are no list. */
static void lists_have_commas(void **state)
{
    static const char *const lists[] = {"_sn\":", "_ts\":"};
    struct readers *readers = new_readers();
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        char *bytes = bytes_of_file("fixtures/inspector-v4.1/node0-pid1000.log", &length);
        char *line = first_operation(bytes);
        char words[32];
        size_t line_length = strcspn(line, "\n");
        assert_true(scan_and_compare(readers, line, line_length));
        snprintf(words, sizeof words, "\"event_trace%s", lists[i]);
        char *comma = strstr(strstr(line, words), "},{") + 1;
        memmove(comma, comma + 1, strlen(comma));
        assert_false(scan_and_compare(readers, line, line_length - 1));
        free(bytes);
    }
    free_readers(readers);
}

/* -1 is what the bundled plugin writes for values that NCCL up to 2.26 does not report. */
static void sizes_may_be_unknown(void **state)
{
    static const char *const words[] = {"\"n_ranks\":", "\"nnodes\":"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct readers *readers = new_readers();
        assert_true(scan_with(readers, words[i], "8"));
        assert_true(scan_with(readers, words[i], "-1"));
        assert_false(scan_with(readers, words[i], "-2"));
        free_readers(readers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_versions_are_scanned),
        cmocka_unit_test(changed_lines_mean_the_same),
        cmocka_unit_test(many_communicators),
        cmocka_unit_test(times_of_all_lengths),
        cmocka_unit_test(negative_numbers_are_refused),
        cmocka_unit_test(sizes_may_be_unknown),
        cmocka_unit_test(lists_have_commas),
    };
    return cmocka_run_group_tests_name("inspector scanner", tests, NULL, NULL);
}
