#ifndef NCCLPROF_BASE_SHA256_H
#define NCCLPROF_BASE_SHA256_H

#include <stddef.h>

/* SHA-256 (FIPS 180-4) of a text at once: what a Content-Security-Policy names scripts and styles by. */

enum { SHA256_BYTES = 32 };

void sha256(const void *bytes, size_t length, unsigned char digest[SHA256_BYTES]);

#endif
