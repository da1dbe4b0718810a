import * as grpc from '@grpc/grpc-js'
import { expect } from 'vitest'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { RETRY, withMethod } from '../service-config/configs.ts'
import { SERVICE, usersMethods } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, reply, startUsersServer } from '../support/users-server.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { CONFIGURED } from './rules/internals.ts'
import { optionsOf, type Subject, testBoth, useClient, useVirtualClient } from './subjects.ts'

const LONG_MS = 1_000_000

testBoth('A6 configuration: policies apply to a method, a service or all methods', async (subject) => {
	const retries = (maxAttempts: number) => ({ retryPolicy: { ...RETRY, maxAttempts } })
	const server = useVirtualServer(fails(14))
	const client = useVirtualClient(subject, server, {
		methodConfig: [
			{ name: [{}], ...retries(4) },
			{ name: [{ service: SERVICE }], ...retries(3) },
			{ name: [{ service: SERVICE, method: 'Get' }], ...retries(2) },
		],
	})
	const { requestSerialize, responseDeserialize } = usersMethods.Get
	const counts: number[] = []
	for (const path of [`/${SERVICE}/Get`, `/${SERVICE}/List`, '/other.Service/Get']) {
		server.play(fails(14))
		const ended = new Promise((resolve) => {
			client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, resolve)
		})
		await server.advance(LONG_MS)
		await ended
		counts.push(server.requests.length)
	}
	expect(counts).toEqual([2, 3, 4])
})

testBoth('A6 configuration: without a policy nothing is retried', async (subject) => {
	await using server = await startUsersServer()
	for (const code of [1, 4, 8, 10, 13, 14]) {
		server.play(fail(code))
		const { error } = await useClient(subject, server.address, withMethod({})).invoke('Get', {}).done
		expect(error?.code).toBe(code)
		expect(server.calls).toHaveLength(1)
	}
})

testBoth('A6 configuration: each retry may go to another server', async (subject) => {
	await using first = await startUsersServer()
	await using second = await startUsersServer()
	const retryPolicy = { ...RETRY, initialBackoff: '0.001s', maxBackoff: '0.001s' }
	const config = { ...withMethod({ retryPolicy }), loadBalancingConfig: [{ round_robin: {} }] }
	const client = useClient(subject, `ipv4:${first.address},${second.address}`, config)
	// Connections are ready one after the other.
	while (first.calls.length === 0 || second.calls.length === 0) await client.get({})
	first.play(fail(14))
	second.play(reply({ text: 'second' }))
	for (const text of ['second', 'second']) expect((await client.get({})).text).toBe(text)
	expect(first.calls.length).toBeGreaterThan(0)
})

testBoth('A6 configuration: the client cannot change what is retried', async (subject) => {
	await using server = await startUsersServer()
	const policies = withMethod({ retryPolicy: { ...RETRY, maxAttempts: 2, initialBackoff: '0.001s' } })
	const options = optionsOf(
		subject,
		policies,
		subject === 'Yaoki' ? { classify: () => ({ kind: 'transient', isKnown: true }) } : {},
	)
	const client = useUsersClient(server.address, options)
	const metadata = new grpc.Metadata({ idempotentRequest: true })
	server.play(fail(13))
	expect((await client.invoke('Get', {}, { metadata }).done).error?.code).toBe(13)
	expect(server.calls).toHaveLength(1)
})

/** Returns the options of a client that does not retry, although the service config has a policy. */
function withoutRetries(subject: Subject, config: object): Partial<grpc.ClientOptions> {
	if (subject === 'grpc-js') return { ...optionsOf(subject, config), 'grpc.enable_retries': 0 }
	return {
		...resilientChannelOptions(parseServiceConfig(config)),
		interceptors: [resilientInterceptor(grpc)],
	}
}

testBoth('A6 configuration: the client can disable retries', async (subject) => {
	await using server = await startUsersServer()
	server.play(fail(14))
	const client = useUsersClient(server.address, withoutRetries(subject, withMethod({ retryPolicy: RETRY })))
	expect((await client.invoke('Get', {}).done).error?.code).toBe(14)
	expect(server.calls).toHaveLength(1)
})

expectTestsOf(CONFIGURED)
