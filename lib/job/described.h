#ifndef NCCLPROF_JOB_DESCRIBED_H
#define NCCLPROF_JOB_DESCRIBED_H

#include "job/loader.h"

/* From where operations were called, as descriptions of the calls say: job->described. Operations are laid
 * out, and their places known. */
int loader_read_described(struct loader *loader, struct error *error);

#endif
