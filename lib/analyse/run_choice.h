#ifndef NCCLPROF_ANALYSE_RUN_CHOICE_H
#define NCCLPROF_ANALYSE_RUN_CHOICE_H

#include "analyse/analysis.h"

#include <stdint.h>

/* The option by which analyses are asked about one job of a store. */
#define RUN_OPTION                                                                          \
    {                                                                                       \
        "run", 0, "RUN", "only this run; name or number as in 'ncclprof info --runs'", NULL \
    }

/* The runs that a request is about, ascending. */
struct runs {
    int64_t *ids; /* owned */
    size_t count;
    int64_t only; /* the one asked about; 0: all of them */
};

/*
 * `option` is the place of RUN_OPTION in the request's values. -1 where its value is no run of the store,
 * with an error that says which there are; nothing is left to release then.
 */
int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option,
                struct error *error);
void runs_release(struct runs *runs);

#endif
