# SPDX-License-Identifier: MIT
# Bash completion for muster, and for ac, which is muster under another name. What could come next is known to the program itself (src/cli/complete).

# Without the package bash-completion: what readline cut at colons and equals signs becomes words again.
_muster_words() {
        local i glue=
        words=() cword=0
        for ((i = 0; i <= COMP_CWORD; i++)); do
                if ((i > 1)) && [[ $glue || ${COMP_WORDS[i]} == [:=]* ]]; then
                        words[cword]+=${COMP_WORDS[i]}
                else
                        words+=("${COMP_WORDS[i]}")
                        cword=$((${#words[@]} - 1))
                fi
                [[ ${COMP_WORDS[i]} == *[:=] ]] && glue=1 || glue=
        done
        cur=${words[cword]}
}

_muster() {
        local cur prev words cword candidate IFS=$'\n'
        COMPREPLY=()
        if declare -F _get_comp_words_by_ref >/dev/null; then
                _get_comp_words_by_ref -n := cur prev words cword
        else
                _muster_words
        fi
        while read -r candidate; do
                case $candidate in
                :files | :folders)
                        [[ $candidate == :files ]] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
                        [[ $candidate == :folders ]] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur")
                        compopt -o filenames 2>/dev/null
                        ;;
                :programs) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur") ;;
                :nospace) compopt -o nospace 2>/dev/null ;;
                '') ;;
                *) COMPREPLY+=("${candidate%%$'\t'*}") ;;
                esac
        done < <("${words[0]}" __complete "${words[@]:1:cword}" 2>/dev/null)
        # Readline replaces what stands behind the last colon only.
        [[ $cur != *:* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
}

complete -F _muster muster ac
