#include "ingest/twins.h"

#include "format/registry.h"
#include "input/input.h"
#include "input/walk.h"
#include "store/known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first line says who wrote it within so many bytes. */
enum { HEAD_BYTES = 4096 };

static int ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length > end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Two files of one name that hold the same, one of which says less. */
struct twin {
    const char *less;        /* how the name ends of that */
    const char *const *more; /* ... of the other, ended by NULL */
    const char *format;      /* that both are of; NULL: the other is of any, and that is ours (is_ours) */
};

static const char *const chrome_ends[] = {".json", ".json.gz", NULL};
static const char *const pickle_ends[] = {"", ".pkl", ".pickle", ".pkl.gz", ".pickle.gz", NULL};

static const struct twin twins[] = {
    {".jsonl", chrome_ends, NULL},
    {".json", pickle_ends, "flight-recorder"},
};

/* Bytes of the path before the ending; 0 if it is no such name. */
static size_t stem_of(const char *path, const char *end)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    return ends_with(path, length, end) ? length - strlen(end) : 0;
}

static int is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

/* Whether a trace of that format is recognised in it (NULL: of any), which one that was cut at once has not.
 */
static int is_trace(const char *path, const char *name, struct error *error)
{
    const struct input_limits limits = {.unpacked_bytes = 0};
    struct input *input = input_open(path, &limits, error);
    const struct format *format = input ? format_detect(input, error) : NULL;
    input_close(input);
    if (!format)
        return error->is_no_memory ? -1 : 0;
    return !name || strcmp(format->name, name) == 0;
}

/* Nothing is left out for a trace that nobody brings in. */
static int comes_in(const struct walk *walk, const struct known *known, const char *path)
{
    return walk_has(walk, path) || known_has_path(known, path);
}

static int has_twin(const struct walk *walk, const struct known *known, const char *path, size_t stem,
                    const struct twin *twin, struct error *error)
{
    int found = 0;
    char *other = malloc(strlen(path) + sizeof ".pickle.gz");
    if (!other)
        return error_no_memory(error);
    memcpy(other, path, stem);
    for (const char *const *end = twin->more; *end && !found; end++) {
        memcpy(other + stem, *end, strlen(*end) + 1);
        found = is_file(other) && comes_in(walk, known, other) ? is_trace(other, twin->format, error) : 0;
    }
    free(other);
    return found;
}

/* What cannot be read here is the reader's to complain about. */
static int is_ours(const char *path, struct error *error)
{
    static const char words[] = "\"git_rev\":\"ncclprof-";
    const struct input_limits limits = {.unpacked_bytes = 0};
    const char *bytes;
    struct input *input = input_open(path, &limits, error);
    if (!input)
        return error->is_no_memory ? -1 : 0;
    int64_t length = input_peek(input, &bytes, HEAD_BYTES, error);
    int found = length > 0 && memmem(bytes, (size_t)length, words, sizeof words - 1) != NULL;
    input_close(input);
    return length < 0 && error->is_no_memory ? -1 : found;
}

static int is_twin(const struct walk *walk, const struct known *known, const struct walk_file *file,
                   struct error *error)
{
    int outcome = 0;
    for (size_t i = 0; i < sizeof twins / sizeof *twins && outcome == 0; i++) {
        size_t stem = stem_of(file->realpath, twins[i].less);
        outcome = stem && is_file(file->realpath)
                      ? has_twin(walk, known, file->realpath, stem, &twins[i], error)
                      : 0;
        if (outcome > 0)
            outcome =
                twins[i].format ? is_trace(file->path, twins[i].format, error) : is_ours(file->path, error);
        if (outcome >= 0)
            error_clear(error);
    }
    return outcome;
}

int twins_leave_out(struct walk *walk, const struct known *known, size_t *left_out, struct error *error)
{
    size_t kept = 0;
    int outcome = 0;
    for (size_t i = 0; i < walk->count; i++) {
        int twin = outcome < 0 ? 0 : is_twin(walk, known, &walk->files[i], error);
        if (twin < 0)
            outcome = -1;
        if (twin <= 0) {
            walk->files[kept++] = walk->files[i];
            continue;
        }
        walk->starts[walk->files[i].start].has_known = 1;
        free(walk->files[i].path);
        free(walk->files[i].realpath);
    }
    *left_out = walk->count - kept;
    walk->count = kept;
    return outcome;
}
