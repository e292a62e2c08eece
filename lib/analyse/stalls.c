#include "stalls/stalls.h"
#include "analyse/analyses.h"
#include "analyse/option.h"
#include "analyse/run_choice.h"
#include "analyse/warning.h"
#include "base/array.h"
#include "base/buffer.h"
#include "stalls/load.h"
#include "stalls/pending.h"
#include "stalls/seats.h"
#include "stalls/verdict.h"
#include "stalls/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Network edges, worst first; or their matrix; or the proxy operations that never ended. */

enum {
    OPTION_BY_CHANNEL,
    OPTION_MATRIX,
    OPTION_VALUE,
    OPTION_STATES,
    OPTION_SIGMAS,
    OPTION_FACTOR,
    OPTION_MIN_STALL,
    OPTION_EDGE,
    OPTION_RUN
};

static const struct analysis_option options[] = {
    {"by-channel", 0, NULL, "one row per channel", NULL},
    {"matrix", 0, NULL, "one row per sender, one column per receiver, over all communicators", NULL},
    {"value", 0, "KEY",
     "what the matrix shows: steps, send_wait_us_p50, send_wait_us_max, recv_wait_us_p50, stalled_us or "
     "verdict",
     "send_wait_us_p50"},
    {"states", 0, NULL, "list the proxy operations that never ended, and what each waited for", NULL},
    {"sigmas", 0, "N", "how far beyond its own spread an edge must stand out in a step", "6"},
    {"factor", 0, "N", "how many times its usual wait is slow", "2"},
    {"min-stall", 0, "PERCENT", "what a stall must last in each of its steps, as a share of a median step",
     "3"},
    {"edge", 0, "A-B", "only the edge from global rank A to global rank B", NULL},
    RUN_OPTION,
};

enum {
    AT_SENDER,
    AT_RECEIVER,
    AT_COMMUNICATOR,
    AT_CHANNEL,
    AT_STEPS,
    AT_SEND_P50,
    AT_SEND_MAX,
    AT_RECV_P50,
    AT_STALLED,
    AT_FIRST_STEP,
    AT_LAST_STEP,
    AT_VERDICT,
    AT_WAIT_MEAN,
    AT_USUAL_MEAN,
    AT_SENDER_NAME,
    AT_RECEIVER_NAME,
    AT_RUN
};

static const struct column columns[] = {
    {.name = "sender", .type = CELL_INTEGER, .description = "global rank"},
    {.name = "receiver", .type = CELL_INTEGER, .description = "global rank"},
    {.name = "communicator", .type = CELL_TEXT, .description = "its name, or the global ranks in it"},
    {.name = "channel", .type = CELL_INTEGER, .description = "NCCL's channel; null: all of them"},
    {.name = "steps", .type = CELL_INTEGER, .description = "network steps that the sender recorded"},
    {.name = "send_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "SendWait: the network, or the sender's card; median over network steps"},
    {.name = "send_wait_us_max",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "the longest"},
    {.name = "recv_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "RecvWait: nothing arrived; median over network steps"},
    {.name = "stalled_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "how much longer than usual data stood still in the verdict's steps"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first training step of the verdict"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last training step of the verdict"},
    {.name = "verdict",
     .type = CELL_TEXT,
     .description = "ok, slow link, slow sender, slow receiver, paused once, no credit, no data or unknown"},
    {.name = "verdict_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "mean SendWait in the verdict's steps"},
    {.name = "usual_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "the same, usually"},
    {.name = "sender_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the sender"},
    {.name = "receiver_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the receiver"},
    {.name = "run", .type = CELL_INTEGER, .hidden = 1, .description = "job"},
};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

struct settings {
    struct stalls_options judge;
    int value; /* a column that the matrix shows */
    int has_edge;
    int64_t sender; /* of the only edge that is shown: global ranks */
    int64_t receiver;
};

/* What the matrix can show. */
static const int matrix_values[] = {AT_STEPS, AT_SEND_P50, AT_SEND_MAX, AT_RECV_P50, AT_STALLED, AT_VERDICT};

enum { MATRIX_VALUES = sizeof matrix_values / sizeof *matrix_values };

static const char *option_word(size_t option, size_t number)
{
    return option == OPTION_VALUE && number < MATRIX_VALUES ? columns[matrix_values[number]].name : NULL;
}

static int read_value(const char *name, int *value, struct error *error)
{
    for (size_t i = 0; i < MATRIX_VALUES; i++)
        if (!strcmp(columns[matrix_values[i]].name, name)) {
            *value = matrix_values[i];
            return 0;
        }
    return error_set(error, "--value takes the name of a column, not '%s'", name);
}

/* "1-2": unlike a range of ranks it may go down. */
static int read_edge(const char *text, struct settings *settings, struct error *error)
{
    char *end = NULL;
    errno = 0;
    settings->sender = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    settings->receiver =
        end && *end == '-' && end[1] >= '0' && end[1] <= '9' ? strtoll(end + 1, &end, 10) : -1;
    settings->has_edge = 1;
    return settings->receiver < 0 || *end || errno
               ? error_set(error, "--edge takes two ranks A-B, not '%s'", text)
               : 0;
}

static int read_settings(const struct analysis_request *request, struct settings *settings,
                         struct error *error)
{
    const char *const *values = request->values;
    *settings = (struct settings){0};
    if (values[OPTION_MATRIX] && (values[OPTION_BY_CHANNEL] || values[OPTION_STATES]))
        return error_set(error, "--matrix goes with neither --by-channel nor --states");
    if (values[OPTION_EDGE] && (values[OPTION_MATRIX] || values[OPTION_STATES]))
        return error_set(error, "--edge goes with neither --matrix nor --states");
    if (values[OPTION_EDGE] && read_edge(values[OPTION_EDGE], settings, error))
        return -1;
    if (!values[OPTION_MATRIX] && option_is_given(request, options, OPTION_VALUE))
        return error_set(error, "--value is for --matrix only");
    static const int judging[] = {OPTION_BY_CHANNEL, OPTION_SIGMAS, OPTION_FACTOR, OPTION_MIN_STALL};
    for (size_t i = 0; values[OPTION_STATES] && i < sizeof judging / sizeof *judging; i++)
        if (option_is_given(request, options, judging[i]))
            return error_set(error, "--states judges no edges: not with --%s", options[judging[i]].name);
    if (option_real(values[OPTION_SIGMAS], "sigmas", 0, 1000, &settings->judge.sigmas, error) ||
        option_real(values[OPTION_FACTOR], "factor", 1, 1000, &settings->judge.factor, error) ||
        option_real(values[OPTION_MIN_STALL], "min-stall", 0, 100, &settings->judge.min_stall, error) ||
        read_value(values[OPTION_VALUE], &settings->value, error))
        return -1;
    settings->judge.min_stall /= 100;
    return 0;
}

/* 2: the network stalled. 1: it waited for a GPU. 0: nothing to say. */
static int weight_of(const struct stalls_edge *edge)
{
    if (edge->verdict == STALLS_OK || edge->verdict == STALLS_UNKNOWN)
        return 0;
    return edge->verdict == STALLS_NO_DATA ? 1 : 2;
}

static int by_trouble(const void *a, const void *b)
{
    const struct stalls_edge *left = a, *right = b;
    if (weight_of(left) != weight_of(right))
        return weight_of(right) - weight_of(left);
    if (left->stalled_ns != right->stalled_ns)
        return left->stalled_ns > right->stalled_ns ? -1 : 1;
    int order = strcmp(left->label, right->label);
    const int32_t keys[][2] = {{left->run, right->run},
                               {left->sender, right->sender},
                               {left->receiver, right->receiver},
                               {order, 0},
                               {left->communicator, right->communicator},
                               {left->channel, right->channel}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void set_us(struct table *table, size_t column, double time_us)
{
    if (time_us >= 0)
        table_set_real(table, column, time_us);
}

/* One of the figures, into a column of any table. */
static int set_figure(struct table *table, size_t column, int figure, const struct stalls_edge *edge,
                      struct error *error)
{
    switch (figure) {
    case AT_STEPS:
        table_set_integer(table, column, edge->sent_steps);
        return 0;
    case AT_SEND_P50:
        set_us(table, column, stalls_median_us(&edge->send));
        return 0;
    case AT_SEND_MAX:
        set_us(table, column, edge->send.count ? (double)edge->send_wait_max_ns / 1e3 : -1);
        return 0;
    case AT_RECV_P50:
        set_us(table, column, stalls_median_us(&edge->receive));
        return 0;
    case AT_STALLED:
        if (edge->verdict != STALLS_UNKNOWN)
            table_set_real(table, column, (double)edge->stalled_ns / 1e3);
        return 0;
    default:
        return table_set_text(table, column, stalls_verdict_name(edge->verdict), error);
    }
}

static int add_edge(const struct stalls *stalls, const struct stalls_edge *edge, struct table *table,
                    struct error *error)
{
    static const int figures[] = {AT_STEPS, AT_SEND_P50, AT_SEND_MAX, AT_RECV_P50, AT_STALLED, AT_VERDICT};
    const struct stalls_seat *sender = &stalls->seats[edge->sender];
    const struct stalls_seat *receiver = &stalls->seats[edge->receiver];
    if (table_add_row(table, error))
        return -1;
    if (sender->global_rank >= 0)
        table_set_integer(table, AT_SENDER, sender->global_rank);
    if (receiver->global_rank >= 0)
        table_set_integer(table, AT_RECEIVER, receiver->global_rank);
    if (edge->channel >= 0)
        table_set_integer(table, AT_CHANNEL, edge->channel);
    if (edge->first_step >= 0) {
        table_set_integer(table, AT_FIRST_STEP, edge->first_step);
        table_set_integer(table, AT_LAST_STEP, edge->last_step);
    }
    set_us(table, AT_WAIT_MEAN, edge->wait_mean_ns / 1e3);
    set_us(table, AT_USUAL_MEAN, edge->usual_mean_ns / 1e3);
    table_set_integer(table, AT_RUN, stalls->runs[edge->run].id);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (set_figure(table, (size_t)figures[i], figures[i], edge, error))
            return -1;
    return table_set_text(table, AT_COMMUNICATOR, edge->label, error) ||
           table_set_text(table, AT_SENDER_NAME, sender->name, error) ||
           table_set_text(table, AT_RECEIVER_NAME, receiver->name, error);
}

/* Names stand in for numbers that nobody knows. */
static int has_unnumbered(const struct stalls *stalls)
{
    int unnumbered = 0;
    for (size_t i = 0; i < stalls->seat_count; i++)
        unnumbered |= stalls->seats[i].global_rank < 0;
    return unnumbered;
}

static int is_asked_for(const struct stalls *stalls, const struct stalls_edge *edge,
                        const struct settings *settings)
{
    return !settings->has_edge || (stalls->seats[edge->sender].global_rank == settings->sender &&
                                   stalls->seats[edge->receiver].global_rank == settings->receiver);
}

static int show_edges(struct stalls *stalls, const struct settings *settings, struct table *table,
                      struct error *error)
{
    struct column shown[COLUMN_COUNT];
    memcpy(shown, columns, sizeof columns);
    /* The column that says nothing makes place. */
    shown[AT_SENDER_NAME].hidden = shown[AT_RECEIVER_NAME].hidden = !has_unnumbered(stalls);
    shown[AT_CHANNEL].hidden = !stalls->by_channel;
    shown[AT_RUN].hidden = stalls->run_count < 2;
    if (table_add_columns(table, shown, COLUMN_COUNT, error))
        return -1;
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_trouble);
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (is_asked_for(stalls, &stalls->edges[i], settings) &&
            add_edge(stalls, &stalls->edges[i], table, error))
            return -1;
    return 0;
}

static int by_sender(const void *a, const void *b)
{
    const struct stalls_edge *left = a, *right = b;
    if (left->sender != right->sender)
        return left->sender < right->sender ? -1 : 1;
    return (left->receiver > right->receiver) - (left->receiver < right->receiver);
}

static int by_rank(const void *a, const void *b)
{
    const struct stalls_seat *left = *(struct stalls_seat *const *)a,
                             *right = *(struct stalls_seat *const *)b;
    if (left->global_rank != right->global_rank)
        return (uint64_t)left->global_rank < (uint64_t)right->global_rank ? -1
                                                                          : 1; /* those without one last */
    return strcmp(left->name, right->name);
}

/* Of every edge, those of one rank side by side, whatever their runs. */
static void list_receivers(const struct stalls *stalls, const struct stalls_seat **list)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        list[i] = &stalls->seats[stalls->edges[i].receiver];
    array_sort(list, stalls->edge_count, sizeof *list, by_rank);
}

static int add_receiver(const struct stalls_seat *seat, const struct column *figure, struct table *table,
                        struct error *error)
{
    struct buffer name = BUFFER_INIT;
    struct column column = *figure;
    column.hidden = 0;
    column.name = buffer_append_text(&name, "to_") || buffer_append_text(&name, seat->name)
                      ? NULL
                      : table_keep_text(table, name.data);
    buffer_release(&name);
    return column.name ? table_add_column(table, column, error) : error_no_memory(error);
}

/* A column for every rank that is a receiver, which runs share: each row has its own. */
static int add_receivers(const struct stalls *stalls, const struct column *figure, size_t *column_of,
                         struct table *table, struct error *error)
{
    const struct stalls_seat **list = array_new(stalls->edge_count + 1, sizeof *list);
    int failed = list ? 0 : error_no_memory(error);
    if (!failed)
        list_receivers(stalls, list);
    for (size_t i = 0; !failed && i < stalls->edge_count; i++) {
        if (!i || by_rank(&list[i - 1], &list[i]))
            failed = add_receiver(list[i], figure, table, error);
        column_of[list[i] - stalls->seats] = table->column_count - 1;
    }
    free(list);
    return failed;
}

static int fill_matrix(struct stalls *stalls, int figure, const size_t *column_of, struct table *table,
                       struct error *error)
{
    for (size_t i = 0; i < stalls->edge_count; i++) {
        const struct stalls_edge *edge = &stalls->edges[i];
        if (!i || edge->sender != stalls->edges[i - 1].sender) {
            const struct stalls_seat *sender = &stalls->seats[edge->sender];
            if (table_add_row(table, error) || table_set_text(table, 1, sender->name, error))
                return -1;
            if (sender->global_rank >= 0)
                table_set_integer(table, 0, sender->global_rank);
            table_set_integer(table, 2, stalls->runs[edge->run].id);
        }
        if (set_figure(table, column_of[edge->receiver], figure, edge, error))
            return -1;
    }
    return 0;
}

/* Cells of a matrix: 2048 ranks, each with each. Hostile traces name any number of peers. */
enum { MOST_CELLS = 1 << 22 };

/* Edges are in order of their senders. */
static int check_matrix(const struct stalls *stalls, const struct table *table, struct error *error)
{
    size_t senders = 0, receivers = table->column_count;
    for (size_t i = 0; i < stalls->edge_count; i++)
        senders += !i || stalls->edges[i].sender != stalls->edges[i - 1].sender;
    if (senders * receivers <= MOST_CELLS)
        return 0;
    return error_set(
        error, "%zu senders are too many for a matrix of %zu columns: without --matrix each edge is a row",
        senders, receivers);
}

static int show_matrix(struct stalls *stalls, int figure, struct table *table, struct error *error)
{
    const struct column heads[] = {
        {.name = "sender", .type = CELL_INTEGER, .description = "global rank"},
        {.name = "sender_name",
         .type = CELL_TEXT,
         .hidden = !has_unnumbered(stalls),
         .description = "its name, where nobody knows its number"},
        {.name = "run", .type = CELL_INTEGER, .hidden = stalls->run_count < 2, .description = "job"},
    };
    size_t *column_of = array_new(stalls->seat_count + 1, sizeof *column_of);
    if (!column_of)
        return error_no_memory(error);
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_sender);
    int failed = table_add_columns(table, heads, sizeof heads / sizeof *heads, error) ||
                 add_receivers(stalls, &columns[figure], column_of, table, error) ||
                 check_matrix(stalls, table, error) || fill_matrix(stalls, figure, column_of, table, error);
    free(column_of);
    return failed ? -1 : 0;
}

static int warn(const struct stalls *stalls, struct table *table, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < stalls->run_count; i++) {
        const struct stalls_run *run = &stalls->runs[i];
        if (!run->network_steps)
            failed = table_add_warning(
                table, error,
                "run %lld: its traces hold no network steps (ranks of one node talk to each other directly, "
                "and Inspector does not record them): stalls cannot be told",
                (long long)run->id);
        else if (run->step_count - run->first_step < 3)
            failed = table_add_warning(table, error,
                                       "run %lld: fewer than three training steps could be told apart after "
                                       "the warm-up: nothing to compare with, the verdict is unknown",
                                       (long long)run->id);
    }
    if (!failed && stalls->detached_steps)
        failed = table_add_warning(table, error,
                                   "%lld network steps stand apart from any operation (sent for other "
                                   "processes): they are on no edge",
                                   (long long)stalls->detached_steps);
    return failed;
}

static int analyse(struct stalls *stalls, const struct analysis_request *request,
                   const struct settings *settings, const struct runs *runs, struct table *table,
                   struct error *error)
{
    stalls->by_channel = request->values[OPTION_BY_CHANNEL] != NULL;
    stalls->by_communicator = !request->values[OPTION_MATRIX];
    if (caution_no_operations(request->store, runs, table, error) ||
        (runs->count && caution_bare_calls(request->store, runs->only, table, error)) ||
        stalls_load_names(stalls, request->store, runs->only, error))
        return -1;
    if (request->values[OPTION_STATES])
        return stalls_list_states(stalls, request->store, table, error);
    if (stalls_load_steps(stalls, request->store, error) || stalls_judge(stalls, &settings->judge, error))
        return -1;
    return (request->values[OPTION_MATRIX] ? show_matrix(stalls, settings->value, table, error)
                                           : show_edges(stalls, settings, table, error)) ||
           warn(stalls, table, error);
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct settings settings;
    if (read_settings(request, &settings, error)) {
        *usage = 1;
        return -1;
    }
    struct runs runs;
    if (runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    struct stalls stalls;
    stalls_init(&stalls);
    int failed = analyse(&stalls, request, &settings, &runs, &result->table, error);
    stalls_release(&stalls);
    runs_release(&runs);
    return failed ? -1 : 0;
}

const struct analysis analysis_stalls = {
    .name = "stalls",
    .summary = "network edges on which data stood still",
    .description =
        "A row for each directed edge and communicator, from the steps of NCCL's proxy threads: what each "
        "side waited for, and whether that stands out from the edge's own history or from the edges that do "
        "the same work.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .word = option_word,
    .run = run,
};
