/*
 * The format "chrome": Chrome traces of NVIDIA's example profiler plugin and of the bundled plugin. Detects
 * them, splits them into lines, and passes each line to the reader (proxy.c) by the fast scanner or the
 * decoder.
 */
#include "format/chrome/chrome.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads _<hash>_<rank> at the end of a name. */
static int read_member(const char *name, size_t length, uint64_t *hash, int64_t *rank)
{
    const char *last = memrchr(name, '_', length);
    const char *before = last ? memrchr(name, '_', (size_t)(last - name)) : NULL;
    return before && !number_uint64(before + 1, (size_t)(last - before - 1), hash) &&
           !number_int64(last + 1, (size_t)(name + length - last - 1), rank);
}

/* NAME_<hash>_<rank>.json, with any dots in NAME and any ending after the rank. */
static int read_file_name(const char *path, uint64_t *hash, int64_t *rank)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *end = name + strlen(name);
    uint64_t named_hash;
    int64_t named_rank;
    while (end && !read_member(name, (size_t)(end - name), &named_hash, &named_rank))
        end = memrchr(name, '.', (size_t)(end - name));
    if (!end)
        return 0;
    *hash = named_hash;
    *rank = named_rank;
    return 1;
}

/* Whether the path has communicator and rank, as in the files of NVIDIA's example plugin since NCCL 2.27. */
static int chrome_names_member(const char *path)
{
    uint64_t hash;
    int64_t rank;
    return read_file_name(path, &hash, &rank);
}

/* `path` may give communicator and rank: NAME_<hash>_<rank>.json. */
static int chrome_reader_init(struct chrome_reader *reader, const struct format_sink *sink, const char *path,
                              struct error *error)
{
    *reader = (struct chrome_reader){.sink = sink, .pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN};
    map_init(&reader->pending);
    map_init(&reader->counted);
    reader->is_of_member = read_file_name(path, &reader->communicator_hash, &reader->rank);
    reader->call = (struct chrome_call){.group_begin_ns = TIME_UNKNOWN, .root = COUNT_UNKNOWN};
    reader->transfer.steps = calloc(FORMAT_STEPS_AT_ONCE, sizeof *reader->transfer.steps);
    return reader->transfer.steps ? 0 : error_no_memory(error);
}

static void chrome_reader_release(struct chrome_reader *reader)
{
    free(reader->transfer.steps);
    free(reader->assembly.channels);
    buffer_release(&reader->host);
    buffer_release(&reader->boot_id);
    buffer_release(&reader->text);
    map_release(&reader->pending);
    map_release(&reader->counted);
    free(reader->waiting);
}

static int version(const struct chrome_reader *reader)
{
    if (reader->seen[CHROME_USER_TAG] || reader->hints & CHROME_HINT_PHASES)
        return 7;
    if (reader->hints & CHROME_HINT_UNQUOTED)
        return 5;
    if (reader->seen[CHROME_GROUP_API] || reader->seen[CHROME_CE_COLL])
        return 6;
    if (reader->seen_schedule || !(reader->hints & CHROME_HINT_NO_CHANNELS))
        return 4;
    if (reader->seen[CHROME_GPU] || reader->seen[CHROME_NET_PLUGIN])
        return 3;
    return reader->hints & CHROME_HINT_NUMERIC_DATATYPE ? 1 : 2;
}

/* "chrome-v5" and the like. */
static void chrome_reader_dialect(const struct chrome_reader *reader, char *dialect, size_t dialect_bytes)
{
    int any = 0;
    for (int category = CHROME_OTHER + 1; category < CHROME_CATEGORIES; category++)
        any |= reader->seen[category];
    if (reader->is_bundled)
        snprintf(dialect, dialect_bytes, "chrome-ncclprof");
    else if (any)
        snprintf(dialect, dialect_bytes, "chrome-v%d", version(reader));
    else
        snprintf(dialect, dialect_bytes, "chrome");
}

/* The first key of every event. */
static const char first_key[] = "\"name\"";

enum { LINES_MOST_BYTES = 4096 };

struct chrome_file {
    struct chrome_reader reader;
    struct chrome_scanner scanner;
    struct json json;
};

/* What was lost of a line that was read; NULL: nothing. */
static const char *misreading(const struct json *json)
{
    if (json->has_nan || json->has_misfit)
        return "number out of range";
    return json->misread ? "unreadable value" : NULL;
}

static int read_event(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    struct chrome_file *file = context;
    struct chrome_line line;
    enum chrome_status status = CHROME_LINE;
    int is_exact = chrome_scan(&file->scanner, text, text + length, &line) == text + length;
    if (!is_exact)
        status = chrome_decode(&file->json, text, length, &line);
    if (status == CHROME_NO_MEMORY)
        return error_no_memory(error);
    if (status == CHROME_UNREADABLE)
        return 0;
    if (!is_exact && !misreading(&file->json))
        chrome_scanner_learn(&file->scanner, text, length, &line);
    if (chrome_reader_line(&file->reader, &line, &file->json, text, length, offset, error))
        return -1;
    const char *reason = is_exact || line.category == CHROME_OTHER ? NULL : misreading(&file->json);
    return reason && chrome_note(&file->reader, reason, 1, offset, text, length, error) ? -1 : 1;
}

/*
 * Reads the next line, or the two of a wait. Returns where the last one ends; NULL if its layout is unknown.
 */
static const char *read_known(struct chrome_file *file, const char *at, const char *end, uint64_t offset,
                              int *status, struct error *error)
{
    struct chrome_line line;
    int64_t end_ns;
    const char *past = chrome_scan_wait(&file->scanner, at, end, &line, &end_ns);
    int is_wait = past != NULL;
    if (!past)
        past = chrome_scan(&file->scanner, at, end, &line);
    if (!past || end - past < 2 || past[0] != ',' || past[1] != '\n')
        return NULL;
    if (is_wait)
        *status = chrome_reader_wait(&file->reader, &line, end_ns, offset, error);
    else
        *status = chrome_reader_line(&file->reader, &line, NULL, at, (size_t)(past - at), offset, error);
    return past + 2;
}

/* Reads lines as long as the scanner knows them. None is longer than the text that it is given. */
static int read_known_lines(void *context, const char *text, size_t length, uint64_t offset, size_t *taken,
                            struct error *error)
{
    const char *end = text + length;
    const char *past = text;
    int status = 0;
    do {
        *taken = (size_t)(past - text);
        const char *limit = end - past > LINES_MOST_BYTES ? past + LINES_MOST_BYTES : end;
        past = read_known(context, past, limit, offset + *taken, &status, error);
    } while (past && !status);
    if (past)
        *taken = (size_t)(past - text);
    return status;
}

static int begin_array(void *context, struct error *error)
{
    struct chrome_file *file = context;
    return chrome_reader_close(&file->reader, error);
}

/*
 * NVIDIA's plugin writes its file when the communicator is destroyed, so a file without an end was truncated.
 * The bundled plugin writes during the job, so without an end the job is still running or was killed.
 */
static int note_early_end(struct chrome_file *file, uint64_t offset, struct error *error)
{
    int is_open = file->reader.ends_open;
    return chrome_note(&file->reader, is_open ? FORMAT_NOTE_OPEN : "file ends before its array does",
                       !is_open, offset, NULL, 0, error);
}

static int note_cut_line(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    struct chrome_file *file = context;
    int is_open = file->reader.is_bundled;
    return chrome_note(&file->reader, is_open ? "incomplete last line" : "unreadable text", !is_open, offset,
                       text, length, error);
}

/* A failure to read is reported after everything that could be read was handed over. */
static int read_file(struct chrome_file *file, struct input *input, const struct format_sink *sink,
                     struct error *error)
{
    const struct objects objects = {
        .first_key = first_key,
        .context = file,
        .object = read_event,
        .lines = read_known_lines,
        .array = begin_array,
        .cut = note_cut_line,
        .sink = sink,
    };
    struct objects_end end;
    struct error later = ERROR_INIT;
    if (objects_read(&objects, input, &end, error))
        return -1;
    file->reader.ends_open = file->reader.is_bundled && end.in_array && !end.reading_failed;
    if (chrome_reader_finish(&file->reader, end.offset, end.reading_failed ? &later : error))
        return -1;
    if (end.in_array && !end.reading_failed)
        return note_early_end(file, end.offset, error);
    return end.reading_failed ? -1 : 0;
}

static int chrome_read(struct input *input, const struct format_sink *sink, char *dialect,
                       size_t dialect_bytes, struct error *error)
{
    struct chrome_file file;
    int status = chrome_reader_init(&file.reader, sink, input_path(input), error);
    json_init(&file.json);
    chrome_scanner_init(&file.scanner);
    if (!status)
        status = read_file(&file, input, sink, error);
    chrome_reader_dialect(&file.reader, dialect, dialect_bytes);
    chrome_reader_release(&file.reader);
    chrome_scanner_release(&file.scanner);
    json_release(&file.json);
    return status;
}

/* "cat" with a known category in the first bytes, at a place where a trace has it. */
static int has_category(const char *bytes, size_t length)
{
    static const char *const known[] = {"GROUP", "COLL",          "P2P",     "PROXY",    "NET",
                                        "GPU",   "KERNEL_LAUNCH", "CE_COLL", "USER_TAG", "NCCLPROF"};
    const char *end = bytes + length;
    for (const char *at = bytes; (at = sniff_find(bytes, length, at, "\"cat\"", first_key));) {
        at += sizeof "\"cat\"" - 1;
        while (at < end && (sniff_is_space(*at) || *at == ':'))
            at++;
        for (size_t i = 0; at < end && *at == '"' && i < sizeof known / sizeof *known; i++) {
            size_t word = strlen(known[i]);
            if ((size_t)(end - at) > word + 1 && memcmp(at + 1, known[i], word) == 0 &&
                (at[word + 1] == '"' || at[word + 1] == '_'))
                return 1;
        }
    }
    return 0;
}

/* An empty array that is still open: the file of a process that recorded nothing. */
static int is_empty_array(const char *bytes, size_t length)
{
    static const char expected[] = "[{}]";
    size_t seen = 0;
    for (size_t at = 0; at < length; at++) {
        if (sniff_is_space(bytes[at]))
            continue;
        if (seen == sizeof expected - 1 || bytes[at] != expected[seen])
            return 0;
        seen++;
    }
    return seen == 1 || seen == sizeof expected - 1;
}

static int chrome_sniff(const char *bytes, size_t length, const char *path)
{
    size_t at = 0;
    while (at < length && sniff_is_space(bytes[at]))
        at++;
    if (has_category(bytes, length))
        return at < length && bytes[at] == '[' ? 100 : 60;
    return is_empty_array(bytes, length) ? 40 : 0;
}

static const char *chrome_why_nothing(const char *path, uint64_t bytes)
{
    if (!chrome_names_member(path))
        return NULL;
    return bytes == 0
               ? "NVIDIA's example plugin writes its file when the communicator ends; the job was killed "
                 "before that, or the disk was full"
               : "NVIDIA's example plugin records nothing unless NCCL_PROFILE_EVENT_MASK is set (to 3935, "
                 "for example)";
}

const struct format format_chrome = {
    .name = "chrome",
    .version = 4,
    .description = "Chrome traces of NVIDIA's example profiler plugin and of ncclprof's plugin",
    .unknown = chrome_unknown_event,
    .sniff = chrome_sniff,
    .read = chrome_read,
    .why_nothing = chrome_why_nothing,
};
