/** Writes events to the logger of the application. */

import { MAX_MESSAGE_LENGTH } from '../../core/events/error-facts.ts'
import type { EventBase } from '../../core/events/events.ts'
import {
	checkName,
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { Exporter, ObservedSource } from '../observe/exporter.ts'
import { ProblemReports } from '../observe/report.ts'
import { type RedactField, Redactor } from '../redact/redactor.ts'
import { LOG_LEVELS, type LogLevel, levelOf } from './levels.ts'
import { LineLimit } from './limit.ts'
import { messageOf } from './messages.ts'
import { checkTarget, type LogLine, type LogOrder, type LogTarget, TargetWriter } from './target.ts'

/** Options of `logger`. */
export interface LoggerOptions {
	/**
	 * How a line is passed: `'fields-first'` for pino and bunyan, `'message-first'` for winston, `'json'` for
	 * one string. Default `'json'` for the global `console`, otherwise `'fields-first'`.
	 */
	readonly order?: LogOrder | undefined
	/** The least severe level that is passed to the logger. Default `'debug'`. */
	readonly level?: LogLevel | undefined
	/**
	 * Repeated lines are limited to one in this time, with the number of lines that were left out. 0 logs all.
	 * Default 10,000.
	 */
	readonly intervalMs?: number | undefined
	/**
	 * Returns what is logged of a text, such as `errorMessage`, to hide more than URLs, passwords and tokens.
	 * Default: the text.
	 */
	readonly redact?: RedactField | undefined
	/** Clock and timers. Default: those of the system. */
	readonly runtime?: Runtime | undefined
}

const ORDERS: readonly LogOrder[] = ['fields-first', 'message-first', 'json']

const LOGGER_SCHEMA: OptionSchema = {
	order: 'any',
	level: LOG_LEVELS,
	intervalMs: [0, MAX_NUMBER, 10_000],
	redact: 'function',
	runtime: 'any',
}

interface LoggerSettings {
	readonly order?: LogOrder
	readonly level: LogLevel
	readonly intervalMs: number
	readonly redact?: RedactField
	readonly runtime: Runtime
}

export function readLoggerOptions(options: LoggerOptions = {}): LoggerSettings {
	checkNames(options, LOGGER_SCHEMA, 'logger')
	const settings = readOptions<LoggerSettings>({ runtime: systemRuntime, ...options }, LOGGER_SCHEMA)
	const { order, runtime = systemRuntime } = settings
	if (order !== undefined) checkName('order', order, ORDERS)
	if (typeof (runtime as Partial<Runtime> | null)?.setTimer !== 'function')
		invalidOption('runtime', runtime, 'a Runtime')
	return { ...settings, runtime }
}

/** A line is created from this when it is written. */
interface LoggedEvent {
	readonly level: LogLevel
	readonly event: EventBase
}

/**
 * Creates an exporter for `observe` that writes events to a logger: pino, winston, bunyan, `console` or any
 * object with such methods. Repeated lines are limited. A logger that fails never affects a call.
 *
 * @example
 * import { pino } from 'pino'
 * import winston from 'winston'
 *
 * observe({ payments, client }, [logger(pino())])
 * observe({ payments, client }, [logger(winston.createLogger(), { order: 'message-first' })])
 * observe({ payments, client }, [logger(console, { level: 'warn' })])
 */
export function logger(target: LogTarget, options: LoggerOptions = {}): Exporter {
	checkTarget(target)
	const { order, level: minimum, intervalMs, redact, runtime } = readLoggerOptions(options)
	const reports = new ProblemReports('logger')
	const redactor = new Redactor(redact, reports)
	const isConsole = target === globalThis.console
	const writer = new TargetWriter(target, order ?? (isConsole ? 'json' : 'fields-first'), reports)
	const least = LOG_LEVELS.indexOf(minimum)

	return {
		name: 'logger',
		attach(source) {
			const limit = new LineLimit<LoggedEvent>(runtime, intervalMs, ({ level, event }, suppressed) => {
				writer.write(level, () => {
					const { type, timestamp, ...facts } = event
					const { service, ...shown } = redactor.fields({ service: source.serviceOf(event), ...facts })
					const redacted = { type, timestamp, ...shown }
					return { message: messageOf(service, redacted), fields: fieldsOf(service, redacted, suppressed) }
				})
			})
			return {
				onEvent(event) {
					const level = levelOf(event)
					if (level === undefined || LOG_LEVELS.indexOf(level) < least || !writer.accepts(level)) return
					limit.add(causeOf(source, event), { level, event })
				},
				detach: () => limit.flush(),
			}
		},
	}
}

/**
 * Fields that distinguish causes. A key does not: an outage that affects 10,000 tenants is one cause.
 * Destinations of a relay are few, and each is a dependency of its own.
 */
const CAUSE_FIELDS = [
	'destination',
	'stop',
	'reason',
	'from',
	'to',
	'cause',
	'operation',
	'errorType',
	'errorCode',
	'statusCode',
]

function causeOf(source: ObservedSource, event: EventBase): string {
	const facts = CAUSE_FIELDS.map((field) => String(Reflect.get(event, field)))
	const { endpointId = '' } = event as EventBase & { readonly endpointId?: string }
	// Someone has to look at each endpoint that is disabled; an outage of a provider makes thousands of them fail.
	const subject = event.type === 'webhook_endpoint_disabled' ? endpointId : ''
	return [source.serviceOf(event), event.emitter, event.type, subject, ...facts]
		.join('\n')
		.slice(0, MAX_MESSAGE_LENGTH)
}

/** Returns `event`, the facts of the event, and an ISO 8601 time, which people and log stores read. */
function fieldsOf(service: string, event: EventBase, suppressed: number): LogLine['fields'] {
	const { type, timestamp, ...facts } = event
	const fields: Record<string, unknown> = { event: type, service }
	for (const [name, value] of Object.entries(facts))
		fields[name] =
			typeof value === 'string' ? shorten(value) : typeof value === 'number' ? rounded(value) : value
	fields['timestamp'] = new Date(timestamp).toISOString()
	if (suppressed > 0) fields['suppressed'] = suppressed
	return fields
}

/** A duration on a precise clock has many decimals, which are noise to a reader. */
const rounded = (value: number): number => Math.round(value * 1_000) / 1_000

const shorten = (text: string): string =>
	text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}...` : text
