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

_muster_commands='new attach shell ls ps logs send-keys kill restart record replay group actor send reply inbox ack tail events task chat project up down status call schema rules ledger stdio'

# The names of the sessions. Only of a daemon that runs: completing a word starts none.
_muster_sessions() {
        muster status --timeout 1 >/dev/null 2>&1 &&
                muster ls --json 2>/dev/null | grep -o '"name":"[^"\\]*"' | cut -d '"' -f 4
}

# The last tasks of the project here.
_muster_tasks() {
        muster task ls --json --timeout 1 2>/dev/null | grep -o '"id":"task-[0-9]*"' | cut -d '"' -f 4
}

# The groups, under the same condition.
_muster_groups() {
        muster status --timeout 1 >/dev/null 2>&1 &&
                muster group --json 2>/dev/null | grep -o '"group_id":"[^"\\]*"' | cut -d '"' -f 4
}

_muster_actors() {
        muster status --timeout 1 >/dev/null 2>&1 &&
                muster actor --json 2>/dev/null | grep -o '"id":"[^"\\]*"' | cut -d '"' -f 4
}

# The options of one command, from its usage line.
_muster_options() {
        muster "$1" --help 2>/dev/null | grep -m 1 '^Usage:' | grep -o -e '--[a-z][a-z-]*'
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
        rules)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W 'ls check enable disable events' -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                        compopt -o filenames
                fi
                ;;
        attach | shell | logs | kill | restart | send-keys)
                [[ -n $operation ]] ||
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_sessions)" -- "$cur")
                ;;
        record)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_sessions)" -- "$cur")
                fi
                mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
                compopt -o filenames
                ;;
        replay)
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                compopt -o filenames
                ;;
        new)
                mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                compopt -o filenames
                ;;
        task)
                case $operation in
                '') mapfile -t COMPREPLY < <(compgen -W 'submit ls get cancel wait tail stats' -- "$cur") ;;
                get | cancel | wait | tail) mapfile -t COMPREPLY < <(compgen -W "$(_muster_tasks)" -- "$cur") ;;
                esac
                ;;
        project)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W 'add ls rm' -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                        compopt -o filenames
                fi
                ;;
        group)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W 'list new attach use detach show update set state start stop delete' -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                        compopt -o filenames
                fi
                ;;
        actor)
                if [[ -z $operation ]]; then
                        mapfile -t COMPREPLY < <(compgen -W 'list add set start stop restart remove' -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -W "$(_muster_actors)" -- "$cur")
                fi
                ;;
        inbox)
                mapfile -t COMPREPLY < <(compgen -W "$(_muster_actors)" -- "$cur")
                ;;
        help)
                mapfile -t COMPREPLY < <(compgen -W "$_muster_commands" -- "$cur")
                ;;
        esac
}

_muster() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
        local command=${COMP_WORDS[1]} operation='' i

        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
                mapfile -t COMPREPLY < <(compgen -W "$_muster_commands help --help --version" -- "$cur")
                return
        fi
        for ((i = 2; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                --) # what follows is for somebody else
                        [[ $command != new ]] || ((COMP_CWORD > i + 1)) ||
                                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
                        return
                        ;;
                --wait | --timeout | --project | --name | --sandbox | --pty | --tail | --command | --speed | --max-idle | --agent | --priority | --state | --limit | --group | --as | --to | --key | --kind | --since | -g | -n | -c)
                        i=$((i + 1))
                        ;;
                -*) ;;
                *) operation=${operation:-${COMP_WORDS[i]}} ;;
                esac
        done
        case $prev in
        --wait | --timeout | --name | --pty | --tail | --speed | --max-idle | --agent | --priority | --limit | -n) return ;;
        --state)
                mapfile -t COMPREPLY < <(compgen -W 'queued running completed failed cancelled' -- "$cur")
                return
                ;;
        --group | -g)
                mapfile -t COMPREPLY < <(compgen -W "$(_muster_groups)" -- "$cur")
                return
                ;;
        --to)
                mapfile -t COMPREPLY < <(compgen -W "user @all @peers @foreman $(_muster_actors)" -- "$cur")
                return
                ;;
        --as)
                mapfile -t COMPREPLY < <(compgen -W "user $(_muster_actors)" -- "$cur")
                return
                ;;
        --kind)
                mapfile -t COMPREPLY < <(compgen -W 'all chat notify chat.message chat.ack system.notify system.notify_ack' -- "$cur")
                return
                ;;
        --key | --since) return ;;
        --sandbox)
                mapfile -t COMPREPLY < <(compgen -W 'none bwrap' -- "$cur")
                return
                ;;
        --command | -c)
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
                return
                ;;
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
