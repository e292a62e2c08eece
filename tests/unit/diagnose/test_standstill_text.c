#include "support/cmocka_all.h"

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <string.h>

enum { MOST = 16 };

/*
 * An AllReduce of a communicator of this many ranks, the first of which have records, and the first called
 * it.
 */
struct played {
    struct job job;
    struct job_rank ranks[MOST];
    struct communicator_set_member member_list[MOST];
    struct job_communicator communicator;
    struct job_instance instance;
    struct job_call calls[1];
};

static char names[MOST][3] = {"0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                              "8", "9", "10", "11", "12", "13", "14", "15"};

static void check(int64_t size, int is_sized, int32_t recorded, int32_t called, const char *reason,
                  const char *remedy)
{
    static struct played played;
    const struct unexplained_hang unexplained_hang = {.is_known = 1};
    struct buffer text = BUFFER_INIT;
    played = (struct played){.job = {.rank_count = (size_t)size}};
    played.job.ranks = played.ranks;
    played.job.communicators = &played.communicator;
    played.job.instances = &played.instance;
    played.job.calls = played.calls;
    for (int32_t i = 0; i < size; i++) {
        int is_recorded = i < recorded;
        played.ranks[i] = (struct job_rank){
            .name = names[i], .count = (size_t)is_recorded, .process_id = is_recorded ? i : -1};
        played.member_list[i] = (struct communicator_set_member){i, i};
    }
    played.communicator = (struct job_communicator){.size = size,
                                                    .size_is_known = is_sized,
                                                    .label = (char[]){"w"},
                                                    .member_list = played.member_list,
                                                    .member_list_count = (size_t)recorded};
    played.instance = (struct job_instance){.sequence = 3,
                                            .sender = -1,
                                            .receiver = -1,
                                            .members = called,
                                            .expected = (int32_t)size,
                                            .function = FUNCTION_ALL_REDUCE};
    assert_int_equal(hang_append_reason(&unexplained_hang, &played.job, &text), 0);
    assert_non_null(strstr(text.data, reason));
    buffer_clear(&text);
    assert_int_equal(hang_append_remedy(&unexplained_hang, &played.job, &text), 0);
    assert_non_null(strstr(text.data, remedy));
    buffer_release(&text);
}

/* "All" is written only if their number is recorded. */
static void all_called_it(void **state)
{
    check(4, 1, 4, 4, "AllReduce #3 on communicator w was called by all its ranks and never finished",
          "TORCH_NCCL_ENABLE_TIMING=1");
    check(4, 0, 4, 4, "The 4 ranks with a record called it, and no record shows how many ranks there are",
          "add the logs, dumps or traces of the other ranks");
}

static void some_left_no_record(void **state)
{
    check(4, 1, 1, 1, "never finished. Only 1 of 4 ranks has a record", "of the other 3 ranks (1, 2 and 3)");
    check(4, 1, 3, 3, "Only 3 of 4 ranks have a record", "of the other rank (3)");
    check(16, 1, 2, 2, "Only 2 of 16 ranks have a record", "of the other 14 ranks");
    check(4, 0, 1, 1, "Only 1 rank has a record, and no record shows how many ranks there are",
          "of the other ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_called_it),
        cmocka_unit_test(some_left_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
