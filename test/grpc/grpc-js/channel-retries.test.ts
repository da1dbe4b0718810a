/** A service config with retries on the channel, beside the interceptor: 4 x 4 requests. */
import * as grpc from '@grpc/grpc-js'
import { expect, test, vi } from 'vitest'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { quickRetry } from '../support/configs.ts'
import { fail } from '../support/server-steps.ts'
import { useUsersClient } from '../support/users-client.ts'
import { startUsersServer } from '../support/users-server.ts'

const json = { methodConfig: [{ name: [{ service: 'yaoki.test.Users' }], ...quickRetry(4) }] }
const serviceConfig = parseServiceConfig(json)
const raw = { 'grpc.service_config': JSON.stringify(json) }
const inner: grpc.Interceptor = (options, next) => new grpc.InterceptingCall(next(options))

async function callTwice(channel: grpc.ChannelOptions, further: grpc.Interceptor[] = []) {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	await using server = await startUsersServer()
	server.play(fail(grpc.status.UNAVAILABLE))
	const interceptors = [resilientInterceptor(grpc, { serviceConfig, circuitBreaker: false }), ...further]
	const client = useUsersClient(server.address, { ...channel, interceptors })
	for (let n = 0; n < 2; n++) await client.invoke('Get', {}).done
	return { warnings: warn.mock.calls.map(([text]) => String(text)), requests: server.calls.length }
}

test.each([
	['', []],
	[', also behind another interceptor', [inner]],
])('retries of the channel are reported once%s', async (_, further) => {
	const { warnings, requests } = await callTwice(raw, further)
	expect(requests).toBe(32)
	expect(warnings).toEqual([expect.stringContaining('resilientChannelOptions')])
})

test.each([
	['resilientChannelOptions', resilientChannelOptions(serviceConfig)],
	['no service config', {}],
	['retries that are switched off', { ...raw, 'grpc.enable_retries': 0 }],
	['another service config', { 'grpc.service_config': '{"loadBalancingConfig":[{"round_robin":{}}]}' }],
])('nothing is reported with %s', async (_, channel) => {
	expect((await callTwice(channel)).warnings.filter((text) => text.includes('yaoki'))).toEqual([])
})
