#include "support/cmocka_all.h"
#include "support/events.h"

#include "format/nccl_ras/nccl_ras.h"

#include <string.h>

#define HEAD                                                   \
    "{\"nccl_version\":\"2.29.1\",\"timestamp\":\"2026-03-02 " \
    "10:15:00\",\"communicators_count\":1,\"communicators\":["
#define RANK(rank, count)                                                                     \
    "{\"rank\":" rank ",\"host\":\"10.0.0.1\",\"pid\":7" rank ",\"cuda_dev\":" rank           \
    ",\"collective_counts\":{\"Broadcast\":0,\"Reduce\":0,\"AllGather\":0,\"ReduceScatter\":" \
    "0,\"AllReduce\":" count "}}"
#define END "]}],\"ras\":{}}\n"

static void read_text(struct recording *recording, const char *text)
{
    recording_of_bytes(recording, "ras.json", text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "nccl-ras");
}

static void the_last_common_call_and_those_of_some(void **state)
{
    struct recording recording;
    static const int64_t ranks[] = {0, 1, 0, 0}, numbers[] = {4, 4, 5, 6};
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "7") "," RANK("1", "5") END);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct event *event = recording_event(&recording, EVENT_OPERATION, i);
        assert_true(event->origin.communicator_hash == 0xabc);
        assert_string_equal(event->origin.host, "10.0.0.1");
        assert_int_equal(event->origin.communicator_size, 2);
        assert_int_equal(event->origin.rank, ranks[i]);
        assert_int_equal(event->origin.pid, 70 + ranks[i]);
        assert_int_equal(event->operation.function, FUNCTION_ALL_REDUCE);
        assert_int_equal(event->operation.sequence, numbers[i]);
        assert_int_equal(event->operation.ordinal, i);
    }
    const struct event *status = recording_event(&recording, EVENT_GROUP_STATUS, 1);
    assert_int_equal(status->group_status.enqueued, 5);
    assert_int_equal(status->group_status.at_ns, INT64_C(1772446500) * 1000000000);
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 1)->process.gpu, 1);
    recording_release(&recording);
}

static void what_nobody_launched_is_no_call(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "0") "," RANK("1", "0") END);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
    recording_release(&recording);
}

/* A hostile count is no reason to hand over as many calls. */
static void far_ahead(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD
              "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "9000000000") "," RANK("1", "5") END);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2 + 1024);
    assert_int_equal(recording_notes(&recording, "more operations ahead than are kept"), 1);
    recording_release(&recording);
}

static void ranks_that_ras_heard_nothing_of(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD
              "{\"hash\":\"0xabc\",\"size\":4,\"ranks\":[" RANK("0", "5") "],\"missing_ranks\":["
              "{\"rank\":1,\"status\":{\"unresponsive\":true,\"considered_dead\":true}},"
              "{\"rank\":2,\"status\":{\"unresponsive\":true,\"considered_dead\":false}},"
              "{\"rank\":3,\"status\":{\"unresponsive\":false,\"considered_dead\":false}}" END);
    assert_int_equal(recording_notes(&recording, "rank that is considered dead"), 1);
    assert_int_equal(recording_notes(&recording, "rank that does not answer"), 1);
    assert_int_equal(recording_notes(&recording, "rank not in its communicator yet, or no more"), 1);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 1);
    recording_release(&recording);
}

static void damaged(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xzz\",\"size\":-2,\"ranks\":[" RANK("0", "-5") ",7," RANK("1", "5"));
    assert_int_equal(recording_notes(&recording, "value that cannot be read"), 3);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    assert_int_equal(recording_notes(&recording, "file ends within its text"), 1);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.enqueued,
                     COUNT_UNKNOWN);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_common_call_and_those_of_some),
        cmocka_unit_test(what_nobody_launched_is_no_call),
        cmocka_unit_test(far_ahead),
        cmocka_unit_test(ranks_that_ras_heard_nothing_of),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
