#include "base/base.h"
#include "output/internal.h"

#include "support/cmocka_all.h"

#include <string.h>
#include <zlib.h>

static void assert_unpacked(const struct buffer *packed, size_t from, const char *expected, size_t length)
{
    char *content = test_malloc(length + 1);
    z_stream stream = {.next_in = (unsigned char *)packed->data + from,
                       .avail_in = (uInt)(packed->length - from),
                       .next_out = (unsigned char *)content,
                       .avail_out = (uInt)length + 1};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK); /* gzip, nothing else */
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    assert_int_equal(stream.total_out, length);
    assert_memory_equal(content, expected, length);
    inflateEnd(&stream);
    test_free(content);
}

static void test_each_stands_for_itself(void **state)
{
    static char noise[300000];
    struct buffer packed = BUFFER_INIT;
    struct gzip *gzip = gzip_new(NULL);
    assert_non_null(gzip);
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)((random = random * 1664525 + 1013904223) >> 24);
    assert_int_equal(gzip_pack(gzip, "aaaa", 4, &packed, NULL), 0);
    assert_unpacked(&packed, 0, "aaaa", 4);
    size_t second = packed.length;
    assert_int_equal(gzip_pack(gzip, noise, sizeof noise, &packed, NULL), 0);
    assert_unpacked(&packed, second, noise, sizeof noise);
    size_t third = packed.length;
    assert_int_equal(gzip_pack(gzip, "", 0, &packed, NULL), 0);
    assert_unpacked(&packed, third, "", 0);
    buffer_release(&packed);
    gzip_free(gzip);
    gzip_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_stands_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
