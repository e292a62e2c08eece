#ifndef NCCLPROF_HTML_LANES_H
#define NCCLPROF_HTML_LANES_H

#include "base/buffer.h"
#include "base/intern.h"

#include <stddef.h>
#include <stdint.h>

/* What ranks did at one time, a lane each, on one clock. Times are nanoseconds; texts are hostile. */

struct html_lane_bar {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t waiting_ns; /* of that, what it waited for the last to arrive, at its begin; 0: not known */
    int32_t name;       /* numbers of texts */
    int32_t group;      /* -1: none, as its tag */
    int is_open;        /* it never ended; end_ns is that of the picture */
    int is_endless;     /* when it ended is not known; end_ns is begin_ns */
};

struct html_lane {
    const char *name;
    int is_accused;
    const char *missing;        /* why there are no bars; NULL */
    struct html_lane_bar *bars; /* in order of their begins */
    size_t count;
};

struct html_lanes {
    const char *id; /* the page's own */
    const char *title;
    const struct html_lane *lanes;
    size_t count;
    const struct intern *texts;
    int64_t begin_ns; /* of the picture: shown as 0 */
    int64_t end_ns;
};

/* The figure onto the page, an object for the script onto `data`. -1 when memory is out. */
int html_add_lanes(struct buffer *page, struct buffer *data, const struct html_lanes *lanes);

#endif
