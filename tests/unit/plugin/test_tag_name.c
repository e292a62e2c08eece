/* Names of numeric tags: which are kept, and which thread may set one when. */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/ncclprof_tag.h"
#include "plugin/ring/log.c"
#include "plugin/ring/ring.h"
#include "plugin/ring/tag_name.c"

static unsigned dropped;

void ring_count_dropped(void)
{
    dropped++;
}

static int forget(void **state)
{
    (void)state;
    memset(names, 0, sizeof(names));
    memset(places, 0, sizeof(places));
    name_count = 0;
    dropped = 0;
    return 0;
}

static void last_one_holds(void **state)
{
    (void)state;
    assert_null(tag_name_of(42));
    ncclprof_tag_name(42, "forward");
    ncclprof_tag_name(UINT64_MAX, "backward");
    ncclprof_tag_name(42, "optimizer");
    ncclprof_tag_name(42, "optimizer");
    ncclprof_tag_name(42, "optimize");
    assert_string_equal(tag_name_of(42), "optimize");
    assert_string_equal(tag_name_of(UINT64_MAX), "backward");
    assert_null(tag_name_of(43));
    /* Each change once. */
    assert_int_equal(tag_name_count(), 4);
    assert_string_equal(tag_name_at(2)->text, "optimizer");
    assert_int_equal(dropped, 0);
}

static void nothing_is_no_name(void **state)
{
    (void)state;
    ncclprof_tag_name(42, NULL);
    ncclprof_tag_name(42, "");
    ncclprof_tag_name(0, "forward");
    assert_int_equal(tag_name_count(), 0);
    assert_int_equal(dropped, 0);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'a', sizeof(text));
    text[255] = '\0';
    ncclprof_tag_name(1, text);
    assert_int_equal(strlen(tag_name_of(1)), 255);
    /* A three-byte character that begins at byte 254. */
    memcpy(text + 253, "\xe2\x82\xac", 3);
    text[256] = '\0';
    ncclprof_tag_name(2, text);
    assert_int_equal(strlen(tag_name_of(2)), 253);
}

/* Also for numbers with the same hash. */
static void more_than_there_is_room_for_are_counted(void **state)
{
    (void)state;
    char text[32];
    for (uint64_t i = 1; i <= TAG_NAMES_MAX + 3; i++) {
        snprintf(text, sizeof(text), "%lu", (unsigned long)i);
        ncclprof_tag_name(i * PLACES << 32, text);
    }
    assert_int_equal(tag_name_count(), TAG_NAMES_MAX);
    assert_int_equal(dropped, 3);
    assert_string_equal(tag_name_of((uint64_t)TAG_NAMES_MAX * PLACES << 32), "1024");
    assert_null(tag_name_of((uint64_t)(TAG_NAMES_MAX + 1) * PLACES << 32));
    /* The same name again takes no space. */
    ncclprof_tag_name((uint64_t)PLACES << 32, "1");
    assert_int_equal(dropped, 3);
}

/* As a signal handler that interrupts its thread in the middle of setting a name. */
static void within_another_is_counted(void **state)
{
    (void)state;
    assert_int_equal(lock_take(&lock), LOCK_TAKEN);
    ncclprof_tag_name(42, "forward");
    lock_release(&lock);
    assert_int_equal(dropped, 1);
    ncclprof_tag_name(42, "forward");
    assert_string_equal(tag_name_of(42), "forward");
}

/* The holder of the lock is gone forever: other threads do not wait for it. */
static void held_by_nobody_who_lives(void **state)
{
    (void)state;
    lock.holder = 1;
    ncclprof_tag_name(42, "forward");
    lock.holder = 0;
    assert_int_equal(dropped, 1);
    assert_null(tag_name_of(42));
}

static int in_child(void (*play)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        play();
        _exit(tag_name_of(42) && strcmp(tag_name_of(42), "child's") == 0 && tag_name_of(1) && dropped == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void set_in_child(void)
{
    ncclprof_tag_name(42, "child's");
}

static void child_has_its_parents(void **state)
{
    (void)state;
    ncclprof_tag_name(1, "parent's");
    ncclprof_tag_name(42, "parent's");
    assert_int_equal(in_child(set_in_child), 0);
    assert_string_equal(tag_name_of(42), "parent's");
    ncclprof_tag_name(42, "again");
    assert_int_equal(dropped, 0);
}

static void fork_and_wait(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void fork_within_a_fork_leaves_it_free(void **state)
{
    (void)state;
    /* As a handler of the outer fork would, between the two handlers of the library. */
    before_fork();
    fork_and_wait();
    parent_after_fork();
    ncclprof_tag_name(42, "after it");
    assert_string_equal(tag_name_of(42), "after it");
    assert_int_equal(dropped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(last_one_holds, forget),
        cmocka_unit_test_setup(nothing_is_no_name, forget),
        cmocka_unit_test_setup(long_names_are_cut, forget),
        cmocka_unit_test_setup(more_than_there_is_room_for_are_counted, forget),
        cmocka_unit_test_setup(within_another_is_counted, forget),
        cmocka_unit_test_setup(held_by_nobody_who_lives, forget),
        cmocka_unit_test_setup(child_has_its_parents, forget),
        cmocka_unit_test_setup(fork_within_a_fork_leaves_it_free, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
