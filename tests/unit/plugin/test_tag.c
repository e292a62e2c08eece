/* Tags that are set while the first communicator is created. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* On any slow and busy machine. */
#define LOCK_WAIT_NS 600000000000u

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/ncclprof_tag.h"
#include "plugin/recorder/recorder.h"
#include "plugin/recorder/tag.c"
#include "plugin/ring/log.c"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

_Atomic bool recorder_on;
static char recorded[RECORD_TEXT_MAX + 1];
static bool recorded_truncated;
static bool recorded_while_on;
static uint64_t dropped;
static void (*interrupt)(void); /* called by a signal handler in the middle of the next tag */

void recorder_tag(const void *context, int rank, enum tag_source source, unsigned depth, const char *text,
                  size_t length, bool truncated)
{
    (void)context, (void)rank, (void)source, (void)depth;
    recorded_while_on = recorder_on;
    recorded_truncated = truncated;
    snprintf(recorded, sizeof(recorded), "%.*s", (int)length, text);
    void (*handler)(void) = interrupt;
    interrupt = NULL;
    if (handler)
        handler();
}

void ring_count_dropped(void)
{
    dropped++;
}

const struct config_tags *config_tags(void)
{
    static const struct config_tags tags = {.bytes = RECORD_TEXT_MAX};
    return &tags;
}

/* Whatever keys the job creates: a late key needs memory in each thread. */
static void key_is_an_early_one(void **state)
{
    (void)state;
    assert_true(key_made);
    assert_true(key < 32);
}

/* Tags that another thread sets while recording is on come after it. */
static void early_tag_comes_first(void **state)
{
    (void)state;
    ncclprof_tag("early");
    assert_string_equal(recorded, "");
    tag_begin();
    assert_string_equal(recorded, "early");
    assert_false(recorded_while_on);
    assert_true(recorder_on);
    ncclprof_tag("next");
    assert_string_equal(recorded, "next");
}

static void *set_tag(void *text)
{
    ncclprof_tag(text);
    return NULL;
}

static void tag_set_while_recording_begins_is_not_lost(void **state)
{
    (void)state;
    char text[] = "meanwhile";
    pthread_t thread;
    recorder_on = false;
    recorded[0] = '\0';
    assert_int_equal(lock_take(&early_lock), LOCK_TAKEN);
    assert_int_equal(pthread_create(&thread, NULL, set_tag, text), 0);
    /* It has seen that recording is off, and waits. */
    usleep(200000);
    recorder_on = true;
    lock_release(&early_lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(recorded, "meanwhile");
}

static void tag_in_handler(void)
{
    ncclprof_tag("handler");
}

/* A handler interrupts the thread that reports the early tag: it would wait for a lock of its own thread. */
static void tag_from_a_handler_while_recording_begins(void **state)
{
    (void)state;
    recorder_on = false;
    ncclprof_tag("early");
    interrupt = tag_in_handler;
    dropped = 0;
    alarm(600);
    tag_begin();
    alarm(0);
    assert_string_equal(recorded, "early");
    assert_int_equal(dropped, 1);
}

/* Another thread held the lock when the process forked; in the child no thread does. */
static void tag_in_a_child(void **state)
{
    (void)state;
    recorder_on = false;
    early_lock.holder = 1;
    forget_after_fork();
    alarm(600);
    ncclprof_tag("child");
    tag_begin();
    alarm(0);
    assert_string_equal(recorded, "child");
}

/* It has none until it sets one, whichever thread has been recording. */
static void early_tag_is_not_a_childs(void **state)
{
    (void)state;
    int status = -1;
    recorder_on = false;
    recorded[0] = '\0';
    ncclprof_tag("parent");
    pid_t child = fork();
    if (child == 0) {
        tag_begin();
        _exit(recorded[0] != '\0');
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tag_begin();
    assert_string_equal(recorded, "parent");
}

static void range_in_handler(void)
{
    tag_push(NULL, "handler", 7);
    tag_pop(NULL);
}

/* Nor may it remove a range that is being popped. */
static void range_of_a_handler_within_a_pop(void **state)
{
    (void)state;
    dropped = 0;
    tag_push(NULL, "outer", 5);
    tag_push(NULL, "inner", 5);
    interrupt = range_in_handler;
    tag_pop(NULL);
    assert_string_equal(recorded, "outer");
    assert_int_equal(dropped, 2);
    tag_pop(NULL);
    assert_string_equal(recorded, "");
}

static const char mine_domain[1];
static const char other_domain[1];

static void push_text(const void *domain, const char *text)
{
    tag_push(domain, text, strlen(text));
}

/* Too deep a range of one domain must not be ended by a pop of another domain. */
static void deep_ranges_keep_domains_apart(void **state)
{
    (void)state;
    push_text(mine_domain, "mine");
    for (int i = 0; i < 64; i++)
        push_text(NULL, "deep");
    push_text(other_domain, "other");
    tag_pop(mine_domain);
    assert_int_equal(mine->depth, 63);
    /* There is space again, but an outer range of its domain was not stored. */
    push_text(NULL, "deepest");
    assert_string_equal(recorded, "deep");
    for (int i = 0; i < 65; i++)
        tag_pop(NULL);
    assert_int_equal(mine->depth, 0);
    assert_string_equal(recorded, "");
    push_text(NULL, "after");
    assert_string_equal(recorded, "after");
    tag_pop(NULL);
    tag_pop(other_domain);
    assert_int_equal(mine->depth, 0);
}

static const char *long_text(void)
{
    static char text[RECORD_TEXT_MAX + 2];
    memset(text, 'x', RECORD_TEXT_MAX + 1);
    return text;
}

/* A long tag is restored unchanged after an inner range, and from before recording began. */
static void long_tags_come_back_whole(void **state)
{
    (void)state;
    push_text(NULL, long_text());
    for (int i = 0; i < 2; i++) {
        assert_int_equal(strlen(recorded), RECORD_TEXT_MAX);
        assert_true(recorded_truncated);
        push_text(NULL, "inner");
        tag_pop(NULL);
    }
    tag_pop(NULL);
    recorder_on = false;
    ncclprof_tag(long_text());
    tag_begin();
    assert_int_equal(strlen(recorded), RECORD_TEXT_MAX);
    assert_true(recorded_truncated);
}

static void *push_and_leave(void *depth)
{
    tag_push(NULL, "forgotten", 9);
    *(unsigned *)depth = mine->depth;
    return NULL;
}

/* Each thread begins with no tag, and leaves nothing behind. */
static void ranges_end_with_their_thread(void **state)
{
    (void)state;
    tag_push(NULL, "outer", 5);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        unsigned depth = 0;
        assert_int_equal(pthread_create(&thread, NULL, push_and_leave, &depth), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(depth, 1);
    }
    assert_int_equal(mine->depth, 1);
    tag_pop(NULL);
}

static void use_up_memory(struct rlimit *before)
{
    struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_AS, before), 0);
    none.rlim_max = before->rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
}

/* A range that cannot be stored is counted; its end does not pop another one. */
static void range_without_memory_is_counted(void **state)
{
    (void)state;
    struct rlimit before;
    struct ranges *kept = mine;
    mine = NULL;
    dropped = 0;
    use_up_memory(&before);
    tag_push(NULL, "outer", 5);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    mine = kept;
    assert_int_equal(dropped, 1);
    tag_pop(NULL);
    assert_int_equal(dropped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_is_an_early_one),
        cmocka_unit_test(early_tag_comes_first),
        cmocka_unit_test(tag_set_while_recording_begins_is_not_lost),
        cmocka_unit_test(tag_from_a_handler_while_recording_begins),
        cmocka_unit_test(tag_in_a_child),
        cmocka_unit_test(early_tag_is_not_a_childs),
        cmocka_unit_test(range_of_a_handler_within_a_pop),
        cmocka_unit_test(deep_ranges_keep_domains_apart),
        cmocka_unit_test(long_tags_come_back_whole),
        cmocka_unit_test(ranges_end_with_their_thread),
        cmocka_unit_test(range_without_memory_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
