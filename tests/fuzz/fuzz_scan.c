/* Arbitrary bytes as lines: if a scanner accepts a line, the decoder reads the same from it. */
#include "format/chrome/chrome.h"
#include "format/inspector/inspector.h"
#include "input/input.h"
#include "require.h"
#include "support/same_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json json;
static struct chrome_scanner chrome;
static struct inspector_scanner inspector;

static void require_same(const char *difference, const char *text, size_t length)
{
    if (!difference)
        return;
    fprintf(stderr, "broken: %s: %.*s\n", difference, (int)length, text);
    abort();
}

/* The scanner learns from lines that it does not accept. */
static void compare_chrome(const char *text, size_t length)
{
    struct chrome_line quick;
    struct chrome_line patient;
    int is_taken = chrome_scan(&chrome, text, text + length, &quick) == text + length;
    int is_line = chrome_decode(&json, text, length, &patient) == CHROME_LINE;
    int is_whole = is_line && !json.misread && !json.has_misfit && !json.has_nan;
    if (!is_taken && is_whole)
        chrome_scanner_learn(&chrome, text, length, &patient);
    if (!is_taken)
        return;
    require_same(is_line ? NULL : "the decoder refuses", text, length);
    require_same(difference_of_chrome_lines(&quick, &patient), text, length);
    require_same(is_whole ? NULL : "a value that cannot be read", text, length);
}

static void read_patiently(const char *text, size_t length, struct chrome_line *line)
{
    if (chrome_decode(&json, text, length, line) != CHROME_LINE)
        require_same("the decoder refuses", text, length);
}

/* Begin and end of a wait, scanned together, give the same as the two lines. */
static void compare_wait(const char *text, size_t length)
{
    struct chrome_line quick;
    struct chrome_line begin;
    struct chrome_line end;
    int64_t end_ns;
    struct chrome_scanner scanner = chrome;
    const char *past = chrome_scan_wait(&scanner, text, text + length, &quick, &end_ns);
    if (!past)
        return;
    const char *newline = memchr(text, '\n', length);
    read_patiently(text, (size_t)(newline - 1 - text), &begin);
    require_same(difference_of_chrome_lines(&quick, &begin), text, length);
    read_patiently(newline + 1, (size_t)(past - newline - 1), &end);
    if (end.phase != 'e' || end.time_ns != end_ns)
        require_same("the end", text, length);
    begin.phase = end.phase;
    begin.time_ns = end.time_ns;
    require_same(difference_of_chrome_lines(&begin, &end), text, length);
}

static void compare_inspector(const char *text, size_t length)
{
    static struct inspector_line quick;
    static struct inspector_line patient;
    if (inspector_scan(&inspector, text, text + length, &quick) != text + length)
        return;
    if (inspector_decode(&json, text, length, &patient) != INSPECTOR_LINE)
        require_same("the decoder refuses", text, length);
    require_same(difference_of_inspector_lines(&quick, &patient), text, length);
    require_same(json.misread ? "a value that cannot be read" : NULL, text, length);
}

/* The lines are in memory of their exact size, so that the sanitizer detects reading beyond the end. */
static void compare(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    if (!copy)
        abort();
    memcpy(copy, text, length);
    compare_chrome(copy, length);
    compare_inspector(copy, length);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *at = (const char *)bytes;
    const char *end = at + length;
    json_init(&json);
    chrome_scanner_init(&chrome);
    inspector_scanner_init(&inspector);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        size_t line = (size_t)(stop - at);
        compare_wait(at, (size_t)(end - at));
        compare(at, line > 0 && stop[-1] == ',' ? line - 1 : line);
        at = stop + 1;
    }
    json_release(&json);
    chrome_scanner_release(&chrome);
    return 0;
}
