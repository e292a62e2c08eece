#ifndef NCCLPROF_FORMAT_INSPECTOR_DECODE_PROXY_H
#define NCCLPROF_FORMAT_INSPECTOR_DECODE_PROXY_H

#include "format/inspector/line.h"

/* Members of a line: what a marker counts, and what a proxy record says. */
void inspector_decode_stats(struct json *json, const struct value *stats, struct inspector_stats *into);
void inspector_decode_proxy(struct json *json, const struct value *record, struct inspector_line *line);

/* A network step of a proxy record, and when it began and ended, TIME_UNKNOWN where that is not said. */
struct inspector_step {
    struct proxy_step step;
    int64_t begin_ns;
    int64_t end_ns;
};

void inspector_step(struct json *json, const struct inspector_proxy *proxy, const struct value *node,
                    struct inspector_step *step);

#endif
