#ifndef NCCLPROF_FORMAT_CHROME_DIALECT_H
#define NCCLPROF_FORMAT_CHROME_DIALECT_H

#include "format/chrome/reader.h"

/* "chrome-v5" and the like. */
void chrome_reader_dialect(const struct chrome_reader *reader, char *dialect, size_t dialect_bytes);

#endif
