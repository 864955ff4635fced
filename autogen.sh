#!/bin/sh
# Makes 'configure' from configure.ac.
cd "$(dirname "$0")" && exec autoreconf -fi
