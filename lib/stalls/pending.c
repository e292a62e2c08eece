#include "stalls/pending.h"

#include "model/event.h"
#include "model/pack.h"
#include "model/table.h"
#include "model/vocab.h"
#include "schemas.h"
#include "stalls/seats.h"
#include "store/statement.h"

/*
 * Proxy operations that never ended, and what each was waiting for. Counters of API v1 to v3 say how many
 * steps got how far; later versions have none, and the wait that is open says it.
 */

enum {
    AT_RANK,
    AT_DIRECTION,
    AT_PEER,
    AT_COMMUNICATOR,
    AT_CHANNEL,
    AT_FUNCTION,
    AT_SEQUENCE,
    AT_TAG,
    AT_STEP,
    AT_STEPS,
    AT_POSTED,
    AT_PEER_READY,
    AT_TRANSMITTED,
    AT_DONE,
    AT_READING,
    AT_RUN
};

static const struct column columns[] = {
    {.name = "rank", .type = CELL_TEXT, .description = "who recorded it"},
    {.name = "direction", .type = CELL_TEXT, .description = "send or recv"},
    {.name = "peer", .type = CELL_TEXT, .description = "whom it sends to or receives from"},
    {.name = "communicator", .type = CELL_TEXT, .description = "its name, or the global ranks in it"},
    {.name = "channel", .type = CELL_INTEGER, .description = "NCCL's channel"},
    {.name = "function", .type = CELL_TEXT, .description = "of the operation that it belongs to"},
    {.name = "sequence",
     .type = CELL_INTEGER,
     .description = "of that operation, per communicator and function"},
    {.name = "tag", .type = CELL_TEXT, .description = "user tag in force"},
    {.name = "step", .type = CELL_INTEGER, .description = "training step"},
    {.name = "steps", .type = CELL_INTEGER, .description = "network steps it has to make"},
    {.name = "posted", .type = CELL_INTEGER, .description = "counter POSTED: buffers given out"},
    {.name = "peer_ready",
     .type = CELL_INTEGER,
     .description = "counter REM_FIFO_WAIT of a send, RECEIVED of a receive"},
    {.name = "transmitted", .type = CELL_INTEGER, .description = "counter TRANSMITTED"},
    {.name = "done", .type = CELL_INTEGER, .description = "counter DONE"},
    {.name = "reading", .type = CELL_TEXT, .description = "what it was waiting for"},
    {.name = "run", .type = CELL_INTEGER, .hidden = 1, .description = "job"},
};

static const char *read_send(int64_t posted, int64_t transmitted, int64_t done)
{
    if (done < transmitted && transmitted < posted)
        return "sent, not delivered; behind it no credit or no data";
    if (done < transmitted)
        return "sent, not delivered";
    return transmitted < posted ? "no credit or no data" : NULL;
}

static const char *read_receive(int64_t posted, int64_t received, int64_t transmitted, int64_t done)
{
    if (done < transmitted)
        return "arrived, not taken by the GPU";
    if (transmitted < received)
        return "arrived, not flushed";
    return received < posted ? "nothing arrived" : NULL;
}

const char *stalls_read_states(const struct proxy_operation *proxy)
{
    int64_t posted = proxy->state[STATE_POSTED].steps, ready = proxy->state[STATE_PEER].steps;
    int64_t transmitted = proxy->state[STATE_TRANSMITTED].steps, done = proxy->state[STATE_DONE].steps;
    const char *reading = proxy->direction == DIRECTION_SEND ? read_send(posted, transmitted, done)
                                                             : read_receive(posted, ready, transmitted, done);
    if (reading)
        return reading;
    return done < proxy->step_count ? "the GPU is not ready" : "all done";
}

static int is_open(const struct interval_ns *wait)
{
    return wait->begin_ns != TIME_UNKNOWN && wait->end_ns == TIME_UNKNOWN;
}

static const char *read_open_wait(enum direction direction, const struct proxy_step *step)
{
    int sends = direction == DIRECTION_SEND;
    if (is_open(&step->wait[WAIT_NETWORK]))
        return sends ? "sent, not delivered" : "nothing arrived";
    if (is_open(&step->wait[WAIT_FLUSH]))
        return "arrived, not flushed";
    if (is_open(&step->wait[WAIT_PEER]))
        return "no credit";
    if (is_open(&step->wait[WAIT_GPU]))
        return sends ? "the GPU is not ready" : "arrived, not taken by the GPU";
    return is_open(&step->wait[WAIT_BUFFER]) ? "no free buffer" : NULL;
}

enum {
    COLUMN_MEMBER,
    COLUMN_DIRECTION,
    COLUMN_CHANNEL,
    COLUMN_PEER,
    COLUMN_STEP_COUNT,
    COLUMN_BEGIN,
    COLUMN_STATES,
    COLUMN_STEPS,
    COLUMN_STEP,
    COLUMN_TAG,
    COLUMN_FUNCTION,
    COLUMN_SEQUENCE,
    COLUMN_END
};

/* The first step that is open is what holds up those behind it. NULL with 0: no step is. */
static int read_steps(struct statement *row, enum direction direction, const char **reading)
{
    size_t length;
    const void *blob = statement_blob(row, COLUMN_STEPS, &length);
    struct unpack unpack;
    struct proxy_step step;
    int more = 0;
    *reading = NULL;
    if (!blob)
        return 0;
    if (unpack_steps(&unpack, blob, length, statement_integer_or(row, COLUMN_BEGIN, 0)))
        return -1;
    while (!*reading && (more = unpack_next_step(&unpack, &step)) == 1)
        *reading = read_open_wait(direction, &step);
    return more < 0 ? -1 : 0;
}

/* Counters that are all 0 are those of an NCCL that no longer keeps them, behind the older interface. */
static int has_counters(const struct proxy_operation *proxy)
{
    int64_t sum = 0;
    for (int i = 0; i < PROXY_STATES; i++)
        sum |= proxy->state[i].steps;
    return proxy->has_states && sum != 0;
}

/* 0: it is done, nothing to list. -1: damaged. */
static int read_unfinished(struct statement *row, struct proxy_operation *proxy, const char **reading)
{
    size_t length;
    const void *blob = statement_blob(row, COLUMN_STATES, &length);
    *proxy = (struct proxy_operation){.direction = (enum direction)statement_integer(row, COLUMN_DIRECTION),
                                      .step_count = statement_integer(row, COLUMN_STEP_COUNT)};
    if (blob && unpack_states(blob, length, statement_integer_or(row, COLUMN_BEGIN, 0), proxy))
        return -1;
    if (has_counters(proxy)) {
        *reading = stalls_read_states(proxy);
        return proxy->state[STATE_DONE].steps < proxy->step_count ||
               proxy->state[STATE_DONE].steps < proxy->state[STATE_POSTED].steps;
    }
    if (!statement_is_null(row, COLUMN_END))
        return 0;
    if (read_steps(row, proxy->direction, reading))
        return -1;
    if (!*reading)
        *reading = statement_is_null(row, COLUMN_BEGIN) ? "never begun" : "not told";
    return 1;
}

static int add_row(struct stalls *stalls, struct statement *row, const struct roster_member *member,
                   const struct proxy_operation *proxy, const char *reading, struct table *table,
                   struct error *error)
{
    int32_t peer = stalls_seat(stalls, member->communicator, statement_integer(row, COLUMN_PEER));
    if (peer < 0)
        return error_no_memory(error);
    const struct stalls_seat *seat = &stalls->seats[member->rank];
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, AT_CHANNEL, statement_integer(row, COLUMN_CHANNEL));
    table_set_integer(table, AT_STEPS, proxy->step_count);
    table_set_integer(table, AT_RUN, stalls->runs[seat->run].id);
    if (!statement_is_null(row, COLUMN_SEQUENCE))
        table_set_integer(table, AT_SEQUENCE, statement_integer(row, COLUMN_SEQUENCE));
    if (!statement_is_null(row, COLUMN_STEP))
        table_set_integer(table, AT_STEP, statement_integer(row, COLUMN_STEP));
    for (int i = 0; i < PROXY_STATES && has_counters(proxy); i++)
        table_set_integer(table, (size_t)AT_POSTED + (size_t)i, proxy->state[i].steps);
    const char *function =
        function_name((enum function)statement_integer_or(row, COLUMN_FUNCTION, FUNCTION_UNKNOWN));
    const char *tag = statement_text(row, COLUMN_TAG);
    return table_set_text(table, AT_RANK, seat->name, error) ||
           table_set_text(table, AT_DIRECTION, proxy->direction == DIRECTION_SEND ? "send" : "recv", error) ||
           table_set_text(table, AT_PEER, stalls->seats[peer].name, error) ||
           table_set_text(table, AT_COMMUNICATOR, stalls->roster.communicators[member->communicator].label,
                          error) ||
           (function && table_set_text(table, AT_FUNCTION, function, error)) ||
           (tag && table_set_text(table, AT_TAG, tag, error)) ||
           table_set_text(table, AT_READING, reading, error);
}

static int list_row(struct stalls *stalls, struct statement *row, struct table *table, struct error *error)
{
    struct proxy_operation proxy;
    const char *reading;
    const struct roster_member *member =
        roster_member(&stalls->roster, statement_integer_or(row, COLUMN_MEMBER, -1));
    if (!member)
        return 0;
    int unfinished = read_unfinished(row, &proxy, &reading);
    if (unfinished < 0)
        return error_set(error, "a proxy operation of rank %s is damaged", stalls->seats[member->rank].name);
    return unfinished ? add_row(stalls, row, member, &proxy, reading, table, error) : 0;
}

int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error)
{
    if (table_add_columns(table, columns, sizeof columns / sizeof *columns, error))
        return -1;
    struct statement *row = store_prepare(store, schema_analysis_stalls_unfinished, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (list_row(stalls, row, table, error))
            more = -1;
    statement_free(row);
    return more;
}
