import type { EventBase } from '../../core/events/events.ts'
import { isErrorStatus } from './errors.ts'

type Attributes = { [name: string]: string | number | boolean }

/** The fields of events that become attributes of a span event. */
const FIELDS: Readonly<Record<string, readonly (readonly [field: string, attribute: string])[]>> = {
	retry_attempt: [
		['delayMs', 'yaoki.delay_ms'],
		['delaySource', 'yaoki.delay_source'],
		['errorType', 'error.type'],
	],
	timeout: [['timeoutMs', 'yaoki.timeout_ms']],
	rejected: [
		['reason', 'yaoki.reason'],
		['retryAfterMs', 'yaoki.retry_after_ms'],
		['shadow', 'yaoki.shadow'],
	],
	fallback: [['errorType', 'error.type']],
	hedge: [
		['outcome', 'yaoki.hedge.outcome'],
		['hedge', 'yaoki.hedge.number'],
	],
}

/** The names of the events that become span events, with their attributes; for the guide. */
export const SPAN_EVENTS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
	Object.entries(FIELDS).map(([type, fields]) => [
		`yaoki.${type}`,
		['yaoki.emitter', ...fields.map(([, attribute]) => attribute)],
	]),
)

/** Returns the span event; undefined for events that are not part of a call's history. */
export function spanEventOf(
	event: EventBase,
): { readonly name: string; readonly attributes: Attributes } | undefined {
	const fields = FIELDS[event.type]
	if (!fields) return undefined
	const attributes: Attributes = { 'yaoki.emitter': event.emitter }
	for (const [field, attribute] of fields) {
		const value: unknown = Reflect.get(event, field)
		if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
			attributes[attribute] = value
	}
	// The semantic conventions: the error of a response is its status.
	const { statusCode } = event as { readonly statusCode?: unknown }
	if ('error.type' in attributes && typeof statusCode === 'number' && isErrorStatus(statusCode))
		attributes['error.type'] = `${statusCode}`
	return { name: `yaoki.${event.type}`, attributes }
}
