/**
 * What the command line needs from its process, as an object that is passed in: tests pass a terminal of
 * their own, and only main.ts uses the real process.
 *
 * A failed write is an event of its stream, and without a listener it ends the process with a stack trace; so
 * a listener stays attached to the end. A closed pipe is not a failure (`| head` has read enough); a full
 * disk is.
 */
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'

/** Standard output or standard error. */
export interface OutputStream {
	write(text: string): void
	readonly isTTY: boolean
	readonly columns: number
	readonly rows: number
}

export interface TerminalEvents {
	/** Ctrl-C. Called once; a second Ctrl-C ends the process without a call. */
	interrupted(): void
	/** Standard output was closed by its reader, for example by `| head`. */
	closed(): void
}

export interface Terminal {
	/** For results. */
	readonly stdout: OutputStream
	/** For messages to the user. */
	readonly stderr: OutputStream
	readonly env: Readonly<Record<string, string | undefined>>
	readonly runtime: Runtime
	/** Listens until the returned function is called. */
	listen(events: TerminalEvents): () => void
	/** Resolves when all is written: with an error if standard output failed and was not just closed. */
	flush(): Promise<Error | undefined>
}

interface NodeStream {
	readonly isTTY?: boolean
	readonly columns?: number
	readonly rows?: number
	write(text: string, done?: (error?: Error | null) => void): unknown
	on(event: 'error', listener: (error: Error) => void): unknown
}

export interface ProcessLike {
	readonly stdout: NodeStream
	readonly stderr: NodeStream
	readonly env: Readonly<Record<string, string | undefined>>
	once(event: 'SIGINT', listener: () => void): unknown
	off(event: 'SIGINT', listener: () => void): unknown
}

/**
 * Returns the terminal of a real process. The SIGINT listener is removed by the first Ctrl-C, so a second one
 * ends the process even while JavaScript is busy.
 */
export function processTerminal(process: ProcessLike, runtime: Runtime = systemRuntime): Terminal {
	const { env } = process
	const listeners = new Set<TerminalEvents>()
	const stdout = processStream(process.stdout, () => {
		for (const { closed } of listeners) closed()
	})
	const stderr = processStream(process.stderr, () => {})

	const listen = (events: TerminalEvents): (() => void) => {
		const interrupted = () => events.interrupted()
		process.once('SIGINT', interrupted)
		listeners.add(events)
		return () => {
			process.off('SIGINT', interrupted)
			listeners.delete(events)
		}
	}
	const flush = async (): Promise<Error | undefined> => {
		await stderr.flush()
		return stdout.flush()
	}
	return { stdout, stderr, env, runtime, listen, flush }
}

const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24

/** Wraps a stream. `onError` is called for its first error. */
function processStream(stream: NodeStream, onError: () => void) {
	// The original method: main.ts replaces `process.stdout.write` later.
	const write = stream.write.bind(stream)
	let firstError: Error | undefined
	stream.on('error', (error) => {
		if (firstError) return
		firstError = error
		onError()
	})
	return {
		get isTTY() {
			return stream.isTTY === true
		},
		// Read each time because a window can be resized. Some terminals report 0 columns.
		get columns() {
			return stream.columns || DEFAULT_COLUMNS
		},
		get rows() {
			return stream.rows || DEFAULT_ROWS
		},
		write(text: string) {
			if (!firstError) write(text)
		},
		async flush(): Promise<Error | undefined> {
			// The callback of an empty write comes after all earlier writes, and reports an error before the error
			// event does.
			const last = firstError ?? (await new Promise<unknown>((resolve) => write('', resolve)))
			return last instanceof Error && !isClosedPipe(last) ? last : undefined
		},
	}
}

const isClosedPipe = (error: Error): boolean => 'code' in error && error.code === 'EPIPE'
