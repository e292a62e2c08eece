#ifndef NCCLPROF_WATCH_CHANGE_LINE_H
#define NCCLPROF_WATCH_CHANGE_LINE_H

#include "base/buffer.h"
#include "watch/difference.h"

/*
 * One line for a change, at so many nanoseconds since 1970: for people, fit for a terminal, or as JSON.
 * `names_run`: there are several. -1 when memory is out.
 */
int change_line_text(enum change change, const struct noted *noted, int64_t at_ns, int names_run,
                     struct buffer *line);
int change_line_json(enum change change, const struct noted *noted, int64_t at_ns, struct buffer *line);

#endif
