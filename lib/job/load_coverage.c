/*
 * Loads what limits an analysis of the run: damage, losses, truncated files, progress reports, warnings, and
 * the creation of communicators from logs.
 */
#include "base/base.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

/* Keeps a text of a row for the lifetime of the job. */
static int keep_text(struct loader *loader, struct statement *statement, int column, const char **text,
                     struct error *error)
{
    int32_t number;
    if (loader_tag(loader, statement_text(statement, column), &number, error))
        return -1;
    *text = job_tag(loader->job, number);
    return 0;
}

/* Of several ranks in a process, the one that uses the device. */
static int is_of(const struct job *job, int64_t rank, int64_t gpu)
{
    const struct job_rank *of = &job->ranks[rank];
    if (gpu == COUNT_UNKNOWN || of->facts.gpu == COUNT_UNKNOWN || of->facts.gpu == gpu)
        return 1;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].process_id == of->process_id && job->ranks[i].facts.gpu == gpu)
            return 0;
    return 1;
}

/* Columns of the statement. */
enum {
    AT_RANK,
    AT_GPU,
    AT_KIND,
    AT_STATUS,
    AT_NIC,
    AT_PEER,
    AT_COUNT,
    AT_FIRST,
    AT_LAST,
    AT_CALLS,
    AT_ID,
    AT_TEXT,
    AT_PID
};

static int read_warning(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t rank = loader_rank(loader, statement_integer(statement, AT_RANK));
    if (rank < 0 || !is_of(job, rank, statement_integer_or(statement, AT_GPU, COUNT_UNKNOWN)))
        return 0;
    struct job_warning warning = {.id = statement_integer(statement, AT_ID),
                                  .rank = (int32_t)rank,
                                  .kind = (enum warning_kind)statement_integer(statement, AT_KIND),
                                  .status = statement_integer_or(statement, AT_STATUS, COUNT_UNKNOWN),
                                  .count = statement_integer(statement, AT_COUNT),
                                  .first_ns = statement_integer_or(statement, AT_FIRST, TIME_UNKNOWN),
                                  .last_ns = statement_integer_or(statement, AT_LAST, TIME_UNKNOWN),
                                  .calls = statement_integer_or(statement, AT_CALLS, COUNT_UNKNOWN),

                                  .pid = statement_integer_or(statement, AT_PID, COUNT_UNKNOWN)};
    if (keep_text(loader, statement, AT_NIC, &warning.nic, error) ||
        keep_text(loader, statement, AT_PEER, &warning.peer, error) ||
        keep_text(loader, statement, AT_TEXT, &warning.text, error))
        return -1;
    if (array_reserve((void **)&job->warnings, &job->warning_capacity, job->warning_count + 1,
                      sizeof *job->warnings))
        return error_no_memory(error);
    job->warnings[job->warning_count++] = warning;
    return 0;
}

static int read_address(struct loader *loader, struct statement *statement, struct error *error)
{
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    return rank < 0 ? 0 : keep_text(loader, statement, 1, &loader->job->ranks[rank].address, error);
}

/* Reads the warnings of ranks and the addresses of their hosts, from NCCL's log. */
static int loader_read_warnings(struct loader *loader, struct error *error)
{
    return loader_read(loader, schema_analysis_log_warnings, read_warning, error) ||
                   loader_read(loader, schema_analysis_log_addresses, read_address, error)
               ? -1
               : 0;
}

int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error)
{
    struct statement *statement = store_prepare_for(store, schema_analysis_caution_bare_calls, run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    *calls = (struct bare_calls){0};
    if (row == 1)
        *calls = (struct bare_calls){statement_integer(statement, 0), statement_integer(statement, 1)};
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

static int64_t time_or_unknown(struct statement *statement, int column)
{
    return statement_is_null(statement, column) ? TIME_UNKNOWN : statement_integer(statement, column);
}

/* Columns of the statement. */
enum {
    AT_MEMBER = 1,
    AT_FUNCTION,
    AT_PARENT_HASH,
    AT_PARENT,
    AT_BEGIN,
    AT_END,
    AT_COMPLETE,
    AT_TOTAL,
    AT_PARTS /* followed by those of the parts, in their order */
};

static int read_start(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t member = loader_member(loader, statement_integer(statement, AT_MEMBER));
    int32_t function;
    if (member < 0)
        return 0;
    if (loader_tag(loader, statement_text(statement, AT_FUNCTION), &function, error))
        return -1;
    if (array_reserve((void **)&job->starts, &job->start_capacity, job->start_count + 1, sizeof *job->starts))
        return error_no_memory(error);
    struct job_start *start = &job->starts[job->start_count++];
    *start =
        (struct job_start){.order = statement_integer(statement, 0),
                           .rank = (int32_t)(member >> 32),
                           .communicator = (int32_t)(member & 0xffffffff),
                           .parent = -1,
                           .function = function,
                           .told = {.parent_hash = (uint64_t)statement_integer(statement, AT_PARENT_HASH),
                                    .begin_ns = time_or_unknown(statement, AT_BEGIN),
                                    .end_ns = time_or_unknown(statement, AT_END),
                                    .is_complete = statement_integer(statement, AT_COMPLETE) != 0,
                                    .total_ns = time_or_unknown(statement, AT_TOTAL)}};
    for (int i = 0; i < START_PARTS; i++)
        start->told.parts_ns[i] = time_or_unknown(statement, AT_PARTS + i);
    if (!statement_is_null(statement, AT_PARENT))
        start->parent = (int32_t)loader_communicator(loader, statement_integer(statement, AT_PARENT));
    return 0;
}

static int loader_read_start_ups(struct loader *loader, struct error *error)
{
    if (loader_read(loader, schema_analysis_log_start_ups, read_start, error))
        return -1;
    job_judge_starts(loader->job);
    return 0;
}

static const int64_t SECOND_NS = 1000000000;

/*
 * How long a rank waited for others while a communicator was created; TIME_UNKNOWN. This is the bootstrap;
 * for a communicator that was split from another, also the rest, in which all ranks of the parent exchange
 * the split. If the log has no parts (NCCL up to 2.21), it is the time from the first line to the last.
 */
static int64_t start_waited_ns(const struct start_up *told, enum start_measure *measure)
{
    int64_t bootstrap_ns = told->parts_ns[START_BOOTSTRAP], rest_ns = told->parts_ns[START_REST], took_ns;
    *measure = START_BY_PARTS;
    if (bootstrap_ns != TIME_UNKNOWN && (told->is_complete || !told->parent_hash))
        return bootstrap_ns + (told->parent_hash && rest_ns != TIME_UNKNOWN ? rest_ns : 0);
    *measure = START_NOTHING;
    if (!told->is_complete || told->begin_ns == TIME_UNKNOWN || told->end_ns == TIME_UNKNOWN ||
        __builtin_sub_overflow(told->end_ns, told->begin_ns, &took_ns) || took_ns < 0)
        return TIME_UNKNOWN;
    *measure = told->begin_ns % SECOND_NS || told->end_ns % SECOND_NS ? START_BY_LINES : START_BY_SECONDS;
    return took_ns;
}

int64_t start_resolution_ns(enum start_measure measure)
{
    return measure == START_BY_SECONDS ? SECOND_NS : SECOND_NS / 100;
}

static int by_communicator(const void *a, const void *b)
{
    const struct job_start *left = a, *right = b;
    if (left->communicator != right->communicator)
        return left->communicator < right->communicator ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

void starts_compare(struct job_start *starts, size_t count, int64_t told_ns)
{
    int64_t longest_ns = 0, shortest_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        longest_ns = starts[i].waited_ns > longest_ns ? starts[i].waited_ns : longest_ns;
        shortest_ns = starts[i].waited_ns < shortest_ns ? starts[i].waited_ns : shortest_ns;
    }
    for (size_t i = 0; i < count; i++) {
        starts[i].late_ns = longest_ns - starts[i].waited_ns;
        starts[i].is_told = longest_ns - shortest_ns > told_ns;
        starts[i].is_last = starts[i].is_told && starts[i].waited_ns - shortest_ns <= told_ns;
    }
}

/* Judges the starts of one communicator, all of whose ranks are known. */
static void judge(struct job_start *starts, size_t count)
{
    enum start_measure roughest = START_NOTHING, first = START_NOTHING, measure;
    for (size_t i = 0; i < count; i++) {
        starts[i].waited_ns = start_waited_ns(&starts[i].told, &measure);
        first = i ? first : measure;
        roughest = measure > roughest ? measure : roughest;
        /* Waits that are measured in different ways cannot be compared. */
        if (measure == START_NOTHING || (measure == START_BY_PARTS) != (first == START_BY_PARTS))
            return;
    }
    starts_compare(starts, count, start_resolution_ns(roughest));
}

void job_judge_starts(struct job *job)
{
    size_t first = 0;
    array_sort(job->starts, job->start_count, sizeof *job->starts, by_communicator);
    for (size_t i = 0; i < job->start_count; i++)
        job->starts[i].waited_ns = job->starts[i].late_ns = TIME_UNKNOWN;
    for (size_t i = 0; i <= job->start_count; i++) {
        if (i < job->start_count && job->starts[i].communicator == job->starts[first].communicator)
            continue;
        if (i > first && (int64_t)(i - first) == job->communicators[job->starts[first].communicator].size)
            judge(&job->starts[first], i - first);
        first = i;
    }
}

static int read_blindness(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    job->blind_to_pairs = statement_integer(statement, 0) != 0;
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].kind == OPERATION_POINT_TO_POINT)
            job->blind_to_pairs = 0;
    return 0;
}

static int read_cut(struct loader *loader, struct statement *statement, struct error *error)
{
    static const enum cut cuts[] = {CUT_AT_END, CUT_IN_OPERATION, CUT_STOPPED};
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    enum cut cut = cuts[statement_integer(statement, 1)];
    if (rank >= 0 && cut > loader->job->ranks[rank].cut)
        loader->job->ranks[rank].cut = cut;
    return 0;
}

static int read_progress(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t member = loader_member(loader, statement_integer(statement, 0));
    if (member < 0)
        return 0;
    if (array_reserve((void **)&job->progress, &job->progress_capacity, job->progress_count + 1,
                      sizeof *job->progress))
        return error_no_memory(error);
    job->ranks[member >> 32].reports_progress = 1;
    job->progress[job->progress_count++] = (struct job_progress){
        .rank = (int32_t)(member >> 32),
        .communicator = (int32_t)(member & 0xffffffff),
        .enqueued = statement_is_null(statement, 1) ? -1 : statement_integer(statement, 1),
        .completed = statement_is_null(statement, 2) ? -1 : statement_integer(statement, 2)};
    return 0;
}

static int read_watch(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job_watch *watch = &loader->job->watch;
    (void)error;
    watch->is_watched = 1;
    watch->has_counts = statement_integer(statement, 2) > 0;
    watch->has_moved = !statement_is_null(statement, 0) && statement_integer(statement, 0);
    if (!watch->has_moved && !statement_is_null(statement, 1))
        watch->no_progress_ns = statement_integer(statement, 1);
    return 0;
}

static int read_seen_until(struct loader *loader, struct statement *statement, struct error *error)
{
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    if (rank < 0)
        return 0;
    loader->job->ranks[rank].seen_until_ns = statement_integer(statement, 1);
    loader->job->ranks[rank].anchored_until_ns = statement_integer_or(statement, 2, 0);
    return 0;
}

static int read_told_late(struct loader *loader, struct statement *statement, struct error *error)
{
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    if (rank >= 0)
        loader->job->ranks[rank].reports_after_pending = 1;
    return 0;
}

/*
 * If most files are truncated, or most stop in the middle of an operation, this means nothing for a single
 * rank. Ranks whose recorder stopped are not counted.
 */
static void ignore_common_truncation(struct job *job)
{
    size_t recorded = job_recorded_ranks(job);
    for (enum cut cut = CUT_AT_END; cut <= CUT_IN_OPERATION; cut++) {
        size_t count = 0;
        for (size_t i = 0; i < job->rank_count; i++)
            count += job->ranks[i].cut >= cut && job->ranks[i].cut != CUT_STOPPED;
        if (count * 2 <= recorded)
            continue;
        job->common_cut = cut;
        for (size_t i = 0; i < job->rank_count; i++)
            if (job->ranks[i].cut == cut)
                job->ranks[i].cut = CUT_NONE;
    }
}

static int count_damage(struct loader *loader, struct error *error)
{
    int64_t cut = 0;
    if (loader_read_number(loader, schema_analysis_job_damage, &loader->job->damaged_lines, error) ||
        (loader->job->damaged_lines &&
         loader_read_number(loader, schema_analysis_job_cut_lines, &cut, error)))
        return -1;
    loader->job->damaged_lines -= cut;
    return 0;
}

int loader_read_coverage(struct loader *loader, struct error *error)
{
    int64_t finished_only, calls_only, is_windows, misattributed_kernels, dumped_running = 0;
    struct bare_calls bare;
    if (bare_calls_count(&bare, loader->job->store, loader->job->run_id, error) ||
        count_damage(loader, error) ||
        loader_read_number(loader, schema_analysis_job_losses, &loader->job->lost_events, error) ||
        loader_read_number(loader, schema_analysis_job_overwritten, &loader->job->overwritten, error) ||
        loader_read_number(loader, schema_analysis_job_finished_only, &finished_only, error) ||
        loader_read_number(loader, schema_analysis_job_calls_only, &calls_only, error) ||
        loader_read_number(loader, schema_analysis_job_is_windows, &is_windows, error) ||
        loader_read_number(loader, schema_analysis_job_astray_kernels, &misattributed_kernels, error) ||
        loader_read_number(loader, schema_analysis_job_kernels_before, &loader->job->kernels_before, error) ||
        loader_read(loader, schema_analysis_job_watched, read_watch, error) ||
        loader_read(loader, schema_analysis_job_cut, read_cut, error) ||
        loader_read(loader, schema_analysis_job_seen_until, read_seen_until, error) ||
        loader_read(loader, schema_analysis_job_told_late, read_told_late, error) ||
        loader_read_start_ups(loader, error) || loader_read_warnings(loader, error) ||
        (loader->records_call_states &&
         (loader_read(loader, schema_analysis_job_progress, read_progress, error) ||
          loader_read_number(loader, schema_analysis_job_dumped_running, &dumped_running, error))))
        return -1;
    loader->job->dumped_running = dumped_running != 0;
    loader->job->finished_only = finished_only != 0;
    loader->job->calls_only = calls_only != 0;
    loader->job->is_windows = is_windows != 0;
    loader->job->misattributed_kernels = (unsigned)misattributed_kernels;
    loader->job->bare_calls = bare.captured + bare.others;
    if (!loader->records_call_states)
        ignore_common_truncation(loader->job);
    return loader_read(loader, schema_analysis_job_blind_to_pairs, read_blindness, error);
}
