#ifndef NCCLPROF_FORMAT_PATH_RANK_H
#define NCCLPROF_FORMAT_PATH_RANK_H

#include <stdint.h>

/* The digits at the end of a file's name, endings such as ".json.gz" left out; COUNT_UNKNOWN: none. */
int64_t rank_of_path(const char *path);

/* The number behind "rank" in a file's name, else that at its end: "rank3_memory.pickle"; COUNT_UNKNOWN. */
int64_t rank_named_in_path(const char *path);

#endif
