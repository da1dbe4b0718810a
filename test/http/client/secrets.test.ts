/** Credentials and the query of a URL must not reach messages, events, `explain` or logs of errors. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { explain } from 'yaoki'
import { answer, reset } from '../faults/fault-server.ts'
import { FETCHES, failure, setup } from './setup.ts'

const BUSY = answer({ status: 503, headers: { 'set-cookie': 'session=s3cret' }, body: 'busy' })

describe.each(FETCHES)('over %s', (_, fetch) => {
	it.each([
		['a failed status', BUSY],
		['a network error', reset('request-head')],
	])('the query of a URL is in no text about %s', async (_what, step) => {
		const { client, server, events } = await setup(fetch, step, { maxRetries: 1 })
		const error = await failure(client.get(server.url('/a?token=s3cret#s3cret')))
		const texts = [inspect(error, { depth: 9 }), String(explain(error)), JSON.stringify(events)]
		for (const text of texts) expect(text).not.toContain('s3cret')
		expect(events.length).toBeGreaterThan(0)
	})

	it('the response of an error can be read, but is not logged', async () => {
		const { client, server } = await setup(fetch, BUSY, { maxRetries: 0 })
		const error = await failure(client.get(server.url('/a')))
		expect(error).toMatchObject({ response: { status: 503 }, body: 'busy' })
		expect(Object.keys(Object(error))).not.toContain('response')
	})

	it('a URL with credentials is rejected before anything is sent, and is in no text', async () => {
		const { client, server } = await setup(fetch, BUSY)
		const url = server.url('/a').replace('//', '//ann:s3cret@')
		for (const given of [url, new URL(url)]) {
			const error = await failure(client.get(given))
			expect(error).toEqual(
				new TypeError('URLs with credentials are not supported; use the authorization header'),
			)
			expect(inspect(error)).not.toContain('s3cret')
		}
		expect(server.requests.length).toBe(0)
	})

	it.each([
		['http://ann:s3cret@[/', "Invalid URL 'http://[/'"],
		['http:///?token=s3cret', "Invalid URL 'http:///'"],
		['/path?token=s3cret', "Invalid URL '/path'"],
		['ann:s3cret@example.com/a', "Invalid URL 'ann:example.com/a'"],
		['localhost:3000/a?s3cret', "for example 'http://localhost:3000/a'"],
		['mailto:someone@example.com', "Invalid URL 'mailto:example.com'"],
	])('shows only origin and path of the invalid URL %s', async (url, shown) => {
		const { client } = await setup(fetch, BUSY)
		const error = await failure(client.get(url))
		expect(error).toBeInstanceOf(TypeError)
		expect(Object(error).message).toContain(shown)
		expect(inspect(error, { depth: 9 })).not.toContain('s3cret')
	})

	it('a redirect to a URL with credentials of the same origin does not use or show them', async () => {
		const { client, server } = await setup(fetch, ({ path, headers }) =>
			path === '/go'
				? answer({ status: 302, headers: { location: server.url('/there').replace('//', '//a:s3cret@') } })
				: answer({ body: String(headers['authorization']) }),
		)
		const response = await client.get(server.url('/go'))
		expect([await response.text(), response.url]).toEqual(['undefined', server.url('/there')])
	})

	it('a redirect to an invalid URL does not show it', async () => {
		const step = answer({ status: 302, headers: { location: 'http://ann:s3cret@[' } })
		const { client, server } = await setup(fetch, step)
		expect(inspect(await failure(client.get(server.url())))).not.toContain('s3cret')
	})
})
