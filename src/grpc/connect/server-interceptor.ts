import { extendInterceptor, type GrpcInterceptor } from '../interceptor/grpc-interceptor.ts'
import type { GrpcServerOptions } from '../server/options.ts'
import { type GrpcServerStats, ServerEngine } from '../server/server-engine.ts'
import type { ConnectInterceptor, ConnectModule, RpcNext } from './connect-types.ts'
import { RpcErrors } from './errors.ts'
import { HandlerCall } from './handler-call.ts'

/** The interceptor for servers of Connect that `resilientConnectServerInterceptor` returns. */
export type ResilientConnectServerInterceptor = ConnectInterceptor & GrpcInterceptor<GrpcServerStats>

/**
 * Creates an interceptor for servers of @connectrpc/connect, whatever protocols they serve. It ends calls at
 * their deadline, runs handlers in a context that the calls inside them inherit, and limits concurrent calls.
 * A rejected call gets the code Unavailable with the time after which the client may retry. The signal of the
 * `HandlerContext` is aborted when the call ends; `getGrpcContext` returns the context.
 *
 * @example
 * import * as connect from '@connectrpc/connect'
 * import { connectNodeAdapter } from '@connectrpc/connect-node'
 *
 * const options = { defaultDeadlineMs: 10_000, bulkhead: { maxConcurrent: 100 } }
 * const resilient = resilientConnectServerInterceptor(connect, options)
 * const handler = connectNodeAdapter({ routes, interceptors: [resilient] })
 */
export function resilientConnectServerInterceptor(
	connect: ConnectModule,
	options: GrpcServerOptions = {},
): ResilientConnectServerInterceptor {
	const errors = new RpcErrors(connect)
	const engine = new ServerEngine(options, 'resilientConnectServerInterceptor')
	const environment = { engine, errors }
	const interceptor = (next: RpcNext): RpcNext => {
		return (request) => new HandlerCall(environment, request, next).run()
	}
	return extendInterceptor(interceptor as ConnectInterceptor, engine)
}
