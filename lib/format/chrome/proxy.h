#ifndef NCCLPROF_FORMAT_CHROME_PROXY_H
#define NCCLPROF_FORMAT_CHROME_PROXY_H

#include "format/chrome/reader.h"

/*
 * Proxy operations and the waits of their network steps. A schedule and the progress that follows it are one:
 * a flush hands over what is open.
 */

int chrome_proxy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                       struct error *error);
int chrome_proxy_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns, uint64_t offset,
                     struct error *error);
int chrome_proxy_flush(struct chrome_reader *reader, struct error *error);
int chrome_wait_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                      struct error *error);
void chrome_wait_end(struct chrome_reader *reader, enum chrome_name name, int64_t end_ns);

#endif
