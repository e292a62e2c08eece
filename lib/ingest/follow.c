/*
 * Files that grow, from one ingest to the next in the same process (the command watch). If the format of a
 * file can be split, what was read before its last cut is final: the next ingest reads from there on. What is
 * behind the cut, the last records and perhaps the beginning of one, is read again.
 */
#include "base/base.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void follower_init(struct follower *follower)
{
    *follower = (struct follower){.files = NULL};
    intern_init(&follower->paths);
}

void followed_forget(struct followed *followed)
{
    if (followed->kept_ledger)
        ledger_release(followed->kept_ledger);
    free(followed->kept_ledger);
    *followed = (struct followed){.kept_ledger = NULL};
}

void follower_release(struct follower *follower)
{
    for (size_t i = 0; i < follower->paths.count; i++) {
        followed_forget(follower->files[i]);
        free(follower->files[i]);
    }
    free(follower->files);
    intern_release(&follower->paths);
    *follower = (struct follower){.files = NULL};
}

int64_t ingest_digest(int file, uint64_t most, struct digest *digest, int (*stop)(void *context),
                      void *context)
{
    char bytes[1 << 16];
    uint64_t taken = 0;
    while (taken < most) {
        ssize_t got =
            stop(context) ? -1 : read(file, bytes, most - taken < sizeof bytes ? most - taken : sizeof bytes);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        digest_update(digest, bytes, (size_t)got);
        taken += (uint64_t)got;
    }
    return (int64_t)taken;
}

/* The first and the last bytes that show whether a file was replaced. */
enum { EDGE_BYTES = 4096 };

struct followed *follower_file(struct follower *follower, const char *path)
{
    struct followed *added = calloc(1, sizeof *added);
    if (!added || array_reserve((void **)&follower->files, &follower->capacity, follower->paths.count + 1,
                                sizeof(struct followed *))) {
        free(added);
        return NULL;
    }
    size_t known = follower->paths.count;
    int64_t number = intern_put(&follower->paths, path, strlen(path));
    if (number < 0 || follower->paths.count == known) {
        free(added);
        return number < 0 ? NULL : follower->files[number];
    }
    follower->files[number] = added;
    return added;
}

/* Adds up to EDGE_BYTES bytes at `from`, and not beyond `end`. */
static int digest_edge(int file, uint64_t from, uint64_t end, struct digest *digest)
{
    char bytes[EDGE_BYTES];
    uint64_t wanted = end - from < EDGE_BYTES ? end - from : EDGE_BYTES;
    ssize_t got = pread(file, bytes, wanted, (off_t)from);
    if (got < 0 || (uint64_t)got != wanted)
        return -1;
    digest_update(digest, bytes, (size_t)got);
    return 0;
}

/* The digest of the first and last bytes of the first `size` bytes of a file. */
static int digest_edges(int file, uint64_t size, char text[33])
{
    struct digest digest;
    digest_init(&digest);
    if (digest_edge(file, 0, size, &digest) ||
        digest_edge(file, size > EDGE_BYTES ? size - EDGE_BYTES : 0, size, &digest))
        return -1;
    digest_hex(&digest, text);
    return 0;
}

static int has_same_beginning(const struct followed *followed, const char *path)
{
    char text[33];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_same =
        file >= 0 && digest_edges(file, followed->bytes, text) == 0 && strcmp(text, followed->edges) == 0;
    if (file >= 0)
        close(file);
    return is_same;
}

/* A file that was modified but has its old size was rewritten. */
static int has_only_grown(const struct followed *followed, const struct stat *status)
{
    uint64_t size = (uint64_t)status->st_size;
    return size > followed->bytes || (size == followed->bytes && memcmp(&status->st_mtim, &followed->modified,
                                                                        sizeof followed->modified) == 0);
}

const struct known_file *followed_known(const struct followed *followed, const struct known *known,
                                        const char *path, const struct stat *status)
{
    const struct known_file *file =
        followed->kept ? known_find(known, followed->bytes, followed->digest) : NULL;
    return file && strcmp(file->path, path) == 0 && followed->inode == status->st_ino &&
                   followed->device == status->st_dev && has_only_grown(followed, status) &&
                   has_same_beginning(followed, path)
               ? file
               : NULL;
}

int followed_digest(struct followed *followed, const struct part *part, const char *path,
                    int (*stop)(void *context), void *context, char text[33])
{
    struct stat status = {.st_ino = 0};
    struct digest digest = followed->kept_digest;
    uint64_t kept_bytes = part->tail - part->begin, tail_bytes = part->size - part->tail;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    if (!part->begin)
        digest_init(&digest);
    int is_short = fstat(file, &status) || lseek(file, (off_t)part->begin, SEEK_SET) < 0 ||
                   ingest_digest(file, kept_bytes, &digest, stop, context) != (int64_t)kept_bytes;
    followed->kept_digest = digest;
    is_short = is_short || ingest_digest(file, tail_bytes, &digest, stop, context) != (int64_t)tail_bytes ||
               digest_edges(file, part->size, followed->edges);
    close(file);
    followed->inode = status.st_ino;
    followed->device = status.st_dev;
    followed->is_torn = is_short;
    digest_hex(&digest, text);
    return is_short ? 1 : 0;
}

/* Makes `whole` the ledger of what was kept and of the last part. */
static int add_kept(const struct followed *followed, struct ledger *whole, struct error *error)
{
    if (!followed->kept_ledger)
        return 0;
    struct ledger last = *whole;
    ledger_init(whole);
    int failed = ledger_add(whole, followed->kept_ledger, error) || ledger_add(whole, &last, error);
    ledger_release(&last);
    return failed ? -1 : 0;
}

static int keep_ledger(struct followed *followed, const struct ledger *ledger, struct error *error)
{
    if (!ledger->count)
        return 0;
    if (!followed->kept_ledger) {
        followed->kept_ledger = malloc(sizeof *followed->kept_ledger);
        if (!followed->kept_ledger)
            return error_no_memory(error);
        ledger_init(followed->kept_ledger);
    }
    return ledger_add(followed->kept_ledger, ledger, error);
}

int followed_keep(struct followed *followed, const struct file_result *result, const struct ledger *ledger,
                  struct error *error)
{
    if (followed->kept_events == 0)
        memcpy(followed->dialect, result->dialect, sizeof followed->dialect);
    followed->kept_events += result->events;
    return keep_ledger(followed, ledger, error);
}

int followed_add(const struct followed *followed, struct file_result *last, struct ledger *ledger,
                 struct error *error)
{
    last->events += followed->kept_events;
    if (followed->kept_events)
        memcpy(last->dialect, followed->dialect, sizeof last->dialect);
    if (add_kept(followed, ledger, error))
        return -1;
    last->skipped = ledger_total(ledger);
    return 0;
}

void followed_conclude(struct followed *followed, const struct part *part, const char *digest, int is_stored)
{
    if (!is_stored || followed->is_torn) {
        followed_forget(followed);
        return;
    }
    followed->kept = part->tail;
    followed->bytes = part->size;
    followed->modified = part->modified;
    snprintf(followed->digest, sizeof followed->digest, "%s", digest);
}
