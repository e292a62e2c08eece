#include "support/store_file.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int store_file_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/ncclprof-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(path))
        return -1;
    char *file = NULL;
    if (asprintf(&file, "%s/store.db", path) < 0)
        return -1;
    free(path);
    *state = file;
    return 0;
}

int store_file_teardown(void **state)
{
    char *path = *state;
    char *journal = NULL;
    unlink(path);
    if (asprintf(&journal, "%s-journal", path) < 0)
        return -1;
    unlink(journal);
    free(journal);
    *strrchr(path, '/') = '\0';
    int outcome = rmdir(path);
    free(path);
    return outcome;
}

struct store *store_file_open(void **state, enum store_mode mode)
{
    struct error error = ERROR_INIT;
    struct store *store = store_open(*state, mode, &error);
    if (!store)
        print_error("%s\n", error.cause[0]);
    assert_non_null(store);
    return store;
}

int64_t store_file_number(struct store *store, const char *sql)
{
    struct error error = ERROR_INIT;
    struct statement *statement = store_prepare(store, sql, &error);
    if (!statement)
        print_error("%s\n", error.cause[0]);
    assert_non_null(statement);
    assert_int_equal(statement_step(statement, &error), 1);
    int64_t number = statement_integer(statement, 0);
    statement_free(statement);
    return number;
}

int64_t store_file_newest(void)
{
    FILE *published = fopen("tests/check/published.sha256", "r");
    assert_non_null(published);
    char line[256];
    long newest = 0;
    while (fgets(line, sizeof line, published)) {
        const char *name = strrchr(line, '/');
        assert_non_null(name);
        newest = strtol(name + 1, NULL, 10);
    }
    fclose(published);
    return newest;
}
