#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <string.h>

/* Three files: one unchanged, one compressed, one with two parts that could not be read. */
static const char files[] =
    "INSERT INTO file VALUES"
    " (1, '/t/plain', '/t', 'chrome-v5', 'aa', 100, 100, 'ingested', 7, 0, 'aa', NULL, NULL, NULL),"
    " (2, '/t/packed.gz', '/t', 'chrome-v4', 'bb', 50, 900, 'ingested', 8, 1, 'cc', NULL, 'chrome', 3),"
    " (3, '/t/torn', '/t', 'inspector-2.30', 'dd', 100, 100, 'partial', 9, 11, 'dd', 5, 'inspector', 1);"
    "INSERT INTO ledger VALUES"
    " (3, 'cut short', 1, 2, 80, NULL), (3, 'no object', 1, 3, 40, NULL), (3, 'not modelled', 0, 6, 10, "
    "NULL)";

static struct known read_all(void **state, const char *sql)
{
    struct known known;
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_execute(store, sql, NULL), 0);
    assert_int_equal(known_read(&known, store, NULL), 0);
    store_close(store);
    return known;
}

static void test_nothing_is_known(void **state)
{
    struct known known = read_all(state, "");
    assert_int_equal(known.count, 0);
    assert_false(known_has_size(&known, 0));
    assert_false(known_has_path(&known, "/t/plain"));
    assert_null(known_find(&known, 100, "aa"));
    known_release(&known);
}

static void test_found_by_size_and_digest(void **state)
{
    struct known known = read_all(state, files);
    assert_true(known_has_size(&known, 100));
    assert_false(known_has_size(&known, 99));
    assert_false(known_has_size(&known, 901));
    assert_string_equal(known_find(&known, 100, "aa")->path, "/t/plain");
    assert_string_equal(known_find(&known, 100, "dd")->path, "/t/torn");
    assert_null(known_find(&known, 100, "bb"));
    assert_null(known_find(&known, 101, "aa"));
    known_release(&known);
}

/* A compressed file is known by its own digest, and by that of its content. */
static void test_packed_is_known_twice(void **state)
{
    struct known known = read_all(state, files);
    assert_int_equal(known.count, 4);
    const struct known_file *packed = known_find(&known, 50, "bb"), *unpacked = known_find(&known, 900, "cc");
    assert_non_null(packed);
    assert_non_null(unpacked);
    assert_string_equal(packed->path, "/t/packed.gz");
    assert_string_equal(packed->reader, "chrome");
    assert_int_equal(packed->reader_version, 3);
    assert_null(known_find(&known, 100, "aa")->reader);
    assert_string_equal(unpacked->path, "/t/packed.gz");
    assert_string_equal(unpacked->dialect, "chrome-v4");
    assert_int_equal(unpacked->events, 8);
    assert_int_equal(unpacked->skipped, 1);
    assert_null(known_find(&known, 50, "cc"));
    known_release(&known);
}

/* Only damage is a loss; the reason is that of the first one. */
static void test_losses(void **state)
{
    struct known known = read_all(state, files);
    const struct known_file *partial_lines = known_find(&known, 100, "dd"),
                            *plain = known_find(&known, 100, "aa");
    assert_int_equal(partial_lines->skipped, 11);
    assert_int_equal(partial_lines->lost_pieces, 5);
    assert_string_equal(partial_lines->first_reason, "no object");
    assert_int_equal(partial_lines->first_offset, 40);
    assert_int_equal(plain->lost_pieces, 0);
    assert_null(plain->first_reason);
    known_release(&known);
}

static void test_paths(void **state)
{
    struct known known = read_all(state, files);
    assert_true(known_has_path(&known, "/t/packed.gz"));
    assert_false(known_has_path(&known, "/t/packed"));
    known_release(&known);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_nothing_is_known),
        WITH_FILE(test_found_by_size_and_digest),
        WITH_FILE(test_packed_is_known_twice),
        WITH_FILE(test_losses),
        WITH_FILE(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
