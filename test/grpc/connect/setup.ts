/** A client with the interceptor, and a server that all tests of a file share. */
import * as connect from '@connectrpc/connect'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import {
	type GrpcClientOptions,
	type GrpcEvent,
	type ResilientConnectInterceptor,
	resilientConnectInterceptor,
} from 'yaoki/grpc'
import { type ConnectClient, type TransportName, useConnectClient } from './connect-client.ts'
import { type ConnectServer, startConnectServer } from './connect-server.ts'

export interface Setup {
	readonly client: ConnectClient
	readonly interceptor: ResilientConnectInterceptor
	readonly events: readonly GrpcEvent[]
}

export interface Shared {
	readonly server: ConnectServer
}

/** Starts the server of a file, and closes it after its tests. */
export function useServer(): Shared {
	let server: ConnectServer | undefined
	beforeAll(async () => {
		server = await startConnectServer()
	})
	afterAll(() => server?.close())
	return {
		get server() {
			if (!server) throw new Error('the server runs in tests only')
			return server
		},
	}
}

interface Place {
	readonly http1Url?: string
	readonly http2Url: string
	retire?(test: string): void
}

export function useClient(
	place: Place,
	options?: GrpcClientOptions,
	transport: TransportName = 'grpc',
	around: { readonly inner?: connect.Interceptor[]; readonly outer?: connect.Interceptor[] } = {},
): Setup {
	const { inner = [], outer = [] } = around
	const interceptor = resilientConnectInterceptor(connect, options)
	const events: GrpcEvent[] = []
	interceptor.subscribe((event) => events.push(event))
	const test = crypto.randomUUID()
	onTestFinished(() => place.retire?.(test))
	const mark: connect.Interceptor = (next) => (request) => {
		request.header.set('x-test', test)
		return next(request)
	}
	const client = useConnectClient(transport, place, mark, ...outer, interceptor, ...inner)
	return { client, interceptor, events }
}
