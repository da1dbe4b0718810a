/** Writes lines in order and in batches. Adding one only stores it: a call never waits for a disk. */
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import type { ProblemReports } from '../observe/report.ts'
import { type BufferSettings, EventBuffer } from './event-buffer.ts'
import type { RotatingFile } from './rotating-file.ts'

/**
 * Counts of an event log since its creation, for example of dropped events. Read it from `stats` of an
 * `EventLog`.
 */
export interface EventLogStats {
	/** Events in the file, including those that rotation has deleted since. */
	readonly written: number
	/** Events that were not written: the buffer was full, the event was too large, or the log was closed. */
	readonly dropped: number
	/** Failed writes. They are repeated. */
	readonly failures: number
	/** Bytes in the file, including those that rotation has deleted since. */
	readonly bytes: number
	/** Events in the buffer. */
	readonly buffered: number
}

export interface WriterSettings extends BufferSettings {
	readonly flushIntervalMs: number
}

/** The file is opened again this time after a failure. */
const RETRY_MS = 1_000

/** A flush does not wait longer for a disk that hangs. */
const HUNG_MS = 10_000

/** The file takes no more lines in one write. */
const MAX_WRITE_LINES = 10_000

/** More bytes than this are written immediately. */
const BATCH_BYTES = 64 * 1_024

export class EventLogWriter {
	readonly #settings: WriterSettings
	readonly #file: RotatingFile
	readonly #reports: ProblemReports
	readonly #buffer: EventBuffer
	readonly #counts = { written: 0, failures: 0, bytes: 0 }
	#isClosed = false
	#timer: CancelTimer | undefined
	/** True if the timer waits for a retry. */
	#isRetrying = false
	#writing: Promise<void> | undefined

	constructor(settings: WriterSettings, file: RotatingFile, reports: ProblemReports) {
		this.#settings = settings
		this.#file = file
		this.#reports = reports
		this.#buffer = new EventBuffer(settings, reports)
	}

	get stats(): EventLogStats {
		const { dropped, events } = this.#buffer
		return { ...this.#counts, dropped, buffered: events }
	}

	/** Adds the line of an event. Never throws. */
	add(create: () => string): void {
		if (this.#isClosed) this.#buffer.drop()
		else {
			this.#buffer.add(create)
			this.#schedule()
		}
	}

	/** Writes the buffer. Resolves after one failed try, or after a limit if the disk hangs. Never rejects. */
	flush(): Promise<void> {
		return withTimeout(this.#settings.runtime, HUNG_MS, this.#flush())
	}

	async #flush(): Promise<void> {
		const { last } = this.#buffer
		const { failures } = this.#counts
		while (last && this.#buffer.has(last) && this.#counts.failures === failures) await this.#write()
	}

	/**
	 * Writes the buffer and closes the file. What cannot be written, and every later event, counts as dropped.
	 * If the disk hangs, the promise resolves after the limit of `flush`, and the rest is written when the disk
	 * responds.
	 */
	close(): Promise<void> {
		if (!this.#isClosed) this.#buffer.addDropped()
		this.#isClosed = true
		return withTimeout(this.#settings.runtime, HUNG_MS, this.#close())
	}

	async #close(): Promise<void> {
		await this.#flush()
		this.#cancelTimer()
		this.#buffer.dropped += this.#buffer.remove(Infinity)
		await this.#file.close()
	}

	/** Keeps the process alive until the buffer is written, so that its last events are not lost. */
	#schedule(): void {
		if (this.#buffer.length === 0 || this.#writing || this.#isRetrying || this.#isClosed) return
		const { runtime, flushIntervalMs } = this.#settings
		if (this.#buffer.bytes >= BATCH_BYTES) void this.#write()
		else this.#timer ??= runtime.setTimer(flushIntervalMs, this.#onTimer, 'wait')
	}

	readonly #onTimer = (): void => {
		void this.#write()
	}

	#cancelTimer(): void {
		this.#timer?.()
		this.#timer = undefined
		this.#isRetrying = false
	}

	/** Writes what is in the buffer now. Never rejects. */
	#write(): Promise<void> {
		this.#cancelTimer()
		this.#writing ??= this.#writeBuffer().finally(() => {
			this.#writing = undefined
			this.#schedule()
		})
		return this.#writing
	}

	async #writeBuffer(): Promise<void> {
		for (let left = this.#buffer.length; left > 0; ) {
			const { lines, bytes, error } = await this.#file.append(
				this.#buffer.first(Math.min(left, MAX_WRITE_LINES)),
			)
			this.#counts.written += this.#buffer.remove(lines)
			this.#counts.bytes += bytes
			left -= lines
			if (error !== undefined) {
				this.#retryLater(error)
				return
			}
		}
	}

	#retryLater(error: unknown): void {
		this.#counts.failures++
		const code = String(Object(error).code ?? error)
		this.#reports.report(code, `cannot write ${this.#settings.path}, trying again`, error)
		if (this.#isClosed) return
		this.#isRetrying = true
		this.#timer = this.#settings.runtime.setTimer(RETRY_MS, this.#onTimer, 'housekeeping')
	}
}
