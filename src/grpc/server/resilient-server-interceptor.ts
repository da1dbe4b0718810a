import { invalidArgument } from '../../core/options/schema.ts'
import type { GrpcMethodDefinition } from '../grpc-js/grpc-types.ts'
import { extendInterceptor, type GrpcInterceptor } from '../interceptor/grpc-interceptor.ts'
import type { GrpcServerModule, NextServerCall, ServerMethod } from './grpc-js-types.ts'
import { defineInterceptedCall } from './intercepted-call.ts'
import type { GrpcServerOptions } from './options.ts'
import { type GrpcServerStats, ServerEngine } from './server-engine.ts'

/** The interceptor for servers of grpc-js that `resilientServerInterceptor` returns. */
export type ResilientServerInterceptor<Grpc extends GrpcServerModule = GrpcServerModule> = ((
	method: Pick<GrpcMethodDefinition, 'path' | 'responseStream'>,
	call: object,
) => InstanceType<Grpc['ServerInterceptingCall']>) &
	GrpcInterceptor<GrpcServerStats>

/**
 * An interceptor of grpc-js cannot see when a handler has returned. So a handler that does not call its
 * callback after its call was cancelled keeps its slot for this long, and not forever.
 */
const ABANDON_AFTER_MS = 1_000

/**
 * Creates a server interceptor for @grpc/grpc-js, which is passed in. It ends calls at their deadline, runs
 * handlers in a context that the calls inside them inherit, and limits concurrent calls. A rejected call gets
 * the status UNAVAILABLE with the time after which the client may retry.
 *
 * @example
 * import * as grpc from '@grpc/grpc-js'
 *
 * const server = new grpc.Server({
 *   interceptors: [resilientServerInterceptor(grpc, { defaultDeadlineMs: 10_000, bulkhead: { maxConcurrent: 100 } })],
 * })
 */
export function resilientServerInterceptor<Grpc extends GrpcServerModule>(
	grpc: Grpc,
	options: GrpcServerOptions = {},
): ResilientServerInterceptor<Grpc> {
	const { ServerInterceptingCall: Base, Metadata } = grpc ?? {}
	if (typeof Base !== 'function' || typeof Metadata !== 'function')
		invalidArgument('grpc', grpc, "the module, 1.10 or later: import * as grpc from '@grpc/grpc-js'")
	const engine = new ServerEngine(options, 'resilientServerInterceptor', ABANDON_AFTER_MS)
	const InterceptedCall = defineInterceptedCall(
		Base as unknown as new (
			next: NextServerCall,
		) => NextServerCall,
		Metadata,
		engine,
	)
	// The user's module declares the type of the call.
	return extendInterceptor(
		(method: ServerMethod, call: object) => new InterceptedCall(call as NextServerCall, method),
		engine,
	) as unknown as ResilientServerInterceptor<Grpc>
}
