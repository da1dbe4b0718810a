import { describe, expect, test } from 'vitest'
import {
	MAX_UNSTORED_BYTES,
	type UnstoredResponse,
	UnstoredResponses,
} from '../../../src/idempotency/response/unstored-responses.ts'

const responseOf = (bytes: number) => ({ status: 200, headers: [], body: { length: bytes } as Uint8Array })

/** A response that is stored, or not, when the test says so. */
function unstored(bytes: number) {
	const { promise, resolve, reject } = Promise.withResolvers<boolean>()
	const value: UnstoredResponse = {
		fingerprint: 'f',
		response: responseOf(bytes),
		stored: promise,
		waited: Promise.resolve(),
	}
	return { value, resolve, reject }
}

describe('responses that the store has not confirmed', () => {
	test('are found by their id until they are stored', async () => {
		const responses = new UnstoredResponses()
		const { value, resolve } = unstored(10)
		responses.add('k1', value)
		expect([responses.size, responses.get('k1'), responses.get('k2')]).toEqual([1, value, undefined])
		resolve(true)
		await value.stored
		expect([responses.size, responses.get('k1')]).toEqual([0, undefined])
	})

	test('are removed if they could not be stored', async () => {
		const responses = new UnstoredResponses()
		const { value, reject } = unstored(10)
		responses.add('k1', value)
		reject(new Error('down'))
		await value.stored.catch(() => {})
		expect(responses.size).toBe(0)
	})

	test('fit until the limit is reached, and again when one was stored', async () => {
		const responses = new UnstoredResponses()
		const { value, resolve } = unstored(MAX_UNSTORED_BYTES - 1)
		responses.add('k1', value)
		const small = responseOf(1)
		const large = responseOf(2)
		expect([responses.fitting(small), responses.fitting(large)]).toEqual([small, undefined])
		resolve(true)
		await value.stored
		expect(responses.fitting(large)).toBe(large)
		expect(responses.fitting(undefined)).toBeUndefined()
	})

	test('stay if a former response of the same key was stored later', async () => {
		const responses = new UnstoredResponses()
		const [former, latter] = [unstored(1), unstored(1)]
		responses.add('k1', former.value)
		responses.add('k1', latter.value)
		former.resolve(true)
		await former.value.stored
		expect(responses.get('k1')).toBe(latter.value)
	})
})
