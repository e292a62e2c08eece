/*
 * The format "torch": messages of PyTorch's watchdog about stuck process groups. Detects such logs, and makes
 * events from what reader.c and ranks.c collect.
 */
#include "format/torch/torch.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const struct torch_ranks *ranks, int64_t number)
{
    return number < 0 ? NULL : intern_text(&ranks->texts, number);
}

/*
 * Processes in one file differ only by rank, so a start time made from the global rank identifies them; no
 * real process has it.
 */
static struct origin origin_of_process(int64_t global_rank, uint64_t offset)
{
    return (struct origin){.pid = COUNT_UNKNOWN,
                           .started_ns = global_rank == COUNT_UNKNOWN ? 0 : global_rank + 1,
                           .rank = COUNT_UNKNOWN,
                           .offset = offset};
}

static struct origin origin_of(const struct torch_ranks *ranks, const struct torch_member *member)
{
    const char *name = text_of(ranks, member->group);
    const struct torch_group *group = torch_ranks_group(ranks, member->group);
    struct origin origin = origin_of_process(member->global_rank, member->offset);
    origin.communicator_hash = communicator_hash_of(name, NULL, 0);
    origin.communicator_is_named = 1;
    origin.communicator_name = name;
    origin.communicator_size = group ? group->size : 0;
    origin.rank = member->rank;
    return origin;
}

/* The number of the work in which a rank waits; COUNT_UNKNOWN if it waits in none. */
static int64_t waits_in(const struct torch_member *member)
{
    if (member->failed != COUNT_UNKNOWN)
        return member->failed;
    return member->completed != COUNT_UNKNOWN && member->enqueued > member->completed ? member->completed + 1
                                                                                      : COUNT_UNKNOWN;
}

/* torch's names: "ALLREDUCE", "_ALLGATHER_BASE", "REDUCE_SCATTER". */
static enum function function_of(const struct torch_ranks *ranks, const struct torch_member *member)
{
    static const struct {
        const char *mark;
        enum function function;
    } names[] = {{"ALLREDUCE", FUNCTION_ALL_REDUCE},
                 {"ALL_REDUCE", FUNCTION_ALL_REDUCE},
                 {"ALLGATHER", FUNCTION_ALL_GATHER},
                 {"ALL_GATHER", FUNCTION_ALL_GATHER},
                 {"REDUCE_SCATTER", FUNCTION_REDUCE_SCATTER},
                 {"ALLTOALL", FUNCTION_ALL_TO_ALL},
                 {"ALL_TO_ALL", FUNCTION_ALL_TO_ALL},
                 {"BROADCAST", FUNCTION_BROADCAST},
                 {"BARRIER", FUNCTION_BARRIER},
                 {"GATHER", FUNCTION_GATHER},
                 {"SCATTER", FUNCTION_SCATTER},
                 {"REDUCE", FUNCTION_REDUCE}};
    const char *operation = text_of(ranks, member->operation);
    for (size_t i = 0; operation && i < sizeof names / sizeof *names; i++)
        if (text_contains((struct text){operation, strlen(operation)}, names[i].mark))
            return names[i].function;
    return FUNCTION_UNKNOWN;
}

/*
 * The element count, as NCCL counts it, if it must be the same on all ranks; else COUNT_UNKNOWN: rows of an
 * AlltoAll may differ, and in Gather and Scatter the root's count differs.
 */
static int64_t common_elements(enum function function, const struct torch_member *member)
{
    int64_t count = function == FUNCTION_REDUCE_SCATTER ? member->elements_out : member->elements;
    int is_common = function == FUNCTION_ALL_REDUCE || function == FUNCTION_ALL_GATHER ||
                    function == FUNCTION_REDUCE_SCATTER || function == FUNCTION_BROADCAST ||
                    function == FUNCTION_REDUCE;
    return is_common && count > 0 ? count : COUNT_UNKNOWN;
}

static int emit_call(const struct torch_ranks *ranks, const struct torch_member *member, int64_t number,
                     int64_t ordinal, const struct format_sink *sink, struct error *error)
{
    struct event event = {
        .kind = EVENT_OPERATION, .origin = origin_of(ranks, member), .operation = OPERATION_UNKNOWN};
    event.operation.ordinal = ordinal;
    event.operation.kind = OPERATION_COLLECTIVE;
    event.operation.function = function_of(ranks, member);
    event.operation.sequence = number;
    event.operation.count = common_elements(event.operation.function, member);
    event.operation.unfinished = 1;
    return sink->event(sink->context, &event, error);
}

static int emit_process(const struct torch_ranks *ranks, int64_t global_rank, const struct origin *origin,
                        const struct format_sink *sink, struct error *error)
{
    struct event process = {.kind = EVENT_PROCESS, .origin = *origin, .process = PROCESS_FACTS_NONE};
    process.process.global_rank = global_rank;
    if (ranks->least_ranks)
        process.process.world_size = ranks->least_ranks;
    return global_rank == COUNT_UNKNOWN ? 0 : sink->event(sink->context, &process, error);
}

static int emit_member(const struct torch_ranks *ranks, const struct torch_member *member,
                       const struct format_sink *sink, struct error *error)
{
    struct event place = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(ranks, member)};
    place.communicator.description = text_of(ranks, member->description);
    return sink->event(sink->context, &place, error) ||
                   emit_process(ranks, member->global_rank, &place.origin, sink, error)
               ? -1
               : 0;
}

static int emit_status(const struct torch_ranks *ranks, const struct torch_member *member,
                       const struct format_sink *sink, struct error *error)
{
    struct event event = {.kind = EVENT_GROUP_STATUS, .origin = origin_of(ranks, member)};
    event.group_status = (struct group_status){.name = text_of(ranks, member->group),
                                               .description = text_of(ranks, member->description),
                                               .function = text_of(ranks, member->operation),
                                               .enqueued = member->enqueued,
                                               .started = COUNT_UNKNOWN,
                                               .completed = member->completed,
                                               .timed_out = member->failed,
                                               .at_ns = TIME_UNKNOWN};
    return sink->event(sink->context, &event, error);
}

/*
 * If the work of a rank failed because another rank was gone, its next call is unknown. A rank without works
 * has no call.
 */
static int emit_work(const struct torch_ranks *ranks, const struct torch_member *member, int64_t *ordinal,
                     const struct format_sink *sink, struct error *error)
{
    int64_t number = waits_in(member);
    if (member->lost_peer || (member->enqueued == COUNT_UNKNOWN && member->failed == COUNT_UNKNOWN))
        return 0;
    return emit_status(ranks, member, sink, error) ||
           (number != COUNT_UNKNOWN && emit_call(ranks, member, number, (*ordinal)++, sink, error));
}

/* The global rank that printed the line, if the line itself does not give it. */
static int64_t global_rank_of(const struct torch_ranks *ranks, const struct torch_remark *remark)
{
    const int64_t *at = map_get(
        &ranks->by_member, (struct map_key){{(uint64_t)(remark->group < 0 ? ranks->of_all : remark->group),
                                             (uint64_t)remark->rank}});
    return remark->global_rank == COUNT_UNKNOWN && at ? ranks->member_list[*at].global_rank
                                                      : remark->global_rank;
}

/* The global rank that a remark accuses; COUNT_UNKNOWN. */
static int64_t accused_of(const struct torch_ranks *ranks, const struct torch_remark *remark)
{
    const int64_t *at =
        map_get(&ranks->by_member, (struct map_key){{(uint64_t)remark->group, (uint64_t)remark->accused}});
    const char *name = text_of(ranks, remark->group);
    if (remark->accused == COUNT_UNKNOWN)
        return COUNT_UNKNOWN;
    if (at && ranks->member_list[*at].global_rank != COUNT_UNKNOWN)
        return ranks->member_list[*at].global_rank;
    int is_of_all = torch_ranks_may_be_of_all(remark) && (!name || strcmp(name, "0") == 0);
    return is_of_all ? remark->accused : COUNT_UNKNOWN;
}

static enum warning_kind kind_of_failure(const char *said)
{
    struct text text = {said, said ? strlen(said) : 0};
    if (text_contains(text, "out of memory"))
        return WARNING_MEMORY;
    if (text_contains(text, "CUDA error") || text_contains(text, "unhandled cuda error"))
        return WARNING_CUDA;
    if (text_contains(text, "unhandled system error"))
        return WARNING_SYSTEM;
    if (text_contains(text, "invalid usage") || text_contains(text, "invalid argument"))
        return WARNING_USAGE;
    return text_contains(text, "internal error") ? WARNING_INTERNAL : WARNING_FAILED;
}

/* Not evidence: what a waiting rank reports, and an accused rank that cannot be identified. */
static enum warning_kind kind_of(const struct torch_ranks *ranks, const struct torch_remark *remark,
                                 int64_t accused)
{
    switch (remark->kind) {
    case TORCH_STUCK:
        return torch_ranks_waits(ranks, remark) ? WARNING_OTHER : WARNING_STUCK;
    case TORCH_RAISED:
        return torch_ranks_waits(ranks, remark) ? WARNING_OTHER : WARNING_RAISED;
    case TORCH_ENDED:
    case TORCH_TASK_ENDED:
        return WARNING_ENDED;
    case TORCH_NEVER_JOINED:
        return accused == COUNT_UNKNOWN ? WARNING_OTHER : WARNING_NEVER_JOINED;
    case TORCH_UNFINISHED:
        return accused == COUNT_UNKNOWN ? WARNING_OTHER : WARNING_UNFINISHED;
    case TORCH_FAILED:
        return kind_of_failure(text_of(ranks, remark->text));
    default:
        return WARNING_CLOSED;
    }
}

static int emit_remark(const struct torch_ranks *ranks, const struct torch_remark *remark,
                       const struct format_sink *sink, struct error *error)
{
    int64_t accused = accused_of(ranks, remark);
    struct event event = {.kind = EVENT_WARNING,
                          .origin = origin_of_process(global_rank_of(ranks, remark), remark->offset)};
    event.warning = (struct warning){.kind = kind_of(ranks, remark, accused),
                                     .at_ns = TIME_UNKNOWN,
                                     .gpu = COUNT_UNKNOWN,
                                     /* A watchdog prints its messages at the end: no call follows. */
                                     .calls = INT32_MAX,
                                     .status = accused,
                                     .text = text_of(ranks, remark->text)};
    return sink->event(sink->context, &event, error);
}

int torch_emit(const struct torch_ranks *ranks, const struct format_sink *sink, struct error *error)
{
    int64_t ordinal = 0;
    for (size_t i = 0; i < ranks->member_list_count; i++)
        if (emit_member(ranks, &ranks->member_list[i], sink, error) ||
            emit_work(ranks, &ranks->member_list[i], &ordinal, sink, error))
            return -1;
    for (size_t i = 0; i < ranks->remark_count; i++)
        if (emit_remark(ranks, &ranks->remarks[i], sink, error))
            return -1;
    return 0;
}

static int take_line(struct torch_reader *reader, struct call_reader *calls, const struct input_line *line,
                     const struct format_sink *sink, struct error *error)
{
    static const struct origin nobody = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    size_t described = 0;
    struct text text = {line->text, line->length};
    int taken = torch_reader_take(reader, text, line->offset);
    if (taken < 0)
        return error_no_memory(error);
    if (taken && call_line_is_candidate(text) &&
        call_line_read(calls, text, line->offset, &nobody, TIME_UNKNOWN, 0, sink, &described, error))
        return -1;
    return taken && !described && text.length
               ? sink->note(sink->context, "other output", 0, line->offset, text.data, text.length, error)
               : 0;
}

static int end_file(struct torch_reader *reader, const struct format_sink *sink, struct error *error)
{
    return torch_reader_end(reader) ? error_no_memory(error) : torch_emit(&reader->ranks, sink, error);
}

static int torch_read(struct input *input, const struct format_sink *sink, char *dialect,
                      size_t dialect_bytes, struct error *error)
{
    struct torch_reader reader;
    struct call_reader calls;
    struct input_line line;
    int more;
    torch_reader_init(&reader);
    call_reader_init(&calls, 0);
    snprintf(dialect, dialect_bytes, "torch-log");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&reader, &calls, &line, sink, error)) {
            more = -1;
            break;
        }
    int status = more < 0 || end_file(&reader, sink, error) ? -1 : 0;
    torch_reader_release(&reader);
    call_reader_release(&calls);
    return status;
}

/*
 * Less than an NCCL log: if a file has lines of both, the format nccl reads more of it. LIKELY is for lines
 * about process groups that are no records; records may follow.
 */
enum { SURE = 50, LIKELY = 40 };

static int torch_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    struct watchdog_line said = {.rank = COUNT_UNKNOWN};
    int sure = 0;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t of_line = line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes);
        struct text line = {bytes, of_line};
        int is_prefixed = watchdog_prefix(line) >= 0;
        int is_record = is_prefixed && (watchdog_read(line, &said) || watchdog_is_cut(line));
        if (is_prefixed && said.rank != COUNT_UNKNOWN) {
            if (is_record)
                return SURE;
            sure = LIKELY;
        }
        bytes += of_line + 1;
    }
    return sure;
}

const struct format format_torch = {
    .name = "torch",
    .version = 1,
    .description = "log of PyTorch's watchdog (stuck process groups)",
    .unknown = "other watchdog line",
    .sniff = torch_sniff,
    .read = torch_read,
};
