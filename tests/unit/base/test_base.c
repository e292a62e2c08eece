#include "base/base.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With AddressSanitizer, an allocation that is too large fails like any other. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void arrays_grow_and_refuse_to_overflow(void **state)
{
    int *items = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(array_reserve((void **)&items, &capacity, (size_t)i + 1, sizeof *items), 0);
        items[i] = i;
    }
    assert_int_equal(items[999], 999);
    size_t before = capacity;
    assert_int_equal(array_reserve((void **)&items, &capacity, SIZE_MAX / 2, sizeof *items), -1);
    assert_int_equal(capacity, before);
    assert_int_equal(items[999], 999);
    free(items);
    assert_null(array_new(SIZE_MAX / 2, 3));
    char *zeros = array_new(10, 3);
    assert_non_null(zeros);
    assert_int_equal(zeros[29], 0);
    free(zeros);
}

static void buffers_keep_a_nul(void **state)
{
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(buffer_append(&buffer, "a\0b", 3), 0);
    assert_int_equal(buffer_append_text(&buffer, "cd"), 0);
    assert_int_equal(buffer_append_byte(&buffer, 'e'), 0);
    assert_int_equal(buffer_printf(&buffer, "%d-%s", 42, "x"), 0);
    assert_int_equal(buffer.length, 10);
    assert_memory_equal(buffer.data, "a\0bcde42-x", 11);
    assert_int_equal(buffer_reserve(&buffer, SIZE_MAX), -1);
    assert_int_equal(buffer.length, 10);
    char *own = buffer_detach(&buffer);
    assert_int_equal(own[9], 'x');
    free(own);
    assert_null(buffer.data);
    buffer_clear(&buffer);
    buffer_release(&buffer);
}

static void errors_are_chains(void **state)
{
    struct error error = ERROR_INIT;
    assert_int_equal(error_set_errno(&error, ENOENT, "file %d", 7), -1);
    assert_int_equal(error_wrap(&error, "reading failed"), -1);
    assert_int_equal(error.depth, 2);
    assert_string_equal(error.cause[0], "file 7: No such file or directory");
    assert_string_equal(error.cause[1], "reading failed");
    for (int i = 0; i < 20; i++)
        error_wrap(&error, "outer %d", i);
    assert_int_equal(error.depth, ERROR_DEPTH);
    assert_string_equal(error.cause[0], "file 7: No such file or directory");
    assert_string_equal(error.cause[ERROR_DEPTH - 1], "outer 19");
    assert_int_equal(error_set(&error, "new"), -1);
    assert_int_equal(error.depth, 1);
    assert_int_equal(error_set(NULL, "nobody cares"), -1);
    assert_int_equal(error_wrap(NULL, "nobody cares"), -1);
    assert_int_equal(error_no_memory(NULL), -1);
    error_clear(&error);
    assert_int_equal(error.depth, 0);
}

static void long_causes_are_cut(void **state)
{
    struct error error = ERROR_INIT;
    char text[2 * ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    error_set_errno(&error, EIO, "%s", text);
    assert_true(strlen(error.cause[0]) < ERROR_TEXT_BYTES);
}

/* Independent of how the bytes are split into pieces; other bytes give another result. */
static void digests(void **state)
{
    char bytes[1000];
    char whole[33];
    char pieces[33];
    struct digest digest;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31);
    digest_init(&digest);
    digest_update(&digest, bytes, sizeof bytes);
    digest_hex(&digest, whole);
    digest_init(&digest);
    for (size_t at = 0, step = 1; at < sizeof bytes; at += step, step = step % 37 + 1)
        digest_update(&digest, bytes + at, at + step < sizeof bytes ? step : sizeof bytes - at);
    digest_hex(&digest, pieces);
    assert_string_equal(whole, pieces);
    assert_int_equal(strlen(whole), 32);
    digest_init(&digest);
    bytes[999] ^= 1;
    digest_update(&digest, bytes, sizeof bytes);
    digest_hex(&digest, pieces);
    assert_string_not_equal(whole, pieces);
    digest_init(&digest);
    digest_update(&digest, bytes, sizeof bytes - 1);
    digest_hex(&digest, whole);
    assert_string_not_equal(whole, pieces);
}

static void zeros_at_the_end_count(void **state)
{
    char one[33];
    char two[33];
    struct digest digest;
    digest_init(&digest);
    digest_update(&digest, "a\0", 2);
    digest_hex(&digest, one);
    digest_init(&digest);
    digest_update(&digest, "a", 1);
    digest_hex(&digest, two);
    assert_string_not_equal(one, two);
}

static void interned_texts(void **state)
{
    struct intern intern;
    char text[16];
    intern_init(&intern);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++) {
            int length = snprintf(text, sizeof text, "t%d", i);
            assert_int_equal(intern_put(&intern, text, (size_t)length), i);
        }
    assert_string_equal(intern_text(&intern, 999), "t999");
    assert_int_equal(intern_put(&intern, "t99x", 3), 99);
    intern_release(&intern);
}

static void maps(void **state)
{
    struct map map;
    int added;
    map_init(&map);
    assert_null(map_get(&map, (struct map_key){{1}}));
    for (uint64_t i = 0; i < 5000; i++) {
        assert_non_null(map_put(&map, (struct map_key){{i, i % 3, 0, ~i}}, (int64_t)i, &added));
        assert_int_equal(added, 1);
    }
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(*map_put(&map, (struct map_key){{i, i % 3, 0, ~i}}, -1, &added), (int64_t)i);
        assert_int_equal(added, 0);
        assert_int_equal(*map_get(&map, (struct map_key){{i, i % 3, 0, ~i}}), (int64_t)i);
        assert_null(map_get(&map, (struct map_key){{i, i % 3, 1, ~i}}));
    }
    map_release(&map);
}

/*
 * A few keys that are added and removed, many of them with the same place: the content is compared with an
 * array.
 */
static void maps_forget(void **state)
{
    enum { KEYS = 300, TURNS = 200000 };
    int64_t wanted[KEYS] = {0};
    struct map map;
    map_init(&map);
    map_remove(&map, (struct map_key){{1}});
    for (int64_t turn = 1; turn <= TURNS; turn++) {
        size_t key = random_number() % KEYS;
        const int64_t *got = map_get(&map, (struct map_key){{key}});
        assert_int_equal(got ? *got : 0, wanted[key]);
        if (random_number() % 2) {
            map_remove(&map, (struct map_key){{key}});
            wanted[key] = 0;
        } else if (!wanted[key]) {
            assert_non_null(map_put(&map, (struct map_key){{key}}, turn, NULL));
            wanted[key] = turn;
        }
    }
    size_t left = 0;
    for (size_t key = 0; key < KEYS; key++)
        left += wanted[key] != 0;
    assert_int_equal(map.count, left);
    assert_true(map.capacity <= 1024);
    map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_grow_and_refuse_to_overflow),
        cmocka_unit_test(buffers_keep_a_nul),
        cmocka_unit_test(errors_are_chains),
        cmocka_unit_test(long_causes_are_cut),
        cmocka_unit_test(digests),
        cmocka_unit_test(zeros_at_the_end_count),
        cmocka_unit_test(interned_texts),
        cmocka_unit_test(maps),
        cmocka_unit_test(maps_forget),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
