/*
 * Texts of tags that somebody still refers to, each known by a number: a tag that names a step's number is
 * new every time, so they come and go. Number 0 is no tag.
 */
#ifndef PLUGIN_TREE_TAG_TEXTS_H
#define PLUGIN_TREE_TAG_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct tag_text {
    char *text;
    uint32_t references;
    uint32_t next_free;
};

/* All zero: none. */
struct tag_texts {
    struct tag_text *texts; /* [0] unused */
    uint32_t used, capacity;
    uint32_t first_free;
};

void tag_texts_release(struct tag_texts *tags);
/* A new text with one reference, the caller's; 0 for an empty one, and when memory is short. */
uint32_t tag_texts_add(struct tag_texts *tags, const char *text, size_t length);
/* One more reference; returns number. */
uint32_t tag_texts_keep(struct tag_texts *tags, uint32_t number);
/* One reference less; the text goes away with the last. */
void tag_texts_drop(struct tag_texts *tags, uint32_t number);
/* Borrowed; null for number 0. */
const char *tag_texts_get(const struct tag_texts *tags, uint32_t number);

#endif
