#ifndef NCCLPROF_HTML_CHART_H
#define NCCLPROF_HTML_CHART_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A time in each step, as dots, beside what others took: their middle and the range that they are in. Times
 * are nanoseconds, TIME_UNKNOWN where there is none.
 */
struct html_chart {
    const char *title;       /* what is drawn; hostile, as both names */
    const char *mine_name;   /* whose the dots are */
    const char *peers_name;  /* of the line and the range around it */
    const int64_t *mine_ns;  /* one for each step, as all below */
    const int64_t *peers_ns; /* NULL: nobody to compare with, and no range */
    const int64_t *low_ns;   /* NULL: no range */
    const int64_t *high_ns;
    const unsigned char *marked; /* steps that stand out; NULL: none */
    const char *marked_name;
    int64_t first_step;
    size_t steps;
};

/* A figure; nothing where no step has a time of its own. -1 when memory is out. */
int html_add_chart(struct buffer *page, const struct html_chart *chart);

#endif
