# bash completion of git-loopx, and of `git loopx` where git's own completion is loaded.
# Set up by: eval "$(git-loopx completions bash)"

__loopx_complete() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "${line:0:1}" = $'\t' ]; then
            compopt -o default 2>/dev/null
        elif [ -n "$line" ]; then
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <(git-loopx complete -- "$@" 2>/dev/null)
}

# git's completion calls it for `git loopx`, with whatever stands before that.
_git_loopx() {
    local at=1
    while [ "$at" -lt "$COMP_CWORD" ] && [ "${COMP_WORDS[at]}" != loopx ]; do
        at=$((at + 1))
    done
    __loopx_complete "${COMP_WORDS[@]:at+1:COMP_CWORD-at}"
}

_git_loopx_program() {
    __loopx_complete "${COMP_WORDS[@]:1:COMP_CWORD}"
}

complete -F _git_loopx_program git-loopx
