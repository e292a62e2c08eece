#include "model/model.h"

#include "support/cmocka_all.h"

static const int64_t even[] = {0, 2, 4, 6}, swapped[] = {2, 0, 4, 6};

/* Processes that know the same about it compute the same hash. */
static void same_for_all_who_know_the_same(void **state)
{
    static const int64_t copy[] = {0, 2, 4, 6};
    assert_int_equal(communicator_hash_of("dp", even, 4), communicator_hash_of("dp", copy, 4));
    assert_int_equal(communicator_hash_of(NULL, even, 4), communicator_hash_of("", even, 4));
    assert_int_equal(communicator_hash_of("dp", NULL, 0), communicator_hash_of("dp", even, 0));
}

/* Another name, another member, another order, fewer members: another communicator. */
static void differs_by_all_that_it_is_made_of(void **state)
{
    uint64_t hash = communicator_hash_of("dp", even, 4);
    assert_int_not_equal(hash, communicator_hash_of("tp", even, 4));
    assert_int_not_equal(hash, communicator_hash_of("dp", swapped, 4));
    assert_int_not_equal(hash, communicator_hash_of("dp", even, 3));
    assert_int_not_equal(hash, communicator_hash_of("dp", NULL, 0));
    assert_int_not_equal(communicator_hash_of("", NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_for_all_who_know_the_same),
        cmocka_unit_test(differs_by_all_that_it_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
