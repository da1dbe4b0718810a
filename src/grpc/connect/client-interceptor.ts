import { extendInterceptor, type GrpcInterceptor } from '../interceptor/grpc-interceptor.ts'
import { type GrpcClientStats, GrpcEngine } from '../policy/grpc-engine.ts'
import { type GrpcClientOptions, readGrpcOptions } from '../policy/options.ts'
import { ConnectCall } from './connect-call.ts'
import type { ConnectInterceptor, ConnectModule, RpcNext } from './connect-types.ts'
import { RpcErrors } from './errors.ts'

/**
 * The interceptor for clients of Connect that `resilientConnectInterceptor` returns. Its calls share the
 * policies, so create one per server.
 */
export type ResilientConnectInterceptor = ConnectInterceptor & GrpcInterceptor<GrpcClientStats>

/**
 * Creates an interceptor for clients of @connectrpc/connect, whatever protocol they use: retries and hedging
 * as in gRPC proposal A6, a circuit breaker, a bulkhead, a budget, and deadlines that calls inherit. Callers
 * receive a `ConnectError`; if a policy has rejected the call, the error of the policy is its `cause`.
 *
 * @example
 * import * as connect from '@connectrpc/connect'
 * import { createGrpcTransport } from '@connectrpc/connect-node'
 *
 * const serviceConfig = parseServiceConfig(json)
 * const resilient = resilientConnectInterceptor(connect, { serviceConfig, bulkhead: {} })
 * const transport = createGrpcTransport({ baseUrl, interceptors: [resilient] })
 * const users = connect.createClient(Users, transport)
 */
export function resilientConnectInterceptor(
	connect: ConnectModule,
	options: GrpcClientOptions = {},
): ResilientConnectInterceptor {
	const errors = new RpcErrors(connect)
	const engine = new GrpcEngine(readGrpcOptions(options, 'resilientConnectInterceptor'))
	const environment = { engine, errors }
	const interceptor = (next: RpcNext): RpcNext => {
		return (request) => new ConnectCall(environment, request, next).run()
	}
	return extendInterceptor(interceptor as ConnectInterceptor, engine)
}
