/* Rings and the threads that get one, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* The plugin is a library of its own: the tool's does not hold it. */
#include "plugin/ring.c"

static void *take_ring(void *got)
{
    *(bool *)got = ring_mine() != NULL;
    return NULL;
}

/* A thread that comes and goes with the only ring there is. */
static void ring_comes_and_goes(void)
{
    pthread_t thread;
    bool got = false;
    assert_int_equal(pthread_create(&thread, NULL, take_ring, &got), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(got);
}

static void refused_thread_takes_no_lock(void **state)
{
    (void)state;
    ring_configure(1024, 1);
    ring_comes_and_goes();
    assert_null(ring_mine());
    assert_int_equal(ring_dropped(), 1);
    /* Whoever takes the lock now waits for ever. */
    alarm(10);
    pthread_mutex_lock(&registry_lock);
    assert_null(ring_mine());
    pthread_mutex_unlock(&registry_lock);
    alarm(0);
    assert_int_equal(ring_dropped(), 2);
}

static void refused_thread_gets_a_ring_that_becomes_free(void **state)
{
    (void)state;
    ring_recycle(ring_at(0));
    assert_ptr_equal(ring_mine(), ring_at(0));
    assert_ptr_equal(ring_mine(), ring_at(0));
    assert_int_equal(ring_dropped(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_thread_takes_no_lock),
        cmocka_unit_test(refused_thread_gets_a_ring_that_becomes_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
