#ifndef NCCLPROF_RENDER_WRITE_H
#define NCCLPROF_RENDER_WRITE_H

#include "base/error.h"

#include <stdio.h>

/* Whether what was written has arrived so far; to be asked right after writing, which left the cause in
 * errno. */
int render_check(FILE *stream, struct error *error);

#endif
