#!/bin/sh
. ./src/session.sh
test "$idle_minutes" -eq 10 || { echo "idle_minutes is $idle_minutes, expected 10"; exit 1; }
test -n "$audit_log" || { echo "no audit log"; exit 1; }
echo "timeout and audit log are as specified"
