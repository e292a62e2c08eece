#include "format/torch/ranks.h"

#include "base/array.h"
#include "model/communicator_hash.h"

#include <stdlib.h>
#include <string.h>

struct torch_seat {
    int64_t group;       /* text */
    int64_t description; /* text; -1 */
    int64_t rank;
    int64_t global_rank;
    int64_t enqueued;
    int64_t completed;
    int64_t failed;
    int64_t operation; /* text; -1 */
    int64_t elements;
    int lost_peer;
    uint64_t offset;
};

struct torch_work {
    int64_t number;
    int64_t operation;
    int64_t elements;
    int lost_peer;
};

void torch_ranks_init(struct torch_ranks *ranks)
{
    *ranks = (struct torch_ranks){.seats = NULL};
    intern_init(&ranks->texts);
    map_init(&ranks->by_seat);
    map_init(&ranks->timeouts);
}

void torch_ranks_release(struct torch_ranks *ranks)
{
    intern_release(&ranks->texts);
    map_release(&ranks->by_seat);
    map_release(&ranks->timeouts);
    free(ranks->seats);
    free(ranks->works);
}

static int put_text(struct torch_ranks *ranks, struct text text, int64_t *number)
{
    *number = text.length ? intern_put(&ranks->texts, text.data, text.length) : -1;
    return text.length && *number < 0 ? -1 : 0;
}

/* A line that names no group: the next one of its rank about the same work does. */
static int keep_work(struct torch_ranks *ranks, const struct watchdog_line *said)
{
    struct torch_work work = {
        .number = said->failed, .elements = said->elements, .lost_peer = said->lost_peer};
    int64_t rank = said->global_rank == COUNT_UNKNOWN ? said->rank : said->global_rank;
    if (put_text(ranks, said->operation, &work.operation) ||
        array_reserve((void **)&ranks->works, &ranks->work_capacity, ranks->work_count + 1,
                      sizeof *ranks->works))
        return -1;
    int64_t next = (int64_t)ranks->work_count;
    int64_t *at = map_put(&ranks->timeouts, (struct map_key){{(uint64_t)rank}}, next, NULL);
    if (!at)
        return -1;
    if (*at == next)
        ranks->work_count++;
    ranks->works[*at] = work;
    return 0;
}

static struct torch_seat *seat_of(struct torch_ranks *ranks, const struct watchdog_line *said)
{
    int64_t group;
    if (put_text(ranks, said->group, &group) || array_reserve((void **)&ranks->seats, &ranks->seat_capacity,
                                                              ranks->seat_count + 1, sizeof *ranks->seats))
        return NULL;
    int added;
    int64_t *at = map_put(&ranks->by_seat, (struct map_key){{(uint64_t)group, (uint64_t)said->rank}},
                          (int64_t)ranks->seat_count, &added);
    if (!at)
        return NULL;
    if (added)
        ranks->seats[ranks->seat_count++] = (struct torch_seat){.group = group,
                                                                .description = -1,
                                                                .rank = said->rank,
                                                                .global_rank = COUNT_UNKNOWN,
                                                                .enqueued = COUNT_UNKNOWN,
                                                                .completed = COUNT_UNKNOWN,
                                                                .failed = COUNT_UNKNOWN,
                                                                .operation = -1,
                                                                .elements = COUNT_UNKNOWN};
    return &ranks->seats[*at];
}

static void take_failed(struct torch_ranks *ranks, const struct watchdog_line *said, struct torch_seat *seat)
{
    int64_t rank = said->global_rank == COUNT_UNKNOWN ? said->rank : said->global_rank;
    const int64_t *at = map_get(&ranks->timeouts, (struct map_key){{(uint64_t)rank}});
    const struct torch_work *work =
        at && ranks->works[*at].number == said->failed ? &ranks->works[*at] : NULL;
    seat->failed = said->failed;
    if (!work)
        return;
    seat->operation = work->operation;
    seat->elements = work->elements;
    seat->lost_peer |= work->lost_peer;
}

/* The group of all ranks, by torch's own name of it. */
static int is_default(const struct watchdog_line *said)
{
    return text_is(said->description, "default_pg") || text_is(said->group, "0");
}

int torch_ranks_take(struct torch_ranks *ranks, struct text line, uint64_t offset)
{
    struct watchdog_line said;
    if (!watchdog_read(line, &said) || said.rank == COUNT_UNKNOWN)
        return 1;
    if (!said.group.length)
        return keep_work(ranks, &said);
    struct torch_seat *seat = seat_of(ranks, &said);
    if (!seat || put_text(ranks, said.description, &seat->description))
        return -1;
    seat->offset = offset;
    if (said.global_rank != COUNT_UNKNOWN || is_default(&said))
        seat->global_rank = said.global_rank == COUNT_UNKNOWN ? said.rank : said.global_rank;
    if (said.enqueued != COUNT_UNKNOWN) {
        seat->enqueued = said.enqueued;
        seat->completed = said.completed;
    }
    if (said.failed != COUNT_UNKNOWN)
        take_failed(ranks, &said, seat);
    return 0;
}

static const char *text_of(const struct torch_ranks *ranks, int64_t number)
{
    return number < 0 ? NULL : intern_text(&ranks->texts, number);
}

static struct origin origin_of(const struct torch_ranks *ranks, const struct torch_seat *seat)
{
    const char *name = text_of(ranks, seat->group);
    /* Nothing tells processes of one file apart but their ranks: a number that no process began at does. */
    return (struct origin){.pid = COUNT_UNKNOWN,
                           .started_ns = seat->global_rank == COUNT_UNKNOWN ? 0 : seat->global_rank + 1,
                           .communicator_hash = communicator_hash_of(name, NULL, 0),
                           .communicator_is_named = 1,
                           .communicator_name = name,
                           .rank = seat->rank,
                           .offset = seat->offset};
}

/* The number of the work that a rank waits in; COUNT_UNKNOWN: it waits in none. */
static int64_t waits_in(const struct torch_seat *seat)
{
    if (seat->failed != COUNT_UNKNOWN)
        return seat->failed;
    return seat->completed != COUNT_UNKNOWN && seat->enqueued > seat->completed ? seat->completed + 1
                                                                                : COUNT_UNKNOWN;
}

/* torch's names: "ALLREDUCE", "_ALLGATHER_BASE", "REDUCE_SCATTER". */
static enum function function_of(const struct torch_ranks *ranks, const struct torch_seat *seat)
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
    const char *operation = text_of(ranks, seat->operation);
    for (size_t i = 0; operation && i < sizeof names / sizeof *names; i++)
        if (text_holds((struct text){operation, strlen(operation)}, names[i].mark))
            return names[i].function;
    return FUNCTION_UNKNOWN;
}

static int emit_call(const struct torch_ranks *ranks, const struct torch_seat *seat, int64_t number,
                     int64_t ordinal, const struct format_sink *sink, struct error *error)
{
    struct event event = {
        .kind = EVENT_OPERATION, .origin = origin_of(ranks, seat), .operation = OPERATION_UNKNOWN};
    event.operation.ordinal = ordinal;
    event.operation.kind = OPERATION_COLLECTIVE;
    event.operation.function = function_of(ranks, seat);
    event.operation.sequence = number;
    event.operation.count = seat->elements;
    event.operation.unfinished = 1;
    return sink->event(sink->context, &event, error);
}

static int emit_seat(const struct torch_ranks *ranks, const struct torch_seat *seat,
                     const struct format_sink *sink, struct error *error)
{
    struct event place = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(ranks, seat)};
    struct event process = {
        .kind = EVENT_PROCESS, .origin = origin_of(ranks, seat), .process = PROCESS_FACTS_NONE};
    place.communicator.description = text_of(ranks, seat->description);
    process.process.global_rank = seat->global_rank;
    return sink->event(sink->context, &place, error) ||
                   (seat->global_rank != COUNT_UNKNOWN && sink->event(sink->context, &process, error))
               ? -1
               : 0;
}

static int emit_status(const struct torch_ranks *ranks, const struct torch_seat *seat,
                       const struct format_sink *sink, struct error *error)
{
    struct event event = {.kind = EVENT_GROUP_STATUS, .origin = origin_of(ranks, seat)};
    event.group_status = (struct group_status){.name = text_of(ranks, seat->group),
                                               .description = text_of(ranks, seat->description),
                                               .function = text_of(ranks, seat->operation),
                                               .enqueued = seat->enqueued,
                                               .started = COUNT_UNKNOWN,
                                               .completed = seat->completed,
                                               .timed_out = seat->failed,
                                               .at_ns = TIME_UNKNOWN};
    return sink->event(sink->context, &event, error);
}

/* Of a rank whose work failed since another was gone it is not known what it would have called. */
static int emit_lost(const struct torch_seat *seat, const struct format_sink *sink, struct error *error)
{
    return sink->note(sink->context, FORMAT_NOTE_OPEN, 0, seat->offset, NULL, 0, error);
}

int torch_ranks_end(struct torch_ranks *ranks, const struct format_sink *sink, struct error *error)
{
    int64_t ordinal = 0;
    for (size_t i = 0; i < ranks->seat_count; i++) {
        const struct torch_seat *seat = &ranks->seats[i];
        int64_t number = waits_in(seat);
        if (emit_seat(ranks, seat, sink, error) ||
            (seat->lost_peer ? emit_lost(seat, sink, error) : emit_status(ranks, seat, sink, error)))
            return -1;
        if (!seat->lost_peer && number != COUNT_UNKNOWN &&
            emit_call(ranks, seat, number, ordinal++, sink, error))
            return -1;
    }
    return 0;
}
