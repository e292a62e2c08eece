#include "support/letters.h"

#include "support/cmocka_all.h"

#include <string.h>

enum { MOST = 512 };

struct played {
    uint64_t functions[MOST], calls[MOST], sizes[MOST], kinds[MOST];
    int32_t communicators[MOST];
    unsigned char is_small[MOST], is_shared[MOST];
    int64_t gaps_ns[MOST];
    int64_t before_ns;
    size_t count;
};

static void add(struct played *played, char what, int64_t now_ns)
{
    size_t at = played->count++;
    int32_t communicator = strchr("tu", what) ? 2 : what == 'n' ? 3 : strchr("sr", what) ? -1 : 1;
    uint64_t function = strchr("123", what) ? 1 : what == 's' ? 2 : what == 'r' ? 3 : 0;
    played->communicators[at] = communicator;
    played->functions[at] = played->calls[at] = (uint64_t)(communicator + 1) * 10 + function;
    played->sizes[at] = played->kinds[at] = (uint64_t)what;
    played->is_small[at] = strchr("lnmoefghpqvwxyz", what) != NULL;
    played->is_shared[at] = strchr("moefghpqvwxyz", what) != NULL;
    played->gaps_ns[at] = at ? now_ns - played->before_ns : 0;
    played->before_ns = now_ns;
}

/* Returns the number of steps in `expected`. */
static size_t play(struct played *played, const char *steps, size_t *expected)
{
    size_t count = 0;
    int64_t now_ns = 0;
    played->count = 0;
    for (; *steps; steps++) {
        if (*steps == ' ') {
            expected[count++] = played->count;
            continue;
        }
        now_ns += *steps == '|' ? 100 : 1;
        assert_true(played->count < MOST);
        if (*steps != '|')
            add(played, *steps, now_ns);
    }
    return count;
}

void letters_check(const char *steps,
                   int (*find)(const struct recurrence *recurrence, size_t *starts, size_t *found))
{
    struct played played;
    size_t expected[MOST], starts[MOST], found = 0, count = play(&played, steps, expected);
    struct recurrence recurrence = {.functions = played.functions,
                                    .calls = played.calls,
                                    .sizes = played.sizes,
                                    .kinds = played.kinds,
                                    .communicators = played.communicators,
                                    .is_small = played.is_small,
                                    .is_shared = played.is_shared,
                                    .gaps_ns = played.gaps_ns,
                                    .count = played.count};
    assert_true(find(&recurrence, starts, &found) >= 0);
    if (found != count)
        fail_msg("%s: %zu steps", steps, found);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(starts[i], expected[i]);
}
