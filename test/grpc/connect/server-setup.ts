/** Real Connect servers with the interceptor, for one test. */
import * as connect from '@connectrpc/connect'
import { onTestFinished } from 'vitest'
import {
	type GrpcEvent,
	type GrpcServerOptions,
	type ResilientConnectServerInterceptor,
	resilientConnectServerInterceptor,
} from 'yaoki/grpc'
import { type ConnectServer, startConnectServer } from './connect-server.ts'

export interface ServerSetup {
	readonly server: ConnectServer
	readonly interceptor: ResilientConnectServerInterceptor
	readonly events: readonly GrpcEvent[]
	/** Waits until the statistics satisfy this. A slot becomes free some promise jobs after the response. */
	until(isReached: (stats: ResilientConnectServerInterceptor['stats']) => boolean): Promise<void>
}

export async function useResilientServer(options?: GrpcServerOptions): Promise<ServerSetup> {
	const interceptor = resilientConnectServerInterceptor(connect, options)
	const events: GrpcEvent[] = []
	interceptor.subscribe((event) => events.push(event))
	const server = await startConnectServer([interceptor])
	let isOver = false
	onTestFinished(() => {
		isOver = true
		return server.close()
	})
	return {
		server,
		interceptor,
		events,
		async until(isReached) {
			while (!isOver && !isReached(interceptor.stats)) await new Promise((resolve) => setImmediate(resolve))
		},
	}
}
