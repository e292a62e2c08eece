/*
 * The files of a process: creates them, limits their size, watches the free space of the file system, and
 * gives the reason when writing must stop. Also the rank and the place of the process from the environment.
 */
#include "plugin/ring/ring.h"
#include "plugin/write/write.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* Reserved for the lines that report why the trace ends, what was dropped, and that the process ended. */
#define LAST_LINES_BYTES 4096u
/* The least ratio that level 1 reaches on lines like these. */
#define LEAST_COMPRESSION 4
#define FREE_MOST_BYTES (UINT64_C(1) << 30)
/* Several processes may write between two checks, so this is a small part of the space to keep free. */
#define LOOK_BYTES (UINT64_C(16) << 20)

int files_prepare(struct files *files, const char *pattern, int rank, bool chrome, bool inspector, bool gzip,
                  const char **path)
{
    *path = files->chrome.path;
    files->chrome.file = files->inspector.file = -1;
    if (chrome && sink_prepare(&files->chrome, pattern, rank, ".json", gzip) != 0)
        return -1;
    *path = files->inspector.path;
    return inspector ? sink_prepare(&files->inspector, pattern, rank, ".jsonl", gzip) : 0;
}

int files_create(struct files *files, const char **path)
{
    *path = files->chrome.path;
    int result = files->chrome.text.bytes ? sink_create(&files->chrome) : 0;
    if (result == 0 && files->inspector.text.bytes) {
        *path = files->inspector.path;
        result = sink_create(&files->inspector);
    }
    return result;
}

static void stop(struct files *files, struct stop why)
{
    if (files->stop.reason != STOP_NOT)
        return;
    why.at_ns = clock_monotonic_ns();
    why.realtime_ns = clock_read_ns(CLOCK_REALTIME);
    files->stop = why;
}

/* Some file systems report more bytes than 64 bits can hold. */
static uint64_t bytes_of_blocks(const struct statvfs *status, uint64_t blocks)
{
    uint64_t bytes;
    return __builtin_mul_overflow(blocks, (uint64_t)status->f_frsize, &bytes) ? UINT64_MAX : bytes;
}

static void look_at_space(struct files *files, const struct sink *sink)
{
    struct statvfs now;
    /* Some file systems do not report their size. */
    if (fstatvfs(sink->file, &now) != 0 || now.f_blocks == 0)
        return;
    uint64_t kept = files->free_bytes;
    if (kept == FILES_FREE_BY_SIZE) {
        kept = bytes_of_blocks(&now, now.f_blocks) / 20;
        kept = kept < FREE_MOST_BYTES ? kept : FREE_MOST_BYTES;
    }
    if (bytes_of_blocks(&now, now.f_bavail) < kept)
        stop(files, (struct stop){.reason = STOP_SPACE, .bytes = kept});
}

static void look_at(struct files *files, const struct sink *sink)
{
    if (sink->file < 0 || sink->failure)
        return;
    if (sink_is_deleted(sink))
        stop(files, (struct stop){.reason = STOP_DELETED});
    else if (files->free_bytes > 0)
        look_at_space(files, sink);
}

void files_look(struct files *files)
{
    files->looked_at_bytes = files->chrome.written + files->inspector.written;
    look_at(files, &files->chrome);
    look_at(files, &files->inspector);
}

/* Includes bytes that are not written yet. For compressed files this is an upper estimate. */
static uint64_t bytes_of(const struct sink *sink)
{
    return sink->written + sink->text.length / (sink->gzip ? LEAST_COMPRESSION : 1);
}

bool files_have_room(struct files *files)
{
    uint64_t written = files->chrome.written + files->inspector.written;
    if (files->stop.reason != STOP_NOT)
        return false;
    if (bytes_of(&files->chrome) + bytes_of(&files->inspector) > files->most_bytes - LAST_LINES_BYTES)
        stop(files, (struct stop){.reason = STOP_LIMIT, .bytes = files->most_bytes});
    else if (written - files->looked_at_bytes >= LOOK_BYTES)
        files_look(files);
    return files->stop.reason == STOP_NOT;
}

struct files_mark files_mark(const struct files *files)
{
    return (struct files_mark){.chrome_written = files->chrome.written,
                               .inspector_written = files->inspector.written,
                               .chrome_length = files->chrome.text.length,
                               .inspector_length = files->inspector.text.length};
}

bool files_go_back(struct files *files, const struct files_mark *mark)
{
    if (files->chrome.written != mark->chrome_written || files->inspector.written != mark->inspector_written)
        return false;
    files->chrome.text.length = mark->chrome_length;
    files->inspector.text.length = mark->inspector_length;
    return true;
}

void files_flush(struct files *files, const char *ending)
{
    sink_flush(&files->chrome, ending);
    sink_flush(&files->inspector, "");
    const struct sink *some = files->chrome.file >= 0 ? &files->chrome : &files->inspector;
    bool all_failed = (files->chrome.file < 0 || files->chrome.failure) &&
                      (files->inspector.file < 0 || files->inspector.failure);
    if (some->file >= 0 && all_failed)
        stop(files, (struct stop){.reason = STOP_ERROR, .error = some->failure});
}

void files_close(struct files *files)
{
    sink_close(&files->chrome);
    sink_close(&files->inspector);
}

static long read_number(const char *text)
{
    if (!text || strspn(text, "0123456789") == 0)
        return -1;
    char *end;
    long number = strtol(text, &end, 10);
    return *end || number >= INT_MAX ? -1 : number;
}

/*
 * The name that the framework sets for this plugin, otherwise torchrun's role name; torchrun's default
 * carries no information.
 */
static void read_name(char *name, size_t size)
{
    const char *own = getenv("NCCLPROF_RANK_NAME");
    const char *role = getenv("ROLE_NAME");
    long rank = read_number(getenv("ROLE_RANK"));
    if (own && *own)
        snprintf(name, size, "%s", own);
    else if (role && *role && strcmp(role, "default") != 0 && rank >= 0)
        snprintf(name, size, "%s %ld", role, rank);
}

void place_read_environment(struct place *place)
{
    struct launcher_rank told = launcher_rank();
    memset(place, 0, sizeof(*place));
    place->rank = read_number(told.global);
    place->local_rank = read_number(told.local);
    place->gpu.number = -1;
    read_name(place->rank_name, sizeof(place->rank_name));
    gpu_settings_read(&place->gpu_settings);
    nic_settings_read(&place->nic_settings);
}

void place_find_devices(struct place *place, const char *root)
{
    gpu_in_use_find(&place->gpu, &place->gpu_settings, root);
    nic_in_use_find(place->nic, sizeof(place->nic), &place->nic_settings, root);
}
