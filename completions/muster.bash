# SPDX-License-Identifier: MIT
# Bash completion for muster. Operations and parameters come from `muster schema`, which needs no daemon.

_muster_operations() {
        muster schema 2>/dev/null | cut -d ' ' -f 1
}

_muster_dialects() {
        _muster_operations | cut -d . -f 1 | sort -u
}

# The parameters of one operation, each with its `=`.
_muster_parameters() {
        muster schema "$1" 2>/dev/null | awk '
                /^Parameters:/ { inside = 1; next }
                inside && /^$/ { exit }
                inside && /^  [^ ]/ { print $1 "=" }'
}

# The options of one command, from its usage line.
_muster_options() {
        muster "$1" --help 2>/dev/null | grep -m 1 '^Usage:' | grep -o -e '--[a-z][a-z]*'
        echo --help
}

_muster_operands() {
        local cur=$1 command=$2 operation=$3

        case $command in
        call)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_operations)" -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_parameters "$operation")" -- "$cur")
                        compopt -o nospace
                fi
                ;;
        schema)
                [[ -n $operation ]] ||
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_dialects) $(_muster_operations)" -- "$cur")
                ;;
        help)
                mapfile -t COMPREPLY < <(compgen -W 'up down status call schema stdio' -- "$cur")
                ;;
        esac
}

_muster() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
        local command=${COMP_WORDS[1]} operation='' i

        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
                mapfile -t COMPREPLY < <(compgen -W 'up down status call schema stdio help --help --version' -- "$cur")
                return
        fi
        for ((i = 2; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --) return ;; # what follows is for musterd
                --wait | --timeout | --project) i=$((i + 1)) ;;
                -*) ;;
                *) operation=${operation:-${COMP_WORDS[i]}} ;;
                esac
        done
        case $prev in
        --wait | --timeout) return ;;
        --project)
                mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                compopt -o filenames
                return
                ;;
        =) # COMP_WORDBREAKS cuts key=value apart
                if [[ $cur == @* ]]; then
                        mapfile -t COMPREPLY < <(compgen -f -P @ -- "${cur#@}")
                fi
                return
                ;;
        esac
        if [[ $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$(_muster_options "$command")" -- "$cur")
        elif [[ $cur != = ]]; then
                _muster_operands "$cur" "$command" "$operation"
        fi
}

complete -F _muster muster
