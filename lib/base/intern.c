#include "base/intern.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

void intern_init(struct intern *intern)
{
    *intern = (struct intern){.seed = hash_seed()};
}

void intern_release(struct intern *intern)
{
    for (size_t i = 0; i < intern->count; i++)
        free(intern->texts[i]);
    free(intern->texts);
    free(intern->slots);
    intern_init(intern);
}

static uint64_t hash_text(uint64_t seed, const char *text, size_t length)
{
    uint64_t hash = seed ^ length;
    for (size_t i = 0; i < length; i++)
        hash = hash_mix(hash, (unsigned char)text[i]);
    return hash;
}

static uint32_t *find(const struct intern *intern, const char *text, size_t length)
{
    size_t at = (size_t)hash_text(intern->seed, text, length) & (intern->slot_count - 1);
    while (intern->slots[at]) {
        const char *held = intern->texts[intern->slots[at] - 1];
        if (strncmp(held, text, length) == 0 && held[length] == '\0')
            break;
        at = (at + 1) & (intern->slot_count - 1);
    }
    return &intern->slots[at];
}

static int grow(struct intern *intern)
{
    size_t slot_count = intern->slot_count ? intern->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = slot_count;
    for (size_t i = 0; i < intern->count; i++)
        *find(intern, intern->texts[i], strlen(intern->texts[i])) = (uint32_t)i + 1;
    return 0;
}

int64_t intern_put(struct intern *intern, const char *text, size_t length)
{
    text = length ? text : ""; /* no text at all may have no place either */
    length = strnlen(text, length);
    if ((intern->count + 1) * 2 > intern->slot_count && grow(intern))
        return -1;
    uint32_t *slot = find(intern, text, length);
    if (*slot)
        return *slot - 1;
    if (array_reserve((void **)&intern->texts, &intern->capacity, intern->count + 1, sizeof *intern->texts))
        return -1;
    char *copy = strndup(text, length);
    if (!copy)
        return -1;
    intern->texts[intern->count++] = copy;
    *slot = (uint32_t)intern->count;
    return *slot - 1;
}

const char *intern_text(const struct intern *intern, int64_t number)
{
    return intern->texts[number];
}
