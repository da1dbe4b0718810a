/** `resilientFetch` follows redirects itself where the runtime shows them; the result is that of `fetch`. */
import { describe, expect, test } from 'vitest'
import { MAX_BUFFERED_BYTES } from '../../../src/http/transport/buffered-body.ts'
import { answer, type Step } from '../faults/fault-server.ts'
import { FINE, failure, fetching, setup } from './setup.ts'

const redirectTo = (location: string, status = 302): Step =>
	answer({ status, headers: { location }, body: 'moved' })

describe('a Request', () => {
	test.each([
		['GET', undefined],
		['POST', 'tea'],
	])("a Request with %s and redirect: 'error' is not redirected", async (method, body) => {
		const { fetch, url, server } = await setup(redirectTo('/there'))
		const request = new Request(url, { method, redirect: 'error', ...(body && { body }) })
		await failure(fetch(request))
		expect([...new Set(server.requests.map(({ path }) => path))]).toEqual(['/'])
	})

	test('a Request with a body is redirected with its body', async () => {
		const { fetch, url, server } = await setup({ '/': redirectTo('/there', 307), '/there': FINE })
		const response = await fetch(new Request(url, { method: 'POST', body: 'tea' }))
		expect([await response.text(), response.redirected]).toEqual(['fine', true])
		expect(server.requests.at(-1)).toMatchObject({ method: 'POST', path: '/there', body: 'tea' })
	})

	test('a Request with a body and an API key is redirected with both', async () => {
		const { fetch, url, server } = await setup({ '/': redirectTo('/there', 307), '/there': FINE })
		const request = new Request(url, { method: 'POST', body: 'tea', headers: { 'x-api-key': 'secret' } })
		expect(await (await fetch(request)).text()).toBe('fine')
		const { headers, body } = server.requests.at(-1) ?? {}
		expect([headers?.['x-api-key'], body]).toEqual(['secret', 'tea'])
	})

	test('a Request with a body above 1 MB and an API key is not redirected by a 307, because its body cannot be sent again', async () => {
		const { fetch, url, server } = await setup({ '/': redirectTo('/there', 307), '/there': FINE })
		const body = 'x'.repeat(MAX_BUFFERED_BYTES + 1)
		const request = new Request(url, { method: 'POST', body, headers: { 'x-api-key': 'secret' } })
		const error = await failure(fetch(request))
		expect(error).toBeInstanceOf(TypeError)
		expect(error.message).toContain('Redirect cannot be followed')
		expect(server.requests.length).toBe(1)
	})

	test('a Request without a body keeps its headers on the way', async () => {
		const { fetch, url, server } = await setup({ '/': redirectTo('/there'), '/there': FINE })
		const response = await fetch(new Request(url, { headers: { 'x-api-key': 'secret' } }))
		expect([await response.text(), response.redirected, response.url]).toEqual([
			'fine',
			true,
			server.url('/there'),
		])
		expect(server.requests.at(-1)?.headers['x-api-key']).toBe('secret')
	})
})

describe('redirects', () => {
	test('are followed 20 times, and not 21 times', async () => {
		const { fetch, server } = await setup(({ path }) => {
			const left = Number(path.slice(1))
			return left > 0 ? redirectTo(`/${left - 1}`) : FINE
		})
		const response = await fetch(server.url('/20'))
		expect([await response.text(), response.url]).toEqual(['fine', server.url('/0')])
		const error = await failure(fetch(server.url('/21')))
		expect(error).toEqual(new TypeError('redirect count exceeded'))
	})

	test("are returned with redirect: 'manual'", async () => {
		const { fetch, url } = await setup(redirectTo('/there'))
		const response = await fetch(url, { redirect: 'manual' })
		expect([response.status, await response.text()]).toEqual([302, 'moved'])
	})

	test('are left to the platform if integrity is set, which is that of the final body', async () => {
		const inits: (RequestInit | undefined)[] = []
		const { fetch } = fetching({
			fetch: async (_, init) => {
				inits.push(init)
				return new Response()
			},
		})
		await fetch('http://127.0.0.1:1/', { integrity: 'sha256-x' })
		await fetch('http://127.0.0.1:1/')
		expect(inits.map((init) => init?.redirect)).toEqual([undefined, 'manual'])
	})

	test('are left to the platform in a browser, which hides them', async () => {
		const modes: (string | undefined)[] = []
		const page = new URL('http://127.0.0.1:1/')
		Object.defineProperty(globalThis, 'location', { value: page, configurable: true })
		try {
			const { fetch } = fetching({
				fetch: async (_, init) => {
					modes.push(init?.redirect)
					return new Response()
				},
			})
			await fetch('/users')
			await fetch(new Request(page, { headers: { 'x-api-key': 'secret' } }))
		} finally {
			Reflect.deleteProperty(globalThis, 'location')
		}
		expect(modes).toEqual([undefined, undefined])
	})
})
