import { safeGet } from '../classify/safe-get.ts'
import type { ErrorFacts } from './events.ts'

/** Returns name and message of any thrown value, without the secrets of URLs, and truncated. */
export function describeError(error: unknown): { readonly errorType: string; readonly errorMessage: string } {
	try {
		const { name, message, cause, errors } = Object(error)
		// "fetch failed" says nothing: the reason is in the cause, and an AggregateError may have an empty
		// message.
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

/** Returns what is known about an error as fields of an event. */
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

/** Longer messages are truncated. */
export const MAX_MESSAGE_LENGTH = 1_000

/** A URL that may have credentials, to white space. As one match, so that the time is linear. */
const MAY_HAVE_CREDENTIALS = /:\/\/[^\s:@/?#]*[:@]\S*/g

/**
 * A password may contain any character, so it ends at the last @. If that @ may be part of a path or a query,
 * nothing is left of the URL.
 */
const CREDENTIALS = /^:\/\/([^/?#]*@(?=[^@]*$)|.*@.*)/

const QUERY = /(:\/\/[^\s?#]*)[^\s"']*/g

/** Returns a text whose URLs have no credentials, no query and no fragment, because these may be secrets. */
export const reduceUrls = (text: string): string =>
	text.replace(MAY_HAVE_CREDENTIALS, (rest) => rest.replace(CREDENTIALS, '://')).replace(QUERY, '$1')

/** Returns a message for events and `explain`: truncated, without the secrets of its URLs. */
export function toMessageText(message: string, maxLength: number = MAX_MESSAGE_LENGTH): string {
	const text = reduceUrls(message)
	return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text
}
