#include "plugin/tree/names.h"

#include <stdlib.h>
#include <string.h>

int names_init(struct names *names, uint32_t capacity)
{
    *names = (struct names){.count = 1, .capacity = 16};
    while (names->capacity < capacity)
        names->capacity *= 2;
    names->texts = calloc(names->capacity, sizeof(*names->texts));
    names->places = calloc((size_t)names->capacity * 2, sizeof(*names->places));
    if (names->texts && names->places)
        return 0;
    names_release(names);
    return -1;
}

void names_release(struct names *names)
{
    for (uint32_t i = 0; names->texts && i < names->count; i++)
        free(names->texts[i]);
    free(names->texts);
    free(names->places);
    *names = (struct names){0};
}

static uint32_t text_hash(const char *text, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static uint32_t names_add(struct names *names, uint32_t place, const char *text, size_t length)
{
    if (names->count == names->capacity)
        return 0;
    char *copy = malloc(length + 1);
    if (!copy)
        return 0;
    memcpy(copy, text, length);
    copy[length] = '\0';
    names->texts[names->count] = copy;
    names->places[place] = names->count;
    return names->count++;
}

uint32_t names_number(struct names *names, const char *text, size_t length)
{
    if (length == 0)
        return 0;
    uint32_t mask = names->capacity * 2 - 1;
    uint32_t place = text_hash(text, length) & mask;
    for (; names->places[place]; place = (place + 1) & mask) {
        const char *known = names->texts[names->places[place]];
        if (strncmp(known, text, length) == 0 && known[length] == '\0')
            return names->places[place];
    }
    return names_add(names, place, text, length);
}

const char *names_text(const struct names *names, uint32_t number)
{
    return number && number < names->count ? names->texts[number] : "";
}
