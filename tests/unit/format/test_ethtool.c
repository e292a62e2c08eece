#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/format.h"
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

/* Drivers without totals have counters of queues; a total counts alone. Names of one metric are added up. */
static void drivers(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.eth0.txt",
            "1795687872\nNIC statistics:\n     rx_queue_0_bytes: 10\n     rx_queue_11_bytes: 5\n"
            "     rx_queue_0_xdp_drops: 7\n     rx_queue_0_drops: 1\n     tx_queue_0_bytes: 3\n");
    check_sample(told_sample(&recording, "eth0", NODE_RECEIVED_BYTES, 0), TIME_UNKNOWN, MOMENT, 15);
    check_sample(told_sample(&recording, "eth0", NODE_SENT_BYTES, 0), TIME_UNKNOWN, MOMENT, 3);
    check_sample(told_sample(&recording, "eth0", NODE_DROPS, 0), TIME_UNKNOWN, MOMENT, 1);
    recording_release(&recording);
    told_by(&recording, "node1.eth0.txt",
            "1795687872\nNIC statistics:\n     queue_0_tx_bytes: 4\n     queue_1_tx_bytes: 5\n"
            "     queue_0_rx_bytes: 6\n     bw_in_allowance_exceeded: 1\n"
            "1795687882\nNIC statistics:\n     queue_0_tx_bytes: 14\n     queue_1_tx_bytes: 5\n");
    check_sample(told_sample(&recording, "eth0", NODE_SENT_BYTES, 0), TIME_UNKNOWN, MOMENT, 9);
    check_sample(told_sample(&recording, "eth0", NODE_SENT_BYTES, 1), MOMENT, MOMENT + 10 * SECOND, 10);
    assert_int_equal(told_samples(&recording, "eth0", NODE_RECEIVED_BYTES), 1);
    recording_release(&recording);
    told_by(&recording, "node1.eth0.txt",
            "1795687872\nNIC statistics:\n     [0]: rx_ucast_packets: 9\n     rx_queue_0_bytes: 8\n     "
            "rx_bytes: 20\n"
            "     rx_total_discard_pkts: 2\n     tx_total_discard_pkts: 3\n     rx_fcs_err_frames: 1\n"
            "     tx_err: 6\n     link_down_events: 4\n");
    check_sample(told_sample(&recording, "eth0", NODE_RECEIVED_BYTES, 0), TIME_UNKNOWN, MOMENT, 20);
    check_sample(told_sample(&recording, "eth0", NODE_DROPS, 0), TIME_UNKNOWN, MOMENT, 5);
    check_sample(told_sample(&recording, "eth0", NODE_RECEIVE_ERRORS, 0), TIME_UNKNOWN, MOMENT, 1);
    check_sample(told_sample(&recording, "eth0", NODE_SEND_ERRORS, 0), TIME_UNKNOWN, MOMENT, 6);
    check_sample(told_sample(&recording, "eth0", NODE_LINK_DOWNED, 0), TIME_UNKNOWN, MOMENT, 4);
    recording_release(&recording);
}

/* Each counter, not only their sum. */
static void impossible(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.eth0.txt", "1795687872\n" STATISTICS("-3", "9223372036854775792"));
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 2);
    recording_release(&recording);
}

static void damaged(void **state)
{
    damage_told("eth0.txt", "1795687892\n" STATISTICS("18446744073709551615", "-3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots),  cmocka_unit_test(names),   cmocka_unit_test(drivers),
        cmocka_unit_test(impossible), cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
