#include "support/cmocka_all.h"
#include "support/events.h"

#include "base/base.h"
#include "format/internal.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static int read_line(const char *line, struct sample_line *said)
{
    return sample_line_read((struct text){line, strlen(line)}, said);
}

static void lines(void **state)
{
    struct sample_line said;
    assert_int_equal(read_line("m{a=\"}\\\"\",b=\"2\"} 1.5 1700000000123", &said), 1);
    assert_int_equal(said.labels.length, strlen("a=\"}\\\"\",b=\"2\""));
    assert_int_equal(said.metric.length, 1);
    assert_true(said.value > 1.4 && said.value < 1.6);
    assert_int_equal(said.at_ns, INT64_C(1700000000123) * 1000000);
    assert_int_equal(read_line("  m 2e3\r", &said), 1);
    assert_int_equal(said.labels.length, 0);
    assert_int_equal(said.at_ns, TIME_UNKNOWN);
    assert_int_equal(read_line("# HELP m x", &said), 0);
    assert_int_equal(read_line(" ", &said), 0);
    assert_int_equal(read_line("m{a=\"1\" 5", &said), -1);
    assert_int_equal(read_line("m{a=\"1\"}", &said), -1);
    assert_int_equal(read_line("m{a=\"1\"} x", &said), -1);
    assert_int_equal(read_line("m{a=\"1\"} 1 2 3", &said), -1);
}

static int64_t least_of(const char *size)
{
    char labels[128];
    struct buffer texts = BUFFER_INIT;
    struct metric_sample sample;
    snprintf(labels, sizeof labels, "collective=\"AllReduce\",message_size=\"%s\"", size);
    assert_int_equal(sample_labels_read((struct text){labels, strlen(labels)}, &texts, &sample), 0);
    buffer_release(&texts);
    return sample.least_bytes;
}

/* Units are powers of 1024: for 65536 bytes Inspector writes 64-65KB. */
static void sizes(void **state)
{
    assert_int_equal(least_of("64-65KB"), 65536);
    assert_int_equal(least_of("4-5MB"), 4 << 20);
    assert_int_equal(least_of("2.00GB"), INT64_C(2) << 30);
    assert_int_equal(least_of("1-2B"), 1);
    assert_int_equal(least_of("0B"), 0);
    assert_int_equal(least_of("4-5XB"), COUNT_UNKNOWN);
    assert_int_equal(least_of("many"), COUNT_UNKNOWN);
    assert_int_equal(least_of("1e400TB"), INT64_MAX);
}

static void labels_of_a_sample(void **state)
{
    static const char labels[] =
        "version=\"v5.1\",slurm_job_id=\"unknown\",node=\"n\",gpu=\"GPU4\",comm_name=\"tp "
        "\\\\2\",n_nodes=\"1\", "
        "nranks=\"2\",collective=\"AllGather\",message_size=\"4-5MB\",algo_proto=\"NVLS_TREE_SIMPLE\",";
    struct buffer texts = BUFFER_INIT;
    struct metric_sample sample;
    assert_int_equal(sample_labels_read((struct text){labels, strlen(labels)}, &texts, &sample), 0);
    assert_null(sample.job);
    assert_string_equal(sample.communicator, "tp \\2");
    assert_int_equal(sample.rank_count, 2);
    assert_int_equal(sample.function, FUNCTION_ALL_GATHER);
    assert_int_equal(sample.algorithm, ALGORITHM_NVLS_TREE);
    assert_int_equal(sample.protocol, PROTOCOL_SIMPLE);
    for (size_t length = 0; length < strlen(labels); length++) {
        int status = sample_labels_read((struct text){labels, length}, &texts, &sample);
        assert_true(status == 0 || status == 1);
    }
    buffer_release(&texts);
}

/* Bandwidth and time with the same labels are one sample, in any order. */
static void a_file(void **state)
{
    static const char text[] =
        "nccl_bus_bandwidth_gbs{collective=\"AllReduce\",user_tag=\"a\"} 2\n"
        "nccl_bus_bandwidth_gbs{collective=\"AllReduce\",user_tag=\"b\"} 3\n"
        "nccl_collective_exec_time_microseconds{collective=\"AllReduce\",user_tag=\"b\"} 4.5\n"
        "nccl_p2p_exec_time_microseconds{p2p_operation=\"Send\"} 1\n"
        "nccl_collective_count{collective=\"AllReduce\"} 9\n";
    struct recording recording;
    recording_of_bytes(&recording, "x.prom", text, strlen(text));
    assert_string_equal(recording.dialect, "prometheus");
    assert_int_equal(recording.event_count, 3);
    assert_int_equal(recording.events[0].sample.duration_ns, COUNT_UNKNOWN);
    assert_string_equal(recording.events[1].sample.tag, "b");
    assert_int_equal(recording.events[1].sample.duration_ns, 4500);
    assert_true(recording.events[2].sample.busbw_gbs < 0);
    assert_int_equal(recording.events[2].sample.function, FUNCTION_SEND);
    assert_true(recording.events[2].sample.at_ns > 0);
    assert_int_equal(recording_notes(&recording, "unknown metric"), 1);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(sizes),
        cmocka_unit_test(labels_of_a_sample),
        cmocka_unit_test(a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
