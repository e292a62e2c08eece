#include "base/base.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_digest(const void *bytes, size_t length, const char *expected)
{
    unsigned char digest[SHA256_BYTES];
    char text[2 * SHA256_BYTES + 1] = "";
    sha256(bytes, length, digest);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

/* NIST's examples of SHA-256 (FIPS 180-4; csrc.nist.gov, Cryptographic Standards and Guidelines). */
static void examples_of_the_standard(void **state)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char longer[] =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmno"
        "pqklmnopqrlmnopqrsmnopqrstnopqrstu";
    check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest(two_blocks, strlen(two_blocks),
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest(longer, strlen(longer), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    check_digest(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* Around the end of a block, where the length needs another block: zeros, by coreutils' sha256sum. */
static void lengths_around_a_block(void **state)
{
    static const char zeros[65];
    check_digest(zeros, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    check_digest(zeros, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    check_digest(zeros, 63, "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971");
    check_digest(zeros, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
    check_digest(zeros, 65, "98ce42deef51d40269d542f5314bef2c7468d401ad5d85168bfab4c0108f75f7");
}

/* RFC 4648, section 10. */
static void base64_by_the_standard(void **state)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xfb\xff\xfe", "+//+"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text = BUFFER_INIT;
        assert_int_equal(base64_append(&text, cases[i][0], strlen(cases[i][0])), 0);
        assert_string_equal(text.data ? text.data : "", cases[i][1]);
        buffer_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_standard),
        cmocka_unit_test(lengths_around_a_block),
        cmocka_unit_test(base64_by_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
