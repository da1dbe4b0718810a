import { once } from 'node:events'
import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { expect, onTestFinished, test, vi } from 'vitest'
import type * as Client from './.cache/trpc/client.ts'
import type { AppRouter } from './.cache/trpc/server.ts'
import type * as Trpc from './.cache/trpc/trpc.ts'
import { expectSoon, post, seen, setRecipe, startHeldService } from './support/idempotency.ts'
import { BUSY, headersOf, json, startServer } from './support/services.ts'

type HttpServer = ReturnType<typeof createHTTPServer>

const ADA = 'Bearer token-of-ada'

async function urlOf(server: HttpServer): Promise<string> {
	onTestFinished(() => {
		server.close()
		server.closeAllConnections()
	})
	if (!server.listening) await once(server, 'listening')
	const address = server.address()
	if (address === null || typeof address === 'string') throw new Error('not a TCP server')
	return `http://127.0.0.1:${address.port}`
}

/** Starts the server of the recipe. */
async function startRecipe(apiUrl: string, options: { readonly waitMs?: number } = {}): Promise<string> {
	setRecipe({ API_URL: apiUrl, PORT: '0' }, options)
	const { server } = await import('./.cache/trpc/server.ts')
	return urlOf(server)
}

/** Starts a server with the middleware of the recipe, and one mutation that runs this function. */
async function start(work: (input: unknown) => unknown): Promise<string> {
	setRecipe({}, { waitMs: 0 })
	const trpc: typeof Trpc = await import('./.cache/trpc/trpc.ts')
	const router = trpc.router({
		charge: trpc.idempotentProcedure
			.input((input: unknown) => input)
			.mutation(({ ctx, input }) => ctx.once(async () => work(input))),
	})
	const { createContext } = trpc
	const server = createHTTPServer({
		router,
		createContext,
		responseMeta: ({ ctx }) => ({ headers: ctx?.headers ?? {} }),
	})
	server.listen(0, '127.0.0.1')
	return urlOf(server)
}

test('the mutation of the recipe charges once for each key and input', async () => {
	const service = await startServer([BUSY, json({ id: 'c1' }), json({ id: 'c2' })])
	const url = await startRecipe(service.origin)
	const { createClient }: typeof Client = await import('./.cache/trpc/client.ts')
	const client = createClient(url, ADA)
	const charge = (idempotencyKey: string, amount = 5) =>
		client.charge.mutate({ amount }, { context: { idempotencyKey } })
	expect(await charge('k1')).toEqual({ id: 'c1' })
	expect(await charge('k1')).toEqual({ id: 'c1' })
	expect(await charge('k2')).toEqual({ id: 'c2' })
	const reused = await charge('k1', 6).catch((error: unknown) => error)
	expect(reused).toBeInstanceOf(TRPCClientError)
	expect(reused).toMatchObject({ data: { code: 'UNPROCESSABLE_CONTENT', httpStatus: 422 } })
	// The retry of the client has the key of the first attempt.
	const [sent, retried, other] = headersOf(service, 'idempotency-key')
	expect(retried).toBe(sent)
	expect(other).not.toBe(sent)
	expect(service.requests).toHaveLength(3)
})

test('a repeated request gets the same status and body, and a header', async () => {
	const service = await startServer(json({ id: 'c1' }))
	const url = `${await startRecipe(service.origin)}/charge`
	const body = '{"result":{"data":{"id":"c1"}}}'
	expect(await seen(await post(url))).toEqual([200, body, false])
	expect(await seen(await post(url))).toEqual([200, body, true])
	expect(service.requests).toHaveLength(1)
})

test('a call gets 409 with Retry-After while the first one runs', async () => {
	const { service, respond } = await startHeldService()
	const url = `${await startRecipe(service.origin, { waitMs: 0 })}/charge`
	const first = post(url)
	await service.requested(1)
	const second = await post(url)
	expect(second.status).toBe(409)
	expectSoon(second.headers.get('retry-after'))
	expect(await second.json()).toMatchObject({ error: { data: { code: 'CONFLICT', path: 'charge' } } })
	respond()
	expect((await first).status).toBe(200)
	expect(service.requests).toHaveLength(1)
})

test('a call without a user, a key or a valid input runs nothing', async () => {
	const service = await startServer(json({ id: 'c1' }))
	const url = `${await startRecipe(service.origin)}/charge`
	expect((await post(url, { user: '' })).status).toBe(401)
	expect((await post(url, { key: '' })).status).toBe(400)
	expect((await post(url, { body: '{"amount":-5}' })).status).toBe(400)
	expect(service.requests).toHaveLength(0)
})

test('a procedure that throws keeps its error, and the next call with the key runs', async () => {
	const work = vi.fn((): unknown => {
		if (work.mock.calls.length === 1) throw new Error('bug')
		return { id: 'c1' }
	})
	const url = `${await start(work)}/charge`
	const failed = await post(url)
	expect([failed.status, await failed.json()]).toMatchObject([500, { error: { message: 'bug' } }])
	expect((await post(url)).status).toBe(200)
	expect((await post(url)).status).toBe(200)
	expect(work).toHaveBeenCalledTimes(2)
})

test('calls of a batch do not share the key of their request', async () => {
	const work = vi.fn((input: unknown) => input)
	const client = createTRPCClient<AppRouter>({
		links: [
			httpBatchLink({ url: await start(work), headers: { authorization: ADA, 'idempotency-key': 'k1' } }),
		],
	})
	const calls = await Promise.allSettled([
		client.charge.mutate({ amount: 1 }),
		client.charge.mutate({ amount: 2 }),
	])
	for (const call of calls)
		expect(call).toMatchObject({ status: 'rejected', reason: { data: { code: 'BAD_REQUEST' } } })
	expect(work).not.toHaveBeenCalled()
	// A batch of one call is like a call alone.
	await client.charge.mutate({ amount: 3 })
	await client.charge.mutate({ amount: 3 })
	expect(work).toHaveBeenCalledTimes(1)
})

test('inputs that cannot be compared are rejected', async () => {
	const work = vi.fn()
	const url = `${await start(work)}/charge`
	const form = new FormData()
	form.set('amount', '5')
	const headers = { authorization: ADA, 'idempotency-key': 'k1' }
	expect((await fetch(url, { method: 'POST', headers, body: form })).status).toBe(400)
	expect((await post(url, { type: 'application/octet-stream', body: 'bytes' })).status).toBe(400)
	expect(work).not.toHaveBeenCalled()
})
