import * as grpc from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { SERVICE } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'
import { reply, startUsersServer } from '../support/users-server.ts'

const config = parseServiceConfig({ methodConfig: [{ name: [{ service: SERVICE }], waitForReady: true }] })

/** Starts a server on a port that was free a moment ago. */
async function freeAddress(): Promise<string> {
	await using server = await startUsersServer()
	return server.address
}

test('waitForReady of a method config makes a call wait for the server, and not fail immediately', async () => {
	const address = await freeAddress()
	const client = useUsersClient(address, {
		...resilientChannelOptions(config),
		interceptors: [resilientInterceptor(grpc, { serviceConfig: config })],
	})
	const call = client.invoke('Get', {}, { deadline: Date.now() + 50 })
	expect((await call.done).error).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED })
})

test('the metadata options of the caller come before waitForReady of the config', async () => {
	const address = await freeAddress()
	const client = useUsersClient(address, {
		...resilientChannelOptions(config),
		interceptors: [resilientInterceptor(grpc, { serviceConfig: config })],
	})
	const metadata = new grpc.Metadata({ waitForReady: false })
	expect((await client.invoke('Get', {}, { metadata }).done).error).toMatchObject({
		code: grpc.status.UNAVAILABLE,
	})
})

test('a call that waits for the server succeeds when it is there', async () => {
	await using server = await startUsersServer()
	server.play(reply({ text: 'a' }))
	const client = useUsersClient(server.address, {
		interceptors: [resilientInterceptor(grpc, { serviceConfig: config })],
	})
	expect((await client.get({})).text).toBe('a')
})
