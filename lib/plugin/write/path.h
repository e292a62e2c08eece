/* Where a process writes: patterns expanded, directories made, never through a symbolic link. */
#ifndef PLUGIN_WRITE_PATH_H
#define PLUGIN_WRITE_PATH_H

#include <stddef.h>

/*
 * Expands %h (host), %p (process id), %r (rank; `rank` stands in where no launcher tells it) and %%, and
 * appends suffix. What is put in is made safe: letters, digits, '.', '_' and '-' alone. 0, or -1 if it does
 * not fit.
 */
int path_expand(char *path, size_t size, const char *pattern, int rank, const char *suffix);

/*
 * Makes missing directories (mode 0700) and creates the file (mode 0600, close-on-exec). A name that is taken
 * gets -1, -2 ... before the suffix; path says which it became. The descriptor, or -1 with errno.
 */
int path_create(char *path, size_t size, const char *suffix);

/* This machine's name, safe as above; at most size - 1 bytes. */
void path_host(char *host, size_t size);

/* The rank that a launcher gave this process, safe as above, or else `rank`. */
void path_rank(char *text, size_t size, int rank);

#endif
