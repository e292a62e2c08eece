/*
 * Arbitrary bytes as a pickle and as JSON: no value is nested deeper than promised, no value contains itself,
 * texts are inside the input, and memory stays within its limit.
 */
#include "input/input.h"
#include "input/json.h"
#include "require.h"

enum { SLACK_BYTES = 4096 };

static size_t walk(const struct value *value, int depth, size_t left)
{
    require(depth <= VALUE_DEPTH_MOST + 1, "no deeper than promised");
    if ((value->kind != VALUE_LIST && value->kind != VALUE_DICTIONARY) || left == 0)
        return left;
    require(value->items->count <= value->items->capacity || value->items->count == 0, "items are there");
    require(value->kind == VALUE_LIST || value->items->count % 2 == 0, "a value for each key");
    for (size_t i = 0; i < value->items->count && left > 0; i++)
        left = walk(&value->items->items[i], depth + 1, left - 1);
    return left;
}

static void check_pickle(const char *bytes, size_t length)
{
    struct values values;
    struct value root;
    struct unpickle_damage damage;
    size_t most = length * UNPICKLE_BYTES_A_BYTE + SLACK_BYTES;
    values_init(&values, most);
    require(unpickle(&values, bytes, length, &root, &damage, NULL) == 0, "memory");
    require(values.bytes <= most, "memory within its bound");
    require(!damage.what || damage.offset <= length, "damage lies in the file");
    walk(&root, 1, 100000);
    values_release(&values);
}

static void check_json(const char *bytes, size_t length)
{
    struct values values;
    struct value root;
    values_init(&values, length * UNPICKLE_BYTES_A_BYTE + SLACK_BYTES);
    require(json_to_values(&values, bytes, length, 0, &root, NULL) >= 0, "memory");
    walk(&root, 1, 100000);
    values_release(&values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    check_pickle((const char *)bytes, length);
    check_json((const char *)bytes, length);
    return 0;
}
