/*
 * The format "nccl": NCCL's debug log. Each line begins with its process. Calls are printed in the order in
 * which they are made, each with the address of its communicator; earlier lines about the creation of the
 * communicator identify it. message.c, process.c and warning.c do the parsing and the bookkeeping.
 */
#include "format/nccl/nccl.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/torch/torch.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum { FACT_BYTES = 32 };

/* NCCL prints no longer lines. */
enum { LINE_MOST = 1024 };

/* Lines of PyTorch's watchdog. They are read if the log lists no calls, which show more. */
struct watchdog_lines {
    int64_t count;
    uint64_t first_offset;
    struct buffer example;
};

struct log_file {
    const struct format_sink *sink;
    struct source_processes processes;
    struct intern functions; /* names of the functions that created communicators */
    struct registrations registrations;
    struct partial_lines partial_lines;
    struct warnings warnings;
    struct unnamed_list unnamed;
    struct call_reader calls;
    struct torch_reader torch;
    struct watchdog_lines watchdog;
    struct buffer plain; /* the line without color escapes */
    struct buffer whole; /* a split line, joined */
    int64_t path_rank;   /* in the name of the file; COUNT_UNKNOWN */
    int64_t next_ordinal;
    int has_lines; /* lines of NCCL's log */
};

static int note(const struct log_file *file, const char *reason, int damage, uint64_t offset,
                struct text text, struct error *error)
{
    return file->sink->note(file->sink->context, reason, damage, offset, text.data, text.length, error);
}

static void fill_origin(const struct log_file *file, int64_t source_process, uint64_t offset,
                        const struct member *member, struct origin *origin)
{
    const struct source_process *of = &file->processes.items[source_process];
    *origin = (struct origin){.host = intern_text(&file->processes.hosts, of->host),
                              .pid = of->pid,
                              .rank = COUNT_UNKNOWN,
                              .offset = offset};
    if (!member)
        return;
    origin->communicator_hash = member->hash;
    origin->communicator_is_named = member->is_assumed;
    origin->rank = member->rank;
    origin->communicator_size = member->ranks;
    origin->node_count = member->nodes;
}

static int emit_communicator(struct log_file *file, const struct said *said, const struct member *member,
                             struct error *error)
{
    struct event event = {.kind = EVENT_COMMUNICATOR};
    fill_origin(file, said->source_process, said->offset, member, &event.origin);
    return file->sink->event(file->sink->context, &event, error);
}

/* Which GPU a rank has. A process may drive several GPUs, so the fact belongs to the rank. */
static int emit_device(struct log_file *file, const struct said *said, const struct message_init *init,
                       const struct member *member, struct error *error)
{
    char bus[FACT_BYTES];
    struct event event = {.kind = EVENT_PROCESS, .process = PROCESS_FACTS_NONE};
    if (init->device == COUNT_UNKNOWN && !init->bus.length)
        return 0;
    fill_origin(file, said->source_process, said->offset, member, &event.origin);
    message_write_bus(init->bus, bus, sizeof bus);
    event.process.gpu = init->device;
    event.process.gpu_bus_id = init->bus.length && init->bus.length < sizeof bus ? bus : NULL;
    return file->sink->event(file->sink->context, &event, error);
}

/*
 * Many logs have times in whole seconds: each further call in that second gets one more nanosecond, to keep
 * the order.
 */
static int64_t time_of_call(struct log_file *file, const struct said *said)
{
    struct source_process *process = &file->processes.items[said->source_process];
    if (said->at_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    process->latest_ns = process->latest_ns == TIME_UNKNOWN || said->at_ns > process->latest_ns
                             ? said->at_ns
                             : process->latest_ns + 1;
    return process->latest_ns;
}

static int64_t bytes_of(const struct message_call *call)
{
    int64_t size = datatype_bytes(call->datatype), bytes;
    return size && !__builtin_mul_overflow(size, call->count, &bytes) ? bytes : COUNT_UNKNOWN;
}

/* A send or receive has one buffer, whichever of the two NCCL prints. */
static uint64_t send_buffer_of(const struct message_call *call)
{
    if (call->function == FUNCTION_RECV)
        return 0;
    return call->send_buffer || call->function != FUNCTION_SEND ? call->send_buffer : call->receive_buffer;
}

static uint64_t receive_buffer_of(const struct message_call *call)
{
    if (call->function == FUNCTION_SEND)
        return 0;
    return call->receive_buffer || call->function != FUNCTION_RECV ? call->receive_buffer : call->send_buffer;
}

static int emit_registration(struct log_file *file, const struct said *said, const struct member *member,
                             const struct registration *registration, struct error *error)
{
    struct event event = {.kind = EVENT_REGISTRATION, .registration = *registration};
    fill_origin(file, said->source_process, said->offset, member, &event.origin);
    return file->sink->event(file->sink->context, &event, error);
}

/* A log that lists calls would list registrations, too, so their absence is evidence. */
static int emit_watched_registration(struct log_file *file, const struct said *said, struct member *member,
                                     struct error *error)
{
    const struct registration watched = {.kind = REGISTRATION_WATCHED,
                                         .number = COUNT_UNKNOWN,
                                         .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                                         .device = COUNT_UNKNOWN,
                                         .global_rank = COUNT_UNKNOWN};
    if (member->is_watched)
        return 0;
    member->is_watched = 1;
    return emit_registration(file, said, member, &watched, error);
}

static int remember_call(struct log_file *file, const struct said *said, const struct message_call *call,
                         const struct member *member)
{
    return registrations_call(&file->registrations,
                              &(struct recent_call){.source_process = said->source_process,
                                                    .thread = said->tid,
                                                    .member = member - file->processes.member_list,
                                                    .function = call->function,
                                                    .number = member->calls[call->function],
                                                    .send_buffer = send_buffer_of(call),
                                                    .receive_buffer = receive_buffer_of(call)});
}

static int emit_call(struct log_file *file, const struct said *said, const struct message_call *call,
                     struct member *member, struct error *error)
{
    int is_pair = function_is_point_to_point(call->function);
    struct event event = {
        .kind = EVENT_OPERATION,
        .operation = {.ordinal = file->next_ordinal++,
                      .kind = is_pair ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE,
                      .function = call->function,
                      .sequence = is_pair ? COUNT_UNKNOWN : member->calls[call->function],
                      .count = call->count,
                      .datatype = call->datatype,
                      .bytes = bytes_of(call),
                      .root = function_has_root(call->function) ? call->root : COUNT_UNKNOWN,
                      .peer = is_pair ? call->root : COUNT_UNKNOWN,
                      .channel_count = COUNT_UNKNOWN,
                      .stream = call->stream,
                      .send_buffer = send_buffer_of(call),
                      .receive_buffer = receive_buffer_of(call),
                      .api = {time_of_call(file, said), TIME_UNKNOWN},
                      .enqueue = {TIME_UNKNOWN, TIME_UNKNOWN},
                      .device = {TIME_UNKNOWN, TIME_UNKNOWN},
                      .duration_ns = COUNT_UNKNOWN}};
    if (emit_watched_registration(file, said, member, error))
        return -1;
    if (remember_call(file, said, call, member))
        return error_no_memory(error);
    member->calls[call->function]++;
    file->processes.items[said->source_process].calls++;
    fill_origin(file, said->source_process, said->offset, member, &event.origin);
    return file->sink->event(file->sink->context, &event, error);
}

static int take_registration(struct log_file *file, const struct said *said,
                             const struct message_registration *message, struct error *error)
{
    struct registration registration;
    const struct member *member;
    int taken = registrations_take(&file->registrations, &file->processes, said->source_process, said->tid,
                                   message, &registration, &member);
    if (taken < 0)
        return error_no_memory(error);
    if (taken)
        return emit_registration(file, said, member, &registration, error);
    return member
               ? 0
               : note(file, "registered memory of an unknown process", 0, said->offset, said->message, error);
}

static int is_modelled(enum function function)
{
    return function > FUNCTION_OTHER && function < FUNCTION_COUNT;
}

static int take_call(struct log_file *file, const struct said *said, const struct message_call *call,
                     struct error *error)
{
    struct member *member =
        source_processes_member(&file->processes, said->source_process, call->communicator);
    if (!is_modelled(call->function))
        return note(file, "call of an unsupported kind", 0, said->offset, said->message, error);
    if (!member)
        return unnamed_take_call(&file->unnamed, said, call) ? error_no_memory(error) : 0;
    return warnings_settle(&file->warnings, &file->processes, file->sink, said->source_process, said->tid,
                           error) ||
                   emit_call(file, said, call, member, error)
               ? -1
               : 0;
}

static int take_init(struct log_file *file, const struct said *said, const struct message_init *init,
                     struct error *error)
{
    struct member *member;
    if (source_processes_begin(&file->processes, said->source_process, init, &member))
        return error_no_memory(error);
    if (!member)
        return note(file, "communicator split from an unknown one", 1, said->offset, said->message, error);
    if (start_take_init(&member->start, init, said->tid, said->at_ns, said->offset, &file->functions))
        return error_no_memory(error);
    if (init->is_complete &&
        (warnings_settle(&file->warnings, &file->processes, file->sink, said->source_process, -1, error) ||
         emit_device(file, said, init, member, error)))
        return -1;
    return emit_communicator(file, said, member, error);
}

/*
 * A process that destroys a communicator created it and finished with it, so its earlier warnings are
 * settled.
 */
static int take_end(struct log_file *file, const struct said *said, uint64_t communicator,
                    struct error *error)
{
    struct member *member = source_processes_member(&file->processes, said->source_process, communicator);
    if (member)
        member->is_complete = 1;
    return warnings_settle(&file->warnings, &file->processes, file->sink, said->source_process, -1, error);
}

static int take_nodes(struct log_file *file, const struct said *said, const struct message_nodes *nodes,
                      struct error *error)
{
    struct member *member =
        source_processes_member(&file->processes, said->source_process, nodes->communicator);
    if (!member || nodes->nodes <= 0)
        return note(file, "other NCCL line", 0, said->offset, said->message, error);
    member->nodes = nodes->nodes;
    return emit_communicator(file, said, member, error);
}

/* "Rank 3 has color with NCCL_SPLIT_NOCOLOR, not creating a new communicator". */
static int take_pass(struct log_file *file, const struct said *said, struct error *error)
{
    int64_t rank;
    if (text_number(said->message, "Rank", &rank) == 0)
        source_processes_pass(&file->processes, said->source_process, rank);
    return note(file, "other NCCL line", 0, said->offset, said->message, error);
}

/* How long the creation of a communicator took. Returns 0 if it is none of those in the log. */
static int take_timings(struct log_file *file, const struct said *said, const struct timings *timings,
                        struct error *error)
{
    int taken =
        start_take_timings(&file->processes, said->source_process, said->tid, timings, &file->functions);
    if (taken < 0)
        return error_no_memory(error);
    return taken ? 0 : note(file, "time of an unknown communicator", 0, said->offset, said->message, error);
}

static int take_bootstrap(struct log_file *file, const struct said *said, int64_t total_ns,
                          struct error *error)
{
    if (start_take_bootstrap(&file->processes, said->source_process, said->tid, total_ns))
        return 0;
    return note(file, "time of an unknown communicator", 0, said->offset, said->message, error);
}

/* The address at which other ranks reach the process's host. */
static int take_address(struct log_file *file, const struct said *said, struct text address,
                        struct error *error)
{
    char copy[FACT_BYTES * 2];
    struct event event = {.kind = EVENT_PROCESS, .process = PROCESS_FACTS_NONE};
    fill_origin(file, said->source_process, said->offset, NULL, &event.origin);
    event.process.address = text_copy(address, copy, sizeof copy);
    return file->sink->event(file->sink->context, &event, error);
}

/* Takes a complete message. Returns 1 if it is of no known kind, -1 on failure, -2 if it is not complete. */
enum { TAKEN = 0, IS_OTHER = 1, IS_BROKEN = -2 };

static int take_known(struct log_file *file, const struct said *said, struct error *error)
{
    struct message_call call;
    struct message_init init;
    struct message_nodes nodes;
    struct timings timings;
    int64_t total_ns;
    uint64_t communicator;
    struct text address = warning_own_address(said->message);
    struct message_registration registration;
    int found = message_read_call(said->message, &call);
    if (found == 1)
        return take_call(file, said, &call, error);
    if (found == 0 && (found = message_read_init(said->message, &init)) > 0)
        return found == 1                                       ? take_init(file, said, &init, error)
               : unnamed_take_init(&file->unnamed, said, &init) ? error_no_memory(error)
                                                                : 0;
    if (found == 0 && (found = message_read_nodes(said->message, &nodes)) == 1)
        return take_nodes(file, said, &nodes, error);
    if (found == 0 && timings_read(said->message, &timings))
        return take_timings(file, said, &timings, error);
    if (found == 0 && timings_read_bootstrap(said->message, &total_ns))
        return take_bootstrap(file, said, total_ns, error);
    if (found == 0 && address.length)
        return take_address(file, said, address, error);
    if (found == 0 && (found = message_read_registration(said->message, &registration)) == 1)
        return take_registration(file, said, &registration, error);
    if (found == 0 && message_read_end(said->message, &communicator) &&
        take_end(file, said, communicator, error))
        return -1;
    if (found == 0 && text_contains(said->message, "NCCL_SPLIT_NOCOLOR"))
        return take_pass(file, said, error);
    if (found == 0 &&
        (found = warnings_take_info(&file->warnings, &file->processes, file->sink, said, error)))
        return found < 0 ? -1 : 0;
    return found < 0 ? IS_BROKEN : IS_OTHER;
}

static int take_other(struct log_file *file, const struct said *said, struct error *error)
{
    const char *reason = message_is_registration(said->message) ? "memory registration"
                         : text_begins(said->message, "## [")   ? "RCCL kernel trace"
                                                                : "other NCCL line";
    return note(file, reason, 0, said->offset, said->message, error);
}

/* Notes a loss: a call of the process, or another message. */
static int emit_loss(struct log_file *file, int64_t source_process, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_LOSS, .loss = {.events = 1, .what = "lines torn by those of others"}};
    fill_origin(file, source_process, offset, NULL, &event.origin);
    return file->sink->event(file->sink->context, &event, error);
}

/* Holds a line whose rest may follow. */
static int hold(struct log_file *file, const struct said *said, struct error *error)
{
    int64_t dropped;
    if (partial_lines_add(&file->partial_lines, said->source_process, said->offset, said->at_ns,
                          said->message, &dropped))
        return error_no_memory(error);
    if (dropped >= 0 && emit_loss(file, dropped, said->offset, error))
        return -1;
    return note(file, "line interrupted by another line", 1, said->offset, said->message, error);
}

static int take_info(struct log_file *file, const struct said *said, struct error *error)
{
    int taken = take_known(file, said, error);
    if (taken == TAKEN || taken == -1)
        return taken;
    if (said->is_cut)
        return hold(file, said, error);
    if (taken == IS_OTHER)
        return take_other(file, said, error);
    if (said->is_last)
        return note(file, "incomplete last line", 0, said->offset, said->message, error) ||
                       note(file, FORMAT_NOTE_OPEN, 0, said->offset, (struct text){NULL, 0}, error)
                   ? -1
                   : 0;
    return emit_loss(file, said->source_process, said->offset, error) ||
                   note(file, "incomplete line", 1, said->offset, said->message, error)
               ? -1
               : 0;
}

static int take_message(struct log_file *file, enum level level, const struct said *said, struct error *error)
{
    switch (level) {
    case LEVEL_INFO:
        return take_info(file, said, error);
    case LEVEL_WARN:
        return warnings_take(&file->warnings, &file->processes, file->sink, said, error);
    default:
        return note(file, "NCCL trace line", 0, said->offset, said->message, error);
    }
}

/* Joins the end of a split line to the held part that it completes. Returns 1 if it completes none. */
static int correct(struct log_file *file, struct text rest, struct error *error)
{
    for (size_t i = 0; i < file->partial_lines.count; i++) {
        const struct partial_line *line = &file->partial_lines.lines[i];
        struct message_call call;
        if (partial_line_join(&file->partial_lines, i, rest, &file->whole))
            return error_no_memory(error);
        struct said said = {.message = {file->whole.data, file->whole.length},
                            .source_process = line->source_process,
                            .prefix_rank = COUNT_UNKNOWN,
                            .offset = line->offset,
                            .at_ns = line->at_ns};
        if (message_read_call(said.message, &call) != 1 || !is_modelled(call.function) ||
            !source_processes_member(&file->processes, said.source_process, call.communicator))
            continue;
        partial_line_drop(&file->partial_lines, i);
        return take_call(file, &said, &call, error);
    }
    return 1;
}

/* Messages of PyTorch's watchdog about works, timeouts and ranks. */
static int is_of_watchdog(struct text line)
{
    return text_contains(line, "ProcessGroupNCCL.cpp") &&
           (text_contains(line, "atchdog") || text_contains(line, "eartbeat") ||
            text_contains(line, "esync"));
}

/* Whether the watchdog's lines are used is known at the end; they are noted then if they are not. */
static int take_torch_line(struct log_file *file, struct text line, uint64_t offset, struct error *error)
{
    struct watchdog_lines *lines = &file->watchdog;
    int taken = torch_reader_take(&file->torch, line, offset);
    if (taken < 0)
        return error_no_memory(error);
    if (!is_of_watchdog(line))
        return taken && line.length ? note(file, "other output", 0, offset, line, error) : 0;
    if (!lines->count++) {
        lines->first_offset = offset;
        if (buffer_append(&lines->example, line.data, line.length))
            return error_no_memory(error);
    }
    return 0;
}

static int take_stranger(struct log_file *file, struct text line, uint64_t offset, struct error *error)
{
    static const struct origin nobody = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    size_t calls = 0;
    if (call_line_is_candidate(line) &&
        call_line_read(&file->calls, line, offset, &nobody, TIME_UNKNOWN, 0, file->sink, &calls, error))
        return -1;
    if (calls)
        return 0;
    int may_end = file->partial_lines.count && line.length <= LINE_MOST && text_contains(line, "stream ");
    int mended = may_end ? correct(file, line, error) : 1;
    if (mended <= 0)
        return mended;
    return take_torch_line(file, line, offset, error);
}

/* A prefix in the middle of another line is accepted only if its process is known from an earlier line. */
static int find_head(const struct log_file *file, struct text line, struct head *head)
{
    while (head_find(line, head)) {
        int is_known = source_processes_settle(&file->processes, &head->host, head->pid);
        size_t before = (size_t)(head->host.data - line.data);
        head->before = (struct text){line.data, before};
        if (is_known || before == 0 || strchr(" ]>:)", head->host.data[-1]))
            return 1;
        line = head->message;
    }
    return 0;
}

/* Takes the part of a line that one process wrote, up to where another begins. */
static int take_piece(struct log_file *file, const struct head *head, struct said *said, struct error *error)
{
    int decimals;
    said->tid = head->tid;
    said->device = head->device;
    said->prefix_rank = launcher_rank(head->before);
    if (said->prefix_rank == COUNT_UNKNOWN)
        said->prefix_rank = file->path_rank;
    said->at_ns = timestamp_find(head->before, &decimals);
    said->source_process = source_processes_put(&file->processes, head->host, head->pid);
    if (said->source_process < 0)
        return error_no_memory(error);
    file->has_lines = 1;
    return take_message(file, head->level, said, error);
}

static int take_line(struct log_file *file, const struct input_line *line, struct error *error)
{
    struct text rest = {line->text, line->length};
    struct head head, next;
    if (strip_terminal_escapes(&rest, &file->plain))
        return error_no_memory(error);
    const char *begin = rest.data;
    int has_head = find_head(file, rest, &head);
    if (!has_head)
        return take_stranger(file, rest, line->offset, error);
    while (has_head) {
        int has_next = find_head(file, head.message, &next);
        struct said said = {.message = head.message,
                            .offset = line->offset + (uint64_t)(head.host.data - begin)};
        if (has_next)
            said.message.length = length_before_timestamp(next.before);
        said.is_cut = has_next;
        said.is_last = !has_next && !line->ended && !line->goes_on;
        if (take_piece(file, &head, &said, error))
            return -1;
        head = next;
        has_head = has_next;
    }
    return 0;
}

static int emit_partial_lines(struct log_file *file, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < file->partial_lines.count; i++)
        failed = emit_loss(file, file->partial_lines.lines[i].source_process,
                           file->partial_lines.lines[i].offset, error);
    return failed ? -1 : 0;
}

/* Reports how each rank joined its communicators, at the end of the log. */
static int tell_starts(struct log_file *file, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < file->processes.member_list_count; i++) {
        const struct member *member = &file->processes.member_list[i];
        struct event event = {.kind = EVENT_START_UP};
        if (member->is_assumed)
            continue;
        fill_origin(file, member->source_process, member->start.offset, member, &event.origin);
        start_fill(member, &file->functions, &event.start_up);
        failed = file->sink->event(file->sink->context, &event, error);
    }
    return failed ? -1 : 0;
}

/* Hands over the members and calls of communicators that the log does not name. */
static int emit_matched(struct log_file *file, struct error *error)
{
    const struct unnamed_list *list = &file->unnamed;
    for (size_t i = 0; i < list->count; i++) {
        const struct unnamed *unnamed = &list->items[i];
        const struct said said = {.source_process = unnamed->source_process, .offset = unnamed->offset};
        const struct message_init init = {.device = unnamed->device >= 0 ? unnamed->device : COUNT_UNKNOWN};
        const struct member *member =
            source_processes_member(&file->processes, unnamed->source_process, unnamed->address);
        if (emit_communicator(file, &said, member, error) || emit_device(file, &said, &init, member, error) ||
            note(file, unnamed->source, 0, unnamed->offset,
                 (struct text){unnamed->example.data, unnamed->example.length}, error))
            return -1;
    }
    for (size_t i = 0; i < list->call_count; i++) {
        const struct unnamed_call *held = &list->calls[i];
        const struct unnamed *unnamed = &list->items[held->unnamed];
        const struct said said = {.source_process = unnamed->source_process,
                                  .tid = held->tid,
                                  .device = unnamed->device,
                                  .offset = held->offset,
                                  .at_ns = held->at_ns};
        struct member *member =
            source_processes_member(&file->processes, unnamed->source_process, unnamed->address);
        if (emit_call(file, &said, &held->call, member, error))
            return -1;
    }
    return 0;
}

static int emit_unnamed(struct log_file *file, struct error *error)
{
    int found = unnamed_match(&file->unnamed, &file->processes);
    if (found < 0)
        return error_no_memory(error);
    return found ? emit_matched(file, error)
                 : unnamed_emit(&file->unnamed, &file->processes, file->sink, error);
}

static int note_watchdog(struct log_file *file, struct error *error)
{
    const struct watchdog_lines *lines = &file->watchdog;
    for (int64_t i = 0; i < lines->count; i++)
        if (note(file, "line of PyTorch's watchdog", 0, lines->first_offset,
                 (struct text){lines->example.data, lines->example.length}, error))
            return -1;
    return 0;
}

/* Reads the watchdog's lines, if the log lists no calls. *dialect is then that of a log of both. */
static int emit_watchdog(struct log_file *file, char *dialect, size_t dialect_bytes, struct error *error)
{
    if (torch_reader_end(&file->torch))
        return error_no_memory(error);
    if (file->next_ordinal || file->unnamed.call_count || !file->watchdog.count ||
        !file->torch.ranks.member_list_count)
        return note_watchdog(file, error);
    snprintf(dialect, dialect_bytes, "nccl-torch-log");
    return torch_emit(&file->torch.ranks, file->sink, error);
}

static int nccl_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                     struct error *error)
{
    struct log_file file = {.sink = sink, .path_rank = rank_word_in_path(input_path(input))};
    struct input_line line;
    int more;
    source_processes_init(&file.processes);
    intern_init(&file.functions);
    warnings_init(&file.warnings);
    unnamed_init(&file.unnamed);
    registrations_init(&file.registrations);
    call_reader_init(&file.calls, 0);
    torch_reader_init(&file.torch);
    snprintf(dialect, dialect_bytes, "nccl-log");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&file, &line, error)) {
            more = -1;
            break;
        }
    int status = more < 0 || emit_partial_lines(&file, error) || tell_starts(&file, error) ||
                         warnings_end(&file.warnings, &file.processes, sink, error) ||
                         emit_unnamed(&file, error) || emit_watchdog(&file, dialect, dialect_bytes, error)
                     ? -1
                     : 0;
    source_processes_release(&file.processes);
    intern_release(&file.functions);
    registrations_release(&file.registrations);
    partial_lines_release(&file.partial_lines);
    warnings_release(&file.warnings);
    unnamed_release(&file.unnamed);
    call_reader_release(&file.calls);
    torch_reader_release(&file.torch);
    buffer_release(&file.watchdog.example);
    buffer_release(&file.plain);
    buffer_release(&file.whole);
    return status;
}

const struct format format_nccl = {
    .name = "nccl",
    .version = 2,
    .description = "NCCL's debug log (NCCL_DEBUG=INFO)",
    .unknown = "other output",
    .sniff = nccl_sniff,
    .read = nccl_read,
};
