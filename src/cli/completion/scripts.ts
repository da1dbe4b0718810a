import type { CompletedCommand, CompletedOption, CompletedProgram } from './words.ts'

/** Quotes a text for bash and zsh. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Quotes a text for fish, which knows two escapes inside single quotes. */
const quoteFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** Returns a script for bash 3.2 or later. macOS has 3.2, without associative arrays and `mapfile`. */
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

/** Returns a script for zsh, which runs completion functions of bash by its own `bashcompinit`. */
export const zshScript = (program: CompletedProgram): string =>
	`# Completion of ${program.name} for zsh. Load it with: eval "$(${program.name} completion zsh)"
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(program).split('\n').slice(1).join('\n')}`

/** Returns a script for fish. A command of a group needs two tests: each tests one word. */
export function fishScript({ name, commands }: CompletedProgram): string {
	const lines = commands.flatMap((command) => {
		const condition = `-n ${quoteFish(conditionOf(command, commands))}`
		return [
			...command.words.map(
				([word, description]) =>
					`complete -c ${name} -f ${condition} -a ${quoteFish(word)} -d ${quoteFish(description)}`,
			),
			...(command.takesFile ? [`complete -c ${name} -F ${condition}`] : []),
			...command.options.map((option) => `complete -c ${name} ${condition} ${optionText(option)}`),
		]
	})
	return [
		`# Completion of ${name} for fish. Load it with: ${name} completion fish | source`,
		`complete -c ${name} -f`,
		...lines,
		'',
	].join('\n')
}

function conditionOf({ name }: CompletedCommand, commands: readonly CompletedCommand[]): string {
	if (name === '') return '__fish_use_subcommand'
	const seen = name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
	const inside = commands.filter((other) => other.name.startsWith(`${name} `))
	if (inside.length === 0) return seen.join('; and ')
	const words = inside.map((other) => other.name.slice(name.length + 1)).join(' ')
	return `${seen.join('; and ')}; and not __fish_seen_subcommand_from ${words}`
}

function optionText({ flags, description, value, choices }: CompletedOption): string {
	const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
	const values = { none: '', text: ' -x', file: ' -r -F', choice: ` -x -a ${quoteFish(choices.join(' '))}` }
	return `${names.join(' ')}${values[value]} -d ${quoteFish(description)}`
}
