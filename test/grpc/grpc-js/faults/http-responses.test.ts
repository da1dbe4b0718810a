/** Responses that are no gRPC: proxies and load balancers send a page of HTML (regression: the page committed the call, and nothing was retried). */
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { resilientInterceptor } from 'yaoki/grpc'
import { hedging, retries } from '../../support/configs.ts'
import {
	type Action,
	halfClose,
	headers,
	message,
	startFaultyServer,
	stream,
	trailers,
} from '../../support/faulty-server.ts'
import type { MethodName } from '../../support/users.ts'
import { useUsersClient } from '../../support/users-client.ts'

const PAGE = '<html><body><h1>no healthy upstream</h1></body></html>'

const page =
	(status: number, pairs: Readonly<Record<string, string>> = { 'content-type': 'text/html' }): Action =>
	({ stream: http2, finish }) => {
		finish()
		http2.respond({ ':status': status, ...pairs })
		http2.end(PAGE)
	}

const ok = stream(halfClose(), headers(), message({ text: 'ok' }), trailers(0))
const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

describe.each(METHODS)('%s', (method) => {
	test.each([
		[502, { 'content-type': 'text/html' }],
		[503, { 'content-type': 'text/html' }],
		[503, {}],
	])('a page with HTTP %i and %o is retried', async (status, pairs) => {
		await using server = await startFaultyServer([stream(halfClose(), page(status, pairs)), ok])
		const interceptor = resilientInterceptor(grpc, { serviceConfig: retries() })
		const client = useUsersClient(server.address, { interceptors: [interceptor] })
		const { error, items, headers: received } = await client.invoke(method, {}).done
		expect(error).toBeUndefined()
		expect(items.map(({ text }) => text)).toEqual(['ok'])
		expect(received?.get('content-type')).toEqual(['application/grpc+proto'])
		expect(interceptor.stats.attempts).toBe(2)
	})

	test('a page is not retried by a hedging policy that does not name UNAVAILABLE', async () => {
		await using server = await startFaultyServer(stream(halfClose(), page(404)))
		const interceptor = resilientInterceptor(grpc, { serviceConfig: hedging() })
		const client = useUsersClient(server.address, { interceptors: [interceptor] })
		const { error } = await client.invoke(method, {}).done
		expect(error).toMatchObject({ code: grpc.status.UNIMPLEMENTED })
	})

	test('the headers of the last page reach the caller, as without the interceptor', async () => {
		await using server = await startFaultyServer(stream(halfClose(), page(503)))
		const bare = await useUsersClient(server.address).invoke(method, {}).done
		const interceptors = [resilientInterceptor(grpc, { serviceConfig: retries(2) })]
		const resilient = await useUsersClient(server.address, { interceptors }).invoke(method, {}).done
		expect(bare.headers?.get('content-type')).toEqual(['text/html'])
		expect(resilient.headers?.get('content-type')).toEqual(['text/html'])
		expect(resilient.error).toMatchObject({ code: bare.error?.code, details: bare.error?.details })
		expect(explain(resilient.error)?.attempts).toHaveLength(2)
	})
})
