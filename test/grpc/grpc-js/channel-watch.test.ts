/** Channels without retries whose calls pass no interceptor (regression: nothing was retried, and nothing said so). */
import * as grpc from '@grpc/grpc-js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { quickRetry } from '../support/configs.ts'
import { startUsersServer } from '../support/users-server.ts'

/** Paths of other tests may be known already. */
function useConfig(fields = quickRetry()) {
	const service = `yaoki.test.S${crypto.randomUUID()}`
	const serviceConfig = parseServiceConfig({ methodConfig: [{ name: [{ service }], ...fields }] })
	return { serviceConfig, path: `/${service}/Get` }
}

/** Calls a method twice, and returns the warnings. */
async function callTwice(path: string, options: grpc.ClientOptions): Promise<string[]> {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	await using server = await startUsersServer()
	const client = new grpc.Client(server.address, grpc.credentials.createInsecure(), options)
	onTestFinished(() => client.close())
	const bytes = (value: Buffer) => value
	for (let n = 0; n < 2; n++)
		await new Promise((resolve) => client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), resolve))
	return warn.mock.calls.map(([text]) => String(text)).filter((text) => text.includes(path))
}

test('a call without an interceptor is reported once', async () => {
	const { serviceConfig, path } = useConfig()
	// Other configs of the process may name all services.
	resilientChannelOptions(parseServiceConfig({ methodConfig: [{ name: [{}], ...quickRetry() }] }))
	resilientChannelOptions(serviceConfig)
	const warnings = await callTwice(path, resilientChannelOptions(serviceConfig))
	expect(warnings).toEqual([expect.stringContaining('resilientNiceMiddleware')])
})

test('a call with an interceptor is not reported', async () => {
	const { serviceConfig, path } = useConfig()
	const interceptors = [resilientInterceptor(grpc, { serviceConfig })]
	expect(await callTwice(path, { ...resilientChannelOptions(serviceConfig), interceptors })).toEqual([])
})

test('a method without a policy is not reported', async () => {
	const { serviceConfig, path } = useConfig({ timeout: '5s' })
	expect(await callTwice(path, resilientChannelOptions(serviceConfig))).toEqual([])
})
