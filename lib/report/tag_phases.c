/*
 * Phases in which a rank has no operation (data loading, a checkpoint, an evaluation), for the rows of report
 * by tag: how long they lasted on each rank, in each step.
 */
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* What is known of the operations of a run. Arrays are owned. */
struct tagged_run {
    struct report_groups *report;
    struct job job;            /* its names only */
    struct job_issues *issues; /* [rank * steps + step] */
    struct map used;           /* ranks, steps and tags that have operations */
    size_t steps;
    int64_t *tag_names; /* per tag: number of its text in the report */
    int64_t *sums_ns;   /* per tag: of the rank in `step` */
    int32_t *touched;   /* the tags whose sums are not 0 */
    size_t touched_count;
    int32_t rank;
    int32_t step;
    int has_failed; /* memory is out */
};

static int is_wanted(const struct report_groups *report)
{
    static const enum report_key keys[] = {KEY_TAG,  KEY_FUNCTION, KEY_RANK,       KEY_STEP, KEY_RUN,
                                           KEY_HOST, KEY_DEVICE,   KEY_GPU_SERIAL, KEY_VM};
    size_t known = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        known += (size_t)report_groups_is_by(report, keys[i]);
    return report_groups_is_by(report, KEY_TAG) && known == report->by_count &&
           !report->filter->communicator && !report->cross_node;
}

/* When an operation was issued, or else began or ended; TIME_UNKNOWN. */
static int64_t issued_ns(const struct block_reader *rows, size_t row)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN,
                                  OPERATION_DEVICE_END};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!rows->absent[columns[i]][row])
            return rows->values[columns[i]][row];
    return TIME_UNKNOWN;
}

static struct map_key place_of(int32_t rank, int64_t step, int64_t tag)
{
    return (struct map_key){{(uint64_t)rank, (uint64_t)step, (uint64_t)tag}};
}

static void note_issue(struct job_issues *issues, int64_t at_ns)
{
    if (issues->last_ns == TIME_UNKNOWN || at_ns < issues->first_ns)
        issues->first_ns = at_ns;
    if (issues->last_ns == TIME_UNKNOWN || at_ns > issues->last_ns)
        issues->last_ns = at_ns;
}

static int take_operations(struct tagged_run *run, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN,
                                  OPERATION_DEVICE_END, OPERATION_TAG};
    static const int joined[] = {JOINED_STEP, JOINED_TAG};
    const struct roster_member *member = roster_member(&run->job.roster, scan->owner_id);
    if (!member)
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error) ||
        scan_joined_columns(scan, joined, sizeof joined / sizeof *joined, error))
        return -1;
    for (size_t i = 0; i < scan->rows.count; i++) {
        const char *own = block_text(&scan->rows, OPERATION_TAG, i),
                   *tag = block_text(&scan->joined, JOINED_TAG, i);
        int64_t at_ns = issued_ns(&scan->rows, i), step = block_value(&scan->joined, JOINED_STEP, i, -1);
        int64_t number = tag || own ? intern_find(&run->job.tags, tag ? tag : own) : -1;
        if (at_ns == TIME_UNKNOWN || step < 0 || (size_t)step >= run->steps)
            continue;
        if (number >= 0 && !map_put(&run->used, place_of(member->rank, step, number), 1, NULL))
            return error_no_memory(error);
        note_issue(&run->issues[(size_t)member->rank * run->steps + (size_t)step], at_ns);
    }
    return 0;
}

static int read_operations(struct tagged_run *run, struct store *store, struct error *error)
{
    struct block_scan scan;
    int more = scan_operations(&scan, store, run->job.run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_operations(run, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

/* The row of a phase of the rank in a step, but for its time. */
static struct report_row row_of(struct tagged_run *run, int32_t tag)
{
    const struct job_rank *rank = &run->job.ranks[run->rank];
    struct report_groups *report = run->report;
    struct report_row row = {.instance = -1,
                             .ranks = (int64_t)run->job.rank_count,
                             .communicator = -1,
                             .transfer_ns = TIME_UNKNOWN,
                             .wait_ns = TIME_UNKNOWN,
                             .is_phase = 1};
    for (int i = 0; i < KEY_COUNT; i++)
        row.key[i] = -1;
    row.key[KEY_TAG] = run->tag_names[tag];
    row.key[KEY_STEP] = run->step;
    row.key[KEY_RUN] = run->job.run_id;
    row.key[KEY_DEVICE] = rank->facts.gpu >= 0 ? rank->facts.gpu : -1;
    row.key[KEY_RANK] = report_groups_text(report, rank->name);
    row.key[KEY_HOST] = report_groups_text(report, rank->facts.host);
    row.key[KEY_GPU_SERIAL] = report_groups_text(report, rank->facts.gpu_serial);
    row.key[KEY_VM] = report_groups_text(report, rank->facts.vm);
    return row;
}

/* Adds the phases of the rank in the step that is over. */
static void add_step(struct tagged_run *run)
{
    const struct filter *filter = run->report->filter;
    int is_wanted_step = run->step >= filter->steps.first && run->step <= filter->steps.last;
    for (size_t i = 0; i < run->touched_count; i++) {
        int32_t tag = run->touched[i];
        struct report_row row = row_of(run, tag);
        row.effective_ns = run->sums_ns[tag];
        run->sums_ns[tag] = 0;
        if (is_wanted_step && filter_is_text(filter->tag, job_tag(&run->job, tag)))
            run->has_failed |= report_groups_add_named(run->report, &row) != 0;
    }
    run->touched_count = 0;
}

static void take_phase(void *context, int32_t step, int32_t tag, int64_t ns)
{
    struct tagged_run *run = context;
    if (step != run->step)
        add_step(run);
    run->step = step;
    if (map_get(&run->used, place_of(run->rank, step, tag)))
        return;
    if (!run->sums_ns[tag] && ns > 0)
        run->touched[run->touched_count++] = tag;
    run->sums_ns[tag] += ns > 0 ? ns : 0;
}

static int add_rank(struct tagged_run *run, struct job_marks *marks, int32_t number, struct error *error)
{
    const struct job_rank *rank = &run->job.ranks[number];
    struct report_groups *report = run->report;
    if (!filter_has_rank(report->filter, rank->global_rank))
        return 0;
    if (job_marks_load(marks, &run->job, number, error))
        return -1;
    int64_t name = report_groups_text(report, rank->name);
    run->rank = number;
    run->step = -1;
    run->has_failed = name < 0 || report_groups_number(report, name, rank->global_rank);
    if (!run->has_failed)
        job_marks_each(marks, &run->issues[(size_t)number * run->steps], (int32_t)run->steps, take_phase,
                       run);
    add_step(run);
    return run->has_failed ? error_no_memory(error) : 0;
}

static int init(struct tagged_run *run)
{
    size_t tags = run->job.tags.count;
    run->steps = (size_t)run->job.step_count;
    run->issues = array_new(run->job.rank_count * run->steps + 1, sizeof *run->issues);
    run->touched = array_new(tags, sizeof *run->touched);
    run->tag_names = array_new(tags, sizeof *run->tag_names);
    run->sums_ns = array_new(tags, sizeof *run->sums_ns);
    if (!run->issues || !run->touched || !run->tag_names || !run->sums_ns)
        return -1;
    for (size_t i = 0; i < run->job.rank_count * run->steps; i++)
        run->issues[i] = (struct job_issues){.first_ns = TIME_UNKNOWN, .last_ns = TIME_UNKNOWN};
    for (size_t i = 0; i < tags; i++)
        if ((run->tag_names[i] = report_groups_text(run->report, intern_text(&run->job.tags, (int64_t)i))) <
            0)
            return -1;
    return 0;
}

static void release(struct tagged_run *run)
{
    free(run->issues);
    free(run->touched);
    map_release(&run->used);
    free(run->tag_names);
    free(run->sums_ns);
    job_release(&run->job);
}

static int add_run(struct report_groups *report, struct store *store, int64_t id, struct error *error)
{
    struct tagged_run run = {.report = report};
    struct job_marks marks = {.items = NULL};
    if (job_load_names(&run.job, store, id, error))
        return -1;
    map_init(&run.used);
    int failed = job_load_tags(&run.job, error);
    if (!failed && run.job.tags.count && run.job.step_count > 0) {
        failed = init(&run) ? error_no_memory(error) : read_operations(&run, store, error);
        for (int32_t rank = 0; !failed && rank < (int32_t)run.job.rank_count; rank++)
            failed = add_rank(&run, &marks, rank, error);
    }
    job_marks_release(&marks);
    release(&run);
    return failed;
}

int report_phases_read(struct report_groups *report, struct store *store, const struct runs *runs,
                       struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < runs->count && is_wanted(report); i++)
        if (!runs->only || runs->ids[i] == runs->only)
            failed = add_run(report, store, runs->ids[i], error);
    return failed;
}
