/*
 * Warnings from NCCL's log about processes whose ranks are not known.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Most processes that are named; the others are counted. */
enum { NAMED_MOST = 4 };

/* Columns of the statement rankless_warnings. */
enum { AT_HOST, AT_PID, AT_GPU, AT_KIND, AT_TEXT, AT_PATH, AT_OFFSET, AT_COUNT };

/* "rank 2, process 811 on host node3 (CUDA device 2)" */
static int append_process(const char *host, int64_t pid, int64_t device, int64_t rank, struct buffer *text)
{
    return (rank >= 0 && buffer_printf(text, "rank %lld, ", (long long)rank)) ||
           buffer_printf(text, "process %lld", (long long)pid) ||
           (host && *host && buffer_printf(text, " on host %s", host)) ||
           (device >= 0 && buffer_printf(text, " (CUDA device %lld)", (long long)device));
}

static int append_error(struct statement *row, const char *what, struct buffer *text)
{
    const char *path = statement_text(row, AT_PATH), *line = statement_text(row, AT_TEXT);
    int64_t count = statement_integer(row, AT_COUNT);
    return append_process(statement_text(row, AT_HOST), statement_integer(row, AT_PID),
                          statement_integer_or(row, AT_GPU, -1), -1, text) ||
           buffer_printf(text, " reported %s: \"%s\"", what, line ? line : "") ||
           (count > 1 && buffer_printf(text, " and %lld similar ones", (long long)count - 1)) ||
           buffer_printf(text, ", in %s at byte %lld; the log does not show its rank", path ? path : "",
                         (long long)statement_integer(row, AT_OFFSET));
}

struct rankless {
    size_t errors;
    int64_t effects;
};

static int take_warning(struct rankless *rankless, struct statement *row, struct table *table,
                        struct error *error)
{
    enum warning_kind kind = (enum warning_kind)statement_integer(row, AT_KIND);
    const char *what = reported_is_failure(kind) ? reported_what(kind) : NULL;
    struct buffer text = BUFFER_INIT;
    rankless->effects += reported_is_effect(kind);
    if (!what || ++rankless->errors > NAMED_MOST)
        return 0;
    int failed = append_error(row, what, &text) ? error_no_memory(error)
                                                : table_add_warning(table, error, "%s", text.data);
    buffer_release(&text);
    return failed;
}

static int caution_reports(struct store *store, struct table *table, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_caution_rankless_warnings, error);
    struct rankless rankless = {0};
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_warning(&rankless, row, table, error))
            more = -1;
    statement_free(row);
    if (more < 0)
        return -1;
    if (rankless.errors > NAMED_MOST &&
        table_add_warning(table, error, "%zu more process%s without a known rank reported errors; see",
                          rankless.errors - NAMED_MOST, rankless.errors - NAMED_MOST == 1 ? "" : "es"))
        return -1;
    if (rankless.errors > NAMED_MOST && warning_add_command(table, store, 0, "info --warnings", error))
        return -1;
    return rankless.effects
               ? table_add_warning(table, error,
                                   "%lld process%s without a known rank reported that %s lost a peer or %s "
                                   "aborted, which is an effect, not a cause",
                                   (long long)rankless.effects, rankless.effects == 1 ? "" : "es",
                                   rankless.effects == 1 ? "it" : "they",
                                   rankless.effects == 1 ? "was" : "were")
               : 0;
}

/* The number of calls of one function that a process made on communicators of one size. */
struct caller {
    char *what; /* owned: "AllReduce on communicators of 4 ranks: the Init line is not in this log" */
    char *host; /* owned */
    int64_t pid;
    int64_t device; /* -1: not known */
    int64_t rank;   /* global; -1: not known */
    int64_t calls;
};

struct callers {
    struct caller *items; /* owned */
    size_t count;
    size_t capacity;
};

static void callers_release(struct callers *callers)
{
    for (size_t i = 0; i < callers->count; i++) {
        free(callers->items[i].what);
        free(callers->items[i].host);
    }
    free(callers->items);
}

/*
 * Removes ", device 2" from the description of a call, as lib/format/nccl writes it, and returns the number.
 */
static int64_t take_number(char *what, const char *mark)
{
    char *at = strstr(what, mark), *end;
    if (!at)
        return -1;
    long long number = strtoll(at + strlen(mark), &end, 10);
    memmove(at, end, strlen(end) + 1);
    return number;
}

static int add_caller(struct callers *callers, struct statement *row)
{
    const char *what = statement_text(row, 0), *host = statement_text(row, 1);
    if (array_reserve((void **)&callers->items, &callers->capacity, callers->count + 1,
                      sizeof *callers->items))
        return -1;
    struct caller *caller = &callers->items[callers->count];
    *caller = (struct caller){.what = strdup(what ? what : ""),
                              .host = strdup(host ? host : ""),
                              .pid = statement_integer(row, 2),
                              .calls = statement_integer(row, 3)};
    callers->count++;
    if (!caller->what || !caller->host)
        return -1;
    caller->device = take_number(caller->what, ", device ");
    caller->rank = take_number(caller->what, ", global rank ");
    return 0;
}

static int read_callers(struct callers *callers, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_caution_unnamed_calls, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (add_caller(callers, row))
            more = error_no_memory(error);
    statement_free(row);
    return more < 0 ? -1 : 0;
}

/* Sorts by kind of call, fewest calls first. */
static int by_what(const void *a, const void *b)
{
    const struct caller *left = a, *right = b;
    int order = strcmp(left->what, right->what);
    if (order || left->calls != right->calls)
        return order ? order : (left->calls > right->calls) - (left->calls < right->calls);
    return (left->pid > right->pid) - (left->pid < right->pid);
}

/* "AllReduce on communicators of 4 ranks: 3 of 4 callers made 8 calls, process 7 on host node0 made 7" */
static int append_callers(const struct caller *callers, size_t count, size_t fewer, int64_t most,
                          struct buffer *text)
{
    size_t all = count - fewer;
    int failed = buffer_printf(text, "%.*s: ", (int)strcspn(callers->what, ":"), callers->what) ||
                 (fewer ? buffer_printf(text, "%zu of %zu callers", all, count)
                        : buffer_printf(text, "%zu caller%s", all, all == 1 ? "" : "s")) ||
                 buffer_printf(text, " made %lld calls%s", (long long)most, all == 1 ? "" : " each");
    for (size_t i = 0; !failed && i < fewer && i < NAMED_MOST; i++)
        failed = buffer_append_text(text, ", ") ||
                 append_process(callers[i].host, callers[i].pid, callers[i].device, callers[i].rank, text) ||
                 buffer_printf(text, " made %lld", (long long)callers[i].calls);
    return failed ||
           (fewer > NAMED_MOST && buffer_printf(text, ", and %zu more made fewer", fewer - NAMED_MOST));
}

/*
 * The number of callers that made fewer calls than most; -1: most of them differ. `callers` is sorted by
 * calls.
 */
static int64_t count_fewer(const struct caller *callers, size_t count)
{
    size_t fewer = 0;
    while (callers[fewer].calls < callers[count - 1].calls)
        fewer++;
    return fewer * 2 < count ? (int64_t)fewer : -1;
}

static int are_ranks_known(const struct caller *callers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (callers[i].rank < 0)
            return 0;
    return count > 0;
}

static int tell_callers(const struct caller *callers, size_t count, size_t fewer, struct table *table,
                        struct error *error)
{
    struct buffer text = BUFFER_INIT;
    const char *why = strchr(callers->what, ':');
    int known = are_ranks_known(callers, fewer);
    int failed = append_callers(callers, count, fewer, callers[count - 1].calls, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error,
                                         "%s. Which %s cannot be determined%s. "
                                         "NCCL_DEBUG_SUBSYS=INIT,COLL shows this with NCCL 2.18 or later",
                                         text.data, known ? "communicators these are" : "ranks these are",
                                         why ? why : "");
    buffer_release(&text);
    return failed;
}

/*
 * Warns about kinds of calls with callers that made fewer, or about the kinds without; *told counts the
 * warnings.
 */
static int tell_kinds(const struct callers *callers, int are_fewer, int *told, struct table *table,
                      struct error *error)
{
    for (size_t begin = 0, end; begin < callers->count; begin = end) {
        const struct caller *first = &callers->items[begin];
        for (end = begin + 1; end < callers->count && strcmp(callers->items[end].what, first->what) == 0;
             end++)
            ;
        int64_t fewer = count_fewer(first, end - begin);
        if (fewer < 0 || (fewer > 0) != are_fewer || *told == NAMED_MOST)
            continue;
        ++*told;
        if (tell_callers(first, end - begin, (size_t)fewer, table, error))
            return -1;
    }
    return 0;
}

static int caution_callers(struct store *store, int *named, struct table *table, struct error *error)
{
    struct callers callers = {.items = NULL};
    int told = 0, failed = read_callers(&callers, store, error);
    if (!failed)
        array_sort(callers.items, callers.count, sizeof *callers.items, by_what);
    failed = failed || tell_kinds(&callers, 1, &told, table, error);
    *named += told;
    failed = failed || tell_kinds(&callers, 0, &told, table, error);
    callers_release(&callers);
    return failed;
}

static int tell_watchdog(struct statement *row, struct table *table, struct error *error)
{
    int64_t more = statement_integer(row, 0) - 1, lines = statement_integer(row, 2);
    const char *path = statement_text(row, 1);
    struct buffer files = BUFFER_INIT;
    if (more > 0 && buffer_printf(&files, " and %lld more file%s", (long long)more, more == 1 ? "" : "s"))
        return error_no_memory(error);
    int failed = table_add_warning(
        table, error,
        "%s%s: %lld line%s of PyTorch's watchdog between NCCL's lines %s not read, the "
        "first at byte %lld; write them to a separate file (grep ProcessGroupNCCL) "
        "and ingest it as well",
        path ? path : "", more > 0 ? files.data : "", (long long)lines, lines == 1 ? "" : "s",
        lines == 1 ? "was" : "were", (long long)statement_integer(row, 3));
    buffer_release(&files);
    return failed;
}

static int caution_watchdog(struct store *store, struct table *table, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_caution_watchdog_lines, error);
    int more = row ? statement_step(row, error) : -1;
    int failed = more < 0 || (more == 1 && tell_watchdog(row, table, error));
    statement_free(row);
    return failed ? -1 : 0;
}

static int caution_devices(struct store *store, struct table *table, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_caution_ranks_of_devices, error);
    int more = row ? statement_step(row, error) : -1;
    int failed = more < 0 || (more == 1 && statement_integer(row, 0) > 0 &&
                              table_add_warning(table, error,
                                                "NCCL's log has no Init lines; the ranks are taken from the "
                                                "device numbers. NCCL_DEBUG_SUBSYS=INIT,COLL shows them"));
    statement_free(row);
    return failed ? -1 : 0;
}

int caution_unidentified_processes(struct store *store, int *named, struct table *table, struct error *error)
{
    return caution_watchdog(store, table, error) || caution_devices(store, table, error) ||
                   caution_reports(store, table, error) || caution_callers(store, named, table, error)
               ? -1
               : 0;
}
