/**
 * A server in its own process. It starts to listen when its parent asks, so that a loaded one can replace a killed one immediately, and kills itself at the
 * point that the header `x-crash` of a request names.
 */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { nodeIdempotency } from '../../../src/idempotency/adapters/node.ts'
import type { IdempotencyContext } from '../../../src/idempotency/engine/context.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'
import type { Queryable } from '../../../src/sql/clients.ts'
import { listen } from '../../support/listen.ts'
import type { CrashPoint } from './crash-points.ts'
import { openStore, type StoreAddress } from './open-store.ts'
import { seeNoEndedProcess } from './other-machine.ts'
import { post } from './post.ts'

export interface ServerInput {
	readonly store: StoreAddress
	readonly leaseMs: number
	/** Whether each server is on a machine of its own. */
	readonly areApart: boolean
	/** The port of the service that steps call. */
	readonly dependency?: number
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** The test shows the error. The adapter would hide it from the client. */
const respondWith = (response: ServerResponse, error: unknown): void => {
	if (!response.headersSent) response.statusCode = 500
	response.end(String(error))
}

const input: ServerInput = JSON.parse(process.argv[2] ?? '')
if (input.areApart) seeNoEndedProcess()

/** One request at a time has a crash point. */
let crashPoint: string | undefined

const crashAt = (point: CrashPoint | 'after the commit'): void => {
	if (crashPoint === point) process.kill(process.pid, 'SIGKILL')
}

const store = await openStore(input.store)

const crashing = new Proxy(store, {
	get(target, name) {
		const method = Reflect.get(target, name)
		if (typeof method !== 'function') return method
		if (name === 'claim')
			return (...args: Parameters<IdempotencyStore['claim']>) => {
				crashAt('before the claim')
				return target.claim(...args)
			}
		if (name !== 'complete') return method.bind(target)
		return async (...args: Parameters<IdempotencyStore['complete']>) => {
			crashAt('before the completion')
			const isWritten = await target.complete(...args)
			crashAt('after the completion')
			return isWritten
		}
	},
})

const shared = {
	name: 'shop',
	store: crashing,
	principal: () => 'anonymous',
	leaseMs: input.leaseMs,
	maxRunMs: 60_000,
	storeTimeoutMs: 30_000,
	waitMs: 0,
}
const engine = idempotency(shared)
const waiting = idempotency({ ...shared, waitMs: 60_000 })

/** How often a handler ran, by key. */
const runs = new Map<string, number>()

const keyOf = (request: IncomingMessage): string => String(request.headers['idempotency-key'])

const race: Listener = async (request, response) => {
	const key = keyOf(request)
	runs.set(key, (runs.get(key) ?? 0) + 1)
	await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
	response.writeHead(201, { 'content-type': 'text/plain' }).end(crypto.randomUUID())
}

const agent = new Agent({ keepAlive: true })

/** Calls the dependency. */
async function call(path: string, body: object): Promise<string> {
	return (await post(agent, input.dependency ?? 0, path, {}, JSON.stringify(body))).body
}

async function runOrder(
	request: IncomingMessage,
	response: ServerResponse,
	context: IdempotencyContext,
): Promise<void> {
	const key = keyOf(request)
	const charge = await context.step('charge', async ({ idempotencyKey }) => {
		crashAt('before the effect')
		const charged = await call('/charges', { key, idempotencyKey })
		crashAt('before the step is stored')
		return charged
	})
	crashAt('after the step is stored')
	const mail = await context.step('mail', async () => {
		crashAt('before an effect without a key')
		const sent = await call('/mails', { key })
		crashAt('before its step is stored')
		return sent
	})
	await call('/stored', { key })
	crashAt('after its step is stored')
	response.writeHead(201, { 'content-type': 'application/json' })
	response.write(JSON.stringify({ charge, mail }))
	crashAt('in the middle of the response')
	response.end(crypto.randomUUID())
}

const order = nodeIdempotency(engine, async (request: IncomingMessage, response: ServerResponse, context) => {
	try {
		await runOrder(request, response, context)
	} catch (error) {
		respondWith(response, error)
	}
})

/** The response is stored in a transaction; one of the store stands for the user's own. */
const commit = nodeIdempotency(engine, async (_: IncomingMessage, response: ServerResponse, context) => {
	const body = crypto.randomUUID()
	await store.transaction?.((tx) =>
		context.complete(new Response(body, { status: 201 }), { tx: tx as Queryable }),
	)
	crashAt('after the commit')
	response.writeHead(201).end(body)
})

const ROUTES: Readonly<Record<string, Listener>> = {
	'/race': nodeIdempotency(engine, race),
	'/race-and-wait': nodeIdempotency(waiting, race),
	'/runs': (request, response) => response.end(String(runs.get(keyOf(request)) ?? 0)),
	'/orders': (request, response) => {
		crashPoint = request.headers['x-crash']?.toString()
		return order(request, response)
	},
	'/commits': (request, response) => {
		crashPoint = request.headers['x-crash']?.toString()
		return commit(request, response)
	},
}

process.once('message', async () => {
	const server = createServer((request, response) => ROUTES[request.url ?? '']?.(request, response))
	process.send?.({ port: await listen(server) })
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
