#ifndef NCCLPROF_JOIN_CALL_HOME_H
#define NCCLPROF_JOIN_CALL_HOME_H

#include "join/call_list.h"

/*
 * Finds the rank of the job that each description is of: of a mark that of its process; of what was printed
 * the global rank that it says, in the job whose files lie closest to the file where it was printed.
 */
int call_list_find_homes(struct call_list *list, const struct work *work, struct store *store,
                         struct error *error);

#endif
