#!/bin/sh
# loopx-hook: pre-receive 1 (written by `git loopx setup server`; what cannot be judged is refused)
loopx=@PROGRAM@; [ -x "$loopx" ] || loopx=git-loopx
[ -x "$0.before-loopx" ] || exec "$loopx" hook pre-receive
# Both hooks read the same bytes: a last line that was cut off has to stay one.
refs=$(cat && echo .) || { echo "git loopx could not read the refs of this push" >&2; exit 1; }
printf %s "${refs%.}" | "$0.before-loopx" "$@" || exit
printf %s "${refs%.}" | "$loopx" hook pre-receive
