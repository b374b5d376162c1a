#!/bin/sh
# loopx-hook: @EVENT@ 1 (written by `git loopx hooks install`, taken away by `git loopx hooks uninstall`)
loopx=@PROGRAM@; [ -x "$loopx" ] || loopx=$(command -v git-loopx)
[ -z "$loopx" ] || exec "$loopx" hook --shim "$0" @EVENT@ "$@"
echo "warning: git-loopx is gone, so its @EVENT@ hook checks nothing" >&2
[ -n "$LOOPX_HOOK_PROBE" ] || [ ! -x "$0.before-loopx" ] || exec "$0.before-loopx" "$@"
