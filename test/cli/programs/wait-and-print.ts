/** A program for tests with real processes: `wait` waits for Ctrl-C, `print` prints a long text. */

import type { CommandEntry } from '../../../src/cli/command.ts'
import { type Command, defineCommand } from '../../../src/cli/command.ts'
import { runCli } from '../../../src/cli/run.ts'
import { processTerminal } from '../../../src/cli/terminal.ts'

const wait = defineCommand({
	examples: [],
	options: { busy: { type: 'boolean', description: 'keep JavaScript busy after Ctrl-C' } },
	positionals: {},
	async run({ busy }, io) {
		// Waiting for a signal alone does not keep the process alive.
		const cancel = io.runtime.setTimer(2 ** 40, () => {})
		io.note('waiting')
		await new Promise((resolve) => io.signal.addEventListener('abort', resolve))
		if (busy) {
			io.note('busy')
			while (cancel);
		}
		cancel()
		io.result({ known: 'so far' }, 'known so far')
		return 'ok'
	},
})

const print = defineCommand({
	examples: [],
	options: { length: { type: 'integer', placeholder: 'N', description: 'characters to print', default: 1 } },
	positionals: {},
	async run({ length }, io) {
		io.result(length, 'x'.repeat(length))
		return 'checkFailed'
	},
})

const entry = (name: string, command: Command): CommandEntry => ({
	name,
	summary: '',
	load: () => Promise.resolve(command),
})

process.exitCode = await runCli(process.argv.slice(2), processTerminal(process), {
	name: 'test-program',
	summary: '',
	examples: [],
	commands: [entry('wait', wait), entry('print', print)],
	version: () => '0',
})
