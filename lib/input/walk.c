/*
 * Finds the files of the paths that the user names. Below it: reads JSON in place (raw_json), which finds
 * where values end and iterates over members.
 */
#include "base/base.h"
#include "input/input.h"
#include "input/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

void walk_init(struct walk *walk)
{
    *walk = (struct walk){.files = NULL};
    map_init(&walk->seen);
}

void walk_release(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        free(walk->files[i].path);
        free(walk->files[i].realpath);
        free(walk->files[i].copy);
        free(walk->files[i].folder);
    }
    for (size_t i = 0; i < walk->note_count; i++)
        free(walk->notes[i]);
    for (size_t i = 0; i < walk->loss_count; i++)
        free(walk->losses[i]);
    free(walk->files);
    free(walk->starts);
    free(walk->notes);
    free(walk->losses);
    map_release(&walk->seen);
    walk_init(walk);
}

static int add_note(struct walk *walk, const char *path, const char *what, struct error *error)
{
    struct buffer note = BUFFER_INIT;
    if (array_reserve((void **)&walk->notes, &walk->note_capacity, walk->note_count + 1,
                      sizeof *walk->notes) ||
        buffer_printf(&note, "%s: %s", path, what)) {
        buffer_release(&note);
        return error_no_memory(error);
    }
    walk->notes[walk->note_count++] = buffer_detach(&note);
    return 0;
}

/* Adds a loss: there may have been traces in this place. */
static int add_loss(struct walk *walk, const char *path, int number, const char *what, struct error *error)
{
    struct buffer loss = BUFFER_INIT;
    if (number == ENOMEM ||
        array_reserve((void **)&walk->losses, &walk->loss_capacity, walk->loss_count + 1,
                      sizeof *walk->losses) ||
        buffer_printf(&loss, "%s: %s", path, what)) {
        buffer_release(&loss);
        return error_no_memory(error);
    }
    walk->losses[walk->loss_count++] = buffer_detach(&loss);
    return 0;
}

static struct map_key key_of(const struct stat *status)
{
    return (struct map_key){{(uint64_t)status->st_dev, (uint64_t)status->st_ino}};
}

int walk_has(const struct walk *walk, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && map_get(&walk->seen, key_of(&status)) != NULL;
}

/* Returns 1 if the file or directory is new, 0 if it was found before. */
static int meet(struct walk *walk, const struct stat *status, struct error *error)
{
    int is_new = 0;
    const int64_t *start = map_put(&walk->seen, key_of(status), (int64_t)walk->start_count - 1, &is_new);
    if (!start)
        return error_no_memory(error);
    if (*start != (int64_t)walk->start_count - 1)
        walk->starts[walk->start_count - 1].has_known = 1;
    return is_new;
}

/* Takes ownership of `absolute`. */
static int add_file(struct walk *walk, const char *path, char *absolute, struct error *error)
{
    char *copy = strdup(path);
    if (!copy || !absolute ||
        array_reserve((void **)&walk->files, &walk->capacity, walk->count + 1, sizeof *walk->files)) {
        free(copy);
        free(absolute);
        return error_no_memory(error);
    }
    walk->files[walk->count++] =
        (struct walk_file){.path = copy, .realpath = absolute, .start = walk->start_count - 1};
    /* cppcheck-suppress memleak ; the file keeps it */
    return 0;
}

static int add_regular(struct walk *walk, const char *path, struct error *error)
{
    char *absolute = realpath(path, NULL);
    if (!absolute)
        return add_loss(walk, path, errno, strerror(errno), error);
    return add_file(walk, path, absolute, error);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int add_below(struct walk *walk, const char *path, int depth, struct error *error);

static int add_entry(struct walk *walk, const char *path, const char *name, int depth, struct error *error)
{
    struct buffer full = BUFFER_INIT;
    size_t length = strlen(path);
    const char *between = length > 0 && path[length - 1] == '/' ? "" : "/";
    int status = buffer_printf(&full, "%s%s%s", path, between, name)
                     ? error_no_memory(error)
                     : add_below(walk, full.data, depth, error);
    buffer_release(&full);
    return status;
}

static int add_directory(struct walk *walk, const char *path, int depth, struct error *error)
{
    struct dirent **entries;
    int count = scandir(path, &entries, visible, by_bytes);
    int status = 0;
    if (count < 0)
        return add_loss(walk, path, errno, strerror(errno), error);
    for (int i = 0; i < count; i++) {
        if (!status)
            status = add_entry(walk, path, entries[i]->d_name, depth + 1, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int add_below(struct walk *walk, const char *path, int depth, struct error *error)
{
    struct stat status;
    if (stat(path, &status))
        return errno == ENOENT || errno == ELOOP ? add_note(walk, path, strerror(errno), error)
                                                 : add_loss(walk, path, errno, strerror(errno), error);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return add_note(walk, path, "not a regular file, skipped", error);
    if (depth > DEEPEST)
        return add_loss(walk, path, 0, "nested too deeply, skipped", error);
    int is_new = meet(walk, &status, error);
    if (is_new != 1)
        return is_new;
    return S_ISDIR(status.st_mode) ? add_directory(walk, path, depth, error) : add_regular(walk, path, error);
}

/*
 * A process substitution <(...) of the shell leads to a pipe without a name. Other pipes may get the same
 * path later.
 */
static char *name_of_pipe(const char *path)
{
    char *absolute = realpath(path, NULL);
    return absolute || errno == ENOMEM ? absolute : strdup("-");
}

static int add_start(struct walk *walk, struct error *error)
{
    if (array_reserve((void **)&walk->starts, &walk->start_capacity, walk->start_count + 1,
                      sizeof *walk->starts))
        return error_no_memory(error);
    walk->starts[walk->start_count++] = (struct walk_start){.is_directory = 0};
    return 0;
}

int walk_add(struct walk *walk, const char *path, struct error *error)
{
    struct stat status;
    if (add_start(walk, error))
        return -1;
    if (strcmp(path, "-") == 0)
        return add_file(walk, path, strdup("-"), error);
    if (stat(path, &status))
        return error_set_errno(error, errno, "%s: cannot be found", path);
    if (S_ISFIFO(status.st_mode))
        return add_file(walk, path, name_of_pipe(path), error);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
        return error_set(error, "%s: is neither a file nor a directory", path);
    walk->starts[walk->start_count - 1].is_directory = S_ISDIR(status.st_mode);
    return add_below(walk, path, 0, error);
}

/* Classes of bytes outside strings, and of those that end plain text inside a string. */
enum byte_kind { PLAIN = 0, SPACE, QUOTE, OPENS, CLOSES, PARTS };

static const unsigned char kind_of[256] = {
    [' '] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE, ['\n'] = SPACE, ['"'] = QUOTE, ['{'] = OPENS,
    ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES, [','] = PARTS,  [':'] = PARTS,
};

static const unsigned char stops_string[256] = {['"'] = 1, ['\\'] = 1, ['\n'] = 1};

/* Returns the position after the closing quote; NULL if it is not in this piece. */
static const char *end_string(struct raw_json_scan *scan, const char *at, const char *end)
{
    if (scan->is_escaped && at < end) {
        scan->is_escaped = 0;
        at++;
    }
    for (; at < end; at++) {
        at = skip_plain(at, end);
        while (at < end && !stops_string[(unsigned char)*at])
            at++;
        if (at == end)
            return NULL;
        if (*at == '"') {
            scan->in = '\0';
            return at + 1;
        }
        if (*at == '\n') {
            scan->is_broken = 1;
            return NULL;
        }
        if (++at == end)
            scan->is_escaped = 1;
    }
    return NULL;
}

/* Returns the position after a number or word. */
static const char *end_word(struct raw_json_scan *scan, const char *at, const char *end)
{
    while (at < end && kind_of[(unsigned char)*at] == PLAIN)
        at++;
    scan->in = at < end ? '\0' : 'w';
    return at < end ? at : NULL;
}

/*
 * Handles one byte inside a container or at the beginning of a value. NULL: more text is needed, or the value
 * is broken.
 */
static const char *take_byte(struct raw_json_scan *scan, const char *at, const char *end)
{
    switch (kind_of[(unsigned char)*at]) {
    case QUOTE:
        scan->in = '"';
        return end_string(scan, at + 1, end);
    case OPENS:
        scan->is_broken = ++scan->depth > RAW_JSON_DEPTH;
        return scan->is_broken ? NULL : at + 1;
    case CLOSES:
        scan->is_broken = scan->depth-- == 0;
        return scan->is_broken ? NULL : at + 1;
    case PLAIN:
        return scan->depth ? at + 1 : end_word(scan, at, end);
    default:
        scan->is_broken = scan->depth == 0;
        return scan->is_broken ? NULL : at + 1;
    }
}

const char *raw_json_end(struct raw_json_scan *scan, const char *text, const char *end)
{
    if (scan->in == 'w')
        return end_word(scan, text, end);
    if (scan->in == '"') {
        text = end_string(scan, text, end);
        if (!text || scan->depth == 0)
            return text;
    }
    while (text && text < end) {
        text = take_byte(scan, text, end);
        if (text && scan->depth == 0)
            return text;
        while (text && text < end && kind_of[(unsigned char)*text] < QUOTE)
            text++;
    }
    return NULL;
}

/* White space is a blank, or a line break and the indentation of the next line. */
const char *raw_json_skip_spaces(const char *text, const char *end)
{
    while (text < end && kind_of[(unsigned char)*text] == SPACE) {
        text++;
        if (end - text >= 8)
            text += eight_spaces(eight_bytes(text));
    }
    return text;
}

void raw_json_enter(struct raw_json_cursor *cursor, struct raw_json container)
{
    const char *end = container.text + container.length;
    const char *at = raw_json_skip_space(container.text, end);
    char first = '\0';
    if (at < end)
        first = *at;
    *cursor = (struct raw_json_cursor){.at = at + (first != '\0'), .end = end};
    if (first == '{')
        cursor->closing = '}';
    else if (first == '[')
        cursor->closing = ']';
}

/* The end of a text without escapes, a number or a word, if all of it is there. NULL: raw_json_end() knows.
 */
static inline const char *end_simple(const char *at, const char *end)
{
    const char *begin = at;
    if (at < end && *at == '"') {
        at = skip_plain(at + 1, end);
        while (at < end && !stops_string[(unsigned char)*at])
            at++;
        return at < end && *at == '"' ? at + 1 : NULL;
    }
    if (end - at >= 8)
        at += eight_digits(eight_bytes(at));
    while (at < end && kind_of[(unsigned char)*at] == PLAIN)
        at++;
    return at > begin && at < end ? at : NULL;
}

static inline const char *end_value(const char *at, const char *end)
{
    struct raw_json_scan scan = {.depth = 0};
    const char *past = end_simple(at, end);
    return past ? past : raw_json_end(&scan, at, end);
}

/* The place after a sign and the white space around it; NULL if it is not there. */
static inline const char *pass_sign(const char *at, const char *end, char sign)
{
    at = raw_json_skip_space(at, end);
    return at < end && *at == sign ? raw_json_skip_space(at + 1, end) : NULL;
}

const char *raw_json_value_end(const char *text, const char *end)
{
    return end_value(text, end);
}

int raw_json_next(struct raw_json_cursor *cursor, struct raw_json *key, struct raw_json *value)
{
    const char *end = cursor->end, *at = raw_json_skip_space(cursor->at, end), *past;
    cursor->at = at;
    if (cursor->closing == '\0')
        return -1;
    if (at < end && *at == cursor->closing)
        return 0;
    if (cursor->is_begun && !(at = pass_sign(at, end, ',')))
        return -1;
    cursor->is_begun = 1;
    *key = (struct raw_json){NULL, 0};
    if (cursor->closing == '}') {
        past = end_value(at, end);
        if (!past || raw_json_string((struct raw_json){at, (size_t)(past - at)}, key) ||
            !(at = pass_sign(past, end, ':')))
            return -1;
    }
    if (!(past = end_value(at, end)))
        return -1;
    *value = (struct raw_json){at, (size_t)(past - at)};
    cursor->at = past;
    return 1;
}

static int hexadecimal(char byte)
{
    if (is_digit(byte))
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* The code unit of the "\uXXXX" at `text`; -1 if it is invalid. */
static int32_t code_unit(const char *text, const char *end)
{
    int32_t unit = 0;
    if (end - text < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hexadecimal(text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static int add_utf8(struct buffer *buffer, uint32_t code)
{
    unsigned char bytes[4];
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = count; i-- > 0; code >>= 6)
        bytes[i] = (unsigned char)(i ? 0x80 | (code & 0x3f) : lead[count] | code);
    return buffer_append(buffer, bytes, count);
}

/*
 * Resolves an escape of one or two code units. Returns how many bytes it takes; 0 if it is invalid; -1 when
 * out of memory.
 */
static int add_code(struct buffer *buffer, const char *at, const char *end)
{
    int32_t unit = code_unit(at, end);
    if (unit < 0 || unit == 0 || (unit >= 0xdc00 && unit < 0xe000))
        return 0;
    if (unit < 0xd800 || unit >= 0xe000)
        return add_utf8(buffer, (uint32_t)unit) ? -1 : 6;
    int32_t low = code_unit(at + 6, end);
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    uint32_t code = 0x10000 + (((uint32_t)unit - 0xd800) << 10 | ((uint32_t)low - 0xdc00));
    return add_utf8(buffer, code) ? -1 : 12;
}

/* The same for an escape of any kind. */
static int add_escape(struct buffer *buffer, const char *at, const char *end)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter = end - at >= 2 && at[1] != '\0' ? strchr(letters, at[1]) : NULL;
    if (letter)
        return buffer_append_byte(buffer, meant[letter - letters]) ? -1 : 2;
    return add_code(buffer, at, end);
}

int raw_json_unescape(struct raw_json content, struct buffer *buffer)
{
    const char *at = content.text, *end = content.text + content.length;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *plain_end = escape ? escape : end;
        if (buffer_append(buffer, at, (size_t)(plain_end - at)))
            return -1;
        if (!escape)
            return 0;
        int taken = add_escape(buffer, escape, end);
        if (taken < 0 || (taken == 0 && buffer_append_byte(buffer, *escape)))
            return -1;
        at = escape + (taken ? taken : 1);
    }
    return 0;
}
