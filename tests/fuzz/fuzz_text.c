/*
 * Arbitrary bytes as a text from a trace: on a terminal it is one line of harmless characters, and JSON reads
 * it back unchanged. A tag that is written into a line of NVIDIA's plugin is read back unchanged.
 */
#include "base/base.h"
#include "base/internal.h"
#include "format/chrome/chrome.h"
#include "input/input.h"
#include "require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_terminal(const char *text, size_t length)
{
    struct buffer shown = BUFFER_INIT;
    require(escape_terminal(&shown, text, length) == 0, "memory");
    for (size_t i = 0; i < shown.length; i++) {
        unsigned char byte = (unsigned char)shown.data[i];
        require(byte >= 0x20 && byte != 0x7f, "no control character");
        /* U+0080 to U+009F, of two bytes, are control characters, too. */
        require(byte != 0xc2 || (unsigned char)shown.data[i + 1] >= 0xa0, "no C1 control character");
    }
    require(memmem(shown.data, shown.length, "\u202e", 3) == NULL, "no override of direction");
    require(escape_width(shown.data) <= shown.length, "no more columns than bytes");
    buffer_release(&shown);
}

static void check_json(const char *text, size_t length)
{
    struct buffer line = BUFFER_INIT;
    struct json json;
    require(!buffer_append_byte(&line, '"') && !escape_json(&line, text, length) &&
                !buffer_append_byte(&line, '"'),
            "memory");
    json_init(&json);
    require(json_parse(&json, line.data, line.length) == JSON_OK, "what is written as JSON is JSON");
    const char *read = json_text(&json.root);
    require(read != NULL, "a text");
    int was_clean = !memmem(line.data, line.length, "\xef\xbf\xbd", 3) && !memchr(text, '\0', length);
    if (was_clean)
        require(strlen(read) == length && memcmp(read, text, length) == 0, "the same text");
    json_release(&json);
    buffer_release(&line);
}

static void check_tag(const char *text, size_t length)
{
    struct buffer line = BUFFER_INIT;
    struct json json;
    struct chrome_line decoded;
    if (memchr(text, '\0', length) || memchr(text, '\n', length) ||
        memmem(text, length, "\", \"rank\": ", 11) || memmem(text, length, "\"args\": {\"tag\": \"", 17))
        return;
    require(!buffer_append_text(
                &line,
                "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", \"pid\": 7, "
                "\"tid\": 1, \"ts\": 5.000000, \"args\": {\"tag\": \"") &&
                !buffer_append(&line, text, length) && !buffer_append_text(&line, "\", \"rank\": 3}}"),
            "memory");
    json_init(&json);
    require(chrome_decode(&json, line.data, line.length, &decoded) == CHROME_LINE, "a line");
    require(decoded.tag.length == length && memcmp(decoded.tag.text, text, length) == 0,
            "the tag as it was set");
    json_release(&json);
    buffer_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    require(text != NULL, "memory");
    memcpy(text, bytes, length);
    text[length] = '\0';
    check_terminal(text, length);
    check_json(text, length);
    check_tag(text, length);
    free(text);
    return 0;
}
