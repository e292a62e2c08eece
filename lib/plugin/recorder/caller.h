/* Who calls: which library, or the program itself, some code lies in, and what that exports. */
#ifndef PLUGIN_RECORDER_CALLER_H
#define PLUGIN_RECORDER_CALLER_H

/*
 * The symbol, if the library or program that `address` lies in exports it itself: not one of a library that
 * it depends on. Null when nobody can tell, as of a program that exports nothing. Takes the dynamic linker's
 * lock.
 */
void *caller_symbol(const void *address, const char *name);

/* What ncclGetVersion there says; 0 unknown. */
int caller_nccl_version(const void *address);

#endif
