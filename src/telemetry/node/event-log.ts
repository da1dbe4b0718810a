/** Writes all events to a file, for incident replay. */
import type { EventBase } from '../../core/events/events.ts'
import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { Exporter } from '../observe/exporter.ts'
import { ProblemReports } from '../observe/report.ts'
import { type RedactField, Redactor } from '../redact/redactor.ts'
import { type EventLogStats, EventLogWriter } from './event-log-writer.ts'
import { type FileSystem, nodeFileSystem, RotatingFile } from './rotating-file.ts'

/** Options of `eventLog`. */
export interface EventLogOptions {
	/** The file. Each process needs its own. Its folder must exist. */
	readonly path: string
	/** The maximum size of a file. A full file becomes `path.1`, then `path.2`. Default 100,000,000. */
	readonly maxBytes?: number | undefined
	/** The maximum number of files, the current one included. The oldest is deleted. Default 5. */
	readonly maxFiles?: number | undefined
	/**
	 * The maximum size of events in memory. If events arrive faster than the disk writes them, events are
	 * dropped and counted. Default 4,000,000.
	 */
	readonly bufferBytes?: number | undefined
	/** How long events are collected before they are written together. Default 100. */
	readonly flushIntervalMs?: number | undefined
	/**
	 * Returns what is written of a text, such as `errorMessage`, to hide more than URLs, passwords and tokens.
	 * Default: the text.
	 */
	readonly redact?: RedactField | undefined
	/** Clock and timers. Default: those of the system. */
	readonly runtime?: Runtime | undefined
}

/** An event log, which `eventLog` returns. Pass it to `observe`, and close it when the process ends. */
export interface EventLog extends Exporter {
	/** Counts since the creation. */
	readonly stats: EventLogStats
	/** Writes the buffer. Never rejects: `stats` has the number of failures. */
	flush(): Promise<void>
	/** Writes the buffer and closes the file. Later events are dropped. Never rejects. */
	close(): Promise<void>
}

const EVENT_LOG_SCHEMA: OptionSchema = {
	path: 'string',
	maxBytes: [1_000, MAX_NUMBER, 100_000_000, 'integer'],
	maxFiles: [1, 1_000, 5, 'integer'],
	bufferBytes: [1_000, MAX_NUMBER, 4_000_000, 'integer'],
	flushIntervalMs: [0, MAX_NUMBER, 100],
	redact: 'function',
	runtime: 'any',
}

type EventLogSettings = {
	readonly [Name in keyof Omit<EventLogOptions, 'redact'>]-?: NonNullable<EventLogOptions[Name]>
} & Pick<EventLogOptions, 'redact'>

export function readEventLogOptions(options: EventLogOptions): EventLogSettings {
	checkNames(options, EVENT_LOG_SCHEMA, 'eventLog')
	const settings = readOptions<EventLogSettings>(options, EVENT_LOG_SCHEMA)
	const { path, runtime = systemRuntime } = settings
	if (typeof path !== 'string' || path === '') invalidOption('path', path, 'the path of a file')
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	return { ...settings, runtime }
}

/**
 * Creates an exporter for `observe` that writes all events as JSON lines, which `yaoki simulate --incident`
 * reads. Writes are asynchronous and buffered, the files have a maximum size, and a disk that is full, slow
 * or missing never affects a call.
 *
 * @example
 * const log = eventLog({ path: `/var/log/shop/events.${process.pid}.jsonl` })
 * const stop = observe({ payments, client }, [log])
 * process.once('beforeExit', () => log.close())
 */
export function eventLog(options: EventLogOptions): EventLog {
	return createEventLog(options, nodeFileSystem)
}

export function createEventLog(options: EventLogOptions, fileSystem: FileSystem): EventLog {
	const settings = readEventLogOptions(options)
	const file = new RotatingFile(settings.path, settings, fileSystem)
	const reports = new ProblemReports('eventLog')
	const writer = new EventLogWriter(settings, file, reports)
	const redactor = new Redactor(settings.redact, reports)
	const lineOf = (service: string, { type, ...facts }: EventBase): string => {
		const { service: name, ...shown } = redactor.fields({ service, ...facts })
		return JSON.stringify({ service: name, type, ...shown })
	}
	return {
		name: 'eventLog',
		get stats() {
			return writer.stats
		},
		flush: () => writer.flush(),
		close: () => writer.close(),
		attach: (source) => ({
			level: 'all',
			onEvent: (event) => writer.add(() => lineOf(source.serviceOf(event), event)),
			detach: () => {
				void writer.flush()
			},
		}),
	}
}
