#include "job/shared_processes.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

/* Of a process: its ranks with operations, those in the communicator last looked at, the most in any. */
struct crew {
    size_t ranks;
    size_t here;
    size_t most;
    size_t communicator;
};

/* Of each rank the number of its process; their ranks with operations are counted. -1: out of memory. */
static int number_processes(const struct job *job, int64_t *process, struct crew *crews)
{
    struct map numbers;
    int failed = 0;
    map_init(&numbers);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        int64_t *number = map_put(&numbers, (struct map_key){{(uint64_t)job->ranks[i].process_id}},
                                  (int64_t)numbers.count, NULL);
        failed = !number;
        process[i] = failed ? 0 : *number;
        crews[process[i]].ranks += job->ranks[i].count > 0;
    }
    map_release(&numbers);
    return failed ? -1 : 0;
}

static void count_crews(const struct job *job, const int64_t *process, struct crew *crews)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t j = 0; j < job->communicators[i].seat_count; j++) {
            int32_t rank = job->communicators[i].seats[j].rank;
            struct crew *crew = &crews[process[rank]];
            if (!job->ranks[rank].count)
                continue;
            if (crew->communicator != i + 1)
                crew->here = 0;
            crew->communicator = i + 1;
            if (++crew->here > crew->most)
                crew->most = crew->here;
        }
}

int job_find_parts(struct job *job)
{
    int64_t *process = array_new(job->rank_count, sizeof *process);
    struct crew *crews = array_new(job->rank_count + 1, sizeof *crews);
    int failed = !process || !crews || number_processes(job, process, crews);
    if (!failed)
        count_crews(job, process, crews);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        job->ranks[i].is_part = crews[process[i]].ranks > crews[process[i]].most;
    free(process);
    free(crews);
    return failed;
}
