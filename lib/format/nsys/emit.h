#ifndef NCCLPROF_FORMAT_NSYS_EMIT_H
#define NCCLPROF_FORMAT_NSYS_EMIT_H

#include "format/nsys/profile.h"

/* Hands over who is where, and all calls as operations; they have to be linked. -1 to stop, or no memory. */
int nsys_emit(const struct nsys_profile *profile, struct error *error);

#endif
