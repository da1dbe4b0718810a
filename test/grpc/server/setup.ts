/** A real grpc-js server with the interceptor, and a client, for one test. */
import * as grpc from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import {
	type GrpcEvent,
	type GrpcServerOptions,
	type GrpcServerStats,
	resilientServerInterceptor,
} from 'yaoki/grpc'
import type { MethodName } from '../support/users.ts'
import { type UsersClient, useUsersClient } from '../support/users-client.ts'
import { startUsersServer, type UsersServer } from '../support/users-server.ts'

export const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

export interface Setup {
	readonly server: UsersServer
	readonly client: UsersClient
	readonly interceptor: ReturnType<typeof resilientServerInterceptor<typeof grpc>>
	readonly events: readonly GrpcEvent[]
	/** Waits until the statistics satisfy this. */
	until(what: string, isReached: (stats: GrpcServerStats) => boolean): Promise<void>
}

export async function useServer(
	options?: GrpcServerOptions,
	around: { readonly inner?: grpc.ServerInterceptor[]; readonly outer?: grpc.ServerInterceptor[] } = {},
): Promise<Setup> {
	const interceptor = resilientServerInterceptor(grpc, options)
	const events: GrpcEvent[] = []
	const { inner = [], outer = [] } = around
	// The first one is the nearest to the client.
	const server = await startUsersServer({ interceptors: [...inner, interceptor, ...outer] })
	onTestFinished(() => server.close())
	interceptor.subscribe((event) => {
		events.push(event)
		server.changed()
	})
	return {
		server,
		client: useUsersClient(server.address),
		interceptor,
		events,
		until: async (what, isReached) => {
			const isReachedNow = () => isReached(interceptor.stats)
			// A slot becomes free a few promise jobs after the events.
			let immediate = setImmediate(function poll() {
				server.changed()
				immediate = setImmediate(poll)
			})
			await server.until(what, isReachedNow).finally(() => clearImmediate(immediate))
		},
	}
}
