#ifndef NCCLPROF_FORMAT_CHROME_OPERATION_H
#define NCCLPROF_FORMAT_CHROME_OPERATION_H

#include "format/chrome/reader.h"

/*
 * Operations and their kernels: begun, ended, and handed over by a flush, once what follows an end cannot
 * change it any more. `api_end_ns`: the end of the call around it, TIME_UNKNOWN where there is none.
 */

int chrome_operation_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                           struct error *error);
void chrome_copy_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset);
int chrome_operation_end(struct chrome_reader *reader, int64_t end_ns, int has_end, uint64_t offset,
                         struct error *error);
int chrome_operation_flush(struct chrome_reader *reader, int64_t api_end_ns, struct error *error);

/* A channel of the kernel of the open operation, and one phase of it. */
int chrome_kernel_begin(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_phase(struct chrome_reader *reader, const struct chrome_line *line, uint64_t offset,
                        struct error *error);
int chrome_kernel_end(struct chrome_reader *reader, int64_t end_ns, uint64_t offset, struct error *error);

#endif
