import { describe, expect, it, vi } from 'vitest'
import { principalOf, type RequestHead, routeOf } from '../../../src/http/options/request-hooks.ts'

const REQUEST = { method: 'GET', url: 'https://api.test/users?id=7', headers: { 'X-User': 'ann' } }

describe('principalOf', () => {
	it('calls the function with the method, the URL and Headers', () => {
		const identify = vi.fn(({ headers }: RequestHead) => headers.get('x-user') ?? undefined)
		expect(principalOf(identify, REQUEST)).toBe('ann')
		expect(identify).toHaveBeenCalledWith({ ...REQUEST, headers: expect.any(Headers) })
	})

	it('returns a principal that is already known without calling the function', () => {
		const identify = vi.fn(() => 'ben')
		expect(principalOf(identify, { ...REQUEST, principal: 'ann' })).toBe('ann')
		expect(identify).not.toHaveBeenCalled()
	})

	it('returns undefined without a function, and for an empty string', () => {
		expect(principalOf(undefined, REQUEST)).toBeUndefined()
		expect(principalOf(() => '', REQUEST)).toBeUndefined()
	})

	it.each([5, null, Promise.resolve('ann')])('rejects %s, which does not identify a user', (result) => {
		const error = expect.objectContaining({ optionPath: 'principal(request)' })
		expect(() => principalOf(() => result as never, REQUEST)).toThrow(error)
	})
})

describe('routeOf', () => {
	it('returns the key, also an empty one', () => {
		expect(routeOf(({ url }) => new URL(url).pathname, REQUEST)).toBe('/users')
		expect(routeOf(() => '', REQUEST)).toBe('')
	})

	it('rejects anything but a string', () => {
		const error = expect.objectContaining({ optionPath: 'circuitBreakerKey(request)' })
		expect(() => routeOf(() => undefined as never, REQUEST)).toThrow(error)
	})
})
