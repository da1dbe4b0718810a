/** Writes lines to the user's logger, which may throw, reject, hang or lack a level. */
import { invalidArgument } from '../../core/options/schema.ts'
import { escapeJson } from '../../text/sanitize.ts'
import type { ProblemReports } from '../observe/report.ts'
import type { LogLevel } from './levels.ts'

export interface LogLine {
	readonly message: string
	readonly fields: Readonly<Record<string, unknown>>
}

/**
 * A logger: pino, winston, bunyan, `console` or any object with methods of these names. If a level has no
 * method, the method of the next more severe level is called, and without one the method of a less severe level.
 */
export type LogTarget = { readonly [Method in LogMethod]?: LogFunction }

/** The names of methods: the levels, `warning` of syslog levels, and `log` of a minimal logger. */
export type LogMethod = LogLevel | 'warning' | 'log'

/** A method of a logger. It accepts all overloads that loggers declare. */
type LogFunction = (...args: never[]) => unknown

/**
 * How a line is passed. `fields-first`: `(fields, message)`. `message-first`: `(message, fields)`. `json`:
 * one string with both.
 */
export type LogOrder = 'fields-first' | 'message-first' | 'json'

/** The methods for a level. The first that exists is called, a more severe one before a less severe one. */
const METHODS: Readonly<Record<LogLevel, readonly LogMethod[]>> = {
	debug: ['debug', 'info', 'warn', 'warning', 'error', 'log'],
	info: ['info', 'warn', 'warning', 'error', 'debug', 'log'],
	warn: ['warn', 'warning', 'error', 'info', 'debug', 'log'],
	error: ['error', 'warn', 'warning', 'info', 'debug', 'log'],
}

const hasMethod = (target: LogTarget, method: LogMethod): boolean => typeof target[method] === 'function'

/** Throws unless the target has at least one of the methods. */
export function checkTarget(target: LogTarget): void {
	const isCallable = (typeof target === 'object' && target !== null) || typeof target === 'function'
	if (!isCallable || !METHODS.debug.some((method) => hasMethod(target, method)))
		invalidArgument('target', target, 'a logger with methods such as info and error')
}

/** `isLevelEnabled` of pino and winston. */
interface LevelFilter {
	isLevelEnabled?(level: string): unknown
}

export class TargetWriter {
	readonly #target: LogTarget
	readonly #order: LogOrder
	readonly #reports: ProblemReports

	constructor(target: LogTarget, order: LogOrder, reports: ProblemReports) {
		this.#target = target
		this.#order = order
		this.#reports = reports
	}

	/** Returns false if the logger would drop lines of the level, so that none has to be created. */
	accepts(level: LogLevel): boolean {
		try {
			const { isLevelEnabled } = this.#target as LevelFilter
			if (typeof isLevelEnabled !== 'function') return true
			return Boolean(isLevelEnabled.call(this.#target, this.#methodFor(level)))
		} catch (error) {
			this.#reportFailure(error)
			return true
		}
	}

	/** Never throws; `create` may. */
	write(level: LogLevel, create: () => LogLine): void {
		try {
			const result = this.#call(level, create())
			// `then` of a hostile thenable may throw, too.
			if (typeof Object(result).then === 'function')
				(result as PromiseLike<unknown>).then(undefined, (error) => this.#reportFailure(error))
		} catch (error) {
			this.#reportFailure(error)
		}
	}

	#call(level: LogLevel, { message, fields }: LogLine): unknown {
		const target = this.#target as Record<LogMethod, (...args: unknown[]) => unknown>
		const method = this.#methodFor(level)
		// A console is often a terminal, which acts on characters that JSON does not escape.
		if (this.#order === 'json')
			return target[method](escapeJson(JSON.stringify({ level, message, ...fields })))
		return this.#order === 'message-first' ? target[method](message, fields) : target[method](fields, message)
	}

	/** Looked up for every line, because tests and tools replace methods of loggers. */
	#methodFor(level: LogLevel): LogMethod {
		return METHODS[level].find((method) => hasMethod(this.#target, method)) ?? level
	}

	#reportFailure(error: unknown): void {
		this.#reports.report('write', 'the logger failed, lines are lost', error)
	}
}
