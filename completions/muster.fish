# SPDX-License-Identifier: MIT
# Fish completion for muster, and for ac, which is muster under another name. What could come next is known to the program itself (src/cli/complete).

function __muster_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :folders
                __fish_complete_directories $current
            case :programs
                __fish_complete_command
            case :nospace ''
            case '*'
                echo $line
        end
    end
end

complete -c muster -f -a '(__muster_complete)'
complete -c ac -f -a '(__muster_complete)'
