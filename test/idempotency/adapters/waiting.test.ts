/** With `waitMs` a repeated request waits for the first one, but not longer than its client. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { fetchIdempotency } from '../../../src/idempotency/adapters/fetch.ts'
import { nodeIdempotency } from '../../../src/idempotency/adapters/node.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'

function setup() {
	const runtime = virtualRuntime()
	const store = memoryIdempotencyStore({ runtime })
	return {
		runtime,
		engine: idempotency({ name: 'shop', store, runtime, principal: () => 'ada', waitMs: 60_000 }),
	}
}

const HEADERS = { 'idempotency-key': 'k1' }

test('fetch: a request whose client leaves stops waiting', async () => {
	const { runtime, engine } = setup()
	const handle = fetchIdempotency(engine, () => new Promise<Response>(() => {}))
	const send = (signal?: AbortSignal) =>
		handle(new Request('http://127.0.0.1/', { method: 'POST', headers: HEADERS, signal: signal ?? null }))
	void send()
	await runtime.advance(1)
	const leaving = new AbortController()
	const waiting = send(leaving.signal)
	await runtime.advance(1_000)
	const timers = runtime.pendingTimers
	leaving.abort()
	expect(await waiting).toMatchObject({ status: 409 })
	// Its own, and the one of the shared question to the store.
	expect(runtime.pendingTimers).toBe(timers - 2)
})

test('Node: a request whose client leaves stops waiting', async () => {
	const { runtime, engine } = setup()
	const isRunning = Promise.withResolvers<void>()
	const server = createServer(nodeIdempotency(engine, () => isRunning.resolve()))
	const port = await listen(server)
	const send = () => {
		const sent = request({ host: '127.0.0.1', port, method: 'POST', headers: HEADERS }).end()
		sent.on('error', () => {})
		return sent
	}
	const first = send()
	await isRunning.promise
	const timers = runtime.pendingTimers
	const waiting = send()
	await eventually(() => expect(runtime.pendingTimers).toBe(timers + 2))
	waiting.destroy()
	await eventually(() => expect(runtime.pendingTimers).toBe(timers))
	first.destroy()
	server.close()
	server.closeAllConnections()
	await once(server, 'close')
})
