#include "base/base.h"
#include "input/input.h"

#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/ncclprof-walk-XXXXXX";

static void touch(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    close(file);
}

/* top: b, a, .hidden, sub/c, sub/up -> .., again -> a, hard = a, pipe, gone -> nowhere */
static int build(void **state)
{
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    touch("b");
    touch("a");
    touch(".hidden");
    assert_int_equal(mkdir("sub", 0700), 0);
    touch("sub/c");
    assert_int_equal(symlink("..", "sub/up"), 0);
    assert_int_equal(symlink("a", "again"), 0);
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("nowhere", "gone"), 0);
    return 0;
}

static int clean(void **state)
{
    static const char *const names[] = {"b",     "a",    ".hidden", "sub/c", "sub/up",
                                        "again", "hard", "pipe",    "gone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    rmdir("sub");
    return rmdir(top);
}

static int has_note(const struct walk *walk, const char *what)
{
    for (size_t i = 0; i < walk->note_count; i++)
        if (strstr(walk->notes[i], what))
            return 1;
    return 0;
}

static void a_directory_in_order_and_each_file_once(void **state)
{
    struct walk walk;
    char wanted[128];
    walk_init(&walk);
    assert_int_equal(walk_add(&walk, top, NULL), 0);
    assert_int_equal(walk.count, 3);
    snprintf(wanted, sizeof wanted, "%s/a", top);
    assert_string_equal(walk.files[0].path, wanted);
    assert_string_equal(walk.files[0].realpath, wanted);
    snprintf(wanted, sizeof wanted, "%s/b", top);
    assert_string_equal(walk.files[1].path, wanted);
    snprintf(wanted, sizeof wanted, "%s/sub/c", top);
    assert_string_equal(walk.files[2].path, wanted);
    assert_int_equal(walk.note_count, 2);
    assert_true(has_note(&walk, "pipe: not a regular file"));
    assert_true(has_note(&walk, "gone: No such file"));
    walk_release(&walk);
}

static void paths_by_name(void **state)
{
    struct walk walk;
    struct error error = ERROR_INIT;
    walk_init(&walk);
    assert_int_equal(walk_add(&walk, "sub/c", &error), 0);
    assert_int_equal(walk_add(&walk, "-", &error), 0);
    assert_int_equal(walk_add(&walk, "again", &error), 0);
    assert_int_equal(walk_add(&walk, "pipe", &error), 0);
    assert_int_equal(walk_add(&walk, "sub", &error), 0); /* its c is known */
    assert_int_equal(walk.count, 5); /* but sub/up leads back to the top, where b is new */
    assert_string_equal(walk.files[0].path, "sub/c");
    assert_string_equal(walk.files[1].path, "-");
    assert_string_equal(walk.files[1].realpath, "-");
    assert_string_equal(walk.files[2].path, "again");
    assert_non_null(strstr(walk.files[2].realpath, "/a"));
    assert_string_equal(walk.files[3].path, "pipe");
    assert_true(walk_has(&walk, "hard")); /* is a */
    assert_false(walk_has(&walk, ".hidden"));
    assert_false(walk_has(&walk, "nothing"));
    assert_int_equal(walk_add(&walk, "nothing", &error), -1);
    assert_non_null(strstr(error.cause[0], "nothing: cannot be found"));
    assert_int_equal(walk_add(&walk, "/dev/null", &error), -1);
    assert_int_equal(walk.start_count, 7);
    assert_int_equal(walk.files[3].start, 3);
    assert_int_equal(walk.files[4].start, 4);
    assert_false(walk.starts[0].is_directory);
    assert_true(walk.starts[4].is_directory);
    assert_true(walk.starts[4].has_known);
    assert_false(walk.starts[3].has_known);
    walk_release(&walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_in_order_and_each_file_once),
        cmocka_unit_test(paths_by_name),
    };
    return cmocka_run_group_tests_name("walk", tests, build, clean);
}
