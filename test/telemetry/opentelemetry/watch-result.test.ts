import { describe, expect, test, vi } from 'vitest'
import { type Ended, watchResult } from '../../../src/telemetry/opentelemetry/watch-result.ts'

function watched(fn: () => unknown): { readonly result: () => unknown; readonly ends: Ended[] } {
	const ends: Ended[] = []
	return { result: () => watchResult(fn, (ended) => ends.push(ended)), ends }
}

test('returns the promise of the function itself, and reports its value once', async () => {
	const promise = Promise.resolve(7)
	const { result, ends } = watched(() => promise)
	expect(result()).toBe(promise)
	expect(ends).toEqual([])
	await promise
	expect(ends).toEqual([{ value: 7 }])
})

test('a rejected promise that the caller handles causes no unhandled rejection', async () => {
	const unhandled = vi.fn()
	process.on('unhandledRejection', unhandled)
	const error = new Error('down')
	const { result, ends } = watched(() => Promise.reject(error))
	await expect(result()).rejects.toBe(error)
	await new Promise((resolve) => setImmediate(resolve))
	process.off('unhandledRejection', unhandled)
	expect(ends).toEqual([{ error }])
	expect(unhandled).not.toHaveBeenCalled()
})

test.each([undefined, null, 0, 'text', { a: 1 }, () => 1])('a value is returned as it is: %s', (value) => {
	const { result, ends } = watched(() => value)
	expect(result()).toBe(value)
	expect(ends).toEqual([{ value }])
})

test('rethrows what the function throws', () => {
	const { result, ends } = watched(() => {
		throw undefined
	})
	expect(result).toThrow()
	expect(ends).toEqual([{ error: undefined }])
})

test('a getter that throws is the problem of the caller', () => {
	const value = {
		// biome-ignore lint/suspicious/noThenProperty: the test is about a hostile thenable.
		get then(): unknown {
			throw new Error('no')
		},
	}
	const { result, ends } = watched(() => value)
	expect(result()).toBe(value)
	expect(ends).toHaveLength(1)
})

describe('a thenable of another library', () => {
	/** Starts a query with each subscription, as query builders do. */
	function query(outcome: { readonly value: unknown } | { readonly error: unknown }): {
		readonly thenable: object
		readonly started: () => number
	} {
		let count = 0
		const thenable = {
			// biome-ignore lint/suspicious/noThenProperty: the test is about thenables.
			then(onValue: (value: unknown) => unknown, onError: (error: unknown) => unknown) {
				count++
				return 'error' in outcome
					? Promise.reject(outcome.error).catch(onError)
					: Promise.resolve(outcome.value).then(onValue)
			},
		}
		return { thenable, started: () => count }
	}

	test('is subscribed to once, and not before the caller does', async () => {
		const { thenable, started } = query({ value: 7 })
		const { result, ends } = watched(() => thenable)
		const returned = result()
		expect(started()).toBe(0)
		expect(await returned).toBe(7)
		expect(started()).toBe(1)
		expect(ends).toEqual([{ value: 7 }])
	})

	test('its rejection reaches the caller', async () => {
		const { thenable, started } = query({ error: 'down' })
		const { result, ends } = watched(() => thenable)
		await expect(result()).rejects.toBe('down')
		expect(started()).toBe(1)
		expect(ends).toEqual([{ error: 'down' }])
	})

	test('handlers are optional', async () => {
		const { result, ends } = watched(() => query({ value: 7 }).thenable)
		expect(await (result() as Promise<unknown>).then()).toBe(7)
		const failing = watched(() => query({ error: 'down' }).thenable)
		await expect((failing.result() as Promise<unknown>).then()).rejects.toBe('down')
		expect([...ends, ...failing.ends]).toEqual([{ value: 7 }, { error: 'down' }])
	})

	test('a subclass of Promise with its own `then` is treated like one', async () => {
		let count = 0
		class Lazy extends Promise<unknown> {
			// biome-ignore lint/suspicious/noThenProperty: the test is about thenables.
			override then: never = ((...handlers: [never, never]) => {
				count++
				return super.then(...handlers)
			}) as never
		}
		const { result, ends } = watched(() => new Lazy((resolve) => resolve(7)))
		expect(await result()).toBe(7)
		expect(count).toBe(1)
		expect(ends).toEqual([{ value: 7 }])
	})
})
