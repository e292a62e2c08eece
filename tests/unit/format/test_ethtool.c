#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define STATISTICS(errors, downs)                                          \
    "NIC statistics:\n     rx_packets: 9\n     rx_crc_errors_phy: " errors \
    "\n     link_down_events_phy: " downs "\n"

static void snapshots(void **state)
{
    struct recording recording;
    told_by(&recording, "node1-ethtool.txt",
            "Thu Nov 26 10:11:12 UTC 2026\n$ ethtool -S ens3f0np0\n" STATISTICS("10", "3")
                "== 2026-11-26T10:11:22Z ==\n$ ethtool -S ens3f0np0\n" STATISTICS("310", "3")
                    "1795687892\n" STATISTICS("9", "4"));
    const int64_t second = MOMENT + 10 * SECOND, third = MOMENT + 20 * SECOND;
    assert_string_equal(recording.dialect, "ethtool");
    check_sample(told_sample(&recording, "ens3f0np0", NODE_RECEIVE_ERRORS, 0), TIME_UNKNOWN, MOMENT, 10);
    check_sample(told_sample(&recording, "ens3f0np0", NODE_RECEIVE_ERRORS, 1), MOMENT, second, 300);
    check_sample(told_sample(&recording, "ens3f0np0", NODE_RECEIVE_ERRORS, 2), TIME_UNKNOWN, third, 9);
    check_sample(told_sample(&recording, "ens3f0np0", NODE_LINK_DOWNED, 2), second, third, 1);
    assert_string_equal(told_sample(&recording, "ens3f0np0", NODE_LINK_DOWNED, 0)->host, "node1");
    assert_int_equal(recording_notes(&recording, TELEMETRY_NOTE_OTHER_METRIC), 3);
    recording_release(&recording);
}

/* Interface and time from the name; a second snapshot without a date has no time. */
static void names(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.eth0.20261126-101112.txt", STATISTICS("10", "3") STATISTICS("310", "3"));
    check_sample(told_sample(&recording, "eth0", NODE_RECEIVE_ERRORS, 0), TIME_UNKNOWN, MOMENT, 10);
    assert_int_equal(told_samples(&recording, "eth0", NODE_RECEIVE_ERRORS), 1);
    assert_int_equal(recording_notes(&recording, LOG_NOTE_NO_TIME), 2);
    recording_release(&recording);
    told_by(&recording, "node1.txt", STATISTICS("10", "3"));
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_notes(&recording, "counters of an interface without a name"), 2);
    recording_release(&recording);
}

static void damaged(void **state)
{
    damage_told("eth0.txt", "1795687892\n" STATISTICS("18446744073709551615", "-3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots),
        cmocka_unit_test(names),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
