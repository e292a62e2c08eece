#include "stalls/stalls.h"
#include "analyse/analyses.h"
#include "analyse/edge_verdicts.h"
#include "analyse/filter.h"
#include "analyse/option.h"
#include "analyse/run_choice.h"
#include "analyse/stalls_edges.h"
#include "analyse/stalls_figures.h"
#include "analyse/stalls_matrix.h"
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
    {"by-channel", 0, NULL, "one row per link and NCCL channel", NULL},
    {"matrix", 0, NULL, "show a sender-by-receiver matrix over all communicators", NULL},
    {"value", 0, "KEY",
     "value shown by --matrix: steps, send_wait_us_p50, send_wait_us_max, recv_wait_us_p50, stalled_us, "
     "verdict or measured",
     "send_wait_us_p50"},
    {"states", 0, NULL, "list unfinished proxy operations and what each one waits for", NULL},
    {"sigmas", 0, "N", "outlier threshold per link and step, in robust standard deviations", "6"},
    {"factor", 0, "N", "a link is slow when its wait is at least N times its baseline", "2"},
    {"min-stall", 0, "PERCENT", "shortest stall to report, per step, in % of the median step", "3"},
    {"edge", 0, "A-B", "show only the link from global rank A to global rank B", NULL},
    RUN_OPTION,
};

struct settings {
    struct stalls_options judge;
    int value; /* a column that the matrix shows */
    struct only_edge only;
};

/* What the matrix can show. */
static const int matrix_values[] = {AT_STEPS,   AT_SEND_P50, AT_SEND_MAX, AT_RECV_P50,
                                    AT_STALLED, AT_VERDICT,  AT_MEASURED};

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

/* "1-2": unlike a range of ranks it may go down. */
static int read_edge(const char *text, struct settings *settings, struct error *error)
{
    char *end = NULL;
    errno = 0;
    settings->only.sender = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    settings->only.receiver =
        end && *end == '-' && end[1] >= '0' && end[1] <= '9' ? strtoll(end + 1, &end, 10) : -1;
    settings->only.is_asked = 1;
    return settings->only.receiver < 0 || *end || errno
               ? error_set(error, "invalid --edge '%s': expected two ranks, A-B", text)
               : 0;
}

static int read_settings(const struct analysis_request *request, struct settings *settings,
                         struct error *error)
{
    const char *const *values = request->values;
    *settings = (struct settings){0};
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

/* Whether any network step says how long it waited. */
static int has_waits(const struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (stalls->edges[i].send.count || stalls->edges[i].receive.count)
            return 1;
    return 0;
}

/* Where no wait is known, what never ended is all that there is to show; and where there is none, edges. */
static int show_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error)
{
    struct readings_counted counted;
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
    if (stalls_load_steps(stalls, request->store, error) || stalls_judge(stalls, &settings->judge, error) ||
        edges_take_verdicts(stalls, request->store, error))
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
    .summary = "show slow and stalled network links",
    .description =
        "One row per link (traffic from one rank to another) and communicator, from the network steps of "
        "NCCL's proxy threads: what each side waited for, and whether that is unusual compared with the "
        "link's own history or with links that do the same work.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_TAG),
    .word = option_word,
    .run = run,
};
