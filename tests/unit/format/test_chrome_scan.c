#include "format/chrome/chrome.h"
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
    struct chrome_scanner scanner;
};

/* Whether the scanner accepts the line; if so, it must read the same as the decoder. */
static int scan_and_compare(struct readers *readers, const char *text, size_t length)
{
    struct chrome_line quick;
    struct chrome_line patient;
    /* An allocation of the exact size, so that a sanitizer detects reading beyond the end. */
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(&quick, 0x5a, sizeof quick);
    int taken = chrome_scan(&readers->scanner, copy, copy + length, &quick) == copy + length;
    if (taken) {
        const char *difference = "the decoder refuses the line";
        if (chrome_decode(&readers->json, copy, length, &patient) == CHROME_LINE)
            difference = difference_of_chrome_lines(&quick, &patient);
        if (!difference && (readers->json.misread || readers->json.has_misfit))
            difference = "an unreadable value";
        if (difference)
            fail_msg("%s: %.*s", difference, (int)length, copy);
    }
    free(copy);
    return taken;
}

/* Makes the scanner learn from a line of which nothing is lost; 0: it is none. */
static int learn(struct readers *readers, const char *text, size_t length)
{
    const struct json *json = &readers->json;
    struct chrome_line line;
    if (chrome_decode(&readers->json, text, length, &line) != CHROME_LINE || json->misread || json->has_nan ||
        json->has_misfit)
        return 0;
    chrome_scanner_learn(&readers->scanner, text, length, &line);
    return 1;
}

static void learn_text(struct readers *readers, const char *text)
{
    assert_true(learn(readers, text, strlen(text)));
}

static void begin(struct readers *readers)
{
    json_init(&readers->json);
    chrome_scanner_init(&readers->scanner);
}

static void end(struct readers *readers)
{
    json_release(&readers->json);
    chrome_scanner_release(&readers->scanner);
}

/* The result of the decoder for a line. */
static struct chrome_line read_patiently(struct readers *readers, const char *text, size_t length)
{
    struct chrome_line line;
    if (chrome_decode(&readers->json, text, length, &line) != CHROME_LINE)
        fail_msg("the decoder refuses the line: %.*s", (int)length, text);
    return line;
}

/*
 * Whether the scanner accepts begin and end of a wait together; if so, they must equal the decoder's result
 * for the two.
 */
static int scan_wait_and_compare(struct readers *readers, const char *text, size_t length)
{
    struct chrome_line quick;
    int64_t end_ns;
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(&quick, 0x5a, sizeof quick);
    const char *past = chrome_scan_wait(&readers->scanner, copy, copy + length, &quick, &end_ns);
    if (past) {
        const char *newline = memchr(copy, '\n', length);
        assert_non_null(newline);
        struct chrome_line first = read_patiently(readers, copy, (size_t)(newline - 1 - copy));
        assert_null(difference_of_chrome_lines(&quick, &first));
        struct chrome_line last = read_patiently(readers, newline + 1, (size_t)(past - newline - 1));
        assert_int_equal(last.phase, 'e');
        assert_int_equal(last.time_ns, end_ns);
        first.phase = last.phase;
        first.time_ns = last.time_ns;
        assert_null(difference_of_chrome_lines(&first, &last));
    }
    free(copy);
    return past != NULL;
}

struct counts {
    size_t lines, taken, learnt;
};

/* Calls back for every object in a file with one object per line. */
static void each_object(const char *path,
                        void (*visit)(struct readers *, const char *, size_t, struct counts *),
                        struct counts *counts)
{
    struct readers readers;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    const char *newline;
    begin(&readers);
    for (const char *at = bytes; (newline = memchr(at, '\n', (size_t)(bytes + length - at)));
         at = newline + 1) {
        size_t object = (size_t)(newline - at);
        if (object > 3 && at[object - 1] == ',')
            visit(&readers, at, object - 1, counts);
    }
    end(&readers);
    free(bytes);
}

/* A line from which it learned is accepted. */
static void visit_as_it_is(struct readers *readers, const char *text, size_t length, struct counts *counts)
{
    counts->lines++;
    if (scan_and_compare(readers, text, length)) {
        counts->taken++;
        return;
    }
    learn(readers, text, length);
    counts->learnt += (size_t)scan_and_compare(readers, text, length);
}

/*
 * Each dialect is scanned, except tags, copy-engine operations and notes of the bundled plugin; no file has
 * lines of more than fifty layouts.
 */
static void all_dialects_are_scanned(void **state)
{
    static const char *const patterns[] = {"fixtures/dialect-*/dump*", "fixtures/*clean/dump*",
                                           "fixtures/*slow-rank/dump*", "fixtures/kernel-phases/dump*",
                                           "fixtures/user-tags/ncclprof*"};
    glob_t found;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t n = 0; n < found.gl_pathc; n++) {
            struct counts counts = {0};
            size_t length;
            size_t tags = 0;
            char *bytes = bytes_of_file(found.gl_pathv[n], &length);
            for (const char *at = bytes; (at = strstr(at, "USER_TAG")); at++)
                tags++;
            for (const char *at = bytes; (at = strstr(at, "NCCLPROF")); at++)
                tags++;
            free(bytes);
            each_object(found.gl_pathv[n], visit_as_it_is, &counts);
            if (counts.taken + counts.learnt + tags != counts.lines || counts.learnt > 50)
                fail_msg("%s: %zu of %zu lines scanned, %zu learned", found.gl_pathv[n], counts.taken,
                         counts.lines, counts.learnt);
        }
        globfree(&found);
    }
}

static void mutate(char *text, size_t *length)
{
    static const char bytes[] = "0123456789.,:\"{}[]-+eEx \\\n\t\x01\x7f\xff";
    size_t at = random_number() % *length;
    switch (random_number() % 4) {
    case 0:
        text[at] = bytes[random_number() % (sizeof bytes - 1)];
        break;
    case 1:
        memmove(text + at, text + at + 1, *length - at - 1);
        --*length;
        break;
    case 2:
        memmove(text + at + 1, text + at, *length - at);
        text[at] = bytes[random_number() % (sizeof bytes - 1)];
        ++*length;
        break;
    default:
        *length = at + 1;
        break;
    }
}

static void visit_changed(struct readers *readers, const char *text, size_t length, struct counts *counts)
{
    char copy[2048];
    learn(readers, text, length);
    for (int i = 0; i < 20; i++) {
        size_t changed = length;
        if (length + 4 > sizeof copy)
            return;
        memcpy(copy, text, length);
        for (uint64_t changes = random_number() % 3 + 1; changes > 0 && changed > 1; changes--)
            mutate(copy, &changed);
        counts->lines++;
        if (scan_and_compare(readers, copy, changed))
            counts->taken++;
        else if (i % 4 == 0)
            learn(readers, copy, changed);
    }
}

/* Lines changed at random, and learned from some of them: accepted lines still mean the same. */
static void changed_lines_mean_the_same(void **state)
{
    glob_t found;
    struct counts counts = {0};
    assert_int_equal(glob("fixtures/dialect-*/dump*", 0, NULL, &found), 0);
    assert_int_equal(glob("fixtures/kernel-phases/dump*", GLOB_APPEND, NULL, &found), 0);
    assert_int_equal(glob("fixtures/user-tags/ncclprof*", GLOB_APPEND, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++)
        each_object(found.gl_pathv[n], visit_changed, &counts);
    globfree(&found);
    assert_true(counts.taken > 500);
    assert_true(counts.taken < counts.lines / 2);
}

/*
 * Waits are predicted from the line that followed such a line the last time, so the scanner must see all
 * lines.
 */
static void visit_waits(const char *path, struct counts *counts)
{
    struct readers readers;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    const char *newline;
    begin(&readers);
    for (const char *at = bytes; (newline = memchr(at, '\n', (size_t)(bytes + length - at)));
         at = newline + 1) {
        char copy[1024];
        size_t rest =
            (size_t)(bytes + length - at) < sizeof copy - 4 ? (size_t)(bytes + length - at) : sizeof copy - 4;
        struct chrome_scanner before = readers.scanner;
        for (int i = 0; i < 30; i++) {
            size_t changed = rest;
            memcpy(copy, at, rest);
            for (uint64_t changes = random_number() % 3; changes > 0; changes--)
                mutate(copy, &changed);
            readers.scanner = before;
            counts->lines++;
            counts->taken += (size_t)scan_wait_and_compare(&readers, copy, changed);
        }
        readers.scanner = before;
        if (!scan_and_compare(&readers, at, (size_t)(newline - at) - (newline > at)))
            learn(&readers, at, (size_t)(newline - at) - (newline > at));
    }
    end(&readers);
    free(bytes);
}

static void waits_are_their_two_lines(void **state)
{
    glob_t found;
    struct counts counts = {0};
    assert_int_equal(glob("fixtures/dialect-2.*/dump*", 0, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++)
        visit_waits(found.gl_pathv[n], &counts);
    globfree(&found);
    assert_true(counts.taken > 500);
    assert_true(counts.taken < counts.lines / 2);
}

#define NET(id, ts, step)                                                   \
    "{\"name\": \"RecvWait\", \"cat\": \"NET\", \"ph\": \"b\", \"id\": " id \
    ", \"pid\": 1, \"tid\": 1, \"ts\": " ts ", \"args\": {\"Step\": " step "}}"

/* Numbers at the limits of their range, and spellings that JSON does not have. */
static void odd_numbers(void **state)
{
    static const char *const taken[] = {NET("0", "0.000000", "0"),
                                        NET("5", "0.000499", "-1"),
                                        NET("5", "0.000500", "7"),
                                        NET("5", "123456789012345.999999", "7"),
                                        NET("999999999999999999", "1.999999", "7"),
                                        NET("5", "1.0000000", "0"),
                                        NET("5", "1.5", "0"),
                                        NET("5", "1", "0"),
                                        NET("5", "0", "0"),
                                        NET("5", "1.000000e3", "0"),
                                        NET("5", "25E-1", "0")};
    static const char *const refused[] = {
        NET("01", "1.000000", "0"), NET("5", "1e300", "0"),     NET("5", "1.", "0"),
        NET("5", "01.000000", "0"), NET("5", "1.00000a", "0"),  NET("5", "-1.000000", "0"),
        NET("5", "1.000000e", "0"), NET("5", "1.000000", "+1"), NET("5", "1.000000", "1.5"),
        NET("", "1.000000", "1"),   NET("5", "1.000000", "-"),  NET("5", "1.000000", "12345678901234567890"),
        NET("5", "1.000000", "-2"),
    };
    struct readers readers;
    begin(&readers);
    learn_text(&readers, taken[0]);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(scan_and_compare(&readers, taken[i], strlen(taken[i])));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(scan_and_compare(&readers, refused[i], strlen(refused[i])));
    end(&readers);
}

#define SUM(sequence, rank, count)                                                                    \
    "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 5, \"pid\": 1, \"tid\": 1, " \
    "\"ts\": 1.000000, \"args\": {\"SeqNum\": " sequence ", \"CommHash\": 5, \"Rank\": " rank         \
    ", \"Count\": " count                                                                             \
    ", \"Datatype\": \"ncclInt8\", \"Algorithm\": \"RING\", \"Protocol\": \"LL\", \"nChannels\": 1}}"

/* Values that cannot be negative are left to the decoder if they are; -1 means that there is none. */
static void negative_numbers(void **state)
{
    static const char *const taken[] = {SUM("3", "0", "8"), SUM("3", "-1", "8")};
    static const char *const refused[] = {SUM("-1", "0", "8"), SUM("3", "-2", "8"), SUM("3", "0", "-8")};
    struct readers readers;
    begin(&readers);
    learn_text(&readers, taken[0]);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(scan_and_compare(&readers, taken[i], strlen(taken[i])));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(scan_and_compare(&readers, refused[i], strlen(refused[i])));
    end(&readers);
}

#define LAUNCH(stream)                                                                    \
    "{\"name\": \"KernelLaunch\", \"cat\": \"KERNEL_LAUNCH\", \"ph\": \"b\", \"id\": 5, " \
    "\"pid\": 1, \"tid\": 1, \"ts\": 0.000000, \"args\": {\"groupId\": 0, \"Stream\": " stream "}}"

/* Pointers as printf writes them; the default stream is NULL. */
static void addresses_of_streams(void **state)
{
    static const struct {
        const char *text;
        int taken;
        uint64_t stream;
    } lines[] = {
        {LAUNCH("0x55d0"), 1, 0x55d0}, {LAUNCH("\"0x55d0\""), 1, 0x55d0}, {LAUNCH("(nil)"), 1, 0},
        {LAUNCH("\"(nil)\""), 1, 0},   {LAUNCH("\"0x0\""), 1, 0},         {LAUNCH("0x"), 0, 0},
        {LAUNCH("(nil"), 0, 0},        {LAUNCH("(null)"), 0, 0},          {LAUNCH("\"\""), 0, 0},
    };
    struct readers readers;
    struct chrome_line line;
    begin(&readers);
    learn_text(&readers, LAUNCH("0x7"));
    learn_text(&readers, LAUNCH("\"0x7\""));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *text = lines[i].text;
        assert_int_equal(scan_and_compare(&readers, text, strlen(text)), lines[i].taken);
        if (lines[i].taken && chrome_scan(&readers.scanner, text, text + strlen(text), &line))
            assert_true(line.api.stream == lines[i].stream);
    }
    end(&readers);
}

/* Another process in the same file: remembered values of the previous line are not reused. */
static void processes_in_turn(void **state)
{
    static const char other[] =
        "{\"name\": \"RecvWait\", \"cat\": \"NET\", \"ph\": \"b\", \"id\": 1, \"pid\": 22, "
        "\"tid\": 7, \"ts\": 1.000000, \"args\": {\"Step\": 3}}";
    struct readers readers;
    struct chrome_line line;
    begin(&readers);
    learn_text(&readers, NET("1", "2.000000", "3"));
    for (int i = 0; i < 3; i++) {
        assert_true(
            scan_and_compare(&readers, NET("1", "2.000000", "3"), sizeof NET("1", "2.000000", "3") - 1));
        assert_true(scan_and_compare(&readers, other, sizeof other - 1));
    }
    assert_non_null(chrome_scan(&readers.scanner, other, other + sizeof other - 1, &line));
    assert_int_equal(line.pid, 22);
    end(&readers);
}

/* Lines that another program has rewritten, with its own order and spaces. */
static void other_orders_are_learnt(void **state)
{
    static const char learnt[] =
        "{\"args\":{\"Count\":8,\"x\":{\"y\":[1,\"z\"]},\"Rank\":1},\"ph\":\"b\","
        "\"ts\":7.000000,\"cat\":\"COLL\",\"name\":\"AllReduce\",\"id\":5,\"dur\":1.5}";
    static const char text[] =
        "{\"args\":{\"Count\":64,\"x\":{\"y\":[22,\"w\"]},\"Rank\":3},\"ph\":\"b\","
        "\"ts\":9.500000,\"cat\":\"COLL\",\"name\":\"AllReduce\",\"id\":6,\"dur\":2}";
    struct readers readers;
    struct chrome_line line;
    begin(&readers);
    assert_false(scan_and_compare(&readers, text, sizeof text - 1));
    learn_text(&readers, learnt);
    assert_true(scan_and_compare(&readers, text, sizeof text - 1));
    assert_non_null(chrome_scan(&readers.scanner, text, text + sizeof text - 1, &line));
    assert_int_equal(line.operation.count, 64);
    assert_int_equal(line.operation.rank, 3);
    assert_int_equal(line.time_ns, 9500);
    assert_int_equal(line.id, 6);
    end(&readers);
}

#define EVENT(more) \
    "{\"name\": \"RecvWait\", \"cat\": \"NET\", \"ph\": \"b\", \"id\": 5, \"ts\": 1.000000" more "}"

/* The first of several members with the same key counts, whatever follows. */
static void what_comes_twice_is_read_once(void **state)
{
    static const struct {
        const char *learnt, *text;
    } lines[] = {
        {EVENT(", \"id\": 6, \"args\": {\"Step\": 7}"), EVENT(", \"id\": 9, \"args\": {\"Step\": 8}")},
        {EVENT(", \"args\": {\"Step\": 7, \"Step\": 8}"), EVENT(", \"args\": {\"Step\": 7, \"Step\": 9}")},
        {EVENT(", \"args\": {\"Step\": 7}, \"args\": {\"Step\": 8}"),
         EVENT(", \"args\": {\"Step\": 7}, \"args\": {\"Step\": 9}")},
        {EVENT(", \"args\": null, \"args\": {\"Step\": 8}"),
         EVENT(", \"args\": null, \"args\": {\"Step\": 9}")},
        {EVENT(", \"args\": {\"Step\": null, \"Step\": 8}"),
         EVENT(", \"args\": {\"Step\": null, \"Step\": 9}")},
        {EVENT(", \"ph\": \"e\", \"args\": {\"Step\": 7}"),
         EVENT(", \"ph\": \"e\", \"args\": {\"Step\": 8}")},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct readers readers;
        begin(&readers);
        learn_text(&readers, lines[i].learnt);
        assert_true(scan_and_compare(&readers, lines[i].text, strlen(lines[i].text)));
        end(&readers);
    }
}

/* A key with escapes, two members for the same field, events that are not NCCL's: no learning from these. */
static void some_lines_are_not_learnt(void **state)
{
    static const char *const lines[] = {
        EVENT(", \"\\u0069d\": 6, \"args\": {\"Step\": 7}"),
        "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"args\": {\"nChannels\": 1, "
        "\"nMaxChannels\": 2}}",
        "{\"name\": \"AllReduce\", \"cat\": \"CE_COLL\", \"ph\": \"b\", \"args\": {\"count\": 1}}",
        "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"args\": {\"rank\": 1}}",
        "{\"name\": \"Drops\", \"cat\": \"NCCLPROF\", \"ph\": \"i\", \"args\": {\"ring\": 1}}",
        "{\"name\": \"cudaLaunch\", \"cat\": \"cuda_runtime\", \"ph\": \"X\", \"ts\": 1.000000}",
        EVENT(", \"a\": [[[[[1]]]]]"),
    };
    struct readers readers;
    begin(&readers);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        learn_text(&readers, lines[i]);
        assert_false(scan_and_compare(&readers, lines[i], strlen(lines[i])));
    }
    end(&readers);
}

/* More layouts than are kept: the newest are kept. */
static void many_layouts(void **state)
{
    enum { MANY = 2 * CHROME_LAYOUTS + 3 };
    struct readers readers;
    char line[256];
    begin(&readers);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            size_t length =
                (size_t)snprintf(line, sizeof line, EVENT(", \"x%d\": 5, \"args\": {\"Step\": %d}"), i, i);
            assert_false(scan_and_compare(&readers, line, length));
            assert_true(learn(&readers, line, length));
            assert_true(scan_and_compare(&readers, line, length));
        }
    end(&readers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dialects_are_scanned),
        cmocka_unit_test(changed_lines_mean_the_same),
        cmocka_unit_test(waits_are_their_two_lines),
        cmocka_unit_test(odd_numbers),
        cmocka_unit_test(negative_numbers),
        cmocka_unit_test(addresses_of_streams),
        cmocka_unit_test(processes_in_turn),
        cmocka_unit_test(other_orders_are_learnt),
        cmocka_unit_test(what_comes_twice_is_read_once),
        cmocka_unit_test(some_lines_are_not_learnt),
        cmocka_unit_test(many_layouts),
    };
    return cmocka_run_group_tests_name("chrome scanner", tests, NULL, NULL);
}
