/* Ring buffers, and threads that get one or none. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/ring/log.c"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.c"
#include "plugin/ring/ring.h"

/* Whatever keys the job creates: a late key needs memory in each thread. */
static void key_is_an_early_one(void **state)
{
    (void)state;
    assert_true(exit_key_made);
    assert_true(exit_key < 32);
}

static uint64_t dropped_in_all(void)
{
    struct ring_drop_counts drops = ring_drop_counts();
    return drops.full + drops.without_ring + drops.other;
}

static void *take_ring(void *got)
{
    *(bool *)got = ring_of_thread() != NULL;
    return NULL;
}

/* A thread that starts and ends with the only ring buffer. */
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
    assert_null(ring_of_thread());
    assert_int_equal(dropped_in_all(), 1);
    /* A thread that takes the lock now searches, and finds one. */
    atomic_store(&ring_at(0)->owner, RING_FREE);
    assert_null(ring_of_thread());
    atomic_store(&ring_at(0)->owner, RING_RETIRED);
    assert_int_equal(dropped_in_all(), 2);
}

static void refused_thread_gets_a_ring_that_becomes_free(void **state)
{
    (void)state;
    ring_recycle(ring_at(0));
    assert_ptr_equal(ring_of_thread(), ring_at(0));
    assert_ptr_equal(ring_of_thread(), ring_at(0));
    assert_int_equal(dropped_in_all(), 2);
}

static struct record *unreadable;
static bool nested_pushed;

/* Called while the record is copied; the copy continues afterwards. */
static void push_nested(int number)
{
    (void)number;
    const struct record nested = {.time_ns = 7, .kind = RECORD_TAG, .slots = 1};
    nested_pushed = ring_push(ring_of_thread(), &nested, 1, RING_STATE);
    if (mprotect(unreadable, 4096, PROT_READ | PROT_WRITE) != 0)
        _exit(2);
}

static void push_interrupted(struct ring *ring, const struct record *record)
{
    struct sigaction action = {.sa_handler = push_nested};
    struct sigaction before;
    unreadable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(unreadable != MAP_FAILED);
    *unreadable = *record;
    assert_int_equal(mprotect(unreadable, 4096, PROT_NONE), 0);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_true(ring_push(ring, unreadable, record->slots, RING_START));
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    munmap(unreadable, 4096);
}

/* A push by a signal handler in the middle of another push is refused, and damages nothing. */
static void push_within_a_push_is_refused(void **state)
{
    (void)state;
    struct ring *ring = ring_of_thread();
    uint64_t dropped = dropped_in_all();
    uint64_t at, limit;
    struct record copy;
    nested_pushed = true;
    push_interrupted(ring, &(struct record){.time_ns = 42, .handle = 43, .slots = 3});
    assert_false(nested_pushed);
    assert_int_equal(dropped_in_all(), dropped + 1);
    /* None was refused for lack of space. */
    assert_int_equal(ring_drop_counts().full, 0);
    assert_true(ring_next_range(ring, &at, &limit));
    assert_int_equal(limit - at, 3);
    assert_int_equal(ring_copy(ring, at, &copy), 3);
    assert_int_equal(copy.handle, 43);
    assert_true(ring_push(ring, &copy, 3, RING_START));
}

/* If something overwrote the ring's counters, the reader reports it and continues after it. */
static void nonsense_is_not_read(void **state)
{
    (void)state;
    struct ring *ring = ring_of_thread();
    uint64_t dropped = dropped_in_all();
    uint64_t at, limit;
    ring->tail = ring->head + 1;
    assert_false(ring_next_range(ring, &at, &limit));
    assert_int_equal(dropped_in_all(), dropped + 1);
    const struct record record = {.slots = 1};
    assert_true(ring_push(ring, &record, 1, RING_STOP));
    assert_true(ring_next_range(ring, &at, &limit));
    assert_int_equal(limit - at, 1);
}

static void record_of_no_size_is_not_copied(void **state)
{
    (void)state;
    struct ring *ring = ring_of_thread();
    unsigned char copy[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
    static const uint8_t sizes[] = {0, RECORD_SLOTS_MAX + 1};
    for (int i = 0; i < 2; i++) {
        const struct record record = {.slots = sizes[i]};
        uint64_t at = ring->head;
        assert_true(ring_push(ring, &record, 1, RING_STOP));
        assert_int_equal(ring_copy(ring, at, copy), 0);
    }
}

static void *push_into_ring(void *pushed)
{
    const struct record record = {.slots = 1};
    *(bool *)pushed = ring_push(ring_of_thread(), &record, 1, RING_STOP);
    return NULL;
}

static void *leave_in_a_push(void *got)
{
    ring_of_thread()->pushing = true;
    return take_ring(got);
}

/* If a thread ended in a signal handler in the middle of a push, its ring is not damaged. */
static void ring_of_a_broken_push_is_used_again(void **state)
{
    (void)state;
    pthread_t thread;
    bool done = false;
    ring_configure(1024, ring_count() + 1);
    assert_int_equal(pthread_create(&thread, NULL, leave_in_a_push, &done), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(done);
    unsigned count = ring_count();
    ring_recycle(ring_at(count - 1));
    done = false;
    assert_int_equal(pthread_create(&thread, NULL, push_into_ring, &done), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ring_count(), count);
    assert_true(done);
}

/* A child after fork is a process of its own. */
static void child_begins_with_no_drops(void **state)
{
    (void)state;
    ring_count_dropped();
    assert_true(ring_drop_counts().without_ring > 0);
    ring_forget_all();
    assert_false(ring_drop_counts().without_ring > 0);
    assert_int_equal(ring_count(), 0);
    assert_int_equal(dropped_in_all(), 0);
    assert_non_null(ring_of_thread());
}

/* The number of pages of a ring's slots. */
static size_t mapped_pages(const struct ring *ring)
{
    enum { PAGES = 1 << 10 };
    static unsigned char is_there[PAGES];
    size_t bytes = ring->capacity * RECORD_SLOT_BYTES, page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    assert_true(bytes / page <= PAGES);
    assert_int_equal(mincore(ring->slots, bytes, is_there), 0);
    for (size_t i = 0; i < bytes / page; i++)
        count += is_there[i] & 1;
    return count;
}

/* Whether this kernel maps memory in advance. */
static bool can_map_ahead(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    bool can = madvise(at, page, MADV_POPULATE_WRITE) == 0;
    munmap(at, page);
    return can;
}

/* A thread that records little keeps little memory; one that records more finds all of its ring mapped. */
static void ring_in_use_is_mapped_ahead(void **state)
{
    (void)state;
    ring_forget_all();
    ring_configure(1u << 14, 4);
    struct ring *ring = ring_of_thread();
    struct record record = {.slots = 1};
    size_t pages = (size_t)(ring->capacity * RECORD_SLOT_BYTES) / (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i + 1 < MAPPED_AHEAD_FROM_SLOTS; i++)
        assert_true(ring_push(ring, &record, 1, RING_START));
    ring_map_ahead(ring);
    assert_true(mapped_pages(ring) < pages / 2);
    assert_true(ring_push(ring, &record, 1, RING_START));
    ring_map_ahead(ring);
    assert_true(can_map_ahead() ? mapped_pages(ring) == pages : mapped_pages(ring) < pages / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_is_an_early_one),
        cmocka_unit_test(refused_thread_takes_no_lock),
        cmocka_unit_test(refused_thread_gets_a_ring_that_becomes_free),
        cmocka_unit_test(push_within_a_push_is_refused),
        cmocka_unit_test(nonsense_is_not_read),
        cmocka_unit_test(record_of_no_size_is_not_copied),
        cmocka_unit_test(ring_of_a_broken_push_is_used_again),
        cmocka_unit_test(child_begins_with_no_drops),
        cmocka_unit_test(ring_in_use_is_mapped_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
