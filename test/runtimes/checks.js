/** Assertions of the suite: no framework runs on all of these runtimes and in a page. */
import { isRetryableNetworkError } from 'yaoki'

/** Real and short delays. */
export const SHORT = { baseDelayMs: 3, jitterStrategy: 'none', growth: 'constant' }
export const A_MINUTE = { ...SHORT, baseDelayMs: 60_000, maxDelayMs: 60_000 }

/** Returned by a test that the runtime cannot run. */
export const SKIPPED = Symbol('skipped')

export function same(actual, expected, about = '') {
	if (!Object.is(actual, expected))
		throw new Error(`${String(actual)} instead of ${String(expected)} ${about}`.trim())
}

export function isTrue(condition, why) {
	if (!condition) throw new Error(why)
}

export async function errorOf(promise) {
	try {
		await promise
	} catch (error) {
		return error
	}
	throw new Error('it did not fail')
}

export function isNetworkFailure(error) {
	isTrue(isRetryableNetworkError(error), `not known as a network failure: ${describe(error)}`)
}

/** Everything that classification reads of an error, for support of a new runtime. */
export function describe(error) {
	const { name, code, message, cause } = Object(error)
	const because = cause === undefined ? '' : `, caused by ${describe(cause)}`
	return `${name ?? typeof error} (code ${code}): ${message ?? String(error)}${because}`
}

export function fail(code) {
	throw Object.assign(new Error(`failed with ${code}`), { code })
}

export const once = (target, type) =>
	new Promise((resolve) => target.addEventListener(type, resolve, { once: true }))
