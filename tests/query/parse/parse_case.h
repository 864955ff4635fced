/* A query that is parsed into an arena, for each case.  Owns: both, until its
 * end. */
#pragma once

#include "query/parse/parse.h"
#include "tests/harness.h"

static struct arena *a;
static struct query q;

static void
setup(void)
{
    a = arena_new(0);
    q = (struct query){ 0 };
}

static void
teardown(void)
{
    query_fini(&q);
    arena_free(&a);
}
