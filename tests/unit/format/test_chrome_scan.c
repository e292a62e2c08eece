#include "format/chrome/scan.h"

#include "format/chrome/decode.h"
#include "support/cmocka_all.h"
#include "support/events.h"
#include "support/random.h"
#include "support/same_line.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

struct readers {
    struct json json;
    struct chrome_scanner scanner;
};

/* Whether the scanner takes the line; if so, it has to read what cJSON reads. */
static int scan_and_compare(struct readers *readers, const char *text, size_t length)
{
    struct chrome_line quick;
    struct chrome_line patient;
    /* An allocation of the exact size, so that a sanitizer sees reading past the end. */
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(&quick, 0x5a, sizeof quick);
    int taken = chrome_scan(&readers->scanner, copy, copy + length, &quick) == copy + length;
    if (taken) {
        const char *difference = "cJSON refuses the line";
        if (chrome_decode(&readers->json, copy, length, &patient) == CHROME_LINE)
            difference = difference_of_chrome_lines(&quick, &patient);
        if (!difference && readers->json.misread)
            difference = "an unreadable value";
        if (difference)
            fail_msg("%s: %.*s", difference, (int)length, copy);
    }
    free(copy);
    return taken;
}

/* What cJSON makes of a line. */
static struct chrome_line read_patiently(struct readers *readers, const char *text, size_t length)
{
    struct chrome_line line;
    if (chrome_decode(&readers->json, text, length, &line) != CHROME_LINE)
        fail_msg("cJSON refuses the line: %.*s", (int)length, text);
    return line;
}

/* Whether the scanner takes begin and end of a wait at once; if so, they are what cJSON reads of the two. */
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
        struct chrome_line begin = read_patiently(readers, copy, (size_t)(newline - 1 - copy));
        assert_null(difference_of_chrome_lines(&quick, &begin));
        struct chrome_line end = read_patiently(readers, newline + 1, (size_t)(past - newline - 1));
        assert_int_equal(end.phase, 'e');
        assert_int_equal(end.time_ns, end_ns);
        begin.phase = end.phase;
        begin.time_ns = end.time_ns;
        assert_null(difference_of_chrome_lines(&begin, &end));
    }
    free(copy);
    return past != NULL;
}

struct counts {
    size_t lines, taken;
};

/* Calls back for every object in a file of one object a line. */
static void each_object(const char *path,
                        void (*visit)(struct readers *, const char *, size_t, struct counts *),
                        struct counts *counts)
{
    struct readers readers;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    const char *end = bytes + length;
    const char *newline;
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
    for (const char *at = bytes; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        size_t object = (size_t)(newline - at);
        if (object > 3 && at[object - 1] == ',')
            visit(&readers, at, object - 1, counts);
    }
    json_release(&readers.json);
    free(bytes);
}

static void visit_as_it_is(struct readers *readers, const char *text, size_t length, struct counts *counts)
{
    counts->lines++;
    counts->taken += (size_t)scan_and_compare(readers, text, length);
}

/* Each dialect is scanned, all of it but tags, copy-engine operations and what the bundled plugin notes. */
static void all_dialects_are_scanned(void **state)
{
    static const char *const patterns[] = {"fixtures/dialect-*/dump*", "fixtures/*clean/dump*",
                                           "fixtures/*slow-rank/dump*", "fixtures/kernel-phases/dump*",
                                           "fixtures/user-tags/ncclprof*"};
    glob_t found;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t n = 0; n < found.gl_pathc; n++) {
            struct counts counts = {0, 0};
            size_t length;
            size_t tags = 0;
            char *bytes = bytes_of_file(found.gl_pathv[n], &length);
            for (const char *at = bytes; (at = strstr(at, "USER_TAG")); at++)
                tags++;
            for (const char *at = bytes; (at = strstr(at, "NCCLPROF")); at++)
                tags++;
            free(bytes);
            each_object(found.gl_pathv[n], visit_as_it_is, &counts);
            if (counts.taken + tags != counts.lines)
                fail_msg("%s: %zu of %zu lines scanned", found.gl_pathv[n], counts.taken, counts.lines);
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
    for (int i = 0; i < 20; i++) {
        size_t changed = length;
        if (length + 4 > sizeof copy)
            return;
        memcpy(copy, text, length);
        for (uint64_t changes = random_number() % 3 + 1; changes > 0 && changed > 1; changes--)
            mutate(copy, &changed);
        counts->lines++;
        counts->taken += (size_t)scan_and_compare(readers, copy, changed);
    }
}

/* Lines changed at random: what is still taken still means the same. */
static void changed_lines_mean_the_same(void **state)
{
    glob_t found;
    struct counts counts = {0, 0};
    assert_int_equal(glob("fixtures/dialect-*/dump*", 0, NULL, &found), 0);
    assert_int_equal(glob("fixtures/kernel-phases/dump*", GLOB_APPEND, NULL, &found), 0);
    assert_int_equal(glob("fixtures/user-tags/ncclprof*", GLOB_APPEND, NULL, &found), 0);
    for (size_t n = 0; n < found.gl_pathc; n++)
        each_object(found.gl_pathv[n], visit_changed, &counts);
    globfree(&found);
    assert_true(counts.taken > 500);
    assert_true(counts.taken < counts.lines / 2);
}

/* Waits are told by what came behind such a line the last time, so that the scanner has to see all lines. */
static void visit_waits(const char *path, struct counts *counts)
{
    struct readers readers;
    size_t length;
    char *bytes = bytes_of_file(path, &length);
    const char *newline;
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
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
        scan_and_compare(&readers, at, (size_t)(newline - at) - (newline > at));
    }
    json_release(&readers.json);
    free(bytes);
}

static void waits_are_their_two_lines(void **state)
{
    glob_t found;
    struct counts counts = {0, 0};
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

/* Numbers at the edge of what fits, and spellings that JSON does not have. */
static void odd_numbers(void **state)
{
    static const char *const taken[] = {NET("0", "0.000000", "0"), NET("5", "0.000499", "-1"),
                                        NET("5", "0.000500", "7"), NET("5", "123456789012345.999999", "7"),
                                        NET("999999999999999999", "1.999999", "7")};
    static const char *const refused[] = {
        NET("01", "1.000000", "0"),  NET("5", "1.0000000", "0"), NET("5", "1.00000", "0"),
        NET("5", "01.000000", "0"),  NET("5", "1.00000a", "0"),  NET("5", "-1.000000", "0"),
        NET("5", "1.000000e3", "0"), NET("5", "1.000000", "+1"), NET("5", "1.000000", "1.5"),
        NET("", "1.000000", "1"),    NET("5", "1.000000", "-"),  NET("5", "1.000000", "12345678901234567890"),
        NET("5", "1.000000", "-2"),
    };
    struct readers readers;
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(scan_and_compare(&readers, taken[i], strlen(taken[i])));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(scan_and_compare(&readers, refused[i], strlen(refused[i])));
    json_release(&readers.json);
}

#define SUM(sequence, rank, count)                                                                    \
    "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 5, \"pid\": 1, \"tid\": 1, " \
    "\"ts\": 1.000000, \"args\": {\"SeqNum\": " sequence ", \"CommHash\": 5, \"Rank\": " rank         \
    ", \"Count\": " count                                                                             \
    ", \"Datatype\": \"ncclInt8\", \"Algorithm\": \"RING\", \"Protocol\": \"LL\", \"nChannels\": 1}}"

/* What cannot be below 0 is left to cJSON where it is; -1 says that there is none. */
static void negative_numbers(void **state)
{
    static const char *const taken[] = {SUM("3", "0", "8"), SUM("3", "-1", "8")};
    static const char *const refused[] = {SUM("-1", "0", "8"), SUM("3", "-2", "8"), SUM("3", "0", "-8")};
    struct readers readers;
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(scan_and_compare(&readers, taken[i], strlen(taken[i])));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(scan_and_compare(&readers, refused[i], strlen(refused[i])));
    json_release(&readers.json);
}

#define LAUNCH(stream)                                                                    \
    "{\"name\": \"KernelLaunch\", \"cat\": \"KERNEL_LAUNCH\", \"ph\": \"b\", \"id\": 5, " \
    "\"pid\": 1, \"tid\": 1, \"ts\": 0.000000, \"args\": {\"groupId\": 0, \"Stream\": " stream "}}"

/* Pointers as printf has them; the default stream's is NULL. */
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
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *text = lines[i].text;
        assert_int_equal(scan_and_compare(&readers, text, strlen(text)), lines[i].taken);
        if (lines[i].taken && chrome_scan(&readers.scanner, text, text + strlen(text), &line))
            assert_true(line.api.stream == lines[i].stream);
    }
    json_release(&readers.json);
}

/* Another process in the same file: what is remembered of the line before does not stick. */
static void processes_in_turn(void **state)
{
    static const char other[] =
        "{\"name\": \"RecvWait\", \"cat\": \"NET\", \"ph\": \"e\", \"id\": 1, \"pid\": 22, "
        "\"tid\": 7, \"ts\": 1.000000}";
    struct readers readers;
    struct chrome_line line;
    json_init(&readers.json);
    chrome_scanner_init(&readers.scanner);
    for (int i = 0; i < 3; i++) {
        assert_true(
            scan_and_compare(&readers, NET("1", "2.000000", "3"), sizeof NET("1", "2.000000", "3") - 1));
        assert_true(scan_and_compare(&readers, other, sizeof other - 1));
    }
    assert_non_null(chrome_scan(&readers.scanner, other, other + sizeof other - 1, &line));
    assert_int_equal(line.pid, 22);
    json_release(&readers.json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dialects_are_scanned),  cmocka_unit_test(changed_lines_mean_the_same),
        cmocka_unit_test(waits_are_their_two_lines), cmocka_unit_test(odd_numbers),
        cmocka_unit_test(negative_numbers),          cmocka_unit_test(addresses_of_streams),
        cmocka_unit_test(processes_in_turn),
    };
    return cmocka_run_group_tests_name("chrome scanner", tests, NULL, NULL);
}
