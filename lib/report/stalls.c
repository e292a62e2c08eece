/*
 * The command stalls: its options and tables, by edge, as a matrix, or with the proxy operations that never
 * ended. stalls_load.c reads the network steps, stalls_verdict.c takes the
 * verdicts on the edges from the account of diagnose.
 */
#include "report/stalls.h"
#include "base/base.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum colour stalls_verdict_colour(const char *name)
{
    for (enum stalls_verdict i = STALLS_OK; i <= STALLS_NOT_CONFIRMED; i++)
        if (strcmp(name, stalls_verdict_name(i)) == 0)
            return stalls_is_slow(i)           ? COLOUR_ALARM
                   : i == STALLS_NOT_CONFIRMED ? COLOUR_CAUTION
                                               : COLOUR_NONE;
    return COLOUR_NONE;
}

static const struct column stalls_columns[STALLS_COLUMNS] = {
    {.name = "sender", .type = CELL_INTEGER, .description = "global rank of the sender"},
    {.name = "receiver", .type = CELL_INTEGER, .description = "global rank of the receiver"},
    COMMUNICATOR_COLUMN,
    {.name = "channel", .type = CELL_INTEGER, .description = "NCCL channel; null: all channels"},
    {.name = "steps", .type = CELL_INTEGER, .description = "network steps that the sender recorded"},
    {.name = "send_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "SendWait: time handed to the network, but not sent; median over network steps"},
    {.name = "send_wait_us_max",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "longest SendWait"},
    {.name = "recv_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "RecvWait: time until data arrived; median over network steps"},
    {.name = "stalled_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "wait above the baseline in the steps of the verdict"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first training step of the verdict"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last training step of the verdict"},
    {.name = "verdict",
     .type = CELL_TEXT,
     .colour_of = stalls_verdict_colour,
     .description = "verdict of diagnose: ok, slow link, slow sender, slow receiver, paused once, no data "
                    "(the sender was late), no credit (the receiver was late), not confirmed (the link was "
                    "slow, without a finding) or unknown"},
    {.name = "verdict_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "mean SendWait in the steps of the verdict"},
    {.name = "usual_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "baseline of the mean SendWait"},
    {.name = "sender_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the sender"},
    {.name = "receiver_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the receiver"},
    JOB_COLUMN,
    {.name = "sender_host", .type = CELL_TEXT, .description = "host of the sender; null if unknown"},
    {.name = "receiver_host", .type = CELL_TEXT, .description = "host of the receiver; null if unknown"},
};

static void set_us(struct table *table, size_t column, double time_us)
{
    if (time_us >= 0)
        table_set_real(table, column, time_us);
}

/* Writes a figure of an edge into a column of any table. */
static int stalls_set_figure(struct table *table, size_t column, enum stalls_column figure,
                             const struct stalls_edge *edge, struct error *error)
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

/* Whether some rank has no number, so that names are shown in its place. */
static int stalls_has_unnumbered(const struct stalls *stalls)
{
    int unnumbered = 0;
    for (size_t i = 0; i < stalls->member_list_count; i++)
        unnumbered |= stalls->member_list[i].global_rank < 0;
    return unnumbered;
}

/* Order of edges: 3: the network is blamed. 2: it was slow. 1: it waited for one of its ends. 0: nothing. */
static int weight_of(const struct stalls_edge *edge)
{
    if (stalls_is_slow(edge->verdict))
        return 3;
    if (edge->verdict == STALLS_NOT_CONFIRMED)
        return 2;
    return edge->verdict != STALLS_OK && edge->verdict != STALLS_UNKNOWN;
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
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

static int set_hosts(const struct stalls *stalls, const struct stalls_edge *edge, struct table *table,
                     struct error *error)
{
    const char *sender = stalls_host_of(stalls, edge->sender),
               *receiver = stalls_host_of(stalls, edge->receiver);
    return (sender && table_set_text(table, AT_SENDER_HOST, sender, error)) ||
           (receiver && table_set_text(table, AT_RECEIVER_HOST, receiver, error));
}

static int add_edge(const struct stalls *stalls, const struct stalls_edge *edge, struct table *table,
                    struct error *error)
{
    static const enum stalls_column figures[] = {AT_STEPS,    AT_SEND_P50, AT_SEND_MAX,
                                                 AT_RECV_P50, AT_STALLED,  AT_VERDICT};
    const struct stalls_member *sender = &stalls->member_list[edge->sender];
    const struct stalls_member *receiver = &stalls->member_list[edge->receiver];
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
        if (stalls_set_figure(table, (size_t)figures[i], figures[i], edge, error))
            return -1;
    return table_set_text(table, AT_COMMUNICATOR, edge->label, error) ||
           table_set_text(table, AT_SENDER_NAME, sender->name, error) ||
           table_set_text(table, AT_RECEIVER_NAME, receiver->name, error) ||
           set_hosts(stalls, edge, table, error);
}

/* Whether a host is known. */
static int has_hosts(const struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (stalls_host_of(stalls, stalls->edges[i].sender) ||
            stalls_host_of(stalls, stalls->edges[i].receiver))
            return 1;
    return 0;
}

static int is_asked_for(const struct stalls *stalls, const struct stalls_edge *edge,
                        const struct only_edge *only)
{
    return !only->is_asked || (stalls->member_list[edge->sender].global_rank == only->sender &&
                               stalls->member_list[edge->receiver].global_rank == only->receiver);
}

int stalls_show_edges(struct stalls *stalls, const struct only_edge *only, struct table *table,
                      struct error *error)
{
    struct column shown[STALLS_COLUMNS];
    memcpy(shown, stalls_columns, sizeof shown);
    /* Columns that have the same value in every row are hidden. */
    shown[AT_SENDER_NAME].hidden = shown[AT_RECEIVER_NAME].hidden = !stalls_has_unnumbered(stalls);
    shown[AT_CHANNEL].hidden = !stalls->by_channel;
    shown[AT_RUN].hidden = stalls->run_count < 2;
    shown[AT_SENDER_HOST].hidden = shown[AT_RECEIVER_HOST].hidden = !has_hosts(stalls);
    if (table_add_columns(table, shown, STALLS_COLUMNS, error))
        return -1;
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_trouble);
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (is_asked_for(stalls, &stalls->edges[i], only) &&
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
    const struct stalls_member *left = *(struct stalls_member *const *)a,
                               *right = *(struct stalls_member *const *)b;
    if (left->global_rank != right->global_rank)
        return (uint64_t)left->global_rank < (uint64_t)right->global_rank
                   ? -1
                   : 1; /* edges without such steps come last */
    return strcmp(left->name, right->name);
}

/* Lists the receivers of all edges; entries for one rank in several runs are adjacent. */
static void list_receivers(const struct stalls *stalls, const struct stalls_member **list)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        list[i] = &stalls->member_list[stalls->edges[i].receiver];
    array_sort(list, stalls->edge_count, sizeof *list, by_rank);
}

static int add_receiver(const struct stalls_member *member, const struct column *figure, struct table *table,
                        struct error *error)
{
    struct buffer name = BUFFER_INIT;
    struct column column = *figure;
    column.hidden = 0;
    column.name = buffer_append_text(&name, "to_") || buffer_append_text(&name, member->name)
                      ? NULL
                      : table_keep_text(table, name.data);
    buffer_release(&name);
    return column.name ? table_add_column(table, column, error) : error_no_memory(error);
}

/*
 * Adds a column for each rank that is a receiver; runs share a column, because each row belongs to one run.
 */
static int add_receivers(const struct stalls *stalls, const struct column *figure, size_t *column_of,
                         struct table *table, struct error *error)
{
    const struct stalls_member **list = array_new(stalls->edge_count + 1, sizeof *list);
    int failed = list ? 0 : error_no_memory(error);
    if (!failed)
        list_receivers(stalls, list);
    for (size_t i = 0; !failed && i < stalls->edge_count; i++) {
        if (!i || by_rank(&list[i - 1], &list[i]))
            failed = add_receiver(list[i], figure, table, error);
        column_of[list[i] - stalls->member_list] = table->column_count - 1;
    }
    free(list);
    return failed;
}

static int fill_matrix(struct stalls *stalls, enum stalls_column figure, const size_t *column_of,
                       struct table *table, struct error *error)
{
    for (size_t i = 0; i < stalls->edge_count; i++) {
        const struct stalls_edge *edge = &stalls->edges[i];
        if (!i || edge->sender != stalls->edges[i - 1].sender) {
            const struct stalls_member *sender = &stalls->member_list[edge->sender];
            if (table_add_row(table, error) || table_set_text(table, 1, sender->name, error))
                return -1;
            if (sender->global_rank >= 0)
                table_set_integer(table, 0, sender->global_rank);
            table_set_integer(table, 2, stalls->runs[edge->run].id);
        }
        if (stalls_set_figure(table, column_of[edge->receiver], figure, edge, error))
            return -1;
    }
    return 0;
}

/* Most cells of a matrix: 2048 ranks by 2048. A hostile trace can name any number of peers. */
enum { MOST_CELLS = 1 << 22 };

/* Requires the edges to be sorted by sender. */
static int check_matrix(const struct stalls *stalls, const struct table *table, struct error *error)
{
    size_t senders = 0, receivers = table->column_count;
    for (size_t i = 0; i < stalls->edge_count; i++)
        senders += !i || stalls->edges[i].sender != stalls->edges[i - 1].sender;
    if (senders * receivers <= MOST_CELLS)
        return 0;
    return error_set(
        error, "%zu senders and %zu columns are too many for a matrix; without --matrix, each link is a row",
        senders, receivers);
}

/* Adds a row for each sender and a column for each receiver; the cells have one of the figures. */
static int stalls_show_matrix(struct stalls *stalls, enum stalls_column figure, struct table *table,
                              struct error *error)
{
    const struct column heads[] = {
        {.name = "sender", .type = CELL_INTEGER, .description = "global rank of the sender"},
        {.name = "sender_name",
         .type = CELL_TEXT,
         .hidden = !stalls_has_unnumbered(stalls),
         .description = "name of the sender, if its global rank is unknown"},
        {.name = "run", .type = CELL_INTEGER, .hidden = stalls->run_count < 2, .description = "job"},
    };
    size_t *column_of = array_new(stalls->member_list_count + 1, sizeof *column_of);
    if (!column_of)
        return error_no_memory(error);
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_sender);
    int failed = table_add_columns(table, heads, sizeof heads / sizeof *heads, error) ||
                 add_receivers(stalls, &stalls_columns[figure], column_of, table, error) ||
                 check_matrix(stalls, table, error) || fill_matrix(stalls, figure, column_of, table, error);
    free(column_of);
    return failed ? -1 : 0;
}

enum {
    OPTION_BY_CHANNEL,
    OPTION_MATRIX,
    OPTION_VALUE,
    OPTION_STATES,
    OPTION_SIGMAS,
    OPTION_FACTOR,
    OPTION_MIN_STALL,
    OPTION_EDGE,
    OPTION_RUN,
    OPTION_MEMORY
};

static const struct analysis_option options[] = {
    {"by-channel", 0, NULL, "one row per link and NCCL channel", NULL},
    {"matrix", 0, NULL, "show a sender-by-receiver matrix over all communicators", NULL},
    {"value", 0, "KEY",
     "value shown by --matrix: steps, send_wait_us_p50, send_wait_us_max, recv_wait_us_p50, stalled_us or "
     "verdict",
     "send_wait_us_p50"},
    {"states", 0, NULL, "list unfinished proxy operations and what each one waits for", NULL},
    {"sigmas", 0, "N", "threshold of a slow link in a step, in robust standard deviations", "6"},
    {"factor", 0, "N", "a link is slow when its wait is at least N times its baseline", "2"},
    {"min-stall", 0, "PERCENT", "shortest stall to report, per step, in % of the median step", "3"},
    {"edge", 0, "A-B", "show only the link from global rank A to global rank B", NULL},
    RUN_OPTION,
    MEMORY_OPTION,
};

struct settings {
    struct stalls_options judge;
    int value; /* column that the matrix shows */
    struct only_edge only;
};

/* The columns that the matrix can show. */
static const int matrix_values[] = {AT_STEPS, AT_SEND_P50, AT_SEND_MAX, AT_RECV_P50, AT_STALLED, AT_VERDICT};

enum { MATRIX_VALUES = sizeof matrix_values / sizeof *matrix_values };

static const char *option_word(size_t option, size_t number)
{
    return option == OPTION_VALUE && number < MATRIX_VALUES ? stalls_columns[matrix_values[number]].name
                                                            : NULL;
}

static int read_value(const char *name, int *value, struct error *error)
{
    for (size_t i = 0; i < MATRIX_VALUES; i++)
        if (!strcmp(stalls_columns[matrix_values[i]].name, name)) {
            *value = matrix_values[i];
            return 0;
        }
    return error_set(error, "invalid --value '%s': expected the name of a column", name);
}

/* Reads "1-2". Unlike in a range of ranks, the first number may be greater. */
static int read_edge(const char *text, struct settings *settings, struct error *error)
{
    char *end = NULL;
    errno = 0;
    settings->only.sender = is_digit(*text) ? strtoll(text, &end, 10) : -1;
    settings->only.receiver = end && *end == '-' && is_digit(end[1]) ? strtoll(end + 1, &end, 10) : -1;
    settings->only.is_asked = 1;
    return settings->only.receiver < 0 || *end || errno
               ? error_set(error, "invalid --edge '%s': expected two ranks, A-B", text)
               : 0;
}

static int read_settings(const struct analysis_request *request, struct settings *settings,
                         struct error *error)
{
    const char *const *values = request->values;
    int64_t memory_bytes;
    *settings = (struct settings){0};
    if (option_memory(values[OPTION_MEMORY], &memory_bytes, error))
        return -1;
    if (values[OPTION_MATRIX] && (values[OPTION_BY_CHANNEL] || values[OPTION_STATES]))
        return error_set(error, "--matrix cannot be combined with --by-channel or --states");
    if (values[OPTION_EDGE] && (values[OPTION_MATRIX] || values[OPTION_STATES]))
        return error_set(error, "--edge cannot be combined with --matrix or --states");
    if (values[OPTION_EDGE] && read_edge(values[OPTION_EDGE], settings, error))
        return -1;
    if (!values[OPTION_MATRIX] && option_is_given(request, options, OPTION_VALUE))
        return error_set(error, "--value needs --matrix");
    static const int judging[] = {OPTION_BY_CHANNEL, OPTION_SIGMAS, OPTION_FACTOR, OPTION_MIN_STALL};
    for (size_t i = 0; values[OPTION_STATES] && i < sizeof judging / sizeof *judging; i++)
        if (option_is_given(request, options, judging[i]))
            return error_set(error, "--states cannot be combined with --%s", options[judging[i]].name);
    if (option_real(values[OPTION_SIGMAS], "sigmas", 0, 1000, &settings->judge.sigmas, error) ||
        option_real(values[OPTION_FACTOR], "factor", 1, 1000, &settings->judge.factor, error) ||
        option_real(values[OPTION_MIN_STALL], "min-stall", 0, 100, &settings->judge.min_stall, error) ||
        read_value(values[OPTION_VALUE], &settings->value, error))
        return -1;
    settings->judge.min_stall /= 100;
    return 0;
}

static int warn(const struct stalls *stalls, struct table *table, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < stalls->run_count; i++) {
        const struct stalls_run *run = &stalls->runs[i];
        if (!run->network_steps)
            failed = table_add_warning(
                table, error,
                "run %lld: the traces contain no network steps, so stalls cannot be detected (ranks of one "
                "node exchange data directly, and Inspector does not record network steps)",
                (long long)run->id);
        else if (run->step_count - run->first_step < 3)
            failed = table_add_warning(table, error,
                                       "run %lld: fewer than 3 training steps were detected after the "
                                       "warm-up, so there is no baseline and the verdict is unknown",
                                       (long long)run->id);
    }
    if (!failed && stalls->detached_steps)
        failed = table_add_warning(table, error,
                                   "%lld network step%s to no operation in the trace (sent for other "
                                   "processes); no link includes %s",
                                   (long long)stalls->detached_steps,
                                   stalls->detached_steps == 1 ? " belongs" : "s belong",
                                   stalls->detached_steps == 1 ? "it" : "them");
    return failed;
}

/* Whether any network step has a known wait. */
static int has_waits(const struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (stalls->edges[i].send.count || stalls->edges[i].receive.count)
            return 1;
    return 0;
}

/* If no wait is known, shows the operations that never ended; if there are none, the edges. */
static int show_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error)
{
    struct pending_state_counts counted;
    if (stalls_count_states(stalls, store, &counted, error))
        return -1;
    if (!counted.count)
        return stalls_show_edges(stalls, &(struct only_edge){0}, table, error) || warn(stalls, table, error);
    return stalls_list_states(stalls, store, table, error) ||
           table_add_warning(table, error,
                             "no network step in the traces has wait times. The rows are the proxy "
                             "operations that never ended, and what each waited for, as with --states");
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
    if (stalls_load_steps(stalls, request->store, error) ||
        stalls_judge_all(stalls, request, &settings->judge, request->values[OPTION_MEMORY], table, error))
        return -1;
    if (!request->values[OPTION_MATRIX] && !settings->only.is_asked && !has_waits(stalls))
        return show_states(stalls, request->store, table, error);
    return (request->values[OPTION_MATRIX]
                ? stalls_show_matrix(stalls, (enum stalls_column)settings->value, table, error)
                : stalls_show_edges(stalls, &settings->only, table, error)) ||
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
    if (runs_choose(&runs, request, OPTION_RUN, &result->table, error))
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
    .summary = "show slow and stalled network links",
    .description =
        "One row per link (traffic from one rank to another) and communicator, from the network steps of "
        "NCCL's proxy threads: what each side waited for, and the verdict of diagnose on it.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_TAG),
    .word = option_word,
    .is_kept = 1,
    .run = run,
};
