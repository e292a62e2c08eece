#ifndef NCCLPROF_STORE_STAMP_H
#define NCCLPROF_STORE_STAMP_H

/* PRAGMA application_id of a store. */
enum { STORE_APPLICATION_ID = 0x4E435046 }; /* "NCPF" */

/* Whether a file says in its first bytes that it is a store, of whatever schema; 0 also where there is none.
 */
int store_is_stamped(const char *path);

#endif
