import { Code } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { hedging } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { fail, reply, sendThenHang } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'
import { testHedging } from './suites/hedging.ts'

const shared = useServer()

testHedging(shared, 'connect', METHODS)

test('a pushback delays the next request', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: hedging({ hedgingDelay: '60s' }) })
	server.play([fail(Code.Unavailable, { pushback: '2' }), reply({ text: 'b' })])
	expect((await client.invoke('Get', {})).items).toMatchObject([{ text: 'b' }])
})

test('a negative pushback ends hedging', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: hedging({ hedgingDelay: '60s' }) })
	server.play(fail(Code.Unavailable, { pushback: '-1' }))
	expect((await client.invoke('Get', {})).error?.code).toBe(Code.Unavailable)
	expect(server.calls).toHaveLength(1)
})

test('throttling prevents hedged requests', async () => {
	const { server } = shared
	const serviceConfig = hedging({ hedgingDelay: '0s', throttling: { maxTokens: 2, tokenRatio: 0.001 } })
	const { client } = useClient(server, { serviceConfig, circuitBreaker: false })
	server.play(fail(Code.Unavailable))
	await client.invoke('Get', {})
	server.play(reply({}))
	await client.invoke('Get', {})
	expect(server.calls).toHaveLength(1)
})

test('no request is sent after a response has begun', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, { serviceConfig: hedging({ hedgingDelay: '0.05s' }) })
	server.play(sendThenHang([{ text: 'a' }]))
	const controller = new AbortController()
	// One, unless the machine is so slow that the hedge was due before the response.
	let before = 0
	const call = client.invoke(
		'List',
		{},
		{
			signal: controller.signal,
			onItem: async () => {
				before = interceptor.stats.attempts
				// Longer than the delay of the hedge. That it is not sent does not depend on the length.
				await new Promise((resolve) => setTimeout(resolve, 60))
				controller.abort()
			},
		},
	)
	expect((await call).error?.code).toBe(Code.Canceled)
	expect(interceptor.stats.attempts).toBe(before)
})
