/**
 * The terminal of a real process. A failed write is an event of its stream, which ends the process with a stack trace
 * unless somebody listens; so somebody listens from the start to the very end. A closed pipe is no failure (`| head` has
 * read enough), a full disk is one.
 *
 * A second Ctrl-C is left to the system: after the first one nobody listens any more, so that it ends the process even while
 * JavaScript is busy.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import type { Outlet, Terminal, TerminalEvents } from './terminal.ts'

/** What is taken of a stream of Node. */
interface Stream {
	readonly isTTY?: boolean
	readonly columns?: number
	write(text: string, done?: (error?: Error | null) => void): unknown
	on(event: 'error', heard: (error: Error) => void): unknown
}

/** What is taken of Node's `process`. */
export interface ProcessLike {
	readonly stdout: Stream
	readonly stderr: Stream
	readonly env: Readonly<Record<string, string | undefined>>
	once(event: 'SIGINT', heard: () => void): unknown
	off(event: 'SIGINT', heard: () => void): unknown
}

export function processTerminal(process: ProcessLike, runtime: Runtime = systemRuntime): Terminal {
	const { env } = process
	const listeners = new Set<TerminalEvents>()
	const stdout = new StreamOutlet(process.stdout, () => {
		for (const { closed } of listeners) closed()
	})
	const stderr = new StreamOutlet(process.stderr, () => {})

	const listen = (events: TerminalEvents): (() => void) => {
		const interrupted = () => events.interrupted()
		process.once('SIGINT', interrupted)
		listeners.add(events)
		return () => {
			process.off('SIGINT', interrupted)
			listeners.delete(events)
		}
	}
	const written = async (): Promise<Error | undefined> => {
		await stderr.written()
		return stdout.written()
	}
	return { stdout, stderr, env, runtime, listen, written }
}

/** What a terminal has that does not say how wide it is. */
const USUAL_COLUMNS = 80

class StreamOutlet implements Outlet {
	readonly #stream: Stream
	/** As it is at first, whatever is put in its place. */
	readonly #write: Stream['write']
	#error: Error | undefined

	constructor(stream: Stream, closed: () => void) {
		this.#stream = stream
		this.#write = stream.write.bind(stream)
		stream.on('error', (error) => {
			if (this.#error) return
			this.#error = error
			closed()
		})
	}

	get isTTY(): boolean {
		return this.#stream.isTTY === true
	}

	/** Asked anew each time, for a window may be resized. Some terminals say 0 when they do not know. */
	get columns(): number {
		return this.#stream.columns || USUAL_COLUMNS
	}

	write(text: string): void {
		if (!this.#error) this.#write(text)
	}

	async written(): Promise<Error | undefined> {
		// An empty text comes last in the queue, and is called back however that ends; the event may come only later.
		const last = this.#error ?? (await new Promise<unknown>((resolve) => this.#write('', resolve)))
		return last instanceof Error && !isClosedPipe(last) ? last : undefined
	}
}

const isClosedPipe = (error: Error): boolean => 'code' in error && error.code === 'EPIPE'
