import { bashScript } from './bash.ts'
import type { CompletedProgram } from './words.ts'

/** Returns a script for zsh, which runs completion functions of bash by its own `bashcompinit`. */
export const zshScript = (program: CompletedProgram): string =>
	`# Completion of ${program.name} for zsh. Load it with: eval "$(${program.name} completion zsh)"
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(program).split('\n').slice(1).join('\n')}`
