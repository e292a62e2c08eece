#include "baseline/each_place.h"

#include "base/array.h"
#include "job/threads.h"

#include <stdlib.h>

/* With fewer places for each thread their scratch memory would be much beside that of the job. */
enum { PLACES_A_THREAD = 8 };

struct visiting {
    place_visit visit;
    void *context;
    size_t *first; /* owned: the number of each role's first place, and how many there are in all */
};

static size_t count_places(const struct baseline *baseline)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->role_count; i++)
        count += (size_t)baseline->roles[i].length;
    return count;
}

size_t each_place_threads(const struct baseline *baseline, const struct job *job)
{
    return parallel_threads(job_threads(job), count_places(baseline), PLACES_A_THREAD);
}

size_t each_place_ranks(const struct baseline *baseline)
{
    size_t most = 0;
    for (size_t i = 0; i < baseline->role_count; i++)
        if (baseline->roles[i].rank_count > most)
            most = baseline->roles[i].rank_count;
    return most;
}

static int visit_places(void *context, size_t worker, size_t first, size_t end)
{
    const struct visiting *visiting = context;
    size_t role = 0;
    for (size_t place = first; place < end; place++) {
        while (place >= visiting->first[role + 1])
            role++;
        visiting->visit(visiting->context, worker, role, (int32_t)(place - visiting->first[role]));
    }
    return 0;
}

int each_place(const struct baseline *baseline, size_t threads, place_visit visit, void *context)
{
    struct visiting visiting = {.visit = visit,
                                .context = context,
                                .first = array_new(baseline->role_count + 1, sizeof *visiting.first)};
    if (!visiting.first)
        return -1;
    for (size_t i = 0; i < baseline->role_count; i++)
        visiting.first[i + 1] = visiting.first[i] + (size_t)baseline->roles[i].length;
    int failed = parallel_for(count_places(baseline), 1, threads, visit_places, &visiting);
    free(visiting.first);
    return failed;
}
