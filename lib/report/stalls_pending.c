/*
 * Proxy operations that never ended, and what each was waiting for. Counters of profiler API v1 to v3 show
 * how many network steps reached which state; later versions have no counters, and the wait that is still
 * open shows it.
 */
#include "base/base.h"
#include "model/model.h"
#include "report/stalls.h"
#include "store/store.h"

#include "schemas.h"

#include <string.h>

enum {
    AT_RANK,
    AT_DIRECTION,
    AT_PEER,
    PENDING_AT_COMMUNICATOR,
    PENDING_AT_CHANNEL,
    AT_FUNCTION,
    AT_SEQUENCE,
    AT_TAG,
    AT_STEP,
    PENDING_AT_STEPS,
    AT_POSTED,
    AT_PEER_READY,
    AT_TRANSMITTED,
    AT_DONE,
    AT_READING,
    PENDING_AT_SENDER,
    PENDING_AT_RECEIVER,
    PENDING_AT_SENDER_NAME,
    PENDING_AT_RECEIVER_NAME,
    PENDING_AT_FIRST_STEP,
    PENDING_AT_LAST_STEP,
    PENDING_AT_VERDICT,
    PENDING_AT_RUN = PENDING_AT_VERDICT + 7,
    PENDING_AT_SENDER_HOST,
    PENDING_AT_RECEIVER_HOST
};

static const struct column columns[] = {
    {.name = "rank", .type = CELL_TEXT, .description = "rank that recorded the proxy operation"},
    {.name = "direction", .type = CELL_TEXT, .description = "send or recv"},
    {.name = "peer", .type = CELL_TEXT, .description = "rank that it sends to or receives from"},
    {.name = "communicator",
     .type = CELL_TEXT,
     .description = "name of the communicator, or its global ranks"},
    {.name = "channel", .type = CELL_INTEGER, .description = "NCCL channel"},
    {.name = "function", .type = CELL_TEXT, .description = "NCCL function of the operation"},
    {.name = "sequence",
     .type = CELL_INTEGER,
     .description = "sequence number of the operation, per communicator and function"},
    {.name = "tag", .type = CELL_TEXT, .description = "user tag when the operation was issued"},
    {.name = "step", .type = CELL_INTEGER, .description = "training step"},
    {.name = "steps", .type = CELL_INTEGER, .description = "number of network steps of the proxy operation"},
    {.name = "posted", .type = CELL_INTEGER, .description = "counter POSTED: buffers posted"},
    {.name = "peer_ready",
     .type = CELL_INTEGER,
     .description = "counter REM_FIFO_WAIT of a send, counter RECEIVED of a receive"},
    {.name = "transmitted", .type = CELL_INTEGER, .description = "counter TRANSMITTED"},
    {.name = "done", .type = CELL_INTEGER, .description = "counter DONE"},
    {.name = "reading", .type = CELL_TEXT, .description = "what the proxy operation was waiting for"},
    /* The columns that rows of edges have too, for programs that read those. */
    {.name = "sender", .type = CELL_INTEGER, .hidden = 1, .description = "global rank of the sender"},
    {.name = "receiver", .type = CELL_INTEGER, .hidden = 1, .description = "global rank of the receiver"},
    {.name = "sender_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the sender"},
    {.name = "receiver_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the receiver"},
    {.name = "first_step",
     .type = CELL_INTEGER,
     .hidden = 1,
     .description = "training step of the operation"},
    {.name = "last_step", .type = CELL_INTEGER, .hidden = 1, .description = "same as the column before"},
    {.name = "verdict",
     .type = CELL_TEXT,
     .hidden = 1,
     .description = "always unknown: there is no baseline to compare with"},
    {.name = "send_wait_us_p50", .type = CELL_REAL, .unit = "us", .hidden = 1, .description = "always null"},
    {.name = "send_wait_us_max", .type = CELL_REAL, .unit = "us", .hidden = 1, .description = "always null"},
    {.name = "recv_wait_us_p50", .type = CELL_REAL, .unit = "us", .hidden = 1, .description = "always null"},
    {.name = "stalled_us", .type = CELL_REAL, .unit = "us", .hidden = 1, .description = "always null"},
    {.name = "verdict_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .hidden = 1,
     .description = "always null"},
    {.name = "usual_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .hidden = 1,
     .description = "always null"},
    {.name = "run", .type = CELL_INTEGER, .hidden = 1, .description = "job"},
    {.name = "sender_host",
     .type = CELL_TEXT,
     .hidden = 1,
     .description = "host of the sender; null if unknown"},
    {.name = "receiver_host",
     .type = CELL_TEXT,
     .hidden = 1,
     .description = "host of the receiver; null if unknown"},
};

static const char *read_send(int64_t posted, int64_t transmitted, int64_t done)
{
    if (done < transmitted && transmitted < posted)
        return "in flight, not acknowledged; then waiting for receiver credit or for data";
    if (done < transmitted)
        return "in flight, not acknowledged";
    return transmitted < posted ? "waiting for receiver credit or for data" : NULL;
}

static const char *read_receive(int64_t posted, int64_t received, int64_t transmitted, int64_t done)
{
    if (done < transmitted)
        return "arrived, not consumed by the GPU";
    if (transmitted < received)
        return "arrived, not flushed";
    return received < posted ? "no data arrived" : NULL;
}

const char *stalls_pending_state(const struct proxy_operation *proxy)
{
    int64_t posted = proxy->state[STATE_POSTED].steps, ready = proxy->state[STATE_PEER].steps;
    int64_t transmitted = proxy->state[STATE_TRANSMITTED].steps, done = proxy->state[STATE_DONE].steps;
    const char *reading = proxy->direction == DIRECTION_SEND ? read_send(posted, transmitted, done)
                                                             : read_receive(posted, ready, transmitted, done);
    if (reading)
        return reading;
    return done < proxy->step_count ? "waiting for the GPU" : "all done";
}

static int is_open(const struct interval_ns *wait)
{
    return wait->begin_ns != TIME_UNKNOWN && wait->end_ns == TIME_UNKNOWN;
}

static const char *read_open_wait(enum direction direction, const struct proxy_step *step)
{
    int sends = direction == DIRECTION_SEND;
    if (is_open(&step->wait[WAIT_NETWORK]))
        return sends ? "in flight, not acknowledged" : "no data arrived";
    if (is_open(&step->wait[WAIT_FLUSH]))
        return "arrived, not flushed";
    if (is_open(&step->wait[WAIT_PEER]))
        return "waiting for receiver credit";
    if (is_open(&step->wait[WAIT_GPU]))
        return sends ? "waiting for the GPU" : "arrived, not consumed by the GPU";
    return is_open(&step->wait[WAIT_BUFFER]) ? "waiting for a free buffer" : NULL;
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

/* The first open network step holds up the steps behind it. NULL with return value 0: no step is open. */
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

/* If all counters are 0, NCCL no longer fills them in behind the older interface. */
static int has_counters(const struct proxy_operation *proxy)
{
    int64_t sum = 0;
    for (int i = 0; i < PROXY_STATES; i++)
        sum |= proxy->state[i].steps;
    return proxy->has_states && sum != 0;
}

/* Returns 0 for an operation that is done, -1 for a damaged row. */
static int read_unfinished(struct statement *row, struct proxy_operation *proxy, const char **reading)
{
    size_t length;
    const void *blob = statement_blob(row, COLUMN_STATES, &length);
    *proxy = (struct proxy_operation){.direction = (enum direction)statement_integer(row, COLUMN_DIRECTION),
                                      .step_count = statement_integer(row, COLUMN_STEP_COUNT)};
    if (blob && unpack_states(blob, length, statement_integer_or(row, COLUMN_BEGIN, 0), proxy))
        return -1;
    if (has_counters(proxy)) {
        *reading = stalls_pending_state(proxy);
        return proxy->state[STATE_DONE].steps < proxy->step_count ||
               proxy->state[STATE_DONE].steps < proxy->state[STATE_POSTED].steps;
    }
    if (!statement_is_null(row, COLUMN_END))
        return 0;
    if (read_steps(row, proxy->direction, reading))
        return -1;
    if (!*reading)
        *reading = statement_is_null(row, COLUMN_BEGIN) ? "never started" : "unknown";
    return 1;
}

/* An unfinished proxy operation: its edge, and what it was waiting for. */
struct unfinished {
    struct statement *row;
    const struct roster_member *member;
    struct proxy_operation proxy;
    const char *reading;
    int32_t sender; /* index in member_list, like `receiver` */
    int32_t receiver;
};

/* The function that is called for each of them. */
struct taker {
    int (*take)(const struct stalls *stalls, const struct unfinished *unfinished, void *context,
                struct error *error);
    void *context;
};

static int set_edge(const struct stalls *stalls, const struct unfinished *unfinished, struct table *table,
                    struct error *error)
{
    const struct stalls_member *sender = &stalls->member_list[unfinished->sender];
    const struct stalls_member *receiver = &stalls->member_list[unfinished->receiver];
    if (sender->global_rank >= 0)
        table_set_integer(table, PENDING_AT_SENDER, sender->global_rank);
    if (receiver->global_rank >= 0)
        table_set_integer(table, PENDING_AT_RECEIVER, receiver->global_rank);
    const char *sender_host = stalls_host_of(stalls, unfinished->sender),
               *receiver_host = stalls_host_of(stalls, unfinished->receiver);
    return (sender_host && table_set_text(table, PENDING_AT_SENDER_HOST, sender_host, error)) ||
           (receiver_host && table_set_text(table, PENDING_AT_RECEIVER_HOST, receiver_host, error)) ||
           table_set_text(table, PENDING_AT_SENDER_NAME, sender->name, error) ||
           table_set_text(table, PENDING_AT_RECEIVER_NAME, receiver->name, error) ||
           table_set_text(table, PENDING_AT_VERDICT, stalls_verdict_name(STALLS_UNKNOWN), error);
}

static void set_step(struct statement *row, struct table *table)
{
    if (statement_is_null(row, COLUMN_STEP))
        return;
    table_set_integer(table, AT_STEP, statement_integer(row, COLUMN_STEP));
    table_set_integer(table, PENDING_AT_FIRST_STEP, statement_integer(row, COLUMN_STEP));
    table_set_integer(table, PENDING_AT_LAST_STEP, statement_integer(row, COLUMN_STEP));
}

static int add_row(const struct stalls *stalls, const struct unfinished *unfinished, void *context,
                   struct error *error)
{
    struct table *table = context;
    struct statement *row = unfinished->row;
    const struct proxy_operation *proxy = &unfinished->proxy;
    const struct stalls_member *member = &stalls->member_list[unfinished->member->rank];
    int sends = proxy->direction == DIRECTION_SEND;
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, PENDING_AT_CHANNEL, statement_integer(row, COLUMN_CHANNEL));
    table_set_integer(table, PENDING_AT_STEPS, proxy->step_count);
    table_set_integer(table, PENDING_AT_RUN, stalls->runs[member->run].id);
    if (!statement_is_null(row, COLUMN_SEQUENCE))
        table_set_integer(table, AT_SEQUENCE, statement_integer(row, COLUMN_SEQUENCE));
    set_step(row, table);
    for (int i = 0; i < PROXY_STATES && has_counters(proxy); i++)
        table_set_integer(table, (size_t)AT_POSTED + (size_t)i, proxy->state[i].steps);
    const char *function =
        function_name((enum function)statement_integer_or(row, COLUMN_FUNCTION, FUNCTION_UNKNOWN));
    const char *tag = statement_text(row, COLUMN_TAG);
    int32_t peer = sends ? unfinished->receiver : unfinished->sender;
    return table_set_text(table, AT_RANK, member->name, error) ||
           table_set_text(table, AT_DIRECTION, sends ? "send" : "recv", error) ||
           table_set_text(table, AT_PEER, stalls->member_list[peer].name, error) ||
           table_set_text(table, PENDING_AT_COMMUNICATOR,
                          stalls->roster.communicators[unfinished->member->communicator].label, error) ||
           (function && table_set_text(table, AT_FUNCTION, function, error)) ||
           (tag && table_set_text(table, AT_TAG, tag, error)) ||
           table_set_text(table, AT_READING, unfinished->reading, error) ||
           set_edge(stalls, unfinished, table, error);
}

static int take_row(struct stalls *stalls, struct statement *row, const struct taker *taker,
                    struct error *error)
{
    struct unfinished unfinished = {
        .row = row, .member = roster_member(&stalls->roster, statement_integer_or(row, COLUMN_MEMBER, -1))};
    if (!unfinished.member)
        return 0;
    int is_unfinished = read_unfinished(row, &unfinished.proxy, &unfinished.reading);
    if (is_unfinished < 0)
        return error_set(error, "a proxy operation of rank %s is damaged",
                         stalls->member_list[unfinished.member->rank].name);
    if (!is_unfinished)
        return 0;
    int32_t own = unfinished.member->rank;
    int32_t peer =
        stalls_member(stalls, unfinished.member->communicator, statement_integer(row, COLUMN_PEER));
    int sends = unfinished.proxy.direction == DIRECTION_SEND;
    if (peer < 0)
        return error_no_memory(error);
    unfinished.sender = sends ? own : peer;
    unfinished.receiver = sends ? peer : own;
    return taker->take(stalls, &unfinished, taker->context, error);
}

static int take_all(struct stalls *stalls, struct store *store, const struct taker *taker,
                    struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_stalls_unfinished, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_row(stalls, row, taker, error))
            more = -1;
    statement_free(row);
    return more;
}

int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error)
{
    const struct taker taker = {add_row, table};
    return table_add_columns(table, columns, sizeof columns / sizeof *columns, error) ||
                   take_all(stalls, store, &taker, error)
               ? -1
               : 0;
}

static int count_reading(const struct stalls *stalls, const struct unfinished *unfinished, void *context,
                         struct error *error)
{
    struct pending_state_counts *counted = context;
    size_t at = 0;
    while (at < counted->count && strcmp(counted->items[at].reading, unfinished->reading) != 0)
        at++;
    if (at == PENDING_STATES_MOST)
        return error_set(error, "there are more readings of proxy operations than are known");
    struct pending_state_count *count = &counted->items[at];
    if (at == counted->count) {
        counted->count++;
        *count = (struct pending_state_count){
            .reading = unfinished->reading, .sender = unfinished->sender, .receiver = unfinished->receiver};
    }
    count->count++;
    count->has_others |= count->sender != unfinished->sender || count->receiver != unfinished->receiver;
    return 0;
}

int stalls_count_states(struct stalls *stalls, struct store *store, struct pending_state_counts *counted,
                        struct error *error)
{
    const struct taker taker = {count_reading, counted};
    *counted = (struct pending_state_counts){.count = 0};
    return take_all(stalls, store, &taker, error);
}
