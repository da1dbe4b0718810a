/**
 * All that a command line needs of its process, as an object that is handed in: so a test is a terminal of its own, and
 * nothing but main.ts knows that there is a process. Node's version is in process-terminal.ts.
 */
import type { Runtime } from '../core/runtime/runtime.ts'

/** Where text goes: standard output, or standard error. */
export interface Outlet {
	write(text: string): void
	/** Does somebody see it at once? */
	readonly isTTY: boolean
	/** Its width in letters. */
	readonly columns: number
}

/** What may happen to a run from outside. */
export interface TerminalEvents {
	/** Ctrl-C. It is told once; a second one is not told but ends the process at once. */
	interrupted(): void
	/** Nobody reads standard output any more, as after `| head`. */
	closed(): void
}

export interface Terminal {
	/** For data. */
	readonly stdout: Outlet
	/** For talk. */
	readonly stderr: Outlet
	readonly env: Readonly<Record<string, string | undefined>>
	readonly runtime: Runtime
	/** Listens until the function that it returns is called. */
	listen(events: TerminalEvents): () => void
	/** Waits until all data and all talk has left. Answers the error if data could not, unless that was only a reader who had enough. */
	written(): Promise<Error | undefined>
}
