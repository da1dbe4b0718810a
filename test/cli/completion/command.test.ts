import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { defineCommand } from '../../../src/cli/command.ts'
import { yaoki } from '../../../src/cli/commands.ts'
import { bashScript, fishScript } from '../../../src/cli/completion/scripts.ts'
import { completionWords } from '../../../src/cli/completion/words.ts'
import { text } from '../../../src/cli/option-tables.ts'
import { run } from '../outbox/run-yaoki.ts'

const hasBash = spawnSync('bash', ['-c', 'true']).status === 0

/** What bash offers for the last of the words. */
function complete(script: string, name: string, ...words: string[]): string[] {
	const code = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${name}; printf '%s\\n' "\${COMPREPLY[@]}"`
	const { stdout, stderr } = spawnSync('bash', ['-c', code, 'bash', name, ...words], { encoding: 'utf8' })
	expect(stderr).toBe('')
	return stdout.split('\n').filter(Boolean)
}

const HOSTILE = ["it's", '$(echo run)', '*']
const small = {
	name: 'small',
	summary: '',
	examples: [],
	version: () => '1',
	commands: [
		{
			name: 'go',
			summary: "don't stop",
			load: async () =>
				defineCommand({
					examples: [],
					options: {
						way: text('NAME', "the way's name", { choices: HOSTILE, short: 'w' }),
						out: text('FILE', 'a file'),
					},
					run: async () => 'ok',
				}),
		},
	],
}

describe.skipIf(!hasBash)('completion bash', () => {
	test.each([
		[['out'], ['outbox']],
		[
			['outbox', 're'],
			['retry', 'resend', 'replay', 'resume'],
		],
		[['schedule', '--jitter', 'p'], ['proportional']],
		// Bash splits words at "=".
		[['schedule', '--jitter', '=', 'p'], ['proportional']],
		[
			['schedule', '--growth', '='],
			['exponential', 'linear', 'constant', 'fibonacci'],
		],
		[
			['schedule', '--ji'],
			['--jitter', '--jitter-factor', '--jitter-range'],
		],
		[['schedule', '--base', ''], []],
		[['--quiet', 'completion', 'z'], ['zsh']],
		[['lint', 'pack'], []],
	])('bash completion of yaoki %j offers %j', async (words, expected) => {
		const { code, stdout } = await run(['completion', 'bash'])
		expect(code).toBe(0)
		expect(complete(stdout, 'yaoki', ...words)).toEqual(expected)
	})

	test('the first example of its help loads it', async () => {
		const { stdout: help } = await run(['help', 'completion'])
		const example = help.split('\n').map((line) => line.trim())[2] ?? ''
		const { stdout: script } = await run(['completion', 'bash'])
		const code = `yaoki() { cat; }; ${example}; complete -p yaoki`
		const { stdout, stderr } = spawnSync('bash', ['-c', code], { encoding: 'utf8', input: script })
		expect({ example, stdout, stderr }).toEqual({
			example: 'eval "$(yaoki completion bash)"',
			stdout: 'complete -o default -F _yaoki yaoki\n',
			stderr: '',
		})
	})

	test('offers every command, and every option of each', async () => {
		const { stdout } = await run(['completion', 'bash'])
		for (const { name, options } of (await completionWords(yaoki)).commands) {
			const words = name.split(' ').filter(Boolean)
			const flags = options.flatMap((option) => option.flags)
			expect(complete(stdout, 'yaoki', ...words, '-'), name).toEqual(flags)
		}
	})

	test('neither runs nor expands what a choice contains', async () => {
		const script = bashScript(await completionWords(small))
		expect(complete(script, 'small', 'go', '--way', '')).toEqual(HOSTILE)
		expect(complete(script, 'small', 'go', '-w', 'it')).toEqual(["it's"])
	})

	test.each(['bash', 'zsh'])('the script for %s has valid syntax', async (shell) => {
		const { stdout: input } = await run(['completion', shell])
		expect(spawnSync('bash', ['-n'], { input, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
	})
})

test('completion zsh loads what runs the function', async () => {
	const { stdout } = await run(['completion', 'zsh'])
	// A second compinit costs a start of the shell, and may ask about insecure folders again.
	expect(stdout).toContain('\n(( $+functions[compdef] )) || compinit\nbashcompinit\n_yaoki() {\n')
})

test('completion fish has a line for each word and option, with quoted texts', async () => {
	const lines = fishScript(await completionWords(small)).split('\n')
	expect(lines).toContain(`complete -c small -f -n '__fish_use_subcommand' -a 'go' -d 'don\\'t stop'`)
	expect(lines).toContain(
		`complete -c small -n '__fish_seen_subcommand_from go' -l way -s w -x -a 'it\\'s $(echo run) *' -d 'the way\\'s name'`,
	)
	expect(lines).toContain(`complete -c small -n '__fish_seen_subcommand_from go' -l out -r -F -d 'a file'`)
})

test('an unknown shell is rejected with the names of the others', async () => {
	const { code, stdout, stderr } = await run(['completion', 'bsh'])
	expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
	expect(stderr).toContain(
		'Unknown value "bsh" for SHELL. Did you mean "bash"? Valid values: bash, zsh, fish.',
	)
})
