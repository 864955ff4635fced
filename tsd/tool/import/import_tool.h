/* 'import': files, or another server, into a store. */
#pragma once

#include "tsd/tool/tool.h"

tool_fn tool_import, tool_import_check;
