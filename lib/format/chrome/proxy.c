#include "format/chrome/proxy.h"

#include "format/chrome/emit.h"

static const struct proxy_step no_step = {
    .wait = {{TIME_UNKNOWN, TIME_UNKNOWN},
             {TIME_UNKNOWN, TIME_UNKNOWN},
             {TIME_UNKNOWN, TIME_UNKNOWN},
             {TIME_UNKNOWN, TIME_UNKNOWN},
             {TIME_UNKNOWN, TIME_UNKNOWN}},
};

static int is_schedule(enum chrome_name name)
{
    return name == CHROME_SCHEDULE_SEND || name == CHROME_SCHEDULE_RECV;
}

static enum direction direction_of(enum chrome_name name)
{
    return name == CHROME_SEND || name == CHROME_SCHEDULE_SEND || name == CHROME_PROGRESS_SEND
               ? DIRECTION_SEND
               : DIRECTION_RECV;
}

static enum wait_kind wait_of(enum chrome_name name)
{
    static const unsigned char kinds[CHROME_NAMES] = {
        [CHROME_SEND_BUFFER_WAIT] = WAIT_BUFFER, [CHROME_RECV_BUFFER_WAIT] = WAIT_BUFFER,
        [CHROME_SEND_GPU_WAIT] = WAIT_GPU,       [CHROME_RECV_GPU_WAIT] = WAIT_GPU,
        [CHROME_SEND_PEER_WAIT] = WAIT_PEER,     [CHROME_RECV_FLUSH_WAIT] = WAIT_FLUSH,
        [CHROME_SEND_WAIT] = WAIT_NETWORK,       [CHROME_RECV_WAIT] = WAIT_NETWORK,
    };
    return (enum wait_kind)kinds[name];
}

/* Hands over the steps so far. Of a long one the end comes with the last record only. */
static int emit(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    struct event event = {.kind = EVENT_PROXY, .origin = transfer->origin, .proxy = transfer->proxy};
    event.proxy.steps = transfer->steps;
    event.proxy.steps_recorded = transfer->step_count;
    transfer->step_count = 0;
    transfer->proxy.continued = 1;
    return chrome_emit(reader, &event, error);
}

/* The earliest moment of a step; TIME_UNKNOWN when it has none. */
static int64_t step_begin(const struct proxy_step *step)
{
    int64_t first_ns = TIME_UNKNOWN;
    for (int kind = 0; kind < WAIT_KINDS; kind++) {
        int64_t begin_ns = step->wait[kind].begin_ns;
        if (begin_ns != TIME_UNKNOWN && (first_ns == TIME_UNKNOWN || begin_ns < first_ns))
            first_ns = begin_ns;
    }
    return first_ns;
}

/* Files the step being read, unless it is empty or a leftover from an earlier use of its slot. */
static int close_step(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->step_is_open)
        return 0;
    transfer->step_is_open = 0;
    if (transfer->step_begin_ns == TIME_UNKNOWN)
        return 0;
    if (transfer->step_begin_ns < transfer->not_before_ns)
        return chrome_note(reader, "stale proxy step", 0, transfer->step_offset, NULL, 0, error);
    if (transfer->step_count == FORMAT_STEPS_AT_ONCE && emit(reader, error))
        return -1;
    transfer->steps[transfer->step_count++] = transfer->step;
    return 0;
}

static int is_stale(const struct chrome_reader *reader)
{
    int64_t enqueued_ns = reader->assembly.operation.enqueue.begin_ns;
    const struct proxy_operation *proxy = &reader->transfer.proxy;
    int64_t begin_ns =
        proxy->schedule.begin_ns != TIME_UNKNOWN ? proxy->schedule.begin_ns : proxy->progress.begin_ns;
    return proxy->operation != COUNT_UNKNOWN && enqueued_ns != TIME_UNKNOWN && begin_ns != TIME_UNKNOWN &&
           begin_ns < enqueued_ns;
}

/* What its proxy operations say of the operation around them. */
static void inform_operation(struct chrome_reader *reader)
{
    struct chrome_assembly *assembly = &reader->assembly;
    int64_t end_ns = reader->transfer.proxy.progress.end_ns;
    if (reader->transfer.proxy.operation == COUNT_UNKNOWN)
        return;
    if (end_ns == TIME_UNKNOWN)
        assembly->proxy_pending = 1;
    else if (end_ns > assembly->last_proxy_end_ns)
        assembly->last_proxy_end_ns = end_ns;
}

/* Steps of a proxy operation that has ended: NCCL starts more of them than it stops where NET/Socket is
 * forced on one node (NVIDIA/nccl#1658). */
static int note_unended(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    int64_t count = transfer->proxy.progress.end_ns == TIME_UNKNOWN ? 0 : transfer->unended_count;
    for (int64_t i = 0; i < count; i++)
        if (chrome_note(reader, "network step without an end", 0, transfer->unended_offset, NULL, 0, error))
            return -1;
    return 0;
}

int chrome_proxy_flush(struct chrome_reader *reader, struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open)
        return 0;
    if (close_step(reader, error))
        return -1;
    transfer->is_open = 0;
    if (is_stale(reader))
        return chrome_note(reader, "stale proxy operation", 0, transfer->origin.offset, NULL, 0, error);
    inform_operation(reader);
    return note_unended(reader, error) || emit(reader, error) ? -1 : 0;
}

static void start(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset)
{
    struct chrome_transfer *transfer = &reader->transfer;
    const struct chrome_proxy *said = &line->proxy;
    const struct chrome_assembly *assembly = &reader->assembly;
    transfer->is_open = 1;
    transfer->name = line->name;
    transfer->id = line->id;
    transfer->origin = assembly->is_open ? assembly->origin : chrome_origin(reader, offset);
    transfer->origin.offset = offset;
    transfer->step_count = 0;
    transfer->step_is_open = 0;
    transfer->unended_count = 0;
    transfer->proxy = (struct proxy_operation){
        .operation = assembly->is_open ? assembly->operation.ordinal : COUNT_UNKNOWN,
        .direction = direction_of(line->name),
        .channel = said->channel,
        .peer = said->peer,
        .step_count = said->step_count,
        .chunk_bytes = said->chunk_bytes,
        .transferred_bytes = said->transferred_bytes,
        .schedule = {TIME_UNKNOWN, TIME_UNKNOWN},
        .progress = {TIME_UNKNOWN, TIME_UNKNOWN},
        .has_states = said->has_states,
    };
    for (int i = 0; i < PROXY_STATES && said->has_states; i++) {
        transfer->proxy.state[i].steps = said->state[i].steps;
        transfer->proxy.state[i].at_ns = said->state[i].at_ns;
    }
}

/* Progress goes on with what was scheduled under the same id. */
static int is_same_transfer(const struct chrome_reader *reader, const struct chrome_line *line)
{
    const struct chrome_transfer *transfer = &reader->transfer;
    return transfer->is_open && is_schedule(transfer->name) && !is_schedule(line->name) &&
           transfer->id == line->id && transfer->proxy.direction == direction_of(line->name);
}

/* Steps belong to it from its own begin on; where that is unknown, from that of the operation on. */
static int64_t earliest_step(const struct chrome_reader *reader)
{
    const struct proxy_operation *proxy = &reader->transfer.proxy;
    if (proxy->progress.begin_ns != TIME_UNKNOWN)
        return proxy->progress.begin_ns;
    if (proxy->schedule.begin_ns != TIME_UNKNOWN)
        return proxy->schedule.begin_ns;
    return proxy->operation != COUNT_UNKNOWN ? reader->assembly.operation.enqueue.begin_ns : TIME_UNKNOWN;
}

int chrome_proxy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                       struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (line->name == CHROME_PROXY_CONTROL)
        return chrome_note(reader, "proxy control event", 0, offset, NULL, 0, error);
    if (!is_same_transfer(reader, line)) {
        if (chrome_proxy_flush(reader, error))
            return -1;
        start(reader, line, offset);
    }
    if (is_schedule(line->name)) {
        reader->seen_schedule = 1;
        transfer->proxy.schedule.begin_ns = line->time_ns;
    } else {
        transfer->name = line->name;
        transfer->proxy.progress.begin_ns = line->time_ns;
        transfer->not_before_ns = earliest_step(reader);
    }
    return 0;
}

int chrome_proxy_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns, uint64_t offset,
                     struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (name == CHROME_PROXY_CONTROL || !transfer->is_open)
        return 0;
    if (is_schedule(name))
        return chrome_set_end(reader, &transfer->proxy.schedule, end_ns, offset, error);
    return chrome_set_end(reader, &transfer->proxy.progress, end_ns, offset, error) ||
                   chrome_proxy_flush(reader, error)
               ? -1
               : 0;
}

int chrome_wait_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                      struct error *error)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open || is_schedule(transfer->name))
        return chrome_note(reader, "network step outside a proxy operation", 1, offset, NULL, 0, error);
    if (transfer->step_is_open && (line->id != transfer->step_id || line->step != transfer->step.step) &&
        close_step(reader, error))
        return -1;
    if (!transfer->step_is_open) {
        transfer->step_is_open = 1;
        transfer->step_is_unended = 0;
        transfer->step_id = line->id;
        transfer->step_offset = offset;
        transfer->step = no_step;
        transfer->step.step = line->step;
        transfer->step_begin_ns = TIME_UNKNOWN;
    }
    /* A wait that was not reached can hold the time of an earlier use of its slot. */
    if (line->time_ns < transfer->step_begin_ns)
        return 0;
    int64_t *begin_ns = &transfer->step.wait[wait_of(line->name)].begin_ns;
    int is_first = *begin_ns == TIME_UNKNOWN;
    *begin_ns = line->time_ns;
    if (!is_first || transfer->step_begin_ns == TIME_UNKNOWN)
        transfer->step_begin_ns = step_begin(&transfer->step);
    return 0;
}

/* A time before the wait's begin is a leftover in a slot that was used before: the wait goes on. */
void chrome_wait_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns)
{
    struct chrome_transfer *transfer = &reader->transfer;
    if (!transfer->is_open || !transfer->step_is_open)
        return;
    struct interval_ns *wait = &transfer->step.wait[wait_of(name)];
    if (wait->begin_ns == TIME_UNKNOWN)
        return;
    if (end_ns >= wait->begin_ns)
        wait->end_ns = end_ns;
    else if (end_ns == TIME_UNKNOWN && !transfer->step_is_unended) {
        transfer->step_is_unended = 1;
        transfer->unended_offset =
            transfer->unended_count++ ? transfer->unended_offset : transfer->step_offset;
    }
}
