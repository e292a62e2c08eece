#ifndef NCCLPROF_HTML_HEAT_H
#define NCCLPROF_HTML_HEAT_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Values of each rank in each step: a picture that stands by itself, and the data for one that the script
 * draws, with zoom and search. Texts are hostile. Times are nanoseconds, TIME_UNKNOWN where there is none.
 */

enum html_heat_value { HTML_HEAT_LENGTH, HTML_HEAT_WAITING, HTML_HEAT_OWN, HTML_HEAT_VALUES };

struct html_heat_rank {
    const char *name;
    const char *host; /* NULL: not known */
};

/* What is said of a rank in steps from the first to the last. */
struct html_heat_mark {
    size_t rank;
    int64_t first_step;
    int64_t last_step;
    const char *text;
};

struct html_heat {
    int64_t run;
    const struct html_heat_rank *ranks;
    size_t rank_count;
    int64_t first_step;
    size_t steps;
    const int64_t *values[HTML_HEAT_VALUES]; /* [rank * steps + step] */
    const struct html_heat_mark *marks;
    size_t mark_count;
    int64_t usual_ns;  /* length of a usual step; TIME_UNKNOWN */
    size_t most_cells; /* of more, neighbouring steps are one: the greatest of their values */
};

/* The figure onto the page, an object for the script onto `data`. -1 when memory is out. */
int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat);

#endif
