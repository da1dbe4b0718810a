/**
 * The HTTP client and the deadline middleware of this package, both with their defaults, over real sockets: handlers that are slower than their
 * caller waits, connections that are reset, and a server process that is killed and comes back.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, type TestContext, test } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'
import { end, guard } from '../../guard/guard.ts'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { stablePort } from '../../support/stable-port.ts'
import type { Report } from './server-process.ts'

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))
const FRAMEWORKS = ['node:http', 'Express', 'Fastify'] as const
/** A handler that takes this long ends only because its caller has left. */
const HOUR = 3_600_000

interface ServerProcess {
	readonly child: ChildProcess
	readonly port: number
	/** All reports of this type about this request. */
	reports<Type extends Report['type']>(type: Type, id: string): Extract<Report, { type: Type }>[]
}

async function startServer(
	{ onTestFinished }: TestContext,
	framework: string,
	port: number,
): Promise<ServerProcess> {
	const stdio: 'ignore'[] = ['ignore', 'ignore', 'ignore']
	const child = guard(fork(PROGRAM, [framework, String(port)], { stdio: [...stdio, 'ipc'] }))
	onTestFinished(() => end(child))
	const all: Report[] = []
	await new Promise<void>((resolve, reject) => {
		child.once('exit', () => reject(new Error('the server has ended')))
		child.on('message', (report: Report) => {
			all.push(report)
			if (report.type === 'listening') resolve()
		})
	})
	return {
		child,
		port,
		reports: <Type extends Report['type']>(type: Type, id: string) =>
			all.filter(
				(report): report is Extract<Report, { type: Type }> =>
					report.type === type && 'id' in report && report.id === id,
			),
	}
}

/** How long handlers take, and the client's timeout if it is not the default. */
interface Wanted {
	readonly ms?: number
	readonly retryMs?: number
	readonly timeout?: number
}

/** A client with its defaults, and what its circuit did. */
function createClient(port: number) {
	const states: string[] = []
	const client = new ResilientHttpClient({
		baseUrl: `http://127.0.0.1:${port}`,
		onEvent: (event) => {
			if (event.type === 'state_change') states.push(event.to)
		},
	})
	const get = async (id: string, { ms = 0, retryMs = ms, timeout }: Wanted = {}): Promise<unknown> => {
		const options = timeout === undefined ? {} : { yaoki: { timeout } }
		return (await client.get(`${id}?ms=${ms}&retryMs=${retryMs}`, options)).json()
	}
	/** The same, with undefined for a call that failed. */
	const tryGet = (id: string, wanted?: Wanted) => get(id, wanted).catch(() => undefined)
	return { get, tryGet, states }
}

/** A network between client and server whose connections the test resets. */
async function startNetwork({ onTestFinished }: TestContext, port: number) {
	const clients = new Set<Socket>()
	const network = createServer((client) => {
		clients.add(client)
		const upstream = connect(port, '127.0.0.1')
		for (const socket of [client, upstream]) socket.on('error', () => {})
		client.pipe(upstream).pipe(client)
		client.on('close', () => {
			clients.delete(client)
			upstream.destroy()
		})
		upstream.on('close', () => client.destroy())
	})
	const reset = () => {
		for (const client of clients) client.resetAndDestroy()
	}
	onTestFinished(async () => {
		reset()
		await new Promise((resolve) => network.close(resolve))
	})
	return { port: await listen(network), reset }
}

// They mostly wait for timers and processes.
describe.concurrent.each(FRAMEWORKS)('a client and a server with %s', (framework) => {
	test('work for a caller that has left ends, in the service and in the service that it calls', async (context) => {
		const server = await startServer(context, framework, await stablePort())
		const impatient = createClient(server.port)
		// More calls than the failures that open a circuit, each with its retries.
		const ids = ['/a', '/b', '/c', '/d', '/e', '/f']
		const outcomes = await Promise.all(ids.map((id) => impatient.tryGet(id, { ms: HOUR, timeout: 1_000 })))
		expect(outcomes).toEqual(ids.map(() => undefined))
		// Every handler has ended, and every call that one of them made.
		await eventually(() => {
			for (const id of ids) {
				const started = server.reports('started', id)
				expect(server.reports('ended', id)).toHaveLength(started.length)
				expect(server.reports('inner-lost', id)).toHaveLength(server.reports('inner-started', id).length)
			}
		})
		const ends = ids.flatMap((id) => server.reports('ended', id))
		// Either the deadline ended it or the caller that closed its connection, but not the timeout of the service's own client.
		const codes = new Set(ends.map(({ code }) => code))
		expect([DOMException.ABORT_ERR, 'YAOKI_DEADLINE_EXCEEDED']).toEqual(expect.arrayContaining([...codes]))
		const lost = ids.flatMap((id) => server.reports('inner-lost', id))
		expect(lost.length).toBeGreaterThanOrEqual(ids.length)
		expect(lost.length).toBeLessThanOrEqual(ends.length)
		// Deadlines of callers are no failures of the inner service: its circuit is closed, and a patient caller gets its response.
		const patient = createClient(server.port)
		expect(await patient.get('/g', { ms: 100 })).toEqual({ id: '/g' })
		expect(server.reports('started', '/g')).toEqual([{ type: 'started', id: '/g', attempt: 0 }])
	})

	test('a connection that is reset in a handler ends its work, and the retry succeeds', async (context) => {
		const server = await startServer(context, framework, await stablePort())
		const network = await startNetwork(context, server.port)
		const { get, states } = createClient(network.port)
		for (const id of ['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h']) {
			const response = get(id, { ms: HOUR, retryMs: 0 })
			await eventually(() => expect(server.reports('inner-started', id)).toHaveLength(1))
			network.reset()
			expect(await response).toEqual({ id })
			await eventually(() => {
				expect(server.reports('inner-lost', id)).toHaveLength(1)
				expect(server.reports('ended', id)).toHaveLength(2)
			})
			expect(server.reports('started', id).map(({ attempt }) => attempt)).toEqual([0, 1])
			expect(server.reports('ended', id).filter(({ isAborted }) => isAborted)).toHaveLength(1)
		}
		expect(states).toEqual([])
	})

	test('a server that is killed while clients call it gets calls again when it is back', async (context) => {
		const port = await stablePort()
		const first = await startServer(context, framework, port)
		const { get, tryGet, states } = createClient(port)
		expect(await get('/a')).toEqual({ id: '/a' })
		const interrupted = tryGet('/b', { ms: HOUR })
		await eventually(() => expect(first.reports('inner-started', '/b')).toHaveLength(1))
		let isOver = false
		const succeeded: string[] = []
		const callers = Promise.all(
			['/c', '/d', '/e', '/f'].map(async (id) => {
				while (!isOver) {
					const response = await tryGet(id)
					if (response) succeeded.push(id)
					// An open circuit rejects immediately.
					await new Promise((resolve) => setTimeout(resolve, 20))
				}
			}),
		)
		await end(first.child)
		expect(await interrupted).toBeUndefined()
		await eventually(() => expect(states).toContain('open'))
		succeeded.length = 0
		await startServer(context, framework, port)
		await eventually(() => {
			expect([...new Set(succeeded)].sort()).toEqual(['/c', '/d', '/e', '/f'])
			expect(states.at(-1)).toBe('closed')
		})
		isOver = true
		await callers
		expect(states[0]).toBe('open')
		expect(await get('/g')).toEqual({ id: '/g' })
	})
})
