#include "base/base.h"
#include "join/internal.h"
#include "store/store.h"
#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdatomic.h>
#include <string.h>

enum { HANDS = 4, PIECES = 500, NONE = PIECES };

struct tally {
    const struct worker_pool *worker_pool;
    atomic_int times[PIECES];
    atomic_int busy[HANDS];
    atomic_int shared; /* a worker state was used by two threads at once */
    size_t bad;        /* this piece fails */
};

static int count_piece(void *context, struct pool_worker *pool_worker, size_t number, struct error *error)
{
    struct tally *tally = context;
    atomic_int *busy = &tally->busy[pool_worker - tally->worker_pool->items];
    if (atomic_fetch_add(busy, 1) != 0)
        tally->shared = 1;
    tally->times[number]++;
    atomic_fetch_sub(busy, 1);
    return number == tally->bad ? error_set(error, "piece %zu is bad", number) : 0;
}

/* The results of the pieces, counted. */
static int do_pieces(void **state, size_t count, size_t bad, struct tally *tally, struct error *error)
{
    struct work work = {.member_count = 0};
    struct worker_pool worker_pool;
    struct store *store = store_file_open(state, STORE_CREATE);
    *tally = (struct tally){.worker_pool = &worker_pool, .bad = bad};
    assert_int_equal(worker_pool_init(&worker_pool, &work, store, count, error), 0);
    assert_int_equal(worker_pool_run(&worker_pool, count_piece, tally, 0, error), 0);
    int outcome = worker_pool_run(&worker_pool, count_piece, tally, PIECES, error);
    worker_pool_release(&worker_pool);
    store_close(store);
    assert_false(tally->shared);
    return outcome;
}

static void every_piece_is_done_once(void **state)
{
    for (size_t count = 1; count <= HANDS; count++) {
        struct error error = ERROR_INIT;
        struct tally tally;
        assert_int_equal(do_pieces(state, count, NONE, &tally, &error), 0);
        for (int i = 0; i < PIECES; i++)
            assert_int_equal(tally.times[i], 1);
    }
}

/*
 * One that fails ends everything: pieces before it are done, none twice, and the call does not wait for the
 * others.
 */
static void a_failure_is_told(void **state)
{
    for (size_t count = 1; count <= HANDS; count++) {
        struct error error = ERROR_INIT;
        struct tally tally;
        assert_int_equal(do_pieces(state, count, 20, &tally, &error), -1);
        assert_string_equal(error.cause[0], "piece 20 is bad");
        for (int i = 0; i < PIECES; i++)
            assert_true(i <= 20 ? tally.times[i] == 1 : tally.times[i] <= 1);
        assert_true(count > 1 || tally.times[21] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_piece_is_done_once, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(a_failure_is_told, store_file_setup, store_file_teardown),
    };
    return cmocka_run_group_tests_name("hands", tests, NULL, NULL);
}
