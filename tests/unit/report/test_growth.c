#include "input/input.h"
#include "report/report.h"

#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static const char *const names[] = {"a", "b", "c"};

static void name_file(const char *name, char path[96])
{
    snprintf(path, 96, "%s/%s", folder, name);
}

static void append(const char *name, const char *text)
{
    char path[96];
    name_file(name, path);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/ncclprof-growth-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    append("a", "1");
    append("b", "22");
    return 0;
}

static int remove_folder(void **state)
{
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        name_file(names[i], path);
        unlink(path);
    }
    return rmdir(folder);
}

/* The files that must be read: "ab". */
static void assert_grown(struct growth *growth, const char *expected)
{
    char found[8] = "";
    struct walk walk;
    walk_init(&walk);
    assert_int_equal(walk_add(&walk, folder, NULL), 0);
    assert_int_equal(growth_look(growth, &walk, NULL), 0);
    for (size_t i = 0; i < walk.count; i++)
        found[i] = walk.files[i].path[strlen(walk.files[i].path) - 1];
    assert_string_equal(found, expected);
    walk_release(&walk);
}

static void test_only_what_grew(void **state)
{
    struct growth growth;
    growth_init(&growth);
    assert_grown(&growth, "ab");
    assert_grown(&growth, "");
    append("b", "3");
    assert_grown(&growth, "b");
    assert_grown(&growth, "");
    growth_release(&growth);
}

/* The result for a file depends on those next to it. */
static void test_all_where_one_comes_or_goes(void **state)
{
    char path[96];
    struct growth growth;
    growth_init(&growth);
    assert_grown(&growth, "ab");
    append("c", "x");
    assert_grown(&growth, "abc");
    assert_grown(&growth, "");
    name_file("a", path);
    unlink(path);
    assert_grown(&growth, "bc");
    growth_release(&growth);
}

/* With the same size, but at another time or as another file. */
static void test_replaced(void **state)
{
    char path[96], other[96];
    struct stat status;
    struct growth growth;
    growth_init(&growth);
    assert_grown(&growth, "ab");
    name_file("a", path);
    name_file("c", other);
    assert_int_equal(stat(path, &status), 0);
    append("c", "2");
    const struct timespec times[] = {status.st_atim, status.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
    assert_int_equal(rename(other, path), 0);
    assert_grown(&growth, "a");
    const struct timespec later[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_grown(&growth, "a");
    growth_release(&growth);
}

static void test_waits(void **state)
{
    assert_true(growth_wait_s(10, 0) == 10);
    assert_true(growth_wait_s(10, 0.1) == 10);
    /* At most two hundredths of a processor. */
    assert_true(1 / (growth_wait_s(10, 1) + 1) < 0.02);
    assert_true(growth_wait_s(10, 1) < 60);
}

/* A check each 10 s, from the one at `from_s` to the one at `to_s`; -1: never due, else when it was. */
static double due_s(struct pace *pace, double from_s, double to_s, int grows)
{
    for (double now_s = from_s; now_s <= to_s; now_s += 10) {
        pace_check(pace, grows, now_s);
        if (pace_is_due(pace, now_s))
            return now_s;
    }
    return -1;
}

/* An analysis of 10 s leads to a rest of 10 / 0.018 s, while files grow. */
static void test_rests_while_files_grow(void **state)
{
    struct pace pace;
    pace_init(&pace, 10, 0);
    assert_true(due_s(&pace, 0, 0, 1) == 0);
    pace_rest(&pace, 10, 10);
    assert_true(due_s(&pace, 20, 1000, 1) == 560);
    /* Nothing is new, so there is nothing to do. */
    pace_rest(&pace, 0, 560);
    assert_true(due_s(&pace, 570, 2000, 0) < 0);
}

/* The job stopped: what it wrote at last is analyzed when two intervals have passed. */
static void test_a_stop_ends_the_rest(void **state)
{
    struct pace pace;
    pace_init(&pace, 10, 0);
    pace_rest(&pace, 10, 10);
    assert_true(due_s(&pace, 20, 100, 1) < 0);
    assert_true(due_s(&pace, 110, 1000, 0) == 120);
    pace_rest(&pace, 10, 130);
    /* It goes on after 100 s: the next pause has to last for 200 s. */
    assert_true(due_s(&pace, 140, 190, 0) < 0);
    assert_true(due_s(&pace, 200, 300, 1) < 0);
    assert_true(due_s(&pace, 310, 490, 0) < 0);
    assert_true(due_s(&pace, 500, 600, 0) == 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_what_grew, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_all_where_one_comes_or_goes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_replaced, make_folder, remove_folder),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_rests_while_files_grow),
        cmocka_unit_test(test_a_stop_ends_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
