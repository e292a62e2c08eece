#ifndef NCCLPROF_TESTS_CMOCKA_ALL_H
#define NCCLPROF_TESTS_CMOCKA_ALL_H

/* cmocka.h requires these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
