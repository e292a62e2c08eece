#ifndef NCCLPROF_ANALYSE_STALLS_FIGURES_H
#define NCCLPROF_ANALYSE_STALLS_FIGURES_H

#include "model/table.h"
#include "stalls/stalls.h"

/* The figures of an edge, as columns of a table. */
enum stalls_column {
    AT_SENDER,
    AT_RECEIVER,
    AT_COMMUNICATOR,
    AT_CHANNEL,
    AT_STEPS,
    AT_SEND_P50,
    AT_SEND_MAX,
    AT_RECV_P50,
    AT_STALLED,
    AT_FIRST_STEP,
    AT_LAST_STEP,
    AT_VERDICT,
    AT_MEASURED,
    AT_WAIT_MEAN,
    AT_USUAL_MEAN,
    AT_SENDER_NAME,
    AT_RECEIVER_NAME,
    AT_RUN,
    STALLS_COLUMNS
};

extern const struct column stalls_columns[STALLS_COLUMNS];

/* One of the figures, into a column of any table. */
int stalls_set_figure(struct table *table, size_t column, enum stalls_column figure,
                      const struct stalls_edge *edge, struct error *error);

/* Whether names stand in for numbers of ranks that nobody knows. */
int stalls_has_unnumbered(const struct stalls *stalls);

#endif
