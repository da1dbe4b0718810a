import { describe, expect, test, vi } from 'vitest'
import {
	DEFAULT_RESPONSE_HEADERS,
	isNeverStored,
	isStored,
	storedResponse,
} from '../../../src/idempotency/response/storage-rules.ts'

const responseOf = (status: number) => ({ status, method: 'POST', path: '/charges' })

describe('a response', () => {
	test.each([200, 201, 204, 301, 304, 400, 404, 410, 422, 451])('with status %s is stored', (status) => {
		expect(isStored({}, responseOf(status))).toBe(true)
	})

	test.each([100, 199, 401, 403, 408, 409, 425, 429, 500, 503, 599])(
		'with status %s is not stored',
		(status) => {
			expect(isStored({}, responseOf(status))).toBe(false)
		},
	)

	test('is stored as shouldStore decides, which gets status, method and path', () => {
		const shouldStore = vi.fn(({ status }: { status: number }) => status === 500)
		expect(isStored({ shouldStore }, responseOf(500))).toBe(true)
		expect(isStored({ shouldStore }, responseOf(200))).toBe(false)
		expect(shouldStore.mock.calls[0]).toEqual([responseOf(500)])
	})

	test.each([[200, true] as const, [500, false] as const])(
		'with status %s is handled by the default and a warning if shouldStore throws',
		(status, expected) => {
			const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
			const shouldStore = () => {
				throw new Error('boom')
			}
			expect(isStored({ shouldStore }, responseOf(status))).toBe(expected)
			expect(warn).toHaveBeenCalledTimes(1)
		},
	)
})

describe('a stored response', () => {
	const allowed = new Set(['content-type', 'link'])

	test('has the allowed headers only, in lower case, in their order and with repeated names', () => {
		const headers = [
			['Link', '<a>'],
			['Set-Cookie', 'id=1'],
			['Content-Type', 'text/plain'],
			['link', '<b>'],
		] as const
		expect(storedResponse({ status: 201, headers }, Uint8Array.of(1), allowed)).toEqual({
			status: 201,
			headers: [
				['link', '<a>'],
				['content-type', 'text/plain'],
				['link', '<b>'],
			],
			body: Uint8Array.of(1),
		})
	})

	test('is made of a web response', () => {
		const response = new Response(null, {
			status: 204,
			headers: { 'Content-Type': 'text/html', Date: 'now' },
		})
		const stored = storedResponse(response, new Uint8Array(0), allowed)
		expect([stored.status, stored.headers]).toEqual([204, [['content-type', 'text/html']]])
	})
})

test('no default header belongs to a connection, and none contains a cookie', () => {
	expect(DEFAULT_RESPONSE_HEADERS.filter(isNeverStored)).toEqual([])
	expect(DEFAULT_RESPONSE_HEADERS).not.toContain('set-cookie')
	expect(['connection', 'content-length', 'transfer-encoding'].map(isNeverStored)).toEqual([true, true, true])
})
