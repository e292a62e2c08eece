#include "job/internal.h"
#include "job/job.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* Which ranks are of one stage: six ranks, and communicators of two or three of them. */

enum { RANKS = 6, MOST = 4 };

struct meeting {
    int32_t ranks[3]; /* -1: none; the last may have no records */
    int silent;
};

/* Stages as letters, by rank. */
static void check(const struct meeting *meetings, size_t count, const char *expected)
{
    struct communicator_set_member member_list[MOST][3] = {{{0}}};
    struct job_communicator communicators[MOST + 1] = {{.size = RANKS, .silent = -1}};
    for (size_t i = 0; i < count; i++) {
        struct job_communicator *communicator = &communicators[i + 1];
        *communicator = (struct job_communicator){.member_list = member_list[i], .silent = -1};
        for (int j = 0; j < 3 && meetings[i].ranks[j] >= 0; j++) {
            communicator->size++;
            if (meetings[i].silent && (j == 2 || meetings[i].ranks[j + 1] < 0))
                communicator->silent = meetings[i].ranks[j];
            else
                member_list[i][communicator->member_list_count++].rank = meetings[i].ranks[j];
        }
    }
    struct job job = {.rank_count = RANKS, .communicators = communicators, .communicator_count = count + 1};
    int32_t *stage = stages_find(&job);
    int several = 0;
    assert_non_null(stage);
    for (int i = 0; i < RANKS; i++) {
        several |= expected[i] != expected[0];
        for (int j = 0; j < RANKS; j++)
            assert_int_equal(stage[i] == stage[j], expected[i] == expected[j]);
    }
    assert_int_equal(job_find_stages(&job), 0);
    assert_int_equal(job.in_stages, several);
    free(stage);
}

static void who_meets_is_of_one_stage(void **state)
{
    const struct meeting two[] = {{{0, 1, -1}, 0}, {{1, 2, -1}, 0}, {{3, 4, 5}, 0}};
    check(two, 3, "aaabbb");
    /* The communicators that join both. */
    const struct meeting one[] = {{{0, 1, -1}, 0}, {{1, 2, -1}, 0}, {{3, 4, 5}, 0}, {{0, 5, -1}, 0}};
    check(one, 4, "aaaaaa");
    /* Through a rank that left no trace. */
    const struct meeting silent[] = {{{0, 1, 2}, 1}, {{3, 2, -1}, 0}};
    check(silent, 2, "aaaabc");
}

/* There are no stages if all ranks join in all operations, or if communicators have only one rank. */
static void nothing_tells(void **state)
{
    const struct meeting alone[] = {{{3, -1, -1}, 0}};
    check(NULL, 0, "aaaaaa");
    check(alone, 1, "aaaaaa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_meets_is_of_one_stage),
        cmocka_unit_test(nothing_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
