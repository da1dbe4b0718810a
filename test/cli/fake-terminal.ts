/** A terminal without a process: tests read its output and call `interrupt()` for Ctrl-C. */
import { virtualRuntime } from 'yaoki/testing'
import type { OutputStream, Terminal, TerminalEvents } from '../../src/cli/terminal.ts'

export interface FakeOptions {
	/** Whether both outputs are terminals. Default: false. */
	readonly isTTY?: boolean
	readonly columns?: number
	readonly rows?: number
	readonly env?: Readonly<Record<string, string>>
	/** The error that `flush` returns. */
	readonly writeError?: Error
}

export class FakeOutput implements OutputStream {
	readonly isTTY: boolean
	columns: number
	rows: number
	text = ''

	constructor({ isTTY = false, columns = 80, rows = 24 }: FakeOptions = {}) {
		this.isTTY = isTTY
		this.columns = columns
		this.rows = rows
	}

	write(text: string): void {
		this.text += text
	}

	get lines(): string[] {
		return this.text.split('\n').slice(0, -1)
	}
}

export class FakeTerminal implements Terminal {
	readonly stdout: FakeOutput
	readonly stderr: FakeOutput
	readonly env: Readonly<Record<string, string>>
	readonly runtime = virtualRuntime()
	readonly listeners = new Set<TerminalEvents>()
	readonly #writeError: Error | undefined

	constructor(options: FakeOptions = {}) {
		this.stdout = new FakeOutput(options)
		this.stderr = new FakeOutput(options)
		this.env = options.env ?? {}
		this.#writeError = options.writeError
	}

	listen(events: TerminalEvents): () => void {
		this.listeners.add(events)
		return () => this.listeners.delete(events)
	}

	flush(): Promise<Error | undefined> {
		return Promise.resolve(this.#writeError)
	}

	interrupt(): void {
		for (const events of this.listeners) events.interrupted()
	}

	close(): void {
		for (const events of this.listeners) events.closed()
	}
}
