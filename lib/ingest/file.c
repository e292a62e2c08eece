/*
 * Reads one file, or a part of a large one: skips it if the store has its content, detects its format, and
 * sends its rows through the pipeline to the thread that writes the store. Also splits large files into
 * parts.
 */

#include "base/base.h"
#include "format/format.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "model/model.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Reason in the ledger of a file that has copies, or incomplete copies. */
#define COPIES_NOTE "another file is a copy of this one, or of its beginning"

/* A worker updates the progress figure after this many bytes. */
enum { PROGRESS_BYTES = 1 << 18 };

/* A file that is being read; context of the callbacks. */
struct reading {
    const struct ingest *ingest;
    struct pipeline *pipeline;
    size_t number;
    const char *path; /* its real path */
    const struct walk_file *file;
    const struct part *part;
    struct input *input;
    const struct format *format;
    struct buffer beginning; /* of a whole file: what its format was detected from */
    struct intake intake;
    uint64_t told_bytes;
};

static void tell_progress(struct reading *reading, uint64_t at_least)
{
    uint64_t bytes = input_bytes_read(reading->input);
    if (bytes - reading->told_bytes < at_least)
        return;
    atomic_fetch_add(&reading->pipeline->bytes, bytes - reading->told_bytes);
    reading->told_bytes = bytes;
}

static int stopped(const struct reading *reading)
{
    return ingest_interrupted(reading->ingest) || reading->pipeline->stopped;
}

static int must_stop(void *context)
{
    return stopped(context);
}

/*
 * Whether the records take more space than the bytes read so far can account for. Not for databases, which
 * are not read from front to back.
 */
static int is_beyond(const struct reading *reading)
{
    uint64_t bytes = input_size(reading->input), unpacked = input_bytes_unpacked(reading->input);
    return reading->intake.builder.told_bytes > format_expansion_limit(bytes > unpacked ? bytes : unpacked);
}

static int take_event(void *context, const struct event *event, struct error *error)
{
    struct reading *reading = context;
    if (stopped(reading))
        return error_set(error, "interrupted");
    tell_progress(reading, PROGRESS_BYTES);
    return is_beyond(reading) ? intake_note(&reading->intake, FORMAT_NOTE_OVER_LIMIT, 1, event->origin.offset,
                                            NULL, 0, error)
                              : intake_event(&reading->intake, event, error);
}

static int take_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                     size_t detail_length, struct error *error)
{
    struct reading *reading = context;
    if (stopped(reading))
        return error_set(error, "interrupted");
    return intake_note(&reading->intake, reason, damage, offset, detail, detail_length, error);
}

static int send_rows(void *context, struct batch **batch, struct error *error)
{
    struct reading *reading = context;
    pipeline_send(reading->pipeline, MESSAGE_ROWS, reading->number, *batch);
    *batch = pipeline_batch(reading->pipeline);
    return 0;
}

/* The file is at fault: writes the error to the result, and the ingest continues. */
static enum message_kind file_failed(struct file_result *result, enum file_status status, struct error *error)
{
    size_t length = 1;
    if (error->is_no_memory)
        return MESSAGE_ABANDON;
    for (int i = 0; i < error->depth; i++)
        length += strlen(error->cause[i]) + 2;
    free(result->reason);
    result->status = status;
    result->reason = calloc(1, length);
    if (!result->reason) {
        error_no_memory(error);
        return MESSAGE_ABANDON;
    }
    size_t used = 0;
    for (int i = error->depth - 1; i >= 0; i--)
        used +=
            (size_t)snprintf(result->reason + used, length - used, "%s%s", used ? ": " : "", error->cause[i]);
    error_clear(error);
    return MESSAGE_PASSED;
}

/*
 * Makes the digest of a content one of the content under this name: the name of the file, without ".gz", and
 * of its directory.
 */
static void digest_name(const char *path, char text[33])
{
    struct digest digest;
    size_t length = strlen(path), folders = 0;
    const char *begin = path + length;
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        length -= 3;
    while (begin > path && (folders += begin[-1] == '/') < 2)
        begin--;
    digest_init(&digest);
    digest_update(&digest, text, 32);
    digest_update(&digest, begin, (size_t)(path + length - begin));
    digest_hex(&digest, text);
}

/*
 * The file in the store with the content of the file at `path`, whose size is `size_bytes`. NULL if it must
 * be read: it is new, could not be read, is read in any case (--force), or `stop` returned true.
 */
static const struct known_file *ingest_known(const struct ingest *ingest, const char *path,
                                             uint64_t size_bytes, int (*stop)(void *context), void *context)
{
    char text[33];
    struct digest digest;
    if (ingest->force || size_bytes == 0 || !known_has_size(ingest->known, size_bytes))
        return NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    digest_init(&digest);
    int64_t taken = ingest_digest(file, UINT64_MAX, &digest, stop, context);
    close(file);
    digest_hex(&digest, text);
    const struct known_file *known = taken < 0 ? NULL : known_find(ingest->known, size_bytes, text);
    if (taken >= 0 && !known) {
        digest_name(path, text);
        known = known_find(ingest->known, size_bytes, text);
    }
    /*
     * The known path may no longer exist, in which case this file takes its place; the writer decides that.
     */
    return known && strcmp(known->path, path) == 0 ? known : NULL;
}

/* Whether the format's reader was improved since it read the stored file. */
static int ingest_is_outdated(const struct known_file *known)
{
    return format_is_improved(known->reader, known->reader_version);
}

static int tell_lost(struct file_result *result, int64_t pieces, const char *reason, uint64_t offset,
                     struct error *error)
{
    if (asprintf(&result->reason, "damaged: %lld part%s skipped, first at byte %llu (%s)", (long long)pieces,
                 pieces == 1 ? "" : "s", (unsigned long long)offset, reason) < 0) {
        result->reason = NULL;
        return error_no_memory(error);
    }
    return 0;
}

int ingest_describe_damage(const struct ledger *ledger, struct file_result *result, struct error *error)
{
    const struct ledger_entry *newer = ledger_find(ledger, FORMAT_NOTE_NEWER);
    if (newer)
        memcpy(result->newer_version, newer->example, sizeof result->newer_version);
    const struct ledger_entry *first = ledger_first_damage(ledger);
    return first ? tell_lost(result, ledger_damage(ledger), first->reason, first->first_offset, error) : 0;
}

/*
 * 1 if the store has this content already; *result then gets what the store knows of it. -1 if memory is out.
 */
static int is_known(struct reading *reading, const char *path, struct file_result *result,
                    struct error *error)
{
    const struct known_file *known = reading->part->known;
    if (!known)
        known = ingest_known(reading->ingest, path, result->bytes, must_stop, reading);
    if (!known || ingest_is_outdated(known))
        return 0;
    result->status = FILE_UNCHANGED;
    result->events = known->events;
    result->skipped = known->skipped;
    memcpy(result->dialect, known->dialect, sizeof result->dialect);
    if (known->first_reason &&
        tell_lost(result, known->lost_pieces, known->first_reason, known->first_offset, error))
        return -1;
    return 1;
}

static int is_whole(const struct part *part)
{
    return !part->format;
}

static int is_first(const struct part *part, size_t number)
{
    return part->first == number;
}

/*
 * Computes the digest of a file in parts, which no single thread reads from front to back. If the file
 * changed after it was split, it may have been read only in part; it then gets a digest that no file has, so
 * that the next ingest reads it again.
 */
static int digest_again(struct reading *reading, char text[33])
{
    const struct part *part = reading->part;
    struct digest digest;
    struct stat status;
    if (part->followed)
        return followed_digest(part->followed, part, reading->path, must_stop, reading, text) < 0 ? -1 : 0;
    int file = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    digest_init(&digest);
    int64_t taken = ingest_digest(file, part->size, &digest, must_stop, reading);
    int failed = taken < 0 || fstat(file, &status);
    close(file);
    if (failed)
        return -1;
    if ((uint64_t)taken != part->size || (uint64_t)status.st_size != part->size ||
        memcmp(&status.st_mtim, &part->modified, sizeof part->modified) != 0) {
        static const char unlike[] = "it changed while it was read";
        digest_update(&digest, unlike, sizeof unlike);
    }
    digest_hex(&digest, text);
    return 0;
}

static int take_digest(struct reading *reading, struct file_facts *facts, struct error *error)
{
    if (is_whole(reading->part)) {
        input_digest(reading->input, facts->digest);
        input_unpacked_digest(reading->input, facts->unpacked_digest);
    } else if (is_first(reading->part, reading->number)) {
        if (digest_again(reading, facts->digest))
            return error_set(error, "%s: cannot be read a second time", reading->path);
        memcpy(facts->unpacked_digest, facts->digest, sizeof facts->unpacked_digest);
    }
    if (reading->format->name_counts && *facts->digest)
        digest_name(reading->path, facts->digest);
    if (reading->format->name_counts && *facts->unpacked_digest)
        digest_name(reading->path, facts->unpacked_digest);
    return 0;
}

/* Input from a pipe has no directory. */
static int is_elsewhere(const char *one, const char *other)
{
    const char *end = strrchr(one, '/'), *other_end = strrchr(other, '/');
    return end && other_end &&
           (end - one != other_end - other || memcmp(one, other, (size_t)(end - one)) != 0);
}

static const struct known_file *known_content(const struct reading *reading, const struct file_facts *facts)
{
    const struct known *all = reading->ingest->known;
    uint64_t bytes = is_whole(reading->part) ? input_bytes_read(reading->input) : reading->part->size;
    const struct known_file *known = known_find(all, bytes, facts->digest);
    return known ? known : known_find(all, input_bytes_unpacked(reading->input), facts->unpacked_digest);
}

/*
 * If a trace does not name its host, its directory stands for the host. So nothing may stay in the store of a
 * file that left its directory, or files that come there later would be assigned to the same processes.
 */
static int has_moved(struct reading *reading, const struct file_facts *facts)
{
    struct stat status;
    const struct known_file *known = known_content(reading, facts);
    if (!known || !is_elsewhere(known->path, reading->path))
        return 0;
    return stat(known->path, &status) ||
           !ingest_known(reading->ingest, known->path, (uint64_t)status.st_size, must_stop, reading);
}

/* A copy in another directory is not read again, because the user may have given the first file as well. */
static int is_read_again(const struct reading *reading, const struct file_facts *facts)
{
    const struct known_file *known = known_content(reading, facts);
    return known && ingest_is_outdated(known) && !is_elsewhere(known->path, reading->path);
}

/* Passes on the ledger, which the writing thread needs after the intake is gone. */
static int hand_over(struct reading *reading, struct file_facts *facts, struct error *error)
{
    const struct walk_file *file = reading->file;
    for (size_t i = 0; i < file->copies && !reading->part->begin; i++)
        if (ledger_note(&reading->intake.ledger, COPIES_NOTE, 0, 0, file->copy, strlen(file->copy), error))
            return -1;
    facts->ledger = malloc(sizeof *facts->ledger);
    if (!facts->ledger)
        return error_no_memory(error);
    *facts->ledger = reading->intake.ledger;
    ledger_init(&reading->intake.ledger);
    facts->unpacked_bytes = input_bytes_unpacked(reading->input);
    return 0;
}

/* If all readable content is of unknown kind, the file does not have the format that it seemed to have. */
static int report_unknown_content(const struct reading *reading, struct file_result *result,
                                  struct error *error)
{
    const char *kind = reading->format->unknown;
    const struct ledger_entry *entry = ledger_only(&reading->intake.ledger, kind);
    if (!entry || result->events > 0 || !is_whole(reading->part))
        return 0;
    const struct buffer *beginning = &reading->beginning;
    const char *stranger = NULL;
    if (beginning->length)
        stranger = unsupported_find(beginning->data, beginning->length, input_path(reading->input));
    result->dialect[0] = '\0';
    free(result->reason);
    if (asprintf(
            &result->reason,
            "not a supported trace (%s); it has no line that a supported recorder writes (%lld times %s, "
            "first at byte %llu: %.60s...)",
            stranger ? stranger : "JSON, but no known format", (long long)entry->count, kind,
            (unsigned long long)entry->first_offset, entry->example) < 0) {
        result->reason = NULL;
        return error_no_memory(error);
    }
    return 0;
}

static enum message_kind finish(struct reading *reading, struct file_result *result, struct file_facts *facts,
                                struct error *error)
{
    struct intake *intake = &reading->intake;
    result->bytes = input_bytes_read(reading->input);
    result->events = intake->builder.events;
    result->skipped = ledger_total(&intake->ledger);
    if ((is_whole(reading->part) && ingest_describe_damage(&intake->ledger, result, error)) ||
        report_unknown_content(reading, result, error))
        return MESSAGE_ABANDON;
    /* A dump may contain only its process, if all its calls ended. */
    if (result->events == 0 && result->reason && intake->builder.ordinals[EVENT_PROCESS] == 0) {
        result->status = FILE_FAILED;
        batch_clear(intake->batch);
        return MESSAGE_PASSED;
    }
    if (result->events == 0 && result->skipped == 0)
        result->remark = format_why_nothing(reading->format, reading->path, result->bytes);
    if (take_digest(reading, facts, error))
        return stopped(reading) ? MESSAGE_ABANDON : file_failed(result, FILE_FAILED, error);
    facts->is_snapshot = reading->format->is_snapshot;
    facts->format = reading->format;
    facts->is_read_again = *facts->digest && is_read_again(reading, facts);
    facts->has_moved = *facts->digest && has_moved(reading, facts);
    if (hand_over(reading, facts, error) || intake_end(intake, error))
        return MESSAGE_ABANDON;
    result->status = FILE_INGESTED;
    return MESSAGE_FINISH;
}

/* Reads a file whose format is known. */
static enum message_kind read_events(struct reading *reading, const struct format *format,
                                     struct file_result *result, struct file_facts *facts,
                                     struct error *error)
{
    reading->format = format;
    const struct format_sink sink = {.context = reading, .event = take_event, .note = take_note};
    snprintf(result->dialect, sizeof result->dialect, "%s", format->name);
    if (ingest_read(format, reading->input, reading->path, must_stop, reading, &sink, result->dialect,
                    sizeof result->dialect, error)) {
        if (reading->intake.failed || stopped(reading) || error->is_no_memory)
            return MESSAGE_ABANDON;
        /*
         * SQLite does not reliably distinguish damage from a failure of the machine, so a database is read
         * completely or not at all.
         */
        if (format->read_tables)
            return file_failed(result, FILE_FAILED, error);
        /* Reading failed in the middle; the records before that point are valid. */
        const char *cause = error->depth ? error->cause[0] : "reading failed";
        if (intake_note(&reading->intake, "unreadable rest of the file", 1,
                        input_bytes_unpacked(reading->input), cause, strlen(cause), error))
            return MESSAGE_ABANDON;
        error_clear(error);
    }
    return finish(reading, result, facts, error);
}

/* Whether the path leads to the store that is being written. */
static int ingest_is_store(const struct ingest *ingest, const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && status.st_dev == ingest->store_device &&
           status.st_ino == ingest->store_inode;
}

static enum message_kind read_input(struct reading *reading, const struct walk_file *file, int named,
                                    struct file_result *result, struct file_facts *facts, struct error *error)
{
    const char *bytes;
    if (!is_whole(reading->part))
        return read_events(reading, reading->part->format, result, facts, error);
    result->bytes = input_size(reading->input);
    int known = is_known(reading, file->realpath, result, error);
    if (known)
        return known < 0 ? MESSAGE_ABANDON : MESSAGE_PASSED;
    if (input_peek(reading->input, &bytes, 1, error) < 0)
        return stopped(reading) ? MESSAGE_ABANDON : file_failed(result, FILE_FAILED, error);
    const struct format *format = format_detect(reading->input, error);
    if (!format)
        return file_failed(result, named ? FILE_FAILED : FILE_NOT_A_TRACE, error);
    int64_t length = input_peek(reading->input, &bytes, FORMAT_SNIFF_BYTES, error);
    error_clear(error);
    if (length > 0 && buffer_append(&reading->beginning, bytes, (size_t)length)) {
        error_no_memory(error);
        return MESSAGE_ABANDON;
    }
    return read_events(reading, format, result, facts, error);
}

static struct input *open_input(const struct part *part, const char *path, const struct input_limits *limits,
                                struct error *error)
{
    return is_whole(part) ? input_open(path, limits, error)
                          : input_open_part(path, limits, part->begin, part->end, error);
}

enum message_kind ingest_file(const struct ingest *ingest, struct pipeline *pipeline, size_t number,
                              const struct walk_file *file, const struct part *part, int named,
                              struct batch **batch, struct file_result *result, struct file_facts *facts,
                              struct error *error)
{
    *result = (struct file_result){.path = file->path, .start = file->start, .status = FILE_FAILED};
    /* Do not even open the store: closing it would drop the locks that SQLite holds on it. */
    if (ingest_is_store(ingest, file->realpath)) {
        error_set(error, "it is the store itself");
        return file_failed(result, named ? FILE_FAILED : FILE_NOT_A_TRACE, error);
    }
    struct reading reading = {.ingest = ingest,
                              .pipeline = pipeline,
                              .number = number,
                              .path = file->realpath,
                              .file = file,
                              .part = part};
    struct input_limits limits = ingest->limits;
    limits.stopped = must_stop;
    limits.context = &reading;
    reading.input = open_input(part, file->path, &limits, error);
    if (!reading.input)
        return file_failed(result, FILE_FAILED, error);
    intake_init(&reading.intake, *batch, send_rows, &reading);
    enum message_kind last = read_input(&reading, file, named, result, facts, error);
    *batch = reading.intake.batch;
    if (last != MESSAGE_FINISH)
        batch_clear(*batch);
    intake_release(&reading.intake);
    buffer_release(&reading.beginning);
    if (result->bytes > reading.told_bytes)
        atomic_fetch_add(&pipeline->bytes, result->bytes - reading.told_bytes);
    input_close(reading.input);
    return last;
}

/* Approximate size of a part; the build may change it (make torture does). */
#ifndef PART_BYTES
#define PART_BYTES (UINT64_C(32) << 20)
#endif

/* The file is split at the first possible place within this many bytes. */
static const uint64_t LOOK_BYTES = 64 << 10;

/* Records of larger files, counted by bytes, would get numbers above the largest of a store. */
static const uint64_t MOST_BYTES = (uint64_t)FORMAT_RECORD_BYTES << 32;

void parts_release(struct parts *parts)
{
    free(parts->items);
    *parts = (struct parts){.items = NULL};
}

static int add(struct parts *parts, struct part part)
{
    if (array_reserve((void **)&parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items))
        return -1;
    parts->items[parts->count++] = part;
    return 0;
}

/* Whether the file is regular, of a size that can be split, and not the store. */
static int can_be_cut(const struct ingest *ingest, const char *path, struct stat *status)
{
    if (strcmp(path, "-") == 0 || stat(path, status) || !S_ISREG(status->st_mode) ||
        ingest_is_store(ingest, path))
        return 0;
    uint64_t size = (uint64_t)status->st_size;
    return (size >= 2 * PART_BYTES || (ingest->follower && size)) && size < MOST_BYTES;
}

/*
 * The format of the file if it can be split, else NULL. A compressed file counts as one that cannot be read
 * from the middle.
 */
static const struct format *format_to_cut(const char *path)
{
    struct error error = ERROR_INIT;
    struct input *input = input_open_part(path, NULL, 0, LOOK_BYTES, &error);
    const struct format *format = input ? format_detect(input, &error) : NULL;
    input_close(input);
    error_clear(&error);
    return format && format->cut ? format : NULL;
}

/* The first offset at or after `from` where the file can be split; 0 if there is none nearby. */
static uint64_t find_cut(const struct format *format, const char *path, uint64_t from)
{
    struct error error = ERROR_INIT;
    const char *bytes;
    struct input *input = input_open_part(path, NULL, from, from + LOOK_BYTES, &error);
    int64_t length = input ? input_peek(input, &bytes, LOOK_BYTES, &error) : 0;
    size_t at = length > 0 ? format->cut(bytes, (size_t)length) : 0;
    input_close(input);
    error_clear(&error);
    return at ? from + at : 0;
}

/* A cut in the last `back` bytes of the part; 0 if there is none. */
static uint64_t find_cut_near_end(const struct part *part, const char *path, uint64_t back)
{
    uint64_t from = part->size - part->begin > back ? part->size - back : part->begin;
    return find_cut(part->format, path, from);
}

/*
 * The last cut, or nearly the last, of a followed file. 0 if there is none, as in files whose records refer
 * to others far away, which show in a longer piece.
 */
static uint64_t find_last_cut(const struct part *part, const char *path)
{
    uint64_t cut = 0;
    if ((!part->begin && !find_cut(part->format, path, 0)) || !find_cut_near_end(part, path, LOOK_BYTES))
        return 0;
    for (uint64_t back = LOOK_BYTES / 16; !cut && back <= LOOK_BYTES; back *= 4)
        cut = find_cut_near_end(part, path, back);
    return cut;
}

static int cut_file(struct parts *parts, const char *path, struct part part)
{
    size_t first = part.first = parts->count;
    for (uint64_t from = part.begin + PART_BYTES; from + PART_BYTES <= part.size; from += PART_BYTES) {
        part.end = find_cut(part.format, path, from);
        if (!part.end)
            continue;
        if (add(parts, part))
            return -1;
        part.begin = part.end;
    }
    uint64_t last = part.followed ? find_last_cut(&part, path) : 0;
    if (last > part.begin && last < part.size) {
        part.end = last;
        if (add(parts, part))
            return -1;
        part.begin = last;
    }
    part.end = part.size;
    if (add(parts, part))
        return -1;
    if (part.begin == 0) { /* no cut */
        parts->items[first].format = NULL;
        parts->items[first].followed = NULL;
    }
    for (size_t i = first; i < parts->count; i++) {
        parts->items[i].count = parts->count - first;
        parts->items[i].tail = part.begin;
    }
    return 0;
}

/* Of a followed file, only the part is read that is new or was not final. */
static int follow(struct part *part, const char *path, const struct stat *status, const struct ingest *ingest)
{
    if (!ingest->follower)
        return 0;
    part->followed = follower_file(ingest->follower, path);
    if (!part->followed)
        return -1;
    const struct known_file *known =
        ingest->force ? NULL : followed_known(part->followed, ingest->known, path, status);
    if (known && part->size == part->followed->bytes) {
        part->known = known;
        part->followed = NULL;
        return 0;
    }
    if (known && (part->format = format_to_cut(path))) {
        part->begin = part->followed->kept;
        part->file_id = known->file_id;
        if (part->size - part->begin < LOOK_BYTES || find_last_cut(part, path))
            return 0;
    }
    part->begin = 0;
    part->file_id = 0;
    followed_forget(part->followed);
    return 0;
}

static int plan_file(struct parts *parts, size_t file, const char *path, const struct ingest *ingest)
{
    struct stat status;
    struct part part = {.file = file, .first = parts->count, .count = 1};
    if (can_be_cut(ingest, path, &status)) {
        part.size = (uint64_t)status.st_size;
        part.modified = status.st_mtim;
        if (follow(&part, path, &status, ingest))
            return -1;
    }
    if (part.size && !part.file_id && !part.known) {
        part.known = ingest_known(ingest, path, part.size, ingest->hooks.interrupted, ingest->hooks.context);
        if (part.known && ingest_is_outdated(part.known))
            part.known = NULL;
        part.format = part.known ? NULL : format_to_cut(path);
    }
    return part.format ? cut_file(parts, path, part) : add(parts, part);
}

int parts_plan(struct parts *parts, const struct walk *walk, const struct ingest *ingest, struct error *error)
{
    *parts = (struct parts){.items = NULL};
    for (size_t i = 0; i < walk->count; i++)
        if (plan_file(parts, i, walk->files[i].realpath, ingest))
            return error_no_memory(error);
    return 0;
}
