#include "job/warnings.h"

#include "base/array.h"
#include "job/loader.h"
#include "schemas.h"
#include "store/statement.h"

/* A text of a row, as long as the job lives. */
static int keep_text(struct loader *loader, struct statement *statement, int column, const char **text,
                     struct error *error)
{
    int32_t number;
    if (loader_tag(loader, statement_text(statement, column), &number, error))
        return -1;
    *text = job_tag(loader->job, number);
    return 0;
}

static int64_t number_or(struct statement *statement, int column, int64_t unknown)
{
    return statement_is_null(statement, column) ? unknown : statement_integer(statement, column);
}

/* Of several ranks of a process, the one that has the device. */
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
    if (rank < 0 || !is_of(job, rank, number_or(statement, AT_GPU, COUNT_UNKNOWN)))
        return 0;
    struct job_warning warning = {.id = statement_integer(statement, AT_ID),
                                  .rank = (int32_t)rank,
                                  .kind = (enum warning_kind)statement_integer(statement, AT_KIND),
                                  .status = number_or(statement, AT_STATUS, COUNT_UNKNOWN),
                                  .count = statement_integer(statement, AT_COUNT),
                                  .first_ns = number_or(statement, AT_FIRST, TIME_UNKNOWN),
                                  .last_ns = number_or(statement, AT_LAST, TIME_UNKNOWN),
                                  .calls = number_or(statement, AT_CALLS, COUNT_UNKNOWN),

                                  .pid = number_or(statement, AT_PID, COUNT_UNKNOWN)};
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

int loader_read_warnings(struct loader *loader, struct error *error)
{
    return loader_read(loader, schema_analysis_log_warnings, read_warning, error) ||
                   loader_read(loader, schema_analysis_log_addresses, read_address, error)
               ? -1
               : 0;
}
