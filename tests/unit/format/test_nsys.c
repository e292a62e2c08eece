#include "support/cmocka_all.h"
#include "support/events.h"

#include "base/base.h"
#include "format/format.h"
#include "format/nsys/nsys.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The first step of rank 1 in the fixture, according to its SQL: the recording began at 1780000000 s, the
 * step 100 ms later.
 */
static void calls_with_their_kernels(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/nsys/node0.sqlite");
    assert_string_equal(recording.dialect, "nsys");
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 48);
    assert_int_equal(recording_count(&recording, EVENT_CALL_DESCRIPTION), 2);
    assert_int_equal(recording_notes(&recording, "kernel without a call"), 0);
    const struct event *first = recording_event(&recording, EVENT_OPERATION, 24);
    const struct operation *op = &first->operation;
    int64_t begin_ns = INT64_C(1780000000100100000);
    assert_string_equal(first->origin.host, "node0");
    assert_int_equal(first->origin.pid, 5001);
    assert_true(first->origin.communicator_hash == 0xa1b2c3d4e5f60718);
    assert_int_equal(first->origin.rank, 1);
    assert_int_equal(first->origin.communicator_size, 2);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->sequence, 0);
    assert_int_equal(op->bytes, 4194304);
    assert_int_equal(op->api.begin_ns, begin_ns);
    assert_int_equal(op->api.end_ns, begin_ns + 20000);
    assert_int_equal(op->enqueue.begin_ns, begin_ns + 10000);
    assert_int_equal(op->device.begin_ns, begin_ns + 30000);
    assert_int_equal(op->device.end_ns, begin_ns + 400000);
    assert_int_equal(op->duration_ns, 370000);
    assert_int_equal(op->end_source, END_KERNEL);
    assert_int_equal(op->algorithm, ALGORITHM_RING);
    assert_int_equal(op->protocol, PROTOCOL_SIMPLE);
    assert_int_equal(op->channel_count, 16);
    const struct event *described = recording_event(&recording, EVENT_CALL_DESCRIPTION, 1);
    assert_int_equal(described->origin.pid, 5001);
    assert_string_equal(described->call.source, "train.py:41");
    assert_int_equal(described->call.at_ns, begin_ns - 4000);
    recording_release(&recording);
}

/* The end of the group launches one kernel for its send and its receive. */
static void a_group_shares_a_kernel(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/nsys/node0.sqlite");
    const struct operation *gather = &recording_event(&recording, EVENT_OPERATION, 1)->operation;
    const struct operation *send = &recording_event(&recording, EVENT_OPERATION, 2)->operation;
    const struct operation *receive = &recording_event(&recording, EVENT_OPERATION, 3)->operation;
    assert_int_equal(gather->algorithm, ALGORITHM_LLMC);
    assert_int_equal(gather->is_symmetric, 1);
    assert_int_equal(send->function, FUNCTION_SEND);
    assert_int_equal(send->peer, 1);
    assert_int_equal(send->sequence, COUNT_UNKNOWN);
    assert_int_equal(receive->function, FUNCTION_RECV);
    assert_int_equal(receive->device.begin_ns, send->device.begin_ns);
    assert_int_equal(receive->duration_ns, 100000);
    recording_release(&recording);
}

static void a_payload_in_its_layout(void **state)
{
    struct nsys_layout items[] = {{1, 16777221, NSYS_COMMUNICATOR, 0},
                                  {1, 16777221, NSYS_BYTES, 8},
                                  {1, 16777221, NSYS_ROOT, 16},
                                  {2, 16777221, NSYS_PEER, 16}};
    struct nsys_layouts layouts = {items, 4, 4, 0};
    struct nsys_payload payload;
    unsigned char bytes[32 + 20] = {1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 1};
    memcpy(bytes + 32, "\x18\x07\xf6\xe5\xd4\xc3\xb2\xa1\0\x04\0\0\0\0\0\0\xfe\xff\xff\xff", 20);
    struct foreign_value blob = {.kind = FOREIGN_BLOB, .bytes = (const char *)bytes, .length = sizeof bytes};
    nsys_payload_take(&layouts, &blob, &payload);
    assert_true((uint64_t)payload.value[NSYS_COMMUNICATOR] == 0xa1b2c3d4e5f60718);
    assert_int_equal(payload.value[NSYS_BYTES], 1024);
    assert_int_equal(payload.value[NSYS_ROOT], -2);
    assert_int_equal(payload.is_there[NSYS_PEER], 0);
    blob.length = 32 + 19; /* one byte less than the last value needs */
    nsys_payload_take(&layouts, &blob, &payload);
    assert_int_equal(payload.is_there[NSYS_BYTES], 1);
    assert_int_equal(payload.is_there[NSYS_ROOT], 0);
    blob.length = 31;
    nsys_payload_take(&layouts, &blob, &payload);
    assert_int_equal(payload.is_there[NSYS_COMMUNICATOR], 0);
}

/* Two calls and the launch of one kernel, on one thread; `hashes` of their communicators. */
static int64_t link_two(uint64_t first_hash, uint64_t second_hash, int64_t launched_ns, int64_t *first_kernel,
                        int64_t *second_kernel)
{
    struct nsys_call calls[] = {{.thread = 7,
                                 .api = {100, 110},
                                 .communicator_hash = first_hash,
                                 .first_kernel = -1,
                                 .last_kernel = -1,
                                 .row = 0},
                                {.thread = 7,
                                 .api = {120, 140},
                                 .communicator_hash = second_hash,
                                 .first_kernel = -1,
                                 .last_kernel = -1,
                                 .row = 1}};
    struct nsys_kernel kernels[] = {
        {.thread = 7, .launch = {launched_ns, launched_ns + 5}, .device = {200, 300}}};
    struct nsys_profile profile = {.calls = calls, .call_count = 2, .kernels = kernels, .kernel_count = 1};
    int64_t loose;
    nsys_link(&profile, &loose);
    *first_kernel = calls[0].first_kernel;
    *second_kernel = calls[1].first_kernel;
    return loose;
}

static void which_call_a_launch_is_of(void **state)
{
    int64_t first, second;
    assert_int_equal(link_two(1, 1, 150, &first, &second), 0); /* after both: their group's */
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
    assert_int_equal(link_two(1, 1, 130, &first, &second), 0); /* during the second */
    assert_int_equal(first, -1);
    assert_int_equal(second, 0);
    assert_int_equal(link_two(1, 2, 150, &first, &second), 1); /* of two communicators: unknown */
    assert_int_equal(first, -1);
    assert_int_equal(second, -1);
    assert_int_equal(link_two(1, 1, 90, &first, &second), 1); /* before both */
    assert_int_equal(first, -1);
}

/* A range of one thread, from and to these nanoseconds. */
static struct nsys_range range_of(struct nsys_profile *profile, int64_t begin_ns, int64_t end_ns,
                                  const char *text)
{
    return (struct nsys_range){.thread = 7,
                               .at = {begin_ns, end_ns},
                               .text = intern_put(&profile->texts, text, strlen(text)),
                               .number = COUNT_UNKNOWN};
}

struct tags_seen {
    char text[256];
};

static int take_tag(void *context, const struct event *event, struct error *error)
{
    struct tags_seen *seen = context;
    size_t length = strlen(seen->text);
    (void)error;
    assert_int_equal(event->kind, EVENT_TAG);
    assert_int_equal(event->tag.process_wide, 1);
    assert_int_equal(event->tag.is_end, !event->tag.text);
    snprintf(seen->text + length, sizeof seen->text - length, "%lld %s, ", (long long)event->tag.at_ns,
             event->tag.text ? event->tag.text : "-");
    return 0;
}

/* Ranges that nest, and two of which the outer ends first, which start and end ranges may do. */
static void the_innermost_open_range_is_the_tag(void **state)
{
    struct tags_seen seen = {""};
    struct format_sink sink = {.context = &seen, .event = take_tag};
    struct nsys_profile profile;
    struct error error = ERROR_INIT;
    nsys_profile_init(&profile, NULL, &sink);
    struct nsys_range *ranges = calloc(4, sizeof *ranges);
    assert_non_null(ranges);
    ranges[0] = range_of(&profile, 30, 50, "late");
    ranges[1] = range_of(&profile, 10, 20, "inner");
    ranges[2] = range_of(&profile, 10, 40, "outer");
    ranges[3] = range_of(&profile, 60, 70, "alone");
    profile.ranges = ranges;
    profile.range_count = 4;
    assert_non_null(map_put(&profile.threads, (struct map_key){{7}}, 1, NULL));
    assert_int_equal(nsys_emit_tags(&profile, &error), 0);
    assert_string_equal(seen.text, "10 outer, 10 inner, 20 outer, 30 late, 50 -, 60 alone, 70 -, ");
    nsys_profile_release(&profile);
}

/* The calls of one group, which share a kernel, and the tasks in which NCCL launches them, greatest first. */
static void tasks_of_a_group_are_matched_by_size(void **state)
{
    struct nsys_call calls[] = {
        {.thread = 7, .api = {100, 110}, .function = FUNCTION_ALL_REDUCE, .bytes = 64, .task = -1},
        {.thread = 7, .api = {120, 130}, .function = FUNCTION_ALL_REDUCE, .bytes = 4096, .task = -1},
        {.thread = 7, .api = {140, 150}, .function = FUNCTION_BROADCAST, .bytes = 64, .task = -1}};
    struct nsys_task tasks[] = {
        {.thread = 7,
         .begin_ns = 200,
         .function = FUNCTION_ALL_REDUCE,
         .bytes = 4096,
         .protocol = PROTOCOL_SIMPLE},
        {.thread = 7, .begin_ns = 201, .function = FUNCTION_ALL_REDUCE, .bytes = 64, .protocol = PROTOCOL_LL},
        {.thread = 7,
         .begin_ns = 202,
         .function = FUNCTION_ALL_REDUCE,
         .bytes = 128,
         .protocol = PROTOCOL_LL128},
        {.thread = 8, .begin_ns = 203, .function = FUNCTION_BROADCAST, .bytes = 64, .protocol = PROTOCOL_LL}};
    struct nsys_profile profile = {.calls = calls, .call_count = 3, .tasks = tasks, .task_count = 4};
    int64_t loose;
    nsys_link(&profile, &loose);
    assert_int_equal(calls[0].task, 1);
    assert_int_equal(calls[1].task, 0);
    assert_int_equal(calls[2].task, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_with_their_kernels),
        cmocka_unit_test(a_group_shares_a_kernel),
        cmocka_unit_test(a_payload_in_its_layout),
        cmocka_unit_test(which_call_a_launch_is_of),
        cmocka_unit_test(the_innermost_open_range_is_the_tag),
        cmocka_unit_test(tasks_of_a_group_are_matched_by_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
