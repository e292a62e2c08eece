#include "analyse/run_choice.h"

#include "job/load_names.h"
#include "store/run_names.h"

#include <stdlib.h>

static int choose(struct runs *runs, const struct analysis_request *request, const char *wanted,
                  struct error *error)
{
    runs->ids = malloc(sizeof *runs->ids);
    if (!runs->ids)
        return error_no_memory(error);
    if (run_find(request->store, wanted, &runs->only, error)) {
        runs_release(runs);
        return -1;
    }
    runs->ids[runs->count++] = runs->only;
    return 0;
}

int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option, struct error *error)
{
    const char *wanted = request->values[option];
    *runs = (struct runs){0};
    return wanted ? choose(runs, request, wanted, error)
                  : job_list(request->store, &runs->ids, &runs->count, error);
}

void runs_release(struct runs *runs)
{
    free(runs->ids);
    *runs = (struct runs){0};
}
