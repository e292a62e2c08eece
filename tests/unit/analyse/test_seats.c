#include "job/loader.h"

#include "job/lost_files.h"
#include "job/membership.h"
#include "job/shared_processes.h"
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/*
 * Four ranks: a world of all and two pairs, 0 with 1 and 2 with 3. Each text names the ranks whose files of a
 * communicator are there; of the result, those that may lack one.
 */
enum { RANKS = 4, COMMUNICATORS = 3 };

static void assert_may_lack_where(const char *const files[COMMUNICATORS], int numbered, const char *expected)
{
    static const char *const members[COMMUNICATORS] = {"0123", "01", "23"};
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[COMMUNICATORS];
    struct job job = {.ranks = ranks,
                      .rank_count = RANKS,
                      .communicators = communicators,
                      .communicator_count = COMMUNICATORS};
    for (int32_t rank = 0; rank < RANKS; rank++)
        ranks[rank] = (struct job_rank){.global_rank = numbered ? rank : -1, .process_id = -1};
    for (int i = 0; i < COMMUNICATORS; i++) {
        communicators[i] =
            (struct job_communicator){.size = (int64_t)strlen(members[i]), .hashed = 1, .silent = -1};
        for (const char *file = files[i]; *file; file++) {
            int32_t rank = *file - '0';
            ranks[rank].process_id = rank;
            assert_int_equal(job_seat(&communicators[i], strchr(members[i], *file) - members[i], rank), 0);
        }
    }
    assert_int_equal(job_find_lost_files(&job), 0);
    char found[RANKS + 1] = "";
    for (size_t i = 0, length = 0; i < RANKS; i++)
        if (ranks[i].may_lack_file)
            found[length++] = (char)('0' + i);
    assert_string_equal(found, expected);
    for (int i = 0; i < COMMUNICATORS; i++)
        free(communicators[i].seats);
}

static void assert_may_lack(const char *const files[COMMUNICATORS], const char *expected)
{
    assert_may_lack_where(files, 1, expected);
}

static void who_left_a_place(void **state)
{
    assert_may_lack((const char *const[]){"0123", "01", "23"}, "");
    assert_may_lack((const char *const[]){"0123", "01", "2"}, "3");
    assert_may_lack((const char *const[]){"0123", "1", "2"}, "03");
    /* Ranks in fewer communicators than others may be so by design, where none has a place for them. */
    assert_may_lack((const char *const[]){"0123", "01", ""}, "");
}

/*
 * Global ranks ascend with the numbers in a communicator: who is above its last member are ranks above that
 * one's; above the lesser, where two have such places.
 */
static void who_is_above_a_last_member(void **state)
{
    assert_may_lack((const char *const[]){"0123", "0", "2"}, "13");
    assert_may_lack((const char *const[]){"0123", "", "2"}, "3");
}

/* Where nobody has a global rank, a place left fits any, be it above a last member or below. */
static void who_left_a_place_without_numbers(void **state)
{
    assert_may_lack_where((const char *const[]){"0123", "0", ""}, 0, "123");
    assert_may_lack_where((const char *const[]){"0123", "1", ""}, 0, "023");
    assert_may_lack_where((const char *const[]){"0123", "01", ""}, 0, "");
}

/* A rank that left nothing may have been the other one of a pair of which nothing is left. */
static void who_may_have_met_a_silent_rank(void **state)
{
    assert_may_lack((const char *const[]){"012", "01", ""}, "2");
    assert_may_lack((const char *const[]){"012", "01", "2"}, "");
}

/* What one rank is in at most, all may be in, however many lost theirs. */
static void where_most_lost_theirs(void **state)
{
    assert_may_lack((const char *const[]){"0123", "1", ""}, "0");
    assert_may_lack((const char *const[]){"012", "0", ""}, "12");
}

/*
 * Two processes of two ranks each, every rank in the world, and perhaps a fifth rank of the first, by itself;
 * `uses` says which of the five have operations. Of the result, those of a process not told apart.
 */
static void assert_parts(const char *uses, const char *expected)
{
    struct job_rank ranks[RANKS + 1];
    struct job_communicator communicators[2] = {{.size = RANKS, .hashed = 1, .silent = -1},
                                                {.size = 1, .hashed = 1, .silent = -1}};
    struct job job = {
        .ranks = ranks, .rank_count = RANKS + 1, .communicators = communicators, .communicator_count = 2};
    for (int32_t rank = 0; rank <= RANKS; rank++) {
        ranks[rank] = (struct job_rank){.process_id = rank == 2 || rank == 3,
                                        .global_rank = -1,
                                        .count = strchr(uses, '0' + rank) ? 9 : 0};
        assert_int_equal(job_seat(&communicators[rank == RANKS], rank % RANKS, rank), 0);
    }
    assert_int_equal(job_find_parts(&job), 0);
    char found[RANKS + 2] = "";
    for (size_t i = 0, length = 0; i <= RANKS; i++)
        if (ranks[i].is_part)
            found[length++] = (char)('0' + i);
    assert_string_equal(found, expected);
    free(communicators[0].seats);
    free(communicators[1].seats);
}

static void who_is_not_told_apart(void **state)
{
    assert_parts("01234", "014");
    /* A communicator that nobody used hides nobody's operations. */
    assert_parts("0123", "");
    /* What one did in the world and another elsewhere may be one GPU's. */
    assert_parts("1234", "014");
    assert_parts("234", "");
}

/* Of a communicator of three: the last of several of a number, and none that there is no place for. */
static void who_takes_a_seat(void **state)
{
    static const struct job_seat claims[] = {{-1, 9}, {0, 5}, {0, 6}, {2, 7}, {3, 8}, {INT64_MAX, 9}};
    struct job_communicator communicator = {.size = 3, .silent = -1};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        assert_int_equal(job_seat(&communicator, claims[i].number, claims[i].rank), 0);
    assert_int_equal(communicator.seat_count, 2);
    assert_int_equal(communicator.seats[0].rank, 6);
    assert_int_equal(communicator.seats[1].rank, 7);
    free(communicator.seats);
}

/*
 * Five ranks of a job with a global rank, in order of that, and six without. Silent ones are in no
 * communicator: in that of all, 0, their number is their global rank, in another, 1, a free place is that of
 * the one that there is. Of each number from -1 on, the rank that has it in either; '.' nobody.
 */
static void assert_places(int64_t silent, int64_t size, const char *world, const char *other)
{
    enum { ALL = 11 };
    static const int64_t global_ranks[ALL] = {0, 1, 2, 3, 4, -1, -1, -1, -1, -1, -1};
    static const struct job_seat in_world[] = {{0, 0}, {1, 1}, {4, 4}}, in_other[] = {{0, 5}, {3, 1}, {4, 6}};
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
        assert_int_equal(job_seat(&communicators[0], in_world[i].number, in_world[i].rank), 0);
        assert_int_equal(job_seat(&communicators[1], in_other[i].number, in_other[i].rank), 0);
    }
    job_seat_silent_ranks(&job);
    for (int which = 0; which < 2; which++) {
        char found[16] = "";
        for (int64_t number = -1; number <= communicators[which].size; number++) {
            int32_t rank = job_rank_in(&job, which, number);
            found[number + 1] = (char)(rank < 0 ? '.' : '0' + rank);
        }
        assert_string_equal(found, which ? other : world);
        free(communicators[which].seats);
    }
}

static void whose_place_it_is(void **state)
{
    assert_places(0, 5, ".01..4.", ".5..16...");
    assert_places(1, 5, ".01234.", ".5221622.");
    /* Which of two has a place of another communicator nobody can tell. */
    assert_places(2, 5, ".01234.", ".5..16...");
    /* Nor who has one of the world that no rank is known of. */
    assert_places(2, 6, ".01234..", ".5..16...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_above_a_last_member), cmocka_unit_test(who_left_a_place_without_numbers),
        cmocka_unit_test(who_takes_a_seat),           cmocka_unit_test(whose_place_it_is),
        cmocka_unit_test(who_left_a_place),           cmocka_unit_test(who_may_have_met_a_silent_rank),
        cmocka_unit_test(where_most_lost_theirs),     cmocka_unit_test(who_is_not_told_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
