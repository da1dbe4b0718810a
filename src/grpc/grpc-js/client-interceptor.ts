import { invalidArgument } from '../../core/options/schema.ts'
import { extendInterceptor, type GrpcInterceptor } from '../interceptor/grpc-interceptor.ts'
import { type GrpcClientStats, GrpcEngine } from '../policy/grpc-engine.ts'
import { type GrpcClientOptions, readGrpcOptions } from '../policy/options.ts'
import { ClientCall, type ClientEnvironment } from './client-call.ts'
import type { GrpcCallOptions, GrpcModule, GrpcNextCall } from './grpc-types.ts'
import { MessageSerializer } from './message-buffer.ts'

/**
 * The interceptor for clients of grpc-js that `resilientInterceptor` returns. Its calls share the policies,
 * so create one per server.
 */
export type ResilientInterceptor<Grpc extends GrpcModule = GrpcModule> = ((
	options: GrpcCallOptions,
	nextCall: (options: never) => unknown,
) => InstanceType<Grpc['InterceptingCall']>) &
	GrpcInterceptor<GrpcClientStats>

/**
 * Creates an interceptor for clients of @grpc/grpc-js: retries and hedging as in gRPC proposal A6, a circuit
 * breaker, a bulkhead, a budget, and deadlines that calls inherit. Pass `resilientChannelOptions(config)` to
 * the client too, so that grpc-js does not retry as well.
 *
 * @example
 * import * as grpc from '@grpc/grpc-js'
 *
 * const config = parseServiceConfig(json)
 * const client = new UsersClient(address, credentials, {
 *   ...resilientChannelOptions(config),
 *   interceptors: [resilientInterceptor(grpc, { serviceConfig: config, bulkhead: {} })],
 * })
 */
export function resilientInterceptor<Grpc extends GrpcModule>(
	grpc: Grpc,
	options: GrpcClientOptions = {},
): ResilientInterceptor<Grpc> {
	if (typeof grpc?.Metadata !== 'function')
		invalidArgument('grpc', grpc, "the module: import * as grpc from '@grpc/grpc-js'")
	const engine = new GrpcEngine(readGrpcOptions(options, 'resilientInterceptor'))
	const environment: ClientEnvironment = { grpc, engine, serializer: new MessageSerializer() }
	const interceptor = (call: GrpcCallOptions, nextCall: (options: never) => unknown) =>
		new ClientCall(environment, call, nextCall as GrpcNextCall)
	return extendInterceptor(interceptor, engine) as unknown as ResilientInterceptor<Grpc>
}
