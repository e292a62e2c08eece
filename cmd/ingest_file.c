#include "cmd/ingest_file.h"

#include "cmd/interrupt.h"
#include "format/format.h"
#include "input/walk.h"
#include "store/ledger.h"
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the sink's callbacks need. */
struct reading {
    struct ingest *ingest;
    struct input *input;
};

static int take_event(void *context, const struct event *event, struct error *error)
{
    struct reading *reading = context;
    if (interrupt_wanted(NULL))
        return error_set(error, "interrupted");
    progress_show(&reading->ingest->progress, input_bytes_read(reading->input));
    return writer_event(reading->ingest->writer, event, error);
}

static int take_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                     size_t detail_length, struct error *error)
{
    struct reading *reading = context;
    if (interrupt_wanted(NULL))
        return error_set(error, "interrupted");
    return writer_note(reading->ingest->writer, reason, damage, offset, detail, detail_length, error);
}

static int out_of_memory(struct error *error)
{
    return error_no_memory(error);
}

/* The file is at fault: that goes into the result, and the ingest goes on. */
static int file_failed(struct file_result *result, enum file_status status, struct error *error)
{
    size_t length = 1;
    for (int i = 0; i < error->depth; i++)
        length += strlen(error->cause[i]) + 2;
    free(result->reason);
    result->status = status;
    result->reason = calloc(1, length);
    if (!result->reason)
        return out_of_memory(error);
    size_t used = 0;
    for (int i = error->depth - 1; i >= 0; i--)
        used +=
            (size_t)snprintf(result->reason + used, length - used, "%s%s", used ? ": " : "", error->cause[i]);
    error_clear(error);
    return 0;
}

/* The digest of a file's raw bytes, to know without reading it that it is there already. */
static int digest_file(const char *path, char text[33], struct error *error)
{
    static char bytes[1 << 17];
    struct digest digest;
    ssize_t got;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return error_set_errno(error, errno, "cannot open it");
    digest_init(&digest);
    while ((got = read(file, bytes, sizeof bytes)) > 0)
        digest_update(&digest, bytes, (size_t)got);
    int number = errno;
    close(file);
    if (got < 0)
        return error_set_errno(error, number, "cannot read it");
    digest_hex(&digest, text);
    return 0;
}

/* 1: the store has this content already, as *result says; 0: it has not; -1: the store failed. */
static int is_known(struct ingest *ingest, const char *path, uint64_t size, struct file_result *result,
                    struct error *error)
{
    char digest[33];
    struct writer_known known;
    if (ingest->force || size == 0)
        return 0;
    int found = writer_find_size(ingest->writer, size, error);
    if (found <= 0)
        return found;
    if (digest_file(path, digest, error)) {
        error_clear(error);
        return 0;
    }
    found = writer_find(ingest->writer, digest, &known, error);
    if (found == 1) {
        result->status = FILE_UNCHANGED;
        result->events = known.events;
        result->skipped = known.skipped;
        memcpy(result->dialect, known.dialect, sizeof result->dialect);
    }
    return found;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(path);
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Says in one sentence what of a file could not be read. */
static int tell_damage(const struct ledger *ledger, struct file_result *result, struct error *error)
{
    const struct ledger_entry *first = ledger_first_damage(ledger);
    if (!first)
        return 0;
    long long count = (long long)ledger_damage(ledger);
    if (asprintf(&result->reason, "%lld piece%s of it could not be read, the first (%s) at byte %llu", count,
                 count == 1 ? "" : "s", first->reason, (unsigned long long)first->first_offset) < 0) {
        result->reason = NULL;
        return error_no_memory(error);
    }
    return 0;
}

static int finish(struct ingest *ingest, struct input *input, struct file_result *result, struct error *error)
{
    char digest[33];
    enum writer_outcome outcome;
    input_digest(input, digest);
    const struct writer_facts facts = {.dialect = result->dialect,
                                       .digest = digest,
                                       .bytes = input_bytes_read(input),
                                       .unpacked_bytes = input_bytes_unpacked(input),
                                       .force = ingest->force};
    result->bytes = facts.bytes;
    result->events = writer_events(ingest->writer);
    result->skipped = ledger_total(writer_ledger(ingest->writer));
    if (tell_damage(writer_ledger(ingest->writer), result, error))
        return -1;
    if (result->events == 0 && result->reason) {
        result->status = FILE_FAILED;
        return writer_abandon(ingest->writer, error);
    }
    if (writer_finish(ingest->writer, &facts, &outcome, error))
        return -1;
    result->status = outcome == WRITER_UNCHANGED ? FILE_UNCHANGED
                     : outcome == WRITER_PARTIAL ? FILE_PARTIAL
                                                 : FILE_INGESTED;
    return 0;
}

/* Reads a file whose format is known. */
static int read_events(struct ingest *ingest, struct input *input, const struct format *format,
                       const struct walk_file *file, struct file_result *result, struct error *error)
{
    struct reading reading = {.ingest = ingest, .input = input};
    const struct format_sink sink = {.context = &reading, .event = take_event, .note = take_note};
    char *folder = folder_of(file->realpath);
    int outcome = folder ? writer_begin(ingest->writer, file->realpath, folder, error) : out_of_memory(error);
    free(folder);
    if (outcome)
        return -1;
    snprintf(result->dialect, sizeof result->dialect, "%s", format->name);
    if (format->read(input, &sink, result->dialect, sizeof result->dialect, error)) {
        if (writer_failed(ingest->writer) || interrupt_wanted(NULL))
            return -1;
        /* Reading failed in the middle: what came before it is good. */
        const char *cause = error->depth ? error->cause[0] : "reading failed";
        if (writer_note(ingest->writer, "unreadable rest of the file", 1, input_bytes_unpacked(input), cause,
                        strlen(cause), error))
            return -1;
        error_clear(error);
    }
    return finish(ingest, input, result, error);
}

static int is_store(const struct ingest *ingest, const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && status.st_dev == ingest->store_device &&
           status.st_ino == ingest->store_inode;
}

static int read_input(struct ingest *ingest, struct input *input, const struct walk_file *file, int named,
                      struct file_result *result, struct error *error)
{
    const char *bytes;
    result->bytes = input_size(input);
    int known = is_known(ingest, file->realpath, result->bytes, result, error);
    if (known)
        return known < 0 ? -1 : 0;
    if (input_peek(input, &bytes, 1, error) < 0)
        return file_failed(result, FILE_FAILED, error);
    const struct format *format = format_detect(input, error);
    if (!format)
        return file_failed(result, named ? FILE_FAILED : FILE_NOT_A_TRACE, error);
    return read_events(ingest, input, format, file, result, error);
}

int ingest_file(struct ingest *ingest, const struct walk_file *file, int named, struct file_result *result,
                struct error *error)
{
    *result = (struct file_result){.path = file->path, .status = FILE_FAILED};
    /* Not even opened: closing it would drop the locks that SQLite holds on it. */
    if (is_store(ingest, file->realpath)) {
        error_set(error, "it is the store itself");
        return file_failed(result, named ? FILE_FAILED : FILE_NOT_A_TRACE, error);
    }
    struct input *input = input_open(file->path, &ingest->limits, error);
    if (!input)
        return file_failed(result, FILE_FAILED, error);
    int outcome = read_input(ingest, input, file, named, result, error);
    ingest->progress.files++;
    ingest->progress.bytes += result->bytes;
    input_close(input);
    return outcome;
}
