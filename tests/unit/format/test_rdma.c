#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

static void snapshots(void **state)
{
    struct recording recording;
    told_by(
        &recording, "node1-rdma.txt",
        "$ rdma statistic show\n2026-11-26T10:11:12Z\n"
        "link mlx5_0/1 rx_write_requests 0 out_of_sequence 7 packet_seq_err 0 np_cnp_sent\n500 rx_icrc 3\n"
        "link mlx5_1/1 out_of_sequence 0 \n2026-11-26T10:11:22Z\n"
        "link mlx5_0/1 rx_write_requests 0 out_of_sequence 1207 packet_seq_err 12 np_cnp_sent 900\n"
        "link mlx5_1/1 out_of_sequence 5\n");
    const int64_t later = MOMENT + 10 * SECOND;
    assert_string_equal(recording.dialect, "rdma");
    check_sample(told_sample(&recording, "mlx5_0/1", NODE_OUT_OF_SEQUENCE, 0), TIME_UNKNOWN, MOMENT, 7);
    check_sample(told_sample(&recording, "mlx5_0/1", NODE_OUT_OF_SEQUENCE, 1), MOMENT, later, 1200);
    check_sample(told_sample(&recording, "mlx5_0/1", NODE_PACKET_SEQUENCE_ERRORS, 1), MOMENT, later, 12);
    check_sample(told_sample(&recording, "mlx5_0/1", NODE_CNP_SENT, 1), MOMENT, later, 400);
    check_sample(told_sample(&recording, "mlx5_1/1", NODE_OUT_OF_SEQUENCE, 1), MOMENT, later, 5);
    assert_string_equal(told_sample(&recording, "mlx5_1/1", NODE_OUT_OF_SEQUENCE, 0)->host, "node1");
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static void objects(void **state)
{
    struct recording recording;
    told_by(
        &recording, "rdma.node2.20261126-101112.json",
        "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":0,\"rnr_nak_retry_err\":2},"
        "{\"ifname\":\"mlx5_1\",\"port\":2,\"local_ack_timeout_err\":4}]\n");
    check_sample(told_sample(&recording, "mlx5_0/1", NODE_RNR_NAK_RETRIES, 0), TIME_UNKNOWN, MOMENT, 2);
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_ACK_TIMEOUTS, 0), TIME_UNKNOWN, MOMENT, 4);
    recording_release(&recording);
}

static void damaged(void **state)
{
    struct recording recording;
    told_by(&recording, "a.txt", "link mlx5_0/1 out_of_sequence x packet_seq_err 4\n[{\"ifname\":3}]\n[\n");
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_damage(&recording), 3);
    recording_release(&recording);
    damage_told("a.txt",
                "2026-11-26T10:11:12Z\nlink mlx5_0/1 rx_write_requests 0 out_of_sequence 7\n"
                "[{\"ifname\":\"mlx5_1\",\"port\":2,\"local_ack_timeout_err\":4}]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots),
        cmocka_unit_test(objects),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
