/*
 * The order in which java.util.HashMap lists texts.  OpenTSDB keeps the
 * variables of an expression in such maps, and which of them names the tags of
 * a result depends on it.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef QUERY_MODEL_JAVA_ORDER_H
#define QUERY_MODEL_JAVA_ORDER_H

#include "base/slice.h"

/* A map made for so many entries, of Java's default size otherwise. */
#define JAVA_DEFAULT_SIZE 16

#define JAVA_ORDER_MAX 1024

/* 'order' lists 'len' indices of 'names' as they are put into a map that was
 * made with 'initial' as its size; it becomes how the map lists them.  There
 * are at most JAVA_ORDER_MAX. */
void java_order(const struct slice *names, size_t initial, size_t *order,
                size_t len);

/* Of the 'picked' indices of 'names', one at least, that which a HashSet made
 * of all 'names_len' lists first. */
size_t java_set_first(const struct slice *names, size_t names_len,
                      const size_t *picked, size_t len);

#endif
