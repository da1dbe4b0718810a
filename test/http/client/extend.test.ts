import { describe, expect, it } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'
import { recorder } from './recorder.ts'
import { failure } from './setup.ts'

const API = 'https://api.example.com'

describe('extend', () => {
	it('merges headers by name, in any form, and undefined removes one', async () => {
		const { client, headers } = recorder({ baseUrl: API, headers: { 'X-Team': 'red', 'x-app': 'shop' } })
		await client.extend({ headers: { 'x-team': 'blue', 'x-own': 'mine' } }).get('a')
		await client.extend({ headers: new Headers({ 'x-team': 'blue' }) }).get('a')
		await client.extend({ headers: { 'x-Team': undefined } }).get('a')
		await client
			.extend({ headers: { 'x-team': undefined } })
			.extend({ headers: { 'x-b': '2' } })
			.get('a')
		await client.get('a')
		expect(headers).toEqual([
			{ 'x-team': 'blue', 'x-app': 'shop', 'x-own': 'mine' },
			{ 'x-team': 'blue', 'x-app': 'shop' },
			{ 'x-app': 'shop' },
			{ 'x-app': 'shop', 'x-b': '2' },
			{ 'x-team': 'red', 'x-app': 'shop' },
		])
	})

	it('merges functions for headers, with each other and with objects', async () => {
		const { client, headers } = recorder({ headers: async () => ({ a: 'parent', b: 'parent' }) })
		await client.extend({ headers: { b: 'child' } }).get(API)
		await client.extend({ headers: () => ({ a: undefined, c: 'child' }) }).get(API)
		const plain = recorder({ headers: { a: 'parent', b: 'parent' } })
		await plain.client.extend({ headers: async () => ({ b: 'child' }) }).get(API)
		expect([...headers, ...plain.headers]).toEqual([
			{ a: 'parent', b: 'child' },
			{ b: 'parent', c: 'child' },
			{ a: 'parent', b: 'child' },
		])
	})

	it('merges searchParams by name, in any form, and undefined removes one', async () => {
		const { client, sent } = recorder({ baseUrl: API, searchParams: 'a=1&b=1' })
		await client.extend({ searchParams: { b: 2 } }).get('x')
		await client.extend({ searchParams: new URLSearchParams('c=2') }).get('x')
		await client.extend({ searchParams: { a: undefined } }).get('x')
		expect(sent).toEqual([`GET ${API}/x?a=1&b=2`, `GET ${API}/x?a=1&b=1&c=2`, `GET ${API}/x?b=1`])
	})

	it('replaces every other option, and keeps those that are undefined', async () => {
		const calls: string[] = []
		const { client, sent } = recorder(
			{ baseUrl: `${API}/v1`, maxRetries: 1, baseDelayMs: 0, onRetry: () => calls.push('parent') },
			() => new Response('', { status: 503 }),
		)
		const child = client.extend({
			baseUrl: `${API}/v2`,
			onRetry: () => calls.push('child'),
			maxRetries: undefined,
		})
		await failure(child.get('a'))
		expect(sent).toEqual([`GET ${API}/v2/a`, `GET ${API}/v2/a`])
		expect(calls).toEqual(['child'])
	})

	it('does not pass headers and searchParams on to a baseUrl of another origin', async () => {
		const { client, sent, headers } = recorder({
			baseUrl: API,
			headers: { authorization: 'Bearer secret' },
			searchParams: { key: 'secret' },
		})
		const other = client.extend({ baseUrl: 'https://other.example.com', headers: { 'x-own': 'mine' } })
		await other.get('a')
		await client.extend({ baseUrl: `${API}/v2` }).get('b')
		// Back to the first origin: what was dropped stays dropped.
		await other.extend({ baseUrl: API }).get('c')
		expect(sent).toEqual(['GET https://other.example.com/a', `GET ${API}/v2/b?key=secret`, `GET ${API}/c`])
		expect(headers).toEqual([{ 'x-own': 'mine' }, { authorization: 'Bearer secret' }, {}])
	})

	it('passes headers on if the parent has no baseUrl', async () => {
		const { client, headers } = recorder({ headers: { 'user-agent': 'shop' } })
		await client.extend({ baseUrl: API }).get('a')
		expect(headers).toEqual([{ 'user-agent': 'shop' }])
	})

	it('shares circuits, cache and statistics if only baseUrl, headers and searchParams differ', async () => {
		const { client } = recorder({ baseUrl: API, cache: true })
		const child = client.extend({
			baseUrl: `${API}/v2`,
			headers: { 'x-user': 'Ada' },
			searchParams: { a: 1 },
			timeout: undefined,
		})
		await child.get('a')
		expect(client.stats).toMatchObject({ requests: 1, cache: { entries: 1 } })
		child.circuitBreaker()?.isolate()
		expect(await failure(client.get('b'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await child.get('a').text()).toBe('{}')
		child.clearCache()
		expect(client.stats.cache).toMatchObject({ entries: 0 })
	})

	it('returns no cached response of another tenant, and the own one also with a header of the request', async () => {
		const { client } = recorder(
			{ baseUrl: API, cache: true, headers: { 'x-app': 'shop' } },
			(_, { headers }) => new Response(`for ${new Headers(headers).get('x-tenant')}`),
		)
		const ofTenant = (tenant: string) => client.extend({ headers: { 'x-tenant': tenant } })
		const byFunction = client.extend({ headers: async () => ({ 'x-tenant': 'cyd' }) })
		await ofTenant('ada').get('me')
		await byFunction.get('me')
		await ofTenant('ada').get('other', { headers: { 'X-Tenant': 'bob' } })
		client.circuitBreaker()?.isolate()
		expect(await ofTenant('ada').get('me').text()).toBe('for ada')
		expect(await byFunction.get('me').text()).toBe('for cyd')
		expect(
			await ofTenant('ada')
				.get('me', { headers: { 'x-own': '1' } })
				.text(),
		).toBe('for ada')
		expect(
			await ofTenant('ada')
				.get('other', { headers: { 'x-tenant': 'bob' } })
				.text(),
		).toBe('for bob')
		const strangers = [
			client.get('me'),
			ofTenant('bob').get('me'),
			ofTenant('ada').get('other'),
			ofTenant('ada').get('me', { headers: { 'x-tenant': 'bob' } }),
			ofTenant('ada').get('me', { headers: { 'x-tenant': undefined } }),
			ofTenant('ada')
				.extend({ headers: { 'x-app': 'other' } })
				.get('me'),
		]
		for (const stranger of strangers)
			expect(await failure(stranger)).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('has its own circuits, cache and statistics with any other option', async () => {
		const { client } = recorder({ baseUrl: API, cache: true })
		const child = client.extend({ timeout: 1_000 })
		await child.get('a')
		expect(child.stats).toMatchObject({ requests: 1, cache: { entries: 1 } })
		expect(client.stats).toMatchObject({ requests: 0, cache: { entries: 0 } })
		child.circuitBreaker()?.isolate()
		expect(await client.get('b').text()).toBe('{}')
	})

	it('rejects invalid options and names that do not exist', () => {
		const client = new ResilientHttpClient({ baseUrl: API })
		const extended = (options: string) => () => client.extend(JSON.parse(options))
		expect(extended('null')).toThrow('Invalid option "options": expected an object, got null')
		expect(extended('{"retries":1}')).toThrow('Unknown option "retries" for ResilientHttpClient')
		expect(extended('{"baseUrl":"/v1"}')).toThrow('Invalid option "baseUrl"')
		expect(extended('{"timeout":0}')).toThrow('Invalid option "timeout"')
	})
})
