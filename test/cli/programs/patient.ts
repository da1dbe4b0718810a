/** A program for tests of real processes: one command that waits to be interrupted, one with a great deal to say. */
import { type Command, defineCommand } from '../../../src/cli/command.ts'
import { processTerminal } from '../../../src/cli/process-terminal.ts'
import type { CommandEntry } from '../../../src/cli/program.ts'
import { runCli } from '../../../src/cli/run.ts'

const text = { summary: '', examples: [], positionals: {} }

const wait = defineCommand({
	...text,
	name: 'wait',
	options: { busy: { type: 'boolean', does: 'does not come back after an interrupt' } },
	async run({ busy }, io) {
		// What only waits for a signal would not keep the process alive.
		const alive = io.runtime.setTimer(2 ** 40, () => {})
		io.note('waiting')
		await new Promise((resolve) => io.signal.addEventListener('abort', resolve))
		if (busy) {
			io.note('busy')
			while (alive);
		}
		alive()
		io.answer({ known: 'so far' }, 'known so far')
		return 'ok'
	},
})

const say = defineCommand({
	...text,
	name: 'say',
	options: { letters: { type: 'integer', value: 'N', does: 'how much', default: 1 } },
	async run({ letters }, io) {
		io.answer(letters, 'x'.repeat(letters))
		return 'checkFailed'
	},
})

const entry = (command: Command): CommandEntry => ({
	name: command.name,
	summary: command.summary,
	load: () => Promise.resolve({ command }),
})

process.exitCode = await runCli(process.argv.slice(2), processTerminal(process), {
	name: 'patient',
	summary: '',
	examples: [],
	commands: [wait, say].map(entry),
	version: () => '0',
})
