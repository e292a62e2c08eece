#ifndef NCCLPROF_FORMAT_CHROME_NESTING_H
#define NCCLPROF_FORMAT_CHROME_NESTING_H

#include "format/chrome/reader.h"

/* One line; `text` is what it was read from, `json` what chrome_decode() used (NULL when it did not). */
int chrome_reader_line(struct chrome_reader *reader, const struct chrome_line *line, struct json *json,
                       const char *text, size_t length, uint64_t offset, struct error *error);

/* The two lines of a network step's wait: `line` begins it. */
int chrome_reader_wait(struct chrome_reader *reader, const struct chrome_line *line, int64_t end_ns,
                       uint64_t offset, struct error *error);

/* A new array begins: what was open ends here. */
int chrome_reader_close(struct chrome_reader *reader, struct error *error);

/* The end of the file. */
int chrome_reader_finish(struct chrome_reader *reader, uint64_t offset, struct error *error);

/* The reason under which events are noted that no plugin of NCCL's prints. */
extern const char chrome_unknown_event[];

#endif
