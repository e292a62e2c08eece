#include "analyse/run_choice.h"

#include "analyse/option.h"
#include "job/job.h"
#include "job/load_names.h"

#include <stdlib.h>

static int refuse(const struct runs *runs, struct error *error)
{
    long long wanted = (long long)runs->only;
    if (!runs->count)
        return error_set(error, "there is no run %lld; the store holds none", wanted);
    long long first = (long long)runs->ids[0], last = (long long)runs->ids[runs->count - 1];
    return first == last ? error_set(error, "there is no run %lld; the store holds run %lld", wanted, first)
                         : error_set(error, "there is no run %lld; the store holds runs %lld to %lld", wanted,
                                     first, last);
}

static int keep_only(struct runs *runs, struct error *error)
{
    size_t at = 0;
    while (at < runs->count && runs->ids[at] != runs->only)
        at++;
    if (at == runs->count)
        return refuse(runs, error);
    runs->ids[0] = runs->only;
    runs->count = 1;
    return 0;
}

int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option, int *usage,
                struct error *error)
{
    const char *wanted = request->values[option];
    *runs = (struct runs){0};
    if (wanted && option_integer(wanted, "run", 1, INT64_MAX, &runs->only, error)) {
        *usage = 1;
        return -1;
    }
    if (job_list(request->store, &runs->ids, &runs->count, error))
        return -1;
    if (!runs->only || !keep_only(runs, error))
        return 0;
    runs_release(runs);
    return -1;
}

void runs_release(struct runs *runs)
{
    free(runs->ids);
    *runs = (struct runs){0};
}
