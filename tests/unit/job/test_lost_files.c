#include "job/job.h"
#include "job/load.h"
#include "store/internal.h"
#include "store/store.h"
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/*
 * Four ranks: a world of all and two pairs, 0 with 1 and 2 with 3. Each text names the ranks whose files of a
 * communicator exist; the result names those that may lack one.
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
            (struct job_communicator){.size = (int64_t)strlen(members[i]), .hash = 1, .silent = -1};
        for (const char *file = files[i]; *file; file++) {
            int32_t rank = *file - '0';
            ranks[rank].process_id = rank;
            assert_int_equal(
                communicator_set_member(&communicators[i], strchr(members[i], *file) - members[i], rank), 0);
        }
    }
    assert_int_equal(job_find_lost_files(&job), 0);
    char found[RANKS + 1] = "";
    for (size_t i = 0, length = 0; i < RANKS; i++)
        if (ranks[i].may_lack_file)
            found[length++] = (char)('0' + i);
    assert_string_equal(found, expected);
    for (int i = 0; i < COMMUNICATORS; i++)
        free(communicators[i].member_list);
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
    /* Ranks in fewer communicators than others may be so by design, if no communicator has a free place. */
    assert_may_lack((const char *const[]){"0123", "01", ""}, "");
}

/*
 * Global ranks ascend with the ranks in a communicator: ranks above its last member have higher global ranks;
 * above the lower one, if two have such places.
 */
static void who_is_above_a_last_member(void **state)
{
    assert_may_lack((const char *const[]){"0123", "0", "2"}, "13");
    assert_may_lack((const char *const[]){"0123", "", "2"}, "3");
}

/* If no rank has a global rank, a free place fits any, whether above the last member or below. */
static void who_left_a_place_without_numbers(void **state)
{
    assert_may_lack_where((const char *const[]){"0123", "0", ""}, 0, "123");
    assert_may_lack_where((const char *const[]){"0123", "1", ""}, 0, "023");
    assert_may_lack_where((const char *const[]){"0123", "01", ""}, 0, "");
}

/* A rank without files may have been in a pair of which nothing is left. */
static void who_may_have_met_a_silent_rank(void **state)
{
    assert_may_lack((const char *const[]){"012", "01", ""}, "2");
    assert_may_lack((const char *const[]){"012", "01", "2"}, "");
}

/* The maximum number of communicators of a rank may be that of all ranks, however many lost their files. */
static void where_most_lost_theirs(void **state)
{
    assert_may_lack((const char *const[]){"0123", "1", ""}, "0");
    assert_may_lack((const char *const[]){"012", "0", ""}, "12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_left_a_place),
        cmocka_unit_test(who_is_above_a_last_member),
        cmocka_unit_test(who_left_a_place_without_numbers),
        cmocka_unit_test(who_may_have_met_a_silent_rank),
        cmocka_unit_test(where_most_lost_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
