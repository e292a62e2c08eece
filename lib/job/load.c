#include "job/load.h"

#include "job/call_times.h"
#include "job/described.h"
#include "job/gaps.h"
#include "job/issue_order.h"
#include "job/load_coverage.h"
#include "job/load_instances.h"
#include "job/load_names.h"
#include "job/load_traffic.h"
#include "job/loader.h"
#include "job/record_extents.h"
#include "job/shared_processes.h"
#include "job/stages.h"
#include "job/step_index.h"
#include "job/successions.h"
#include "job/timeline.h"
#include "store/connection.h"

static int load_all(struct loader *loader, struct job *job, struct error *error)
{
    if (loader_init(loader, job, error) || loader_read_instances(loader, error) ||
        loader_read_operations(loader, error))
        return -1;
    if (job_lay_out(job) || loader_draft_ends(job) || loader_list_members(job) ||
        (job->calls && job_time_calls(job)) || job_find_parts(job) || job_find_successions(job) ||
        job_find_stages(job))
        return error_no_memory(error);
    return (loader->has_traffic && loader_read_traffic(loader, error)) ||
                   loader_read_described(loader, error) || loader_read_coverage(loader, error)
               ? -1
               : 0;
}

static int load_operations(struct job *job, struct error *error)
{
    struct loader loader;
    int failed = load_all(&loader, job, error);
    loader_release(&loader);
    return failed;
}

static int failed_to_load(struct job *job, struct error *error)
{
    error_wrap(error, "cannot load run %lld of %s", (long long)job->run_id, store_path(job->store));
    job_release(job);
    return -1;
}

int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    *job = (struct job){.store = store, .run_id = run_id};
    intern_init(&job->tags);
    if (job_read_names(job, error))
        return failed_to_load(job, error);
    return 0;
}

/* Where the record of a rank ends before others', by what is recorded of all. */
static int find_tails(struct job *job, struct error *error)
{
    struct extents extents;
    int failed = extents_init(&extents, job) ? error_no_memory(error) : 0;
    if (!failed)
        job_find_tails(job, &extents);
    extents_release(&extents);
    return failed;
}

int job_load_rest(struct job *job, struct error *error)
{
    if (load_operations(job, error))
        return failed_to_load(job, error);
    roster_release(&job->roster);
    job_doubt_steps(job);
    if (job_build_timelines(job, error) || job_count_gaps(job, error) || job_index_steps(job, error) ||
        find_tails(job, error))
        return failed_to_load(job, error);
    return 0;
}

int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    return job_load_names(job, store, run_id, error) || job_load_rest(job, error) ? -1 : 0;
}
