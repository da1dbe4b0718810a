/** Runs `yaoki` in this process, with a fake terminal and the system clock, because databases use the system clock too. */
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import type { TerminalEvents } from '../../../src/cli/terminal.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { type FakeOptions, FakeOutput } from '../fake-terminal.ts'

export interface RunResult {
	readonly code: number
	readonly stdout: string
	readonly stderr: string
}

export interface Running {
	readonly stdout: FakeOutput
	readonly stderr: FakeOutput
	readonly ended: Promise<RunResult>
	interrupt(): void
	/** Closes standard output, as `| head` does. */
	closeOutput(): void
}

/** Starts a command without waiting for its end. */
export function start(
	args: readonly string[],
	env: Readonly<Record<string, string>> = {},
	columns = 100,
	options: Pick<FakeOptions, 'isTTY' | 'rows'> = {},
): Running {
	const [stdout, stderr] = [new FakeOutput({ columns, ...options }), new FakeOutput({ columns })]
	const listeners = new Set<TerminalEvents>()
	const terminal = {
		stdout,
		stderr,
		env,
		runtime: systemRuntime,
		flush: () => Promise.resolve(undefined),
		listen(events: TerminalEvents) {
			listeners.add(events)
			return () => void listeners.delete(events)
		},
	}
	const ended = runCli(args, terminal, yaoki).then((code) => ({
		code,
		stdout: stdout.text,
		stderr: stderr.text,
	}))
	const interrupt = () => {
		for (const events of listeners) events.interrupted()
	}
	const closeOutput = () => {
		for (const events of listeners) events.closed()
	}
	return { stdout, stderr, ended, interrupt, closeOutput }
}

/** Runs a command to its end. */
export const run = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunResult> =>
	start(args, env).ended
