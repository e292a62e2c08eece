#ifndef NCCLPROF_ANALYSE_OPTION_H
#define NCCLPROF_ANALYSE_OPTION_H

#include "analyse/analysis.h"

#include <stdint.h>

/* Whether an option stands on the command line: else its value is the very text of its fallback. */
int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option);

/* An option's value as a number between `least` and `greatest`; -1 with an error that names the option. */
int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error);

/* Likewise, a whole number. */
int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error);

/* "A-B" or "A", whole numbers from 0, A not beyond B. */
int option_range(const char *text, const char *name, int64_t *first, int64_t *last, struct error *error);

#endif
