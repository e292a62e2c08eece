#ifndef NCCLPROF_ANALYSE_STALLS_MATRIX_H
#define NCCLPROF_ANALYSE_STALLS_MATRIX_H

#include "analyse/stalls_figures.h"

/* A row for each sender, a column for each receiver, and in them one of the figures. */
int stalls_show_matrix(struct stalls *stalls, enum stalls_column figure, struct table *table,
                       struct error *error);

#endif
