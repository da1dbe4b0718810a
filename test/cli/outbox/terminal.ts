/** `yaoki` in this process, with a terminal that can be read and the system's clock: databases have their own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import type { TerminalEvents } from '../../../src/cli/terminal.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { FakeOutput } from '../fake-terminal.ts'

export interface Ran {
	readonly code: number
	readonly stdout: string
	readonly stderr: string
}

export interface Running {
	readonly stdout: FakeOutput
	readonly stderr: FakeOutput
	readonly ended: Promise<Ran>
	interrupt(): void
}

/** Starts it, and lets it run. */
export function start(
	words: readonly string[],
	env: Readonly<Record<string, string>> = {},
	columns = 100,
): Running {
	const [stdout, stderr] = [new FakeOutput({ columns }), new FakeOutput({ columns })]
	const listeners = new Set<TerminalEvents>()
	const terminal = {
		...{ stdout, stderr, env, runtime: systemRuntime, flush: () => Promise.resolve(undefined) },
		listen(events: TerminalEvents) {
			listeners.add(events)
			return () => void listeners.delete(events)
		},
	}
	const ended = runCli(words, terminal, yaoki).then((code) => ({
		code,
		stdout: stdout.text,
		stderr: stderr.text,
	}))
	const interrupt = () => {
		for (const events of listeners) events.interrupted()
	}
	return { stdout, stderr, ended, interrupt }
}

/** Runs it to its end. */
export const run = (words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran> =>
	start(words, env).ended

/** A folder that is gone when the test is over. */
export function folder(): string {
	const path = mkdtempSync(join(tmpdir(), 'yaoki-cli-'))
	onTestFinished(() => rmSync(path, { recursive: true, force: true }))
	return path
}
