#ifndef NCCLPROF_HTML_MATRIX_H
#define NCCLPROF_HTML_MATRIX_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A row for each sender, a column for each receiver, and in them what their network steps waited. Of many
 * ends some neighbours share a row and a column, and their worst edge shows.
 */

struct html_edge {
    size_t sender; /* places among the ends */
    size_t receiver;
    double wait_us; /* usual wait of a network step; less than 0: not known */
    int is_blamed;
    const char *verdict; /* hostile, as are names */
};

struct html_matrix {
    const char *const *ends; /* names */
    size_t end_count;
    const struct html_edge *edges;
    size_t edge_count;
};

/* A figure. -1 when memory is out. */
int html_add_matrix(struct buffer *page, const struct html_matrix *matrix);

#endif
