/*
 * Splits an input into JSON objects for the formats whose files hold one object per line, and finds objects
 * in damaged text.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"

#include <string.h>

/* Limit on the length of an object: one that has not ended by then is not one. */
enum { CARRY_MOST = 256 * 1024 };

/* The beginning of an object whose end has not been read yet. */
struct carry {
    struct buffer text;
    uint64_t offset;
    int depth;       /* nesting depth of braces and brackets */
    uint64_t arrays; /* one bit for each depth, the innermost lowest: 1 is a bracket */
    int in_string;
    int escaped;
};

struct cutter {
    const struct objects *objects;
    size_t key_length;
    struct carry carry;
    const char *end; /* end of the line being read */
    int in_array;
};

/* Removes space and commas at both ends. */
static void trim(const char **text, size_t *length, uint64_t *offset)
{
    while (*length > 0 && (sniff_is_space(**text) || **text == ',')) {
        ++*text;
        --*length;
        ++*offset;
    }
    while (*length > 0 && (sniff_is_space((*text)[*length - 1]) || (*text)[*length - 1] == ','))
        --*length;
}

/* NVIDIA's plugins close their arrays with {} after the last comma. */
static int is_empty_object(const char *text, size_t length)
{
    size_t at = 1;
    while (at < length && sniff_is_space(text[at]))
        at++;
    return at + 1 == length && text[0] == '{' && text[at] == '}';
}

/* Returns 1 if the text is an object of the dialect, 0 if not, -1 to stop. */
static int try_object(const struct cutter *cutter, const char *text, size_t length, uint64_t offset,
                      struct error *error)
{
    if (is_empty_object(text, length))
        return 1;
    return cutter->objects->object(cutter->objects->context, text, length, offset, error);
}

static int unreadable(const struct cutter *cutter, const char *text, size_t length, uint64_t offset,
                      struct error *error)
{
    const struct format_sink *sink = cutter->objects->sink;
    return sink->note(sink->context, "unreadable text", 1, offset, text, length, error);
}

static void enter(struct carry *carry, int is_array)
{
    carry->depth++;
    carry->arrays = carry->arrays << 1 | (uint64_t)is_array;
}

static int leave(struct carry *carry)
{
    carry->arrays >>= 1;
    return --carry->depth;
}

/* Follows braces and strings. Returns how many bytes belong to the object, with its closing brace. */
static size_t follow(struct carry *carry, const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        char byte = text[at];
        if (carry->escaped)
            carry->escaped = 0;
        else if (carry->in_string && byte == '\\')
            carry->escaped = 1;
        else if (byte == '"')
            carry->in_string = !carry->in_string;
        else if (!carry->in_string && (byte == '{' || byte == '['))
            enter(carry, byte == '[');
        else if (!carry->in_string && (byte == '}' || byte == ']') && leave(carry) <= 0)
            return at + 1;
    }
    return length;
}

static int drop_carry(struct cutter *cutter, struct error *error)
{
    struct carry *carry = &cutter->carry;
    size_t length = carry->text.length;
    if (length == 0)
        return 0;
    int status = unreadable(cutter, carry->text.data, length, carry->offset, error);
    buffer_clear(&carry->text);
    return status;
}

/* The comma and the space at the end of its line belong to the object. */
static int start_carry(struct cutter *cutter, const char *text, uint64_t offset, struct error *error)
{
    struct carry *carry = &cutter->carry;
    size_t length = (size_t)(cutter->end - text);
    carry->offset = offset;
    carry->depth = carry->in_string = carry->escaped = 0;
    carry->arrays = 0;
    follow(carry, text, length);
    if (carry->depth <= 0 || length > CARRY_MOST)
        return unreadable(cutter, text, length, offset, error);
    buffer_clear(&carry->text);
    return buffer_append(&carry->text, text, length) ? error_no_memory(error) : 0;
}

/* Adds to the carried object. `*taken` receives how many bytes of the text belong to it. */
static int continue_carry(struct cutter *cutter, const char *text, size_t length, size_t *taken,
                          struct error *error)
{
    struct carry *carry = &cutter->carry;
    *taken = follow(carry, text, length);
    if (carry->text.length + *taken > CARRY_MOST) {
        *taken = 0;
        return drop_carry(cutter, error);
    }
    if (buffer_append(&carry->text, text, *taken))
        return error_no_memory(error);
    if (carry->depth > 0)
        return 0;
    int status = try_object(cutter, carry->text.data, carry->text.length, carry->offset, error);
    if (status == 0)
        return drop_carry(cutter, error);
    buffer_clear(&carry->text);
    return status < 0 ? -1 : 0;
}

static int begins_with(const char *at, const char *end, const char *key, size_t length)
{
    return (size_t)(end - at) >= length && memcmp(at, key, length) == 0;
}

static int begins_with_key(const struct cutter *cutter, const char *at, const char *end)
{
    const char *const *other = cutter->objects->other_keys;
    int does = begins_with(at, end, cutter->objects->first_key, cutter->key_length);
    for (; !does && other && *other; other++)
        does = begins_with(at, end, *other, strlen(*other));
    return does;
}

/* Returns the next place where an object seems to begin: { and the first key; NULL if there is none. */
static const char *find_object(const struct cutter *cutter, const char *text, const char *end)
{
    while ((text = memchr(text, '{', (size_t)(end - text)))) {
        const char *at = text + 1;
        while (at < end && sniff_is_space(*at))
            at++;
        if (begins_with_key(cutter, at, end))
            return text;
        text++;
    }
    return NULL;
}

static int is_end_of_array(const char *text, size_t length)
{
    return (length == 1 && *text == ']') || (length == 3 && memcmp(text, "{}]", 3) == 0);
}

/* Reads what follows the last object on its line. */
static int read_rest(struct cutter *cutter, const char *text, size_t length, uint64_t offset,
                     struct error *error)
{
    if (length == 0)
        return 0;
    if (is_end_of_array(text, length)) {
        cutter->in_array = 0;
        return 0;
    }
    return unreadable(cutter, text, length, offset, error);
}

/* Reads consecutive objects, whatever their first key. The last one on a line may continue on the next. */
static int read_objects(struct cutter *cutter, const char *text, size_t length, uint64_t offset, int is_last,
                        struct error *error)
{
    for (;;) {
        struct carry probe = {.depth = 0};
        size_t used = follow(&probe, text, length);
        if (probe.depth > 0)
            return is_last ? start_carry(cutter, text, offset, error)
                           : unreadable(cutter, text, length, offset, error);
        const char *rest = text + used;
        size_t rest_length = length - used;
        uint64_t rest_offset = offset + used;
        trim(&rest, &rest_length, &rest_offset);
        int goes_on = rest_length > 0 && *rest == '{';
        int status = try_object(cutter, text, used, offset, error);
        if (status < 0 || (status == 0 && unreadable(cutter, text, goes_on ? used : length, offset, error)))
            return -1;
        if (!goes_on)
            return status ? read_rest(cutter, rest, rest_length, rest_offset, error) : 0;
        text = rest;
        length = rest_length;
        offset = rest_offset;
    }
}

/* Reads a part of a line that should be one object. */
static int read_part(struct cutter *cutter, const char *text, size_t length, uint64_t offset, int is_last,
                     struct error *error)
{
    trim(&text, &length, &offset);
    int status = try_object(cutter, text, length, offset, error);
    if (status)
        return status < 0 ? -1 : 0;
    return read_objects(cutter, text, length, offset, is_last, error);
}

/* Reads a line, or the rest of one, that is not a single object. */
static int read_parts(struct cutter *cutter, const char *text, size_t length, uint64_t offset,
                      struct error *error)
{
    const char *end = text + length;
    const char *part = find_object(cutter, text, end);
    size_t before = part ? (size_t)(part - text) : length;
    if (before > 0 && (*text == '{' ? read_part(cutter, text, before, offset, !part, error)
                                    : unreadable(cutter, text, before, offset, error)))
        return -1;
    while (part) {
        const char *next = find_object(cutter, part + 1, end);
        size_t part_length = (size_t)((next ? next : end) - part);
        if (read_part(cutter, part, part_length, offset + (uint64_t)(part - text), !next, error))
            return -1;
        part = next;
    }
    return 0;
}

static int begin_array(struct cutter *cutter, struct error *error)
{
    cutter->in_array = 1;
    return cutter->objects->array ? cutter->objects->array(cutter->objects->context, error) : 0;
}

static int read_text(struct cutter *cutter, const char *text, size_t length, uint64_t offset,
                     struct error *error)
{
    int status = 0;
    /* Nearly every line looks like this. */
    if (length > 3 && *text == '{' && text[length - 1] == ',' && text[length - 2] == '}') {
        status = cutter->objects->object(cutter->objects->context, text, length - 1, offset, error);
        if (status)
            return status < 0 ? -1 : 0;
    }
    trim(&text, &length, &offset);
    while (length > 0 && *text == '[') {
        if (begin_array(cutter, error))
            return -1;
        text++;
        length--;
        offset++;
        trim(&text, &length, &offset);
    }
    if (length == 0)
        return 0;
    if (is_end_of_array(text, length)) {
        cutter->in_array = 0;
        return 0;
    }
    if (*text == '{' && text[length - 1] == '}')
        status = try_object(cutter, text, length, offset, error);
    if (status)
        return status < 0 ? -1 : 0;
    return read_parts(cutter, text, length, offset, error);
}

/* Whether an object may come next inside the carried one, as a member or an element. */
static int awaits_object(const struct carry *carry)
{
    const char *at = carry->text.data + carry->text.length;
    while (at > carry->text.data && sniff_is_space(at[-1]))
        at--;
    return at > carry->text.data &&
           (at[-1] == ':' || at[-1] == '[' || (at[-1] == ',' && (carry->arrays & 1)));
}

/*
 * A line that begins with a brace begins a new object, and the carried one was truncated, unless an object
 * may come there. Within a string the line continues the string: a tag is printed as it is and may contain
 * newlines, but not a lone brace.
 */
static int is_new_object(const struct cutter *cutter, const struct input_line *line)
{
    const char *at = line->text;
    const char *end = at + line->length;
    while (at < end && sniff_is_space(*at))
        at++;
    while (end > at && sniff_is_space(end[-1]))
        end--;
    if (line->continued || at == end || *at != '{')
        return 0;
    if (find_object(cutter, at, end) == at)
        return 1;
    return cutter->carry.in_string ? end - at == 1 : !awaits_object(&cutter->carry);
}

static int read_line(struct cutter *cutter, const struct input_line *line, struct error *error)
{
    struct carry *carry = &cutter->carry;
    size_t taken = 0;
    cutter->end = line->text + line->length;
    if (carry->text.length > 0 && is_new_object(cutter, line)) {
        if (drop_carry(cutter, error))
            return -1;
    } else if (carry->text.length > 0) {
        if (!line->continued && buffer_append_byte(&carry->text, '\n'))
            return error_no_memory(error);
        if (continue_carry(cutter, line->text, line->length, &taken, error))
            return -1;
    }
    return read_text(cutter, line->text + taken, line->length - taken, line->offset + taken, error);
}

/* Reads a block of lines with the dialect's fast path. */
static int read_known_lines(const struct cutter *cutter, struct input *input, struct objects_end *end,
                            struct error *error)
{
    size_t length;
    size_t taken = 0;
    uint64_t offset;
    const char *text = input_ahead(input, &length, &offset);
    if (!cutter->objects->lines || cutter->carry.text.length > 0 || length == 0)
        return 0;
    int status = cutter->objects->lines(cutter->objects->context, text, length, offset, &taken, error);
    if (taken > 0) {
        input_skip(input, taken);
        end->offset = offset + taken - 1;
    }
    return status;
}

static int read_lines(struct cutter *cutter, struct input *input, struct objects_end *end,
                      struct error *error)
{
    struct input_line line;
    int more = 1;
    while (more == 1) {
        if (read_known_lines(cutter, input, end, error))
            return -1;
        more = input_line(input, &line, error);
        if (more < 1)
            break;
        end->offset = line.offset + line.length;
        if (read_line(cutter, &line, error))
            return -1;
    }
    end->reading_failed = more < 0;
    return 0;
}

/* Handles the last object, if its end is missing. */
static int end_carry(struct cutter *cutter, int reading_failed, struct error *error)
{
    const struct objects *objects = cutter->objects;
    const struct carry *carry = &cutter->carry;
    if (carry->text.length == 0 || reading_failed || !objects->cut)
        return drop_carry(cutter, reading_failed ? NULL : error);
    return objects->cut(objects->context, carry->text.data, carry->text.length, carry->offset, error);
}

int objects_read(const struct objects *objects, struct input *input, struct objects_end *end,
                 struct error *error)
{
    struct cutter cutter = {.objects = objects, .key_length = strlen(objects->first_key)};
    *end = (struct objects_end){.offset = 0};
    int status = read_lines(&cutter, input, end, error);
    if (!status)
        status = end_carry(&cutter, end->reading_failed, error);
    end->in_array = cutter.in_array;
    buffer_release(&cutter.carry.text);
    return status;
}
