import { safeGet } from '../classify/safe-get.ts'
import type { ErrorFacts } from './events.ts'
import { toMessageText } from './message-text.ts'

/** Returns the error's name and its message, without the secrets of URLs and truncated. Works for any thrown value, hostile ones included. */
export function describeError(error: unknown): { readonly errorType: string; readonly errorMessage: string } {
	try {
		const { name, message, cause, errors } = Object(error)
		// "fetch failed" says nothing: the reason is in the cause, and an AggregateError may have an empty message.
		const inner = Object(cause ?? errors?.[0])
		const texts = [message ?? (typeof error === 'object' ? '' : error), inner.code ?? inner.message]
		return {
			errorType: String(name ?? typeof error),
			errorMessage: toMessageText(
				texts
					.filter((text) => (text ?? '') !== '')
					.map(String)
					.join(': '),
			),
		}
	} catch {
		return { errorType: typeof error, errorMessage: '' }
	}
}

/** Returns what is known about an error as fields of an event. Fields that the error does not have are left out. */
export function errorFacts(error: unknown): ErrorFacts {
	const facts: Record<string, unknown> = { ...describeError(error) }
	const cause = safeGet(error, 'cause')
	const code = safeGet(error, 'code') ?? safeGet(cause, 'code')
	if (typeof code === 'string' || typeof code === 'number') facts['errorCode'] = code
	const status =
		safeGet(error, 'statusCode') ?? safeGet(error, 'status') ?? safeGet(safeGet(error, 'response'), 'status')
	for (const [name, value] of [
		['statusCode', status],
		['timeoutMs', safeGet(error, 'timeoutMs')],
		['retryAfterMs', safeGet(error, 'retryAfterMs')],
	] as const)
		if (typeof value === 'number' && Number.isFinite(value)) facts[name] = value
	return facts
}
