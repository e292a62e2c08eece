#ifndef NCCLPROF_ANALYSE_STALLS_EDGES_H
#define NCCLPROF_ANALYSE_STALLS_EDGES_H

#include "model/table.h"
#include "stalls/stalls.h"

/* The only edge that is shown, where one is asked for: global ranks. */
struct only_edge {
    int is_asked;
    int64_t sender;
    int64_t receiver;
};

/* A row for each edge, worst first; edges are put in that order. */
int stalls_show_edges(struct stalls *stalls, const struct only_edge *only, struct table *table,
                      struct error *error);

#endif
