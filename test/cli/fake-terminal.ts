/** A terminal without a process: what was written can be read, and Ctrl-C is a method. */
import { virtualRuntime } from 'yaoki/testing'
import type { Outlet, Terminal, TerminalEvents } from '../../src/cli/terminal.ts'

export interface FakeOptions {
	/** Are both outputs a screen? Default: no. */
	readonly isTTY?: boolean
	readonly columns?: number
	readonly env?: Readonly<Record<string, string>>
	/** What the last write comes to. */
	readonly lost?: Error
}

export class FakeOutlet implements Outlet {
	readonly isTTY: boolean
	readonly columns: number
	text = ''

	constructor({ isTTY = false, columns = 80 }: FakeOptions = {}) {
		this.isTTY = isTTY
		this.columns = columns
	}

	write(text: string): void {
		this.text += text
	}

	get lines(): string[] {
		return this.text.split('\n').slice(0, -1)
	}
}

export class FakeTerminal implements Terminal {
	readonly stdout: FakeOutlet
	readonly stderr: FakeOutlet
	readonly env: Readonly<Record<string, string>>
	readonly runtime = virtualRuntime()
	readonly listeners = new Set<TerminalEvents>()
	readonly #lost: Error | undefined

	constructor(options: FakeOptions = {}) {
		this.stdout = new FakeOutlet(options)
		this.stderr = new FakeOutlet(options)
		this.env = options.env ?? {}
		this.#lost = options.lost
	}

	listen(events: TerminalEvents): () => void {
		this.listeners.add(events)
		return () => this.listeners.delete(events)
	}

	written(): Promise<Error | undefined> {
		return Promise.resolve(this.#lost)
	}

	interrupt(): void {
		for (const events of this.listeners) events.interrupted()
	}

	close(): void {
		for (const events of this.listeners) events.closed()
	}
}
