#include "job/internal.h"
#include "job/job.h"
#include "store/internal.h"
#include "store/store.h"
#include "support/cmocka_all.h"
#include "support/seats.h"

#include <stdlib.h>

/* For a communicator of three: the last of several with one number, and none outside the size. */
static void who_takes_a_seat(void **state)
{
    static const struct communicator_set_member claims[] = {{-1, 9}, {0, 5}, {0, 6},
                                                            {2, 7},  {3, 8}, {INT64_MAX, 9}};
    struct job_communicator communicator = {.size = 3, .silent = -1};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        assert_int_equal(communicator_set_member(&communicator, claims[i].number, claims[i].rank), 0);
    assert_int_equal(communicator.member_list_count, 2);
    assert_int_equal(communicator.member_list[0].rank, 6);
    assert_int_equal(communicator.member_list[1].rank, 7);
    free(communicator.member_list);
}

/*
 * Five ranks of a job with a global rank, in order, and six without. Ranks without records are in no
 * communicator: in that of all ranks, 0, their number is their global rank; in another, 1, a free place is
 * that of the only one. Returns, for each number from -1 on, the rank that has it in either; '.' for none.
 */
static void assert_places(int64_t silent, int64_t size, const char *world, const char *other)
{
    enum { ALL = 11 };
    static const int64_t global_ranks[ALL] = {0, 1, 2, 3, 4, -1, -1, -1, -1, -1, -1};
    static const struct communicator_set_member in_world[] = {{0, 0}, {1, 1}, {4, 4}},
                                                in_other[] = {{0, 5}, {3, 1}, {4, 6}};
    struct job_rank ranks[ALL];
    struct job_communicator communicators[2] = {{.size = size, .silent = -1}, {.size = 7, .silent = -1}};
    struct job job = {.ranks = ranks,
                      .rank_count = ALL,
                      .communicators = communicators,
                      .communicator_count = 2,
                      .expected_ranks = size};
    for (int i = 0; i < ALL; i++)
        ranks[i] = (struct job_rank){.global_rank = global_ranks[i], .process_id = i};
    for (int i = 0; i < silent; i++)
        ranks[2 + i].process_id = -1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(communicator_set_member(&communicators[0], in_world[i].number, in_world[i].rank), 0);
        assert_int_equal(communicator_set_member(&communicators[1], in_other[i].number, in_other[i].rank), 0);
    }
    seat_silent_ranks(&job);
    for (int which = 0; which < 2; which++) {
        char found[16] = "";
        for (int64_t number = -1; number <= communicators[which].size; number++) {
            int32_t rank = job_rank_in(&job, which, number);
            found[number + 1] = (char)(rank < 0 ? '.' : '0' + rank);
        }
        assert_string_equal(found, which ? other : world);
        free(communicators[which].member_list);
    }
}

static void whose_place_it_is(void **state)
{
    assert_places(0, 5, ".01..4.", ".5..16...");
    assert_places(1, 5, ".01234.", ".5221622.");
    /* Which of two has a place in another communicator is unknown. */
    assert_places(2, 5, ".01234.", ".5..16...");
    /* So is the owner of a place in the world of which no rank is known. */
    assert_places(2, 6, ".01234..", ".5..16...");
}

/*
 * Of a communicator of ranks 6, 1, 4 and 3 of a job, in this order, the first and the last have records. Rank
 * 1 has no file, and 4 none of this communicator. A list that contradicts the members is not used, nor one of
 * another size.
 */
static void assert_told(const int64_t *members, size_t count, const char *wanted)
{
    struct job_rank ranks[] = {{.global_rank = 1, .process_id = -1},
                               {.global_rank = 3},
                               {.global_rank = 4},
                               {.global_rank = 6},
                               {.global_rank = -1}};
    struct job_communicator communicator = {.size = 4, .silent = -1};
    struct job job = {.ranks = ranks,
                      .rank_count = 5,
                      .communicators = &communicator,
                      .communicator_count = 1,
                      .expected_ranks = 8};
    char found[8] = "";
    assert_int_equal(communicator_set_member(&communicator, 0, 3), 0);
    assert_int_equal(communicator_set_member(&communicator, 3, 1), 0);
    communicator.members = (int64_t *)(uintptr_t)members;
    communicator.member_count = count;
    struct run_ranks run = job_run_ranks(&job);
    assert_int_equal(communicator_add_listed_members(&run, &communicator), 0);
    for (int64_t number = 0; number < 4; number++) {
        int32_t rank = job_rank_in(&job, 0, number);
        found[number] = (char)(rank < 0 ? '.' : '0' + rank);
    }
    assert_string_equal(found, wanted);
    free(communicator.member_list);
    free(communicator.told);
}

static void who_is_told_to_be_in_it(void **state)
{
    static const int64_t right[] = {6, 1, 4, 3}, stranger[] = {6, 9, 4, 3}, wrong[] = {3, 1, 4, 6},
                         longer[] = {6, 1, 4, 3, 2};
    assert_told(right, 4, "3021");
    assert_told(stranger, 4, "3.21");
    assert_told(wrong, 4, "3..1");
    assert_told(longer, 5, "3..1");
    assert_told(right, 3, "3..1");
}

/*
 * The numbers in a communicator of all ranks need not be the global ranks: then a free place belongs to no
 * known rank.
 */
static void other_order_than_the_launchers(void **state)
{
    struct job_rank ranks[] = {{.global_rank = 0}, {.global_rank = 1, .process_id = -1}, {.global_rank = 2}};
    struct job_communicator communicator = {.size = 4, .silent = -1};
    struct job job = {.ranks = ranks,
                      .rank_count = 3,
                      .communicators = &communicator,
                      .communicator_count = 1,
                      .expected_ranks = 4};
    assert_int_equal(communicator_set_member(&communicator, 1, 2), 0);
    assert_int_equal(communicator_set_member(&communicator, 2, 0), 0);
    seat_silent_ranks(&job);
    assert_false(communicator.is_whole);
    free(communicator.member_list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_takes_a_seat),
        cmocka_unit_test(whose_place_it_is),
        cmocka_unit_test(who_is_told_to_be_in_it),
        cmocka_unit_test(other_order_than_the_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
