# SPDX-License-Identifier: MIT
# Bash completion for muster. What could come next is known to the program itself (src/cli/complete).

_muster() {
        local cur prev words cword candidate IFS=$'\n'
        COMPREPLY=()
        if declare -F _get_comp_words_by_ref >/dev/null; then
                _get_comp_words_by_ref -n := cur prev words cword
        else
                words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
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
        ! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions "$cur"
}

complete -F _muster muster
