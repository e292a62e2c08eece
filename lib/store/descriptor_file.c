#include "store/descriptor_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What SQLite's open file is here. */
struct opened {
    sqlite3_file base;
    int descriptor;
};

static int descriptor_of(sqlite3_file *file)
{
    return ((struct opened *)file)->descriptor;
}

static int close_nothing(sqlite3_file *file)
{
    return SQLITE_OK;
}

/* What is beyond the end reads as zeros. */
static int read_bytes(sqlite3_file *file, void *bytes, int length, sqlite3_int64 at)
{
    size_t done = 0;
    while (done < (size_t)length) {
        ssize_t count =
            pread(descriptor_of(file), (char *)bytes + done, (size_t)length - done, (off_t)at + (off_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return SQLITE_IOERR_READ;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    memset((char *)bytes + done, 0, (size_t)length - done);
    return done < (size_t)length ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_bytes(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 at)
{
    for (size_t done = 0; done < (size_t)length;) {
        ssize_t count = pwrite(descriptor_of(file), (const char *)bytes + done, (size_t)length - done,
                               (off_t)at + (off_t)done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        done += (size_t)count;
    }
    return SQLITE_OK;
}

static int truncate_to(sqlite3_file *file, sqlite3_int64 bytes)
{
    return ftruncate(descriptor_of(file), (off_t)bytes) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int tell_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
    struct stat status;
    if (fstat(descriptor_of(file), &status))
        return SQLITE_IOERR_FSTAT;
    *bytes = (sqlite3_int64)status.st_size;
    return SQLITE_OK;
}

static int do_nothing(sqlite3_file *file, int how)
{
    return SQLITE_OK;
}

static int tell_free(sqlite3_file *file, int *is_locked)
{
    *is_locked = 0;
    return SQLITE_OK;
}

static int refuse(sqlite3_file *file, int what, void *argument)
{
    return SQLITE_NOTFOUND;
}

static int tell_none(sqlite3_file *file)
{
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_nothing,
    .xRead = read_bytes,
    .xWrite = write_bytes,
    .xTruncate = truncate_to,
    .xSync = do_nothing,
    .xFileSize = tell_size,
    .xLock = do_nothing,
    .xUnlock = do_nothing,
    .xCheckReservedLock = tell_free,
    .xFileControl = refuse,
    .xSectorSize = tell_none,
    .xDeviceCharacteristics = tell_none,
};

static int open_any(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags, int *flags_taken)
{
    struct descriptor_file *file = (struct descriptor_file *)vfs;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return file->own->xOpen(file->own, name, opened, flags, flags_taken);
    *(struct opened *)opened = (struct opened){{&methods}, file->descriptor};
    if (flags_taken)
        *flags_taken = flags;
    return SQLITE_OK;
}

int descriptor_file_init(struct descriptor_file *file, int descriptor)
{
    sqlite3_vfs *own = sqlite3_vfs_find(NULL);
    if (!own)
        return SQLITE_ERROR;
    *file = (struct descriptor_file){.vfs = *own, .own = own, .descriptor = descriptor};
    snprintf(file->name, sizeof file->name, "ncclprof-%p", (void *)file);
    file->vfs.zName = file->name;
    file->vfs.pNext = NULL;
    file->vfs.xOpen = open_any;
    if (file->vfs.szOsFile < (int)sizeof(struct opened))
        file->vfs.szOsFile = (int)sizeof(struct opened);
    int code = sqlite3_vfs_register(&file->vfs, 0);
    if (code != SQLITE_OK)
        file->own = NULL;
    return code;
}

void descriptor_file_release(struct descriptor_file *file)
{
    if (file->own)
        sqlite3_vfs_unregister(&file->vfs);
    file->own = NULL;
}
