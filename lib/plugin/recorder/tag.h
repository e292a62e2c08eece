/*
 * Tags that the application sets for the whole process: direct calls, and NVTX ranges with their nesting. The
 * newest tag holds until the next one; leaving a range brings back the one around it.
 */
#ifndef PLUGIN_RECORDER_TAG_H
#define PLUGIN_RECORDER_TAG_H

#include <stddef.h>

/* Domains tell ranges of different libraries apart; null is the default one. */
void tag_push(const void *domain, const char *text, size_t length);
void tag_pop(const void *domain);
void tag_mark(const char *text, size_t length);

/* ncclNotifyTag's, for one communicator; null ends the tag. */
void tag_of_nccl(const void *context, int rank, const char *text);

/* Turns recorder_on on, behind the tag set before the first communicator. */
void tag_begin(void);

#endif
