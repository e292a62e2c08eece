#include "model/communicator_hash.h"

#include "base/hash.h"

#include <string.h>

uint64_t communicator_hash_of(const char *name, const int64_t *members, size_t count)
{
    const unsigned char *text = (const unsigned char *)(name ? name : "");
    size_t length = strlen((const char *)text);
    uint64_t hash = hash_mix(length, count);
    for (size_t i = 0; i < length; i++)
        hash = hash_mix(hash, text[i]);
    for (size_t i = 0; i < count; i++)
        hash = hash_mix(hash, (uint64_t)members[i]);
    return hash ? hash : 1;
}
