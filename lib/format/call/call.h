#ifndef NCCLPROF_FORMAT_CALL_CALL_H
#define NCCLPROF_FORMAT_CALL_CALL_H

#include "format/format.h"

/* What a program prints of its calls (format/call_line.h), of one rank or of several mixed, among whatever
 * else was printed. */
extern const struct format format_call;

#endif
