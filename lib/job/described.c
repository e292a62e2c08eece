#include "job/described.h"

#include "base/array.h"
#include "schemas.h"
#include "store/statement.h"

static int take(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t at = id_runs_find(&job->operation_ids, statement_integer(statement, 0));
    if (at < 0)
        return 0;
    if (loader_list_places(loader))
        return error_no_memory(error);
    if (!job->described) {
        job->described = array_new(job->operation_count, sizeof *job->described);
        if (!job->described)
            return error_no_memory(error);
        for (size_t i = 0; i < job->operation_count; i++)
            job->described[i] = -1;
    }
    int32_t *described = &job->described[loader->places[at]];
    return *described < 0 ? loader_tag(loader, statement_text(statement, 1), described, error) : 0;
}

int loader_read_described(struct loader *loader, struct error *error)
{
    return loader_read(loader, schema_analysis_job_described, take, error);
}
