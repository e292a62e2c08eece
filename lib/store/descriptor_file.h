#ifndef NCCLPROF_STORE_DESCRIPTOR_FILE_H
#define NCCLPROF_STORE_DESCRIPTOR_FILE_H

#include "store/internal.h"

/*
 * SQLite writes a database into a file that is open already, and may have no name: nobody else knows of it,
 * so that there are no locks and nothing is synchronised. Temporary files are SQLite's as always. One
 * database for each of these; all that is in here stays where it is until descriptor_file_release.
 */
struct descriptor_file {
    sqlite3_vfs vfs;  /* its name goes to sqlite3_open_v2; the database's own name there says nothing */
    sqlite3_vfs *own; /* the usual one */
    int descriptor;   /* borrowed: open for reading and writing, seekable */
    char name[48];
};

/* Returns an SQLite code. */
int descriptor_file_init(struct descriptor_file *file, int descriptor);

/* When the database is closed; also one that is all 0. */
void descriptor_file_release(struct descriptor_file *file);

#endif
