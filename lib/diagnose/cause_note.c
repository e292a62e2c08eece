/* The note about records of nodes that cannot be compared with the findings of a run, and why. */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

#define MINUTE_NS (INT64_C(60) * 1000000000)
#define HOUR_NS (INT64_C(3600) * 1000000000)

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

int caution_node_records(const struct job *job, const struct findings *findings, struct table *table,
                         struct error *error)
{
    struct cause_places places = {.job = NULL};
    int noted = 0, is_asked = 0;
    for (size_t i = 0; i < findings->count; i++)
        is_asked |= finding_is_reported(&findings->items[i]);
    if (!is_asked)
        return 0;
    int failed = cause_places_init(&places, job, error);
    if (!failed && places.hosts.count && !places.host_count)
        failed =
            table_add_warning(table, error,
                              "no trace says that a rank ran on one of the hosts of the records of nodes, "
                              "so no cause could be looked for");
    for (size_t i = 0; !failed && !noted && places.host_count && i < findings->count; i++)
        if (finding_is_reported(&findings->items[i])) {
            noted = note_finding(&places, &findings->items[i], table, error);
            failed = noted < 0;
        }
    cause_places_release(&places);
    return failed ? -1 : 0;
}
