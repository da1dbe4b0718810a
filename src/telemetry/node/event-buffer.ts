/**
 * Lines that wait to be written, in bounded memory. If events arrive faster than the disk writes them, events
 * are dropped, and a line in the file has their number, because a reader would take a log with an unmarked
 * gap for complete.
 */
import type { DroppedEvents } from '../../core/events/events.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { ProblemReports } from '../observe/report.ts'

export interface BufferSettings {
	readonly path: string
	readonly maxBytes: number
	readonly bufferBytes: number
	readonly runtime: Runtime
}

export interface BufferedLine {
	readonly line: Buffer
	/** 0 for a line about dropped events. */
	readonly events: 0 | 1
}

export class EventBuffer {
	readonly #settings: BufferSettings
	readonly #reports: ProblemReports
	#lines: BufferedLine[] = []
	bytes = 0
	/** The number of events that were dropped so far. */
	dropped = 0
	/** Dropped events without a line. */
	#unreported = 0
	/** True after a drop until half of the buffer is free: one long gap instead of many short ones. */
	#isFull = false

	constructor(settings: BufferSettings, reports: ProblemReports) {
		this.#settings = settings
		this.#reports = reports
	}

	/** The number of lines. */
	get length(): number {
		return this.#lines.length
	}

	/** The number of events. */
	get events(): number {
		return this.#lines.reduce((sum, { events }) => sum + events, 0)
	}

	get last(): BufferedLine | undefined {
		return this.#lines.at(-1)
	}

	has(line: BufferedLine): boolean {
		return this.#lines.includes(line)
	}

	/** Adds the line of an event, or counts the event as dropped. Never throws, even if `create` does. */
	add(create: () => string): void {
		const line = this.#accept(create)
		if (!line) {
			this.drop()
			return
		}
		this.addDropped()
		this.#push({ line, events: 1 })
	}

	drop(): void {
		this.dropped++
		this.#unreported++
	}

	/** Adds a line with the number of events that were dropped since the last such line, if there are any. */
	addDropped(): void {
		if (this.#unreported === 0) return
		const note: DroppedEvents = {
			type: 'telemetry_events_dropped',
			emitter: 'eventLog',
			timestamp: this.#settings.runtime.wallNow(),
			count: this.#unreported,
		}
		this.#unreported = 0
		this.#push({ line: Buffer.from(`${JSON.stringify(note)}\n`), events: 0 })
	}

	/** Returns the first lines, which stay in the buffer until they are removed. */
	first(count: number): readonly Buffer[] {
		return this.#lines.slice(0, count).map(({ line }) => line)
	}

	/** Removes the first lines. Returns the number of their events. */
	remove(count: number): number {
		let removed = 0
		for (const { line, events } of this.#lines.splice(0, count)) {
			this.bytes -= line.length
			removed += events
		}
		return removed
	}

	#accept(create: () => string): Buffer | undefined {
		const { bufferBytes, maxBytes, path } = this.#settings
		if (this.#isFull && this.bytes > bufferBytes / 2) return undefined
		const line = this.#create(create)
		if (!line) return undefined
		this.#isFull = this.bytes + line.length > bufferBytes
		if (line.length > maxBytes) {
			const text = `an event of ${line.length} bytes is larger than maxBytes and was dropped`
			this.#reports.report('too large', text)
		} else if (this.#isFull) {
			const advice = 'The disk is too slow or has failed, or bufferBytes is too small.'
			this.#reports.report('full', `the buffer of ${path} is full, events are dropped. ${advice}`)
		} else return line
		return undefined
	}

	#create(create: () => string): Buffer | undefined {
		try {
			return Buffer.from(`${create()}\n`)
		} catch (error) {
			this.#reports.report('not JSON', 'an event cannot be written as JSON and was dropped', error)
			return undefined
		}
	}

	#push(line: BufferedLine): void {
		this.#lines.push(line)
		this.bytes += line.line.length
	}
}
