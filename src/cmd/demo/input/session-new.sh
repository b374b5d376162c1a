#!/bin/sh
# How many idle minutes a session survives.
idle_minutes=10
# Every end of a session is written here.
audit_log=session-audit.log
