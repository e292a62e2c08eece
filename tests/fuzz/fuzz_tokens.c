/*
 * Arbitrary bytes as JSON: the tree is the same as that of cJSON; values that are pulled from the text are
 * inside it and in order; in valid JSON nothing is reported as damaged, and there are as many values as in
 * the tree.
 */
#include "base/base.h"
#include "input/input.h"
#include "input/json.h"
#include "require.h"
#include "support/same_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const whole[] = {"*", "[]", NULL};
static const char *const parts[] = {"*", "traceEvents[]", "a.b[].*", "[].c", "distributedInfo.*", NULL};

struct pulled {
    size_t values;
    size_t failures;
};

static void walk(struct raw_json value, int depth)
{
    struct raw_json_cursor cursor;
    struct raw_json key, part;
    const char *at = value.text;
    raw_json_enter(&cursor, value);
    while (raw_json_next(&cursor, &key, &part) == 1) {
        require(part.text >= at && part.text + part.length <= value.text + value.length, "parts in order");
        at = part.text + part.length;
        if (depth < 8)
            walk(part, depth + 1);
    }
}

static struct pulled pull(const char *path, const char *const *paths, const uint8_t *bytes, size_t length)
{
    struct error error = ERROR_INIT;
    struct pulled pulled = {0};
    struct tokens tokens;
    struct tokens_value value;
    struct input *input = input_open(path, NULL, &error);
    uint64_t offset = 0;
    int is_packed = length > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    require(input != NULL, "an open file");
    tokens_init(&tokens, input, paths);
    while (tokens_next(&tokens, &value, &error) == 0 && value.kind != TOKENS_END) {
        require(value.offset >= offset, "values in order");
        offset = value.offset;
        if (!is_packed)
            require(value.offset + value.value.length <= length &&
                        memcmp(bytes + value.offset, value.value.text, value.value.length) == 0,
                    "the file's bytes");
        pulled.values += value.kind == TOKENS_VALUE;
        pulled.failures += value.kind != TOKENS_VALUE;
        if (value.kind == TOKENS_VALUE)
            walk(value.value, 0);
    }
    input_close(input);
    return pulled;
}

/* The number of members or items of the text; -1 if it is no JSON, or a value without members. */
static int64_t count_members(const uint8_t *bytes, size_t length)
{
    struct json json;
    int64_t count = -1;
    json_init(&json);
    if (json_parse(&json, (const char *)bytes, length) == JSON_OK &&
        (json.root.kind == VALUE_DICTIONARY || json.root.kind == VALUE_LIST))
        count = (int64_t)json.root.items->count / (json.root.kind == VALUE_DICTIONARY ? 2 : 1);
    json_release(&json);
    return count;
}

/*
 * json.h accepts line breaks inside strings, treats every character below a space as a space, and nests twice
 * as deep.
 */
static int is_plain(const uint8_t *bytes, size_t length)
{
    size_t opened = 0;
    int in_string = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < ' ' && (in_string || !memchr("\t\r\n", bytes[i], 3)))
            return 0;
        if (in_string && bytes[i] == '\\')
            i++;
        else if (bytes[i] == '"')
            in_string = !in_string;
        opened += i < length && (bytes[i] == '[' || bytes[i] == '{');
    }
    return opened < RAW_JSON_DEPTH;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64];
    int file = memfd_create("tokens", 0);
    require(file >= 0 && write(file, bytes, length) == (ssize_t)length, "memory for the input");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    require(difference_from_cjson((const char *)bytes, length) == NULL, "what cJSON reads");
    struct pulled pulled = pull(path, whole, bytes, length);
    int64_t members = is_plain(bytes, length) ? count_members(bytes, length) : -1;
    if (members >= 0)
        require(pulled.failures == 0 && (int64_t)pulled.values == members, "as much as the tree has");
    pull(path, parts, bytes, length);
    close(file);
    return 0;
}
