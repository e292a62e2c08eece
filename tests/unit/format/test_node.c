#include "support/cmocka_all.h"
#include "support/events.h"

#include "base/base.h"
#include "format/format.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define START_NS INT64_C(1795687872000000000)
#define MS_NS INT64_C(1000000)

static const char head[] =
    "{\"ncclprof_node\":1,\"version\":\"0.2.0\",\"host\":\"node017\",\"boot_id\":\"b\",\"cores\":8,"
    "\"memory_bytes\":64000000000,\"interval_ms\":1000,\"monotonic_ns\":5000000000,"
    "\"realtime_ns\":1795687872000000000,\"absent\":{\"kmsg\":\"Permission denied\"}}\n";

/* The record is read with the head before it. */
static void read_lines(struct recording *recording, const char *lines)
{
    char text[8192];
    snprintf(text, sizeof text, "%s%s", head, lines);
    recording_of_bytes(recording, "node-node017-1.jsonl", text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "node");
}

/* Fails unless sample n has this interval (in milliseconds since the start) and value. */
static void check_sample(const struct recording *recording, size_t n, int64_t begin_ms, int64_t end_ms,
                         double value)
{
    const struct event *event = recording_event(recording, EVENT_NODE_SAMPLE, n);
    assert_non_null(event);
    assert_string_equal(event->node_sample.host, "node017");
    assert_int_equal((event->node_sample.begin_ns - START_NS) / MS_NS, begin_ms);
    assert_int_equal((event->node_sample.at_ns - START_NS) / MS_NS, end_ms);
    assert_true(event->node_sample.value == value);
}

static void the_first_line_has_the_facts_of_the_host(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":9,\"gpu\":{\"index\":3,\"bus\":\"00000000:3b:00.0\",\"uuid\":\"GPU-7\",\"name\":"
               "\"H100\"}}\n");
    const struct node_fact *host = &recording_event(&recording, EVENT_NODE_FACT, 0)->node_fact;
    assert_string_equal(host->host, "node017");
    assert_string_equal(host->boot_id, "b");
    assert_int_equal(host->cores, 8);
    assert_int_equal(host->memory_bytes, 64000000000);
    assert_int_equal(host->monotonic_ns, 5000000000);
    assert_int_equal(host->realtime_ns, START_NS);
    assert_int_equal(host->gpu_index, COUNT_UNKNOWN);
    const struct node_fact *gpu = &recording_event(&recording, EVENT_NODE_FACT, 1)->node_fact;
    assert_int_equal(gpu->gpu_index, 3);
    assert_string_equal(gpu->gpu_bus_id, "00000000:3b:00.0");
    assert_string_equal(gpu->gpu_uuid, "GPU-7");
    assert_string_equal(gpu->gpu_name, "H100");
    assert_int_equal(recording_notes(&recording, "not sampled"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* 0.2 in the first second, then 0.9 from 3 s to 5 s, when the thread is gone; the other lines change nothing.
 */
static void a_gauge_holds_until_its_next_value(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"thread\",\"7/8 NCCL Progress "
               "0\",\"run_wait_share\"]},\"v\":{\"1\":0.2}}\n"
               "{\"ms\":2000}\n{\"ms\":3000}\n"
               "{\"ms\":4000,\"of\":1000,\"v\":{\"1\":0.9}}\n"
               "{\"ms\":5000,\"gone\":[\"1\"]}\n{\"ms\":6000}\n{\"ms\":6100,\"end\":\"job\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 3000, 0.2);
    check_sample(&recording, 1, 3000, 5000, 0.9);
    const struct node_sample *sample = &recording_event(&recording, EVENT_NODE_SAMPLE, 0)->node_sample;
    assert_int_equal(sample->place, NODE_THREAD);
    assert_string_equal(sample->device, "7/8 NCCL Progress 0");
    assert_int_equal(sample->metric, NODE_RUN_WAIT);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_OPEN), 0);
    recording_release(&recording);
}

/* What is not gone holds until the last line. Without an end the record is open. */
static void a_gauge_holds_until_the_last_line(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":0.5}}\n{"
               "\"ms\":9000}\n{\"ms\":100");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 1);
    check_sample(&recording, 0, 0, 9000, 0.5);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_OPEN), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* The last line of a record on a disk that is nearly full has the last values, and says so. */
static void a_disk_that_is_nearly_full(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"disk_free_bytes\"]},\"v\":{\"1\":9e9}}\n"
               "{\"ms\":5000,\"of\":1000,\"v\":{\"1\":5e8},\"end\":\"disk\"}\n");
    check_sample(&recording, 1, 4000, 5000, 5e8);
    assert_int_equal(recording_count(&recording, EVENT_NODE_EVENT), 1);
    const struct node_event *event = &recording_event(&recording, EVENT_NODE_EVENT, 0)->node_event;
    assert_int_equal(event->code, NODE_EVENT_DISK_FULL);
    assert_int_equal(event->place, NODE_WHOLE);
    assert_int_equal(
        recording_notes(&recording, "record of the node stopped because its disk was nearly full"), 1);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_OPEN), 0);
    recording_release(&recording);
}

/* 5 errors from 10 to 20 s and 5 from 20 to 30 s; none before and after. */
static void a_counter_has_increases_and_nothing_between(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":10000,\"of\":10000,\"new\":{\"i1\":[\"port\",\"mlx5_1/"
               "2\",\"symbol_errors\"]},\"v\":{\"i1\":0}}\n"
               "{\"ms\":20000,\"of\":10000,\"v\":{\"i1\":5}}\n{\"ms\":30000,\"of\":10000,\"v\":{\"i1\":5}}\n{"
               "\"ms\":50000}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 4);
    check_sample(&recording, 0, 0, 10000, 0);
    check_sample(&recording, 1, 10000, 20000, 5);
    check_sample(&recording, 2, 20000, 30000, 5);
    check_sample(&recording, 3, 30000, 50000, 0);
    recording_release(&recording);
}

/* The interval of a value does not reach back before the end of the interval of the value before. */
static void intervals_do_not_overlap(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":9000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":0.5}}\n"
               "{\"ms\":10000,\"of\":10000,\"v\":{\"1\":0.25}}\n");
    check_sample(&recording, 0, 8000, 9000, 0.5);
    check_sample(&recording, 1, 9000, 10000, 0.25);
    recording_release(&recording);
}

/* After a step of the clock of 100 s, in the line of 2 s. */
static void the_time_of_day_may_be_set(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":0.5}}\n"
               "{\"ms\":2000,\"realtime_ns\":1795687974000000000}\n"
               "{\"ms\":4000,\"of\":1000,\"v\":{\"1\":0.75}}\n{\"ms\":5000}\n");
    check_sample(&recording, 0, 0, 103000, 0.5);
    check_sample(&recording, 1, 103000, 105000, 0.75);
    recording_release(&recording);
}

static void messages(void **state)
{
    struct recording recording;
    read_lines(
        &recording,
        "{\"ms\":1500,\"kernel\":{\"level\":4,\"boot_us\":6500123,\"text\":\"mce: [Hardware Error]: Machine "
        "check\"}}\n"
        "{\"ms\":2000,\"no_answer\":{\"from\":\"nvml\",\"seconds\":5,\"device\":\"00000000:4b:00.0\"}}\n"
        "{\"ms\":3000,\"gpu_lost\":{\"device\":\"00000000:4b:00.0\",\"nvml_error\":15}}\n"
        "{\"ms\":4000,\"other_process\":{\"device\":\"00000000:3b:00.0\",\"pid\":9000,\"name\":\"python3\"}}"
        "\n"
        "{\"ms\":5000,\"oom_kills\":2}\n"
        "{\"ms\":6000,\"kernel\":{\"level\":3,\"boot_us\":11000000,\"text\":\"NVRM: GPU at PCI:0000:3b:00: "
        "GPU-3f0c1111-2222-3333-4444-555566667777\"}}\n"
        "{\"ms\":6000,\"kernel\":{\"level\":3,\"boot_us\":11000001,\"text\":\"NVRM: Xid (PCI:0000:3b:00): "
        "79, "
        "pid=77, name=python, GPU has fallen off the bus.\"}}\n"
        "{\"ms\":6100,\"kernel\":{\"level\":5,\"boot_us\":11100000,\"text\":\"nothing that is known\"}}\n"
        "{\"ms\":7000,\"job_process\":{\"device\":\"00000000:3b:00.0\",\"pid\":8000,\"name\":\"python3\"}}"
        "\n");
    static const enum node_event_code codes[] = {
        NODE_EVENT_MACHINE_CHECK, NODE_EVENT_GPU_NO_ANSWER, NODE_EVENT_GPU_FELL_OFF_BUS,
        NODE_EVENT_OTHER_PROCESS, NODE_EVENT_OOM_KILL,      NODE_EVENT_XID,
        NODE_EVENT_OTHER,         NODE_EVENT_JOB_PROCESS};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_int_equal(recording_event(&recording, EVENT_NODE_EVENT, i)->node_event.code, codes[i]);
    const struct node_event *kernel = &recording_event(&recording, EVENT_NODE_EVENT, 0)->node_event;
    assert_int_equal(kernel->at_ns, START_NS + 1500 * MS_NS);
    assert_int_equal(kernel->since_boot_ns, 6500123000);
    assert_string_equal(kernel->text, "mce: [Hardware Error]: Machine check");
    const struct node_event *silent = &recording_event(&recording, EVENT_NODE_EVENT, 1)->node_event;
    assert_int_equal(silent->place, NODE_GPU);
    assert_string_equal(silent->device, "00000000:4b:00.0");
    const struct node_event *other = &recording_event(&recording, EVENT_NODE_EVENT, 3)->node_event;
    assert_int_equal(other->pid, 9000);
    assert_string_equal(other->process, "python3");
    const struct node_event *xid = &recording_event(&recording, EVENT_NODE_EVENT, 5)->node_event;
    assert_int_equal(xid->place, NODE_GPU);
    assert_string_equal(xid->device, "00000000:3b:00.0");
    assert_int_equal(xid->number, 79);
    assert_int_equal(xid->pid, 77);
    assert_int_equal(xid->at_ns, START_NS + 6000 * MS_NS);
    const struct node_fact *gpu = &recording_event(&recording, EVENT_NODE_FACT, 1)->node_fact;
    assert_string_equal(gpu->gpu_bus_id, "00000000:3b:00.0");
    assert_string_equal(gpu->gpu_uuid, "GPU-3f0c1111-2222-3333-4444-555566667777");
    recording_release(&recording);
}

/* The driver has not answered since 3 s: what it said before is not true for ever. */
static void values_end_where_nothing_answers(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":0.5}}\n"
               "{\"ms\":1000,\"of\":1000,\"new\":{\"g1\":[\"gpu\",\"00000000:4b:00.0\",\"sm_clock_mhz\"]},"
               "\"v\":{\"g1\":1200}}\n"
               "{\"ms\":8000,\"no_answer\":{\"from\":\"nvml\",\"seconds\":5}}\n{\"ms\":9000}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 3000, 1200);
    check_sample(&recording, 1, 0, 9000, 0.5);
    recording_release(&recording);
}

/* A gauge of the node and one of a GPU from the first second on; then other lines. */
#define NODE_AND_GPU                                                                                    \
    "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"runnable_tasks\"]},\"v\":{\"1\":5}}\n"         \
    "{\"ms\":1000,\"of\":1000,\"new\":{\"g1\":[\"gpu\",\"00000000:4b:00.0\",\"sm_clock_mhz\"]},\"v\":{" \
    "\"g1\":"                                                                                           \
    "1200}}\n"
#define GPU_ROUNDS(interval) "{\"ms\":1000,\"from\":\"nvml\",\"interval_ms\":" #interval "}\n"

/* The sampler was killed after 3 s: what its process for GPUs still wrote says nothing about the node. */
static void the_sampler_is_killed(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":2000}\n{\"ms\":3000}\n"
                                                         "{\"ms\":3500,\"from\":\"nvml\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 3000, 5);
    check_sample(&recording, 1, 0, 3500, 1200);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_OPEN), 1);
    recording_release(&recording);
}

/*
 * The sampler was frozen from 2 to 60 s. What it measures as an average since the round before is known of
 * that time; how many tasks could run is not, whether or not the value after it is another one.
 */
static void the_sampler_is_frozen(void **state)
{
    struct recording recording;
    read_lines(
        &recording,
        "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"runnable_tasks\"],\"2\":[\"process\",\"7\","
        "\"blocked_share\"],\"3\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":5,\"2\":1,\"3\":0.5}}\n"
        "{\"ms\":2000}\n{\"ms\":60000,\"of\":58000,\"v\":{\"1\":40}}\n"
        "{\"ms\":61000}\n{\"ms\":61100,\"end\":\"job\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 5);
    check_sample(&recording, 0, 0, 2000, 5);
    check_sample(&recording, 1, 0, 2000, 1);
    check_sample(&recording, 2, 59000, 61100, 40);
    check_sample(&recording, 3, 59000, 61100, 1);
    check_sample(&recording, 4, 0, 61100, 0.5);
    recording_release(&recording);
}

/* One that had to wait for a core was late by a second. */
static void a_sampler_that_is_late_was_not_frozen(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"runnable_tasks\"]},\"v\":{\"1\":5}}\n"
               "{\"ms\":3000,\"of\":2000,\"v\":{\"1\":40}}\n{\"ms\":4000}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 1000, 5);
    check_sample(&recording, 1, 1000, 4000, 40);
    recording_release(&recording);
}

/* At the limit only the end is written, without a time. */
static void the_record_reaches_its_limit(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":2000,\"from\":\"nvml\"}\n{\"ms\":2500}\n"
                                                         "{\"end\":\"limit\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 2500, 5);
    check_sample(&recording, 1, 0, 2000, 1200);
    assert_int_equal(recording_notes(&recording, "record of the node stopped at its limit"), 1);
    recording_release(&recording);
}

/* The process that asks the GPUs was killed after 2 s, the sampler noticed it after 4 s and went on. */
static void the_process_for_gpus_is_gone(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":2000,\"from\":\"nvml\"}\n"
                                                         "{\"ms\":2000}\n{\"ms\":3000}\n"
                                                         "{\"ms\":4000,\"crashed\":{\"from\":\"nvml\",\"seconds\":0}}\n"
                                                         "{\"ms\":5000}\n{\"ms\":5100,\"end\":\"job\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 5100, 5);
    check_sample(&recording, 1, 0, 2000, 1200);
    recording_release(&recording);
}

/* The driver did not answer from 3 to 20 s; after that the clock is as before, and is not written again. */
static void the_driver_answers_again(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":3000,\"from\":\"nvml\"}\n{\"ms\":3000}\n"
                                                         "{\"ms\":8000,\"no_answer\":{\"from\":\"nvml\",\"seconds\":4}}\n"
                                                         "{\"ms\":20000,\"from\":\"nvml\"}\n"
                                                         "{\"ms\":21000,\"from\":\"nvml\"}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 4);
    check_sample(&recording, 0, 0, 3000, 5);
    check_sample(&recording, 1, 0, 3000, 1200);
    check_sample(&recording, 2, 7000, 8000, 5);
    check_sample(&recording, 3, 19000, 21000, 1200);
    recording_release(&recording);
}

/* To save CPU time the GPUs are asked every 16 s: that is no silence, and the last time was at 33 s. */
static void gpus_are_asked_less_often(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(16000) "{\"ms\":17000,\"from\":\"nvml\"}\n"
                                                          "{\"ms\":33000,\"from\":\"nvml\"}\n"
                                                          "{\"ms\":34000}\n{\"ms\":46000,\"end\":\"job\"}\n");
    const struct node_sample *clock = NULL;
    for (size_t i = 0; i < recording_count(&recording, EVENT_NODE_SAMPLE); i++) {
        const struct node_sample *sample = &recording_event(&recording, EVENT_NODE_SAMPLE, i)->node_sample;
        if (sample->metric == NODE_SM_CLOCK) {
            assert_null(clock);
            clock = sample;
        }
    }
    assert_int_equal((clock->at_ns - START_NS) / MS_NS, 33000);
    recording_release(&recording);
}

/* A hostile record: after each silence, each of its series is looked at. */
static void silences_end(void **state)
{
    enum { SERIES = 2000, SILENCES = 10000, READ = 5000 };
    struct recording recording;
    struct buffer text = BUFFER_INIT;
    assert_int_equal(buffer_append_text(&text, head), 0);
    assert_int_equal(
        buffer_append_text(
            &text, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":1000,\"new\":{\"p\":[\"node\",\"cpu_busy_share\"]"),
        0);
    for (int i = 2; i < SERIES; i++)
        assert_int_equal(buffer_printf(&text, ",\"g%d\":[\"process\",\"%d\",\"cpu_share\"]", i, i), 0);
    assert_int_equal(buffer_append_text(&text, "}}\n"), 0);
    for (int i = 1; i <= SILENCES; i++)
        assert_int_equal(buffer_printf(&text, "{\"ms\":%d,\"from\":\"nvml\"}\n", 1000 + 5000 * i), 0);
    recording_of_bytes(&recording, "node-node017-1.jsonl", text.data, text.length);
    assert_int_equal(recording.status, 0);
    assert_int_equal(
        recording_notes(&recording,
                        "too many silences of the sampler: later values of a moment are left out"),
        1);
    size_t clocks = 0;
    for (size_t i = 0; i < recording_count(&recording, EVENT_NODE_SAMPLE); i++)
        clocks += recording_event(&recording, EVENT_NODE_SAMPLE, i)->node_sample.metric == NODE_SM_CLOCK;
    /* Ten million: 5,000 silences with 2,000 series or a few more. */
    assert_in_range(clocks, READ - 100, READ + 1);
    recording_release(&recording);
    buffer_release(&text);
}

/* What a GPU said before it was lost ends with the round before. */
static void a_lost_gpu_tells_nothing(void **state)
{
    struct recording recording;
    read_lines(&recording, NODE_AND_GPU GPU_ROUNDS(1000) "{\"ms\":2000,\"from\":\"nvml\"}\n"
                                                         "{\"ms\":3000,\"gpu_lost\":{\"device\":\"00000000:4b:00.0\"}}\n"
                                                         "{\"ms\":4000,\"from\":\"nvml\"}\n{\"ms\":4000}\n");
    check_sample(&recording, 0, 0, 2000, 1200);
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    recording_release(&recording);
}

/* Damage is noted, and the other lines are read. */
/* It is not known what the value is from then on. */
static void an_impossible_value(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"new\":{\"1\":[\"gpu\",\"g\",\"temperature_c\"],\"2\":[\"gpu\",\"g\",\"ecc_"
               "corrected\"]},"
               "\"v\":{\"1\":50,\"2\":-3}}\n"
               "{\"ms\":2000,\"v\":{\"1\":1e9}}\n{\"ms\":3000,\"v\":{\"1\":60}}\n{\"ms\":4000}\n");
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 2);
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 1000, 2000, 50);
    check_sample(&recording, 1, 3000, 4000, 60);
    recording_release(&recording);
}

static void damaged_lines(void **state)
{
    struct recording recording;
    read_lines(
        &recording,
        "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"],\"2\":[7],\"3\":\"x\"},\"v\":{"
        "\"1\":0.5,\"2\":1}}\n"
        "{\"ms\":-5,\"v\":{\"1\":0.25}}\n"
        "{\"ms\":9223372036854775807,\"of\":9223372036854775807,\"v\":{\"1\":0.25}}\n"
        "{\"ms\":2000,\"v\":{\"1\":1e999}}\n"
        "{\"ms\":2500,\"v\":{\"1\":\"text\",\"99\":4},\"gone\":[5,\"99\",{}],\"kernel\":7,\"gpu\":[]}\n"
        "nonsense\n"
        "{\"ms\":3000,\"of\":1000,\"v\":{\"1\":1}}\n{\"ms\":4000}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 2000, 0.5);
    check_sample(&recording, 1, 2000, 4000, 1);
    assert_true(recording_damage(&recording) >= 4);
    recording_release(&recording);
}

/* Of a later version of the sampler: what is unknown is counted and not stored. */
static void unknown_metrics(void **state)
{
    struct recording recording;
    read_lines(&recording,
               "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"magic_share\"],\"2\":[\"moon\",\"cpu_"
               "share\"]},\"v\":{\"1\":1,\"2\":1}}\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 0);
    assert_int_equal(recording_notes(&recording, "unknown metric"), 2);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* Two records in one file: the values of the first end with it. */
static void joined_records(void **state)
{
    struct recording recording;
    char text[4096];
    static const char line[] =
        "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"node\",\"cpu_busy_share\"]},\"v\":{\"1\":0.5}}\n";
    snprintf(text, sizeof text, "%s{\"ms\":3000}\n%s%s", line, head, line);
    read_lines(&recording, text);
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 2);
    check_sample(&recording, 0, 0, 3000, 0.5);
    check_sample(&recording, 1, 0, 1000, 0.5);
    recording_release(&recording);
}

/* Figures of fixtures/node-record/TRUTH. */
static void the_fixture(void **state)
{
    struct recording recording;
    int halves = 0;
    recording_of_file(&recording, "fixtures/node-record/node-node017-4800.jsonl");
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 3);
    assert_int_equal(recording_count(&recording, EVENT_NODE_EVENT), 3);
    for (size_t i = 0; i < recording_count(&recording, EVENT_NODE_SAMPLE); i++) {
        const struct node_sample *sample = &recording_event(&recording, EVENT_NODE_SAMPLE, i)->node_sample;
        if (sample->metric == NODE_THROTTLE_HW_THERMAL && strcmp(sample->device, "00000000:4b:00.0") == 0)
            halves += sample->value == 0.5;
    }
    assert_int_equal(halves, 1);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_has_the_facts_of_the_host),
        cmocka_unit_test(a_gauge_holds_until_its_next_value),
        cmocka_unit_test(a_gauge_holds_until_the_last_line),
        cmocka_unit_test(a_disk_that_is_nearly_full),
        cmocka_unit_test(a_counter_has_increases_and_nothing_between),
        cmocka_unit_test(intervals_do_not_overlap),
        cmocka_unit_test(the_time_of_day_may_be_set),
        cmocka_unit_test(messages),
        cmocka_unit_test(values_end_where_nothing_answers),
        cmocka_unit_test(the_sampler_is_killed),
        cmocka_unit_test(the_sampler_is_frozen),
        cmocka_unit_test(a_sampler_that_is_late_was_not_frozen),
        cmocka_unit_test(the_record_reaches_its_limit),
        cmocka_unit_test(the_process_for_gpus_is_gone),
        cmocka_unit_test(the_driver_answers_again),
        cmocka_unit_test(gpus_are_asked_less_often),
        cmocka_unit_test(silences_end),
        cmocka_unit_test(a_lost_gpu_tells_nothing),
        cmocka_unit_test(an_impossible_value),
        cmocka_unit_test(damaged_lines),
        cmocka_unit_test(unknown_metrics),
        cmocka_unit_test(joined_records),
        cmocka_unit_test(the_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
