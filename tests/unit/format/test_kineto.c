#include "support/cmocka_all.h"
#include "support/events.h"
#include "support/same_kineto.h"

#include "base/base.h"
#include "format/kineto/kineto.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct event *event(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(found);
    return found;
}

static size_t count(const struct recording *recording, enum function function)
{
    size_t found = 0;
    for (size_t i = 0; i < recording_count(recording, EVENT_OPERATION); i++)
        found += event(recording, i)->operation.function == function;
    return found;
}

/* The first of rank 2's, read by hand: base 1790857026 s plus 4710888375.746118 s. */
static void a_kernel_with_its_call(void **state)
{
    static const int64_t members[] = {0, 1, 2, 3};
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-ddp-slow/kineto-rank2.json.gz");
    const struct event *first = event(&recording, 0);
    const struct operation *op = &first->operation;
    assert_int_equal(recording.status, 0);
    assert_string_equal(recording.dialect, "kineto");
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 99);
    assert_true(first->origin.communicator_hash != 0);
    assert_true(first->origin.communicator_hash != communicator_hash_of("0", members, 4));
    assert_true(first->origin.communicator_is_named);
    assert_int_equal(first->origin.rank, 2);
    assert_int_equal(first->origin.communicator_size, 4);
    assert_null(first->origin.communicator_name);
    assert_null(first->origin.host);
    assert_int_equal(first->origin.pid, COUNT_UNKNOWN);
    assert_int_equal(op->kind, OPERATION_COLLECTIVE);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->sequence, COUNT_UNKNOWN);
    assert_int_equal(op->told_sequence, 0);
    assert_int_equal(op->told_step, 1 + 3);
    assert_int_equal(op->count, 4195328);
    assert_int_equal(op->datatype, DATATYPE_BFLOAT16);
    assert_int_equal(op->bytes, 8390656);
    assert_int_equal(op->algorithm, ALGORITHM_UNKNOWN);
    assert_int_equal(op->stream, 17);
    assert_int_equal(op->api.begin_ns, 1795567914375746118);
    assert_int_equal(op->api.end_ns, 1795567914375899931);
    assert_int_equal(op->enqueue.begin_ns, 1795567914375839947);
    assert_int_equal(op->enqueue.end_ns, 1795567914375848992);
    assert_int_equal(op->device.begin_ns, 1795567914375851434);
    assert_int_equal(op->device.end_ns, 1795567914379903812);
    assert_int_equal(op->duration_ns, 4052378);
    assert_int_equal(op->end_source, END_KERNEL);
    assert_int_equal(op->unfinished, 0);
    const struct event *process = recording_event(&recording, EVENT_PROCESS, 0);
    assert_non_null(process);
    assert_int_equal(process->process.global_rank, 2);
    assert_int_equal(process->process.world_size, 4);
    assert_int_equal(process->process.gpu, 0);
    const struct event *group = recording_event(&recording, EVENT_COMMUNICATOR, 0);
    assert_non_null(group);
    assert_int_equal(group->communicator.member_count, 4);
    assert_string_equal(group->communicator.description, "default_pg");
    recording_release(&recording);
}

/* A kernel of 7 ms before the first operation of step 6 fills almost all of the gap. */
static void what_else_the_gpu_did_is_known(void **state)
{
    struct recording recording;
    int64_t most_ns = 0;
    recording_of_file(&recording, "fixtures/kineto-ddp-slow/kineto-rank2.json.gz");
    for (size_t i = 0; i < 99; i++)
        if (event(&recording, i)->operation.gpu_busy_ns > most_ns)
            most_ns = event(&recording, i)->operation.gpu_busy_ns;
    assert_int_equal(most_ns, 6839673);
    recording_release(&recording);
}

/*
 * Counts and pairs according to TRUTH: 24 sends to stage 2 and receives from stage 0, with one kernel each or
 * one for both.
 */
static void calls_of_one_group_share_its_kernel(void **state)
{
    struct recording recording;
    size_t shared = 0;
    recording_of_file(&recording, "fixtures/kineto-batched/kineto-rank1.json.gz");
    assert_int_equal(count(&recording, FUNCTION_SEND), 24);
    assert_int_equal(count(&recording, FUNCTION_RECV), 24);
    assert_int_equal(count(&recording, FUNCTION_REDUCE_SCATTER), 12);
    assert_int_equal(count(&recording, FUNCTION_ALL_REDUCE), 6);
    for (size_t i = 0; i < 66; i++) {
        const struct operation *op = &event(&recording, i)->operation;
        assert_int_not_equal(op->device.end_ns, TIME_UNKNOWN);
        if (op->function == FUNCTION_SEND)
            assert_int_equal(op->peer, 2);
        if (op->function == FUNCTION_RECV)
            assert_int_equal(op->peer, 0);
        shared += i && op->device.begin_ns == event(&recording, i - 1)->operation.device.begin_ns;
    }
    assert_int_equal(shared, 66 - 54);
    recording_release(&recording);
}

static void kernels_of_a_graph_name_no_operation(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-graph/kineto-rank3.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 24);
    for (size_t i = 0; i < 24; i++) {
        const struct event *here = event(&recording, i);
        assert_int_equal(here->operation.function, FUNCTION_ALL_REDUCE);
        assert_int_equal(here->operation.datatype, DATATYPE_BFLOAT16);
        assert_int_equal(here->operation.bytes, COUNT_UNKNOWN);
        assert_int_equal(here->operation.api.begin_ns, TIME_UNKNOWN);
        assert_int_equal(here->operation.graph_captured, 1);
        assert_int_equal(here->operation.told_step, 1 + 3 + (int64_t)i / 3);
        assert_int_equal(here->origin.rank, 3);
        assert_int_equal(here->origin.communicator_size, 4);
    }
    recording_release(&recording);
}

/*
 * "Input Dims": [[[4194304]], ...]; the rest is in the name of the kernel. Whole microseconds since the
 * epoch.
 */
static void before_torch_2_2_shapes_and_names_are_all(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-2.1/kineto-rank0.json.gz");
    const struct event *first = event(&recording, 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 32);
    assert_int_equal(first->operation.function, FUNCTION_ALL_REDUCE);
    assert_int_equal(first->operation.count, 4194304);
    assert_int_equal(first->operation.bytes, 8388608);
    assert_int_equal(first->operation.device.begin_ns, 1772445600003474000);
    assert_int_equal(first->origin.communicator_size, 4);
    assert_int_equal(first->origin.rank, 0);
    recording_release(&recording);
}

static void numbers_of_collectives_are_told(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-sequences/kineto-rank3.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 23);
    for (size_t i = 0; i < 23; i++)
        assert_int_equal(event(&recording, i)->operation.told_sequence, 1 + 7 + (int64_t)i);
    recording_release(&recording);
}

static void damage_has_a_place(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-damaged/kineto-rank1.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 32);
    assert_int_equal(recording_damage(&recording), 1);
    assert_string_equal(recording.notes[0].reason, "unreadable event");
    assert_int_equal(recording.notes[0].offset, 16664);
    recording_release(&recording);
    recording_of_file(&recording, "fixtures/kineto-damaged/kineto-rank2.tmp.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 32);
    assert_int_equal(recording_damage(&recording), 1);
    assert_string_equal(recording.notes[0].reason, "file ends within an event");
    assert_int_equal(recording.notes[0].offset, 131047);
    assert_int_equal(event(&recording, 31)->operation.device.begin_ns, TIME_UNKNOWN);
    recording_release(&recording);
}

/* Invented events: an operator's call around its launch, and its kernel. */
static const char kernel[] =
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 9, \"tid\": 9, \"ts\": "
    "1000.5,"
    " \"dur\": 20, \"args\": {\"External id\": 1, \"Collective name\": \"%s\", \"In msg nelems\": 8,"
    " \"Out msg nelems\": 32, \"Group size\": 4, \"dtype\": \"Float\"%s}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernelExC\", \"pid\": 9, \"tid\": 9, "
    "\"ts\": 1010,"
    " \"dur\": 5, \"args\": {\"correlation\": 3}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)\", "
    "\"pid\": 0,"
    " \"tid\": 7, \"ts\": 1030, \"dur\": 40, \"args\": {\"External id\": 1, \"correlation\": 3, \"stream\": "
    "7}}";

static void read_made_up(struct recording *recording, const char *path, const char *before,
                         const char *behind, const char *collective, const char *arguments, const char *name)
{
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "{\"schemaVersion\": 1, %s \"traceEvents\": [\n", before);
    buffer_printf(&text, kernel, collective, arguments, name);
    buffer_printf(&text, "\n]%s}", behind);
    recording_of_bytes(recording, path, text.data, text.length);
    buffer_release(&text);
}

/* Elements of one rank, as the model counts bytes (see the functions in model/event.h). */
static void sizes_are_those_of_one_rank(void **state)
{
    static const struct {
        const char *collective;
        enum function function;
        int64_t count;
    } all[] = {
        {"allreduce", FUNCTION_ALL_REDUCE, 8},
        {"_allgather_base", FUNCTION_ALL_GATHER, 8},
        {"_reduce_scatter_base", FUNCTION_REDUCE_SCATTER, 32},
        {"all_to_allv", FUNCTION_ALL_TO_ALL, 8},
        {"broadcast", FUNCTION_BROADCAST, 32},
        {"gather", FUNCTION_GATHER, 8},
        {"scatter", FUNCTION_SCATTER, 32},
        {"_reduce_oop", FUNCTION_REDUCE, 8},
        {"barrier", FUNCTION_BARRIER, 8},
        {"something_new", FUNCTION_OTHER, 8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct recording recording;
        read_made_up(&recording, "rank1.json", "\"deviceProperties\": [],", "", all[i].collective,
                     ", \"Process Group Ranks\": \"[0, 1, 2, 3]\"", "Generic_4");
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
        assert_int_equal(event(&recording, 0)->operation.function, all[i].function);
        assert_int_equal(event(&recording, 0)->operation.count, all[i].count);
        assert_int_equal(event(&recording, 0)->operation.bytes, all[i].count * 4);
        recording_release(&recording);
    }
}

static void assert_rank(const char *path, const char *before, const char *behind, const char *arguments,
                        int64_t rank)
{
    struct recording recording;
    read_made_up(&recording, path, before, behind, "allreduce", arguments, "AllReduce_Sum_f32_RING_LL");
    const struct event *process = recording_event(&recording, EVENT_PROCESS, 0);
    assert_non_null(process);
    assert_int_equal(process->process.global_rank, rank);
    assert_int_equal(event(&recording, 0)->origin.rank, rank < 0 ? COUNT_UNKNOWN : rank / 2 - 1);
    recording_release(&recording);
}

/* For a group of ranks 2, 4, 6, 8. */
static void the_rank_is_told_in_several_places(void **state)
{
    static const char ranks[] = ", \"Process Group Ranks\": \"[2, 4, 6, 8]\"";
    static const char spread[] = ", \"Global rank start\": 2, \"Global rank stride\": 2";
    static const char own[] = ", \"Process Group Ranks\": \"[2, 4, 6, 8]\", \"Rank\": 3";
    static const char told[] =
        "\"deviceProperties\": [], \"distributedInfo\": {\"rank\": 6, \"world_size\": 9},";
    assert_rank("rank2.json", told, "", ranks, 6);
    assert_rank("x.json", "\"deviceProperties\": [],", ", \"distributedInfo\": {\"rank\": \"6\"}", ranks, 6);
    assert_rank("x_rank-4.pt.trace.json", "\"deviceProperties\": [],", "", ranks, 4);
    assert_rank("trace_rank_8.json", "\"deviceProperties\": [],", "", spread, 8);
    assert_rank("x.json", "\"deviceProperties\": [],", "", own, 8);
    assert_rank("x.json", "\"deviceProperties\": [],", "", ranks, COUNT_UNKNOWN);
}

/* At most 30 ranks are listed: pg_config has the others, as a list or, in traces on demand, as text. */
static void lists_that_are_cut_are_completed(void **state)
{
    static const char cut[] = ", \"Process Group Name\": \"p\", \"Process Group Ranks\": \"[5, 7, ...]\"";
    static const char *const configs[] = {
        "[{\"pg_name\": \"o\", \"ranks\": [5, 7, 1, 2]}, {\"pg_name\": \"p\", \"ranks\": [5, 7, 9, 11]}]",
        "\"[{\\\"pg_name\\\": \\\"p\\\", \\\"ranks\\\": [5, 7, 9, 11]}]\""};
    for (size_t i = 0; i < 2; i++) {
        struct recording recording;
        struct buffer info = BUFFER_INIT;
        buffer_printf(&info, "\"distributedInfo\": {\"pg_config\": %s, \"rank\": 11},", configs[i]);
        read_made_up(&recording, "x.json", info.data, "", "allreduce", cut, "AllReduce_Sum_f32_RING_LL");
        assert_int_equal(event(&recording, 0)->origin.rank, 3);
        assert_int_equal(event(&recording, 0)->origin.communicator_size, 4);
        assert_string_equal(event(&recording, 0)->origin.communicator_name, "p");
        recording_release(&recording);
        buffer_release(&info);
    }
}

/*
 * Peers are global ranks from torch 2.5 on; before, the annotation inside the call has them as ranks of the
 * group.
 */
static void the_peer_is_told_or_annotated(void **state)
{
    static const char annotated[] = "\"deviceProperties\": [], \"traceName\": \"x\"";
    static const char ranks[] = ", \"Process Group Ranks\": \"[2, 4, 6, 8]\"";
    static const char told[] = ", \"Process Group Ranks\": \"[2, 4, 6, 8]\", \"Dst Rank\": 8, \"Rank\": 3";
    struct recording recording;
    read_made_up(&recording, "rank4.json", "\"deviceProperties\": [],", "", "send", told, "SendRecv");
    assert_int_equal(event(&recording, 0)->operation.kind, OPERATION_POINT_TO_POINT);
    assert_int_equal(event(&recording, 0)->operation.function, FUNCTION_SEND);
    assert_int_equal(event(&recording, 0)->operation.peer, 3);
    assert_int_equal(event(&recording, 0)->origin.rank, 1);
    recording_release(&recording);
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "{\"schemaVersion\": 1, %s, \"traceEvents\": [", annotated);
    buffer_printf(&text, kernel, "recv", ranks, "SendRecv");
    buffer_append_text(
        &text,
        ", {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"nccl:recv 1<-0\", \"pid\": 9,"
        " \"tid\": 9, \"ts\": 1005, \"dur\": 10}]}");
    recording_of_bytes(&recording, "rank4.json", text.data, text.length);
    assert_int_equal(event(&recording, 0)->operation.function, FUNCTION_RECV);
    assert_int_equal(event(&recording, 0)->operation.peer, 0);
    recording_release(&recording);
    buffer_release(&text);
    read_made_up(&recording, "rank4.json", "\"deviceProperties\": [],", "", "recv", ranks, "SendRecv");
    assert_int_equal(event(&recording, 0)->operation.function, FUNCTION_OTHER);
    recording_release(&recording);
}

/* wait and init move no data; a call without a kernel in the trace was made nevertheless. */
static void calls_that_move_nothing_are_none(void **state)
{
    static const char *const names[] = {"wait", "init", "allreduce"};
    for (size_t i = 0; i < 3; i++) {
        struct recording recording;
        struct buffer text = BUFFER_INIT;
        buffer_append_text(&text, "{\"schemaVersion\": 1, \"deviceProperties\": [], \"traceEvents\": [\n");
        buffer_printf(
            &text,
            "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 9, \"tid\": 9,"
            " \"ts\": 1, \"dur\": 2, \"args\": {\"Collective name\": \"%s\", \"Group size\": 2,"
            " \"Process Group Ranks\": \"[0, 1]\"}}]}",
            names[i]);
        recording_of_bytes(&recording, "rank0.json", text.data, text.length);
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), i == 2);
        buffer_release(&text);
        recording_release(&recording);
    }
}

/*
 * A kernel without arguments whose launch is missing, while launches are recorded, was launched before the
 * recording began; if no launch is recorded, or it names its group, it is an operation.
 */
static void kernels_from_before_the_recording_are_none(void **state)
{
    static const struct {
        const char *kernel_arguments, *launch;
        size_t operations, notes;
    } cases[] = {
        {"\"correlation\": 7", "8", 0, 1},
        {"\"correlation\": 7", "7", 1, 0},
        {"\"correlation\": 7", NULL, 1, 0},
        {"\"correlation\": 7, \"Group size\": 2, \"Process Group Ranks\": \"[0, 1]\"", "8", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording recording;
        struct buffer text = BUFFER_INIT;
        buffer_append_text(&text, "{\"schemaVersion\": 1, \"deviceProperties\": [], \"traceEvents\": [\n");
        buffer_printf(
            &text,
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\","
            " \"pid\": 0, \"tid\": 7, \"ts\": 10, \"dur\": 5, \"args\": {\"stream\": 7, %s}}",
            cases[i].kernel_arguments);
        if (cases[i].launch)
            buffer_printf(
                &text,
                ",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernelExC\", \"pid\": 9,"
                " \"tid\": 9, \"ts\": 1, \"dur\": 2, \"args\": {\"correlation\": %s}}",
                cases[i].launch);
        buffer_append_text(&text, "]}");
        recording_of_bytes(&recording, "rank0.json", text.data, text.length);
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), cases[i].operations);
        assert_int_equal(recording_notes(&recording, "kernels launched before the recording started"),
                         cases[i].notes);
        buffer_release(&text);
        recording_release(&recording);
    }
}

static void annotations_around_a_call_are_its_tag(void **state)
{
    struct recording recording;
    struct buffer text = BUFFER_INIT;
    buffer_append_text(&text, "{\"schemaVersion\": 1, \"deviceProperties\": [], \"traceEvents\": [\n");
    buffer_printf(&text, kernel, "allreduce", ", \"Process Group Ranks\": \"[0, 1]\"",
                  "AllReduce_Sum_f32_RING_LL");
    static const struct {
        const char *name;
        int begin, duration;
    } all[] = {{"outer", 500, 2000}, {"inner", 900, 300}, {"before", 950, 10}, {"nccl:all_reduce", 1000, 20}};
    for (size_t i = 0; i < 4; i++)
        buffer_printf(
            &text,
            ", {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": 9, \"tid\": 9,"
            " \"ts\": %d, \"dur\": %d}",
            all[i].name, all[i].begin, all[i].duration);
    buffer_append_text(&text, "]}");
    recording_of_bytes(&recording, "rank0.json", text.data, text.length);
    assert_string_equal(event(&recording, 0)->operation.tag, "inner");
    recording_release(&recording);
    buffer_release(&text);
}

/* The Chrome trace of a profiler plugin has other categories, and other JSON has none of these. */
static void traces_of_others_are_not_taken(void **state)
{
    static const char *const others[] = {
        "[{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"ts\": 1.0}]",
        "{\"traceEvents\": [{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": "
        "1, \"ts\": 1.0}]}",
        "{\"traceEvents\": [{\"name\": \"x\", \"cat\": \"disabled-by-default\", \"ph\": \"X\", \"ts\": 1}]}",
        "{\"schemaVersion\": 1, \"rows\": []}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct recording recording;
        recording_of_bytes(&recording, "rank0.json", others[i], strlen(others[i]));
        assert_string_not_equal(recording.dialect, "kineto");
        recording_release(&recording);
    }
}

/* Wherever it is truncated, the events before are read, and the place of the rest is reported. */
static void a_file_may_end_anywhere(void **state)
{
    size_t length;
    char *bytes = bytes_of_file("fixtures/kineto-sequences/kineto-rank3.json.gz", &length);
    for (size_t cut = length - 1; cut > 2000; cut -= cut > 997 ? 997 : cut) {
        struct recording recording;
        recording_of_bytes(&recording, "rank3.json", bytes, cut);
        assert_int_equal(recording.status, 0);
        assert_true(recording_damage(&recording) <= 1);
        for (size_t i = 0; i < recording.note_count; i++)
            assert_true(recording.notes[i].offset <= cut);
        recording_release(&recording);
    }
    free(bytes);
}

#define HEAD(category, name) \
    "{\n    \"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"" name "\", \"pid\": 7, \"tid\": 8,\n    "

/* Each differs from torch's format in one detail, and is still read as any JSON. */
static void the_quick_reading_is_the_patient_one(void **state)
{
    static const char *const texts[] = {
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.500, \"dur\": 2.250,\n    \"args\": {\n      \"device\": 0, "
                                        "\"stream\": 20, \"Collective name\": \"send\"\n    }\n  }",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2, \"args\": {\"device\": 0}, \"args\": {\"device\": 1}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2, \"args\": {\"device\": 0}, \"dur\": {}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2, \"args\": {\"device\": {\"stream\": 4}}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2, \"args\": {\"device\": 0 \"stream\": 1}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2, \"args\": {\"device\": 0}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5e3, \"dur\": 2, \"args\": {}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": \"1.5\", \"dur\": 2, \"args\": {}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1-.5, \"dur\": -2, \"args\": {}}",
        HEAD("kernel", "nccl:Kernel_x") "\"ts\": 1.5, \"dur\": 2}",
        HEAD("kernel", "x\", \"y") "\"ts\": 1.5, \"dur\": 2, \"args\": {}}",
        HEAD("kernel", "x\\\"y") "\"ts\": 1.5, \"dur\": 2, \"args\": {}}",
        HEAD("kernel", "x\"y") "\"ts\": 1.5, \"dur\": 2, \"args\": {}}",
        HEAD("cpu_op", "aten::mm") "\"ts\": 1.5, \"dur\"",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": }",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\"",
        "{\"ph\": \"s\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1.5,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }",
        "{\"ph\": \"f\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1.5, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}",
        "{\"ph\": \"f\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1.5, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": }",
        "{\"ph\": \"f\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1.5, \"cat\": \"kernel\", \"name\": \"x\", \"dur\": 1}",
        "{\"ph\": \"s\", \"id\": 9, \"pid\": 7, \"tid\": 8, \"ts\": 1.5, \"cat\": \"ac2g\", \"name\": \"ac2g\",}",
        "{\"ph\": \"X\"}",
        "",
    };
    struct kineto_layouts layouts = {.of_kind = {{{.count = 0}}}};
    struct kineto_event event;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(difference_of_kineto_readings((struct raw_json){texts[i], strlen(texts[i])}, &layouts));
    assert_int_equal(kineto_event_read((struct raw_json){texts[0], strlen(texts[0])}, &layouts, &event), 0);
    assert_int_equal(event.kind, KINETO_NCCL_KERNEL);
    assert_int_equal(event.begin_ns, 1500);
    assert_int_equal(event.duration_ns, 2250);
    assert_int_equal(event.arguments.stream, 20);
    assert_memory_equal(event.arguments.collective.text, "send", 4);
}

#define ARGUMENTS "\"ts\": 1.500, \"dur\": 2.250,\n    \"args\": {\n      "

/* Arguments that begin as those of the event before, with other values and other ends. */
static void arguments_like_those_before(void **state)
{
    static const char *const values[] = {
        "7",
        "0",
        "-7",
        "007",
        "1234567",
        "12345678",
        "123456789012345678901",
        "1.5",
        "1e2",
        "12x",
        "",
        "null",
        "\"7\"",
        "\"a b\"",
        "\"a\\\"b\"",
        "\"a",
        "[1, 2]",
        "[1, [2",
        "{\"stream\": 9}",
        "7 ",
        " 7",
        "7}",
        "7]",
        "true",
    };
    static const char *const ends[] = {
        ", \"stream\": 5\n    }\n  }",
        ",  \"stream\": 5\n    }\n  }",
        ", \"stream\": 5, \"stream\": 6\n    }\n  }",
        " \"stream\": 5\n    }\n  }",
        ", \"dtype\": \"Float\"\n    }\n  }",
        "}}",
        "",
        ",}}",
        ", \"stream\"\n    }\n  }",
    };
    struct kineto_layouts layouts = {.of_kind = {{{.count = 0}}}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            char *text = NULL;
            assert_true(asprintf(&text,
                                 HEAD("kernel", "ncclKernel_x") ARGUMENTS "\"grid\": %s, \"device\": %s%s",
                                 values[i], values[i], ends[k]) > 0);
            assert_null(difference_of_kineto_readings((struct raw_json){text, strlen(text)}, &layouts));
            free(text);
        }
}

/* More members than a layout has, and words that are too long for one. */
static void arguments_without_a_layout(void **state)
{
    struct kineto_layouts layouts = {.of_kind = {{{.count = 0}}}};
    struct kineto_event event;
    struct buffer text = BUFFER_INIT;
    assert_int_equal(buffer_append_text(&text, HEAD("kernel", "ncclKernel_x") ARGUMENTS "\"stream\": 3"), 0);
    for (int i = 0; i < KINETO_LAYOUT_FIELDS; i++)
        assert_int_equal(buffer_printf(&text, ", \"%*d\": %d", i % 2 ? KINETO_LAYOUT_BYTES : 1, i, i), 0);
    assert_int_equal(buffer_append_text(&text, ", \"device\": 4\n    }\n  }"), 0);
    struct raw_json whole = {text.data, text.length};
    assert_null(difference_of_kineto_readings(whole, &layouts));
    assert_int_equal(kineto_event_read(whole, &layouts, &event), 0);
    assert_int_equal(event.arguments.stream, 3);
    assert_int_equal(event.arguments.device, 4);
    buffer_release(&text);
}

/* A name that is no text counts as none, and an event without a name is ignored, also after another name. */
static void an_event_without_a_name(void **state)
{
    static const char *const texts[][2] = {
        {"{\"ph\": \"X\", \"cat\": \"", "\", \"name\": \"ncclKernel\", \"name\": 7, \"ts\": 1, \"dur\": 1}"},
        {"{\"ph\": \"X\", \"cat\": \"", "\", \"name\": \"cuLaunch\", \"ts\": 1, \"dur\": 1, \"name\": {}}"},
        {"{\"ph\": \"X\", \"name\": null, \"cat\": \"", "\", \"ts\": 1, \"dur\": 1}"},
        {"{\"ph\": \"X\", \"cat\": \"", "\", \"pid\": 7, \"ts\": 1, \"dur\": 1}"},
        {"{\"ph\": \"X\", \"cat\": \"",
         "\", \"cat\": [], \"name\": \"record_param_comms\", \"ts\": 1, \"dur\": 1}"},
    };
    static const char *const categories[] = {"kernel", "cpu_op", "cuda_runtime", "user_annotation",
                                             "gpu_user_annotation"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof categories / sizeof *categories; k++) {
            char *text = NULL;
            struct kineto_event event;
            struct kineto_layouts layouts = {.of_kind = {{{.count = 0}}}};
            assert_true(asprintf(&text, "%s%s%s", texts[i][0], categories[k], texts[i][1]) > 0);
            assert_int_equal(kineto_event_read((struct raw_json){text, strlen(text)}, &layouts, &event), 0);
            assert_int_equal(event.kind, KINETO_OTHER);
            free(text);
        }
}

/*
 * The name of a kernel contains its algorithm only for symmetric memory (src/device/symmetric/generate.py).
 */
static void algorithms_of_kernels(void **state)
{
    static const struct {
        const char *name;
        enum function function;
        enum algorithm algorithm;
    } all[] = {
        {"ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)", FUNCTION_ALL_REDUCE,
         ALGORITHM_RSXLDMC_AGXSTMC},
        {"ncclSymDevKernel_AllGather_ST(ncclSymDevArgs)", FUNCTION_ALL_GATHER, ALGORITHM_ST},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", FUNCTION_ALL_REDUCE,
         ALGORITHM_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct kineto_kernel_name name;
        kineto_kernel_name((struct raw_json){all[i].name, strlen(all[i].name)}, &name);
        assert_int_equal(name.function, all[i].function);
        assert_int_equal(name.algorithm, all[i].algorithm);
    }
}

static struct kineto_library_kernel library_kernel(const char *name, int is_one)
{
    struct kineto_library_kernel found = {.library = NULL};
    static struct kineto_plain_names names;
    for (int i = 0; i < 2; i++)
        assert_int_equal(kineto_library_kernel_again(&names, (struct raw_json){name, strlen(name)}, &found),
                         is_one);
    assert_int_equal(kineto_library_kernel((struct raw_json){name, strlen(name)}, &found), is_one);
    return found;
}

/* Names as the sources of the libraries declare the kernels and as CUPTI prints them. */
static const struct {
    const char *name;
    const char *library;
    enum function function;
    int64_t ranks;
} kernels[] = {
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)", "vLLM",
     FUNCTION_ALL_REDUCE, 8},
    {"_ZN4vllm26cross_device_reduce_2stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE", "vLLM", FUNCTION_ALL_REDUCE,
     COUNT_UNKNOWN},
    {"void sglang::cross_device_reduce_2stage<half, 4>(sglang::RankData*)", "SGLang", FUNCTION_ALL_REDUCE, 4},
    {"void aiter::cross_device_reduce_1stage<__hip_bfloat16, 2>(aiter::RankData*)", "aiter",
     FUNCTION_ALL_REDUCE, 2},
    {"void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half, "
     "CodecQ4<__half, "
     "4>, true>, __half>(__half const*)",
     "QuickReduce", FUNCTION_ALL_REDUCE, COUNT_UNKNOWN},
    {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::"
     "trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 4, true>(int)",
     "TensorRT-LLM", FUNCTION_ALL_REDUCE, 4},
    {"void flashinfer::trtllm_allreduce::oneShotAllReduceKernel<__half, 4, true>(int)", "TensorRT-LLM",
     FUNCTION_ALL_REDUCE, 4},
    {"void flashinfer::mixed_comm::allgather_kernel<__half>(int)", "FlashInfer", FUNCTION_OTHER,
     COUNT_UNKNOWN},
    {"void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, false>(int)", "TensorRT-LLM",
     FUNCTION_ALL_REDUCE, 8},
    {"void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
     "PyTorch symmetric memory", FUNCTION_ALL_REDUCE, 8},
    {"void (anonymous namespace)::one_shot_all_reduce_kernel<float, 16, -1>(float**)",
     "PyTorch symmetric memory", FUNCTION_ALL_REDUCE, COUNT_UNKNOWN},
    {"void (anonymous namespace)::multimem_all_gather_kernel<16>(char*)", "PyTorch symmetric memory",
     FUNCTION_ALL_GATHER, COUNT_UNKNOWN},
    {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "DeepEP", FUNCTION_ALL_TO_ALL, 8},
    {"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(int4*)", "DeepEP", FUNCTION_ALL_TO_ALL,
     8},
    {"void deep_ep::internode::dispatch<false, 2, false, 4096, 7>(int4*)", "DeepEP", FUNCTION_ALL_TO_ALL,
     COUNT_UNKNOWN},
    {"void deep_ep::intranode::cached_notify_combine<8>(void**)", "DeepEP", FUNCTION_BARRIER, COUNT_UNKNOWN},
    {"a2a_dispatch_send_kernel", "pplx-kernels", FUNCTION_OTHER, COUNT_UNKNOWN},
    {"a2a_dispatch_recv_kernel", "pplx-kernels", FUNCTION_ALL_TO_ALL, COUNT_UNKNOWN},
    {"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)", "Transformer Engine", FUNCTION_REDUCE_SCATTER,
     COUNT_UNKNOWN},
    {"void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int)", "Transformer Engine", FUNCTION_ALL_GATHER,
     COUNT_UNKNOWN},
    {"kuserbuffers_pushsend", "Transformer Engine", FUNCTION_OTHER, COUNT_UNKNOWN},
    {"void fcollect_on_stream_kernel<float>(int)", "NVSHMEM", FUNCTION_ALL_GATHER, COUNT_UNKNOWN},
    {"void mine::fast_all_reduce<float>(float*)", "unknown library", FUNCTION_OTHER, COUNT_UNKNOWN},
};

/* They compute: Inductor names a kernel after the operators around it, a template after its functor. */
static void kernels_of_libraries(void **state)
{
    static const char *const others[] = {
        "triton_poi_fused_add_all_reduce_wait_tensor_3",
        "void deep_ep::layout::get_dispatch_layout<256, 8, 8>(long const*)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)",
        "void softmax<WarpAllReduce<float>>(float*)",
        "void at::native::index_put_scatter(int)",
        "nvjet_hsh_128x128",
        "",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct kineto_library_kernel found = library_kernel(kernels[i].name, 1);
        assert_string_equal(found.library, kernels[i].library);
        assert_int_equal(found.function, kernels[i].function);
        assert_int_equal(found.ranks, kernels[i].ranks);
        assert_int_equal(found.phase, KINETO_WHOLE);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        library_kernel(others[i], 0);
    assert_int_equal(library_kernel("void deep_ep::internode_ll::dispatch<true, false, 7168>(int)", 1).phase,
                     KINETO_PHASE_OF_DISPATCH);
    assert_int_equal(library_kernel("void deep_ep::internode_ll::combine<true, 7168, 9>(int)", 1).phase,
                     KINETO_PHASE_OF_COMBINE);
}

/* According to TRUTH: half of the 60 calls of a rank are waits. Shapes of 262144 floats are those of 4 peers.
 */
static void up_to_torch_2_1_annotations_name_functions(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/kineto-2.0/kineto-rank1.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 30);
    assert_int_equal(count(&recording, FUNCTION_ALL_GATHER), 10);
    assert_int_equal(count(&recording, FUNCTION_ALL_TO_ALL), 10);
    assert_int_equal(count(&recording, FUNCTION_REDUCE_SCATTER), 10);
    for (size_t i = 0; i < 30; i++) {
        const struct operation *op = &event(&recording, i)->operation;
        assert_true(op->duration_ns > 0);
        assert_true(op->api.begin_ns < op->enqueue.begin_ns);
        if (op->function == FUNCTION_REDUCE_SCATTER)
            assert_int_equal(op->datatype, DATATYPE_FLOAT32);
        if (op->function == FUNCTION_ALL_TO_ALL)
            assert_int_equal(op->count, 65536);
        if (op->function != FUNCTION_REDUCE_SCATTER) {
            assert_int_equal(op->datatype, DATATYPE_UNKNOWN);
            assert_int_equal(op->bytes, COUNT_UNKNOWN);
        }
    }
    recording_release(&recording);
    recording_of_file(&recording, "fixtures/kineto-annotations/kineto-rank1.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 18);
    assert_int_equal(count(&recording, FUNCTION_BROADCAST), 6);
    assert_int_equal(event(&recording, 0)->operation.device.begin_ns, TIME_UNKNOWN);
    recording_release(&recording);
}

/*
 * The trace of rank 1 of two pairs, by TRUTH: the kernels of vLLM name 2 ranks, which are ranks 0 and 1
 * rather than 1 and 3.
 */
static void groups_of_libraries(void **state)
{
    struct recording recording;
    size_t pairs = 0, all = 0;
    recording_of_file(&recording, "fixtures/kineto-libraries/kineto-rank1.json.gz");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 120);
    assert_int_equal(recording.note_count, 0);
    for (size_t i = 0; i < 120; i++) {
        const struct event *each = event(&recording, i);
        pairs += strcmp(each->origin.communicator_name, "vLLM") == 0 && each->origin.communicator_size == 2;
        all += strcmp(each->origin.communicator_name, "DeepEP") == 0 && each->origin.communicator_size == 4;
        assert_int_equal(each->origin.rank, 1);
    }
    assert_int_equal(pairs, 30);
    assert_int_equal(all, 90);
    const struct event *of_pair = recording_event(&recording, EVENT_COMMUNICATOR, 0);
    if (strcmp(of_pair->origin.communicator_name, "vLLM") != 0)
        of_pair = recording_event(&recording, EVENT_COMMUNICATOR, 1);
    assert_int_equal(of_pair->communicator.member_count, 2);
    assert_int_equal(of_pair->communicator.members[0], 0);
    assert_int_equal(of_pair->communicator.members[1], 1);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quick_reading_is_the_patient_one),
        cmocka_unit_test(arguments_like_those_before),
        cmocka_unit_test(arguments_without_a_layout),
        cmocka_unit_test(an_event_without_a_name),
        cmocka_unit_test(a_kernel_with_its_call),
        cmocka_unit_test(what_else_the_gpu_did_is_known),
        cmocka_unit_test(calls_of_one_group_share_its_kernel),
        cmocka_unit_test(kernels_of_a_graph_name_no_operation),
        cmocka_unit_test(before_torch_2_2_shapes_and_names_are_all),
        cmocka_unit_test(numbers_of_collectives_are_told),
        cmocka_unit_test(damage_has_a_place),
        cmocka_unit_test(sizes_are_those_of_one_rank),
        cmocka_unit_test(algorithms_of_kernels),
        cmocka_unit_test(kernels_of_libraries),
        cmocka_unit_test(groups_of_libraries),
        cmocka_unit_test(up_to_torch_2_1_annotations_name_functions),
        cmocka_unit_test(the_rank_is_told_in_several_places),
        cmocka_unit_test(lists_that_are_cut_are_completed),
        cmocka_unit_test(the_peer_is_told_or_annotated),
        cmocka_unit_test(calls_that_move_nothing_are_none),
        cmocka_unit_test(kernels_from_before_the_recording_are_none),
        cmocka_unit_test(annotations_around_a_call_are_its_tag),
        cmocka_unit_test(traces_of_others_are_not_taken),
        cmocka_unit_test(a_file_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
