#ifndef NCCLPROF_HTML_TABLE_H
#define NCCLPROF_HTML_TABLE_H

#include "base/buffer.h"
#include "model/table.h"

/* How a table is shown. */
struct html_table {
    const char *caption;     /* the page's own words */
    const char *bars;        /* name of a column of numbers that get bars, against its greatest; NULL */
    size_t most_rows;        /* of more rows the first ones are shown, and how many there are */
    const char *rest_stands; /* where the others are to be had: a command */
};

/*
 * The columns that are shown to people, without those of detail and those that have no value. Each head
 * explains itself. -1 when
 * memory is out.
 */
int html_add_table(struct buffer *page, const struct table *table, const struct html_table *how);

#endif
