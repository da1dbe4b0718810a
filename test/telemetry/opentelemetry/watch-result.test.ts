import { expect, test, vi } from 'vitest'
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
