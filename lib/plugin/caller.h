/* Who calls: which library, or the program itself, some code lies in. */
#ifndef PLUGIN_CALLER_H
#define PLUGIN_CALLER_H

#include <stdbool.h>

/*
 * True when the library or program that `address` lies in exports `symbol` itself: not when one that it
 * depends on does. False when nobody can tell, as of a program that exports nothing. Takes the dynamic
 * linker's lock.
 */
bool caller_exports(const void *address, const char *symbol);

#endif
