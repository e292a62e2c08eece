#include "base/base.h"
#include "input/input.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "hello\nworld\n" and "again\n", each compressed with gzip -n. */
static const unsigned char member_one[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb,
                                           0x48, 0xcd, 0xc9, 0xc9, 0xe7, 0x2a, 0xcf, 0x2f, 0xca, 0x49, 0xe1,
                                           0x02, 0x00, 0xff, 0x5d, 0xc5, 0xc4, 0x0c, 0x00, 0x00, 0x00};
static const unsigned char member_two[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                           0x03, 0x4b, 0x4c, 0x4f, 0xcc, 0xcc, 0xe3, 0x02, 0x00,
                                           0xff, 0x19, 0x4f, 0x86, 0x06, 0x00, 0x00, 0x00};

static char path[64];

static int make_path(void **state)
{
    snprintf(path, sizeof path, "/tmp/ncclprof-input-%ld", (long)getpid());
    return 0;
}

static int remove_path(void **state)
{
    unlink(path);
    return 0;
}

static void write_bytes(const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static struct input *open_bytes(const void *bytes, size_t length, const struct input_limits *limits)
{
    struct error error = ERROR_INIT;
    write_bytes(bytes, length);
    struct input *input = input_open(path, limits, &error);
    assert_non_null(input);
    return input;
}

static void assert_line(struct input *input, const char *text, uint64_t offset, int ended)
{
    struct input_line line;
    assert_int_equal(input_line(input, &line, NULL), 1);
    assert_int_equal(line.length, strlen(text));
    assert_string_equal(line.text, text);
    assert_int_equal(line.offset, offset);
    assert_int_equal(line.ended, ended);
    assert_int_equal(line.goes_on, 0);
}

static void assert_end(struct input *input)
{
    struct input_line line;
    struct error error = ERROR_INIT;
    assert_int_equal(input_line(input, &line, &error), 0);
    assert_int_equal(error.depth, 0);
}

static void lines_and_their_offsets(void **state)
{
    static const char text[] = "one\n\r\ntwo\r\n\nthree";
    struct input *input = open_bytes(text, sizeof text - 1, NULL);
    const char *bytes;
    assert_int_equal(input_peek(input, &bytes, 5, NULL), 5);
    assert_memory_equal(bytes, "one\n\r", 5);
    assert_line(input, "one", 0, 1);
    assert_line(input, "", 4, 1);
    assert_line(input, "two", 6, 1);
    assert_line(input, "", 11, 1);
    assert_int_equal(input_peek(input, &bytes, 100, NULL), 5);
    assert_line(input, "three", 12, 0);
    assert_end(input);
    assert_end(input);
    assert_int_equal(input_bytes_read(input), sizeof text - 1);
    assert_int_equal(input_bytes_unpacked(input), sizeof text - 1);
    assert_int_equal(input_size(input), sizeof text - 1);
    input_close(input);
}

/* It is skipped only at the beginning, and only if complete. */
static void byte_order_marks(void **state)
{
    const char *bytes;
    size_t length;
    uint64_t offset;
    struct input *input = open_bytes("\xef\xbb\xbfone\n\xef\xbb\xbftwo", 13, NULL);
    assert_line(input, "one", 3, 1);
    assert_line(input, "\xef\xbb\xbftwo", 7, 0);
    assert_end(input);
    input_close(input);
    input = open_bytes("\xef\xbb\xbfone\n", 7, NULL);
    assert_int_equal(input_peek(input, &bytes, 100, NULL), 4);
    assert_memory_equal(bytes, "one\n", 4);
    input_ahead(input, &length, &offset);
    assert_int_equal(length, 4);
    assert_int_equal(offset, 3);
    assert_line(input, "one", 3, 1);
    assert_end(input);
    input_close(input);
    input = open_bytes("\xef\xbb", 2, NULL);
    assert_line(input, "\xef\xbb", 0, 0);
    input_close(input);
    input = open_bytes("\xef\xbb\xbf", 3, NULL);
    assert_end(input);
    input_close(input);
}

/* If a file is read in parts, the first part has it. */
static void parts_and_byte_order_marks(void **state)
{
    struct error error = ERROR_INIT;
    write_bytes("\xef\xbb\xbfone\n\xef\xbb\xbftwo", 13);
    struct input *input = input_open_part(path, NULL, 0, 7, &error);
    assert_line(input, "one", 3, 1);
    assert_end(input);
    input_close(input);
    input = input_open_part(path, NULL, 7, 13, &error);
    assert_line(input, "\xef\xbb\xbftwo", 7, 0);
    assert_end(input);
    input_close(input);
}

static void bytes_of_nothing(void **state)
{
    struct input *input = open_bytes("", 0, NULL);
    const char *bytes;
    assert_int_equal(input_peek(input, &bytes, 10, NULL), 0);
    assert_end(input);
    input_close(input);
}

static void zeros_inside_a_line(void **state)
{
    struct input_line line;
    struct input *input = open_bytes("a\0b\nc", 5, NULL);
    assert_int_equal(input_line(input, &line, NULL), 1);
    assert_int_equal(line.length, 3);
    assert_memory_equal(line.text, "a\0b", 4);
    assert_line(input, "c", 4, 0);
    input_close(input);
}

/* Pulling lines and being called with lines give the same lines. */
static void lines_taken_ahead(void **state)
{
    static const char text[] = "one\ntwo\r\nthree\nfour\nfi";
    struct input *input = open_bytes(text, sizeof text - 1, NULL);
    size_t length;
    uint64_t offset;
    assert_line(input, "one", 0, 1);
    const char *ahead = input_ahead(input, &length, &offset);
    assert_int_equal(length, sizeof text - 1 - 4);
    assert_int_equal(offset, 4);
    assert_memory_equal(ahead, text + 4, length);
    input_skip(input, 11);
    assert_line(input, "four", 15, 1);
    ahead = input_ahead(input, &length, &offset);
    assert_int_equal(length, 2);
    assert_int_equal(offset, 20);
    assert_memory_equal(ahead, "fi", 2);
    assert_line(input, "fi", 20, 0);
    assert_end(input);
    input_close(input);
}

/* In the middle of a line there is no line to look ahead at. */
static void nothing_ahead_inside_a_line(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct input_line line;
    size_t length;
    uint64_t offset;
    for (size_t at = 0; at < INPUT_LINE_BYTES + 10; at++)
        assert_int_equal(buffer_append_byte(&text, 'a'), 0);
    assert_int_equal(buffer_append(&text, "\nb\n", 3), 0);
    struct input *input = open_bytes(text.data, text.length, NULL);
    assert_int_equal(input_line(input, &line, NULL), 1);
    assert_true(line.goes_on);
    input_ahead(input, &length, &offset);
    assert_int_equal(length, 0);
    assert_int_equal(input_line(input, &line, NULL), 1);
    input_ahead(input, &length, &offset);
    assert_int_equal(length, 2);
    assert_int_equal(offset, INPUT_LINE_BYTES + 11);
    assert_line(input, "b", INPUT_LINE_BYTES + 11, 1);
    input_close(input);
    buffer_release(&text);
}

/* Lines around the size of a block, and one of several blocks: all bytes are delivered, in order. */
static void long_lines_come_in_pieces(void **state)
{
    static const size_t lengths[] = {INPUT_LINE_BYTES - 1, INPUT_LINE_BYTES, INPUT_LINE_BYTES + 1,
                                     3 * INPUT_LINE_BYTES + 7};
    struct buffer text = BUFFER_INIT;
    struct buffer got = BUFFER_INIT;
    struct input_line line;
    for (size_t i = 0; i < 4; i++) {
        for (size_t at = 0; at < lengths[i]; at++)
            assert_int_equal(buffer_append_byte(&text, (char)('a' + (at * 7 + i) % 23)), 0);
        assert_int_equal(buffer_append_byte(&text, '\n'), 0);
    }
    struct input *input = open_bytes(text.data, text.length, NULL);
    int was_going_on = 0;
    while (input_line(input, &line, NULL) == 1) {
        assert_true(line.length <= INPUT_LINE_BYTES);
        assert_int_equal(line.offset, got.length);
        assert_int_equal(line.continued, was_going_on);
        assert_int_equal(line.text[line.length], 0);
        assert_int_equal(line.ended, !line.goes_on);
        was_going_on = line.goes_on;
        assert_int_equal(buffer_append(&got, line.text, line.length), 0);
        if (line.ended)
            assert_int_equal(buffer_append_byte(&got, '\n'), 0);
    }
    assert_int_equal(got.length, text.length);
    assert_memory_equal(got.data, text.data, text.length);
    input_close(input);
    buffer_release(&text);
    buffer_release(&got);
}

static void gzip_members_are_one_stream(void **state)
{
    unsigned char both[sizeof member_one + sizeof member_two + 100] = {0}; /* padded with zeros */
    memcpy(both, member_one, sizeof member_one);
    memcpy(both + sizeof member_one, member_two, sizeof member_two);
    struct input *input = open_bytes(both, sizeof both, NULL);
    assert_line(input, "hello", 0, 1);
    assert_line(input, "world", 6, 1);
    assert_line(input, "again", 12, 1);
    assert_end(input);
    assert_int_equal(input_bytes_unpacked(input), 18);
    assert_int_equal(input_bytes_read(input), sizeof both);
    input_close(input);
}

/* As many zeros as are read at once, one more, and none at all do not hide what follows. */
static void zeros_between_members(void **state)
{
    static const size_t zeros[] = {0, 1, 512, (64 << 10) - sizeof member_one, 64 << 10, 200001};
    static unsigned char bytes[300000];
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        size_t second = sizeof member_one + zeros[i];
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, member_one, sizeof member_one);
        memcpy(bytes + second, member_two, sizeof member_two);
        struct input *input = open_bytes(bytes, second + sizeof member_two, NULL);
        assert_line(input, "hello", 0, 1);
        assert_line(input, "world", 6, 1);
        assert_line(input, "again", 12, 1);
        assert_end(input);
        assert_int_equal(input_bytes_read(input), second + sizeof member_two);
        input_close(input);
    }
}

static void assert_fails(struct input *input, const char *with)
{
    struct input_line line;
    struct error error = ERROR_INIT;
    int more;
    while ((more = input_line(input, &line, &error)) == 1)
        ;
    assert_int_equal(more, -1);
    assert_non_null(strstr(error.cause[0], with));
    assert_non_null(strstr(error.cause[0], path));
}

/* What could be unpacked is delivered before the failure is reported. */
static void cut_gzip(void **state)
{
    struct input *input = open_bytes(member_one, sizeof member_one - 10, NULL);
    struct input_line line;
    assert_int_equal(input_line(input, &line, NULL), 1);
    assert_string_equal(line.text, "hello");
    assert_fails(input, "is truncated");
    input_close(input);
}

static void damaged_gzip(void **state)
{
    unsigned char bytes[sizeof member_one];
    memcpy(bytes, member_one, sizeof bytes);
    bytes[sizeof bytes - 8] ^= 1; /* the checksum */
    struct input *input = open_bytes(bytes, sizeof bytes, NULL);
    assert_line(input, "hello", 0, 1);
    assert_fails(input, "damaged");
    input_close(input);
    /* Text after the compressed data is no padding. */
    unsigned char trailing[sizeof member_one + 4];
    memcpy(trailing, member_one, sizeof member_one);
    memcpy(trailing + sizeof member_one, "text", 4);
    input = open_bytes(trailing, sizeof trailing, NULL);
    assert_fails(input, "damaged");
    input_close(input);
    /* Nor is text after zeros. */
    unsigned char behind[sizeof member_one + 10] = {0};
    memcpy(behind, member_one, sizeof member_one);
    memcpy(behind + sizeof member_one + 6, "text", 4);
    input = open_bytes(behind, sizeof behind, NULL);
    assert_fails(input, "damaged");
    input_close(input);
}

static void unpacking_has_limits(void **state)
{
    const struct input_limits limits = {.unpacked_bytes = 11};
    struct input *input = open_bytes(member_one, sizeof member_one, &limits);
    assert_fails(input, "unpacks to more than");
    input_close(input);
    /* What follows is not read. */
    enum { LONG_BYTES = 1 << 20 };
    unsigned char *bytes = calloc(1, LONG_BYTES);
    assert_non_null(bytes);
    memcpy(bytes, member_one, sizeof member_one);
    input = open_bytes(bytes, LONG_BYTES, &limits);
    assert_fails(input, "unpacks to more than");
    assert_true(input_bytes_read(input) < LONG_BYTES / 2);
    input_close(input);
    free(bytes);
}

/* The digest is that of the raw bytes, also if unpacking failed half-way. */
static void digest_of_the_whole_file(void **state)
{
    struct digest digest;
    char wanted[33];
    char got[33];
    unsigned char bytes[sizeof member_one + 5000];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, member_one, sizeof member_one);
    digest_init(&digest);
    digest_update(&digest, bytes, sizeof bytes);
    digest_hex(&digest, wanted);
    struct input *input = open_bytes(bytes, sizeof bytes, NULL);
    assert_fails(input, "damaged");
    input_digest(input, got);
    assert_string_equal(got, wanted);
    input_close(input);
}

static void digest_of_what_is_unpacked(void **state)
{
    char packed[33], plain[33], raw[33];
    unsigned char both[sizeof member_one + sizeof member_two];
    memcpy(both, member_one, sizeof member_one);
    memcpy(both + sizeof member_one, member_two, sizeof member_two);
    struct input *input = open_bytes(both, sizeof both, NULL);
    assert_line(input, "hello", 0, 1);
    assert_int_equal(input_unpacked_digest(input, packed), -1);
    assert_line(input, "world", 6, 1);
    assert_line(input, "again", 12, 1);
    assert_end(input);
    assert_int_equal(input_unpacked_digest(input, packed), 0);
    input_close(input);
    input = open_bytes("hello\nworld\nagain\n", 18, NULL);
    assert_line(input, "hello", 0, 1);
    assert_line(input, "world", 6, 1);
    assert_line(input, "again", 12, 1);
    assert_end(input);
    assert_int_equal(input_unpacked_digest(input, plain), 0);
    input_digest(input, raw);
    input_close(input);
    assert_string_equal(packed, plain);
    assert_string_equal(raw, plain);
    input = open_bytes(member_one, sizeof member_one - 1, NULL);
    assert_fails(input, "is truncated");
    assert_int_equal(input_unpacked_digest(input, packed), -1);
    input_close(input);
}

/* Twenty times "hello\n" in gzip, and zeros up to the same length: it still counts as compressed. */
static void packed_to_its_own_size(void **state)
{
    static const unsigned char bytes[120] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                             0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xe7, 0xca, 0xa0, 0x3b, 0x09,
                                             0x00, 0x4c, 0xfc, 0x5a, 0x66, 0x78, 0x00, 0x00, 0x00};
    char text[sizeof bytes + 1], packed[33], plain[33];
    for (size_t at = 0; at < sizeof bytes; at += 6)
        memcpy(text + at, "hello\n", 7);
    struct input *input = open_bytes(bytes, sizeof bytes, NULL);
    for (size_t at = 0; at < sizeof bytes; at += 6)
        assert_line(input, "hello", at, 1);
    assert_end(input);
    assert_int_equal(input_unpacked_digest(input, packed), 0);
    input_close(input);
    input = open_bytes(text, sizeof bytes, NULL);
    for (size_t at = 0; at < sizeof bytes; at += 6)
        assert_line(input, "hello", at, 1);
    assert_end(input);
    assert_int_equal(input_unpacked_digest(input, plain), 0);
    input_close(input);
    assert_string_equal(packed, plain);
}

static void what_is_no_file_is_refused(void **state)
{
    struct error error = ERROR_INIT;
    assert_null(input_open("/tmp", NULL, &error));
    assert_non_null(strstr(error.cause[0], "is a directory"));
    assert_null(input_open("/dev/zero", NULL, &error));
    assert_non_null(strstr(error.cause[0], "is a device"));
    assert_null(input_open("/tmp/no/such/file", NULL, &error));
    assert_non_null(strstr(error.cause[0], "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_their_offsets),
        cmocka_unit_test(byte_order_marks),
        cmocka_unit_test(parts_and_byte_order_marks),
        cmocka_unit_test(bytes_of_nothing),
        cmocka_unit_test(zeros_inside_a_line),
        cmocka_unit_test(lines_taken_ahead),
        cmocka_unit_test(nothing_ahead_inside_a_line),
        cmocka_unit_test(long_lines_come_in_pieces),
        cmocka_unit_test(gzip_members_are_one_stream),
        cmocka_unit_test(zeros_between_members),
        cmocka_unit_test(cut_gzip),
        cmocka_unit_test(damaged_gzip),
        cmocka_unit_test(unpacking_has_limits),
        cmocka_unit_test(digest_of_the_whole_file),
        cmocka_unit_test(digest_of_what_is_unpacked),
        cmocka_unit_test(packed_to_its_own_size),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests_name("input", tests, make_path, remove_path);
}
