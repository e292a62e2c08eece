#ifndef NCCLPROF_HTML_HEAT_H
#define NCCLPROF_HTML_HEAT_H

#include "render/heat_map.h"

/*
 * Values of each rank in each step: a picture that stands by itself, and the data for one that the script
 * draws, with zoom and search. Texts are hostile. Times are nanoseconds, TIME_UNKNOWN where there is none.
 */

enum { HTML_HEAT_LAYERS = 3 };

/* What is said of a rank in steps from the first to the last. */
struct html_heat_mark {
    size_t rank;
    int64_t first_step;
    int64_t last_step;
    const char *text;
};

struct html_heat {
    int64_t run;
    size_t rank_count;
    int64_t first_step;
    size_t steps;
    struct {
        const char *key;
        const char *title;
    } layers[HTML_HEAT_LAYERS];
    const struct html_heat_mark *marks;
    size_t mark_count;
    int64_t usual_ns;  /* length of a usual step; TIME_UNKNOWN */
    size_t most_cells; /* of more, neighbouring steps are one: the greatest of their values */
    /* Makes the map of a layer, with a row a rank and a column a step: values as colours show them, or as the
     * script wants them, whole. -1 when memory is out; the map is released in any case. */
    int (*make)(struct heat_map *map, const void *context, size_t layer, int is_whole);
    const void *context;
};

/* The figure onto the page, an object for the script onto `data`. -1 when memory is out. */
int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat);

#endif
