/*
 * Removes files from a walk whose records would be read twice: copies and incomplete copies of other files
 * (drop_prefix_files), and second recordings of the same operations in another format (drop_second_formats).
 * Runs before the remaining files are read.
 */

#include "base/base.h"
#include "format/format.h"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Shorter files have too little content to be compared with the beginnings of others. */
enum { HEAD_BYTES = 1024 };

/* Limits how many files with the same beginning each file is compared with. */
enum { MOST_COMPARED = 16 };

enum relation { ARE_DIFFERENT, ARE_ALIKE, IS_BEGINNING, HAS_BEGINNING };

/*
 * Files of one job often have equal beginnings longer than HEAD_BYTES. Files that differ within these parts
 * are not read a second time.
 */
enum { PART_BYTES = 2048, PARTS_MOST = 32 };

/* A file that may have copies. */
struct candidate {
    uint64_t head;              /* hash of its first HEAD_BYTES */
    uint64_t parts[PARTS_MOST]; /* hash of its content up to the end of each part */
    size_t part_count;
    size_t file;   /* index in the walk */
    size_t depth;  /* number of directories in its path */
    size_t length; /* length of its path */
    int is_found;  /* it is a regular file with enough content */
};

static int is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash;
}

static void note_head(struct candidate *candidate, const char *bytes, size_t length)
{
    uint64_t hash = 0;
    candidate->head = hash_bytes(0, bytes, HEAD_BYTES);
    for (size_t i = 0; i < PARTS_MOST && length >= (i + 1) * PART_BYTES; i++) {
        hash = hash_bytes(hash, bytes + i * PART_BYTES, PART_BYTES);
        candidate->parts[candidate->part_count++] = hash;
    }
}

/* If two files differ in a part that both have, neither is a copy or prefix of the other. */
static int differ_early(const struct candidate *one, const struct candidate *other)
{
    size_t parts = one->part_count < other->part_count ? one->part_count : other->part_count;
    return parts && one->parts[parts - 1] != other->parts[parts - 1];
}

/* A file that cannot be read is left to the reader, which reports it. 1: it is a candidate. */
static int look_at(const char *path, const struct input_limits *limits, struct candidate *candidate,
                   struct error *error)
{
    const char *bytes;
    struct input *input = is_regular(path) ? input_open(path, limits, error) : NULL;
    if (!input)
        return error->is_no_memory ? -1 : 0;
    int64_t length = input_peek(input, &bytes, (size_t)PARTS_MOST * PART_BYTES, error);
    int found = length >= HEAD_BYTES;
    if (found)
        note_head(candidate, bytes, (size_t)length);
    input_close(input);
    return error->is_no_memory ? -1 : found;
}

static int is_stopped(const struct input_limits *limits)
{
    return limits->stopped && limits->stopped(limits->context);
}

/* Inspector logs, files whose names count, and files that are not traces are not compared. */
static int is_compared(struct input *input, struct error *error)
{
    static const char inspector[] = "inspector";
    const struct format *format = format_detect(input, error);
    return format && !format->name_counts && strncmp(format->name, inspector, sizeof inspector - 1) != 0;
}

/* The next line; 0 at the end, or when no more can be read, e.g. of a truncated gzip file. */
static int next_line(struct input *input, struct input_line *line, struct error *error)
{
    int more = input_line(input, line, error);
    if (more >= 0 || error->is_no_memory)
        return more;
    error_clear(error);
    return 0;
}

/*
 * Compares the last lines of two files read so far; `more` and `other_more` say whether there is such a line.
 */
static enum relation compare_lines(const struct input_line *line, int more, const struct input_line *other,
                                   int other_more)
{
    if (!more || !other_more)
        return more ? HAS_BEGINNING : other_more ? IS_BEGINNING : ARE_ALIKE;
    size_t least = line->length < other->length ? line->length : other->length;
    if (memcmp(line->text, other->text, least) != 0)
        return ARE_DIFFERENT;
    if (line->length == other->length)
        return ARE_ALIKE;
    int is_cut =
        line->length < other->length ? !line->ended && !line->goes_on : !other->ended && !other->goes_on;
    return !is_cut ? ARE_DIFFERENT : line->length < other->length ? IS_BEGINNING : HAS_BEGINNING;
}

/* -1 when memory is out. */
static int compare_inputs(struct input *input, struct input *other, enum relation *relation,
                          struct error *error)
{
    struct input_line line = {.length = 0}, other_line = {.length = 0};
    do {
        int more = next_line(input, &line, error),
            other_more = more < 0 ? -1 : next_line(other, &other_line, error);
        if (more < 0 || other_more < 0)
            return -1;
        *relation = compare_lines(&line, more, &other_line, other_more);
        if (!more || !other_more)
            return 0;
    } while (*relation == ARE_ALIKE);
    return 0;
}

static int compare_files(const char *path, const char *other_path, const struct input_limits *limits,
                         enum relation *relation, struct error *error)
{
    struct input *input = input_open(path, limits, error);
    struct input *other = input && is_compared(input, error) ? input_open(other_path, limits, error) : NULL;
    *relation = ARE_DIFFERENT;
    int failed = input && other ? compare_inputs(input, other, relation, error) : error->is_no_memory;
    input_close(other);
    input_close(input);
    if (!failed)
        error_clear(error);
    return failed ? -1 : is_stopped(limits) ? error_set(error, "interrupted") : 0;
}

static size_t count_folders(const char *path)
{
    size_t count = 0;
    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* Groups candidates with the same beginning; in a group the least depth comes first. */
static int by_head(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return (left->file > right->file) - (left->file < right->file);
}

struct search {
    struct walk *walk;
    const struct input_limits *limits;
    struct candidate *candidates; /* owned, as are the next two arrays */
    size_t count;
    unsigned char *is_left_out; /* for each file of the walk */
    size_t *original; /* for each file of the walk: 1 + the index of the file that it is a copy of; 0: none */
};

/* Counts a copy of `file`, including the copies found of the copy itself. */
static int note_copy(struct walk_file *file, struct walk_file *copy)
{
    if (!file->copy)
        file->copy = copy->copy ? copy->copy : strdup(copy->path);
    else
        free(copy->copy);
    file->copies += 1 + copy->copies;
    copy->copy = NULL;
    copy->copies = 0;
    return file->copy ? 0 : -1;
}

/* Compares a candidate with an earlier one that is still to be read. */
static int settle(struct search *search, size_t before, size_t at, struct error *error)
{
    struct walk_file *files = search->walk->files;
    size_t first = search->candidates[before].file, then = search->candidates[at].file;
    enum relation relation;
    if (compare_files(files[first].realpath, files[then].realpath, search->limits, &relation, error))
        return -1;
    if (relation == ARE_DIFFERENT)
        return 0;
    int first_is_less = relation == IS_BEGINNING;
    size_t less = first_is_less ? first : then, more = first_is_less ? then : first;
    search->is_left_out[less] = relation != ARE_ALIKE;
    search->original[less] = more + 1;
    return note_copy(&files[more], &files[less]) ? error_no_memory(error) : 0;
}

static int settle_all(struct search *search, struct error *error)
{
    for (size_t at = 1; at < search->count; at++) {
        size_t compared = 0;
        for (size_t before = at; before-- > 0 && compared < MOST_COMPARED;) {
            if (search->candidates[before].head != search->candidates[at].head ||
                search->original[search->candidates[at].file])
                break;
            if (search->original[search->candidates[before].file])
                continue;
            compared++;
            if (!differ_early(&search->candidates[before], &search->candidates[at]) &&
                settle(search, before, at, error))
                return -1;
        }
    }
    return 0;
}

/* Looks at files `first` to `end` - 1. */
static int look_piece(void *context, size_t worker, size_t first, size_t end)
{
    struct search *search = context;
    for (size_t i = first; i < end && !is_stopped(search->limits); i++) {
        struct error error = ERROR_INIT;
        const char *path = search->walk->files[i].realpath;
        search->candidates[i] =
            (struct candidate){.file = i, .depth = count_folders(path), .length = strlen(path)};
        int found = look_at(path, search->limits, &search->candidates[i], &error);
        if (found < 0)
            return -1;
        search->candidates[i].is_found = found;
    }
    return 0;
}

static int find_candidates(struct search *search, size_t threads, struct error *error)
{
    size_t files = search->walk->count;
    if (files > 1 && parallel_for(files, 1, threads, look_piece, search))
        return error_no_memory(error);
    if (files > 1 && is_stopped(search->limits))
        return error_set(error, "interrupted");
    for (size_t i = 0; files > 1 && i < files; i++)
        if (search->candidates[i].is_found)
            search->candidates[search->count++] = search->candidates[i];
    array_sort(search->candidates, search->count, sizeof *search->candidates, by_head);
    return 0;
}

/* The original of a file. Copies of a file that turned out to be a prefix of another are left out as well. */
static size_t original_of(struct search *search, size_t file)
{
    size_t at = file;
    while (search->original[at]) {
        search->is_left_out[file] |= search->is_left_out[at];
        at = search->original[at] - 1;
    }
    return at;
}

/*
 * A copy that is still to be read gets the same information as its original, because either may end up in the
 * store.
 */
static int note_original(struct search *search, size_t file)
{
    struct walk_file *files = search->walk->files;
    size_t original = original_of(search, file);
    if (original == file || search->is_left_out[file])
        return 0;
    files[file].copies = files[original].copies;
    files[file].copy = strdup(files[original].path);
    return files[file].copy ? 0 : -1;
}

/* The directories of the files, grouped by common content. */
struct folders {
    struct intern names;
    int32_t *of_file; /* owned, as are the other arrays */
    int32_t *parent;
    int32_t *least; /* of each group, the directory at the least depth */
};

static int list_folders(struct folders *folders, const struct walk *walk)
{
    folders->of_file = array_new(walk->count, sizeof *folders->of_file);
    folders->parent = array_new(walk->count, sizeof *folders->parent);
    folders->least = array_new(walk->count, sizeof *folders->least);
    if (!folders->of_file || !folders->parent || !folders->least)
        return -1;
    for (size_t i = 0; i < walk->count; i++) {
        const char *path = walk->files[i].realpath, *slash = strrchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) : strlen(path);
        int64_t number = intern_put(&folders->names, path, length ? length : 1);
        if (number < 0)
            return -1;
        folders->of_file[i] = (int32_t)number;
    }
    disjoint_init(folders->parent, folders->names.count);
    return 0;
}

int compare_depths(const char *path, const char *other)
{
    int order = compare_integers((int64_t)count_folders(path), (int64_t)count_folders(other));
    return order ? order : compare_integers((int64_t)strlen(path), (int64_t)strlen(other));
}

static int is_less_deep(const char *folder, const char *than)
{
    int order = compare_depths(folder, than);
    return order ? order < 0 : strcmp(folder, than) < 0;
}

static void find_least(struct folders *folders)
{
    int32_t count = (int32_t)folders->names.count;
    for (int32_t i = 0; i < count; i++)
        folders->least[i] = -1;
    for (int32_t i = 0; i < count; i++) {
        int32_t *least = &folders->least[disjoint_root(folders->parent, i)];
        if (*least < 0 || is_less_deep(intern_text(&folders->names, i), intern_text(&folders->names, *least)))
            *least = i;
    }
}

/*
 * Directories that hold copies of the same files are treated as one: a process may have several files, some
 * only in one directory, others more complete in the other.
 */
static int unite_folders(struct search *search, struct folders *folders)
{
    struct walk *walk = search->walk;
    for (size_t i = 0; i < walk->count; i++)
        if (search->original[i])
            disjoint_unite(folders->parent, folders->of_file[i], folders->of_file[search->original[i] - 1]);
    find_least(folders);
    for (size_t i = 0; i < walk->count; i++) {
        int32_t least = folders->least[disjoint_root(folders->parent, folders->of_file[i])];
        if (least == folders->of_file[i] || search->is_left_out[i])
            continue;
        walk->files[i].folder = strdup(intern_text(&folders->names, least));
        if (!walk->files[i].folder)
            return -1;
    }
    return 0;
}

static int settle_folders(struct search *search)
{
    struct folders folders = {.of_file = NULL};
    intern_init(&folders.names);
    int failed = list_folders(&folders, search->walk) || unite_folders(search, &folders);
    intern_release(&folders.names);
    free(folders.of_file);
    free(folders.parent);
    free(folders.least);
    return failed ? -1 : 0;
}

/* Puts the files to be read into `sorted`, which has room for all, copies last. */
static void sort_out(struct search *search, struct walk_file *sorted)
{
    struct walk *walk = search->walk;
    size_t kept = 0;
    for (int is_copy = 0; is_copy < 2; is_copy++)
        for (size_t i = 0; i < walk->count; i++)
            if (!search->is_left_out[i] && (search->original[i] != 0) == is_copy)
                sorted[kept++] = walk->files[i];
    for (size_t i = 0; i < walk->count; i++) {
        if (!search->is_left_out[i])
            continue;
        walk->starts[walk->files[i].start].has_known = 1;
        free(walk->files[i].path);
        free(walk->files[i].realpath);
    }
    if (kept)
        memcpy(walk->files, sorted, kept * sizeof *sorted);
    walk->count = kept;
}

int drop_prefix_files(struct walk *walk, const struct input_limits *limits, size_t threads, size_t *count,
                      struct error *error)
{
    size_t all = walk->count;
    struct search search = {.walk = walk,
                            .limits = limits,
                            .candidates = array_new(all, sizeof *search.candidates),
                            .is_left_out = array_new(all, 1),
                            .original = array_new(all, sizeof *search.original)};
    struct walk_file *sorted = array_new(all, sizeof *sorted);
    int failed =
        search.candidates && search.is_left_out && search.original && sorted ? 0 : error_no_memory(error);
    failed = failed || find_candidates(&search, threads, error) || settle_all(&search, error);
    for (size_t i = 0; !failed && i < all; i++)
        failed = note_original(&search, i) ? error_no_memory(error) : 0;
    if (!failed && all && settle_folders(&search))
        failed = error_no_memory(error);
    if (!failed)
        sort_out(&search, sorted);
    *count = all - walk->count;
    free(search.candidates);
    free(search.is_left_out);
    free(search.original);
    free(sorted);
    return failed ? -1 : 0;
}

/* The first line names its writer within this many bytes. */
enum { FIRST_LINE_BYTES = 4096 };

static int ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length > end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Two files with the same base name that record the same operations; one has fewer details. */
struct twin {
    const char *less;        /* suffix of the file with fewer details */
    const char *const *more; /* suffixes of the other file, ended by NULL */
    const char *format; /* format of both; NULL: the other may have any format, and this one was written by
                           our plugin (is_ours) */
};

static const char *const chrome_ends[] = {".json", ".json.gz", NULL};
static const char *const pickle_ends[] = {"", ".pkl", ".pickle", ".pkl.gz", ".pickle.gz", NULL};

static const struct twin twins[] = {
    {".jsonl", chrome_ends, NULL},
    {".json", pickle_ends, "flight-recorder"},
};

/* Length of the path without the suffix; 0 if it does not have this suffix. */
static size_t stem_of(const char *path, const char *end)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz"))
        length -= strlen(".gz");
    return ends_with(path, length, end) ? length - strlen(end) : 0;
}

/*
 * Whether the file is recognised as a trace of this format (NULL: of any). A file that was truncated near its
 * beginning is not.
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

/* A file is only left out in favour of a trace that is in the walk or in the store. */
static int comes_in(const struct walk *walk, const struct known *known, const char *path)
{
    return walk_has(walk, path) || known_has_path(known, path);
}

static int has_other_format(const struct walk *walk, const struct known *known, const char *path, size_t stem,
                            const struct twin *twin, struct error *error)
{
    int found = 0;
    char *other = malloc(strlen(path) + sizeof ".pickle.gz");
    if (!other)
        return error_no_memory(error);
    memcpy(other, path, stem);
    for (const char *const *end = twin->more; *end && !found; end++) {
        memcpy(other + stem, *end, strlen(*end) + 1);
        found = is_regular(other) && comes_in(walk, known, other) ? is_trace(other, twin->format, error) : 0;
    }
    free(other);
    return found;
}

/* A file that cannot be read is left to the reader, which reports it. */
static int is_ours(const char *path, struct error *error)
{
    static const char words[] = "\"git_rev\":\"ncclprof-";
    const struct input_limits limits = {.unpacked_bytes = 0};
    const char *bytes;
    struct input *input = input_open(path, &limits, error);
    if (!input)
        return error->is_no_memory ? -1 : 0;
    int64_t length = input_peek(input, &bytes, FIRST_LINE_BYTES, error);
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
        outcome = stem && is_regular(file->realpath)
                      ? has_other_format(walk, known, file->realpath, stem, &twins[i], error)
                      : 0;
        if (outcome > 0)
            outcome =
                twins[i].format ? is_trace(file->path, twins[i].format, error) : is_ours(file->path, error);
        if (outcome >= 0)
            error_clear(error);
    }
    return outcome;
}

int drop_second_formats(struct walk *walk, const struct known *known, size_t *left_out, struct error *error)
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
