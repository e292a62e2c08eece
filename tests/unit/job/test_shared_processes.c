#include "job/job.h"
#include "job/load.h"
#include "store/internal.h"
#include "store/store.h"
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

/*
 * Two processes of two ranks each, every rank in the world, and perhaps a fifth rank of the first process,
 * alone; `uses` are the ranks of the five that have operations. The result has the ranks of a process that
 * cannot be distinguished.
 */
static void assert_parts(const char *uses, const char *expected)
{
    struct job_rank ranks[RANKS + 1];
    struct job_communicator communicators[2] = {{.size = RANKS, .hash = 1, .silent = -1},
                                                {.size = 1, .hash = 1, .silent = -1}};
    struct job job = {
        .ranks = ranks, .rank_count = RANKS + 1, .communicators = communicators, .communicator_count = 2};
    for (int32_t rank = 0; rank <= RANKS; rank++) {
        ranks[rank] = (struct job_rank){.process_id = rank == 2 || rank == 3,
                                        .global_rank = -1,
                                        .count = strchr(uses, '0' + rank) ? 9 : 0};
        assert_int_equal(communicator_set_member(&communicators[rank == RANKS], rank % RANKS, rank), 0);
    }
    assert_int_equal(job_find_parts(&job), 0);
    char found[RANKS + 2] = "";
    for (size_t i = 0, length = 0; i <= RANKS; i++)
        if (ranks[i].is_part)
            found[length++] = (char)('0' + i);
    assert_string_equal(found, expected);
    free(communicators[0].member_list);
    free(communicators[1].member_list);
}

static void who_is_not_told_apart(void **state)
{
    assert_parts("01234", "014");
    /* A communicator without operations hides none. */
    assert_parts("0123", "");
    /* Operations of one rank in the world and of another elsewhere may be those of one GPU. */
    assert_parts("1234", "014");
    assert_parts("234", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_not_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
