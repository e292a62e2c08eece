#ifndef NCCLPROF_JOIN_LOAD_H
#define NCCLPROF_JOIN_LOAD_H

#include "join/work.h"

/* The base tables, but for the operations themselves and the marks. */
int work_load(struct work *work, struct store *store, struct error *error);

/* The marks of one process and the names of its tags, which take the place of the last one's; -1: none. */
int work_load_marks(struct work *work, struct store *store, int32_t process, struct error *error);

/* Those of one member, -1 all of the process, in order of time. Returns how many. */
size_t work_marks_of(const struct work *work, int32_t member, const struct work_mark **marks);

#endif
