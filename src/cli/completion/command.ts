/** `yaoki completion SHELL`: a static script, because a shell that starts Node for each Tab is slow. */
import { type Command, defineCommand, type Program } from '../command.ts'
import { unknownName } from '../parse-arguments.ts'
import { bashScript, fishScript, zshScript } from './scripts.ts'
import { completionWords } from './words.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }
const SHELLS = Object.keys(SCRIPTS)

/** The program is a parameter, because its table of commands contains this one. */
export const completionOf = (program: Program): Command =>
	defineCommand({
		examples: [
			// Not `source <(...)`, which loads nothing in bash 3.2.
			[
				`eval "$(${program.name} completion bash)"`,
				'complete commands and options in this bash; add it to ~/.bashrc',
			],
			[`eval "$(${program.name} completion zsh)"`, 'the same for zsh, in ~/.zshrc'],
			[`${program.name} completion fish | source`, 'the same for fish, in ~/.config/fish/config.fish'],
		],
		options: {},
		positionals: { shell: { placeholder: 'SHELL', description: SHELLS.join(', '), choices: SHELLS } },
		async run({ shell }, io) {
			if (!isShell(shell)) throw unknownName('SHELL', shell, SHELLS)
			const script = SCRIPTS[shell](await completionWords(program))
			io.result({ shell, script }, script)
		},
	})

const isShell = (name: string): name is keyof typeof SCRIPTS => Object.hasOwn(SCRIPTS, name)
