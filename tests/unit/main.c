/*
 * Runs the unit tests of a room: all, or those whose names are given. UNIT_TESTS is a header with a line
 * TEST(ROOM, NAME) for each of them.
 */

#include <string.h>

#define TEST(room, name) int unit_##room##_##name(void);
#include UNIT_TESTS
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {
#define TEST(room, name) {#name, unit_##room##_##name},
#include UNIT_TESTS
};

static int is_wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return count == 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    int run = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (is_wanted(tests[i].name, argc - 1, argv + 1)) {
            failed += tests[i].run() != 0;
            run++;
        }
    return failed || !run;
}
