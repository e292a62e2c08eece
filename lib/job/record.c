#include "job/record.h"

#include "schemas.h"

#include "store/statement.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* A wall clock that is read beside the process's own goes on as that does. */
static int find_wall_clock(const struct job *job, int64_t process_id, struct job_record *record,
                           struct error *error)
{
    struct statement *row = store_prepare(job->store, schema_analysis_job_wall_clock, error);
    int found = row && statement_bind_integer(row, 1, process_id, error) == 0 &&
                        statement_bind_integer(row, 2, record->at_ns, error) == 0
                    ? statement_step(row, error)
                    : -1;
    if (found == 1 && (__builtin_sub_overflow(record->at_ns, statement_integer(row, 0), &record->wall_ns) ||
                       __builtin_add_overflow(record->wall_ns, statement_integer(row, 1), &record->wall_ns)))
        record->wall_ns = TIME_UNKNOWN;
    statement_free(row);
    return found < 0 ? -1 : 0;
}

static int read_place(struct statement *row, struct job_record *record, struct error *error)
{
    const char *path = statement_text(row, 0);
    record->file = path ? strdup(path) : NULL;
    if (path && !record->file)
        return error_no_memory(error);
    record->byte_offset = statement_integer(row, 1);
    record->at_ns = statement_integer_or(row, 2, TIME_UNKNOWN);
    return 0;
}

int job_find_record(const struct job *job, size_t operation, struct job_record *record, struct error *error)
{
    int is_wall_clock = 0;
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    if (!job->read_order)
        return 0;
    int64_t id = job_operation_id(job, operation);
    struct statement *row = store_prepare(job->store, schema_analysis_job_record, error);
    int found = row && statement_bind_integer(row, 1, id, error) == 0 ? statement_step(row, error) : -1;
    if (found == 1 && read_place(row, record, error))
        found = -1;
    is_wall_clock = found == 1 && statement_integer(row, 3);
    statement_free(row);
    if (found != 1 || record->at_ns == TIME_UNKNOWN)
        return found < 0 ? -1 : 0;
    if (is_wall_clock) {
        record->wall_ns = record->at_ns;
        return 0;
    }
    int64_t process_id = job->ranks[job->operations[operation].rank].process_id;
    return find_wall_clock(job, process_id, record, error);
}

int job_find_warning(const struct job *job, int64_t warning, struct job_record *record, struct error *error)
{
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    struct statement *row = store_prepare(job->store, schema_analysis_log_warning_record, error);
    int found = row && statement_bind_integer(row, 1, warning, error) == 0 ? statement_step(row, error) : -1;
    int failed = found < 0 || (found && read_place(row, record, error));
    statement_free(row);
    return failed ? -1 : 0;
}

void job_record_release(struct job_record *record)
{
    free(record->file);
    *record = (struct job_record){.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
}
