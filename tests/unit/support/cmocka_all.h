#ifndef NCCLPROF_TESTS_CMOCKA_ALL_H
#define NCCLPROF_TESTS_CMOCKA_ALL_H

/* cmocka.h wants these before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
