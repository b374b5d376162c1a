#compdef git-loopx
# zsh completion of git-loopx, and of `git loopx`. A file `_git-loopx` in a folder of fpath, or after compinit:
# eval "$(git-loopx completions zsh)"

_git-loopx() {
    local line word wants_files=0
    local -a words_found shown
    while IFS= read -r line; do
        if [[ $line == $'\t'* ]]; then
            wants_files=1
        elif [[ -n $line ]]; then
            word=${line%%$'\t'*}
            words_found+=("$word")
            shown+=("${word}  ${line#*$'\t'}")
        fi
    done < <(git-loopx complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( $#words_found )) && compadd -l -d shown -a words_found
    (( wants_files )) && _files
    return 0
}

if [ "$funcstack[1]" = "_git-loopx" ]; then
    _git-loopx "$@"
elif (( $+functions[compdef] )); then
    compdef _git-loopx git-loopx
fi
