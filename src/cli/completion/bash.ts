import { quote } from './quote.ts'
import type { CompletedProgram } from './words.ts'

/** Returns a script for bash 3.2 or later: macOS has no newer one, so no associative arrays and no `mapfile`. */
export function bashScript({ name, commands }: CompletedProgram): string {
	const list = (words: readonly string[]) => quote(words.join('\n'))
	const named = commands.filter((command) => command.name !== '')
	const values = commands.flatMap(({ name: command, options }) =>
		options
			.filter(({ value }) => value !== 'none')
			.map(({ flags, value, choices }) => {
				const pattern = flags.map((flag) => quote(`${command}:${flag}`)).join('|')
				return `    ${pattern}) kind=${value} words=${list(choices)} ;;`
			}),
	)
	const rest = commands.map(({ name: command, words, options, takesFile }) => {
		const flags = options.flatMap((option) => option.flags)
		const kind = takesFile ? 'file' : 'choice'
		return `    ${quote(command)}) kind=${kind} words=${list(words.map(([word]) => word))} flags=${list(flags)} ;;`
	})
	return `# Completion of ${name} for bash. Load it with: eval "$(${name} completion bash)"
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command= kind= words= flags= index word
  COMPREPLY=()
  # Bash splits --flag=value into three words.
  if [[ $current == "=" ]]; then current=
  elif [[ $previous == "=" ]]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${command:+$command }$word" in
    ${named.map((command) => quote(command.name)).join('|')}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command:$previous" in
${values.join('\n')}
  esac
  if [[ -z $kind ]]; then
    case "$command" in
${rest.join('\n')}
    esac
    if [[ $current == -* ]]; then kind=choice words="$flags"; fi
  fi
  # Not compgen -W, which would run substitutions in words. No words: bash completes files.
  if [[ $kind == choice ]]; then
    while read -r word; do
      if [[ -n $word && $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
    done <<< "$words"
  fi
}
complete -o default -F _${name} ${name}
`
}
