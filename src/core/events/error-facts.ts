import { safeGet } from '../classify/safe-get.ts'
import type { ErrorFacts } from './events.ts'
import { toMessageText } from './message-text.ts'

/** Returns the error's name and its message, without the secrets of URLs and truncated. Works for any thrown value, hostile ones included. */
export function describeError(error: unknown): { readonly errorType: string; readonly errorMessage: string } {
	try {
		const { name, message, cause, errors } = Object(error)
		// "fetch failed" says nothing: the reason is in the cause, and an AggregateError may have an empty message.
		const inner = Object(cause ?? errors?.[0])
		return {
			errorType: String(name ?? typeof error),
			errorMessage: toMessageText(
				[
					message ?? (typeof error === 'object' ? '' : error),
					/^YAOKI/.test(inner.code) ? inner.message : (inner.code ?? inner.message),
				]
					.map((text) => String(text ?? ''))
					.filter(Boolean)
					.join(': '),
			),
		}
	} catch {
		return { errorType: typeof error, errorMessage: '' }
	}
}

/** Returns what is known about an error as fields of an event. Fields that the error does not have are left out. */
export function errorFacts(error: unknown): ErrorFacts {
	const get = (name: string) => safeGet(error, name)
	const facts: Record<string, unknown> = { ...describeError(error) }
	const code = get('code') ?? safeGet(get('cause'), 'code')
	if (typeof code === 'string' || typeof code === 'number') facts['errorCode'] = code
	const numbers = {
		statusCode: get('statusCode') ?? get('status') ?? safeGet(get('response'), 'status'),
		timeoutMs: get('timeoutMs'),
		retryAfterMs: get('retryAfterMs'),
	}
	for (const [name, value] of Object.entries(numbers)) if (Number.isFinite(value)) facts[name] = value
	return facts
}
