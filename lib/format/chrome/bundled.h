#ifndef NCCLPROF_FORMAT_CHROME_BUNDLED_H
#define NCCLPROF_FORMAT_CHROME_BUNDLED_H

#include "format/chrome/reader.h"

/* Tags, and what the bundled plugin says beside events. */

int chrome_tag_line(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                    struct error *error);

/* Any other line of the bundled plugin's own. */
int chrome_bundled_line(struct chrome_reader *reader, struct json *json, const struct chrome_line *line,
                        uint64_t offset, struct error *error);

/* Operations that the plugin told of while they were pending: one came whole; the rest is handed over. */
void chrome_pending_done(struct chrome_reader *reader, const struct event *event);
int chrome_pending_flush(struct chrome_reader *reader, struct error *error);

#endif
