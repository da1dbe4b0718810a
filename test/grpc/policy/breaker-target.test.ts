/** `circuitBreakerKey` with the target: an interceptor that several clients share has a circuit per server. */
import * as grpc from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { type GrpcClientOptions, resilientInterceptor } from 'yaoki/grpc'
import { useClient, useServer } from '../connect/setup.ts'
import { fail } from '../support/server-steps.ts'
import { useUsersClient } from '../support/users-client.ts'
import { startUsersServer } from '../support/users-server.ts'

const shared = useServer()
const options: GrpcClientOptions = {
	circuitBreaker: { failureThreshold: 1 },
	circuitBreakerKey: ({ target, service }) => `${service} of ${target}`,
}

test('grpc-js: the target of the channel', async () => {
	await using failing = await startUsersServer()
	await using healthy = await startUsersServer()
	failing.play(fail(grpc.status.UNAVAILABLE))
	const interceptors = [resilientInterceptor(grpc, options)]
	for (const { address } of [failing, healthy])
		await useUsersClient(address, { interceptors }).invoke('Get', {}, { deadline: Date.now() + 60_000 }).done
	expect(failing.calls).toHaveLength(1)
	expect(healthy.calls).toHaveLength(1)
	expect(interceptors[0]?.stats.circuits).toMatchObject({
		[`yaoki.test.Users of dns:${failing.address}`]: { state: 'open' },
		[`yaoki.test.Users of dns:${healthy.address}`]: { state: 'closed' },
	})
})

test('Connect: the origin', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, options)
	await client.invoke('Get', {})
	expect(Object.keys(interceptor.stats.circuits)).toContain(`yaoki.test.Users of ${server.http2Url}`)
})
