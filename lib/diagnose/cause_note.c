/*
 * The notes about records of nodes that cannot be compared with the findings of a run, and why; and about
 * those whose times have no zone and seem to be local time.
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

#define MINUTE_NS (INT64_C(60) * 1000000000)
#define HOUR_NS (INT64_C(3600) * 1000000000)

/* Time zones differ by whole quarters of an hour, up to 14 hours from UTC. */
#define QUARTER_NS (INT64_C(900) * 1000000000)
enum { QUARTERS_MOST = 14 * 4 };

/* How much two programs may differ in the time of one message: log lines have whole seconds. */
#define SAME_MESSAGE_NS (INT64_C(2) * 1000000000)

/* Log lines have whole seconds, and jobs are recorded for a while before and after; an hour is far beyond. */
#define HOUR_MARGIN_NS (INT64_C(300) * 1000000000)

/* The wall-clock time of the first and last operation of a rank; begin_ns is TIME_UNKNOWN if not known. */
static struct interval_ns time_of(const struct job *job, const struct rank_clock *clock, int32_t rank)
{
    struct interval_ns whole = {TIME_UNKNOWN, TIME_UNKNOWN};
    const struct job_rank *of = &job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t from_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->enqueued_ns;
        from_ns = rank_clock_of(clock, job, operation, from_ns);
        if (from_ns != TIME_UNKNOWN)
            interval_widen(&whole, (struct interval_ns){from_ns, from_ns});
    }
    return whole;
}

static int append_interval(struct buffer *text, struct interval_ns time)
{
    return text_utc(text, time.begin_ns) || buffer_append_text(text, " to ") || text_utc(text, time.end_ns);
}

/* Whether moving the one by whole hours, and not less than one, makes it overlap the other; 0: no. */
static int64_t hours_apart(struct interval_ns records, struct interval_ns run)
{
    for (int64_t hours = -14; hours <= 14; hours++) {
        int64_t by_ns = hours * HOUR_NS;
        if (hours && records.begin_ns + by_ns <= run.begin_ns + HOUR_MARGIN_NS &&
            records.end_ns + by_ns >= run.end_ns - HOUR_MARGIN_NS)
            return hours;
    }
    return 0;
}

static const char *host_label(const struct node_host *host)
{
    return host->name ? host->name : "of unknown name";
}

static int note_apart(const struct node_host *host, struct interval_ns run, struct table *table,
                      struct error *error)
{
    struct buffer records = BUFFER_INIT, job = BUFFER_INIT;
    int64_t hours = hours_apart(host->covers, run);
    int failed =
        append_interval(&records, host->covers) || append_interval(&job, run) ? error_no_memory(error) : 0;
    if (!failed && hours)
        failed =
            table_add_warning(table, error,
                              "the records of host %s cover %s, the run %s: they were not compared. Their "
                              "clock or time zone may be off by %lld hour%s",
                              host_label(host), records.data, job.data,
                              (long long)(hours < 0 ? -hours : hours), hours == 1 || hours == -1 ? "" : "s");
    else if (!failed)
        failed =
            table_add_warning(table, error,
                              "the records of host %s cover %s, the run %s: no cause could be looked for "
                              "there",
                              host_label(host), records.data, job.data);
    buffer_release(&records);
    buffer_release(&job);
    return failed;
}

/* Messages may come before and after the run (cause_time.c). */
static int is_covered(const struct node_host *host, struct interval_ns run)
{
    return host->covers.begin_ns != TIME_UNKNOWN && host->covers.begin_ns <= run.end_ns + MINUTE_NS &&
           host->covers.end_ns >= run.begin_ns - MINUTE_NS;
}

/* Notes once why a finding has nothing to be compared with. Returns 1 after a note, -1 on error. */
static int note_finding(struct cause_places *places, const struct finding *finding, struct table *table,
                        struct error *error)
{
    int32_t at = places->host_of[finding->rank];
    const struct rank_clock *clock = cause_clock(places, finding->rank, error);
    if (!clock)
        return -1;
    if (at < 0 || finding->cause_count)
        return 0;
    if (!rank_clock_is_known(clock))
        return table_add_warning(table, error,
                                 "the traces have no wall clock, so what the nodes recorded was not compared "
                                 "with the findings: no cause could be looked for")
                   ? -1
                   : 1;
    if (finding->has_records_apart)
        return table_add_warning(table, error,
                                 "the records of host %s say that its GPUs were idle during the run: their "
                                 "clock may be off, so they were not compared",
                                 host_label(&places->hosts.items[at]))
                   ? -1
                   : 1;
    if (places->hosts.items[at].covers.begin_ns == TIME_UNKNOWN)
        return table_add_warning(table, error,
                                 "the records of host %s have no times of day, so they were not compared",
                                 host_label(&places->hosts.items[at]))
                   ? -1
                   : 1;
    struct interval_ns run = time_of(places->job, clock, finding->rank);
    if (run.begin_ns == TIME_UNKNOWN || is_covered(&places->hosts.items[at], run))
        return 0;
    return note_apart(&places->hosts.items[at], run, table, error) ? -1 : 1;
}

/* -------------------- local time -------------------- */

/* A file whose times have no zone. The texts are borrowed from the row. */
struct local_file {
    int64_t id;
    const char *path;
    int is_kernel_log;
    struct interval_ns covers;
    int64_t within; /* records within the run */
    int64_t modified_ns;
};

/* How many quarters of an hour a time is, if it is a whole number of them within what zones differ by; 0. */
static int64_t whole_quarters(int64_t later_ns)
{
    int64_t quarters = (later_ns + (later_ns < 0 ? -QUARTER_NS : QUARTER_NS) / 2) / QUARTER_NS;
    int64_t rest_ns = later_ns - quarters * QUARTER_NS;
    return llabs(quarters) <= QUARTERS_MOST && llabs(rest_ns) <= SAME_MESSAGE_NS ? quarters : 0;
}

/*
 * By how many quarters of an hour, the least, a file is later than the run: moved by them, the last message
 * of a log comes within it, and samples cover it. 0 if there is no such number. Into a long run, some number
 * of quarters moves any message.
 */
static int64_t quarters_later(const struct local_file *file, struct interval_ns run)
{
    if (file->is_kernel_log && run.end_ns - run.begin_ns + 2 * MINUTE_NS > QUARTER_NS / 2)
        return 0;
    for (int64_t distance = 1; distance <= QUARTERS_MOST; distance++)
        for (int64_t quarters = distance; quarters >= -distance; quarters -= 2 * distance) {
            int64_t begin_ns = file->covers.begin_ns - quarters * QUARTER_NS,
                    end_ns = file->covers.end_ns - quarters * QUARTER_NS;
            if (file->is_kernel_log
                    ? end_ns >= run.begin_ns - MINUTE_NS && end_ns <= run.end_ns + MINUTE_NS
                    : begin_ns <= run.begin_ns + HOUR_MARGIN_NS && end_ns >= run.end_ns - HOUR_MARGIN_NS)
                return quarters;
        }
    return 0;
}

/* "5 hours 45 minutes earlier": than a file says that is later by so many quarters of an hour. */
static int append_quarters(struct buffer *text, int64_t quarters)
{
    int64_t hours = llabs(quarters) / 4, minutes = llabs(quarters) % 4 * 15;
    if (hours && buffer_printf(text, "%lld hour%s ", (long long)hours, hours == 1 ? "" : "s"))
        return -1;
    if (minutes && buffer_printf(text, "%lld minutes ", (long long)minutes))
        return -1;
    return buffer_append_text(text, quarters > 0 ? "earlier" : "later");
}

static int warn_of_local(const struct node_host *host, const struct local_file *file, const char *seems,
                         const struct buffer *why, struct table *table, struct error *error)
{
    return table_add_warning(
        table, error, "the %s of host %s %s in local time (%s): its times have no zone, %s; %s",
        file->is_kernel_log ? "kernel log" : "record", host_label(host), seems, file->path, why->data,
        file->is_kernel_log ? "use one with the zone: dmesg --time-format iso or journalctl -o short-iso"
                            : "record it with TZ=UTC");
}

/*
 * Says how another record of the host, which has the last message of a log, shows its zone. Returns 1; 2 if
 * it shows that the log is in UTC; 0 if there is none; -1 on error.
 */
static int compare_message(const struct node_host *host, const struct local_file *file, struct store *store,
                           struct buffer *why, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_node_same_message, error);
    int found = -1;
    if (row && !statement_bind_text(row, 1, host->names, error) &&
        !statement_bind_integer(row, 2, file->id, error))
        found = statement_step(row, error);
    int64_t later_ns = found == 1 ? statement_integer(row, 0) : 0, quarters = whole_quarters(later_ns);
    const char *path = found == 1 ? statement_text(row, 1) : NULL;
    if (found == 1 && llabs(later_ns) <= SAME_MESSAGE_NS)
        found = 2;
    else if (found == 1 && !quarters)
        found = 0;
    else if (found == 1 && (buffer_append_text(why, "and its last message is ") ||
                            append_quarters(why, quarters) || buffer_printf(why, " in %s", path ? path : "")))
        found = error_no_memory(error);
    statement_free(row);
    return found;
}

/*
 * Whether a file ends after it was written, which shows a zone east of UTC. Copies have the same time or a
 * later one, except from archives that keep local times.
 */
static int ends_after_its_change(const struct local_file *file)
{
    return file->modified_ns != TIME_UNKNOWN && file->covers.end_ns > file->modified_ns + MINUTE_NS;
}

static int append_change(struct buffer *why, const struct local_file *file)
{
    return buffer_append_text(why, "and it ends at ") || text_utc(why, file->covers.end_ns) ||
           buffer_append_text(why, ", after the file was last changed (") ||
           text_utc(why, file->modified_ns) || buffer_append_text(why, ")");
}

static int append_run(struct buffer *why, const struct local_file *file, struct interval_ns run,
                      int64_t quarters)
{
    return buffer_append_text(why, "and none is within the run (") || append_interval(why, run) ||
           buffer_append_text(why, file->is_kernel_log ? "), but the last one would be, if it were "
                                                       : "), but they would cover it, if they were ") ||
           append_quarters(why, quarters);
}

/* Returns 1 after a warning, -1 on error. `run` is not needed to be known. */
static int note_local_file(const struct node_host *host, const struct local_file *file,
                           struct interval_ns run, int has_findings, struct store *store, struct table *table,
                           struct error *error)
{
    struct buffer why = BUFFER_INIT;
    const char *seems = "seems to be";
    int64_t quarters = has_findings && !file->within ? quarters_later(file, run) : 0;
    int shown = compare_message(host, file, store, &why, error);
    if (shown == 0 && ends_after_its_change(file)) {
        shown = append_change(&why, file) ? error_no_memory(error) : 1;
    } else if (shown == 0 && quarters) {
        seems = "may be";
        shown = append_run(&why, file, run, quarters) ? error_no_memory(error) : 1;
    }
    if (shown == 1 && warn_of_local(host, file, seems, &why, table, error))
        shown = -1;
    buffer_release(&why);
    return shown < 0 ? -1 : shown == 1;
}

static int note_local_files(const struct node_host *host, struct interval_ns run, int has_findings,
                            struct store *store, struct table *table, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_node_local_times, error);
    int more = row && !statement_bind_text(row, 1, host->names, error) &&
                       !statement_bind_integer(row, 2, run.begin_ns - MINUTE_NS, error) &&
                       !statement_bind_integer(row, 3, run.end_ns + MINUTE_NS, error)
                   ? 1
                   : -1,
        noted = 0;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        struct local_file file = {.id = statement_integer(row, 0),
                                  .path = statement_text(row, 1),
                                  .is_kernel_log = statement_integer(row, 2) != 0,
                                  .covers = {statement_integer(row, 3), statement_integer(row, 4)},
                                  .within = statement_integer(row, 5),
                                  .modified_ns = statement_integer_or(row, 6, TIME_UNKNOWN)};
        int told = note_local_file(host, &file, run, has_findings, store, table, error);
        noted |= told;
        more = told < 0 ? -1 : more;
    }
    statement_free(row);
    return more < 0 ? -1 : noted;
}

/* Notes the files of each host of the run that seem to be in local time. Returns 1 after a note, -1 on error.
 */
static int note_local_times(struct cause_places *places, int has_findings, struct table *table,
                            struct error *error)
{
    int noted = 0;
    for (size_t host = 0; noted >= 0 && host < places->hosts.count; host++) {
        size_t rank = 0;
        while (rank < places->job->rank_count && places->host_of[rank] != (int32_t)host)
            rank++;
        if (rank == places->job->rank_count)
            continue;
        const struct rank_clock *clock = cause_clock(places, (int32_t)rank, error);
        struct interval_ns run = clock ? time_of(places->job, clock, (int32_t)rank)
                                       : (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
        int told = !clock ? -1
                   : run.begin_ns == TIME_UNKNOWN
                       ? 0
                       : note_local_files(&places->hosts.items[host], run, has_findings, places->job->store,
                                          table, error);
        noted = told < 0 ? -1 : noted | told;
    }
    return noted;
}

int caution_node_records(const struct job *job, const struct findings *findings, struct table *table,
                         struct error *error)
{
    struct cause_places places = {.job = NULL};
    int noted = 0, is_asked = 0;
    for (size_t i = 0; i < findings->count; i++)
        is_asked |= finding_is_reported(&findings->items[i]);
    int failed = cause_places_init(&places, job, error);
    if (!failed && places.hosts.count) {
        noted = note_local_times(&places, is_asked, table, error);
        failed = noted < 0;
    }
    if (!failed && is_asked && places.hosts.count && !places.host_count)
        failed =
            table_add_warning(table, error,
                              "no trace says that a rank ran on one of the hosts of the records of nodes, "
                              "so no cause could be looked for");
    for (size_t i = 0; !failed && is_asked && !noted && places.host_count && i < findings->count; i++)
        if (finding_is_reported(&findings->items[i])) {
            noted = note_finding(&places, &findings->items[i], table, error);
            failed = noted < 0;
        }
    cause_places_release(&places);
    return failed ? -1 : 0;
}
