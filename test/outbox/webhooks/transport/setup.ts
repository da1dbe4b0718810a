/** Clients for servers on 127.0.0.1. No test connects to another address. */
import { onTestFinished } from 'vitest'
import type { GuardedRequest } from '../../../../src/outbox/webhooks/transport/exchange.ts'
import {
	createGuardedClient,
	type GuardedClient,
	type GuardedClientOptions,
} from '../../../../src/outbox/webhooks/transport/guarded-client.ts'
import type { WebhookLookup } from '../../../../src/outbox/webhooks/transport/guarded-lookup.ts'
import { type FaultServer, startFaultServer } from '../../../http/faults/fault-server.ts'
import type { Script } from '../../../http/faults/script.ts'
import type { Step } from '../../../http/faults/steps.ts'

export const HOST = 'hooks.example.com'

/** A resolver that returns the given addresses, the last ones repeatedly. `calls` are the hosts that it was asked for. */
export function scriptedLookup(
	...results: readonly (readonly string[])[]
): WebhookLookup & { readonly calls: string[] } {
	const calls: string[] = []
	const lookup: WebhookLookup = (hostname, _, callback) => {
		const addresses = results[Math.min(calls.push(hostname), results.length) - 1] ?? []
		queueMicrotask(() =>
			callback(
				null,
				addresses.map((address) => ({ address, family: 4 })),
			),
		)
	}
	return Object.assign(lookup, { calls })
}

/** The address of the server is allowed, and no other internal one. */
export function setupClient(ports: readonly number[], options: GuardedClientOptions = {}): GuardedClient {
	const client = createGuardedClient({
		ports,
		allowHttp: true,
		allow: ['127.0.0.1'],
		lookup: scriptedLookup(['127.0.0.1']),
		...options,
	})
	onTestFinished(() => client.close())
	return client
}

export const portOf = (server: { readonly origin: string }): number => Number(new URL(server.origin).port)

export interface Setup {
	readonly server: FaultServer
	readonly client: GuardedClient
	/** Sends to `http://hooks.example.com:port/`. */
	send(request?: Partial<GuardedRequest>): ReturnType<GuardedClient['send']>
}

export async function setup(script?: Script<Step>, options?: GuardedClientOptions): Promise<Setup> {
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	const client = setupClient([portOf(server)], options)
	return { server, client, send: (given) => client.send(request(server, given)) }
}

export const request = (
	server: { readonly origin: string },
	given: Partial<GuardedRequest> = {},
): GuardedRequest => ({
	url: `http://${HOST}:${portOf(server)}/`,
	headers: {},
	body: Buffer.from('{"a":1}'),
	signal: new AbortController().signal,
	...given,
})

export const failure = (sent: Promise<unknown>): Promise<unknown> =>
	sent.then(
		() => undefined,
		(error: unknown) => error,
	)
