# fish completion of git-loopx, and of `git loopx`. Set up by:
# git-loopx completions fish > ~/.config/fish/completions/git-loopx.fish

function __loopx_complete
    set -l words (commandline -opc)
    set -e words[1]
    if test (count $words) -gt 0; and not string match -q '*git-loopx' -- (commandline -opc)[1]
        set -l at (contains -i -- loopx $words)
        test -n "$at"; and set -e words[1..$at]
    end
    set -l now (commandline -ct)
    for line in (git-loopx complete -- $words "$now" 2>/dev/null)
        if string match -q \t'*' -- $line
            __fish_complete_path "$now"
        else
            printf '%s\n' $line
        end
    end
end

complete -c git-loopx -f -a '(__loopx_complete)'
complete -c git -n 'contains -- loopx (commandline -opc)' -f -a '(__loopx_complete)'
