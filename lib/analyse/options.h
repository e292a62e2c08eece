#ifndef NCCLPROF_ANALYSE_OPTIONS_H
#define NCCLPROF_ANALYSE_OPTIONS_H

#include "base/error.h"

#include <stdint.h>

/* An option's value as a number between `least` and `greatest`; -1 with an error that names the option. */
int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error);

/* Likewise, a whole number. */
int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error);

#endif
