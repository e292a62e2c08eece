/*
 * The result of an ingest or a merge: a table of files on standard output, and lines on standard error about
 * files that failed.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "model/model.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The table for people lists up to this many files. If there are more, it lists only those with problems. */
enum { FILES_LISTED = 40 };

static const char *const status_names[] = {
    [FILE_INGESTED] = "ingested",   [FILE_OPEN] = "open",     [FILE_UNCHANGED] = "unchanged",
    [FILE_PARTIAL] = "partial",     [FILE_FAILED] = "failed", [FILE_NOT_A_TRACE] = "not a trace",
    [FILE_FORGOTTEN] = "forgotten",
};

enum { STATUSES = sizeof status_names / sizeof *status_names };

struct totals {
    int64_t files[STATUSES];
    int64_t events;
    int64_t skipped;
    uint64_t bytes;
};

void report_release(struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->results[i].reason);
    free(report->results);
    *report = (struct report){.results = NULL};
}

int report_add(struct report *report, struct file_result *result, struct error *error)
{
    if (array_reserve((void **)&report->results, &report->capacity, report->count + 1,
                      sizeof *report->results))
        return error_no_memory(error);
    report->results[report->count++] = *result;
    result->reason = NULL;
    return 0;
}

int report_add_failed(struct report *report, const char *path, size_t start, struct error *why)
{
    struct file_result result = {.path = path, .start = start, .status = FILE_FAILED};
    result.reason = strdup(why->depth ? why->cause[0] : "cannot be read");
    if (!result.reason)
        return error_no_memory(why);
    error_clear(why);
    if (report_add(report, &result, why)) {
        free(result.reason);
        return -1;
    }
    return 0;
}

/* For an unchanged file: part of it could not be read, then and now. */
static int has_trouble(const struct file_result *result)
{
    return result->status == FILE_FAILED || result->status == FILE_PARTIAL ||
           (result->status == FILE_UNCHANGED && result->reason);
}

/* With the command that lists the lines, unless the file cannot be read again. */
static void print_no_events(const char *path)
{
    struct buffer command = BUFFER_INIT;
    if (command_line_append("info --ledger", path, &command) || !command.length)
        print_line("%s: contains no events", path);
    else
        print_line("%s: contains no events; see: %s", path, command.data);
    buffer_release(&command);
}

void report_print_problem(const struct file_result *result)
{
    const char *reason = result->reason ? result->reason : status_names[result->status];
    if (result->status == FILE_INGESTED && !result->events && result->skipped)
        print_no_events(result->path);
    if (!has_trouble(result))
        return;
    size_t length = strlen(result->path);
    if (strncmp(reason, result->path, length) == 0 && reason[length] == ':')
        print_line("%s", reason);
    else
        print_line("%s: %s", result->path, reason);
}

/* Returns how many files have this remark, from index `from` on. */
static size_t count_remarks(const struct report *report, size_t from, const char *remark)
{
    size_t count = 0;
    for (size_t i = from; i < report->count; i++)
        count += report->results[i].remark == remark;
    return count;
}

static int is_remarked_before(const struct report *report, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (report->results[i].remark == report->results[place].remark)
            return 1;
    return 0;
}

void report_print_remarks(const struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct file_result *result = &report->results[i];
        if (!result->remark || is_remarked_before(report, i))
            continue;
        size_t others = count_remarks(report, i, result->remark) - 1;
        if (others)
            print_line("%s and %zu more contain no events: %s", result->path, others, result->remark);
        else
            print_line("%s contains no events: %s", result->path, result->remark);
    }
}

static int is_recognised(const char *reason)
{
    return strstr(reason, "looks like") || strstr(reason, "compressed with");
}

/*
 * True if `one` explains more. A recognised file explains most. Among the others, the largest is most likely
 * the one that was meant.
 */
static int explains_more(const struct file_result *one, const struct file_result *other)
{
    int recognised = is_recognised(one->reason);
    int other_recognised = is_recognised(other->reason);
    return recognised != other_recognised ? recognised : one->bytes > other->bytes;
}

static int tell_if_empty(const struct report *report, size_t start, const char *path)
{
    size_t strangers = 0;
    const struct file_result *example = NULL;
    for (size_t i = 0; i < report->count; i++) {
        const struct file_result *result = &report->results[i];
        if (result->start != start)
            continue;
        if (result->status != FILE_NOT_A_TRACE)
            return 0;
        strangers++;
        if (result->reason && (!example || explains_more(result, example)))
            example = result;
    }
    if (example)
        print_line("%s: none of its files (%zu) is a supported trace; for example, %s", path, strangers,
                   example->reason);
    else
        print_line(
            "%s: contains no files: the job wrote its traces elsewhere, NCCL did not load the plugin (check "
            "with NCCL_DEBUG=INFO), or NVIDIA's Inspector ran without "
            "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS",
            path);
    return 1;
}

size_t report_print_empty(const struct report *report, const struct walk *walk, char *const *paths)
{
    size_t told = 0;
    for (size_t i = 0; i < walk->start_count; i++)
        if (walk->starts[i].is_directory && !walk->starts[i].has_known)
            told += (size_t)tell_if_empty(report, i, paths[i]);
    return told;
}

static struct totals add_up(const struct report *report)
{
    struct totals totals = {.events = 0};
    for (size_t i = 0; i < report->count; i++) {
        const struct file_result *result = &report->results[i];
        totals.files[result->status]++;
        if (result->status == FILE_FAILED || result->status == FILE_NOT_A_TRACE)
            continue;
        totals.events += result->events;
        totals.skipped += result->skipped;
        totals.bytes += result->bytes;
    }
    return totals;
}

void report_print_newer(const struct report *report)
{
    const struct file_result *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct file_result *result = &report->results[i];
        if (!*result->newer_version || result->status == FILE_FAILED)
            continue;
        first = first ? first : result;
        count++;
    }
    if (first)
        print_line(
            "%s%s: format version %s is newer than this ncclprof supports; only the known parts were read",
            first->path, count > 1 ? " and other files" : "", first->newer_version);
}

static int64_t count_read_again(const struct report *report)
{
    int64_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += report->results[i].is_read_again && report->results[i].status != FILE_FAILED;
    return count;
}

void report_print_read_again(const struct report *report)
{
    int64_t count = count_read_again(report);
    if (count == 1)
        print_line("1 file was read again because ncclprof's reader for it has improved");
    else if (count)
        print_line("%" PRId64 " files were read again because ncclprof's reader for them has improved",
                   count);
}

int report_has_trouble(const struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (has_trouble(&report->results[i]))
            return 1;
    return 0;
}

static const struct column columns[] = {
    {.name = "path", .type = CELL_TEXT, .description = "path of the file"},
    {.name = "dialect", .type = CELL_TEXT, .description = "format, detected from the content"},
    {.name = "status",
     .type = CELL_TEXT,
     .description = "ingested, open, unchanged, partial, failed or forgotten"},
    {.name = "events", .type = CELL_INTEGER, .description = "events read"},
    {.name = "skipped",
     .type = CELL_INTEGER,
     .description = "lines without an event; see ncclprof info --ledger"},
    {.name = "bytes", .type = CELL_INTEGER, .unit = "bytes", .description = "size of the file"},
    {.name = "reason",
     .type = CELL_TEXT,
     .description = "why the file failed, or which part could not be read",
     .hidden = 1},
};

static int add_row(struct table *table, const struct file_result *result, struct error *error)
{
    if (table_add_row(table, error) || table_set_text(table, 0, result->path, error) ||
        (*result->dialect && table_set_text(table, 1, result->dialect, error)) ||
        table_set_text(table, 2, status_names[result->status], error) ||
        (result->reason && table_set_text(table, 6, result->reason, error)))
        return -1;
    table_set_integer(table, 3, result->events);
    table_set_integer(table, 4, result->skipped);
    table_set_integer(table, 5, (int64_t)result->bytes);
    return 0;
}

/* Files in a directory that are not traces are only counted. */
static int fill(struct table *table, const struct report *report, int for_people, struct error *error)
{
    if (table_add_columns(table, columns, sizeof columns / sizeof *columns, error))
        return -1;
    for (size_t i = 0; i < report->count; i++) {
        const struct file_result *result = &report->results[i];
        int is_listed = !for_people || report->count <= FILES_LISTED || has_trouble(result);
        if (result->status == FILE_NOT_A_TRACE || !is_listed)
            continue;
        if (add_row(table, result, error))
            return -1;
    }
    return 0;
}

static void put_status(int status, int64_t count)
{
    printf("%" PRId64 " file%s ", count, count == 1 ? "" : "s");
    if (status == FILE_NOT_A_TRACE)
        fputs(count == 1 ? "is not a trace" : "are not traces", stdout);
    else
        fputs(status_names[status], stdout);
}

static void put_sentence(const struct report *report)
{
    struct totals totals = add_up(report);
    const char *separator = "";
    for (int status = 0; status < STATUSES; status++)
        if (totals.files[status]) {
            fputs(separator, stdout);
            put_status(status, totals.files[status]);
            separator = ", ";
        }
    printf("%s%" PRId64 " event%s read, %" PRId64 " line%s skipped, %.1f MB in %.1f s\n",
           *separator ? "; " : "no files; ", totals.events, totals.events == 1 ? "" : "s", totals.skipped,
           totals.skipped == 1 ? "" : "s", (double)totals.bytes / 1e6, report->seconds);
}

static int append_cell_text(struct buffer *json, const char *key, const char *text)
{
    return buffer_printf(json, "\"%s\": ", key) || text_json_quote(json, text);
}

static int append_file(struct buffer *json, const struct file_result *result)
{
    return append_cell_text(json, "path", result->path) || buffer_append_text(json, ", ") ||
           append_cell_text(json, "dialect", *result->dialect ? result->dialect : NULL) ||
           buffer_append_text(json, ", ") || append_cell_text(json, "status", status_names[result->status]) ||
           buffer_printf(json,
                         ", \"events\": %" PRId64 ", \"skipped\": %" PRId64 ", \"bytes\": %" PRIu64 ", ",
                         result->events, result->skipped, result->bytes) ||
           append_cell_text(json, "reason", result->reason) ||
           buffer_printf(json, ", \"read_again\": %s", result->is_read_again ? "true" : "false");
}

static int append_totals(struct buffer *json, const struct report *report)
{
    struct totals totals = add_up(report);
    return buffer_printf(
        json,
        "\"totals\": {\"files\": %zu, \"ingested\": %" PRId64 ", \"open\": %" PRId64
        ", \"unchanged\": %" PRId64 ", \"partial\": %" PRId64 ", \"failed\": %" PRId64
        ", \"not_traces\": %" PRId64 ", \"forgotten\": %" PRId64 ", \"read_again\": %" PRId64
        ", \"events\": %" PRId64 ", \"skipped\": %" PRId64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.3f}",
        report->count - (size_t)totals.files[FILE_NOT_A_TRACE], totals.files[FILE_INGESTED],
        totals.files[FILE_OPEN], totals.files[FILE_UNCHANGED], totals.files[FILE_PARTIAL],
        totals.files[FILE_FAILED], totals.files[FILE_NOT_A_TRACE], totals.files[FILE_FORGOTTEN],
        count_read_again(report), totals.events, totals.skipped, totals.bytes, report->seconds);
}

static int append_json(struct buffer *json, const char *command, const struct report *report)
{
    int failed = buffer_printf(json, "{\"command\": \"%s\",\n \"files\": [", command);
    const char *separator = "\n  {";
    for (size_t i = 0; i < report->count && !failed; i++) {
        if (report->results[i].status == FILE_NOT_A_TRACE)
            continue;
        failed = buffer_append_text(json, separator) || append_file(json, &report->results[i]) ||
                 buffer_append_byte(json, '}');
        separator = ",\n  {";
    }
    return failed || buffer_append_text(json, "],\n ") || append_totals(json, report) ||
           buffer_append_text(json, "}\n");
}

static int show_json(struct context *context, const struct report *report)
{
    struct buffer json = BUFFER_INIT;
    int outcome = append_json(&json, context->command->name, report) ? error_no_memory(&context->error) : 0;
    if (outcome == 0) {
        fwrite(json.data, 1, json.length, stdout);
        outcome = render_check(stdout, &context->error);
    }
    buffer_release(&json);
    return outcome ? EXIT_NOT_DONE : EXIT_DONE;
}

int report_show(struct context *context, const struct arguments *arguments, const struct report *report)
{
    int for_people = arguments->renderer->is_for_people;
    if (arguments->renderer->is_json)
        return show_json(context, report);
    struct table table;
    table_init(&table, context->command->name);
    int status = EXIT_NOT_DONE;
    if (fill(&table, report, for_people, &context->error) == 0)
        status = for_people && table.row_count == 0 ? EXIT_DONE : print_table(context, arguments, &table);
    if (status == EXIT_DONE && for_people) {
        if (table.row_count)
            putchar('\n');
        put_sentence(report);
    }
    table_release(&table);
    return status;
}
