/** The gRPC client and server of this package with their defaults: overload, slow handlers, and a server that is killed and comes back. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { end, guard } from '../../guard/guard.ts'
import { SERVICE } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'

const PROGRAM = fileURLToPath(new URL('./server-process.ts', import.meta.url))

interface Report {
	readonly port?: number
	readonly started?: string
}

/** Resolves with the first report that has this member. */
const reported = <Name extends keyof Report>(
	child: ChildProcess,
	name: Name,
): Promise<Required<Report>[Name]> =>
	new Promise((resolve, reject) => {
		child.once('exit', () => reject(new Error('the server has ended')))
		child.on('message', (report: Report) => {
			const value = report[name]
			if (value !== undefined) resolve(value as Required<Report>[Name])
		})
	})

async function startServer(port = 0): Promise<{ readonly child: ChildProcess; readonly port: number }> {
	const child = guard(fork(PROGRAM, [`127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
	onTestFinished(() => end(child))
	return { child, port: await reported(child, 'port') }
}

/** A client as the guide describes it. */
function createClient(port: number) {
	const serviceConfig = parseServiceConfig({
		methodConfig: [
			{
				name: [{ service: SERVICE }],
				timeout: '8s',
				retryPolicy: {
					maxAttempts: 4,
					initialBackoff: '0.1s',
					maxBackoff: '1s',
					backoffMultiplier: 2,
					retryableStatusCodes: ['UNAVAILABLE'],
				},
			},
		],
	})
	const states: string[] = []
	const interceptor = resilientInterceptor(grpc, {
		serviceConfig,
		onEvent: (event) => {
			if (event.type === 'state_change') states.push(event.to)
		},
	})
	const client = useUsersClient(`127.0.0.1:${port}`, {
		...resilientChannelOptions(serviceConfig),
		interceptors: [interceptor],
	})
	const get = async (text: string, handlerMs = 0, deadlineMs?: number) => {
		const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }
		const { error, items } = await client.invoke('Get', { text, count: handlerMs }, options).done
		return error ? grpc.status[error.code] : items[0]?.text
	}
	return { get, states }
}

test('calls that the server rejects because of overload return and succeed', async () => {
	const { port } = await startServer()
	const { get } = createClient(port)
	expect(await Promise.all(['a', 'b', 'c', 'd'].map((text) => get(text, 100)))).toEqual(['a', 'b', 'c', 'd'])
})

test('handlers that take longer than the deadline end for the client, and their slots are free again', async () => {
	const { port } = await startServer()
	const { get } = createClient(port)
	const slow = ['a', 'b'].map((text) => get(text, 5_000, 1_000))
	expect(await Promise.all(slow)).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED'])
	expect(await get('c')).toBe('c')
})

test('a server that is killed during a call and comes back gets calls again', async () => {
	const first = await startServer()
	const { get, states } = createClient(first.port)
	expect(await get('a')).toBe('a')
	const interrupted = get('b', 60_000)
	expect(await reported(first.child, 'started')).toBe('b')
	await end(first.child)
	expect(await interrupted).toBe('UNAVAILABLE')
	// Until the circuit opens.
	while (!states.includes('open')) await get('c')
	await startServer(first.port)
	let outcome = await get('d')
	while (outcome !== 'd') {
		// An open circuit rejects immediately.
		await new Promise((resolve) => setTimeout(resolve, 50))
		outcome = await get('d')
	}
	while (states.at(-1) !== 'closed') expect(await get('e')).toBe('e')
	expect(states.at(0)).toBe('open')
})
