/*
 * Arbitrary bytes as a file, compressed or not: lines come in order, without a gap, and have the bytes of the
 * input.
 */
#include "base/base.h"
#include "input/input.h"
#include "require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_line(const struct input_line *line, const uint8_t *bytes, size_t length, int is_packed)
{
    require(line->length <= INPUT_LINE_BYTES, "a line's length");
    require(line->text[line->length] == '\0', "a NUL behind the line");
    require(memchr(line->text, '\n', line->length) == NULL, "no line end inside a line");
    if (is_packed)
        return;
    require(line->offset + line->length <= length, "a line inside the file");
    require(memcmp(line->text, bytes + line->offset, line->length) == 0, "the file's bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const struct input_limits limits = {.unpacked_bytes = 1 << 22, .unpack_ratio = 1000};
    struct error error = ERROR_INIT;
    struct input_line line;
    char path[64];
    int is_marked = length > 2 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    uint64_t end = is_marked ? 3 : 0;
    int is_packed = length > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    int file = memfd_create("input", 0);
    require(file >= 0 && write(file, bytes, length) == (ssize_t)length, "memory for the input");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct input *input = input_open(path, &limits, &error);
    require(input != NULL, "an open file");
    while (input_line(input, &line, &error) == 1) {
        check_line(&line, bytes, length, is_packed);
        /* A byte order mark that was compressed, or the end of the previous line. */
        uint64_t most = is_packed && end == 0 ? 3 : end + 2;
        require(line.offset >= end && line.offset <= most, "lines without a gap");
        end = line.offset + line.length;
    }
    require(is_packed || end + 2 >= length, "the whole file");
    input_close(input);
    close(file);
    return 0;
}
