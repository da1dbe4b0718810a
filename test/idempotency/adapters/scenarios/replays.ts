import { expect, test } from 'vitest'
import { send } from '../client.ts'
import { type Start, setup } from '../servers.ts'
import { observedStore, transactionalStore } from '../stores.ts'
import { BINARY, bytesOf, chunks, created, HEADERS } from './services.ts'

export function replays(start: Start): void {
	test('replays status, repeated headers and binary body, and the handler runs once', async () => {
		const { url, calls } = await setup(start, () => ({
			status: 202,
			headers: HEADERS,
			body: BINARY,
		}))
		const first = await send(url)
		expect([first.status, first.headers['idempotency-replayed']]).toEqual([202, undefined])
		expect(first.lines('set-cookie')).toEqual(['session=1'])
		const replay = await send(url)
		expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([202, 'true'])
		expect(replay.headers['content-type']).toBe('application/octet-stream')
		expect(replay.lines('link').join(', ')).toBe('<a>; rel=next, <b>; rel=prev')
		expect([replay.headers['set-cookie'], replay.headers['x-request-id']]).toEqual([undefined, undefined])
		expect([new Uint8Array(first.body), new Uint8Array(replay.body)]).toEqual([BINARY, BINARY])
		expect(replay.headers['content-length']).toBe('256')
		expect(calls()).toBe(1)
	})

	// @hono/node-server adds text/plain to a response that has a body, even an empty one.
	test.each([200, 201, 204, 303])(
		'a replay with status %i and without a body has the same headers',
		async (status) => {
			const { url } = await setup(start, () => ({
				status,
				headers: [['location', '/charges/1']],
				body: null,
			}))
			const headersOf = async () => {
				const { date: _, 'idempotency-replayed': isReplayed, ...headers } = (await send(url)).headers
				return [isReplayed, headers]
			}
			const [, first] = await headersOf()
			expect(await headersOf()).toEqual(['true', first])
		},
	)

	test('replays headers that say what the body is and how to treat it', async () => {
		const headers = [
			...([
				['accept-ranges', 'bytes'],
				['content-range', 'bytes 0-0/9'],
			] as const),
			...([
				['content-digest', 'sha-256=:x:'],
				['x-content-type-options', 'nosniff'],
			] as const),
			...([['content-security-policy', "default-src 'none'"]] as const),
		] as const
		const { url } = await setup(start, () => ({ status: 206, headers, body: 'x' }))
		await send(url)
		const replay = await send(url)
		expect(headers.map(([name]) => [name, replay.headers[name]])).toEqual(headers)
	})

	test('replays cookies one by one if they are allowed', async () => {
		const { url } = await setup(
			start,
			() => ({
				headers: [
					['set-cookie', 'a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT'],
					['set-cookie', 'b=2'],
				],
				body: 'x',
			}),
			{ responseHeaders: ['Set-Cookie'] },
		)
		const first = await send(url)
		expect((await send(url)).lines('set-cookie')).toEqual(first.lines('set-cookie'))
		expect(first.lines('set-cookie')).toHaveLength(2)
	})

	test('replays a streamed body', async () => {
		const { url, calls } = await setup(start, () => ({ body: chunks(5) }))
		expect((await send(url)).body.toString()).toBe('01234')
		const replay = await send(url)
		expect([replay.body.toString(), replay.headers['content-length']]).toEqual(['01234', '5'])
		expect(calls()).toBe(1)
	})

	test('delivers the start of a streamed body before its end', async () => {
		const gate = Promise.withResolvers<void>()
		const { url } = await setup(start, () => ({ body: chunks(3, gate.promise) }))
		const headers = { 'idempotency-key': 'k1', 'x-user': 'ada', 'content-type': 'application/json' }
		const response = await fetch(`${url}/charges`, { method: 'POST', headers, body: '{"amount":1}' })
		const reader = response.body?.getReader()
		expect((await reader?.read())?.value).toEqual(bytesOf('0'))
		gate.resolve()
		while (!(await reader?.read())?.done);
		expect((await send(url)).body.toString()).toBe('012')
	})

	test('replays responses without a body', async () => {
		const { url, calls } = await setup(start, () => ({ status: 204 }))
		expect((await send(url)).status).toBe(204)
		const replay = await send(url)
		expect([replay.status, replay.body.length, replay.headers['idempotency-replayed']]).toEqual([
			204,
			0,
			'true',
		])
		expect(calls()).toBe(1)
	})

	test('stores the response before its end is sent', async () => {
		const { store, seen } = observedStore()
		const { url } = await setup(start, created, { store })
		await send(url)
		expect(seen).toEqual({ claims: 1, releases: 0, completions: 1 })
	})

	test('waits up to waitMs for the first request', async () => {
		const running = Promise.withResolvers<void>()
		const { url, calls, engine } = await setup(
			start,
			async () => {
				await running.promise
				return { body: 'done' }
			},
			{ waitMs: 60_000 },
		)
		const claimed = Promise.withResolvers<void>()
		engine.subscribe(() => claimed.resolve())
		const first = send(url)
		await claimed.promise
		const second = send(url)
		running.resolve()
		expect((await first).body.toString()).toBe('done')
		expect([(await second).body.toString(), (await second).headers['idempotency-replayed']]).toEqual([
			'done',
			'true',
		])
		expect(calls()).toBe(1)
	})
}

export function contexts(start: Start): void {
	test('keeps the results of steps for the next run', async () => {
		const steps: string[] = []
		const { url, calls } = await setup(start, async (context) => {
			const step = await context.step('charge', ({ idempotencyKey }) => {
				steps.push(idempotencyKey)
				return `charge ${steps.length}`
			})
			if (!context.isRerun) throw new Error('boom')
			return { body: step }
		})
		expect((await send(url)).status).toBe(500)
		expect((await send(url)).body.toString()).toBe('charge 1')
		expect([steps.length, calls()]).toEqual([1, 2])
	})

	test.each(['k1', ''])('sends and stores the response of a transaction (key %j)', async (key) => {
		const { url, calls, engine } = await setup(
			start,
			(context, body) =>
				context.transaction(async (tx) => {
					const headers = [
						['location', '/charges/1'],
						['set-cookie', 'a=1'],
						['set-cookie', 'b=2'],
					] satisfies [string, string][]
					return new Response(`${tx} ${body}`, { status: 201, headers })
				}),
			{ store: transactionalStore() },
		)
		const events: string[] = []
		engine.subscribe(({ type }) => events.push(type))
		const first = await send(url, { key })
		expect([first.status, first.body.toString()]).toEqual([201, 'tx {"amount":1}'])
		expect(first.lines('set-cookie')).toEqual(['a=1', 'b=2'])
		const second = await send(url, { key })
		expect([second.status, second.body.toString()]).toEqual([201, 'tx {"amount":1}'])
		expect([second.headers['location'], second.headers['idempotency-replayed']]).toEqual([
			'/charges/1',
			key ? 'true' : undefined,
		])
		expect(calls()).toBe(key ? 1 : 2)
		expect(events).toEqual(key ? ['idempotency_claimed', 'idempotency_replayed'] : [])
	})

	test('rejects a step inside of a transaction, and accepts one before it', async () => {
		const { url } = await setup(
			start,
			async (context) => {
				await context.step('before', () => 1)
				return context.transaction(async () => {
					const error = await context.step('inside', () => 1).catch((thrown: unknown) => thrown)
					return Response.json(error)
				})
			},
			{ store: transactionalStore() },
		)
		const { body } = await send(url)
		expect(JSON.parse(body.toString())).toMatchObject({ code: 'YAOKI_IDEMPOTENCY_STEP_IN_TRANSACTION' })
	})

	test('sends the response of a transaction that was rolled back, and releases the key', async () => {
		const { url, calls } = await setup(
			start,
			(context) => context.transaction(async () => new Response('no', { status: 500 })),
			{ store: transactionalStore() },
		)
		expect((await send(url)).status).toBe(500)
		expect((await send(url)).body.toString()).toBe('no')
		expect(calls()).toBe(2)
	})
}
